"""`open_views`: views from files that may be larger than memory."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from glob import glob
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from manyview._utils.formats import extension_of, uncompressed
from manyview._utils.imports import require
from manyview._utils.machine import physical_memory
from manyview.exceptions import FileFormatError, ViewsError
from manyview.io._common import Options, reading
from manyview.io._files import LABEL_READERS, read_file, similar_files
from manyview.io._lines import open_bytes
from manyview.io._shards import NPY, Block, Shard, Span, kind_of, open_shard, read_block, read_ids, size_of
from manyview.views import Reading, Views

Source: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

_BLOCK_BYTES = 2**25
_ROW_STEP = 8192
_MOST_BLOCKS = 2**20
_LARGER_PIECES = 8  # row groups and chunks up to this many times the size of a block are blocks of their own
_ID_ROWS = 2**20  # rows whose ids are compared at a time
_KNOWN = ".npy, .parquet or a zarr folder"


def open_views(
    views: Mapping[str, Source],
    *,
    labels: Any = None,
    block_rows: int | None = None,
    skip_columns: Sequence[str] | None = None,
    id_column: str | Sequence[str] | None = None,
    as_dask: bool = True,
) -> Views:
    """Open views that need not fit into memory; values are read block by block when they are needed.

    Only the headers of the files are read here, and the ids if there are some. Rows are matched by position: all views
    must have the same samples in the same order, which ids prove. For files that fit into memory,
    :func:`manyview.read_views` knows more formats, and joins on ids.

    Parameters
    ----------
    views : mapping of name to path, pattern, folder or sequence of paths
        Where each view is: in one file or in several, its *shards*, which follow one another by rows. Formats are
        ``.npy``, ``.parquet`` and zarr (a folder that holds one array). The shards of a pattern (``"colour-*.npy"``) or
        of a folder come in the natural order of their names, ``part-2`` before ``part-10``; those of a sequence in its
        order. They must have the same format, columns and dtype.
    labels : path or array-like, optional
        The classes, one per sample; these are loaded. A file may be ``.npy``, ``.parquet``, a table of text or ``.txt``
        (one class per line), as in :func:`manyview.read_views`.
    block_rows : int, optional
        Number of rows of a block of the Dask arrays, the same in all views, wherever their shards end. By default a
        multiple of 8192, at least that, such that a block of all views together has about 32 MB. For parquet and zarr,
        as many row groups or chunks of one view as a block has room for, but at least one, unless that is more than
        eight times as large.
    skip_columns : sequence of str, optional
        Columns of parquet files that are no features. By default all columns but the ids are features, and one that by
        its name holds ids or classes is an error.
    id_column : str or sequence of str, optional
        The column of parquet files that holds the ids of the samples, texts or whole numbers; several names if views
        call it differently. Every parquet file must have it. All views must have the same ids in the same order, which
        is checked block by block; ids are kept in memory, as ``sample_ids``. Files of other formats have none, and are
        matched by position.
    as_dask : bool, default=True
        False: return ``np.memmap`` arrays, for one machine; that needs no Dask, but one ``.npy`` file per view.

    Returns
    -------
    Views
        With Dask arrays, all in the same blocks of rows, each with all columns. A task knows no more than paths and
        numbers of rows and opens the files itself, so that any worker that sees the same files can run it, and run it
        again. Types are kept: ``float32`` stays ``float32``, integers stay integers. Parquet columns get their common
        type; integers with gaps become ``float64``, the gaps NaN. A column of lists, such as ``embedding``, becomes the
        columns ``embedding_0``, ``embedding_1`` and so on, after all others; its lists must have one length.

    Raises
    ------
    FileFormatError
        If a file is damaged or foreign, or does not go with the other shards; with its name.
    FileNotFoundError
        If there is no such file, or none that matches the pattern.
    ViewsError
        If views differ in their number of rows or in their ids; with the first row that differs.

    Notes
    -----
    The least that can be read is a row of ``.npy``, a chunk of zarr and a row group of parquet. Where one of the latter
    is larger than a block, it is a task of its own, which the blocks are then cut from, and has to fit into memory:
    when writing parquet, mind ``row_group_size``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from manyview import open_views
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for part in range(3):
    ...         np.save(Path(folder, f"colour-{part}.npy"), np.full((2, 4), part, dtype=np.float32))
    ...     np.save(Path(folder, "texture.npy"), np.arange(18).reshape(6, 3))
    ...     views = open_views({"colour": f"{folder}/colour-*.npy", "texture": f"{folder}/texture.npy"}, block_rows=4)
    ...     views, views["colour"].chunks, views["colour"][3:5, 0].compute()
    (Views(6 samples; colour: 4, texture: 3), ((4, 2), (4,)), array([1., 2.], dtype=float32))
    """
    if not isinstance(views, Mapping) or not views:
        raise TypeError(f"views: expected a mapping of names to paths, with at least one view, got {views!r}.")
    if block_rows is not None and (not isinstance(block_rows, int | np.integer) or block_rows < 1):
        raise ValueError(f"block_rows: expected an integer of at least 1, got {block_rows!r}.")
    if isinstance(skip_columns, str):
        raise TypeError(f"skip_columns: expected a sequence of names, got the text {skip_columns!r}.")
    id_columns = [id_column] if isinstance(id_column, str) else list(id_column or ())
    files = {str(name): _find_shards(f"views[{name!r}]", source) for name, source in views.items()}
    shards = {name: [open_shard(path, skip_columns, id_columns) for path in paths] for name, paths in files.items()}
    skipped = tuple(skip_columns or ())
    _check_skipped([shard for group in shards.values() for shard in group], skipped)
    for group in shards.values():
        _check_alike(group)
    n_samples = _check_rows(shards)
    sample_ids = _common_ids(shards, id_columns, n_samples) if id_columns else None
    if as_dask:
        arrays = _as_dask(list(shards.values()), block_rows, skipped)
    else:
        arrays = [_as_memmap(name, group) for name, group in shards.items()]
    if isinstance(labels, str | os.PathLike):
        labels = _read_labels(Path(labels), n_samples)
    columns = tuple(group[0].columns or None for group in shards.values())
    return Views(
        tuple(arrays),
        tuple(shards),
        sample_ids,
        labels,
        feature_names=columns if any(columns) else None,
        reading=Reading("position" if sample_ids is None else f"position, with the same ids `{id_columns[0]}`"),
    )


def _find_shards(where: str, source: Source) -> list[Path]:
    """Return the files of one view, in the order of their rows."""
    if isinstance(source, bytes) or not (isinstance(source, str | os.PathLike | Sequence) and source):
        raise TypeError(f"{where}: expected a path, a pattern, a folder or a sequence of paths, got {source!r}.")
    given = [source] if isinstance(source, str | os.PathLike) else source
    found = [path for item in given for path in _expand(where, Path(item))]
    kinds = {kind_of(path): path for path in reversed(found)}
    if "" in kinds:
        raise FileFormatError(f"{kinds['']}: cannot be opened by its name. Expected {_KNOWN}.")
    if len(kinds) > 1:
        raise FileFormatError(
            f"{where}: expected shards of one format, found {' and '.join(map(str, kinds.values()))}."
        )
    return [path.absolute() for path in found]  # a worker may have another working directory


def _expand(where: str, path: Path) -> list[Path]:
    """Return one file, or the files in a folder or of a pattern."""
    if path.is_dir() and not kind_of(path):
        found = [file for file in path.iterdir() if kind_of(file) and not file.name.startswith(".")]
        if not found:
            raise FileFormatError(f"{path}: no shards of {where} in this folder. Expected {_KNOWN}.")
    elif path.exists():
        found = [path]
    elif any(mark in str(path) for mark in "*?["):
        found = [Path(file) for file in glob(str(path))]
        if not found:
            raise FileNotFoundError(f"{where}: no file matches the pattern {str(path)!r}.")
    else:
        raise FileNotFoundError(f"{path}: no such file.{similar_files(path)}")
    return sorted(found, key=_natural)


def _natural(path: Path) -> tuple[list[str | int], str]:
    """Return a sort key that puts part-2 before part-10."""
    parts = re.split("([0-9]+)", str(path))
    return [int(part) if i % 2 else part for i, part in enumerate(parts)], str(path)


def _check_skipped(shards: Sequence[Shard], skip_columns: Sequence[str]) -> None:
    unknown = set(skip_columns).difference(*(shard.skipped for shard in shards))
    if unknown:
        raise FileFormatError(f"skip_columns: no file has a column {min(unknown)!r}.")


def _check_alike(shards: Sequence[Shard]) -> None:
    """Check that all shards of a view have the columns of the first."""
    first, *others = shards
    for shard in others:
        if shard.features != first.features:
            raise FileFormatError(
                f"{shard.path}: expected {first.features} like {first.path}, the first shard, found {shard.features}."
            )
        if shard.columns != first.columns:
            expected, found = next((a, b) for a, b in zip(first.columns, shard.columns, strict=True) if a != b)
            raise FileFormatError(
                f"{shard.path}: expected the columns of {first.path}, the first shard, in the same order, found "
                f"{found!r} in place of {expected!r}."
            )


def _check_rows(shards: Mapping[str, Sequence[Shard]]) -> int:
    """Return the number of samples, after checking that it is the same in all views."""
    rows = {name: sum(shard.shape[0] for shard in group) for name, group in shards.items()}
    if len(set(rows.values())) > 1:
        found = ", ".join(f"{name}: {rows[name]} (in {len(group)} file(s))" for name, group in shards.items())
        raise ViewsError(
            f"views: expected the same number of rows in every view, got {found}. All views must describe the same "
            "samples in the same order."
        )
    n_samples = next(iter(rows.values()))
    if n_samples == 0:
        first = next(iter(shards.values()))[0]
        raise ViewsError(f"views: expected at least one row, the files have none; the first is {first.path}.")
    return n_samples


def _common_ids(shards: Mapping[str, Sequence[Shard]], id_columns: Sequence[str], n_samples: int) -> np.ndarray:
    """Return the ids of the samples, after checking block by block that all views with ids have the same."""
    having = {name: group for name, group in shards.items() if group[0].id_column is not None}
    if not having:
        raise FileFormatError(
            f"id_column={id_columns[0]!r}: only parquet files have columns with names, and there are none. Leave it "
            "out: rows are then matched by position."
        )
    edges = [*range(0, n_samples, _ID_ROWS), n_samples]
    blocks = {name: _blocks(group, edges, ()) for name, group in having.items()}
    first, *others = blocks
    kept = []
    for i, start in enumerate(edges[:-1]):
        ids = _ids_of(blocks[first][i], having[first])
        for name in others:
            own = _ids_of(blocks[name][i], having[name])
            if not np.array_equal(own, ids):
                row = int(np.flatnonzero(own != ids)[0]) if own.dtype.kind == ids.dtype.kind else 0
                found, wanted = own[row : row + 1].tolist(), ids[row : row + 1].tolist()
                raise ViewsError(
                    f"views[{name!r}]: its ids differ from those of views[{first!r}], first in row {start + row}: "
                    f"{found[0]!r} and {wanted[0]!r}. Views that are opened must have the same samples in the same "
                    "order: sort their files by the ids, or read_views joins files that fit into memory."
                )
        kept.append(ids)
    return np.concatenate(kept)


def _ids_of(block: Block, shards: Sequence[Shard]) -> np.ndarray:
    columns = {str(shard.path): shard.id_column for shard in shards}
    return read_ids(block, [columns[span.path] for span in block.spans])


def _as_memmap(name: str, shards: Sequence[Shard]) -> np.ndarray:
    path = shards[0].path
    if len(shards) > 1 or kind_of(path) != NPY:
        raise ValueError(
            f"as_dask=False: expected one .npy file for every view, but views[{name!r}] is in {len(shards)} file(s) "
            f"such as {path}. Use as_dask=True."
        )
    return np.load(path, mmap_mode="r", allow_pickle=False)


def _as_dask(views: Sequence[Sequence[Shard]], block_rows: int | None, skip_columns: tuple[str, ...]) -> list[Any]:
    """Return all views as Dask arrays with the same blocks of rows."""
    dask_array = require("dask.array", extra="dask", purpose="Opening views as Dask arrays")
    tokenize = require("dask.base", extra="dask", purpose="Opening views as Dask arrays").tokenize
    n_samples = sum(shard.shape[0] for shard in views[0])
    pieces_of = [[n_rows for shard in shards for n_rows in shard.pieces if n_rows] for shards in views]
    edges: list[int] | None = None
    if block_rows is None:
        row_bytes = sum(shards[0].shape[1] * _dtype(shards).itemsize for shards in views)
        block_rows = max(_ROW_STEP, _BLOCK_BYTES // row_bytes // _ROW_STEP * _ROW_STEP)
        largest = max(pieces_of, key=lambda pieces: max(pieces, default=0))
        if 0 < max(largest, default=0) <= _LARGER_PIECES * block_rows:  # no piece is read twice
            edges, block_rows = _edges(largest, block_rows), max(block_rows, *largest)
    if n_samples > block_rows * _MOST_BLOCKS:
        raise FileFormatError(
            f"{views[0][0].path}: announces {n_samples:,} rows, which are more than {_MOST_BLOCKS:,} blocks of "
            f"{block_rows:,}. If the file is right, pass a larger block_rows=."
        )
    edges = edges or [*range(0, n_samples, block_rows), n_samples]
    arrays = []
    for shards, pieces in zip(views, pieces_of, strict=True):
        # Larger pieces that can only be read as a whole are read once, and then split.
        own_edges = np.cumsum([0, *pieces]).tolist() if max(pieces, default=0) > block_rows else edges
        blocks = _blocks(shards, own_edges, (*skip_columns, *{shard.id_column for shard in shards if shard.id_column}))
        name = "open_views-" + tokenize(blocks, [shard.path.stat().st_mtime_ns for shard in shards])
        array = dask_array.Array(
            {(name, i, 0): (read_block, block) for i, block in enumerate(blocks)},
            name,
            chunks=(_sizes(own_edges), (blocks[0].n_columns,)),
            meta=np.empty((0, 0), blocks[0].dtype),
        )
        arrays.append(array.rechunk({0: _sizes(edges)}))
    return arrays


def _edges(pieces: Sequence[int], block_rows: int) -> list[int]:
    """Return the edges of blocks of whole pieces: as many as ``block_rows`` has room for, but at least one."""
    edges, end = [0], 0
    for n_rows in pieces:
        if end > edges[-1] and end + n_rows - edges[-1] > block_rows:
            edges.append(end)
        end += n_rows
    return [*edges, end]


def _blocks(shards: Sequence[Shard], edges: Sequence[int], skip_columns: tuple[str, ...]) -> list[Block]:
    """Return the rows of the files between each two edges."""
    begins = np.cumsum([0, *(shard.shape[0] for shard in shards)]).tolist()
    sizes = [size_of(shard.path) for shard in shards]
    dtype, blocks, first = _dtype(shards), [], 0
    for start, stop in pairwise(edges):
        while begins[first + 1] <= start:
            first += 1
        spans, i = [], first
        while i < len(shards) and begins[i] < stop:
            inside = max(start, begins[i]) - begins[i], min(stop, begins[i + 1]) - begins[i]
            if inside[0] < inside[1]:
                spans.append(Span(str(shards[i].path), *inside, sizes[i]))
            i += 1
        blocks.append(Block(tuple(spans), shards[0].shape[1], dtype, skip_columns, shards[0].vectors))
    return blocks


def _dtype(shards: Sequence[Shard]) -> np.dtype:
    """Return the common dtype; a float type if there may be missing values."""
    gaps = any(shard.may_have_gaps for shard in shards)
    return np.result_type(shards[0].dtype, np.float64) if gaps else shards[0].dtype


def _sizes(edges: Sequence[int]) -> tuple[int, ...]:
    return tuple(stop - start for start, stop in pairwise(edges))


def _read_labels(path: Path, n_samples: int) -> np.ndarray | None:
    header = None
    if uncompressed(extension_of(path) or "") in (".csv", ".tsv", ".tab") and path.is_file():
        # A first line of numbers could be a class or a name, which the number of lines decides.
        with open_bytes(path, physical_memory()) as lines, reading(path, "a table"):
            n_lines = sum(bool(line.strip()) for line in lines)
        header = {n_samples: False, n_samples + 1: True}.get(n_lines)
    return read_file(path, LABEL_READERS, Options(header=header, max_bytes=physical_memory()))[0].labels
