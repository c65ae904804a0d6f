"""Which methods are better over all datasets, on shuffled rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from manyview.experiments._model import ABSENT, DONE, SHUFFLED
from manyview.experiments._outcomes import WAITING
from manyview.experiments._tables import shown_mean
from manyview.experiments.statistics import ALPHA, alike, critical_difference, friedman, ranks

SCORE = "acc"


def ranking_of(tables: Sequence[Mapping[str, Any]], generated: Collection[str]) -> dict[str, Any]:
    """Mean ranks of the rows that use all views, over real datasets, by accuracy on shuffled rows.

    Scores that look equal in a table share their ranks. Who ran out of memory or time, or failed, comes last: on
    that dataset it gave nothing. Ranks need a result of every method on every dataset, so of all choices of
    datasets the one is taken that leaves the most results in the comparison.
    """
    asked: dict[str, dict[str, Any]] = {}
    left_out: dict[str, str] = {}
    for table in tables:
        for row in table["rows"]:
            if row["view"] is not None:
                left_out[row["name"]] = "uses a single view"
            elif row[SHUFFLED] is not None:
                asked.setdefault(table["dataset"], {}).setdefault(row["name"], row[SHUFFLED])

    usable: dict[str, dict[str, Any]] = {}
    for dataset, results in asked.items():
        if dataset in generated:
            left_out[dataset] = "generated data"
        elif not any(result["status"] == DONE for result in results.values()):
            left_out[dataset] = "nothing has run on it"
        else:
            ended = {row: found for row, found in results.items() if found["status"] not in (WAITING, ABSENT)}
            usable[dataset] = ended

    datasets, methods = _largest_complete(usable)
    for dataset in usable:
        if dataset not in datasets:
            lacking = [name for name in methods if name not in usable[dataset]]
            left_out[dataset] = f"no result yet, or never asked for: {', '.join(lacking)}"
    for name in dict.fromkeys(name for results in asked.values() for name in results):
        if name not in methods:
            lacking = [dataset for dataset in datasets if name not in usable[dataset]]
            where = ", ".join(lacking) or "any dataset that is compared"
            left_out[name] = f"no result yet, or never asked for, on {where}"
    chosen = {name: {dataset: usable[dataset][name] for dataset in datasets} for name in methods}
    return {"score": SCORE, "protocol": SHUFFLED, "datasets": datasets, **_compare(chosen), "left_out": left_out}


def _largest_complete(usable: Mapping[str, Mapping[str, Any]]) -> tuple[list[str], list[str]]:
    """Datasets and methods without a gap between them, as many results as there can be; if equal, more datasets."""
    best: tuple[list[str], list[str]] = [], []
    for size in range(1, len(usable) + 1):
        for datasets in combinations(usable, size):
            methods = [name for name in usable[datasets[0]] if all(name in usable[other] for other in datasets)]
            if methods and len(methods) * size >= len(best[0]) * len(best[1]):
                best = list(datasets), methods
    return best


def _compare(results: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Ranks, tests and groups of methods that all have a result on the same datasets."""
    compared: dict[str, Any] = {
        "methods": [],
        "friedman_p": None,
        "critical_difference": None,
        "alpha": ALPHA,
        "groups": [],
        "failures": {
            name: {where: found["reason"] for where, found in on.items() if found["status"] != DONE}
            for name, on in results.items()
            if any(found["status"] != DONE for found in on.values())
        },
    }
    if len(results) < 2:
        return compared
    means = [[shown_mean(found, SCORE) for found in on.values()] for on in results.values()]
    ranked = ranks(np.array([[-np.inf if mean is None else mean for mean in row] for row in means]))
    mean_ranks = {name: float(mean) for name, mean in zip(results, ranked.mean(axis=1), strict=True)}
    methods: list[dict[str, Any]] = [
        {"name": name, "mean_rank": mean_ranks[name], "ranks": dict(zip(on, row.tolist(), strict=True))}
        for (name, on), row in zip(results.items(), ranked, strict=True)
    ]
    difference = critical_difference(*ranked.shape)
    return compared | {
        "methods": sorted(methods, key=lambda method: method["mean_rank"]),
        "friedman_p": friedman(ranked),
        "critical_difference": difference,
        "groups": alike(mean_ranks, difference),
    }
