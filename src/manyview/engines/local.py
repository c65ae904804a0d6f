"""Row blocks in the threads of this machine."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from contextvars import copy_context
from functools import reduce
from operator import add
from types import TracebackType
from typing import Any, TypeVar

import joblib
import numpy as np

from manyview._utils.machine import one_thread
from manyview.engines.rows import BLOCK_ROWS

Result = TypeVar("Result")

# Rows per block. Fixed, and not derived from the number of threads: sums over blocks then have the same bits with any
# number of them.
_TILE_ROWS = 256


class RowThreads:
    """Threads that map a function over blocks of rows, with linear algebra held to one thread each.

    A context manager. Within it results do not depend on ``n_threads``: blocks are the same, partial results come in
    the order of the rows, and BLAS, which adds in another order with more threads, uses one.

    Parameters
    ----------
    n_threads : int, optional
        Default: all cores this process may use. With 1, the calling thread does the work and linear algebra is left
        alone: this may be one of many callers, and the limit is that of the whole process.
    """

    def __init__(self, n_threads: int | None = None) -> None:
        self.n_threads = joblib.cpu_count() if n_threads is None else n_threads
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> RowThreads:
        with ExitStack() as stack:
            if self.n_threads > 1:
                self._pool = ThreadPoolExecutor(self.n_threads)
                stack.callback(self._pool.shutdown, cancel_futures=True)
                stack.enter_context(one_thread())
            self._open = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def map(self, function: Callable[[slice], Result], n_rows: int) -> list[Result]:
        """Call ``function(rows)`` for consecutive slices of ``range(n_rows)``; results in the order of the rows."""
        blocks = [slice(start, min(start + _TILE_ROWS, n_rows)) for start in range(0, n_rows, _TILE_ROWS)]
        if self._pool is None:
            return [function(rows) for rows in blocks]
        return list(self._pool.map(function, blocks))


class LocalRows:
    """Rows in the memory, or the files, of this machine; see :class:`manyview.engines.rows.Rows`.

    Blocks are gone through in threads. Several tasks of :meth:`run` go on at the same time instead, and each goes
    through its blocks one by one: with many tasks that keeps all threads busy, and memory to one block per thread.

    Parameters
    ----------
    columns : mapping of str to array
        What the rows hold, each with one entry (or row) per row: a range, or all that has a length in ``shape[0]`` and
        can be cut by slices. Blocks are cut when they are needed.
    n_threads : int, optional
        Default: all cores this process may use.
    block_rows : int
        Rows per block.

    Attributes
    ----------
    on_rows : callable, optional
        Called by :meth:`extend` after each block, with the number of rows that are done.
    """

    on_rows: Callable[[int], None] | None = None

    def __init__(self, columns: Mapping[str, Any], n_threads: int | None = None, block_rows: int = BLOCK_ROWS) -> None:
        self.n_threads = joblib.cpu_count() if n_threads is None else n_threads
        first = next(iter(columns.values()))
        self.n_rows = len(first) if isinstance(first, range) else int(first.shape[0])
        self._columns = columns
        self._slices = [
            slice(start, min(start + block_rows, self.n_rows)) for start in range(0, self.n_rows, block_rows)
        ]
        self._kept: list[dict[str, Any]] = [{} for _ in self._slices]
        self._task = threading.local()

    def map(self, function: Callable[..., Result], *small: Any) -> list[Result]:
        """``function(block, *small)`` for every block."""
        return list(self._each(function, small))

    def reduce(
        self, function: Callable[..., Result], combine: Callable[[Result, Result], Result], *small: Any
    ) -> Result:
        """Combine what the function returns for the blocks, two at a time."""
        return reduce(combine, self._each(function, small))

    def sum(self, function: Callable[..., np.ndarray], *small: Any) -> np.ndarray:
        """Sum over the blocks of the arrays that the function returns."""
        return self.reduce(function, add, *small)

    def keep(self, name: str, function: Callable[..., np.ndarray], *small: Any) -> None:
        """Store under ``name``, in each block, what the function returns for it."""
        for kept, values in zip(self._kept, self._each(function, small), strict=True):
            kept[name] = values

    def extend(self, function: Callable[..., Mapping[str, np.ndarray]], *small: Any) -> None:
        """Store in each block all that the function returns for it, by name."""
        for kept, rows, columns in zip(self._kept, self._slices, self._each(function, small), strict=True):
            kept.update(columns)
            if self.on_rows is not None:
                self.on_rows(rows.stop)

    def drop(self, name: str) -> None:
        """Forget what was kept under ``name``."""
        for kept in self._kept:
            del kept[name]

    def gather(self, name: str) -> np.ndarray:
        """What was kept under ``name``, for all rows."""
        return np.concatenate([self._block(i)[name] for i in range(len(self._slices))])

    def run(self, tasks: Iterable[Callable[[], Result]]) -> list[Result]:
        """Call independent tasks in threads and return their results in the order of the tasks."""
        with ThreadPoolExecutor(self.n_threads) as pool:
            return list(pool.map(self._alone, tasks))

    def _alone(self, task: Callable[[], Result]) -> Result:
        self._task.running = True
        return task()

    def _each(self, function: Callable[..., Result], small: tuple[Any, ...]) -> Iterator[Result]:
        """Results of all blocks in their order; never many more at a time than there are threads."""
        places = range(len(self._slices))
        if self.n_threads == 1 or len(places) == 1 or getattr(self._task, "running", False):
            for i in places:
                yield function(self._block(i), *small)
            return
        with ThreadPoolExecutor(self.n_threads) as pool:
            # With what is true in the calling thread, such as which Dask client is current.
            submit = lambda i: pool.submit(copy_context().run, lambda: function(self._block(i), *small))  # noqa: E731
            ahead = deque(submit(i) for i in places[: 2 * self.n_threads])
            for i in places:
                yield ahead.popleft().result()
                if i + 2 * self.n_threads in places:
                    ahead.append(submit(i + 2 * self.n_threads))

    def _block(self, i: int) -> dict[str, Any]:
        rows = self._slices[i]
        return {name: values[rows] for name, values in self._columns.items()} | self._kept[i]
