"""Views on Dask workers: blocks of rows are made there, and results stay there."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from manyview._utils.machine import physical_memory
from manyview.engines.dask import DaskRows, to_dask
from manyview.ensemble.columns import ROWS, VIEWS
from manyview.views import Views
from manyview.views.container import chunks_of, frame_values, is_frame, is_lazy

if TYPE_CHECKING:
    import dask.array as da

# Rows per block on a worker: more than in threads, as every block has overhead there. Chunks are blocks as they are, up
# to four times as many rows: to cut them takes more tasks.
_BLOCK_ROWS, _CHUNK_ROWS = 32768, 131072


def current_client() -> Any | None:
    """Return the current ``distributed.Client``, if there is one."""
    distributed = sys.modules.get("distributed")  # without the import there is no client
    try:
        return None if distributed is None else distributed.get_client()
    except ValueError:
        return None


def worker_memory(client: Any) -> list[int]:
    """Return the memory limit of each worker in bytes."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    return [worker["memory_limit"] or physical_memory() for worker in workers]


def worker_blocks(views: Views) -> tuple[int, ...]:
    """Return the rows of each block on a worker: as in the chunks of the first Dask array, large ones in parts."""
    chunks = chunks_of(views)
    if chunks is None:
        return _cut(views.n_samples, _BLOCK_ROWS)
    return tuple(
        rows
        for size in chunks
        for rows in _cut(size, size if size <= _CHUNK_ROWS else -(-size // -(-size // _BLOCK_ROWS)))
    )


def _cut(size: int, step: int) -> tuple[int, ...]:
    return tuple(min(step, size - start) for start in range(0, size, max(1, step)))


def worker_rows(views: Views, client: Any) -> DaskRows:
    """Cut the samples into blocks on the workers of a client."""
    arrays = as_dask(views)
    names = [*(f"views[{name!r}]" for name in views.names), "present"]
    make = partial(raw_block, views.names)
    return DaskRows.from_arrays(client, arrays, make, worker_blocks(views), names[: len(arrays)])


def as_dask(views: Views) -> list[da.Array]:
    """Return the views as Dask arrays and, if views are missing, the array of which are present."""
    tables: list[Any] = [
        frame_values(view, f"views[{name!r}]") if is_frame(view) else view
        for name, view in zip(views.names, views.arrays, strict=True)
    ]
    if views.present is not None:
        tables.append(views.present)
    return [table if is_lazy(table) else to_dask(table, _BLOCK_ROWS) for table in tables]


def raw_block(names: Sequence[str], chunks: list, first_row: int) -> dict[str, Any]:
    """Make a block of the chunks of :func:`as_dask`."""
    present = chunks[len(names)] if len(chunks) > len(names) else None
    views = Views(tuple(chunks[: len(names)]), tuple(names), present=present)
    return {VIEWS.name: views, ROWS.name: range(first_row, first_row + views.n_samples)}
