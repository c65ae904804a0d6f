"""The steps of a fit: settle scaling and pool, learn an ensemble, make the graph. They are the same for all sizes.

What is settled follows from samples in memory, in canonical order: all of them, or a sample by content if there are
many. Learning goes on over rows, which are these samples or all that there are, wherever they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from manyview.cluster._new_samples import FittedViews, PooledViews, view_units
from manyview.cluster._pool import (
    GRAPH_NEIGHBORS,
    Pool,
    PoolView,
    ScaledView,
    choose_members,
    make_pool,
    scale_views,
)
from manyview.engines import LocalRows, Rows
from manyview.exceptions import warn_user
from manyview.graphs import CanonicalOrder, canonical_order
from manyview.solvers import invariant
from manyview.solvers._components import GraphRule, graph_rule
from manyview.solvers._ensemble import Ensemble
from manyview.views import Views

OnStep = Callable[[invariant.Step], None] | None


@dataclass(frozen=True)
class Basis:
    """What is settled before learning, from samples in memory."""

    views: Views
    settings: invariant.Settings
    order: CanonicalOrder
    scaled: list[ScaledView]
    pool: Pool
    n_jobs: int | None

    def columns(self, pool: Pool | None = None) -> dict[str, np.ndarray]:
        """The lists of the samples in canonical order, of the pool or of another."""
        return (pool or self.pool).columns(self.scaled, self.order.twin, self.n_jobs)

    @property
    def scaling_names(self) -> dict[str, str]:
        """The scaling of each view, by name."""
        return {
            name: self.scaled[place].scaling.name
            for name, place in zip(self.views.names, self.order.source, strict=True)
        }


@dataclass(frozen=True)
class Learned:
    """What learning has found; the rows keep the rest."""

    state: invariant.State
    ensemble: Ensemble
    steps: list[invariant.Step]


@dataclass(frozen=True)
class Graph:
    """The rule for the learned graph, its pool in each view, and the places of the pool among the samples."""

    rule: GraphRule
    pools: tuple[PoolView, ...]
    members: np.ndarray


def settle(
    views: Views,
    wanted: Sequence[str],
    settings: invariant.Settings,
    n_pool: int,
    n_jobs: int | None,
    patterns: np.ndarray | None = None,
) -> Basis:
    """Order, scaling and pool of samples in memory; ``patterns`` as in :func:`make_pool`."""
    order = canonical_order(views.arrays, wanted, views.present)
    if patterns is not None:
        patterns = _of_different_views(patterns, order.source)
    scaled = scale_views(views, wanted, order)
    members = choose_members(scaled, n_pool, settings.seed)
    pool = make_pool(scaled, members, settings.kinds, n_jobs, patterns)
    return Basis(views, settings, order, scaled, pool, n_jobs)


def _of_different_views(patterns: np.ndarray, source: Sequence[int]) -> np.ndarray:
    """Patterns of the given views as those of the different ones: who has a copy has the view."""
    copies = np.equal.outer(source, np.unique(source))
    return np.unique(patterns @ copies, axis=0)


def learn(rows: Rows, basis: Basis, on_step: OnStep) -> Learned:
    """An ensemble over rows that hold the lists of the basis's pool; they keep labels, embedding and confidence."""
    return Learned(*invariant.run(rows, basis.pool.lists, basis.settings, on_step=on_step))


def pooled_views(basis: Basis, pools: tuple[PoolView, ...]) -> PooledViews:
    """All that finding the nearest pool members of any sample takes."""
    units = tuple(view_units(basis.views, basis.order))
    return PooledViews(basis.views.names, basis.views.n_features, basis.order.source, units, pools)


def fitted_views(basis: Basis, learned: Learned, label_of: np.ndarray) -> FittedViews:
    """All that placing a sample takes; ``label_of`` is the label of each cluster of the ensemble."""
    known = pooled_views(basis, basis.pool.views)
    return FittedViews(**vars(known), ensemble=learned.ensemble, label_of=label_of)


def make_graph(
    basis: Basis, columns: Mapping[str, np.ndarray], labels: np.ndarray
) -> tuple[Graph, Mapping[str, np.ndarray]]:
    """The rule for the learned graph, and what the basis's samples hold to make it: lists and labels.

    ``labels`` are those of the basis's samples in canonical order, and ``columns`` their lists of its pool. If a
    cluster has no sample in the pool, the graph has a larger one, and other lists.
    """
    pool = larger_pool(basis, labels)
    if pool is not basis.pool:
        columns = basis.columns(pool)
    columns = {**columns, "labels": labels}
    rule = whole_rule(LocalRows(columns, basis.n_jobs), basis, pool, labels[pool.members])
    return Graph(rule, pool.views, pool.members), columns


def larger_pool(basis: Basis, labels: np.ndarray) -> Pool:
    """The basis's pool, or a larger one if a cluster of its samples, in canonical order, has none in it."""
    pool = basis.pool
    members = with_every_cluster(pool.members, labels)
    if len(members) == len(pool.members):
        return pool
    return make_pool(basis.scaled, members, basis.settings.kinds, basis.n_jobs, pool.lists.patterns)


def whole_rule(rows: Rows, basis: Basis, pool: Pool, anchor_labels: np.ndarray) -> GraphRule:
    """The rule for the learned graph from rows with labels and lists of a pool whose labels are known."""
    n_neighbors = min(GRAPH_NEIGHBORS, len(pool.members) - 1)
    return graph_rule(rows, pool.lists, anchor_labels, n_neighbors, basis.settings.n_clusters)


def split_clusters(labels: np.ndarray, twin: np.ndarray, n_clusters: int) -> np.ndarray:
    """Exactly ``n_clusters`` labels: as long as there are fewer, the largest cluster gives up its first sample."""
    labels = np.unique(labels, return_inverse=True)[1]
    found = labels.max() + 1
    if found == n_clusters:
        return labels
    warn_user(
        f"Only {found} of n_clusters={n_clusters} clusters can be told apart; single samples were split off.",
        ConvergenceWarning,
    )
    for new in range(found, n_clusters):
        distinct = np.unique(twin)
        sizes = np.bincount(labels[distinct], minlength=new)
        first = distinct[labels[distinct] == np.argmax(sizes)][0]
        labels[twin == first] = new
    return labels


def with_every_cluster(pool: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The pool, and the first sample of each cluster that has none in it."""
    missing = np.setdiff1d(labels, labels[pool])
    return np.concatenate([pool, [np.flatnonzero(labels == c)[0] for c in missing]]).astype(np.int64)
