"""From results to one plain dict with the contents of all tables and figures, for pages, files and terminals."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from manyview._utils.text import plain
from manyview.experiments._model import (
    ABSENT,
    DONE,
    FAILED,
    MEMORY,
    PROTOCOLS,
    SHUFFLED,
    STATUSES,
    Cell,
    CellResult,
    Dataset,
    DatasetFacts,
    Entry,
    Part,
    Row,
    Spec,
)
from manyview.experiments._outcomes import WAITING, Outcomes, mean_and_deviation
from manyview.experiments.differences import differences
from manyview.experiments.statistics import order_audit, ranking_of
from manyview.experiments.wording import COLUMNS, PUBLISHED, shown_mean
from manyview.metrics import SCORES

_IMAGE_DIGITS = 4  # decimals of the values of a picture: colours show fewer


def summarise(
    spec: Spec,
    results: Mapping[str, CellResult],
    datasets: Mapping[str, DatasetFacts],
    runs: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Collect all results of a spec in one dict of plain values that JSON can hold.

    Parameters
    ----------
    spec : Spec
        The experiment.
    results : dict of CellResult
        By the key of the cell; cells without one count as waiting.
    datasets : dict of DatasetFacts
        By name, at least for all datasets with results.
    runs : list of dict
        The runs of the store. Only those with a cell of the spec are shown, and of several with the same versions on
        the same machine only the first.

    Returns
    -------
    dict
        ``spec``, ``cells`` (how many ended how), ``runs``, ``datasets``, ``parts`` (tables, curves, growth,
        pictures), ``order_audit`` (file order against shuffled rows), ``differences`` (of one method to the others,
        with intervals), ``ranking`` and ``scatter`` (time, memory and accuracy), all three of shuffled rows. Scores
        are means and deviations over runs, computed from the labels; NMI is divided by the larger entropy.

    Examples
    --------
    >>> from manyview.experiments._model import Spec
    >>> from manyview.experiments.summary import summarise
    >>> summarise(Spec("empty", "Nothing yet", ()), {}, {}, [])["cells"]["asked"]
    0
    """
    outcomes = Outcomes(results, datasets)
    cells = list({entry.cell.key: entry.cell for part in spec.parts for entry in part.entries}.values())
    parts = [_part(part, outcomes) for part in spec.parts]
    tables = [table for part in parts for table in part.get("tables", ())]
    shown = _datasets(spec, cells, outcomes, datasets)
    generated = {dataset["name"] for dataset in shown if dataset["generated"]}
    did = {result.run for result in map(outcomes.__getitem__, cells) if result is not None}
    return plain(
        {
            "spec": {"name": spec.name, "title": spec.title},
            "cells": _counts(cells, outcomes),
            "runs": distinct_runs([run for run in runs if run["id"] in did]),
            "datasets": shown,
            "parts": parts,
            "order_audit": order_audit(spec.parts, outcomes),
            "differences": differences(spec.parts, outcomes, generated),
            "ranking": ranking_of(tables, generated),
            "scatter": _scatter(tables),
        }
    )


def distinct_runs(runs: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Keep one run for each environment: a run that was stopped and continued counts once."""
    found: dict[str, Mapping[str, Any]] = {}
    for run in runs:
        made_with = {name: value for name, value in run.items() if name not in ("id", "started")}
        found.setdefault(json.dumps(made_with, sort_keys=True), run)
    return list(found.values())


def _counts(cells: Sequence[Cell], outcomes: Outcomes) -> dict[str, int]:
    ended = Counter(outcomes.status(cell) for cell in cells)
    return {"asked": len(cells), **{status: ended[status] for status in (*STATUSES, WAITING)}}


def _part(part: Part, outcomes: Outcomes) -> dict[str, Any]:
    head = {name: getattr(part, name) for name in ("name", "kind", "title", "source", "note", "scores")}
    if part.kind == "table":
        return head | {"tables": _tables(part, outcomes)}
    if part.kind == "sweep":
        name, label = next(iter(part.axes.items()))
        return head | {
            "axis": {"name": name, "label": label},
            "curves": _curves(part, outcomes),
            "stated": part.stated,
        }
    if part.kind == "growth":
        return head | {"growth": _growth(part, outcomes)}
    return head | {"pictures": _pictures(part, outcomes)}


def _datasets(
    spec: Spec, cells: Sequence[Cell], outcomes: Outcomes, facts: Mapping[str, DatasetFacts]
) -> list[dict[str, Any]]:
    """Describe the datasets of all parts but growth, whose generated data is described by its axes."""
    shown = {dataset.name: dataset for part in spec.parts if part.kind != "growth" for dataset in part.datasets}
    missing = {
        cell.dataset: result.reason
        for cell, result in ((cell, outcomes[cell]) for cell in cells)
        if result is not None and result.status == ABSENT
    }
    return [_dataset(dataset, facts.get(name), missing.get(name)) for name, dataset in shown.items()]


def _dataset(dataset: Dataset, facts: DatasetFacts | None, absent: str | None) -> dict[str, Any]:
    return {
        "name": dataset.name,
        "stand_in_for": dataset.stand_in_for,
        "generated": _is_generated(dataset),
        "n_samples": None if facts is None else facts.n_samples,
        "n_classes": None if facts is None else facts.n_classes,
        "views": [] if facts is None else facts.views,
        "sorted_by_class": None if facts is None else facts.sorted_by_class,
        "fingerprint": None if facts is None else facts.fingerprint,
        "absent": absent if facts is None else None,
    }


def _scatter(tables: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    points = {}
    for table in tables:
        for row in table["rows"]:
            found = row[SHUFFLED]
            if row["view"] is None and found is not None and "scores" in found:
                points[table["dataset"], row["name"]] = {
                    "dataset": table["dataset"],
                    "row": row["name"],
                    "estimator": row["estimator"],
                    "seconds": found["seconds"],
                    "peak_bytes": found["peak_bytes"],
                    "acc": found["scores"]["acc"]["mean"],
                }
    return list(points.values())


# Tables --------------------------------------------------------------------------------------------------------------


def _tables(part: Part, outcomes: Outcomes) -> list[dict[str, Any]]:
    """Return the tables of a part of kind "table", one per dataset: published | file order | shuffled."""
    return [_table(part, dataset, outcomes) for dataset in part.datasets]


def _table(part: Part, dataset: Dataset, outcomes: Outcomes) -> dict[str, Any]:
    rows = [_row(part, dataset, row, outcomes) for row in part.rows.get(dataset.name, ())]
    return {
        "dataset": dataset.name,
        "stand_in_for": dataset.stand_in_for,
        "rows": rows,
        "best": {column: _best(rows, column, SCORES) for column in COLUMNS},
    }


def _row(part: Part, dataset: Dataset, row: Row, outcomes: Outcomes) -> dict[str, Any]:
    entries = [entry for entry in part.entries if (entry.dataset, entry.row) == (dataset.name, row.name)]
    measured = {
        protocol: outcomes.combined([entry.cell for entry in entries if entry.cell.protocol == protocol])
        for protocol in PROTOCOLS
    }
    return {
        "name": row.name,
        "estimator": row.estimator,
        "code": row.code,
        "note": row.note,
        "view": row.view,
        "parameters": {**row.parameters, **row.per_dataset.get(dataset.name, {})},
        PUBLISHED: _published(part, dataset, row),
        **measured,
    }


def _is_generated(dataset: Dataset) -> bool:
    return "generate" in dataset.source


def _published(part: Part, dataset: Dataset, row: Row) -> dict[str, Any] | None:
    """Return the paper's values; None for a dataset that is not the paper's."""
    value = part.published.get(dataset.name, {}).get(row.name)
    if value is None or dataset.stand_in_for is not None or _is_generated(dataset):
        return None
    if isinstance(value, str):
        return {"status": MEMORY if value == "OM" else FAILED, "reason": value}
    scores = {name: {"mean": mean, "std": std} for name, (mean, std) in value.items()}
    return {"status": DONE, "runs": None, "scores": scores, "seconds": None, "peak_bytes": None}


def _best(rows: list[dict[str, Any]], column: str, scores: tuple[str, ...]) -> dict[str, list[str]]:
    """Return the rows with the highest mean of each score, as tables show it; several if they are equal."""
    best = {}
    for score in scores:
        means = {row["name"]: shown_mean(row[column], score) for row in rows}
        known = {name: mean for name, mean in means.items() if mean is not None}
        if known:
            best[score] = [name for name, mean in known.items() if mean == max(known.values())]
    return best


# Figures -------------------------------------------------------------------------------------------------------------


def _curves(part: Part, outcomes: Outcomes) -> list[dict[str, Any]]:
    """Return the scores of a sweep over the parameter, a curve for each dataset, row and protocol."""
    curves: dict[tuple[str, str, str], list[Entry]] = {}
    for entry in sorted(part.entries, key=lambda entry: PROTOCOLS.index(entry.cell.protocol)):
        curves.setdefault((entry.dataset, entry.row, entry.cell.protocol), []).append(entry)
    return [
        {
            "dataset": dataset,
            "row": row,
            "protocol": protocol,
            "points": [{"x": x, **(outcomes.combined(cells) or {})} for x, cells in _by_value(entries)],
        }
        for (dataset, row, protocol), entries in curves.items()
    ]


def _growth(part: Part, outcomes: Outcomes) -> list[dict[str, Any]]:
    """Return the time of fits over each axis, and the exponent that fits it, with the stated one."""
    lines: dict[tuple[str, str], list[Entry]] = {}
    for entry in part.entries:
        lines.setdefault((entry.row, entry.axis or ""), []).append(entry)
    found = []
    for (row, axis), entries in lines.items():
        points = [_time(x, cells, outcomes) for x, cells in _by_value(entries)]
        fastest = [(point["x"], point["seconds"]["min"]) for point in points if "seconds" in point]
        found.append(
            {
                "row": row,
                "axis": axis,
                "label": part.axes.get(axis, axis),
                "points": points,
                "exponent": _exponent(fastest),
                "stated": part.stated.get(row, {}).get(axis),
            }
        )
    return found


def _pictures(part: Part, outcomes: Outcomes) -> list[dict[str, Any]]:
    """Return every stored picture of graphs."""
    return [
        {
            "dataset": entry.dataset,
            "row": entry.row,
            "protocol": cell.protocol,
            "name": name,
            "image": np.round(np.asarray(image, dtype=float), _IMAGE_DIGITS).tolist(),
            "acc": outcomes.scores(cell)["acc"],
        }
        for entry in part.entries
        for cell, result in outcomes.done([entry.cell])
        for name, image in result.pictures.items()
    ]


def _by_value(entries: Sequence[Entry]) -> list[tuple[float, list[Cell]]]:
    """Group cells by their value on the axis, in increasing order."""
    by_value: dict[float, list[Cell]] = {}
    for entry in entries:
        if entry.value is None:
            raise ValueError(f"{entry.part}: the entry of {entry.row!r} on {entry.dataset!r} has no value on the axis.")
        by_value.setdefault(float(entry.value), []).append(entry.cell)
    return sorted(by_value.items())


def _time(x: float, cells: Sequence[Cell], outcomes: Outcomes) -> dict[str, Any]:
    times = [result.seconds for _, result in outcomes.done(cells) if result.seconds is not None]
    if not times:
        return {"x": x, "reason": "not run yet", **outcomes.without_result(cells)}
    return {"x": x, "seconds": {**mean_and_deviation(times), "min": min(times)}, "runs": len(times)}


def _exponent(points: Sequence[tuple[float, float]]) -> float | None:
    """Fit the slope of log(time) over log(x). The time is the minimum over seeds: other processes only add to it."""
    usable = [(x, time) for x, time in points if x > 0 and time > 0]
    if len(usable) < 2:
        return None
    x, time = np.log(np.array(usable)).T
    return float(np.polyfit(x, time, 1)[0])
