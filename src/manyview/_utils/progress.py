"""Progress of long work: reported by estimators, audits and searches, passed on to listeners.

Only the command line listens. Without a listener, reporting costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """State of some work.

    Parameters
    ----------
    what : str
        The work, such as "GraphEnsemble".
    done : int
        Steps that are done.
    total : int
        Maximum number of steps.
    unit : str
        What the steps are: "passes", "starts", "views", "members", "samples", "fits".
    objective : float, optional
        Current value of the objective.
    measure : str
        Name of the objective.
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
    """Pass every step that is reported within the block, in any thread, to ``listener``.

    Examples
    --------
    >>> from manyview._utils.progress import Step, listening, report_step
    >>> steps = []
    >>> with listening(steps.append):
    ...     report_step(Step("search", 1, 3, "fits"))
    >>> report_step(Step("search", 2, 3, "fits"))
    >>> [(step.done, step.total) for step in steps]
    [(1, 3)]
    """
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def has_listeners() -> bool:
    """Return whether there is a listener, for callers that have to compute a step first."""
    return bool(_listeners)


def report_step(step: Step) -> None:
    """Pass a step on to all listeners."""
    for listener in tuple(_listeners):
        listener(step)
