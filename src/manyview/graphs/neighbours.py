"""Distances and nearest neighbours between samples and anchors, in row blocks, dense or sparse."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import scipy.sparse as sp

from manyview._utils.compiled import njit
from manyview.engines import RowThreads
from manyview.graphs.smallest import Scratch, count_up_to, pack, sort_bits, upper_bound
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
    largest = norms.max()

    @_overflow_is_seen
    def one(rows: slice) -> None:
        block = np.ascontiguousarray(view[rows], dtype=dtype)
        inner = (block - centre).astype(np.float32, copy=False) @ centred.T
        room, upper, bound = Scratch.of(len(anchors)), np.empty(len(anchors), dtype=np.float32), np.empty(1, np.float32)
        _list_near(
            *(block, anchors, centre, norms, largest, inner, indices[rows], distances[rows]),
            *(upper, upper.view(np.int32), bound, bound.view(np.int32)),
            *(room.marks, room.words, room.near, room.values, room.bits, room.order, room.spare),
        )

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
        room = Scratch.of(len(norms))
        _list_smallest(
            *(values, values.view(np.int64), indices[rows], distances[rows]),
            *(room.marks, room.words, room.near, room.bits, room.order, room.spare),
        )

    return one


@njit(nogil=True, cache=True)
def _list_smallest(
    values: np.ndarray,
    bits: np.ndarray,
    indices: np.ndarray,
    distances: np.ndarray,
    marks: np.ndarray,
    words: np.ndarray,
    near: np.ndarray,
    some: np.ndarray,
    order: np.ndarray,
    spare: np.ndarray,
) -> None:
    """Write the lists of the smallest values of each row; of equals, the first."""
    length = indices.shape[1]
    for i in range(values.shape[0]):
        bound = upper_bound(bits[i], length)
        room = length - count_up_to(bits[i], bound - 1)
        for j in range(values.shape[1]):
            within = bits[i, j] < bound or (bits[i, j] == bound and room > 0)
            room -= bits[i, j] == bound
            marks[j] = within
        count = pack(marks, words, near)
        for c in range(count):
            some[c] = bits[i, near[c]]
        sort_bits(some, count, order, spare)
        for p in range(length):
            indices[i, p] = near[order[p]]
            distances[i, p] = values[i, near[order[p]]]


@njit(nogil=True, cache=True)
def _list_near(
    rows: np.ndarray,
    anchors: np.ndarray,
    centre: np.ndarray,
    norms: np.ndarray,
    largest: np.float32,
    inner: np.ndarray,
    indices: np.ndarray,
    distances: np.ndarray,
    upper: np.ndarray,
    upper_bits: np.ndarray,
    bound: np.ndarray,
    bound_bits: np.ndarray,
    marks: np.ndarray,
    words: np.ndarray,
    near: np.ndarray,
    exact: np.ndarray,
    exact_bits: np.ndarray,
    order: np.ndarray,
    spare: np.ndarray,
) -> None:
    """Write the lists of ``rows``; ``norms`` of centred anchors and ``inner`` products are in single precision.

    At least as many upper bounds of distances as the list is long are within a threshold. Anchors whose lower bound is
    above it are not among the nearest.
    """
    m, length = norms.size, indices.shape[1]
    # Twice the bound on the rounding error of a sum of products in any order and of the operations around it.
    error = np.float32((rows.shape[1] + 16) * _EPSILON)
    for i in range(rows.shape[0]):
        row_norm = np.float32(_squared_distance(rows[i], centre))
        if row_norm + largest < _SAFE:
            for j in range(m):
                size = row_norm + norms[j]
                value = size - np.float32(2) * inner[i, j] + (error * size + _TINY)
                upper[j] = value if value > np.float32(0) else np.float32(0)
            bound_bits[0] = upper_bound(upper_bits, length)
            within = bound[0]
            for j in range(m):
                marks[j] = upper[j] - np.float32(2) * (error * (row_norm + norms[j]) + _TINY) <= within
        else:  # numbers too large for single precision
            for j in range(m):
                marks[j] = 1
        count = pack(marks, words, near)
        for c in range(count):
            exact[c] = _squared_distance(rows[i], anchors[near[c]])
        sort_bits(exact_bits, count, order, spare)
        for p in range(length):
            indices[i, p] = near[order[p]]
            distances[i, p] = exact[order[p]] if exact[order[p]] < _SAFE else _SAFE


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"}, forceinline=True)
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
