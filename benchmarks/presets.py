"""The published-protocol presets: what they reach in file order, and with the same rows shuffled.

MANYVIEW_DATA=folder python benchmarks/presets.py
"""

from __future__ import annotations

import warnings

import numpy as np

from manyview import TBGL, Views, clustering_scores
from manyview.datasets import fetch_dataset, list_datasets

SEEDS = (0, 1)


def main() -> None:
    print(f"{'dataset':14s} {'paper':>15s} {'file order':>15s} {'shuffled, ' + str(len(SEEDS)) + ' seeds':>20s}")
    for info in list_datasets():
        if (preset := info.tbgl_preset) is None:
            continue
        views = fetch_dataset(info.name)
        model = TBGL(info.n_classes, **preset.params)
        file_order = scores(model, views)
        shuffled = np.mean([scores(model, views.shuffled(seed)) for seed in SEEDS], axis=0)
        cells = [f"{acc:.3f} / {nmi:.3f}" for acc, nmi in ((preset.paper_acc, preset.paper_nmi), file_order, shuffled)]
        print(f"{info.name:14s} {cells[0]:>15s} {cells[1]:>15s} {cells[2]:>20s}", flush=True)


def scores(model: TBGL, views: Views) -> tuple[float, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = clustering_scores(views.labels, model.fit(views).labels_, nmi_average="max")
    return found["acc"], found["nmi"]


if __name__ == "__main__":
    main()
