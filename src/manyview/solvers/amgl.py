"""Common embedding of several graphs with automatic view weights (Nie, Li and Li, 2016, "AMGL").

``min_F Σ_v √tr(FᵀL_v F)  s.t.  FᵀF = I``

==========  =========================================================================================
letter      meaning
==========  =========================================================================================
W_v         graph of view v, n x n, symmetric and non-negative
N_v         ``D_v^-½ W_v D_v^-½`` with the degrees D_v of W_v
L_v         ``I - N_v``, the normalised Laplacian
F           embedding, n x K, common to all views
t_v         ``tr(FᵀL_v F)``: how badly F fits view v
α_v         weight of view v, ``1/(2√t_v)``
==========  =========================================================================================

A sample without edges has a zero row in N_v and, as ``L_ii = 1``, a zero row in F. If a graph has K components or more,
some F has ``t_v = 0``. The slope of the root is infinite there, so the objective favours such an F, whatever the other
views are. A floor under t_v keeps α_v finite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from manyview.graphs import largest_eigenvectors_by_part, normalize_graph, symmetrize
from manyview.solvers._weights import root_weights, roots, shares

# Floor under t_v, per column of F. Eigenvalues of L_v this small are zero up to rounding.
_FLOOR = 1e-12


@dataclass(frozen=True)
class Embedding:
    """Result of :func:`run`.

    ``vectors`` is F, ``traces`` are t and ``weights`` are α at the end. ``gap`` is the difference between the K-th
    and the next eigenvalue, for weights that sum to 1; if it is 0, F is not unique. ``objective`` and
    ``weight_history`` (α) have one entry per pass.
    """

    vectors: np.ndarray
    traces: np.ndarray
    weights: np.ndarray
    gap: float
    objective: np.ndarray
    weight_history: np.ndarray

    @property
    def n_iter(self) -> int:
        """Number of passes."""
        return len(self.objective)


def embed(
    normalized: Sequence[sp.csr_array], weights: np.ndarray, n_clusters: int, start: np.ndarray | None = None
) -> tuple[np.ndarray, float]:
    """F-step: ``argmin_F tr(Fᵀ(Σ_v α_v L_v)F)  s.t.  FᵀF = I``; also the gap after the K-th eigenvalue.

    These are the largest eigenvectors of ``Σ_v α_v N_v``, as the identities in L_v only shift the spectrum.
    """
    mixed = sp.csr_array(sum(share * graph for share, graph in zip(shares(weights), normalized, strict=True)))
    n_values = min(n_clusters + 1, mixed.shape[0])
    values, vectors = largest_eigenvectors_by_part(mixed, n_values, start=start)
    gap = float(values[n_clusters - 1] - values[n_clusters]) if n_values > n_clusters else np.inf
    return vectors[:, :n_clusters], gap


def traces(normalized: Sequence[sp.csr_array], vectors: np.ndarray) -> np.ndarray:
    """Return ``t_v = tr(FᵀL_v F)``, which is ``|F|² - tr(FᵀN_v F)``."""
    total = np.vdot(vectors, vectors)
    return np.array([max(total - np.vdot(vectors, graph @ vectors), 0.0) for graph in normalized])


def run(
    graphs: Sequence[sp.csr_array],
    n_clusters: int,
    *,
    max_iter: int = 100,
    tol: float = 1e-8,
    on_pass: Callable[[int, float], None] | None = None,
) -> Embedding:
    """Alternate the steps for F and α until the objective converges.

    Parameters
    ----------
    graphs : sequence of csr_array of shape (n, n)
        W_v, symmetric.
    n_clusters : int
        K.
    max_iter : int, default=100
        Maximum number of passes.
    tol : float, default=1e-8
        Stop when the relative change of the objective is below this.
    on_pass : callable, optional
        Called after each pass with its number and the objective.
    """
    # Scaling rows first rounds (i, j) and (j, i) differently, hence symmetrize.
    normalized = [symmetrize(normalize_graph(graph)) for graph in graphs]
    floor = _FLOOR * n_clusters
    weights = np.full(len(graphs), 1 / len(graphs))
    start: np.ndarray | None = None
    values: list[float] = []
    history: list[np.ndarray] = []
    for n_iter in range(1, max_iter + 1):
        vectors, gap = embed(normalized, weights, n_clusters, start)
        start = vectors
        found = traces(normalized, vectors)
        weights = root_weights(found, floor)
        values.append(float(roots(found, floor).sum()))
        history.append(weights)
        if on_pass is not None:
            on_pass(n_iter, values[-1])
        if len(graphs) == 1 or (n_iter > 1 and abs(values[-2] - values[-1]) <= tol * values[-2]):
            break  # with one view, F does not depend on its weight
    return Embedding(vectors, found, weights, gap, np.array(values), np.array(history))
