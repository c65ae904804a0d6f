"""Classification of the columns of tables: ids of the samples, classes, or features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas

from manyview._utils.formats import extension_of, name_without_extension
from manyview._utils.text import did_you_mean, plain_key, shortened
from manyview.exceptions import FileFormatError
from manyview.io._annotations import LabelSource
from manyview.io._common import Options, Part, text_array_of_blocks, without_gaps
from manyview.io._ids import all_differ, choose_ids, find_label_ids, key_numbers, row_numbers
from manyview.io._numbers import is_missing, is_number
from manyview.io._selection import check_some_left, fits
from manyview.io._table_files import BLOCK, Table, in_blocks, is_numeric, listed, load_table, numbers_in
from manyview.io._variables import is_whole
from manyview.views.suspects import LABEL_COLUMNS

# Columns that an error tells how to leave out, each by its name.
_MOST_NAMED = 5


def read_table(path: Path, options: Options) -> Part:
    """Load the table of one view. :func:`settle` classifies its columns, together with the other files."""
    table = load_table(path, options)
    return Part(str(path), table=table, notes=table.notes)


def settle(parts: Sequence[Part], options: Options, labels: Table | None = None) -> list[Part]:
    """Classify the columns of all tables as ids, classes and features, considering the tables together.

    Parameters
    ----------
    parts : sequence of Part
        The files with views; those without a table stay unchanged.
    options : Options
    labels : Table, optional
        The file of classes, if it is a table.
    """
    settled = list(parts)
    at = [i for i, part in enumerate(parts) if part.table is not None]
    others = [part.source for part in parts if part.table is None and part.ids is None]
    known = next((key_numbers(part.ids.tolist()) for part in parts if part.ids is not None), None)
    ids = choose_ids([parts[i].table for i in at], options, labels=labels, others=others, known=known)
    del parts
    for i, id_at in zip(at, ids, strict=True):  # in place, so that each table is freed once its numbers are extracted
        settled[i] = _settled(settled[i], id_at, options)
    return _names_only(settled) if options.id_column is False else settled


def _settled(part: Part, id_at: int | None, options: Options) -> Part:
    table = part.table if id_at is None else _with_texts(part.table, id_at, options)
    label_at = _find_labels(table, options.label_column, id_at)
    numbers_at = row_numbers(table)
    skipped = (id_at, label_at, numbers_at)
    told = f"{table.path.name}: left out the first column, which has no name and counts the rows"
    features = [
        column for column, name in enumerate(table.names) if column not in skipped and name not in options.left_out
    ]
    if options.only:
        kept = [column for column in features if fits(table.names[column], options.only)]
        check_some_left(table.path, [table.names[column] for column in features], len(kept), options.only)
        features = kept
    ids = _ids(table, id_at)
    return replace(
        part,
        arrays=(_numbers(table, features, ids),),
        names=(name_without_extension(table.path),),
        ids=ids,
        labels=None if label_at is None else _labels(table, label_at),
        columns=tuple(table.names),
        id_name=None if id_at is None else table.names[id_at],
        feature_names=tuple(table.names[column] for column in features),
        table=None,
        notes=part.notes if numbers_at in (None, id_at) else (*part.notes, told),
    )


def _with_texts(table: Table, id_at: int, options: Options) -> Table:
    """Return the table with its ids as written: pandas converts 007 to 7 in columns of numbers."""
    if not is_numeric(table.frame[id_at]) or extension_of(table.path) in (".parquet", ".xlsx"):
        return table
    name = table.names[id_at]
    again = load_table(table.path, replace(options, id_column=(name,)))
    frame = table.frame.copy(deep=False)
    frame[id_at] = again.frame[again.names.index(name)]
    return replace(table, frame=frame)


def _names_only(parts: list[Part]) -> list[Part]:
    """For rows matched by position, keep only the ids of the first file that has some, as names."""
    known = [part for part in parts if part.ids is not None]
    for part in known[1:]:
        same = np.array_equal(np.sort(known[0].ids), np.sort(part.ids))  # type: ignore[arg-type]
        if same and not np.array_equal(known[0].ids, part.ids):  # type: ignore[arg-type]
            raise FileFormatError(
                f"{part.source}: column {part.id_name!r} has the ids of {known[0].source} in another order, so row i "
                "is not the same sample in both. Leave out id_column=False, and rows are matched by these ids."
            )
    return [part if part is known[0] else replace(part, ids=None) for part in parts] if known else parts


def read_table_labels(path: Path, options: Options) -> Part:
    """Read a table of classes: the only column besides the ids, or the one chosen by name or by the caller."""
    table, options = _load_annotations(path, options)
    column, _ = LabelSource(path, options.chosen).columns(table.names)
    options = replace(options, label_column=column or options.label_column)
    id_at = find_label_ids(table, options)
    rest = [column for column in range(len(table.names)) if column != id_at]
    only = rest[0] if len(rest) == 1 and options.label_column is None else None
    label_at = _find_labels(table, options.label_column, id_at) if only is None else only
    if label_at is None and options.label_column is not None:
        raise FileFormatError(
            f"{path}: has no column {options.label_column!r} besides the ids. It has the columns {listed(table.names)}."
        )
    if label_at is None:
        raise FileFormatError(
            f"{path}: expected one column of labels, besides the ids. It has the columns "
            f"{listed(table.names)}. "
            f"Name it: labels='{path}:COLUMN', or labels='{path}:COLUMN@ID' if the ids were not recognised."
        )
    table = table if id_at is None else _with_texts(table, id_at, options)
    return Part(
        str(path),
        ids=_ids(table, id_at),
        labels=_labels(table, label_at),
        columns=tuple(table.names),
        label_name=table.names[label_at],
        id_name=None if id_at is None else table.names[id_at],
        notes=table.notes,
    )


def read_table_metadata(path: Path, options: Options) -> Part:
    """Read a table of facts about the samples: all columns besides the ids, or those that the caller chose.

    ``table`` of the part is a data frame with names, and ``labels`` are the numbers of its rows.
    """
    table, options = _load_annotations(path, options)
    chosen, _ = LabelSource(path, options.chosen).several(table.names)
    id_at = find_label_ids(table, replace(options, label_column=""))  # any column may be the id
    columns = [at for at in range(len(table.names)) if at not in (id_at, row_numbers(table))]
    for name in chosen or ():
        if name not in [table.names[at] for at in columns]:
            raise FileFormatError(
                f"{path}: has no column {name!r} besides the ids.{did_you_mean(name, table.names)} It has the columns "
                f"{listed(table.names)}."
            )
    columns = [at for at in columns if chosen is None or table.names[at] in chosen]
    if not columns:
        raise FileFormatError(f"{path}: has no column besides the ids, {listed(table.names)}; expected metadata.")
    names = [table.names[at] for at in columns]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise FileFormatError(f"{path}: {names.count(twice)} columns are called {twice!r}. Rename them.")
    table = table if id_at is None else _with_texts(table, id_at, options)
    frame = pandas.DataFrame({name: _facts(table.frame[at]) for name, at in zip(names, columns, strict=True)})
    return Part(
        str(path),
        ids=_ids(table, id_at),
        labels=np.arange(len(frame)),
        columns=tuple(table.names),
        id_name=None if id_at is None else table.names[id_at],
        table=frame,
    )


def _facts(values: Any) -> Any:
    """Return a column of metadata: numbers if all its cells are, whole ones as integers though cells may be empty."""
    found = numbers_in(values)
    is_float = isinstance(found.dtype, np.dtype) and found.dtype.kind == "f"
    return found.astype("Int64") if is_float and found.isna().any() and is_whole(found.dropna().to_numpy()) else found


def _load_annotations(path: Path, options: Options) -> tuple[Table, Options]:
    """Load a table of classes or metadata; the options have the column of its ids, if the caller named one."""
    source = LabelSource(path, options.chosen)
    named = (source.id_column,) if source.id_column else options.id_column
    table = load_table(path, replace(options, id_column=named))
    _, id_column = source.columns(table.names)
    if id_column is not None and id_column not in table.names:
        raise FileFormatError(
            f"{path}: has no column {id_column!r}, which is named after the @ as that of the ids."
            f"{did_you_mean(id_column, table.names)} It has the columns {listed(table.names)}."
        )
    return table, replace(options, id_column=(id_column,) if id_column else options.id_column)


def _find_labels(table: Table, label_column: str | None, id_at: int | None) -> int | None:
    """Return the column named by the caller, else one with a usual name."""
    others = [column for column in range(len(table.names)) if column != id_at]
    if label_column is not None:
        found = [column for column in others if table.names[column] == label_column]
    else:
        found = [column for column in others if plain_key(table.names[column]) in LABEL_COLUMNS]
    if len(found) > 1:
        raise FileFormatError(
            f"{table.path}: more than one column could hold the labels: "
            f"{listed([table.names[column] for column in found])}. Pass label_column= to choose."
        )
    return found[0] if found else None


def _ids(table: Table, column: int | None) -> np.ndarray | None:
    """Return the ids as text, so that 7 in one file is 7 in another, regardless of types."""
    if column is None:
        return None
    _check_complete(table, column, "an id")
    ids = _texts(table.path, table.frame[column])
    if not all_differ((ids[start : start + BLOCK].tolist() for start in range(0, len(ids), BLOCK)), len(ids)):
        kinds, first, counts = np.unique(ids, return_index=True, return_counts=True)
        repeated = np.flatnonzero(counts > 1)
        if len(repeated):
            example = repeated[np.argmin(first[repeated])]
            raise FileFormatError(
                f"{table.path}: id {str(kinds[example])!r} occurs {counts[example]} times in column "
                f"{table.names[column]!r}; {len(repeated)} id(s) are repeated. Every sample needs an id of its own. "
                "Pass id_column= if another column holds the ids, id_column=False if none does."
            )
    return ids


def _labels(table: Table, column: int) -> np.ndarray:
    """Return the classes as numbers or texts; None where a cell is empty."""
    values = table.frame[column]
    known = values.notna().to_numpy()
    if known.all():
        found = numbers_in(values)
        return _as_numpy(found) if is_numeric(found) else _texts(table.path, values)
    found = numbers_in(values[known].infer_objects())
    if pandas.api.types.is_bool_dtype(found.dtype):
        labels = found.to_numpy(dtype=bool)
    elif not is_numeric(found):
        labels = _texts(table.path, values[known])
    elif is_whole(found := _as_numpy(found)):  # a missing value has made them floats
        labels = found.astype(np.int64)
    else:
        labels = found
    spread = np.empty(len(known), dtype=labels.dtype)
    spread[known] = labels
    return without_gaps(spread, known)


def _texts(path: Path, values: Any) -> np.ndarray:
    return text_array_of_blocks(lambda: ([str(one) for one in block] for block in in_blocks(values)), path)


def _check_complete(table: Table, column: int, what: str) -> None:
    missing = np.flatnonzero(table.frame[column].isna())
    if len(missing):
        raise FileFormatError(
            f"{table.path}: column {table.names[column]!r} is empty for {len(missing)} sample(s), first in row "
            f"{missing[0]}; expected {what} for each."
        )


def _numbers(table: Table, features: list[int], ids: np.ndarray | None) -> np.ndarray:
    """Return the features as one array; empty cells are NaN, which `check_views` refuses."""
    columns = {column: numbers_in(table.frame[column]) for column in features}
    text = [column for column, values in columns.items() if not is_numeric(values)]
    if text:
        raise FileFormatError(_why_no_numbers(table, text, ids, len(features)))
    if not features or table.frame.empty:
        raise FileFormatError(f"{table.path}: no features: {len(table.frame)} samples, columns {listed(table.names)}.")
    with np.errstate(invalid="ignore"):  # signalling NaN of other types of numbers
        return np.column_stack([_as_numpy(values) for values in columns.values()])


def _why_no_numbers(table: Table, text: list[int], ids: np.ndarray | None, n_features: int) -> str:
    """Name the columns that hold text, a cell of the first of them, and the ways out."""
    name, values = table.names[text[0]], table.frame[text[0]]
    cells = values.dropna()
    words = [not (isinstance(cell, str) and (is_number(cell) or is_missing(cell))) for cell in cells]
    row = cells.index[words.index(True)] if any(words) else cells.index[0]
    sample = f"row {row}" if ids is None else f"sample {str(ids[row])!r}"
    names = listed([table.names[column] for column in text])
    found = f"{table.path}: expected numbers, but {len(text)} column(s) hold something else: {names}"
    found += f" (the first has {shortened(str(values[row]))!r} for {sample})"
    if 0 < sum(words) <= len(words) / 2:
        return (
            f"{found}; {sum(words):,} of its {len(words):,} cells are no numbers. Correct these cells, or empty them "
            f"if they are missing values; or leave the column out with drop={name!r}."
        )
    clinical = (
        " If the table describes the samples, it is not a view: leave it out, "
        f"or cluster with metadata={str(table.path)!r}."
        if 2 * len(text) >= n_features
        else ""
    )
    several = 1 < len(text) <= _MOST_NAMED
    dropped = [table.names[column] for column in text] if several else name
    categories = [table.names[column] for column in (text if several else text[:1]) if _repeats(table.frame[column])]
    encoded = f", encode {'categories' if several else 'it'} with one_hot={categories[0]!r}" if categories else ""
    return (
        f"{found}. Leave {'them' if several else 'it'} out with drop={dropped!r}{encoded}, or pass id_column= or "
        f"label_column= if that is what {'one' if several else 'it'} is.{clinical}"
    )


def _repeats(values: Any) -> bool:
    """Return whether a column may hold categories: every value twice on average."""
    return bool(values.nunique() <= len(values) / 2)


def _as_numpy(values: Any) -> np.ndarray:
    """Convert a column to NumPy; missing values of pandas' own types become NaN."""
    if isinstance(values.dtype, np.dtype):
        return np.asarray(values)
    return np.asarray(values.to_numpy(dtype=float, na_value=np.nan))
