from __future__ import annotations

import io
import re
from types import SimpleNamespace

import pytest
from rich.console import Console

from manyview._utils.progress import Step, has_listeners, report_step
from manyview._utils.progress_bar import StepProgress
from manyview.cli._progress import CellProgress, cell_progress, fit_progress

EVENT = SimpleNamespace(done=3, total=12, failed=1, running=("TBGL on \x1b[2JMSRC", "SFMC" * 40), seconds_left=75.0)


def drawn(**options):
    file = io.StringIO()
    with cell_progress(Console(file=file, width=80, **options)) as show:
        show(EVENT)
    return file.getvalue()


def text_of(progress, width=120):
    """The lines of a display, without the bars."""
    file = io.StringIO()
    Console(file=file, width=width).print(progress.get_renderable())
    return [" ".join(re.sub("[━╸╺]", " ", line).split()) for line in file.getvalue().splitlines()]


def test_nothing_is_drawn_if_stderr_is_no_terminal():
    assert drawn() == ""


def test_a_terminal_gets_a_bar_and_what_is_running():
    text = drawn(force_terminal=True)
    for part in ("3/12 cells", "1 failed", "1 min 15 s left", "TBGL on \\x1b[2JMSRC"):
        assert part in text


def test_a_line_of_the_display_never_wraps():
    progress = CellProgress(console=Console(file=io.StringIO()))
    progress.show(EVENT)
    assert len(text_of(progress, 80)) == 3


def test_the_time_left_may_not_be_known():
    progress = CellProgress(console=Console(file=io.StringIO()))
    progress.show(SimpleNamespace(done=0, total=0, failed=0, running=(), seconds_left=None))
    assert text_of(progress, 80) == ["0/0 cells, 0 failed, time left not known yet"]


class Steps:
    """A display of steps whose clock is set."""

    def __init__(self):
        self.now = 0.0
        self.progress = StepProgress(console=Console(file=io.StringIO()), get_time=lambda: self.now)

    def at(self, now, *step):
        self.now = now
        self.progress.show(Step(*step))

    def lines(self, width=120):
        return text_of(self.progress, width)


@pytest.fixture
def steps():
    return Steps()


def test_a_fit_shows_its_name_what_it_has_reached_and_the_time_left(steps):
    steps.now = 5.0
    assert steps.lines() == ["working 5.0 s"]
    steps.at(10.0, "TBGL", 10, 50, "passes", 0.1234567)
    assert steps.lines() == ["TBGL 10/50 passes objective 0.1235 < 0.01 s time left not known yet"]
    steps.at(20.0, "TBGL", 20, 50, "passes", 0.1)
    assert steps.lines() == ["TBGL 20/50 passes objective 0.1 10 s at most 30 s left"]
    steps.at(30.0, "TBGL", 50, 50, "passes", 0.5, "agreement")
    assert steps.lines() == ["TBGL 50/50 passes agreement 0.5 20 s"]


def test_steps_may_take_minutes(steps):
    for done in range(3):
        steps.at(600.0 * done, "TBGL", done, 5, "passes", 0.1)
    assert steps.lines()[0].endswith("20 min 0 s at most 30 min 0 s left")


def test_the_fits_of_an_audit_are_shown_below_it_while_they_go_on(steps):
    steps.at(0.0, "audit_order", 0, 3, "fits")
    steps.at(2.0, "TBGL", 1, 5, "passes", 1.0)
    steps.at(4.0, "TBGL", 2, 5, "passes", 1.0)
    first, second = steps.lines()
    assert first.startswith("audit_order 0/3 fits")
    assert first.endswith("time left not known yet")
    assert second == "TBGL 2/5 passes objective 1 2.0 s at most 6.0 s left"
    steps.at(5.0, "audit_order", 1, 3, "fits")
    assert [line.split()[0] for line in steps.lines()] == ["audit_order"]
    steps.at(6.0, "TBGL", 1, 5, "passes", 1.0)
    assert steps.lines()[1].startswith("TBGL 1/5 passes objective 1 < 0.01 s")
    steps.at(10.0, "audit_order", 2, 3, "fits")
    assert steps.lines() == ["audit_order 2/3 fits 10 s at most 5.0 s left"]


def test_work_that_is_over_makes_room_for_the_next(steps):
    steps.at(1.0, "suggest_n_clusters", 4, 4, "fits")
    steps.at(3.0, "GraphEnsemble", 8, 48, "members", 0.9, "agreement")
    steps.at(5.0, "GraphEnsemble", 25_000, 100_000, "samples")
    steps.at(7.0, "GraphEnsemble", 50_000, 100_000, "samples")
    assert steps.lines() == ["GraphEnsemble 50,000/100,000 samples 2.0 s at most 4.0 s left"]


def test_in_a_narrow_terminal_only_the_bar_is_short(steps):
    steps.at(10.0, "GraphEnsemble", 8, 48, "members", 0.9, "agreement")
    steps.at(20.0, "GraphEnsemble", 16, 48, "members", 0.912345, "agreement")
    whole = ["GraphEnsemble 16/48 members agreement 0.9123 10 s at most 40 s left"]
    assert steps.lines(84) == steps.lines() == whole


def test_names_cannot_steer_the_terminal(steps):
    steps.at(1.0, "[red]\x1b[2Jgone", 1, 4, "fits")
    assert steps.lines()[0].startswith("[red]\\x1b[2Jgone 1/4 fits")


def progress_of(**options):
    file = io.StringIO()
    with fit_progress(Console(file=file, width=120, **options)):
        told = has_listeners()
        report_step(Step("TBGL", 10, 50, "passes", 0.25))
        print("a result")
    return file.getvalue(), told


def test_a_fit_is_silent_where_nobody_looks(capsys):
    assert progress_of() == ("", False)
    assert capsys.readouterr().out == "a result\n"


def test_a_fit_is_shown_in_a_terminal_and_leaves_results_alone(capsys):
    text, told = progress_of(force_terminal=True)
    assert told
    for part in ("TBGL", "10/50 passes", "objective 0.25", "left"):
        assert part in text
    assert capsys.readouterr().out == "a result\n"
    assert "a result" not in text


def test_stopping_gives_the_terminal_back():
    file = io.StringIO()
    with pytest.raises(KeyboardInterrupt), fit_progress(Console(file=file, force_terminal=True)):
        raise KeyboardInterrupt
    hidden, shown = "\x1b[?25l", "\x1b[?25h"
    assert file.getvalue().rindex(shown) > file.getvalue().rindex(hidden)
    assert not has_listeners()
