"""Time and memory of GraphEnsemble: two datasets, and growth with the number of samples.

    MANYVIEW_DATA=folder python benchmarks/graph_ensemble.py              Handwritten4 and Mnist4, rows shuffled
    python benchmarks/graph_ensemble.py --growth 5000 10000 20000 40000   generated blobs, with the exponent of n

Peak memory is that of the whole process. The first fit of a process that has never run compiles the kernels, which is
timed apart; the compiled code is kept on disk.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from manyview import GraphEnsemble, Views
from manyview.datasets import fetch_dataset, make_multiview


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="*", default=["Handwritten4", "Mnist4"])
    parser.add_argument("--growth", nargs="*", type=int, default=[], metavar="N", help="numbers of samples")
    args = parser.parse_args()

    print(f"first fit, with compilation or loading of the kernels: {seconds(make_multiview(200, 3), 3):.1f} s")
    if args.growth:
        times = []
        for n in args.growth:
            times.append(seconds(make_multiview(n, 10, n_features=20, noise=0.3, random_state=0), 10))
            print(f"n = {n:7,d}: {times[-1]:6.1f} s, peak {peak():.2f} GB", flush=True)
        exponent = np.polyfit(np.log(args.growth), np.log(times), 1)[0]
        print(f"time grows with n to the power of {exponent:.2f}")
        return
    for name in args.datasets:
        views = fetch_dataset(name).shuffled(0)
        k = len(np.unique(views.labels))
        print(f"{name}: {seconds(views, k):.1f} s, peak {peak():.2f} GB", flush=True)


def seconds(views: Views, n_clusters: int) -> float:
    """How long a fit takes."""
    start = time.perf_counter()
    GraphEnsemble(n_clusters, random_state=0).fit(views)
    return time.perf_counter() - start


def peak() -> float:
    """Largest memory of this process so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


if __name__ == "__main__":
    main()
