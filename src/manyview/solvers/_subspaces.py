"""Leading eigenspaces of the kernels of several views: computation, comparison, concatenation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from manyview.graphs import largest_eigenvectors
from manyview.graphs.spectrum import SquareMatrix

# Eigenvalues below this share of the largest are rounding.
_ROUNDING = 1e-10


def leading_directions(matrix: SquareMatrix, n_vectors: int, start: np.ndarray | None = None) -> np.ndarray:
    """Compute leading eigenvectors, largest eigenvalue first, with zeros in place of arbitrary ones.

    If the matrix has fewer than ``n_vectors`` positive eigenvalues, because a view has few different samples, the other
    eigenvectors are an arbitrary basis of its null space, without information about the samples.

    Parameters
    ----------
    matrix : ndarray or LinearOperator of shape (n, n)
        Symmetric.
    n_vectors : int
        At most n.
    start : ndarray, optional
        As for :func:`manyview.graphs.largest_eigenvectors`.
    """
    values, vectors = largest_eigenvectors(matrix, n_vectors, start=start)
    return np.where(values > _ROUNDING * values[0], vectors, 0.0)


def agreement(first: np.ndarray, second: np.ndarray) -> float:
    """Return ``tr(UUᵀWWᵀ)``: the number of columns if U and W span the same space, 0 if the spaces are orthogonal."""
    return float(np.sum((first.T @ second) ** 2))


def subspace_change(before: Sequence[np.ndarray], after: Sequence[np.ndarray]) -> float:
    """Return ``|UUᵀ - WWᵀ|²/(2·columns)``, mean over the views: 0 if no space has changed, 1 if all are orthogonal."""
    pairs = list(zip(before, after, strict=True))
    squares = [agreement(u, u) + agreement(w, w) - 2 * agreement(u, w) for u, w in pairs]
    return max(float(np.mean(squares)) / (2 * before[0].shape[1]), 0.0)


def side_by_side(embeddings: Sequence[np.ndarray], n_clusters: int) -> np.ndarray:
    """Return the first K columns of every view's embedding side by side, n x VK."""
    return np.hstack([embedding[:, :n_clusters] for embedding in embeddings])
