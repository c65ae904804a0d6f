"""Marker tests: false positives and power on generated data, and the time that statistics take.

    python benchmarks/describe.py rates --sets 200     share of tests with p < .05, without and with clusters
    python benchmarks/describe.py speed                20,000 features x 10,000 samples, dense and sparse (5 %)

``rates`` makes views that are independent of each other, without clusters, groups the samples all the same, and tests
every feature and cluster: naively, with the clusters that were found from all views, and as ``describe`` does it, with
clusters that were learned without the view. Then the same with clusters, of which some features know.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import scipy.sparse as sp

from manyview import GraphEnsemble, Views
from manyview._utils.machine import peak_memory, reset_peak, resident_memory
from manyview.description.markers import honest_p
from manyview.description.statistics import feature_statistics


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["rates", "speed"])
    parser.add_argument("--sets", type=int, default=200)
    options = parser.parse_args()
    if options.what == "rates":
        rates(options.sets)
    else:
        speed()


def rates(n_sets: int) -> None:
    for title, strength in (("without clusters", 0.0), ("with clusters", 1.0)):
        naive, honest, knowing = [], [], []
        for seed in range(n_sets):
            views, informative = generated(seed, strength)
            model = GraphEnsemble(3, n_members=16, random_state=seed).fit(views)
            for v, array in enumerate(views.arrays):
                naive.append(feature_statistics(array, model.labels_, 3).p < 0.05)
                honest.append(honest_p(views, v, model.labels_, model, seed, None)[0] < 0.05)
                knowing.append(np.broadcast_to(informative, honest[-1].shape))
        parts = [np.concatenate([each.ravel() for each in group]) for group in (naive, honest, knowing)]
        for name, rejected in zip(("naive", "honest"), parts, strict=False):
            others = f"features that know nothing {rejected[~parts[2]].mean():.3f}"
            known = f", features that know the clusters {rejected[parts[2]].mean():.3f}" if strength else ""
            print(f"{title}, {n_sets} sets, {name}: p < .05 in {others}{known}", flush=True)


def generated(seed: int, strength: float) -> tuple[Views, np.ndarray]:
    """Three views of 20 features, of which the first ten know the clusters of 150 samples, if there are any."""
    rng = np.random.default_rng(seed)
    labels, informative = rng.integers(3, size=150), np.arange(20) < (10 if strength else 0)
    centres = rng.normal(size=(3, 3, 20)) * strength * informative
    return Views([centre[labels] + rng.normal(size=(150, 20)) for centre in centres]), informative


def speed() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(10, size=10_000)
    feature_statistics(rng.random((50, 300)), labels[:50], 10)  # compiled
    feature_statistics(sp.random_array((50, 300), density=0.1, format="csr", rng=rng), labels[:50], 10)
    dense = rng.standard_normal((10_000, 20_000), dtype=np.float32)
    sparse = sp.random_array((10_000, 20_000), density=0.05, format="csr", dtype=np.float32, rng=rng)
    for name, view in (("dense, float32", dense), ("sparse, 5 %", sparse)):
        reset_peak()
        before, start = resident_memory() or 0, time.perf_counter()
        feature_statistics(view, labels, 10)
        seconds, peak = time.perf_counter() - start, ((peak_memory() or 0) - before) / 2**20
        print(f"20,000 features x 10,000 samples, 10 clusters, {name}: {seconds:.1f} s, {peak:.0f} MiB", flush=True)


if __name__ == "__main__":
    main()
