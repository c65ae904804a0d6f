"""Fixtures that test folders share: stored reference results, benchmark files, Dask clusters on loopback."""

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
from hypothesis import settings

# No deadline: the first call of a kernel compiles it. The same examples every time in CI, new ones elsewhere.
settings.register_profile("manyview", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("manyview")

ROOT = Path(__file__).resolve().parents[1]
_WEB = "127.0.0.1:0"
_NO_DASK = "needs Dask and distributed: pip install 'manyview[dask]'"


def _folder(variable: str, default: str) -> Path:
    return Path(os.environ.get(variable) or ROOT.parent / "shared" / default)


@pytest.fixture(scope="session")
def oracle() -> Callable[[str], Mapping[str, np.ndarray]]:
    """Results of the original authors' programs: ``oracle("helpers")["out_cm"]``.

    ``oracle(name)`` returns what ``np.load`` returns for ``npz/<name>.npz`` below the folder in the
    environment variable ``MANYVIEW_ORACLES``; where that is not set, below ``../shared/oracles``, seen from
    the root of the repository. The test is skipped, with the path as reason, where the file is absent.
    """

    def load(name: str) -> Mapping[str, np.ndarray]:
        path = _folder("MANYVIEW_ORACLES", "oracles") / "npz" / f"{name}.npz"
        if not path.is_file():
            pytest.skip(f"reference results {path.name} not found in {path.parent}; set MANYVIEW_ORACLES")
        return np.load(path, allow_pickle=False)

    return load


@pytest.fixture(scope="session")
def data_file() -> Callable[[str], Path]:
    """Benchmark files: ``data_file("MSRC-v5.mat")`` is the path of that file.

    Looked for in the folder in the environment variable ``MANYVIEW_DATA``; where that is not set, in
    ``../shared/data``, seen from the root of the repository. The test is skipped, with the path as reason,
    where the file is absent.
    """

    def find(name: str) -> Path:
        path = _folder("MANYVIEW_DATA", "data") / name
        if not path.is_file():
            pytest.skip(f"benchmark file {name} not found in {path.parent}; set MANYVIEW_DATA")
        return path

    return find


@pytest.fixture(scope="session")
def paper_source() -> str:
    """The TeX source of the paper, ``paper.tex``.

    Looked for in the folder in the environment variable ``MANYVIEW_PAPER``; where that is not set, in
    ``../shared/paper``, seen from the root of the repository. The test is skipped, with the path as reason,
    where the file is absent.
    """
    path = _folder("MANYVIEW_PAPER", "paper") / "paper.tex"
    if not path.is_file():
        pytest.skip(f"source of the paper {path.name} not found in {path.parent}; set MANYVIEW_PAPER")
    return path.read_text(encoding="utf-8")


@contextmanager
def _local_cluster(n_workers=2, **options):
    distributed = pytest.importorskip("distributed", reason=_NO_DASK)
    given = {"threads_per_worker": 1, "processes": True, "host": "127.0.0.1", "protocol": "tcp"}
    web = {"dashboard_address": _WEB, "worker_dashboard_address": _WEB}  # with None, at all addresses of the machine
    cluster = distributed.LocalCluster(n_workers=n_workers, silence_logs=logging.CRITICAL, **given | web | options)
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
