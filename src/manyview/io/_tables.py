"""CSV, TSV and parquet, loaded strictly: what a lenient parser would repair in silence is an error here."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas

from manyview._optional import require
from manyview.exceptions import FileFormatError
from manyview.io._common import Options, check_size, reading

_STORED_ONCE = ("dictionary<values=string", "dictionary<values=large_string")


@dataclass(frozen=True, eq=False)
class Table:
    """A table as loaded: the names of the columns, and a data frame whose columns are 0, 1, 2, ..."""

    path: Path
    names: list[str]
    frame: Any


def load_table(path: Path, options: Options) -> Table:
    """Load a table with the loader of its extension."""
    return LOADERS[path.suffix.lower()](path, options)


def _load_text(path: Path, options: Options, *, separator: str, kind: str) -> Table:
    check_size(path, path.stat().st_size, options.max_bytes)
    with path.open("rb") as stream, reading(path, kind):
        if b"\0" in stream.read(2**13):
            raise FileFormatError(f"{path}: expected {kind}, UTF-8 text, found binary data or another encoding.")
        first_line = _check_lines(path, separator)
        has_header = _has_header(path, first_line, options.header)
        width = len(first_line)
        names = first_line if has_header else [str(column) for column in range(width)]
        id_at = names.index(options.id_column) if options.id_column in names else 0
        stream.seek(0)
        frame = pandas.read_csv(
            stream,
            sep=separator,
            header=0 if has_header else None,
            names=range(width),
            index_col=False,
            # As text, because pandas would make the id 001 into 1. Undone below where the column is no id.
            dtype={id_at: str} if width > 1 else None,
            encoding="utf-8-sig",
            low_memory=False,
        )
    return Table(path, names, frame)


def _check_lines(path: Path, separator: str) -> list[str]:
    """Return the fields of the first line, after checking that all lines have as many.

    pandas fills short rows with NaN and skips empty lines, either of which would shift or invent samples.
    """
    with path.open(encoding="utf-8-sig", newline="") as lines:
        rows = csv.reader(lines, delimiter=separator, strict=True)
        first = next(rows, [])
        if not first:
            raise FileFormatError(f"{path}: the first line is empty; expected the names of the columns.")
        empty_line = 0
        for row in rows:
            if not row:
                empty_line = empty_line or rows.line_num
            elif empty_line:
                raise FileFormatError(f"{path}: line {empty_line} is empty, but more lines follow.")
            elif len(row) != len(first):
                raise FileFormatError(
                    f"{path}: line {rows.line_num} has {len(row)} fields, the first line has {len(first)}."
                )
    return [name.strip() for name in first]


def _has_header(path: Path, first_line: list[str], header: bool | None) -> bool:
    """Whether the first line holds names. A line of numbers might be either, unless it counts 0, 1, 2, ..."""
    if header is not None:
        return header
    with_ids = len(first_line) > 1 and not _is_number(first_line[0])
    names = first_line[1:] if with_ids else first_line
    if not all(map(_is_number, names)):
        return True
    # pandas names columns by counting. One number alone is no counting: it could be the class of a sample.
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
    """Bytes of all texts of a table in which each different one is stored once."""
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
        # Runs of equal values are stored once, so that a small file can announce any number of rows.
        n_bytes = 8 * file.metadata.num_rows * file.metadata.num_columns
        check_size(path, n_bytes, options.max_bytes)
        table = file.read()
        table.validate(full=True)  # texts that are no UTF-8, places outside of what they point into
        check_size(path, n_bytes + 4 * _n_characters(table), options.max_bytes)
        frame = table.cast(schema).to_pandas()
        if not isinstance(frame.index, pandas.RangeIndex):  # an index with meaning, such as the ids
            frame = frame.reset_index()
        names = [str(name) for name in frame.columns]
        frame.columns = range(len(names))
    return Table(path, names, frame)


LOADERS: dict[str, Callable[..., Table]] = {
    ".csv": partial(_load_text, separator=",", kind="CSV"),
    ".tsv": partial(_load_text, separator="\t", kind="TSV"),
    ".parquet": _load_parquet,
}


def listed(names: list[str], limit: int = 8) -> str:
    """Some names for an error: ``'a', 'b' and 3 more``."""
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(map(repr, names[:limit])) + more
