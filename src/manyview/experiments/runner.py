"""Running the cells of a spec that the store does not have yet, in several processes."""

from __future__ import annotations

import queue
import re
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from manyview._utils.environment import cores, describe_environment
from manyview._utils.machine import available_memory, gib, physical_memory, resident_memory
from manyview.exceptions import DatasetError, SpecError
from manyview.experiments._datasets import facts, load
from manyview.experiments._model import ABSENT, DONE, FAILED, MEMORY, TIME, Cell, CellResult, Spec
from manyview.experiments._process import READY, Answer, WorkerProcess, check_own_method
from manyview.experiments.store import Store
from manyview.views import check_views

TIME_LIMIT = 3600.0
"""Default time limit of a cell, in seconds."""

_CHECK_INTERVAL = 0.5  # seconds between two checks of time and memory
_RESERVE = 0.05  # share of the machine's memory that must stay free


@dataclass(frozen=True)
class Progress:
    """The progress of a run.

    Parameters
    ----------
    done : int
        Cells with a result, those of earlier runs included.
    total : int
        All cells of the spec.
    failed : int
        Cells that ended without labels.
    running : tuple of str
        Fits that are running now, in words.
    seconds_left : float, optional
        Estimate from the cells that were run; None before the first has ended.
    """

    done: int
    total: int
    failed: int
    running: tuple[str, ...]
    seconds_left: float | None


@dataclass(frozen=True)
class Outcome:
    """The end of a run: how many cells of the spec have each status, how many were fitted now, and the time it took."""

    counts: dict[str, int]
    ran: int
    seconds: float


@dataclass(frozen=True)
class Job:
    """A cell with the time limit and the rules of its parts."""

    cell: Cell
    time_limit: float
    alone: bool = False

    def in_words(self) -> str:
        """Return the description for the progress bar."""
        return f"{self.cell.estimator} on {self.cell.dataset}, {self.cell.protocol}, seed {self.cell.seed}"


def run(
    spec: Spec,
    store: Store,
    *,
    workers: int | None = None,
    time_limit: float | None = None,
    memory_limit: float | None = None,
    retry: bool = False,
    run_code: bool = False,
    read_first: bool = True,
    on_event: Callable[[Progress], None] | None = None,
) -> Outcome:
    """Run the missing cells, and write each to the store as soon as it has ended.

    A run may be killed at any moment and started again: cells that are in the store are not run again. A cell that
    fails, takes too long or does not fit into memory is written with its reason, and the others are run. If a cell ran
    out of time or memory, its other seeds are not tried.

    Parameters
    ----------
    spec : Spec
        See :func:`load_spec`.
    store : Store
        Opened with ``create=True``.
    workers : int, optional
        Number of processes; None for one per core. Each computes with one thread.
    time_limit : float, optional
        Seconds for one cell, instead of the limit of its part.
    memory_limit : float, optional
        Bytes for the process of one cell, data and libraries included; looked at twice a second.
    retry : bool, default=False
        Whether to run cells again that ended without labels. Datasets that were absent are looked for in any case.
    run_code : bool, default=False
        Whether code that the spec names may be run. A spec may come from somebody else, so this must be said.
    read_first : bool, default=True
        Whether to read the files of the spec before anything is run, so that one that cannot be read is an error.
    on_event : callable, optional
        Called with a :class:`Progress` twice a second and after each cell.

    Returns
    -------
    Outcome

    Raises
    ------
    SpecError
        If the spec names code and ``run_code`` is False, or the code cannot be imported or called. Nothing is run then.
    DatasetError
        If a file that the spec names cannot be read, or has no classes. Nothing is run then. A dataset of the registry
        that is absent is no error: its cells are written with the reason.
    """
    if workers is not None and workers < 1:
        raise ValueError(f"workers: expected at least 1, got {workers}.")
    if time_limit is not None and not time_limit > 0:
        raise ValueError(f"time_limit: expected a positive number of seconds, got {time_limit}.")
    if memory_limit is not None and not memory_limit > 0:
        raise ValueError(f"memory_limit: expected a positive number of bytes, got {memory_limit}.")
    if memory_limit is not None and resident_memory() is None:
        raise ValueError("memory_limit: this system does not say how much memory a process has. Leave it out.")
    with store.locked():
        jobs = _jobs(spec, time_limit)
        known = store.results(job.cell.key for job in jobs)
        state = _Run(jobs, known, store, workers or cores(), retry, on_event, memory_limit)
        _check_code(spec, state.waiting, run_code)
        if read_first:
            _check_files(state.waiting, store)
        return state.go(store.begin_run(describe_environment(workers or cores())))


def _check_code(spec: Spec, cells: list[Cell], run_code: bool) -> None:
    """Raise a SpecError if code of a user's own must not be run, or cannot be."""
    asked: dict[tuple[str, str], list[Any]] = {}
    rows = {entry.cell.key: entry.row for part in spec.parts for entry in part.entries}
    for cell in cells:
        if cell.code is None:
            continue
        if not run_code:
            raise SpecError(
                f"{spec.name}: the row {rows[cell.key]!r} runs code, {cell.estimator}, found in {cell.folder or '.'}. "
                "If you trust it, say so: --run-code (in Python run_code=True)."
            )
        given = {name: value for name, value in cell.parameters.items() if name != "n_clusters"}
        known = asked.setdefault((cell.estimator, cell.folder), [])
        if given not in known:
            known.append(given)
    for (reference, folder), parameters in asked.items():
        check_own_method(reference, folder, parameters)


def _check_files(cells: list[Cell], store: Store) -> None:
    """Read every dataset that comes from files once, and raise one error about all that cannot be used."""
    by_name: dict[str, list[Cell]] = {}
    for cell in cells:
        if "read" in cell.source:
            by_name.setdefault(cell.dataset, []).append(cell)
    wrong = []
    for name, own in by_name.items():
        try:
            views = load(own[0].source, own[0].folder)
            check_views(views)
            found = facts(name, views)
            if found.classes is None:
                raise DatasetError(
                    "it has no known classes, so nothing can be scored. Name them: labels = 'FILE:COLUMN'."
                )
        except (ValueError, OSError, TypeError, ImportError) as error:
            reason = str(error)
            if isinstance(error, OSError) and error.strerror:
                reason = f"{error.filename}: {error.strerror}"
            wrong.append(f"dataset {name!r}: {_in_keys(reason)}")
        else:
            store.knows(name, found.fingerprint)
    if wrong:
        raise DatasetError(" ".join(["nothing was run.", *wrong]))


def _in_keys(text: str) -> str:
    """Return a text that names arguments of ``read_views`` with the keys of a spec."""
    spaced = re.sub(r"\b(\w+_column|labels|join|names|\w+_key|header|match_ids|transpose)=", r"\1 = ", text)
    return re.sub(r"\bid_column\b", "id", spaced)


def _jobs(spec: Spec, time_limit: float | None) -> list[Job]:
    """Return the distinct cells; one of several parts has their longest time limit, and is alone if any asks for it."""
    limits: dict[str, float] = {}
    alone: set[str] = set()
    for part in spec.parts:
        for entry in part.entries:
            key = entry.cell.key
            limits[key] = max(limits.get(key, 0.0), time_limit or part.time_limit or TIME_LIMIT)
            if part.alone:
                alone.add(key)
    return [Job(cell, limits[cell.key], cell.key in alone) for cell in spec.cells]


@dataclass
class _Running:
    job: Job
    since: float | None  # None while the process starts, which does not count

    @property
    def seconds(self) -> float:
        return 0.0 if self.since is None else time.monotonic() - self.since


def _with_output(answer: Answer, worker: WorkerProcess) -> Answer:
    """Add the last line that a user's method has printed to the reason of its failure."""
    result = answer.result
    if result.status != FAILED or not (printed := worker.printed()):
        return answer
    return Answer(replace(result, reason=f"{result.reason} Last line that it printed{printed}"), answer.data)


class _Run:
    """The state of one run. The worker processes do not write to the store."""

    def __init__(
        self,
        jobs: list[Job],
        known: dict[str, CellResult],
        store: Store,
        workers: int,
        retry: bool,
        on_event: Callable[[Progress], None] | None,
        memory_limit: float | None = None,
    ) -> None:
        self._store, self._workers, self._on_event, self._memory_limit = store, workers, on_event, memory_limit
        self._number = 0
        open_again = (ABSENT,) if not retry else (ABSENT, TIME, MEMORY, FAILED)
        self._status = {key: found.status for key, found in known.items() if found.status not in open_again}
        waiting = [job for job in jobs if job.cell.key not in self._status]
        # cells that must run alone come first, so that the others need not wait for them
        self._waiting = deque(sorted(waiting, key=lambda job: not job.alone))
        self._jobs = jobs
        self._idle: list[WorkerProcess] = []
        self._running: dict[WorkerProcess, _Running] = {}
        self._messages: queue.SimpleQueue[tuple[WorkerProcess, Answer | str]] = queue.SimpleQueue()
        self._free_at_start = available_memory()
        self._took: dict[str, list[float]] = {}
        self._ran = 0
        self._not_tried: dict[str, tuple[str, str]] = {}
        for job in jobs:
            self._note_consequences(job, known.get(job.cell.key))

    @property
    def waiting(self) -> list[Cell]:
        """The cells that will be run."""
        return [job.cell for job in self._waiting]

    def go(self, number: int) -> Outcome:
        """Run the cells, as the run of this number."""
        self._number = number
        start = time.monotonic()
        try:
            while self._waiting or self._running:
                self._start_jobs()
                self._report()
                with suppress(queue.Empty):
                    self._receive(*self._messages.get(timeout=_CHECK_INTERVAL))
                self._watch_time()
                self._watch_memory()
        finally:
            for worker in (*self._running, *self._idle):
                worker.end()
        self._report()
        statuses = [self._status[job.cell.key] for job in self._jobs]
        counts = {status: statuses.count(status) for status in dict.fromkeys(statuses)}
        return Outcome(counts, self._ran, time.monotonic() - start)

    # starting

    def _start_jobs(self) -> None:
        while self._waiting and len(self._running) < self._workers:
            job = self._waiting[0]
            if reason := self._not_tried.get(job.cell.group) or self._not_tried.get(job.cell.dataset):
                self._finish(self._waiting.popleft(), Answer(CellResult(job.cell.key, *reason), None))
                continue
            if self._running and (job.alone or any(running.job.alone for running in self._running.values())):
                return
            self._waiting.popleft()
            self._store.note_start(job.cell, self._number)
            if self._idle:
                worker, since = self._idle.pop(), time.monotonic()
            else:
                worker, since = WorkerProcess(self._messages), None
            self._running[worker] = _Running(job, since)
            self._ran += 1
            worker.send(job.cell)

    # ending

    def _receive(self, worker: WorkerProcess, message: Answer | str) -> None:
        if message == READY:
            if worker in self._running:
                self._running[worker].since = time.monotonic()
            return
        running = self._running.pop(worker, None)
        if running is None:  # killed for time or memory, and finished there; or it died while idle
            self._idle = [other for other in self._idle if other is not worker]
            return
        if isinstance(message, Answer):
            answer = _with_output(message, worker) if running.job.cell.code else message
            if running.job.cell.code is None:
                self._idle.append(worker)
            else:  # other fits must not see what code of others leaves behind: settings, leaks, threads
                worker.end()
        else:
            answer = Answer(worker.failure(running.job.cell), None)
            worker.end()
        if answer.result.status == MEMORY and self._retry_alone(running.job):
            return
        if answer.result.status == DONE:
            self._took.setdefault(running.job.cell.group, []).append(running.seconds)
        self._finish(running.job, answer)

    def _retry_alone(self, job: Job) -> bool:
        """Put a job to the end, to run alone, if other cells may have used up the memory; return whether it was."""
        if job.alone or self._workers == 1:
            return False
        self._waiting.append(Job(job.cell, job.time_limit, alone=True))
        return True

    def _finish(self, job: Job, answer: Answer) -> None:
        result = replace(answer.result, run=self._number)
        self._store.add(job.cell, result, answer.data)
        self._status[result.key] = result.status
        self._note_consequences(job, result)
        self._report()

    def _note_consequences(self, job: Job, result: CellResult | None) -> None:
        """Note which cells will not be tried: those of an absent dataset, other seeds if time or memory ran out."""
        if result is None or result.key not in self._status:
            return
        if result.status == ABSENT:
            self._not_tried.setdefault(job.cell.dataset, (ABSENT, result.reason))
        elif result.status in (TIME, MEMORY):
            as_before = f"not tried, as {job.cell.protocol} with seed {job.cell.seed} did not end: {result.reason}"
            self._not_tried.setdefault(job.cell.group, (result.status, as_before))

    # watching

    def _watch_time(self) -> None:
        for worker, running in list(self._running.items()):
            if running.seconds > running.job.time_limit:
                self._end(worker)
                reason = f"stopped after {running.job.time_limit:.0f} s, its time limit"
                self._finish(running.job, Answer(CellResult(running.job.cell.key, TIME, reason), None))

    def _watch_memory(self) -> None:
        """Kill the largest cell before the system runs out of memory and kills any process."""
        if self._memory_limit is not None:
            self._watch_limit(self._memory_limit)
        if not self._running or available_memory() > _RESERVE * physical_memory():
            return
        worker = max(self._running, key=lambda worker: worker.memory())
        taken, running = worker.memory(), self._running[worker]
        self._end(worker)
        if not self._retry_alone(running.job):
            reason = f"needs more than {gib(taken)}; {gib(self._free_at_start)} were free"
            self._finish(running.job, Answer(CellResult(running.job.cell.key, MEMORY, reason), None))

    def _watch_limit(self, limit: float) -> None:
        for worker, running in list(self._running.items()):
            if (taken := worker.memory()) > limit:
                self._end(worker)
                reason = f"stopped at {gib(taken)}, above its memory limit of {gib(limit)}"
                self._finish(running.job, Answer(CellResult(running.job.cell.key, MEMORY, reason), None))

    def _end(self, worker: WorkerProcess) -> None:
        del self._running[worker]
        worker.end()

    # reporting progress

    def _report(self) -> None:
        if self._on_event is not None:
            self._on_event(
                Progress(
                    done=len(self._status),
                    total=len(self._jobs),
                    failed=sum(status != DONE for status in self._status.values()),
                    running=tuple(running.job.in_words() for running in self._running.values()),
                    seconds_left=self._seconds_left(),
                )
            )

    def _seconds_left(self) -> float | None:
        """Estimate the time left from the mean time of a cell's group, or of all groups if none of its group ended."""
        if not self._took:
            return None
        means = {group: sum(took) / len(took) for group, took in self._took.items()}
        usual = sum(means.values()) / len(means)
        waiting = sum(means.get(job.cell.group, usual) for job in self._waiting)
        running = sum(
            max(means.get(running.job.cell.group, usual) - running.seconds, 0.0) for running in self._running.values()
        )
        return (waiting + running) / self._workers
