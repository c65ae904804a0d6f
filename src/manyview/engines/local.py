"""Row blocks in memory or files of this machine, processed by threads."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from contextvars import copy_context
from functools import reduce
from itertools import accumulate, pairwise
from operator import add
from types import TracebackType
from typing import Any, TypeVar

import joblib
import numpy as np

from manyview._utils.machine import one_thread
from manyview.engines.rows import BLOCK_ROWS

Result = TypeVar("Result")

# Rows per block. Fixed, not derived from the number of threads, so that sums over blocks are reproducible.
_TILE_ROWS = 256


class RowThreads:
    """Threads that map a function over blocks of rows, with linear algebra limited to one thread each.

    A context manager. Within it results do not depend on ``n_threads``: blocks are the same, partial results are in the
    order of the rows, and BLAS, whose rounding depends on its threads, uses one.

    Parameters
    ----------
    n_threads : int, optional
        Default: all cores this process may use. With 1, the calling thread does the work and the threads of
        linear algebra are not limited: the limit is that of the whole process, which may have other callers.
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

    def map(self, function: Callable[[slice], Result], n_rows: int, tile: int = _TILE_ROWS) -> list[Result]:
        """Call ``function(rows)`` for slices of ``range(n_rows)``, ``tile`` long; results in the order of the rows."""
        blocks = [slice(start, min(start + tile, n_rows)) for start in range(0, n_rows, tile)]
        if self._pool is None:
            return [function(rows) for rows in blocks]
        return list(self._pool.map(function, blocks))


class LocalRows:
    """Rows in the memory, or the files, of this machine; see :class:`manyview.engines.rows.Rows`.

    Blocks are processed in threads. Within :meth:`run` the tasks run in threads instead, and each processes its blocks
    one by one: with many tasks this uses all threads, with the memory of one block per thread.

    Parameters
    ----------
    columns : mapping of str to array
        The data of the rows, each with one entry (or row) per row: a range, or anything with a length in ``shape[0]``
        that can be sliced. Blocks are sliced when they are needed.
    n_threads : int, optional
        Default: all cores this process may use.
    block_rows : int or sequence of int
        Rows per block, or of each block.

    Attributes
    ----------
    on_rows : callable, optional
        Called by :meth:`extend` after each block, with the number of rows processed so far.
    """

    on_rows: Callable[[int], None] | None = None

    def __init__(
        self, columns: Mapping[str, Any], n_threads: int | None = None, block_rows: int | Sequence[int] = BLOCK_ROWS
    ) -> None:
        self.n_threads = joblib.cpu_count() if n_threads is None else n_threads
        first = next(iter(columns.values()))
        self.n_rows = len(first) if isinstance(first, range) else int(first.shape[0])
        self._columns = columns
        edges: Sequence[int] = range(0, self.n_rows, block_rows) if isinstance(block_rows, int) else _starts(block_rows)
        self._slices = [slice(start, stop) for start, stop in pairwise([*edges, self.n_rows])]
        self._kept: list[dict[str, Any]] = [{} for _ in self._slices]
        self._task = threading.local()

    def map(self, function: Callable[..., Result], *small: Any) -> list[Result]:
        """Return ``function(block, *small)`` for every block."""
        return list(self._each(function, small))

    def reduce(
        self, function: Callable[..., Result], combine: Callable[[Result, Result], Result], *small: Any
    ) -> Result:
        """Combine the results of the function for the blocks, two at a time."""
        return reduce(combine, self._each(function, small))

    def sum(self, function: Callable[..., np.ndarray], *small: Any) -> np.ndarray:
        """Sum over the blocks of the arrays that the function returns."""
        return self.reduce(function, add, *small)

    def keep(self, name: str, function: Callable[..., np.ndarray], *small: Any) -> None:
        """Store the result of the function for each block in that block, under ``name``."""
        for kept, values in zip(self._kept, self._each(function, small), strict=True):
            kept[name] = values

    def extend(self, function: Callable[..., Mapping[str, np.ndarray]], *small: Any) -> None:
        """Store the results of the function for each block in that block, by name."""
        for kept, rows, columns in zip(self._kept, self._slices, self._each(function, small), strict=True):
            kept.update(columns)
            if self.on_rows is not None:
                self.on_rows(rows.stop)

    def drop(self, name: str) -> None:
        """Remove what is stored under ``name``."""
        for kept in self._kept:
            del kept[name]

    def gather(self, name: str) -> np.ndarray:
        """Return what is stored under ``name``, for all rows."""
        return np.concatenate([self._block(i)[name] for i in range(len(self._slices))])

    def run(self, tasks: Iterable[Callable[[], Result]]) -> list[Result]:
        """Call independent tasks in threads and return their results in the order of the tasks."""
        with ThreadPoolExecutor(self.n_threads) as pool:
            return list(pool.map(self._alone, tasks))

    def _alone(self, task: Callable[[], Result]) -> Result:
        self._task.running = True
        return task()

    def _each(self, function: Callable[..., Result], small: tuple[Any, ...]) -> Iterator[Result]:
        """Yield the results of all blocks in order; at most twice as many as threads are held at a time."""
        indices = range(len(self._slices))
        if self.n_threads == 1 or len(indices) == 1 or getattr(self._task, "running", False):
            for i in indices:
                yield function(self._block(i), *small)
            return
        with ThreadPoolExecutor(self.n_threads) as pool:
            # In the context of the calling thread, which has, for example, the current Dask client.
            submit = lambda i: pool.submit(copy_context().run, lambda: function(self._block(i), *small))  # noqa: E731
            ahead = deque(submit(i) for i in indices[: 2 * self.n_threads])
            for i in indices:
                yield ahead.popleft().result()
                if i + 2 * self.n_threads in indices:
                    ahead.append(submit(i + 2 * self.n_threads))

    def _block(self, i: int) -> Mapping[str, Any]:
        return _Block(self._columns, self._slices[i], self._kept[i])


class _Block(Mapping[str, Any]):
    """Some rows of columns that are sliced when they are asked for, since that may read files, and what was kept."""

    def __init__(self, columns: Mapping[str, Any], rows: slice, kept: Mapping[str, Any]) -> None:
        self._columns, self._rows, self._found = columns, rows, dict(kept)

    def __getitem__(self, name: str) -> Any:
        if name not in self._found:
            self._found[name] = self._columns[name][self._rows]
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._columns, **self._found})

    def __len__(self) -> int:
        return len({**self._columns, **self._found})


def _starts(sizes: Sequence[int]) -> list[int]:
    return [0, *accumulate(size for size in sizes[:-1])]
