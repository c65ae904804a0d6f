from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from manyview.solvers import rdekm
from manyview.solvers.rdekm import principal_scores, whiten

WEIGHTINGS = ["samples", "views"]


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """As in the estimators: threads cost more than they bring with matrices this small."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def data():
    """Three views of 120 samples in 4 overlapping groups, and labels that are wrong for a third of them."""
    rng = np.random.default_rng(0)
    classes = np.repeat(np.arange(4), 30)
    views = [(rng.normal(size=(4, d)) * 1.5)[classes] + rng.normal(size=(120, d)) for d in (5, 8, 12)]
    start = np.where(rng.random(120) < 0.33, rng.integers(4, size=120), classes)
    return views, classes, start


def prepared(views, ridge=1e-3, n_components=3):
    return [whiten(principal_scores(x), ridge, n_components) for x in views]


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("n", "d"), [(60, 7), (40, 90), (260, 230)])
def test_principal_scores(make, n, d):
    rng = np.random.default_rng(n)
    x = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.3) * np.linspace(0.1, 3, d) + (np.arange(d) % 3 == 0)
    scores = principal_scores(make(x))
    centred = x - x.mean(axis=0)
    variances = np.linalg.svd(centred, compute_uv=False) ** 2
    shares = variances / variances.sum()
    kept = d if d <= min(n, 200) else int(np.argmax(np.cumsum(shares) >= 0.99)) + 1
    np.testing.assert_allclose(scores.T @ scores, np.diag(shares[:kept]), atol=1e-10)
    if kept == d:  # all distances are kept
        np.testing.assert_allclose(scores @ scores.T, centred @ centred.T / variances.sum(), atol=1e-12)


def test_principal_scores_leave_out_what_does_not_vary():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 3))
    table = np.hstack([x, x @ rng.normal(size=(3, 2)), np.full((50, 2), 0.1)])
    assert principal_scores(table).shape == (50, 3)
    for make in (np.asarray, sp.csr_array):
        assert principal_scores(make(np.full((50, 4), 0.1))).shape == (50, 0)
        assert principal_scores(make(np.full((50, 80), 0.1))).shape == (50, 0)


def test_constraint(data):
    """WᵀSW + δWᵀW = I/r for the subspace in the coordinates of the view."""
    x = data[0][1] - data[0][1].mean(axis=0)
    x /= np.linalg.norm(x)
    ridge = 0.01
    scatter = x.T @ x + ridge / 8 * np.eye(8)  # all eight components have more variance than the ridge
    points = whiten(principal_scores(x), ridge, 3)
    assert points.shape == (120, 8)
    # the linear map from x to the points, then any orthonormal subspace
    there = np.linalg.lstsq(x, points, rcond=None)[0]
    w = there @ np.linalg.qr(np.random.default_rng(0).normal(size=(8, 3)))[0]
    np.testing.assert_allclose(w.T @ scatter @ w, np.eye(3) / 3, atol=1e-10)


def test_components_below_the_ridge_are_left_out():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 4)) * [1, 1, 1, 1e-3]
    assert whiten(principal_scores(x), 1e-3, 2).shape == (60, 3)
    assert whiten(principal_scores(x), 0.0, 2).shape == (60, 4)


def test_means_and_scatter_against_loops(data):
    points, (_, _, labels) = prepared(data[0])[1], data
    d = np.random.default_rng(1).random(120) + 0.1
    means = rdekm.class_means(points, d, labels, 4)
    expected_means = np.zeros((4, 8))
    for c in range(4):
        rows = [i for i in range(120) if labels[i] == c]
        expected_means[c] = sum(d[i] * points[i] for i in rows) / sum(d[i] for i in rows)
    np.testing.assert_allclose(means, expected_means, atol=1e-14)
    expected = np.zeros((8, 8))
    for i in range(120):
        gap = points[i] - means[labels[i]]
        expected += d[i] * np.outer(gap, gap)
    np.testing.assert_allclose(rdekm.within_scatter(points, d, labels, means), expected, atol=1e-14)


def test_subspace_is_that_of_the_generalised_eigenproblem(data):
    """The whitened step gives the span of scipy's (S_w, S_t) eigenvectors in the coordinates of the view."""
    x, labels = data[0][2] - data[0][2].mean(axis=0), data[2]
    points = whiten(principal_scores(x), 0.0, 3)
    d = np.random.default_rng(2).random(120) + 0.1

    def scatter(table):
        return rdekm.within_scatter(table, d, labels, rdekm.class_means(table, d, labels, 4))

    subspace = rdekm.subspace_step(scatter(points), 3)
    np.testing.assert_allclose(subspace.T @ subspace, np.eye(3), atol=1e-12)
    expected = scipy.linalg.eigh(scatter(x), x.T @ x, subset_by_index=[0, 2])[1]
    np.testing.assert_allclose(
        points @ subspace @ (points @ subspace).T * 3, x @ expected @ (x @ expected).T, atol=1e-9
    )


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_weights_touch_the_objective_from_above(weighting):
    rng = np.random.default_rng(0)
    floor = 0.2
    old, new = rng.random((2, 3, 40))
    old[0], new[0, :5] = old[0] * 0.01, 0.0
    d = rdekm.weight_step(old, floor, weighting)
    value = rdekm.objective(old, floor, weighting)
    bound = value + float((d * (new**2 - old**2)).sum())
    assert rdekm.objective(new, floor, weighting) <= bound + 1e-12
    if weighting == "samples":
        expected = sum(r if r >= floor else r**2 / (2 * floor) + floor / 2 for r in old.ravel())
        np.testing.assert_allclose(d, [[0.5 / max(r, floor) for r in row] for row in old])
    else:
        sizes = [np.sqrt(sum(r**2 for r in row)) for row in old]
        expected = sum(r if r >= floor else r**2 / (2 * floor) + floor / 2 for r in sizes)
        np.testing.assert_allclose(d[:, 7], [0.5 / max(r, floor) for r in sizes])
    assert value == pytest.approx(expected)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_assignment_against_loops(weighting):
    rng = np.random.default_rng(0)
    gaps, d = rng.random((2, 30, 4)), rng.random((2, 30))
    labels = rdekm.assign_step(gaps, d, 0.05, weighting)
    for i in range(30):
        costs = [
            sum(
                (gaps[v, i, c] if gaps[v, i, c] >= 0.05 else gaps[v, i, c] ** 2 / 0.1 + 0.025)
                if weighting == "samples"
                else d[v, i] * gaps[v, i, c] ** 2
                for v in range(2)
            )
            for c in range(4)
        ]
        assert labels[i] == np.argmin(costs)


def test_no_cluster_stays_empty():
    gaps = np.ones((1, 6, 3))
    gaps[0, :, 0] = [0.1, 0.5, 0.2, 0.4, 0.3, 0.0]
    np.testing.assert_array_equal(rdekm.assign_step(gaps, np.ones((1, 6)), 1e-9, "samples"), [0, 1, 0, 2, 0, 0])
    for n_clusters in (5, 11, 12):
        x = np.random.default_rng(1).normal(size=(12, 3))
        found = rdekm.run(prepared([x, x**2], n_components=2), np.zeros(12, dtype=int), n_clusters, 2)
        assert len(np.unique(found.labels)) == n_clusters


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("seed", range(4))
def test_objective_never_rises(data, weighting, seed):
    start = np.random.default_rng(seed).integers(4, size=120)
    found = rdekm.run(prepared(data[0]), start, 4, 3, weighting=weighting, max_iter=40, tol=0.0)
    assert len(found.objective) > 3
    assert np.diff(found.objective).max() <= 1e-9 * found.objective[0]
    assert found.objective[-1] < found.objective[0]


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_objective_is_that_of_the_result(data, weighting):
    seen = []
    found = rdekm.run(
        prepared(data[0]), data[2], 4, 3, weighting=weighting, max_iter=500, on_pass=lambda *report: seen.append(report)
    )
    assert seen == list(enumerate(found.objective, start=1))
    assert found.n_iter == len(seen)
    assert found.view_weights.sum() == pytest.approx(1)
    centres = [[z[found.labels == c].mean(axis=0) for c in range(4)] for z in found.embeddings]
    if weighting == "views":  # at the end the centres are plain means
        gaps = [
            np.linalg.norm(z - np.array(centre)[found.labels])
            for z, centre in zip(found.embeddings, centres, strict=True)
        ]
        assert found.objective[-1] == pytest.approx(sum(gaps), rel=1e-5)
        np.testing.assert_allclose(found.view_weights, (1 / np.array(gaps)) / (1 / np.array(gaps)).sum(), rtol=1e-5)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_units_of_the_features_do_not_matter_without_a_ridge(data, weighting):
    views, _, start = data
    rng = np.random.default_rng(5)
    mixed = [x @ rng.normal(size=(x.shape[1], x.shape[1])) * 10.0 ** rng.integers(-3, 3) + 7 for x in views]
    one, other = (
        rdekm.run(prepared(given, ridge=0.0), start, 4, 3, weighting=weighting, max_iter=15) for given in (views, mixed)
    )
    np.testing.assert_array_equal(one.labels, other.labels)
    np.testing.assert_allclose(one.objective, other.objective, rtol=1e-7)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_order_of_samples_and_views(data, weighting):
    points, start = prepared(data[0]), data[2]
    order = np.random.default_rng(3).permutation(120)
    one = rdekm.run(points, start, 4, 3, weighting=weighting, max_iter=15)
    rows = rdekm.run([x[order] for x in points], start[order], 4, 3, weighting=weighting, max_iter=15)
    views = rdekm.run(points[::-1], start, 4, 3, weighting=weighting, max_iter=15)
    np.testing.assert_array_equal(rows.labels, one.labels[order])
    np.testing.assert_array_equal(views.labels, one.labels)
    np.testing.assert_allclose(views.view_weights[::-1], one.view_weights, rtol=1e-6)


def test_one_view_is_discriminative_kmeans(data):
    """With weights of views and a single view, a pass is an LDA step, then a step of k-means in its subspace."""
    x, start = data[0][1], data[2]
    points = whiten(principal_scores(x), 0.0, 3)
    found = rdekm.run([points], start, 4, 3, weighting="views", max_iter=1)
    x = x - x.mean(axis=0)
    means = np.array([x[start == c].mean(axis=0) for c in range(4)])
    within = (x - means[start]).T @ (x - means[start])
    w = scipy.linalg.eigh(within, x.T @ x, subset_by_index=[0, 2])[1]
    expected = np.argmin((((x @ w)[:, None] - (means @ w)[None]) ** 2).sum(axis=2), axis=1)
    np.testing.assert_array_equal(found.labels, expected)


def test_outliers_of_one_view_move_less_than_with_squares(data):
    """The weights of samples hold samples that lie far away in one view at little influence."""
    views, _, start = data
    rng = np.random.default_rng(6)
    out = rng.choice(120, 3, replace=False)
    spoiled = [x.copy() for x in views]
    spoiled[0][out] += rng.normal(size=(3, 5)) * 60
    rest = np.setdiff1d(np.arange(120), out)
    scores = {}
    for weighting in WEIGHTINGS:
        clean, other = (rdekm.run(prepared(v), start, 4, 3, weighting=weighting) for v in (views, spoiled))
        scores[weighting] = adjusted_rand_score(clean.labels[rest], other.labels[rest])
    assert scores["samples"] >= scores["views"]
    assert scores["samples"] > 0.9


def test_a_cluster_that_is_given_a_sample_has_its_centre_there():
    """Both centres are 0, all choose the first, and the second gets one of the farthest: its residual is gone."""
    points = np.array([[-1.0], [1.0], [-2.0], [2.0]])
    found = rdekm.run([points], np.array([0, 0, 1, 1]), 2, 1, max_iter=1)
    assert np.bincount(found.labels).tolist() == [3, 1]
    assert found.objective[0] == pytest.approx(1 + 1 + 2, rel=1e-4)
