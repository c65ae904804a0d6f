"""New samples: do they get the clusters that a fit with them would find, and what do a million of them cost?

    MANYVIEW_DATA=folder python benchmarks/predict.py             agreement with a refit, rows shuffled, ten splits
    python benchmarks/predict.py --many 100000 1000000            time and memory of predict beside k-means
    python benchmarks/predict.py --files 100000                   size of a model's file, without and with results

Agreement: fit on 80 % of the samples, predict the others, and compare with a fit on all: ARI over the others. For
comparison, the ARI of the two fits over the 80 % that both have seen.
"""

from __future__ import annotations

import argparse
import threading
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.cluster import KMeans

from manyview import GraphEnsemble, Views
from manyview.datasets import fetch_dataset, load_digits_views, make_multiview
from manyview.metrics import accuracy, adjusted_rand


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", default=["MSRC-v5", "Handwritten4", "Mnist4", "digits"])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--many", nargs="*", type=int, default=[], metavar="N", help="numbers of new samples")
    parser.add_argument("--files", nargs="*", type=int, default=[], metavar="N", help="numbers of fitted samples")
    args = parser.parse_args()
    if args.files:
        show_files(args.files)
        return
    if args.many:
        show_cost(args.many)
        return
    print(
        f"| rows shuffled, {args.splits} splits | new samples: ARI with a refit | fitted samples: ARI of the two fits |"
        " ACC of new samples | ACC of the refit on them |"
    )
    print("|---|---|---|---|---|")
    means = []
    for name in args.datasets:
        views = load_digits_views() if name == "digits" else fetch_dataset(name)
        found = np.array([split(views.shuffled(seed), seed) for seed in range(args.splits)])
        means.append(found.mean(axis=0)[0])
        cells = [f"{mean:.3f} ± {std:.3f}" for mean, std in zip(found.mean(axis=0), found.std(axis=0), strict=True)]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    print(f"\nmean over the datasets of the ARI of new samples with a refit: {np.mean(means):.3f}")


def split(views: Views, seed: int) -> tuple[float, float, float, float]:
    n_clusters, n_fitted = len(np.unique(views.labels)), int(0.8 * views.n_samples)
    fitted, new = views.take(slice(0, n_fitted)), views.take(slice(n_fitted, None))
    model = GraphEnsemble(n_clusters, random_state=seed).fit(fitted)
    refit = GraphEnsemble(n_clusters, random_state=seed).fit(views).labels_
    labels = model.predict(new)
    return (
        adjusted_rand(refit[n_fitted:], labels),
        adjusted_rand(refit[:n_fitted], model.labels_),
        accuracy(new.labels, labels),
        accuracy(new.labels, refit[n_fitted:]),
    )


def show_cost(sizes: list[int]) -> None:
    """Predict of a fit on 10,000 samples, beside k-means on the views side by side; each the best of three."""
    everyone = make_multiview(max(sizes) + 10_000, 10, n_features=20, noise=0.3, random_state=0)
    fitted = everyone.take(slice(0, 10_000))
    model = GraphEnsemble(10, random_state=0).fit(fitted)
    other = KMeans(10, n_init=10, random_state=0).fit(np.hstack(fitted.arrays))
    runs = {"GraphEnsemble": model.predict, "KMeans": lambda views: other.predict(np.hstack(views.arrays))}
    for n in sizes:
        new = everyone.take(slice(10_000, 10_000 + n))
        seconds = dict.fromkeys(runs, np.inf)
        for round_ in range(3):
            for name, run in runs.items():
                start = time.perf_counter()
                with PeakMemory() as memory:
                    labels = run(new)
                seconds[name] = min(seconds[name], time.perf_counter() - start)
                if round_ == 2:
                    print(
                        f"{name:13s} {n:9,d} new samples in {new.n_views} views: {seconds[name]:6.2f} s, "
                        f"{n / seconds[name]:,.0f} a second, {memory.more / 1e6:.0f} MB more memory than before, "
                        f"ACC {accuracy(new.labels, labels):.3f} (any order)",
                        flush=True,
                    )


def show_files(sizes: list[int]) -> None:
    for n in sizes:
        views = make_multiview(n, 10, n_features=32, random_state=0)
        views = replace(views, arrays=tuple(array.astype(np.float32) for array in views.arrays))
        model = GraphEnsemble(10, random_state=0).fit(views)
        with TemporaryDirectory() as folder:
            path = Path(folder, "model.manyview")
            for results in (False, True):
                model.save(path, results=results)
                print(f"{n:9,d} x 3 x 32 float32, results={results}: {path.stat().st_size / 1e6:.1f} MB", flush=True)


class PeakMemory:
    """How much more memory this process held than at the start, looked at every hundredth of a second (Linux)."""

    def __enter__(self) -> PeakMemory:
        self._first, self.more, self._done = resident(), 0, threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.01):
            self.more = max(self.more, resident() - self._first)


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


if __name__ == "__main__":
    main()
