"""How far a run is, on stderr and only if that is a terminal."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from manyview.cli._text import duration, printable

if TYPE_CHECKING:
    from manyview.experiments.runner import Progress


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
        ProgressBar(total=max(event.total, 1), completed=event.done, width=30),
        Text(f"{event.done}/{event.total} cells"),
        Text(f"{event.failed} failed", style="red" if event.failed else ""),
        Text(left),
    )
    running = (Text(f"  {printable(name)}", style="dim", no_wrap=True, overflow="ellipsis") for name in event.running)
    return Group(line, *running)
