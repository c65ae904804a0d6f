"""Statistics of features against SciPy and naive implementations, and which clusters they are about."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats

from manyview import Views
from manyview.cluster import ConcatKMeans
from manyview.datasets import drop_views
from manyview.description import describe
from manyview.description.markers import honest_p, matched_clusters
from manyview.description.statistics import corrected, feature_statistics, strongest


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


def test_auroc_is_the_share_of_pairs_that_the_cluster_wins():
    rng = np.random.default_rng(0)
    table, labels = rng.integers(0, 4, size=(40, 6)).astype(float), rng.integers(0, 3, size=40)
    found = feature_statistics(table, labels, 3).auroc
    for c in range(3):
        inside, outside = table[labels == c], table[labels != c]
        for j in range(6):
            wins = [(a > b) + (a == b) / 2 for a in inside[:, j] for b in outside[:, j]]
            np.testing.assert_allclose(found[c, j], np.mean(wins), atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_hundred_thousand_features(dtype):
    rng = np.random.default_rng(0)
    table = rng.poisson(0.4, size=(60, 100_000)) * rng.choice([1.0, 0.37], size=(60, 100_000))
    table[:, 70_000:] = rng.normal(size=(60, 30_000)).round(1)  # ties, and below zero
    table[:, 99_990:] = 0.1
    table = table.astype(dtype)
    labels = rng.integers(0, 4, size=60)
    dense, sparse = (feature_statistics(view, labels, 4) for view in (table, sp.csr_array(table)))
    for name in dense.__dataclass_fields__:
        np.testing.assert_allclose(getattr(dense, name), getattr(sparse, name), rtol=1e-10, atol=1e-10, err_msg=name)
    chosen = rng.choice(99_990, 150, replace=False)
    for c in range(4):
        inside, outside = (table[rows][:, chosen].astype(float) for rows in (labels == c, labels != c))
        test = stats.mannwhitneyu(inside, outside, method="asymptotic")
        np.testing.assert_allclose(dense.p[c, chosen], np.nan_to_num(test.pvalue, nan=1.0), rtol=1e-10)
        np.testing.assert_allclose(dense.auroc[c, chosen], test.statistic / len(inside) / len(outside), atol=1e-10)
        np.testing.assert_allclose(dense.mean[c, chosen], inside.mean(axis=0), atol=1e-10)
        np.testing.assert_allclose(dense.mean_outside[c, chosen], outside.mean(axis=0), atol=1e-10)
    assert (dense.auroc[:, 99_990:] == 0.5).all()
    assert (dense.p[:, 99_990:] == 1).all()


def test_a_constant_feature_differs_nowhere():
    labels = np.array([0, 0, 0, 1, 1, 1, 2])
    for view in (np.full((7, 1), 0.1), sp.csr_array(np.full((7, 1), 0.1))):
        found = feature_statistics(view, labels, 3)
        assert (found.difference == 0).all()
        np.testing.assert_allclose(found.auroc, 0.5, atol=1e-15)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_samples_without_a_view_do_not_count(kind):
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 20)
    tables = [rng.poisson(1.0, size=(60, 8)).astype(float) for _ in range(2)]
    gaps = drop_views(Views([kind(table) for table in tables]), 0.4, random_state=0)
    found = describe(gaps, labels, n_markers=8).markers
    for v, view in enumerate(gaps.names):
        present = gaps.has_view(v)
        for c in range(3):
            inside, outside = (tables[v][present & rows] for rows in (labels == c, labels != c))
            own = found[(found["view"] == view) & (found["cluster"] == c)]
            j = own["feature"].astype(int)
            share = stats.mannwhitneyu(inside, outside).statistic / len(inside) / len(outside)
            np.testing.assert_allclose(own["auroc"], share[j], atol=1e-10)
            np.testing.assert_allclose(own["share_outside"], (outside != 0).mean(axis=0)[j], atol=1e-12)


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


def test_correction_follows_its_definition():
    p = np.random.default_rng(0).random(300) ** 3
    ordered = np.sort(p)
    steps = [min(1.0, min(ordered[j] * 300 / (j + 1) for j in range(i, 300))) for i in range(300)]
    np.testing.assert_allclose(np.sort(corrected(p)), steps, rtol=1e-12)
    np.testing.assert_allclose(corrected(p), stats.false_discovery_control(p), rtol=1e-12)
    assert np.isnan(corrected(np.full(3, np.nan))).all()


def test_clusters_are_matched_by_what_they_share():
    partner, overlap = matched_clusters(np.array([0, 0, 0, 1, 1, 2]), np.array([1, 1, 0, 0, 0, 0]), 3)
    assert partner.tolist() == [1, 0, -1]
    np.testing.assert_allclose(overlap, [2 / 3, 2 / 4, 0])


def test_clusters_that_share_what_chance_makes_them_share_are_not_partners():
    partner, overlap = matched_clusters(np.array([0, 0, 1, 1, 2]), np.array([0, 0, 1, 1, 1]), 3)
    assert partner.tolist() == [0, 1, -1]
    assert overlap[2] == 0
    labels, other = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2]), np.array([0, 1, 2, 0, 1, 2, 2, 2, 2])
    partner, overlap = matched_clusters(labels, other, 3)
    assert partner[2] == 2
    assert (overlap[:2] == 0.25).all()
    assert (partner[:2] >= 0).all(), "1 of 3 where 3 · 2 / 9 are expected"
    labels, other = np.repeat([0, 1], 6), np.tile([0, 1], 6)
    partner, overlap = matched_clusters(labels, other, 2)
    assert partner.tolist() == [-1, -1]
    np.testing.assert_allclose(overlap, 3 / 9)


def test_features_are_tested_with_clusters_from_the_other_views():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, size=90)
    own, other = rng.normal(size=(90, 5)), np.eye(3)[truth] * 9 + rng.normal(size=(90, 3))
    own[:, 0] += truth == 1
    views = Views([own, other], ("own", "other"))
    labels = truth.copy()
    labels[:9] = (labels[:9] + 1) % 3  # not quite what is learned without the view
    model = ConcatKMeans(3, random_state=0).fit(views)
    auroc = feature_statistics(own, labels, 3).auroc
    p, overlap = honest_p(views, 0, labels, auroc, model)
    for c in range(3):
        test = stats.mannwhitneyu(own[truth == c], own[truth != c], method="asymptotic")
        confirmed = (test.statistic / ((truth == c).sum() * (truth != c).sum()) > 0.5) == (auroc[c] > 0.5)
        np.testing.assert_allclose(p[c], np.where(confirmed, test.pvalue, 1.0), rtol=1e-10)
        both, either = ((truth == c) & (labels == c)).sum(), ((truth == c) | (labels == c)).sum()
        np.testing.assert_allclose(overlap[c], both / either)
    opposite, _ = honest_p(views, 0, labels, 1 - auroc, model)
    assert opposite[1, 0] == 1, "high in the cluster, low in its partner: not confirmed"
    assert p[1, 0] < 0.01
