from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
from contextlib import ExitStack

import pytest

import manyview
from manyview.cli import _errors
from manyview.cli._errors import stopped_by_signals

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="needs signals of POSIX")
NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def handlers():
    """Signals as a program finds them, and as they were afterwards."""
    before = {number: signal.getsignal(number) for number in NUMBERS}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(("number", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_signal_is_an_interrupt_with_its_own_exit_code(number, code):
    with pytest.raises(KeyboardInterrupt), stopped_by_signals() as stop:
        signal.raise_signal(getattr(signal, number))
    assert stop.exit_code == code


def test_more_signals_do_not_disturb_the_tidying_up():
    tidied = []

    def tidy():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
        tidied.append(True)

    tidying = ExitStack()
    tidying.callback(tidy)
    with pytest.raises(KeyboardInterrupt), stopped_by_signals() as stop, tidying:
        signal.raise_signal(signal.SIGTERM)
    signal.raise_signal(signal.SIGINT)  # nor do they change how it ends
    assert (tidied, stop.exit_code) == ([True], 143)


def test_a_signal_that_was_swallowed_can_be_repeated(monkeypatch):
    now = iter([100.0, 106.0])
    monkeypatch.setattr(_errors.time, "monotonic", lambda: next(now))
    with stopped_by_signals():
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)


def test_what_was_chosen_before_stays_and_all_is_given_back():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    with stopped_by_signals() as stop:
        signal.raise_signal(signal.SIGHUP)
    assert stop.exit_code is None
    assert [signal.getsignal(number) for number in NUMBERS] == [
        signal.default_int_handler,
        signal.SIG_DFL,
        signal.SIG_IGN,
    ]


def test_threads_leave_signals_alone():
    found = []

    def run():
        with stopped_by_signals():
            found.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [signal.SIG_DFL]


def test_the_exit_code_holds_after_an_interrupt_in_an_exec(tmp_path):
    """Dataclasses and named tuples are made by exec, many of them when a command imports what it needs."""
    (tmp_path / "program.py").write_text(
        "import signal, manyview.cli as app\n"
        "from manyview.cli import main\n"
        "app.Program.invoke = lambda *args: exec('signal.raise_signal(signal.SIGTERM)', globals())\n"
        "main()\n"
    )
    packages = os.path.dirname(os.path.dirname(manyview.__file__))
    done = subprocess.run(
        [sys.executable, "-m", "program", "methods"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": packages},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert (done.returncode, done.stdout) == (143, "")
    assert "Traceback" not in done.stderr


class Finalised:
    def __del__(self):
        signal.raise_signal(signal.SIGTERM)


def finalise():
    finalised = Finalised()
    del finalised


def call_back():
    """As LLVM calls llvmlite when it has compiled a kernel."""

    def _raw_object_cache_notify():
        signal.raise_signal(signal.SIGTERM)

    ctypes.CFUNCTYPE(None)(_raw_object_cache_notify)()


@pytest.mark.parametrize("losing", [finalise, call_back])
def test_an_interrupt_is_not_lost_where_python_would_ignore_it(losing):
    def work():
        losing()
        given_up.wait()

    given_up = threading.Event()
    watchdog = threading.Timer(60, given_up.set)
    watchdog.start()
    with pytest.raises(KeyboardInterrupt), stopped_by_signals() as stop:
        work()
    watchdog.cancel()
    assert stop.exit_code == 143
    assert not given_up.is_set(), "the signal was heard only when there was nothing left to wait for"


def test_llvm_calls_back_under_these_names():
    from llvmlite.binding import ExecutionEngine

    assert {name for name in vars(ExecutionEngine) if name.startswith("_raw_")} <= _errors._IGNORING
