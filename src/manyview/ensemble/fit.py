"""A fit, step by step: order, scaling and anchors; neighbour lists; members and consensus; the learned graph; labels.

The steps are the same for all sizes. Order, scaling and anchors come from samples in memory, the *basis*: all samples,
or a draw by content if there are many. Members are learned on rows, which are the basis or all samples, in memory or on
workers. If the basis is only a part of the samples, all samples are then assigned like new ones.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from manyview.engines import Block, LocalRows, Rows
from manyview.ensemble.anchors import (
    GRAPH_NEIGHBORS,
    AnchoredViews,
    Pool,
    ScaledView,
    Space,
    agreement_weights,
    choose_anchors,
    joint_spaces,
    lists_of,
    make_pool,
    neighbour_lists,
    scale_views,
    side_by_side,
    view_units,
)
from manyview.ensemble.columns import (
    CONFIDENCE,
    DISTANCE,
    EARLIER_LABELS,
    EMBEDDING,
    FAMILY_LABELS,
    GRAPH,
    LABELS,
    NEAREST,
    ROWS,
)
from manyview.ensemble.consensus import (
    Consensus,
    agreement_with,
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
    in_own_pages,
    inner_edges,
    labels_of_clusters,
    number_clusters,
    split_clusters,
)
from manyview.ensemble.members import Family, Lists, Member, Settings, draw_member, fit_member
from manyview.ensemble.predict import Model, assign_samples, in_parts
from manyview.ensemble.samples import checked, precision
from manyview.graphs import CanonicalOrder, canonical_order
from manyview.views import Array, Views

# Number of batches that the members are made in, with a consensus after each.
_BATCHES = 3
# Factor of the disagreement of members of a family with views side by side.
_ALIKE = 1.1
# Smaller differences between the scores of local and broad graphs are not significant.
_TIE = 0.03
# Two labellings with at least this NMI differ in a few samples of a thousand at most.
_CLEAR = 0.999
# If members agree less than this with their consensus, few of them may find the same one by chance.
_AGREED = 0.75
# Starts of k-means in a consensus that is only used to choose the family of graphs.
_TRIAL_STARTS = 3

OnConsensus = Callable[["Ensemble", Consensus], None] | None
OnTrials = Callable[[Sequence["Trial"]], None] | None


@dataclass(frozen=True)
class Basis:
    """Samples in memory, ``given`` by their rows among all samples, and all that is computed before learning.

    ``columns`` are their neighbour lists, in canonical order, and ``joint`` the spaces of those with views side by
    side, by number. Both are freed as soon as possible.
    """

    views: Views
    given: np.ndarray
    settings: Settings
    order: CanonicalOrder
    scaled: list[ScaledView]
    pool: Pool
    columns: dict[str, np.ndarray]
    joint: dict[int, Space]
    n_jobs: int | None

    def lists(self, pool: Pool, positions: np.ndarray) -> dict[str, np.ndarray]:
        """Return the neighbour lists of the samples at these positions of the canonical order."""
        same = self.order.twin[positions]  # equal samples have equal lists
        columns = self.columns
        if pool is not self.pool:
            columns = neighbour_lists(self.scaled, pool.spaces, self.n_jobs)
        return {name: column[same] for name, column in columns.items()}

    def anchored(self, pool: Pool, wanted: Collection[int]) -> AnchoredViews:
        """Return all that is needed to compute these neighbour lists of any sample."""
        spaces = dict(enumerate(pool.spaces)) | self.joint
        return AnchoredViews(
            self.views.names,
            self.views.n_features,
            self.order.source,
            tuple(view_units(self.views, self.order)),
            tuple(view.scaling for view in self.scaled),
            tuple(spaces[number] for number in sorted(wanted)),
            tuple(sorted(wanted)),
        )

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
    """Order samples and views by content, scale the views, choose the anchors and list those near each sample.

    The lists of single views give the weight of each view, with which views are put side by side. ``wanted`` names a
    scaling, or "auto", for every view; ``patterns`` are the combinations of views that samples have, if there are more
    samples than the basis.
    """
    order = canonical_order(views.arrays, wanted, views.present)
    if patterns is not None:  # a view counts as present if any copy of it is
        patterns = np.unique(patterns @ np.equal.outer(order.source, np.unique(order.source)), axis=0)
    scaled = scale_views(views, wanted, order)
    samples = choose_anchors(scaled, n_anchors, settings.seed)
    pool = make_pool(scaled, samples, settings.families, n_jobs, patterns)
    columns = neighbour_lists(scaled, pool.spaces, n_jobs)
    weights = agreement_weights(columns, pool, order.twin)
    pool = replace(pool, lists=replace(pool.lists, view_weights=weights))
    joint: dict[int, Space] = {}
    of_family = {}

    def given_view(v: int) -> Array:
        return views.arrays[order.views[v]][order.rows]

    for name, values, found in joint_spaces(given_view, [wanted[v] for v in order.views], scaled, pool, settings):
        numbers: dict[int, int] = {}
        for space in found:
            if id(space) in numbers:
                continue
            number = numbers[id(space)] = len(scaled) + len(joint)
            parts = [values[v].values for v in space.views]
            has_view = np.column_stack([values[v].present for v in space.views])
            near, distance = space.nearest(side_by_side(parts, space.factors), has_view, n_jobs)
            columns[NEAREST.of(number)], columns[DISTANCE.of(number)] = near, distance
            joint[number] = space
        of_family[name] = tuple(numbers[id(space)] for space in found)
        del values, parts  # as in joint_spaces
    far = tuple(space.far for space in (*pool.spaces, *joint.values()))
    pool = replace(pool, lists=replace(pool.lists, far=far, joint=of_family))
    return Basis(views, given, settings, order, scaled, pool, columns, joint, n_jobs)


@dataclass(frozen=True)
class Trial:
    """Result of a few members of a family of graphs.

    ``agreement`` is the weighted mean NMI of their consensus with them, ``cross_agreement`` that with the members of
    all families, with equal weights of the families. Members with similar graphs agree even if they are wrong, and
    other families may be worse: ``score`` is two thirds of the first and one third of the second. Its difference from 1
    is a tenth larger for views side by side, whose graphs are the most similar. If the scores of local and broad graphs
    differ by less than .03, the higher score goes to the family whose members share more ``information``, mean over all
    pairs.
    """

    family: str
    n_members: int
    agreement: float
    cross_agreement: float
    information: float
    score: float


class Ensemble:
    """Members with graphs of one family that are learned on rows, and their consensus after each batch.

    Parameters
    ----------
    rows : Rows
        With neighbour lists. They keep the labels of every member.
    lists : Lists
    settings : Settings
    family : Family

    Attributes
    ----------
    members : list of Member
    information : ndarray of shape (n_members, n_members)
        Mutual information between the members, with their entropies on the diagonal.
    trials : list of Trial
        Results of the families that were tried, best first.
    steps : list of Consensus
        After each batch.
    """

    def __init__(self, rows: Rows, lists: Lists, settings: Settings, family: Family) -> None:
        self.rows, self.lists, self.settings, self.family = rows, lists, settings, family
        self.members: list[Member] = []
        self.information = np.zeros((0, 0))
        self.trials: list[Trial] = []
        self.steps: list[Consensus] = []

    def grow(self, n_members: int) -> None:
        """Add members, which are independent of each other, until there are ``n_members``."""
        new = range(len(self.members), n_members)
        drawn = [draw_member(self.settings, self.family, self.lists, index) for index in new]
        fit_one = partial(fit_member, self.rows, self.lists, n_clusters=self.settings.n_clusters)
        self.members += self.rows.run([partial(fit_one, member) for member in drawn])
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


def learn(
    rows: Rows, lists: Lists, settings: Settings, on_consensus: OnConsensus = None, on_trials: OnTrials = None
) -> Ensemble:
    """Choose the family of graphs, then make the members in batches, with a consensus after each.

    The family is chosen without known classes: each makes a quarter of its tries, then the best two half of them, then
    all. Clear clusters need few members: if four and eight of sixteen tries of the best family give the same labels and
    agree with them, no more members are made. If moreover local and broad graphs give the same labels, no other family
    is tried, and the local ones are taken, whose neighbour lists are shorter. In the end the rows keep labels,
    embedding and confidence.
    """
    n_tries = min(settings.n_tries, settings.n_members)
    n_early = n_tries // 2
    tried = [Ensemble(rows, lists, settings, family) for family in settings.families if lists.have(family)]

    def agree(ensemble: Ensemble, n_members: int) -> None:
        consensus = ensemble.agree(n_members)
        if on_consensus is not None:
            on_consensus(ensemble, consensus)

    def is_enough(ensemble: Ensemble) -> bool:
        if n_early < 4:
            return False
        ensemble.grow(n_early)
        agree(ensemble, n_early // 2)
        agree(ensemble, n_early)
        last = ensemble.steps[-1]
        if last.stability < _CLEAR or last.agreement < _AGREED:
            ensemble.steps.clear()
            return False
        ensemble.finish()
        return True

    added_up = [ensemble for ensemble in tried if ensemble.family.scaling is None]
    if n_early >= 4 and len(tried) > len(added_up) > 1:
        _best_of(added_up, added_up, n_early // 2)
        narrow = min(added_up, key=lambda ensemble: ensemble.family.n_neighbors)
        if _same_labels(added_up) and is_enough(narrow):
            return narrow
    best, left = tried[0], tried
    for size, n_left in ((n_early // 2, 2), (n_early, 2), (n_tries, 1)):
        if size < min(2, n_tries):
            continue
        left = _best_of(tried, left, size)[:n_left]
        best = left[0]
        if on_trials is not None and best.trials:
            on_trials(best.trials)
        if size == n_early and is_enough(best):
            return best
    agree(best, n_tries)
    for part in np.array_split(np.arange(n_tries, settings.n_members), _BATCHES - 1):
        if len(part):
            best.grow(part[-1] + 1)
            agree(best, len(best.members))
    best.finish()
    return best


def _best_of(tried: Sequence[Ensemble], left: Sequence[Ensemble], n_members: int) -> list[Ensemble]:
    """Return the remaining families, with ``n_members`` each, best first, compared with the members of all.

    All families keep the results.
    """
    for ensemble in left:
        ensemble.grow(n_members)
    if len(tried) == 1:
        return list(left)
    found = {trial.family: trial for trial in tried[0].trials} | {e.family.name: _try(e, tried) for e in left}
    added_up = [found[ensemble.family.name] for ensemble in left if ensemble.family.scaling is None]
    scores = sorted(trial.score for trial in added_up)
    if scores and scores[-1] - scores[0] < _TIE:
        for trial, score in zip(sorted(added_up, key=lambda trial: trial.information), scores, strict=True):
            found[trial.family] = replace(trial, score=score)
    ranking = sorted(found.values(), key=lambda trial: (-trial.n_members, -trial.score))
    for ensemble in tried:
        ensemble.trials = ranking
    return sorted(left, key=lambda ensemble: -found[ensemble.family.name].score)


def _same_labels(tried: Sequence[Ensemble]) -> bool:
    """Return whether the trials of two or more families have the same consensus."""
    first, *others = (FAMILY_LABELS.of(ensemble.family.name) for ensemble in tried)
    rows, n_clusters = tried[0].rows, tried[0].settings.n_clusters
    return all(stability(rows, first, other, n_clusters) >= _CLEAR for other in others)


def _try(ensemble: Ensemble, tried: Sequence[Ensemble]) -> Trial:
    """Return the agreement of the consensus of an ensemble with its own members and with those of all."""
    rows, n_clusters, name = ensemble.rows, ensemble.settings.n_clusters, ensemble.family.name
    labels, n_members = FAMILY_LABELS.of(name), len(ensemble.members)
    known = [trial.agreement for trial in ensemble.trials if (trial.family, trial.n_members) == (name, n_members)]
    if not known:
        few_starts = replace(ensemble.settings, n_starts=_TRIAL_STARTS)
        consensus = find_consensus(rows, few_starts, ensemble.members, ensemble.information)
        rows.keep(labels, copy, LABELS.name)
        known = [consensus.agreement]
    each = [agreement_with(rows, labels, n_clusters, e.members, np.ones(len(e.members))) for e in tried]
    agreement, cross = known[0], float(np.mean(each))
    lack = 1 - (2 * agreement + cross) / 3
    score = 1 - lack * (_ALIKE if ensemble.family.scaling is not None else 1.0)
    information = float(mean_information(ensemble.information).mean())
    return Trial(name, n_members, agreement, cross, information, score)


@dataclass(frozen=True)
class Fit:
    """Result of a fit: rows of all samples with their results, ensemble, model, graph, and rows of the anchors."""

    rows: Rows
    ensemble: Ensemble
    model: Model
    rule: GraphRule
    anchors: np.ndarray


def fit(
    rows: Rows | None,
    basis: Basis,
    learn_on_all: bool,
    on_consensus: OnConsensus = None,
    on_trials: OnTrials = None,
) -> Fit:
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
    on_trials : callable, optional
        Called after each round of trials with those of all families, best first.
    """
    # Rows that members are learned on: the basis (as given if it is all samples, else in canonical order), or all.
    n, n_clusters, in_memory = len(basis.given), basis.settings.n_clusters, rows is None
    canonical = np.argsort(basis.order.rows) if in_memory else np.arange(n)
    learned = rows if rows is not None and learn_on_all else LocalRows({ROWS.name: range(n)}, basis.n_jobs)
    rows = learned if rows is None else rows
    where = basis.given[basis.order.rows] if learned is rows else np.arange(n)  # of the basis among the learned rows

    on_basis, every_view = in_memory or not learn_on_all, range(basis.pool.lists.n_views)

    def list_neighbours(pool: Pool, wanted: Collection[int]) -> None:
        if on_basis:
            learned.extend(_own_rows, basis.lists(pool, canonical))
        else:
            learned.extend(_list_neighbours, basis.anchored(pool, wanted))

    # Neighbour lists, members, consensus. All samples only get the lists that the best family on the basis needs.
    settings, lists, trials = basis.settings, basis.pool.lists, None
    if not on_basis:
        settings, trials = _settled(basis, on_trials)
    list_neighbours(basis.pool, {*every_view, *lists.joint.get(settings.families[0].name, ())})
    basis.columns.clear()  # the rows have their lists
    ensemble = learn(learned, lists, settings, on_consensus, on_trials)
    ensemble.trials = ensemble.trials if trials is None else trials
    used = {number for member in ensemble.members for number in member.lists}
    for number in basis.joint.keys() - used:
        del basis.joint[number]
        if on_basis:
            for column in (NEAREST, DISTANCE):
                learned.drop(column.of(number))
    model = Model(
        basis.anchored(basis.pool, used),
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
        list_neighbours(pool, every_view)
    n_neighbors = min(GRAPH_NEIGHBORS, len(pool.samples) - 1)
    rule = graph_rule(learned, pool.lists, labels[pool.samples], n_neighbors, n_clusters)

    # Every sample: the learned results of its row, or those of the model; clusters numbered by their first sample.
    if learned is rows:
        # Few samples keep double precision until the end; for many, memory matters.
        rows.extend(_results, rule, np.dtype(float) if in_memory else precision(basis.views))
    else:
        missing = every_view if pool is not basis.pool else set(every_view) - used
        rows.extend(_assign, model, rule, basis.anchored(pool, missing))
    connect_clusters(rows, rule)
    label_of = number_clusters(rows, n_clusters)
    if labels is not clusters:
        label_of = labels_of_clusters(clusters, _labels_at(rows, where), n_clusters)
    anchors = basis.given[basis.order.rows[pool.samples]]
    return Fit(rows, ensemble, replace(model, label_of=label_of), rule, anchors)


def _settled(basis: Basis, on_trials: OnTrials) -> tuple[Settings, list[Trial]]:
    """Choose the family of graphs on the basis; return settings with this family alone, and the trials."""
    settings = basis.settings
    rows = LocalRows(basis.lists(basis.pool, np.arange(len(basis.given))), basis.n_jobs)
    tries = replace(settings, n_members=min(settings.n_members, settings.n_tries))
    chosen = learn(rows, basis.pool.lists, tries, on_trials=on_trials)
    return replace(settings, families=(chosen.family,)), chosen.trials


def _own_rows(block: Block, columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the block's part of columns of all rows."""
    rows = block[ROWS.name]
    return {name: column[rows.start : rows.stop] for name, column in columns.items()}


def _list_neighbours(block: Block, known: AnchoredViews) -> dict[str, np.ndarray]:
    return in_parts(block, lambda part: lists_of(checked(part), known))


def _results(block: Block, rule: GraphRule, dtype: np.dtype) -> dict[str, np.ndarray]:
    found = {name: block[name] for name in (EMBEDDING.name, CONFIDENCE.name)} | {GRAPH.name: inner_edges(block, rule)}
    return {name: value.astype(dtype, copy=False) for name, value in found.items()}


def _assign(block: Block, model: Model, rule: GraphRule, graph_views: AnchoredViews) -> dict[str, np.ndarray]:
    """Assign the samples of a block, and make their graph; ``graph_views`` has the lists that only the graph needs."""

    def one(part: Block) -> dict[str, np.ndarray]:
        views = checked(part)
        lists, found = assign_samples(model, views, part[ROWS.name].start)
        graph = inner_edges({**lists, **lists_of(views, graph_views), **found}, rule)
        return {**found, GRAPH.name: in_own_pages(graph, found[CONFIDENCE.name].dtype)}

    return in_parts(block, one)


def _labels_at(rows: Rows, where: np.ndarray) -> np.ndarray:
    """Return the labels of the rows with these numbers."""
    wanted, position = np.unique(where, return_inverse=True)
    return np.concatenate(rows.map(_labels_of, wanted))[position].astype(np.int64)


def _labels_of(block: Block, wanted: np.ndarray) -> np.ndarray:
    rows = block[ROWS.name]
    return block[LABELS.name][wanted[(wanted >= rows.start) & (wanted < rows.stop)] - rows.start]


def with_every_cluster(basis: Basis, labels: np.ndarray) -> Pool:
    """Return the pool of the basis, or a larger one with the first sample of each cluster without anchors."""
    pool = basis.pool
    missing = np.setdiff1d(labels, labels[pool.samples])
    if not len(missing):
        return pool
    samples = np.concatenate([pool.samples, [np.flatnonzero(labels == c)[0] for c in missing]]).astype(np.int64)
    larger = make_pool(basis.scaled, samples, basis.settings.families, basis.n_jobs, pool.lists.patterns)
    return replace(larger, lists=replace(larger.lists, view_weights=pool.lists.view_weights))
