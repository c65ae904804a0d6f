"""Progress of fits, audits and experiments, drawn by rich on stderr; nothing is drawn if that is not a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console, RenderableType
from rich.progress import Progress
from rich.text import Text

from manyview._utils.progress import drawn_by
from manyview._utils.progress_bar import TextOf, bar_column, terminal_display
from manyview._utils.text import duration, printable

if TYPE_CHECKING:
    from manyview.experiments.runner import Progress as CellEvent


@contextmanager
def fit_progress(console: Console | None = None) -> Iterator[None]:
    """Show the progress of fits, searches and audits within the block.

    Parameters
    ----------
    console : rich.console.Console, optional
        Where to draw; stderr by default.
    """
    # what is printed to stdout meanwhile is a result, and stays as it is
    with drawn_by(terminal_display(console or Console(stderr=True), transient=True, redirect_stdout=False)):
        yield


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
        columns = (bar_column(), TextOf(lambda task: task.description))
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
