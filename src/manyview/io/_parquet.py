"""Parquet tables. Vectors in a column of lists, such as embeddings, become columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas

from manyview._utils.imports import require
from manyview.exceptions import FileFormatError
from manyview.io._common import Options, check_size, reading
from manyview.io._table_files import Table, listed

_STORED_ONCE = ("dictionary<values=string", "dictionary<values=large_string")


def _n_characters(table: Any) -> int:
    """Return the expanded bytes of the texts of a dictionary-encoded table."""
    compute = require("pyarrow.compute", extra="files", purpose="Reading parquet")
    n_characters = 0
    for column in table.columns:
        for chunk in column.chunks if str(column.type).startswith(_STORED_ONCE) else ():
            lengths = compute.take(compute.binary_length(chunk.dictionary), chunk.indices)
            n_characters += compute.sum(lengths).as_py() or 0
    return n_characters


def load_parquet(path: Path, options: Options) -> Table:
    """Load a table; lists of numbers become columns."""
    parquet = require("pyarrow.parquet", extra="files", purpose="Reading parquet")
    types = require("pyarrow.types", extra="files", purpose="Reading parquet")
    with path.open("rb") as stream, reading(path, "parquet"):
        schema = parquet.ParquetFile(stream).schema_arrow
        lists = [field.name for field in schema if is_vector(types, field.type)]
        nested = [field.name for field in schema if types.is_nested(field.type) and field.name not in lists]
        if nested:
            raise FileFormatError(
                f"{path}: expected one value per sample and column, or lists of numbers, but {len(nested)} column(s) "
                f"hold other lists or records: {listed(nested)}. Give each value a column of its own, or remove them."
            )
        text = [field.name for field in schema if types.is_string(field.type) or types.is_large_string(field.type)]
        file = parquet.ParquetFile(stream, read_dictionary=text)
        # Repeated values are stored once, so that a small file can announce any number of rows.
        n_stored = n_values(path) if lists else 0
        n_bytes = 8 * max(n_stored, file.metadata.num_rows * len(schema))
        check_size(path, n_bytes, options.max_bytes)
        table = file.read()
        table.validate(full=True)  # invalid UTF-8, indices out of range
        check_size(path, n_bytes + 4 * _n_characters(table), options.max_bytes)
        table = table.cast(schema)
        vectors = {name: vectors_in(path, name, table.column(name)) for name in lists}
        frame = table.drop_columns(lists).to_pandas() if len(lists) < len(schema) else pandas.DataFrame()
        if not isinstance(frame.index, pandas.RangeIndex):  # a meaningful index, such as ids
            frame = frame.reset_index()
        names = [str(name) for name in frame.columns]
        frame.columns = range(len(names))
        for name, values in vectors.items():
            own = pandas.DataFrame(values, columns=range(len(names), len(names) + values.shape[1]))
            frame = own if frame.empty else pandas.concat([frame, own], axis=1)
            names += [f"{name}_{i}" for i in range(values.shape[1])]
    return Table(path, names, frame)


def is_vector(types: Any, kind: Any) -> bool:
    """Return whether a column holds lists of numbers, such as embeddings."""
    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return is_list and (types.is_integer(kind.value_type) or types.is_floating(kind.value_type))


def vectors_in(path: Path, name: str, column: Any, length: int | None = None) -> np.ndarray:
    """Return lists of one length as the rows of an array; NaN where a list is missing.

    ``length`` is that of the vectors in other rows, if it is known.
    """
    compute = require("pyarrow.compute", extra="files", purpose="Reading parquet")
    whole = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    known = compute.is_valid(whole).to_numpy(zero_copy_only=False)
    lengths = compute.list_value_length(whole).drop_null().to_numpy(zero_copy_only=False)
    length = length or int(lengths[0] if len(lengths) else 0)
    if not length or (lengths != length).any():
        other = lengths[lengths != length]
        found = f"{length} and {other[0]}" if length else "empty ones only"
        raise FileFormatError(
            f"{path}: column {name!r} holds lists of different lengths, such as {found}. Expected vectors of one "
            "length, whose values become columns."
        )
    numbers = compute.list_flatten(whole.filter(compute.is_valid(whole))).to_numpy(zero_copy_only=False)
    vectors = numbers.reshape(-1, length)
    if known.all():
        return vectors
    spread = np.full((len(known), vectors.shape[1]), np.nan)
    spread[known] = vectors
    return spread


def n_values(path: Path) -> int:
    """Return the number of values that all columns announce, those in lists included.

    It is in the footer: a list of row groups (field 4), each with columns (1), each with metadata (3), whose field 5 it
    is. Not asked from pyarrow, which aborts the interpreter on some damaged metadata of columns.
    """
    with path.open("rb") as stream:
        stream.seek(-8, 2)
        length = int.from_bytes(stream.read(4), "little")
        stream.seek(-8 - length, 2)
        footer = _Compact(stream.read(length)).struct()
    return sum(column[3][5] for group in footer[4] for column in group[1])


class _Compact:
    """Reader of Thrift's compact protocol: structs are dicts by the numbers of their fields."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def byte(self) -> int:
        self.at += 1
        return self.content[self.at - 1]

    def varint(self) -> int:
        number = shift = 0
        while True:
            byte = self.byte()
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number
            if shift > 63:
                raise ValueError("a number of more than 64 bits")

    def struct(self) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while header := self.byte():
            number = number + (header >> 4) if header >> 4 else self.signed()
            fields[number] = header & 15 == 1 if header & 15 in (1, 2) else self.value(header & 15)
        return fields

    def signed(self) -> int:
        number = self.varint()
        return number >> 1 ^ -(number & 1)

    def value(self, kind: int) -> Any:
        if kind in (1, 2, 3):
            return self.byte()
        if kind in (4, 5, 6):
            return self.signed()
        if kind in (7, 8):
            length = 8 if kind == 7 else self.varint()
            self.at += length
            return None
        if kind in (9, 10):
            header = self.byte()
            size = header >> 4 if header >> 4 < 15 else self.varint()
            return [self.value(header & 15) for _ in range(size)]
        if kind == 12:
            return self.struct()
        raise ValueError(f"type {kind} of Thrift does not occur in a footer")
