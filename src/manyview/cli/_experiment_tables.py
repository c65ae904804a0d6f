"""Tables in a terminal for ``manyview experiments``: from the summary of an evaluation.

Every heading over scores says in which order the rows were.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import floor, inf, log10
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from manyview.cli._output import Json, new_table, reasons, words
from manyview.experiments.wording import (
    COLUMN_NAMES,
    STATUS_NAMES,
    difference_text,
    mean_and_deviation_text,
    probability,
    too_few_datasets,
    verdict,
)
from manyview.metrics import SCORE_TITLES, SCORES

_MAX_DATASETS = 3  # whose differences are listed one by one
_NAME_WIDTH, _SCORE_WIDTH = 16, 13
"""Columns of the terminal for a name, and for a score with its deviation."""


def check_scores(scores: Iterable[str]) -> None:
    """Raise an error for an unknown score."""
    for score in scores:
        if score not in SCORES:
            raise ValueError(f"score: expected one of {', '.join(SCORES)}, got {score!r}.")


def spec_tables(specs: Sequence[Json]) -> list[RenderableType]:
    """Return the list of bundled specs."""
    table = new_table(("name", False), ("parts", True), ("cells", True), ("what it shows", False))
    for spec in specs:
        table.add_row(words(spec["name"]), str(len(spec["parts"])), str(spec["cells"]), words(spec["title"]))
    needed: dict[str, list[str]] = {}
    for spec in specs:
        for name in spec["absent"]:
            needed.setdefault(name, []).append(spec["name"])
    if not needed:
        return [table]
    lines = [words(f"{name}: needed by {', '.join(users)}") for name, users in needed.items()]
    return [table, Text(), words("Datasets that were not found; --json says how to get them:"), *lines]


def summary_tables(summary: Json, scores: Sequence[str] = (), width: int = 80) -> list[RenderableType]:
    """Return all tables of a summary.

    Parameters
    ----------
    summary : dict
        From :func:`manyview.experiments.summarise`.
    scores : sequence of str
        Scores to show; those of each part of the spec if none are given.
    width : int
        Columns of the terminal; as many scores stand side by side as fit.
    """
    pieces: list[RenderableType] = [words(summary["spec"]["title"], "bold"), _cells(summary["cells"])]
    pieces += [words(data["absent"]) for data in summary["datasets"] if data["absent"]]
    for part in summary["parts"]:
        pieces += [Text(), words(f"{part['name']}: {part['title']}", "bold")]
        pieces += [words(part[text], "dim") for text in ("source", "note") if part[text]]
        shown = list(scores) or part["scores"]
        if part["kind"] == "table":
            pieces += _score_tables(part, shown, width)
        elif part["kind"] == "sweep":
            pieces += _sweep_tables(part, shown)
        elif part["kind"] == "growth":
            pieces += _growth_tables(part)
        else:
            pieces += _graph_table(part)
    return [
        *pieces,
        *_order_audit_tables(summary["order_audit"]),
        *_difference_tables(summary.get("differences") or {}),
        *ranking_tables(summary["ranking"]),
    ]


def _cells(cells: Json) -> Text:
    found = {STATUS_NAMES.get(status, status): count for status, count in cells.items() if status != "asked" and count}
    counts = [f"{count} {name}" for name, count in found.items()]
    return words(f"{cells['asked']} cells: {', '.join(counts)}" if counts else "no cells")


def _score_tables(part: Json, scores: Sequence[str], width: int) -> list[RenderableType]:
    """Return one table per dataset, or several where the scores do not fit side by side."""
    pieces: list[RenderableType] = []
    for table in part["tables"]:
        columns = [column for column in COLUMN_NAMES if any(row[column] is not None for row in table["rows"])]
        each = max(1, (width - _NAME_WIDTH) // max(1, _SCORE_WIDTH * len(columns)))
        for start in range(0, len(scores), each):
            pieces += _score_table(table, columns, scores[start : start + each])
        measured = [column for column in columns if column != "published"]
        results = [(row["name"], COLUMN_NAMES[column], row[column]) for row in table["rows"] for column in measured]
        pieces += reasons((name, order, found) for name, order, found in results if found is not None)
        pieces += [
            words(f"{name} on {table['dataset']} ({order}): {'; '.join(found['notes'])}.", "yellow")
            for name, order, found in results
            if found is not None and found.get("notes")
        ]
    notes = {row["name"]: row["note"] for table in part["tables"] for row in table["rows"] if row["note"]}
    return [*pieces, *(words(f"{name}: {note}", "dim") for name, note in notes.items())]


def _score_table(table: Json, columns: Sequence[str], scores: Sequence[str]) -> list[RenderableType]:
    headings = [(f"{score}\n{COLUMN_NAMES[column]}", True) for score in scores for column in columns]
    printed = new_table(("method", False), *headings)
    for row in table["rows"]:
        cells = [
            _result_text(row[column], score, best=row["name"] in table["best"][column].get(score, ()))
            for score in scores
            for column in columns
        ]
        printed.add_row(words(row["name"]), *cells)
    stand_in = f" (stand-in for {table['stand_in_for']})" if table["stand_in_for"] else ""
    runs = max((row[column] or {}).get("runs") or 0 for row in table["rows"] for column in columns)
    of = f"mean±deviation of up to {runs} runs" if runs > 1 else "single runs"
    over = f", {of} by order of rows" if runs else ""
    return _titled(f"{table['dataset']}{stand_in}: {', '.join(scores)}{over}", printed)


def _sweep_tables(part: Json, scores: Sequence[str]) -> list[RenderableType]:
    pieces: list[RenderableType] = []
    for dataset in dict.fromkeys(curve["dataset"] for curve in part["curves"]):
        curves = [curve for curve in part["curves"] if curve["dataset"] == dataset]
        for score in scores:
            title = f"{dataset}: {score} over {part['axis']['label']}, by order of rows"
            pieces += _titled(title, _sweep_table(part["axis"]["name"], curves, score))
        if dataset in part["stated"]:
            pieces.append(words(f"best in the paper: {part['axis']['name']} = {part['stated'][dataset]}"))
        pieces += reasons(
            (curve["row"], COLUMN_NAMES[curve["protocol"]], point) for curve in curves for point in curve["points"]
        )
    return pieces


def _sweep_table(axis: str, curves: Sequence[Json], score: str) -> Table:
    headings = [f"{curve['row']}\n{COLUMN_NAMES[curve['protocol']]}" for curve in curves]
    printed = new_table((axis, True), *((heading, True) for heading in headings))
    points = [{point["x"]: point for point in curve["points"]} for curve in curves]
    best = [max(own.values(), key=lambda point: _mean(point, score)) for own in points]
    for x in sorted({x for own in points for x in own}):
        cells = (_result_text(own.get(x), score, best=own.get(x) is top) for own, top in zip(points, best, strict=True))
        printed.add_row(f"{x:g}", *cells)
    return printed


def _mean(point: Json, score: str) -> float:
    return point["scores"][score]["mean"] if "scores" in point else -inf


def _growth_tables(part: Json) -> list[RenderableType]:
    pieces: list[RenderableType] = []
    for axis in dict.fromkeys(line["axis"] for line in part["growth"]):
        lines = [line for line in part["growth"] if line["axis"] == axis]
        printed = new_table((axis, True), *((line["row"], True) for line in lines))
        points = [{point["x"]: point for point in line["points"]} for line in lines]
        for x in sorted({x for own in points for x in own}):
            printed.add_row(f"{x:g}", *(_seconds(own.get(x)) for own in points))
        printed.add_section()
        stated = [("stated", "in the paper")] if any(line["stated"] is not None for line in lines) else []
        for name, heading in (("exponent", "exponent"), *stated):
            printed.add_row(heading, *("-" if line[name] is None else f"{line[name]:.2f}" for line in lines))
        pieces += _titled(f"seconds of a fit over {lines[0]['label']}", printed)
        without = {(line["row"], point["reason"]) for line in lines for point in line["points"] if "reason" in point}
        pieces += [words(f"{row}: {reason}") for row, reason in sorted(without)]
    return pieces


def _seconds(point: Json | None) -> str:
    if point is None:
        return "-"
    if "seconds" not in point:
        return "none"
    mean, deviation = point["seconds"]["mean"], point["seconds"]["std"]
    decimals = max(0, 2 - floor(log10(mean))) if mean > 0 else 0  # three significant digits
    return f"{mean:.{decimals}f}±{deviation:.{decimals}f}"


def _graph_table(part: Json) -> list[RenderableType]:
    printed = new_table(("dataset", False), ("method", False), ("rows in", False), ("acc", True), ("graphs", False))
    shown: dict[tuple[Any, ...], list[str]] = {}
    for picture in part["pictures"]:
        key = (picture["dataset"], picture["row"], COLUMN_NAMES[picture["protocol"]], f"{picture['acc']:.3f}")
        shown.setdefault(key, []).append(picture["name"])
    for key, names in shown.items():
        printed.add_row(*(words(value) for value in key), words(", ".join(names)))
    return _titled("pictures of graphs, to be seen in the report", printed)


def _order_audit_tables(audit: Sequence[Json]) -> list[RenderableType]:
    """Return whether methods find the same when rows are shuffled."""
    if not audit:
        return []
    verdicts = new_table(("method", False), ("verdict", False), ("p (Holm)", True))
    numbers = ("pairs", "acc\nfile\norder", "acc\nshuffled", "change", "p", "ARI")
    details = new_table(("method", False), ("dataset", False), *((heading, True) for heading in numbers))
    for line in audit:
        verdicts.add_row(words(line["row"]), _verdict(line), probability(line["p_value"]))
        for number, found in enumerate(line["datasets"]):
            details.add_row(
                words("" if number else line["row"]),
                words(found["dataset"]),
                str(found["pairs"]),
                f"{found['file_order']:.3f}",
                f"{found['shuffled']:.3f}",
                f"{found['shuffled'] - found['file_order']:+.3f}",
                probability(found["p_value"]),
                f"{found['agreement']:.3f}",
            )
    return [
        Text(),
        words("order audit", "bold"),
        *_titled("Does the accuracy differ between the rows of a file as they are and shuffled?", verdicts),
        *_titled("Means over pairs of runs with the same seed; ARI compares the labels of both.", details),
    ]


def _verdict(line: Json) -> Text:
    style = "red" if line["flagged"] else "yellow" if line["too_few_pairs"] else ""
    return Text(verdict(line), style=style)


def _difference_tables(found: Json) -> list[RenderableType]:
    """Return the differences of one method to the others; of many datasets only the line over all."""
    if not found.get("lines"):
        return []
    order, score = COLUMN_NAMES[found["protocol"]], SCORE_TITLES[found["score"]]
    table = new_table(("method", False), ("dataset", False), ("runs", True), ("difference (interval)", True))
    single = max(len(line["datasets"]) for line in found["lines"]) <= _MAX_DATASETS
    for line in found["lines"]:
        entries = [
            (one["dataset"], str(one["pairs"]), one) for one in line["datasets"] if single or not line["overall"]
        ]
        if (overall := line["overall"]) is not None:
            entries.append((f"mean of {overall['datasets']} datasets", "", overall))
        for number, (dataset, pairs, one) in enumerate(entries):
            table.add_row(words("" if number else line["row"]), words(dataset), pairs, words(difference_text(one)))
    title = (
        f"{score} of {found['reference']} less that of others, rows {order}; {found['confidence']:.0%} intervals (t)"
    )
    return [
        Text(),
        words("differences", "bold"),
        *_titled(title, table),
        *(words(remark, "dim") for remark in found["remarks"]),
    ]


def ranking_tables(ranking: Json) -> list[RenderableType]:
    """Return the methods in the order of their mean rank over datasets."""
    order = COLUMN_NAMES[ranking["protocol"]]
    pieces: list[RenderableType] = [Text(), words(f"ranking by {ranking['score']}, rows {order}", "bold")]
    if ranking["methods"]:
        datasets = ranking["datasets"]
        table = new_table(("method", False), ("mean\nrank", True), *((name, True) for name in datasets))
        for method in ranking["methods"]:
            ranks = (f"{method['ranks'][name]:g}" for name in datasets)
            table.add_row(words(method["name"]), f"{method['mean_rank']:.2f}", *ranks)
        pieces += _titled(f"ranks on {len(datasets)} datasets, rows {order}; 1 is best", table)
        pieces += _difference(ranking)
    else:
        pieces.append(words("none: it takes results of the same methods on two datasets or more"))
    left_out: dict[str, list[str]] = {}
    for name, reason in ranking["left_out"].items():
        left_out.setdefault(reason, []).append(name)
    return [*pieces, *(words(f"left out: {', '.join(names)}: {reason}") for reason, names in left_out.items())]


def _difference(ranking: Json) -> list[Text]:
    if ranking["critical_difference"] is None:
        return []
    few = too_few_datasets(ranking)
    text = f"critical difference of mean ranks at {ranking['alpha']:g}: {ranking['critical_difference']:.2f}"
    if ranking["friedman_p"] is not None:
        text += f"; p of Friedman's test: {probability(ranking['friedman_p'])}"
    return [
        words(text),
        *([words(few, "yellow")] if few else []),
        *(words(f"no significant difference between: {', '.join(group)}") for group in ranking["groups"]),
    ]


def _result_text(result: Json | None, score: str, *, best: bool = False) -> Text:
    """Return mean and deviation of a score, or in a word why there is none."""
    if result is None:
        return Text("-")
    if (text := mean_and_deviation_text(result, score, "±")) is not None:
        return Text(text, style="bold" if best else "")
    if result["status"] == "done":
        return Text("-")
    published = result["reason"] if result.get("reason", "").isupper() else None  # such as the paper's OM
    return words(published or STATUS_NAMES[result["status"]], "dim")


def _titled(title: str, table: Table) -> list[RenderableType]:
    """Return a table with a title above it, and an empty line above both."""
    return [Text(), words(title), table]
