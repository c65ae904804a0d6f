from __future__ import annotations

import io
import re
from types import SimpleNamespace

import pytest
from rich.console import Console

from manyview._utils.progress import Step, heard, tell
from manyview.cli._progress import ProgressDisplay, StepLines, fit_progress, progress_lines

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


class Clock:
    """A time that is set."""

    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def text_of(lines, width=120):
    file = io.StringIO()
    Console(file=file, width=width).print(lines.draw())
    return [" ".join(re.sub("[━╸╺]", " ", line).split()) for line in file.getvalue().splitlines()]


def at(clock, lines, now, *step):
    clock.now = now
    lines.update(Step(*step))


def test_a_fit_shows_its_name_what_it_has_reached_and_the_time_left(clock):
    lines = StepLines(clock)
    clock.now = 5.0
    assert text_of(lines) == ["working, 5.0 s"]
    at(clock, lines, 10.0, "TBGL", 10, 50, "passes", 0.1234567)
    assert text_of(lines) == ["TBGL 10/50 passes objective 0.1235 10 s at most 40 s left"]
    clock.now = 10.5
    assert text_of(lines)[0].endswith("10 s at most 40 s left")
    clock.now = 22.0  # the eleventh takes long, so the others may
    assert text_of(lines)[0].endswith("22 s at most 1 min 18 s left")
    at(clock, lines, 30.0, "TBGL", 50, 50, "passes", 0.5, "agreement")
    assert text_of(lines) == ["TBGL 50/50 passes agreement 0.5 30 s"]


def test_the_fits_of_an_audit_are_shown_below_it_while_they_go_on(clock):
    lines = StepLines(clock)
    at(clock, lines, 0.0, "audit_order", 0, 3, "fits")
    at(clock, lines, 2.0, "TBGL", 1, 5, "passes", 1.0)
    first, second = text_of(lines)
    assert first.startswith("audit_order 0/3 fits")
    assert first.endswith("time left not known yet")
    assert second == "TBGL 1/5 passes objective 1 2.0 s at most 8.0 s left"
    at(clock, lines, 4.0, "audit_order", 1, 3, "fits")
    assert text_of(lines) == ["audit_order 1/3 fits 4.0 s at most 8.0 s left"]
    at(clock, lines, 5.0, "TBGL", 1, 5, "passes", 1.0)
    assert text_of(lines)[1].endswith("1.0 s at most 4.0 s left")


def test_work_that_is_over_makes_room_for_the_next(clock):
    lines = StepLines(clock)
    at(clock, lines, 1.0, "suggest_n_clusters", 4, 4, "fits")
    at(clock, lines, 3.0, "GraphEnsemble", 8, 48, "members", 0.9, "agreement")
    at(clock, lines, 5.0, "GraphEnsemble", 25_000, 100_000, "samples")
    assert text_of(lines) == ["GraphEnsemble 25,000/100,000 samples 2.0 s at most 6.0 s left"]


def test_in_a_narrow_terminal_only_the_bar_is_short(clock):
    lines = StepLines(clock)
    at(clock, lines, 10.0, "GraphEnsemble", 16, 48, "members", 0.912345, "agreement")
    whole = ["GraphEnsemble 16/48 members agreement 0.9123 10 s at most 20 s left"]
    assert text_of(lines, 84) == text_of(lines) == whole


def test_names_cannot_steer_the_terminal(clock):
    lines = StepLines(clock)
    at(clock, lines, 1.0, "[red]\x1b[2Jgone", 1, 4, "fits")
    assert text_of(lines)[0].startswith("[red]\\x1b[2Jgone 1/4 fits")


def progress_of(**options):
    file = io.StringIO()
    with fit_progress(Console(file=file, width=120, **options)):
        told = heard()
        tell(Step("TBGL", 10, 50, "passes", 0.25))
        print("a result")
    return file.getvalue(), told


def test_a_fit_is_silent_where_nobody_looks(capsys):
    assert progress_of() == ("", False)
    assert capsys.readouterr().out == "a result\n"


def test_a_fit_is_shown_in_a_terminal_and_leaves_results_alone(capsys):
    text, told = progress_of(force_terminal=True)
    assert told
    for part in ("TBGL", "10/50 passes", "objective 0.25", "at most", "left"):
        assert part in text
    assert capsys.readouterr().out == "a result\n"
    assert "a result" not in text


def test_stopping_gives_the_terminal_back():
    file = io.StringIO()
    with pytest.raises(KeyboardInterrupt), fit_progress(Console(file=file, force_terminal=True)):
        raise KeyboardInterrupt
    hidden, shown = "\x1b[?25l", "\x1b[?25h"
    assert file.getvalue().rindex(shown) > file.getvalue().rindex(hidden)
    assert not heard()
