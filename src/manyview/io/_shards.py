"""One file of a large view: its header, and some of its rows.

The header is read once, when the views are opened. The rows are read where they are needed, perhaps on another machine,
from the paths and row numbers in a `Block` alone.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from manyview._utils.imports import require
from manyview.exceptions import FileFormatError
from manyview.io._common import plain_key, reading
from manyview.io._ids import LABEL_COLUMNS
from manyview.io._numpy import read_header
from manyview.io._table_files import is_id_name, listed

NPY, PARQUET, ZARR = "an .npy file", "parquet", "zarr"
_BATCH_ROWS = 8192
_MOST_PIECES = 2**20
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
            _FILL[kind](path, span.start, span.stop, part, block.skip_columns)
        filled += len(part)
    return values


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


def open_shard(path: Path, skip_columns: Collection[str] | None) -> Shard:
    """Read the header of a file, and check that it can be a view."""
    shard = _OPEN[kind_of(path)](path, skip_columns)
    if len(shard.shape) != 2 or shard.shape[1] == 0 or shard.dtype.kind not in "biuf":
        raise FileFormatError(
            f"{path}: expected a 2-D array of numbers (samples x features), "
            f"found shape {shard.shape} of dtype {shard.dtype}."
        )
    return shard


def _open_npy(path: Path, _: Any) -> Shard:
    with path.open("rb") as stream, reading(path, NPY):
        return Shard(path, *read_header(stream, path.stat().st_size, str(path)))


def _fill_npy(path: Path, start: int, stop: int, out: np.ndarray, _: Any) -> None:
    out[:] = np.load(path, mmap_mode="r", allow_pickle=False)[start:stop]


def _zarr() -> Any:
    return require("zarr", extra="dask", purpose="Reading zarr")


def _open_zarr(path: Path, _: Any) -> Shard:
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


def _open_parquet(path: Path, skip_columns: Collection[str] | None) -> Shard:
    parquet, types = _parquet(), require("pyarrow.types", extra="files", purpose="Reading parquet")
    with path.open("rb") as stream, reading(path, PARQUET), parquet.ParquetFile(stream) as file:
        schema = file.schema_arrow
        names = list(schema.names)
        if skip_columns is None:
            _refuse_ids(path, names)
        fields = [field for field in schema if field.name not in (skip_columns or ())]
        is_whole = {f.name: types.is_integer(f.type) or types.is_boolean(f.type) for f in fields}
        text = [f.name for f in fields if not is_whole[f.name] and not types.is_floating(f.type)]
        if text:
            raise FileFormatError(
                f"{path}: expected numbers, but {len(text)} column(s) hold something else: {listed(text)}. "
                "Pass skip_columns= to leave them out, else encode or remove them."
            )
        if not fields or len(is_whole) < len(fields):
            raise FileFormatError(
                f"{path}: expected columns of numbers, each with its own name, found the columns {listed(names)}."
            )
        groups = [file.metadata.row_group(i) for i in range(file.num_row_groups)]
        return Shard(
            path,
            (file.metadata.num_rows, len(fields)),
            np.result_type(*(field.type.to_pandas_dtype() for field in fields)),
            tuple(group.num_rows for group in groups),
            tuple(field.name for field in fields),
            tuple(name for name in names if name not in is_whole),
            any(is_whole.values()) and any(_may_have_gaps(group, is_whole) for group in groups),
        )


def _refuse_ids(path: Path, names: Sequence[str]) -> None:
    """Refuse columns named like ids or classes: as features they would distort every distance."""
    suspects = [name for name in names if plain_key(name) in LABEL_COLUMNS or name.startswith("__index_level_")]
    suspects += [name for name in names[:1] if is_id_name(name)]
    if suspects:
        raise FileFormatError(
            f"{path}: by their names, these columns are ids or classes, not features: {listed(suspects)}. Pass all "
            "columns to leave out as skip_columns= (rows are matched by position), or skip_columns=[] to keep them."
        )


def _may_have_gaps(group: Any, is_whole: dict[str, bool]) -> bool:
    """Return whether an integer column of this row group has, or may have, missing values."""
    for i in range(group.num_columns):
        column = group.column(i)
        if is_whole.get(column.path_in_schema, False):
            statistics = column.statistics
            if statistics is None or not statistics.has_null_count or statistics.null_count:
                return True
    return False


def _fill_parquet(path: Path, start: int, stop: int, out: np.ndarray, skip_columns: Sequence[str]) -> None:
    with _parquet().ParquetFile(path) as file:
        names = [name for name in file.schema_arrow.names if name not in skip_columns]
        ends = np.cumsum([file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)])
        first, last = np.searchsorted(ends, [start, stop - 1], side="right")
        at, groups = int(ends[first - 1]) if first else 0, range(first, last + 1)
        # In batches that fit into the cache for the transposition. Without threads: blocks are read in parallel.
        for batch in file.iter_batches(_BATCH_ROWS, row_groups=groups, columns=names, use_threads=False):
            begin, end = max(start, at), min(stop, at + len(batch))
            if begin < end:
                wanted, rows = batch.slice(begin - at, end - begin), out[begin - start : end - start]
                for column, name in enumerate(names):
                    rows[:, column] = wanted.column(name).to_numpy(zero_copy_only=False)  # missing values become NaN
            at += len(batch)


_OPEN: dict[str, Callable[..., Shard]] = {NPY: _open_npy, ZARR: _open_zarr, PARQUET: _open_parquet}
_FILL: dict[str, Callable[..., None]] = {NPY: _fill_npy, ZARR: _fill_zarr, PARQUET: _fill_parquet}
