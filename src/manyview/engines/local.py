"""Row blocks in the threads of this machine."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TypeVar

import joblib
from threadpoolctl import threadpool_limits

Result = TypeVar("Result")

# Rows per block. Fixed, and not derived from the number of threads: sums over blocks then have the same bits with any
# number of them.
_BLOCK_ROWS = 256


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
