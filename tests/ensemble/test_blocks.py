"""More samples than are learned on: drawn by content, placed block by block."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import manyview
from manyview import GraphEnsemble, Views, ViewTransformer
from manyview.datasets import make_multiview
from manyview.ensemble import samples
from manyview.ensemble.fit import settle
from manyview.ensemble.members import Settings
from manyview.exceptions import ViewsError
from manyview.graphs.components import component_labels
from manyview.metrics import accuracy, adjusted_rand

LEARN_ON = ["all", 200]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(samples, "_block_rows", lambda *_: 130)
    monkeypatch.setattr("manyview.cluster._graph_ensemble._LEARNED_ROWS", 250)


def noisy(n=600, noise=0.35, **parameters):
    return make_multiview(n, 3, n_features=[6, 9, 7], noise=noise, random_state=0, **parameters)


def fit(views, n_clusters=3, **parameters):
    parameters = {"random_state": 0, "n_members": 16, "n_anchors": 80, "learn_on": 200} | parameters
    return GraphEnsemble(n_clusters, **parameters).fit(views)


def assert_same(model, other, rows=slice(None)):
    """The other model saw ``rows`` of what the model saw."""
    assert adjusted_rand(model.labels_[rows], other.labels_) == 1.0
    np.testing.assert_allclose(other.view_weights_, model.view_weights_, atol=1e-12)
    np.testing.assert_allclose(other.confidence_, model.confidence_[rows], atol=1e-12)


@pytest.mark.parametrize("learn_on", [*LEARN_ON, 10_000])
def test_names_of_columns_and_metadata_are_not_looked_at(learn_on):
    views = noisy()
    named = [[f"{name} {column}" for column in range(x.shape[1])] for name, x in views.items()]
    more = replace(views, feature_names=named, metadata=pd.DataFrame({"age": np.arange(600)}))
    model, expected = fit(more, learn_on=learn_on), fit(views, learn_on=learn_on)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_array_equal(model.predict(more[:50]), expected.predict(views[:50]))


@pytest.mark.parametrize("learn_on", LEARN_ON)
def test_clusters_are_found(learn_on):
    views = noisy(noise=0.2)
    model = fit(views, learn_on=learn_on)
    assert accuracy(views.labels, model.labels_) > 0.99
    assert model.labels_[0] == 0
    assert model.labels_.shape == model.confidence_.shape == (600,)
    assert model.embedding_.shape == (600, 3)
    assert model.consensus_graph_.shape == (600, 80)
    assert ((model.confidence_ >= 0) & (model.confidence_ <= 1)).all()
    assert len(np.unique(model.anchor_indices_)) == 80


@pytest.mark.parametrize("learn_on", LEARN_ON)
@pytest.mark.parametrize("noise", [0.2, 0.5])
def test_the_graph_has_the_labels_as_components(learn_on, noise):
    model = fit(noisy(noise=noise), learn_on=learn_on)
    found, labels = component_labels(model.consensus_graph_)
    assert found == 3
    np.testing.assert_array_equal(labels, model.labels_)
    np.testing.assert_allclose(model.consensus_graph_.sum(axis=1), 1.0)


def test_a_cluster_without_an_anchor_gets_one():
    views = make_multiview(420, 6, n_features=[6, 9, 7], noise=0.2, random_state=0)
    n_anchors = set()
    for seed in range(6):  # whether two of six anchors fall into one cluster is chance
        model = fit(views, 6, learn_on="all", n_members=8, n_anchors=6, random_state=seed)
        n_anchors.add(len(model.anchor_indices_))
        assert model.consensus_graph_.shape[1] == len(model.anchor_indices_)
        found, labels = component_labels(model.consensus_graph_)
        assert found == 6
        np.testing.assert_array_equal(labels, model.labels_)
    assert max(n_anchors) > 6


@pytest.mark.parametrize("learn_on", LEARN_ON)
def test_the_order_of_samples_and_views_does_not_matter(learn_on):
    views = noisy(noise=0.5)
    model = fit(views, learn_on=learn_on)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(600)
        assert_same(model, fit(views.take(order), learn_on=learn_on), order)
    turned = fit(Views(views.arrays[::-1]), learn_on=learn_on)
    assert adjusted_rand(turned.labels_, model.labels_) == 1.0
    np.testing.assert_allclose(turned.view_weights_[::-1], model.view_weights_, atol=1e-12)


@pytest.mark.parametrize("learn_on", LEARN_ON)
def test_blocks_and_threads_do_not_matter(learn_on, monkeypatch):
    views = noisy(noise=0.5)
    model = fit(views, learn_on=learn_on)
    for block_rows, n_jobs in ((599, 1), (40, 3), (1000, 2)):
        monkeypatch.setattr(samples, "_block_rows", lambda *_, size=block_rows: size)
        other = fit(views, learn_on=learn_on, n_jobs=n_jobs)
        np.testing.assert_array_equal(other.labels_, model.labels_)
        np.testing.assert_array_equal(other.embedding_, model.embedding_)
        np.testing.assert_array_equal(other.confidence_, model.confidence_)
        np.testing.assert_array_equal(other.consensus_graph_.toarray(), model.consensus_graph_.toarray())


@pytest.mark.parametrize("learn_on", LEARN_ON)
def test_samples_of_the_fit_get_their_labels_again(learn_on):
    views = noisy(noise=0.5)
    model = fit(views, learn_on=learn_on)
    np.testing.assert_array_equal(model.predict(views), model.labels_)
    np.testing.assert_array_equal(model.transform(views), model.embedding_)
    np.testing.assert_array_equal(model.predict_confidence(views), model.confidence_)


def test_learning_on_all_is_the_plain_fit_if_the_basis_is_all():
    views = noisy(250, noise=0.5)
    plain, blocks = fit(views, learn_on="all", n_anchors="auto"), fit(views, learn_on=250, n_anchors="auto")
    assert_same(plain, blocks)


def test_a_view_given_twice_counts_once():
    views = noisy(noise=0.5)
    model = fit(views)
    twice = fit([*views.arrays, views.arrays[1].copy()])
    assert adjusted_rand(twice.labels_, model.labels_) == 1.0
    np.testing.assert_allclose(twice.view_weights_[[1, 3]], model.view_weights_[1] / 2)


@pytest.mark.parametrize("learn_on", LEARN_ON)
def test_equal_samples_get_equal_labels(learn_on):
    rng = np.random.default_rng(0)
    few = noisy(60, noise=0.2)
    rows = rng.choice(60, 900, p=rng.dirichlet(np.ones(60)))
    model = fit(few.take(rows), learn_on=learn_on, n_anchors=30)
    for row in range(60):
        assert len(set(model.labels_[rows == row])) <= 1
    assert accuracy(few.labels[rows], model.labels_) > 0.8


def test_anchors_are_given_rows():
    model = fit(noisy(), n_anchors=20)
    among_anchors = model.consensus_graph_[model.anchor_indices_].toarray()
    assert (among_anchors.diagonal() > 0).all()  # every anchor is near itself
    others = (model.anchor_indices_ + 1) % 600
    assert not (model.consensus_graph_[others].toarray().diagonal() > 0).all()


@pytest.mark.parametrize("learn_on", LEARN_ON)
def test_float32_stays_float32(learn_on):
    views = noisy(noise=0.2)
    single = [array.astype(np.float32) for array in views.arrays]
    model = fit(single, learn_on=learn_on)
    assert model.embedding_.dtype == model.confidence_.dtype == np.float32
    assert all(space.values.dtype == np.float32 for space in model._model.views.spaces)
    assert adjusted_rand(model.labels_, fit(views, learn_on=learn_on).labels_) > 0.99
    mixed = fit([single[0], *views.arrays[1:]], learn_on=learn_on)
    assert mixed.embedding_.dtype == np.float64


@pytest.mark.parametrize("learn_on", [*LEARN_ON, 10_000])
def test_the_graph_has_the_precision_of_the_views(learn_on):
    rng = np.random.default_rng(0)
    rare_words = [sp.csr_array(rng.poisson(0.01, size=(420, 300)).astype(np.float32)) for _ in range(2)]
    model = fit(rare_words, learn_on=learn_on, n_members=8)  # samples without a word are linked to a cluster
    assert model.consensus_graph_.dtype == model.embedding_.dtype == np.float32


def test_files_that_are_mapped_into_memory(tmp_path):
    views = noisy(noise=0.5)
    for name, array in zip("abc", views.arrays, strict=True):
        np.save(tmp_path / f"{name}.npy", array)
    mapped = {name: np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "abc"}
    np.testing.assert_array_equal(fit(mapped).labels_, fit(views).labels_)


def test_sparse_views_and_frames():
    views = noisy(noise=0.3)
    positive = [np.where(array > 0.1, array, 0.0) for array in views.arrays]
    dense = fit(positive)
    np.testing.assert_array_equal(
        fit([sp.csr_array(positive[0]), sp.coo_array(positive[1]), positive[2]]).labels_, dense.labels_
    )
    frames = {f"view{v}": pd.DataFrame(array) for v, array in enumerate(positive)}
    np.testing.assert_array_equal(fit(frames).labels_, dense.labels_)


def test_other_sparse_formats_become_csr_once(monkeypatch):
    calls = []
    convert = sp.csc_array.tocsr
    monkeypatch.setattr(sp.csc_array, "tocsr", lambda self, copy=False: calls.append(self.shape) or convert(self, copy))
    fit([sp.csc_array(np.maximum(array, 0)) for array in noisy().arrays], n_members=2)
    assert [shape for shape in calls if shape[0] == 600] == [(600, 6), (600, 9), (600, 7)]  # views, and not blocks


@pytest.mark.parametrize("learn_on", LEARN_ON)
def test_samples_may_lack_views(learn_on):
    views = noisy(noise=0.2)
    arrays = [array.copy() for array in views.arrays]
    rng = np.random.default_rng(1)
    for array, rows in zip(arrays, np.array_split(rng.permutation(600)[:300], 3), strict=True):
        array[rows] = np.nan
    model = fit(arrays, learn_on=learn_on)
    assert accuracy(views.labels, model.labels_) > 0.97
    order = rng.permutation(600)
    assert_same(model, fit([array[order] for array in arrays], learn_on=learn_on), order)
    np.testing.assert_array_equal(model.predict(arrays), model.labels_)


def test_a_rare_combination_of_views_that_was_not_drawn_is_known():
    views = noisy(noise=0.2)
    arrays = [array.copy() for array in views.arrays]
    arrays[0][7], arrays[1][7] = np.nan, np.nan  # one sample of 600 has the last view only
    for seed in range(3):
        model = fit(arrays, random_state=seed, learn_on=100, n_anchors=40, n_members=4)
        drawn = dict(zip(model._model.views.numbers, model._model.views.spaces, strict=True))
        assert all(any(2 in drawn[number].views for number in m.lists) for m in model._model.members)


def test_a_rare_sample_may_have_a_view_by_its_copy_only():
    first, second, _ = noisy(noise=0.2).arrays
    arrays = [first.copy(), second.copy(), first.copy()]
    arrays[0][7], arrays[1][7] = np.nan, np.nan
    drawn, given, patterns = samples.draw_by_content(samples.local_rows(Views(tuple(arrays)), 1), 100)
    assert 7 not in given  # in what is drawn, the third view is a copy of the first in all respects
    basis = settle(drawn, given, ["auto"] * 3, Settings(3), 40, 1, patterns)
    assert len(basis.order.views) == 2
    assert basis.pool.lists.patterns.any(axis=1).all()
    model = fit(arrays, learn_on=100, n_anchors=40, n_members=4)
    np.testing.assert_array_equal(model.predict(arrays), model.labels_)


@pytest.mark.slow
def test_a_number_of_clusters_is_suggested_from_the_sample():
    views = noisy(noise=0.1)
    model = fit(views, "auto")
    assert model.n_clusters_ == 3 == model.suggestion_.n_clusters
    assert accuracy(views.labels, model.labels_) > 0.99  # a third of the samples are learned on
    assert accuracy(fit(views, 3).labels_, model.labels_) == 1.0


def test_a_model_can_be_kept(tmp_path):
    views = noisy()
    model = fit(views)
    model.save(tmp_path / "many.manyview")
    same = manyview.load(tmp_path / "many.manyview")
    np.testing.assert_array_equal(same.predict(views), model.labels_)


def test_few_samples_are_all_learned_on():
    views = noisy(200, noise=0.5)
    np.testing.assert_array_equal(fit(views, learn_on="auto").labels_, fit(views, learn_on=10_000).labels_)


@pytest.mark.parametrize("learn_on", LEARN_ON)
def test_bad_values_are_named_with_their_row(learn_on):
    arrays = [array.copy() for array in noisy().arrays]
    arrays[1][333, 2] = np.inf
    model = GraphEnsemble(3, learn_on=learn_on)
    message = "views['view1']: contains infinity (inf), first at row 333, column 2"
    with pytest.raises(ViewsError, match=re.escape(message)):
        model.fit(arrays)
    assert not hasattr(model, "labels_")


@pytest.mark.parametrize(
    ("views", "parameters", "message"),
    [
        ([np.ones((600, 2)), np.arange(1200.0).reshape(600, 2)], {}, "views['view0']: every sample has the same"),
        ([np.tile(np.eye(2), (300, 1))] * 2, {}, "n_clusters=3 is more than there are different samples: all but 2"),
        ([np.arange(600.0)[:, None]], {}, "expected at least 2 views, got 1"),
        ([np.arange(600.0)[:, None]] * 2, {"n_anchors": 201}, "n_anchors=201 is more than there are samples"),
        ([np.arange(600.0)[:, None]] * 2, {"n_clusters": 201, "n_anchors": "auto"}, "n_clusters=201 is more than"),
    ],
    ids=["constant", "few different", "one view", "anchors", "clusters"],
)
def test_what_cannot_be_clustered(views, parameters, message):
    with pytest.raises(ViewsError, match=re.escape(message)):
        fit(views, **parameters)


def test_a_view_that_hardly_any_sample_has():
    arrays = [array.copy() for array in noisy().arrays]
    arrays[0][1:] = np.nan  # drawn or not, it is alone
    message = (
        r"views\['view0'\]: (no|only one) sample has this view; leave this view out\. This was found in the 200 "
        r"of 600 samples that were drawn to learn from; learn_on says how many\."
    )
    with pytest.raises(ViewsError, match=message):
        fit(arrays)


def test_clusters_that_cannot_be_told_apart_are_warned_of():
    side = np.repeat([0.0, 1.0], 300)[:, None]
    views = [side + 1e-13 * np.random.default_rng(v).random((600, 1)) for v in range(2)]
    with pytest.warns(ConvergenceWarning, match="of n_clusters=40 clusters can be told apart"):
        fit(views, 40, n_anchors=45, n_members=2)


def test_in_a_pipeline_with_a_transformer():
    views = noisy(noise=0.2)
    assert accuracy(views.labels, fit(ViewTransformer("passthrough").fit_transform(views)).labels_) > 0.99
