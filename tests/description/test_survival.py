"""Survival of clusters, against SciPy and calculations by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from manyview.description.survival import compare_survival, kaplan_meier, logrank, read_events, read_times
from manyview.exceptions import ViewsError


def naive_logrank(times, events, groups):
    known = np.unique(groups)
    gap, covariance = np.zeros(len(known)), np.zeros((len(known), len(known)))
    for t in np.unique(times[events]):
        at_risk = np.array([((times >= t) & (groups == g)).sum() for g in known], dtype=float)
        dead = np.array([((times == t) & events & (groups == g)).sum() for g in known], dtype=float)
        n, d = at_risk.sum(), dead.sum()
        gap += dead - d * at_risk / n
        if n > 1:
            for a in range(len(known)):
                for b in range(len(known)):
                    own = at_risk[a] / n * ((a == b) - at_risk[b] / n)
                    covariance[a, b] += d * (n - d) / (n - 1) * own
    inner = slice(None, -1)
    return float(gap[inner] @ np.linalg.solve(covariance[inner, inner], gap[inner]))


@pytest.mark.parametrize("n_groups", [2, 3, 5])
def test_the_log_rank_test_follows_its_definition(n_groups):
    rng = np.random.default_rng(n_groups)
    times, events = rng.integers(1, 30, size=70).astype(float), rng.random(70) < 0.6
    groups = rng.integers(0, n_groups, size=70)
    statistic, degrees, p = logrank(times, events, groups)
    np.testing.assert_allclose(statistic, naive_logrank(times, events, groups), rtol=1e-10)
    assert degrees == n_groups - 1
    np.testing.assert_allclose(p, stats.chi2.sf(statistic, degrees))
    if n_groups == 2:
        sides = [stats.CensoredData.right_censored(times[groups == g], ~events[groups == g]) for g in (0, 1)]
        np.testing.assert_allclose(p, stats.logrank(*sides).pvalue, rtol=1e-10)


def test_the_log_rank_test_of_a_case_that_was_computed_by_hand():
    # Two groups, deaths at 1, 2 (group 0) and 3 (group 1), one of group 1 censored at 4:
    # E_0 = 2/4 + 1/3, V = 1/4 + 2/9, (2 - 5/6)² / (17/36) = 49/17.
    statistic, degrees, _ = logrank(
        np.array([1.0, 2, 3, 4]), np.array([True, True, True, False]), np.array([0, 0, 1, 1])
    )
    np.testing.assert_allclose(statistic, 49 / 17)
    assert degrees == 1


def test_the_log_rank_test_of_three_groups_that_was_computed_by_hand():
    # As R's survdiff(Surv(time, event) ~ group) defines it. Group A: deaths at 1 and 3. B: deaths at 2 and 3. C: a
    # death at 4, censored at 5.
    #
    # time  at risk A B C  deaths  expected in A, B, C  d(n-d)/(n-1)  variance of A   of B           covariance of A, B
    # 1     2 2 2          1       1/3, 1/3, 1/3        1             1/3·2/3 = 2/9   1/3·2/3 = 2/9  -1/3·1/3 = -1/9
    # 2     1 2 2          1       1/5, 2/5, 2/5        1             1/5·4/5 = 4/25  2/5·3/5 = 6/25 -1/5·2/5 = -2/25
    # 3     1 1 2          2       1/2, 1/2, 1          2·2/3 = 4/3   4/3·3/16 = 1/4  1/4            -4/3·1/16 = -1/12
    # 4     0 0 2          1       0, 0, 1              1             0               0              0
    #
    # Observed 2, 2, 1; expected 31/30, 37/30, 82/30; so observed less expected is 29/30 in A and 23/30 in B, with
    # variances 569/900 and 641/900 and covariance -247/900. The statistic is that of the first two groups:
    # (29² · 641 + 2 · 29 · 23 · 247 + 23² · 569) / (569 · 641 - 247²) = 1169580 / 303720.
    times, events = np.array([1.0, 3, 2, 3, 4, 5]), np.array([1, 1, 1, 1, 1, 0], dtype=bool)
    statistic, degrees, p = logrank(times, events, np.repeat([0, 1, 2], 2))
    np.testing.assert_allclose(statistic, 1169580 / 303720, rtol=1e-12)
    assert degrees == 2
    np.testing.assert_allclose(p, np.exp(-statistic / 2), rtol=1e-12)


def test_many_samples_do_not_change_the_degrees_of_freedom():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        times, events = rng.exponential(size=5000), rng.random(5000) < 0.7
        groups = rng.integers(0, 3, size=5000)
        assert logrank(times, events, groups)[1] == 2


def test_a_group_that_left_before_the_first_event_has_no_part_in_the_test():
    times, events = np.array([1.0, 2, 3, 4, 0.5, 0.7]), np.array([1, 1, 1, 0, 0, 0], dtype=bool)
    with_it = logrank(times, events, np.array([0, 0, 1, 1, 2, 2]))
    np.testing.assert_allclose(with_it, logrank(times[:4], events[:4], np.array([0, 0, 1, 1])), rtol=1e-12)


def test_a_single_time_at_which_all_die_is_no_test():
    found = logrank(np.ones(4), np.ones(4, dtype=bool), np.array([0, 0, 1, 1]))
    assert np.isnan(found[2])
    assert found[1] == 0


def test_samples_without_time_or_event_are_counted_and_left_out():
    rng = np.random.default_rng(0)
    times, events = rng.exponential(size=40).round(1), (rng.random(40) < 0.7).astype(float)
    labels = np.arange(40) % 3
    labels[labels == 2] = np.where(np.arange((labels == 2).sum()) == 0, 2, 1)  # a cluster of one
    times[5], events[[5, 9]] = np.nan, np.nan
    found = compare_survival(times, events, labels, 3, ("days", "dead"))
    known = np.setdiff1d(np.arange(40), [5, 9])
    assert found.n_missing == 2
    np.testing.assert_allclose(
        found.statistic, naive_logrank(times[known], events[known] == 1, labels[known]), rtol=1e-10
    )
    for c, curve in found.curves.items():
        own = known[labels[known] == c]
        reference = stats.ecdf(stats.CensoredData.right_censored(times[own], events[own] == 0)).sf
        np.testing.assert_allclose(curve.alive(reference.quantiles), reference.probabilities, atol=1e-12)
        assert curve.n_samples == len(own)


def test_without_events_or_with_one_group_there_is_no_test():
    times = np.array([1.0, 2.0, 3.0])
    assert np.isnan(logrank(times, np.zeros(3, dtype=bool), np.array([0, 1, 1]))[2])
    assert np.isnan(logrank(times, np.ones(3, dtype=bool), np.zeros(3, dtype=int))[2])


def test_kaplan_meier_is_scipys():
    rng = np.random.default_rng(0)
    times, events = rng.integers(1, 20, size=60).astype(float), rng.random(60) < 0.7
    curve = kaplan_meier(times, events)
    reference = stats.ecdf(stats.CensoredData.right_censored(times, ~events)).sf
    np.testing.assert_allclose(curve.alive(reference.quantiles), reference.probabilities, atol=1e-12)
    limits = reference.confidence_interval(method="log-log")
    inner = (curve.survival > 0) & (curve.survival < 1)
    np.testing.assert_allclose(curve.lower[inner], limits.low.evaluate(curve.times)[inner], rtol=1e-6)
    np.testing.assert_allclose(curve.upper[inner], limits.high.evaluate(curve.times)[inner], rtol=1e-6)
    assert curve.median == curve.times[np.argmax(curve.survival <= 0.5)]
    assert curve.at_risk[0] == (times >= curve.times[0]).sum()


def test_a_cluster_that_outlives_the_study_has_no_median():
    curve = kaplan_meier(np.array([1.0, 5.0, 6.0]), np.array([True, False, False]))
    assert np.isnan(curve.median)
    np.testing.assert_allclose(curve.alive([0, 1, 9]), [1.0, 2 / 3, 2 / 3])


def test_words_of_events_are_understood_and_others_named():
    found = read_events(pd.Series(["Dead", "alive", None, 1, 0.0, True]), "status")
    np.testing.assert_array_equal(found, [1, 0, np.nan, 1, 0, 1])
    with pytest.raises(ViewsError, match=r"'status' has 'relapsed' in row 1"):
        read_events(pd.Series(["dead", "relapsed"]), "status")
    with pytest.raises(ViewsError, match=r"'days' has 'long' in row 0"):
        read_times(pd.Series(["long", 3]), "days")
    with pytest.raises(ViewsError, match="never negative"):
        read_times(pd.Series([2, -3]), "days")
