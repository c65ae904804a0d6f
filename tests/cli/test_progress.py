from __future__ import annotations

import io
from types import SimpleNamespace

from rich.console import Console

from manyview.cli._progress import ProgressDisplay, progress_lines

EVENT = SimpleNamespace(done=3, total=12, failed=1, running=("TBGL on \x1b[2JMSRC", "SFMC" * 40), seconds_left=75.0)


def drawn(**options):
    file = io.StringIO()
    with ProgressDisplay(Console(file=file, width=80, highlight=False, **options)) as progress:
        progress.update(EVENT)
    return file.getvalue()


def test_nothing_is_drawn_where_nobody_looks():
    assert drawn() == ""


def test_a_terminal_gets_a_bar_and_what_is_running():
    text = drawn(force_terminal=True)
    for part in ("3/12 cells", "1 failed", "1 min 15 s left", "TBGL on \\x1b[2JMSRC"):
        assert part in text


def test_a_line_of_the_display_never_wraps():
    file = io.StringIO()
    Console(file=file, width=80).print(progress_lines(EVENT))
    assert len(file.getvalue().splitlines()) == 3


def test_the_time_left_may_not_be_known():
    file = io.StringIO()
    start = SimpleNamespace(done=0, total=0, failed=0, running=(), seconds_left=None)
    Console(file=file, width=80).print(progress_lines(start))
    assert "0/0 cells" in file.getvalue()
    assert "time left not known yet" in file.getvalue()
