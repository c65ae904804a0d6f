"""What spectral methods with one kernel per view share: its leading directions, compared and put side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from manyview.graphs import largest_eigenvectors
from manyview.graphs.spectrum import SquareMatrix

# Eigenvalues below this share of the largest are rounding.
_ROUNDING = 1e-10


def leading_directions(matrix: SquareMatrix, n_vectors: int, start: np.ndarray | None = None) -> np.ndarray:
    """Eigenvectors of the largest eigenvalues, largest first, with zeros in place of those that are arbitrary.

    Where the matrix has fewer than ``n_vectors`` positive eigenvalues, because a view has only few different samples,
    any basis of its null space would do for the rest. Such columns say nothing about the samples.

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
    """``tr(UUᵀWWᵀ)``: the number of columns if U and W span the same space, 0 if the spaces are orthogonal."""
    return float(np.sum((first.T @ second) ** 2))


def subspace_change(before: Sequence[np.ndarray], after: Sequence[np.ndarray]) -> float:
    """``|UUᵀ - WWᵀ|²/(2·columns)``, the mean over the views: 0 if no space has moved, 1 if all are orthogonal."""
    pairs = list(zip(before, after, strict=True))
    squares = [agreement(u, u) + agreement(w, w) - 2 * agreement(u, w) for u, w in pairs]
    return max(float(np.mean(squares)) / (2 * before[0].shape[1]), 0.0)


def side_by_side(embeddings: Sequence[np.ndarray], n_clusters: int) -> np.ndarray:
    """The first K columns of every view's embedding, n x VK."""
    return np.hstack([embedding[:, :n_clusters] for embedding in embeddings])
