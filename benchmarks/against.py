"""Time and memory of our own method against another commit, as ratios from one run.

    python benchmarks/against.py HEAD~1                              the digits, and a million samples in three views
    python benchmarks/against.py HEAD~1 --data digits --repeat 20
    MANYVIEW_DATA=folder python benchmarks/against.py HEAD~1 --data Handwritten4 100Leaves MNIST63k

Both trees are fitted in turn, each time in a process of its own, so that a machine that is slow for a while is slow for
both. Kernels are compiled before the clock starts. Times are the best of all runs. Memory is the peak of the process
during one more fit, less what was there before it; there, every array has pages of its own, so that what was freed does
not count, whatever the allocator would do with it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
DATA = ("digits", "million", "Handwritten4", "100Leaves", "MNIST63k")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit", help="what to compare with")
    parser.add_argument("--data", nargs="+", choices=DATA, default=DATA[:2])
    parser.add_argument("--repeat", type=int, help="runs of each; default: 10 of the digits, 3 of all others")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.data[0])))
        return
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "tree")
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--detach", "--quiet", str(tree), options.commit], check=True)
        try:
            for data in options.data:
                compare(data, {options.commit: tree / "src", "this tree": ROOT / "src"}, options)
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def compare(data: str, sources: dict[str, Path], options: argparse.Namespace) -> None:
    def run(source: Path, **more: str) -> dict[str, float]:
        command = [sys.executable, __file__, options.commit, "--one", "--data", data]
        environment = os.environ | {"PYTHONPATH": str(source)} | more
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
        return json.loads(done.stdout)

    seconds: dict[str, list[float]] = {name: [] for name in sources}
    for _ in range(options.repeat or (10 if data == "digits" else 3)):
        for name, source in sources.items():
            seconds[name].append(run(source)["seconds"])
    peaks = {name: run(source, MALLOC_MMAP_THRESHOLD_=str(2**18))["bytes"] for name, source in sources.items()}
    best = {name: {"seconds": min(own), "bytes": peaks[name]} for name, own in seconds.items()}
    for name, found in best.items():
        print(f"{data}, {name}: {found['seconds']:.3f} s, {found['bytes'] / 2**20:.0f} MiB")
    before, after = best.values()
    time_ratio, memory_ratio = (after[key] / before[key] for key in ("seconds", "bytes"))
    print(f"{data}: this tree takes {time_ratio:.3f} times as long, {memory_ratio:.3f} times the memory", flush=True)


def measure(data: str) -> dict[str, float]:
    """Seconds and bytes of one fit."""
    from manyview.cluster import available_methods
    from manyview.datasets import fetch_dataset, load_digits_views, load_mnist_views, make_multiview

    warnings.simplefilter("ignore")
    method = available_methods()[0].estimator
    if data == "digits":
        views, options = list(load_digits_views().shuffled(0).arrays), {"n_clusters": 10}
    elif data != "million":
        known = (load_mnist_views() if data == "MNIST63k" else fetch_dataset(data)).shuffled(0)
        views, options = list(known.arrays), {"n_clusters": len(np.unique(known.labels))}
    else:
        rng = np.random.default_rng(0)
        labels = rng.integers(10, size=10**6)
        centres = rng.normal(size=(3, 10, 64)).astype(np.float32)
        views = [centre[labels] + rng.standard_normal((10**6, 64), dtype=np.float32) for centre in centres]
        options = {"n_clusters": 10, "n_anchors": 512, "n_neighbors": 10}
    small = make_multiview(20_000 if data in ("million", "MNIST63k") else 400, 3, noise=0.8, random_state=0)
    method(3, random_state=0).fit([array.astype(views[0].dtype) for array in small.arrays])
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before, start = status("VmRSS"), time.perf_counter()
    method(random_state=0, **options).fit(views)
    return {"seconds": time.perf_counter() - start, "bytes": status("VmHWM") - before}


def status(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


if __name__ == "__main__":
    main()
