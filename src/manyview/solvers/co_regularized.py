"""Spectral embeddings of the views, co-regularised to agree (Kumar, Rai and Daumé, 2011).

pairwise: ``max_U  Σ_v tr(U_vᵀN_vU_v) + λ·Σ_{v<w} tr(U_vU_vᵀU_wU_wᵀ)``

centroid: ``max_{U,C}  Σ_v tr(U_vᵀN_vU_v) + λ·Σ_v tr(U_vU_vᵀCCᵀ)``

s.t. ``U_vᵀU_v = I``, ``CᵀC = I``

==========  =========================================================================================
letter      meaning
==========  =========================================================================================
N_v         normalised kernel of view v, ``D^-½ K_v D^-½``, n x n
U_v         embedding of view v, n x K
C           consensus embedding, n x K (U* in the paper)
λ           weight of the agreement, the same for all views
W           what U_v should agree with: the U of the other views side by side, or C
==========  =========================================================================================

Every step is the exact maximum over one block of variables, so the objective never decreases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy.sparse.linalg as spla

from manyview.graphs import leading_singular_vectors
from manyview.graphs.spectrum import symmetric_product
from manyview.solvers._subspaces import agreement, leading_directions


@dataclass(frozen=True)
class CoRegularized:
    """Result of :func:`run`: U_v for every view, C (``None`` if pairwise), and the objective after every sweep."""

    embeddings: list[np.ndarray]
    consensus: np.ndarray | None
    objective: list[float]


def update_embedding(graph: np.ndarray, pull: np.ndarray, weight: float, start: np.ndarray) -> np.ndarray:
    """U-step: ``argmax_U tr(Uᵀ(N_v + λWWᵀ)U)  s.t.  UᵀU = I``; ``start`` is the last U_v, ``pull`` is W."""

    def apply(x: np.ndarray) -> np.ndarray:
        return symmetric_product(graph, x) + weight * (pull @ (pull.T @ x))

    operator = spla.LinearOperator(graph.shape, matvec=apply, matmat=apply, dtype=np.float64)
    return leading_directions(operator, start.shape[1], start)


def update_consensus(embeddings: Sequence[np.ndarray]) -> np.ndarray:
    """C-step: ``argmax_C Σ_v tr(U_vU_vᵀCCᵀ)  s.t.  CᵀC = I``: left singular vectors of ``[U_1, ..., U_V]``."""
    return leading_singular_vectors(np.hstack(embeddings), embeddings[0].shape[1])[0]


def objective(
    graphs: Sequence[np.ndarray], embeddings: Sequence[np.ndarray], consensus: np.ndarray | None, weight: float
) -> float:
    """Return the objective: pairwise without a consensus, centroid with one."""
    within = sum(float(np.sum(u * (graph @ u))) for graph, u in zip(graphs, embeddings, strict=True))
    pairs = combinations(embeddings, 2) if consensus is None else ((u, consensus) for u in embeddings)
    return within + weight * sum(agreement(u, w) for u, w in pairs)


def run(
    graphs: Sequence[np.ndarray],
    n_clusters: int,
    *,
    variant: str = "centroid",
    weight: float = 0.5,
    max_iter: int = 30,
    tol: float = 1e-6,
    on_pass: Callable[[int, float], None] | None = None,
) -> CoRegularized:
    """Embed every view by itself, then update one block after the other until the objective converges.

    Parameters
    ----------
    graphs : sequence of ndarray of shape (n, n)
        N_v.
    n_clusters : int
        K.
    variant : {"centroid", "pairwise"}
        A sweep updates all U_v and then C; or U_2, ..., U_V and then U_1, each from the newest others.
    weight : float, default=0.5
        λ.
    max_iter : int, default=30
        Maximum number of sweeps.
    tol : float, default=1e-6
        Stop when the relative change of the objective is at most this.
    on_pass : callable, optional
        Called after each sweep with its number and the objective.
    """
    embeddings = [leading_directions(graph, n_clusters) for graph in graphs]
    consensus = update_consensus(embeddings) if variant == "centroid" else None
    values = [objective(graphs, embeddings, consensus, weight)]
    for sweep in range(1, max_iter + 1):
        for v in [*range(1, len(graphs)), 0]:
            pull = np.hstack([*embeddings[:v], *embeddings[v + 1 :]]) if consensus is None else consensus
            embeddings[v] = update_embedding(graphs[v], pull, weight, embeddings[v])
        if consensus is not None:
            consensus = update_consensus(embeddings)
        values.append(objective(graphs, embeddings, consensus, weight))
        if on_pass is not None:
            on_pass(sweep, values[-1])
        if abs(values[-1] - values[-2]) <= tol * max(1.0, abs(values[-2])):
            break
    return CoRegularized(embeddings, consensus, values[1:])
