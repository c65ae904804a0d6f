"""Eigenvectors of graphs among samples: sparse neighbour graphs, kernels, and linear operators.

Large problems are solved by Lanczos' method with a fixed start vector, small ones by a dense decomposition.
Eigenvectors are defined up to sign, and up to rotation if eigenvalues coincide; callers must not depend on either.
"""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from scipy.linalg.blas import dsymv
from scipy.sparse.csgraph import connected_components

from manyview.graphs.laplacian import gram, inverse_sqrt, leading_eigenvectors, scale_edges, some_eigenvectors

SquareMatrix: TypeAlias = Any  # ndarray, csr_array or LinearOperator of shape (n, n)

# Weights below this share of the largest are rounding errors of averages, not edges.
_NO_EDGE = 1e-10
# Up to this size a dense decomposition is as fast as Lanczos' method, and it cannot fail.
_DENSE_SIZE = 400
# Maximum number of restarts of Lanczos' method. If it fails, matrices up to the second size are decomposed densely, and
# larger ones by block iteration to this relative accuracy.
_RESTARTS = 100
_LARGE_SIZE = 5000
_BLOCK_TOLERANCE = 1e-8
# From this number of columns on, the Gram matrix of a graph with few edges is decomposed as a sparse one: six times
# faster at 2,000. The sparse product takes about this many times as long, per operation, as a dense decomposition.
_MANY_COLUMNS, _SPARSE_COST = 800, 100
_TAKES_RNG = "rng" in inspect.signature(spla.eigsh).parameters


def symmetrize(graph: sp.csr_array) -> sp.csr_array:
    """Return ``(S + Sᵀ)/2``.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
        S.
    """
    return sp.csr_array((graph + graph.T) / 2)


def drop_weak_edges(graph: sp.csr_array) -> sp.csr_array:
    """Return the graph without stored zeros and without weights that are zero up to rounding."""
    graph = graph.copy()
    if graph.nnz:
        graph.data[graph.data <= _NO_EDGE * graph.data.max()] = 0.0
    graph.eliminate_zeros()
    return graph


def normalize_graph(graph: np.ndarray | sp.csr_array) -> np.ndarray | sp.csr_array:
    """Return ``D^-½ W D^-½`` of a symmetric graph with degrees ``D = diag(W1)``; rows without edges stay empty.

    Parameters
    ----------
    graph : ndarray or csr_array of shape (n, n)
        W, not negative.
    """
    scale = inverse_sqrt(np.asarray(graph.sum(axis=1)).ravel())
    return scale_edges(graph, scale, scale)


def largest_eigenvectors(
    matrix: SquareMatrix, n_vectors: int, *, start: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the algebraically largest eigenvalues of a symmetric matrix, descending, and their eigenvectors.

    Parameters
    ----------
    matrix : ndarray, sparse array or LinearOperator of shape (n, n)
    n_vectors : int
        At most n.
    start : ndarray of shape (n,) or (n, any), optional
        An approximation of the eigenvectors, such as those of the previous iteration, which saves time.

    Returns
    -------
    values, vectors : ndarrays of shapes (n_vectors,) and (n, n_vectors)
    """
    n = matrix.shape[0]
    if n > _DENSE_SIZE and 3 * n_vectors < n:
        found = _lanczos(matrix, n_vectors, start)
        if found is None and n > _LARGE_SIZE:
            found = _by_blocks(matrix, n_vectors)
        if found is not None:
            return found
    values, vectors = some_eigenvectors(_dense(matrix), n - n_vectors, n - 1)
    return values[::-1], vectors[:, ::-1]


def symmetric_product(matrix: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return ``Ax`` for a dense symmetric A and a vector or several.

    A product with a vector takes as long as A takes to be read, and half of A is enough.
    """
    stored = matrix if matrix.flags.f_contiguous else matrix.T  # equal; BLAS would copy the other one
    if x.ndim > 1 or matrix.dtype != np.float64 or not stored.flags.f_contiguous:
        return matrix @ x
    return dsymv(1.0, stored, x, lower=1)


def _lanczos(matrix: SquareMatrix, n_vectors: int, start: np.ndarray | None) -> tuple[np.ndarray, np.ndarray] | None:
    """Apply Lanczos' method; return None if it does not converge because eigenvalues are too close."""
    n = matrix.shape[0]
    width = min(n, max(2 * n_vectors + 1, 40))
    operator = matrix
    if isinstance(matrix, np.ndarray):
        operator = spla.LinearOperator(matrix.shape, partial(symmetric_product, matrix), dtype=matrix.dtype)
    try:
        values, vectors = spla.eigsh(
            operator, n_vectors, which="LA", v0=_start_vector(n, start), ncv=width, maxiter=_RESTARTS, **_fixed_draws()
        )
    except spla.ArpackNoConvergence:
        return None
    order = np.argsort(-values, kind="stable")
    return values[order], vectors[:, order]


def _by_blocks(matrix: SquareMatrix, n_vectors: int) -> tuple[np.ndarray, np.ndarray]:
    """Apply block iteration, which always ends; its last directions may be mixed with the next ones."""
    n = matrix.shape[0]
    fixed = {"v0": _start_vector(n, None), **_fixed_draws()}
    lowest = spla.eigsh(matrix, 1, which="SA", tol=0.01, return_eigenvectors=False, **fixed)[0]
    shift = 1.1 * max(-float(lowest), 0.0)  # makes the matrix positive semi-definite
    values, vectors = leading_eigenvectors(
        lambda x: matrix @ x + shift * x, n, n_vectors, tol=_BLOCK_TOLERANCE, max_iter=_RESTARTS
    )
    return values - shift, vectors


def largest_eigenvectors_by_part(
    matrix: sp.csr_array, n_vectors: int, *, start: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the largest eigenvalues of a non-negative symmetric matrix component by component, and eigenvectors.

    Lanczos' method may miss copies of an eigenvalue, and a normalised graph with c components has the eigenvalue 1
    c times. Such copies are in different components, and every eigenvector can be chosen within one of them: each
    component is solved by itself, and the largest eigenvalues of all are returned in descending order.

    Parameters
    ----------
    matrix : csr_array of shape (n, n)
    n_vectors : int
        At most n.
    start : ndarray of shape (n, any), optional
        As for :func:`largest_eigenvectors`.

    Returns
    -------
    values, vectors : ndarrays of shapes (n_vectors,) and (n, n_vectors)
    """
    matrix = drop_weak_edges(matrix)
    n_parts, labels = connected_components(matrix, directed=False)
    if n_parts == 1:
        return largest_eigenvectors(matrix, n_vectors, start=start)
    order = np.argsort(labels, kind="stable")
    ends = np.cumsum(np.bincount(labels))
    matrix = sp.csr_array(matrix[order][:, order])
    values: list[np.ndarray] = []
    pieces: list[np.ndarray] = []
    for first, last in zip(ends - np.bincount(labels), ends, strict=True):
        inside = _diagonal_block(matrix, int(first), int(last))
        given = None if start is None else start[order[first:last]]
        found, piece = largest_eigenvectors(inside, min(n_vectors, int(last - first)), start=given)
        values.append(found)
        pieces.append(piece)
    part = np.repeat(np.arange(n_parts), [len(found) for found in values])
    column = np.concatenate([np.arange(len(found)) for found in values])
    joined = np.concatenate(values)
    taken = np.argsort(-joined, kind="stable")[:n_vectors]
    vectors = np.zeros((matrix.shape[0], n_vectors))
    for j, entry in enumerate(taken):
        c = part[entry]
        vectors[order[ends[c] - len(pieces[c]) : ends[c]], j] = pieces[c][:, column[entry]]
    return joined[taken], vectors


def leading_singular_vectors(
    matrix: np.ndarray | sp.csr_array, n_vectors: int, n_values: int | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compute leading singular triplets of a tall matrix through its small Gram matrix.

    That of a graph with many anchors is sparse, and is decomposed component by component with Lanczos' method.

    Parameters
    ----------
    matrix : array of shape (n, m)
    n_vectors : int
        Number of vectors; at most m are returned.
    n_values : int, optional
        Number of singular values, at least ``n_vectors`` (default).

    Returns
    -------
    u, values, v : ndarrays of shapes (n, n_vectors), (n_values,), (m, n_vectors)
        Descending. The left vector of a vanishing singular value is zero.
    """
    n_vectors = min(n_vectors, matrix.shape[1])
    n_values = min(n_values or n_vectors, matrix.shape[1])
    # Anchors without edges are empty columns. A graph that is being thinned out has many; they are left out.
    used = _nonempty_columns(matrix)
    if len(used) < n_values:
        used = np.arange(matrix.shape[1])
    part = matrix[:, used] if len(used) < matrix.shape[1] else matrix
    if sp.issparse(part) and _is_thin(part) and len(used) > 20 * n_values and np.min(part.data) >= 0:
        squares, vectors = largest_eigenvectors_by_part(sp.csr_array(part.T @ part), n_values)
    else:
        squares, vectors = some_eigenvectors(gram(part), len(used) - n_values, len(used) - 1)
        squares, vectors = squares[::-1], vectors[:, ::-1]
    values, vectors = np.sqrt(np.maximum(squares, 0.0)), vectors[:, :n_vectors]
    u = np.asarray(part @ vectors)
    top = values[:n_vectors]
    u = np.divide(u, top, out=np.zeros_like(u), where=top > 1e-12 * max(values[0], 1e-300))
    v = np.zeros((matrix.shape[1], n_vectors))
    v[used] = vectors
    return u, values, v


def _is_thin(graph: sp.csr_array) -> bool:
    """Return whether the Gram matrix of a graph is found and decomposed faster as a sparse matrix."""
    n, m = graph.shape
    return m > _MANY_COLUMNS and 0 < _SPARSE_COST * graph.nnz**2 / max(n, 1) < m**3


def _nonempty_columns(matrix: np.ndarray | sp.csr_array) -> np.ndarray:
    if isinstance(matrix, np.ndarray):
        return np.flatnonzero(matrix.any(axis=0))
    return np.flatnonzero(np.bincount(matrix.indices, weights=matrix.data != 0, minlength=matrix.shape[1]))


def laplacian_eigenvectors(
    graph: sp.csr_array, n_vectors: int, *, start: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the smallest eigenvalues of ``L = D - W``, ascending, and their eigenvectors.

    The multiplicity of the eigenvalue 0 is the number of components of W, and its eigenvectors are their indicators.
    Lanczos' method, which may miss copies of an eigenvalue, is used for the others only.

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


def random_walk_eigenvectors(graph: np.ndarray | sp.csr_array, n_vectors: int) -> np.ndarray:
    """Compute the leading eigenvectors of the random walk ``D^-1 W``, the relaxed normalised cut.

    They are ``D^-½ u`` for the eigenvectors u of ``D^-½ W D^-½``, up to a factor those of scikit-learn's
    ``spectral_embedding``. Each component of the graph is solved by itself, see
    :func:`largest_eigenvectors_by_part`.

    Parameters
    ----------
    graph : ndarray or csr_array of shape (n, n)
        W, symmetric and non-negative. A dense one is taken to be connected.
    n_vectors : int
        At most n.

    Returns
    -------
    ndarray of shape (n, n_vectors)
    """
    solve = largest_eigenvectors if isinstance(graph, np.ndarray) else largest_eigenvectors_by_part
    _, vectors = solve(normalize_graph(graph), n_vectors)
    return inverse_sqrt(np.asarray(graph.sum(axis=1)).ravel())[:, None] * vectors


def _diagonal_block(matrix: sp.csr_array, first: int, last: int) -> sp.csr_array:
    """Return rows and columns ``first`` to ``last - 1`` of a block diagonal matrix, without copying it."""
    low, high = matrix.indptr[first], matrix.indptr[last]
    block = (matrix.data[low:high], matrix.indices[low:high] - first, matrix.indptr[first : last + 1] - low)
    return sp.csr_array(block, shape=(last - first, last - first))


def _fixed_draws() -> dict[str, np.random.Generator]:
    """Return arguments with which ARPACK draws the same directions in every call, as before SciPy 1.17."""
    return {"rng": np.random.default_rng(0)} if _TAKES_RNG else {}


def _start_vector(n: int, start: np.ndarray | None) -> np.ndarray:
    """Return the sum of the given vectors and noise, so that no eigenvector is orthogonal to it."""
    noise = np.random.default_rng(0).standard_normal(n) / np.sqrt(n)
    if start is None:
        return noise
    return start.reshape(n, -1).sum(axis=1) + 1e-3 * noise


def _dense(matrix: SquareMatrix) -> np.ndarray:
    if isinstance(matrix, np.ndarray):
        return matrix
    return matrix.toarray() if sp.issparse(matrix) else matrix @ np.eye(matrix.shape[0])
