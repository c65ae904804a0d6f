"""From the summary of an evaluation to tables in a terminal.

Every heading over scores says in which order the rows were.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import floor, inf, log10
from typing import Any

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from manyview.cli._cells import Json, new_table, reasons, result_text, titled, words
from manyview.cli._verdicts import order_audit_tables, ranking_tables
from manyview.experiments.wording import COLUMN_NAMES, STATUS_NAMES

USUAL_SCORES = ("acc", "nmi")
NAME_WIDTH, SCORE_WIDTH = 16, 13
"""Columns of the terminal that a name takes, and a score with its deviation."""


def check_scores(scores: Iterable[str]) -> None:
    """Refuse scores that there are none of."""
    from manyview.metrics import SCORES

    for score in scores:
        if score not in SCORES:
            raise ValueError(f"score: expected one of {', '.join(SCORES)}, got {score!r}.")


def print_pieces(pieces: Iterable[RenderableType], console: Console) -> None:
    """Print one after the other. What is wider than the terminal is broken by the terminal, and never cut."""
    for piece in pieces:
        if isinstance(piece, Table):
            for column in piece.columns:
                if column.no_wrap:  # rich would cut it to make room
                    column.min_width = max(console.measure(cell).maximum for cell in (column.header, *column.cells))
        console.print(piece, crop=False)


def spec_tables(specs: Sequence[Json]) -> list[RenderableType]:
    """List bundled specs."""
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
    return [table, Text(), words("Datasets that are not here; --json says how to get them:"), *lines]


def summary_tables(summary: Json, scores: Sequence[str] = (), width: int = 80) -> list[RenderableType]:
    """Lay out everything that a summary holds.

    Parameters
    ----------
    summary : dict
        Of :func:`manyview.experiments.summarise`.
    scores : sequence of str
        Which scores to show; the usual two if none are given.
    width : int
        Columns of the terminal: so many scores stand side by side as fit.
    """
    pieces: list[RenderableType] = [words(summary["spec"]["title"], "bold"), _cells(summary["cells"])]
    pieces += [words(data["absent"]) for data in summary["datasets"] if data["absent"]]
    for part in summary["parts"]:
        pieces += [Text(), words(f"{part['name']}: {part['title']}", "bold")]
        pieces += [words(part[text], "dim") for text in ("source", "note") if part[text]]
        shown = list(scores) or [score for score in USUAL_SCORES if score in part["scores"]] or part["scores"][:1]
        if part["kind"] == "table":
            pieces += _score_tables(part, shown, width)
        elif part["kind"] == "sweep":
            pieces += _sweep_tables(part, shown)
        elif part["kind"] == "growth":
            pieces += _growth_tables(part)
        else:
            pieces += _graph_table(part)
    return [*pieces, *order_audit_tables(summary["order_audit"]), *ranking_tables(summary["ranking"])]


def _cells(cells: Json) -> Text:
    found = {STATUS_NAMES.get(status, status): count for status, count in cells.items() if status != "asked" and count}
    counts = [f"{count} {name}" for name, count in found.items()]
    return words(f"{cells['asked']} cells: {', '.join(counts)}" if counts else "no cells")


def _score_tables(part: Json, scores: Sequence[str], width: int) -> list[RenderableType]:
    """One table per dataset, or several where the scores do not fit side by side."""
    pieces: list[RenderableType] = []
    for table in part["tables"]:
        columns = [column for column in COLUMN_NAMES if any(row[column] is not None for row in table["rows"])]
        each = max(1, (width - NAME_WIDTH) // max(1, SCORE_WIDTH * len(columns)))
        for start in range(0, len(scores), each):
            pieces += _score_table(table, columns, scores[start : start + each])
        measured = [column for column in columns if column != "published"]
        results = [(row["name"], COLUMN_NAMES[column], row[column]) for row in table["rows"] for column in measured]
        pieces += reasons((name, order, found) for name, order, found in results if found is not None)
    notes = {row["name"]: row["note"] for table in part["tables"] for row in table["rows"] if row["note"]}
    return [*pieces, *(words(f"{name}: {note}", "dim") for name, note in notes.items())]


def _score_table(table: Json, columns: Sequence[str], scores: Sequence[str]) -> list[RenderableType]:
    headings = [(f"{score}\n{COLUMN_NAMES[column]}", True) for score in scores for column in columns]
    printed = new_table(("method", False), *headings)
    for row in table["rows"]:
        cells = [
            result_text(row[column], score, best=row["name"] in table["best"][column].get(score, ()))
            for score in scores
            for column in columns
        ]
        printed.add_row(words(row["name"]), *cells)
    of = f" (stand-in for {table['stand_in_for']})" if table["stand_in_for"] else ""
    runs = max((row[column] or {}).get("runs") or 0 for row in table["rows"] for column in columns)
    over = f", mean±deviation of up to {runs} runs by order of rows" if runs else ""
    return titled(f"{table['dataset']}{of}: {', '.join(scores)}{over}", printed)


def _sweep_tables(part: Json, scores: Sequence[str]) -> list[RenderableType]:
    pieces: list[RenderableType] = []
    for dataset in dict.fromkeys(curve["dataset"] for curve in part["curves"]):
        curves = [curve for curve in part["curves"] if curve["dataset"] == dataset]
        for score in scores:
            title = f"{dataset}: {score} over {part['axis']['label']}, by order of rows"
            pieces += titled(title, _sweep_table(part["axis"]["name"], curves, score))
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
        cells = (result_text(own.get(x), score, best=own.get(x) is top) for own, top in zip(points, best, strict=True))
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
        for name, heading in (("exponent", "exponent"), ("stated", "in the paper")):
            printed.add_row(heading, *("-" if line[name] is None else f"{line[name]:.2f}" for line in lines))
        pieces += titled(f"seconds of a fit over {lines[0]['label']}", printed)
        without = {(line["row"], point["reason"]) for line in lines for point in line["points"] if "reason" in point}
        pieces += [words(f"{row}: {reason}") for row, reason in sorted(without)]
    return pieces


def _seconds(point: Json | None) -> str:
    if point is None:
        return "-"
    if "seconds" not in point:
        return "none"
    mean, deviation = point["seconds"]["mean"], point["seconds"]["std"]
    decimals = max(0, 2 - floor(log10(mean))) if mean > 0 else 0  # three digits that say something
    return f"{mean:.{decimals}f}±{deviation:.{decimals}f}"


def _graph_table(part: Json) -> list[RenderableType]:
    printed = new_table(("dataset", False), ("method", False), ("rows in", False), ("acc", True), ("graphs", False))
    shown: dict[tuple[Any, ...], list[str]] = {}
    for picture in part["pictures"]:
        key = (picture["dataset"], picture["row"], COLUMN_NAMES[picture["protocol"]], f"{picture['acc']:.3f}")
        shown.setdefault(key, []).append(picture["name"])
    for key, names in shown.items():
        printed.add_row(*(words(value) for value in key), words(", ".join(names)))
    return titled("pictures of graphs, to be seen in the report", printed)
