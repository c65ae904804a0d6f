"""What the columns of a table are: the id of the sample, its class, or features."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas

from manyview._utils.formats import name_without_extension
from manyview.exceptions import FileFormatError
from manyview.io._common import Options, Part, text_array_of_blocks
from manyview.io._tables import BLOCK, ID_COLUMNS, Table, in_blocks, is_numeric, listed, load_table, numbers_in
from manyview.io._variables import plain_key

LABEL_COLUMNS = frozenset(["label", "labels", "truelabel", "truelabels", "class", "classes", "groundtruth"])
"""Columns with these names hold classes. Fewer than in a .mat: a ``y`` in a table may be a coordinate."""


def read_table(path: Path, options: Options) -> Part:
    """Read one view, with the ids and the classes that are among its columns."""
    table = load_table(path, options)
    id_at = _find_ids(table, options)
    label_at = _find_labels(table, options.label_column, id_at)
    features = [column for column in range(len(table.names)) if column not in (id_at, label_at)]
    return Part(
        str(path),
        (_numbers(table, features),),
        (name_without_extension(path),),
        ids=_ids(table, id_at),
        labels=None if label_at is None else _labels(table, label_at),
        columns=tuple(table.names),
    )


def read_table_labels(path: Path, options: Options) -> Part:
    """Read a table of classes: one column, besides the ids, or the one that its name or the caller tells."""
    table = load_table(path, options)
    id_at = _find_ids(table, options)
    rest = [column for column in range(len(table.names)) if column != id_at]
    only = rest[0] if len(rest) == 1 and options.label_column is None else None
    label_at = _find_labels(table, options.label_column, id_at) if only is None else only
    if label_at is None:
        raise FileFormatError(
            f"{path}: expected one column of labels, besides the ids. It has the columns "
            f"{listed(table.names)}. "
            "Pass label_column= (and id_column= if the ids were not recognised)."
        )
    return Part(str(path), ids=_ids(table, id_at), labels=_labels(table, label_at), columns=tuple(table.names))


def _find_ids(table: Table, options: Options) -> int | None:
    """The column named by the caller; else the first, if its name says so or it holds distinct texts."""
    if options.id_column is not None:
        if table.names.count(options.id_column) != 1:
            raise FileFormatError(
                f"{table.path}: expected one column {options.id_column!r} (id_column). "
                f"It has the columns {listed(table.names)}."
            )
        return table.names.index(options.id_column)
    if len(table.names) < 2 or table.names[0] == options.label_column:
        return None
    first = table.frame[0]
    is_id = plain_key(table.names[0]) in ID_COLUMNS or (_is_text(first) and _is_unique(first))
    return 0 if is_id else None


def _find_labels(table: Table, label_column: str | None, id_at: int | None) -> int | None:
    """The column named by the caller, else one with a usual name."""
    places = [column for column in range(len(table.names)) if column != id_at]
    if label_column is not None:
        found = [column for column in places if table.names[column] == label_column]
    else:
        found = [column for column in places if plain_key(table.names[column]) in LABEL_COLUMNS]
    if len(found) > 1:
        raise FileFormatError(
            f"{table.path}: more than one column could hold the labels: "
            f"{listed([table.names[column] for column in found])}. Pass label_column= to choose."
        )
    return found[0] if found else None


def _ids(table: Table, column: int | None) -> np.ndarray | None:
    """The ids as text, so that 7 in one file is 7 in another, whatever types the formats have."""
    if column is None:
        return None
    _check_complete(table, column, "an id")
    ids = _texts(table, column)
    if not _differ((ids[start : start + BLOCK].tolist() for start in range(0, len(ids), BLOCK)), len(ids)):
        kinds, first, counts = np.unique(ids, return_index=True, return_counts=True)
        repeated = np.flatnonzero(counts > 1)
        if len(repeated):
            example = repeated[np.argmin(first[repeated])]
            raise FileFormatError(
                f"{table.path}: id {str(kinds[example])!r} occurs {counts[example]} times in column "
                f"{table.names[column]!r}; {len(repeated)} id(s) are repeated. Every sample needs an id of its own."
            )
    return ids


def _labels(table: Table, column: int) -> np.ndarray:
    _check_complete(table, column, "a class")
    values = numbers_in(table.frame[column])
    return _as_numpy(values) if is_numeric(values) else _texts(table, column)


def _texts(table: Table, column: int) -> np.ndarray:
    values = table.frame[column]
    return text_array_of_blocks(lambda: ([str(one) for one in block] for block in in_blocks(values)), table.path)


def _differ(blocks: Iterable[Iterable[str]], n_texts: int) -> bool:
    """Whether no text occurs twice. True is certain; two texts can have one hash, about once in 10^19 pairs."""
    hashes = np.fromiter((hash(text) for block in blocks for text in block), dtype=np.int64, count=n_texts)
    hashes.sort()
    return bool((hashes[1:] != hashes[:-1]).all())


def _is_unique(values: Any) -> bool:
    return _differ(in_blocks(values), len(values)) or bool(values.is_unique)


def _check_complete(table: Table, column: int, what: str) -> None:
    missing = np.flatnonzero(table.frame[column].isna())
    if len(missing):
        raise FileFormatError(
            f"{table.path}: column {table.names[column]!r} is empty for {len(missing)} sample(s), first in row "
            f"{missing[0]}; expected {what} for each."
        )


def _numbers(table: Table, features: list[int]) -> np.ndarray:
    """The features as one array; empty cells are NaN, for `check_views` to complain about."""
    columns = {column: numbers_in(table.frame[column]) for column in features}
    text = [table.names[column] for column, values in columns.items() if not is_numeric(values)]
    if text:
        raise FileFormatError(
            f"{table.path}: expected numbers, but {len(text)} column(s) hold something else: {listed(text)}. "
            "Pass id_column= or label_column= if that is what they are, else encode or remove them."
        )
    if not features or table.frame.empty:
        raise FileFormatError(f"{table.path}: no features: {len(table.frame)} samples, columns {listed(table.names)}.")
    return np.column_stack([_as_numpy(values) for values in columns.values()])


def _as_numpy(values: Any) -> np.ndarray:
    """Types of pandas' own have a mark for gaps; of NumPy's, only float can hold them."""
    if isinstance(values.dtype, np.dtype):
        return np.asarray(values)
    return np.asarray(values.to_numpy(dtype=float, na_value=np.nan))


def _is_text(values: Any) -> bool:
    """Whether every value is text that is not a number."""
    if is_numeric(values) or values.isna().any():
        return False
    return all(pandas.to_numeric(block, errors="coerce").isna().all() for block in in_blocks(values))
