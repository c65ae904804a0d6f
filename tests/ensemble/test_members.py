from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from manyview.datasets import make_multiview
from manyview.engines import LocalRows
from manyview.ensemble.columns import DISTANCE, NEAREST
from manyview.ensemble.kmeans import unit_rows
from manyview.ensemble.members import (
    FAMILIES,
    Family,
    Lists,
    Member,
    Settings,
    draw_member,
    fit_member,
    graph_weights,
    member_edges,
    member_labels,
)
from manyview.graphs import nearest_lists

SETTINGS = Settings(n_clusters=4)
ADDED_UP = LOCAL, BROAD = FAMILIES[:2]
each_type = pytest.mark.parametrize("family", ADDED_UP, ids=lambda each: each.name)


class KeepingRows(LocalRows):
    """Rows that forget nothing."""

    def drop(self, name):
        pass


def same(a, b):
    return vars(a).keys() == vars(b).keys() and all(np.array_equal(x, vars(b)[name]) for name, x in vars(a).items())


def test_there_is_a_local_type_and_a_broad_one():
    assert SETTINGS.families == FAMILIES
    assert (LOCAL.name, BROAD.name) == ("local", "broad")
    assert LOCAL.n_neighbors[1] < BROAD.n_neighbors[0]
    assert LOCAL.choosiness is None


@each_type
def test_a_member_is_the_same_for_the_same_index(family):
    lists = Lists(200, (np.inf,) * 5)
    for index in range(20):
        member = draw_member(SETTINGS, family, lists, index)
        assert (member.index, member.family) == (index, family.name)
        assert member.labels == f"labels of {family.name} member {index}"
        assert same(member, draw_member(replace(SETTINGS, n_members=3, n_tries=1), family, lists, index))
        assert not np.array_equal(member.anchors, draw_member(SETTINGS, family, lists, index + 1).anchors)
        assert not np.array_equal(member.anchors, draw_member(replace(SETTINGS, seed=1), family, lists, index).anchors)


def test_members_of_all_types_draw_the_same_but_for_their_neighbours():
    lists = Lists(1000, (np.inf,) * 5)
    for index in range(50):
        local, broad = (draw_member(SETTINGS, each, lists, index) for each in ADDED_UP)
        assert broad.n_neighbors > local.n_neighbors
        assert broad.n_kept > local.n_kept == 0
        own = {name: getattr(local, name) for name in ("family", "n_neighbors", "n_kept")}
        assert same(replace(broad, **own), local)


@each_type
@pytest.mark.parametrize("n_views", range(1, 8))
def test_members_draw_two_thirds_of_the_views_or_more(n_views, family):
    lists = Lists(100, (np.inf,) * n_views)
    drawn = [draw_member(SETTINGS, family, lists, index).lists for index in range(200)]
    assert all(list(views) == sorted(set(views)) for views in drawn)
    assert {view for views in drawn for view in views} == set(range(n_views))
    assert {len(views) for views in drawn} == set(range(-(-2 * n_views // 3), n_views + 1))


@each_type
def test_members_draw_from_the_ranges(family):
    lists = Lists(1000, (np.inf,) * 2)
    members = [draw_member(SETTINGS, family, lists, index) for index in range(600)]
    sizes = np.array([len(member.anchors) for member in members])
    k = np.array([member.n_neighbors for member in members])
    assert all(np.array_equal(member.anchors, np.unique(member.anchors)) for member in members)
    assert (min(m.anchors.min() for m in members), max(m.anchors.max() for m in members)) == (0, 999)
    assert 500 <= sizes.min() < 510
    assert 740 < sizes.max() <= 750
    low, high = family.n_neighbors
    assert (k.min(), k.max()) == (low, high)
    assert abs(np.log(k).mean() - np.log(low * high) / 2) < 0.1  # as many below the geometric mean as above
    assert {member.n_clusters for member in members} == {4, 5, 6}
    assert len({member.seed for member in members}) == 600


def test_members_of_a_choosy_type_keep_a_quarter_of_their_neighbours_or_more():
    members = [draw_member(SETTINGS, BROAD, Lists(1000, (np.inf,)), index) for index in range(600)]
    k, kept = (np.array([getattr(member, name) for member in members]) for name in ("n_neighbors", "n_kept"))
    assert (kept >= 3).all()
    assert (kept <= k).all()
    shares = k / kept
    assert shares.min() < 1.1
    assert 3.6 < shares.max() < 4.5
    assert abs(np.log(shares).mean() - np.log(2)) < 0.1


def test_many_clusters_are_exceeded_by_a_fifth():
    lists = Lists(1000, (np.inf,))
    drawn = {draw_member(Settings(20), LOCAL, lists, index).n_clusters for index in range(200)}
    assert drawn == set(range(20, 25))


@each_type
@pytest.mark.parametrize("n_pool", [2, 3, 5, 9, 20, 45, 130])
@pytest.mark.parametrize("n_clusters", [1, 2, 4, 12])
def test_members_of_small_pools_stay_within_them(n_pool, n_clusters, family):
    lists = Lists(n_pool, (np.inf,) * 3)
    for index in range(60):
        member = draw_member(Settings(n_clusters), family, lists, index)
        m = len(member.anchors)
        assert np.array_equal(member.anchors, np.unique(member.anchors))
        assert member.anchors[0] >= 0
        assert member.anchors[-1] < n_pool
        assert m == n_pool or m >= max(n_pool // 2, 10 * n_clusters, 2)
        assert 1 <= member.n_neighbors <= min(m - 1, max(4, family.reach * m // n_clusters))
        if family.choosiness:
            assert min(3, member.n_neighbors) <= member.n_kept <= member.n_neighbors
        else:
            assert member.n_kept == 0
        assert min(n_clusters, m) <= member.n_clusters <= min(max(int(1.2 * n_clusters), n_clusters + 2), m)


@each_type
def test_without_choosiness_nothing_is_kept_together(family):
    lists = Lists(200, (np.inf,) * 3)
    assert {draw_member(SETTINGS, replace(family, choosiness=None), lists, i).n_kept for i in range(20)} == {0}


def test_a_type_may_leave_nothing_to_chance():
    family = Family("nine", (9, 9), 1.0, (3.0, 3.0))
    drawn = [draw_member(SETTINGS, family, Lists(500, (np.inf,)), index) for index in range(9)]
    assert {(member.family, member.n_neighbors, member.n_kept) for member in drawn} == {("nine", 9, 3)}


@pytest.mark.parametrize("reach", [0.5, 1.0, 3.0])
def test_reach_limits_the_neighbours_by_the_anchors_of_a_cluster(reach):
    family = Family("far", (900, 900), reach, None)
    for index in range(9):
        member = draw_member(Settings(20), family, Lists(1000, (np.inf,)), index)
        assert member.n_neighbors == int(reach * len(member.anchors) / 20)


@pytest.fixture(scope="module")
def mixed(texts):
    """Two views of texts and two dense ones, in turn; their lists."""
    columns, lists = texts
    views = make_multiview(200, 3, n_views=2, random_state=0)
    for v, x in zip((1, 3), views.arrays, strict=True):
        near, distance = nearest_lists(x, x[: lists.n_anchors], 40, n_threads=1)
        columns = {**columns, NEAREST.of(v): near, DISTANCE.of(v): distance}
    columns[NEAREST.of(2)], columns[DISTANCE.of(2)] = texts[0][NEAREST.of(1)], texts[0][DISTANCE.of(1)]
    return columns, Lists(lists.n_anchors, (2.0, np.inf, 2.0, np.inf))


def dense_graphs(rows, lists, member):
    """The graphs of a member, (number of graphs, n, m + 1)."""
    parts = []
    for anchors, weights, graphs in rows.map(member_edges, lists, member):
        part = np.zeros((len(graphs), len(anchors), len(member.anchors) + 1))
        for graph, (start, stop) in zip(part, graphs, strict=True):
            np.add.at(graph, (np.arange(len(anchors))[:, None], anchors[:, start:stop]), weights[:, start:stop])
        parts.append(part)
    return np.concatenate(parts, axis=1)


@each_type
@pytest.mark.parametrize("data", ["blobs", "texts", "mixed"])
def test_rows_of_a_members_graphs_sum_to_one(request, data, family):
    columns, lists, *_ = request.getfixturevalue(data)
    rows = LocalRows(columns, 1, 70)
    for index in range(6):
        member = draw_member(SETTINGS, family, lists, index)
        for graphs in (dense_graphs(rows, lists, member), dense_graphs(rows, lists, replace(member, n_kept=0))):
            np.testing.assert_allclose(graphs.sum(axis=2), 1)
            assert (graphs >= 0).all()


def test_dense_views_share_a_graph_and_views_of_counts_do_not(mixed):
    columns, lists = mixed
    rows = LocalRows(columns, 1, 70)
    member = Member(0, "broad", (0, 1, 2, 3), np.arange(0, 60, 2), n_neighbors=8, n_kept=4, n_clusters=3, seed=0)
    graphs = dense_graphs(rows, lists, member)
    single = dense_graphs(rows, lists, replace(member, n_kept=0))
    assert (len(graphs), len(single)) == (3, 4)
    np.testing.assert_array_equal(graphs[1:], single[[0, 2]])
    support = np.sort(single[1] + single[3], axis=1)[:, ::-1]
    threshold = support[:, 4:5]  # the fifth largest
    expected = np.maximum(single[1] + single[3] - threshold, 0)
    np.testing.assert_allclose(graphs[0], expected / expected.sum(axis=1, keepdims=True), atol=1e-12)
    assert ((graphs[0] > 0).sum(axis=1) <= 4).all()


def test_the_shared_graph_counts_as_often_as_there_are_dense_views(mixed):
    _, lists = mixed
    member = Member(0, "broad", (0, 1, 2, 3), np.arange(60), n_neighbors=8, n_kept=4, n_clusters=3, seed=0)
    np.testing.assert_array_equal(graph_weights(lists, member), [2, 1, 1])
    np.testing.assert_array_equal(graph_weights(lists, replace(member, n_kept=0)), [1, 1, 1, 1])
    np.testing.assert_array_equal(graph_weights(lists, replace(member, lists=(0, 2))), [1, 1])
    np.testing.assert_array_equal(graph_weights(lists, replace(member, lists=(1, 3))), [2])


@pytest.mark.parametrize(
    ("data", "n_anchors", "views"),
    [("blobs", 30, (0, 2)), ("blobs", 90, (1, 2)), ("texts", 30, (0, 1)), ("mixed", 30, (0, 1, 3))],
)
@pytest.mark.parametrize("n_kept", [0, 4])
def test_the_embedding_is_that_of_the_leading_singular_vectors(request, monkeypatch, data, n_anchors, views, n_kept):
    monkeypatch.setattr("manyview.ensemble.members._TOLERANCE", 1e-3)
    columns, lists, *_ = request.getfixturevalue(data)
    rows = KeepingRows(columns, 1, 70)
    drawn = np.sort(np.random.default_rng(0).choice(lists.n_anchors, n_anchors, replace=False))
    member = Member(5, "broad", views, drawn, n_neighbors=6, n_kept=n_kept, n_clusters=4, seed=0)
    graphs = dense_graphs(rows, lists, member)
    degrees = graphs.sum(axis=1, keepdims=True)
    times = [2, 1] if len(graphs) == 2 and data == "mixed" else [1] * len(graphs)  # factors of W do not matter alone
    W = np.einsum("g,gij->ij", times, graphs / np.sqrt(np.where(degrees > 0, degrees, 1)))
    U = np.linalg.svd(W)[0][:, :4]
    expected = U / np.linalg.norm(U, axis=1, keepdims=True)
    fit_member(rows, lists, member, 4)
    embedding = rows.gather("embedding of broad member 5")
    np.testing.assert_allclose(np.linalg.norm(embedding, axis=1), 1)
    # Equal but for a rotation. The vectors of more anchors are found by iteration, here to 1e-3.
    atol = 1e-4 if n_anchors == 30 else 1e-2
    np.testing.assert_allclose(embedding @ embedding.T, expected @ expected.T, atol=atol)


@each_type
def test_a_member_finds_separated_blobs(blobs, family):
    columns, lists, truth = blobs
    views = Lists(lists.n_anchors, lists.far[:3])  # without the noise
    rows = LocalRows(columns, 1)
    for index in range(4):
        member = draw_member(SETTINGS, family, views, index)
        fit_member(rows, views, member, 4)
        labels = rows.gather(member.labels)
        assert labels.shape == (300,)
        assert labels.min() >= 0
        assert labels.max() < member.n_clusters
        table = np.array([np.bincount(truth[labels == c], minlength=4) for c in range(member.n_clusters)])
        assert table.max(axis=1).sum() >= 297  # every cluster lies within a true one, but for samples at the edge


@each_type
def test_a_member_leaves_nothing_but_its_labels(blobs, family):
    columns, lists, _ = blobs
    rows = LocalRows(columns, 1)
    fit_member(rows, lists, draw_member(SETTINGS, family, lists, 7), 4)
    assert rows.map(lambda block: set(block)) == [{*columns, f"labels of {family.name} member 7"}]


def test_unit_rows_have_length_one_or_zero():
    table = np.vstack([np.random.default_rng(0).normal(size=(5, 3)) * 1e-6, np.zeros(3), np.full(3, 1e-16)])
    np.testing.assert_allclose(np.linalg.norm(unit_rows(table), axis=1), [1] * 5 + [0] * 2)
    np.testing.assert_allclose(np.cross(unit_rows(table)[:5], table[:5]), 0, atol=1e-15)


# Samples that lack views ------------------------------------------------------------------------------------------


def test_views_cover_if_every_pattern_has_one_of_them():
    patterns = np.array([[True, False, True], [False, True, False], [True, True, False]])
    lists = Lists(50, (np.inf,) * 3, patterns)
    covering = [views for views in ([0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2]) if lists.cover(np.array(views))]
    assert covering == [[0, 1], [1, 2], [0, 1, 2]]
    assert Lists(50, (np.inf,) * 3).cover(np.array([0]))


@each_type
@pytest.mark.parametrize("n_views", [2, 3, 5, 8])
def test_members_draw_so_many_views_that_every_sample_has_one(n_views, family):
    rng = np.random.default_rng(n_views)
    patterns = np.unique(np.vstack([rng.random((5, n_views)) < 0.3, np.eye(n_views, dtype=bool)[:2]]), axis=0)
    lists = Lists(100, (np.inf,) * n_views, patterns[patterns.any(axis=1)])
    complete = Lists(100, (np.inf,) * n_views)
    for index in range(100):
        member, before = (
            draw_member(SETTINGS, family, lists, index),
            draw_member(SETTINGS, family, complete, index),
        )
        assert lists.patterns[:, member.lists].any(axis=1).all()
        assert list(member.lists) == sorted(set(member.lists))
        assert set(before.lists) <= set(member.lists)
        # What is drawn after the views is as it was, and views as well if those drawn were enough.
        assert same(replace(member, lists=before.lists), before)
        assert len(member.lists) == len(before.lists) or not lists.cover(np.array(before.lists))


@each_type
def test_samples_with_one_view_each_need_all_views(family):
    lists = Lists(100, (np.inf,) * 4, np.eye(4, dtype=bool))
    assert {draw_member(SETTINGS, family, lists, index).lists for index in range(50)} == {(0, 1, 2, 3)}


def lacking(columns, present):
    """The columns of samples that lack views."""
    columns = dict(columns)
    for v, has_view in enumerate(present.T):
        near, distance = columns[NEAREST.of(v)].copy(), columns[DISTANCE.of(v)].copy()
        near[~has_view], distance[~has_view] = -1, np.inf
        columns[NEAREST.of(v)], columns[DISTANCE.of(v)] = near, distance
    return columns


@pytest.fixture(scope="module")
def gaps(mixed):
    """The same as ``mixed``, with gaps; every sample has one of the first three views."""
    columns, lists = mixed
    present = np.random.default_rng(2).random((200, 4)) < 0.5
    present[:, 0] |= ~present[:, :3].any(axis=1)
    return lacking(columns, present), replace(lists, patterns=np.unique(present, axis=0)), present


@pytest.mark.parametrize("n_kept", [0, 4])
def test_graphs_have_no_edges_where_samples_lack_their_views(mixed, gaps, n_kept):
    columns, lists, present = gaps
    member = Member(0, "broad", (0, 1, 2, 3), np.arange(0, 60, 2), n_neighbors=8, n_kept=n_kept, n_clusters=3, seed=0)
    graphs = dense_graphs(LocalRows(columns, 1, 70), lists, member)
    whole = dense_graphs(LocalRows(mixed[0], 1, 70), mixed[1], replace(member, n_kept=0))
    if n_kept:  # the shared graph is that of views 1 and 3
        views, shared = graphs[1:], graphs[0]
        np.testing.assert_array_equal(views, whole[[0, 2]] * present.T[[0, 2], :, None])
        np.testing.assert_allclose(shared.sum(axis=1), present[:, [1, 3]].any(axis=1))
    else:
        np.testing.assert_array_equal(graphs, whole * present.T[:, :, None])


@pytest.mark.parametrize("n_kept", [0, 4])
def test_rows_with_gaps_weigh_as_much_as_others_in_the_embedding(gaps, n_kept):
    columns, lists, _ = gaps
    rows = KeepingRows(columns, 1, 70)
    drawn = np.sort(np.random.default_rng(0).choice(lists.n_anchors, 30, replace=False))
    member = Member(5, "broad", (0, 1, 2), drawn, n_neighbors=6, n_kept=n_kept, n_clusters=4, seed=0)
    graphs = dense_graphs(rows, lists, member)
    degrees = graphs.sum(axis=1, keepdims=True)
    present = graphs.any(axis=2)
    graphs = graphs * (len(graphs) / present.sum(axis=0))[None, :, None]
    W = (graphs / np.sqrt(np.where(degrees > 0, degrees, 1))).sum(axis=0)
    U = np.linalg.svd(W)[0][:, :4]
    expected = U / np.linalg.norm(U, axis=1, keepdims=True)
    fit_member(rows, lists, member, 4)
    embedding = rows.gather("embedding of broad member 5")
    np.testing.assert_allclose(embedding @ embedding.T, expected @ expected.T, atol=1e-3)


@each_type
@pytest.mark.parametrize("data", ["blobs", "texts", "mixed", "gaps"])
def test_a_fitted_member_gives_the_rows_their_labels_again(request, data, family):
    columns, lists, *_ = request.getfixturevalue(data)
    rows = LocalRows(columns, 1, 70)
    for index in range(4):
        member = draw_member(SETTINGS, family, lists, index)
        fitted = fit_member(rows, lists, member, 4)
        assert same(replace(fitted, scale=member.scale, vectors=member.vectors, centres=member.centres), member)
        np.testing.assert_array_equal(member_labels(columns, lists, fitted), rows.gather(member.labels))


def test_a_member_does_not_vote_on_a_row_without_its_views(blobs):
    columns, lists, _ = blobs
    rows = LocalRows(columns, 1)
    member = Member(0, "local", (0, 2), np.arange(0, 120, 2), n_neighbors=8, n_kept=0, n_clusters=4, seed=0)
    fitted = fit_member(rows, lists, member, 4)
    present = np.ones((300, 4), dtype=bool)
    present[:10, 0], present[5:15, 2], present[:, 1] = False, False, False
    found = member_labels(lacking(columns, present), lists, fitted)
    np.testing.assert_array_equal(found == -1, (np.arange(300) >= 5) & (np.arange(300) < 10))
    np.testing.assert_array_equal(found[15:], rows.gather(member.labels)[15:])
