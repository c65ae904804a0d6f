"""Tests that say whether a difference is more than chance: between two orders of the rows, and among many methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor, log2

import numpy as np
from scipy import stats

ALPHA = 0.05
"""The largest p-value that counts as a difference."""


def sign_flip_test(differences: Sequence[int] | np.ndarray) -> float:
    """Test exactly whether paired differences are larger than chance makes them.

    If the two members of each pair are exchangeable, every difference is as likely with the other sign. The p-value is
    the share of all ``2^N`` choices of signs for which the sum is at least as far from zero as the one found.
    Both sides count: an order of the rows that makes a method worse is a dependence, too.

    Parameters
    ----------
    differences : array-like of int
        One per pair, such as how many samples more one of the two puts into the right group. Whole numbers, so
        that equal sums are equal.

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
    """Pairs from which :func:`sign_flip_test` can say anything, if it is made ``n_tests`` times.

    The smallest p-value of N pairs is ``2^(1 - N)``, and Holm's correction multiplies it by the number of tests.

    Examples
    --------
    >>> from manyview.experiments.statistics import pairs_needed
    >>> pairs_needed(1), pairs_needed(60)
    (6, 12)
    """
    return floor(1 + log2(n_tests / alpha)) + 1


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for having made many tests (Holm 1979), so that any flag at all is rarely wrong.

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
    """Ranks of methods on each dataset: 1 for the highest score, the mean of the places where scores are equal.

    Parameters
    ----------
    scores : ndarray of shape (n_methods, n_datasets)
        ``-inf`` for a method that gave nothing: it comes last.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.experiments.statistics import ranks
    >>> ranks(np.array([[0.9, 0.5], [0.7, 0.5], [-np.inf, 0.8]])).tolist()
    [[1.0, 2.5], [2.0, 2.5], [3.0, 1.0]]
    """
    return np.asarray(stats.rankdata(-np.asarray(scores), axis=0))


def friedman(ranked: np.ndarray) -> float | None:
    """Test whether all methods are alike, from their ranks (n_methods, n_datasets).

    Returns
    -------
    float or None
        The p-value; None with fewer than three methods or two datasets, for which there is no test.
    """
    n_methods, n_datasets = ranked.shape
    if n_methods < 3 or n_datasets < 2:
        return None
    if np.all(ranked == ranked[0]):
        return 1.0  # all alike everywhere, where the statistic is 0/0
    return float(stats.friedmanchisquare(*ranked).pvalue)


def critical_difference(n_methods: int, n_datasets: int, alpha: float = ALPHA) -> float:
    """Difference of mean ranks from which two of many methods differ (Nemenyi's test, as in Demšar 2006).

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


def alike(mean_ranks: Mapping[str, float], difference: float) -> list[list[str]]:
    """Largest groups of methods, next to each other by rank, whose mean ranks all differ by less than ``difference``.

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
