"""Similarity network fusion, formula by formula beside loops, and what follows from them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from manyview.cluster import SNF
from manyview.cluster._snf import Kernels, affinity_exponents, fuse, normalize_full, view_kernels
from manyview.datasets import make_multiview
from manyview.exceptions import ViewsError

N, K, MU = 24, 5, 0.4


@pytest.fixture(scope="module")
def arrays():
    views = make_multiview(N, n_clusters=3, noise=0.6, n_features=4, random_state=0)
    return [view / np.sqrt(view.var(axis=0).sum()) for view in views.arrays]


def naive_affinity(view):
    """W, ρ and the neighbours of each sample."""
    rho = np.array([[np.sqrt(((x - y) ** 2).sum()) for y in view] for x in view])
    near = [[j for j in np.argsort(rho[i], kind="stable") if j != i][:K] for i in range(N)]
    spread = [np.mean([rho[i, j] for j in near[i]]) for i in range(N)]
    weights = np.zeros((N, N))
    for i in range(N):
        for j in range(N):
            epsilon = (spread[i] + spread[j] + rho[i, j]) / 3
            weights[i, j] = np.exp(-(rho[i, j] ** 2) / (MU * epsilon))
    return weights, near


def naive_full(weights):
    full = np.zeros((N, N))
    for i in range(N):
        total = sum(weights[i, k] for k in range(N) if k != i)
        for j in range(N):
            full[i, j] = 0.5 if i == j else weights[i, j] / (2 * total)
    return full


def naive_local(weights, near):
    local = np.zeros((N, N))
    for i in range(N):
        around = [i, *near[i]]
        for j in around:
            local[i, j] = weights[i, j] / sum(weights[i, k] for k in around)
    return local


def naive_fusion(full, local, n_passes):
    for _ in range(n_passes):
        new = []
        for v in range(len(full)):
            others = np.mean([full[w] for w in range(len(full)) if w != v], axis=0)
            new.append(naive_full(local[v] @ others @ local[v].T))
        full = new
    mean = np.mean(full, axis=0)
    return (mean + mean.T) / 2


def test_kernels_of_a_view(arrays):
    for view in arrays:
        weights, near = naive_affinity(view)
        found = view_kernels(view, K, MU)
        np.testing.assert_allclose(found.full, naive_full(weights), rtol=1e-9)
        np.testing.assert_allclose(found.local.toarray(), naive_local(weights, near), rtol=1e-9)


@pytest.mark.parametrize("n_passes", [1, 2, 20])
def test_fusion(arrays, n_passes):
    kernels = [view_kernels(view, K, MU) for view in arrays]
    expected = naive_fusion([k.full for k in kernels], [k.local.toarray() for k in kernels], n_passes)
    found = fuse(kernels, n_passes)
    np.testing.assert_allclose(found.affinity, expected, rtol=1e-9)
    assert len(found.changes) == n_passes


def test_the_change_is_relative_to_the_kernels(arrays):
    kernels = [view_kernels(view, K, MU) for view in arrays[:2]]
    moved = []
    for one, other in (kernels, kernels[::-1]):
        new = naive_full(one.local.toarray() @ other.full @ one.local.toarray().T)
        moved.append(np.linalg.norm(new - one.full) / np.linalg.norm(one.full))
    assert fuse(kernels, 1).changes == pytest.approx([np.mean(moved)])


def test_kernels_are_random_walks(arrays):
    for view in arrays:
        found = view_kernels(view, K, MU)
        np.testing.assert_allclose(found.full.sum(axis=1), 1.0)
        np.testing.assert_array_equal(found.full.diagonal(), 0.5)
        np.testing.assert_allclose(found.local.sum(axis=1), 1.0)
        np.testing.assert_array_equal(np.diff(found.local.indptr), K + 1)
        assert (found.local.diagonal() > 0).all()


def test_affinities_of_copies_are_1():
    squares = np.array([[0.0, 0.0, 4.0], [0.0, 0.0, 4.0], [4.0, 4.0, 0.0]])
    found = affinity_exponents(squares, np.array([0.0, 0.0, 2.0]), 0.5)
    np.testing.assert_allclose(found, [[0, 0, -6], [0, 0, -6], [-6, -6, 0]])


def test_a_row_without_weights_becomes_even():
    found = normalize_full(np.array([[3.0, 0.0, 0.0], [1.0, 9.0, 3.0], [0.0, 2.0, 0.0]]))
    np.testing.assert_allclose(found, [[0.5, 0.25, 0.25], [0.125, 0.5, 0.375], [0, 0.5, 0.5]])


def test_a_sample_far_from_all_others_has_affinities():
    view = np.vstack([np.random.default_rng(0).normal(size=(200, 2)), [[1e9, 0.0]]])
    found = view_kernels(view, 3, 1e-3)
    assert np.isfinite(found.full).all()
    np.testing.assert_allclose(found.full.sum(axis=1), 1.0)


def test_identical_full_kernels_that_stay():
    """A walk to all samples alike is not changed by averages over neighbours, but for its diagonal."""
    even = normalize_full(np.ones((4, 4)))
    local = sp.csr_array(np.eye(4))
    found = fuse([Kernels(even.copy(), local), Kernels(even.copy(), local)], 3)
    np.testing.assert_allclose(found.affinity, even)
    np.testing.assert_allclose(found.changes, 0.0, atol=1e-15)


@pytest.fixture(scope="module")
def views():
    return make_multiview(90, n_clusters=3, noise=0.4, random_state=1).shuffled(0)


def test_the_fused_affinity_is_symmetric_and_stays_in_the_order_of_the_samples(views):
    model = SNF(3, random_state=0).fit(views)
    np.testing.assert_array_equal(model.affinity_, model.affinity_.T)
    assert (model.affinity_ >= 0).all()
    np.testing.assert_allclose(model.affinity_.sum(), 90)  # the mean of random walks
    rows = np.random.default_rng(2).permutation(90)
    again = SNF(3, random_state=0).fit(views.take(rows))
    np.testing.assert_array_equal(again.affinity_, model.affinity_[np.ix_(rows, rows)])
    assert adjusted_rand_score(again.labels_, model.labels_[rows]) == 1


def test_units_and_repeated_columns_do_not_matter(views):
    first = SNF(3, random_state=0).fit(views)
    other = [1e-6 * views.arrays[0], 1e6 * np.hstack([views.arrays[1]] * 3), *views.arrays[2:]]
    np.testing.assert_allclose(SNF(3, random_state=0).fit(other).affinity_, first.affinity_, rtol=1e-6)


def test_fusion_beats_the_best_single_view():
    """Views that blur the same groups, each with noise of its own."""
    together, alone = [], []
    for seed in range(4):
        views = make_multiview(150, n_clusters=4, noise=0.45, random_state=seed)
        together.append(adjusted_rand_score(views.labels, SNF(4, random_state=0).fit(views).labels_))
        single = [SNF(4, random_state=0).fit([view, view]).labels_ for view in views.arrays]
        alone.append(max(adjusted_rand_score(views.labels, labels) for labels in single))
    assert np.mean(together) > np.mean(alone) + 0.2


def test_one_view_is_refused(views):
    with pytest.raises(ViewsError, match="expected at least 2 views, got 1"):
        SNF(3).fit(views.arrays[:1])


def test_missing_views_are_refused(views):
    arrays = [view.copy() for view in views.arrays]
    arrays[0][:2] = np.nan
    with pytest.raises(ViewsError, match="SNF needs every view of every sample, but 2 of 90"):
        SNF(3).fit(arrays)


@pytest.mark.parametrize("factor", [0, -1.0, "wide"])
def test_bandwidth_factors_that_cannot_be(views, factor):
    with pytest.raises(ValueError, match="'bandwidth_factor' parameter of SNF"):
        SNF(3, bandwidth_factor=factor).fit(views)
