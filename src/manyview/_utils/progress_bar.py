"""The bars of long work: drawn by rich where stderr is a terminal, and as HTML in the output of a notebook's cell.

:class:`StepProgress` knows the lines, their times and the time left, and draws in terminals. :class:`NotebookProgress`
draws the same lines in a notebook: rich's own way needs a package of widgets, and leaves nothing in a saved notebook.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import Event, Lock, Thread
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID
from rich.table import Column
from rich.text import Text

from manyview._utils.html import block, escaped
from manyview._utils.step import Step
from manyview._utils.text import duration, printable

_SPEED_PERIOD = 3600.0  # seconds; the time left follows from the steps of this period, as some take minutes
_REDRAWN_AFTER = 0.2  # seconds, in a notebook


class TextOf(ProgressColumn):
    """A column of text that is never wrapped and never read as markup."""

    def __init__(self, text: Callable[[Task], str]) -> None:
        super().__init__(Column(no_wrap=True))
        self.text = text

    def render(self, task: Task) -> Text:
        """Return the text of a line."""
        return Text(printable(self.text(task)))


def bar_column() -> BarColumn:
    """Return the column of bars, narrower if the terminal is."""
    return BarColumn(bar_width=None, table_column=Column(max_width=30))


class WorkClock:
    """A clock of seconds that stands still while code is being compiled.

    Examples
    --------
    >>> clock = WorkClock(lambda: 5.0)
    >>> clock(), clock.compiled
    (5.0, 0.0)
    """

    def __init__(self, get_time: Callable[[], float] = time.monotonic) -> None:
        self._get_time = get_time
        self._lock = Lock()
        self._depth = 0  # kernels are compiled within others
        self._since = self._total = 0.0

    def __call__(self) -> float:
        return self._get_time() - self.compiled

    @property
    def compiled(self) -> float:
        """Seconds spent compiling so far."""
        with self._lock:
            return self._total + (self._get_time() - self._since if self._depth else 0.0)

    @property
    def is_compiling(self) -> bool:
        """Whether code is being compiled."""
        return self._depth > 0

    def stop(self) -> None:
        """Begin to compile."""
        with self._lock:
            if not self._depth:
                self._since = self._get_time()
            self._depth += 1

    def go_on(self) -> None:
        """End compiling."""
        with self._lock:
            if not self._depth:  # it began before this clock
                return
            self._depth -= 1
            if not self._depth:
                self._total += self._get_time() - self._since


class StepProgress(Progress):
    """One line for each piece of work under way; work inside other work, such as the fits of an audit, is below it."""

    def __init__(self, *, get_time: Callable[[], float] = time.monotonic, **options: Any) -> None:
        self.clock = WorkClock(get_time)
        self.texts = (
            TextOf(lambda task: task.description),
            TextOf(lambda task: task.fields["count"]),
            TextOf(lambda task: task.fields["reached"]),
            TextOf(lambda task: duration(self._seconds(task))),
            TextOf(_time_left),
        )
        name, *others = self.texts
        super().__init__(
            name, bar_column(), *others, get_time=self.clock, speed_estimate_period=_SPEED_PERIOD, **options
        )
        self._lines: dict[str, tuple[TaskID, Step]] = {}
        self._steps_lock = Lock()  # steps may come from any thread
        self._compiling = self.add_task("compiling, first time only", total=None, visible=False, count="", reached="")
        self._working: TaskID | None = self.add_task("working", total=None, count="", reached="")
        self._start = self.clock()

    def _seconds(self, task: Task) -> float:
        if task.id == self._compiling:
            return self.clock.compiled
        whole = task.fields.get("seconds")
        return whole or (task.finished_time if task.finished else task.elapsed) or 0.0

    def begin_compiling(self) -> None:
        """Stop the clock, and show that code is being compiled."""
        self.clock.stop()
        self.update(self._compiling, visible=True, description="compiling, first time only", total=None)

    def end_compiling(self) -> None:
        """Go on with the clock. The line stays, with the time that compiling took."""
        self.clock.go_on()
        if not self.clock.is_compiling:
            self.update(self._compiling, description="compiled, first time only", total=1, completed=1)

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

    def finish(self, error: BaseException | None) -> None:
        """Keep the line of the whole work, with its time from the beginning; after an error, all lines as they are."""
        with self._steps_lock:
            if self._working is not None:
                self.remove_task(self._working)
            for number, (task, step) in enumerate(self._lines.values()):
                if error is not None:
                    self.update(task, description=f"{step.what} (stopped)")
                elif number:
                    self.remove_task(task)
                else:  # work may end before its last step
                    end, count = max(step.done, 1), f"{step.done:,} {step.unit}"
                    self.update(task, total=end, completed=end, count=count, seconds=self.clock() - self._start)


def _time_left(task: Task) -> str:
    """Return the time left at most: a method may stop before it has made all its passes."""
    if task.finished or task.total is None:
        return ""
    left = task.time_remaining
    return "time left not known yet" if left is None else f"at most {duration(left)} left"


@contextmanager
def _drawing(progress: StepProgress, screen: AbstractContextManager[Any]) -> Iterator[Callable[[Step], None]]:
    """Draw the lines on a screen within the block; gives the listener."""
    from manyview._utils.compiled import compiling

    with screen:
        try:
            with compiling(progress.begin_compiling, progress.end_compiling):
                yield progress.show
        except BaseException as error:
            progress.finish(error)
            raise
        progress.finish(None)


def display() -> AbstractContextManager[Callable[[Step], None]] | None:
    """Return what draws steps here: a notebook's cell or a terminal; None if neither is there."""
    if multiprocessing.current_process().name != "MainProcess":  # joblib's workers share the terminal
        return None
    if in_notebook():
        progress = StepProgress(auto_refresh=False)
        return _drawing(progress, NotebookProgress(progress))
    # what is printed meanwhile goes above the bar, unless it goes elsewhere
    return terminal_display(Console(stderr=True), transient=False, redirect_stdout=sys.stdout.isatty())


def terminal_display(
    console: Console, *, transient: bool, redirect_stdout: bool
) -> AbstractContextManager[Callable[[Step], None]] | None:
    """Return what draws steps in a terminal; None if the console is none."""
    if not console.is_interactive:
        return None
    progress = StepProgress(console=console, transient=transient, redirect_stdout=redirect_stdout)
    return _drawing(progress, progress)


def in_notebook() -> bool:
    """Return whether this is the kernel of a notebook, which shows HTML."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


class NotebookProgress:
    """Draw the lines of a :class:`StepProgress` in the output of the current cell, and leave the last ones there."""

    def __init__(self, progress: StepProgress) -> None:
        self._progress = progress
        self._over = Event()
        self._thread = Thread(target=self._redraw, name="manyview progress", daemon=True)

    def __enter__(self) -> None:
        from IPython.display import display

        self._handle = display(self._drawn(), raw=True, display_id=True)
        self._thread.start()

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()
        self._handle.update(self._drawn(), raw=True)

    def _redraw(self) -> None:
        while not self._over.wait(_REDRAWN_AFTER):
            self._handle.update(self._drawn(), raw=True)

    def _drawn(self) -> dict[str, str]:
        """Return the lines as HTML, and as text for where that is not shown."""
        tasks = [task for task in self._progress.tasks if task.visible]
        lines = [[column.text(task) for column in self._progress.texts] for task in tasks]
        rows = "".join(
            f"<tr>{_cell(name)}<td>{_bar(task)}</td>{''.join(map(_cell, others))}</tr>"
            for task, (name, *others) in zip(tasks, lines, strict=True)
        )
        texts = "\n".join(" ".join(text for text in line if text) for line in lines)
        return {"text/html": block([f"<table>{rows}</table>"]) if rows else "", "text/plain": texts}


def _cell(text: str) -> str:
    return f'<td class="line">{escaped(text)}</td>'


def _bar(task: Task) -> str:
    share = "" if task.total is None else f' value="{task.completed:g}" max="{max(task.total, 1):g}"'
    return f'<progress style="width: 12em"{share}></progress>'
