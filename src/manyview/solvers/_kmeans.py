"""k-means on small tables of weighted points, and on rows in blocks.

scikit-learn's would do for the small tables, but its threads meet ours, and the rows are not in one place.
"""

from __future__ import annotations

import numpy as np

from manyview.engines import Block, Rows
from manyview.solvers._edges import centre_gaps, centre_sums, nearest_centre, nearest_sums
from manyview.solvers._exact import units_in_one

_MAX_PASSES = 50
# Points that are drawn for each centre, of which the best is taken.
_CANDIDATES = 3
# Centres that move less than this, relative to their coordinates, have arrived. On rows, vectors are not known better.
_STILL = 1e-6
_STILL_ON_ROWS = 1e-3
_ROUNDING = 1e-24


def seed_centres(points: np.ndarray, weights: np.ndarray, n_centres: int, rng: np.random.Generator) -> np.ndarray:
    """Greedy k-means++: each centre is the best of a few points drawn by weight times squared distance."""
    squares = np.einsum("ij,ij->i", points, points)
    first = _draw(weights, rng.random(1))[0]
    centres = [first]
    nearest = np.maximum(squares + squares[first] - 2 * points @ points[first], 0.0)
    for _ in range(n_centres - 1):
        candidates = _draw(weights * nearest, rng.random(_CANDIDATES))
        distance = squares[:, None] + squares[candidates] - 2 * points @ points[candidates].T
        distance = np.minimum(nearest[:, None], np.maximum(distance, 0.0))
        best = int(np.argmin(weights @ distance))
        centres.append(candidates[best])
        nearest = distance[:, best]
    return points[centres]


def _draw(weights: np.ndarray, chances: np.ndarray) -> np.ndarray:
    running = np.cumsum(weights)
    if running[-1] <= 0:  # fewer different points than centres
        running = np.arange(1.0, len(weights) + 1)
    return np.minimum(np.searchsorted(running, chances * running[-1], side="right"), len(weights) - 1)


def kmeans(
    points: np.ndarray, weights: np.ndarray, n_centres: int, rng: np.random.Generator, n_starts: int = 1
) -> np.ndarray:
    """Centres with the least weighted cost among several starts."""
    points = np.ascontiguousarray(points)
    best, lowest = points[:0], np.inf
    for _ in range(n_starts):
        centres = seed_centres(points, weights, n_centres, rng)
        for _ in range(_MAX_PASSES):
            labels = nearest_centre(points, centres)
            moved = _means(centre_sums(points, weights, labels, n_centres), centres)
            still, centres = _arrived(moved, centres, _STILL), moved
            if still:
                break
        cost = float(weights @ ((points - centres[labels]) ** 2).sum(axis=1))
        if cost < lowest:
            best, lowest = centres, cost
    return best


def kmeans_rows(rows: Rows, name: str, centres: np.ndarray, bound: float) -> tuple[np.ndarray, int, bool]:
    """Lloyd's passes over what the rows keep under ``name``: centres, number of passes, and whether they arrived.

    The sum over all rows of no coordinate's absolute values exceeds ``bound``; see :mod:`manyview.solvers._exact`.
    """
    units = units_in_one(bound)
    for n_passes in range(1, _MAX_PASSES + 1):
        sums = rows.sum(_row_sums, name, centres, units)
        sums[:, :-1] /= units
        moved = _means(sums, centres)
        still, centres = _arrived(moved, centres, _STILL_ON_ROWS), moved
        if still:
            return centres, n_passes, True
    return centres, _MAX_PASSES, False


def occupy(rows: Rows, name: str, centres: np.ndarray) -> np.ndarray:
    """Move each centre that no row is nearest to onto the row that is farthest from its own; while there is one."""
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
    """The smallest point by its first coordinate, then by the second and so on: the same in any order of the points."""
    return np.asarray(points[np.lexsort(points.T[::-1])[0]])


def _row_sums(block: Block, name: str, centres: np.ndarray, units: float) -> np.ndarray:
    return nearest_sums(block[name], centres, units)


def _means(sums: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Means from sums and numbers; a centre without points stays."""
    return np.where(sums[:, -1:] > 0, sums[:, :-1] / np.maximum(sums[:, -1:], 1e-300), centres)


def _arrived(moved: np.ndarray, centres: np.ndarray, tolerance: float) -> bool:
    return bool(np.abs(moved - centres).max() <= tolerance * np.abs(moved).max())
