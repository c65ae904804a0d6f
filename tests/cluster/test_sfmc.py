from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from manyview.cluster import SFMC
from manyview.datasets import make_multiview
from manyview.exceptions import ViewsError
from manyview.graphs import component_labels
from manyview.io import read_views
from manyview.metrics import accuracy

FILES = {"msrc": "MSRC-v5.mat", "3s": "3Sources.mat"}


@pytest.fixture(scope="module")
def blobs():
    return make_multiview(150, n_clusters=3, n_views=3, noise=0.2, random_state=0)


@pytest.mark.parametrize("anchors", ["das", "vda", "kmeans", "random"])
def test_attributes(blobs, anchors):
    model = SFMC(3, anchors=anchors, random_state=0).fit(blobs)
    assert adjusted_rand_score(model.labels_, blobs.labels) > 0.95
    assert model.view_weights_.sum() == pytest.approx(1)
    assert model.component_graph_.shape == model.consensus_graph_.shape == (150, 75)
    assert len(np.unique(model.anchor_indices_)) == 75
    assert model.n_components_ == 3
    np.testing.assert_array_equal(component_labels(model.component_graph_)[1], model.labels_)
    assert model.history_["view_weights"].shape == (model.n_iter_, 3)


def test_own_anchors_are_the_given_rows(blobs):
    """An anchor is at no distance from its own row, so no edge there is heavier."""
    chosen = np.arange(7, 150, 5)
    model = SFMC(3, anchors=chosen[::-1]).fit(blobs)
    np.testing.assert_array_equal(np.sort(model.anchor_indices_), chosen)
    own = model.consensus_graph_[model.anchor_indices_].toarray()
    np.testing.assert_allclose(np.diag(own), own.max(axis=1))
    order = np.random.default_rng(0).permutation(150)
    other = SFMC(3, anchors=np.argsort(order)[chosen]).fit([x[order] for x in blobs.arrays])
    np.testing.assert_array_equal(other.view_weights_, model.view_weights_)
    assert adjusted_rand_score(other.labels_, model.labels_[order]) == 1.0


def test_number_of_anchors(blobs):
    assert len(SFMC(3, n_anchors=33).fit(blobs).anchor_indices_) == 33
    assert len(SFMC(3, n_anchors=0.2).fit(blobs).anchor_indices_) == 30
    assert SFMC(3)._number_of_anchors(20_000) == 400
    assert SFMC(300)._number_of_anchors(20_000) == 1500
    assert SFMC(8)._number_of_anchors(12) == 9
    with pytest.raises(ViewsError, match="n_anchors=151 is more than there are samples: n_samples=150"):
        SFMC(3, n_anchors=151).fit(blobs)
    with pytest.raises(
        ViewsError, match="n_anchors=3 gives 3 anchors for n_samples=150; n_clusters=3 needs at least 4"
    ):
        SFMC(3, n_anchors=3).fit(blobs)
    with pytest.raises(ViewsError, match="anchors lists 2 samples; n_clusters=3 needs at least 4"):
        SFMC(3, anchors=[1, 2]).fit(blobs)
    with pytest.raises(ViewsError, match="sample index 150 is not between 0 and 149"):
        SFMC(3, anchors=[1, 2, 3, 150]).fit(blobs)


def test_one_cluster(blobs):
    assert (SFMC(1).fit(blobs).labels_ == 0).all()


def test_too_many_components_are_joined():
    far = make_multiview(60, n_clusters=6, noise=0.01, random_state=0)
    with pytest.warns(ConvergenceWarning, match="components instead of n_clusters=2"):
        model = SFMC(2, n_neighbors=2).fit(far)
    assert set(model.labels_) == {0, 1}
    assert model.n_components_ > 2


@pytest.mark.parametrize("tag", FILES)
@pytest.mark.parametrize("order", ["file", "shuf"])
def test_labels_of_the_original_program(oracle, data_file, tag, order):
    result, views = oracle(f"sfmc__{tag}__{order}"), read_views(data_file(FILES[tag]))
    rows = np.arange(views.n_samples) if order == "file" else oracle("perms")[tag].ravel().astype(int)
    rows = rows - rows.min()
    anchors = result["ind"].ravel().astype(int) - 1
    model = SFMC(len(np.unique(views.labels)), anchors=anchors, tol=0.0).fit([x[rows] for x in views.arrays])
    assert adjusted_rand_score(model.labels_, result["labels__default"]) >= 0.95
    assert accuracy(views.labels[rows], model.labels_) == pytest.approx({"msrc": 0.8095, "3s": 0.3609}[tag], abs=1e-4)
    np.testing.assert_allclose(model.view_weights_, result["alpha"][:, -1], atol=1e-3)
