"""Tables of scores, one per dataset: published | file order | shuffled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from manyview.experiments._model import DONE, FAILED, MEMORY, PROTOCOLS, Dataset, Part, Row
from manyview.experiments._outcomes import Outcomes

PUBLISHED = "published"
COLUMNS = (PUBLISHED, *PROTOCOLS)
"""The columns of a table, in the order in which they are always shown."""

DIGITS = 3
"""Decimals of scores in tables. What looks equal there counts as equal."""


def tables_of(part: Part, outcomes: Outcomes) -> list[dict[str, Any]]:
    """One table per dataset of a part of kind "table"."""
    return [_table(part, dataset, outcomes) for dataset in part.datasets]


def _table(part: Part, dataset: Dataset, outcomes: Outcomes) -> dict[str, Any]:
    rows = [_row(part, dataset, row, outcomes) for row in part.rows.get(dataset.name, ())]
    return {
        "dataset": dataset.name,
        "stand_in_for": dataset.stand_in_for,
        "rows": rows,
        "best": {column: _best(rows, column, part.scores) for column in COLUMNS},
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
        "note": row.note,
        "view": row.view,
        "parameters": {**row.parameters, **row.per_dataset.get(dataset.name, {})},
        PUBLISHED: _published(part, dataset, row),
        **measured,
    }


def is_generated(dataset: Dataset) -> bool:
    """Whether its values are drawn at random instead of observed."""
    return "generate" in dataset.source


def _published(part: Part, dataset: Dataset, row: Row) -> dict[str, Any] | None:
    """What the paper's table says; None for a dataset that is not the paper's."""
    value = part.published.get(dataset.name, {}).get(row.name)
    if value is None or dataset.stand_in_for is not None or is_generated(dataset):
        return None
    if isinstance(value, str):
        return {"status": MEMORY if value == "OM" else FAILED, "reason": value}
    scores = {name: {"mean": mean, "std": std} for name, (mean, std) in value.items()}
    return {"status": DONE, "runs": None, "scores": scores, "seconds": None, "peak_bytes": None}


def _best(rows: list[dict[str, Any]], column: str, scores: tuple[str, ...]) -> dict[str, list[str]]:
    """The rows with the highest mean of each score, all that look equal to it."""
    best = {}
    for score in scores:
        means = {row["name"]: shown_mean(row[column], score) for row in rows}
        known = {name: mean for name, mean in means.items() if mean is not None}
        best[score] = [name for name, mean in known.items() if mean == max(known.values())]
    return best


def shown_mean(result: Mapping[str, Any] | None, score: str) -> float | None:
    """The mean of a score as tables show it, None if there is none."""
    if result is None or score not in result.get("scores", {}):
        return None
    return round(result["scores"][score]["mean"], DIGITS)
