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
# Points that are drawn for each centre, of which the best is taken.
_CANDIDATES = 3
# Centres that move less than this, relative to their coordinates, have converged. Vectors of rows are less exact.
_STILL = 1e-6
_STILL_ON_ROWS = 1e-3
_ROUNDING = 1e-24
# Rows that are compared with the centres at a time: enough for the processor's vector units, and few enough for its
# fastest cache.
_LANES = 128


def seed_centres(points: np.ndarray, weights: np.ndarray, n_centres: int, rng: np.random.Generator) -> np.ndarray:
    """Return centres by greedy k-means++; some are equal if there are fewer different points."""
    chances = np.zeros((n_centres, _CANDIDATES))
    chances[0, 0] = rng.random()
    chances[1:] = rng.random((n_centres - 1, _CANDIDATES))
    picks = greedy_picks(np.ascontiguousarray(points.T), weights, chances)
    return points[np.resize(picks, n_centres)]


def kmeans(
    points: np.ndarray, weights: np.ndarray, n_centres: int, rng: np.random.Generator, n_starts: int = 1
) -> np.ndarray:
    """Return centres with the least weighted cost among several starts."""
    points = np.ascontiguousarray(points)
    best, lowest = points[:0], np.inf
    for _ in range(n_starts):
        centres = seed_centres(points, weights, n_centres, rng)
        for _ in range(_MAX_PASSES):
            labels = nearest_centre(points, centres)
            moved = _means(centre_sums(points, weights, labels, n_centres), centres)
            still, centres = _converged(moved, centres, _STILL), moved
            if still:
                break
        cost = float(weights @ ((points - centres[labels]) ** 2).sum(axis=1))
        if cost < lowest:
            best, lowest = centres, cost
    return best


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
    return _unit_rows(np.ascontiguousarray(table))


def assign(block: Block, name: str, centres: np.ndarray) -> np.ndarray:
    """Return the nearest of the centres for each row of the column ``name``."""
    return nearest_centre(block[name], centres)


@njit(nogil=True, cache=True)
def _unit_rows(table: np.ndarray) -> np.ndarray:
    units = np.zeros(table.shape)
    for i in range(table.shape[0]):
        square = 0.0
        for j in range(table.shape[1]):
            square += table[i, j] ** 2
        length = np.sqrt(square)
        if length > 1e-12:
            for j in range(table.shape[1]):
                units[i, j] = table[i, j] / length
    return units


@njit(nogil=True, cache=True)
def _nearest_of_some(points: np.ndarray, centres: np.ndarray, across: np.ndarray, labels: np.ndarray) -> None:
    """Write the index of the nearest centre, the first of equals, of up to ``_LANES`` points; ``across`` is scratch."""
    n_features = points.shape[1]
    for i in range(points.shape[0]):
        for j in range(n_features):
            across[j, i] = points[i, j]
    cost, least = across[n_features], across[n_features + 1]
    least[:], labels[:] = np.inf, 0
    for c in range(centres.shape[0]):
        half = 0.0
        for j in range(n_features):
            half += centres[c, j] ** 2 / 2
        cost[:] = half
        for j in range(n_features):
            coordinate, values = centres[c, j], across[j]
            for i in range(_LANES):
                cost[i] -= coordinate * values[i]
        for i in range(_LANES):
            nearer = cost[i] < least[i]
            labels[i] = c if nearer else labels[i]
            least[i] = cost[i] if nearer else least[i]


@njit(nogil=True, cache=True)
def nearest_centre(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Return the index of the nearest centre of each point, the first of equals; it depends on the point alone."""
    n, n_features = points.shape
    labels, some, across = np.empty(n, dtype=np.int32), np.zeros(_LANES, np.int64), np.zeros((n_features + 2, _LANES))
    for start in range(0, n, _LANES):
        stop = min(start + _LANES, n)
        _nearest_of_some(points[start:stop], centres, across, some)
        labels[start:stop] = some[: stop - start]
    return labels


@njit(nogil=True, cache=True)
def nearest_sums(points: np.ndarray, centres: np.ndarray, units: float) -> np.ndarray:
    """Return, for each centre, the sum of the points nearest to it, counted in units, and their number."""
    n, n_features = points.shape
    sums = np.zeros((centres.shape[0], n_features + 1))
    labels, across = np.zeros(_LANES, np.int64), np.zeros((n_features + 2, _LANES))
    for start in range(0, n, _LANES):
        stop = min(start + _LANES, n)
        _nearest_of_some(points[start:stop], centres, across, labels)
        for i in range(start, stop):
            total = sums[labels[i - start]]
            for j in range(n_features):
                total[j] += np.rint(points[i, j] * units)
            total[n_features] += 1.0
    return sums


@njit(nogil=True, cache=True)
def centre_gaps(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Return the squared distance of each point to its nearest centre."""
    labels, gaps = nearest_centre(points, centres), np.zeros(points.shape[0])
    for i in range(points.shape[0]):
        for j in range(points.shape[1]):
            gaps[i] += (points[i, j] - centres[labels[i], j]) ** 2
    return gaps


@njit(nogil=True, cache=True)
def centre_sums(points: np.ndarray, weights: np.ndarray, labels: np.ndarray, n_centres: int) -> np.ndarray:
    """Return, for each label, the weighted sum of its points and, in the last column, their weight; not exact."""
    sums = np.zeros((n_centres, points.shape[1] + 1))
    for i in range(points.shape[0]):
        for j in range(points.shape[1]):
            sums[labels[i], j] += weights[i] * points[i, j]
        sums[labels[i], points.shape[1]] += weights[i]
    return sums
