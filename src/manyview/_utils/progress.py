"""Progress of long work: reported by estimators, audits and searches, passed on to listeners.

Only the command line listens. Without a listener, reporting costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """Where some work is.

    Parameters
    ----------
    what : str
        The work, such as "GraphEnsemble".
    done : int
        Steps made.
    total : int
        Steps that there will be, at most.
    unit : str
        What is counted: "passes", "starts", "views", "members", "samples", "fits".
    objective : float, optional
        What a solver has reached.
    measure : str
        What the objective is.
    """

    what: str
    done: int
    total: int
    unit: str
    objective: float | None = None
    measure: str = "objective"


_listeners: list[Callable[[Step], None]] = []


@contextmanager
def listening(listener: Callable[[Step], None]) -> Iterator[None]:
    """Have every step that is told meanwhile, in any thread, passed on to ``listener``.

    Examples
    --------
    >>> from manyview._utils.progress import Step, listening, tell
    >>> heard = []
    >>> with listening(heard.append):
    ...     tell(Step("search", 1, 3, "fits"))
    >>> tell(Step("search", 2, 3, "fits"))
    >>> [(step.done, step.total) for step in heard]
    [(1, 3)]
    """
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def heard() -> bool:
    """Return whether there is a listener, for callers to whom making a step is work."""
    return bool(_listeners)


def tell(step: Step) -> None:
    """Pass a step on to all listeners."""
    for listener in tuple(_listeners):
        listener(step)
