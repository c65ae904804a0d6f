"""Views on Dask: which engine a fit runs on, blocks of rows on workers, and results that stay with them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from manyview._utils.imports import require
from manyview._utils.memory import physical_memory
from manyview.cluster._blocks import place_part
from manyview.cluster._new_samples import FittedViews
from manyview.cluster._source import local_rows
from manyview.engines import Rows
from manyview.engines.dask import DaskRows, to_dask
from manyview.exceptions import EngineError, ViewsError
from manyview.views import Views
from manyview.views.values import frame_values, is_frame, is_lazy

if TYPE_CHECKING:
    import dask.array as da

# Rows per block on a worker: more than a thread takes at a time, since every block has a price of its own there.
_BLOCK_ROWS = 32768


def is_distributed(views: Views, engine: str) -> bool:
    """Whether these views are worked on block by block, however few samples there are."""
    return engine == "dask" or any(is_lazy(array) for array in views.arrays)


def open_rows(views: Views, engine: str, n_jobs: int | None) -> Rows:
    """The samples in blocks that hold ``views`` and ``rows``: on Dask workers, or in the threads of this machine.

    Dask arrays go to the workers of the current client. Without one, or if the engine is "local", they are loaded block
    by block.
    """
    if views.n_samples == 0:
        raise ViewsError("views: expected at least 2 samples, got n_samples=0.")
    client = client_for(views, engine)
    if client is not None:
        return worker_rows(views, client)
    if engine == "dask":
        require("distributed", extra="dask", purpose="engine='dask'")
        raise EngineError(
            "engine='dask': there is no Dask client. Start one first, for example "
            "client = distributed.Client(n_workers=2), or take engine='local'."
        )
    return local_rows(views, n_jobs)


def client_for(views: Views, engine: str) -> Any | None:
    """The client whose workers these views go to, if they do."""
    return current_client() if engine != "local" and is_distributed(views, engine) else None


def worker_memory(client: Any) -> list[int]:
    """Bytes that each worker may take."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    return [worker["memory_limit"] or physical_memory() for worker in workers]


def worker_block_rows(views: Views) -> int:
    """Rows per block on a worker: as in the chunks, unless they are too large."""
    chunks = [array.chunks[0] for array in views.arrays if is_lazy(array)]
    return min(_BLOCK_ROWS, max(chunks[0])) if chunks else _BLOCK_ROWS


def current_client() -> Any | None:
    """The ``distributed.Client`` that is at work here, if there is one."""
    distributed = sys.modules.get("distributed")  # who has a client has imported it
    try:
        return None if distributed is None else distributed.get_client()
    except ValueError:
        return None


def worker_rows(views: Views, client: Any) -> DaskRows:
    """The samples in blocks on the workers of a client."""
    arrays = _as_dask(views)
    names = [*(f"views[{name!r}]" for name in views.names), "present"]
    make = partial(_raw_block, views.names)
    return DaskRows.from_arrays(client, arrays, make, worker_block_rows(views), names[: len(arrays)])


def _as_dask(views: Views) -> list[da.Array]:
    """The views, then which of them each sample has if some lack some."""
    tables: list[Any] = [
        frame_values(view, f"views[{name!r}]") if is_frame(view) else view
        for name, view in zip(views.names, views, strict=True)
    ]
    if views.present is not None:
        tables.append(views.present)
    return [table if is_lazy(table) else to_dask(table, _BLOCK_ROWS) for table in tables]


def _raw_block(names: Sequence[str], chunks: list, first_row: int) -> dict[str, Any]:
    present = chunks[len(names)] if len(chunks) > len(names) else None
    views = Views(tuple(chunks[: len(names)]), tuple(names), present=present)
    return {"views": views, "rows": range(first_row, first_row + views.n_samples)}


def column(rows: Rows, name: str, views: Views) -> Any:
    """What all rows hold under a name: a Dask array if a view is one, and on the workers if the rows are there."""
    if hasattr(rows, "array"):
        return rows.array(name)
    values = rows.gather(name)
    lazy = next((table for table in views.arrays if is_lazy(table)), None)
    if lazy is None:
        return values
    chunks = (lazy.chunks[0], *((size,) for size in values.shape[1:]))
    return require("dask.array", extra="dask", purpose="Dask arrays").from_array(values, chunks=chunks)


def place_lazily(views: Views, fitted: FittedViews, what: str) -> Any:
    """Labels, embedding or confidence of samples in Dask arrays, as a Dask array: nothing is computed yet.

    If no view is a Dask array, they are computed, where Dask computes at this moment.
    """
    dask = require("dask", extra="dask", purpose="Dask arrays")
    array = require("dask.array", extra="dask", purpose="Dask arrays")
    tables = _as_dask(views)
    lazy = [table for table in views.arrays if is_lazy(table)]
    rows = (lazy or tables)[0].chunks[0]
    like = np.empty((0, *_shape(fitted, what)), dtype=_dtype(views, what))
    model, place = dask.delayed(fitted, traverse=False), dask.delayed(_place_chunk, pure=False)
    parts, first = [], 0
    cut = (table.rechunk({0: rows, 1: -1}).to_delayed().ravel() for table in tables)
    for size, *chunks in zip(rows, *cut, strict=True):
        placed = place(chunks, views.names, first, model, what)
        parts.append(array.from_delayed(placed, (size, *like.shape[1:]), meta=like))
        first += size
    found = array.concatenate(parts)
    return found if lazy else found.compute()


def _place_chunk(chunks: list, names: Sequence[str], first_row: int, fitted: FittedViews, what: str) -> np.ndarray:
    return place_part(_raw_block(names, chunks, first_row), fitted, what)


def _shape(fitted: FittedViews, what: str) -> tuple[int, ...]:
    return (fitted.ensemble.consensus.centres.shape[1],) if what == "embedding" else ()


def _dtype(views: Views, what: str) -> Any:
    if what == "labels":
        return np.int64
    return np.float32 if all(array.dtype == np.float32 for array in views.arrays) else np.float64
