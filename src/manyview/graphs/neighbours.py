"""Distances and nearest neighbours between samples and anchors, in row blocks, dense or sparse."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

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
# Rows at a time, more if they are sorted by groups of anchors; and how many products of rows and anchors stay in the
# cache.
_TILE_ROWS, _GROUPED_ROWS, _TILE_ENTRIES = 256, 8192, 2**18
# Anchors are grouped if there are this many, with this many rows for each, by these passes of k-means, and if groups
# rule half of them out.
_FEW_ANCHORS, _ROWS_PER_ANCHOR, _GROUP_PASSES, _WORTHWHILE = 256, 4, 3, 0.5
# Copies of the anchors that groups may make.
_COPIES = 4
# A squared distance of d features is the sum of 2d + 8 numbers at most, each with the rounding error of single
# precision, so this times √(d + 4) bounds the error of the four distances of a comparison, relative to the lengths of
# both vectors; and what may be lost by underflow.
_ROOT_EPSILON, _NO_LENGTH = np.float32(4 * _EPSILON**0.5), np.float32(1e-30)


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
    return AnchorSearch(anchors, length, only_similar=only_similar).lists(view, n_threads)


class AnchorSearch:
    """Anchors that are prepared for the neighbour lists of many rows, see :func:`nearest_lists`."""

    def __init__(self, anchors: Array, length: int, *, only_similar: bool = False) -> None:
        if not 1 <= length <= anchors.shape[0]:
            raise ValueError(f"length must be from 1 to the number of anchors, {anchors.shape[0]}, got {length}")
        self._anchors, self._length, self._only_similar = anchors, length, only_similar
        self._dense: dict[type, _DenseAnchors] = {}  # by precision
        self._groups: dict[type, _AnchorGroups | None] = {}

    def lists(self, view: Array, n_threads: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the neighbour list of each row."""
        n, tile = view.shape[0], _TILE_ROWS
        indices = np.empty((n, self._length), dtype=np.int32)
        distances = np.empty((n, self._length), dtype=np.float32)
        if self._only_similar or not (isinstance(view, np.ndarray) and isinstance(self._anchors, np.ndarray)):
            given = sp.csr_array(view), sp.csr_array(self._anchors)
            one = _sparse_lists(*given, self._only_similar, indices, distances)
        else:
            dtype = np.float32 if view.dtype == np.float32 else np.float64
            if dtype not in self._dense:
                self._dense[dtype] = _DenseAnchors.of(self._anchors, dtype)
            searched: _DenseAnchors | _AnchorGroups = self._dense[dtype]
            if n >= _ROWS_PER_ANCHOR * len(self._anchors) and len(self._anchors) >= _FEW_ANCHORS:
                if dtype not in self._groups:
                    self._groups[dtype] = _AnchorGroups.of(self._dense[dtype], self._length)
                groups = self._groups[dtype]
                if groups is not None:
                    searched, tile = groups, _GROUPED_ROWS

            def one(rows: slice) -> None:
                searched.list_near(np.ascontiguousarray(view[rows], dtype=dtype), indices[rows], distances[rows])

        with RowThreads(n_threads) as threads:
            threads.map(one, n, tile)
        return indices, distances


# Overflow of single precision is handled in :func:`_list_near`, by the norms.
_overflow_is_seen = np.errstate(over="ignore", invalid="ignore")


@dataclass(frozen=True)
class _DenseAnchors:
    """Anchors in the precision of the views; and less their ``centre`` in single precision, with squared norms.

    ``numbers`` are their indices in the lists.
    """

    values: np.ndarray
    centre: np.ndarray
    centred: np.ndarray
    norms: np.ndarray
    numbers: np.ndarray

    @classmethod
    @_overflow_is_seen
    def of(cls, anchors: np.ndarray, dtype: type) -> _DenseAnchors:
        """Prepare anchors; as in :func:`squared_distances`, there is less cancellation if they are centred."""
        anchors = np.ascontiguousarray(anchors, dtype=dtype)
        centre = anchors.mean(axis=0)
        centred = (anchors - centre).astype(np.float32, copy=False)
        norms = _squared_norms(centred.astype(np.float64)).astype(np.float32)
        return cls(anchors, centre, centred, norms, np.arange(len(anchors), dtype=np.int32))

    def take(self, chosen: np.ndarray) -> _DenseAnchors:
        """Return some of the anchors."""
        return _DenseAnchors(
            self.values[chosen], self.centre, self.centred[chosen], self.norms[chosen], self.numbers[chosen]
        )

    def centre_rows(self, rows: np.ndarray) -> np.ndarray:
        """Return rows less the centre of the anchors, in single precision."""
        return (rows - self.centre).astype(np.float32, copy=False)

    @_overflow_is_seen
    def list_near(self, rows: np.ndarray, indices: np.ndarray, distances: np.ndarray) -> None:
        """Write the lists of these rows."""
        self.list_some(rows, np.arange(len(rows)), self.centre_rows(rows), indices, distances)

    def list_some(
        self, rows: np.ndarray, given: np.ndarray, centred: np.ndarray, indices: np.ndarray, distances: np.ndarray
    ) -> None:
        """Write the lists of the ``given`` rows, whose centred values are ``centred``."""
        room = Scratch.of(len(self.values))
        upper, bound = np.empty(len(self.values), dtype=np.float32), np.empty(1, np.float32)
        largest = self.norms.max()
        step = max(_TILE_ROWS, _TILE_ENTRIES // len(self.values))
        for start in range(0, len(given), step):
            tile = slice(start, start + step)
            _list_near(
                *(rows, given[tile], self.values, self.numbers, self.centre, self.norms, largest),
                *(centred[tile] @ self.centred.T, indices, distances),
                *(upper, upper.view(np.int32), bound, bound.view(np.int32)),
                *(room.marks, room.words, room.near, room.values, room.bits, room.order, room.spare),
            )


@dataclass(frozen=True)
class _AnchorGroups:
    """Anchors in groups around ``centres``, by which most are ruled out for rows in clear clusters.

    By the triangle inequality, a row x has ``length`` anchors within ``|x - c| + reach_c`` for every centre c, if that
    many are within ``reach_c`` of c. So groups farther away than that, whose anchors are within ``radii`` of their
    centres, have none of the nearest. ``needed[c]`` says which groups are left for the anchors that have the lowest
    bound from c, and ``near[c]`` are the anchors in these. A row with that bound is compared with them alone if no
    other group is left, otherwise with all anchors.
    """

    anchors: _DenseAnchors
    group: np.ndarray
    centres: np.ndarray
    radii: np.ndarray
    reach: np.ndarray
    needed: np.ndarray
    near: tuple[_DenseAnchors, ...] = ()

    @classmethod
    @_overflow_is_seen
    def of(cls, anchors: _DenseAnchors, length: int) -> _AnchorGroups | None:
        """Return groups by a few passes of k-means; None if they would rule out less than half of the anchors.

        Groups that need the same groups are one, as are those of one clear cluster.
        """
        points = anchors.centred
        if not anchors.norms.max() < _SAFE:
            return None
        group = _distances(points, points[: int(np.sqrt(len(points)))]).argmin(axis=1)  # anchors: coarse to fine
        for _ in range(_GROUP_PASSES):
            group = _distances(points, _means(points, group)).argmin(axis=1)
        _, same = np.unique(cls._around(anchors, group, length).needed, axis=0, return_inverse=True)
        found = cls._around(anchors, same[np.unique(group, return_inverse=True)[1]], length)
        near = [np.flatnonzero(needed[found.group]) for needed in found.needed]
        sizes = np.array([len(chosen) for chosen in near])
        if sizes[found._bounds(points)[0]].mean() > _WORTHWHILE * len(points) or sizes.sum() > _COPIES * len(points):
            return None
        return replace(found, near=tuple(map(anchors.take, near)))

    @classmethod
    def _around(cls, anchors: _DenseAnchors, group: np.ndarray, length: int) -> _AnchorGroups:
        """Return the groups with these numbers."""
        group = np.unique(group, return_inverse=True)[1]
        centres = _means(anchors.centred, group)
        apart = _distances(anchors.centred, centres)
        radii = np.zeros(len(centres), dtype=np.float32)
        np.maximum.at(radii, group, apart[np.arange(len(group)), group])
        reach = np.partition(apart, length - 1, axis=0)[length - 1]
        found = cls(anchors, group, centres, radii, reach, np.zeros((len(centres),) * 2, dtype=bool))
        np.logical_or.at(found.needed, *found._bounds(anchors.centred))
        return found

    def _bounds(self, centred: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return, for each row, the centre with the lowest bound, and which groups are left."""
        apart = _distances(centred, self.centres)
        bounds = apart + self.reach
        nearest = bounds.argmin(axis=1)
        largest = _squared_norms(centred) + 2 * self.anchors.norms.max() + _NO_LENGTH
        within = bounds[np.arange(len(nearest)), nearest] + _ROOT_EPSILON * np.sqrt((centred.shape[1] + 16) * largest)
        return nearest, ~(apart - self.radii > within[:, None])  # also where numbers are too large

    @_overflow_is_seen
    def list_near(self, rows: np.ndarray, indices: np.ndarray, distances: np.ndarray) -> None:
        """Write the lists of these rows."""
        centred = self.anchors.centre_rows(rows)
        nearest, left = self._bounds(centred)
        needs_others = (left & ~self.needed[nearest]).any(axis=1)
        compared = np.where(needs_others, len(self.near), nearest)
        order = np.argsort(compared, kind="stable")
        starts = np.searchsorted(compared[order], np.arange(len(self.near) + 2))
        for some, start, stop in zip((*self.near, self.anchors), starts, starts[1:], strict=False):
            if start < stop:
                given = order[start:stop]
                some.list_some(rows, given, centred[given], indices, distances)


def _distances(rows: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Return distances in single precision."""
    found = rows @ centres.T
    found *= -2
    found += _squared_norms(rows)[:, None]
    found += _squared_norms(centres)
    return np.sqrt(np.maximum(found, 0, out=found), out=found)


def _means(points: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Return the means of groups, without those that are empty."""
    _, group, sizes = np.unique(group, return_inverse=True, return_counts=True)
    members = sp.csr_array((np.ones(len(group), dtype=points.dtype), group, np.arange(len(group) + 1)))
    return (members.T @ points / sizes[:, None]).astype(points.dtype)


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
    given: np.ndarray,
    anchors: np.ndarray,
    numbers: np.ndarray,
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
    """Write the lists of the ``given`` rows, by the ``numbers`` of the anchors.

    ``norms`` of centred anchors and their products with centred rows, ``inner``, are in single precision.
    At least as many upper bounds of distances as the list is long are within a threshold. Anchors whose lower bound is
    above it are not among the nearest.
    """
    m, length = norms.size, indices.shape[1]
    # Twice the bound on the rounding error of a sum of products in any order and of the operations around it.
    error = np.float32((rows.shape[1] + 16) * _EPSILON)
    for i in range(given.size):
        at = given[i]
        row_norm = np.float32(_squared_distance(rows[at], centre))
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
            exact[c] = _squared_distance(rows[at], anchors[near[c]])
        sort_bits(exact_bits, count, order, spare)
        for p in range(length):
            indices[at, p] = numbers[near[order[p]]]
            distances[at, p] = exact[order[p]] if exact[order[p]] < _SAFE else _SAFE


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
