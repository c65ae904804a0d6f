"""What each part of GraphEnsemble is worth: the default, and the default with one part switched off or replaced.

    MANYVIEW_DATA=folder python benchmarks/ablation.py --seeds 3

Rows are shuffled, differently for every seed. The labels are used for scoring only.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from unittest.mock import patch

import numpy as np

from manyview import GraphEnsemble
from manyview.datasets import fetch_dataset
from manyview.ensemble import consensus, members
from manyview.ensemble.members import FAMILIES, Settings
from manyview.graphs.scaling import choose_scaling
from manyview.metrics import accuracy, normalized_mutual_info
from manyview.proximal import prox_lp

CLEAR = ("MSRC-v5", "Handwritten4", "Mnist4", "BBCSport", "ORL", "3Sources")
HARD = ("100Leaves", "Scene_15", "WebKB", "Reuters-1200")
LOCAL, BROAD, *JOINT = FAMILIES
SIDE_BY_SIDE = "views side by side only"

Change = Callable[[Settings], Settings]

VARIANTS: dict[str, tuple[Change, dict[str, object]]] = {
    "default": (lambda s: s, {}),
    "one member": (lambda s: replace(s, n_members=1, n_tries=1), {}),
    "views added up only": (lambda s: replace(s, families=(LOCAL, BROAD)), {}),
    SIDE_BY_SIDE: (lambda s: replace(s, families=tuple(JOINT)), {}),
    "all vectors count the same": (lambda s: s, {"drop_power": 0.0}),
    "local graphs only": (lambda s: replace(s, families=(LOCAL,)), {}),
    "broad graphs only": (lambda s: replace(s, families=(BROAD,)), {}),
    "broad graphs added up": (lambda s: replace(s, families=(LOCAL, replace(BROAD, choosiness=None), *JOINT)), {}),
    "equal member weights": (lambda s: replace(s, weight_power=0.0), {}),
    "all views in every member": (lambda s: replace(s, view_share=1.0), {}),
    "all anchors in every member": (lambda s: replace(s, anchor_share=(1.0, 1.0)), {}),
    "K' = K": (lambda s: replace(s, more_clusters=1.0), {}),
    "Schatten-1 consensus": (lambda s: s, {"schatten": 1.0}),
    "Schatten-1/2 consensus": (lambda s: s, {"schatten": 0.5}),
    "scaling: directions": (lambda s: s, {"scaling": "directions"}),
    "scaling: unit rows": (lambda s: s, {"scaling": "unit"}),
}


class Variant(GraphEnsemble):
    """GraphEnsemble with changed settings."""

    change: Change

    def _settings(self, n_clusters: int) -> Settings:
        return self.change(super()._settings(n_clusters))


def main() -> None:
    """Run the ablation."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="*", default=[*CLEAR, *HARD])
    parser.add_argument("--variants", nargs="*", default=list(VARIANTS))
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    for name in args.variants:
        scores = {}
        for dataset in args.datasets:
            scores[dataset] = np.mean([score(dataset, name, seed) for seed in range(args.seeds)], axis=0)
        print(f"{name:28s} " + "  ".join(f"{d} {a:.3f}/{n:.3f}" for d, (a, n) in scores.items()), flush=True)
        for title, group in (("clear", CLEAR), ("hard", HARD)):
            if all(dataset in scores for dataset in group):
                acc, nmi = np.mean([scores[dataset] for dataset in group], axis=0)
                print(f"{'':28s} {title} {acc:.3f}/{nmi:.3f}", flush=True)


def score(dataset: str, variant: str, seed: int) -> tuple[float, float]:
    """ACC and NMI of one fit on shuffled rows; NaN where a variant has no graphs: counts are never side by side."""
    views = fetch_dataset(dataset).shuffled(1000 + seed)
    if variant == SIDE_BY_SIDE and all(choose_scaling(array) == "counts" for array in views.arrays):
        return np.nan, np.nan
    change, parameters = VARIANTS[variant]
    p, power = parameters.get("schatten"), parameters.get("drop_power", members._DROP_POWER)
    options = {name: value for name, value in parameters.items() if name not in ("schatten", "drop_power")}
    model = Variant(len(np.unique(views.labels)), random_state=seed, **options)
    model.change = change
    vectors = shrunk_vectors(p) if p else consensus.consensus_vectors
    with patch.object(consensus, "consensus_vectors", vectors), patch.object(members, "_DROP_POWER", power):
        labels = model.fit(views).labels_
    return accuracy(views.labels, labels), normalized_mutual_info(views.labels, labels)


def shrunk_vectors(p: float) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """Return a consensus that shrinks the singular values of the samples x clusters table instead of cutting at rank K.

    The prox of a Schatten-p penalty whose weight is just enough to leave K of them. With p near 0 it is the default.
    """
    cut = consensus.consensus_vectors

    def shrunk(rows, names, offsets, sizes, column, n_vectors):  # type: ignore[no-untyped-def]
        vectors, values = cut(rows, names, offsets, sizes, column, min(n_vectors + 1, len(column)))
        low, high = 0.0, 4.0
        for _ in range(50):
            weight = (low + high) / 2
            low, high = (low, weight) if prox_lp(values, weight, p)[-1] == 0 else (weight, high)
        factors = prox_lp(values, high, p)[:n_vectors]
        return vectors[:, :n_vectors] * factors / max(factors[0], 1e-12), values[:n_vectors]

    return shrunk


if __name__ == "__main__":
    main()
