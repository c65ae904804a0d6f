"""Tables and figures of a summary as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from manyview._utils.text import one_line
from manyview.experiments._model import DONE
from manyview.experiments.wording import (
    COLUMN_NAMES,
    columns_of,
    mean_and_deviation_text,
    number,
    runs_text,
    short_reason,
    title_of,
)
from manyview.metrics import SCORE_TITLES

GLANCE = ("acc", "nmi")
"""The scores of the tables; the others are in the CSV file."""


def markdown_table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table with a head and lines of cells."""
    rows = [list(map(escape, head)), ["---"] * len(head), *([escape(cell) for cell in line] for line in lines)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def escape(text: str) -> str:
    """The text in one line, without what Markdown would take for a column or a tag."""
    return one_line(text).replace("|", "\\|").replace("<", "&lt;")


def part_sections(part: Mapping[str, Any]) -> Iterator[str]:
    """A heading, and what the part has; pictures are not for this page."""
    content = [*_tables(part), *_curves(part), *_growth(part)]
    if content:
        yield f"## {escape(part['title'])}"
        yield escape(f"`{part['name']}`: {part['source']}." + (f" {part['note']}" if part["note"] else ""))
        yield from content


def _tables(part: Mapping[str, Any]) -> Iterator[str]:
    scores = [score for score in GLANCE if score in part["scores"]]
    for table in part.get("tables", ()):
        columns = columns_of(table)
        yield f"### {escape(title_of(table))}"
        yield markdown_table(
            ["method", *(f"{SCORE_TITLES[score]}, {COLUMN_NAMES[column]}" for score in scores for column in columns)],
            [
                [
                    row["name"],
                    *(_cell(row, table["best"], column, score, scores[0]) for score in scores for column in columns),
                ]
                for row in table["rows"]
            ],
        )
        notes = [f"- {escape(row['name'])}: {escape(row['note'])}" for row in table["rows"] if row["note"]]
        if notes:
            yield "\n".join(notes)


def _cell(row: Mapping[str, Any], best: Mapping[str, Any], column: str, score: str, first: str) -> str:
    result = row[column]
    if result is None:
        return "–"
    text = mean_and_deviation_text(result, score)
    if text is not None:
        marked = f"**{text}**" if row["name"] in best[column].get(score, ()) else text
        return marked + runs_text(result)
    if result["status"] == DONE:
        return "–"  # published, but without this score
    reason = short_reason(result)
    return reason if score == first else reason.split(": ")[0]  # once is enough


def _curves(part: Mapping[str, Any]) -> Iterator[str]:
    scores = [score for score in GLANCE if score in part["scores"]]
    by_row: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for curve in part.get("curves", ()):
        by_row.setdefault((curve["dataset"], curve["row"]), []).append(curve)
    for (dataset, row), curves in by_row.items():
        yield f"### {escape(row)} on {escape(dataset)}"
        if dataset in part["stated"]:
            yield f"The paper says: best at {escape(part['axis']['label'])} = {part['stated'][dataset]:g}."
        at = [{point["x"]: point for point in curve["points"]} for curve in curves]
        yield markdown_table(
            [
                part["axis"]["label"],
                *(f"{SCORE_TITLES[score]}, {COLUMN_NAMES[curve['protocol']]}" for score in scores for curve in curves),
            ],
            [
                [f"{x:g}", *(_point(points.get(x), score) for score in scores for points in at)]
                for x in sorted({x for points in at for x in points})
            ],
        )


def _point(point: Mapping[str, Any] | None, score: str) -> str:
    if point is None:
        return "–"
    text = mean_and_deviation_text(point, score)
    return short_reason(point) if text is None else text + runs_text(point)


def _growth(part: Mapping[str, Any]) -> Iterator[str]:
    lines = part.get("growth", ())
    if not lines:
        return
    yield (
        "Time of a fit grows like a power of the size. The measured exponent is the slope of log(time) over log(size), "
        "with the smallest time of all runs at each size."
    )
    yield markdown_table(
        ("method", "grows with", "measured exponent", "stated exponent", "seconds at each size"),
        [
            (line["row"], line["label"], number(line["exponent"], 2), number(line["stated"], 2), _times(line["points"]))
            for line in lines
        ],
    )


def _times(points: Sequence[Mapping[str, Any]]) -> str:
    return "; ".join(
        f"{point['x']:g}: " + (f"{point['seconds']['min']:.3g}" if "seconds" in point else short_reason(point))
        for point in points
    )
