"""Edge weights from distances: sparse neighbour graphs with CAN weights (Nie et al., 2014), dense Gaussian kernels."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from manyview.graphs.neighbours import nearest_rows, squared_distances
from manyview.views import Array

# Squared distances below this share of the largest are rounding: the samples are equal.
_ROUNDING = 1e-12


def can_weights(distances: np.ndarray) -> np.ndarray:
    """Compute the CAN weights of the k nearest from the distances to the k + 1 nearest.

    Row i solves ``min_s Σ_j d_j s_j + γ_i|s|²  s.t.  s >= 0, Σs = 1`` with γ_i such that exactly k entries are
    positive: ``s_j = (d_(k+1) - d_j) / (k·d_(k+1) - Σ_{h<=k} d_(h))``.

    Parameters
    ----------
    distances : ndarray of shape (n, k + 1), ascending in each row

    Returns
    -------
    ndarray of shape (n, k)
        Rows sum to 1. If all k + 1 distances are equal, the formula is 0/0 and each of the k nearest gets 1/k.

    Examples
    --------
    >>> import numpy as np
    >>> can_weights(np.array([[1.0, 4.0, 100.0]])).round(4)
    array([[0.5077, 0.4923]])
    """
    gaps = distances[:, -1:] - distances[:, :-1]
    total = gaps.sum(axis=1, keepdims=True)
    return np.divide(gaps, total, out=np.full_like(gaps, 1 / gaps.shape[1]), where=total > 0)


def bipartite_graph(view: Array, anchors: Array, n_neighbors: int) -> sp.csr_array:
    """Connect every sample with its nearest anchors.

    Parameters
    ----------
    view : array of shape (n, d)
    anchors : array of shape (m, d)
        The anchors' features in this view.
    n_neighbors : int
        k, at most m - 1: the distance to anchor k + 1 sets the scale of the weights.

    Returns
    -------
    csr_array of shape (n, m)
        Row-stochastic, k stored entries per row.
    """
    return _can_graph(*nearest_rows(view, anchors, n_neighbors + 1), anchors.shape[0])


def neighbor_graph(view: Array, n_neighbors: int, *, symmetric: bool = True) -> sp.csr_array:
    """Connect every sample with its nearest other samples; ``symmetric`` returns ``(S + Sᵀ)/2``.

    Needs at least ``n_neighbors + 2`` samples. Duplicates of a sample are its neighbours, the sample itself is not.

    Parameters
    ----------
    view : array of shape (n, d)
    n_neighbors : int
    symmetric : bool, default=True
        If false, row i has the weights of the neighbours of sample i.
    """
    graph = _can_graph(*nearest_rows(view, view, n_neighbors + 1, exclude_self=True), view.shape[0])
    return sp.csr_array((graph + graph.T) / 2) if symmetric else graph


def _can_graph(indices: np.ndarray, distances: np.ndarray, n_columns: int) -> sp.csr_array:
    return list_graph(indices[:, :-1], can_weights(distances), n_columns)


def list_graph(indices: np.ndarray, weights: np.ndarray, n_columns: int) -> sp.csr_array:
    """Return the graph with ``weights[i]`` in the columns ``indices[i]`` of row i, in canonical format."""
    n, k = indices.shape
    graph = sp.csr_array((weights.ravel(), indices.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n_columns))
    graph.sort_indices()
    return graph


def median_bandwidth(distances: np.ndarray) -> float:
    """Return the median of all pairwise (not squared) distances, each pair twice and each sample with itself once.

    Parameters
    ----------
    distances : ndarray of shape (n, n)
        Squared. If most are 0, because most samples are duplicates, the median of the others is taken; if all are, 1.
    """
    median = float(np.median(distances))
    floor = _ROUNDING * float(distances.max())
    if median <= floor:
        apart = distances[distances > floor]
        median = float(np.median(apart)) if apart.size else 1.0
    return float(np.sqrt(median))


def gaussian_kernel(view: Array, bandwidth: float | None = None) -> np.ndarray:
    """Return ``exp(-|x_i - x_j|²/(2σ²))`` with the bandwidth σ, by default the median distance of two samples.

    Parameters
    ----------
    view : array of shape (n, d)
    bandwidth : float, optional
        σ, positive.

    Returns
    -------
    ndarray of shape (n, n)
        Exactly symmetric, with ones on the diagonal.
    """
    kernel = squared_distances(view, view)
    kernel += kernel.T
    kernel *= 0.5
    np.fill_diagonal(kernel, 0.0)
    sigma = median_bandwidth(kernel) if bandwidth is None else bandwidth
    kernel /= -2.0 * sigma**2  # the inverse would be infinite for tiny distances
    return np.exp(kernel, out=kernel)
