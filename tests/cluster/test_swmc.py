from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from manyview.cluster import MVGL, SwMC
from manyview.datasets import make_multiview
from manyview.exceptions import ReducedNeighborsWarning

METHODS = [SwMC, MVGL]


@pytest.fixture(scope="module")
def views():
    return make_multiview(100, n_clusters=3, random_state=0)


@pytest.mark.parametrize("method", METHODS)
def test_attributes(method, views):
    model = method(n_clusters=3).fit(views)
    assert adjusted_rand_score(views.labels, model.labels_) > 0.9
    np.testing.assert_allclose(np.asarray(model.learned_graph_.sum(axis=1)).ravel(), 1, atol=1e-9)
    assert (model.learned_graph_.data > 0).all()
    assert not model.learned_graph_.diagonal().any()
    assert model.view_weights_.shape == (views.n_views,)
    assert model.view_weights_.sum() == pytest.approx(1)
    assert model.n_components_ == 3
    assert all(len(values) == model.n_iter_ for values in model.history_.values())


@pytest.mark.parametrize("method", METHODS)
def test_scale_of_a_view_and_order_of_samples_do_not_matter(method, views):
    first = method(n_clusters=3).fit(views)
    rows = np.random.default_rng(0).permutation(views.n_samples)
    moved = method(n_clusters=3).fit([64.0 * np.asarray(view)[rows] for view in views.arrays])
    assert adjusted_rand_score(first.labels_[rows], moved.labels_) == 1.0
    np.testing.assert_allclose(moved.learned_graph_.toarray(), first.learned_graph_.toarray()[rows][:, rows], atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_clusters", [1, 2, 7, 8])
def test_few_samples(method, n_clusters):
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(8, 3)), sp.csr_array(rng.random((8, 4)) > 0.5, dtype=float), np.arange(8.0)[:, None]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        with pytest.warns(ReducedNeighborsWarning, match="n_neighbors"):
            model = method(n_clusters=n_clusters, random_state=0).fit(arrays)
    assert len(set(model.labels_)) == n_clusters


@pytest.mark.parametrize("method", METHODS)
def test_duplicates_and_constant_rows(method):
    rng = np.random.default_rng(0)
    distinct = rng.normal(size=(6, 3))
    arrays = [np.repeat(distinct, 8, axis=0), np.repeat(rng.normal(size=(6, 2)), 8, axis=0)]
    arrays[0][:8] = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = method(n_clusters=6, n_neighbors=5, random_state=0).fit(arrays)
    assert adjusted_rand_score(np.repeat(np.arange(6), 8), model.labels_) == 1.0
    assert np.isfinite(model.view_weights_).all()


@pytest.mark.parametrize("method", METHODS)
def test_too_many_pieces_are_joined_with_a_warning(method):
    """Six groups far apart cannot be three components of a neighbour graph."""
    rng = np.random.default_rng(0)
    centres = 100 * np.arange(6)[:, None]
    arrays = [np.repeat(centres, 12, axis=0) + rng.normal(size=(72, 2)) for _ in range(2)]
    with pytest.warns(ConvergenceWarning, match="n_clusters=3"):
        model = method(n_clusters=3, n_neighbors=4).fit(arrays)
    assert len(set(model.labels_)) == 3
    assert model.n_components_ >= 6
