"""Selection of anchors: a subset of the samples that all others are compared with.

Every selector takes the scaled views, the number of anchors and a random state, and returns the sorted indices of
that many different samples. :data:`ANCHOR_SELECTORS` lists them by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from manyview._utils.compiled import njit
from manyview.graphs.neighbours import nearest_rows, squared_distances
from manyview.views import Array

RandomState = int | np.random.RandomState | None
Selector = Callable[[Sequence[Array], int, RandomState], np.ndarray]
# Greedy k-means++: candidates per pick, samples per anchor that are considered, dimensions of the sketch, and samples
# that are compared with the candidates at a time, few enough for the processor's fastest cache.
_SEEDING_CANDIDATES = 3
_SEEDING_ROWS = 3
_SKETCH = 128
_LANES = 512
# Distances between all points are found at once for this number of points at most, if there are enough picks.
_MOST_IN_TABLE, _PICKS_PER_POINT = 6144, 4
# Squared distances that are rounding errors: shares of the point's squared length, by single precision, and of the
# largest one, by the double precision of what comes before.
_ROUNDING_HERE, _ROUNDING_BEFORE = np.float32(1e-13), np.float32(1e-24)


def select_vda(views: Sequence[Array], n_anchors: int, random_state: RandomState = None) -> np.ndarray:
    """Select anchors by variance-based de-correlation, as published: deterministic, ``random_state`` is not used.

    The score of a sample is the variance of its features. The sample with the highest score is taken, then every score
    is multiplied by ``1 - ρ``, where ρ falls from 1 with the distance between the two *scores*, and so on. The map is
    chaotic: on MSRC-v5, for 60 % of the samples, another last bit in that one score moves about 30 of 105 anchors
    (``benchmarks/order.py``), so the anchors of the original program cannot be reproduced from its description. Here,
    the scores do not depend, to the last bit, on the order of samples and views nor on the memory layout of dense
    views; only exact ties are broken by position. A sparse view is summed in another order than a dense one, so its
    scores may differ in the last bits.

    Parameters
    ----------
    views : sequence of arrays of shape (n, d_v)
    n_anchors : int
        How many samples to take, at most n.
    random_state : int, RandomState or None
        Not used.
    """
    picks = alternate_picks(_row_variances(views), n_anchors, True)
    return np.sort(fill_farthest(views, picks, n_anchors))


def select_das(views: Sequence[Array], n_anchors: int, random_state: RandomState = None) -> np.ndarray:
    """Select anchors by directly alternating sampling (SFMC, Li et al., 2022): ``random_state`` is not used.

    The score of a sample is the sum of its features, each counted from its smallest value. The sample with the highest
    score is taken, then every score s, relative to the highest, becomes ``s·(1 - s)``, and so on. This is the logistic
    map and chaotic: on MSRC-v5, scores that are added up in another order, and so differ in their last bits, move 40 of
    105 anchors. As in :func:`select_vda`, the scores do not depend on the order of samples and views nor on the memory
    layout of dense views, and sparse views may differ in the last bits. When all scores are zero, the samples that are
    farthest from the selected ones follow.

    Parameters
    ----------
    views : sequence of arrays of shape (n, d_v)
    n_anchors : int
        How many samples to take, at most n.
    random_state : int, RandomState or None
        Not used.
    """
    picks = alternate_picks(_shifted_sums(views), n_anchors, False)
    return np.sort(fill_farthest(views, picks, n_anchors))


def select_kmeans(views: Sequence[Array], n_anchors: int, random_state: RandomState = None) -> np.ndarray:
    """Select the samples nearest to the centres of k-means on the concatenated views.

    Parameters
    ----------
    views : sequence of arrays of shape (n, d_v)
    n_anchors : int
        How many samples to take, at most n.
    random_state : int, RandomState or None
        Random seed of the first centres.
    """
    from sklearn.cluster import KMeans  # a quarter of a second that most commands do not need

    table = concatenate(views)
    # Few rounds are enough: the centres need to cover the data, not to be optimal.
    centres = KMeans(n_anchors, n_init=1, max_iter=20, random_state=random_state).fit(table).cluster_centers_
    # k-means may return equal centres, and centres may share their nearest sample.
    nearest = np.unique(nearest_rows(centres, table, 1)[0])
    return np.sort(fill_farthest(views, nearest, n_anchors))


def select_random(views: Sequence[Array], n_anchors: int, random_state: RandomState = None) -> np.ndarray:
    """Draw samples uniformly without replacement.

    Parameters
    ----------
    views : sequence of arrays of shape (n, d_v)
    n_anchors : int
        How many samples to take, at most n.
    random_state : int, RandomState or None
        Random seed.
    """
    rng = check_random_state(random_state)
    return np.sort(rng.choice(views[0].shape[0], size=n_anchors, replace=False))


def select_spread(views: Sequence[Array], n_anchors: int, rng: np.random.Generator) -> np.ndarray:
    """Select anchors by greedy k-means++ on the concatenated views, three candidates per pick.

    Picks are different samples that cover the data, dense regions more than sparse ones. They are returned in the order
    of picking, from coarse to fine; there are fewer than ``n_anchors`` if no more samples differ. Distances are
    computed in a random sketch of 128 dimensions, among at most three times as many samples as anchors, which bounds
    the cost for any number of samples.
    """
    n = views[0].shape[0]
    among = (
        np.arange(n)
        if n <= _SEEDING_ROWS * n_anchors
        else np.sort(rng.choice(n, _SEEDING_ROWS * n_anchors, replace=False))
    )
    sketch = _sketch([view[among] for view in views], rng)
    chances = rng.random((1, n_anchors, _SEEDING_CANDIDATES))
    return among[greedy_picks(sketch, np.ones(len(among)), chances)[0]]


def table_bytes(n_samples: int, n_anchors: int) -> int:
    """Return the bytes of the table of distances that :func:`select_spread` makes."""
    n = min(n_samples, _SEEDING_ROWS * n_anchors)
    return 4 * n**2 if n <= _MOST_IN_TABLE else 0


def _sketch(views: Sequence[Array], rng: np.random.Generator) -> np.ndarray:
    """Return the views side by side, projected at random if they are wide; distances are preserved on average.

    They are centred, so that single precision is enough for what follows.
    """
    widths = [view.shape[1] for view in views]
    if sum(widths) <= _SKETCH:
        sketch = np.hstack([view if isinstance(view, np.ndarray) else view.toarray() for view in views])
    else:
        projections = [rng.standard_normal((width, _SKETCH)) / np.sqrt(_SKETCH) for width in widths]
        sketch = reduce(add, (np.asarray(view @ table) for view, table in zip(views, projections, strict=True)))
    return sketch - np.median(sketch, axis=0)


def greedy_picks(points: np.ndarray, weights: np.ndarray, chances: np.ndarray) -> list[np.ndarray]:
    """Return indices of rows of ``points`` by greedy k-means++, for several starts: each pick is the best of a few.

    Candidates are drawn by weight times squared distance to the earlier picks; the best one leaves the least weighted
    sum of squared distances. ``chances`` are uniform numbers of shape (starts, picks, candidates); of a first pick, one
    is used. There are fewer picks than that if no more points differ. Distances are in single precision.
    """
    size = float(np.abs(points).max(initial=0.0))
    points = points / (size if size > 0 else 1.0)
    columns = np.array(points.T, dtype=np.float32, order="C")
    n, (n_starts, n_picks, n_candidates) = len(points), chances.shape
    norms = np.einsum("ij,ij->j", columns, columns)
    known = np.empty((0, 0), dtype=np.float32)
    if n <= _MOST_IN_TABLE and _PICKS_PER_POINT * n_starts * n_picks > n:
        known = _gaps_between(points)
    rounding = np.maximum(_ROUNDING_HERE * norms, _ROUNDING_BEFORE * norms.max(initial=0.0))
    picks, candidates = np.empty((n_starts, n_picks), dtype=np.int64), np.empty(n_candidates, dtype=np.int64)
    gaps = np.empty((n_candidates, _LANES), dtype=np.float32)
    trial, costs = np.empty((n_candidates, n)), np.empty(n_candidates)
    found = []
    for own, picked in zip(chances, picks, strict=True):
        nearest = np.full(n, np.inf)
        count = _greedy_picks(columns, known, weights, own, rounding, nearest, trial, costs, gaps, candidates, picked)
        found.append(picked[:count])
    return found


def _gaps_between(points: np.ndarray) -> np.ndarray:
    """Return the squared distances between points, less a bound on their rounding errors: not positive for copies.

    Products are in double precision, as points may be far from the origin; distances are in single precision.
    """
    norms = np.einsum("ij,ij->i", points, points) * (1 - 2.0**-52 * (points.shape[1] + 8))
    gaps = np.empty((len(points), len(points)), dtype=np.float32)
    for start in range(0, len(points), _LANES):
        rows = slice(start, start + _LANES)
        inner = points[rows] @ points.T
        inner *= -2
        inner += norms[rows, None]
        np.add(inner, norms, out=gaps[rows], casting="same_kind")
    return gaps


@njit(nogil=True, cache=True)
def _greedy_picks(
    points: np.ndarray,
    known: np.ndarray,
    weights: np.ndarray,
    chances: np.ndarray,
    rounding: np.ndarray,
    nearest: np.ndarray,
    trial: np.ndarray,
    costs: np.ndarray,
    gaps: np.ndarray,
    candidates: np.ndarray,
    picks: np.ndarray,
) -> int:
    """Pick columns, return how many; all candidates are compared in one pass over the points, which memory bounds.

    ``known`` are the squared distances between all points, or an empty table.
    """
    n_features, n = points.shape
    total = 0.0
    for i in range(n):
        total += weights[i]
    candidates[0] = _draw(weights, chances[0, 0] * total)
    for count in range(picks.size):
        n_tried = 1 if count == 0 else candidates.size
        for c in range(n_tried):
            if count > 0:
                candidates[c] = _draw(nearest, chances[count, c] * total)
            costs[c] = 0.0
        for start in range(0, n, _LANES):  # slices, as an index that may be negative keeps loops from being vectorised
            stop = start + _LANES if start + _LANES < n else n
            before, weight, error = nearest[start:stop], weights[start:stop], rounding[start:stop]
            for c in range(n_tried):
                gap, found, cost = gaps[c], trial[c, start:stop], 0.0
                if known.size:
                    line = known[candidates[c], start:stop]
                    for i in range(line.size):
                        gap[i] = line[i]
                else:
                    for i in range(_LANES):
                        gap[i] = 0.0
                for j in range(0 if known.size else n_features):
                    values, centre = points[j, start:stop], points[j, candidates[c]]
                    for i in range(values.size):
                        gap[i] += (values[i] - centre) * (values[i] - centre)
                for i in range(found.size):
                    far = weight[i] * (np.float64(gap[i]) if gap[i] > error[i] else 0.0)
                    found[i] = far if far < before[i] else before[i]
                    cost += found[i]
                costs[c] += cost
        best = 0
        for c in range(1, n_tried):
            if costs[c] < costs[best]:
                best = c
        picks[count], total = candidates[best], costs[best]
        for i in range(n):
            nearest[i] = trial[best, i]
        if total <= 0.0:
            return count + 1
    return picks.size


@njit(nogil=True, cache=True)
def _draw(weights: np.ndarray, target: float) -> int:
    """Return the first index at which the running sum of the weights passes ``target``; never one with weight 0."""
    last, running = 0, 0.0
    for i in range(weights.size):
        if weights[i] > 0:
            last = i
            running += weights[i]
            if running > target:
                break
    return last


def concatenate(views: Sequence[Array]) -> Array:
    """Return all views side by side; sparse if one of them is."""
    if any(sp.issparse(view) for view in views):
        return sp.csr_array(sp.hstack([sp.csr_array(view) for view in views], format="csr"))
    return np.hstack(list(views))


def _row_variances(views: Sequence[Array]) -> np.ndarray:
    """Return the unbiased variance of each sample over the features of all views together."""
    n_features = sum(view.shape[1] for view in views)
    mean = sum_in_any_order([row_sums(view) for view in views]) / n_features
    squares = sum_in_any_order([_squared_deviations(view, mean) for view in views])
    return squares / max(n_features - 1, 1)


def _squared_deviations(view: Array, mean: np.ndarray) -> np.ndarray:
    if isinstance(view, np.ndarray):
        return row_sums((view - mean[:, None]) ** 2)
    stored = np.diff(view.indptr)
    deviations = (view.data - np.repeat(mean, stored)) ** 2
    absent = (view.shape[1] - stored) * mean**2
    return row_sums(sp.csr_array((deviations, view.indices, view.indptr), shape=view.shape)) + absent


def _shifted_sums(views: Sequence[Array]) -> np.ndarray:
    """Return the sum of each sample over all features of all views, less the minimum of every feature."""
    return sum_in_any_order([_shifted_row_sums(view) for view in views])


def _shifted_row_sums(view: Array) -> np.ndarray:
    if isinstance(view, np.ndarray):
        return row_sums(view - view.min(axis=0))
    # Subtracting feature by feature would fill the matrix. Rounding could make sums negative.
    return np.maximum(row_sums(view) - float(view.min(axis=0).sum()), 0.0)


def row_sums(view: Array) -> np.ndarray:
    """Return sums along C-ordered rows, which do not depend on the position of a row nor on the memory layout."""
    view = np.ascontiguousarray(view) if isinstance(view, np.ndarray) else view
    return np.asarray(view.sum(axis=1)).ravel()


def sum_in_any_order(terms: Sequence[np.ndarray]) -> np.ndarray:
    """Return the elementwise sum, the same to the last bit for any order of the terms."""
    return np.sort(np.stack(terms), axis=0).sum(axis=0)


@njit(nogil=True, cache=True)
def alternate_picks(scores: np.ndarray, n_anchors: int, by_root: bool) -> np.ndarray:
    """Repeat: select the sample with the highest score, then lower all scores s, which are relative to the highest.

    s becomes ``s·(1 - s)`` or, with ``by_root``, ``s·(1 - ρ)`` with ``ρ = 1/(1 + √(1 - s))``. The score of a selected
    sample becomes 0, so it is not selected again. Fewer than ``n_anchors`` are returned if all scores become zero.
    """
    n = scores.size
    s = scores.copy()
    picks = np.empty(n_anchors, dtype=np.int64)
    for t in range(n_anchors):
        best = 0
        for i in range(1, n):
            if s[i] > s[best]:
                best = i
        top = s[best]
        if not top > 0.0:
            return picks[:t]
        picks[t] = best
        for i in range(n):
            s[i] /= top
            if by_root:
                s[i] *= 1.0 - 1.0 / (1.0 + np.sqrt(1.0 - s[i]))
            else:
                s[i] *= 1.0 - s[i]
    return picks


def fill_farthest(views: Sequence[Array], picks: np.ndarray, n_anchors: int) -> np.ndarray:
    """Add the sample that is farthest from all picks until there are ``n_anchors``."""
    if len(picks) >= n_anchors:
        return picks
    table = concatenate(views)
    chosen = list(map(int, picks)) or [0]
    distance = nearest_rows(table, table[chosen], 1)[1].ravel()
    while len(chosen) < n_anchors:
        distance[chosen] = -1.0  # not selected again, even if only duplicates are left
        chosen.append(int(np.argmax(distance)))
        np.minimum(distance, squared_distances(table, table[[chosen[-1]]]).ravel(), out=distance)
    return np.array(chosen)


ANCHOR_SELECTORS: dict[str, Selector] = {
    "vda": select_vda,
    "das": select_das,
    "kmeans": select_kmeans,
    "random": select_random,
}
"""Ways to select anchors, by name: functions of the views and the number of anchors."""
