"""Progress of long work: reported by estimators, audits and searches, passed on to listeners.

Long calls are within :func:`showing_progress`, which lets :mod:`manyview._utils.progress_bar` draw their steps if the
user wants that. Without a listener, reporting costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import Lock
from typing import Any

from manyview._utils.step import Step

__all__ = [
    "Step",
    "drawn_by",
    "has_listeners",
    "listening",
    "report_step",
    "say",
    "set_progress",
    "showing_progress",
]


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


_is_on = False
_is_drawn = False
_claim = Lock()


def set_progress(on: bool = True) -> None:
    """Show the progress of all long calls from now on, or no longer.

    Fits, predictions, suggestions, audits, descriptions and reports then show a bar, in a notebook or where stderr is a
    terminal. Elsewhere nothing is drawn. ``verbose=True`` does the same for a single estimator or call. Compiling,
    which happens once after the installation, is a line of its own, and the clocks of the other lines stop meanwhile.

    Parameters
    ----------
    on : bool, default=True
        Whether to show it.

    Examples
    --------
    >>> import manyview
    >>> manyview.set_progress(True)
    >>> manyview.set_progress(False)
    """
    global _is_on
    _is_on = _checked("on", on)


@contextmanager
def showing_progress(verbose: bool) -> Iterator[None]:
    """Draw the steps that are reported within the block, if ``verbose`` or :func:`set_progress` ask for it.

    Work inside other work, such as the fits of an audit, belongs to the display of the outer one.
    """
    if not (_checked("verbose", verbose) or _is_on) or _is_drawn:
        yield
        return
    from manyview._utils.progress_bar import display  # which imports rich

    with drawn_by(display()):
        yield


@contextmanager
def drawn_by(display: AbstractContextManager[Callable[[Step], None]] | None) -> Iterator[None]:
    """Let a display draw all steps of the block, unless there is none or another one is drawing already.

    Parameters
    ----------
    display : context manager or None
        Gives the listener.
    """
    global _is_drawn
    with _claim:
        is_first, _is_drawn = not _is_drawn, _is_drawn or display is not None
    if display is None or not is_first:
        yield
        return
    try:
        with display as listener, listening(listener):
            yield
    finally:
        _is_drawn = False


def say(verbose: bool, line: str) -> None:
    """Print how far the work is, if ``verbose`` and no bar shows it."""
    if verbose and not _is_drawn:
        print(line, flush=True)


def _checked(name: str, value: Any) -> bool:
    if type(value).__name__ != "bool":  # Python's or numpy's, which is not imported for that
        raise TypeError(f"{name}: expected True or False, got {value!r}.")
    return bool(value)
