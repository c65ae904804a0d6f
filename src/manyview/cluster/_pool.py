"""From views to lists: which members of the pool are nearest to a sample in each view.

The pool is a set of samples that the graphs draw their anchors from. A sample may lack views, in the pool or out of it.
In each view the lists name pool members that have it, and a sample that lacks it looks at them with borrowed eyes: with
the mean of the few pool members that are nearest to it in the views that both have (:func:`_borrow`). What it sees that
way counts less (:mod:`manyview.solvers._members`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from manyview._outer_join import spread
from manyview.graphs import CanonicalOrder, Scaling, learn_scaling, nearest_lists
from manyview.graphs.neighbours import row_blocks, steady_distances
from manyview.solvers.invariant import Lists
from manyview.views import Array, Views

# So many samples of every view belong to the pool, if so many have it.
_FEWEST_PER_VIEW = 10
# A sample borrows a view from so many pool members.
_LENDERS = 10
# Two samples are as far apart as their views in common say, and as any two are, with the weight of so many views.
_PRIOR_VIEWS = 0.5


@dataclass(frozen=True)
class ScaledView:
    """One of the different views, scaled; rows that are not ``present`` are zero."""

    scaling: Scaling
    values: Array
    present: np.ndarray

    @property
    def far(self) -> float:
        """The distance at which similarity ends: that of samples with nothing in common, where there is such a thing.

        Unit rows, all divided by the same number, are then at one and the same distance.
        """
        if not (self.scaling.sparse and self.scaling.name in ("counts", "unit")):
            return np.inf
        return 2 * float(self.values.power(2).sum(axis=1).max())  # type: ignore[union-attr]


@dataclass(frozen=True)
class PoolView:
    """What a sample is compared with in one view.

    ``anchors`` are the scaled pool members that have the view and ``places`` their places in the pool; ``length`` of
    them are listed for a sample.
    """

    scaling: Scaling
    anchors: Array
    places: np.ndarray
    far: float
    length: int

    def nearest(self, scaled: Array, n_threads: int | None) -> tuple[np.ndarray, np.ndarray]:
        """The nearest pool members of each row, nearest first, and squared distances."""
        similar = np.isfinite(self.far)
        near, distance = nearest_lists(scaled, self.anchors, self.length, only_similar=similar, n_threads=n_threads)
        return self.places[near], distance


def scale_views(views: Views, wanted: Sequence[str], order: CanonicalOrder) -> list[ScaledView]:
    """The different views in canonical order, scaled by what the samples that have them are like."""
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


def with_every_view(pool: np.ndarray, scaled: Sequence[ScaledView]) -> np.ndarray:
    """The pool, and the first samples of views that hardly any member of it has."""
    for view in scaled:
        if not view.present.all():
            others = np.setdiff1d(np.flatnonzero(view.present), pool)
            pool = np.concatenate([pool, others[: max(0, _FEWEST_PER_VIEW - int(view.present[pool].sum()))]])
    return pool


def pool_views(scaled: Sequence[ScaledView], pool: np.ndarray, length: int) -> tuple[PoolView, ...]:
    """The pool in each view, to list ``length`` members for a sample or as many as there are."""
    found = []
    for view in scaled:
        places = np.flatnonzero(view.present[pool])
        anchors = view.values[pool[places]]
        found.append(PoolView(view.scaling, anchors, places.astype(np.int32), view.far, min(length, len(places))))
    return tuple(found)


def solver_lists(scaled: Sequence[ScaledView], pool: np.ndarray) -> Lists:
    """What is common to the rows' lists."""
    lists = Lists(len(pool), tuple(view.far for view in scaled))
    present = np.column_stack([view.present for view in scaled])
    return lists if present.all() else replace(lists, patterns=np.unique(present, axis=0), pool_has=present[pool])


def neighbor_columns(
    scaled: Sequence[ScaledView], pools: Sequence[PoolView], n_threads: int | None
) -> dict[str, np.ndarray]:
    """What the solver's rows hold: the nearest pool members in each view, and where the view is borrowed."""
    columns = {}
    for v, (view, pool) in enumerate(zip(scaled, pools, strict=True)):
        if view.present.all():
            near, distance = pool.nearest(view.values, n_threads)
        else:
            near = np.full((len(view.present), pool.length), -1, dtype=np.int32)
            distance = np.full(near.shape, np.inf, dtype=np.float32)
            if view.present.any():
                near[view.present], distance[view.present] = pool.nearest(view.values[view.present], n_threads)
            columns[f"borrowed {v}"] = ~view.present
        columns[f"near {v}"], columns[f"distance {v}"] = near, distance
    lacking = np.flatnonzero(~np.all([view.present for view in scaled], axis=0))
    n_pool = 1 + max(int(pool.places.max()) for pool in pools)
    for block in row_blocks(len(lacking), n_pool):
        _borrow(columns, scaled, pools, lacking[block], n_pool, n_threads)
    return columns


def _borrow(
    columns: dict[str, np.ndarray],
    scaled: Sequence[ScaledView],
    pools: Sequence[PoolView],
    rows: np.ndarray,
    n_pool: int,
    n_threads: int | None,
) -> None:
    """Fill in, for some rows, the lists of views that they lack.

    The distance of a row to a pool member is the mean over the views in common of squared distances, relative to those
    between any two samples. CAN weights of the nearest that have the view weigh what they lend; a row that has no view
    in common with any of these borrows nothing.
    """
    total = np.full((len(rows), n_pool), _PRIOR_VIEWS)
    common = np.zeros((len(rows), n_pool))
    for view, pool in zip(scaled, pools, strict=True):
        has = np.flatnonzero(view.present[rows])
        if len(has):
            # The variances of a scaled view add up to 1, so two samples are at a squared distance of 2 on average.
            total[np.ix_(has, pool.places)] += steady_distances(view.values[rows[has]], pool.anchors) / 2
            common[np.ix_(has, pool.places)] += 1
    distance = np.where(common > 0, total / (common + _PRIOR_VIEWS), np.inf)
    for v, (view, pool) in enumerate(zip(scaled, pools, strict=True)):
        lacks = np.flatnonzero(~view.present[rows])
        lacks = lacks[np.isfinite(distance[np.ix_(lacks, pool.places)]).any(axis=1)]
        if len(lacks):
            lenders = _lender_weights(distance[np.ix_(lacks, pool.places)])
            borrowed = lenders @ pool.anchors
            found = pool.nearest(borrowed if isinstance(borrowed, np.ndarray) else sp.csr_array(borrowed), n_threads)
            columns[f"near {v}"][rows[lacks]], columns[f"distance {v}"][rows[lacks]] = found


def _lender_weights(distance: np.ndarray) -> sp.csr_array:
    """CAN weights of each row's nearest lenders; infinitely far ones lend nothing."""
    k = min(_LENDERS, distance.shape[1])
    nearest = np.argsort(distance, axis=1, kind="stable")[:, : k + 1]
    sorted_distance = np.take_along_axis(distance, nearest, axis=1)
    reachable = np.isfinite(sorted_distance)
    last = np.where(reachable, sorted_distance, -np.inf).max(axis=1, keepdims=True)
    weights = np.where(reachable, last - np.where(reachable, sorted_distance, 0.0), 0.0)[:, :k]
    none = weights.sum(axis=1) <= 0  # equally far, or a single one: all count the same
    weights[none] = reachable[none, :k]
    weights /= weights.sum(axis=1, keepdims=True)
    indptr = np.arange(0, weights.size + 1, k)
    return sp.csr_array((weights.ravel(), nearest[:, :k].ravel(), indptr), shape=distance.shape)
