"""One file of a large view: its header, and some of its rows.

The header is read once, when the views are opened. The rows are read where they are needed, perhaps on another machine,
from the paths and row numbers in a `Block` alone.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from manyview._utils.imports import require
from manyview._utils.text import plain_key
from manyview.exceptions import FileFormatError
from manyview.io._common import reading
from manyview.io._numpy import read_header
from manyview.io._parquet import is_vector, n_values, vectors_in
from manyview.io._table_files import listed
from manyview.views.suspects import LABEL_COLUMNS, differ_in_every_row, is_id_name

NPY, PARQUET, ZARR = "an .npy file", "parquet", "zarr"
_BATCH_ROWS = 8192
_MOST_PIECES = 2**20
_LONGEST = 2**20  # values of a vector
_ZARR_MARKS = ("zarr.json", ".zarray", ".zgroup")


@dataclass(frozen=True)
class Shard:
    """The header of a file."""

    path: Path
    shape: tuple[int, ...]
    dtype: np.dtype
    pieces: tuple[int, ...] = ()
    """Numbers of rows that can only be read together. Empty: any row can be read alone."""
    columns: tuple[str, ...] = ()
    """Names of the features, where they have names."""
    skipped: tuple[str, ...] = ()
    """Names of the columns that are not features."""
    may_have_gaps: bool = False
    """Whether integer columns may have missing values, read as NaN."""
    id_column: str | None = None
    """Name of the column with the ids of the samples, if it has one."""
    vectors: tuple[tuple[str, int], ...] = ()
    """Columns that hold lists of numbers, such as embeddings, and their length; they come after all others."""

    @property
    def features(self) -> str:
        """Columns and type, which all shards of a view share, for errors."""
        return f"{self.shape[1]} columns of {self.dtype}"


class Span(NamedTuple):
    """Rows of one file, and how many bytes it had when it was opened."""

    path: str
    start: int
    stop: int
    n_bytes: int


@dataclass(frozen=True)
class Block:
    """Rows of one view, from one or more files: the only argument of a task."""

    spans: tuple[Span, ...]
    n_columns: int
    dtype: np.dtype
    skip_columns: tuple[str, ...] = ()
    vectors: tuple[tuple[str, int], ...] = ()


def read_block(block: Block) -> np.ndarray:
    """Load the rows of a block, and no others."""
    values = np.empty((sum(span.stop - span.start for span in block.spans), block.n_columns), block.dtype)
    filled = 0
    for span in block.spans:
        path = Path(span.path)
        _check_unchanged(path, span.n_bytes)
        kind = kind_of(path)
        with reading(path, kind):
            part = values[filled : filled + span.stop - span.start]
            _FILL[kind](path, span.start, span.stop, part, block)
        filled += len(part)
    return values


def read_ids(block: Block, id_columns: Sequence[str | None]) -> np.ndarray:
    """Load the ids of the rows of a block: whole numbers or texts, as they are stored.

    ``id_columns`` are the names of the column in the file of each span.
    """
    parts = []
    for span, id_column in zip(block.spans, id_columns, strict=True):
        path = Path(span.path)
        _check_unchanged(path, span.n_bytes)
        with reading(path, PARQUET), _parquet().ParquetFile(path) as file:
            found: list[np.ndarray] = []
            for at, batch in _batches(file, span.start, span.stop, [str(id_column)]):
                column = batch.column(0)
                if column.null_count:
                    row = at + int(np.argmin(column.is_valid().to_numpy(zero_copy_only=False)))
                    raise FileFormatError(f"{path}: row {row} has no id: its {id_column!r} is empty. Remove the row.")
                found.append(column.to_numpy(zero_copy_only=False))
        parts += found
    return np.concatenate(parts)


def _check_unchanged(path: Path, n_bytes: int) -> None:
    if not path.exists():
        raise FileNotFoundError(
            f"{path}: no such file on {socket.gethostname()}, though it was there when the views were opened. Every "
            "Dask worker needs the files under the same path."
        )
    if size_of(path) != n_bytes:
        raise FileFormatError(
            f"{path}: has changed since the views were opened (from {n_bytes:,} to {size_of(path):,} bytes). Open them "
            "again."
        )


def kind_of(path: Path) -> str:
    """Return the format of a path, or ``""``."""
    if path.is_dir():
        is_zarr = path.suffix.lower() == ".zarr" or any((path / mark).exists() for mark in _ZARR_MARKS)
        return ZARR if is_zarr else ""
    return {".npy": NPY, ".parquet": PARQUET}.get(path.suffix.lower(), "")


def size_of(path: Path) -> int:
    """Return the bytes of the file; of a zarr folder, those of its metadata."""
    files = [path / mark for mark in _ZARR_MARKS if (path / mark).exists()] if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files)


def open_shard(path: Path, skip_columns: Collection[str] | None, id_columns: Sequence[str] = ()) -> Shard:
    """Read the header of a file, and check that it can be a view.

    ``id_columns`` are names that the column with the ids may have; parquet files must have one of these.
    """
    shard = _OPEN[kind_of(path)](path, skip_columns, id_columns)
    if len(shard.shape) != 2 or shard.shape[1] == 0 or shard.dtype.kind not in "biuf":
        raise FileFormatError(
            f"{path}: expected a 2-D array of numbers (samples x features), "
            f"found shape {shard.shape} of dtype {shard.dtype}."
        )
    return shard


def _open_npy(path: Path, *_: Any) -> Shard:
    with path.open("rb") as stream, reading(path, NPY):
        return Shard(path, *read_header(stream, path.stat().st_size, str(path)))


def _fill_npy(path: Path, start: int, stop: int, out: np.ndarray, _: Any) -> None:
    out[:] = np.load(path, mmap_mode="r", allow_pickle=False)[start:stop]


def _zarr() -> Any:
    return require("zarr", extra="dask", purpose="Reading zarr")


def _open_zarr(path: Path, *_: Any) -> Shard:
    zarr = _zarr()
    with reading(path, ZARR):
        array = zarr.open(str(path), mode="r")
        if not hasattr(array, "dtype"):
            raise FileFormatError(
                f"{path}: is a zarr group, which holds {listed(sorted(array)) or 'nothing'}. Give the path of one "
                "array, such as group.zarr/name."
            )
        if prod(array.shape) * array.dtype.itemsize > np.iinfo(np.intp).max:
            raise FileFormatError(
                f"{path}: announces an array of shape {array.shape}, more than any machine can address."
            )
        n_rows, step = (array.shape[0], max(1, array.chunks[0])) if array.ndim else (0, 1)
        if n_rows > step * _MOST_PIECES:  # the metadata alone can announce any number of them
            raise FileFormatError(
                f"{path}: announces {n_rows:,} rows in chunks of {step:,}; more than {_MOST_PIECES:,} chunks are not "
                "read. Write it in larger ones."
            )
        pieces = tuple(min(step, n_rows - start) for start in range(0, n_rows, step))
        return Shard(path, tuple(array.shape), np.dtype(array.dtype), pieces)


def _fill_zarr(path: Path, start: int, stop: int, out: np.ndarray, _: Any) -> None:
    out[:] = _zarr().open_array(str(path), mode="r")[start:stop]


def _parquet() -> Any:
    return require("pyarrow.parquet", extra="files", purpose="Reading parquet")


def _open_parquet(path: Path, skip_columns: Collection[str] | None, id_columns: Sequence[str]) -> Shard:
    parquet, types = _parquet(), require("pyarrow.types", extra="files", purpose="Reading parquet")
    with path.open("rb") as stream, reading(path, PARQUET), parquet.ParquetFile(stream) as file:
        schema = file.schema_arrow
        names = list(schema.names)
        id_column = _find_id_column(path, schema, id_columns, types)
        if skip_columns is None:
            _refuse_ids(path, [name for name in names if name != id_column])
            _refuse_numbers_of_rows(path, file, id_column, types)
        left_out = {*(skip_columns or ()), id_column}
        fields = [field for field in schema if field.name not in left_out]
        kinds = {f.name: f.type.value_type if is_vector(types, f.type) else f.type for f in fields}
        is_whole = {name: types.is_integer(kind) or types.is_boolean(kind) for name, kind in kinds.items()}
        text = [name for name, kind in kinds.items() if not is_whole[name] and not types.is_floating(kind)]
        if text:
            raise FileFormatError(
                f"{path}: expected numbers, but {len(text)} column(s) hold something else: {listed(text)}. "
                "Pass skip_columns= to leave them out, id_column= for ids, else encode or remove them."
            )
        if not fields or len(is_whole) < len(fields):
            raise FileFormatError(
                f"{path}: expected columns of numbers, each with its own name, found the columns {listed(names)}."
            )
        groups = [file.metadata.row_group(i) for i in range(file.num_row_groups)]
        lists = [field.name for field in fields if is_vector(types, field.type)]
        vectors = tuple((name, _length(path, file, name)) for name in lists)
        columns = [field.name for field in fields if field.name not in lists]
        columns += [f"{name}_{i}" for name, length in vectors for i in range(length)]
        return Shard(
            path,
            (file.metadata.num_rows, len(columns)),
            np.result_type(*(kind.to_pandas_dtype() for kind in kinds.values())),
            tuple(group.num_rows for group in groups),
            tuple(columns),
            tuple(name for name in names if name not in is_whole),
            any(is_whole.values()) and any(_may_have_gaps(group, is_whole, lists) for group in groups),
            id_column,
            vectors,
        )


def _length(path: Path, file: Any, name: str) -> int:
    """Return the length of the first vector in a column."""
    if n_values(path) > _LONGEST * max(file.metadata.num_rows, 1):  # repeated values are stored once
        raise FileFormatError(
            f"{path}: announces {n_values(path):,} values in {file.metadata.num_rows:,} rows; vectors of more than "
            f"{_LONGEST:,} values are not read."
        )
    for batch in file.iter_batches(1, columns=[name], use_threads=False):
        if batch.column(0).null_count == 0:
            return vectors_in(path, name, batch.column(0)).shape[1]
    raise FileFormatError(
        f"{path}: column {name!r} has no value in any row, so that the length of its vectors is not known. If the file "
        "has no rows, remove it; else pass skip_columns= to leave the column out."
    )


def _find_id_column(path: Path, schema: Any, id_columns: Sequence[str], types: Any) -> str | None:
    """Return the first of these names that the file has; None if ids are not asked for."""
    if not id_columns:
        return None
    found = next((name for name in id_columns if name in schema.names), None)
    if found is None:
        raise FileFormatError(
            f"{path}: has no column {' or '.join(map(repr, id_columns))} with the ids; its columns are "
            f"{listed(schema.names)}."
        )
    kind = schema.field(found).type
    if not (types.is_integer(kind) or types.is_string(kind) or types.is_large_string(kind)):
        raise FileFormatError(f"{path}: column {found!r} holds {kind}; expected ids: texts or whole numbers.")
    return found


def _refuse_ids(path: Path, names: Sequence[str]) -> None:
    """Refuse columns named like ids or classes: as features they would distort every distance."""
    suspects = [name for name in names if plain_key(name) in LABEL_COLUMNS or name.startswith("__index_level_")]
    suspects += [name for name in names[:1] if is_id_name(name)]
    if suspects:
        raise FileFormatError(
            f"{path}: by their names, these columns are ids or classes, not features: {listed(suspects)}. Pass the "
            "column with the ids as id_column=, and all others to leave out as skip_columns=; or skip_columns=[] to "
            "keep them."
        )


def _refuse_numbers_of_rows(path: Path, file: Any, id_column: str | None, types: Any) -> None:
    """Refuse a first column whose whole numbers differ in every row, if they count up or no other column has any.

    Whatever it is called, it probably holds ids, which would distort every distance.
    """
    first, *others = [field for field in file.schema_arrow if field.name != id_column] or [None]
    if first is None or not types.is_integer(first.type):
        return
    batch = next(file.iter_batches(_BATCH_ROWS, columns=[first.name], use_threads=False), None)
    if batch is None or batch.column(0).null_count:
        return
    values = batch.column(0).to_numpy(zero_copy_only=False)
    is_alone = bool(others) and not any(types.is_integer(field.type) for field in others)
    if differ_in_every_row(values) and (is_alone or (np.diff(values) == 1).all()):
        raise FileFormatError(
            f"{path}: the column {first.name!r} has another whole number in every row: ids, not a feature. Pass it as "
            "id_column=, or all columns to leave out as skip_columns=; or skip_columns=[] to keep it."
        )


def _may_have_gaps(group: Any, is_whole: dict[str, bool], lists: Sequence[str]) -> bool:
    """Return whether an integer column of this row group has, or may have, missing values."""
    for i in range(group.num_columns):
        column = group.column(i)
        stored = column.path_in_schema
        name = next((name for name in lists if stored.startswith(f"{name}.")), stored)  # embedding.list.element
        if is_whole.get(name, False):
            statistics = column.statistics
            if statistics is None or not statistics.has_null_count or statistics.null_count:
                return True
    return False


def _fill_parquet(path: Path, start: int, stop: int, out: np.ndarray, block: Block) -> None:
    with _parquet().ParquetFile(path) as file:
        apart = {*block.skip_columns, *(name for name, _ in block.vectors)}
        names = [name for name in file.schema_arrow.names if name not in apart]
        for at, batch in _batches(file, start, stop, [*names, *(name for name, _ in block.vectors)]):
            rows = out[at - start : at - start + len(batch)]
            for column, name in enumerate(names):
                rows[:, column] = batch.column(name).to_numpy(zero_copy_only=False)  # missing values become NaN
            column = len(names)
            for name, length in block.vectors:
                rows[:, column : column + length] = vectors_in(path, name, batch.column(name), length)
                column += length


def _batches(file: Any, start: int, stop: int, names: Sequence[str]) -> Iterator[tuple[int, Any]]:
    """Yield these columns of some rows: the first row of each batch, and the batch."""
    ends = np.cumsum([file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)])
    first, last = np.searchsorted(ends, [start, stop - 1], side="right")
    at, groups = int(ends[first - 1]) if first else 0, range(first, last + 1)
    # In batches that fit into the cache for the transposition. Without threads: blocks are read in parallel.
    for batch in file.iter_batches(_BATCH_ROWS, row_groups=groups, columns=list(names), use_threads=False):
        begin, end = max(start, at), min(stop, at + len(batch))
        if begin < end:
            yield begin, batch.slice(begin - at, end - begin)
        at += len(batch)


_OPEN: dict[str, Callable[..., Shard]] = {NPY: _open_npy, ZARR: _open_zarr, PARQUET: _open_parquet}
_FILL: dict[str, Callable[..., None]] = {NPY: _fill_npy, ZARR: _fill_zarr, PARQUET: _fill_parquet}
