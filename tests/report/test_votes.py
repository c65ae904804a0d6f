"""What each view alone says, against a loop over samples."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from manyview import GraphEnsemble
from manyview.datasets import make_multiview
from manyview.graphs import SCALERS
from manyview.report._votes import (
    Vote,
    agreement_of_samples,
    agreement_of_view,
    cast_votes,
    choose_shown,
    scaled_views,
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
        for place in order[:10]:
            weights[labels[others[place]]] += distances[order[10]] - distances[place]
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


def test_samples_without_a_view_abstain_and_are_not_asked():
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


def test_a_view_that_nobody_has_says_nothing():
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
