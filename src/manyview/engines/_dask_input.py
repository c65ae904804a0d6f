"""Conversion of arrays to blocks of rows for Dask workers."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import call
from pickle import loads
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
import scipy.sparse as sp

from manyview._utils.imports import require
from manyview.engines.rows import BLOCK_ROWS
from manyview.exceptions import ViewsError

if TYPE_CHECKING:
    import dask.array as da


def to_dask(array: Any, block_rows: int = BLOCK_ROWS) -> da.Array:
    """Return a Dask array of row chunks, each with all columns.

    Rows of a memory-mapped file are read by the workers, which must be able to open it under the same path. Rows in
    memory are sent with the task graph and kept by the scheduler, so that a lost chunk can be restored.

    Parameters
    ----------
    array : ndarray or memmap of any number of axes, or sparse matrix
        Sparse formats become CSR.
    block_rows : int
        Rows per chunk.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.engines.dask import to_dask
    >>> to_dask(np.zeros((10, 3)), block_rows=4).chunks  # doctest: +SKIP
    ((4, 4, 2), (3,))
    """
    da = require("dask.array", extra="dask", purpose="Blocks for Dask workers")
    name, further = f"rows-{uuid4().hex}", (0,) * (len(array.shape) - 1)
    bounds = [(start, min(start + block_rows, array.shape[0])) for start in range(0, array.shape[0], block_rows)]
    location = _location_in_file(array)
    if location is not None:
        read = packed(partial(_read_rows, *location))
        chunks: list[Any] = [(call, read, *rows) for rows in bounds]
    else:
        table = array.tocsr() if sp.issparse(array) else np.asarray(array)
        chunks = [table[start:stop] for start, stop in bounds]
    graph = {(name, i, *further): chunk for i, chunk in enumerate(chunks)}
    sizes = (tuple(stop - start for start, stop in bounds), *((size,) for size in array.shape[1:]))
    return da.Array(graph, name, sizes, meta=None if location else table[:0], dtype=array.dtype)


def row_blocks(
    arrays: Sequence[da.Array],
    make_block: Callable[[list, int], Mapping[str, Any]],
    block_rows: int | tuple[int, ...] | None,
    names: Sequence[str],
) -> tuple[dict[Any, Any], list[tuple[str, int]], list[int]]:
    """Return tasks that make blocks of the same rows of several Dask arrays, their keys, and the numbers of rows.

    By default, blocks are those of the first array.
    """
    dask = require("dask", extra="dask", purpose="Blocks for Dask workers")
    spec = require("dask.task_spec", extra="dask", purpose="Blocks for Dask workers")
    for name, array in zip(names, arrays, strict=True):
        if np.isnan(array.shape).any():
            raise ViewsError(
                f"{name}: the sizes of its chunks are unknown. Call compute_chunk_sizes() on the Dask array first."
            )
        if array.shape[0] != arrays[0].shape[0]:
            raise ViewsError(f"{name}: expected {arrays[0].shape[0]} samples, as in {names[0]}, got {array.shape[0]}.")
    rows = arrays[0].chunks[0] if block_rows is None else block_rows
    cut = [array.rechunk({0: rows, **dict.fromkeys(range(1, array.ndim), -1)}) for array in arrays]
    cut = dask.optimize(*cut)
    lengths = [int(length) for length in cut[0].chunks[0]]
    starts = np.cumsum([0, *lengths]).tolist()
    name, make = f"block-{uuid4().hex}", packed(make_block)
    graph, own = _with_own_keys({key: task for array in cut for key, task in array.__dask_graph__().items()}, name)
    chunks = zip(*(array.__dask_keys__() for array in cut), strict=True)
    # The function is part of every task: as a separate task it would be sent, unpacked, between the workers.
    keys = [(name, i) for i in range(len(lengths))]
    for key, parts, start in zip(keys, chunks, starts, strict=False):
        refs = spec.List(*(spec.TaskRef(own.get(part, part)) for part in map(_only, parts)))
        graph[key] = spec.Task(key, call, spec.Task(None, *make), refs, start)
    return graph, keys, lengths


def _only(keys: Any) -> Any:
    """Return the one key in a nested list of keys."""
    return _only(keys[0]) if isinstance(keys, list) else keys


def _with_own_keys(graph: Mapping[Any, Any], name: str) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """Return the same tasks under keys of their own, and the new key of each old one.

    Dask optimizes the tasks of an array, and keeps their keys, differently for each computation. The scheduler knows
    ours as long as their blocks exist, and would warn of other computations with the same keys and other tasks. Keys of
    data that a cluster already has stay as they are.
    """
    spec = require("dask._task_spec", extra="dask", purpose="Blocks for Dask workers")
    nodes = spec.convert_legacy_graph(graph)
    own = {key: (f"{key[0]}-{name}", *key[1:]) if isinstance(key, tuple) else f"{key}-{name}" for key in nodes}
    renamed = {}
    for key, node in nodes.items():
        if isinstance(node, spec.Alias):
            renamed[own[key]] = spec.Alias(own[key], own.get(node.target, node.target))
        else:
            renamed[own[key]] = node.substitute({old: own[old] for old in node.dependencies if old in own}, own[key])
    return renamed, own


def packed(function: Callable[..., Any]) -> tuple[Callable[..., Any], bytes]:
    """Return a task that unpickles the function on a worker, so that the scheduler need not import its modules."""
    return loads, require("cloudpickle", extra="dask", purpose="Work on Dask workers").dumps(function)


def _location_in_file(array: Any) -> tuple[str, np.dtype, int, tuple[int, ...]] | None:
    """Return file, type, offset and shape of a memory-mapped array; None if its rows are not contiguous in the file."""
    # A slice of a mapped array has the offset of the whole array, so its start follows from the addresses.
    mapped = getattr(array, "_mmap", None)
    name = getattr(array, "filename", None)
    if mapped is None or name is None or array.mode == "c" or not array.flags.c_contiguous:
        return None
    array.flush()
    start = np.frombuffer(mapped, np.uint8).__array_interface__["data"][0]
    offset = array.offset - array.offset % mmap.ALLOCATIONGRANULARITY
    return str(name), array.dtype, offset + array.__array_interface__["data"][0] - start, array.shape


def _read_rows(filename: str, dtype: np.dtype, offset: int, shape: tuple[int, ...], start: int, stop: int) -> Any:
    try:
        return np.array(np.memmap(filename, dtype, "r", offset, shape)[start:stop])
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"{filename}: a Dask worker cannot find this file. Put it where all workers see it under the same path, "
            "or pass the samples as a Dask array."
        ) from error
