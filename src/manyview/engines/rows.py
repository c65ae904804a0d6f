"""The interface between a solver and the machine it runs on.

A solver that is a map over rows plus sums of small matrices needs a few operations. A block of rows is a dict of arrays
and stays on its worker: only small matrices are sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeVar

import numpy as np

Block = Mapping[str, Any]
"""A block of rows: arrays with one row per sample, by the name of the column."""
Result = TypeVar("Result")

BLOCK_ROWS = 8192
"""Default rows per block.

Fixed, not derived from the number of threads or workers, so that results are reproducible. Large enough that a block
outweighs the m x m matrix it is reduced to.
"""


class Rows(Protocol):
    """Blocks of rows, each a mapping of names to arrays with one entry per row.

    Functions get a block and the small arguments. They are pure: they return their results, which are stored with the
    block only by :meth:`keep` or :meth:`extend`. Results of blocks are in the order of the rows.
    """

    @property
    def n_rows(self) -> int:
        """Number of rows in all blocks."""

    def map(self, function: Callable[..., Result], *small: Any) -> list[Result]:
        """Return ``function(block, *small)`` for every block."""

    def reduce(
        self, function: Callable[..., Result], combine: Callable[[Result, Result], Result], *small: Any
    ) -> Result:
        """Combine the results of the function for the blocks, two at a time, in any order.

        ``combine`` must be associative and commutative; exactly so, if the result is to be reproducible.
        """

    def sum(self, function: Callable[..., np.ndarray], *small: Any) -> np.ndarray:
        """Sum over the blocks of the arrays that the function returns."""

    def keep(self, name: str, function: Callable[..., np.ndarray], *small: Any) -> None:
        """Store the result of the function for each block in that block, under ``name``."""

    def extend(self, function: Callable[..., Mapping[str, np.ndarray]], *small: Any) -> None:
        """Store the results of the function for each block in that block, by name."""

    def drop(self, name: str) -> None:
        """Remove what is stored under ``name``."""

    def gather(self, name: str) -> np.ndarray:
        """Return what is stored under ``name``, for all rows."""

    def run(self, tasks: Iterable[Callable[[], Result]]) -> list[Result]:
        """Call independent tasks, several at a time, and return their results in the order of the tasks."""
