"""Bringing the samples of several files together: by id where all files have ids, else by position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from manyview.exceptions import FileFormatError
from manyview.io._common import Part


def joined(parts: Sequence[Part], how: str) -> tuple[list[Part], np.ndarray | None]:
    """Return the parts with the same samples in the same order, that of the first, and their ids if known.

    Parameters
    ----------
    parts : sequence of Part
        One per file.
    how : {"exact", "inner"}
        For ids: whether every file must have all of them, or the samples that are in all files are kept.
    """
    first = parts[0].ids
    if first is None or any(part.ids is None for part in parts):
        return list(parts), _by_position(parts)
    lookups = [{id_: row for row, id_ in enumerate(part.ids.tolist())} for part in parts if part.ids is not None]
    if how == "exact":
        for part, lookup in zip(parts, lookups, strict=True):
            _check_same_ids(parts[0], lookups[0], part, lookup)
    kept = [id_ for id_ in first.tolist() if all(id_ in lookup for lookup in lookups)]
    if not kept:
        raise FileFormatError(f"{', '.join(part.source for part in parts)}: no id occurs in all of these files.")
    rows = [np.array([lookup[id_] for id_ in kept]) for lookup in lookups]
    return [_take(part, pick) for part, pick in zip(parts, rows, strict=True)], np.array(kept)


def _by_position(parts: Sequence[Part]) -> np.ndarray | None:
    """Check that the rows of all parts can be the same samples; return the ids if some file has them."""
    for part in parts:
        if part.n_rows != parts[0].n_rows:
            raise FileFormatError(
                f"{part.source}: {part.n_rows} samples, but {parts[0].source} has {parts[0].n_rows}. "
                "Without ids in every file, rows are joined by position, so there must be equally many."
            )
    known = [part for part in parts if part.ids is not None]
    for part in known:
        if not np.array_equal(part.ids, known[0].ids):  # type: ignore[arg-type]
            without = next(other for other in parts if other.ids is None)
            raise FileFormatError(
                f"{part.source}: its ids differ from those of {known[0].source}, or their order does, and "
                f"{without.source} has no ids to tell which of the two it follows."
            )
    return known[0].ids if known else None


def _check_same_ids(first: Part, expected: dict[str, int], part: Part, found: dict[str, int]) -> None:
    missing = [id_ for id_ in expected if id_ not in found]
    extra = [id_ for id_ in found if id_ not in expected]
    told = []
    if missing:
        told.append(f"{len(missing)} of the {len(expected)} ids in {first.source} are missing ({_some(missing)})")
    if extra:
        told.append(f"{len(extra)} ids are not in {first.source} ({_some(extra)})")
    if told:
        raise FileFormatError(
            f"{part.source}: {'; '.join(told)}. Pass join='inner' to keep the samples that are in all files."
        )


def _some(ids: list[str]) -> str:
    return ", ".join(ids[:3]) + (", ..." if len(ids) > 3 else "")


def _take(part: Part, rows: np.ndarray) -> Part:
    def pick(values: Any) -> Any:
        unchanged = len(rows) == values.shape[0] and np.array_equal(rows, np.arange(len(rows)))
        return values if unchanged else values[rows]

    labels = None if part.labels is None else pick(part.labels)
    return Part(part.source, tuple(map(pick, part.arrays)), part.names, labels=labels, columns=part.columns)
