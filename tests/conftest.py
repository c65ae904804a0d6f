"""Fixtures that test folders share: reference results, benchmark files, Dask clusters on this machine.

No folder outside the repository is looked into unless an environment variable names it.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import settings
from scipy.io import savemat

from manyview.datasets import dataset_info

# No deadline: the first call of a kernel compiles it. The same examples every time in CI, new ones elsewhere.
settings.register_profile("manyview", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("manyview")

ROOT = Path(__file__).resolve().parents[1]
_WEB = "127.0.0.1:0"
_NO_DASK = "needs Dask and distributed: pip install 'manyview[dask]'"


def _find(variable: str, name: str, what: str) -> Path:
    """Return the path of a file below the folder that an environment variable names, or skip the test."""
    folder = os.environ.get(variable)
    if not folder:
        pytest.skip(f"needs {what} {name}: set {variable} to the folder that has it")
    path = Path(folder, name)
    if not path.is_file():
        pytest.skip(f"needs {what} {name}, which is not in {variable}={folder}")
    return path


@pytest.fixture(scope="session")
def oracle() -> Callable[[str], Mapping[str, np.ndarray]]:
    """Results of the original authors' programs: ``oracle("helpers")["out_cm"]``.

    ``oracle(name)`` returns what ``np.load`` returns for ``<name>.npz``. Those of the building blocks are in
    ``tests/reference``, the others in ``npz`` below the folder in the environment variable ``MANYVIEW_ORACLES``.
    The test is skipped where the variable is not set or the file is absent.
    """

    def load(name: str) -> Mapping[str, np.ndarray]:
        path = ROOT / "tests" / "reference" / f"{name}.npz"
        if not path.is_file():
            path = _find("MANYVIEW_ORACLES", f"npz/{name}.npz", "reference results")
        return np.load(path, allow_pickle=False)

    return load


@pytest.fixture(scope="session")
def data_file() -> Callable[[str], Path]:
    """Benchmark files: ``data_file("MSRC-v5.mat")`` is the path of that file.

    Looked for in the folder in the environment variable ``MANYVIEW_DATA``. The test is skipped where the variable is
    not set or the file is absent.
    """
    return lambda name: _find("MANYVIEW_DATA", name, "benchmark file")


@pytest.fixture(scope="session")
def benchmark_file(data_file, tmp_path_factory) -> Callable[[str], Path]:
    """Benchmark files, or generated MATLAB files in their place where ``MANYVIEW_DATA`` is not set.

    For tests of what holds for any file with the layout, sizes and types of a benchmark file, whatever its values.
    """
    folder = tmp_path_factory.mktemp("benchmark_files")

    def find(name: str) -> Path:
        if os.environ.get("MANYVIEW_DATA") or not name.endswith(".mat"):
            return data_file(name)
        path = folder / name
        if not path.is_file():
            _write_stand_in(path)
        return path

    return find


# How the views of a benchmark file are stored; the others are full arrays of floats.
_COUNTS, _SPARSE = {"3Sources"}, {"BBC4view", "Reuters600"}


def _write_stand_in(path: Path) -> None:
    """Write a MATLAB file like a benchmark file: views in a cell array, as many samples, features and classes.

    Rows are sorted by class. Classes overlap, in the same way in all views: all are made from the same positions.
    """
    info = dataset_info(path.stem)
    rng = np.random.default_rng(0)
    labels = np.sort(np.arange(info.n_samples) % info.n_classes)
    positions = rng.normal(size=(info.n_classes, 8))[labels] + 0.6 * rng.normal(size=(info.n_samples, 8))
    views = np.empty((1, len(info.views)), dtype=object)
    for i, n_features in enumerate(info.n_features):
        view = np.abs(positions @ rng.normal(size=(8, n_features)) + 0.1 * rng.normal(size=(len(labels), n_features)))
        if path.stem in _COUNTS | _SPARSE:
            view = rng.poisson(0.05 * view)
        views[0, i] = sp.csc_array(view * 1.0) if path.stem in _SPARSE else view
        if path.stem in _COUNTS:
            views[0, i] = view.astype(np.uint8)
    savemat(path, {"X": views, "Y": labels[:, None].astype(np.uint8) + 1})


@pytest.fixture(scope="session")
def paper_source() -> str:
    """The TeX source of the paper, ``paper.tex``, in the folder in the environment variable ``MANYVIEW_PAPER``.

    The test is skipped where the variable is not set or the file is absent.
    """
    return _find("MANYVIEW_PAPER", "paper.tex", "the source of the paper").read_text(encoding="utf-8")


@contextmanager
def _local_cluster(n_workers=2, **options):
    distributed = pytest.importorskip("distributed", reason=_NO_DASK)
    given = {"threads_per_worker": 1, "processes": True, "host": "127.0.0.1", "protocol": "tcp"}
    web = {"dashboard_address": _WEB, "worker_dashboard_address": _WEB}  # with None, at all addresses of the machine
    options = {"silence_logs": logging.CRITICAL} | options
    cluster = distributed.LocalCluster(n_workers=n_workers, **given | web | options)
    client = distributed.Client(cluster, set_as_default=False)
    try:
        yield client
    finally:
        client.close()
        cluster.close()


@pytest.fixture(scope="session")
def local_cluster():
    """A context manager: a client of a cluster of its own, with two worker processes if nothing else is said."""
    return _local_cluster


@pytest.fixture(scope="session")
def client():
    """A client of two worker processes, shared by all tests that leave them whole."""
    with _local_cluster() as client:
        yield client


@pytest.fixture
def separate_cluster(tmp_path):
    """A function: client, process of the scheduler, and those of the workers, which nobody restarts."""
    distributed = pytest.importorskip("distributed", reason=_NO_DASK)
    started, clients, file = [], [], tmp_path / "scheduler.json"

    def start(program, *options):
        command = [sys.executable, "-m", f"distributed.cli.{program}", "--scheduler-file", str(file), *options]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
        here = ["--host", "127.0.0.1", "--dashboard-address", _WEB, "--no-dashboard"]
        started.append(subprocess.Popen([*command, *here], **quiet))
        return started[-1]

    def cluster(n_workers):
        scheduler = start("dask_scheduler", "--port", "0")
        client = distributed.Client(scheduler_file=str(file), set_as_default=False, timeout=60)
        clients.append(client)
        workers = [start("dask_worker", "--no-nanny", "--nthreads", "1") for _ in range(n_workers)]
        if workers:
            client.wait_for_workers(n_workers, timeout=60)
        return client, scheduler, workers

    yield cluster
    for process in reversed(started):
        process.kill()
        process.wait()
    for client in clients:
        client.close(timeout=1)
