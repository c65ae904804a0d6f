from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manyview.experiments.statistics import (
    alike,
    critical_difference,
    friedman,
    holm,
    pairs_needed,
    ranks,
    sign_flip_test,
)


@given(st.lists(st.integers(-9, 9), max_size=9))
def test_sign_flips_like_all_choices_counted(differences):
    sums = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
        for signs in product((-1, 1), repeat=len(differences))
    ]
    share = np.mean([found >= abs(sum(differences)) for found in sums])
    assert sign_flip_test(differences) == pytest.approx(share)
    assert sign_flip_test([-d for d in differences]) == pytest.approx(share)


def test_no_difference_is_certainly_chance():
    assert sign_flip_test([0] * 20) == 1.0
    assert sign_flip_test([]) == 1.0


def test_the_smallest_p_value_falls_by_half_with_each_pair():
    for n in range(1, 30):
        assert sign_flip_test([3] * n) == 2.0 ** (1 - n)


def test_pairs_that_agree_say_nothing_for_or_against():
    assert sign_flip_test([4, 0, 5, 0, 6]) == sign_flip_test([4, 5, 6])


@pytest.mark.parametrize("differences", [[0.1, 0.2], [[1, 2]]])
def test_differences_are_whole_numbers(differences):
    with pytest.raises(ValueError, match="differences: expected a list of whole numbers, got"):
        sign_flip_test(differences)


@given(st.integers(1, 300))
def test_pairs_needed_are_the_first_that_can_be_flagged(n_tests):
    n = pairs_needed(n_tests)
    assert n_tests * 2.0 ** (1 - n) < 0.05 <= n_tests * 2.0 ** (2 - n)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_rejects_what_the_step_down_rule_rejects(p_values):
    corrected = holm(p_values)
    for alpha in (0.01, 0.05, 0.2):
        order, rejected = np.argsort(p_values, kind="stable"), set()
        for step, i in enumerate(order):
            if (len(order) - step) * p_values[i] > alpha:
                break
            rejected.add(int(i))
        assert {i for i, p in enumerate(corrected) if p <= alpha} == rejected


@given(st.lists(st.lists(st.integers(0, 5), min_size=3, max_size=3), min_size=1, max_size=7))
def test_ranks_like_places_counted(rows):
    scores = np.array(rows, dtype=float)
    expected = [
        [
            1 + (column > score).sum() + ((column == score).sum() - 1) / 2
            for column, score in zip(scores.T, row, strict=True)
        ]
        for row in scores
    ]
    np.testing.assert_allclose(ranks(scores), expected)


def test_who_gave_nothing_comes_last_and_shares_the_last_places():
    assert ranks(np.array([[-np.inf], [0.0], [-np.inf], [0.9]])).ravel().tolist() == [3.5, 2.0, 3.5, 1.0]


def test_friedman_like_the_formula_without_ties():
    ranked = np.array([[1, 2, 1, 1], [2, 1, 3, 2], [3, 3, 2, 4], [4, 4, 4, 3.0]])
    k, n = ranked.shape
    statistic = 12 * n / (k * (k + 1)) * ((ranked.mean(axis=1) - (k + 1) / 2) ** 2).sum()
    x = statistic / 2  # survival of chi-square with 3 degrees of freedom, in closed form
    from math import erfc, exp, pi, sqrt

    assert friedman(ranked) == pytest.approx(erfc(sqrt(x)) + 2 * sqrt(x / pi) * exp(-x))


def test_friedman_where_there_is_no_test():
    assert friedman(np.ones((2, 5))) is None
    assert friedman(np.ones((5, 1))) is None
    assert friedman(np.full((3, 4), 2.0)) == 1.0


# Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7, 2006, Table 5 (a)
@pytest.mark.parametrize(("k", "q"), [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (10, 3.164)])
def test_critical_difference_has_the_tabulated_quantiles(k, q):
    n_datasets = 7
    assert critical_difference(k, n_datasets) == pytest.approx(q * np.sqrt(k * (k + 1) / (6 * n_datasets)), rel=4e-4)


@given(st.lists(st.integers(0, 40), min_size=1, max_size=7), st.integers(1, 20))
def test_groups_are_the_largest_sets_without_a_difference(values, difference):
    mean_ranks = {f"method {i}": float(value) for i, value in enumerate(values)}
    names = sorted(mean_ranks, key=lambda name: mean_ranks[name])
    together = [
        names[i:j]
        for i in range(len(names))
        for j in range(i + 2, len(names) + 1)
        if mean_ranks[names[j - 1]] - mean_ranks[names[i]] < difference
    ]
    largest = [group for group in together if not any(set(group) < set(other) for other in together)]
    assert alike(mean_ranks, difference) == largest
