"""Distances and nearest neighbours between samples and anchors, in row blocks, dense or sparse."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import scipy.sparse as sp

from manyview._utils.compiled import njit
from manyview.engines import RowThreads
from manyview.graphs.smallest import pack, smallest, upper_bound
from manyview.views import Array

# Entries of a block of distances: 32 MB of float64, so memory does not grow with the number of samples.
_BLOCK_ENTRIES = 4_000_000
# Single precision: its relative rounding error, a bound on absolute errors by underflow, and the largest norm whose
# products do not overflow. Larger distances are set to this bound: they stay finite, so far samples have neighbours.
_EPSILON = 2.0**-23
_TINY = np.float32(1e-36)
_SAFE = np.float32(1e37)


def squared_distances(a: Array, b: Array) -> np.ndarray:
    """Return squared Euclidean distances between the rows of ``a`` and of ``b``, never negative.

    Dense data are centred first, which does not change distances and reduces cancellation.
    """
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        centre = b.mean(axis=0)
        a, b = a - centre, b - centre
    inner = a @ b.T
    inner = inner if isinstance(inner, np.ndarray) else inner.toarray()
    distances = _squared_norms(a)[:, None] + _squared_norms(b)[None, :] - 2 * inner
    return np.maximum(distances, 0.0, out=distances)


def nearest_rows(
    view: Array, anchors: Array, n_neighbors: int, *, exclude_self: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest anchors of every sample, nearest first.

    Parameters
    ----------
    view : array of shape (n, d)
    anchors : array of shape (m, d)
    n_neighbors : int
        Number of anchors per sample, at most m (m - 1 with ``exclude_self``).
    exclude_self : bool
        For ``anchors is view``: a sample is not its own neighbour, though its duplicates are.

    Returns
    -------
    indices, distances : ndarrays of shape (n, n_neighbors)
        Rows of ``anchors``, and squared distances in ascending order; equally near anchors in the order of their index.
        Which of several equally far anchors end the list is arbitrary, but reproducible.
    """
    n, m = view.shape[0], anchors.shape[0]
    indices = np.empty((n, n_neighbors), dtype=np.int64)
    distances = np.empty((n, n_neighbors))
    for rows in row_blocks(n, m):
        block = squared_distances(view[rows], anchors)
        if exclude_self:
            block[np.arange(block.shape[0]), np.arange(rows.start, rows.stop)] = np.inf
        near = np.argpartition(block, n_neighbors - 1, axis=1)[:, :n_neighbors] if n_neighbors < m else None
        near = np.tile(np.arange(m), (block.shape[0], 1)) if near is None else np.sort(near, axis=1)
        value = np.take_along_axis(block, near, axis=1)
        order = np.argsort(value, axis=1, kind="stable")
        indices[rows] = np.take_along_axis(near, order, axis=1)
        distances[rows] = np.take_along_axis(value, order, axis=1)
    return indices, distances


def nearest_lists(
    view: Array, anchors: Array, length: int, *, only_similar: bool = False, n_threads: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the neighbour list of each row, computed in threads, in compact types.

    A list depends on its own row alone, to the last bit, which a matrix product does not guarantee. So for dense data a
    product in single precision only selects the anchors that may be among the nearest, by a bound on its rounding
    errors, and the distances to these few are then summed in double precision.

    Parameters
    ----------
    view, anchors : arrays of shape (n, d) and (m, d)
    length : int
        Number of anchors per row, at most m.
    only_similar : bool
        Anchors with an inner product of zero or less come last, at infinite distance: texts without a common word are
        not near each other, however short they are.
    n_threads : int, optional
        Number of threads; by default, one per core. The result does not depend on it.

    Returns
    -------
    indices, distances : ndarrays of shape (n, length), int32 and float32
        Squared distances, ascending; equally far anchors in the order of their index, also where the list ends.
    """
    n, m = view.shape[0], anchors.shape[0]
    if not 1 <= length <= m:
        raise ValueError(f"length must be from 1 to the number of anchors, {m}, got {length}")
    indices, distances = np.empty((n, length), dtype=np.int32), np.empty((n, length), dtype=np.float32)
    if only_similar or not (isinstance(view, np.ndarray) and isinstance(anchors, np.ndarray)):
        one = _sparse_lists(sp.csr_array(view), sp.csr_array(anchors), only_similar, indices, distances)
    else:
        one = _dense_lists(view, anchors, indices, distances)
    with RowThreads(n_threads) as threads:
        threads.map(one, n)
    return indices, distances


# Overflow of single precision is handled in :func:`_list_near`, by the norms.
_overflow_is_seen = np.errstate(over="ignore", invalid="ignore")


@_overflow_is_seen
def _dense_lists(
    view: np.ndarray, anchors: np.ndarray, indices: np.ndarray, distances: np.ndarray
) -> Callable[[slice], None]:
    dtype = np.float32 if view.dtype == np.float32 else np.float64
    anchors = np.ascontiguousarray(anchors, dtype=dtype)
    centre = anchors.mean(axis=0)  # as in squared_distances: less cancellation
    centred = (anchors - centre).astype(np.float32, copy=False)
    norms = _squared_norms(centred.astype(np.float64)).astype(np.float32)

    @_overflow_is_seen
    def one(rows: slice) -> None:
        block = np.ascontiguousarray(view[rows], dtype=dtype)
        inner = (block - centre).astype(np.float32, copy=False) @ centred.T
        _list_near(block, anchors, centre, norms, inner, indices[rows], distances[rows], new_marks(len(anchors)))

    return one


def _sparse_lists(
    view: sp.csr_array, anchors: sp.csr_array, only_similar: bool, indices: np.ndarray, distances: np.ndarray
) -> Callable[[slice], None]:
    anchors = anchors.astype(np.float64)
    norms, transposed = _squared_norms(anchors), anchors.T.tocsr()

    def one(rows: slice) -> None:
        block = view[rows].astype(np.float64)
        inner = (block @ transposed).toarray()
        values = np.clip(_squared_norms(block)[:, None] + norms - 2 * inner, 0.0, _SAFE)
        if only_similar:
            values[inner <= 0.0] = np.inf
        _list_smallest(values, indices[rows], distances[rows], new_marks(len(norms)))

    return one


@njit(nogil=True, cache=True)
def _list_smallest(values: np.ndarray, indices: np.ndarray, distances: np.ndarray, marks: np.ndarray) -> None:
    n, m = values.shape
    order = np.empty(m + 1, dtype=np.int64)
    for i in range(n):
        smallest(values[i], indices.shape[1], order, marks)
        for p in range(indices.shape[1]):
            indices[i, p] = order[p]
            distances[i, p] = values[i, order[p]]


@njit(nogil=True, cache=True)
def _list_near(
    rows: np.ndarray,
    anchors: np.ndarray,
    centre: np.ndarray,
    norms: np.ndarray,
    inner: np.ndarray,
    indices: np.ndarray,
    distances: np.ndarray,
    marks: np.ndarray,
) -> None:
    """Write the lists of ``rows``; ``norms`` of centred anchors and ``inner`` products are in single precision."""
    m, length = len(anchors), indices.shape[1]
    upper = np.empty(m, dtype=np.float32)
    near, order, exact = np.empty(m + 1, dtype=np.int64), np.empty(m + 1, dtype=np.int64), np.empty(m)
    # Twice the bound on the rounding error of a sum of products in any order and of the operations around it.
    error = np.float32((rows.shape[1] + 16) * _EPSILON)
    largest = norms.max()
    for i in range(len(rows)):
        row_norm = np.float32(_squared_distance(rows[i], centre))
        if row_norm + largest < _SAFE:
            _mark_possible(row_norm, norms, inner[i], error, length, upper, marks)
        else:  # numbers too large for single precision
            marks[:m] = 1
        count = pack(marks, near)
        for c in range(count):
            exact[c] = _squared_distance(rows[i], anchors[near[c]])
        smallest(exact[:count], length, order, marks[: -(-count // 8) * 8])
        for p in range(length):
            indices[i, p] = near[order[p]]
            distances[i, p] = min(exact[order[p]], _SAFE)


@njit(nogil=True, cache=True)
def _mark_possible(
    row_norm: np.float32,
    norms: np.ndarray,
    inner: np.ndarray,
    error: np.float32,
    length: int,
    upper: np.ndarray,
    marks: np.ndarray,
) -> None:
    """Mark the anchors that can be among the ``length`` nearest, with relative errors of distances up to ``error``.

    At least ``length`` upper bounds of distances are within a threshold. Anchors whose lower bound is above it are not
    among the nearest.
    """
    for j in range(norms.size):
        size = row_norm + norms[j]
        upper[j] = max(size - np.float32(2) * inner[j] + (error * size + _TINY), np.float32(0))
    bound = np.empty(1, dtype=np.int32)
    bound[0] = upper_bound(upper.view(np.int32), length)
    within = bound.view(np.float32)[0]
    for j in range(norms.size):
        marks[j] = upper[j] - np.float32(2) * (error * (row_norm + norms[j]) + _TINY) <= within


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _squared_distance(a: np.ndarray, b: np.ndarray) -> float:
    """Sum in double precision, in an order that depends on the number of features alone."""
    total = 0.0
    for j in range(a.size):
        gap = np.float64(a[j]) - np.float64(b[j])
        total += gap * gap
    return total


def row_blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Yield slices of ``n_rows`` such that blocks with ``n_columns`` columns have bounded size."""
    step = max(1, _BLOCK_ENTRIES // max(n_columns, 1))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def _squared_norms(a: Array) -> np.ndarray:
    if isinstance(a, np.ndarray):
        return np.einsum("ij,ij->i", a, a)
    return np.asarray(a.multiply(a).sum(axis=1)).ravel()


def new_marks(size: int) -> np.ndarray:
    """Return one zero byte per value, rounded up to whole words."""
    return np.zeros(-(-size // 8) * 8, dtype=np.uint8)
