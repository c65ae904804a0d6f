"""Which samples are on the map, and where."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from manyview.datasets import make_multiview
from manyview.description.map import choose_shown, project, spread_over_clusters
from manyview.views import Views


def points_of(views, labels, **attributes):
    model = SimpleNamespace(labels_=labels, **attributes)
    return project(model, views, choose_shown(model, labels))


@pytest.mark.parametrize(("n_samples", "k"), [(5, 1), (5, 2), (5, 5), (200, 2), (200, 7), (400, 40), (300, 100)])
@pytest.mark.parametrize("with_embedding", [True, False])
def test_any_number_of_clusters_fits_in_the_frame(n_samples, k, with_embedding):
    views = make_multiview(n_samples, n_clusters=k, random_state=0)
    given = {"embedding_": np.eye(k)[views.labels].astype(np.float32)} if with_embedding else {}
    points, _ = points_of(views, np.array(views.labels), **given)
    assert points.shape == (n_samples, 2)
    assert np.isfinite(points).all()
    np.testing.assert_allclose((points.max(axis=0) - points.min(axis=0)).max(), 2)


@pytest.mark.parametrize("k", [2, 5, 12, 13, 50])
def test_clusters_are_apart(k):
    views = make_multiview(20 * k, n_clusters=k, random_state=0)
    points, how = points_of(views, np.array(views.labels), embedding_=np.eye(k)[views.labels])
    means = np.array([points[views.labels == c].mean(axis=0) for c in range(k)])
    nearest = ((points[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)
    assert (nearest == views.labels).mean() > 0.97
    assert "the coordinates that the method found" in how


def test_a_mixture_lies_between_its_clusters():
    views = make_multiview(90, n_clusters=3, random_state=0)
    labels = np.array(views.labels)
    embedding = np.eye(3)[labels]
    points, _ = points_of(views, labels, embedding_=embedding)
    first = np.flatnonzero(labels == 0)
    odd = first[np.linalg.norm(points[first] - points[first].mean(axis=0), axis=1).argmin()]  # was in the middle of it
    embedding[odd] = [0.5, 0.5, 0]
    points, _ = points_of(views, labels, embedding_=embedding)
    means = np.array([points[labels == c].mean(axis=0) for c in range(3)])
    away = np.linalg.norm(points[odd] - (means[0] + means[1]) / 2)
    assert away < 0.2 * np.linalg.norm(means[0] - means[1])


def test_without_coordinates_a_sample_lies_between_the_clusters_that_its_graph_links_it_with():
    views = make_multiview(90, n_clusters=3, random_state=0)
    labels = np.array(views.labels)
    own = (labels[:, None] == labels).astype(float)
    half = own.copy()
    first = np.flatnonzero(labels == 0)
    half[first[0]] = np.isin(labels, [0, 1])
    before, how = points_of(views, labels, learned_graph_=sp.csr_array(own))
    after, _ = points_of(views, labels, learned_graph_=sp.csr_array(half))
    assert "by its weights in the learned graph" in how
    towards = before[labels == 1].mean(axis=0) - before[first].mean(axis=0)
    step = after[first[0]] - before[first[0]]
    np.testing.assert_allclose(step, towards / 2, rtol=0.2, atol=0.1)  # the frame may change a little
    nothing = np.zeros_like(own)
    assert np.isfinite(points_of(views, labels, learned_graph_=nothing)[0]).all()


def test_samples_of_a_cluster_do_not_share_a_point():
    views = make_multiview(90, n_clusters=3, random_state=0)
    points, _ = points_of(views, np.array(views.labels), embedding_=np.eye(3)[views.labels])
    assert len(np.unique(points.round(6), axis=0)) == 90


def test_without_coordinates_the_views_are_taken():
    views = make_multiview(90, n_clusters=3, noise=0.02, random_state=0)
    points, how = points_of(views, np.array(views.labels))
    assert "all views side by side" in how
    means = np.array([points[views.labels == c].mean(axis=0) for c in range(3)])
    assert (((points[:, None] - means) ** 2).sum(axis=2).argmin(axis=1) == views.labels).mean() > 0.95


def test_sparse_views_and_views_of_one_feature():
    views = make_multiview(40, n_clusters=3, n_features=[4, 4, 4], random_state=0)
    other = Views([sp.csr_array(views.arrays[0]), views.arrays[1][:, :1]])
    assert np.isfinite(points_of(other, np.array(views.labels))[0]).all()
    one = Views([views.arrays[0][:, :1]])
    assert np.isfinite(points_of(one, np.zeros(40, dtype=int))[0]).all()


def test_equal_samples_get_equal_points():
    views = Views([np.zeros((6, 3)), np.ones((6, 2))])
    points, _ = points_of(views, np.zeros(6, dtype=int))
    np.testing.assert_array_equal(points, 0)
    labels = np.arange(6) % 2
    points, _ = points_of(Views([np.eye(2)[labels]]), labels)
    assert len(np.unique(points.round(6), axis=0)) == 2


def test_few_samples_are_all_shown():
    np.testing.assert_array_equal(spread_over_clusters(np.zeros(7, dtype=int), 7), np.arange(7))


@pytest.mark.parametrize("sizes", [[5000, 3, 1], [1] * 40 + [900], [300, 300, 300], [10_000]])
def test_every_cluster_is_kept_and_the_number_is_met(sizes):
    codes = np.random.default_rng(0).permutation(np.repeat(np.arange(len(sizes)), sizes))
    rows = spread_over_clusters(codes, 200)
    assert len(rows) == len(set(rows.tolist())) == 200
    assert (np.diff(rows) > 0).all()
    shown = np.bincount(codes[rows], minlength=len(sizes))
    assert (shown >= 1).all()
    assert (shown <= sizes).all()


def test_half_follows_the_sizes():
    codes = np.repeat([0, 1], [9000, 1000])
    shown = np.bincount(codes[spread_over_clusters(codes, 1000)])
    np.testing.assert_allclose(shown, [250 + 461, 250 + 39], atol=1)


def test_of_too_many_clusters_the_largest_are_shown():
    codes = np.repeat(np.arange(20), np.arange(1, 21))
    shown = codes[spread_over_clusters(codes, 6)]
    assert sorted(shown.tolist()) == [14, 15, 16, 17, 18, 19]


def test_the_same_seed_gives_the_same_rows():
    codes = np.arange(5000) % 3
    np.testing.assert_array_equal(spread_over_clusters(codes, 100, 4), spread_over_clusters(codes, 100, 4))
    assert not np.array_equal(spread_over_clusters(codes, 100, 4), spread_over_clusters(codes, 100, 5))
