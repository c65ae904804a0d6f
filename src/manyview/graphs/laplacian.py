"""Spectra of bipartite graphs, and the eigensolvers that they need. Nothing of size (n + m) x (n + m) is formed.

The spectra of graphs among samples are in :mod:`manyview.graphs.spectrum`.

For a graph C between n samples and m anchors with degrees ``D_U = diag(C1)`` and ``D_M = diag(Cᵀ1)``, the Laplacian is
``L = I - [[0, Ĉ], [Ĉᵀ, 0]]`` with ``Ĉ = D_U^-½ C D_M^-½``. Its K smallest eigenvectors are ``[U; V]/√2`` with the K
leading singular vectors of Ĉ, and the multiplicity of its eigenvalue 0 is the number of connected components.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.linalg import get_blas_funcs, get_lapack_funcs

from manyview._utils.compiled import njit

# A sparse matrix with more than this share of entries is multiplied faster as a dense one.
_DENSE_SHARE = 0.1
# Blocks of vectors are a multiple of this wide, and at least this: narrower ones are multiplied no faster.
_REGISTER, _LEAST_WIDTH = 8, 24
# The squared distance of a column of length 1 from the span of those before: a multiple of the rounding error, below
# which columns count as dependent, and what is far enough for one decomposition.
_DEPENDENT, _INDEPENDENT = 1000, 0.01


def inverse_sqrt(degrees: np.ndarray) -> np.ndarray:
    """Return ``d^-½``, with 0 for nodes without edges, whose rows or columns stay empty."""
    return np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)


@njit(nogil=True, cache=True)
def edge_costs(a: np.ndarray, b: np.ndarray, columns: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return ``|a_i - b_j|²`` for every stored entry (i, j) of a CSR pattern: its factor in the Laplacian term."""
    cost = np.zeros(columns.size)
    for i in range(starts.size - 1):
        for e in range(starts[i], starts[i + 1]):
            for c in range(a.shape[1]):
                cost[e] += (a[i, c] - b[columns[e], c]) ** 2
    return cost


def scale_edges(graph: np.ndarray | sp.csr_array, left: np.ndarray, right: np.ndarray) -> np.ndarray | sp.csr_array:
    """Return ``diag(left) C diag(right)``, dense or CSR like the input."""
    if isinstance(graph, np.ndarray):
        return left[:, None] * graph * right
    data = graph.data * np.repeat(left, np.diff(graph.indptr)) * right[graph.indices]
    return sp.csr_array((data, graph.indices, graph.indptr), shape=graph.shape)


def normalize_bipartite(graph: np.ndarray | sp.csr_array) -> np.ndarray | sp.csr_array:
    """Return ``D_U^-½ C D_M^-½``, dense or CSR like the input.

    Parameters
    ----------
    graph : ndarray or csr_array of shape (n, m)
        C, not negative; ``D_U`` and ``D_M`` hold the sums of its rows and columns. Empty ones stay empty.
    """
    left = inverse_sqrt(np.asarray(graph.sum(axis=1)).ravel())
    right = inverse_sqrt(np.asarray(graph.sum(axis=0)).ravel())
    return scale_edges(graph, left, right)


def some_eigenvectors(matrix: np.ndarray, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
    """Compute eigenvalues number ``first`` to ``last``, ascending, and eigenvectors of a dense symmetric matrix."""
    try:
        values, vectors = scipy.linalg.eigh(matrix, subset_by_index=[first, last], check_finite=False)
        if len(values) == last - first + 1:
            return values, vectors
    except scipy.linalg.LinAlgError:
        pass
    # LAPACK's drivers for a subset of eigenvectors fail for some disconnected graphs, or silently return too few; the
    # driver for all eigenvectors does not.
    values, vectors = scipy.linalg.eigh(matrix, driver="evd", check_finite=False)
    return values[first : last + 1], vectors[:, first : last + 1]


def leading_eigenvectors(
    apply: Callable[[np.ndarray], np.ndarray],
    size: int,
    n_vectors: int,
    *,
    tol: float = 1e-5,
    max_iter: int = 30,
    degree: int = 6,
    dtype: type[np.floating[Any]] = np.float64,
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the largest eigenvalues, descending, and eigenvectors of a positive semi-definite linear operator.

    Chebyshev-filtered subspace iteration. A block of vectors finds repeated eigenvalues (disconnected graphs have the
    eigenvalue 1 several times, and single-vector Lanczos misses copies); a polynomial damps everything below the
    block's smallest Ritz value.

    Parameters
    ----------
    apply : callable
        ``X -> A @ X`` for blocks of shape (size, b).
    size, n_vectors : int
        Size of the matrix, and number of eigenvectors.
    tol : float
        Largest residual ``|Ax - λx|`` relative to the largest eigenvalue.
    max_iter : int
        Maximum number of iterations; then the last block is returned. Its last directions may be mixed with the next
        ones, which does not matter for clustering.
    degree : int
        Degree of the polynomial: more costs products with the matrix, less costs orthogonalisations.
    dtype : type
        Precision of the blocks. Single precision is twice as fast, and enough for a tolerance of 1e-3 or more.
    """
    width = _block_width(n_vectors)
    if 3 * width >= size:
        values, vectors = some_eigenvectors(apply(np.eye(size, dtype=dtype)), size - n_vectors, size - 1)
        return values[::-1], vectors[:, ::-1]
    block = np.random.default_rng(0).standard_normal((size, width)).astype(dtype)
    block = _orthonormal(apply(apply(block)))
    for iteration in range(max_iter):
        image = apply(block)
        values, rotation = scipy.linalg.eigh(block.T @ image, driver="evd", check_finite=False)
        values, rotation = values[::-1], np.ascontiguousarray(rotation[:, ::-1])
        block, image = block @ rotation, image @ rotation
        gap = np.linalg.norm(image[:, :n_vectors] - block[:, :n_vectors] * values[:n_vectors], axis=0)
        if gap.max() <= tol * max(values[0], 1e-300) or iteration == max_iter - 1:
            break
        block = _orthonormal(_filter(apply, block, image, float(max(values[-1], 1e-3 * values[0])), degree))
    return values[:n_vectors], block[:, :n_vectors]


def _block_width(n_vectors: int) -> int:
    """Return the number of vectors to iterate: more than are wanted, in full registers of the processor."""
    return max(_LEAST_WIDTH, -(-(n_vectors + max(8, n_vectors // 4)) // _REGISTER) * _REGISTER)


def _filter(
    apply: Callable[[np.ndarray], np.ndarray], block: np.ndarray, image: np.ndarray, cut: float, degree: int
) -> np.ndarray:
    """Apply a Chebyshev polynomial of A, small on [0, cut] and growing fast above; ``image`` is ``A @ block``."""
    half = cut / 2
    before, now = block, image / half - block
    for _ in range(degree - 1):
        after = apply(now) * (2 / half)
        after -= 2 * now
        after -= before
        before, now = now, after
    return now


def _orthonormal(block: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of the columns.

    Cholesky's decomposition of their Gram matrix, once or twice, takes a quarter of the time of Householder's
    reflections, which are left for columns that are nearly dependent.
    """
    lengths = np.sqrt(np.einsum("ij,ij->j", block, block))
    basis = block / np.maximum(lengths, np.finfo(block.dtype).tiny)
    (factorize,), (solve,) = get_lapack_funcs(("potrf",), (basis,)), get_blas_funcs(("trsm",), (basis,))
    for _ in range(2):
        lower, failed = factorize(basis.T @ basis, lower=1)
        apart = 0.0 if failed else lower.diagonal().min() ** 2
        if not apart > _DEPENDENT * np.finfo(block.dtype).eps:
            break
        basis = solve(1.0, lower, basis.T, lower=1, overwrite_b=1).T
        if apart > _INDEPENDENT:
            return basis
    else:
        return basis
    return scipy.linalg.qr(block, mode="economic", check_finite=False)[0]


def gram(matrix: np.ndarray | sp.csr_array) -> np.ndarray:
    """Return ``MᵀM`` as a dense m x m matrix."""
    if isinstance(matrix, np.ndarray):
        return matrix.T @ matrix
    if matrix.nnz > _DENSE_SHARE * matrix.shape[0] * matrix.shape[1]:
        dense = matrix.toarray()
        return dense.T @ dense
    products = np.zeros((matrix.shape[1], matrix.shape[1]))
    _add_row_products(matrix.data, matrix.indices, matrix.indptr, products)
    return products + np.tril(products, -1).T


@njit(nogil=True, cache=True)
def _add_row_products(data: np.ndarray, columns: np.ndarray, starts: np.ndarray, out: np.ndarray) -> None:
    """Add the lower triangle of ``xxᵀ`` of every row x."""
    for i in range(starts.size - 1):
        for e in range(starts[i], starts[i + 1]):
            a, value = columns[e], data[e]
            for f in range(starts[i], e + 1):
                b = columns[f]
                out[max(a, b), min(a, b)] += value * data[f]
