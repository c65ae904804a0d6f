"""Fits at the same time: threads, processes of every kind, one within the other. A deadlock is a failure, not a wait.

Each case is a program of its own: a child that hangs can be ended, and one that was forked gets what the parent has
used before, BLAS, OpenMP and compiled kernels.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import manyview

LIMIT = 240  # seconds; on a free machine each takes a few
BEGIN = """
import faulthandler, multiprocessing, sys, threading, warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
import numpy as np
from threadpoolctl import threadpool_info
import manyview
from manyview.cluster import available_methods
from manyview.datasets import make_multiview

faulthandler.dump_traceback_later(200, exit=True)
warnings.simplefilter("ignore")
METHODS = {method.name: method.estimator for method in available_methods()}

def fit(name, n_jobs=None):
    views = make_multiview(300, n_clusters=3, noise=0.6, random_state=0)
    few = {"n_members": 8} if name == "GraphEnsemble" else {}
    model = METHODS[name](3, random_state=0, **few)
    if "n_jobs" in model.get_params():
        model.set_params(n_jobs=n_jobs)
    return model.fit(views).labels_.tolist()

def limits():
    return sorted((found["filepath"], found["num_threads"]) for found in threadpool_info())

def use_everything():
    a = np.random.rand(400, 400)
    np.linalg.eigh(a @ a.T)
    from sklearn.cluster import KMeans
    KMeans(3, n_init=1).fit(np.random.rand(5000, 3))

def queue_labels(answers, name, n_jobs):
    answers.put(fit(name, n_jobs))

if __name__ == "__main__":
    NAMES = sys.argv[1].split(",")
    use_everything()
    ALONE = {name: fit(name) for name in NAMES}
    JOBS = [name for name in NAMES for _ in range(3)]
    EXPECTED = [ALONE[name] for name in JOBS]
    before = limits()
"""
END = """
    assert found == EXPECTED, "other labels than of a fit alone"
    assert limits() == before, ("thread limits", before, limits())
    print("done")
"""
CASES = {
    "threads": """
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(fit, JOBS))
    """,
    "threads with threads": """
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda name: fit(name, 3), JOBS))
    """,
    "fork": """
    with multiprocessing.get_context("fork").Pool(2) as pool:
        found = pool.map(fit, JOBS)
    """,
    "fork while threads fit": """
    with ThreadPoolExecutor(2) as threads:
        beside = [threads.submit(fit, name) for name in JOBS]
        with ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as pool:
            found = list(pool.map(fit, JOBS))
        assert [one.result() for one in beside] == EXPECTED
    """,
    "spawn": """
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        found = pool.map(fit, JOBS)
    """,
    "forkserver": """
    with multiprocessing.get_context("forkserver").Pool(2) as pool:
        found = pool.map(fit, JOBS)
    """,
    "loky, with threads in each": """
    import joblib
    found = joblib.Parallel(2)(joblib.delayed(fit)(name, 2) for name in JOBS)
    """,
    "joblib threads": """
    import joblib
    found = joblib.Parallel(3, backend="threading")(joblib.delayed(fit)(name, 2) for name in JOBS)
    """,
    "a daemonic process, with threads": """
    context, found = multiprocessing.get_context("fork"), []
    for name in JOBS:
        answers = context.SimpleQueue()
        process = context.Process(target=queue_labels, args=(answers, name, 2), daemon=True)
        process.start()
        found.append(answers.get())
        process.join()
    """,
    "all at once": """
    import joblib
    with ThreadPoolExecutor(2) as threads:
        beside = [threads.submit(fit, name, 2) for name in JOBS]
        spawned = [multiprocessing.get_context(kind).Pool(1) for kind in ("fork", "spawn")]
        waiting = [pool.map_async(fit, JOBS) for pool in spawned]
        found = joblib.Parallel(2)(joblib.delayed(fit)(name) for name in JOBS)
        assert [one.get() for one in waiting] == [EXPECTED] * 2
        assert [one.result() for one in beside] == EXPECTED
        for pool in spawned:
            pool.terminate()
    """,
    "Dask threads": """
    import dask
    found = list(dask.compute(*[dask.delayed(fit)(name, 2) for name in JOBS], scheduler="threads", num_workers=3))
    """,
}
QUICK = ("threads with threads", "fork")
OTHERS = "TBGL,LMVSC,MVSC,SFMC,RDEKM,SMSC,AMGL"


def run(tmp_path, case, names):
    program = tmp_path / "program.py"  # spawn and loky import it again
    program.write_text(BEGIN + CASES[case].rstrip(" ") + END, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(manyview.__file__))}
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        environment.pop(name, None)  # with one thread there is nothing to go wrong
    done = subprocess.run(
        [sys.executable, program, names], env=environment, capture_output=True, text=True, timeout=LIMIT
    )
    assert (done.stdout, done.returncode) == ("done\n", 0), done.stderr


@pytest.mark.parametrize("case", QUICK)
def test_fits_beside_each_other(tmp_path, case):
    run(tmp_path, case, "GraphEnsemble")


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_methods_beside_each_other(tmp_path, case):
    if case == "Dask threads":
        pytest.importorskip("dask", reason="needs Dask: pip install 'manyview[dask]'")
    run(tmp_path, case, f"GraphEnsemble,{OTHERS}")
