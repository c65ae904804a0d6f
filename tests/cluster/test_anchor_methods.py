"""MVSC and LMVSC: k-means centres as anchors."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from manyview import read_views
from manyview.cluster import LMVSC, MVSC
from manyview.cluster._anchors import kmeans_centres
from manyview.datasets import make_multiview
from manyview.exceptions import ReducedNeighborsWarning, ViewsError
from manyview.metrics import accuracy

BOTH = pytest.mark.parametrize("method", [MVSC, LMVSC])


@pytest.fixture(scope="module")
def blobs():
    return make_multiview(150, n_clusters=3, random_state=0)


@BOTH
def test_blobs(blobs, method):
    model = method(3, n_anchors=30, random_state=0).fit(blobs)
    assert accuracy(blobs.labels, model.labels_) == 1
    assert model.embedding_.shape == (150, 3)
    assert [a.shape for a in model.anchors_] == [(30, 10)] * 3
    again = method(3, n_anchors=30, random_state=0).fit(blobs)
    np.testing.assert_array_equal(again.embedding_, model.embedding_)


@BOTH
def test_order_of_samples_does_not_matter(blobs, method):
    rows = np.random.default_rng(0).permutation(150)
    straight = method(3, random_state=0).fit(blobs)
    turned = method(3, random_state=0).fit(blobs.take(rows))
    np.testing.assert_array_equal(turned.embedding_, straight.embedding_[rows])
    assert accuracy(straight.labels_[rows], turned.labels_) == 1


def test_attributes_of_mvsc(blobs, capsys):
    model = MVSC(3, n_neighbors=5, random_state=0, verbose=True).fit(blobs)
    assert capsys.readouterr().out.count("MVSC pass") == model.n_iter_ == len(model.history_["objective"])
    assert model.view_weights_.sum() == pytest.approx(1)
    assert (model.bandwidths_ > 0).all()
    assert len(model.anchors_[0]) == 75
    np.testing.assert_allclose(model.embedding_.T @ model.embedding_, np.eye(3) / 2, atol=1e-10)


def test_attributes_of_lmvsc(blobs, capsys):
    model = LMVSC(3, random_state=0, verbose=True).fit(blobs)
    assert capsys.readouterr().out.count("LMVSC pass") == 3
    assert model.coefficients_.shape == (150, 90)
    np.testing.assert_allclose(model.coefficients_.reshape(150, 3, 30).sum(axis=2), 1)
    parts = zip(blobs.arrays, model.anchors_, np.split(model.coefficients_, 3, axis=1), strict=True)
    values = [((x / x.max() - z @ a) ** 2).sum() + (z**2).sum() for x, a, z in parts]
    np.testing.assert_allclose(model.history_["objective"], values)
    assert model.history_["qp_gap"].max() <= 1e-8
    assert not hasattr(model, "view_weights_")


def test_a_noise_view_gets_the_least_weight():
    views = make_multiview(150, n_clusters=3, n_noise_views=1, random_state=0)
    assert np.argmin(MVSC(3, random_state=0).fit(views).view_weights_) == 3


@pytest.mark.parametrize("options", [{"relative_ridge": True}, {"degree_normalize": True}, {"row_normalize": True}])
def test_options_of_lmvsc(blobs, options):
    assert accuracy(blobs.labels, LMVSC(3, random_state=0, **options).fit(blobs).labels_) > 0.95


def test_row_normalize_of_mvsc(blobs):
    assert accuracy(blobs.labels, MVSC(3, row_normalize=True, random_state=0).fit(blobs).labels_) == 1


@BOTH
@pytest.mark.filterwarnings("ignore::manyview.exceptions.ReducedNeighborsWarning")
@pytest.mark.parametrize("n_clusters", [1, 2, 9, 10])
def test_tiny(method, n_clusters):
    rng = np.random.default_rng(0)
    views = [rng.normal(size=(10, 3)), rng.normal(size=(10, 1))]
    model = method(n_clusters, random_state=0).fit(views)
    assert len(np.unique(model.labels_)) == n_clusters
    assert np.isfinite(model.embedding_).all()


@BOTH
@pytest.mark.filterwarnings("ignore::manyview.exceptions.ReducedNeighborsWarning")
def test_duplicates_are_one_anchor(method):
    rng = np.random.default_rng(0)
    views = [np.repeat(rng.normal(size=(4, d)), 25, axis=0) for d in (3, 1)]
    model = method(4, random_state=0).fit(views)
    assert [len(a) for a in model.anchors_] == [4, 4]
    assert len(np.unique(model.labels_)) == 4


@BOTH
def test_sparse_views(method):
    views = [sp.random_array((80, d), density=0.2, rng=np.random.default_rng(d), format="csr") for d in (50, 30)]
    sparse, dense = (method(3, random_state=0).fit(v) for v in (views, [x.toarray() for x in views]))
    np.testing.assert_allclose(sparse.singular_values_, dense.singular_values_)


@BOTH
@pytest.mark.parametrize("n_anchors", [1, 200])
def test_wrong_number_of_anchors(blobs, method, n_anchors):
    with pytest.raises(ViewsError, match=f"n_anchors={n_anchors}"):
        method(7, n_anchors=n_anchors).fit(blobs)


def test_other_wrong_parameters(blobs):
    with pytest.raises(ValueError, match="weight_exponent"):
        MVSC(3, weight_exponent=1.0).fit(blobs)
    with pytest.raises(ValueError, match="ridge"):
        LMVSC(3, ridge=0.0).fit(blobs)
    with pytest.warns(ReducedNeighborsWarning, match="using n_neighbors=4"):
        MVSC(3, n_anchors=5).fit(blobs)
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        LMVSC(3, max_iter=1, ridge=0.01).fit(blobs)


def test_centres_come_from_a_part_of_many_samples(monkeypatch):
    monkeypatch.setattr("manyview.cluster._anchors._ALL_ROWS", 200)
    points = np.random.default_rng(0).normal(size=(1000, 2))
    part, whole = (kmeans_centres(points, m, np.random.RandomState(0), max_iter=300) for m in (4, 40))
    assert part.shape == (4, 2)
    assert whole.shape == (40, 2)
    labels = np.argmin(((points[:, None] - whole) ** 2).sum(axis=2), axis=1)
    means = np.array([points[labels == j].mean(axis=0) for j in range(40)])
    np.testing.assert_allclose(whole, means, atol=1e-8)  # all samples were used
    labels = np.argmin(((points[:, None] - part) ** 2).sum(axis=2), axis=1)
    means = np.array([points[labels == j].mean(axis=0) for j in range(4)])
    assert np.abs(part - means).max() > 1e-3  # only 200 were


def in_their_span(view):
    """Coordinates in the space that the samples span, which is smaller: they are as far apart as before."""
    return np.linalg.qr(view.T, mode="r").T


def within_two_deviations(labels, reference, found):
    expected = [accuracy(labels, given) for given in reference]
    return abs(np.mean([accuracy(labels, given) for given in found]) - np.mean(expected)) <= 2 * np.std(expected)


@pytest.mark.parametrize(("name", "file", "n_clusters"), [("msrc", "MSRC-v5.mat", 7), ("3s", "3Sources.mat", 6)])
def test_accuracy_of_mvsc_is_that_of_a_published_program(oracle, data_file, name, file, n_clusters):
    stored, data = oracle(f"mvsc__{name}__file"), read_views(data_file(file))
    views = [in_their_span(x) / scale for x, scale in zip(data.arrays, stored["scale"].ravel(), strict=True)]
    settings = {"n_anchors": 50, "weight_exponent": 2.0, "bandwidth": 1.0, "scaling": "none", "n_init": 1}
    found = [MVSC(n_clusters, **settings, max_iter=10, random_state=seed).fit(views).labels_ for seed in range(10)]
    reference = [stored[key] for key in stored if key.startswith("labels") and stored[key].size]
    assert within_two_deviations(data.labels, reference, found)


@pytest.mark.parametrize("n_anchors", [7, 50])
def test_accuracy_of_lmvsc_is_that_of_the_authors_program(oracle, data_file, n_anchors):
    stored, data = oracle("lmvsc_aseeds__msrc__file"), read_views(data_file("MSRC-v5.mat"))
    views = [in_their_span(x) / x.max() for x in data.arrays]
    settings = {"n_anchors": n_anchors, "scaling": "none", "n_init": 3}
    found = [LMVSC(7, **settings, random_state=seed).fit(views).labels_ for seed in range(10)]
    reference = [stored[f"labels__m{n_anchors}_a1_anchorseeds__s{seed}"] for seed in range(1, 6)]
    assert within_two_deviations(data.labels, reference, found)
