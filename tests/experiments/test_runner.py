"""How cells are started, watched, finished and reported: with fake workers that do not fit."""

from __future__ import annotations

import numpy as np
import pytest

from manyview.experiments import runner
from manyview.experiments._model import (
    ABSENT,
    DONE,
    FAILED,
    MEMORY,
    TIME,
    Cell,
    CellResult,
    DatasetFacts,
    Entry,
    Part,
    Spec,
)
from manyview.experiments._process import ENDED, READY, Answer
from manyview.experiments.runner import run
from manyview.experiments.store import Store

FACTS = DatasetFacts("d", "f", 2, (("a", 1),), np.array([0, 1]), True)
HANG, DIE = "hang", "die"


def cells(*seeds, estimator="A", dataset="d", **more):
    return [Cell(dataset, {}, estimator, seed=seed, **more) for seed in seeds]


def make_spec(*parts, **more):
    """Parts from lists of cells."""
    made = [
        Part(str(i), "table", "", "", (), {}, tuple(Entry(str(i), c.dataset, "row", c) for c in some), **more)
        for i, some in enumerate(parts)
    ]
    return Spec("s", "", tuple(made))


def done(cell):
    return Answer(CellResult(cell.key, DONE, labels=np.array([0, cell.seed]), seconds=1.0, peak_bytes=7), FACTS)


def ended(status, reason="for a reason"):
    return lambda cell: Answer(CellResult(cell.key, status, reason), None)


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "results.db", create=True) as store:
        yield store


@pytest.fixture
def office(monkeypatch):
    """Workers whose doings are decided by ``office.does(cell)``; it knows who worked beside whom."""

    class Office:
        does = staticmethod(done)
        sent: list[Cell]
        most_at_once = 0

        def __init__(self):
            self.sent, self.busy, self.beside, self.alive = [], {}, {}, 0

    office = Office()

    class Worker:
        def __init__(self, messages):
            self.messages = messages
            office.alive += 1
            messages.put((self, READY))

        def send(self, cell):
            office.sent.append(cell)
            office.busy[self] = cell
            for other in office.busy.values():
                office.beside.setdefault(other.key, set()).update(c.key for c in office.busy.values())
            office.most_at_once = max(office.most_at_once, len(office.busy))
            does = office.does(cell)
            if does == DIE:
                self.messages.put((self, ENDED))
            elif does != HANG:
                self.messages.put((self, does))

        def memory(self):
            return 3 * 2**30 + office.busy[self].seed

        def failure(self, cell):
            return CellResult(cell.key, FAILED, "died")

        def end(self):
            office.alive -= 1
            office.busy.pop(self, None)

    monkeypatch.setattr(runner, "WorkerProcess", Worker)
    monkeypatch.setattr(runner, "_CHECK_INTERVAL", 0.01)
    original = runner._Run._receive

    def take(self, worker, message):
        if message != READY:
            office.busy.pop(worker, None)
        original(self, worker, message)

    monkeypatch.setattr(runner._Run, "_receive", take)
    return office


def statuses(store, spec):
    return [store.results([cell.key])[cell.key].status for cell in spec.cells]


def test_every_cell_once_whatever_parts_need_it(store, office):
    spec = make_spec(cells(0, 1, 2), cells(1, 2, 3))
    outcome = run(spec, store, workers=2)
    assert outcome.counts == {DONE: 4}
    assert outcome.ran == 4
    assert sorted(cell.seed for cell in office.sent) == [0, 1, 2, 3]
    assert office.most_at_once == 2
    assert office.alive == 0
    found = store.results(cell.key for cell in spec.cells)
    assert [found[cell.key].labels[1] for cell in spec.cells] == [0, 1, 2, 3]
    assert {result.run for result in found.values()} == {1}
    assert store.runs()[0]["workers"] == 2


def test_what_is_there_is_not_run_again(store, office):
    run(make_spec(cells(0, 1)), store)
    office.sent.clear()
    outcome = run(make_spec(cells(0, 1, 2)), store)
    assert [cell.seed for cell in office.sent] == [2]
    assert (outcome.counts, outcome.ran) == ({DONE: 3}, 1)
    assert run(make_spec(cells(0, 1, 2)), store).ran == 0


def test_a_failure_is_written_and_the_rest_goes_on(store, office):
    office.does = lambda cell: ended(FAILED)(cell) if cell.seed == 1 else DIE if cell.seed == 2 else done(cell)
    spec = make_spec(cells(0, 1, 2, 3))
    assert run(spec, store, workers=1).counts == {DONE: 2, FAILED: 2}
    found = store.results(cell.key for cell in spec.cells)
    assert [found[cell.key].reason for cell in spec.cells] == ["", "for a reason", "died", ""]
    assert run(spec, store).ran == 0
    office.does = done
    assert run(spec, store, retry=True).counts == {DONE: 4}


def test_a_dataset_that_is_not_there_is_looked_for_once_a_run(store, office):
    office.does = lambda cell: ended(ABSENT)(cell) if cell.dataset == "gone" else done(cell)
    spec = make_spec(cells(0, 1, 2, dataset="gone") + cells(0), cells(5, estimator="B", dataset="gone"))
    assert run(spec, store, workers=1).counts == {ABSENT: 4, DONE: 1}
    assert sum(cell.dataset == "gone" for cell in office.sent) == 1
    office.does = done
    outcome = run(spec, store)
    assert (outcome.counts, outcome.ran) == ({DONE: 5}, 4)


@pytest.mark.parametrize("limit", ["of the part", "of the caller"])
def test_time_limit(store, office, limit):
    office.does = lambda cell: HANG if cell.estimator == "slow" else done(cell)
    slow = cells(0, 1, estimator="slow")
    spec = make_spec(slow + cells(0), time_limit=0.05 if limit == "of the part" else 1000)
    outcome = run(spec, store, workers=1, time_limit=None if limit == "of the part" else 0.05)
    assert outcome.counts == {TIME: 2, DONE: 1}
    first, second = (store.results([cell.key])[cell.key].reason for cell in slow)
    assert first == "stopped after 0 s, its time limit"
    assert second == f"not tried, as file-order with seed 0 did not end: {first}"
    assert office.alive == 0
    office.sent.clear()
    more = make_spec(cells(0, 1, 2, estimator="slow"), time_limit=0.05)
    assert run(more, store).ran == 0  # what was learned in an earlier run still holds
    assert statuses(store, more) == [TIME] * 3


def test_the_longest_limit_of_the_parts_of_a_cell_counts(store, office):
    a, b = make_spec(cells(0), time_limit=5.0).parts[0], make_spec(cells(0)).parts[0]
    (job,) = runner._jobs(Spec("s", "", (a, b)), None)
    assert job.time_limit == runner.TIME_LIMIT
    (job,) = runner._jobs(Spec("s", "", (a, b)), 3.0)
    assert job.time_limit == 3.0


def test_too_little_memory_beside_others_is_tried_again_alone(store, office):
    needy = cells(7, estimator="needy")[0]
    tries = []

    def does(cell):
        if cell.estimator != "needy":
            return done(cell)
        tries.append(cell)
        return ended(MEMORY, "needs 38 GiB")(cell) if len(tries) == 1 else done(cell)

    office.does = does
    spec = make_spec([needy, *cells(*range(6)), *cells(9, estimator="needy")])
    assert run(spec, store, workers=2).counts == {DONE: 8}
    assert office.sent[-1] == needy
    assert len(tries) == 3


def test_too_little_memory_alone_is_settled(store, office):
    office.does = lambda cell: ended(MEMORY, "needs 38 GiB")(cell) if cell.estimator == "needy" else done(cell)
    spec = make_spec([*cells(0, 1, estimator="needy"), *cells(2)])
    assert run(spec, store, workers=2).counts == {MEMORY: 2, DONE: 1}
    reasons = [store.results([cell.key])[cell.key].reason for cell in spec.cells[:2]]
    assert sorted(reasons) == ["needs 38 GiB", "not tried, as file-order with seed 0 did not end: needs 38 GiB"]


def test_the_largest_is_ended_before_the_memory_is_full(store, office, monkeypatch):
    free = [100]
    monkeypatch.setattr(runner, "available_memory", lambda: free[0])
    monkeypatch.setattr(runner, "physical_memory", lambda: 1000)
    tries = []

    def does(cell):
        if cell.estimator != "needy":
            return HANG if free[0] < 50 and cell.seed == 1 else done(cell)
        tries.append(cell)
        free[0] = 10
        return HANG

    office.does = does
    monkeypatch.setattr(
        runner._Run, "_end", lambda self, worker, end=runner._Run._end: (end(self, worker), free.__setitem__(0, 100))
    )
    spec = make_spec([*cells(0), *cells(5, estimator="needy")])
    assert run(spec, store, workers=2).counts == {DONE: 1, MEMORY: 1}
    assert len(tries) == 2  # beside another, and alone
    assert store.results([tries[0].key])[tries[0].key].reason == "needs more than 3.0 GiB; 1 MiB were free"


def test_cells_that_want_quiet_get_it(store, office):
    quiet = make_spec(cells(0, 1, estimator="timed"), alone=True).parts[0]
    others = make_spec(cells(*range(6))).parts[0]
    run(Spec("s", "", (others, quiet)), store, workers=2)
    for cell in cells(0, 1, estimator="timed"):
        assert office.beside[cell.key] == {cell.key}
    assert office.most_at_once == 2


def test_progress(store, office):
    reports = []
    spec = make_spec(cells(0, 1, 2) + cells(3, estimator="B"))
    office.does = lambda cell: ended(FAILED)(cell) if cell.seed == 3 else done(cell)
    run(spec, store, workers=1, on_event=reports.append)
    assert (reports[0].done, reports[0].total, reports[0].seconds_left) == (0, 4, None)
    assert reports[0].running == ("A on d, file-order, seed 0",)
    assert [report.done for report in reports] == sorted(report.done for report in reports)
    assert (reports[-1].done, reports[-1].failed, reports[-1].running) == (4, 1, ())
    assert reports[-1].seconds_left == 0


def test_time_left_follows_from_the_same_method_on_the_same_data(store):
    jobs = runner._jobs(make_spec(cells(0, 1, 2) + cells(0, 1, estimator="B")), None)
    state = runner._Run(jobs, {}, store, 2, False, None)
    assert state._seconds_left() is None
    state._took = {jobs[0].cell.group: [2.0, 4.0]}
    assert state._seconds_left() == 5 * 3.0 / 2  # nothing is known of B: like the rest
    state._took[next(job for job in jobs if job.cell.estimator == "B").cell.group] = [10.0]
    assert state._seconds_left() == (3 * 3.0 + 2 * 10.0) / 2


def test_an_interrupt_ends_the_workers_and_keeps_what_is_done(store, office):
    spec = make_spec(cells(*range(4)))

    def interrupt(progress):
        if progress.done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(spec, store, workers=1, on_event=interrupt)
    assert office.alive == 0
    assert len(store.results(cell.key for cell in spec.cells)) == 2
    assert run(spec, store).counts == {DONE: 4}


@pytest.mark.parametrize(("name", "value"), [("workers", 0), ("time_limit", 0.0), ("time_limit", float("nan"))])
def test_bad_settings(store, name, value):
    with pytest.raises(ValueError, match=f"{name}: expected .*, got {value}"):
        run(make_spec(cells(0)), store, **{name: value})
    assert store.runs() == []
