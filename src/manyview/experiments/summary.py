"""From results to one plain dict, from which all tables, pages and files are made."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from manyview._utils.text import plain
from manyview.experiments._figures import curves_of, growth_of, pictures_of
from manyview.experiments._model import ABSENT, SHUFFLED, STATUSES, Cell, CellResult, Dataset, DatasetFacts, Part, Spec
from manyview.experiments._order import order_audit
from manyview.experiments._outcomes import WAITING, Outcomes
from manyview.experiments._ranking import ranking_of
from manyview.experiments._tables import is_generated, tables_of


def summarise(
    spec: Spec,
    results: Mapping[str, CellResult],
    datasets: Mapping[str, DatasetFacts],
    runs: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Bring all results of a spec into one dict of plain values, as JSON can hold them.

    Parameters
    ----------
    spec : Spec
        What was asked for.
    results : dict of CellResult
        By the key of the cell; cells without one wait.
    datasets : dict of DatasetFacts
        By name, at least for all datasets with results.
    runs : list of dict
        The runs of the store; those are kept that did a cell of the spec, and of several with the same versions on the
        same machine the first.

    Returns
    -------
    dict
        ``spec``, ``cells`` (how many ended how), ``runs``, ``datasets``, ``parts`` (tables, curves, growth,
        pictures), ``order_audit`` (file order against shuffled rows), ``ranking`` and ``scatter`` (time, memory and
        accuracy), both of shuffled rows. Scores are means and deviations over runs, computed from the labels;
        NMI is divided by the larger entropy.

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
    did = {result.run for result in map(outcomes.__getitem__, cells) if result is not None}
    return plain(
        {
            "spec": {"name": spec.name, "title": spec.title},
            "cells": _counts(cells, outcomes),
            "runs": distinct_runs([run for run in runs if run["id"] in did]),
            "datasets": shown,
            "parts": parts,
            "order_audit": order_audit(spec.parts, outcomes),
            "ranking": ranking_of(tables, {dataset["name"] for dataset in shown if dataset["generated"]}),
            "scatter": _scatter(tables),
        }
    )


def distinct_runs(runs: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """One run for each environment: a spec that was stopped and went on many times is not many experiments."""
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
        return head | {"tables": tables_of(part, outcomes)}
    if part.kind == "sweep":
        name, label = next(iter(part.axes.items()))
        return head | {
            "axis": {"name": name, "label": label},
            "curves": curves_of(part, outcomes),
            "stated": part.stated,
        }
    if part.kind == "growth":
        return head | {"growth": growth_of(part, outcomes)}
    return head | {"pictures": pictures_of(part, outcomes)}


def _datasets(
    spec: Spec, cells: Sequence[Cell], outcomes: Outcomes, facts: Mapping[str, DatasetFacts]
) -> list[dict[str, Any]]:
    """Of all parts but growth, whose generated data is described by its axes."""
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
        "generated": is_generated(dataset),
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
