from __future__ import annotations

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from manyview.engines import RowThreads


@pytest.mark.parametrize("n_rows", [1, 255, 256, 257, 1000])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_blocks_cover_all_rows_in_order(n_rows, n_threads):
    with RowThreads(n_threads) as threads:
        parts = threads.map(lambda rows: np.arange(n_rows)[rows], n_rows)
    np.testing.assert_array_equal(np.concatenate(parts), np.arange(n_rows))


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
