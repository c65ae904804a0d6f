"""A worker process as the runner sees it, and the messages between them: a line of JSON each, arrays as base64."""

from __future__ import annotations

import base64
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import manyview
from manyview._utils.machine import resident_memory
from manyview._utils.text import one_line
from manyview.exceptions import SpecError
from manyview.experiments._model import FAILED, MEMORY, Cell, CellResult, DatasetFacts

READY = "ready"
"""The first line that a worker writes; the time limit counts from here."""

ENDED = "ended"
"""The last message about a worker: its process has ended."""

QUIET = b"\0"
"""What a worker writes to standard error before each answer: all that was printed during the fit came before it."""

_MAX_PRINTED = 2**13  # bytes of output that are kept, from the end
_MAX_REASON = 500  # characters of output in a reason
_MAX_IMPORT = 120.0  # seconds
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


def _command(module: str) -> list[str]:
    """Return the command for a module of ours; modules in the current folder must not take the place of others."""
    return [sys.executable, "-P", "-m", module]


def _environment() -> dict[str, str]:
    packages = str(Path(manyview.__file__).parents[1])
    paths = [packages, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, **dict.fromkeys(_ONE_THREAD, "1"), "PYTHONPATH": os.pathsep.join(paths)}


def check_own_method(reference: str, folder: str, parameters: Sequence[Mapping[str, Any]]) -> None:
    """Import a method of a user's own in a process of its own, and raise a SpecError if it cannot be called."""
    asked = json.dumps({"reference": reference, "folder": folder, "parameters": list(parameters)})
    try:
        done = subprocess.run(
            _command("manyview.experiments.own_methods"),
            input=f"{asked}\n".encode(),
            capture_output=True,
            env=_environment(),
            timeout=_MAX_IMPORT,
        )
    except subprocess.TimeoutExpired:
        raise SpecError(f"{reference}: its import did not end within {_MAX_IMPORT:.0f} s.") from None
    if not done.stdout:
        raise SpecError(f"{reference}: {_how_it_ended(done.returncode)} while it was imported{_said(done.stderr)}")
    if reason := json.loads(done.stdout):
        raise SpecError(reason)


def _how_it_ended(code: int) -> str:
    if code >= 0:
        return f"the process ended with exit code {code}"
    with suppress(ValueError):
        return f"the process ended with signal {-code} ({signal.Signals(-code).name})"
    return f"the process ended with signal {-code}"


def _said(printed: bytes) -> str:
    """Return the last line that was printed, after a colon."""
    lines = printed.replace(QUIET, b"").decode(errors="replace").strip().splitlines()
    return f": {one_line(lines[-1])[:_MAX_REASON]}" if lines else ""


class WorkerProcess:
    """A process that fits one cell after another.

    Parameters
    ----------
    messages : queue of (WorkerProcess, Answer or str)
        Receives ``READY`` when the process can begin, the answer to each cell, and ``ENDED`` when it has ended.
    """

    def __init__(self, messages: queue.SimpleQueue[tuple[WorkerProcess, Answer | str]]) -> None:
        # a group of its own, so that processes that a user's method has started end with it
        group: dict[str, Any] = {"process_group": 0} if os.name == "posix" else {}
        with _signals_blocked():
            self._process = subprocess.Popen(
                _command("manyview.experiments._worker"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                env=_environment(),
                **group,
            )
        self._messages = messages
        self._printed = b""
        self._quiet = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._read_printed, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._messages.put((self, READY if line.strip() == READY else from_line(line)))
        self._process.wait()
        self._messages.put((self, ENDED))

    def _read_printed(self) -> None:
        """Keep the end of what is printed; a method may print any amount."""
        assert self._process.stderr is not None
        with suppress(OSError, ValueError):  # closed by end()
            while chunk := os.read(self._process.stderr.fileno(), 2**16):
                self._printed = (self._printed + chunk)[-_MAX_PRINTED:]
                if QUIET in chunk:
                    self._quiet.set()
        self._quiet.set()

    def printed(self) -> str:
        """Return the last line that was printed during the last cell, after a colon; empty if there is none."""
        self._quiet.wait(1.0)  # a child of the process may hold the pipe open
        return _said(self._printed)

    def send(self, cell: Cell) -> None:
        """Send a cell; if the process has died, that is noticed where its output ends."""
        assert self._process.stdin is not None
        self._quiet.clear()
        self._printed = b""
        try:
            self._process.stdin.write(cell.message + "\n")
            self._process.stdin.flush()
        except OSError:
            self._process.kill()

    def memory(self) -> int:
        """Return the bytes it has in memory now; 0 if the system does not say."""
        return resident_memory(self._process.pid) or 0

    def end(self) -> None:
        """Kill the process, and those that it has started."""
        if os.name == "posix":
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()

    def failure(self, cell: Cell) -> CellResult:
        """Return the result of the cell that a process died with."""
        code = self._process.wait()
        if code == -9:  # SIGKILL, which the signal module does not have on every system
            return CellResult(cell.key, MEMORY, "the system killed the process, most often because memory ran out")
        return CellResult(cell.key, FAILED, f"{_how_it_ended(code)}{self.printed()}")
