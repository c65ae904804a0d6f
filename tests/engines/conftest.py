"""Dask clusters on the loopback interface, for the tests that need one."""

from __future__ import annotations

import logging
import subprocess
import sys
from contextlib import contextmanager

import pytest

_WEB = "127.0.0.1:0"


@contextmanager
def _local_cluster(n_workers=2, **options):
    distributed = pytest.importorskip("distributed")
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
    distributed = pytest.importorskip("distributed")
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
