"""The report on a comparison of several methods on one dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from manyview.experiments.wording import STATUS_NAMES, difference_text
from manyview.metrics import SCORES
from manyview.report import experiment_figures
from manyview.report._figure import Figure, figure, plain, series
from manyview.report._page import number, render_page, score_name
from manyview.report.documents import title_end


def render(comparison: Mapping[str, Any]) -> str:
    """Render a comparison as one HTML page.

    Parameters
    ----------
    comparison : dict
        As :func:`manyview.experiments.compare.compare_results` gives it, with ``data``
        (:func:`manyview.report.documents.describe_data`), ``command``, ``created`` and ``runs`` of the store.

    Returns
    -------
    str
        A page that opens from disk and needs no network.
    """
    methods = comparison["methods"]
    done = [method for method in methods if method["runs_done"]]
    is_scored = comparison["criterion"] == "acc"
    shown = SCORES if is_scored else ("agreement",)
    return render_page(
        "comparison.html",
        title="Methods compared" + title_end(comparison["data"]),
        comparison=comparison,
        done=done,
        scores=SCORES if is_scored else (),
        best={score: _best(done, score) for score in SCORES} if is_scored else {},
        winners=_winners(comparison, done),
        headline=_headline(comparison, done),
        differences={
            method["name"]: difference_text(found) for method in done if (found := method.get("difference")) is not None
        },
        ends=STATUS_NAMES,
        without=[method for method in methods if method["reason"]],
        dots=[(_title(score), drawn) for score in shown if (drawn := runs_figure(done, score)).data[0]["x"]],
        cost=_cost(comparison, done) if is_scored and done else None,
    )


def runs_figure(methods: Sequence[Mapping[str, Any]], score: str) -> Figure:
    """Draw every run of every method: the score of each seed as a dot, and the mean as a stroke.

    Parameters
    ----------
    methods : list of dict
        Those with runs that are done, in the order in which they are shown.
    score : str
        One of :data:`manyview.metrics.SCORES`, or "agreement" with the other methods.

    Returns
    -------
    Figure

    Examples
    --------
    >>> runs = [{"seed": 0, "status": "done", "agreement": 0.5}, {"seed": 1, "status": "done", "agreement": 0.7}]
    >>> drawn = runs_figure([{"name": "SFMC", "runs": runs}], "agreement")
    >>> drawn.data[0]["x"], drawn.data[1]["x"]
    ([0.5, 0.7], [0.6])
    """
    points = [
        (value, row, f"{method['name']}, seed {run['seed']}: {_title(score)} {number(value)}")
        for row, method in enumerate(methods)
        for run in method["runs"]
        if run["status"] == "done" and (value := _value(run, score)) is not None
    ]
    rows = sorted({row for _, row, _ in points})
    means = [sum(own) / len(own) for row in rows if (own := [value for value, at, _ in points if at == row])]
    names = [method["name"] for method in methods]
    summary = [f"{names[row]} {number(mean)}" for row, mean in zip(rows, means, strict=True)]
    return figure(
        [
            series(
                [value for value, _, _ in points],
                [row for _, row, _ in points],
                hover=[text for _, _, text in points],
                mode="markers",
                marker={"color": "var(--shuffled)", "size": 10, "opacity": 0.55},
            ),
            series(
                means,
                rows,
                hover=[f"{text} on average" for text in summary],
                mode="markers",
                marker={"symbol": "line-ns-open", "size": 18, "color": "var(--ink)", "line": {"width": 2}},
            ),
        ],
        {"title": f"{_title(score)}, shuffled rows", "range": [min([0.0, *(x for x, _, _ in points)]) - 0.02, 1.03]},
        {
            "tickvals": list(range(len(names))),
            "ticktext": [plain(name) for name in names],
            "range": [len(names) - 0.4, -0.6],
            "zeroline": False,
        },
        f"{_title(score)} of every run on shuffled rows; means: {', '.join(summary)}.",
        height=110 + 28 * len(names),
    )


def _value(run: Mapping[str, Any], score: str) -> float | None:
    return run["agreement"] if score == "agreement" else run["scores"][score]


def _title(score: str) -> str:
    return "Agreement with the others" if score == "agreement" else score_name(score)


def _best(methods: Sequence[Mapping[str, Any]], score: str) -> list[str]:
    """Return the names of the best methods, equal to three decimals as tables show them."""
    means = {method["name"]: round(method["scores"][score]["mean"], 3) for method in methods}
    return [name for name, mean in means.items() if mean == max(means.values())]


def _winners(comparison: Mapping[str, Any], done: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of the best methods by the criterion that orders them."""
    if not done:
        return []
    criterion = comparison["criterion"]
    if criterion == "acc":
        return _best(done, "acc")
    first = done[0][criterion]
    return [] if first is None else [method["name"] for method in done if method[criterion] == first]


def _headline(comparison: Mapping[str, Any], done: Sequence[Mapping[str, Any]]) -> str:
    """Return the sentence that follows the names of the best methods."""
    if not done:
        return "No method ended with clusters."
    first, alone = done[0], len(done) == 1
    itself = "" if first["stability"] is None else f" Agreement between its runs: {number(first['stability'])}."
    if comparison["criterion"] == "acc":
        best = "Accuracy" if alone else f"Best accuracy of {len(done)} methods"
        return f"{best}: {number(first['scores']['acc']['mean'])} on shuffled rows.{itself}"
    if comparison["criterion"] == "agreement":
        return f"Agreement with the other methods, on average: {number(first['agreement'])}, the largest.{itself}"
    return ("The only method that ended with clusters." if alone else "The most stable method.") + itself


def _cost(comparison: Mapping[str, Any], done: Sequence[Mapping[str, Any]]) -> Figure:
    dataset = ", ".join(comparison["data"]["files"])
    points = [
        {
            "dataset": dataset,
            "row": method["name"],
            "seconds": method["seconds"],
            "peak_bytes": method["peak_bytes"],
            "acc": method["scores"]["acc"]["mean"],
        }
        for method in done
    ]
    return experiment_figures.cost(points, [method["name"] for method in comparison["methods"]])
