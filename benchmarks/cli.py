"""How much the command line adds: starting the program, and what ``manyview cluster`` does besides the fit.

    python benchmarks/cli.py                         both
    python benchmarks/cli.py --start                 only ``manyview --help``, beside ``python -c pass``
    python benchmarks/cli.py --cluster --rows 100000 only ``manyview cluster``, on a generated file

Every figure is the time of whole processes on the clock of the wall, so a busy machine makes it larger; the ratio to
``python -c pass`` and the shares are measured in the same run. The share outside of fit is shown with and without
importing numpy, scikit-learn and numba, which any program that fits has to do; by the clock of the process, and by the
timings that the command itself keeps.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from manyview.datasets import make_multiview

PROGRAM = [sys.executable, "-m", "manyview"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--start", action="store_true", help="only the start of the program")
    parser.add_argument("--cluster", action="store_true", help="only manyview cluster")
    parser.add_argument("--runs", type=int, default=10, help="of the start; manyview cluster runs three times")
    parser.add_argument("--rows", type=int, default=100_000, metavar="N", help="samples of the generated file")
    options = parser.parse_args()
    if options.start or not options.cluster:
        measure_start(options.runs)
    if options.cluster or not options.start:
        with TemporaryDirectory() as folder:
            measure_cluster(Path(folder), options.rows)


def seconds(command: list[str]) -> float:
    """How long a process takes, from starting it to its end."""
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with exit code {done.returncode}: {done.stderr.strip()}")
    return time.perf_counter() - start


def measure_start(runs: int) -> None:
    commands = {"python -c pass": [sys.executable, "-c", "pass"], "manyview --help": [*PROGRAM, "--help"]}
    # One after the other in turn, so that what else the machine does meets both.
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            times[name].append(seconds(command))
    best, middle = (dict(zip(times, map(of, times.values()), strict=True)) for of in (min, median))
    print(f"Starting the program, {runs} runs\n")
    print("| command | best, s | median, s | times python -c pass (best) |")
    print("|---|---|---|---|")
    for name in commands:
        print(f"| `{name}` | {best[name]:.3f} | {middle[name]:.3f} | {best[name] / best['python -c pass']:.1f} |")
    print()


def measure_cluster(folder: Path, rows: int, runs: int = 3) -> None:
    views = make_multiview(rows, 10, n_features=20, noise=0.3, random_state=0).shuffled(0)
    file, out = folder / "views.npz", folder / "out"
    np.savez(file, **dict(zip(views.names, views.arrays, strict=True)), labels=views.labels)
    command = [*PROGRAM, "cluster", str(file), "-k", "10", "--out", str(out)]
    imports = min(seconds([sys.executable, "-c", "import manyview.cluster"]) for _ in range(runs))
    found = []
    for _ in range(runs):
        process = seconds(command)
        found.append((process, json.loads((out / "result.json").read_text(encoding="utf-8"))["timings"]))
    process, timings = min(found, key=lambda one: one[0])
    print(f"manyview cluster: {rows:,} samples in 3 views of 20 features, rows shuffled, the fastest of {runs} runs\n")
    print("| measured by | whole, s | fit, s | outside of fit, s | share |")
    print("|---|---|---|---|---|")
    for name, (whole, outside) in outside_of_fit(process, imports, timings).items():
        print(f"| {name} | {whole:.2f} | {timings['fit']:.2f} | {outside:.2f} | {outside / whole:.1%} |")
    print(f"\n`import manyview.cluster` alone takes {imports:.2f} s. What result.json says:")
    print(", ".join(f"{name} {spent:.2f} s" for name, spent in timings.items() if spent is not None))


def outside_of_fit(process: float, imports: float, timings: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """Seconds in all, and seconds on anything but the fit: by two clocks, with imports and without them.

    Examples
    --------
    >>> found = outside_of_fit(10.0, 2.0, {"start": 2.5, "read": 0.5, "suggest": None, "fit": 6.5})
    >>> list(found.values())
    [(10.0, 3.5), (8.0, 1.5), (9.5, 3.0), (7.0, 0.5)]
    """
    told = sum(spent for spent in timings.values() if spent is not None)
    wholes = {
        "the process": process,
        "the process, without importing manyview.cluster": process - imports,
        "result.json": told,
        "result.json, without the start": told - timings["start"],
    }
    return {name: (whole, max(whole - timings["fit"], 0.0)) for name, whole in wholes.items()}


if __name__ == "__main__":
    main()
