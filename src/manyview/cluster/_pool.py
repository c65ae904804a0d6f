"""From views to lists: which members of the pool are nearest to a sample in each view.

The pool is a set of samples that the graphs draw their anchors from. A sample may lack views. It then has no list
there, and is placed by the views that it has. But if members of the pool were missing from the lists of a view, samples
with other views would be compared with other members, and grouped by what they lack. So a member of the pool that lacks
a view borrows it: it stands, in that view, where the members that are like it in the others have their mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from manyview.graphs import CanonicalOrder, Scaling, can_weights, learn_scaling, nearest_lists
from manyview.graphs.anchors import select_spread
from manyview.graphs.neighbours import row_blocks
from manyview.graphs.scaling import row_lengths
from manyview.solvers.invariant import Kind, Lists
from manyview.views import Array, Views
from manyview.views.joins import spread

# Edges per sample and view of the learned graph.
GRAPH_NEIGHBORS = 10
# The nearest pool members that are kept, as a multiple of the most neighbours a member may draw: it uses half of them.
_LIST_LENGTH = 2
# So many samples of every view belong to the pool, if so many have it.
_FEWEST_PER_VIEW = 10
# A member of the pool borrows a view from so many others, and in each view looks for them among so many.
_LENDERS = 4
_LIKELY_LENDERS = 20


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

    ``anchors`` are scaled pool members and ``places`` their places in the pool; ``length`` of them are listed for a
    sample.
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


@dataclass(frozen=True)
class Pool:
    """The places of the pool among the samples, the pool in each view, and what is common to the samples' lists."""

    members: np.ndarray
    views: tuple[PoolView, ...]
    lists: Lists

    def columns(self, scaled: Sequence[ScaledView], twin: np.ndarray, n_threads: int | None) -> dict[str, np.ndarray]:
        """What the solver's rows hold; equal samples, which ``twin`` tells, have equal lists."""
        columns = neighbor_columns(scaled, self.views, n_threads)
        return {name: column[twin] for name, column in columns.items()}


def pool_size(n_samples: int, n_clusters: int) -> int:
    """85 % of the samples, but not many more than 2,000 or 20 per cluster."""
    enough = 20 * n_clusters
    return min(n_samples, max(2000, enough), max(int(0.85 * n_samples), enough))


def choose_members(scaled: Sequence[ScaledView], n_members: int, seed: int) -> np.ndarray:
    """Samples that cover the data."""
    values = [view.values for view in scaled]
    return with_every_view(select_spread(values, n_members, np.random.default_rng(seed)), scaled)


def with_every_view(pool: np.ndarray, scaled: Sequence[ScaledView]) -> np.ndarray:
    """The pool, and the first samples of views that hardly any member of it has."""
    for view in scaled:
        if not view.present.all():
            others = np.setdiff1d(np.flatnonzero(view.present), pool)
            pool = np.concatenate([pool, others[: max(0, _FEWEST_PER_VIEW - int(view.present[pool].sum()))]])
    return pool


def make_pool(
    scaled: Sequence[ScaledView],
    members: np.ndarray,
    kinds: Sequence[Kind],
    n_threads: int | None,
    patterns: np.ndarray | None = None,
) -> Pool:
    """The pool of these samples; ``patterns`` are those of :class:`Lists`, by default what these samples show."""
    views = pool_views(scaled, members, list_length(kinds), n_threads)
    lists = solver_lists(scaled, len(members))
    return Pool(members, views, lists if patterns is None else replace(lists, patterns=patterns))


def list_length(kinds: Sequence[Kind]) -> int:
    """How many pool members are listed for a sample, if there are so many."""
    return _LIST_LENGTH * max(GRAPH_NEIGHBORS, *(kind.n_neighbors[1] for kind in kinds))


def solver_lists(scaled: Sequence[ScaledView], n_pool: int) -> Lists:
    """What is common to the rows' lists."""
    present = np.column_stack([view.present for view in scaled])
    patterns = None if present.all() else np.unique(present, axis=0)
    return Lists(n_pool, tuple(view.far for view in scaled), patterns)


def pool_views(
    scaled: Sequence[ScaledView], pool: np.ndarray, length: int, n_threads: int | None
) -> tuple[PoolView, ...]:
    """The pool in each view, to list ``length`` members for a sample or as many as there are."""
    known = []
    for view in scaled:
        places = np.flatnonzero(view.present[pool])
        known.append(PoolView(view.scaling, view.values[pool[places]], places.astype(np.int32), view.far, len(places)))
    lacking = [v for v, view in enumerate(known) if len(view.places) < len(pool)]
    if lacking:
        likeness = _likeness(known, len(pool), n_threads)
        for v in lacking:
            known[v] = _with_borrowed(known[v], likeness)
    return tuple(replace(view, length=min(length, len(view.places))) for view in known)


def _likeness(known: Sequence[PoolView], n_pool: int, n_threads: int | None) -> sp.csr_array:
    """How alike the members of the pool are: CAN weights, their mean over the views in common, n_pool x n_pool.

    The mean counts one view more than there are, with weight 0: for doubt, if there are few.
    """
    has_view = np.zeros((n_pool, len(known)))
    total = sp.csr_array((n_pool, n_pool))
    for v, view in enumerate(known):
        has_view[view.places, v] = 1
        k = min(_LIKELY_LENDERS, len(view.places) - 1)
        near, distance = replace(view, length=k + 1).nearest(view.anchors, n_threads)
        weights = can_weights(np.where(np.isfinite(distance), distance, view.far).astype(float))
        rows = np.repeat(view.places, k)
        total += sp.csr_array((weights.ravel(), (rows, near[:, :k].ravel())), shape=total.shape)
    edges = total.tocoo()
    common = np.einsum("ev,ev->e", has_view[edges.row], has_view[edges.col])
    return sp.csr_array((edges.data / (common + 1), (edges.row, edges.col)), shape=total.shape)


def _with_borrowed(view: PoolView, likeness: sp.csr_array) -> PoolView:
    """The view with what members that lack it borrow from those that have it; who is like none of these stays out."""
    lack = np.setdiff1d(np.arange(likeness.shape[0], dtype=np.int32), view.places)
    likeness = likeness[lack][:, view.places]
    alike = np.asarray(likeness.sum(axis=1)).ravel() > 0
    likeness = likeness[alike]
    lend = sp.vstack([_lending(likeness[rows].toarray()) for rows in row_blocks(*likeness.shape)] or [likeness])
    borrowed = lend @ view.anchors
    # A mean is shorter than what it is the mean of, and would be nearer to everyone.
    length, wanted = row_lengths(borrowed), lend @ row_lengths(view.anchors)
    stretch = np.divide(wanted, length, out=np.ones_like(length), where=length > 0)
    borrowed = sp.dia_array((stretch[None], [0]), shape=(len(stretch), len(stretch))) @ borrowed
    stacked = np.vstack if isinstance(view.anchors, np.ndarray) else sp.vstack
    places = np.concatenate([view.places, lack[alike]])
    order = np.argsort(places)
    anchors = stacked([view.anchors, borrowed])
    anchors = anchors if isinstance(anchors, np.ndarray) else sp.csr_array(anchors)
    return replace(view, anchors=anchors[order].astype(view.anchors.dtype), places=places[order])


def _lending(likeness: np.ndarray) -> sp.csr_array:
    """From how alike they are to how much each lender counts: CAN weights of the likest, rows sum to 1."""
    k = min(_LENDERS, likeness.shape[1] - 1)
    likest = np.argsort(-likeness, axis=1, kind="stable")[:, : k + 1]
    values = np.take_along_axis(likeness, likest, axis=1)
    weights = np.where(values[:, :k] > 0, can_weights(-values), 0.0)
    indptr = np.arange(0, weights.size + 1, k)
    return sp.csr_array((weights.ravel(), likest[:, :k].ravel(), indptr), shape=likeness.shape)


def neighbor_columns(
    scaled: Sequence[ScaledView], pools: Sequence[PoolView], n_threads: int | None
) -> dict[str, np.ndarray]:
    """What the solver's rows hold: the nearest pool members in each view; -1 for samples that lack it."""
    columns = {}
    for v, (view, pool) in enumerate(zip(scaled, pools, strict=True)):
        if view.present.all():
            near, distance = pool.nearest(view.values, n_threads)
        else:
            near = np.full((len(view.present), pool.length), -1, dtype=np.int32)
            distance = np.full(near.shape, np.inf, dtype=np.float32)
            if view.present.any():
                near[view.present], distance[view.present] = pool.nearest(view.values[view.present], n_threads)
        columns[f"near {v}"], columns[f"distance {v}"] = near, distance
    return columns
