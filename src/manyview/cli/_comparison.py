"""Methods side by side, in a terminal."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from manyview._utils.text import duration
from manyview.cli._cells import Json, candidate_pieces, new_table, reading_lines, reasons, words
from manyview.experiments.wording import STATUS_NAMES
from manyview.metrics import SCORE_TITLES
from manyview.report._page import memory
from manyview.report.documents import scored_samples

SCORE_ORDER = ("acc", "nmi", "ari", "purity", "f_score", "precision", "recall")
"""Which scores come first where there is no room for all."""

ENDS = STATUS_NAMES | {"memory": "memory"}
"""What stands in the table where there is no score, in words that need no explanation."""

_OTHER_COLUMNS = 48  # of the terminal: name, agreement and memory
_TIME_WIDTH = 6  # at least
_SCORE_WIDTH = 13


def comparison_pieces(comparison: Json, width: int = 80) -> list[RenderableType]:
    """Lay out a comparison.

    Parameters
    ----------
    comparison : dict
        From :func:`manyview.experiments.compare.compare_results`, with ``data``.
    width : int
        Columns of the terminal: so many scores stand side by side as fit.
    """
    methods = comparison["methods"]
    is_scored = comparison["criterion"] == "acc"
    times = [len(duration(method["seconds"])) for method in methods if method["runs_done"]]
    room = max(1, (width - _OTHER_COLUMNS - max([_TIME_WIDTH, *times])) // _SCORE_WIDTH)
    scores = SCORE_ORDER[:room] if is_scored else ()
    headings = [(f"{SCORE_TITLES[score]}\nshuffled", True) for score in scores]
    more = ["agree\nwith\nself", "agree\nwith\nothers", "time", "memory"]
    table = new_table(("method", True), *headings, *((heading, True) for heading in more))
    for method in methods:
        table.add_row(*_line(method, scores, methods[0]))
    return [
        words(_title(comparison), "bold"),
        *reading_lines(comparison["data"]),
        *_chosen(comparison),
        words(f"{_first_capital(comparison['row_order'])}. Time and memory: {comparison['timing']}.", "dim"),
        Text(),
        table,
        words(f"Ordered by {comparison['ordered_by']}. {_meaning(is_scored)}", "dim"),
        *_footnotes(comparison),
    ]


def _chosen(comparison: Json) -> list[RenderableType]:
    """Say that the number of clusters was chosen, if it was, and show the candidates."""
    if (suggestion := comparison["suggestion"]) is None:
        return []
    unsure = "" if suggestion["sure"] else ", but the evidence is weak"
    line = f"The number of clusters was chosen by the data{unsure}; it is the same for all methods."
    pieces = candidate_pieces(suggestion)
    return [words(line), *pieces, *([Text()] if pieces else [])]


def _line(method: Json, scores: tuple[str, ...], best: Json) -> list[Text]:
    name = words(method["name"] + (" *" if method["order_dependent"] else ""))
    if not method["runs_done"]:
        end = words(ENDS[_end(method)], "dim")
        blank = [words("-", "dim")] * (len(scores) + 3)
        return [name, end, *blank]
    style = "bold" if method is best else ""
    found = [method["scores"][score] for score in scores]
    single = method["runs_done"] == 1
    cells = [f"{value['mean']:.3f}" + ("" if single else f"±{value['std']:.3f}") for value in found]
    agreement = ["-" if method[name] is None else f"{method[name]:.3f}" for name in ("stability", "agreement")]
    cells += [*agreement, duration(method["seconds"]), memory(method["peak_bytes"])]
    return [name, *(Text(cell, style=style) for cell in cells)]


def _end(method: Json) -> str:
    return max((status for status in method["status"] if status != "done"), key=method["status"].__getitem__)


def _title(comparison: Json) -> str:
    data, methods = comparison["data"], comparison["methods"]
    files = ", ".join(data["files"])
    runs = _count(len(comparison["seeds"]), "run")
    return (
        f"{files}: {data['n_samples']} samples, {_count(len(data['views']), 'view')}, "
        f"{_count(comparison['n_clusters'], 'cluster')}; {_count(len(methods), 'method')}, {runs} each"
    )


def _meaning(is_scored: bool) -> str:
    agreement = "Agreement is the adjusted Rand index: 1 is the same groups, 0 is chance."
    return ("Scores are mean±deviation over the runs. " if is_scored else "") + agreement


def _footnotes(comparison: Json) -> list[Text]:
    notes = []
    if any(method["order_dependent"] for method in comparison["methods"]):
        notes.append(words("* The order of the rows changes what this method finds; see: manyview audit.", "dim"))
    if scored := scored_samples(comparison["data"]):
        notes.append(words(f"{_first_capital(scored)}.", "yellow"))
    if comparison["note"]:
        notes.append(words(comparison["note"], "yellow"))
    without = [method for method in comparison["methods"] if method["reason"]]
    shown = [
        (method["name"], _how_many(method, comparison), {"status": _end(method), "reason": method["reason"]})
        for method in without
    ]
    return notes + ([Text(), *reasons(shown)] if shown else [])


def _how_many(method: Json, comparison: Json) -> str:
    return f"{method['runs_done']} of {len(comparison['seeds'])} runs done"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _first_capital(text: str) -> str:
    return text[:1].upper() + text[1:]
