from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from manyview.ensemble import consensus, edges, kmeans
from manyview.ensemble.columns import DISTANCE, NEAREST
from manyview.graphs import can_weights


def dense(anchors, weights, size):
    graph = np.zeros((len(anchors), size))
    np.add.at(graph, (np.arange(len(anchors))[:, None], anchors), weights)
    return graph


def edges_of(near, distance, place, k, far):
    anchors, weights = np.empty((len(near), k + 1), dtype=np.int32), np.empty((len(near), k + 1))
    edges.view_edges(near, distance, place, place.max() + 1, k, far, anchors, weights, 0, np.zeros(len(near), bool))
    return dense(anchors, weights, place.max() + 2)


def naive_edges(near, distance, place, k, far):
    graph = np.zeros((len(near), place.max() + 2))
    for row, pool, gaps in zip(graph, near, distance.astype(float), strict=True):
        anchors, gaps = place[pool][place[pool] >= 0][: k + 1], gaps[place[pool] >= 0][: k + 1]
        similar = np.isfinite(gaps[:k]).sum()
        mass = similar / k if np.isfinite(far) else float(similar > 0)
        if similar:
            end = gaps[-1] if np.isfinite(gaps[-1]) else far
            row[anchors[:similar]] = mass * can_weights(np.append(gaps[:similar], end)[None])[0]
        row[-1] = 1 - mass
    return graph


def places(n_pool, anchors):
    place = np.full(n_pool, -1, dtype=np.int32)
    place[anchors] = np.arange(len(anchors))
    return place


@pytest.mark.parametrize("k", [1, 2, 7, 40])
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_view_edges_are_can_weights_of_the_nearest_anchors_of_the_member(blobs, k, share):
    columns, lists, _ = blobs
    drawn = np.random.default_rng(k).choice(lists.n_anchors, int(share * lists.n_anchors), replace=False)
    place = places(lists.n_anchors, np.sort(drawn))
    near, distance = columns[NEAREST.of(0)], columns[DISTANCE.of(0)]
    graph = edges_of(near, distance, place, k, np.inf)
    np.testing.assert_allclose(graph, naive_edges(near, distance, place, k, np.inf), atol=1e-12)
    np.testing.assert_allclose(graph.sum(axis=1), 1)
    assert (graph[:, -1] == 0).all()


@pytest.mark.parametrize("k", [1, 7, 40, 119])
def test_lists_without_enough_anchors_of_the_member_are_marked(blobs, k):
    columns, lists, _ = blobs
    place = places(lists.n_anchors, np.arange(0, lists.n_anchors, 3))
    near, distance = columns[NEAREST.of(0)], columns[DISTANCE.of(0)]
    too_short = np.zeros(len(near), dtype=bool)
    anchors, weights = np.empty((len(near), k + 1), dtype=np.int32), np.empty((len(near), k + 1))
    edges.view_edges(near, distance, place, place.max() + 1, k, np.inf, anchors, weights, 0, too_short)
    np.testing.assert_array_equal(too_short, (place[near] >= 0).sum(axis=1) < k + 1)


@pytest.mark.parametrize("k", [1, 3, 10])
def test_view_edges_where_most_anchors_have_nothing_in_common(texts, k):
    columns, lists = texts
    place = places(lists.n_anchors, np.arange(0, lists.n_anchors, 2))
    near, distance = columns[NEAREST.of(0)], columns[DISTANCE.of(0)]
    graph = edges_of(near, distance, place, k, 2.0)
    np.testing.assert_allclose(graph, naive_edges(near, distance, place, k, 2.0), atol=1e-12)
    np.testing.assert_allclose(graph.sum(axis=1), 1)
    assert len(np.unique(graph[:, -1])) == k + 1  # from 0 to k similar ones


def test_fewer_anchors_than_k_in_the_list_set_the_scale_by_the_last():
    near, distance = np.arange(6, dtype=np.int32)[None], np.array([[1, 2, 4, 5, 7, 9]], dtype=np.float32)
    graph = edges_of(near, distance, places(6, [0, 2, 4]), 5, np.inf)
    np.testing.assert_allclose(graph, [[6 / 9, 3 / 9, 0, 0]])
    np.testing.assert_allclose(edges_of(near, distance, places(6, [3]), 5, np.inf), [[1, 0]])


def test_equally_far_anchors_share_evenly():
    near, distance = np.arange(8, dtype=np.int32)[None], np.full((1, 8), 3, dtype=np.float32)
    graph = edges_of(near, distance, places(8, np.arange(8)), 5, np.inf)
    np.testing.assert_allclose(graph, [[0.2] * 5 + [0] * 4])


@pytest.mark.parametrize("far", [np.inf, 2.0])
def test_a_row_without_any_anchor_of_the_member_is_left_to_the_neutral_one(far):
    near = np.array([[0, 1, 2], [3, 0, 1], [2, 1, 0]], dtype=np.int32)
    distance = np.tile(np.array([0.1, 0.4, 0.7], dtype=np.float32), (3, 1))
    place = places(5, [3, 4])
    graph = edges_of(near, distance, place, 2, far)
    np.testing.assert_allclose(graph, naive_edges(near, distance, place, 2, far), atol=1e-12)
    np.testing.assert_array_equal(graph[[0, 2]], [[0, 0, 1], [0, 0, 1]])
    np.testing.assert_allclose(graph.sum(axis=1), 1)


@pytest.mark.parametrize("similar", range(6))
def test_mass_of_missing_similar_anchors_goes_to_the_neutral_one(similar):
    distance = np.full((1, 9), np.inf, dtype=np.float32)
    distance[0, :similar] = 0.5 + np.arange(similar) / 10
    near = np.random.default_rng(similar).permutation(9).astype(np.int32)[None]
    graph = edges_of(near, distance, places(9, np.arange(9)), 5, 2.0)[0]
    assert graph[-1] == pytest.approx(1 - similar / 5)
    assert graph[near[0, :similar]].sum() == pytest.approx(similar / 5)
    assert (graph[near[0, :similar]] > 0).all()


def test_the_scale_of_k_similar_anchors_ends_at_far():
    near, distance = np.arange(3, dtype=np.int32)[None], np.array([[1, 1.5, np.inf]], dtype=np.float32)
    graph = edges_of(near, distance, places(3, np.arange(3)), 2, 2.0)
    np.testing.assert_allclose(graph, [[2 / 3, 1 / 3, 0, 0]])


def test_view_edges_write_only_to_their_columns(blobs):
    columns, lists, _ = blobs
    near, distance = columns[NEAREST.of(1)], columns[DISTANCE.of(1)]
    place = places(lists.n_anchors, np.arange(lists.n_anchors))
    anchors, weights = np.full((300, 12), -7, dtype=np.int32), np.full((300, 12), -7.0)
    edges.view_edges(near, distance, place, place.max() + 1, 4, np.inf, anchors, weights, 3, np.zeros(len(near), bool))
    for table in (anchors, weights):
        assert (table[:, :3] == -7).all()
        assert (table[:, 8:] == -7).all()
    expected = edges_of(near, distance, place, 4, np.inf)
    np.testing.assert_array_equal(dense(anchors[:, 3:8], weights[:, 3:8], 121), expected)


def random_edges(seed, n=50, width=12, size=15):
    """Anchors that repeat in a row, the neutral one among them, and weights of which a quarter is 0."""
    rng = np.random.default_rng(seed)
    anchors = rng.integers(size, size=(n, width), dtype=np.int32)
    return anchors, rng.random((n, width)) * (rng.random((n, width)) < 0.75)


def naive_support(anchors, weights, k, neutral):
    graph = np.zeros((len(anchors), neutral + 1))
    for i in range(len(anchors)):
        sums = {}
        for anchor, weight in zip(anchors[i], weights[i], strict=True):
            sums[anchor] = sums.get(anchor, 0.0) + weight
        idle = sums.pop(neutral, 0.0)
        mass = sum(sums.values())
        best = [*sorted(sums.values(), reverse=True), *[0.0] * (k + 1)]
        rest = {a: max(s - best[k], 0.0) for a, s in sums.items()}
        if best[0] == best[k]:
            rest = dict.fromkeys([a for a in sums if sums[a] == best[0]][:k], 1.0)
        total = sum(rest.values())
        for a, s in rest.items():
            graph[i, a] = s / total * mass / (mass + idle)
        graph[i, neutral] = idle / (mass + idle)
    return graph


@pytest.mark.parametrize("k", [1, 3, 6, 11])
@pytest.mark.parametrize("seed", range(3))
def test_best_supported_keeps_the_largest_sums_and_the_neutral_share(k, seed):
    anchors, weights = random_edges(seed)
    expected = naive_support(anchors, weights, k, 14)
    assert (expected[:, :-1] > 0).sum(axis=1).max() <= k
    edges.best_supported(anchors, weights, k, 14)
    graph = dense(anchors, weights, 15)
    np.testing.assert_allclose(graph, expected, atol=1e-12)
    np.testing.assert_allclose(graph.sum(axis=1), 1)
    assert (weights[:, k + 1 :] == 0).all()


def test_best_supported_solves_the_can_problem_with_support_for_nearness():
    rng = np.random.default_rng(0)
    sums = rng.random((40, 9))
    weights = np.hstack([sums / 3, sums * 2 / 3])
    anchors = np.tile(rng.permutation(9), (40, 2)).astype(np.int32)
    order = np.argsort(-sums, axis=1)
    expected = can_weights(-np.take_along_axis(sums, order, axis=1)[:, :5])
    near = np.take_along_axis(anchors, order, axis=1)[:, :4]
    edges.best_supported(anchors, weights, 4, 9)
    np.testing.assert_allclose(dense(anchors, weights, 10), dense(near, expected, 10), atol=1e-12)


def test_best_supported_lets_the_first_of_equals_count_the_same():
    anchors, weights = np.array([[0, 1, 9, 2, 3, 9]], dtype=np.int32), np.array([[0.5, 0.5, 0, 0.5, 0.5, 0]])
    edges.best_supported(anchors, weights, 2, 9)
    graph = dense(anchors, weights, 10)
    np.testing.assert_array_equal(graph, [[0.5, 0.5, 0, 0, 0, 0, 0, 0, 0, 0]])
    assert (weights > 0).sum() == 2


@pytest.mark.parametrize("k", [1, 2, 4, 7])
def test_best_supported_of_few_different_weights_follows_its_definition(k):
    rng = np.random.default_rng(k)
    anchors, weights = rng.integers(9, size=(200, 8), dtype=np.int32), rng.integers(1, 3, size=(200, 8)) / 4
    anchors[:, 7], anchors[:, 0] = 8, 0  # all rows have some idle mass and some that is not
    expected = naive_support(anchors, weights, k, 8)
    edges.best_supported(anchors, weights, k, 8)
    np.testing.assert_allclose(dense(anchors, weights, 9), expected, atol=1e-12)
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    assert ((dense(anchors, weights, 9)[:, :8] > 0).sum(axis=1) <= k).all()


def test_best_supported_leaves_a_row_that_nothing_supports_to_the_neutral_anchor():
    anchors, weights = np.full((1, 6), 9, dtype=np.int32), np.array([[0, 0, 1.0, 0, 0, 1.0]])
    edges.best_supported(anchors, weights, 2, 9)
    np.testing.assert_array_equal(dense(anchors, weights, 10), np.eye(10)[9:])


def test_best_supported_of_one_view_changes_nothing(blobs):
    columns, lists, _ = blobs
    anchors, weights = np.empty((300, 6), dtype=np.int32), np.empty((300, 6))
    place = places(lists.n_anchors, np.arange(lists.n_anchors))
    near, distance = columns[NEAREST.of(0)], columns[DISTANCE.of(0)]
    edges.view_edges(near, distance, place, place.max() + 1, 5, np.inf, anchors, weights, 0, np.zeros(len(near), bool))
    before = dense(anchors, weights, 121)
    edges.best_supported(anchors, weights, 5, 120)
    np.testing.assert_allclose(dense(anchors, weights, 121), before, atol=1e-12)


def test_degrees_are_added_for_the_given_columns():
    anchors, weights = random_edges(0)
    degrees = np.ones(15)
    edges.add_degrees(anchors, weights, 2, 7, 2.0**40, degrees)
    np.testing.assert_allclose(degrees, 1 + 2.0**40 * dense(anchors[:, 2:7], weights[:, 2:7], 15).sum(axis=0))


def test_degrees_are_rounded_up_to_whole_units():
    anchors, weights = random_edges(0)
    degrees, expected = np.zeros(15), np.zeros(15)
    edges.add_degrees(anchors, weights, 0, anchors.shape[1], 8.0, degrees)
    np.add.at(expected, anchors, np.ceil(weights * 8))
    np.testing.assert_array_equal(degrees, expected)
    assert (degrees / 8 >= dense(anchors, weights, 15).sum(axis=0)).all()


def test_anchors_are_scaled_in_the_given_columns():
    anchors, weights = random_edges(1)
    factors, before = np.random.default_rng(1).random(15), weights.copy()
    edges.scale_anchors(anchors, weights, 2, 7, factors)
    before[:, 2:7] *= factors[anchors[:, 2:7]]
    np.testing.assert_allclose(weights, before, atol=1e-15)


def test_gram_and_product_are_those_of_the_dense_matrix():
    anchors, weights = random_edges(2)
    matrix, vectors = dense(anchors, weights, 15), np.random.default_rng(2).normal(size=(15, 4))
    lower = edges.edge_gram(anchors, weights, 15, 2.0**40)
    np.testing.assert_array_equal(lower, np.rint(lower))
    np.testing.assert_array_equal(np.triu(lower, 1), 0)
    np.testing.assert_allclose(lower / 2.0**40, np.tril(matrix.T @ matrix), atol=1e-9)
    np.testing.assert_allclose(edges.edge_product(anchors, weights, vectors), matrix @ vectors, atol=1e-12)


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5])
def test_gram_of_rows_without_an_anchor_twice(width):
    """Nothing is merged: every column of the block needs a place of its own."""
    rng = np.random.default_rng(width)
    anchors = np.array([rng.permutation(9)[:width] for _ in range(6)], dtype=np.int32)
    weights = rng.random((6, width))
    matrix = dense(anchors, weights, 9)
    lower = edges.edge_gram(anchors, weights, 9, 2.0**40)
    np.testing.assert_allclose(lower / 2.0**40, np.tril(matrix.T @ matrix), atol=1e-9)


def test_nearest_centre_is_nearest():
    rng = np.random.default_rng(3)
    points, centres = rng.normal(size=(80, 4)), rng.normal(size=(7, 4))
    expected = ((points[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(kmeans.nearest_centre(points, centres), expected)


def test_of_equally_near_centres_the_first_is_taken():
    points = np.array([[0.3, 0.0], [-2.0, 0.7], [2.0, 0.7]])
    centres = np.array([[0.0, 5.0], [1.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
    np.testing.assert_array_equal(kmeans.nearest_centre(points, centres), [1, 2, 1])
    np.testing.assert_array_equal(kmeans.nearest_centre(np.array([[0.0, 0.5]]), centres), [1])


def test_the_nearest_centre_does_not_depend_on_the_other_points():
    rng = np.random.default_rng(4)
    points = rng.integers(-2, 3, size=(60, 3)) / 7
    centres = points[rng.choice(60, 9, replace=False)] + points[0] / 3
    one_by_one = [kmeans.nearest_centre(points[i : i + 1], centres)[0] for i in range(60)]
    np.testing.assert_array_equal(kmeans.nearest_centre(points, centres), one_by_one)


def test_centre_sums_hold_weighted_sums_and_weights():
    rng = np.random.default_rng(5)
    points, labels, weights = rng.normal(size=(50, 3)), rng.integers(4, size=50, dtype=np.int32), rng.random(50)
    shares = np.eye(6)[labels] * weights[:, None]  # two labels do not occur
    expected = np.column_stack([shares.T @ points, shares.sum(axis=0)])
    np.testing.assert_allclose(kmeans.centre_sums(points, weights, labels, 6), expected, atol=1e-12)


def test_nearest_sums_hold_counted_sums_and_numbers():
    rng = np.random.default_rng(5)
    for n in (1, 50, 128, 300):  # with and without rows that fill no batch
        points, centres = rng.normal(size=(n, 3)), rng.normal(size=(6, 3))
        centres[4] = 50.0  # far from all
        one_hot = np.eye(6)[kmeans.nearest_centre(points, centres)]
        expected = np.column_stack([one_hot.T @ np.rint(points * 2.0**20), one_hot.sum(axis=0)])
        np.testing.assert_array_equal(kmeans.nearest_sums(points, centres, 2.0**20), expected)
        gaps = ((points[:, None] - centres) ** 2).sum(axis=2).min(axis=1)
        np.testing.assert_allclose(kmeans.centre_gaps(points, centres), gaps)


@pytest.mark.parametrize("scale", [1e-40, 1e-12, 1.0, 1e18, 1e30])
def test_many_centres_are_compared_as_exactly_as_few(scale, monkeypatch):
    rng = np.random.default_rng(7)
    centres = rng.normal(size=(60, 40))
    points = centres[rng.integers(60, size=2500)] + 0.5 * rng.normal(size=(2500, 40))
    points[:200] = (centres[:20, None] / 2 + centres[None, 20:30] / 2).reshape(-1, 40)  # equally near to two
    points[200:300] += 1e-9 * rng.normal(size=(100, 40))
    centres[50] = centres[3]
    points, centres = scale * points, scale * centres
    assert centres.size >= kmeans._MANY_COORDINATES
    found = kmeans.nearest_centre(points, centres)
    monkeypatch.setattr(kmeans, "_MANY_COORDINATES", 10**9)
    np.testing.assert_array_equal(found, kmeans.nearest_centre(points, centres))
    assert 50 not in found  # the first of equals


def test_few_points_are_compared_again():
    rng = np.random.default_rng(8)
    centres = rng.normal(size=(60, 40))
    points = centres[rng.integers(60, size=1000)] + 0.3 * rng.normal(size=(1000, 40))
    points[7] = centres[:2].mean(axis=0)
    halves, labels = (centres**2).sum(axis=1) / 2, np.zeros(1000, dtype=np.int32)
    unclear = kmeans._nearest_in_single_precision(points, centres, halves, labels)
    assert len(unclear) < 10


@pytest.mark.parametrize("size", [1, 63, 64, 65, 150])
def test_the_upper_triangle_is_that_of_a_symmetric_matrix(size):
    x = np.random.default_rng(size).integers(-9, 9, (size, size)).astype(float)
    found = np.tril(x).astype(np.float32)
    edges.fill_upper(found)
    np.testing.assert_array_equal(found, np.tril(x) + np.tril(x, -1).T)


def test_label_tables_are_contingency_tables():
    rng = np.random.default_rng(6)
    reference = rng.integers(4, size=70, dtype=np.int32)
    labels = rng.integers(5, size=(70, 3), dtype=np.int32)
    expected = [np.eye(4)[reference].T @ np.eye(6)[labels[:, r]] for r in range(3)]
    np.testing.assert_array_equal(consensus.label_tables(reference, labels, 4, 6), expected)


@pytest.fixture
def votes():
    """Labels of 60 samples by three members with 3, 5 and 4 clusters, their offsets, and the one-hot table."""
    rng = np.random.default_rng(7)
    counts = [3, 5, 4]
    labels = np.column_stack([rng.integers(count, size=60, dtype=np.int32) for count in counts])
    return labels, np.array([0, 3, 8, 12]), np.hstack([np.eye(c)[labels[:, r]] for r, c in enumerate(counts)])


def test_vote_product_and_adjoint_are_those_of_the_dense_table(votes):
    labels, offsets, table = votes
    rng = np.random.default_rng(8)
    values, samples = rng.normal(size=(12, 4)), rng.normal(size=(60, 4))
    np.testing.assert_allclose(consensus.vote_product(labels, offsets, values), table @ values, atol=1e-12)
    units = 2.0 ** np.arange(40, 44)
    counted = np.rint(samples * units)
    np.testing.assert_array_equal(consensus.vote_adjoint(labels, offsets, samples, 12, units), table.T @ counted)


def test_vote_adjoint_is_the_adjoint_of_vote_product(votes):
    labels, offsets, _ = votes
    rng = np.random.default_rng(9)
    x, y = rng.normal(size=(12, 3)), rng.normal(size=(60, 3))
    left = (consensus.vote_product(labels, offsets, x) * y).sum()
    units = np.full(3, 2.0**45)
    assert left == pytest.approx((x * consensus.vote_adjoint(labels, offsets, y, 12, units) / units).sum())


def test_shared_samples_are_the_lower_triangle_of_the_tables_gram_matrix(votes):
    labels, offsets, table = votes
    np.testing.assert_array_equal(consensus.shared_samples(labels, offsets, 12), np.tril(table.T @ table))


@pytest.mark.parametrize("seed", range(20))
def test_nth_largest_is_what_sorting_gives(seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 9, 30) / 4 if seed % 2 else rng.random(rng.integers(1, 40))
    for n in range(len(values)):
        assert edges._nth_largest(values.copy(), len(values), n) == np.sort(values)[::-1][n]


# Samples that lack views ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("far", [np.inf, 2.0])
def test_a_sample_that_lacks_the_view_has_no_edges(blobs, far):
    columns, lists, _ = blobs
    near, distance = columns[NEAREST.of(0)].copy(), columns[DISTANCE.of(0)].copy()
    place = places(lists.n_anchors, np.arange(0, lists.n_anchors, 2))
    expected = edges_of(near, distance, place, 5, far)
    lacking = np.arange(0, 300, 7)
    near[lacking], distance[lacking] = -1, np.inf
    anchors, weights = np.full((300, 8), -7, dtype=np.int32), np.full((300, 8), np.nan)
    edges.view_edges(near, distance, place, place.max() + 1, 5, far, anchors, weights, 1, np.zeros(len(near), bool))
    assert (weights[lacking, 1:7] == 0).all()
    assert (anchors[lacking, 1:7] == place.max() + 1).all()  # a place that exists
    assert np.isnan(weights[:, [0, 7]]).all()
    expected[lacking] = 0
    np.testing.assert_array_equal(dense(anchors[:, 1:7], weights[:, 1:7], place.max() + 2), expected)


def test_a_view_without_any_anchor_has_no_edges():
    near, distance = np.empty((3, 0), dtype=np.int32), np.empty((3, 0), dtype=np.float32)
    assert not edges_of(near, distance, places(6, [0, 2]), 2, np.inf).any()


@pytest.mark.parametrize("k", [1, 3, 11])
def test_best_supported_leaves_a_row_without_edges_without(k):
    anchors, weights = random_edges(4)
    weights[[0, 20, 49]] = 0
    others = np.setdiff1d(np.arange(50), [0, 20, 49])
    expected = np.zeros((50, 15))
    expected[others] = naive_support(anchors[others], weights[others], k, 14)
    edges.best_supported(anchors, weights, k, 14)
    assert not weights[[0, 20, 49]].any()
    np.testing.assert_allclose(dense(anchors, weights, 15), expected, atol=1e-12)


def naive_balance(weights, starts, counts):
    balanced = weights.copy()
    for row in balanced:
        graphs = [row[start:stop] for start, stop in pairwise(starts)]
        present = sum(count for graph, count in zip(graphs, counts, strict=True) if graph.any())
        row *= sum(counts) / present if present else 1.0
    return balanced


@pytest.mark.parametrize("counts", [[1.0, 1.0, 1.0], [3.0, 1.0, 1.0], [2.0, 1.0, 4.0]])
def test_graphs_with_edges_count_for_those_without(counts):
    rng = np.random.default_rng(0)
    starts, weights = np.array([0, 4, 6, 11]), rng.random((60, 11)) * (rng.random((60, 11)) < 0.8)
    for graph in range(3):
        weights[rng.random(60) < 0.4, starts[graph] : starts[graph + 1]] = 0
    assert (~weights.any(axis=1)).any()
    expected = naive_balance(weights, starts, counts)
    complete = np.all([weights[:, a:b].any(axis=1) for a, b in pairwise(starts)], axis=0)
    assert 0 < complete.sum() < 60
    before = weights.copy()
    edges.balance_rows(weights, starts, np.array(counts))
    np.testing.assert_allclose(weights, expected)
    np.testing.assert_array_equal(weights[complete], before[complete])  # bit by bit


def test_balanced_rows_have_as_much_mass_as_complete_ones():
    weights = np.array([[0.5, 0.5, 1.0, 1.0], [0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]])
    edges.balance_rows(weights, np.array([0, 2, 4]), np.array([2.0, 1.0]))
    np.testing.assert_allclose(weights, [[0.5, 0.5, 1, 1], [0.75, 0.75, 0, 0], [0, 0, 3, 3]])


def test_rows_without_edges_have_no_label():
    weights, labels = np.random.default_rng(0).random((40, 6)), np.arange(40, dtype=np.int32)
    weights[::3], weights[1::3, :-1] = 0.0, 0.0
    edges.abstain(weights, labels)
    np.testing.assert_array_equal(labels, np.where(np.arange(40) % 3 == 0, -1, np.arange(40)))


def test_members_that_abstain_do_not_vote():
    rng = np.random.default_rng(1)
    offsets, values = np.array([0, 3, 5, 9]), rng.normal(size=(9, 2))
    labels = np.column_stack([rng.integers(-1, size, 30) for size in (3, 2, 4)]).astype(np.int32)
    labels[4] = -1
    expected = [
        sum((values[offset + label] for offset, label in zip(offsets[:3], row, strict=True) if label >= 0), np.zeros(2))
        for row in labels
    ]
    assert (labels == -1).any(axis=0).all()
    np.testing.assert_allclose(consensus.vote_product(labels, offsets, values), expected, atol=1e-15)
