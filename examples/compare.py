"""Compare all methods on the same data: scikit-learn's digits, described in five ways, rows shuffled.

python examples/compare.py [--samples 600]
"""

from __future__ import annotations

import argparse
import time
import warnings

from manyview import clustering_scores
from manyview.cluster import available_methods
from manyview.datasets import load_digits_views


def main() -> None:
    """Fit all methods with their defaults, print scores and time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, help="number of images to use, at most 1,797 (default: all)")
    views = load_digits_views().shuffled(0)
    views = views.take(slice(parser.parse_args().samples))

    print(f"{views.n_samples} digits in {views.n_views} views, rows shuffled, one run with random_state=0")
    print(f"{'':22s} {'ACC':>6s} {'NMI':>6s} {'seconds':>8s}")
    for method in available_methods():
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some do not converge, two depend on the order of the rows
            labels = method.estimator(n_clusters=10, random_state=0).fit(views).labels_
        seconds = time.perf_counter() - start
        scores = clustering_scores(views.labels, labels)
        mark = "  depends on the order of the rows" if method.facts.order_dependent else ""
        print(f"{method.name:22s} {scores['acc']:6.3f} {scores['nmi']:6.3f} {seconds:8.2f}{mark}", flush=True)


if __name__ == "__main__":
    main()
