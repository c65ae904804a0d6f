"""Time, memory and labels of a method against another commit, as ratios from one run.

    python benchmarks/against.py HEAD~1                              the digits, and a million samples in three views
    python benchmarks/against.py HEAD~1 --data digits --repeat 20
    python benchmarks/against.py HEAD~1 --data digits --cold         the first fit after an installation
    MANYVIEW_DATA=folder python benchmarks/against.py HEAD~1 --data Handwritten4 100Leaves MNIST63k
    MANYVIEW_DATA=folder python benchmarks/against.py HEAD~1 --method TBGL --data NUS-WIDE-like MNIST63k --repeat 1

The method is our own unless it is named. TBGL gets 400 anchors, as the paper takes for NUS-WIDE; ``NUS-WIDE-like`` is
the generated set of the bundled experiment ``stand-ins``, and ``NUS-WIDE-like:8000`` the same with fewer samples.
Both trees are fitted in turn, each time in a process of its own, so that a machine that is slow for a while is slow for
both; time of processors does not count the waiting, either. Kernels are compiled before the clock starts. Times are the
best of all runs, and those of one pass are means over all passes but the first, for methods that report passes. Memory
is the peak of the process during one more fit, less what was there before it; there, every array has pages of its own,
so that what was freed does not count, whatever the allocator would do with it.

With ``--cold`` every process compiles its kernels; shown is the time of its first fit less that of the second.

``same labels`` is the share of samples in the same cluster. Some methods amplify rounding errors until labels change:
``--nudge`` fits the other commit once more as an old processor would, which rounds differently, for comparison.
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
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from manyview import Views

ROOT = Path(__file__).resolve().parents[1]
DATA = ("digits", "million")
MEASURES = ("seconds", "processor", "bytes", "pass")
# Options of methods beside the number of clusters.
OPTIONS = {"TBGL": {"n_anchors": 400}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit", help="what to compare with")
    parser.add_argument("--data", nargs="+", default=DATA, help="names of datasets; see above")
    parser.add_argument("--method", help="name of the method; default: GraphEnsemble")
    parser.add_argument("--passes", type=int, help="max_iter of the method")
    parser.add_argument("--set", nargs="+", default=[], metavar="NAME=VALUE", help="numbers for the method")
    parser.add_argument("--threads", type=int, help="n_jobs of the method; default: its own")
    parser.add_argument("--repeat", type=int, help="runs of each; default: 10 of the digits, 3 of all others")
    parser.add_argument("--quick", action="store_true", help="take the peak of memory from the timed runs")
    parser.add_argument("--nudge", action="store_true", help="how far rounding alone changes labels")
    parser.add_argument("--cold", action="store_true", help="what the first fit after an installation takes more")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.data[0], options)))
        return
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "tree")
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--detach", "--quiet", str(tree), options.commit], check=True)
        try:
            for data in options.data:
                (compare_cold if options.cold else compare)(
                    data, {options.commit: tree / "src", "this tree": ROOT / "src"}, options
                )
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def compare_cold(data: str, sources: dict[str, Path], options: argparse.Namespace) -> None:
    """Print what the first fit takes more than the second, without compiled kernels; the best of several runs."""
    found: dict[str, list[float]] = {name: [] for name in sources}
    for _ in range(options.repeat or 3):
        for name, source in sources.items():
            with tempfile.TemporaryDirectory() as folder:
                found[name].append(run_one(data, source, options, NUMBA_CACHE_DIR=folder)["cold"])
    for name, own in found.items():
        print(f"{data}, {name}: the first fit takes {min(own):.2f} s of processors more than the second")
    before, after = (min(own) for own in found.values())
    print(f"{data}: {after / before:.2f} times as much in this tree", flush=True)


def run_one(data: str, source: Path, options: argparse.Namespace, **environment: str) -> dict[str, Any]:
    """Measure one fit with the package in this folder, in a process of its own."""
    given = {"--method": options.method, "--passes": options.passes, "--threads": options.threads}
    chosen = [word for name, value in given.items() if value is not None for word in (name, str(value))]
    chosen += ["--set", *options.set] if options.set else []
    chosen += ["--cold"] if options.cold else []
    command = [sys.executable, __file__, options.commit, "--one", "--data", data, *chosen]
    variables = os.environ | {"PYTHONPATH": str(source)} | environment
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=variables)
    return json.loads(done.stdout)


def compare(data: str, sources: dict[str, Path], options: argparse.Namespace) -> None:
    run = partial(run_one, data, options=options)
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in sources}
    for _ in range(options.repeat or (10 if data == "digits" else 3)):
        for name, source in sources.items():
            found[name].append(run(source))
    best = {name: {key: min(one[key] for one in own) for key in MEASURES} for name, own in found.items()}
    if not options.quick:
        for name, source in sources.items():
            best[name]["bytes"] = run(source, MALLOC_MMAP_THRESHOLD_=str(2**18))["bytes"]
    for name, own in best.items():
        times = f"{own['seconds']:.3f} s, {own['processor']:.3f} s of processors"
        one = f", {own['pass']:.3f} s of them in one pass" if own["pass"] else ""
        print(f"{data}, {name}: {times}{one}, {own['bytes'] / 2**20:.0f} MiB")
    before, after = best.values()
    ratios = [after[key] / before[key] if before[key] else np.nan for key in MEASURES]
    one_pass = f"{ratios[3]:.3f} times that of one pass, " if before["pass"] else ""
    old, new = (own[0]["labels"] for own in found.values())
    print(
        f"{data}: this tree takes {ratios[0]:.3f} times as long, {ratios[1]:.3f} times the time of processors, "
        f"{one_pass}{ratios[2]:.3f} times the memory; "
        f"same labels {agreement(old, new):.4f}"
    )
    if options.nudge:
        nudged = run(sources[options.commit], OPENBLAS_CORETYPE="Prescott")["labels"]
        print(f"{data}: {options.commit} and itself with other rounding: same labels {agreement(old, nudged):.4f}")
    sys.stdout.flush()


def agreement(first: list[int], second: list[int]) -> float:
    """Share of samples with the same label, for the best match of the labels."""
    from manyview.metrics import accuracy

    return float(accuracy(np.array(first), np.array(second)))


def measure(data: str, options: argparse.Namespace) -> dict[str, Any]:
    """Seconds, bytes and labels of one fit."""
    from manyview._utils.progress import listening
    from manyview.cluster import available_methods
    from manyview.datasets import load_digits_views, make_multiview

    warnings.simplefilter("ignore")
    methods = {info.estimator.__name__: info.estimator for info in available_methods()}
    method = methods[options.method or next(iter(methods))]
    given: dict[str, Any] = {"random_state": 0} | OPTIONS.get(method.__name__, {})
    if options.passes is not None:
        given["max_iter"] = options.passes
    given |= {name: float(value) for name, _, value in (setting.partition("=") for setting in options.set)}
    if options.threads is not None:
        given["n_jobs"] = options.threads
    if data == "digits":
        views, n_clusters = list(load_digits_views().shuffled(0).arrays), 10
    elif data == "million":
        rng = np.random.default_rng(0)
        labels = rng.integers(10, size=10**6)
        centres = rng.normal(size=(3, 10, 64)).astype(np.float32)
        views = [centre[labels] + rng.standard_normal((10**6, 64), dtype=np.float32) for centre in centres]
        n_clusters = 10
        given |= {"n_anchors": 512, "n_neighbors": 10}
    else:
        known = load(data).shuffled(0)
        views, n_clusters = list(known.arrays), len(np.unique(known.labels))
    small = make_multiview(
        20_000 if views[0].shape[0] > 60_000 and not options.method else 400, 3, noise=0.8, random_state=0
    )
    few = {"n_anchors": 50} if "n_anchors" in given else {}
    if not options.cold:
        method(3, **given | few).fit([array.astype(views[0].dtype) for array in small.arrays])
    ends: list[float] = []
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before, start, used = status("VmRSS"), time.perf_counter(), time.process_time()
    with listening(lambda step: ends.append(time.process_time()) if step.unit == "passes" else None):
        labels = method(n_clusters, **given).fit(views).labels_
    seconds, processor = time.perf_counter() - start, time.process_time() - used
    memory, used = status("VmHWM") - before, time.process_time()
    if options.cold:
        method(n_clusters, **given).fit(views)
    return {
        "cold": processor - (time.process_time() - used),
        "pass": (ends[-1] - ends[0]) / (len(ends) - 1) if len(ends) > 1 else 0.0,
        "seconds": seconds,
        "processor": processor,
        "bytes": memory,
        "labels": labels.tolist(),
    }


def load(data: str) -> Views:
    """Return a dataset: MNIST63k, the generated one, or a benchmark file, by name."""
    from manyview.datasets import fetch_dataset, load_mnist_views
    from manyview.experiments import load_spec
    from manyview.experiments._datasets import load as load_from_spec

    name, _, size = data.partition(":")
    if name == "MNIST63k":
        return load_mnist_views()
    if name != "NUS-WIDE-like":
        return fetch_dataset(name)
    sources = {dataset.name: dataset.source for part in load_spec("stand-ins").parts for dataset in part.datasets}
    generated = dict(sources[name]["generate"])
    return load_from_spec({"generate": generated | ({"n_samples": int(size)} if size else {})})


def status(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


if __name__ == "__main__":
    main()
