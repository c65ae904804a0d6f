"""From views to neighbour lists: scaled views, the anchor pool, and the nearest anchors of a sample in each view.

The anchor pool is a set of samples that the graphs draw their anchors from. A sample with a missing view has no
neighbour list there, and is assigned by the views that it has. But if anchors were missing from the lists of a view,
samples with other views would be compared with other anchors, and grouped by what is missing. So the missing views of
an anchor are imputed: it stands, in that view, at the mean of the anchors that are similar in the other views.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview.ensemble.columns import DISTANCE, NEAREST
from manyview.ensemble.members import GraphType, Lists
from manyview.exceptions import ViewsError
from manyview.graphs import SCALERS, CanonicalOrder, Scaling, can_weights, learn_scaling, nearest_lists
from manyview.graphs.anchors import select_spread
from manyview.graphs.canonical import unit_of
from manyview.graphs.neighbours import row_blocks
from manyview.graphs.scaling import row_lengths
from manyview.views import Array, Views
from manyview.views.joins import spread

# Edges per sample and view of the learned graph.
GRAPH_NEIGHBORS = 10
# Length of a neighbour list as a multiple of the most neighbours that a member may draw: it has half of the anchors.
_LIST_LENGTH = 2
# Minimum number of anchors that have a view, if as many samples have it.
_MIN_ANCHORS_PER_VIEW = 10
# A missing view of an anchor is imputed from this number of donors, looked for among this number in each other view.
_DONORS = 4
_LIKELY_DONORS = 20


def scaling_names(scaling: Any, views: Views) -> list[str]:
    """Return the scaling that a user asks for, by name or "auto", for every view."""
    if isinstance(scaling, str):
        return [scaling] * views.n_views
    if isinstance(scaling, Mapping):
        unknown = [name for name in scaling if name not in views.names]
        if unknown:
            raise ViewsError(f"scaling: there is no view {unknown[0]!r}; the views are {', '.join(views.names)}.")
        wanted = [scaling.get(name, "auto") for name in views.names]
    else:
        wanted = list(scaling)
        if len(wanted) != views.n_views:
            raise ViewsError(f"scaling: expected one name or one per view ({views.n_views}), got {len(wanted)}.")
    for name, value in zip(views.names, wanted, strict=True):
        if value != "auto" and value not in SCALERS:
            raise ViewsError(
                f"scaling of view {name!r}: expected one of {', '.join(['auto', *SCALERS])}, got {value!r}."
            )
    return wanted


@dataclass(frozen=True)
class ScaledView:
    """One of the different views, scaled; rows that are not ``present`` are zero."""

    scaling: Scaling
    values: Array
    present: np.ndarray

    @property
    def far(self) -> float:
        """The distance at which similarity ends: that of samples with nothing in common, where it is defined.

        Unit rows, all divided by the same number, are then at one and the same distance.
        """
        if not (self.scaling.sparse and self.scaling.name in ("counts", "unit")):
            return np.inf
        return 2 * float(self.values.power(2).sum(axis=1).max())  # type: ignore[union-attr]


def scale_views(views: Views, wanted: Sequence[str], order: CanonicalOrder) -> list[ScaledView]:
    """Scale the different views, in canonical order, by the samples that have them."""
    scaled = []
    for v in order.views:
        array, present = views.arrays[v][order.rows], views.has_view(v)
        present = np.ones(views.n_samples, dtype=bool) if present is None else present[order.rows]
        if present.all():
            scaling, values = learn_scaling(array, wanted[v])
        else:
            scaling, values = learn_scaling(array[present], wanted[v])
            values = spread(values, np.flatnonzero(present), views.n_samples)
        scaled.append(ScaledView(scaling, values, present))
    return scaled


@dataclass(frozen=True)
class ViewAnchors:
    """What a sample is compared with in one view.

    ``values`` are the scaled anchors and ``positions`` their indices in the pool; ``length`` of them are listed for a
    sample.
    """

    scaling: Scaling
    values: Array
    positions: np.ndarray
    far: float
    length: int

    def nearest(self, scaled: Array, n_threads: int | None) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest anchors of each row, nearest first, and squared distances."""
        similar = np.isfinite(self.far)
        near, distance = nearest_lists(scaled, self.values, self.length, only_similar=similar, n_threads=n_threads)
        return self.positions[near], distance


@dataclass(frozen=True)
class Pool:
    """The anchor pool: its samples, by index in canonical order, the anchors of each view, and :class:`Lists`."""

    samples: np.ndarray
    views: tuple[ViewAnchors, ...]
    lists: Lists


def pool_size(n_samples: int, n_clusters: int) -> int:
    """Return 85 % of the samples, limited to 2,000 or 20 per cluster."""
    enough = 20 * n_clusters
    return min(n_samples, max(2000, enough), max(int(0.85 * n_samples), enough))


def choose_anchors(scaled: Sequence[ScaledView], n_anchors: int, seed: int) -> np.ndarray:
    """Choose samples that cover the data."""
    values = [view.values for view in scaled]
    return with_every_view(select_spread(values, n_anchors, np.random.default_rng(seed)), scaled)


def with_every_view(samples: np.ndarray, scaled: Sequence[ScaledView]) -> np.ndarray:
    """Add the first samples of views that hardly any anchor has."""
    for view in scaled:
        if not view.present.all():
            others = np.setdiff1d(np.flatnonzero(view.present), samples)
            n_missing = max(0, _MIN_ANCHORS_PER_VIEW - int(view.present[samples].sum()))
            samples = np.concatenate([samples, others[:n_missing]])
    return samples


def make_pool(
    scaled: Sequence[ScaledView],
    samples: np.ndarray,
    graph_types: Sequence[GraphType],
    n_threads: int | None,
    patterns: np.ndarray | None = None,
) -> Pool:
    """Make the pool of these samples; ``patterns`` are those of :class:`Lists`, by default of the scaled samples."""
    if patterns is None:
        present = np.column_stack([view.present for view in scaled])
        patterns = None if present.all() else np.unique(present, axis=0)
    lists = Lists(len(samples), tuple(view.far for view in scaled), patterns)
    return Pool(samples, view_anchors(scaled, samples, list_length(graph_types), n_threads), lists)


def list_length(graph_types: Sequence[GraphType]) -> int:
    """Return how many anchors are listed for a sample, if there are that many."""
    return _LIST_LENGTH * max(GRAPH_NEIGHBORS, *(each.n_neighbors[1] for each in graph_types))


def view_anchors(
    scaled: Sequence[ScaledView], samples: np.ndarray, length: int, n_threads: int | None
) -> tuple[ViewAnchors, ...]:
    """Return the anchors in each view, to list ``length`` of them for a sample, or all if there are fewer."""
    known = []
    for view in scaled:
        positions = np.flatnonzero(view.present[samples])
        values = view.values[samples[positions]]
        known.append(ViewAnchors(view.scaling, values, positions.astype(np.int32), view.far, len(positions)))
    incomplete = [v for v, view in enumerate(known) if len(view.positions) < len(samples)]
    if incomplete:
        similarity = _similarity(known, len(samples), n_threads)
        for v in incomplete:
            known[v] = _imputed(known[v], similarity)
    return tuple(replace(view, length=min(length, len(view.positions))) for view in known)


def _similarity(known: Sequence[ViewAnchors], n_anchors: int, n_threads: int | None) -> sp.csr_array:
    """Return the similarity of the anchors: CAN weights, their mean over the views in common, n_anchors x n_anchors.

    The mean counts one view more than there are, with weight 0: similarity in few views is less certain.
    """
    has_view = np.zeros((n_anchors, len(known)))
    total = sp.csr_array((n_anchors, n_anchors))
    for v, view in enumerate(known):
        has_view[view.positions, v] = 1
        k = min(_LIKELY_DONORS, len(view.positions) - 1)
        near, distance = replace(view, length=k + 1).nearest(view.values, n_threads)
        weights = can_weights(np.where(np.isfinite(distance), distance, view.far).astype(float))
        rows = np.repeat(view.positions, k)
        total += sp.csr_array((weights.ravel(), (rows, near[:, :k].ravel())), shape=total.shape)
    edges = total.tocoo()
    common = np.einsum("ev,ev->e", has_view[edges.row], has_view[edges.col])
    return sp.csr_array((edges.data / (common + 1), (edges.row, edges.col)), shape=total.shape)


def _imputed(view: ViewAnchors, similarity: sp.csr_array) -> ViewAnchors:
    """Impute the view for the other anchors from those that have it; anchors without a similar donor are left out."""
    missing = np.setdiff1d(np.arange(similarity.shape[0], dtype=np.int32), view.positions)
    similarity = similarity[missing][:, view.positions]
    has_donor = np.asarray(similarity.sum(axis=1)).ravel() > 0
    similarity = similarity[has_donor]
    blocks = [_donor_weights(similarity[rows].toarray()) for rows in row_blocks(*similarity.shape)]
    donate = sp.vstack(blocks or [similarity])
    imputed = donate @ view.values
    # A mean is shorter than what it is the mean of, and would be nearer to every sample.
    length, wanted = row_lengths(imputed), donate @ row_lengths(view.values)
    stretch = np.divide(wanted, length, out=np.ones_like(length), where=length > 0)
    imputed = sp.dia_array((stretch[None], [0]), shape=(len(stretch), len(stretch))) @ imputed
    stacked = np.vstack if isinstance(view.values, np.ndarray) else sp.vstack
    positions = np.concatenate([view.positions, missing[has_donor]])
    order = np.argsort(positions)
    values = stacked([view.values, imputed])
    values = values if isinstance(values, np.ndarray) else sp.csr_array(values)
    return replace(view, values=values[order].astype(view.values.dtype), positions=positions[order])


def _donor_weights(similarity: np.ndarray) -> sp.csr_array:
    """Return how much each donor counts: CAN weights of the most similar, rows sum to 1."""
    k = min(_DONORS, similarity.shape[1] - 1)
    best = np.argsort(-similarity, axis=1, kind="stable")[:, : k + 1]
    values = np.take_along_axis(similarity, best, axis=1)
    weights = np.where(values[:, :k] > 0, can_weights(-values), 0.0)
    indptr = np.arange(0, weights.size + 1, k)
    return sp.csr_array((weights.ravel(), best[:, :k].ravel(), indptr), shape=similarity.shape)


def neighbour_lists(
    scaled: Sequence[ScaledView], anchors: Sequence[ViewAnchors], n_threads: int | None
) -> dict[str, np.ndarray]:
    """Return the columns of rows: the nearest anchors of each sample in each view, -1 where the view is missing."""
    columns = {}
    for v, (view, known) in enumerate(zip(scaled, anchors, strict=True)):
        if view.present.all():
            near, distance = known.nearest(view.values, n_threads)
        else:
            near = np.full((len(view.present), known.length), -1, dtype=np.int32)
            distance = np.full(near.shape, np.inf, dtype=np.float32)
            if view.present.any():
                near[view.present], distance[view.present] = known.nearest(view.values[view.present], n_threads)
        columns[NEAREST.of(v)], columns[DISTANCE.of(v)] = near, distance
    return columns


@dataclass(frozen=True)
class AnchoredViews:
    """All that finding the neighbour lists of any sample takes.

    ``source[v]`` is the index in ``anchors`` of the view whose content view v has, and ``units[v]``, factor and
    offset, brings the values of v to the unit of that view.
    """

    names: tuple[str, ...]
    n_features: tuple[int, ...]
    source: tuple[int, ...]
    units: tuple[tuple[float, np.ndarray], ...]
    anchors: tuple[ViewAnchors, ...]

    def scale(self, v: int, values: Array) -> Array:
        """Return samples of view v on the scale on which they are compared."""
        factor, offset = self.units[v]
        if offset.any():
            values = (values if isinstance(values, np.ndarray) else values.toarray()) * factor + offset
        elif factor != 1.0:
            values = values * factor
        return self.anchors[self.source[v]].scaling.apply(values)


def view_units(views: Views, order: CanonicalOrder) -> Iterator[tuple[float, np.ndarray]]:
    """Yield, for every view, factor and offset that bring its values to the unit of the view that it is a copy of."""
    for v, source in enumerate(order.source):
        original, rows = order.views[source], has_view(views, v)
        same = (1.0, np.zeros(views.n_features[v]))
        yield same if v == original else unit_of(views.arrays[v][rows], views.arrays[original][rows])


def lists_of(views: Views, known: AnchoredViews) -> dict[str, np.ndarray]:
    """Return the neighbour lists of samples in each of the different views, found by the calling thread."""
    scaled = [_scaled(known, views, source) for source in range(len(known.anchors))]
    return neighbour_lists(scaled, known.anchors, n_threads=1)


def _scaled(known: AnchoredViews, views: Views, source: int) -> ScaledView:
    """Return one of the different views: each sample's from the first copy that it has."""
    anchors, parts = known.anchors[source], []
    present = np.zeros(views.n_samples, dtype=bool)
    for v, name in enumerate(known.names):
        if known.source[v] != source or name not in views.names:
            continue
        given = views.names.index(name)
        new = has_view(views, given) & ~present
        if new.any():
            array = views.arrays[given] if new.all() else views.arrays[given][new]
            parts.append(spread(known.scale(v, array), np.flatnonzero(new), views.n_samples))
            present |= new
    return ScaledView(anchors.scaling, reduce(add, parts) if parts else anchors.values[:0], present)


def has_view(views: Views, view: int) -> np.ndarray:
    """Return which samples have a view."""
    known = views.has_view(view)
    return np.ones(views.n_samples, dtype=bool) if known is None else known
