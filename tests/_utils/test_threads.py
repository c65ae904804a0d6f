from __future__ import annotations

import os
import threading

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from manyview._utils import machine
from manyview._utils.machine import one_thread


def blas():
    return {found["num_threads"] for found in ThreadpoolController().select(user_api="blas").info()}


@pytest.fixture(autouse=True)
def two_threads():
    """BLAS with two machine, whatever the machine has."""
    np.linalg.eigh(np.eye(3))
    with threadpool_limits(2, user_api="blas"):
        if blas() != {2}:
            pytest.skip("this BLAS has one thread, and cannot be told otherwise")
        yield


def test_the_last_one_to_leave_restores_the_limit():
    first_inside, first_may_leave, second_inside, second_may_leave = (threading.Event() for _ in range(4))
    seen = {}

    def stay(name, inside, may_leave):
        with one_thread():
            inside.set()
            may_leave.wait(60)
            seen[name] = blas()

    first = threading.Thread(target=stay, args=("first", first_inside, first_may_leave))
    second = threading.Thread(target=stay, args=("second", second_inside, second_may_leave))
    first.start()
    first_inside.wait(60)
    second.start()
    second_inside.wait(60)
    first_may_leave.set()
    first.join()
    assert blas() == {1}  # the second is still there
    second_may_leave.set()
    second.join()
    assert seen == {"first": {1}, "second": {1}}
    assert blas() == {2}


def test_one_within_the_other_and_errors():
    with one_thread():
        with pytest.raises(KeyboardInterrupt), one_thread():
            raise KeyboardInterrupt
        assert blas() == {1}
    assert blas() == {2}


def test_openmp_is_limited_in_each_thread():
    pytest.importorskip("sklearn.cluster")
    seen = []

    def look():
        with one_thread():
            seen.append({found["num_threads"] for found in ThreadpoolController().info()})

    with one_thread():
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    assert seen == [{1}]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_process_does_not_wait_for_threads_of_its_parent():
    with one_thread(), machine._lock:  # as another thread of the parent may hold it
        child = os.fork()
        if child == 0:
            with one_thread():
                inside = blas()
            os._exit(0 if (inside, blas()) == ({1}, {2}) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
