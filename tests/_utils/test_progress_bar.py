"""Bars of Python calls: where they are drawn, what they leave, and how compiling is kept apart."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import textwrap
import threading
from types import SimpleNamespace

import joblib
import numpy as np
import pytest
from rich.console import Console

import manyview
from manyview import GraphEnsemble, describe, suggest_n_clusters
from manyview._utils import progress, progress_bar
from manyview._utils.compiled import compiling, njit
from manyview._utils.progress import Step, has_listeners, report_step, say, set_progress, showing_progress
from manyview._utils.progress_bar import NotebookProgress, StepProgress, WorkClock, in_notebook
from manyview.audit import audit_order, audit_seeds, audit_views
from manyview.cluster import SMSC
from manyview.datasets import make_multiview
from manyview.report import write_report


@pytest.fixture
def terminal(monkeypatch):
    """A terminal that Python calls draw in; what it shows is in its file."""
    file = io.StringIO()
    make = lambda stderr: Console(file=file, force_terminal=True, width=120)  # noqa: E731
    monkeypatch.setattr(progress_bar, "Console", make)
    return file


@pytest.fixture(autouse=True)
def off_again():
    yield
    set_progress(False)


@pytest.fixture(scope="module")
def blobs():
    return make_multiview(60, 3, n_views=2, noise=0.3, random_state=0)


@pytest.fixture(scope="module")
def model(blobs):
    return GraphEnsemble(3, n_members=4, random_state=0).fit(blobs)


def last_lines(file):
    """The lines that stay in a terminal, without bars and commands."""
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-ln-z]", "\n", re.sub(r"\x1b\[[0-9;]*m", "", file.getvalue()))
    return [line for each in text.splitlines() if (line := " ".join(re.sub("[━╸╺]", " ", each).split()))]


CALLS = {
    "fit": lambda model, views, verbose: model.set_params(verbose=verbose).fit(views),
    "predict": lambda model, views, verbose: model.set_params(verbose=verbose).predict(views),
    "predict_confidence": lambda model, views, verbose: model.set_params(verbose=verbose).predict_confidence(views),
    "suggest_n_clusters": lambda model, views, verbose: suggest_n_clusters(
        views, [2, 3], random_state=0, verbose=verbose
    ),
    "audit_order": lambda model, views, verbose: audit_order(SMSC(3), views, n_shuffles=1, verbose=verbose),
    "audit_seeds": lambda model, views, verbose: audit_seeds(SMSC(3), views, n_seeds=1, verbose=verbose),
    "audit_views": lambda model, views, verbose: audit_views(
        SMSC(3), make_multiview(60, 3, random_state=0), verbose=verbose
    ),
    "describe": lambda model, views, verbose: describe(views, model, verbose=verbose),
    "write_report": lambda model, views, verbose: write_report(model, views, "report.html", verbose=verbose),
}
NAMES = {"fit": "GraphEnsemble", "predict_confidence": "predict"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("how", ["verbose", "set_progress"])
@pytest.mark.parametrize("call", CALLS)
def test_every_long_call_draws_a_bar_and_leaves_a_line(call, how, model, blobs, terminal, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if how == "set_progress":
        manyview.set_progress(True)
    CALLS[call](model, blobs, how == "verbose")
    last = last_lines(terminal)[-1]
    assert re.match(rf"{NAMES.get(call, call)} (\d+) (members|samples|fits|views|parts) .*\d s$", last), last
    assert "left" not in last
    assert not has_listeners()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", CALLS)
def test_nothing_is_drawn_unless_asked_for(call, model, blobs, terminal, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    set_progress(True)
    set_progress(False)
    CALLS[call](model, blobs, False)
    assert terminal.getvalue() == ""
    assert capsys.readouterr() == ("", "")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", ["fit", "suggest_n_clusters", "audit_seeds", "describe", "write_report"])
def test_without_a_terminal_verbose_prints_lines(call, model, blobs, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    CALLS[call](model, blobs, True)
    out, error = capsys.readouterr()
    assert len([line for line in out.splitlines() if line.startswith(NAMES.get(call, call))]) >= 2
    assert error == ""


@pytest.mark.parametrize("value", ["yes", 1, None, [True]])
def test_verbose_of_another_type_is_refused(value, model, blobs, tmp_path):
    expected = r"expected True or False, got |must be an instance of 'bool'"
    for call in (
        lambda: GraphEnsemble(3, verbose=value).fit(blobs),
        lambda: suggest_n_clusters(blobs, [2, 3], verbose=value),
        lambda: audit_order(SMSC(3), blobs, verbose=value),
        lambda: describe(blobs, model, verbose=value),
        lambda: write_report(model, blobs, tmp_path / "report.html", verbose=value),
        lambda: manyview.set_progress(value),
    ):
        with pytest.raises((TypeError, ValueError), match=expected):
            call()
    assert not list(tmp_path.iterdir())


def test_flags_of_numpy_are_flags():
    set_progress(np.True_)
    assert progress._is_on is True


def test_work_inside_other_work_has_no_display_of_its_own(terminal):
    with showing_progress(True):
        report_step(Step("audit_order", 1, 3, "fits"))
        with showing_progress(True):
            report_step(Step("TBGL", 7, 9, "passes"))
        report_step(Step("audit_order", 3, 3, "fits"))
    assert terminal.getvalue().count("\x1b[?25l") == 1  # one display hides the cursor once
    assert last_lines(terminal)[-1].startswith("audit_order 3 fits")


def test_two_threads_share_a_display(terminal):
    entered, left = threading.Event(), threading.Event()

    def second():
        with showing_progress(True):
            entered.set()
            left.wait(10)

    with showing_progress(True):
        thread = threading.Thread(target=second)
        thread.start()
        assert entered.wait(10)
        report_step(Step("TBGL", 1, 2, "passes"))
    left.set()
    thread.join()
    assert terminal.getvalue().count("\x1b[?25l") == 1
    assert not progress._is_drawn


def test_an_error_leaves_the_bar_where_it_stopped(terminal):
    def stopped():
        with showing_progress(True):
            report_step(Step("TBGL", 7, 9, "passes", 0.5))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert last_lines(terminal)[-1].startswith("TBGL (stopped) 7/9 passes objective 0.5")
    assert not progress._is_drawn
    with showing_progress(True):
        report_step(Step("SMSC", 1, 1, "passes"))
    assert last_lines(terminal)[-1].startswith("SMSC 1 passes")


def test_lines_are_printed_only_if_no_bar_is_drawn(terminal, capsys):
    say(True, "one")
    say(False, "two")
    with showing_progress(True):
        say(True, "three")
    assert capsys.readouterr().out == "one\n"


def test_workers_of_joblib_draw_nothing():
    found = joblib.Parallel(2)(joblib.delayed(_draws)() for _ in range(2))
    assert found == [False, False]


def _draws():
    from rich.console import Console

    from manyview._utils import progress_bar

    progress_bar.Console = lambda stderr: Console(force_terminal=True)
    return progress_bar.display() is not None


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_the_clock_stands_still_while_kernels_are_compiled():
    time = Clock()
    clock = WorkClock(time)
    for now, do in [(1.0, clock.stop), (2.0, clock.stop), (3.0, clock.go_on), (6.0, clock.go_on)]:
        time.now = now
        do()
    assert (clock(), clock.compiled, clock.is_compiling) == (1.0, 5.0, False)
    time.now = 10.0
    clock.stop()
    time.now = 12.0
    assert (clock(), clock.compiled, clock.is_compiling) == (5.0, 7.0, True)
    clock.go_on()
    clock.go_on()  # of a compilation that began before
    assert clock() == 5.0


def lines_of(display, width=120):
    file = io.StringIO()
    Console(file=file, width=width).print(display.get_renderable())
    return [" ".join(re.sub("[━╸╺]", " ", line).split()) for line in file.getvalue().splitlines()]


def test_compiling_is_a_line_of_its_own_and_not_counted_as_work():
    time = Clock()
    display = StepProgress(console=Console(file=io.StringIO()), get_time=time)
    time.now = 1.0
    assert lines_of(display) == ["working 1.0 s"]
    display.begin_compiling()
    time.now = 9.0
    assert lines_of(display) == ["compiling, first time only 8.0 s", "working 1.0 s"]
    display.end_compiling()
    time.now = 10.0
    display.show(Step("GraphEnsemble", 8, 24, "members"))
    assert lines_of(display)[0] == "compiled, first time only 8.0 s"
    time.now = 12.0
    display.show(Step("GraphEnsemble", 16, 24, "members"))
    display.begin_compiling()
    time.now = 22.0
    first, second = lines_of(display)
    assert first == "compiling, first time only 18 s"
    assert second == "GraphEnsemble 16/24 members 2.0 s at most 2.0 s left"
    display.end_compiling()
    time.now = 23.0
    display.finish(None)
    assert lines_of(display) == ["compiled, first time only 18 s", "GraphEnsemble 16 members 5.0 s"]


def test_numba_says_when_it_compiles():
    heard = []
    inner = njit(cache=False)(lambda x: x + 1)
    outer = njit(cache=False)(lambda x: 2 * inner(x))
    with compiling(lambda: heard.append("start"), lambda: heard.append("end")):
        assert outer(1) == 4
        assert heard[0] == "start"
        assert heard[-1] == "end"
        assert heard.count("start") == heard.count("end") == 2
        outer(2)
        assert len(heard) == 4


def test_a_fit_that_compiles_says_so(terminal):
    double = njit(cache=False)(lambda x: 2 * x)
    with showing_progress(True):
        double(1)
        report_step(Step("SMSC", 1, 1, "passes"))
    assert re.match(r"compiled, first time only .*s$", last_lines(terminal)[-2])


class FakeHandle:
    def __init__(self):
        self.shown = []

    def update(self, data, raw):
        self.shown.append(data)


def test_a_notebook_gets_html_that_cannot_be_steered_by_names(monkeypatch):
    handle = FakeHandle()
    module = SimpleNamespace(display=lambda data, raw, display_id: handle.update(data, raw) or handle)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    display = StepProgress(auto_refresh=False)
    with NotebookProgress(display):
        display.show(Step("<script>alert(1)</script>", 2, 4, "fits", 0.5))
        display.finish(None)
    last = handle.shown[-1]
    assert "<script>" not in last["text/html"]
    assert "&lt;script&gt;" in last["text/html"]
    assert 'value="2" max="2"' in last["text/html"]
    assert last["text/plain"].startswith("<script>alert(1)</script> 2 fits objective 0.5")
    assert not any(thread.name.startswith("manyview progress") for thread in threading.enumerate())


@pytest.mark.parametrize(
    ("shell", "expected"),
    [
        (None, False),
        (SimpleNamespace(), False),
        (SimpleNamespace(kernel=None), False),
        (SimpleNamespace(kernel=1), True),
    ],
)
def test_only_kernels_are_notebooks(shell, expected, monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert in_notebook() is expected


def test_without_ipython_there_is_no_notebook(monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert in_notebook() is False


def test_nothing_that_draws_is_imported_without_a_bar():
    program = textwrap.dedent(
        """
        import sys, manyview
        from manyview.datasets import make_multiview
        from manyview.cluster import SMSC
        SMSC(3).fit(make_multiview(60, random_state=0))
        print("manyview._utils.progress_bar" in sys.modules)
        """
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=200, check=True)
    assert done.stdout == "False\n"
