"""Search the published method's parameters for the setting that comes closest to the paper, rows in file order.

The paper prints neither its parameters nor its stopping rule for most datasets, so they have to be looked for. The
labels choose the setting: what this prints says how near the method can come to the printed table, and nothing about
how well it clusters data whose classes are unknown.

    MANYVIEW_DATA=folder python benchmarks/published_search.py Handwritten4 --minutes 30 --log search.csv
"""

from __future__ import annotations

import argparse
import csv
import itertools
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from manyview import check_views
from manyview.cluster._anchors import choose_anchors, count_anchors
from manyview.datasets import fetch_dataset
from manyview.graphs import SCALERS, bipartite_graph, read_clusters, structured_graph
from manyview.metrics import clustering_scores
from manyview.solvers import published

GRID = {
    "n_anchors": [0.1, 0.2, 0.3, 0.5, 0.7],
    "p": [0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0],
    "noise_weight": [0.0006, 0.001, 0.0016, 0.002, 0.005, 0.025, 0.1],
    "sparsity_weight": [0.0, 1e-4],
}
PASSES = (38, 42, 46, 48, 50, 52, 54, 56, 60, 66, 72, 76, 80, 84, 88, 92, 100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=0, help="order in which the grid is visited")
    parser.add_argument("--max-anchors", type=int, default=1500, help="leave out larger anchor sets")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME=V1,V2", help="narrow the grid")
    parser.add_argument("--log", type=Path, default=None, help="append every result to this CSV file")
    args = parser.parse_args()
    grid = dict(GRID)
    for item in args.only:
        name, values = item.split("=")
        grid[name] = [float(value) for value in values.split(",")]

    views = fetch_dataset(args.dataset)
    n_clusters = len(np.unique(views.labels))
    scaled = [SCALERS["max"](view) for view in check_views(views).arrays]
    configurations = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    np.random.default_rng(args.seed).shuffle(configurations)
    deadline = time.monotonic() + 60 * args.minutes
    results: list[dict[str, float]] = []
    for parameters in configurations:
        if time.monotonic() > deadline:
            break
        if parameters["n_anchors"] * views.n_samples > args.max_anchors:
            continue
        found = try_one(scaled, views.labels, n_clusters, parameters, args.threads)
        results += found
        best = max(found, key=lambda r: r["acc"])
        print(" ".join(f"{k}={v:g}" for k, v in best.items()), flush=True)
        if args.log is not None:
            write_rows(args.log, found)
    print(f"\nbest of {len(results)} (file order), {args.dataset}:")
    for row in sorted(results, key=lambda r: -r["acc"])[:5]:
        print(" ".join(f"{k}={v:g}" for k, v in row.items()))


def try_one(
    scaled: list, labels: np.ndarray, n_clusters: int, parameters: dict[str, float], n_threads: int | None
) -> list[dict[str, float]]:
    """Scores after each of PASSES, one row each."""
    n_anchors = count_anchors("vda", parameters["n_anchors"], len(labels), n_clusters)
    anchors = choose_anchors(scaled, "vda", n_anchors, None)
    graphs = np.stack([bipartite_graph(view, view[anchors], 10).toarray() for view in scaled])
    settings = published.Settings(n_clusters=n_clusters, **{k: v for k, v in parameters.items() if k != "n_anchors"})
    rows: list[dict[str, float]] = []

    def score(state: published.State, history: published.History) -> None:
        if state.n_iter not in PASSES:
            return
        graph = sp.csr_array(published.consensus(state))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = read_clusters(structured_graph(graph, n_clusters).graph, n_clusters, initial=graph, random_state=0)
        scores = clustering_scores(labels, found, nmi_average="max")
        rows.append({**parameters, "max_iter": state.n_iter, "acc": scores["acc"], "nmi": scores["nmi"]})

    published.run(graphs, settings, max_iter=max(PASSES), n_threads=n_threads, on_pass=score)
    return rows


def write_rows(path: Path, rows: list[dict[str, float]]) -> None:
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        if new:
            writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
