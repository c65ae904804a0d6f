"""Text tables and parquet, loaded strictly: what a lenient parser would repair silently is an error here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas

from manyview._utils.formats import extension_of, uncompressed
from manyview.exceptions import FileFormatError
from manyview.io._common import Options, check_size, reading
from manyview.io._layout import Layout, find_layout
from manyview.io._lines import SPACES, open_bytes, rows_of
from manyview.io._numbers import check_thousands, is_number, read_numbers
from manyview.views.suspects import is_id_name

BLOCK = 2**16
"""Lines or values processed at a time. All of them as Python strings would take many times the memory of the file."""

_NUMBERS = (np.dtype(np.int64), np.dtype(np.float64))
_SAMPLE = 200  # rows


@dataclass(frozen=True, eq=False)
class Table:
    """A table as loaded: the names of the columns, and a data frame whose columns are 0, 1, 2, ..."""

    path: Path
    names: list[str]
    frame: Any
    notes: tuple[str, ...] = ()
    """What was skipped or changed, for the user."""
    features_in_rows: bool = False
    """Whether the format says so."""


def load_table(path: Path, options: Options) -> Table:
    """Load a table with the loader of its extension."""
    return LOADERS[uncompressed(str(extension_of(path)))](path, options)


def _load_text(path: Path, options: Options, *, separator: str | None, kind: str) -> Table:
    with open_bytes(path, options.max_bytes), reading(path, kind):
        try:
            return _load_lines(path, options, separator, kind)
        except UnicodeDecodeError as error:
            raise FileFormatError(_why_not_text(path, error, options.encoding)) from error


def _load_lines(path: Path, options: Options, separator: str | None, kind: str) -> Table:
    layout = find_layout(path, options.max_bytes, separator, options.encoding, kind)
    lines = _check_lines(layout, options)
    header = options.header if layout.shape is None else True
    has_header = _has_header(path, lines.first, lines.has_row_names, header)
    names, width, n_rows = lines.names(has_header), lines.width, lines.n_lines - has_header
    named = [at for at, name in enumerate(names) if name in (options.id_column or ())]
    id_at = named[0] if named else 0
    if n_rows == 0:  # before pandas makes columns, which is slow for many names
        raise FileFormatError(f"{path}: no samples, only names of columns: {listed(names)}.")
    kept = [at for at in range(width - lines.n_empty_columns) if not 0 < at <= layout.about_features]
    if layout.shape not in (None, (n_rows, len(kept) - 1)):
        raise FileFormatError(
            f"{path}: announces {layout.shape[0]:,} features of {layout.shape[1]:,} samples in its second line, but "
            f"has {n_rows:,} of {len(kept) - 1:,}. It may be truncated: get it again, or correct that line."
        )
    # Each number is stored twice: in the table and in the view.
    check_size(path, 2 * 8 * lines.n_lines * width, options.max_bytes)
    if layout.separator == ";" and options.decimal is None:
        check_thousands(path, names, lines.sample)
    parse = partial(
        pandas.read_csv,
        sep=r"\s+" if layout.separator == SPACES else layout.separator,
        header=0 if has_header else None,
        names=range(width),
        index_col=False,
        encoding="utf-8-sig",
        low_memory=False,
        chunksize=BLOCK,
        nrows=n_rows,
        decimal=options.decimal or ".",
    )
    # As text, because pandas converts the id 001 to 1. Undone where the column cannot hold ids.
    text = {id_at} if width > 1 else set()
    is_named = bool(named) or is_id_name(names[id_at])
    frame = _parsed(layout.open_bytes, parse, n_rows, text, undone=set() if is_named else text)
    read_numbers(path, names, frame, [at for at in kept if at != id_at or not is_named], options.decimal)
    frame = frame[kept].set_axis(range(len(kept)), axis=1)
    return Table(path, [names[at] for at in kept], frame, layout.notes, layout.features_in_rows)


def _why_not_text(path: Path, error: UnicodeDecodeError, encoding: str | None) -> str:
    around = error.object[max(error.start - 12, 0) : error.start + 12]
    if encoding is not None:
        return f"{path}: is not written in {encoding} (encoding): {error.reason} in {around.decode('latin-1')!r}."
    return (
        f"{path}: is not UTF-8: byte 0x{error.object[error.start]:02x} in {around.decode('cp1252', 'replace')!r}. Pass "
        "encoding='cp1252' if it was written by Windows in Western Europe or America, else the name of its encoding; "
        "or save it as UTF-8."
    )


def _parsed(
    open_stream: Callable[[], BinaryIO],
    parse: Callable[..., Any],
    n_rows: int,
    text: set[int],
    undone: Collection[int] = (),
) -> Any:
    """Parse a file with pandas, block by block.

    A column has one type, as if the file were read at once: where blocks differ, it is read again as text.

    Parameters
    ----------
    open_stream : callable
        Returns the file, at its beginning.
    parse : callable
        Parses the file, given the types of columns; returns blocks.
    n_rows : int
        Upper bound of the number of rows.
    text : set of int
        Columns to read as text.
    undone : collection of int
        Columns among these that become numbers if all their values are.
    """
    numbers: dict[int, np.ndarray] = {}
    others: defaultdict[int, list[Any]] = defaultdict(list)
    start = 0
    with open_stream() as stream, parse(stream, dtype=dict.fromkeys(text, str)) as blocks:
        for block in blocks:
            if start == 0 and len(block) < BLOCK:  # the whole file: no need to process columns one by one
                for column in undone:
                    block[column] = numbers_in(block[column])
                return block
            for column in block:
                values = numbers_in(block[column]) if column in undone else block[column]
                if values.dtype in _NUMBERS:
                    numbers[column] = _filled(numbers.get(column), values, start, n_rows)
                else:
                    others[column].append(values)
            start += len(block)
    unlike = {column for column, found in others.items() if column in numbers or len({one.dtype for one in found}) > 1}
    whole: dict[int, Any] = {column: values[:start] for column, values in numbers.items() if column not in unlike}
    for column in others.keys() - unlike:
        whole[column] = pandas.concat(others.pop(column), ignore_index=True)
    if unlike:
        del numbers, others
        again = _parsed(open_stream, partial(parse, usecols=sorted(unlike)), n_rows, unlike)
        whole |= {column: again[column] for column in unlike}
    return pandas.DataFrame({column: whole[column] for column in sorted(whole)}, copy=False)


def _filled(whole: np.ndarray | None, values: Any, start: int, n_rows: int) -> np.ndarray:
    """Store the numbers of a block in the array of its column; one array, because small ones fragment memory."""
    if whole is None:
        whole = np.empty(n_rows, dtype=values.dtype)
    whole = whole.astype(np.promote_types(whole.dtype, values.dtype), copy=False)
    whole[start : start + len(values)] = values
    return whole


def in_blocks(values: Any) -> Iterator[Any]:
    """Yield a column in blocks."""
    for start in range(0, len(values), BLOCK):
        yield values.iloc[start : start + BLOCK]


def is_numeric(values: Any) -> bool:
    """Return whether a column holds numbers or missing values."""
    return bool(pandas.api.types.is_numeric_dtype(values.dtype))


def numbers_in(values: Any) -> Any:
    """Return a column of texts as numbers if all of them are, else unchanged."""
    if is_numeric(values):
        return values
    try:
        found = [pandas.to_numeric(block) for block in in_blocks(values)]
        if found and all(piece.dtype in _NUMBERS for piece in found):
            return pandas.concat(found)
        whole = pandas.to_numeric(values)
    except (ValueError, TypeError, OverflowError):  # OverflowError: integers of hundreds of digits
        return values
    return whole if is_numeric(whole) else values  # integers of hundreds of digits are Python objects


@dataclass
class _Lines:
    """What a table of text consists of: the fields of its first line, and the number and the widths of its lines."""

    first: list[str]
    n_lines: int = 1
    width: int = 0
    """Number of fields of each line but the first."""
    n_empty_columns: int = 0
    """Columns at the end without a name and without values: a separator at the end of each line."""
    sample: list[list[str]] = field(default_factory=list)
    """Some rows, for a table with semicolons."""

    @property
    def has_row_names(self) -> bool:
        """Return whether R wrote the table: each row begins with its name, which has no name of its own."""
        return self.width == len(self.first) + 1 and not self.n_empty_columns

    def names(self, has_header: bool) -> list[str]:
        """Return the names of the columns."""
        if not has_header:
            return [str(column) for column in range(self.width)]
        names = [name.strip() for name in self.first]
        names[0] = names[0].removeprefix("#").lstrip()
        return (
            (["", *names] if self.has_row_names else [*names, ""])[: self.width] if len(names) < self.width else names
        )


def _check_lines(layout: Layout, options: Options) -> _Lines:
    """Return what the table consists of, after checking that all lines have as many fields.

    pandas fills short rows with NaN and skips empty lines, either of which would change the samples.
    """
    path = layout.path
    with layout.open_text() as stream:
        rows = rows_of(path, stream, layout.separator, options.max_bytes)
        first: list[str] = next(rows, [])
        if not first:
            raise FileFormatError(f"{path}: the first line is empty; expected the names of the columns.")
        found = _Lines(first)
        n_lines, n_empty, empty_line, n_blank, has_ids = 1, len(first) - len(_without_end(first)), 0, 0, False
        unnamed = 0  # the first line whose first field is a number, and so no name of a row
        for row in rows:
            line = layout.skipped + layout.about_samples + rows.line_num
            if not row:
                empty_line = empty_line or line
                continue
            if empty_line:
                raise FileFormatError(f"{path}: line {empty_line} is empty, but more lines follow.")
            if not found.width:
                found.width, has_ids = len(row), row[0] != "" and not is_number(row[0])
                n_empty -= len(first) - len(row)
            if len(row) != found.width or abs(len(row) - len(first)) > 1:
                raise FileFormatError(f"{path}: line {line} has {len(row)} fields, the first line has {len(first)}.")
            if row[-1] != "" or not n_empty:
                n_empty = 0
            elif n_empty > 1:
                n_empty = min(n_empty, len(row) - len(_without_end(row)))
            if found.width > len(first) and not unnamed and is_number(row[0]) and row[0] != str(n_lines):
                unnamed = line
            if layout.separator == ";" and len(found.sample) < _SAMPLE:
                found.sample.append(row)
            n_lines += 1
            n_blank = n_blank + 1 if row[0] == "" == row[-1] and not any(row) else 0
    if has_ids:  # spreadsheets write separators for empty rows below the table; without ids, it is a missing view
        n_lines -= n_blank
    found.width = found.width or len(first)
    found.n_lines, found.n_empty_columns = n_lines, n_empty if n_lines > 1 and n_empty < found.width else 0
    second = layout.skipped + layout.about_samples + 2
    wrong = second if found.width < len(first) and first[-1].strip() else unnamed * found.has_row_names
    if wrong:
        raise FileFormatError(f"{path}: line {wrong} has {found.width} fields, the first line has {len(first)}.")
    return found


def _without_end(fields: list[str]) -> list[str]:
    """Return the fields without empty ones at the end."""
    end = len(fields)
    while end and not fields[end - 1].strip():
        end -= 1
    return fields[:end]


def _has_header(path: Path, first_line: list[str], has_row_names: bool, header: bool | None) -> bool:
    """Return whether the first line holds names. A line of numbers other than 0, 1, 2, ... is ambiguous."""
    if header is not None and not has_row_names:
        return header
    first_line = _without_end(first_line) or first_line
    with_ids = len(first_line) > 1 and not is_number(first_line[0])
    names = first_line[1:] if with_ids and not has_row_names else first_line
    if has_row_names or not all(map(is_number, names)):
        return True
    # pandas numbers columns without names. A single number could also be the class of a sample.
    if len(names) > 1 and any(names == [str(start + i) for i in range(len(names))] for start in (0, 1)):
        return True
    raise FileFormatError(
        f"{path}: the first line ({', '.join(first_line[:3])}{', ...' if len(first_line) > 3 else ''}) could be "
        "names of columns or a sample. Pass header=True or header=False."
    )


def _load_parquet(path: Path, options: Options) -> Table:
    from manyview.io._parquet import load_parquet

    return load_parquet(path, options)


def _load_xlsx(path: Path, options: Options) -> Table:
    from manyview.io._sheets import frame_of, load_sheet

    names, rows, notes = load_sheet(path, options)
    if not _has_header(path, names, False, options.header):
        names = [str(column) for column in range(len(names))]
    else:
        rows = rows[1:]
    if not rows:
        raise FileFormatError(f"{path}: no samples, only names of columns: {listed(names)}.")
    return Table(path, names, frame_of(path, names, rows, options), notes)


LOADERS: dict[str, Callable[..., Table]] = {
    ".csv": partial(_load_text, separator=",", kind="CSV"),
    ".tsv": partial(_load_text, separator="\t", kind="TSV"),
    ".tab": partial(_load_text, separator="\t", kind="TSV"),
    ".txt": partial(_load_text, separator=None, kind="a table"),
    ".gct": partial(_load_text, separator="\t", kind="GCT"),
    ".parquet": _load_parquet,
    ".xlsx": _load_xlsx,
}


def listed(names: list[str], limit: int = 8) -> str:
    """Return a few names for an error: ``'a', 'b' and 3 more``."""
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(map(repr, names[:limit])) + more
