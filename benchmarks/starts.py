"""Starts, restarts and subsamples of the methods: what their defaults cost, judged by the objective.

    MANYVIEW_DATA=folder python benchmarks/starts.py defaults     two defaults before and after, ten shuffles each
    MANYVIEW_DATA=folder python benchmarks/starts.py objectives   objectives by number of starts, one shuffle

``defaults`` compares, by ACC and NMI (divided by the larger entropy) on shuffled rows, ``SMSC`` from k-means only with
the better of its two starts by the objective, and ``LMVSC`` with anchors from 50 rows per centre with anchors from all
rows up to 10,000; on datasets with fewer rows nothing changed.

``objectives`` starts each method with random starts 20 times. The lowest objective of these counts as reachable; a line
shows by how much the lowest of 1, 5 or 10 of them is above it on average over the datasets, the same for the default,
and on how many datasets the default loses more than 1 %. The labels are not looked at. The objective is that of the
method or, for methods that end with k-means on an embedding, the sum of squares within clusters there; for anchors,
that of the anchors.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import comb
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans

from manyview import Views, clustering_scores, read_views
from manyview.cluster import _anchors, available_methods
from manyview.graphs import SCALERS
from manyview.graphs.anchors import concatenate

DATASETS = (
    *("MSRC-v5", "Handwritten4", "Mnist4", "BBCSport", "ORL", "3Sources", "100Leaves", "Scene_15", "WebKB"),
    *("Reuters-1200", "Handwritten6", "NGs", "LandUse_21", "ProteinFold", "Movies", "Wikipedia", "BBC4view"),
    "Reuters600",
)
METHODS = {method.name: method.estimator for method in available_methods()}
STARTS = 20
SUBSETS = (1, 5, 10)
CLEAR = 0.01  # differences of objectives below this share are no reason for more starts


def load(name: str) -> Views:
    return read_views(Path(os.environ["MANYVIEW_DATA"]) / f"{name}.mat")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["defaults", "objectives"])
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS))
    parser.add_argument("--methods", nargs="+", default=None, metavar="NAME")
    parser.add_argument("--seeds", type=int, default=10, help="shuffles of defaults")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.what == "defaults":
        defaults(options.datasets, options.methods or ["SMSC", "LMVSC"], options.seeds)
    else:
        objectives(options.datasets, options.methods or list(STARTED))


# Defaults before and after -------------------------------------------------------------------------------------------


@contextmanager
def few_rows() -> Iterator[None]:
    """Find anchors from 50 rows per centre, however few rows there are."""
    usual, _anchors._ALL_ROWS = _anchors._ALL_ROWS, 0
    try:
        yield
    finally:
        _anchors._ALL_ROWS = usual


def defaults(datasets: list[str], methods: list[str], seeds: int) -> None:
    print("| method | dataset | n | ACC before | ACC now | NMI before | NMI now |\n" + "|---" * 7 + "|")
    for name in methods:
        means, unchanged = [], []
        for dataset in datasets:
            views = load(dataset)
            if name == "LMVSC" and has_few_rows(views):
                unchanged.append(dataset)
                continue
            before, now = [], []
            for seed in range(seeds):
                shuffled = views.shuffled(seed)
                if name == "SMSC":
                    before.append(scores(name, shuffled, seed, initialization="kmeans"))
                else:
                    with few_rows():
                        before.append(scores(name, shuffled, seed))
                now.append(scores(name, shuffled, seed))
            columns = [np.array(runs)[:, i] for i in (0, 1) for runs in (before, now)]
            means.append([column.mean() for column in columns])
            cells = [f"{column.mean():.3f} ± {column.std():.3f}" for column in columns]
            print(f"| {name} | {dataset} | {views.n_samples:,} | {' | '.join(cells)} |", flush=True)
        print(f"| {name} | mean | | {' | '.join(f'{mean:.3f}' for mean in np.mean(means, axis=0))} |", flush=True)
        if unchanged:
            print(f"\n{name} used all rows before, too: {', '.join(unchanged)}.")


def has_few_rows(views: Views) -> bool:
    """Return whether 50 rows per centre are all rows."""
    n_clusters = len(np.unique(views.labels))
    return views.n_samples <= _anchors._ROWS_PER_CENTRE * METHODS["LMVSC"](n_clusters)._anchor_count(views)


def scores(name: str, views: Views, seed: int, **parameters: object) -> tuple[float, float]:
    model = METHODS[name](len(np.unique(views.labels)), random_state=seed, **parameters).fit(views)
    found = clustering_scores(views.labels, model.labels_, nmi_average="max")
    return found["acc"], found["nmi"]


# Objectives by number of starts --------------------------------------------------------------------------------------


def recorded_starts(name: str) -> Callable[[Views, int], list[float]]:
    """Return the objectives that a method records for each of its starts."""

    def run(views: Views, n_clusters: int) -> list[float]:
        return list(METHODS[name](n_clusters, n_init=STARTS, random_state=0).fit(views).history_["start_objective"])

    return run


def readout(name: str) -> Callable[[Views, int], list[float]]:
    """Return the sums of squares of k-means on the embedding of a method."""

    def run(views: Views, n_clusters: int) -> list[float]:
        points = METHODS[name](n_clusters, n_init=1, random_state=0).fit(views).embedding_
        return [KMeans(n_clusters, n_init=1, random_state=seed).fit(points).inertia_ for seed in range(STARTS)]

    return run


def smsc(views: Views, n_clusters: int) -> list[float]:
    """Return the objectives of SMSC from single starts of k-means; the last is that of its default."""
    fits = [
        METHODS["SMSC"](n_clusters, initialization="kmeans", n_init=1, random_state=seed).fit(views)
        for seed in range(STARTS)
    ]
    return [*(fit.history_["objective"][-1] for fit in fits), smsc_default(views, n_clusters)]


def smsc_default(views: Views, n_clusters: int) -> float:
    return float(METHODS["SMSC"](n_clusters, random_state=0).fit(views).history_["objective"][-1])


def lmvsc_anchors(views: Views, n_clusters: int) -> list[float]:
    """Return the sums of squares of LMVSC's anchors in the first view, from single random starts."""
    m = METHODS["LMVSC"](n_clusters)._anchor_count(views)
    return centres(SCALERS["max"](views.arrays[0]), m, "random", rounds=100)


def mvsc_anchors(views: Views, n_clusters: int) -> list[float]:
    """Return the sums of squares of MVSC's anchors, views side by side; it takes the first start."""
    m = METHODS["MVSC"](n_clusters)._anchor_count(views.n_samples)
    return centres(concatenate([SCALERS["max"](view) for view in views.arrays]), m, "spread", rounds=20)


def centres(table: np.ndarray, n_centres: int, seeds: str, rounds: int) -> list[float]:
    found = []
    for seed in range(STARTS):
        rng = np.random.RandomState(seed)
        anchors = _anchors.kmeans_centres(table, n_centres, rng, max_iter=rounds, seeds=seeds, n_init=1)
        found.append(float(-KMeans(len(anchors), init=anchors, n_init=1, max_iter=1).fit(table).score(table)))
    return found


STARTED: dict[str, tuple[Callable[[Views, int], list[float]], int | None]] = {
    "RDEKM": (recorded_starts("RDEKM"), METHODS["RDEKM"](2).n_init),
    "SMSC": (smsc, None),
    **{
        f"{name}, k-means": (run(name), METHODS[name](2).n_init)
        for name, run in {
            **dict.fromkeys(("ConcatKMeans", "ConcatSpectral"), recorded_starts),
            **dict.fromkeys(
                ("CoTrainingSpectral", "CoRegularizedSpectral", "MVSC", "AMGL", "LMVSC", "SNF", "ETLMSC"), readout
            ),
        }.items()
    },
    "LMVSC, anchors": (lmvsc_anchors, METHODS["LMVSC"](2).n_init),
    "MVSC, anchors": (mvsc_anchors, 1),
}
"""For every method with random starts: how to start it 20 times, and how many starts its default makes."""


def objectives(datasets: list[str], methods: list[str]) -> None:
    heads = ["what starts", *(f"best of {q}" for q in SUBSETS), "default", "its loss", "above 1 %"]
    print(f"| {' | '.join(heads)} |\n" + "|---" * len(heads) + "|")
    for name in methods:
        run, usual = STARTED[name]
        above = []
        for dataset in datasets:
            views = load(dataset).shuffled(0)
            found = np.array(run(views, len(np.unique(views.labels))))
            single, lowest = found[:STARTS], found.min()
            ours = found[-1] if usual is None else lowest_of(single, usual)
            above.append([excess(value, lowest) for value in (*(lowest_of(single, q) for q in SUBSETS), ours)])
            print(f"<!-- {name} on {dataset}: {', '.join(f'{loss:.3%}' for loss in above[-1])} -->", flush=True)
        *cells, loss = (f"{value:.2%}" for value in np.mean(above, axis=0))
        far = f"{sum(losses[-1] > CLEAR for losses in above)} of {len(datasets)}"
        print(f"| {' | '.join([name, *cells, str(usual or 'k-means and SVD'), loss, far])} |", flush=True)


def excess(value: float, lowest: float) -> float:
    return (value - lowest) / abs(lowest) if lowest else float(value > lowest)


def lowest_of(values: np.ndarray, q: int) -> float:
    """Return the expected minimum of q of these values, drawn without replacement."""
    ordered = np.sort(values)
    n = len(ordered)
    q = min(q, n)
    return float(sum(comb(n - 1 - i, q - 1) * value for i, value in enumerate(ordered[: n - q + 1])) / comb(n, q))


if __name__ == "__main__":
    main()
