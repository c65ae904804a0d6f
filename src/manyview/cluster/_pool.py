"""From views to lists: which members of the pool are nearest to a sample in each view.

The pool is a set of samples that the graphs draw their anchors from. A sample may lack views, in the pool or out of it:
in each view the lists are about those that have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from manyview.graphs import CanonicalOrder, Scaling, learn_scaling, nearest_lists
from manyview.solvers.invariant import Lists
from manyview.views import Array, Views

# So many samples of every view belong to the pool, if so many have it.
_FEWEST_PER_VIEW = 10


@dataclass(frozen=True)
class ScaledView:
    """One of the different views, samples in canonical order; rows that are not ``present`` are zero."""

    scaling: Scaling
    values: Array
    present: np.ndarray | None

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
    """What a new sample is compared with in one view.

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
        if self.length == 0:
            return no_lists(scaled.shape[0])
        similar = np.isfinite(self.far)
        near, distance = nearest_lists(scaled, self.anchors, self.length, only_similar=similar, n_threads=n_threads)
        return self.places[near], distance


def no_lists(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """For samples that lack a view: lists that end before they begin."""
    return np.full((n_rows, 1), -1, dtype=np.int32), np.full((n_rows, 1), np.inf, dtype=np.float32)


def scale_views(views: Views, wanted: Sequence[str], order: CanonicalOrder) -> list[ScaledView]:
    """The different views in canonical order, scaled by what the samples that have them are like."""
    scaled = []
    for v in order.views:
        array, present = views.arrays[v][order.rows], views.has_view(v)
        if present is None:
            scaled.append(ScaledView(*learn_scaling(array, wanted[v]), None))
        else:
            present = present[order.rows]
            scaling, values = learn_scaling(array[present], wanted[v])
            scaled.append(ScaledView(scaling, _spread_rows(values, present), present))
    return scaled


def _spread_rows(values: Array, present: np.ndarray) -> Array:
    """The rows of ``values`` where they belong, zeros between them."""
    if isinstance(values, np.ndarray):
        spread = np.zeros((len(present), values.shape[1]))
        spread[present] = values
        return spread
    sizes = np.zeros(len(present), dtype=values.indptr.dtype)
    sizes[present] = np.diff(values.indptr)
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    return sp.csr_array((values.data, values.indices, indptr), shape=(len(present), values.shape[1]))


def with_every_view(pool: np.ndarray, scaled: Sequence[ScaledView]) -> np.ndarray:
    """The pool, and the first samples of views that hardly any member of it has."""
    for view in scaled:
        if view.present is not None:
            lacking = max(0, _FEWEST_PER_VIEW - int(view.present[pool].sum()))
            pool = np.concatenate([pool, np.setdiff1d(np.flatnonzero(view.present), pool)[:lacking]])
    return pool


def pool_views(scaled: Sequence[ScaledView], pool: np.ndarray, length: int) -> tuple[PoolView, ...]:
    """The pool in each view, to list ``length`` members for a sample or as many as there are."""
    found = []
    for view in scaled:
        places = np.arange(len(pool)) if view.present is None else np.flatnonzero(view.present[pool])
        anchors = view.values[pool[places]]
        found.append(PoolView(view.scaling, anchors, places.astype(np.int32), view.far, min(length, len(places))))
    return tuple(found)


def neighbor_columns(
    scaled: Sequence[ScaledView], pools: Sequence[PoolView], twin: np.ndarray, n_threads: int | None
) -> dict[str, np.ndarray]:
    """What the solver's rows hold: the nearest pool members in each view, the same for equal samples."""
    columns = {}
    for v, (view, pool) in enumerate(zip(scaled, pools, strict=True)):
        if view.present is None:
            near, distance = pool.nearest(view.values, n_threads)
        else:
            near, distance = spread_lists(pool.nearest(view.values[view.present], n_threads), view.present)
        columns[f"near {v}"], columns[f"distance {v}"] = near[twin], distance[twin]
    return columns


def spread_lists(found: tuple[np.ndarray, np.ndarray], present: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The lists of the samples that have a view, with empty ones for those that lack it."""
    near = np.full((len(present), found[0].shape[1]), -1, dtype=np.int32)
    distance = np.full(near.shape, np.inf, dtype=np.float32)
    near[present], distance[present] = found
    return near, distance


def solver_lists(scaled: Sequence[ScaledView], n_pool: int) -> Lists:
    """What is common to the rows' lists."""
    far = tuple(view.far for view in scaled)
    if all(view.present is None for view in scaled):
        return Lists(n_pool, far)
    n = scaled[0].values.shape[0]
    present = np.column_stack([np.ones(n, dtype=bool) if view.present is None else view.present for view in scaled])
    return Lists(n_pool, far, np.unique(present, axis=0))
