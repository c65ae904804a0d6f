"""Eigenvectors of graphs between samples and samples: sparse neighbour graphs, kernels, and operators on them.

Large problems go to Lanczos' method with a fixed start vector, small ones to a dense decomposition. Eigenvectors are
defined up to their sign, and up to rotation where eigenvalues coincide; nothing that is built on them may depend on
that.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from scipy.sparse.csgraph import connected_components

from manyview.graphs.laplacian import inverse_sqrt, some_eigenvectors

SquareMatrix: TypeAlias = Any  # ndarray, csr_array or LinearOperator of shape (n, n)

# Up to this size a dense decomposition is as fast as Lanczos' method, and it cannot fail.
_DENSE_SIZE = 400


def symmetrize(graph: sp.csr_array) -> sp.csr_array:
    """``(S + Sᵀ)/2``."""
    return sp.csr_array((graph + graph.T) / 2)


def normalize_graph(graph: np.ndarray | sp.csr_array) -> np.ndarray | sp.csr_array:
    """``D^-½ W D^-½`` of a symmetric graph with degrees ``D = diag(W1)``; a sample without edges stays without."""
    scale = inverse_sqrt(np.asarray(graph.sum(axis=1)).ravel())
    if isinstance(graph, np.ndarray):
        return scale[:, None] * graph * scale
    data = graph.data * np.repeat(scale, np.diff(graph.indptr)) * scale[graph.indices]
    return sp.csr_array((data, graph.indices, graph.indptr), shape=graph.shape)


def largest_eigenvectors(
    matrix: SquareMatrix, n_vectors: int, *, start: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The algebraically largest eigenvalues of a symmetric matrix, descending, and their eigenvectors.

    Parameters
    ----------
    matrix : ndarray, sparse array or LinearOperator of shape (n, n)
    n_vectors : int
        At most n.
    start : ndarray of shape (n,) or (n, any), optional
        Something near the wanted vectors, such as those of the pass before, which saves time.

    Returns
    -------
    values, vectors : ndarrays of shapes (n_vectors,) and (n, n_vectors)
    """
    n = matrix.shape[0]
    if n > _DENSE_SIZE and 3 * n_vectors < n:
        try:
            values, vectors = spla.eigsh(
                matrix, n_vectors, which="LA", v0=_start_vector(n, start), ncv=min(n, max(2 * n_vectors + 1, 40))
            )
        except spla.ArpackNoConvergence:
            pass  # eigenvalues too close to each other; the dense decomposition does not mind
        else:
            order = np.argsort(-values, kind="stable")
            return values[order], vectors[:, order]
    values, vectors = some_eigenvectors(_dense(matrix), n - n_vectors, n - 1)
    return values[::-1], vectors[:, ::-1]


def laplacian_eigenvectors(
    graph: sp.csr_array, n_vectors: int, *, start: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The smallest eigenvalues of ``L = D - W``, ascending, and their eigenvectors.

    The eigenvalue 0 is as frequent as W has components, and its eigenvectors are known: one indicator per component.
    Lanczos' method, which may overlook copies of an eigenvalue, looks for the others only.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
        W, symmetric and non-negative.
    n_vectors : int
        At most n.
    start : ndarray, optional
        As for :func:`largest_eigenvectors`.
    """
    n = graph.shape[0]
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    laplacian = sp.csr_array(sp.diags_array(degrees) - graph)
    if n <= _DENSE_SIZE or 3 * n_vectors >= n:
        return some_eigenvectors(laplacian.toarray(), 0, n_vectors - 1)
    n_components, labels = connected_components(graph, directed=False)
    known = np.zeros((n, min(n_components, n_vectors)))
    inside = labels < known.shape[1]
    known[inside, labels[inside]] = 1 / np.sqrt(np.bincount(labels)[labels[inside]])
    n_more = n_vectors - known.shape[1]
    if n_more == 0:
        return np.zeros(n_vectors), known
    top = 2 * degrees.max()  # no eigenvalue of L is larger

    def below_top(x: np.ndarray) -> np.ndarray:
        """``(top·I - L)x``, with the known eigenvectors moved from ``top`` to 0."""
        return top * x - laplacian @ x - top * (known @ (known.T @ x))

    shifted = spla.LinearOperator((n, n), matvec=below_top, matmat=below_top, dtype=np.float64)
    values, vectors = largest_eigenvectors(shifted, n_more, start=start)
    return np.concatenate([np.zeros(known.shape[1]), top - values]), np.hstack([known, vectors])


def _start_vector(n: int, start: np.ndarray | None) -> np.ndarray:
    """A vector with a share of every wanted direction; noise sees to it that none is missing."""
    noise = np.random.default_rng(0).standard_normal(n) / np.sqrt(n)
    if start is None:
        return noise
    return start.reshape(n, -1).sum(axis=1) + 1e-3 * noise


def _dense(matrix: SquareMatrix) -> np.ndarray:
    if isinstance(matrix, np.ndarray):
        return matrix
    return matrix.toarray() if sp.issparse(matrix) else matrix @ np.eye(matrix.shape[0])
