"""What ends a program from outside: Ctrl-C, SIGTERM, a terminal that is closed."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_UNTOUCHED = (signal.SIG_DFL, signal.default_int_handler)  # whoever started us may have chosen otherwise, as nohup does
# Finalisers, and what LLVM calls in the middle of compiling a kernel.
_LOSING = {"__del__", "_raw_object_cache_notify", "_raw_object_cache_getbuffer"}
_MOMENT = 0.02  # seconds
_PATIENCE = 5.0  # seconds in which more signals ask for the same, and must not disturb the tidying up


class Stop:
    """What a signal has asked for.

    Attributes
    ----------
    exit_code : int or None
        As a shell reports a program that the first signal has ended; None as long as there was none.
    """

    def __init__(self) -> None:
        self.exit_code: int | None = None
        self._last = -_PATIENCE

    def hear(self, number: int, frame: Any) -> None:
        """Raise ``KeyboardInterrupt``, whatever the signal, so that what tidies up after Ctrl-C does so after all."""
        if _is_lost_in(frame):
            threading.Timer(_MOMENT, _repeat, [number]).start()
            return
        now = time.monotonic()
        self.exit_code = self.exit_code or 128 + number
        if now - self._last >= _PATIENCE:
            self._last = now
            raise KeyboardInterrupt


def _repeat(number: int) -> None:
    """Send a signal again, to the main thread: one to another thread does not end what the main one waits for."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:  # Windows
        signal.raise_signal(number)


def _is_lost_in(frame: Any) -> bool:
    """Whether Python would print an exception that is raised here, and go on."""
    while frame is not None and frame.f_code.co_name not in _LOSING:
        frame = frame.f_back
    return frame is not None


@contextmanager
def stopped_by_signals() -> Iterator[Stop]:
    """End what is within when a signal says so. Only the main thread hears them."""
    stop = Stop()
    names = ("SIGINT", "SIGTERM", "SIGHUP")  # the last is unknown to Windows
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    is_main = threading.current_thread() is threading.main_thread()
    heard = [number for number in numbers if is_main and before[number] in _UNTOUCHED]
    try:
        for number in heard:
            signal.signal(number, stop.hear)
        yield stop
    finally:
        for number in heard:
            # a program that was stopped is about to end, and more signals must not change with which exit code
            signal.signal(number, signal.SIG_IGN if stop.exit_code else before[number])
