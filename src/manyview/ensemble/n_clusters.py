"""Choice of the number of clusters, from the measurements of :mod:`manyview.ensemble.gaps`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, sqrt
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from manyview._utils import html
from manyview._utils.machine import one_thread
from manyview._utils.progress import Step, report_step, say, showing_progress
from manyview.engines import LocalRows
from manyview.ensemble.anchors import (
    ScaledView,
    choose_anchors,
    make_pool,
    neighbour_lists,
    pool_size,
    scale_views,
    scaling_names,
)
from manyview.ensemble.gaps import Curve, mean_curve, measure, settings_for, without_clusters
from manyview.ensemble.members import Settings
from manyview.exceptions import ViewsError
from manyview.graphs import canonical_order
from manyview.graphs.canonical import check_n_clusters
from manyview.views import Views, check_views
from manyview.views.checks import keep_rows

# Maximum number of samples: more take longer without a better answer.
_MOST_ROWS = 5000
# The default range ends at the square root of the number of samples, between the first and the second of these, and
# clusters have at least this number of samples.
_MOST_CLUSTERS = (20, 40)
_CLUSTER_ROWS = 5
# Number of references without clusters: a single one has gaps by chance.
_REFERENCES = 3
# The answer is not among the choices if another drop is this multiple of the best choice's and of the reference's.
_BEYOND = 1.5
# A number is sure if no other one has more than this share of its score, and its strength is at least this multiple of
# the largest of the reference.
_RIVAL = 0.4
_CLEARLY = 2.5
_MOST_CANDIDATES = 5
# Lower bound on the gaps of a reference, as the excess is divided by their root.
_SMALLEST_GAP = 1e-4


@dataclass(frozen=True, repr=False)
class ClusterCountSuggestion:
    """Result of :func:`manyview.suggest_n_clusters`. Printing it shows the answer and the curve.

    Parameters
    ----------
    n_clusters : int
        The best guess.
    sure : bool
        Whether the evidence is clear. If not, consider the candidates too.
    candidates : tuple of int
        Numbers with evidence, at most five, by their score: the best and the second best by each eigengap and by the
        score, and the most stable one. If ``n_clusters`` is sure, only this and the most stable one.
    reason : str
        The reason, in words and numbers.
    curve : dict of str to ndarray
        ``n_clusters``, and for each of them ``eigengap`` (of the consensus), ``graph_eigengap`` (mean over the graphs),
        ``stability`` and ``score``; and the mean of both eigengaps of data without clusters,
        ``reference_eigengap`` and ``reference_graph_eigengap``.
    """

    n_clusters: int
    sure: bool
    candidates: tuple[int, ...]
    reason: str
    curve: dict[str, np.ndarray]

    @property
    def evidence(self) -> list[dict[str, float]]:
        """Values of the curve of each candidate, best first."""
        where = [int(np.flatnonzero(self.curve["n_clusters"] == k)[0]) for k in self.candidates]
        return [{name: values[i].item() for name, values in self.curve.items()} for i in where]

    def __repr__(self) -> str:
        candidates = "" if self.sure else f", candidates={self.candidates}"
        return f"ClusterCountSuggestion(n_clusters={self.n_clusters}, sure={self.sure}{candidates})"

    def _repr_html_(self) -> str:
        numbers, best = self.curve["n_clusters"].tolist(), max(self.curve["score"].max(), 1e-12)
        columns = ("eigengap", "reference_eigengap", "graph_eigengap", "reference_graph_eigengap", "stability", "score")
        shown = ("clusters", "data", "reference", "data", "reference", "stability", "score", "")
        groups = (("", 1), ("eigengap of consensus", 2), ("eigengap of graphs", 2), ("", 3))

        def rows(some: Sequence[int]) -> html.Raw:
            values = [[self.curve[name][numbers.index(k)].item() for name in columns] for k in some]
            cells = [[k, *own, html.bar(own[-1] / best)] for k, own in zip(some, values, strict=True)]
            marked = [i for i, k in enumerate(some) if k == self.n_clusters]
            return html.table(shown, cells, marked=marked, groups=groups)

        sure = "the evidence is clear" if self.sure else "the evidence is weak"
        parts = [html.heading(f"{self.n_clusters} clusters: {sure}"), html.paragraph(self.reason)]
        every = html.details(f"All {len(numbers)} numbers that were tried", rows(numbers))
        return html.block([*parts, rows(self.candidates), every])

    def __str__(self) -> str:
        lines = [self.reason, "", "          eigengap of consensus  eigengap of graphs"]
        lines.append("clusters    data    reference    data   reference  stability   score")
        columns = ("eigengap", "reference_eigengap", "graph_eigengap", "reference_graph_eigengap", "stability", "score")
        for i, k in enumerate(self.curve["n_clusters"]):
            consensus, its_reference, graphs, their_reference, stability, score = (self.curve[c][i] for c in columns)
            mark = " <-" if k == self.n_clusters else " ?" if k in self.candidates else ""
            lines.append(
                f"{k:8d}  {consensus:6.3f}  {its_reference:11.3f}  {graphs:6.3f}  {their_reference:10.3f}"
                f"  {stability:9.2f}  {score:6.3f}{mark}"
            )
        return "\n".join(lines)


def suggest_n_clusters(
    views: Any,
    k_range: Sequence[int] | None = None,
    *,
    scaling: str | Sequence[str] | Mapping[str, str] = "auto",
    view_sizes: int | Sequence[int] | None = None,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> ClusterCountSuggestion:
    """Suggest a number of clusters, or say that the evidence is weak.

    An ensemble of graphs like that of :class:`GraphEnsemble` is made, each with other views, anchors and neighbours.
    For every number K it is measured how far the spectrum drops after K values (*eigengap*), in the graphs and in the
    consensus of their cuts, and how well cuts into K clusters agree (*stability*). The same is done, three times, with
    data of the same spread that have no clusters. The number whose eigengaps exceed those of such data most, and whose
    cuts agree, is the best guess. It is sure if no other number comes near it.

    The answer does not depend on the order of samples or views. Of more than 5,000 samples, 5,000 are used.

    Parameters
    ----------
    views : Views, list or dict of arrays, or one array with ``view_sizes``
        Each of shape (n_samples, n_features_v); see :func:`manyview.check_views`.
    k_range : sequence of int, optional
        Numbers to choose from, all at least 2. Default: 2 to the square root of the number of samples, but to
        at least 20 and at most 40, and at least five samples per cluster.
    scaling : str, sequence or dict, default="auto"
        As of :class:`GraphEnsemble`.
    view_sizes : int or sequence of int, optional
        For one 2-D array instead of a list of views: the number of columns of each view, or the number of views.
    random_state : int, RandomState or None, default=None
        Random seed. An int makes the result reproducible, bit by bit.
    n_jobs : int or None, default=None
        Threads; None uses all cores. The result does not depend on it.
    verbose : bool, default=False
        Show progress: as a bar in a notebook or a terminal, elsewhere as printed lines.

    Returns
    -------
    ClusterCountSuggestion
        ``n_clusters``, ``sure``, ``candidates``, ``reason`` and ``curve``.

    Examples
    --------
    >>> from manyview.cluster import suggest_n_clusters
    >>> from manyview.datasets import make_multiview
    >>> views = make_multiview(200, n_clusters=4, random_state=0)
    >>> found = suggest_n_clusters(views, random_state=0)
    >>> found.n_clusters, found.sure
    (4, True)
    """
    checked = check_views(views, view_sizes=view_sizes)
    numbers = _check_range(k_range, checked)
    wanted = scaling_names([scaling] * checked.n_views if isinstance(scaling, str) else scaling, checked)
    seed = int(check_random_state(random_state).randint(2**31))
    # sums depend on the number of threads; see the estimators' base class
    with showing_progress(verbose), one_thread():
        scaled, twin = _prepare(checked, wanted, seed)
        settings = settings_for(numbers, len(twin), seed)
        curves = []
        for i in range(1 + _REFERENCES):
            report_step(Step("suggest_n_clusters", i, 1 + _REFERENCES, "fits"))
            what = f"reference {i} of {_REFERENCES}" if i else "data"
            measured, equal = (_reference(scaled, seed, i), np.arange(len(twin))) if i else (scaled, twin)
            curves.append(_measure(measured, equal, settings, numbers, n_jobs))
            say(verbose, f"suggest_n_clusters: measured {what}, {len(numbers)} numbers of clusters")
        report_step(Step("suggest_n_clusters", 1 + _REFERENCES, 1 + _REFERENCES, "fits"))
    data, *references = curves
    return decide(numbers, data, references)


def _check_range(k_range: Any, views: Views) -> tuple[int, ...]:
    """Return the numbers to choose from, ascending."""
    if k_range is None:
        n, (low, high) = views.n_samples, _MOST_CLUSTERS
        most = min(max(low, ceil(sqrt(n))), high, n // _CLUSTER_ROWS)
        return tuple(range(2, max(2, most) + 1))
    if isinstance(k_range, str | Mapping) or not np.iterable(k_range):
        raise ViewsError(f"k_range: expected several whole numbers, for example range(2, 11), got {k_range!r}.")
    given = list(k_range)
    for k in given:
        if not isinstance(k, Integral) or isinstance(k, bool):
            raise ViewsError(f"k_range: expected whole numbers, got {k!r}.")
        if k < 2:
            raise ViewsError(
                f"k_range: expected numbers of at least 2, got {k}. If there are no clusters at all, the answer is "
                "sure=False, so 1 need not be among the choices."
            )
    if not given:
        raise ViewsError("k_range: expected at least one number, got none.")
    numbers = tuple(sorted({int(k) for k in given}))
    if numbers[-1] > views.n_samples:
        raise ViewsError(f"k_range: {numbers[-1]} is more than there are samples: n_samples={views.n_samples}.")
    check_n_clusters(views, numbers[-1])
    return numbers


def _prepare(views: Views, wanted: list[str], seed: int) -> tuple[list[ScaledView], np.ndarray]:
    """Return the scaled views in canonical order, of at most 5,000 samples, and which samples are equal."""
    order = canonical_order(views.arrays, wanted, views.present)
    if views.n_samples > _MOST_ROWS:
        drawn = np.random.default_rng([seed, 2]).choice(views.n_samples, _MOST_ROWS, replace=False)
        views = views.take(order.rows[np.sort(drawn)])
        order = canonical_order(views.arrays, wanted, views.present)
    return scale_views(views, wanted, order), order.twin


def _reference(scaled: Sequence[ScaledView], seed: int, index: int) -> list[ScaledView]:
    """Return a reference without clusters, with the same missing views."""
    made = without_clusters([view.values for view in scaled], np.random.default_rng([seed, 3, index]))
    return [replace(view, values=keep_rows(values, view.present)) for view, values in zip(scaled, made, strict=True)]


def _measure(
    scaled: Sequence[ScaledView],
    twin: np.ndarray,
    settings: Settings,
    numbers: Sequence[int],
    n_threads: int | None,
) -> Curve:
    """Measure eigengaps and stability of every number of clusters."""
    anchors = choose_anchors(scaled, pool_size(len(twin), settings.n_clusters), settings.seed)
    pool = make_pool(scaled, anchors, settings.families, n_threads)
    lists = {name: column[twin] for name, column in neighbour_lists(scaled, pool.spaces, n_threads).items()}
    return measure(LocalRows(lists, n_threads), pool.lists, settings, numbers)


def decide(n_clusters: Sequence[int], data: Curve, references: Sequence[Curve]) -> ClusterCountSuggestion:
    """Choose a number from the curves of the data and of the references without clusters."""
    numbers = np.array(n_clusters)
    reference = mean_curve(references)
    in_graphs = excess(data.graph_gap[1:], reference.graph_gap[1:])[numbers - 2]
    in_consensus = excess(data.consensus_gap, reference.consensus_gap)
    scores = np.sqrt(in_graphs * in_consensus) * data.stability
    curve = {
        "n_clusters": numbers,
        "eigengap": data.consensus_gap,
        "reference_eigengap": reference.consensus_gap,
        "graph_eigengap": data.graph_gap[numbers - 1],
        "reference_graph_eigengap": reference.graph_gap[numbers - 1],
        "stability": data.stability,
        "score": scores,
    }
    by_score, by_stability, by_graphs, by_consensus = (
        np.lexsort((-data.consensus_gap, -scores, -evidence))
        for evidence in (scores, data.stability.round(2), in_graphs, in_consensus)  # two digits are what is shown
    )
    best = by_score[0]
    number = int(numbers[best])
    strongest = np.mean([one.strength(numbers).max() for one in references])
    clearly = data.strength(numbers)[best] / max(strongest, 1e-12)
    rivals = [int(numbers[i]) for i in by_score[1:_MOST_CANDIDATES] if scores[i] > _RIVAL * scores[best]]
    beyond = np.maximum(data.graph_gap - reference.graph_gap, 0.0)
    others = np.setdiff1d(np.arange(2, len(beyond) + 1), numbers)
    elsewhere = int(others[np.argmax(beyond[others - 1])]) if len(others) else number

    seen = (
        f"the spectrum drops by {data.graph_gap[number - 1]:.3f} in the graphs and by {data.consensus_gap[best]:.2f} "
        f"in their consensus after {number} values, and cuts into {number} agree with an adjusted Rand index of "
        f"{data.stability[best]:.2f}"
    )
    compared = f"together {clearly:.1f} times what data of the same spread without clusters show at most"
    if beyond[elsewhere - 1] > _BEYOND * max(beyond[number - 1], reference.graph_gap[1:].max()):
        doubt = (
            f"Unsure: the spectrum of the graphs drops most after {elsewhere} values, and {elsewhere} is not a choice"
        )
    elif clearly < _CLEARLY:
        doubt = f"No number of clusters stands out: {seen}, but that is {compared}"
    elif rivals:
        doubt = f"Unsure: {seen}, {compared}, but there is also evidence for {_listed(rivals)}"
    else:
        candidates = tuple(dict.fromkeys((number, int(numbers[by_stability[0]]))))
        return ClusterCountSuggestion(number, True, candidates, f"{number} clusters: {seen}, {compared}.", curve)
    ranked = [order[0] for order in (by_score, by_stability, by_graphs, by_consensus)]
    ranked += [i for order in (by_score, by_graphs, by_consensus) for i in order[1:2]] + list(by_score)
    always = (by_stability[0], *by_score[:2])  # also if there is no evidence at all
    some = dict.fromkeys(i for i in ranked if i in always or max(in_graphs[i], in_consensus[i]) > 0)
    candidates = tuple(int(numbers[i]) for i in by_score if i in list(some)[:_MOST_CANDIDATES])
    return ClusterCountSuggestion(number, False, candidates, f"{doubt}. Candidates: {_listed(candidates)}.", curve)


def excess(gaps: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Return by how much gaps exceed those of data without clusters: the mean of difference and ratio.

    It is the geometric mean of ``gap - reference`` and ``(gap - reference) / reference``, and 0 if the gap is smaller.
    The difference alone favours few clusters, for which all gaps are large; the ratio alone favours many, for which the
    gaps of the reference are nearly 0. As references are few, their gaps are raised to a curve that decreases with the
    number of clusters.
    """
    from sklearn.isotonic import isotonic_regression

    level = np.maximum(np.maximum(reference, isotonic_regression(reference, increasing=False)), _SMALLEST_GAP)
    return np.maximum(gaps - level, 0.0) / np.sqrt(level)


def _listed(numbers: Sequence[int]) -> str:
    *others, last = map(str, numbers)
    return f"{', '.join(others)} and {last}" if others else last
