"""From which size on clusters are found among a million samples, of which 10,000 are learned on.

    python benchmarks/rare.py                        recall against size, with the second draw and without
    python benchmarks/rare.py --sizes 20 500 --seeds 5 --samples 300000
    python benchmarks/rare.py --others 100000        draw from all, but assign only these and the rare ones: much faster
    MANYVIEW_DATA=folder python benchmarks/rare.py ordinary    what the second draw adds where no cluster is rare

Three views of 8 features, float32: seven clusters of equal size and one rare cluster, rows in random order. Clusters
and found clusters are matched one to one, so that a rare cluster within a larger one has recall 0. Precision is the
share of the found cluster that belongs to the rare one; with --others it is estimated from these.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

import numpy as np

from manyview import GraphEnsemble, Views
from manyview._utils.machine import one_thread
from manyview.cluster import _graph_ensemble
from manyview.datasets import load_mnist_views, make_multiview
from manyview.ensemble.samples import draw_by_content, local_rows
from manyview.metrics import accuracy
from manyview.metrics.matching import match_labels

SIZES = [20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000]
N_VIEWS, N_FEATURES, N_CLUSTERS = 3, 8, 8


def generated(n: int, size: int, seed: int, noise: float) -> tuple[list[np.ndarray], np.ndarray]:
    """Clusters around random centres, the last of them with ``size`` samples."""
    rng = np.random.default_rng(seed)
    last = N_CLUSTERS - 1
    labels = rng.permutation(np.concatenate([np.full(size, last), np.arange(n - size) % last]))
    views = []
    for _ in range(N_VIEWS):
        centres = rng.standard_normal((N_CLUSTERS, N_FEATURES), dtype=np.float32)
        views.append(centres[labels] + np.float32(noise) * rng.standard_normal((n, N_FEATURES), dtype=np.float32))
    return views, labels


def without_second_draw(*drawn: object) -> tuple[object, object]:
    """Take the first draw as it is."""
    return drawn[1], drawn[2]


def recall(views: list[np.ndarray], labels: np.ndarray, options: argparse.Namespace) -> tuple[float, ...]:
    """Recall and precision of the rare cluster, accuracy of all clusters, seconds, and rare samples learned on."""
    start, last = time.perf_counter(), N_CLUSTERS - 1
    model = GraphEnsemble(N_CLUSTERS, random_state=0, n_members=options.members)
    weight, drawn = 1.0, np.nan
    if options.others is None:
        found = model.fit(views).labels_
    else:  # the same draw, members learned on it in memory, and some samples assigned
        rows = local_rows(Views(tuple(views)), None)
        with one_thread():
            sample, given, _ = draw_by_content(rows, 10_000)
            sample, given = _graph_ensemble.add_rare(rows, sample, given, ["auto"] * N_VIEWS)
        model.set_params(learn_on=2 * len(given)).fit(sample)
        drawn = float((labels[given] == last).sum())
        rare = np.flatnonzero(labels == last)
        others = np.flatnonzero(labels != last)[: options.others]
        weight, some = (len(labels) - len(rare)) / len(others), np.concatenate([rare, others])
        labels, found = labels[some], model.predict([view[some] for view in views])
    found = match_labels(labels, found)
    seconds = time.perf_counter() - start
    rare, said = labels == last, found == last
    both = (rare & said).sum()
    precision = both / max(both + weight * (said & ~rare).sum(), 1)
    return both / rare.sum(), precision, float((labels == found).mean()), seconds, drawn


def curve(options: argparse.Namespace) -> None:
    """Print recall, precision and seconds for every size, with the second draw and without."""
    second_draw = _graph_ensemble.add_rare
    print(
        f"{'size':>6s}  drawn at first  recall, precision and seconds without | with a second draw; mean of all seeds"
    )
    for size in options.sizes:
        rows: dict[str, list[tuple[float, ...]]] = {"without": [], "with": []}
        for seed in range(options.seeds):
            views, labels = generated(options.samples, size, seed, options.noise)
            for name, draw in (("without", without_second_draw), ("with", second_draw)):
                _graph_ensemble.add_rare = draw
                rows[name].append(recall(views, labels, options))
        _graph_ensemble.add_rare = second_draw
        means = {name: np.mean(found, axis=0) for name, found in rows.items()}
        texts = [f"{r:.3f} {p:.3f} (ACC {a:.4f}, {d:.1f} learned on) {s:5.1f} s" for r, p, a, s, d in means.values()]
        print(f"{size:6d}  {size * 10_000 / options.samples:8.1f}  {' | '.join(texts)}", flush=True)


def ordinary_data() -> Iterator[tuple[str, list[np.ndarray], np.ndarray]]:
    """Yield data without rare clusters: overlapping, with few dimensions, with heavy tails, handwritten digits."""
    rng = np.random.default_rng(0)
    for noise in (0.1, 0.3, 0.6):
        views = make_multiview(200_000, N_CLUSTERS, n_features=20, noise=noise, random_state=0).shuffled(0)
        yield f"200,000 blobs, noise {noise}", list(views.arrays), views.labels
    labels = np.arange(200_000) % N_CLUSTERS
    for name, noise in (
        ("normal", rng.standard_normal((3, 200_000, 2))),
        ("exponential", rng.exponential(size=(3, 200_000, 2))),
        ("Student t, 3 degrees of freedom", rng.standard_t(3, (3, 200_000, 2))),
        ("Student t, 3 degrees of freedom, 20 features", rng.standard_t(3, (3, 200_000, 20))),
    ):
        centres = 4 * rng.standard_normal((3, N_CLUSTERS, noise.shape[2]))
        yield f"200,000, {noise.shape[2]} features per view, {name}", list(noise + centres[:, labels]), labels
    views = load_mnist_views().shuffled(0)
    yield "MNIST63k", list(views.arrays), views.labels


def ordinary() -> None:
    """Print how many samples the second draw adds, and the accuracy without and with it."""
    second_draw, added = _graph_ensemble.add_rare, []

    def counting(rows, sample, given, wanted):  # type: ignore[no-untyped-def]
        found = second_draw(rows, sample, given, wanted)
        added.append(len(found[1]) - len(given))
        return found

    for name, views, labels in ordinary_data():
        n_clusters, texts = len(np.unique(labels)), []
        for draw in (without_second_draw, counting):
            _graph_ensemble.add_rare = draw
            start = time.perf_counter()
            found = GraphEnsemble(n_clusters, random_state=0).fit(views).labels_
            texts.append(f"ACC {accuracy(labels, found):.4f} in {time.perf_counter() - start:.1f} s")
        print(f"{name}: {added[-1]} samples added; {texts[0]} without, {texts[1]} with", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=["curve", "ordinary"], default="curve")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--noise", type=float, default=0.35)
    parser.add_argument("--members", type=int, default=48)
    parser.add_argument("--others", type=int, help="assign only as many of the other samples")
    options = parser.parse_args()
    ordinary() if options.what == "ordinary" else curve(options)


if __name__ == "__main__":
    main()
