"""Marker tests: false positives and power on generated data, and the time that statistics take.

    python benchmarks/describe.py rates --sets 200     how often p < .05, if views are independent and if they are not
    python benchmarks/describe.py speed                20,000 features x 10,000 samples, dense and sparse (5 %)

``rates`` generates three views of 20 features for 150 samples, clusters them with GraphEnsemble(3), and tests every
feature of every view and cluster twice: with the clusters that were found from all views (naive), and as ``describe``
does it, with clusters that were learned without the view. In the first three settings the views are independent of each
other, so that each rejection is a false one:

- "no clusters": all values are independent;
- "factors": the features of a view follow two factors of its own, as those of real tables do;
- "own clusters": each view has three clusters of its own, which the other views do not know;
- "shared clusters": three clusters in all views, known to half of the features.

``speed`` measures ``feature_statistics``, which does for a view what ``scanpy.tl.rank_genes_groups`` does for an
AnnData, beside the latter with its default options (its rank test then has no correction for ties) where scanpy is
installed. Memory is the peak above what the table itself takes.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview import GraphEnsemble, Views, describe
from manyview._utils.machine import peak_memory, reset_peak, resident_memory
from manyview.description.statistics import corrected, feature_statistics

SETTINGS = ("no clusters", "factors", "own clusters", "shared clusters")
N_SAMPLES, N_VIEWS, N_FEATURES, N_CLUSTERS = 150, 3, 20, 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["rates", "speed"])
    parser.add_argument("--sets", type=int, default=200, help="generated sets per setting of `rates` (default 200)")
    parser.add_argument("--samples", type=int, default=10_000, help="samples of `speed` (default 10,000)")
    parser.add_argument("--features", type=int, default=20_000, help="features of `speed` (default 20,000)")
    options = parser.parse_args()
    if options.what == "rates":
        rates(options.sets)
    else:
        speed(options.samples, options.features)


def rates(n_sets: int) -> None:
    print(f"{n_sets} sets per setting. Shares of tests with p < .05 among features that know the shared clusters, and")
    print(
        "among those that do not; FDR: mean share of the latter in what has a corrected p < .05, by view; tested: share"
    )
    print("of features and clusters that have a p value")
    print(f"{'setting':16s} {'p values':10s} {'know':>6s} {'do not':>7s} {'FDR':>6s} {'tested':>7s}", flush=True)
    for setting in SETTINGS:
        rejected: dict[str, list[np.ndarray]] = {"naive": [], "describe": []}
        false_share: dict[str, list[float]] = {"naive": [], "describe": []}
        knowing = np.arange(N_FEATURES) < (N_FEATURES // 2 if setting == "shared clusters" else 0)
        for seed in range(n_sets):
            views = generated(setting, seed)
            model = GraphEnsemble(N_CLUSTERS, n_members=16, random_state=seed).fit(views)
            # every feature, and not just the strongest
            markers = describe(views, model, n_markers=N_FEATURES, random_state=seed).markers
            for name, array in views.items():
                own = markers[markers["view"] == name].astype({"feature": int})
                honest = own.pivot(index="cluster", columns="feature", values="p").to_numpy()
                for kind, p in (
                    ("naive", feature_statistics(array, model.labels_, N_CLUSTERS).p),
                    ("describe", honest),
                ):
                    rejected[kind].append(np.where(np.isnan(p), np.nan, p < 0.05))
                    found = corrected(p) < 0.05
                    false_share[kind].append(found[:, ~knowing].sum() / max(found.sum(), 1))
        for kind, tests in rejected.items():
            power = f"{np.nanmean([test[:, knowing] for test in tests]):6.3f}" if knowing.any() else "     -"
            wrong = np.nanmean([test[:, ~knowing] for test in tests])
            fdr, tested = np.mean(false_share[kind]), np.mean(np.isfinite(tests))
            print(f"{setting:16s} {kind:10s} {power} {wrong:7.3f} {fdr:6.3f} {tested:7.3f}", flush=True)


def generated(setting: str, seed: int) -> Views:
    rng = np.random.default_rng([seed, SETTINGS.index(setting)])
    shared = rng.integers(N_CLUSTERS, size=N_SAMPLES)
    tables = []
    for _ in range(N_VIEWS):
        noise = rng.normal(size=(N_SAMPLES, N_FEATURES))
        if setting == "factors":
            noise += rng.normal(size=(N_SAMPLES, 2)) @ rng.normal(size=(2, N_FEATURES))
        elif setting != "no clusters":
            labels = rng.integers(N_CLUSTERS, size=N_SAMPLES) if setting == "own clusters" else shared
            centres = rng.normal(size=(N_CLUSTERS, N_FEATURES))
            centres[:, N_FEATURES // 2 :] *= setting == "own clusters"
            noise += centres[labels]
        tables.append(noise)
    return Views(tables)


def speed(n_samples: int, n_features: int) -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(10, size=n_samples)
    dense = np.abs(rng.standard_normal((n_samples, n_features), dtype=np.float32))
    sparse = sp.random_array((n_samples, n_features), density=0.05, format="csr", dtype=np.float32, rng=rng)
    scanpy_tests = scanpy_rankings()
    if not scanpy_tests:
        print("scanpy is not installed: left out")
    print(f"{n_features:,} features x {n_samples:,} samples, 10 clusters, float32; the better of two runs", flush=True)
    for name, view in (("dense", dense), ("sparse, 5 %", sparse)):
        tests = {"manyview": lambda view, labels: feature_statistics(view, labels, 10), **scanpy_tests}
        for program, test in tests.items():
            test(view[:500, :300], labels[:500])  # compiled
            measure(f"{name}, {program}", lambda test=test, view=view: test(view, labels))


def measure(title: str, work: Callable[[], Any]) -> None:
    """Print wall clock and processor seconds of the better of two runs, and the peak memory of the first."""
    seconds, peaks = [], []
    for _ in range(2):
        reset_peak()
        before, start, used = resident_memory() or 0, time.perf_counter(), time.process_time()
        work()
        seconds.append((time.perf_counter() - start, time.process_time() - used))
        peaks.append(((peak_memory() or 0) - before) / 2**20)
    wall, processor = min(seconds)
    print(f"{title:34s} {wall:7.1f} s, {processor:7.1f} s of processors, {peaks[0]:6.0f} MiB", flush=True)


def scanpy_rankings() -> dict[str, Callable[[Any, np.ndarray], None]]:
    """Return scanpy's tests by name, each a function of table and labels; none if it is not installed."""
    try:
        import anndata
        import pandas
        import scanpy
    except ImportError:
        return {}

    def rank(method: str, view: Any, labels: np.ndarray) -> None:
        groups = pandas.DataFrame({"cluster": pandas.Categorical(labels)}, index=np.arange(len(labels)).astype(str))
        table = sp.csr_matrix(view) if sp.issparse(view) else view  # scanpy 1.11 knows no sparse arrays
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scanpy.tl.rank_genes_groups(anndata.AnnData(table, obs=groups), "cluster", method=method)

    return {
        f"scanpy {method}": lambda view, labels, method=method: rank(method, view, labels)
        for method in ("wilcoxon", "t-test")
    }


if __name__ == "__main__":
    main()
