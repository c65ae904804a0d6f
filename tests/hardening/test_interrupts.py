"""Ctrl-C and SIGTERM at any moment: the process ends soon, files are whole or absent, and nothing is left running.

``MANYVIEW_SIGNALS`` is how many signals each slow test sends.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time

import pandas
import pytest

import manyview
from manyview.datasets import make_multiview
from manyview.experiments import Store

MANY = int(os.environ.get("MANYVIEW_SIGNALS", "50"))
LIMIT = 60  # seconds to end in, on a machine that does other things as well
ANSWER = {"result.json", "labels.csv", "graph.npz", "markers.csv", "report.html"}
SPEC = """
kind = "table"
title = "to be stopped"
methods = ["MVSC", "LMVSC"]
protocols = ["file-order", "shuffled"]
seeds = 200
scores = ["acc"]

[[dataset]]
name = "blobs"
[dataset.generate]
n_samples = 90
n_clusters = 3
random_state = 0
"""
# A thread sends the signals to its own process, as a terminal does. They may hit anything between the first line of a
# fit and the last.
FITS = """
import os, random, signal, sys, threading, time, warnings
import numpy as np
from threadpoolctl import threadpool_info
from manyview import GraphEnsemble, TBGL
from manyview.datasets import make_multiview

views = make_multiview(200, n_clusters=3, noise=0.4, random_state=0)
models = [GraphEnsemble(3, n_members=8, n_jobs=2, random_state=0), TBGL(3, n_jobs=2, random_state=0, max_iter=20)]
state = lambda: (sorted((at["filepath"], at["num_threads"]) for at in threadpool_info()), list(warnings.filters))
warnings.simplefilter("ignore")
expected, seconds = [], []
for model in models:
    model.fit(views)  # compiles
    start = time.perf_counter()
    expected.append(model.fit(views).labels_)
    seconds.append(time.perf_counter() - start)
before, draw, stopped = state(), random.Random(int(sys.argv[2])), 0
for i in range(int(sys.argv[1])):
    which = i % 2
    moment = draw.uniform(0, seconds[which])
    try:
        timer = threading.Timer(moment, os.kill, [os.getpid(), signal.SIGINT])
        timer.start()
        models[which].fit(views)
        timer.join()
        time.sleep(0.01)
    except KeyboardInterrupt:
        stopped += 1
    timer.join()
    assert state() == before, (i, moment, before, state())
for model, labels in zip(models, expected):
    np.testing.assert_array_equal(model.fit(views).labels_, labels)
assert threading.active_count() == 1, threading.enumerate()
print("stopped", stopped)
"""


# Signals at one place, and more of them while what is there is tidied up.
STOP_AT = """
import os, pkgutil, signal
owner, _, name = "{name}".rpartition(".")
def stop(*args, **options):
    os.kill(os.getpid(), signal.SIGTERM)
    raise SystemExit("was not heard")
setattr(pkgutil.resolve_name(owner), name, stop)
unlink = os.unlink
def disturbed(*args, **options):
    os.kill(os.getpid(), signal.SIGINT)
    unlink(*args, **options)
os.unlink = disturbed
from manyview.cli import main
main()
"""


@pytest.fixture
def place(tmp_path):
    """A folder with two tables and a spec, and an empty one for temporary files."""
    views = make_multiview(150, n_clusters=3, noise=0.4, random_state=0)
    for name, array in zip("ab", views.arrays, strict=False):
        pandas.DataFrame(array).add_prefix("x").to_csv(tmp_path / f"{name}.csv", index=False)
    (tmp_path / "spec.toml").write_text(SPEC, encoding="utf-8")
    (tmp_path / "temporary").mkdir()
    return tmp_path


def environment(**more):
    return {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(manyview.__file__)), **more}


def start(place, words):
    return subprocess.Popen(
        [sys.executable, "-m", "manyview", *words],
        cwd=place,
        env=environment(TMPDIR=str(place / "temporary")),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def of_session(number):
    """Processes of a session that are not dead."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                status, _, _, session = file.read().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(session) == number and status != "Z":
            found.append(int(pid))
    return found


def stop(place, words, moment, signals, whole_group=False):
    """Run a command, send the signals from ``moment`` on; return how it ended and what it said."""
    process = start(place, words)
    try:
        process.wait(moment)
    except subprocess.TimeoutExpired:
        for number in signals:
            (os.killpg if whole_group else os.kill)(process.pid, number)
            time.sleep(0.02)
    try:
        printed, said = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        pytest.fail(f"{words} was still there {LIMIT} s after {signals} at {moment:.3f} s")
    give_up = time.monotonic() + LIMIT
    while of_session(process.pid):
        assert time.monotonic() < give_up, f"processes are left of {words}"
        time.sleep(0.02)
    return process.returncode, printed, said


def check_end(place, code, said, signals, context):
    # Before our own code has begun, the system or Python ends the process. Of two signals that come during one call
    # into compiled code, Python handles first the one with the lower number, whichever was sent first.
    assert code in {0, *(-number for number in signals), *(128 + number for number in signals)}, (context, code, said)
    if code >= 0:
        assert "Traceback" not in said, (context, said)
        assert "internal error" not in said, (context, said)
    left = [name for _, _, names in os.walk(place) for name in names if name.endswith(".part")]
    assert left == [], context
    assert os.listdir(place / "temporary") == [], context


def check_answer(folder, names, context):
    if folder.exists():
        assert set(os.listdir(folder)) == names, context
        for name in names:
            if name.endswith(".json"):
                json.loads((folder / name).read_text(encoding="utf-8"))
            elif name.endswith(".html"):
                assert (folder / name).read_text(encoding="utf-8").rstrip().endswith("</html>")


def signals_of(draw):
    first, second = draw.choice([signal.SIGINT, signal.SIGTERM]), draw.choice([signal.SIGINT, signal.SIGTERM])
    return (first, second) if draw.random() < 0.5 else (first,)


def stop_often(place, words, names, times, until=None, finished=lambda i: None):
    draw, codes = random.Random(0), []
    begin = time.monotonic()
    if until is None:
        stop(place, words, LIMIT, ())
        until = time.monotonic() - begin
    for i in range(times):
        folder = place / f"out{i}"
        moment, signals, group = draw.uniform(0, until), signals_of(draw), draw.random() < 0.5
        context = (i, moment, signals, group)
        code, _, said = stop(place, [*words, "--out", str(folder)] if names else words, moment, signals, group)
        check_end(place, code, said, signals, context)
        check_answer(folder, names, context)
        codes.append(code)
        if code == 0:
            finished(i)
    print({code: codes.count(code) for code in sorted(set(codes))})
    return codes


@pytest.mark.parametrize(
    ("where", "text"),
    [
        ("manyview.cluster.GraphEnsemble._fit", "stopped; nothing was written"),
        ("numpy.savez", "stopped."),
    ],
)
def test_sigterm_ends_a_command_like_ctrl_c(place, where, text):
    options = {"cwd": place, "env": environment(TMPDIR=str(place / "temporary")), "capture_output": True, "text": True}
    words = ["cluster", "a.csv", "b.csv", "-k", "3", "--set", "n_members=8", "--no-report", "--out", "out"]
    done = subprocess.run([sys.executable, "-c", STOP_AT.format(name=where), *words], timeout=200, **options)
    assert (done.returncode, done.stdout) == (143, "")
    assert done.stderr.splitlines()[-1] == f"manyview: {text}"
    check_end(place, done.returncode, done.stderr, [signal.SIGTERM], where)
    assert not (place / "out").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals of POSIX")
def test_a_fit_after_ctrl_c_is_as_before():
    done = subprocess.run(
        [sys.executable, "-c", FITS, "6", "0"], env=environment(), capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[1]) > 0


@pytest.mark.slow
def test_fits_after_ctrl_c_at_any_moment():
    done = subprocess.run(
        [sys.executable, "-c", FITS, str(2 * MANY), "1"],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=3600,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[1]) > MANY // 2


@pytest.mark.slow
def test_cluster_stopped_at_any_moment(place):
    codes = stop_often(place, ["cluster", "a.csv", "b.csv", "-k", "3"], ANSWER, MANY)
    assert {130, 143} <= set(codes)


@pytest.mark.slow
def test_compare_stopped_at_any_moment(place):
    words = ["compare", "a.csv", "b.csv", "-k", "3", "--methods", "MVSC,LMVSC,TBGL", "--workers", "2"]
    names = {"comparison.json", "comparison.csv", "labels.csv", "report.html"}
    codes = stop_often(place, words, names, max(MANY // 3, 4))
    assert {130, 143} & set(codes)


@pytest.mark.slow
def test_experiments_stopped_at_any_moment(place):
    words = ["experiments", "run", "spec.toml", "--store", "kept.sqlite", "--workers", "2"]

    def begin_again(i):  # one that was stopped goes on, one that is finished has nothing left to stop
        (place / "kept.sqlite").rename(place / f"finished{i}.sqlite")

    codes = stop_often(place, words, (), max(MANY // 3, 4), until=20, finished=begin_again)
    assert {130, 143} & set(codes)
    for path in place.glob("*.sqlite"):
        with Store(path) as store:
            status = store._connection.execute("SELECT status, reason, count(*) FROM cells GROUP BY status").fetchall()
        assert [row[0] for row in status] in ([], ["done"]), status  # a cell that was stopped has not failed
