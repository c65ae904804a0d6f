"""Spectral embedding of several sample-anchor graphs with view weights (Li et al., 2015, "MVSC").

``min_{G,a} Σ_v a_v^γ·tr(Gᵀ L_v G)  s.t.  GᵀG = I, a >= 0, Σ_v a_v = 1``

==========  =========================================================================================
letter      meaning
==========  =========================================================================================
Z_v         graph between n samples and m anchors in view v; rows sum to 1
Ẑ_v         ``Z_v·diag(Z_vᵀ1)^-½``
L_v         normalised Laplacian of the graph of samples and anchors, ``I - [[0, Ẑ_v], [Ẑ_vᵀ, 0]]``
G           embedding of samples and anchors, ``[G_x; G_u]``, (n + m) x K
h_v         ``tr(Gᵀ L_v G)``, how badly the embedding fits view v
a           weights of the views
γ           exponent above 1; the nearer to 1, the more the best view dominates
==========  =========================================================================================

No (n + m) x (n + m) matrix is formed: G comes from the singular vectors of an n x m matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from manyview.graphs import leading_singular_vectors, normalize_bipartite
from manyview.graphs.neighbours import nearest_rows
from manyview.graphs.similarity import list_graph

OnPass = Callable[[int, float], None]

# A view whose graph has K components fits perfectly; its weight would be infinite.
_LEAST_MISFIT = 1e-12


@dataclass(frozen=True)
class Embedding:
    """Result of :func:`run`: G_x, G_u, the leading singular values, a; objective and a per pass."""

    samples: np.ndarray
    anchors: np.ndarray
    singular_values: np.ndarray
    weights: np.ndarray
    objective: np.ndarray
    weight_history: np.ndarray


def gaussian_graph(
    view: np.ndarray | sp.csr_array,
    anchors: np.ndarray | sp.csr_array,
    n_neighbors: int,
    bandwidth: float | None = None,
) -> tuple[sp.csr_array, float]:
    """Return Z_v and its bandwidth σ: ``z_ij ~ exp(-|x_i - u_j|²/(2σ²))`` on the k nearest anchors, rows summing to 1.

    By default, σ is the median distance between samples and their k nearest anchors.
    """
    indices, squares = nearest_rows(view, anchors, n_neighbors)
    sigma = _median_distance(squares) if bandwidth is None else float(bandwidth)
    # Relative to the nearest anchor, whose weight is then 1, so that no row underflows to 0.
    weights = np.exp(-(squares - squares[:, :1]) / (2 * sigma**2))
    weights /= weights.sum(axis=1, keepdims=True)
    return list_graph(indices, weights, anchors.shape[0]), sigma


def _median_distance(squares: np.ndarray) -> float:
    """Return the median distance; if it is 0, the median of the positive ones, or 1 if there are none."""
    distances = np.sqrt(squares)
    median = float(np.median(distances))
    if median > 0:
        return median
    positive = distances[distances > 0]
    return float(np.median(positive)) if positive.size else 1.0


def embed(
    graphs: Sequence[sp.csr_array], weights: np.ndarray, exponent: float, n_clusters: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """G-step: ``argmin_G Σ_v a_v^γ·tr(Gᵀ L_v G)  s.t.  GᵀG = I``; returns G_x, G_u and the singular values.

    ``[U; V]/√2`` with the leading singular vectors of ``Σ_v a_v^γ Ẑ_v``. The factors are relative to the largest
    one, which does not change the vectors: for a large γ they would underflow.
    """
    largest = weights.max()
    joint = sum(graph * (weight / largest) ** exponent for graph, weight in zip(graphs, weights, strict=True))
    u, values, v = leading_singular_vectors(sp.csr_array(joint), n_clusters)
    return u / np.sqrt(2), v / np.sqrt(2), values * largest**exponent


def misfits(graphs: Sequence[sp.csr_array], samples: np.ndarray, anchors: np.ndarray) -> np.ndarray:
    """Return ``h_v = tr(Gᵀ L_v G) = K - 2·<G_x, Ẑ_v G_u>``, at least 1e-12."""
    fits = np.array([np.sum(samples * (graph @ anchors)) for graph in graphs])
    return np.maximum(samples.shape[1] - 2 * fits, _LEAST_MISFIT)


def view_weights(misfit: np.ndarray, exponent: float) -> np.ndarray:
    """a-step: ``argmin_a Σ_v a_v^γ h_v  s.t.  a >= 0, Σ_v a_v = 1``, that is ``a_v ~ h_v^(1/(1 - γ))``."""
    logarithms = np.log(misfit) / (1 - exponent)
    weights = np.exp(logarithms - logarithms.max())
    return weights / weights.sum()


def objective(misfit: np.ndarray, weights: np.ndarray, exponent: float) -> float:
    """Return ``Σ_v a_v^γ h_v``."""
    return float(weights**exponent @ misfit)


def run(
    graphs: Sequence[sp.csr_array],
    n_clusters: int,
    *,
    exponent: float = 4.0,
    max_iter: int = 50,
    tol: float = 1e-6,
    on_pass: OnPass | None = None,
) -> Embedding:
    """Alternate the steps for G and a, from equal weights, until the objective converges.

    Parameters
    ----------
    graphs : sequence of csr_array of shape (n, m)
        Z_v.
    n_clusters : int
        K; no more than m columns are returned.
    exponent : float, default=4.0
        γ.
    max_iter : int, default=50
        Maximum number of passes.
    tol : float, default=1e-6
        Stop when a pass lowers the objective by at most this share.
    on_pass : callable, optional
        Called after each pass with its number and the objective.

    Returns
    -------
    Embedding
    """
    normalized = [normalize_bipartite(graph) for graph in graphs]
    weights = np.full(len(graphs), 1 / len(graphs))
    values: list[float] = []
    history: list[np.ndarray] = []
    for n_iter in range(1, max_iter + 1):
        samples, anchors, singular_values = embed(normalized, weights, exponent, n_clusters)
        misfit = misfits(normalized, samples, anchors)
        weights = view_weights(misfit, exponent)
        values.append(objective(misfit, weights, exponent))
        history.append(weights)
        if on_pass is not None:
            on_pass(n_iter, values[-1])
        if n_iter > 1 and values[-2] - values[-1] <= tol * values[-2]:
            break
    return Embedding(samples, anchors, singular_values, weights, np.array(values), np.array(history))
