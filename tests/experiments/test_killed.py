"""A run that is killed again and again finds what an undisturbed run finds, and does nothing twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pytest

from manyview.experiments import Store, load_spec, run

SPEC = """
kind = "table"
title = "to be killed"
methods = ["MVSC", "LMVSC"]
protocols = ["file-order", "shuffled"]
seeds = 4
scores = ["acc"]

[[dataset]]
name = "blobs"
[dataset.generate]
n_samples = 90
n_clusters = 3
noise = 0.5
sorted = true
random_state = 0
"""
RUN = """
import sys
from manyview.experiments import Store, load_spec, run
with Store(sys.argv[2], create=True) as store:
    run(load_spec(sys.argv[1]), store, workers=2)
"""


@pytest.fixture
def spec_file(tmp_path):
    path = tmp_path / "killed.toml"
    path.write_text(SPEC, encoding="utf-8")
    return path


def start(spec_file, store_file):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen([sys.executable, "-c", RUN, spec_file, store_file], env=environment)


def wait_for(process, condition):
    """Look until it holds; a process that ends before, or takes minutes, is a failure."""
    give_up = time.monotonic() + 120
    while not condition():
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < give_up
        time.sleep(0.01)


def n_events(store_file, table):
    if not store_file.exists():
        return 0
    with Store(store_file, create=True) as store:
        return store._connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


def children(process):
    with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
        return [int(child) for child in file.read().split()]


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="children of a process are looked up in /proc")
def test_killed_at_any_moment(tmp_path, spec_file):
    spec, killed_file = load_spec(spec_file), tmp_path / "killed.db"
    # before anything is done; after a start; after an end, with the next cell under way
    kills = (("runs", 1), ("starts", 1), ("cells", 2))
    for table, more in kills:
        aim = n_events(killed_file, table) + more
        process = start(spec_file, killed_file)
        wait_for(process, lambda table=table, aim=aim: n_events(killed_file, table) >= aim)
        workers = children(process)
        process.send_signal(signal.SIGKILL)
        process.wait()
        give_up = time.monotonic() + 60
        while any(map(is_alive, workers)):  # they must not go on without their runner
            assert time.monotonic() < give_up
            time.sleep(0.01)
    assert 2 <= n_events(killed_file, "cells") < len(spec.cells), "killed too late to show anything"

    with Store(killed_file, create=True) as store, Store(tmp_path / "whole.db", create=True) as whole:
        before = set(store.results(cell.key for cell in spec.cells))
        ran = run(spec, store, workers=2).ran
        undisturbed = run(spec, whole, workers=2)
        found, expected = (some.results(cell.key for cell in spec.cells) for some in (store, whole))
        assert undisturbed.ran == len(spec.cells) == len(expected)
        assert found.keys() == expected.keys()
        for key, result in expected.items():
            assert (found[key].status, found[key].reason) == (result.status, result.reason)
            np.testing.assert_array_equal(found[key].labels, result.labels)
        # what had ended was left alone, and of each kill at most the two cells under way were begun again
        assert ran == len(spec.cells) - len(before)
        last_run = max(number for _, number, _ in store.starts())
        assert not before & {key for key, number, _ in store.starts() if number == last_run}
        starts = Counter(key for key, _, _ in store.starts())
        assert sum(starts.values()) <= len(spec.cells) + 2 * len(kills)
        assert store.datasets()["blobs"].fingerprint == whole.datasets()["blobs"].fingerprint
