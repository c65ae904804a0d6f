from __future__ import annotations

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from manyview.engines import LocalRows, RowThreads


@pytest.mark.parametrize("n_rows", [1, 255, 256, 257, 1000])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_blocks_cover_all_rows_in_order(n_rows, n_threads):
    with RowThreads(n_threads) as threads:
        parts = threads.map(lambda rows: np.arange(n_rows)[rows], n_rows)
    np.testing.assert_array_equal(np.concatenate(parts), np.arange(n_rows))


@pytest.mark.parametrize(("n_threads", "here"), [(1, True), (2, False)])
def test_one_thread_is_the_calling_one(n_threads, here):
    with RowThreads(n_threads) as threads:
        used = set(threads.map(lambda rows: threading.get_ident(), 600))
    assert (threading.get_ident() in used) == here


def test_sums_have_the_same_bits_with_any_number_of_threads():
    values = np.random.default_rng(0).normal(size=(3000, 40))
    sums = set()
    for n_threads in (1, 2, 5):
        with RowThreads(n_threads) as threads:
            sums.add(sum(threads.map(lambda rows: float((values[rows].T @ values[rows]).sum()), len(values))))
    assert len(sums) == 1


def test_blas_uses_one_thread_inside_and_is_given_back():
    blas = lambda: [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]  # noqa: E731
    before = blas()
    with RowThreads(2):
        assert set(blas()) <= {1}
    assert blas() == before


def test_errors_come_through_and_threads_end():
    def fail(rows):
        raise ValueError("row 7 is wrong")

    before = threading.active_count()
    with pytest.raises(ValueError, match="row 7"), RowThreads(2) as threads:
        threads.map(fail, 600)
    assert threading.active_count() == before


@pytest.fixture
def table():
    rng = np.random.default_rng(1)
    return {"x": rng.normal(size=(23, 4)), "y": rng.integers(0, 9, 23)}


@pytest.fixture(params=[(1, 1), (5, 1), (5, 3), (22, 2), (23, 2), (8192, None)], ids=str)
def rows(table, request):
    block_rows, n_threads = request.param
    return LocalRows(table, n_threads, block_rows)


def test_rows_are_mapped_block_by_block_in_order(table, rows):
    parts = rows.map(lambda block, factor: factor * block["x"][:, 0] + block["y"], 3.0)
    np.testing.assert_array_equal(np.concatenate(parts), 3.0 * table["x"][:, 0] + table["y"])
    assert rows.n_rows == 23


@pytest.mark.parametrize(("block_rows", "sizes"), [(5, [5, 5, 5, 5, 3]), (23, [23]), (100, [23])])
def test_blocks_have_the_size_asked_for_and_are_no_copies(table, block_rows, sizes):
    rows = LocalRows(table, block_rows=block_rows)
    assert rows.map(lambda block: len(block["x"])) == sizes
    assert all(rows.map(lambda block: np.shares_memory(block["x"], table["x"])))


def test_rows_are_summed(table, rows):
    weights = np.arange(4.0)
    total = rows.sum(lambda block, w: (block["x"] * w).T @ block["x"], weights)
    np.testing.assert_allclose(total, (table["x"] * weights).T @ table["x"], rtol=1e-12, atol=1e-12)


def test_a_sum_changes_nothing_that_was_kept(table, rows):
    rows.keep("ones", lambda block: np.ones(2))
    first, second = (rows.sum(lambda block: block["ones"]) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert all(rows.map(lambda block: (block["ones"] == 1).all()))


def test_what_is_kept_can_be_used_replaced_and_gathered(table, rows):
    rows.keep("twice", lambda block, factor: factor * block["x"], 2)
    np.testing.assert_array_equal(rows.gather("twice"), 2 * table["x"])
    rows.keep("twice", lambda block: block["twice"] + block["y"][:, None])
    np.testing.assert_array_equal(rows.gather("twice"), 2 * table["x"] + table["y"][:, None])
    np.testing.assert_array_equal(rows.gather("y"), table["y"])
    assert set(table) == {"x", "y"}


def test_what_is_dropped_is_gone(table, rows):
    rows.keep("twice", lambda block: 2 * block["x"])
    rows.drop("twice")
    assert all(rows.map(lambda block: set(block) == {"x", "y"}))
    with pytest.raises(KeyError, match="twice"):
        rows.gather("twice")


def test_tasks_return_in_their_order(table, rows):
    def task(power):
        return lambda: rows.sum(lambda block: (block["y"] ** power).sum())

    assert rows.run(task(power) for power in range(20)) == [(table["y"] ** power).sum() for power in range(20)]
    assert rows.run([]) == []


def test_a_task_that_waits_for_a_later_one_still_comes_first(table):
    done = threading.Event()

    def second():
        done.set()
        return "second"

    tasks = [lambda: done.wait(60) and "first", second]
    assert LocalRows(table, n_threads=2).run(tasks) == ["first", "second"]


def test_an_error_in_a_task_comes_through_and_threads_end(table, rows):
    def fail():
        raise ValueError("task 3 is wrong")

    before = threading.active_count()
    with pytest.raises(ValueError, match="task 3"):
        rows.run([lambda: 1, lambda: 2, fail, lambda: 4])
    assert threading.active_count() == before


def test_sums_in_tasks_have_the_same_bits_with_any_number_of_threads():
    values = {"x": np.random.default_rng(2).normal(size=(1000, 30))}
    found = []
    for n_threads in (1, 2, 5):
        rows = LocalRows(values, n_threads, block_rows=64)
        found.append(rows.run([lambda rows=rows: rows.sum(lambda block: block["x"].T @ block["x"])] * 6))
    for sums in found:
        for total in sums:
            np.testing.assert_array_equal(total, found[0][0])


def test_several_columns_are_kept_at_once(table, rows):
    rows.extend(lambda block, factor: {"a": factor * block["y"], "b": block["x"][:, 0]}, 3)
    np.testing.assert_array_equal(rows.gather("a"), 3 * table["y"])
    np.testing.assert_array_equal(rows.gather("b"), table["x"][:, 0])


def test_results_are_combined_in_the_order_of_the_rows(table, rows):
    found = rows.reduce(lambda block: block["y"].tolist(), lambda one, other: one + other)
    assert found == table["y"].tolist()


def test_blocks_are_gone_through_in_threads_but_one_by_one_within_a_task(table):
    rows = LocalRows(table, n_threads=2, block_rows=5)
    here = threading.get_ident()
    assert here not in set(rows.map(lambda block: threading.get_ident()))
    ((*idents, own),) = rows.run([lambda: [*rows.map(lambda block: threading.get_ident()), threading.get_ident()]])
    assert set(idents) == {own}


def test_errors_of_a_block_come_through(table):
    def fail(block):
        raise ValueError("this block is wrong")

    with pytest.raises(ValueError, match="this block"):
        LocalRows(table, n_threads=2, block_rows=5).map(fail)
