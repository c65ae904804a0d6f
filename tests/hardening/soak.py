"""Fit again and again in one process, and look whether anything grows: memory, open files, threads, files left behind.

Every second fit is of GraphEnsemble, the others are of all methods in turn. After each the model is saved and loaded;
GraphEnsemble also predicts. Files are read every tenth time, a report is written every twenty-fifth time. The first
fifth is a warm-up: libraries are loaded, kernels compiled, and the allocator finds its size.

    python tests/hardening/soak.py --fits 1000

The exit code is 1 if anything grew.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

import manyview
from manyview.cluster import available_methods
from manyview.datasets import make_multiview
from manyview.report import write_report

MOST_GROWTH = 8192
"""Bytes per fit that memory may grow by: 8 MB in a thousand fits, of a process that has some hundred."""

_EVERY = 5  # fits between two looks
_WARM_UP = 0.2


class Look(NamedTuple):
    """What the process holds after so many fits."""

    fits: int
    memory: int
    open_files: int
    threads: int
    left_files: int


def look(fits: int, folder: Path) -> Look:
    gc.collect()
    with open("/proc/self/statm", encoding="ascii") as file:
        memory = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    left = sum(len(files) for _, _, files in os.walk(folder))
    return Look(fits, memory, len(os.listdir("/proc/self/fd")), threading.active_count(), left)


def growth(looks: list[Look]) -> float:
    """Bytes per fit: the median of the slopes between looks of the first and the second half.

    A single step, such as one more arena of the allocator, moves the mean, not the median.
    """
    half = len(looks) // 2
    pairs = zip(looks[:half], looks[-half:], strict=True)
    return float(np.median([(after.memory - before.memory) / (after.fits - before.fits) for before, after in pairs]))


def soak(n_fits: int, folder: Path) -> tuple[list[Look], list[str]]:
    """Fit ``n_fits`` times with ``folder`` for all files; return the looks and what went wrong."""
    views = make_multiview(60, n_clusters=3, noise=0.4, random_state=0)
    table = folder / "kept.csv"
    np.savetxt(table, np.hstack(views.arrays), delimiter=",")
    methods = [method.estimator for method in available_methods()]
    looks, wrong, expected = [], [], {}
    for i in range(n_fits):
        method = methods[0] if i % 2 else methods[i // 2 % len(methods)]
        model = method(3, random_state=0).set_params(**({"n_members": 8} if method is methods[0] else {}))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            labels = model.fit(views).labels_
        if not np.array_equal(labels, expected.setdefault(method, labels)):
            wrong.append(f"fit {i}: {method.__name__} found other labels than the first time")
        model.save(folder / "model.manyview")
        loaded = manyview.load(folder / "model.manyview")
        again = loaded.predict(views) if method is methods[0] else loaded.labels_
        if not np.array_equal(again, labels):
            wrong.append(f"fit {i}: {method.__name__} that was saved and loaded gives other labels")
        if i % 10 == 0:
            manyview.read_views(table, header=False)
        if i % 25 == 1:
            write_report(model, views, folder / "report.html")
        for name in ("model.manyview", "report.html"):
            (folder / name).unlink(missing_ok=True)
        if (i + 1) % _EVERY == 0:
            looks.append(look(i + 1, folder))
    return looks, wrong


def judge(looks: list[Look]) -> list[str]:
    """What grew after the warm-up."""
    warm = looks[int(_WARM_UP * len(looks)) :]
    found = []
    if (slope := growth(warm)) > MOST_GROWTH:
        found.append(f"memory grew by {slope:.0f} bytes per fit, more than {MOST_GROWTH}")
    for name in ("open_files", "threads", "left_files"):
        first, last = getattr(warm[0], name), getattr(warm[-1], name)
        if last > first:
            found.append(f"{name} grew from {first} to {last}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fits", type=int, default=1000, help="at least 50; default: 1000")
    n_fits = max(parser.parse_args().fits, 50)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        tempfile.tempdir = name  # what libraries leave behind is counted, too
        looks, wrong = soak(n_fits, Path(name))
    wrong += judge(looks)
    warm, last = looks[int(_WARM_UP * len(looks))], looks[-1]
    slope = growth(looks[looks.index(warm) :])
    print(
        f"{n_fits} fits in {time.perf_counter() - start:.0f} s, {len(wrong)} failures. From fit {warm.fits} on: memory "
        f"{warm.memory / 2**20:.1f} -> {last.memory / 2**20:.1f} MiB ({slope:+.0f} bytes per fit)"
        f", open files {warm.open_files} -> {last.open_files}, threads {warm.threads} -> {last.threads}, "
        f"files left {warm.left_files} -> {last.left_files}"
    )
    print("\n".join(wrong), end="\n" if wrong else "")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
