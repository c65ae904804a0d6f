"""Progress of fits, audits and experiments, drawn by rich on stderr; nothing is drawn if that is not a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID
from rich.table import Column
from rich.text import Text

from manyview._utils.progress import Step, listening
from manyview._utils.text import duration, printable

if TYPE_CHECKING:
    from manyview.experiments.runner import Progress as CellEvent

_SPEED_PERIOD = 3600.0  # seconds; the time left follows from the steps of this period, as some take minutes


class _TextOf(ProgressColumn):
    """A column of text that is never wrapped and never read as markup."""

    def __init__(self, text: Callable[[Task], str]) -> None:
        super().__init__(Column(no_wrap=True))
        self._text = text

    def render(self, task: Task) -> Text:
        return Text(printable(self._text(task)))


def _bar() -> BarColumn:
    return BarColumn(bar_width=None, table_column=Column(max_width=30))  # narrower if the terminal is


@contextmanager
def fit_progress(console: Console | None = None) -> Iterator[None]:
    """Show the progress of fits, searches and audits within the block.

    Parameters
    ----------
    console : rich.console.Console, optional
        Where to draw; stderr by default.
    """
    console = console or Console(stderr=True)
    if not console.is_interactive:
        yield
        return
    from manyview._utils.compiled import compiling

    with StepProgress(console=console) as progress, listening(progress.show), compiling(progress.show_compiling):
        yield


class StepProgress(Progress):
    """One line for each piece of work under way; work inside other work, such as the fits of an audit, is below it."""

    def __init__(self, **options: Any) -> None:
        columns = (
            _TextOf(lambda task: task.description),
            _bar(),
            _TextOf(lambda task: task.fields["count"]),
            _TextOf(lambda task: task.fields["reached"]),
            _TextOf(lambda task: duration((task.finished_time if task.finished else task.elapsed) or 0.0)),
            _TextOf(_time_left),
        )
        # what is printed to stdout meanwhile is a result, and stays as it is
        super().__init__(
            *columns, transient=True, redirect_stdout=False, speed_estimate_period=_SPEED_PERIOD, **options
        )
        self._lines: dict[str, tuple[TaskID, Step]] = {}
        self._steps_lock = Lock()  # steps may come from any thread
        self._working: TaskID | None = self.add_task("working", total=None, count="", reached="")

    def show_compiling(self) -> None:
        """Say that code is being compiled, until the next step."""
        with self._steps_lock:
            if self._working is None:
                self._working = self.add_task("", total=None, count="", reached="")
            self.update(self._working, description="compiling, first time only")

    def show(self, step: Step) -> None:
        """Show a step: begin a line, or update that of the same work."""
        with self._steps_lock:
            if self._working is not None:
                self.remove_task(self._working)
                self._working = None
            task, before = self._lines.get(step.what, (None, step))
            names = list(self._lines)
            if task is None:  # finished work makes room
                over = [name for name, (_, last) in self._lines.items() if last.done >= last.total]
            else:  # what began later was a part of it, and has ended
                over = names[names.index(step.what) + 1 :]
            for name in over:
                self.remove_task(self._lines.pop(name)[0])
            reached = "" if step.objective is None else f"{step.measure} {step.objective:.4g}"
            texts: dict[str, Any] = {"count": f"{step.done:,}/{step.total:,} {step.unit}", "reached": reached}
            if task is None:
                task = self.add_task(step.what, total=step.total, **texts)
            elif step.unit != before.unit or step.done < before.done:  # it counts something else, or begins anew
                self.reset(task, total=step.total)
            self.update(task, total=step.total, completed=step.done, **texts)
            self._lines[step.what] = task, step


def _time_left(task: Task) -> str:
    """Return the time left at most: a method may stop before it has made all its passes."""
    if task.finished or task.total is None:
        return ""
    left = task.time_remaining
    return "time left not known yet" if left is None else f"at most {duration(left)} left"


@contextmanager
def cell_progress(console: Console | None = None) -> Iterator[Callable[[CellEvent], None]]:
    """Show the progress of an experiment within the block; yields the function to call with each event of the runner.

    Parameters
    ----------
    console : rich.console.Console, optional
        Where to draw; stderr by default.
    """
    console = console or Console(stderr=True)
    if not console.is_interactive:
        yield lambda event: None
        return
    with CellProgress(console=console) as progress:
        yield progress.show


class CellProgress(Progress):
    """A bar with counts and the time left, and below it the cells that are running."""

    def __init__(self, **options: Any) -> None:
        columns = (_bar(), _TextOf(lambda task: task.description))
        self._running: tuple[str, ...] = ()
        super().__init__(*columns, transient=True, redirect_stdout=False, **options)
        self._cells = self.add_task("", total=None)

    def show(self, event: CellEvent) -> None:
        """Show an event of the runner."""
        left = "time left not known yet" if event.seconds_left is None else f"{duration(event.seconds_left)} left"
        text = f"{event.done}/{event.total} cells, {event.failed} failed, {left}"
        self._running = event.running
        self.update(self._cells, total=event.total, completed=event.done, description=text, refresh=True)

    def get_renderables(self) -> Iterable[RenderableType]:
        """Return the line with the bar, and one line for each running cell."""
        yield from super().get_renderables()
        for name in self._running:
            yield Text(f"  {printable(name)}", style="dim", no_wrap=True, overflow="ellipsis")
