"""How large differences between methods are, with intervals, and what the number of datasets and runs supports.

Ranks and tests are in ``statistics.py``. Here one row is compared with each other one: on every dataset over pairs of
runs with the same seed and order of rows, and over datasets.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import isclose
from typing import Any

import numpy as np
from scipy import stats

from manyview.experiments._model import SHUFFLED, Part, Row
from manyview.experiments._outcomes import Outcomes
from manyview.experiments.statistics import ALPHA, rows_of_all_views

SCORE = "acc"
_FEW_PAIRS = 5
"""Below it, an interval over runs rests on so few values that it is shown with a warning."""


def interval(values: Sequence[float], alpha: float = ALPHA) -> tuple[float, float] | None:
    """Return the confidence interval of a mean by Student's t; None for fewer than two values.

    Examples
    --------
    >>> from manyview.experiments.differences import interval
    >>> low, high = interval([0.10, 0.12, 0.14])
    >>> round(low, 3), round(high, 3)
    (0.07, 0.17)
    """
    if len(values) < 2:
        return None
    mean, spread = float(np.mean(values)), float(np.std(values, ddof=1))
    if isclose(spread, 0.0, abs_tol=1e-12):
        return mean, mean
    half = float(stats.t.ppf(1 - alpha / 2, len(values) - 1)) * spread / len(values) ** 0.5
    return mean - half, mean + half


def differences(parts: Sequence[Part], outcomes: Outcomes, generated: Collection[str]) -> dict[str, Any]:
    """Compare one row with all others by accuracy on shuffled rows.

    The reference is the first row with code of a user's own, else that of ``GraphEnsemble``, else the first row. Runs
    on a dataset with the same seed, and so the same order of the rows, are paired. Over datasets, the values are the
    mean differences on those that are not generated.

    Returns
    -------
    dict
        ``reference`` (None if there is nothing to compare), ``score``, ``protocol``, ``confidence``; ``lines``, for
        each other row its ``datasets`` (``pairs``, ``mean``, ``low``, ``high``) and ``overall`` (``datasets``,
        ``mean``, ``low``, ``high``; None with fewer than two datasets); and ``remarks``: what can be said, and what
        cannot. A positive difference means that the reference is better.
    """
    runs: dict[str, dict[str, dict[int, float]]] = {}  # by row, dataset and seed
    first: dict[str, Row] = {}
    for part, dataset, row in rows_of_all_views(parts):
        first.setdefault(row.name, row)
        entries = [entry for entry in part.entries if (entry.dataset, entry.row) == (dataset, row.name)]
        done = outcomes.done([entry.cell for entry in entries if entry.cell.protocol == SHUFFLED])
        found = {cell.seed: outcomes.scores(cell)[SCORE] for cell, _ in done}
        if found:
            runs.setdefault(row.name, {}).setdefault(dataset, found)
    reference = _reference([first[name] for name in runs])
    lines = []
    for name in runs:
        if reference in (None, name):
            continue
        if compared := _compared(runs[str(reference)], runs[name]):
            real = [found["mean"] for found in compared if found["dataset"] not in generated]
            lines.append({"row": name, "datasets": compared, "overall": _overall(real)})
    return {
        "reference": reference if lines else None,
        "score": SCORE,
        "protocol": SHUFFLED,
        "confidence": 1 - ALPHA,
        "lines": lines,
        "remarks": _remarks(lines, generated) if lines else [],
    }


def _reference(rows: Sequence[Row]) -> str | None:
    own = [row for row in rows if row.code] or [row for row in rows if row.estimator == "GraphEnsemble"] or rows
    return own[0].name if own else None


def _compared(
    reference: Mapping[str, Mapping[int, float]], other: Mapping[str, Mapping[int, float]]
) -> list[dict[str, Any]]:
    found = []
    for dataset in reference:
        seeds = sorted(reference[dataset].keys() & other.get(dataset, {}).keys())
        if seeds:
            values = [reference[dataset][seed] - other[dataset][seed] for seed in seeds]
            found.append({"dataset": dataset, "pairs": len(values), **mean_and_interval(values)})
    return found


def _overall(means: Sequence[float]) -> dict[str, Any] | None:
    return {"datasets": len(means), **mean_and_interval(means)} if len(means) > 1 else None


def mean_and_interval(values: Sequence[float]) -> dict[str, Any]:
    """Return the mean of values, and its interval as ``low`` and ``high``, None of a single value."""
    low, high = interval(values) or (None, None)
    return {"mean": float(np.mean(values)), "low": low, "high": high}


def _remarks(lines: Sequence[Mapping[str, Any]], generated: Collection[str]) -> list[str]:
    datasets = {found["dataset"] for line in lines for found in line["datasets"]} - set(generated)
    pairs = [found["pairs"] for line in lines for found in line["datasets"]]
    said = []
    if max(pairs) == 1:
        said.append("One run of each method: there is no interval, and a difference may be chance. Run more seeds.")
    else:
        said.append(
            "An interval of a dataset covers other seeds and orders of its rows, and nothing else: not other samples, "
            "not other datasets."
        )
        if min(pairs) < _FEW_PAIRS:
            said.append(
                f"Some intervals rest on {min(pairs)} pairs of runs only; {_FEW_PAIRS} or more would be better."
            )
    if len(datasets) < 2:
        few = "One dataset" if datasets else "Generated data only"
        said.append(f"{few}: nothing is said about other data, and methods are not ranked.")
    else:
        said.append(
            f"The line over datasets takes the {len(datasets)} datasets as a sample of those that matter to you; "
            "whether they are one, no calculation can tell."
        )
    if len(lines) > 1:
        said.append(f"Each interval holds by itself; of {len(lines)} comparisons, some can fail by chance.")
    return said
