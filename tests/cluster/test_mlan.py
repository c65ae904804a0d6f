from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from manyview.cluster import MLAN
from manyview.datasets import make_multiview
from manyview.graphs import graph_component_labels
from manyview.io import read_views
from manyview.metrics import accuracy


@pytest.fixture(scope="module")
def blobs():
    return make_multiview(150, n_clusters=3, n_views=3, noise=0.2, random_state=0)


@pytest.fixture(scope="module")
def fitted(blobs):
    return MLAN(3).fit(blobs)


def test_fitted_attributes(blobs, fitted):
    assert accuracy(blobs.labels, fitted.labels_) > 0.95
    assert fitted.n_components_ == 3
    np.testing.assert_array_equal(graph_component_labels(fitted.learned_graph_)[1], fitted.labels_)
    assert (np.diff(fitted.learned_graph_.indptr) <= 9).all()
    np.testing.assert_allclose(fitted.learned_graph_.sum(axis=1), 1)
    assert fitted.view_weights_.sum() == pytest.approx(1)
    for name in ("objective", "connectivity_weight", "n_components"):
        assert fitted.history_[name].shape == (fitted.n_iter_,)
    assert fitted.history_["view_weights"].shape == (fitted.n_iter_, 3)


def test_order_of_samples_and_views_does_not_matter(blobs, fitted):
    order = np.random.default_rng(0).permutation(150)
    shuffled = MLAN(3).fit(blobs.take(order))
    np.testing.assert_array_equal(shuffled.learned_graph_.toarray(), fitted.learned_graph_.toarray()[order][:, order])
    assert adjusted_rand_score(shuffled.labels_, fitted.labels_[order]) == 1
    turned = MLAN(3).fit(blobs.arrays[::-1])
    np.testing.assert_allclose(turned.view_weights_[::-1], fitted.view_weights_, atol=1e-8)
    np.testing.assert_array_equal(turned.labels_, fitted.labels_)


def test_identical_views_count_the_same_as_one(blobs):
    one = MLAN(3).fit([blobs.arrays[0]])
    three = MLAN(3).fit([blobs.arrays[0]] * 3)
    np.testing.assert_allclose(three.view_weights_, 1 / 3)
    np.testing.assert_array_equal(three.labels_, one.labels_)
    np.testing.assert_allclose(three.learned_graph_.toarray(), one.learned_graph_.toarray(), atol=1e-8)


def test_a_common_unit_does_not_matter(blobs):
    plain = MLAN(3, scaling="none").fit(blobs)
    scaled = MLAN(3, scaling="none").fit([1000 * x for x in blobs.arrays])
    np.testing.assert_array_equal(scaled.labels_, plain.labels_)
    np.testing.assert_allclose(scaled.learned_graph_.toarray(), plain.learned_graph_.toarray(), atol=1e-8)
    np.testing.assert_allclose(scaled.history_["connectivity_weight"], 1e6 * plain.history_["connectivity_weight"])


@pytest.mark.parametrize("scaling", ["none", "unit"])
def test_sparse_views(blobs, scaling):
    views = [np.where(x > 0, x, 0.0) for x in blobs.arrays]
    dense = MLAN(3, scaling=scaling).fit(views)
    sparse = MLAN(3, scaling=scaling).fit([sp.csr_array(x) for x in views])
    np.testing.assert_allclose(sparse.view_weights_, dense.view_weights_, atol=1e-8)
    np.testing.assert_array_equal(sparse.labels_, dense.labels_)


def test_duplicates_stay_together():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 15)
    views = [np.repeat(rng.normal(size=(2, d)), 15, axis=0) for d in (3, 4)]
    model = MLAN(2).fit(views)
    np.testing.assert_array_equal(model.labels_, labels)
    assert np.isfinite(model.history_["objective"]).all()


def test_too_many_pieces_are_joined_with_a_warning():
    views = [np.repeat(np.eye(5)[:, :4] * 100, 8, axis=0) + np.random.default_rng(0).normal(size=(40, 4))] * 2
    with pytest.warns(ConvergenceWarning, match="5 connected components instead of n_clusters=2"):
        model = MLAN(2, n_neighbors=3, scaling="none").fit(views)
    assert set(model.labels_) == {0, 1}
    assert model.n_iter_ == 0


def test_verbose_prints_every_pass(blobs, capsys):
    model = MLAN(3, verbose=True).fit(blobs)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_
    assert lines[0].startswith("MLAN pass 1: objective ")


def test_published_numbers(data_file):
    views = read_views(data_file("MSRC-v5.mat"))
    model = MLAN(7, weighting="compound", connectivity_weight=10).fit(views)
    assert accuracy(views.labels, model.labels_) == pytest.approx(0.681, abs=5e-4)
    assert model.history_["connectivity_weight"][0] == pytest.approx(10)
    model = MLAN(7).fit(views)
    assert accuracy(views.labels, model.labels_) == pytest.approx(0.733, abs=5e-4)
