"""How much the published method depends on the order of the rows, the number of passes and the anchors (MSRC-v5).

MANYVIEW_DATA=folder python benchmarks/order.py
"""

from __future__ import annotations

import warnings

import numpy as np

from manyview import TBGL, Views, check_views
from manyview.datasets import fetch_dataset
from manyview.graphs import SCALERS
from manyview.graphs.anchors import _row_variances, alternate_picks
from manyview.metrics import accuracy


def main() -> None:
    views = fetch_dataset("MSRC-v5")
    rows = np.arange(views.n_samples)
    show("file order", [views])
    show("shifted cyclically by 1, 17, 100", [views.take(np.roll(rows, shift)) for shift in (1, 17, 100)])
    show("shuffled, seeds 1 to 5", [views.take(np.random.default_rng(s).permutation(rows)) for s in range(1, 6)])
    for passes in range(48, 57):
        show(f"file order, {passes} passes", [views], max_iter=passes)
    show("file order, sparsity_weight=0, n_anchors=0.7", [views], sparsity_weight=0.0, n_anchors=0.7)
    show(
        "file order, ten draws of random anchors",
        [views],
        [{"anchors": "random", "random_state": s} for s in range(10)],
    )
    show("file order, tensor_axis='anchors'", [views], tensor_axis="anchors")
    show("shuffled, tensor_axis='views', seeds 1 to 5", [views.shuffled(s) for s in range(1, 6)], tensor_axis="views")
    show_chaos(views)


def show(title: str, orders: list[Views], variants: list[dict] | None = None, **parameters: object) -> None:
    found = []
    for views in orders:
        for variant in variants or [{}]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = TBGL(7, **parameters, **variant).fit(views)
            found.append(accuracy(views.labels, model.labels_))
    values = " ".join(f"{value:.3f}" for value in found)
    print(f"{title:48s} ACC {values}" + (f"   mean {np.mean(found):.3f}" if len(found) > 1 else ""), flush=True)


def show_chaos(views: Views) -> None:
    """How many anchors VDA exchanges when the last bit of the score of one sample changes, for each sample in turn."""
    scores = _row_variances([SCALERS["max"](view) for view in check_views(views).arrays])
    m = len(scores) // 2
    chosen = alternate_picks(scores, m, True)
    moved = np.zeros(len(scores), dtype=int)
    for sample, score in enumerate(scores):
        nudged = scores.copy()
        nudged[sample] = np.nextafter(score, np.inf)
        moved[sample] = len(np.setdiff1d(chosen, alternate_picks(nudged, m, True)))
    print(
        f"VDA, last bit of one score changed: {np.mean(moved > 0):.0%} of the samples move anchors, "
        f"then {np.median(moved[moved > 0]):.0f} of {m} (median), {moved.max()} at most"
    )


if __name__ == "__main__":
    main()
