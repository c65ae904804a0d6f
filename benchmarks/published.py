"""Time and memory of a whole ``TBGL.fit`` with the published parameters, each in a process of its own.

    MANYVIEW_DATA=folder python benchmarks/published.py
    MANYVIEW_DATA=folder python benchmarks/published.py --reference 50   # seconds of the authors' program on MSRC-v5
    python benchmarks/published.py --growth 1000 2000 4000 8000 16000 30000

The first fit of a process includes loading the compiled kernels (and compiling them, the very first time after an
install); the second does not. The peak is that of the process, with Python and its libraries (about 0.2 GB) in it.

``--growth`` measures one pass of the solver on the generated set of ``against.py``, with 400 anchors and these numbers
of samples: seconds of one processor, mean over the passes 2 to 52, and the exponent of n between neighbouring sizes.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings

DATASETS = ("MSRC-v5", "Handwritten4")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS))
    parser.add_argument("--reference", type=float, help="seconds that another program took on the first dataset")
    parser.add_argument("--growth", nargs="+", type=int, metavar="N", help="time of one pass for these sizes")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(measure(args.measure)))
        return
    if args.growth:
        show_growth(args.growth)
        return
    print(
        f"{'dataset':14s} {'n':>6s} {'anchors':>8s} {'views':>6s} {'first fit':>10s} {'second fit':>11s} {'peak':>9s}"
    )
    for i, name in enumerate(args.datasets):
        command = [sys.executable, __file__, "--measure", name]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        line = "{dataset:14s} {n:6d} {anchors:8d} {views:6d} {first:8.2f} s {second:9.2f} s {peak:6.2f} GB"
        ratio = f"   {args.reference / found['second']:.0f} x the reference" if args.reference and i == 0 else ""
        print(line.format(**found) + ratio, flush=True)


def show_growth(sizes: list[int]) -> None:
    import numpy as np
    from against import load

    from manyview import TBGL
    from manyview._utils.progress import listening

    warnings.simplefilter("ignore")
    TBGL(3, n_anchors=50, n_jobs=1).fit(load("NUS-WIDE-like:300"))  # compiles
    seconds: list[float] = []
    for n in sizes:
        views = load(f"NUS-WIDE-like:{n}").shuffled(0)
        ends: list[float] = []
        with listening(lambda step, ends=ends: ends.append(time.process_time()) if step.what == "TBGL" else None):
            TBGL(31, n_anchors=400, n_jobs=1).fit(views)
        seconds.append((ends[-1] - ends[0]) / (len(ends) - 1))
        slope = np.log(seconds[-1] / seconds[-2]) / np.log(n / sizes[len(seconds) - 2]) if len(seconds) > 1 else np.nan
        print(f"n = {n:6d}: {seconds[-1]:.4f} s per pass, exponent {slope:.2f}", flush=True)
    print(f"exponent over all sizes: {np.polyfit(np.log(sizes), np.log(seconds), 1)[0]:.2f}")


def measure(name: str) -> dict[str, object]:
    import numpy as np

    from manyview import TBGL
    from manyview.datasets import fetch_dataset

    views = fetch_dataset(name)
    n_clusters = len(np.unique(views.labels))
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = TBGL(n_clusters).fit(views)
        seconds.append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return {
        "dataset": name,
        "n": views.n_samples,
        "anchors": len(model.anchor_indices_),
        "views": views.n_views,
        "first": seconds[0],
        "second": seconds[1],
        "peak": peak / 1e9,
    }


if __name__ == "__main__":
    main()
