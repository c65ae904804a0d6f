"""Detection of the column of each table that holds the ids of the samples; ambiguous cases are an error.

All files are considered together, because values that recur in several files are stronger evidence than a name.
``_table_columns.py`` classifies the other columns, ``_join.py`` joins the samples.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas

from manyview._utils.text import plain_key
from manyview.exceptions import FileFormatError
from manyview.io._common import Options
from manyview.io._table_files import Table, in_blocks, is_numeric, listed, numbers_in
from manyview.views.suspects import LABEL_COLUMNS, is_id_name

_LARGELY = 0.5  # share of the smaller set of values that the larger one contains
_FEW_ROWS = 10  # below, two columns of counts may hold the same numbers by chance
_VERY_FEW_ROWS = 3  # below, integers are distinct and consecutive by chance
_FIRST_LOOK = 64  # values that reveal most columns with repeated values
_NAMELESS = frozenset({"", "unnamed0"})


@dataclass(frozen=True, eq=False)
class Column:
    """A column that may hold ids: unique texts or integers, or a first column named like an id."""

    table: Table
    at: int
    is_text: bool

    @property
    def name(self) -> str:
        """Its name in the file."""
        return self.table.names[self.at]

    @property
    def is_named(self) -> bool:
        """Return whether it is named like an id."""
        return is_id_name(self.name)

    @property
    def is_row_number(self) -> bool:
        """Return whether it is a first column of row numbers without a name, as pandas and R write it."""
        return self.at == 0 and plain_key(self.name) in _NAMELESS and self.is_counter

    @cached_property
    def is_counter(self) -> bool:
        """Return whether the values are 0, 1, ..., n-1 or 1, 2, ..., n in any order."""
        if self.is_text:
            return False
        values = np.sort(np.asarray(numbers_in(self.table.frame[self.at]), dtype=float))
        return len(values) > 0 and values[0] in (0, 1) and bool((np.diff(values) == 1).all())

    @cached_property
    def is_plausible(self) -> bool:
        """Return whether it may be an id regardless of the other files."""
        stands_first = self.at == 0 and (self.is_text or len(self.table.frame) >= _VERY_FEW_ROWS)
        return stands_first or self.is_named or (self.is_counter and len(self.table.frame) >= _VERY_FEW_ROWS)

    @cached_property
    def keys(self) -> np.ndarray:
        """Sorted hashes of the values."""
        values = self.table.frame[self.at]
        if not self.is_text:
            numbers = numbers_in(values)
            is_whole = numbers.dtype.kind in "iu"
            return key_numbers(str(one) if is_whole else f"{one:.17g}" for one in numbers)
        return key_numbers(str(one) for block in in_blocks(values) for one in block)

    @property
    def texts(self) -> list[str]:
        """All values as text."""
        return [str(one) for block in in_blocks(self.table.frame[self.at]) for one in block]

    @property
    def described(self) -> str:
        """Name and file, for errors."""
        return f"{self.name!r} of {self.table.path}"


def key_numbers(texts: Iterable[str]) -> np.ndarray:
    """Return the sorted, unique hashes of texts."""
    return np.unique(np.fromiter(map(hash, texts), dtype=np.int64))


def loosened(text: str) -> str:
    """Normalise an id for loose matching: ``.``, ``_`` and ``-`` are equal, so is case; a final ``-1`` is removed.

    Examples
    --------
    >>> loosened("AAAC.1"), loosened("AAAC-1"), loosened("TCGA.02.0001"), loosened("mouse_11")
    ('aaac', 'aaac', 'tcga-02-0001', 'mouse-11')
    """
    return re.sub(r"-1$", "", re.sub(r"[._\s-]+", "-", text)).casefold()


def share_in_common(one: np.ndarray, other: np.ndarray) -> float:
    """Return the share of the smaller of two sorted sets that is also in the other."""
    return len(np.intersect1d(one, other, assume_unique=True)) / max(min(len(one), len(other)), 1)


def choose_ids(
    tables: Sequence[Table],
    options: Options,
    *,
    labels: Table | None = None,
    others: Sequence[object] = (),
    known: np.ndarray | None = None,
) -> list[int | None]:
    """Return the column with the ids for each table of features, None for all if rows are matched by position.

    Parameters
    ----------
    tables : sequence of Table
        One for each file with features in columns.
    options : Options
        ``id_column`` is what the caller said: names, False for no ids, or None.
    labels : Table, optional
        A table of classes: values that recur in it are evidence for ids.
    others : sequence of path
        Files with views that cannot have ids, such as ``.npy``.
    known : ndarray, optional
        Sorted hashes of the ids in the first lines of files with features in rows.

    Raises
    ------
    FileFormatError
        If a column may be an id or a feature; the message names the arguments for both cases.
    """
    if options.id_column:
        return [named_column(table, options.id_column) for table in tables]
    found = [id_candidates(table, options.label_column) for table in tables]
    if options.id_column is False:
        return [next((one.at for one in own if one.is_text or one.is_row_number), None) for own in found]
    found = _plausible(found, [] if labels is None else id_candidates(labels, options.label_column))
    if known is not None:
        found = [
            [one for one in own if share_in_common(one.keys, known) >= _LARGELY] or [one for one in own if one.is_text]
            for own in found
        ]
        if tables and all(found) and not others:
            return [own[0].at for own in found]
        if others or tables:
            without = [table.path for table, own in zip(tables, found, strict=True) if not own]
            raise FileFormatError(_why_only_by_position([*without, *others]))
    if not any(found):
        return [None] * len(tables)
    if not all(found) or others:
        raise FileFormatError(_why_not_by_position(found, tables, others))
    chosen = _texts(found) or _common(found) or _in_labels(found, labels, options) or _row_numbers(found)
    if chosen is None:
        raise FileFormatError(_question(found))
    return [column.at for column in chosen]


def row_numbers(table: Table) -> int | None:
    """Return the first column if it holds row numbers of pandas or R, which are never a feature."""
    column = _as_column(table, 0, named=True) if plain_key(table.names[0]) in _NAMELESS else None
    return 0 if column is not None and column.is_row_number else None


def named_column(table: Table, names: Sequence[str]) -> int:
    """Return the column that the caller named."""
    found = [at for at, name in enumerate(table.names) if name in names]
    if len(found) != 1:
        told = " or ".join(map(repr, names))
        raise FileFormatError(
            f"{table.path}: expected one column {told} (id_column). It has the columns {listed(table.names)}."
        )
    return found[0]


def find_label_ids(table: Table, options: Options) -> int | None:
    """Find the ids of a table of classes: by the name of the column, or by the ids of the views in it."""
    if options.id_column and any(name in table.names for name in options.id_column):
        return named_column(table, options.id_column)
    columns = [one for one in id_candidates(table, options.label_column) if len(table.names) > 1]
    if options.known_ids is not None:
        shares = {one.at: share_in_common(one.keys, options.known_ids) for one in columns}
        best = max(shares, key=lambda at: shares[at], default=0)
        if shares.get(best, 0) >= _LARGELY:
            return best
    if options.id_column:
        return named_column(table, options.id_column)  # its error lists the columns
    asked = options.id_column is None and options.known_ids is None  # then a first column of numbers may be ids, too
    first = [one for one in columns if one.at == 0 and (one.is_text or one.is_named or (asked and one.is_plausible))]
    return first[0].at if first else None


def id_candidates(table: Table, label_column: str | None) -> list[Column]:
    """Return the columns of unique values, and a first column that is named like an id."""
    if len(table.names) < 2:
        return []
    found, times = [], Counter(table.names)
    for at, name in enumerate(table.names):
        is_label = name == label_column if label_column is not None else plain_key(name) in LABEL_COLUMNS
        if is_label or (at > 0 and times[name] > 1):
            continue
        values, named = table.frame[at], is_id_name(name)
        if at > 0 and not named and isinstance(values.dtype, np.dtype) and values.dtype.kind in "fb":
            continue
        column = _as_column(table, at, named)
        if column is not None:
            found.append(column)
    return found


def _as_column(table: Table, at: int, named: bool) -> Column | None:
    values = table.frame[at]
    if not values.iloc[:_FIRST_LOOK].is_unique and not (at == 0 and named):
        return None
    numbers = numbers_in(values)
    if is_numeric(numbers) and not numbers.isna().any():
        whole = numbers.dtype.kind in "iu" or (
            numbers.dtype.kind == "f" and bool(np.isfinite(numbers).all() and (numbers % 1 == 0).all())
        )
        if at == 0 and named and (whole or is_unique(numbers)):
            return Column(table, at, is_text=False)
        return Column(table, at, is_text=False) if whole and is_unique(numbers) else None
    if is_numeric(numbers) and not (at == 0 and named):
        return None
    if at == 0 and named:
        return Column(table, at, is_text=True)
    return Column(table, at, is_text=True) if _is_text(values, named) and is_unique(values) else None


def _is_text(values: Any, named: bool) -> bool:
    """Return whether every value is text; unless the column is named like an id, texts of numbers do not count."""
    if values.isna().any() or not all(isinstance(one, str) for block in in_blocks(values) for one in block):
        return False
    return named or all(pandas.to_numeric(block, errors="coerce").isna().all() for block in in_blocks(values))


def is_unique(values: Any) -> bool:
    """Return whether no value of a column occurs twice."""
    if is_numeric(values):
        return bool(values.is_unique)
    return all_differ(in_blocks(values), len(values)) or bool(values.is_unique)


def all_differ(blocks: Iterable[Iterable[Any]], n_values: int) -> bool:
    """Return whether no value occurs twice. True is certain; False may be a hash collision."""
    hashes = np.fromiter((hash(value) for block in blocks for value in block), dtype=np.int64, count=n_values)
    hashes.sort()
    return bool((hashes[1:] != hashes[:-1]).all())


def _plausible(found: Sequence[list[Column]], labels: list[Column]) -> list[list[Column]]:
    """Keep the columns that may be ids: by position or name, as row numbers, or by values in other files."""
    kept = []
    for i, own in enumerate(found):
        others = _Others(column for j, columns in enumerate([*found, labels]) if j != i for column in columns)
        # Texts are never features, so where there are texts, numbers are not considered.
        texts = [column for column in own if column.is_text and (column.is_plausible or others.have(column))]
        numbers = [] if texts else [column for column in own if column.is_plausible or others.have(column)]
        plausible = texts or numbers
        beside = [column for column in plausible if not column.is_row_number]
        kept.append(beside or plausible)
    return kept


class _Others:
    """The columns of the other files, indexed by names and values, because there may be thousands."""

    def __init__(self, columns: Iterable[Column]) -> None:
        self.by_name: dict[str, list[Column]] = {}
        self.plausible: list[Column] = []
        self._columns = list(columns)
        for column in self._columns:
            self.by_name.setdefault(column.name, []).append(column)
            if column.is_plausible:
                self.plausible.append(column)

    @cached_property
    def values(self) -> set[bytes]:
        """All values of each column."""
        return {column.keys.tobytes() for column in self._columns}

    def have(self, column: Column) -> bool:
        """Return whether a column of another file has largely the same values."""
        n_rows = len(column.table.frame)
        alike = self.by_name.get(column.name, []) if n_rows >= _VERY_FEW_ROWS else []
        alike = [*alike, *self.plausible] if n_rows >= _FEW_ROWS else alike
        if any(share_in_common(column.keys, other.keys) >= _LARGELY for other in alike):
            return True
        return n_rows >= _FEW_ROWS and column.keys.tobytes() in self.values


def _texts(found: Sequence[list[Column]]) -> list[Column] | None:
    """Choose the text column of each file; of several, one that all files have, else the first."""
    if not all(column.is_text for own in found for column in own):
        return None
    shared = set.intersection(*({column.name for column in own} for own in found))
    return [min(own, key=lambda column: (column.name not in shared, not column.is_named, column.at)) for own in found]


def _common(found: Sequence[list[Column]]) -> list[Column] | None:
    """Choose the only column that all files have under the same name with largely the same values."""
    if len(found) < 2:
        return None
    shared = []
    for column in found[0]:
        same = [next((one for one in own if one.name == column.name), None) for own in found]
        if all(one is not None and share_in_common(one.keys, column.keys) >= _LARGELY for one in same):
            shared.append([one for one in same if one is not None])
    return _clearest(shared)


def _clearest(shared: list[list[Column]]) -> list[Column] | None:
    """Choose the only candidate, else the only one named like an id, else the only one in first position."""
    named = [columns for columns in shared if columns[0].is_named]
    first = [columns for columns in shared if all(column.at == 0 for column in columns)]
    for choices in (shared, named, first if not named else []):
        if len(choices) == 1:
            return choices[0]
    return None


def _in_labels(found: Sequence[list[Column]], labels: Table | None, options: Options) -> list[Column] | None:
    """For one file with views, choose the column that the file of classes has under the same name."""
    if len(found) > 1 or labels is None:
        return None
    both = _common([found[0], id_candidates(labels, options.label_column)])
    return None if both is None else both[:1]


def _row_numbers(found: Sequence[list[Column]]) -> list[Column] | None:
    """Choose the row numbers in the first column of a single table."""
    alone = len(found) == 1 and len(found[0]) == 1 and found[0][0].is_row_number
    return found[0] if alone else None


def _question(found: Sequence[list[Column]]) -> str:
    if len(found) == 1:
        own = found[0]
        many = len(own) > 1
        names = " or ".join(repr(column.name) for column in own)
        why = "stands first" if own[0].at == 0 else "is named like an id" if own[0].is_named else "counts the samples"
        told = f"the columns {names} each hold" if many else f"column {names} {why} and holds"
        answers = " or ".join(f"id_column={column.name!r}" for column in own)
        return (
            f"{own[0].table.path}: {told} a different whole number for every sample. Is that the id of the sample or a "
            f"feature? Pass {answers} if it is the id, id_column=False if it is a feature."
        )
    names = ", ".join(" or ".join(column.described for column in own) for own in found)
    each = {column.name for own in found for column in own}
    if len(each) == 1:
        how = f"has other values in each file. Pass id_column={each.pop()!r} if it is the id of the samples, "
        is_id = f"could be ids or a feature: it {how}"
    else:
        is_id = (
            "could be ids or features. Pass id_column= with the column that holds the ids, by its name in each file, "
        )
    return f"{names}: {is_id}id_column=False if these are features and row i is the same sample in every file."


def _why_only_by_position(without: Sequence[object]) -> str:
    return (
        f"{', '.join(map(str, without))}: no ids, but the other files have some in their first lines, with features in "
        "rows, so rows could only be matched by position. Pass id_column=False if sample i is the same in every file; "
        "else give every file ids."
    )


def _why_not_by_position(found: Sequence[list[Column]], tables: Sequence[Table], others: Sequence[object]) -> str:
    known = next(own for own in found if own)
    without = [*(str(table.path) for table, own in zip(tables, found, strict=True) if not own), *map(str, others)]
    column = known[0]
    answer = (
        "Pass id_column=False if row i is the same sample in every file"
        if column.is_text
        else f"Pass id_column=False if {column.name!r} is a feature and row i is the same sample in every file"
    )
    return (
        f"{column.table.path}: column {column.name!r} may hold the ids of the samples, but {', '.join(without)} "
        f"{'has' if len(without) == 1 else 'have'} none, so rows could only be matched by position. {answer}; else "
        "give every file a column with the ids."
    )
