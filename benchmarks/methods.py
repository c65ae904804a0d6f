"""Time and memory of every method, each in a process of its own.

    MANYVIEW_DATA=folder python benchmarks/methods.py                            Handwritten4, rows shuffled
    python benchmarks/methods.py --samples 20000 --methods MVSC LMVSC SFMC       generated blobs, 3 views, 10 clusters

Kernels are compiled before the clock starts. Memory is the peak of the process, less that before the fit.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
import warnings

import numpy as np

from manyview import Views, clustering_scores
from manyview.cluster import available_methods
from manyview.datasets import fetch_dataset, make_multiview

METHODS = {method.name: method for method in available_methods()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="Handwritten4")
    parser.add_argument("--samples", type=int, help="generate so many samples instead")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), metavar="NAME")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(measure(options.methods[0], load(options)))
        return
    what = f"{options.samples} generated samples" if options.samples else options.dataset
    print(f"{what}, rows shuffled\n{'':22s} {'seconds':>8s} {'MB':>7s} {'ACC':>6s} {'NMI':>6s}")
    for name in options.methods:
        arguments = [*sys.argv[1:], "--one", "--methods", name]
        done = subprocess.run([sys.executable, __file__, *arguments], stdout=subprocess.PIPE, text=True, check=True)
        print(f"{name:22s} {done.stdout.rstrip()}", flush=True)


def load(options: argparse.Namespace) -> Views:
    if options.samples:
        return make_multiview(options.samples, 10, n_features=20, noise=0.3, random_state=0).shuffled(0)
    return fetch_dataset(options.dataset).shuffled(0)


def measure(name: str, views: Views) -> str:
    warnings.simplefilter("ignore")
    estimator = METHODS[name].estimator
    estimator(3, random_state=0).fit(make_multiview(100, 3, noise=0.6, random_state=0))
    model = estimator(len(np.unique(views.labels)), random_state=0)
    before, start = peak(), time.perf_counter()
    model.fit(views)
    seconds = time.perf_counter() - start
    scores = clustering_scores(views.labels, model.labels_)
    return f"{seconds:8.2f} {peak() - before:7.0f} {scores['acc']:6.3f} {scores['nmi']:6.3f}"


def peak() -> float:
    """Largest memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


if __name__ == "__main__":
    main()
