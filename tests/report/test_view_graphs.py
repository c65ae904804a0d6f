"""Votes of each view against a loop over samples, and images of graphs."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from manyview import GraphEnsemble
from manyview.datasets import make_multiview
from manyview.description.map import choose_shown, scaled_views
from manyview.graphs import SCALERS
from manyview.report._view_graphs import (
    Vote,
    agreement_of_samples,
    agreement_of_view,
    blocks,
    cast_votes,
    graph_images,
)
from manyview.views import Views


def fake(views, k=3, **more):
    return SimpleNamespace(labels_=np.arange(views.n_samples) % k, **more)


def naive_votes(values, labels, anchors, rows):
    """The cluster with the largest weight among the ten nearest other anchors, by the formula of the weights."""
    said = []
    for row in rows:
        others = [a for a in anchors if a != row]
        distances = np.array([((values[row] - values[a]) ** 2).sum() for a in others])
        order = np.argsort(distances, kind="stable")[:11]
        weights = np.zeros(labels.max() + 1)
        for i in order[:10]:
            weights[labels[others[i]]] += distances[order[10]] - distances[i]
        said.append(weights.argmax())
    return np.array(said)


@pytest.mark.parametrize("anchors", [None, np.arange(5, 45)])
def test_votes_are_those_of_the_nearest_other_anchors(anchors):
    views = make_multiview(80, n_clusters=3, noise=0.6, random_state=1)
    model = fake(views) if anchors is None else fake(views, anchor_indices_=anchors)
    model.labels_ = np.array(views.labels)
    shown = choose_shown(model, model.labels_)
    assert shown.own_anchors == (anchors is not None)
    votes = cast_votes(model, views, shown)
    for view, vote in zip(views.arrays, votes, strict=True):
        expected = naive_votes(SCALERS["max"](view), model.labels_, shown.anchors, shown.rows)
        np.testing.assert_array_equal(vote.cluster, expected)
        np.testing.assert_allclose(vote.graph.sum(axis=1), 1)
        for i, row in enumerate(shown.rows):
            assert row not in shown.anchors[vote.graph[[i]].indices]


def test_a_clear_view_agrees_and_noise_does_not():
    views = make_multiview(150, n_clusters=3, n_views=1, n_noise_views=1, random_state=0)
    model = SimpleNamespace(labels_=views.labels)
    shown = choose_shown(model, model.labels_)
    clear, noise = (agreement_of_view(vote, shown) for vote in cast_votes(model, views, shown))
    assert clear == (1.0, 1.0)
    assert noise[0] < 0.6
    assert noise[1] < 0.1


def test_missing_views_have_no_votes_and_no_edges():
    views = make_multiview(60, n_clusters=3, n_views=2, random_state=0)
    present = np.ones((60, 2), dtype=bool)
    present[:20, 0] = False
    broken = views.arrays[0].copy()
    broken[:20] = np.nan
    sparse = [sp.csr_array(array) for array in views.arrays]
    for gaps in (
        Views(views.arrays, present=present),
        Views([broken, views.arrays[1]]),
        Views(sparse, present=present),
    ):
        model = SimpleNamespace(labels_=np.array(views.labels))
        shown = choose_shown(model, model.labels_)
        first, second = cast_votes(model, gaps, shown)
        assert (first.cluster[:20] == -1).all()
        assert first.graph[:20].nnz == 0
        assert first.graph[:, :20].nnz == 0
        assert (first.cluster[20:] == model.labels_[20:]).all()
        assert (second.cluster == model.labels_).all()
        np.testing.assert_array_equal(agreement_of_samples([first, second], shown), 1)


def test_agreement_of_a_sample_is_the_share_of_its_views():
    shown = SimpleNamespace(codes=np.array([0, 1, 1]))
    said = [np.array([0, 1, -1]), np.array([1, 1, -1])]
    votes = [Vote(sp.csr_array((3, 3)), cluster) for cluster in said]
    np.testing.assert_array_equal(agreement_of_samples(votes, shown), [0.5, 1, np.nan])


def test_a_view_that_is_always_missing_has_no_agreement():
    shown = SimpleNamespace(codes=np.array([0, 1]))
    assert agreement_of_view(Vote(sp.csr_array((2, 2)), np.array([-1, -1])), shown) == (None, None)


def test_sparse_single_precision_and_whole_numbers():
    views = make_multiview(60, n_clusters=3, random_state=0)
    first, second, third = views.arrays
    other = Views([sp.csr_matrix(first), second.astype(np.float32), np.rint(third * 1000).astype(int)])
    model = SimpleNamespace(labels_=np.array(views.labels))
    shown = choose_shown(model, model.labels_)
    for given, changed in zip(cast_votes(model, views, shown), cast_votes(model, other, shown), strict=True):
        np.testing.assert_array_equal(given.cluster, changed.cluster)


def test_views_are_scaled_as_the_model_did():
    views = make_multiview(30, random_state=0)
    rows = np.arange(30)
    by_fit = SimpleNamespace(scaling_={"view0": "unit"}, scaling="none")
    scaled, _ = scaled_views(by_fit, views, rows)
    np.testing.assert_allclose(np.linalg.norm(scaled[0], axis=1), 1)
    np.testing.assert_array_equal(scaled[1], views.arrays[1])
    np.testing.assert_allclose(scaled_views(SimpleNamespace(), views, rows)[0][2].max(), 1)


def test_a_few_rows_have_the_scale_that_was_learned_from_all():
    views = make_multiview(200, random_state=0)
    views = Views([*views.arrays, 1.8 * views.arrays[0] + 32])  # a copy in another unit
    model = GraphEnsemble(3, scaling="centered", n_members=4, random_state=0).fit(views)
    rows = np.flatnonzero(model.labels_ == 0)  # their mean is not that of all samples
    few, _ = scaled_views(model, views, rows)
    everything, _ = scaled_views(model, views, np.arange(200))
    for own, whole in zip(few, everything, strict=True):
        np.testing.assert_array_equal(own, whole[rows])
    np.testing.assert_allclose(few[3], few[0], atol=1e-9)
    np.testing.assert_allclose(everything[0].mean(axis=0), 0, atol=1e-12)


@pytest.mark.parametrize("n_samples", [2, 3, 5])
def test_very_few_samples(n_samples):
    views = make_multiview(n_samples, n_clusters=2, random_state=0)
    model = fake(views, 2)
    shown = choose_shown(model, model.labels_)
    for vote in cast_votes(model, views, shown):
        np.testing.assert_allclose(vote.graph.sum(axis=1), 1)
        np.testing.assert_array_equal(vote.graph.diagonal(), 0)


def test_rows_and_columns_are_ordered_by_cluster():
    labels = np.array([1, 0, 1, 0])
    model = SimpleNamespace(labels_=labels, learned_graph_=np.where(labels[:, None] == labels, 0.5, 0))
    shown = choose_shown(model, labels)
    (learned, view) = graph_images(model, shown, [Vote(sp.csr_array(np.eye(4)[::-1]), labels)], ["hog"])
    assert learned["image"] == [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]
    assert (learned["kind"], learned["name"], learned["inside"]) == ("learned", None, 1.0)
    assert (learned["rows"], learned["columns"]) == ("4 samples", "4 samples to compare with")
    # samples 0 to 3 are joined with 3 to 0; in the order 1, 3, 0, 2 that is outside of the clusters
    assert view["image"] == [[0, 0, 0, 1], [0, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]]
    assert (view["kind"], view["name"], view["inside"]) == ("view", "hog", 0.0)
    assert blocks(shown) == [[0, 0, 0.5, 0.5], [0.5, 0.5, 0.5, 0.5]]


def test_anchors_of_the_model_are_the_columns():
    labels = np.array([0, 0, 1, 1, 1])
    graph = sp.csr_array(np.array([[1, 0], [1, 0], [0, 1], [0, 1], [0.5, 0.5]]))
    model = SimpleNamespace(labels_=labels, consensus_graph_=graph, anchor_indices_=np.array([1, 3]))
    (learned,) = graph_images(model, choose_shown(model, labels), [], [])
    assert learned["image"] == [[1, 0], [1, 0], [0, 1], [0, 1], [0.5, 0.5]]
    assert learned["inside"] == pytest.approx(0.9)
    assert learned["columns"] == "2 anchors"


def test_a_graph_without_weight():
    labels = np.zeros(3, dtype=int)
    model = SimpleNamespace(labels_=labels)
    (view,) = graph_images(model, choose_shown(model, labels), [Vote(sp.csr_array((3, 3)), labels)], ["empty"])
    assert view["inside"] is None
    assert not np.any(view["image"])


def test_every_method_shows_what_it_has_learned(models, blobs):
    for name, model in models.items():
        graphs = [key for key in ("consensus_graph_", "component_graph_", "learned_graph_") if hasattr(model, key)]
        learned = ["learned"] * len(graphs) or ["embedding"] * hasattr(model, "embedding_")
        shown = choose_shown(model, model.labels_)
        found = graph_images(model, shown, cast_votes(model, blobs, shown), blobs.names)
        assert [graph["kind"] for graph in found] == learned + 3 * ["view"], name
        assert all(graph["inside"] > 0.9 for graph in found[-4:]), name
        assert len({np.shape(graph["image"]) for graph in found}) == 1, name
