"""The order audit: does a method find something else when the rows of the file are shuffled?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from manyview.cluster._registry import HOMES, get_method
from manyview.experiments._model import FILE_ORDER, SHUFFLED, Cell, Part, Row
from manyview.experiments._outcomes import Outcomes
from manyview.experiments.statistics import ALPHA, holm, pairs_needed, sign_flip_test
from manyview.metrics import adjusted_rand


def order_audit(parts: Sequence[Part], outcomes: Outcomes) -> list[dict[str, Any]]:
    """One line per row of the tables that uses all views: accuracy in file order against that on shuffled rows.

    Each dataset on which the row has both is tested by :func:`sign_flip_test` on pairs with the same seed. The row is
    flagged if one of its p-values stays below 0.05 after Holm's correction over all rows and datasets.
    """
    lines: dict[str, dict[str, Any]] = {}
    for part, dataset, row in _rows_of_all_views(parts):
        line = lines.setdefault(row.name, {"method": row.estimator, "row": row.name, "datasets": []})
        if any(known["dataset"] == dataset for known in line["datasets"]):
            continue  # another table shows it as well
        cells = [entry.cell for entry in part.entries if (entry.dataset, entry.row) == (dataset, row.name)]
        draws = row.estimator not in HOMES or get_method(row.estimator).facts.uses_kmeans
        pairs = _pairs(cells, draws, outcomes)
        if pairs:
            line["datasets"].append({"dataset": dataset, **_compare(pairs, outcomes)})

    tested = [line for line in lines.values() if line["datasets"]]
    p_values = [found["p_value"] for line in tested for found in line["datasets"]]
    corrected = iter(holm(p_values))
    for line in tested:
        line["p_value"] = min(next(corrected) for _ in line["datasets"])
        line["flagged"] = line["p_value"] < ALPHA
        line["order_dependent"] = line["method"] in HOMES and get_method(line["method"]).facts.order_dependent
        line["pairs_needed"] = pairs_needed(len(p_values))
        line["too_few_pairs"] = max(found["pairs"] for found in line["datasets"]) < line["pairs_needed"]
    return tested


def _rows_of_all_views(parts: Sequence[Part]) -> list[tuple[Part, str, Row]]:
    return [
        (part, dataset.name, row)
        for part in parts
        if part.kind == "table"
        for dataset in part.datasets
        for row in part.rows.get(dataset.name, ())
        if row.view is None
    ]


def _pairs(cells: Sequence[Cell], draws: bool, outcomes: Outcomes) -> list[tuple[Cell, Cell]]:
    """Cells in file order and shuffled, with the same seed.

    A method that draws nothing may be asked for a single run in file order: another seed would give the same.
    Then all shuffled runs are compared with that one.
    """
    asked = {cell.seed: cell for cell in cells if cell.protocol == FILE_ORDER}
    done = {cell.seed: cell for cell, _ in outcomes.done(list(asked.values()))}
    shuffled = [cell for cell, _ in outcomes.done([cell for cell in cells if cell.protocol == SHUFFLED])]
    if len(asked) == 1 and len(done) == 1 and not draws:
        (only,) = done.values()
        return [(only, cell) for cell in shuffled]
    return [(done[cell.seed], cell) for cell in shuffled if cell.seed in done]


def _compare(pairs: Sequence[tuple[Cell, Cell]], outcomes: Outcomes) -> dict[str, Any]:
    accuracies = np.array([[outcomes.scores(cell)["acc"] for cell in pair] for pair in pairs])
    file_order, shuffled = accuracies.mean(axis=0)
    right = np.rint(accuracies * np.count_nonzero(outcomes.classes(pairs[0][0]) >= 0)).astype(int)  # in the right group
    agreement = [adjusted_rand(outcomes.labels(first), outcomes.labels(second)) for first, second in pairs]
    return {
        "pairs": len(pairs),
        "file_order": float(file_order),
        "shuffled": float(shuffled),
        "difference": float(file_order - shuffled),
        "p_value": sign_flip_test(right[:, 0] - right[:, 1]),
        "agreement": float(np.mean(agreement)),
    }
