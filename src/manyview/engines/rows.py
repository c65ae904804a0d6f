"""The interface between a solver and the machine it runs on.

A solver that is a map over rows plus sums of small matrices needs a few verbs. What a row holds is a dict of arrays,
one block of rows at a time, and it stays where it is: only small matrices travel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeVar

import numpy as np

Block = Mapping[str, Any]
Result = TypeVar("Result")

# Rows per block where nothing else is said. Fixed, and not derived from the number of threads or workers. Large enough
# that a block outweighs the m x m matrix it is reduced to.
BLOCK_ROWS = 8192


class Rows(Protocol):
    """Blocks of rows, each a mapping of names to arrays with one entry per row.

    Functions get a block and the small arguments. They are pure: what they compute is returned, and stays with the
    block only through :meth:`keep` or :meth:`extend`. What is returned for each block comes in the order of the rows.
    """

    @property
    def n_rows(self) -> int:
        """Number of rows in all blocks."""

    def map(self, function: Callable[..., Result], *small: Any) -> list[Result]:
        """``function(block, *small)`` for every block."""

    def reduce(
        self, function: Callable[..., Result], combine: Callable[[Result, Result], Result], *small: Any
    ) -> Result:
        """Combine what the function returns for the blocks, two at a time, in any order.

        ``combine`` must be associative and commutative, to the last bit if the result shall be so.
        """

    def sum(self, function: Callable[..., np.ndarray], *small: Any) -> np.ndarray:
        """Sum over the blocks of the arrays that the function returns."""

    def keep(self, name: str, function: Callable[..., np.ndarray], *small: Any) -> None:
        """Store under ``name``, in each block, what the function returns for it."""

    def extend(self, function: Callable[..., Mapping[str, np.ndarray]], *small: Any) -> None:
        """Store in each block all that the function returns for it, by name."""

    def drop(self, name: str) -> None:
        """Forget what was kept under ``name``."""

    def gather(self, name: str) -> np.ndarray:
        """What was kept under ``name``, for all rows."""

    def run(self, tasks: Iterable[Callable[[], Result]]) -> list[Result]:
        """Call independent tasks, several at a time, and return their results in the order of the tasks."""
