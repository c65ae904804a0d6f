"""Joining the samples of several files: by id where all files have ids, else by position."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas

from manyview.exceptions import FileFormatError
from manyview.io._common import Part, some, without_gaps
from manyview.io._ids import loosened
from manyview.views.joins import holds, spread, unite_ids


def joined(parts: Sequence[Part], how: str) -> tuple[list[Part], np.ndarray | None]:
    """Return the parts with the same samples in the same order, that of the first, and their ids if known.

    Parameters
    ----------
    parts : sequence of Part
        One per file with views.
    how : {"exact", "inner", "outer"}
        For ids: whether every file must have all of them, the samples that are in all files are kept, or those that
        are in some file with views.
    """
    first = parts[0].ids
    if first is None or any(part.ids is None for part in parts):
        return list(parts), _by_position(parts)
    if how == "outer":
        return _outer(parts)
    if len(parts) == 1:  # no lookup needed, for which every id would become a Python string
        return list(parts), first
    lookups = [{id_: row for row, id_ in enumerate(part.ids.tolist())} for part in parts if part.ids is not None]
    if how == "exact":
        for part, lookup in zip(parts, lookups, strict=True):
            _check_same_ids(parts[0], lookups[0], part, lookup)
    kept = [id_ for id_ in first.tolist() if all(id_ in lookup for lookup in lookups)]
    if not kept:
        sources = ", ".join(part.source for part in parts)
        raise FileFormatError(f"{sources}: no id occurs in all of these files.{_offer_any(parts)}")
    rows = [np.array([lookup[id_] for id_ in kept]) for lookup in lookups]
    return [_take(part, pick) for part, pick in zip(parts, rows, strict=True)], np.array(kept)


def matched_by(parts: Sequence[Part]) -> str | None:
    """Describe how the rows of the files were matched: by which ids, or by position; None for one file."""
    if len(parts) < 2:
        return None
    views = [part for part in parts if part.arrays]
    if any(part.ids is None for part in views):
        return "position"
    names = dict.fromkeys(part.id_name for part in parts if part.ids is not None)
    columns = ", ".join(f"`{name}`" for name in names if name)
    sources = [
        *([f"id {columns}"] if columns else []),
        *(["ids in the first column"] if "" in names else []),
        *(["names in the first line" if columns else "ids in the first line"] if None in names else []),
    ]
    shown = " and ".join(sources)
    if any(part.ids is None for part in parts):
        return f"{shown}, labels by position" if len(views) > 1 else "position"
    return shown


def agreed_labels(parts: Sequence[Part]) -> np.ndarray | None:
    """Return the labels of the samples from all parts with labels, None for samples without one.

    Where two parts have the label of a sample, they must agree.
    """
    labelled = [part for part in parts if part.labels is not None]
    if not labelled:
        return None
    labels, known = np.asarray(labelled[0].labels), _labelled(labelled[0])
    for part in labelled[1:]:
        more, both = np.asarray(part.labels), known & _labelled(part)
        if not np.array_equal(more[both], labels[both]):
            raise FileFormatError(
                f"{part.source}: its labels differ from those in {labelled[0].source}. "
                "Pass labels= with the file of the right ones."
            )
        labels = np.where(known, labels, more)
        known = known | _labelled(part)
    return without_gaps(labels, known)


def _labelled(part: Part) -> np.ndarray:
    """Return which samples have a label in this part."""
    known = ~pandas.isna(np.asarray(part.labels))
    return known if part.present is None else known & part.present


def _outer(parts: Sequence[Part]) -> tuple[list[Part], np.ndarray]:
    """Join on the union of the ids."""
    ids, rows = unite_ids([part.ids for part in parts], [part.source for part in parts])
    with_views = [own for part, own in zip(parts, rows, strict=True) if part.arrays]
    n = 1 + max(int(own.max()) for own in with_views)
    if len(with_views) > 1 and n == sum(map(len, with_views)):
        sources = ", ".join(part.source for part in parts if part.arrays)
        raise FileFormatError(
            f"{sources}: no id occurs in more than one of these files. Are they spelt alike?{_offer_any(parts)}"
        )
    spread_parts = []
    for part, own in zip(parts, rows, strict=True):
        kept = own < n
        spread_parts.append(
            replace(
                part,
                arrays=tuple(spread(array, own, n) for array in part.arrays),
                ids=None,
                labels=None if part.labels is None else spread(part.labels[kept], own[kept], n),
                present=holds(own[kept], n),
            )
        )
    return spread_parts, ids[:n]


def _by_position(parts: Sequence[Part]) -> np.ndarray | None:
    """Check that the rows of all parts can be the same samples; return the ids if a file has them."""
    for part in parts:
        if part.n_rows != parts[0].n_rows:
            without = next(other for other in parts if other.ids is None)
            raise FileFormatError(
                f"{part.source}: {part.n_rows} samples, but {parts[0].source} has {parts[0].n_rows}. "
                "Without ids in every file, rows are joined by position, so there must be equally many. "
                f"{without.source} has no ids; pass id_column= if one of its columns holds them."
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
    differences = []
    if missing:
        differences.append(f"{len(missing)} of the {len(expected)} ids in {first.source} are missing ({some(missing)})")
    if extra:
        differences.append(f"{len(extra)} ids are not in {first.source} ({some(extra)})")
    if differences:
        keep = (
            " Pass join='inner' to keep the samples that are in all files, or join='outer' to keep all, some without "
            "all views."
        )
        if len(missing) == len(expected):
            keep = " No id is in both files: does id_column= name the column of the ids in each of them?"
        raise FileFormatError(f"{part.source}: {'; '.join(differences)}.{offer_loose(expected, found) or keep}")


def loosen(parts: Sequence[Part]) -> tuple[list[Part], dict[str, str]]:
    """Return the parts with ids normalised for loose matching, and the first spelling of each id.

    Raises
    ------
    FileFormatError
        If two samples of a file then have the same id.
    """
    written: dict[str, str] = {}
    loose = []
    for part in parts:
        if part.ids is None:
            loose.append(part)
            continue
        own: dict[str, str] = {}
        for id_ in part.ids.tolist():
            key = loosened(id_)
            if key in own:
                raise FileFormatError(
                    f"{part.source}: the ids {own[key]!r} and {id_!r} are the same if '.', '_' and '-' are, if small "
                    "and capital letters are, and if a '-1' at the end is left out. Leave out match_ids='loose', and "
                    "make the ids of all files alike."
                )
            own[key] = id_
        loose.append(replace(part, ids=np.array(list(own))))
        written = own | written
    return loose, written


def offer_loose(one: Iterable[str], other: Iterable[str]) -> str:
    """Return a hint that more ids match loosely, with an example; empty if none do."""
    first, second = ({loosened(id_): id_ for id_ in ids} for ids in (one, other))
    pairs = [(first[key], second[key]) for key in first if key in second and first[key] != second[key]]
    if not pairs:
        return ""
    return (
        f" {len(pairs)} of these ids match if '.', '_' and '-' are taken for the same, small and capital letters, too, "
        f"and a '-1' at the end is left out, such as {pairs[0][0]!r} and {pairs[0][1]!r}: pass match_ids='loose' if "
        "these are the same samples."
    )


def _offer_any(parts: Sequence[Part]) -> str:
    offers = (offer_loose(parts[0].ids.tolist(), part.ids.tolist()) for part in parts[1:])  # type: ignore[union-attr]
    return next((offer for offer in offers if offer), "")


def _take(part: Part, rows: np.ndarray) -> Part:
    def pick(values: Any) -> Any:
        unchanged = len(rows) == values.shape[0] and np.array_equal(rows, np.arange(len(rows)))
        return values if unchanged else values[rows]

    labels = None if part.labels is None else pick(part.labels)
    return replace(part, arrays=tuple(map(pick, part.arrays)), ids=None, labels=labels)
