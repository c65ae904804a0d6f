"""Placing rows by an model: those that it was fitted to, and others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from manyview import GraphEnsemble
from manyview.datasets import make_multiview
from manyview.engines import LocalRows
from manyview.ensemble import predict
from manyview.ensemble.anchors import AnchoredViews, lists_of
from manyview.ensemble.columns import DISTANCE, NEAREST
from manyview.ensemble.consensus import votes_for
from manyview.ensemble.fit import learn
from manyview.ensemble.kmeans import unit_rows
from manyview.ensemble.members import Settings, member_labels
from manyview.ensemble.predict import Model, assign_rows


def without(columns, rows, views):
    """The columns, but that some rows lack some views."""
    columns = dict(columns)
    for v in views:
        near, distance = columns[NEAREST.of(v)].copy(), columns[DISTANCE.of(v)].copy()
        near[rows], distance[rows] = -1, np.inf
        columns[NEAREST.of(v)], columns[DISTANCE.of(v)] = near, distance
    return columns


def fitted(columns, lists, n_clusters, n_members):
    rows = LocalRows(columns, 1, 128)
    ensemble = learn(rows, lists, Settings(n_clusters, n_members=n_members, n_tries=4))
    nothing = AnchoredViews((), (), (), (), (), (), ())  # neighbour lists are given
    return rows, Model(nothing, lists, tuple(ensemble.members), ensemble.steps[-1], np.arange(n_clusters))


@pytest.fixture(scope="module")
def result(blobs):
    columns, lists, _ = blobs
    return columns, *fitted(columns, lists, 4, 10)


@pytest.fixture(scope="module")
def gaps(blobs):
    """An model of rows that lack views: a fifth the first, a seventh the second."""
    columns, lists, _ = blobs
    columns = without(without(columns, np.arange(0, 300, 5), [0]), np.arange(0, 300, 7), [1])
    patterns = np.array([[a, b, True, True] for a in (False, True) for b in (False, True)])
    columns, lists = columns, replace(lists, patterns=patterns)
    return columns, *fitted(columns, lists, 4, 10)


@pytest.fixture(scope="module")
def unclear(texts):
    """Rows without clusters: the members disagree, and none of their weights is 1."""
    columns, lists = texts
    return columns, *fitted(columns, lists, 3, 13)


def assert_as_fitted(rows, model, columns, where=slice(None)):
    placed = assign_rows(model, {name: column[where] for name, column in columns.items()})
    for name in ("labels", "embedding", "confidence"):
        np.testing.assert_array_equal(placed[name], rows.gather(name)[where])  # bit by bit


@pytest.mark.parametrize("data", ["result", "gaps", "unclear"])
def test_fitted_rows_come_to_their_places_again(request, data):
    columns, rows, model = request.getfixturevalue(data)
    assert_as_fitted(rows, model, columns)
    assert_as_fitted(rows, model, columns, slice(70, 71))
    assert_as_fitted(rows, model, columns, np.random.default_rng(0).permutation(200))


@pytest.mark.parametrize("directions", [True, False])
def test_both_ways_to_read_the_consensus(unclear, directions):
    columns, _, model = unclear
    plain = replace(model, consensus=replace(model.consensus, directions=False))
    asked = replace(model, consensus=replace(model.consensus, directions=directions))
    expected = assign_rows(plain, columns)["embedding"]
    np.testing.assert_array_equal(
        assign_rows(asked, columns)["embedding"], unit_rows(expected) if directions else expected
    )


def test_members_that_do_not_vote_leave_it_to_the_others(result):
    """Against the sums and means over the members that have a say, one by one."""
    columns, _, model = result
    drawn = [member.lists for member in model.members]
    rare = min(range(4), key=lambda view: sum(view in views for views in drawn))
    assert 0 < sum(rare in views for views in drawn) < len(drawn)
    less = without(columns, np.arange(0, 300, 2), [view for view in range(4) if view != rare])
    placed = assign_rows(model, less)
    consensus, counts = model.consensus, [member.n_clusters for member in model.members]
    offsets = np.concatenate([[0], np.cumsum(counts)])
    labels = np.column_stack([member_labels(less, model.lists, member) for member in model.members])
    np.testing.assert_array_equal((labels[::2] >= 0).all(axis=0), [rare in views for views in drawn])
    for i in range(0, 300, 13):
        say = [r for r in range(len(counts)) if labels[i, r] >= 0]
        share = consensus.weights[say].sum() / consensus.weights.sum()
        point = sum(consensus.project[offsets[r] + labels[i, r]] for r in say) / share
        point = point / np.linalg.norm(point) if consensus.directions else point
        np.testing.assert_allclose(placed["embedding"][i], point, atol=1e-12)
        nearest = np.argmin(((point - consensus.centres) ** 2).sum(axis=1))
        assert placed["labels"][i] == nearest
        expected = sum(consensus.shares[r, labels[i, r], nearest] for r in say) / share
        assert placed["confidence"][i] == pytest.approx(expected)


def test_rows_that_all_members_see_are_found_by_some_views_too(blobs, result):
    columns, rows, model = result
    placed = assign_rows(model, without(columns, np.arange(300), [1, 3]))
    assert (placed["labels"] == rows.gather("labels")).mean() > 0.98
    assert ((placed["confidence"] >= 0) & (placed["confidence"] <= 1)).all()


def test_a_row_without_any_edges_belongs_nowhere(result):
    columns, rows, model = result
    placed = assign_rows(model, without(columns, [3, 299], [0, 1, 2, 3]))
    np.testing.assert_array_equal(np.flatnonzero(placed["labels"] == -1), [3, 299])
    assert not placed["confidence"][[3, 299]].any()
    assert not placed["embedding"][[3, 299]].any()
    others = np.setdiff1d(np.arange(300), [3, 299])
    np.testing.assert_array_equal(placed["labels"][others], rows.gather("labels")[others])


def test_votes_for_a_label_add_up_over_the_members():
    shares = np.random.default_rng(0).random((3, 4, 2)) / 3
    member_labels = np.array([[0, 1, 3], [2, -1, 0], [-1, -1, -1]], dtype=np.int32)
    expected = [shares[0, 0, 1] + shares[1, 1, 1] + shares[2, 3, 1], shares[0, 2, 0] + shares[2, 0, 0], 0.0]
    np.testing.assert_allclose(votes_for(np.array([1, 0, 0]), member_labels, shares), expected)


@pytest.mark.parametrize("n_samples", [300, 3000])
@pytest.mark.parametrize("deviations", [-2.0, 4.0])
def test_results_do_not_depend_on_the_length_of_lists(monkeypatch, n_samples, deviations):
    """Also if lists are far too short: nearly all samples are then assigned again."""
    views = make_multiview(n_samples, 4, noise=1.0, random_state=0)
    model = GraphEnsemble(4, random_state=0, learn_on=1000).fit(views)._model
    given = make_multiview(200, 4, noise=1.2, random_state=1)
    expected = assign_rows(model, lists_of(given, model.views))
    monkeypatch.setattr(predict, "_DEVIATIONS", deviations)
    enough = model.enough
    shorter = any(a.length < b.length for a, b in zip(enough.spaces, model.views.spaces, strict=True))
    assert shorter or deviations > 0
    _, found = predict.place(model, given)
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values)
