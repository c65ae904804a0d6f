"""From views to neighbour lists: scaled views, the anchor pool, and the nearest anchors of a sample in each view.

The anchor pool is a set of samples that the graphs draw their anchors from. A sample with a missing view has no
neighbour list there, and is assigned by the views that it has. But if anchors were missing from the lists of a view,
samples with other views would be compared with other anchors, and clustered by which views are missing. So the missing
views of an anchor are imputed by the mean of the anchors that are similar in the other views.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview.ensemble.columns import DISTANCE, NEAREST
from manyview.ensemble.members import Family, Lists, Settings, draw_views, member_draws
from manyview.exceptions import ViewsError
from manyview.graphs import SCALERS, CanonicalOrder, Scaling, can_weights, learn_scaling
from manyview.graphs.anchors import concatenate, select_spread
from manyview.graphs.canonical import unit_of
from manyview.graphs.neighbours import AnchorSearch, row_blocks
from manyview.graphs.scaling import effective_dimensions, row_lengths
from manyview.views import Array, Views
from manyview.views.joins import spread

# Edges per sample and view of the learned graph.
GRAPH_NEIGHBORS = 10
# Length of a neighbour list as a multiple of the largest number of neighbours: a member has half of the anchors.
_LIST_LENGTH = 2
# Minimum number of anchors that have a view, if as many samples have it.
_MIN_ANCHORS_PER_VIEW = 10
# A missing view of an anchor is imputed from this number of donors, among this number of neighbours in each other view.
_DONORS = 4
_LIKELY_DONORS = 20
# Neighbours of a sample by which views are compared.
_AGREEMENT_NEIGHBORS = 20
# Standard errors of agreement for full weight; below which no view is better than others; least weight.
_CERTAIN, _DOUBTFUL, _LEAST_WEIGHT = 10.0, 3.0, 0.05
# Sets of views that are compared side by side, as many as there are members of a family in its first trial.
_JOINT_SPACES = 4


def scaling_names(scaling: Any, views: Views) -> list[str]:
    """Return the requested scaling of every view, a name or "auto"."""
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
        """Squared distance of samples with nothing in common, if it is a constant, else infinity.

        It is constant for unit rows, all divided by the same number.
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
class Space:
    """Space in which samples are compared, a view or several side by side, with its anchors.

    ``views`` are indices of the different views, each with one of ``scalings``, and multiplied by one of ``factors``;
    the first of its columns is one of ``starts``. ``values`` are the anchors and ``positions`` their indices in the
    pool; ``length`` of them are listed for a sample. ``far`` is the squared distance of samples with nothing in common.
    """

    views: tuple[int, ...]
    scalings: tuple[Scaling, ...]
    factors: tuple[float, ...]
    starts: tuple[int, ...]
    values: Array
    positions: np.ndarray
    far: float
    length: int

    def nearest(self, samples: Array, has_view: np.ndarray, n_threads: int | None) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest anchors of each row, nearest first, and squared distances.

        ``has_view`` says which of the views a row has. Missing ones are left out, and the distances of the others are
        scaled up for them; a row without any lists -1.
        """
        whole = has_view.all(axis=1)
        if whole.all():
            return self._nearest(samples, self.values, n_threads)
        near = np.full((len(has_view), self.length), -1, dtype=np.int32)
        distance = np.full(near.shape, np.inf, dtype=np.float32)
        importance = np.square(self.factors)
        for pattern in np.unique(has_view, axis=0):
            rows = np.flatnonzero((has_view == pattern).all(axis=1))
            if pattern.any():
                columns = np.repeat(pattern, np.diff([*self.starts, self.values.shape[1]]))
                own, anchors = samples[rows], self.values
                if not pattern.all():
                    own, anchors = own[:, columns], anchors[:, columns]
                near[rows], found = self._nearest(own, anchors, n_threads)
                distance[rows] = found * np.float32(importance.sum() / importance[pattern].sum())
        return near, distance

    def _nearest(self, samples: Array, anchors: Array, n_threads: int | None) -> tuple[np.ndarray, np.ndarray]:
        search = self._search if anchors is self.values else self._search_of(anchors)
        near, distance = search.lists(samples, n_threads)
        return self.positions[near], distance

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields: a prepared search is neither sent to workers nor stored."""
        return {name: value for name, value in vars(self).items() if name != "_search"}

    @cached_property
    def _search(self) -> AnchorSearch:
        return self._search_of(self.values)

    def _search_of(self, anchors: Array) -> AnchorSearch:
        return AnchorSearch(anchors, self.length, only_similar=bool(np.isfinite(self.far)))


@dataclass(frozen=True)
class Pool:
    """The anchor pool: its samples, by index in canonical order, a space for each view, and :class:`Lists`.

    ``donors`` are those of each view; None if no anchor misses it.
    """

    samples: np.ndarray
    spaces: tuple[Space, ...]
    lists: Lists
    donors: tuple[Donors | None, ...] = ()


@dataclass(frozen=True)
class Donors:
    """The anchors whose view is imputed, by position in the pool, and the weights of the anchors that have it."""

    positions: np.ndarray
    weights: sp.csr_array

    def impute(self, values: Array) -> Array:
        """Return the imputed anchors, from those that have the view."""
        imputed = self.weights @ values
        # A mean of rows is shorter than these, and would be nearer to every sample.
        length, wanted = row_lengths(imputed), self.weights @ row_lengths(values)
        stretch = np.divide(wanted, length, out=np.ones_like(length), where=length > 0)
        return sp.dia_array((stretch[None], [0]), shape=(len(stretch), len(stretch))) @ imputed


def pool_size(n_samples: int, n_clusters: int) -> int:
    """Return 85 % of the samples, limited to 2,000 or 20 per cluster."""
    enough = 20 * n_clusters
    return min(n_samples, max(2000, enough), max(int(0.85 * n_samples), enough))


def choose_anchors(scaled: Sequence[ScaledView], n_anchors: int, seed: int) -> np.ndarray:
    """Choose samples that cover the data."""
    values = [view.values for view in scaled]
    return with_every_view(select_spread(values, n_anchors, np.random.default_rng(seed)), scaled)


def with_every_view(samples: np.ndarray, scaled: Sequence[ScaledView]) -> np.ndarray:
    """Add the first samples that have a view which too few anchors have."""
    for view in scaled:
        if not view.present.all():
            others = np.setdiff1d(np.flatnonzero(view.present), samples)
            n_missing = max(0, _MIN_ANCHORS_PER_VIEW - int(view.present[samples].sum()))
            samples = np.concatenate([samples, others[:n_missing]])
    return samples


def make_pool(
    scaled: Sequence[ScaledView],
    samples: np.ndarray,
    families: Sequence[Family],
    n_threads: int | None,
    patterns: np.ndarray | None = None,
) -> Pool:
    """Make the pool of these samples; ``patterns`` are those of :class:`Lists`, by default of the scaled samples."""
    if patterns is None:
        present = np.column_stack([view.present for view in scaled])
        patterns = None if present.all() else np.unique(present, axis=0)
    lists = Lists(len(samples), tuple(view.far for view in scaled), patterns)
    spaces, donors = view_spaces(scaled, samples, list_length(families), n_threads)
    return Pool(samples, spaces, lists, donors)


def list_length(families: Sequence[Family]) -> int:
    """Return the length of a neighbour list, if there are enough anchors."""
    return _LIST_LENGTH * max(GRAPH_NEIGHBORS, *(each.n_neighbors[1] for each in families))


def view_spaces(
    scaled: Sequence[ScaledView], samples: np.ndarray, length: int, n_threads: int | None
) -> tuple[tuple[Space, ...], tuple[Donors | None, ...]]:
    """Return a space for each view, to list ``length`` anchors for a sample, or all if there are fewer.

    And, per view, the donors of the anchors that miss it.
    """
    known = []
    for v, view in enumerate(scaled):
        positions = np.flatnonzero(view.present[samples]).astype(np.int32)
        values = view.values[samples[positions]]
        known.append(Space((v,), (view.scaling,), (1.0,), (0,), values, positions, view.far, len(positions)))
    incomplete = [v for v, space in enumerate(known) if len(space.positions) < len(samples)]
    donors: list[Donors | None] = [None] * len(known)
    if incomplete:
        similarity = _similarity(known, len(samples), n_threads)
        for v in incomplete:
            donors[v] = found = _find_donors(known[v].positions, similarity)
            values, positions = _with_imputed(known[v].values, known[v].positions, found)
            known[v] = replace(known[v], values=values, positions=positions)
    return tuple(replace(space, length=min(length, len(space.positions))) for space in known), tuple(donors)


def _similarity(known: Sequence[Space], n_anchors: int, n_threads: int | None) -> sp.csr_array:
    """Return the similarity of the anchors: CAN weights, their mean over the views in common, n_anchors x n_anchors.

    The mean counts one view more than there are, with weight 0: similarity in few views is less certain.
    """
    has_view = np.zeros((n_anchors, len(known)))
    total = sp.csr_array((n_anchors, n_anchors))
    for v, view in enumerate(known):
        has_view[view.positions, v] = 1
        k = min(_LIKELY_DONORS, len(view.positions) - 1)
        every = np.ones((len(view.positions), 1), dtype=bool)
        near, distance = replace(view, length=k + 1).nearest(view.values, every, n_threads)
        weights = can_weights(np.where(np.isfinite(distance), distance, view.far).astype(float))
        rows = np.repeat(view.positions, k)
        total += sp.csr_array((weights.ravel(), (rows, near[:, :k].ravel())), shape=total.shape)
    edges = total.tocoo()
    common = np.einsum("ev,ev->e", has_view[edges.row], has_view[edges.col])
    return sp.csr_array((edges.data / (common + 1), (edges.row, edges.col)), shape=total.shape)


def _find_donors(positions: np.ndarray, similarity: sp.csr_array) -> Donors:
    """Return donors of a view that anchors at ``positions`` have; anchors without a similar donor are left out."""
    missing = np.setdiff1d(np.arange(similarity.shape[0], dtype=np.int32), positions)
    similarity = similarity[missing][:, positions]
    has_donor = np.asarray(similarity.sum(axis=1)).ravel() > 0
    similarity = similarity[has_donor]
    blocks = [_donor_weights(similarity[rows].toarray()) for rows in row_blocks(*similarity.shape)]
    return Donors(missing[has_donor], sp.csr_array(sp.vstack(blocks or [similarity])))


def _with_imputed(values: Array, positions: np.ndarray, donors: Donors | None) -> tuple[Array, np.ndarray]:
    """Return anchors and positions with those that are imputed, in the order of the positions."""
    if donors is None:
        return values, positions
    stacked = np.vstack if isinstance(values, np.ndarray) else sp.vstack
    every = np.concatenate([positions, donors.positions])
    order = np.argsort(every)
    both = stacked([values, donors.impute(values)])
    both = both if isinstance(both, np.ndarray) else sp.csr_array(both)
    return both[order].astype(values.dtype), every[order]


def _donor_weights(similarity: np.ndarray) -> sp.csr_array:
    """Return the weights of the donors: CAN weights of the most similar anchors, rows sum to 1."""
    k = min(_DONORS, similarity.shape[1] - 1)
    best = np.argsort(-similarity, axis=1, kind="stable")[:, : k + 1]
    values = np.take_along_axis(similarity, best, axis=1)
    weights = np.where(values[:, :k] > 0, can_weights(-values), 0.0)
    indptr = np.arange(0, weights.size + 1, k)
    return sp.csr_array((weights.ravel(), best[:, :k].ravel(), indptr), shape=similarity.shape)


def neighbour_lists(
    scaled: Sequence[ScaledView], spaces: Sequence[Space], n_threads: int | None
) -> dict[str, np.ndarray]:
    """Return the columns of rows: the nearest anchors of each sample in each view, -1 where the view is missing."""
    columns = {}
    for v, (view, space) in enumerate(zip(scaled, spaces, strict=True)):
        near, distance = space.nearest(view.values, view.present[:, None], n_threads)
        columns[NEAREST.of(v)], columns[DISTANCE.of(v)] = near, distance
    return columns


def agreement_weights(columns: Mapping[str, np.ndarray], pool: Pool, twin: np.ndarray) -> tuple[float, ...]:
    """Return the weight of each view, at most 1: less if its neighbours are unrelated to those of the other views.

    ``columns`` are the neighbour lists of samples in canonical order. In each view a sample has 20 neighbours, without
    itself and its copies (``twin``). The agreement of two views is the share of common neighbours beyond that of the
    lists of two random samples; that of a view is the sum over the others. The agreement of noise is within a few
    standard errors. A view with ten, or as many as the best one, has full weight, however weak it is: it may still add
    information. Of two views both have the same agreement, and weight. Only anchors that have both views are counted,
    as imputed ones are near their donors in every view.
    """
    n_views = pool.lists.n_views
    own = np.ones((n_views, len(pool.samples)), dtype=bool)
    for has_own, space, donors in zip(own, pool.spaces, pool.donors, strict=False):
        if donors is not None:
            has_own[:] = np.isin(np.arange(len(has_own)), np.setdiff1d(space.positions, donors.positions))
    tables = [_nearest_others(columns, pool, twin, v, own[v]) for v in range(n_views)]
    agreement, variance = np.zeros((2, n_views, n_views))
    for v in range(n_views):
        for u in range(v):
            one, two = tables[v], tables[u]
            if not np.array_equal(own[v], own[u]):
                one, two = (_nearest_others(columns, pool, twin, view, own[v] & own[u]) for view in (v, u))
            both = np.flatnonzero((np.diff(one.indptr) > 0) & (np.diff(two.indptr) > 0))
            if not both.size:
                continue
            one, two = one[both], two[both]
            most = float(np.minimum(np.diff(one.indptr), np.diff(two.indptr)).sum())
            chance = float(one.sum(axis=0) @ two.sum(axis=0)) / len(both) / most
            agreement[v, u] = agreement[u, v] = float(one.multiply(two).sum()) / most - chance
            variance[v, u] = variance[u, v] = chance / most  # the variance of counts of rare events is their mean
    deviation = np.sqrt(variance.sum(axis=1))
    errors = np.divide(agreement.sum(axis=1), deviation, out=np.full(n_views, _CERTAIN), where=deviation > 0)
    if errors.max() < _DOUBTFUL:  # if no views agree, none is better than the others
        return (1.0,) * n_views
    return tuple(map(float, np.clip(errors / min(errors.max(), _CERTAIN), _LEAST_WEIGHT, 1.0)))


def _nearest_others(
    columns: Mapping[str, np.ndarray], pool: Pool, twin: np.ndarray, view: int, anchors: np.ndarray
) -> sp.csr_array:
    """Return an indicator of the nearest anchors of each sample in a view, among some anchors, without its copies."""
    near, distance = columns[NEAREST.of(view)], columns[DISTANCE.of(view)]
    # A view that is missing lists -1, at infinite distance.
    other = np.isfinite(distance) & (twin[pool.samples][near] != twin[:, None]) & anchors[near]
    other &= np.cumsum(other, axis=1) <= _AGREEMENT_NEIGHBORS
    starts = np.concatenate([[0], np.cumsum(other.sum(axis=1))])
    return sp.csr_array((np.ones(starts[-1]), near[other], starts), shape=(len(near), len(pool.samples)))


def joint_spaces(
    given: Callable[[int], Array], wanted: Sequence[str], scaled: Sequence[ScaledView], pool: Pool, settings: Settings
) -> Iterator[tuple[str, list[ScaledView], list[Space]]]:
    """Yield, for each family of graphs with views side by side, its name, the scaled views, and their spaces.

    ``given`` returns one of the different views in canonical order; ``wanted`` are their scalings, and a family changes
    only those that are "auto". Views of counts stay counts, and if all are counts, nothing is yielded. A family whose
    views are scaled as those of another one is left out, as is a single view with its own scaling. The spaces of a
    family are those of the views that its first members draw; later members reuse them in turn.
    """
    first = [member_draws(settings, index) for index in range(_JOINT_SPACES)]
    drawn = [draw_views(pool.lists, settings.view_share, rng) for rng in first]
    seen: set[tuple[str, ...]] = set()
    for family in settings.families:
        if family.scaling is None:
            continue
        rescaled = [_rescaled(given, v, wanted[v], view, family.scaling) for v, view in enumerate(scaled)]
        names = tuple(view.scaling.name for view in rescaled)
        if names in seen or set(names) == {"counts"} or (len(scaled) == 1 and rescaled[0] is scaled[0]):
            continue
        seen.add(names)
        length = _LIST_LENGTH * family.n_neighbors[1]
        importance = [_importance(view) * pool.lists.weight(v) for v, view in enumerate(rescaled)]
        spaces = {views: _joined(rescaled, views, importance, pool, length) for views in drawn}
        # Anchors with a missing view and without a similar donor are left out.
        if all(2 * len(space.positions) >= len(pool.samples) for space in spaces.values()):
            yield family.name, rescaled, [spaces[views] for views in drawn]
        del rescaled  # before the next family scales the views


def _rescaled(given: Callable[[int], Array], v: int, wanted: str, auto: ScaledView, scaling: str) -> ScaledView:
    """Return a view with the scaling of a family, if its own was automatic and is not that of counts."""
    if wanted != "auto" or auto.scaling.name in ("counts", scaling):
        return auto
    if auto.present.all():
        learned, values = learn_scaling(given(v), scaling)
    else:
        learned, values = learn_scaling(given(v)[auto.present], scaling)
        values = spread(values, np.flatnonzero(auto.present), len(auto.present))
    return ScaledView(learned, values, auto.present)


def _importance(view: ScaledView) -> float:
    """Return the weight of the squared distances of a view beside others: √d, with d effective dimensions.

    Of two views with the same total variance, the one with fewer effective dimensions has the larger differences
    between distances, which would dominate those of the other.
    """
    values = view.values if view.present.all() else view.values[view.present]
    return float(np.sqrt(max(1.0, effective_dimensions(values))))


def _joined(
    scaled: Sequence[ScaledView], views: tuple[int, ...], importance: Sequence[float], pool: Pool, length: int
) -> Space:
    """Return the space of some views side by side."""
    own, positions_of = [], []
    for v in views:
        positions = np.flatnonzero(scaled[v].present[pool.samples]).astype(np.int32)
        values, positions = _with_imputed(scaled[v].values[pool.samples[positions]], positions, pool.donors[v])
        own.append(values)
        positions_of.append(positions)
    positions = reduce(np.intersect1d, positions_of)
    anchors = [values[np.searchsorted(at, positions)] for values, at in zip(own, positions_of, strict=True)]
    used = tuple(float(np.sqrt(importance[v])) for v in views)
    far = sum(factor**2 * scaled[v].far for factor, v in zip(used, views, strict=True))
    starts = np.cumsum([0, *(scaled[v].values.shape[1] for v in views)])[:-1]
    return Space(
        views,
        tuple(scaled[v].scaling for v in views),
        used,
        tuple(map(int, starts)),
        side_by_side(anchors, used),
        positions,
        float(far),
        min(length, len(positions)),
    )


@dataclass(frozen=True)
class AnchoredViews:
    """Views, scalings and anchors from which the neighbour lists of any sample are computed.

    ``source[v]`` is the index among the different views of the one whose content view v has, and ``units[v]``, factor
    and offset, brings the values of v to the unit of that view. ``scalings`` are those of the different views, and
    ``spaces`` those of the lists with these ``numbers``.
    """

    names: tuple[str, ...]
    n_features: tuple[int, ...]
    source: tuple[int, ...]
    units: tuple[tuple[float, np.ndarray], ...]
    scalings: tuple[Scaling, ...]
    spaces: tuple[Space, ...]
    numbers: tuple[int, ...]

    def shortened(self, lengths: Mapping[int, int]) -> AnchoredViews:
        """Return the same with lists of at most these lengths, by number."""
        pairs = zip(self.numbers, self.spaces, strict=True)
        spaces = tuple(replace(space, length=min(space.length, lengths[number])) for number, space in pairs)
        return replace(self, spaces=spaces)

    def scale(self, v: int, values: Array) -> Array:
        """Return samples of view v, scaled for comparison."""
        return self.scalings[self.source[v]].apply(self.in_unit(v, values))

    def in_unit(self, v: int, values: Array) -> Array:
        """Return samples of view v in the unit of the view that it is a copy of."""
        factor, offset = self.units[v]
        if offset.any():
            return (values if isinstance(values, np.ndarray) else values.toarray()) * factor + offset
        return values if factor == 1.0 else values * factor


def view_units(views: Views, order: CanonicalOrder) -> Iterator[tuple[float, np.ndarray]]:
    """Yield, for every view, factor and offset that bring its values to the unit of the view that it is a copy of."""
    for v, source in enumerate(order.source):
        original, rows = order.views[source], has_view(views, v)
        same = (1.0, np.zeros(views.n_features[v]))
        yield same if v == original else unit_of(views.arrays[v][rows], views.arrays[original][rows])


def lists_of(views: Views, known: AnchoredViews) -> dict[str, np.ndarray]:
    """Return the neighbour lists of samples, found by the calling thread."""
    given = [given_view(known, views, source) for source in range(len(known.scalings))]
    scaled: dict[tuple[int, int], Array] = {}
    columns = {}
    for number, space in zip(known.numbers, known.spaces, strict=True):
        parts = []
        for v, scaling in zip(space.views, space.scalings, strict=True):
            key = (v, id(scaling))
            if key not in scaled:
                scaled[key] = scaling.apply(given[v][0])
            parts.append(scaled[key])
        has = np.column_stack([given[v][1] for v in space.views])
        near, distance = space.nearest(side_by_side(parts, space.factors), has, n_threads=1)
        columns[NEAREST.of(number)], columns[DISTANCE.of(number)] = near, distance
    return columns


def given_view(known: AnchoredViews, views: Views, source: int) -> tuple[Array, np.ndarray]:
    """Return one of the different views, for each sample from its first present copy, and which samples have it."""
    parts = []
    present = np.zeros(views.n_samples, dtype=bool)
    for v, name in enumerate(known.names):
        if known.source[v] != source or name not in views.names:
            continue
        given = views.names.index(name)
        new = has_view(views, given) & ~present
        if new.any():
            array = views.arrays[given] if new.all() else views.arrays[given][new]
            parts.append(spread(known.in_unit(v, array), np.flatnonzero(new), views.n_samples))
            present |= new
    if not parts:
        n_features = known.n_features[known.source.index(source)]
        return np.zeros((views.n_samples, n_features)), present
    return reduce(add, parts), present


def side_by_side(parts: Sequence[Array], factors: Sequence[float]) -> Array:
    """Return views side by side, each multiplied by its factor."""
    if len(parts) == 1:
        return parts[0] if factors[0] == 1.0 else parts[0] * parts[0].dtype.type(factors[0])
    return concatenate([part * part.dtype.type(factor) for part, factor in zip(parts, factors, strict=True)])


def has_view(views: Views, view: int) -> np.ndarray:
    """Return which samples have a view."""
    known = views.has_view(view)
    return np.ones(views.n_samples, dtype=bool) if known is None else known
