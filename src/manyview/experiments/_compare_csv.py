"""A comparison as tables of comma-separated values: one of scores and costs, one of labels."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

import numpy as np

from manyview._utils.files import quoting
from manyview.experiments._model import CellResult, Spec
from manyview.metrics import SCORES

FIELDS = ("method", "seed", "status", "reason", *SCORES, "agreement", "seconds", "peak_bytes", "row_order")


def runs_csv(comparison: Mapping[str, Any]) -> str:
    """One line for each run of each method.

    Parameters
    ----------
    comparison : dict
        From :func:`manyview.experiments.compare.compare_results`.

    Returns
    -------
    str
        Comma-separated values with a header; scores are empty where no classes are known.
    """
    text = io.StringIO()
    reasons = (run["reason"] for method in comparison["methods"] for run in method["runs"])
    writer = csv.DictWriter(text, FIELDS, lineterminator="\n", extrasaction="ignore", quoting=quoting(reasons))
    writer.writeheader()
    for method in comparison["methods"]:
        for run in method["runs"]:
            place = {"method": method["name"], "row_order": comparison["row_order"]}
            writer.writerow(place | run | (run["scores"] or {}))
    return text.getvalue()


def labels_csv(
    comparison: Mapping[str, Any], spec: Spec, results: Mapping[str, CellResult], sample_ids: np.ndarray | None
) -> str:
    """One line for each sample: its id (or row, from 0) and the cluster that each method gave it with the first seed.

    Methods are in the order of the comparison; those without clusters for that seed are left out. The numbers of
    clusters are each method's own.
    """
    first = comparison["seeds"][0]
    keys = {cell.estimator: cell.key for cell in spec.cells if cell.seed == first}
    found = {method["name"]: results.get(keys[method["name"]]) for method in comparison["methods"]}
    columns = {
        name: result.labels for name, result in found.items() if result is not None and result.labels is not None
    }
    samples = sample_ids
    if samples is None:
        samples = np.arange(len(next(iter(columns.values()), ())))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n", quoting=quoting(samples.tolist()))
    writer.writerow(["sample", *columns])
    writer.writerows(zip(samples.tolist(), *(column.tolist() for column in columns.values()), strict=bool(columns)))
    return text.getvalue()
