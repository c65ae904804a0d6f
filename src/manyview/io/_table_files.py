"""Text tables and parquet, loaded strictly: what a lenient parser would repair silently is an error here."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas

from manyview._utils.formats import extension_of, uncompressed
from manyview._utils.imports import require
from manyview.exceptions import FileFormatError
from manyview.io._common import Options, check_size, plain_key, reading
from manyview.io._lines import SPACES, find_separator, open_bytes, open_text, rows_of

BLOCK = 2**16
"""Lines or values processed at a time. All of them as Python strings would take many times the memory of the file."""

# fmt: off
ID_COLUMNS = frozenset({
    "", "unnamed0", "index", "rowname", "rownames", "id", "ids", "uid", "uuid", "guid", "key", "name", "names",
    "sample", "samples", "samplename", "barcode", "barcodes", "cell", "cells", "patient", "patients", "subject",
    "subjects", "participant", "participants", "case", "donor", "individual", "animal", "mouse", "specimen",
    "accession", "obsname", "obsnames", "observation", "image", "imagename", "file", "filename", "document", "doc",
    "user", "customer", "record",
})
# fmt: on
"""Columns with these names (normalised by `plain_key`) may hold ids; pandas writes an index as ``""``."""

_ID_ENDS = frozenset({"id", "ids", "uid", "uuid", "barcode", "barcodes", "key", "accession", "code", "nr", "no"})
"""Last words of names of ids, as in ``case_id`` or ``bcr_patient_barcode``."""

_NUMBERS = (np.dtype(np.int64), np.dtype(np.float64))
_STORED_ONCE = ("dictionary<values=string", "dictionary<values=large_string")


@dataclass(frozen=True, eq=False)
class Table:
    """A table as loaded: the names of the columns, and a data frame whose columns are 0, 1, 2, ..."""

    path: Path
    names: list[str]
    frame: Any


def is_id_name(name: str) -> bool:
    """Return whether a column is named like an id.

    Examples
    --------
    >>> [name for name in ("mouse", "case_id", "userId", "bcr_patient_barcode", "ID1", "lipid") if is_id_name(name)]
    ['mouse', 'case_id', 'userId', 'bcr_patient_barcode']
    """
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
    last = re.split(r"[^a-z0-9]+", words.strip(" \t_.-"))[-1]
    return plain_key(name) in ID_COLUMNS or (last in _ID_ENDS and last != plain_key(name))


def load_table(path: Path, options: Options) -> Table:
    """Load a table with the loader of its extension."""
    return LOADERS[uncompressed(str(extension_of(path)))](path, options)


def _load_text(path: Path, options: Options, *, separator: str | None, kind: str) -> Table:
    open_stream = partial(open_bytes, path, options.max_bytes)
    with open_stream() as stream, reading(path, kind):
        if b"\0" in stream.read(2**13):
            raise FileFormatError(f"{path}: expected {kind}, UTF-8 text, found binary data or another encoding.")
        if separator is None:
            separator = find_separator(path, options.max_bytes)
        first_line, n_lines = _check_lines(path, separator, options.max_bytes)
        has_header = _has_header(path, first_line, options.header)
        width = len(first_line)
        names = first_line if has_header else [str(column) for column in range(width)]
        named = [at for at, name in enumerate(names) if name in (options.id_column or ())]
        id_at = named[0] if named else 0
        if n_lines == has_header:  # before pandas makes columns, which is slow for many names
            raise FileFormatError(f"{path}: no samples, only names of columns: {listed(names)}.")
        # Each number is stored twice: in the table and in the view.
        check_size(path, 2 * 8 * n_lines * width, options.max_bytes)
        parse = partial(
            pandas.read_csv,
            sep=r"\s+" if separator == SPACES else separator,
            header=0 if has_header else None,
            names=range(width),
            index_col=False,
            encoding="utf-8-sig",
            low_memory=False,
            chunksize=BLOCK,
        )
        # As text, because pandas converts the id 001 to 1. Undone where the column cannot hold ids.
        text = {id_at} if width > 1 else set()
        is_named = bool(named) or is_id_name(names[id_at])
        frame = _parsed(open_stream, parse, n_lines, text, undone=set() if is_named else text)
    return Table(path, names, frame)


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


def _check_lines(path: Path, separator: str, max_bytes: int) -> tuple[list[str], int]:
    """Return the fields of the first line and the number of lines, after checking that all have as many fields.

    pandas fills short rows with NaN and skips empty lines, either of which would change the samples.
    """
    with open_text(path, max_bytes, newline="") as stream:
        rows = rows_of(path, stream, separator, max_bytes)
        first: list[str] = next(rows, [])
        if not first:
            raise FileFormatError(f"{path}: the first line is empty; expected the names of the columns.")
        n_lines, empty_line = 1, 0
        for row in rows:
            n_lines += bool(row)
            if not row:
                empty_line = empty_line or rows.line_num
            elif empty_line:
                raise FileFormatError(f"{path}: line {empty_line} is empty, but more lines follow.")
            elif len(row) != len(first):
                raise FileFormatError(
                    f"{path}: line {rows.line_num} has {len(row)} fields, the first line has {len(first)}."
                )
    return [name.strip() for name in first], n_lines


def _has_header(path: Path, first_line: list[str], header: bool | None) -> bool:
    """Return whether the first line holds names. A line of numbers other than 0, 1, 2, ... is ambiguous."""
    if header is not None:
        return header
    with_ids = len(first_line) > 1 and not _is_number(first_line[0])
    names = first_line[1:] if with_ids else first_line
    if not all(map(_is_number, names)):
        return True
    # pandas numbers columns without names. A single number could also be the class of a sample.
    if len(names) > 1 and any(names == [str(start + i) for i in range(len(names))] for start in (0, 1)):
        return True
    raise FileFormatError(
        f"{path}: the first line ({', '.join(first_line[:3])}{', ...' if len(first_line) > 3 else ''}) could be "
        "names of columns or a sample. Pass header=True or header=False."
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _n_characters(table: Any) -> int:
    """Return the expanded bytes of the texts of a dictionary-encoded table."""
    compute = require("pyarrow.compute", extra="files", purpose="Reading parquet")
    n_characters = 0
    for column in table.columns:
        for chunk in column.chunks if str(column.type).startswith(_STORED_ONCE) else ():
            lengths = compute.take(compute.binary_length(chunk.dictionary), chunk.indices)
            n_characters += compute.sum(lengths).as_py() or 0
    return n_characters


def _load_parquet(path: Path, options: Options) -> Table:
    parquet = require("pyarrow.parquet", extra="files", purpose="Reading parquet")
    types = require("pyarrow.types", extra="files", purpose="Reading parquet")
    with path.open("rb") as stream, reading(path, "parquet"):
        schema = parquet.ParquetFile(stream).schema_arrow
        nested = [field.name for field in schema if types.is_nested(field.type)]
        if nested:
            raise FileFormatError(
                f"{path}: expected one value per sample and column, but {len(nested)} column(s) hold lists or records: "
                f"{listed(nested)}. Give each value a column of its own, or remove them."
            )
        text = [field.name for field in schema if types.is_string(field.type) or types.is_large_string(field.type)]
        file = parquet.ParquetFile(stream, read_dictionary=text)
        # Repeated values are stored once, so that a small file can announce any number of rows.
        n_bytes = 8 * file.metadata.num_rows * file.metadata.num_columns
        check_size(path, n_bytes, options.max_bytes)
        table = file.read()
        table.validate(full=True)  # invalid UTF-8, indices out of range
        check_size(path, n_bytes + 4 * _n_characters(table), options.max_bytes)
        frame = table.cast(schema).to_pandas()
        if not isinstance(frame.index, pandas.RangeIndex):  # a meaningful index, such as ids
            frame = frame.reset_index()
        names = [str(name) for name in frame.columns]
        frame.columns = range(len(names))
    return Table(path, names, frame)


LOADERS: dict[str, Callable[..., Table]] = {
    ".csv": partial(_load_text, separator=",", kind="CSV"),
    ".tsv": partial(_load_text, separator="\t", kind="TSV"),
    ".tab": partial(_load_text, separator="\t", kind="TSV"),
    ".txt": partial(_load_text, separator=None, kind="a table"),
    ".parquet": _load_parquet,
}


def listed(names: list[str], limit: int = 8) -> str:
    """Return a few names for an error: ``'a', 'b' and 3 more``."""
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(map(repr, names[:limit])) + more
