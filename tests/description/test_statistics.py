"""Statistics of features, metadata and survival against SciPy and naive implementations."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy import stats

from manyview.description.markers import matched_clusters
from manyview.description.metadata import associate, chi_square, kruskal_wallis, summary
from manyview.description.statistics import corrected, feature_statistics, strongest
from manyview.description.survival import kaplan_meier, logrank, read_events, read_times
from manyview.exceptions import ViewsError


def tables():
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(80, 7))
    ties = rng.integers(-2, 3, size=(80, 5)).astype(float)
    counts = rng.poisson(0.3, size=(80, 300)).astype(float)
    constant = np.column_stack([np.full(80, 0.1), np.zeros(80), rng.normal(size=80)])
    return {"dense": dense, "float32": dense.astype(np.float32), "ties": ties, "counts": counts, "constant": constant}


@pytest.mark.parametrize("kind", ["ndarray", "csr", "csc"])
@pytest.mark.parametrize("name", tables())
def test_features_are_compared_as_scipy_does(name, kind):
    table = tables()[name]
    labels = np.random.default_rng(1).choice([0, 1, 1, 2, 2, 2], size=80)
    labels[0] = 3  # a cluster of one sample
    view = {"ndarray": np.asarray, "csr": sp.csr_array, "csc": sp.csc_array}[kind](table)
    found = feature_statistics(view, labels, 4)
    exact = table.astype(float)
    for c in range(4):
        inside, outside = exact[labels == c], exact[labels != c]
        test = stats.mannwhitneyu(inside, outside, method="asymptotic")
        constant = np.ptp(exact, axis=0) == 0
        np.testing.assert_allclose(found.auroc[c], test.statistic / (len(inside) * len(outside)), rtol=0, atol=1e-10)
        np.testing.assert_allclose(found.p[c], np.where(constant, 1.0, test.pvalue), rtol=1e-10)
        spread = np.where(constant, 1.0, exact.std(axis=0))
        difference = np.where(constant, 0.0, (inside.mean(axis=0) - outside.mean(axis=0)) / spread)
        np.testing.assert_allclose(found.difference[c], difference, atol=1e-10)
        np.testing.assert_allclose(found.share[c], (inside != 0).mean(axis=0))
        np.testing.assert_allclose(found.share_outside[c], (outside != 0).mean(axis=0))
        for j in range(exact.shape[1]):
            column = exact[:, j]
            if (column < 0).any():
                assert np.isnan(found.log_fold[c, j])
                continue
            typical = column[column != 0].mean() / 2 if column.any() else 0.5
            top = inside[:, j].mean() + typical / len(inside)
            below = outside[:, j].mean() + typical / len(outside)
            np.testing.assert_allclose(found.log_fold[c, j], np.log2(top / below), atol=1e-10)


def test_sparse_views_are_neither_changed_nor_made_dense():
    view = sp.csc_array(np.array([[0.0, 2.0], [1.0, 0.0], [0.0, 3.0]]))
    view.data[0] = 0.0  # stored, but zero
    before = view.copy()
    found = feature_statistics(view, np.array([0, 1, 1]), 2)
    assert (view.indptr == before.indptr).all()
    assert found.share[1, 0] == 0


def test_one_cluster_has_no_p_values_and_an_empty_one_no_effect():
    table = np.arange(12.0).reshape(6, 2)
    alone = feature_statistics(table, np.zeros(6, dtype=int), 1)
    assert np.isnan(alone.p).all()
    assert np.isnan(alone.auroc).all()
    empty = feature_statistics(table, np.array([0, 0, 0, 2, 2, 2]), 3)
    assert np.isnan(empty.p[1]).all()
    assert empty.auroc[2].tolist() == [1.0, 1.0]


def test_the_strongest_are_those_farthest_from_one_half_and_ties_follow_the_difference():
    table = np.array([[0, 5, 0.0, 1], [0, 4, 9.0, 0], [1, 1, 10.0, 1], [1, 0, 11.0, 0]])
    found = feature_statistics(table, np.array([0, 0, 1, 1]), 2)
    assert strongest(found, 1, 3).tolist() == [0, 1, 2]


def test_correction_is_scipys_and_leaves_missing_values_out():
    p = np.array([[0.01, np.nan], [0.04, 0.5]])
    result = corrected(p)
    np.testing.assert_allclose(result[np.isfinite(p)], stats.false_discovery_control([0.01, 0.04, 0.5]))
    assert np.isnan(result[0, 1])


def test_clusters_are_matched_by_what_they_share():
    partner, overlap = matched_clusters(np.array([0, 0, 0, 1, 1, 2]), np.array([1, 1, 0, 0, 0, 0]), 3)
    assert partner.tolist() == [1, 0, -1]
    np.testing.assert_allclose(overlap, [2 / 3, 2 / 4, 0])


def test_chi_square_is_scipys():
    counts = np.array([[10, 3, 0], [2, 9, 0], [0, 0, 0], [4, 4, 0]])
    statistic, degrees, effect, expected = chi_square(counts.astype(float))
    reference = stats.chi2_contingency(counts[[0, 1, 3]][:, :2], correction=False)
    np.testing.assert_allclose([statistic, degrees], [reference.statistic, reference.dof])
    np.testing.assert_allclose(expected, reference.expected_freq)
    np.testing.assert_allclose(
        effect, stats.contingency.association(counts[[0, 1, 3]][:, :2], method="cramer"), rtol=1e-10
    )


def test_kruskal_wallis_is_scipys():
    rng = np.random.default_rng(0)
    values, groups = rng.integers(0, 12, size=50).astype(float), rng.integers(0, 3, size=50)
    statistic, degrees, effect = kruskal_wallis(values, groups)
    reference = stats.kruskal(*(values[groups == g] for g in range(3)))
    np.testing.assert_allclose(statistic, reference.statistic, rtol=1e-10)
    assert degrees == 2
    np.testing.assert_allclose(effect, reference.statistic / 49)


def test_small_counts_are_tested_by_permutations_and_agree_with_fishers_exact_test():
    labels = np.repeat([0, 1], 8)
    column = pd.Series(["a"] * 7 + ["b"] + ["b"] * 5 + ["a"] * 3, name="arm")
    found = associate(column, labels, 2)
    assert found.test == "χ², permutations"
    # χ² orders the tables of a 2 x 2 design as their probabilities do here
    assert abs(found.p - stats.fisher_exact([[7, 1], [3, 5]]).pvalue) < 0.015


def test_columns_are_told_apart_by_their_values():
    rng = np.random.default_rng(0)
    n, labels = 90, np.repeat([0, 1, 2], 30)
    frame = pd.DataFrame(
        {
            "stage": rng.integers(1, 5, size=n),
            "age": rng.normal(60, 9, size=n),
            "seen": rng.random(n) < 0.5,
            "patient": [f"P{i}" for i in range(n)],
            "site": "Oslo",
            "plate": np.array(["A", "B", "C"])[labels],
            "empty": [None] * n,
            "batch_effect_free": rng.random(n),
        }
    )
    frame.loc[3, "age"] = np.nan
    found = {name: associate(frame[name], labels, 3) for name in frame}
    kinds = {name: each.kind for name, each in found.items()}
    assert kinds == {
        "stage": "categories",
        "age": "numbers",
        "seen": "categories",
        "patient": "left out",
        "site": "left out",
        "plate": "categories",
        "empty": "left out",
        "batch_effect_free": "numbers",
    }
    assert found["age"].n_missing == 1
    assert [name for name, each in found.items() if each.may_be_artefact] == ["plate"]
    table = summary(list(found.values()))
    assert table["column"].iloc[0] == "plate"
    assert table.loc[0, "note"] == "may be an artefact"
    assert table["p_corrected"].notna().sum() == 5


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
