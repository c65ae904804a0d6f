"""Cluster 1,797 handwritten digits that are described in five ways, and score the result.

    make demo                                 or
    python examples/digits.py --output folder

The images come with scikit-learn and the views are computed from them, so nothing is downloaded. The labels are used
for scoring only. Every score says in which order the rows were.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
import warnings
from pathlib import Path

import numpy as np

from manyview import TBGL, OrderDependenceWarning, Views, clustering_scores
from manyview.datasets import load_digits_views
from manyview.metrics import SCORES, adjusted_rand

N_CLUSTERS = 10
# A tenth of the samples as anchors instead of the paper's half: seconds instead of a minute.
N_ANCHORS = 0.1


def main() -> None:
    """Run the demo."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("output/demo"), help="folder to write to (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the shuffle (%(default)s)")
    args = parser.parse_args()

    digits = load_digits_views()
    print(f"scikit-learn's handwritten digits: {digits}\n")
    shuffled = digits.shuffled(args.seed)
    by_class = digits.take(np.argsort(digits.labels, kind="stable"))

    models, rows = [], []
    for order, views in (("shuffled", shuffled), ("sorted by class", by_class)):
        model, seconds = fit(views)
        models.append(model)
        rows.append({"method": "TBGL (published)", "rows": order, **score(views, model), "seconds": round(seconds, 1)})
        print(f"  clustered, rows {order}: {seconds:.1f} s", flush=True)

    print()
    print_table(rows)
    in_order = [m.labels_[np.argsort(v.sample_ids)] for m, v in zip(models, (shuffled, by_class), strict=True)]
    same = adjusted_rand(*in_order)
    print(
        "\nThe honest line is the first: rows in practice are not sorted by the answer. The published method takes\n"
        "a Fourier transform along the order of the rows, so the same images in another order get other clusters:\n"
        f"the two partitions agree with ARI {same:.3f}, where a method that ignores the order has 1.000."
    )
    weights = ", ".join(f"{n} {w:.2f}" for n, w in zip(models[0].view_names_, models[0].view_weights_, strict=True))
    print(f"View weights (shuffled): {weights}.")
    write(args.output, rows, models[0], shuffled)
    print(f"Wrote {args.output / 'scores.json'} and {args.output / 'labels.csv'} (clusters of the shuffled rows).")


def fit(views: Views) -> tuple[TBGL, float]:
    """Fit, and take the time."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OrderDependenceWarning)  # said in the text below the table
        model = TBGL(N_CLUSTERS, n_anchors=N_ANCHORS).fit(views)
    return model, time.perf_counter() - start


def score(views: Views, model: TBGL) -> dict[str, float]:
    """The seven scores, rounded for reading."""
    scores = clustering_scores(views.labels, model.labels_)
    return {name: round(value, 3) for name, value in scores.items()}


def print_table(rows: list[dict[str, object]]) -> None:
    """Print rows as a table: text to the left, numbers to the right."""
    cells = [[f"{v:.3f}" if name in SCORES else str(v) for name, v in row.items()] for row in rows]
    lines = [list(rows[0]), *cells]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        padded = [
            cell.ljust(w) if i < 2 else cell.rjust(w) for i, (cell, w) in enumerate(zip(line, widths, strict=True))
        ]
        print("  " + "  ".join(padded))


def write(folder: Path, rows: list[dict[str, object]], model: TBGL, views: Views) -> None:
    """Scores as JSON, labels as CSV."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "scores.json").write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    with (folder / "labels.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["image", "cluster", "digit"])
        writer.writerows(zip(views.sample_ids, model.labels_, views.labels, strict=True))


if __name__ == "__main__":
    main()
