from __future__ import annotations

import os
import signal
import sys
import threading
import time
from functools import partial
from operator import add, itemgetter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_info, threadpool_limits

from manyview.datasets import make_multiview
from manyview.engines import LocalRows
from manyview.engines.dask import DaskRows, _call, to_dask, transferred_bytes
from manyview.ensemble.columns import DISTANCE, NEAREST
from manyview.ensemble.fit import learn
from manyview.ensemble.members import Lists, Settings
from manyview.exceptions import EngineError, ViewsError
from manyview.graphs import nearest_lists

pytest.importorskip("distributed")
cloudpickle = pytest.importorskip("cloudpickle")
da = pytest.importorskip("dask.array")
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # the workers cannot import it


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    return {"x": rng.normal(size=(23, 4)), "y": rng.integers(0, 9, 23)}


def distribute(client, table, block_rows=5, **options):
    """The columns of a table on the workers."""
    arrays = [to_dask(column, block_rows) for column in table.values()]
    return DaskRows.from_arrays(client, arrays, partial(_named_columns, list(table)), **options)


def _named_columns(names, chunks, first_row):
    return dict(zip(names, chunks, strict=True))


@pytest.fixture
def rows(client, table):
    return distribute(client, table)


def wait_until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


# What every engine does


@pytest.mark.parametrize("block_rows", [2, 5, 100])
def test_all_verbs_do_what_they_do_locally(client, table, block_rows):
    for rows in (LocalRows(table, 1, block_rows), distribute(client, table, block_rows)):
        assert rows.n_rows == 23
        rows.keep("twice", lambda block, factor: factor * block["x"], 2)
        rows.keep("twice", lambda block: block["twice"] + block["y"][:, None])
        rows.extend(lambda block, a: {"a": a + block["y"], "b": block["x"][:, 0]}, 3)
        rows.drop("b")
        np.testing.assert_array_equal(rows.gather("twice"), 2 * table["x"] + table["y"][:, None])
        np.testing.assert_array_equal(rows.gather("a"), table["y"] + 3)
        assert [names for names in rows.map(set) if names != {"x", "y", "twice", "a"}] == []
        np.testing.assert_array_equal(rows.sum(lambda block: block["y"].sum(keepdims=True)), table["y"].sum())
        assert sorted(rows.reduce(lambda block: block["y"].tolist(), add)) == sorted(table["y"].tolist())
        sizes = [min(block_rows, 23 - start) for start in range(0, 23, block_rows)]
        assert rows.map(lambda block: len(block["x"])) == sizes
        sums = [partial(rows.sum, lambda block, power: (block["y"] ** power).sum(), power) for power in range(7)]
        assert rows.run(sums) == [(table["y"] ** power).sum() for power in range(7)]
        assert rows.run([]) == []


def test_tasks_that_keep_at_the_same_time_lose_nothing(rows, table, monkeypatch):
    submit = rows._submit
    monkeypatch.setattr(rows, "_submit", lambda *graph: time.sleep(0.02) or submit(*graph))  # let others come between

    def task(i):
        rows.keep(f"kept {i}", lambda block: i * block["y"])
        return rows.sum(lambda block: block[f"kept {i}"].sum())

    assert rows.run(partial(task, i) for i in range(8)) == [i * table["y"].sum() for i in range(8)]
    for i in range(8):
        np.testing.assert_array_equal(rows.gather(f"kept {i}"), i * table["y"])


def test_arguments_too_large_to_go_with_each_task_are_sent_once(rows, table):
    large = np.arange(200_000.0)
    found = rows.map(lambda block, values: values[block["y"]], large)
    np.testing.assert_array_equal(np.concatenate(found), table["y"])
    assert 1_600_000 < rows.traffic.sent < 1_700_000


def test_large_arguments_are_unpickled_once_on_each_worker(rows):
    class Prepared:
        """What is prepared at first use is still there for the next block."""

        used = 0

        def __init__(self, value):
            self.values = np.full(200_000, value)

    def use(block, prepared):
        prepared.used += 1
        return os.getpid(), prepared.used

    found = rows.map(use, Prepared(1.0))
    workers = {process for process, _ in found}
    for worker in workers:
        own = sorted(used for process, used in found if process == worker)
        assert own == list(range(1, len(own) + 1))
    assert min(used for _, used in rows.map(use, Prepared(2.0))) == 1


def test_traffic_is_counted(client, rows):
    before = transferred_bytes(client)
    rows.map(lambda block, values: values, np.zeros(1000))
    assert rows.traffic.rounds == 1
    assert 5 * 8000 < rows.traffic.sent < 5 * 10_000
    assert 5 * 8000 <= rows.traffic.received < 5 * 9000
    assert 5 * 8000 < transferred_bytes(client) - before < 5 * 20_000


def test_sums_are_combined_by_the_workers(rows):
    assert rows.sum(lambda block: np.ones(1000)).tolist() == [5] * 1000
    assert rows.traffic.received < 10_000


def test_linear_algebra_uses_one_thread_within_tasks():
    def threads(*block):
        return {library["num_threads"] for library in threadpool_info()}

    with threadpool_limits(2):  # here, as the environment of the workers allows them one anyway
        assert _call(threads, (), {}) == {1}
        assert _call(lambda block: (_call(threads, (), {}), threads()), (), {}) == ({1}, {1})
        assert threads() == {2}


def test_a_column_becomes_a_dask_array_that_outlives_the_rows(client, table):
    rows = distribute(client, table)
    rows.keep("twice", lambda block: 2 * block["x"])
    array = rows.array("twice")
    assert array.chunks == ((5, 5, 5, 5, 3), (4,))
    assert array.dtype == float
    rows.close()
    np.testing.assert_array_equal(client.compute(array).result(), 2 * table["x"])


def test_closed_rows_hold_nothing(client, table):
    rows = distribute(client, table)
    rows.sum(lambda block: block["y"].sum())
    blocks = {block.key for block in rows._blocks}
    assert blocks <= set(client.futures)
    rows.close()
    wait_until(lambda: not blocks & set(client.futures))
    with pytest.raises(EngineError, match="closed"):
        rows.map(len)


# The solver


@pytest.fixture(scope="module")
def problem():
    """Columns of 200 rows in three clusters, their lists, and the labels that one thread finds."""
    views = make_multiview(200, 3, n_views=2, noise=0.3, random_state=0)
    columns = {}
    for v, x in enumerate(views.arrays):
        columns[NEAREST.of(v)], columns[DISTANCE.of(v)] = nearest_lists(x, x[:80], 40, n_threads=1)
    lists, settings = Lists(80, (np.inf,) * 2), Settings(n_clusters=3, n_members=6, n_tries=2)
    rows = LocalRows(columns, 1, 64)
    learn(rows, lists, settings)
    return columns, lists, settings, rows.gather("labels"), rows.gather("embedding")


def check_solved(rows, problem, on_consensus=None):
    _, lists, settings, labels, embedding = problem
    learn(rows, lists, settings, on_consensus)
    np.testing.assert_array_equal(rows.gather("labels"), labels)
    np.testing.assert_allclose(rows.gather("embedding"), embedding, atol=1e-6)


def test_the_solver_finds_the_same_labels(client, problem):
    check_solved(distribute(client, problem[0], 64), problem)


# Input


@pytest.mark.parametrize("block_rows", [None, 4])
def test_rows_of_all_arrays_are_cut_in_the_same_places(client, block_rows):
    one, other = np.arange(30).reshape(10, 3), np.arange(10)
    arrays = [da.from_array(one, chunks=(3, 2)), da.from_array(other, chunks=7)]
    rows = DaskRows.from_arrays(client, arrays, lambda chunks, first: {"chunks": chunks, "first": first}, block_rows)
    sizes = [3, 3, 3, 1] if block_rows is None else [4, 4, 2]
    assert rows.map(lambda block: [len(chunk) for chunk in block["chunks"]]) == [[size, size] for size in sizes]
    assert rows.map(itemgetter("first")) == np.cumsum([0, *sizes[:-1]]).tolist()
    np.testing.assert_array_equal(np.concatenate(rows.map(lambda block: block["chunks"][0])), one)
    np.testing.assert_array_equal(np.concatenate(rows.map(lambda block: block["chunks"][1])), other)


def test_arrays_that_the_workers_hold_already_are_used(client):
    array = client.persist(da.from_array(np.arange(10), chunks=3) ** 2)
    rows = DaskRows.from_arrays(client, [array, array], lambda chunks, first: {"x": chunks[0] - chunks[1] + first})
    assert rows.gather("x").tolist() == [0, 0, 0, 3, 3, 3, 6, 6, 6, 9]


def test_unknown_or_unequal_numbers_of_rows_are_refused(client):
    known = da.ones((10, 2), chunks=5)
    make = partial(DaskRows.from_arrays, client, make_block=lambda chunks, first: {}, names=["view a", "view b"])
    with pytest.raises(ViewsError, match=r"view b: .* unknown.*compute_chunk_sizes"):
        make([known, known[known[:, 0] > 0]])
    with pytest.raises(ViewsError, match=r"view b: expected 10 samples, as in view a, got 9"):
        make([known, known[:9]])


def mapped(path, shape=(10, 3), mode="r+"):
    np.save(path, np.arange(np.prod(shape), dtype=np.float32).reshape(shape))
    return np.load(path, mmap_mode=mode)


@pytest.mark.parametrize("part", [slice(None), slice(3, 9)], ids=["whole", "part"])
def test_mapped_files_are_read_by_the_workers(client, tmp_path, part):
    array = mapped(tmp_path / "x.npy")[part]
    found = to_dask(array, 4)
    assert found.chunks == ((4, len(array) - 4) if len(array) == 6 else (4, 4, 2), (3,))
    np.testing.assert_array_equal(client.compute(found).result(), array)
    (tmp_path / "x.npy").unlink()
    with pytest.raises(FileNotFoundError, match=r"x\.npy: a Dask worker cannot find this file.*same path"):
        distribute(client, {"x": array}).map(len)


@pytest.mark.parametrize(
    "make",
    [
        lambda path: mapped(path)[::2],
        lambda path: mapped(path).T,
        lambda path: np.add(mapped(path, mode="c"), 1, out=mapped(path, mode="c")),
        lambda path: mapped(path).astype(int),
        lambda path: mapped(path, (10, 3, 2)),
        lambda path: mapped(path, (10,)),
    ],
    ids=["every other row", "columns", "changed in memory", "copy", "three axes", "one axis"],
)
def test_any_array_keeps_its_values(client, tmp_path, make):
    array = make(tmp_path / "x.npy")
    found = to_dask(array, 4)
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(client.compute(found).result(), array)


def test_sparse_matrices_are_cut_into_rows(client):
    matrix = sp.csc_array(np.arange(60).reshape(10, 6) % 7)
    rows = distribute(client, {"x": matrix}, 4)
    assert rows.map(lambda block: (block["x"].format, block["x"].shape)) == [
        ("csr", (4, 6)),
        ("csr", (4, 6)),
        ("csr", (2, 6)),
    ]
    np.testing.assert_array_equal(rows.sum(lambda block: block["x"].sum(axis=0)), matrix.sum(axis=0))


# Errors


def test_errors_of_a_function_come_through_as_they_are(rows):
    def fail(block):
        raise ViewsError("view 3: this block is wrong")

    with pytest.raises(ViewsError, match=r"^view 3: this block is wrong$"):
        rows.map(fail)
    rows.keep("z", fail)
    with pytest.raises(ViewsError, match=r"^view 3: this block is wrong$"):
        rows.sum(len)


def test_a_missing_column_is_named(rows):
    with pytest.raises(KeyError, match="nothing"):
        rows.gather("nothing")
    rows.drop("nothing")
    with pytest.raises(KeyError, match="nothing"):
        rows.gather("x")


def test_memory_errors_come_with_advice(rows):
    def fail(block):
        raise MemoryError("no 9 GB")

    with pytest.raises(EngineError, match=r"out of memory \(no 9 GB\).*blocks smaller"):
        rows.map(fail)


def test_an_error_in_a_task_stops_the_others_and_threads_end(rows, tmp_path):
    go_on = tmp_path / "go on"

    def fail():
        raise ValueError("task 1 is wrong")

    def wait(block):
        wait_until(go_on.exists)

    before = threading.active_count()
    try:
        with pytest.raises(ValueError, match="task 1"):
            rows.run([fail, lambda: rows.map(wait)])
        assert threading.active_count() == before
    finally:
        go_on.touch()


def test_rows_that_were_cancelled_are_an_error(client, table):
    rows = distribute(client, table)
    client.cancel(rows._blocks)
    with pytest.raises(EngineError, match=r"lost.*fit again"):
        rows.map(len)


def test_a_client_that_does_not_wait_is_refused():
    with pytest.raises(ValueError, match="asynchronous=True"):
        DaskRows(SimpleNamespace(asynchronous=True), [], [])


# Faults


def die_once(block, marker):
    """Kill the process of the worker in mid-task, if nobody has done so before."""
    try:
        Path(marker).touch(exist_ok=False)
    except FileExistsError:
        return block["y"].sum()
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_is_killed_changes_nothing(client, table, problem, tmp_path):
    before = set(client.run(os.getpid).values())
    rows, solved = distribute(client, table), distribute(client, problem[0], 64)
    rows.keep("twice", lambda block: 2 * block["x"])
    assert rows.sum(die_once, str(tmp_path / "dead")) == table["y"].sum()
    np.testing.assert_array_equal(rows.gather("twice"), 2 * table["x"])
    client.wait_for_workers(2, timeout=60)
    assert len(before & set(client.run(os.getpid).values())) == 1
    check_solved(solved, problem)


@pytest.mark.slow
def test_workers_that_are_killed_in_a_fit_and_restarted_change_nothing(local_cluster, problem):
    with local_cluster() as client:
        steps = []

        def kill(_, consensus):
            os.kill(client.run(os.getpid)[min(client.run(os.getpid))], signal.SIGKILL)
            steps.append(consensus)

        check_solved(distribute(client, problem[0], 64), problem, kill)
        assert len(steps) == 3


@pytest.mark.slow
def test_workers_that_are_killed_for_good(separate_cluster, table, problem):
    client, _, workers = separate_cluster(2)

    def kill(*_):
        workers[0].kill()

    check_solved(distribute(client, problem[0], 64), problem, kill)
    assert len(client.scheduler_info()["workers"]) == 1
    rows = distribute(client, table, patience=2)
    assert rows.sum(len) == 10
    workers[1].kill()
    with pytest.raises(EngineError, match=r"Nothing got done for 2 seconds\. The Dask cluster has no workers"):
        rows.sum(len)


@pytest.mark.slow
def test_data_that_nobody_can_compute_again_is_an_error(separate_cluster):
    client, _, workers = separate_cluster(1)
    rows = DaskRows(client, client.scatter([{"y": np.arange(3)}]), [3], patience=2)
    assert rows.sum(len) == 1
    workers[0].kill()
    with pytest.raises(EngineError):
        rows.sum(len)


@pytest.mark.slow
def test_a_scheduler_that_is_killed_is_an_error(separate_cluster, table, tmp_path):
    client, scheduler, _ = separate_cluster(1)
    rows = distribute(client, table, patience=60)
    begun, go_on = tmp_path / "begun", tmp_path / "go on"

    def wait(block):
        begun.touch()
        wait_until(go_on.exists)

    def kill():
        wait_until(begun.exists)
        scheduler.kill()

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(EngineError, match="scheduler"):
        rows.map(wait)
    killer.join()
    go_on.touch()
    for verb in (lambda: rows.map(len), lambda: rows.keep("z", len), lambda: rows.run([int])):
        with pytest.raises(EngineError, match="scheduler"):
            verb()


def test_a_scheduler_that_is_silent_is_an_error(separate_cluster, table):
    client, scheduler, _ = separate_cluster(0)
    rows = distribute(client, table, patience=2)
    scheduler.send_signal(signal.SIGSTOP)
    with pytest.raises(EngineError, match=r"Nothing got done for 2 seconds\. The Dask scheduler does not answer"):
        rows.map(len)
    with pytest.raises(EngineError, match="does not answer"):
        rows.run([int])


@pytest.mark.slow
def test_a_block_that_kills_every_worker_is_named(local_cluster, table):
    dask = pytest.importorskip("dask")
    with dask.config.set({"distributed.scheduler.allowed-failures": 1}), local_cluster(1) as client:
        rows = distribute(client, table, 23)
        with pytest.raises(EngineError, match=r"died.*2 times.*memory.*blocks smaller"):
            rows.map(lambda block: os._exit(1))


@pytest.mark.slow
def test_blocks_that_do_not_fit_into_memory_are_spilled(local_cluster):
    n_blocks, n_values = 40, 3_000_000  # 960 MB
    with local_cluster(1, memory_limit="800MB") as client:
        arrays = [da.ones(n_blocks * n_values, chunks=n_values)]
        rows = DaskRows.from_arrays(client, arrays, lambda chunks, first: {"x": chunks[0] + first})
        for _ in range(2):
            total = rows.sum(lambda block: block["x"].sum())
            assert total == n_blocks * n_values * (1 + n_values * (n_blocks - 1) / 2)
        assert all(client.run(lambda dask_worker: dask_worker.data.spilled_total.disk).values())


@pytest.mark.slow
def test_workers_that_are_full_are_an_error(local_cluster, table):
    dask = pytest.importorskip("dask")

    def fill(dask_worker):
        dask_worker.hoard = np.ones(80_000_000)  # 640 MB that Dask cannot spill: workers pause at 80 %

    status = {"distributed.worker.memory.terminate": False}
    with dask.config.set(status), local_cluster(1, memory_limit="800MB") as client:
        rows = distribute(client, table, patience=2)
        assert rows.sum(len) == 10
        client.run(fill)
        wait_until(lambda: {w["status"] for w in client.scheduler_info()["workers"].values()} == {"paused"})
        with pytest.raises(EngineError, match=r"1 of 1 Dask workers are paused.*memory is full.*blocks smaller"):
            rows.sum(len)
