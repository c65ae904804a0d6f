"""The authors' program and algorithm 1 as printed, side by side: ACC after some numbers of passes.

    MANYVIEW_DATA=folder python benchmarks/variants.py

MSRC-v5 in file order, which is sorted by class, and shuffled (``--shuffles`` permutations). Both variants start from
the same graphs. "largest residual" is that of the last number of passes, "components" those of its mean graph.
"""

from __future__ import annotations

import argparse

import numpy as np
import scipy.sparse as sp

from manyview.cluster._anchors import choose_anchors
from manyview.datasets import fetch_dataset
from manyview.graphs import SCALERS, bipartite_graph, component_labels, read_clusters, structured_graph
from manyview.metrics import accuracy
from manyview.solvers import published
from manyview.views import Views

PASSES = (30, 50, 51, 52, 53, 100, 150, 200, 250)
BETAS = {"program": (10.0,), "paper": (10.0, 1.0, 0.1, 0.01)}
N_CLUSTERS = 7


def curve(views: Views, variant: published.Variant, beta: float) -> tuple[list[float], float, int]:
    """Return ACC after each number of passes, and residual and components of the mean graph after the last."""
    scaled = [SCALERS["max"](view) for view in views.arrays]
    anchors = choose_anchors(scaled, "vda", views.n_samples // 2, 0)
    graphs = np.stack([bipartite_graph(view, view[anchors], 10).toarray() for view in scaled])
    settings = published.Settings(N_CLUSTERS, variant=variant, **published.VARIANTS[variant])
    found: list[float] = []
    mean = sp.csr_array(graphs[0])

    def measure(state: published.State, _: published.History) -> None:
        nonlocal mean
        if state.n_iter in PASSES:
            mean = sp.csr_array(published.consensus(state))
            nearest = structured_graph(mean, N_CLUSTERS).graph
            found.append(accuracy(views.labels, read_clusters(nearest, N_CLUSTERS, initial=mean, random_state=0)))

    _, history = published.run(graphs, settings, connectivity_weight=beta, max_iter=max(PASSES), on_pass=measure)
    return found, history.residual, component_labels(mean)[0]


def main() -> None:
    """Print the table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shuffles", type=int, default=3, help="permutations of the rows")
    shuffles = parser.parse_args().shuffles
    views = fetch_dataset("MSRC-v5")
    print(f"| order | variant | β | {' | '.join(map(str, PASSES))} | largest residual | components |")
    print("| --- " * (len(PASSES) + 5) + "|")
    for order, given in {"file": [views], "shuffled": [views.shuffled(seed) for seed in range(shuffles)]}.items():
        for variant, betas in BETAS.items():
            for beta in betas:
                curves = [curve(each, variant, beta) for each in given]  # type: ignore[arg-type]
                scores = np.mean([found for found, _, _ in curves], axis=0)
                residual, components = max(each[1] for each in curves), max(each[2] for each in curves)
                cells = " | ".join(f"{score:.3f}" for score in scores)
                print(f"| {order} | {variant} | {beta:g} | {cells} | {residual:.0e} | {components} |", flush=True)


if __name__ == "__main__":
    main()
