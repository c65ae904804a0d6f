"""A worker process as the runner sees it, and the messages between them: a line of JSON each, arrays as base64."""

from __future__ import annotations

import base64
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import manyview
from manyview._utils.machine import resident_memory
from manyview.experiments._model import FAILED, MEMORY, Cell, CellResult, DatasetFacts

READY = "ready"
"""The first line that a worker writes; the time limit counts from here."""

ENDED = "ended"
"""The last message about a worker: its process has ended."""

_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True, eq=False)
class Answer:
    """The result of a cell, and the facts of its dataset if that could be read."""

    result: CellResult
    data: DatasetFacts | None


def to_line(answer: Answer) -> str:
    """Return an answer as a line of text."""
    return json.dumps(asdict(answer), default=_encode_array)


def from_line(line: str) -> Answer:
    """Return the answer of a line."""
    raw = json.loads(line, object_hook=_decode_array)
    data = raw["data"] and DatasetFacts(**raw["data"] | {"views": tuple(map(tuple, raw["data"]["views"]))})
    return Answer(CellResult(**raw["result"]), data)


def _encode_array(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return {"dtype": value.dtype.str, "shape": value.shape, "base64": base64.b64encode(value.tobytes()).decode()}
    raise TypeError(f"{type(value).__name__} cannot be sent")


def _decode_array(value: dict[str, Any]) -> Any:
    if value.keys() != {"dtype", "shape", "base64"}:
        return value
    return np.frombuffer(base64.b64decode(value["base64"]), value["dtype"]).reshape(value["shape"])


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Start processes that ignore Ctrl-C and SIGTERM from their beginning.

    These signals often reach all processes of a program, the workers before the runner. The runner ends its workers
    itself: a cell whose process was ended from outside would count as failed.
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
    """A process that fits one cell after another.

    Parameters
    ----------
    messages : queue of (WorkerProcess, Answer or str)
        Receives ``READY`` when the process can begin, the answer to each cell, and ``ENDED`` when it has ended.
    """

    def __init__(self, messages: queue.SimpleQueue[tuple[WorkerProcess, Answer | str]]) -> None:
        packages = str(Path(manyview.__file__).parents[1])
        paths = [packages, *filter(None, [os.environ.get("PYTHONPATH")])]
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the process
        with _signals_blocked():
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
        """Send a cell; if the process has died, that is noticed where its output ends."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(cell.description + "\n")
            self._process.stdin.flush()
        except OSError:
            self._process.kill()

    def memory(self) -> int:
        """Return the bytes it has in memory now; 0 if the system does not say."""
        return resident_memory(self._process.pid) or 0

    def end(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.wait()
        self._errors.close()

    def failure(self, cell: Cell) -> CellResult:
        """Return the result of the cell that a process died with."""
        code = self._process.wait()
        self._errors.seek(0)
        printed = self._errors.read().decode(errors="replace").strip().splitlines()
        if code == -9:  # SIGKILL, which the signal module does not have on every system
            return CellResult(cell.key, MEMORY, "the system killed the process, most often because memory ran out")
        reason = f"the process ended with signal {-code}" if code < 0 else f"the process ended with exit code {code}"
        return CellResult(cell.key, FAILED, f"{reason}: {printed[-1][:500]}" if printed else reason)
