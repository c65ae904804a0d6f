"""Statistical tests, and the two questions that they answer about the results of an experiment.

The order audit: does a method find something else when the rows of the file are shuffled? The ranking: which methods
are better over all datasets, on shuffled rows?
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from math import ceil, floor, log2
from typing import Any

import numpy as np
from scipy import stats

from manyview.cluster._registry import HOMES, get_method
from manyview.experiments._model import ABSENT, DONE, FILE_ORDER, SHUFFLED, Cell, Part, Row
from manyview.experiments._outcomes import WAITING, Outcomes
from manyview.experiments.wording import shown_mean
from manyview.metrics import adjusted_rand

ALPHA = 0.05
"""Significance level: p-values below it count as a difference."""

_RANKED_BY = "acc"


# Tests ---------------------------------------------------------------------------------------------------------------


def sign_flip_test(differences: Sequence[int] | np.ndarray) -> float:
    """Test exactly whether the mean of paired differences is zero.

    If the two values of each pair are exchangeable, every difference is as likely with the other sign. The p-value is
    the share of all ``2^N`` choices of signs for which the sum is at least as far from zero as the one found.
    The test is two-sided: an order of the rows that makes a method worse is a dependence, too.

    Parameters
    ----------
    differences : array-like of int
        One per pair, such as the difference in the number of correctly clustered samples. Whole numbers, so that
        equal sums compare equal.

    Returns
    -------
    float
        Between 0 and 1; 1 if all differences are zero. It is never below ``2^(1 - N)``: see :func:`pairs_needed`.

    Examples
    --------
    >>> from manyview.experiments.statistics import sign_flip_test
    >>> sign_flip_test([4, 7, 2, 5, 3, 6])
    0.03125
    >>> sign_flip_test([4, -7, 2, -5, 3, 6])
    0.875
    """
    values = np.asarray(differences)
    if values.ndim != 1 or not (values.size == 0 or np.issubdtype(values.dtype, np.integer)):
        raise ValueError(f"differences: expected a list of whole numbers, got {differences!r}.")
    sizes = np.abs(values[values != 0])
    # chance[s]: probability that the positive signs fall on differences with the sum s; the sum of all is 2 s - total
    chance = np.ones(1)
    for size in sizes:
        longer = np.zeros(len(chance) + size)
        longer[: len(chance)] += chance / 2
        longer[size:] += chance / 2
        chance = longer
    sums = 2 * np.arange(len(chance)) - int(sizes.sum())
    return float(min(chance[np.abs(sums) >= abs(int(values.sum()))].sum(), 1.0))


def pairs_needed(n_tests: int, alpha: float = ALPHA) -> int:
    """Return the number of pairs from which :func:`sign_flip_test` can be significant, if made ``n_tests`` times.

    The smallest p-value of N pairs is ``2^(1 - N)``, and Holm's correction multiplies it by the number of tests.

    Examples
    --------
    >>> from manyview.experiments.statistics import pairs_needed
    >>> pairs_needed(1), pairs_needed(60)
    (6, 12)
    """
    return floor(1 + log2(n_tests / alpha)) + 1


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for multiple tests (Holm 1979), which bounds the probability of any false positive.

    Examples
    --------
    >>> from manyview.experiments.statistics import holm
    >>> holm([0.01, 0.5, 0.02])
    [0.03, 0.5, 0.04]
    """
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for step, i in enumerate(np.argsort(p_values, kind="stable")):
        largest = max(largest, (len(p_values) - step) * p_values[i])
        corrected[i] = min(largest, 1.0)
    return corrected


def ranks(scores: np.ndarray) -> np.ndarray:
    """Rank the methods on each dataset: 1 for the highest score, mean ranks where scores are equal.

    Parameters
    ----------
    scores : ndarray of shape (n_methods, n_datasets)
        ``-inf`` for a method without a result: it comes last.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.experiments.statistics import ranks
    >>> ranks(np.array([[0.9, 0.5], [0.7, 0.5], [-np.inf, 0.8]])).tolist()
    [[1.0, 2.5], [2.0, 2.5], [3.0, 1.0]]
    """
    return np.asarray(stats.rankdata(-np.asarray(scores), axis=0))


def friedman(ranked: np.ndarray) -> float | None:
    """Test whether all methods are equally good, from their ranks (n_methods, n_datasets).

    Returns
    -------
    float or None
        The p-value; None with fewer than three methods or two datasets, where the test is not defined.
    """
    n_methods, n_datasets = ranked.shape
    if n_methods < 3 or n_datasets < 2:
        return None
    if np.all(ranked == ranked[0]):
        return 1.0  # all ranks equal: the statistic is 0/0
    return float(stats.friedmanchisquare(*ranked).pvalue)


def critical_difference(n_methods: int, n_datasets: int, alpha: float = ALPHA) -> float:
    """Return the critical difference of mean ranks (Nemenyi's test, as in Demšar 2006).

    ``q sqrt(k (k + 1) / (6 N))`` for k methods on N datasets; q is the quantile of the studentised range of k
    normal values, divided by the square root of 2.

    Examples
    --------
    >>> from manyview.experiments.statistics import critical_difference
    >>> round(critical_difference(5, 10), 2)
    1.93
    """
    q = stats.studentized_range.ppf(1 - alpha, n_methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_datasets)))


def datasets_needed(n_methods: int) -> int:
    """Return the number of datasets from which a difference of mean ranks can be significant at all.

    The largest difference is that of a method that is always first to one that is always last, ``n_methods - 1``.

    Examples
    --------
    >>> from manyview.experiments.statistics import datasets_needed
    >>> [datasets_needed(n) for n in (2, 3, 5, 15)]
    [4, 3, 3, 3]
    """
    at_one = critical_difference(n_methods, 1)
    return ceil((at_one / (n_methods - 1)) ** 2 + 1e-9)


def alike(mean_ranks: Mapping[str, float], difference: float) -> list[list[str]]:
    """Return the largest groups of methods, adjacent by rank, whose mean ranks differ by less than ``difference``.

    Examples
    --------
    >>> from manyview.experiments.statistics import alike
    >>> alike({"A": 1.0, "B": 1.8, "C": 2.4, "D": 4.0}, 1.0)
    [['A', 'B'], ['B', 'C']]
    """
    names = sorted(mean_ranks, key=lambda name: mean_ranks[name])
    groups: list[list[str]] = []
    reached = 0
    for start, first in enumerate(names):
        end = sum(mean_ranks[name] - mean_ranks[first] < difference for name in names)
        if end > max(reached, start + 1):
            groups.append(names[start:end])
            reached = end
    return groups


# Order audit ---------------------------------------------------------------------------------------------------------


def order_audit(parts: Sequence[Part], outcomes: Outcomes) -> list[dict[str, Any]]:
    """Compare accuracy in file order with that on shuffled rows, for every row of the tables that uses all views.

    Each dataset on which the row has both is tested by :func:`sign_flip_test` on pairs with the same seed. The row is
    flagged if one of its p-values is below 0.05 after Holm's correction over all rows and datasets.
    """
    lines: dict[str, dict[str, Any]] = {}
    for part, dataset, row in rows_of_all_views(parts):
        line = lines.setdefault(row.name, {"method": row.estimator, "row": row.name, "datasets": []})
        if any(known["dataset"] == dataset for known in line["datasets"]):
            continue  # also in an earlier table
        cells = [entry.cell for entry in part.entries if (entry.dataset, entry.row) == (dataset, row.name)]
        is_random = row.estimator not in HOMES or get_method(row.estimator).facts.uses_kmeans
        pairs = _pairs(cells, is_random, outcomes)
        if pairs:
            line["datasets"].append({"dataset": dataset, **_order_difference(pairs, outcomes)})

    tested = [line for line in lines.values() if line["datasets"]]
    p_values = [found["p_value"] for line in tested for found in line["datasets"]]
    corrected = iter(holm(p_values))
    for line in tested:
        line["p_value"] = min(next(corrected) for _ in line["datasets"])
        line["flagged"] = line["p_value"] < ALPHA
        known = line["method"] in HOMES  # nothing is said about a user's own method
        line["order_dependent"] = get_method(line["method"]).facts.order_dependent if known else None
        line["pairs_needed"] = pairs_needed(len(p_values))
        line["too_few_pairs"] = max(found["pairs"] for found in line["datasets"]) < line["pairs_needed"]
    return tested


def rows_of_all_views(parts: Sequence[Part]) -> list[tuple[Part, str, Row]]:
    """Return the rows of tables that use all views, with their part and dataset."""
    return [
        (part, dataset.name, row)
        for part in parts
        if part.kind == "table"
        for dataset in part.datasets
        for row in part.rows.get(dataset.name, ())
        if row.view is None
    ]


def _pairs(cells: Sequence[Cell], is_random: bool, outcomes: Outcomes) -> list[tuple[Cell, Cell]]:
    """Pair cells in file order and shuffled cells of the same seed.

    A spec may have a single run in file order of a method without randomness, as other seeds would give the same
    labels. Then all shuffled runs are compared with that one.
    """
    asked = {cell.seed: cell for cell in cells if cell.protocol == FILE_ORDER}
    done = {cell.seed: cell for cell, _ in outcomes.done(list(asked.values()))}
    shuffled = [cell for cell, _ in outcomes.done([cell for cell in cells if cell.protocol == SHUFFLED])]
    if len(asked) == 1 and len(done) == 1 and not is_random:
        (only,) = done.values()
        return [(only, cell) for cell in shuffled]
    return [(done[cell.seed], cell) for cell in shuffled if cell.seed in done]


def _order_difference(pairs: Sequence[tuple[Cell, Cell]], outcomes: Outcomes) -> dict[str, Any]:
    accuracies = np.array([[outcomes.scores(cell)["acc"] for cell in pair] for pair in pairs])
    file_order, shuffled = accuracies.mean(axis=0)
    right = np.rint(accuracies * np.count_nonzero(outcomes.classes(pairs[0][0]) >= 0)).astype(int)  # samples
    agreement = [adjusted_rand(outcomes.labels(first), outcomes.labels(second)) for first, second in pairs]
    return {
        "pairs": len(pairs),
        "file_order": float(file_order),
        "shuffled": float(shuffled),
        "difference": float(file_order - shuffled),
        "p_value": sign_flip_test(right[:, 0] - right[:, 1]),
        "agreement": float(np.mean(agreement)),
    }


# Ranking -------------------------------------------------------------------------------------------------------------


def ranking_of(tables: Sequence[Mapping[str, Any]], generated: Collection[str]) -> dict[str, Any]:
    """Rank the rows that use all views, over real datasets, by accuracy on shuffled rows.

    Scores that are equal in a table share their ranks. A method that ran out of memory or time, or failed, comes last
    on that dataset. Ranks need a result of every method on every dataset, so the datasets are chosen that leave the
    most results in the comparison. There are no ranks over fewer than two datasets.
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
        if datasets and dataset not in datasets:
            missing = [name for name in methods if name not in usable[dataset]]
            left_out[dataset] = f"no result yet, or never asked for: {', '.join(missing)}"
    for name in dict.fromkeys(name for results in asked.values() for name in results):
        if datasets and name not in methods:
            missing = [dataset for dataset in datasets if name not in usable[dataset]]
            where = ", ".join(missing) or "any dataset that is compared"
            left_out[name] = f"no result yet, or never asked for, on {where}"
    if not datasets:
        left_out |= dict.fromkeys(usable, "no other dataset has results of the same methods")
    chosen = {name: {dataset: usable[dataset][name] for dataset in datasets} for name in methods}
    return {"score": _RANKED_BY, "protocol": SHUFFLED, "datasets": datasets, **_ranks(chosen), "left_out": left_out}


def _largest_complete(usable: Mapping[str, Mapping[str, Any]]) -> tuple[list[str], list[str]]:
    """Return two datasets or more and the methods with a result on each: as many results as possible, then datasets."""
    best: tuple[list[str], list[str]] = [], []
    for size in range(2, len(usable) + 1):
        for datasets in combinations(usable, size):
            methods = [name for name in usable[datasets[0]] if all(name in usable[other] for other in datasets)]
            if methods and len(methods) * size >= len(best[0]) * len(best[1]):
                best = list(datasets), methods
    return best


def _ranks(results: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return ranks, tests and groups of methods that all have a result on the same datasets."""
    compared: dict[str, Any] = {
        "methods": [],
        "friedman_p": None,
        "critical_difference": None,
        "datasets_needed": None,
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
    means = [[shown_mean(found, _RANKED_BY) for found in on.values()] for on in results.values()]
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
        "datasets_needed": datasets_needed(len(ranked)),
        "groups": alike(mean_ranks, difference),
    }
