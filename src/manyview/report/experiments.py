"""The report on experiments: published results, results in file order, and results on shuffled rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from manyview.experiments.wording import (
    COLUMN_NAMES,
    PUBLISHED,
    STATUS_NAMES,
    columns_of,
    difference_text,
    too_few_datasets,
    verdict,
)
from manyview.report import experiment_figures as figures
from manyview.report._figure import Figure, picture_address
from manyview.report._page import render_page

_MEASURED = ("file-order", "shuffled")
_ENDS = {
    "memory": "out of memory (OM)",
    "time": "time limit",
    "failed": "failed",
    "absent": "dataset not found",
    "part": "not all runs ended",
}
"""Names of the outcomes of fits without scores."""


def render(summary: Mapping[str, Any], *, store: str = "FILE", spec: str | None = None) -> str:
    """Render the summary of an experiment as one HTML page.

    Parameters
    ----------
    summary : dict
        As :func:`manyview.experiments.summarise` gives it.
    store : str, default="FILE"
        The file with the results, for the commands that the page shows.
    spec : str, optional
        Name or path of the spec, for these commands. Default: its name.

    Returns
    -------
    str
        A page that opens from disk and needs no network.

    Examples
    --------
    >>> counts = dict.fromkeys(("asked", "done", "failed", "memory", "time", "absent", "waiting"), 0)
    >>> page = render({"spec": {"name": "quick", "title": "A first look"}, "cells": counts, "runs": [], "datasets": [],
    ...                "parts": [], "order_audit": [], "ranking": None, "scatter": []})
    >>> "<h1>A first look</h1>" in page
    True
    """
    generated = {dataset["name"] for dataset in summary["datasets"] if dataset["generated"]}
    parts = [_prepared(part, generated) for part in summary["parts"]]
    tables = [table for part in parts if part["kind"] == "table" for table in part["shown"]]
    has_paper = any(PUBLISHED in table["columns"] for table in tables)
    ranking: dict[str, Any] = {"methods": [], "left_out": {}, "failures": {}} | dict(summary["ranking"] or {})
    return render_page(
        "experiments.html",
        title=summary["spec"]["title"],
        summary=summary,
        parts=parts,
        glance=[line for part in parts if part["kind"] == "table" for line in _best_of_each(part)],
        flagged=[line["row"] for line in summary["order_audit"] if line["flagged"]],
        unsure=[line["row"] for line in summary["order_audit"] if _is_unsure(line)],
        audit=sorted(map(_audit_line, summary["order_audit"]), key=lambda line: not line["flagged"]),
        ranking=ranking,
        left_out=_by_reason(ranking["left_out"]),
        few_datasets=too_few_datasets(ranking) if ranking["methods"] else None,
        differences=_differences(summary.get("differences")),
        ranks=figures.ranks(ranking) if ranking["methods"] else None,
        costs=_costs(summary["scatter"]),
        not_run=_not_run(summary["parts"]),
        orders=COLUMN_NAMES,
        has_paper=has_paper,
        glance_orders=[order for order in COLUMN_NAMES if any(order in table["columns"] for table in tables)],
        short=STATUS_NAMES,
        ends=_ENDS,
        store=store,
        spec=spec or summary["spec"]["name"],
        run_code=any(row.get("code") for table in tables for row in table["rows"]),
    )


def _prepared(part: Mapping[str, Any], generated: set[str]) -> dict[str, Any]:
    """Add to a part what its template shows."""
    return {**part, "shown": _PREPARATIONS[part["kind"]](part, generated)}


def _tables(part: Mapping[str, Any], generated: set[str]) -> list[dict[str, Any]]:
    return [_table(table, part["scores"], table["dataset"] in generated) for table in part["tables"]]


def _table(table: Mapping[str, Any], scores: Sequence[str], generated: bool) -> dict[str, Any]:
    """Prepare the table of one dataset: its columns, and for each score the lines with their marks."""
    comparable = not (generated or table["stand_in_for"])
    columns = [column for column in columns_of(table) if column != PUBLISHED or comparable]
    return {
        **table,
        "generated": generated,
        "columns": columns,
        "glances": [_glance(table["rows"], score, columns) for score in scores],
    }


def _glance(rows: Sequence[Mapping[str, Any]], score: str, columns: Sequence[str]) -> dict[str, Any]:
    """Return the change by shuffling of each row, and the positions of its values on a line from 0 (or less) to 1."""
    found = [{order: value for order in columns if (value := _value(row[order], score))} for row in rows]
    low = min([0.0, *(value["mean"] - (value["std"] or 0) for values in found for value in values.values())])

    def position(value: float) -> float:
        return round(100 * (min(value, 1.0) - low) / (1.0 - low), 2)

    lines = []
    for row, values in zip(rows, found, strict=True):
        marks = [
            {
                "order": order,
                "at": position(value["mean"]),
                "first": position(value["mean"] - (value["std"] or 0)),
                "last": position(value["mean"] + (value["std"] or 0)),
            }
            for order, value in values.items()
        ]
        both = all(order in values for order in _MEASURED)
        change = values["shuffled"]["mean"] - values["file-order"]["mean"] if both else None
        lines.append({"row": row, "marks": marks, "change": change})
    return {"score": score, "low": low, "lines": lines}


def _value(result: Mapping[str, Any] | None, score: str) -> Mapping[str, Any] | None:
    """Return mean and deviation of a score, if there is one."""
    return (result or {}).get("scores", {}).get(score)


def _best_of_each(part: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield for each table the best rows of each column, by the first score of the part."""
    for table in part["shown"]:
        score = part["scores"][0]
        rows = {row["name"]: row for row in table["rows"]}
        best = {}
        for order in table["columns"]:
            names = table["best"].get(order, {}).get(score, [])
            value = _value(rows[names[0]][order], score) if names else None
            best[order] = {"names": names, "value": value}
        yield {"table": table, "score": score, "best": best}


def _sweep(part: Mapping[str, Any], generated: set[str]) -> list[dict[str, Any]]:
    """Draw a figure for each score and dataset."""
    by_dataset = _grouped(part["curves"], "dataset")
    return [
        {
            "score": score,
            "figures": [
                (dataset, figures.sweep(curves, score, part["axis"], part["stated"].get(dataset)))
                for dataset, curves in by_dataset.items()
                if any(_value(point, score) for curve in curves for point in curve["points"])
            ],
        }
        for score in part["scores"]
    ]


def _growth(part: Mapping[str, Any], generated: set[str]) -> list[Figure]:
    """Draw a figure for each axis."""
    methods = list(_grouped(part["growth"], "row"))
    return [
        figures.growth(lines, methods)
        for lines in _grouped(part["growth"], "axis").values()
        if any("seconds" in point for line in lines for point in line["points"])
    ]


def _pictures(part: Mapping[str, Any], generated: set[str]) -> list[dict[str, Any]]:
    """Group the pictures of one fit."""
    return [
        {
            "dataset": dataset,
            "row": row,
            "order": order,
            "acc": pictures[0]["acc"],
            "pictures": [(picture["name"], picture_address(picture["image"])) for picture in pictures],
        }
        for (dataset, row, order), pictures in _grouped(part["pictures"], "dataset", "row", "protocol").items()
    ]


_PREPARATIONS = {"table": _tables, "sweep": _sweep, "growth": _growth, "graphs": _pictures}


def _costs(scatter: Sequence[Mapping[str, Any]]) -> list[tuple[str, Figure]]:
    """Draw time and accuracy, a figure for each dataset."""
    scatter = [point for point in scatter if point["seconds"]]
    methods = list(_grouped(scatter, "row"))
    return [(dataset, figures.cost(points, methods)) for dataset, points in _grouped(scatter, "dataset").items()]


def _audit_line(line: Mapping[str, Any]) -> dict[str, Any]:
    """Add to a line of the order audit its verdict and the dataset where shuffling changes most."""
    most = max(line["datasets"], key=lambda dataset: abs(dataset["difference"]), default=None)
    return {**line, "verdict": verdict(line), "most": most}


def _differences(found: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Arrange the differences of one method to the others by dataset; None if there are none."""
    if not found or not found["lines"]:
        return None
    datasets = list(dict.fromkeys(one["dataset"] for line in found["lines"] for one in line["datasets"]))
    lines = []
    for line in found["lines"]:
        on = {one["dataset"]: one for one in line["datasets"]}
        cells = [difference_text(on.get(dataset)) for dataset in datasets]
        lines.append({"row": line["row"], "cells": cells, "overall": difference_text(line["overall"])})
    return {**found, "datasets": datasets, "lines": lines, "overall": any(line["overall"] for line in found["lines"])}


def _is_unsure(line: Mapping[str, Any]) -> bool:
    """Whether the audit has too few runs to find anything."""
    return line["too_few_pairs"] and not line["flagged"]


def _by_reason(reasons: Mapping[str, str]) -> dict[str, list[str]]:
    """Group names by reason."""
    return {reason: [name for name in reasons if reasons[name] == reason] for reason in reasons.values()}


def _not_run(parts: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """List the fits without scores, grouped by reason."""
    fits: dict[tuple[str, str, str], dict[str, list[str]]] = {}
    for part in parts:
        for dataset, row, order, result in _outcomes(part):
            if result is not None and "reason" in result:
                status = result["status"] if result["status"] in _ENDS else "part"
                rows = fits.setdefault((dataset, status, result["reason"]), {})
                rows.setdefault(row, []).append(order)
    return [
        {
            "dataset": dataset,
            "end": _ENDS[status],
            "reason": reason,
            "rows": [f"{row} ({'; '.join(dict.fromkeys(orders))})" for row, orders in rows.items()],
        }
        for (dataset, status, reason), rows in fits.items()
    ]


def _outcomes(part: Mapping[str, Any]) -> Iterator[tuple[str, str, str, Mapping[str, Any] | None]]:
    """Yield dataset, row, order (or size) and result of everything measured for a part."""
    for table in part.get("tables", ()):
        for row in table["rows"]:
            for order in _MEASURED:
                yield table["dataset"], row["name"], COLUMN_NAMES[order], row[order]
    for curve in part.get("curves", ()):
        for point in curve["points"]:
            where = f"{COLUMN_NAMES[curve['protocol']]}, {part['axis']['name']} = {point['x']:g}"
            yield curve["dataset"], curve["row"], where, point
    for line in part.get("growth", ()):
        for point in line["points"]:
            if "reason" in point:
                yield "generated", line["row"], f"{line['axis']} = {point['x']:,g}", {"status": "part", **point}


def _grouped(things: Sequence[Mapping[str, Any]], *names: str) -> dict[Any, list[Mapping[str, Any]]]:
    """Group dicts by the values of these keys, in order of first occurrence."""
    groups: dict[Any, list[Mapping[str, Any]]] = {}
    for thing in things:
        key = tuple(thing[name] for name in names)
        groups.setdefault(key if len(names) > 1 else key[0], []).append(thing)
    return groups
