"""A second draw for clusters too rare for the first one: groups of samples that are far from all that was drawn.

A draw of 10,000 from a million has five samples of a cluster of 500, and perhaps none of a cluster of 50. So, before
anything is learned, all samples are compared with landmarks of the draw. Those far from every landmark that is
typical of the draw are the candidates. Most candidates are the ordinary outskirts of large clusters, or lone outliers.
A group of candidates is added to the draw only if its samples are closer to each other than to any landmark, and if a
gap separates it from the outskirts. Without such a group the draw, and so the result, stays as it is.

Candidates are drawn by content, and all distances are those of single rows, so that neither order nor blocks matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from manyview.engines import BLOCK_ROWS, Block, Rows
from manyview.ensemble.anchors import AnchoredViews, ScaledView, Space, lists_of, scale_views, side_by_side, view_units
from manyview.ensemble.columns import DISTANCE, NEAREST, ROWS, VIEWS
from manyview.ensemble.samples import checked, stack
from manyview.graphs import canonical_order
from manyview.graphs.anchors import select_spread
from manyview.graphs.content import Sketch, row_hashes, row_keys, sketch_rows
from manyview.graphs.neighbours import squared_distances
from manyview.views import Array, Views, check_views

# Landmarks, at most, and drawn samples per landmark, at least. More landmarks make the pass over all samples slower.
_LANDMARKS, _SAMPLES_PER_LANDMARK = 256, 40
# A landmark with fewer drawn samples around it is not typical. A cluster with this many in the draw is found anyway.
_TYPICAL = 20
# Candidates are farther from the landmarks than this share of the drawn samples.
_WITHIN = 0.9975
# Candidates that are compared with each other, at most.
_CANDIDATES = 2000
# Squared distance of linked candidates, at most, as a share of those to their landmarks.
_LINKED = 0.5
# Nine tenths of a group are at least this many times as far as the limit of candidates, in squared distance.
_GAP, _IN_GAP = 1.5, 0.1
# Samples of a group: fewer are outliers, more are not added to the draw. And of all groups together.
_MIN_GROUP, _MAX_GROUP, _MAX_ADDED = 5, 40, 1000


@dataclass(frozen=True)
class Landmarks:
    """Typical samples of a draw, with the spread of the samples around each.

    ``known`` has them as the anchors of one space, of all views side by side, each with the same mean squared distance.
    ``spread`` is the median squared distance of the drawn samples around each; ``limit`` is the multiple of it beyond
    which a sample is a candidate. ``views`` are the different views, in canonical order.
    """

    known: AnchoredViews
    spread: np.ndarray
    limit: float
    views: np.ndarray

    def distances(self, views: Views) -> tuple[np.ndarray, np.ndarray]:
        """Return the squared distance of each sample to the nearest landmark, and the same in units of its spread."""
        lists = lists_of(views, self.known)
        near, distance = lists[NEAREST.of(0)][:, 0], lists[DISTANCE.of(0)][:, 0].astype(float)
        return distance, distance / self.spread[near]

    def keys(self, views: Views) -> np.ndarray:
        """Return a key per sample that follows from its content, for any order of the views."""
        present = None if views.present is None else views.present[:, self.views]
        hashes = row_hashes([views.arrays[v] for v in self.views], present)
        return row_keys(hashes, np.arange(len(self.views), dtype=np.uint64))

    def side_by_side(self, views: Views) -> Array:
        """Return samples with all views in the space of the landmarks."""
        (space,) = self.known.spaces
        return side_by_side([self.known.scale(v, views.arrays[v]) for v in self.views], space.factors)


@dataclass(frozen=True)
class Candidates:
    """Samples far from all landmarks, with all views: those with the smallest keys, and their distances."""

    sketch: Sketch
    views: Views
    distance: np.ndarray
    relative: np.ndarray

    def joined(self, other: Candidates, size: int) -> Candidates:
        """Return the candidates of both, at most ``size``."""
        if not len(other.sketch.rows) or not len(self.sketch.rows):
            return self if len(self.sketch.rows) else other
        sketch = self.sketch.joined(other.sketch, size)
        rows = np.concatenate([self.sketch.rows, other.sketch.rows])
        order = np.argsort(rows)
        kept = order[np.searchsorted(rows[order], sketch.rows)]
        return Candidates(
            sketch,
            stack([self.views, other.views]).take(kept),
            np.concatenate([self.distance, other.distance])[kept],
            np.concatenate([self.relative, other.relative])[kept],
        )


def add_rare(rows: Rows, sample: Views, given: np.ndarray, wanted: Sequence[str]) -> tuple[Views, np.ndarray]:
    """Add groups of samples that are far from a draw by content, if there are any.

    Parameters
    ----------
    rows : Rows
        All samples.
    sample, given : Views and ndarray of int
        The draw and its rows, see :func:`manyview.ensemble.samples.draw_by_content`.
    wanted : sequence of str
        The scaling of every view, or "auto".

    Returns
    -------
    sample, given : Views and ndarray of int
    """
    if rows.n_rows <= len(given):
        return sample, given
    landmarks = choose_landmarks(sample, wanted)
    if landmarks is None:
        return sample, given
    found = rows.reduce(_find_candidates, partial(Candidates.joined, size=_CANDIDATES), landmarks, _CANDIDATES)
    new = np.setdiff1d(choose_groups(found, landmarks), np.flatnonzero(np.isin(found.sketch.rows, given)))
    if not len(new):
        return sample, given
    more = check_views(stack([sample, found.views.take(new)]), keep_float32=True)
    return more, np.concatenate([given, found.sketch.rows[new]])


def choose_landmarks(sample: Views, wanted: Sequence[str]) -> Landmarks | None:
    """Choose landmarks that cover a draw; None if too few drawn samples have all views."""
    order = canonical_order(sample.arrays, wanted, sample.present)
    scaled = scale_views(sample, wanted, order)
    complete = np.flatnonzero(np.all([view.present for view in scaled], axis=0))
    n_landmarks = min(_LANDMARKS, len(complete) // _SAMPLES_PER_LANDMARK)
    if n_landmarks < 1 or 2 * len(complete) < sample.n_samples:
        return None
    factors = [1 / np.sqrt(max(_total_variance(view.values[complete]), 1e-300)) for view in scaled]
    values = side_by_side([view.values[complete] for view in scaled], factors)
    picks = select_spread([values], n_landmarks, np.random.default_rng(0))
    for _ in range(2):  # of all landmarks, then of the typical ones
        space = _space(scaled, factors, values, picks)
        near, distance = space.nearest(values, np.ones((len(complete), len(scaled)), dtype=bool), None)
        near, distance = near[:, 0], distance[:, 0].astype(float)
        others = ~np.isin(np.arange(len(complete)), picks)  # a landmark is at distance 0 from itself
        cells = np.bincount(near[others], minlength=len(picks)) + 1
        typical = cells >= _TYPICAL
        if typical.all():
            break
        picks = picks[typical]
        if not len(picks):
            return None
    spread = np.array([np.median(distance[others & (near == c)]) if n > 1 else 0.0 for c, n in enumerate(cells)])
    if not (spread > 0).all():  # many copies: there is no scale to compare distances with
        return None
    limit = float(np.quantile(distance[others] / spread[near[others]], _WITHIN))
    known = AnchoredViews(
        sample.names,
        sample.n_features,
        order.source,
        tuple(view_units(sample, order)),
        tuple(view.scaling for view in scaled),
        (space,),
        (0,),
    )
    return Landmarks(known, spread, limit, np.asarray(order.views))


def _total_variance(values: Array) -> float:
    if isinstance(values, np.ndarray):
        return float(values.var(axis=0, dtype=float).sum())
    mean = np.asarray(values.mean(axis=0)).ravel()
    return float(values.power(2).sum() / values.shape[0] - mean @ mean)


def _space(scaled: Sequence[ScaledView], factors: Sequence[float], values: Array, picks: np.ndarray) -> Space:
    starts = np.cumsum([0, *(view.values.shape[1] for view in scaled)])[:-1]
    scalings = tuple(view.scaling for view in scaled)
    positions = np.arange(len(picks), dtype=np.int32)
    return Space(
        tuple(range(len(scaled))),
        scalings,
        tuple(factors),
        tuple(map(int, starts)),
        values[picks],
        positions,
        np.inf,
        1,
    )


def _find_candidates(block: Block, landmarks: Landmarks, size: int) -> Candidates:
    """Return the candidates of a block, looked for in parts that fit into a processor's cache."""
    rows, found = block[ROWS.name], []
    for start in range(0, len(rows), BLOCK_ROWS):
        cut = slice(start, min(start + BLOCK_ROWS, len(rows)))
        part = {VIEWS.name: block[VIEWS.name].take(cut), ROWS.name: rows[cut]}
        found.append(_candidates_of(checked(part), rows[cut].start, landmarks, size))
    joined = found[0]
    for other in found[1:]:
        joined = joined.joined(other, size)
    return joined


def _candidates_of(views: Views, first_row: int, landmarks: Landmarks, size: int) -> Candidates:
    distance, relative = landmarks.distances(views)
    far = relative > landmarks.limit
    if views.present is not None:
        far &= views.present.all(axis=1)
    at = np.flatnonzero(far)
    views = replace(views.take(at), sample_ids=None, labels=None, metadata=None)
    sketch = sketch_rows(landmarks.keys(views), 0, size)
    kept = sketch.rows
    return Candidates(
        replace(sketch, rows=first_row + at[kept]), views.take(kept), distance[at][kept], relative[at][kept]
    )


def choose_groups(found: Candidates, landmarks: Landmarks) -> np.ndarray:
    """Return the indices of the candidates that form groups of their own, with the smallest keys of each group."""
    n = len(found.sketch.rows)
    if n < _MIN_GROUP:
        return np.empty(0, dtype=np.int64)
    between = squared_distances(*[landmarks.side_by_side(found.views)] * 2)
    near = np.minimum.outer(found.distance, found.distance)
    _, group = connected_components(sp.csr_array(between <= _LINKED * near), directed=False)
    groups = [np.flatnonzero(group == g) for g in np.flatnonzero(np.bincount(group) >= _MIN_GROUP)]
    apart = [own for own in groups if np.quantile(found.relative[own], _IN_GAP) >= _GAP * landmarks.limit]
    apart.sort(key=len, reverse=True)  # equally large ones stay in the order of their smallest keys
    return np.concatenate([np.empty(0, dtype=np.int64), *(own[:_MAX_GROUP] for own in apart)])[:_MAX_ADDED]
