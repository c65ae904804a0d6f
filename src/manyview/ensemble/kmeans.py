"""k-means on small tables of weighted points, and on rows in blocks, with its compiled kernels.

scikit-learn's k-means is not used: its threads compete with ours, and rows may be on several workers.
"""

from __future__ import annotations

import numpy as np

from manyview._utils.compiled import njit
from manyview.engines import Block, Rows
from manyview.ensemble.columns import units_in_one
from manyview.graphs.anchors import greedy_picks

_MAX_PASSES = 50
# Of several starts, each makes a few passes, and the best ones then all.
_FIRST_PASSES, _FINALISTS = 3, 3
# Points that are drawn for each centre, of which the best is taken.
_CANDIDATES = 3
# Centres that move less than this, relative to their coordinates, have converged. Vectors of rows are less exact.
_STILL = 1e-6
_STILL_ON_ROWS = 1e-3
_ROUNDING = 1e-24
# Rows that are compared with the centres at a time: enough for the processor's vector units, and few enough for its
# fastest cache.
_LANES = 128
# From this number of coordinates of all centres on, points are compared with them in single precision first, a tile at
# a time; its rounding error, and what may be lost by underflow.
_MANY_COORDINATES, _TILE_ROWS = 600, 8192
_EPSILON, _TINY = np.float32(2.0**-23), np.float32(1e-35)


def seed_centres(
    points: np.ndarray, weights: np.ndarray, n_centres: int, rng: np.random.Generator, n_starts: int
) -> list[np.ndarray]:
    """Return centres by greedy k-means++, several times; some are equal if there are fewer different points."""
    chances = np.zeros((n_starts, n_centres, _CANDIDATES))
    for own in chances:
        own[0, 0] = rng.random()
        own[1:] = rng.random((n_centres - 1, _CANDIDATES))
    return [points[np.resize(picks, n_centres)] for picks in greedy_picks(points, weights, chances)]


def kmeans(
    points: np.ndarray, weights: np.ndarray, n_centres: int, rng: np.random.Generator, n_starts: int = 1
) -> np.ndarray:
    """Return centres with the least weighted cost among several starts; only the best few are followed to the end."""
    points = np.ascontiguousarray(points)
    starts = seed_centres(points, weights, n_centres, rng, n_starts)
    if n_starts > _FINALISTS:
        begun = sorted((_lloyd(points, weights, start, _FIRST_PASSES) for start in starts), key=lambda found: found[0])
        starts = [centres for _, centres in begun[:_FINALISTS]]
    found = [_lloyd(points, weights, start, _MAX_PASSES) for start in starts]
    return min(found, key=lambda pair: pair[0])[1]


def _lloyd(points: np.ndarray, weights: np.ndarray, centres: np.ndarray, max_passes: int) -> tuple[float, np.ndarray]:
    """Make Lloyd's passes; return the weighted cost, of the last assignment, and the centres."""
    for _ in range(max_passes):
        labels = nearest_centre(points, centres)
        moved = _means(centre_sums(points, weights, labels, len(centres)), centres)
        still, centres = _converged(moved, centres, _STILL), moved
        if still:
            break
    return float(weights @ ((points - centres[labels]) ** 2).sum(axis=1)), centres


def kmeans_rows(
    rows: Rows, name: str, centres: np.ndarray, bound: float, max_passes: int = _MAX_PASSES
) -> tuple[np.ndarray, int, bool]:
    """Make Lloyd's passes over a column; return centres, number of passes, and whether they converged.

    ``bound`` limits the sum over all rows of the absolute values of a coordinate, for :func:`units_in_one`.
    """
    units = units_in_one(bound)
    for n_passes in range(1, max_passes + 1):
        sums = rows.sum(_row_sums, name, centres, units)
        sums[:, :-1] /= units
        moved = _means(sums, centres)
        still, centres = _converged(moved, centres, _STILL_ON_ROWS), moved
        if still:
            return centres, n_passes, True
    return centres, max_passes, False


def occupy(rows: Rows, name: str, centres: np.ndarray) -> np.ndarray:
    """Move each centre without rows to the row that is farthest from its nearest centre."""
    for _ in range(len(centres)):
        empty = np.flatnonzero(rows.sum(_row_sums, name, centres, 1.0)[:, -1] == 0)
        if not len(empty):
            break
        found = rows.map(_farthest, name, centres)
        gap = max(gap for gap, _ in found)
        point = _first(np.array([point for other, point in found if other == gap]))
        if gap <= _ROUNDING * np.abs(centres).max() ** 2:  # fewer different rows than centres
            break
        centres = centres.copy()
        centres[empty[0]] = point
    return centres


def _farthest(block: Block, name: str, centres: np.ndarray) -> tuple[float, np.ndarray]:
    points = block[name]
    gaps = centre_gaps(points, centres)
    return float(gaps.max()), _first(points[gaps == gaps.max()])


def _first(points: np.ndarray) -> np.ndarray:
    """Return the lexicographically smallest point, which does not depend on the order of the points."""
    return np.asarray(points[np.lexsort(points.T[::-1])[0]])


def _row_sums(block: Block, name: str, centres: np.ndarray, units: float) -> np.ndarray:
    return nearest_sums(block[name], centres, units)


def _means(sums: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Return means from sums and numbers of points; a centre without points is kept."""
    return np.where(sums[:, -1:] > 0, sums[:, :-1] / np.maximum(sums[:, -1:], 1e-300), centres)


def _converged(moved: np.ndarray, centres: np.ndarray, tolerance: float) -> bool:
    return bool(np.abs(moved - centres).max() <= tolerance * np.abs(moved).max())


def unit_rows(table: np.ndarray) -> np.ndarray:
    """Scale rows to length 1; rows that are zero up to rounding stay zero."""
    units = np.zeros(table.shape)
    _unit_rows(np.ascontiguousarray(table), units)
    return units


def assign(block: Block, name: str, centres: np.ndarray) -> np.ndarray:
    """Return the nearest of the centres for each row of the column ``name``."""
    return nearest_centre(block[name], centres)


def nearest_centre(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Return the index of the nearest centre of each point, the first of equals; it depends on the point alone."""
    labels, halves = np.zeros(len(points), dtype=np.int32), np.add.accumulate(centres**2 / 2, axis=1)[:, -1]
    scratch = np.zeros((points.shape[1] + 2, _LANES))

    def compare(some: np.ndarray, found: np.ndarray) -> None:
        _nearest_centre(some, centres, halves, scratch[2:], scratch[0], scratch[1], found)

    if centres.size < _MANY_COORDINATES:
        compare(points, labels)
        return labels
    for start in range(0, len(points), _TILE_ROWS):
        tile, found = points[start : start + _TILE_ROWS], labels[start : start + _TILE_ROWS]
        unclear = _nearest_in_single_precision(tile, centres, halves, found)
        if len(unclear):
            exact = np.empty(len(unclear), dtype=np.int32)
            compare(tile[unclear], exact)
            found[unclear] = exact
    return labels


@np.errstate(over="ignore", invalid="ignore")  # where numbers are too large, nothing is clear
def _nearest_in_single_precision(
    points: np.ndarray, centres: np.ndarray, halves: np.ndarray, labels: np.ndarray
) -> np.ndarray:
    """Write the nearest centres, and return the points for which rounding may have changed them.

    Of d features, a product has the relative error ``(d + 2) 2⁻²⁴`` at most, where lengths are those of both vectors;
    half a squared length and the difference add two more, and two costs are compared.
    """
    single = points.astype(np.float32)
    costs = centres.astype(np.float32) @ single.T
    np.subtract(halves.astype(np.float32)[:, None], costs, out=costs)
    lengths = np.sqrt(np.einsum("ij,ij->i", single, single))
    largest = np.float32(halves.max())
    errors = _EPSILON * (points.shape[1] + 8) * (lengths * np.sqrt(2 * largest) + largest) + _TINY
    near = (costs <= costs.min(axis=0) + errors).astype(np.float32)
    # How many centres are near and, where it is one, which: as a product, faster than by argmin.
    numbers = np.arange(len(centres), dtype=np.float32)
    count, labels[:] = np.stack([np.ones_like(numbers), numbers]) @ near
    return np.flatnonzero(count != 1)


def nearest_sums(points: np.ndarray, centres: np.ndarray, units: float) -> np.ndarray:
    """Return, for each centre, the sum of the points nearest to it, counted in units, and their number."""
    sums = np.zeros((len(centres), points.shape[1] + 1))
    _exact_sums(points, nearest_centre(points, centres), units, sums)
    return sums


def centre_gaps(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Return the squared distance of each point to its nearest centre."""
    return ((points - centres[nearest_centre(points, centres)]) ** 2).sum(axis=1)


def centre_sums(points: np.ndarray, weights: np.ndarray, labels: np.ndarray, n_centres: int) -> np.ndarray:
    """Return, for each label, the weighted sum of its points and, in the last column, their weight; not exact."""
    sums = np.zeros((n_centres, points.shape[1] + 1))
    _centre_sums(points, weights, labels, sums)
    return sums


# Arrays are made by the callers of these kernels: numba takes longer to compile np.zeros than such a loop.
@njit(nogil=True, cache=True)
def _unit_rows(table: np.ndarray, units: np.ndarray) -> None:
    for i in range(table.shape[0]):
        square = 0.0
        for j in range(table.shape[1]):
            square += table[i, j] * table[i, j]
        length = np.sqrt(square)
        if length > 1e-12:
            for j in range(table.shape[1]):
                units[i, j] = table[i, j] / length


@njit(nogil=True, cache=True)
def _nearest_centre(
    points: np.ndarray,
    centres: np.ndarray,
    halves: np.ndarray,
    across: np.ndarray,
    cost: np.ndarray,
    least: np.ndarray,
    labels: np.ndarray,
) -> None:
    """Write the index of the nearest centre; ``halves`` of their squared lengths are given, the rest is scratch."""
    n, n_features = points.shape
    for start in range(0, n, _LANES):
        stop = start + _LANES if start + _LANES < n else n
        for i in range(start, stop):
            for j in range(n_features):
                across[j, i - start] = points[i, j]
        for i in range(_LANES):
            least[i] = np.inf
        for c in range(centres.shape[0]):
            for i in range(_LANES):
                cost[i] = halves[c]
            for j in range(n_features):
                coordinate = centres[c, j]
                for i in range(_LANES):
                    cost[i] -= coordinate * across[j, i]
            for i in range(stop - start):
                nearer = cost[i] < least[i]
                labels[start + i] = c if nearer else labels[start + i]
                least[i] = cost[i] if nearer else least[i]


@njit(nogil=True, cache=True)
def _exact_sums(points: np.ndarray, labels: np.ndarray, units: float, sums: np.ndarray) -> None:
    n, n_features = points.shape
    for i in range(n):
        total = sums[labels[i]]
        for j in range(n_features):
            total[j] += np.rint(points[i, j] * units)
        total[n_features] += 1.0


@njit(nogil=True, cache=True)
def _centre_sums(points: np.ndarray, weights: np.ndarray, labels: np.ndarray, sums: np.ndarray) -> None:
    n, n_features = points.shape
    for i in range(n):
        total = sums[labels[i]]
        for j in range(n_features):
            total[j] += weights[i] * points[i, j]
        total[n_features] += weights[i]
