"""How far work is, on stderr and only if that is a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from manyview._utils.progress import Step, listening
from manyview._utils.text import duration, printable

if TYPE_CHECKING:
    from manyview.experiments.runner import Progress

_BAR = 30


class ProgressDisplay:
    """A bar with counts and the time left, and below it the cells that are running.

    Parameters
    ----------
    console : rich.console.Console, optional
        Where to draw; stderr unless given.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True, highlight=False)
        self._live = Live(console=self._console, auto_refresh=False, transient=True)

    def __enter__(self) -> ProgressDisplay:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._live.stop()

    def update(self, event: Progress) -> None:
        """Draw the state that the runner reports."""
        self._live.update(progress_lines(event), refresh=True)


def progress_lines(event: Progress) -> Group:
    """Lay out one state of a run."""
    left = "time left not known yet" if event.seconds_left is None else f"{duration(event.seconds_left)} left"
    line = Table.grid(padding=(0, 2))
    line.add_row(
        ProgressBar(total=max(event.total, 1), completed=event.done, width=_BAR),
        Text(f"{event.done}/{event.total} cells"),
        Text(f"{event.failed} failed", style="red" if event.failed else ""),
        Text(left),
    )
    running = (Text(f"  {printable(name)}", style="dim", no_wrap=True, overflow="ellipsis") for name in event.running)
    return Group(line, *running)


@contextmanager
def fit_progress(console: Console | None = None) -> Iterator[None]:
    """Show how far fits, searches and audits are, until they end in one way or another.

    Nothing is shown, and nobody listens, if stderr is no terminal.

    Parameters
    ----------
    console : rich.console.Console, optional
        Where to draw; stderr unless given.
    """
    console = console or Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield
        return
    shown = StepLines()
    # It is drawn by a thread of its own, ten times a second: telling costs nothing, and the time goes on between steps.
    # What is printed to stdout meanwhile is a result, and no business of this display.
    with (
        listening(shown.update),
        Live(console=console, get_renderable=shown.draw, refresh_per_second=10, transient=True, redirect_stdout=False),
    ):
        yield


@dataclass
class _Line:
    """A piece of work, when it began, and when its last step was told."""

    step: Step
    start: float
    told: float


class StepLines:
    """A line for each piece of work that goes on: work inside other work, as the fits of an audit, is shown below it.

    Parameters
    ----------
    clock : callable
        Tells the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begun = self._last = clock()
        self._lines: dict[str, _Line] = {}
        self._lock = Lock()  # steps may be told by any thread, and another one draws

    def update(self, step: Step) -> None:
        """Take up a step."""
        with self._lock:
            now = self._clock()
            line = self._lines.get(step.what)
            if line is None:
                self._lines = {what: line for what, line in self._lines.items() if line.step.done < line.step.total}
            else:  # what began later was a part of it, and is over
                names = list(self._lines)
                for inner in names[names.index(step.what) + 1 :]:
                    del self._lines[inner]
            if line is None or step.unit != line.step.unit or step.done < line.step.done:
                self._lines[step.what] = _Line(step, self._last, now)  # it has been going on since the news before
            else:
                line.step, line.told = step, now
            self._last = now

    def draw(self) -> RenderableType:
        """Lay out the lines."""
        with self._lock:
            now, lines = self._clock(), list(self._lines.values())
        if not lines:
            return Text(f"working, {duration(now - self._begun)}")
        grid = Table.grid(padding=(0, 2))
        for is_bar in (False, True, False, False, False, False):  # only the bar gives way if the terminal is narrow
            grid.add_column(no_wrap=not is_bar, max_width=_BAR if is_bar else None)
        for line in lines:
            grid.add_row(*_cells(line, now))
        return grid


def _cells(line: _Line, now: float) -> list[ProgressBar | Text]:
    step, elapsed = line.step, now - line.start
    reached = "" if step.objective is None else f"{printable(step.measure)} {step.objective:.4g}"
    texts = (f"{step.done:,}/{step.total:,} {step.unit}", reached, duration(elapsed), _left(line, elapsed))
    bar = ProgressBar(total=max(step.total, 1), completed=step.done)
    return [Text(printable(step.what)), bar, *map(Text, texts)]


def _left(line: _Line, elapsed: float) -> str:
    """At most, because a method may stop before it has made all its passes."""
    done, total = line.step.done, line.step.total
    if done >= total:
        return ""
    if done == 0:
        return "time left not known yet"
    # Between steps it counts down, until the next one is later than those before it were.
    pace = max((line.told - line.start) / done, elapsed / (done + 1))
    return f"at most {duration(pace * total - elapsed)} left"
