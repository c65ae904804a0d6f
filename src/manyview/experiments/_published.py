"""What a spec says about the paper: published values of tables, and statements about figures."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from manyview.experiments._model import Dataset, Row
from manyview.experiments._toml import Table

Rows = dict[str, tuple[Row, ...]]
"""The rows of a part, by the name of the dataset."""


def published_values(
    table: Table, datasets: tuple[Dataset, ...], rows: Rows, scores: tuple[str, ...]
) -> dict[str, Any]:
    """``[published.DATASET]``: for each row ``mean±deviation`` of all scores, or what the paper says instead."""
    found: dict[str, Any] = {}
    real = [dataset.name for dataset in datasets if dataset.stand_in_for is None]
    for dataset, given in table.tables("published"):
        given.check_choice("published", dataset, real)
        found[dataset] = {}
        for row, text in given.items().items():
            given.check_choice(row, row, [known.name for known in rows[dataset]])
            found[dataset][row] = _values(given, row, text, scores)
    return found


def _values(table: Table, row: str, text: Any, scores: tuple[str, ...]) -> dict[str, Any] | str:
    if not isinstance(text, str):
        raise table.error(row, f"expected a text, mean±deviation of each score, got {text!r}.")
    words = text.split()
    if not any(character.isdigit() for character in text):
        return text
    if len(words) != len(scores):
        raise table.error(row, f"expected {len(scores)} values, one per score, got {len(words)}.")
    try:
        pairs = [word.partition("±") for word in words]
        return {
            score: (float(mean), float(deviation) if deviation else None)
            for score, (mean, _, deviation) in zip(scores, pairs, strict=True)
        }
    except ValueError:
        raise table.error(row, f"expected numbers, mean±deviation, got {text!r}.") from None


def stated_values(table: Table, kind: str, rows: Rows, axes: Collection[str]) -> dict[str, Any]:
    """What the text says about the figure: best values by dataset, or exponents by row and axis."""
    if kind != "growth":
        given = table.table("stated")
        best = given.items()
        for dataset in best:
            given.check_choice(dataset, dataset, rows)
        return best
    exponents = {}
    for row, given in table.tables("stated"):
        given.check_choice("stated", row, {line.name for lines in rows.values() for line in lines})
        exponents[row] = given.items()
        for axis in exponents[row]:
            given.check_choice(axis, axis, axes)
    return exponents
