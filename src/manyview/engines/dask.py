"""Row blocks on the workers of a Dask cluster.

Blocks are tasks of the scheduler, and so is everything computed from them. A block that is lost with its worker is
computed again on another, including what was stored in it, with the same result.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, lru_cache, partial, reduce
from operator import add, call, itemgetter
from pickle import loads
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

import numpy as np

from manyview._utils.imports import require
from manyview._utils.machine import one_thread
from manyview.engines._dask_input import packed, row_blocks, to_dask
from manyview.engines._dask_watch import check_connected, collect, workers
from manyview.exceptions import EngineError

if TYPE_CHECKING:
    import dask.array as da
    from dask.delayed import Delayed
    from distributed import Client, Future

__all__ = ["DaskRows", "Traffic", "to_dask", "transferred_bytes"]

Result = TypeVar("Result")
Key = tuple[str, int]

# M_MMAP_THRESHOLD and M_TRIM_THRESHOLD of GNU's malloc.h.
_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1
_FAN_IN = 8  # results that one task combines
# Bytes of the arguments of one round that are sent with each task. More are sent once, so that the traffic does not
# grow with the number of blocks.
_WITH_TASKS = 2**16


@dataclass
class Traffic:
    """Traffic of the client: rounds, bytes of arguments sent and of results received."""

    rounds: int = 0
    sent: int = 0
    received: int = 0


class DaskRows:
    """Rows in the memory of Dask workers; see :class:`manyview.engines.rows.Rows`.

    The content of a block stays on its worker. Results of :meth:`reduce` and :meth:`sum` are combined on the workers,
    first those of one worker. Linear algebra uses one thread per task.

    :meth:`keep`, :meth:`extend` and :meth:`drop` do not wait: an error in them is raised by the next call that
    returns something.

    Parameters
    ----------
    client : distributed.Client
    blocks : sequence of distributed.Future or Delayed
        The data of the rows, one dict of arrays per block.
    lengths : sequence of int
        Number of rows in each block.
    patience : float
        Seconds without progress, for a known reason such as missing workers, before an error is raised.

    Attributes
    ----------
    n_rows : int
    traffic : Traffic

    Examples
    --------
    >>> from distributed import Client  # doctest: +SKIP
    >>> client = Client(n_workers=2, threads_per_worker=1)  # doctest: +SKIP
    >>> rows = DaskRows.from_arrays(
    ...     client, [dask_array], lambda arrays, first: {"x": arrays[0]}
    ... )  # doctest: +SKIP
    >>> rows.sum(lambda block: block["x"].sum(axis=0))  # doctest: +SKIP
    """

    def __init__(
        self, client: Client, blocks: Sequence[Future | Delayed], lengths: Sequence[int], patience: float = 60.0
    ) -> None:
        require("distributed", extra="dask", purpose="Work on Dask workers")
        if client.asynchronous:
            raise ValueError("client: expected a synchronous Client, got one with asynchronous=True.")
        check_connected(client)
        self.n_rows = sum(lengths)
        self.traffic = Traffic()
        self._client = client
        self._blocks: list[Future] = client.compute(list(blocks))
        self._lengths = list(lengths)
        self._patience = patience
        # The worker that held each block. Results do not depend on it: it is the preferred worker for the next task.
        self._homes: list[str] = []
        self._wanted: dict[Key, str] = {}
        self._lock = threading.Lock()
        self._counting = threading.Lock()
        self._task = threading.local()

    @classmethod
    def from_arrays(
        cls,
        client: Client,
        arrays: Sequence[da.Array],
        make_block: Callable[[list, int], Mapping[str, Any]],
        block_rows: int | tuple[int, ...] | None = None,
        names: Sequence[str] | None = None,
        patience: float = 60.0,
    ) -> DaskRows:
        """Make blocks of the same rows of several Dask arrays.

        Parameters
        ----------
        client : distributed.Client
        arrays : sequence of dask.array.Array
            All with the same number of rows. :func:`manyview.engines.dask.to_dask` converts other arrays.
        make_block : callable
            ``make_block(chunks, first_row)`` returns the dict of a block, where the chunks are those of the arrays.
        block_rows : int or tuple of int, optional
            Rows per block, or of each block; default: as in the chunks of the first array.
        names : sequence of str, optional
            Names of the arrays in errors.
        patience : float
            As in the class.
        """
        names = [f"arrays[{i}]" for i in range(len(arrays))] if names is None else names
        graph, keys, lengths = row_blocks(arrays, make_block, block_rows, names)
        check_connected(client)
        return cls(client, client.get(graph, keys, sync=False), lengths, patience)

    def map(self, function: Callable[..., Result], *small: Any) -> list[Result]:
        """Return ``function(block, *small)`` for every block."""
        return self._collect(self._submit(*self._calls(self._held(), function, small)))

    def reduce(
        self, function: Callable[..., Result], combine: Callable[[Result, Result], Result], *small: Any
    ) -> Result:
        """Combine the results of the function for the blocks: first on each worker, then over all workers."""
        graph, keys = self._calls(self._held(), function, small)
        combined = packed(partial(_call, partial(reduce, combine), ()))

        def tree(keys: list[Key]) -> Key:
            while len(keys) > 1:
                groups = [keys[i : i + _FAN_IN] for i in range(0, len(keys), _FAN_IN)]
                keys = _new_keys("combine", len(groups))
                graph.update({key: (call, combined, group) for key, group in zip(keys, groups, strict=True)})
            return keys[0]

        last = tree([tree([keys[i] for i in group]) for group in self._blocks_by_worker()])
        return self._collect(self._submit(graph, [last]))[0]

    def sum(self, function: Callable[..., np.ndarray], *small: Any) -> np.ndarray:
        """Sum over the blocks of the arrays that the function returns."""
        return self.reduce(function, add, *small)

    def keep(self, name: str, function: Callable[..., np.ndarray], *small: Any) -> None:
        """Store the result of the function for each block in that block, under ``name``."""
        self._replace(partial(_with, function, name), small)

    def extend(self, function: Callable[..., Mapping[str, np.ndarray]], *small: Any) -> None:
        """Store the results of the function for each block in that block, by name."""
        self._replace(partial(_with_all, function), small)

    def drop(self, name: str) -> None:
        """Remove what is stored under ``name``."""
        self._replace(_without, (name,))

    def gather(self, name: str) -> np.ndarray:
        """Return what is stored under ``name``, for all rows, in the memory of the client."""
        return np.concatenate(self.map(itemgetter(name)))

    def array(self, name: str) -> da.Array:
        """Return what is stored under ``name`` as a Dask array whose chunks stay on the workers."""
        dask_array = require("dask.array", extra="dask", purpose="A Dask array")
        columns = self._submit(*self._calls(self._held(), itemgetter(name), ()))
        (like,) = self._collect(self._submit(*self._calls(columns[:1], itemgetter(slice(0)), ())))
        parts = [
            dask_array.from_delayed(column, (length, *like.shape[1:]), meta=like)
            for column, length in zip(columns, self._lengths, strict=True)
        ]
        return dask_array.concatenate(parts)

    def run(self, tasks: Iterable[Callable[[], Result]]) -> list[Result]:
        """Call independent tasks in threads of the client, several at a time, so that no worker waits for it."""
        tasks, stop = list(tasks), threading.Event()
        n_threads = 1 + sum(worker["nthreads"] for worker in workers(self._client, self._patience).values())
        with ThreadPoolExecutor(max(1, min(n_threads, len(tasks)))) as pool:
            running = [pool.submit(self._stoppable, task, stop) for task in tasks]
            try:
                return [each.result() for each in running]
            except BaseException:
                stop.set()
                for each in running:
                    each.cancel()
                raise

    def close(self) -> None:
        """Release the blocks; the workers free their memory."""
        self._blocks = []

    def _blocks_by_worker(self) -> list[list[int]]:
        """Return the indices of the blocks of each worker, so that only one combined result per worker is sent."""
        with self._lock:
            if not self._homes:
                collect(self._client, self._submit(*self._calls(self._held(), _nothing, ())), self._patience)
                holders = self._client.who_has(self._held())
                self._homes = [min(holders.get(block.key, ()), default="") for block in self._held()]
        return [[i for i, home in enumerate(self._homes) if home == each] for each in sorted(set(self._homes))]

    def _stoppable(self, task: Callable[[], Result], stop: threading.Event) -> Result:
        self._task.stop = stop
        return task()

    def _held(self) -> list[Future]:
        if not self._blocks:
            raise EngineError("These rows were closed and hold no data.")
        return self._blocks

    def _replace(self, function: Callable[..., Mapping[str, Any]], small: tuple[Any, ...]) -> None:
        """Replace each block by the result of the function for it."""
        with self._lock:  # otherwise a thread could use a block that another thread replaces
            self._blocks = self._submit(*self._calls(self._held(), function, small))

    def _calls(
        self, blocks: Sequence[Future], function: Callable[..., Any], small: tuple[Any, ...]
    ) -> tuple[dict[Key, Any], list[Key]]:
        """Return the tasks of ``function(block, *small)`` for some blocks, and their keys."""
        keys = _new_keys(_label(function), len(blocks))
        graph: dict[Key, Any] = {}
        content = packed(partial(_call, function, small))
        given: tuple[Any, ...] = (content,)
        sent = len(content[1]) * len(blocks)
        if sent > _WITH_TASKS:
            # A task and not scattered data, which could not be restored after the loss of its workers.
            sent = len(content[1])
            (shared,) = _new_keys("arguments", 1)
            graph[shared] = (bytes, content[1])
            given = (packed(_call_shared), shared)
        with self._counting:
            self.traffic.rounds += 1
            self.traffic.sent += sent
            self._wanted |= dict(zip(keys, self._homes, strict=False))
        return graph | {key: (call, *given, block) for key, block in zip(keys, blocks, strict=True)}, keys

    def _submit(self, graph: dict[Key, Any], keys: list[Key]) -> list[Future]:
        check_connected(self._client)
        # Otherwise the scheduler may send a block to the worker that holds the arguments, which are small.
        with self._counting:
            homes = {key: [home] if (home := self._wanted.pop(key, "")) else [] for key in graph}
        with require("dask", extra="dask", purpose="Work on Dask workers").annotate(
            workers=homes.__getitem__, allow_other_workers=True
        ):
            return self._client.get(graph, keys, sync=False)

    def _collect(self, futures: Sequence[Future]) -> list:
        from dask.sizeof import sizeof

        results = collect(self._client, futures, self._patience, getattr(self._task, "stop", None))
        with self._counting:
            self.traffic.received += sum(map(sizeof, results))
        return results


def transferred_bytes(client: Client) -> int:
    """Return the bytes that the workers have sent since they started, to one another and to clients.

    Parameters
    ----------
    client : distributed.Client
    """
    return sum(client.run(_sent_bytes).values())


def _sent_bytes(dask_worker: Any) -> int:
    return dask_worker.transfer_outgoing_bytes_total


def _new_keys(label: str, n: int) -> list[Key]:
    name = f"{label}-{uuid4().hex}"
    return [(name, i) for i in range(n)]


def _label(function: Callable[..., Any]) -> str:
    """Return the name of the innermost function of a partial; the scheduler estimates durations by this name."""
    while isinstance(function, partial):
        function = function.args[0] if function.func in (_with, _with_all) else function.func
    return getattr(function, "__name__", type(function).__name__).strip("<>_")


def _call(function: Callable[..., Any], small: tuple[Any, ...], block: Any) -> Any:
    _reuse_memory()
    with one_thread():  # tasks may overlap
        return function(block, *small)


def _call_shared(content: bytes, block: Any) -> Any:
    """Call what all tasks of a round share. It is unpickled once on each worker, and keeps what it prepares."""
    return _unpickled(content)(block)


_unpickled = lru_cache(maxsize=2)(loads)


@cache
def _reuse_memory() -> None:
    """Let this process keep up to 128 MB of freed memory for its next arrays, where the C library is GNU's.

    Dask starts its workers with a setting that returns every array of more than 128 kB to the system as soon as it is
    freed. Each new array is then cleared page by page, and tasks take twice as long.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    mallopt(_MMAP_THRESHOLD, 2**25)
    mallopt(_TRIM_THRESHOLD, 2**27)


def _nothing(block: Any) -> None:
    """Return nothing; the task completes when the block exists."""


def _with(function: Callable[..., Any], name: str, block: Mapping[str, Any], *small: Any) -> dict[str, Any]:
    return {**block, name: function(block, *small)}


def _with_all(function: Callable[..., Mapping[str, Any]], block: Mapping[str, Any], *small: Any) -> dict[str, Any]:
    return {**block, **function(block, *small)}


def _without(block: Mapping[str, Any], name: str) -> dict[str, Any]:
    rest = dict(block)
    del rest[name]
    return rest
