"""One worker process, seen from the runner: started, given a cell, watched, ended."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import manyview
from manyview._utils.machine import resident_memory
from manyview.experiments._messages import READY, Answer, from_line
from manyview.experiments._model import FAILED, MEMORY, Cell, CellResult

ENDED = "ended"
"""The last message of a worker."""

_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Start processes that do not hear Ctrl-C and SIGTERM, from their first moment on.

    These often reach all processes of a program, the workers before the runner. It is the runner that decides: a cell
    whose process was ended from outside would be taken for a failed one.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class WorkerProcess:
    """A process that fits one cell after the other.

    Parameters
    ----------
    messages : queue of (WorkerProcess, Answer or str)
        Gets ``READY`` when it can begin, the answer to each cell, and ``ENDED`` when the process is no more.
    """

    def __init__(self, messages: queue.SimpleQueue[tuple[WorkerProcess, Answer | str]]) -> None:
        packages = str(Path(manyview.__file__).parents[1])
        paths = [packages, *filter(None, [os.environ.get("PYTHONPATH")])]
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the process
        with _deaf_children():
            self._process = subprocess.Popen(
                [sys.executable, "-m", "manyview.experiments._worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                text=True,
                encoding="utf-8",
                env={**os.environ, **dict.fromkeys(_ONE_THREAD, "1"), "PYTHONPATH": os.pathsep.join(paths)},
            )
        self._messages = messages
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._messages.put((self, READY if line.strip() == READY else from_line(line)))
        self._process.wait()
        self._messages.put((self, ENDED))

    def send(self, cell: Cell) -> None:
        """Give it a cell; if the process has died, that is told like any other death."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(cell.description + "\n")
            self._process.stdin.flush()
        except OSError:
            self._process.kill()

    def memory(self) -> int:
        """Bytes it has in memory now; 0 if the system does not tell."""
        return resident_memory(self._process.pid) or 0

    def end(self) -> None:
        """End it at once."""
        self._process.kill()
        self._process.wait()
        self._errors.close()

    def autopsy(self, cell: Cell) -> CellResult:
        """What to write about the cell that a process died with."""
        code = self._process.wait()
        self._errors.seek(0)
        said = self._errors.read().decode(errors="replace").strip().splitlines()
        if code == -9:  # SIGKILL, which not every system knows by name
            return CellResult(cell.key, MEMORY, "the system ended the process, most often for lack of memory")
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return CellResult(cell.key, FAILED, f"the process ended with {how}" + (f": {said[-1][:500]}" if said else ""))
