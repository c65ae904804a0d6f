"""A fit, step by step: order, scaling and anchors; neighbour lists; members and consensus; the learned graph; labels.

The steps are the same for all sizes. Order, scaling and anchors come from samples in memory, the *basis*: all samples,
or some that are drawn by their content if there are many. Members are learned on rows, which are the basis or all
samples, wherever these are. If they were learned on the basis of more samples, all samples are then assigned as new
ones are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from manyview.engines import Block, LocalRows, Rows
from manyview.ensemble.anchors import (
    GRAPH_NEIGHBORS,
    AnchoredViews,
    Pool,
    ScaledView,
    choose_anchors,
    lists_of,
    make_pool,
    neighbour_lists,
    scale_views,
    view_units,
)
from manyview.ensemble.columns import CONFIDENCE, EARLIER_LABELS, EMBEDDING, GRAPH, LABELS, ROWS
from manyview.ensemble.consensus import (
    Consensus,
    confidence,
    copy,
    find_consensus,
    mean_information,
    pairwise_information,
    stability,
)
from manyview.ensemble.graph import (
    GraphRule,
    connect_clusters,
    graph_rule,
    inner_edges,
    labels_of_clusters,
    number_clusters,
    split_clusters,
)
from manyview.ensemble.members import GraphType, Lists, Member, Settings, draw_member, fit_member
from manyview.ensemble.predict import Model, assign_samples, in_parts
from manyview.ensemble.samples import checked, precision
from manyview.graphs import CanonicalOrder, canonical_order
from manyview.views import Views

# Number of batches that the members are made in, with a consensus after each.
_BATCHES = 3
# Two labellings with an NMI of this or more are the same, but for a few samples in a thousand.
_CLEAR = 0.999

OnConsensus = Callable[["Ensemble", Consensus], None] | None


@dataclass(frozen=True)
class Basis:
    """Samples in memory, ``given`` by their rows among all samples, and what follows from them before learning."""

    views: Views
    given: np.ndarray
    settings: Settings
    order: CanonicalOrder
    scaled: list[ScaledView]
    pool: Pool
    n_jobs: int | None

    def lists(self, pool: Pool, positions: np.ndarray) -> dict[str, np.ndarray]:
        """Return the neighbour lists of the samples at these positions of the canonical order."""
        same = self.order.twin[positions]  # equal samples have equal lists
        return {name: column[same] for name, column in neighbour_lists(self.scaled, pool.views, self.n_jobs).items()}

    def anchored(self, pool: Pool) -> AnchoredViews:
        """Return all that finding the neighbour lists of any sample takes."""
        units = tuple(view_units(self.views, self.order))
        return AnchoredViews(self.views.names, self.views.n_features, self.order.source, units, pool.views)

    @property
    def scaling_names(self) -> dict[str, str]:
        """The scaling of each view, by name."""
        sources = zip(self.views.names, self.order.source, strict=True)
        return {name: self.scaled[source].scaling.name for name, source in sources}


def settle(
    views: Views,
    given: np.ndarray,
    wanted: Sequence[str],
    settings: Settings,
    n_anchors: int,
    n_jobs: int | None,
    patterns: np.ndarray | None = None,
) -> Basis:
    """Order samples and views by content, scale the views and choose the anchors.

    ``wanted`` names a scaling, or "auto", for every view; ``patterns`` are the combinations of views that any of all
    samples have, where these are more than the basis.
    """
    order = canonical_order(views.arrays, wanted, views.present)
    if patterns is not None:  # a view counts as present if any copy of it is
        patterns = np.unique(patterns @ np.equal.outer(order.source, np.unique(order.source)), axis=0)
    scaled = scale_views(views, wanted, order)
    samples = choose_anchors(scaled, n_anchors, settings.seed)
    pool = make_pool(scaled, samples, settings.graph_types, n_jobs, patterns)
    return Basis(views, given, settings, order, scaled, pool, n_jobs)


class Ensemble:
    """Members with one type of graph that are learned on rows, and their consensus after each batch.

    Parameters
    ----------
    rows : Rows
        With neighbour lists. They keep the labels of every member.
    lists : Lists
    settings : Settings
    graph_type : GraphType

    Attributes
    ----------
    members : list of Member
    information : ndarray of shape (n_members, n_members)
        Mutual information between the members, with their entropies on the diagonal.
    scores : dict of str to float
        The mean information of every type of graph that was tried, by name.
    steps : list of Consensus
        After each batch.
    """

    def __init__(self, rows: Rows, lists: Lists, settings: Settings, graph_type: GraphType) -> None:
        self.rows, self.lists, self.settings, self.graph_type = rows, lists, settings, graph_type
        self.members: list[Member] = []
        self.information = np.zeros((0, 0))
        self.scores: dict[str, float] = {}
        self.steps: list[Consensus] = []

    @property
    def mean_information(self) -> float:
        """The information that two members share on average: how much this type of graph finds in the data."""
        return float(mean_information(self.information).mean())

    def grow(self, n_members: int) -> None:
        """Add members, which are independent of each other, until there are ``n_members``."""
        new = range(len(self.members), n_members)
        drawn = [draw_member(self.settings, self.graph_type, self.lists, index) for index in new]
        self.members += self.rows.run([partial(fit_member, self.rows, self.lists, member) for member in drawn])
        self.information = pairwise_information(self.rows, self.members, self.information)

    def agree(self, n_members: int) -> Consensus:
        """Find the consensus of the first members; the rows keep it."""
        rows, settings = self.rows, self.settings
        found = find_consensus(rows, settings, self.members[:n_members], self.information[:n_members, :n_members])
        if self.steps:
            nmi = stability(rows, LABELS.name, EARLIER_LABELS.name, settings.n_clusters)
            found = replace(found, stability=nmi)
        rows.keep(EARLIER_LABELS.name, copy, LABELS.name)
        self.steps.append(found)
        return found

    def finish(self) -> None:
        """Keep the rows' confidence in the last consensus."""
        last = self.steps[-1]
        shares = confidence(self.rows, self.settings, self.members, last.weights)
        self.steps[-1] = replace(last, shares=shares)


def learn(rows: Rows, lists: Lists, settings: Settings, on_consensus: OnConsensus = None) -> Ensemble:
    """Choose the type of graph, then make the members in batches, with a consensus after each.

    The type is decided without labels: a few members of each are made, and the type whose members share most mutual
    information, averaged over all pairs, makes the rest. Clear clusters need few members: if a quarter of the tries of
    the best type give the same labels as half of them, four and eight of sixteen, these are enough. In the end the
    rows keep labels, embedding and confidence.
    """
    n_tries = min(settings.n_tries, settings.n_members)
    n_early = n_tries // 2
    tried = [Ensemble(rows, lists, settings, graph_type) for graph_type in settings.graph_types]

    def agree(ensemble: Ensemble, n_members: int) -> None:
        consensus = ensemble.agree(n_members)
        if on_consensus is not None:
            on_consensus(ensemble, consensus)

    if n_early >= 4:
        best = _best_of(tried, n_early)
        agree(best, n_early // 2)
        agree(best, n_early)
        if best.steps[-1].stability >= _CLEAR:
            best.finish()
            return best
        best.steps.clear()
    best = _best_of(tried, n_tries)
    agree(best, n_tries)
    for part in np.array_split(np.arange(n_tries, settings.n_members), _BATCHES - 1):
        if len(part):
            best.grow(part[-1] + 1)
            agree(best, len(best.members))
    best.finish()
    return best


def _best_of(tried: Sequence[Ensemble], n_members: int) -> Ensemble:
    """Return the ensemble whose members share most information, out of one for each type of graph."""
    for ensemble in tried:
        ensemble.grow(n_members)
    best = max(tried, key=lambda ensemble: ensemble.mean_information)
    best.scores = {ensemble.graph_type.name: ensemble.mean_information for ensemble in tried}
    return best


@dataclass(frozen=True)
class Fit:
    """What a fit has found: rows of all samples with their results, ensemble, model, graph, and rows of the anchors."""

    rows: Rows
    ensemble: Ensemble
    model: Model
    rule: GraphRule
    anchors: np.ndarray


def fit(rows: Rows | None, basis: Basis, learn_on_all: bool, on_consensus: OnConsensus = None) -> Fit:
    """Learn the ensemble and the graph; every row then has labels, embedding, confidence and graph.

    Parameters
    ----------
    rows : Rows or None
        All samples, in blocks; None if they are the basis.
    basis : Basis
    learn_on_all : bool
        Whether members are learned on all rows, and not on the basis alone.
    on_consensus : callable, optional
        Called with the ensemble and its consensus after each batch of members.
    """
    # Rows that members are learned on: the basis (as given if it is all there is, else in canonical order), or all.
    n, n_clusters, in_memory = len(basis.given), basis.settings.n_clusters, rows is None
    canonical = np.argsort(basis.order.rows) if in_memory else np.arange(n)
    learned = rows if rows is not None and learn_on_all else LocalRows({ROWS.name: range(n)}, basis.n_jobs)
    rows = learned if rows is None else rows
    where = basis.given[basis.order.rows] if learned is rows else np.arange(n)  # of the basis among the learned rows

    def list_neighbours(pool: Pool) -> None:
        if in_memory or not learn_on_all:
            learned.extend(_own_rows, basis.lists(pool, canonical))
        else:
            learned.extend(_list_neighbours, basis.anchored(pool))

    # Neighbour lists, members, consensus.
    list_neighbours(basis.pool)
    ensemble = learn(learned, basis.pool.lists, basis.settings, on_consensus)
    model = Model(
        basis.anchored(basis.pool),
        ensemble.lists,
        tuple(ensemble.members),
        ensemble.steps[-1],
        label_of=np.arange(n_clusters),
    )
    clusters = labels = _labels_at(learned, where)
    if in_memory:
        labels = split_clusters(clusters, basis.order.twin, n_clusters)
        if labels is not clusters:
            learned.extend(_own_rows, {LABELS.name: labels[canonical]})

    # The learned graph, with an anchor in every cluster.
    pool = with_every_cluster(basis, labels)
    if pool is not basis.pool:
        list_neighbours(pool)
    n_neighbors = min(GRAPH_NEIGHBORS, len(pool.samples) - 1)
    rule = graph_rule(learned, pool.lists, labels[pool.samples], n_neighbors, n_clusters)

    # Every sample: what was learned for its row, or what the model assigns; clusters numbered by their first sample.
    if learned is rows:
        # Few samples keep double precision until the end; of many, memory is needed once.
        rows.extend(_results, rule, np.dtype(float) if in_memory else precision(basis.views))
    else:
        rows.extend(_assign, model, rule, None if pool is basis.pool else basis.anchored(pool))
    connect_clusters(rows, rule)
    label_of = number_clusters(rows, n_clusters)
    if labels is not clusters:
        label_of = labels_of_clusters(clusters, _labels_at(rows, where), n_clusters)
    anchors = basis.given[basis.order.rows[pool.samples]]
    return Fit(rows, ensemble, replace(model, label_of=label_of), rule, anchors)


def _own_rows(block: Block, columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the block's part of columns of all rows."""
    rows = block[ROWS.name]
    return {name: column[rows.start : rows.stop] for name, column in columns.items()}


def _list_neighbours(block: Block, known: AnchoredViews) -> dict[str, np.ndarray]:
    return in_parts(block, lambda part: lists_of(checked(part), known))


def _results(block: Block, rule: GraphRule, dtype: np.dtype) -> dict[str, np.ndarray]:
    found = {name: block[name] for name in (EMBEDDING.name, CONFIDENCE.name)} | {GRAPH.name: inner_edges(block, rule)}
    return {name: value.astype(dtype, copy=False) for name, value in found.items()}


def _assign(block: Block, model: Model, rule: GraphRule, graph_views: AnchoredViews | None) -> dict[str, np.ndarray]:
    """Assign the samples of a block, and make their graph, with anchors of its own if there are ``graph_views``."""

    def one(part: Block) -> dict[str, np.ndarray]:
        views = checked(part)
        lists = lists_of(views, model.views)
        found = assign_samples(model, lists, views, part[ROWS.name].start)
        lists = lists if graph_views is None else lists_of(views, graph_views)
        graph = inner_edges({**lists, **found}, rule)
        return {**found, GRAPH.name: graph.astype(found[CONFIDENCE.name].dtype)}

    return in_parts(block, one)


def _labels_at(rows: Rows, where: np.ndarray) -> np.ndarray:
    """Return the labels of some rows, by their numbers."""
    wanted, position = np.unique(where, return_inverse=True)
    return np.concatenate(rows.map(_labels_of, wanted))[position].astype(np.int64)


def _labels_of(block: Block, wanted: np.ndarray) -> np.ndarray:
    rows = block[ROWS.name]
    return block[LABELS.name][wanted[(wanted >= rows.start) & (wanted < rows.stop)] - rows.start]


def with_every_cluster(basis: Basis, labels: np.ndarray) -> Pool:
    """Return the pool of the basis, or a larger one with the first sample of each cluster that has no anchor in it."""
    pool = basis.pool
    missing = np.setdiff1d(labels, labels[pool.samples])
    if not len(missing):
        return pool
    samples = np.concatenate([pool.samples, [np.flatnonzero(labels == c)[0] for c in missing]]).astype(np.int64)
    return make_pool(basis.scaled, samples, basis.settings.graph_types, basis.n_jobs, pool.lists.patterns)
