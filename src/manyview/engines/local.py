"""Row blocks in the threads of this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, TypeVar

import joblib
import numpy as np
from threadpoolctl import threadpool_limits

Result = TypeVar("Result")

# Rows per block. Fixed, and not derived from the number of threads: sums over blocks then have the same bits with any
# number of them.
_BLOCK_ROWS = 256
# For reductions to m x m matrices, where a block should outweigh the matrix it is reduced to.
_REDUCED_ROWS = 8192


class RowThreads:
    """Threads that map a function over blocks of rows, with linear algebra held to one thread each.

    A context manager. Within it results do not depend on ``n_threads``: blocks are the same, partial results come in
    the order of the rows, and BLAS, which adds in another order with more threads, uses one.

    Parameters
    ----------
    n_threads : int, optional
        Default: all cores this process may use.
    """

    def __init__(self, n_threads: int | None = None) -> None:
        self.n_threads = joblib.cpu_count() if n_threads is None else n_threads

    def __enter__(self) -> RowThreads:
        self._pool = ThreadPoolExecutor(self.n_threads)
        self._limits = threadpool_limits(limits=1, user_api="blas")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._limits.restore_original_limits()
        self._pool.shutdown(cancel_futures=True)

    def map(self, function: Callable[[slice], Result], n_rows: int) -> list[Result]:
        """Call ``function(rows)`` for consecutive slices of ``range(n_rows)``; results in the order of the rows."""
        blocks = [slice(start, min(start + _BLOCK_ROWS, n_rows)) for start in range(0, n_rows, _BLOCK_ROWS)]
        return list(self._pool.map(function, blocks))


class LocalRows:
    """Rows in the memory of this machine; see :class:`manyview.engines.rows.Rows`.

    Several tasks of :meth:`run` go on at the same time, and each goes through its blocks one by one: with many tasks
    that keeps all threads busy, and memory to one block per thread.

    Parameters
    ----------
    columns : mapping of str to array
        What the rows hold, each with one entry (or row) per row. Blocks are views of it, not copies.
    n_threads : int, optional
        Default: all cores this process may use.
    block_rows : int
        Rows per block. Sums have the same bits for any number of threads, but not for another size of the blocks.
    """

    def __init__(
        self, columns: Mapping[str, Any], n_threads: int | None = None, block_rows: int = _REDUCED_ROWS
    ) -> None:
        self.n_threads = joblib.cpu_count() if n_threads is None else n_threads
        self.n_rows = next(iter(columns.values())).shape[0]
        self._blocks: list[dict[str, Any]] = [
            {name: values[start : start + block_rows] for name, values in columns.items()}
            for start in range(0, self.n_rows, block_rows)
        ]

    def map(self, function: Callable[..., Result], *small: Any) -> list[Result]:
        """``function(block, *small)`` for every block."""
        return [function(block, *small) for block in self._blocks]

    def sum(self, function: Callable[..., np.ndarray], *small: Any) -> np.ndarray:
        """Sum over the blocks of the arrays that the function returns."""
        total = function(self._blocks[0], *small)
        for block in self._blocks[1:]:
            total = total + function(block, *small)
        return total

    def keep(self, name: str, function: Callable[..., np.ndarray], *small: Any) -> None:
        """Store under ``name``, in each block, what the function returns for it."""
        for block in self._blocks:
            block[name] = function(block, *small)

    def drop(self, name: str) -> None:
        """Forget what was kept under ``name``."""
        for block in self._blocks:
            del block[name]

    def gather(self, name: str) -> np.ndarray:
        """What was kept under ``name``, for all rows."""
        return np.concatenate([block[name] for block in self._blocks])

    def run(self, tasks: Iterable[Callable[[], Result]]) -> list[Result]:
        """Call independent tasks in threads and return their results in the order of the tasks."""
        with ThreadPoolExecutor(self.n_threads) as pool:
            return list(pool.map(lambda task: task(), tasks))
