"""How often suggest_n_clusters finds the number of clusters, and how often it says that it is unsure.

    MANYVIEW_DATA=folder python benchmarks/choose_k.py

Generated sets: for each K from 2 to 20 a few, with numbers of samples, views, noise views and features, the noise and
the ratio of the largest to the smallest cluster drawn at random. A set counts as separable if GraphEnsemble, told the
true K, finds the clusters with an accuracy of at least 0.9. Sets without clusters: Gaussian and uniform clouds. Real
sets: all .mat files in the folder, and the tables in omics/breast if they are there. Rows are shuffled. Labels are used
for scoring only.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from manyview import GraphEnsemble, Views, read_views
from manyview.cluster import ClusterCountSuggestion, suggest_n_clusters
from manyview.datasets import make_multiview
from manyview.metrics import accuracy

SEPARABLE = 0.9


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=3, help="generated sets for each K")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--parts", nargs="*", default=["generated", "none", "real"])
    args = parser.parse_args()
    if "generated" in args.parts:
        generated(args.sets, args.seed)
    if "none" in args.parts:
        without_clusters(args.seed)
    if "real" in args.parts:
        real(args.seed)


def draw_sets(n_each: int, seed: int) -> Iterator[tuple[str, float, Views]]:
    """Name, noise and views of the generated sets."""
    rng = np.random.default_rng([seed, 20])
    for k in range(2, 21):
        for _ in range(n_each):
            n, n_views, n_noise_views = int(rng.choice([250, 600, 1000])), int(rng.integers(2, 5)), int(rng.integers(3))
            n_features = int(rng.integers(8, 41))
            noise, ratio = float(rng.choice([0.05, 0.1, 0.15, 0.2, 0.25])), float(rng.choice([1.0, 2.0, 5.0]))
            name = f"K={k} n={n} views={n_views}+{n_noise_views} features={n_features} noise={noise} sizes 1:{ratio:g}"
            yield (
                name,
                noise,
                make_multiview(
                    n,
                    k,
                    n_views=n_views,
                    n_noise_views=n_noise_views,
                    n_features=n_features,
                    noise=noise,
                    sizes=np.geomspace(1, ratio, k).tolist(),
                    random_state=int(rng.integers(2**31)),
                ),
            )


def generated(n_each: int, seed: int) -> None:
    """Yield sets with a known number."""
    results = []
    for name, noise, views in draw_sets(n_each, seed):
        assert views.labels is not None
        k = len(np.unique(views.labels))
        found, seconds = timed(views, seed)
        labels = GraphEnsemble(k, random_state=seed).fit(views).labels_
        acc = accuracy(views.labels, labels)
        results.append((noise, acc >= SEPARABLE, found.n_clusters == k, found.sure))
        print(f"{name}: {verdict(found, k)} (ACC with the true K {acc:.2f}, {seconds:.0f} s)", flush=True)
    table = np.array(results)
    report("generated, all", table)
    report("generated, separable", table[table[:, 1] == 1])
    for noise in np.unique(table[:, 0]):
        report(f"generated, noise {noise:g}", table[table[:, 0] == noise])


def report(title: str, table: np.ndarray) -> None:
    """One line of counts."""
    right, sure = table[:, 2] == 1, table[:, 3] == 1
    print(
        f"== {title}: {len(table)} sets; best guess right {right.sum()} ({right.mean():.0%}); sure and right "
        f"{(right & sure).sum()} ({(right & sure).mean():.0%}); unsure {(~sure).sum()}; sure and wrong "
        f"{(sure & ~right).sum()}",
        flush=True,
    )


def without_clusters(seed: int) -> None:
    """Clouds without clusters: the answer should be unsure."""
    rng = np.random.default_rng([seed, 1])
    wrong = 0
    shapes = [(shape, d) for shape in ("round", "long", "uniform") for d in (2, 4, 6, 8, 12, 20)]
    for shape, d in shapes:
        n = int(rng.choice([300, 700]))
        cloud = rng.random((n, d)) if shape == "uniform" else rng.normal(size=(n, d))
        cloud *= 0.8 ** np.arange(d) if shape == "long" else 1.0
        turns = [np.linalg.qr(rng.normal(size=(25, d)))[0].T for _ in range(3)]
        found, _ = timed(Views(tuple(cloud @ turn + rng.normal(0, 0.05, (n, 25)) for turn in turns)), seed)
        wrong += found.sure
        print(f"{shape} cloud, {d} dimensions, n={n}: {'sure of ' + str(found.n_clusters) if found.sure else 'unsure'}")
    print(f"== no clusters: {len(shapes)} sets; unsure {len(shapes) - wrong}; sure and wrong {wrong}", flush=True)


def real(seed: int) -> None:
    """Files with classes, as a table; the sums are over those whose number of classes is a choice."""
    results = []
    print(f"{'set':16s} {'classes':>7s} {'choices':>7s} {'taken':>5s}  {'candidates':18s} sure  within one  seconds")
    for name, views in real_sets(Path(os.environ["MANYVIEW_DATA"])):
        k = len(np.unique(views.labels))
        found, seconds = timed(views.shuffled(seed), seed)
        most, near, among = max(found.curve["n_clusters"]), abs(found.n_clusters - k) <= 1, k in found.candidates
        if k <= most:
            results.append((near, found.sure, among))
        candidates = ", ".join(f"{c}*" if c == k else str(c) for c in found.candidates)
        words = f"{name:16s} {k:7d}  2 to {most:2d} {found.n_clusters:5d}  {candidates:18s} "
        print(words + f"{'yes' if found.sure else 'no':4s}  {'yes' if near else 'no':10s}  {seconds:7.0f}", flush=True)
    near, sure, among = np.array(results).T
    print(
        f"== real: {len(near)} sets whose number of classes is a choice; best guess within one of it {near.sum()}; "
        f"a candidate (*) {among.sum()}; sure {sure.sum()}, of which within one {(sure & near).sum()}"
    )


def real_sets(folder: Path) -> Iterator[tuple[str, Views]]:
    """Name and views of the files in a folder."""
    for path in sorted(folder.glob("*.mat")):
        yield path.stem, read_views(path)
    tables = [folder / "omics" / "breast" / f"{name}.csv" for name in ("mrna", "mirna", "protein", "clinical")]
    if tables[-1].exists():
        yield "omics/breast", read_views(tables[:-1], labels=f"{tables[-1]}:subtype")


def timed(views: Views, seed: int) -> tuple[ClusterCountSuggestion, float]:
    """Return the suggestion, and how long it took."""
    start = time.perf_counter()
    found = suggest_n_clusters(views, random_state=seed)
    return found, time.perf_counter() - start


def verdict(found: ClusterCountSuggestion, k: int) -> str:
    """In a few words."""
    said = f"sure of {found.n_clusters}" if found.sure else f"unsure, {', '.join(map(str, found.candidates))}"
    return f"{said}{'' if found.n_clusters == k else ' WRONG'}"


if __name__ == "__main__":
    main()
