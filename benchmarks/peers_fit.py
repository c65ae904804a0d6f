"""The methods of other packages, and a server that fits them: the part of benchmarks/peers.py in their environments.

    .venv-peers-NAME/bin/python benchmarks/peers_fit.py NAME

reads jobs from standard input, a line of JSON each, and answers each with a line. It needs the package, numpy and
scipy, and not this project. Every fit is a process of its own, forked after the imports, with limits of processor time
and memory; it returns labels, seconds and bytes, and is never given the classes.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
import multiprocessing
import os
import platform
import resource
import signal
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

Arrays = Sequence[np.ndarray]
Method = Callable[[Arrays, int, int], Any]
"""From views, the number of clusters and a seed to labels; -1 or NaN for a sample that is in no cluster."""

TOO_LONG = "more than"
CANNOT_IMPORT = "cannot be imported"
_WARM_UP_SAMPLES = 60
_COMPILED = {"manyview", "evoc"}  # the first fit of all compiles their kernels, later ones find them on disk
_COMPILED_FOR_DATA = {"evoc"}  # the size of the data decides which kernels, so the warm-up has all of it
_AFTER_FORK = {"evoc"}  # uses threads of OpenMP when it is imported, which end a process that is forked later
_MAX_WARM_UP = 3  # processor seconds
_MAX_COMPILING = 300
_MAX_REASON = 200  # characters


def in_module(module: str, name: str, clusters: str = "n_clusters", **parameters: Any) -> Method:
    """Return a class with ``fit_predict`` as a method, with its defaults but for these parameters."""

    def run(views: Arrays, n_clusters: int, seed: int) -> Any:
        estimator = getattr(importlib.import_module(module), name)
        return estimator(**{clusters: n_clusters}, random_state=seed, **parameters).fit_predict(list(views))

    return run


def imml(name: str, *, unit_rows: bool = True) -> Method:
    """Return a method of imml, on rows of unit length as in its tutorial, or on the views as they are."""

    def run(views: Arrays, n_clusters: int, seed: int) -> Any:
        import imml.cluster
        import pandas as pd
        from imml.preprocessing import MMTransformer, NormalizerNaN
        from sklearn.pipeline import make_pipeline

        method = getattr(imml.cluster, name)(n_clusters=n_clusters, random_state=seed)
        if unit_rows:
            method = make_pipeline(MMTransformer(NormalizerNaN().set_output(transform="pandas")), method)
        return method.fit_predict([pd.DataFrame(view) for view in views])

    return run


def snf_spectral(views: Arrays, n_clusters: int, seed: int) -> Any:
    import snf
    from sklearn.cluster import spectral_clustering

    fused = snf.snf(snf.make_affinity(list(views)))
    return spectral_clustering(fused, n_clusters=n_clusters, random_state=seed)


def standardised(views: Arrays) -> np.ndarray:
    """Return the views side by side, every feature with mean 0 and variance 1."""
    from sklearn.preprocessing import StandardScaler

    return StandardScaler().fit_transform(np.hstack(views))


def equal(views: Arrays) -> np.ndarray:
    """Return the views side by side, every feature with mean 0 and every view with total variance 1."""
    centred = [view - view.mean(axis=0) for view in views]
    return np.hstack([view / max(np.sqrt(view.var(axis=0).sum()), np.finfo(float).tiny) for view in centred])


def side_by_side(
    table: Callable[[Arrays], np.ndarray], module: str, name: str, given: str | None, **more: Any
) -> Method:
    """Return a single-view method on the views side by side; ``given`` is its parameter for the number of clusters."""

    def run(views: Arrays, n_clusters: int, seed: int) -> Any:
        estimator = getattr(importlib.import_module(module), name)(**more)
        if given:
            estimator.set_params(**{given: n_clusters})
        if "random_state" in estimator.get_params():  # HDBSCAN draws nothing
            estimator.set_params(random_state=seed)
        return estimator.fit(table(views)).labels_

    return run


IMML = ("NEMO", "EEIMVC", "LFIMVC", "PIMVC", "SIMCADC", "DAIMC", "SUMO", "MONET")  # need neither Octave nor torch
_SKLEARN = "sklearn.cluster"
_NEIGHBOURS = {"affinity": "nearest_neighbors"}
METHODS: dict[str, dict[str, Method]] = {
    "manyview": {
        name: in_module("manyview.cluster", name)
        for name in ("GraphEnsemble", "CoRegularizedSpectral", "CoTrainingSpectral", "SNF")
    },
    "polyview": {
        "MultiViewKMeans": in_module("polyview.cluster", "MultiViewKMeans"),
        "MultiViewCoRegSpectralClustering": in_module("polyview.cluster", "MultiViewCoRegSpectralClustering"),
        "MultiViewCoTrainSpectralClustering": in_module("polyview.cluster", "MultiViewCoTrainSpectralClustering"),
        "MultiViewNMF": in_module("polyview.cluster", "MultiViewNMF", clusters="n_components"),
    },
    "mvlearn": {
        name: in_module("mvlearn.cluster", name)
        for name in (
            "MultiviewKMeans",
            "MultiviewSphericalKMeans",
            "MultiviewSpectralClustering",
            "MultiviewCoRegSpectralClustering",
        )
    },
    "snfpy": {"snf, then spectral": snf_spectral},
    "imml": {name: imml(name) for name in IMML},
    "scikit-learn": {
        "KMeans, standardised": side_by_side(standardised, _SKLEARN, "KMeans", "n_clusters", n_init=10),
        "KMeans, equal views": side_by_side(equal, _SKLEARN, "KMeans", "n_clusters", n_init=10),
        "SpectralClustering, standardised": side_by_side(
            standardised, _SKLEARN, "SpectralClustering", "n_clusters", **_NEIGHBOURS
        ),
        "SpectralClustering, equal views": side_by_side(
            equal, _SKLEARN, "SpectralClustering", "n_clusters", **_NEIGHBOURS
        ),
        "HDBSCAN, equal views": side_by_side(equal, _SKLEARN, "HDBSCAN", None),
    },
    "evoc": {
        "EVoC, equal views": side_by_side(equal, "evoc", "EVoC", None),
        "EVoC, equal views, K given": side_by_side(equal, "evoc", "EVoC", "approx_n_clusters"),
    },
}
MODULES = {"scikit-learn": "sklearn", "snfpy": "snf", "imml": "imml.cluster"}
"""Modules of packages that are not named as these."""


def main() -> None:
    package = sys.argv[1]
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what the packages print is not an answer
    warnings.simplefilter("ignore")

    def answer(content: dict[str, Any]) -> None:
        print(json.dumps(content), file=answers, flush=True)

    try:
        if package not in _AFTER_FORK:
            importlib.import_module(MODULES.get(package, package))
        elif importlib.util.find_spec(package) is None:
            raise ModuleNotFoundError(f"No module named {package!r}")
    except Exception as error:  # of any kind: why a package cannot be used is a result
        return answer({"failure": f"{CANNOT_IMPORT}: {reason(error)}"})
    names = [package, "numpy", "scipy", "scikit-learn", "numba", "pandas", "cvxpy", "networkx"]
    found = {d.metadata["Name"].lower(): d.version for d in importlib.metadata.distributions()}
    versions = {name: found[name] for name in names if name in found}
    answer({"versions": versions, "python": platform.python_version()})
    for line in sys.stdin:
        answer(fit_in_a_process(package, json.loads(line)))


def fit_in_a_process(package: str, job: dict[str, Any]) -> dict[str, Any]:
    """Return labels, seconds and bytes, or the reason why there are none."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=fit, args=(there, package, job))
    process.start()
    there.close()
    assert process.pid is not None
    try:
        # a process that sleeps, or has others work for it, uses no processor time of its own
        answer = here.recv() if here.poll(5 * job["seconds"] + 120) else {"failure": over(job)}
    except EOFError:
        process.join()
        code = process.exitcode
        answer = {"failure": over(job) if code == -signal.SIGXCPU else f"failed: the process ended with code {code}"}
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # with the processes that it may have started
    process.join()
    return answer


def over(job: dict[str, Any]) -> str:
    return f"{TOO_LONG} {job['seconds']:.0f} s"


def fit(answer: Connection, package: str, job: dict[str, Any]) -> None:
    os.setsid()  # a group of its own
    try:
        np.random.seed(job["seed"])  # noqa: NPY002 - for packages that do not use their seed everywhere
        views = read(Path(job["file"]), dense=package != "manyview")
        run = METHODS[package][job["method"]]
        resource.setrlimit(resource.RLIMIT_DATA, (job["bytes"], job["bytes"]))
        if package in _COMPILED_FOR_DATA:
            warm_up(run, views, job["n_clusters"], _MAX_COMPILING)
        else:
            rows = np.linspace(0, views[0].shape[0] - 1, _WARM_UP_SAMPLES).astype(int)
            warm_up(run, [view[rows] for view in views], 3, _MAX_COMPILING if package in _COMPILED else _MAX_WARM_UP)
        limit = int(time.process_time() + job["seconds"]) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
        clear_peak()
        before, start = memory("VmRSS:"), seconds()
        found = run(views, job["n_clusters"], job["seed"])
        taken, peak = seconds() - start, memory("VmHWM:")
        labels = np.asarray(found, dtype=float)
        labels[np.isnan(labels)] = -1
        answer.send({"labels": labels.tolist(), "seconds": taken, "bytes": max(peak - before, 0)})
    except MemoryError as error:
        answer.send({"failure": f"more than {job['bytes'] / 2**30:.0f} GiB: {reason(error)}"})
    except Exception as error:  # what other packages raise is a result here
        answer.send({"failure": f"failed: {reason(error)}"})


def read(file: Path, *, dense: bool) -> list[Any]:
    """Return the views of a file; only our methods take sparse ones."""
    with np.load(file) as arrays:
        views: list[Any] = []
        for v in range(int(arrays["n_views"])):
            if f"data{v}" not in arrays:
                views.append(arrays[f"view{v}"])
                continue
            parts = (arrays[f"data{v}"], arrays[f"indices{v}"], arrays[f"indptr{v}"])
            sparse = sp.csr_array(parts, shape=arrays[f"shape{v}"])
            views.append(sparse.toarray() if dense else sparse)
    return views


class _Enough(BaseException):
    """Raised when the warm-up takes too long; not an Exception, which a method might catch."""


def warm_up(run: Method, views: Arrays, n_clusters: int, max_seconds: float) -> None:
    """Fit once before: imports and compilation are not what is timed. Whether that succeeds does not matter."""

    def stop(*_: object) -> None:
        raise _Enough

    signal.signal(signal.SIGVTALRM, stop)
    with suppress(Exception, _Enough):
        signal.setitimer(signal.ITIMER_VIRTUAL, max_seconds)
        run(views, n_clusters, 0)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def seconds() -> float:
    """Return the processor time of this process and of those that it has waited for."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def clear_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def memory(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(field))


def reason(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:_MAX_REASON]


if __name__ == "__main__":
    main()
