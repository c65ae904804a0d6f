"""The interface between a solver and the machine it runs on.

A solver that is a map over rows plus sums of small matrices needs six verbs. What a row holds is a dict of arrays, one
block of rows at a time, and it stays where it is: only small matrices travel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeVar

import numpy as np

Block = Mapping[str, np.ndarray]
Result = TypeVar("Result")


class Rows(Protocol):
    """Blocks of rows, each a mapping of names to arrays with one entry per row.

    Functions get a block and the small arguments. They are pure: what they compute is returned, and stays with the
    block only through :meth:`keep`. Results are combined in the order of the rows, so that they do not depend on who
    was ready first.
    """

    @property
    def n_rows(self) -> int:
        """Number of rows in all blocks."""

    def map(self, function: Callable[..., Result], *small: Any) -> list[Result]:
        """``function(block, *small)`` for every block."""

    def sum(self, function: Callable[..., np.ndarray], *small: Any) -> np.ndarray:
        """Sum over the blocks of the arrays that the function returns."""

    def keep(self, name: str, function: Callable[..., np.ndarray], *small: Any) -> None:
        """Store under ``name``, in each block, what the function returns for it."""

    def drop(self, name: str) -> None:
        """Forget what was kept under ``name``."""

    def gather(self, name: str) -> np.ndarray:
        """What was kept under ``name``, for all rows."""

    def run(self, tasks: Iterable[Callable[[], Result]]) -> list[Result]:
        """Call independent tasks, several at a time, and return their results in the order of the tasks."""
