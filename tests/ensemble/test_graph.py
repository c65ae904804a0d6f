from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manyview.engines import LocalRows
from manyview.ensemble.columns import DISTANCE, NEAREST
from manyview.ensemble.graph import GraphRule, connect_clusters, graph_rule, inner_edges, view_weights
from manyview.ensemble.members import Lists
from manyview.graphs import can_weights
from manyview.graphs.components import component_labels, relabel_by_first


def learned_graph(rows, lists, anchor_labels, n_neighbors, n_clusters):
    rule = graph_rule(rows, lists, anchor_labels, n_neighbors, n_clusters)
    return sp.csr_array(sp.vstack(rows.map(inner_edges, rule))), rule.view_weights


def dense_graph(columns, view, k, n_pool):
    """CAN weights of each row's k nearest of the whole pool."""
    near, distance = columns[NEAREST.of(view)], columns[DISTANCE.of(view)].astype(float)
    graph = np.zeros((len(near), n_pool))
    graph[np.arange(len(near))[:, None], near[:, :k]] = can_weights(distance[:, : k + 1])
    return graph


def mean_cut(graph, labels, anchor_labels, n_clusters):
    """``tr(FᵀLF)/K``, L the normalised Laplacian of samples and anchors, F the clusters' indicators times √degree."""
    n, m = graph.shape
    full = np.zeros((n + m, n + m))
    full[:n, n:], full[n:, :n] = graph, graph.T
    degrees = full.sum(axis=1)
    scale = np.diag(1 / np.sqrt(np.where(degrees > 0, degrees, 1)))
    L = np.diag((degrees > 0).astype(float)) - scale @ full @ scale
    F = np.zeros((n + m, n_clusters))
    for part, names in ((slice(n), labels), (slice(n, None), anchor_labels)):
        F[part] = np.sqrt(degrees[part, None]) * np.eye(n_clusters)[names]
        F[part] /= np.linalg.norm(F[part], axis=0) * np.sqrt(2)
    return np.trace(F.T @ L @ F) / n_clusters


@pytest.mark.parametrize("k", [3, 10])
def test_views_weigh_by_the_normalised_cut_of_their_graph(blobs, k):
    columns, lists, _ = blobs
    labels = np.random.default_rng(k).integers(3, size=300)  # clusters that cut all views
    rows = LocalRows({**columns, "labels": labels}, 1, 80)
    weights = learned_graph(rows, lists, labels[:120], k, 3)[1]
    cuts = [mean_cut(dense_graph(columns, v, k, 120), labels, labels[:120], 3) for v in range(4)]
    expected = 1 / np.sqrt(cuts)
    np.testing.assert_allclose(weights, expected / expected.sum())


def test_a_view_of_noise_weighs_less(blobs):
    columns, lists, truth = blobs
    weights = learned_graph(LocalRows({**columns, "labels": truth}, 1), lists, truth[:120], 10, 4)[1]
    assert weights.sum() == pytest.approx(1)
    assert weights[3] < 0.3 * weights[:3].min()


def test_views_that_are_not_cut_weigh_the_same():
    masses = np.stack([np.diag([5.0, 2.0]), np.diag([1.0, 9.0]), np.full((2, 2), 3.0)])
    weights = view_weights(masses)
    assert weights[0] == weights[1]
    assert weights[0] / weights[2] == pytest.approx(np.sqrt(0.5 / 0.01))  # a cut of 0 counts as 0.01


def test_a_cluster_without_mass_counts_as_cut():
    masses = np.stack([np.diag([5.0, 0.0]), np.diag([5.0, 5.0])])
    weights = view_weights(masses)
    assert weights[1] / weights[0] == pytest.approx(np.sqrt(0.5 / 0.01))


def test_no_edge_of_the_learned_graph_leaves_a_cluster(blobs):
    columns, lists, truth = blobs
    rng = np.random.default_rng(0)
    labels = np.where(rng.random(300) < 0.3, rng.integers(4, size=300), truth)
    labels[:5] = 4  # no pool member but these is in cluster 4, and it is far from some of its samples
    labels[200:203] = 4
    rows = LocalRows({**columns, "labels": labels}, 1, 80)
    graph, weights = learned_graph(rows, lists, labels[:120], 8, 5)
    assert graph.shape == (300, 120)
    row, column = graph.nonzero()
    np.testing.assert_array_equal(labels[row], labels[column])
    sums = graph.sum(axis=1)
    assert (np.isclose(sums, 1) | (sums == 0)).all()
    assert (sums == 0).any()

    mean = sum(w * dense_graph(columns, v, 8, 120) for v, w in enumerate(weights))
    mean *= labels[:, None] == labels[:120]
    expected = np.divide(mean, mean.sum(axis=1, keepdims=True), out=np.zeros_like(mean), where=graph.toarray() > 0)
    np.testing.assert_allclose(graph.toarray(), expected, atol=1e-12)


def test_the_neutral_anchor_is_left_out(texts):
    columns, lists = texts
    labels = np.arange(200) % 2
    graph, weights = learned_graph(LocalRows({**columns, "labels": labels}, 1, 80), lists, labels[:60], 10, 2)
    assert graph.shape == (200, 60)
    row, column = graph.nonzero()
    np.testing.assert_array_equal(labels[row], labels[column])
    sums = graph.sum(axis=1)
    assert (np.isclose(sums, 1) | (sums == 0)).all()
    assert weights.sum() == pytest.approx(1)


def test_the_size_of_the_blocks_does_not_matter(blobs):
    columns, lists, truth = blobs
    results = []
    for block_rows in (7, 100, 300):
        rows = LocalRows({**columns, "labels": truth}, 1, block_rows)
        results.append(learned_graph(rows, Lists(120, lists.far), truth[:120], 6, 4))
    for graph, weights in results[1:]:
        np.testing.assert_allclose(graph.toarray(), results[0][0].toarray(), atol=1e-12)
        np.testing.assert_allclose(weights, results[0][1])


def clustered_graph(rng, n=60, m=20, k=4, share=0.15):
    """No edges between clusters, rows that sum to 1 or 0, many parts, and samples and anchors without any edge."""
    labels = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    anchor_labels = np.concatenate([np.arange(k), rng.integers(0, k, m - k)])
    dense = rng.random((n, m)) * (rng.random((n, m)) < share) * (labels[:, None] == anchor_labels)
    totals = dense.sum(axis=1, keepdims=True)
    return dense / np.where(totals > 0, totals, 1), labels, anchor_labels


def connected(graph, labels, anchor_labels, block_rows=7):
    rows = LocalRows({"dense": graph, "labels": labels}, 2, block_rows)
    rows.keep("graph", lambda block: sp.csr_array(block["dense"]))
    lists = Lists(graph.shape[1], (np.inf,))
    connect_clusters(rows, GraphRule(lists, anchor_labels, int(labels.max()) + 1, 5, np.ones(1)))
    return sp.csr_array(sp.vstack(rows.map(lambda block: block["graph"])))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("share", [0.0, 0.05, 0.15, 0.5])
def test_connected_clusters_are_the_components(seed, share):
    graph, labels, anchor_labels = clustered_graph(np.random.default_rng(seed), share=share)
    found = connected(graph, labels, anchor_labels)
    count, parts = component_labels(found)
    assert count == 4
    np.testing.assert_array_equal(parts, relabel_by_first(labels))
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)
    assert (found.data > 0).all()
    assert not found.toarray()[labels[:, None] != anchor_labels].any()
    assert ((found.toarray() > 0) >= (graph > 0)).all()


@pytest.mark.parametrize("seed", range(4))
def test_links_do_not_depend_on_the_order_of_the_rows_or_the_blocks(seed):
    rng = np.random.default_rng(seed)
    graph, labels, anchor_labels = clustered_graph(rng)
    order = rng.permutation(len(labels))
    expected = connected(graph, labels, anchor_labels).toarray()[order]
    for block_rows in (3, 60):
        np.testing.assert_array_equal(
            connected(graph[order], labels[order], anchor_labels, block_rows).toarray(), expected
        )


def test_connected_clusters_stay_as_they_are():
    labels, anchor_labels = np.repeat(np.arange(3), [4, 6, 5]), np.repeat(np.arange(3), 3)
    graph = np.random.default_rng(0).random((15, 9)) * (labels[:, None] == anchor_labels)
    np.testing.assert_array_equal(connected(graph, labels, anchor_labels).toarray(), graph)


def test_stray_samples_and_parts_are_linked_to_the_anchor_that_most_samples_use():
    graph = np.array(
        [
            [1.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.4, 0.6, 0.0, 0.0],
            [0.0, 0.0, 1.0, 0.0, 0.0],
            [0.0, 0.0, 1.0, 0.0, 0.0],  # the hub of the first cluster is anchor 2
            [1.0, 0.0, 0.0, 0.0, 0.0],  # with the first sample a stray part
            [0.0, 0.0, 0.0, 0.0, 0.0],  # no edge
            [0.0, 0.0, 0.0, 0.0, 1.0],
            [0.0, 0.0, 0.0, 0.0, 0.0],
        ]
    )
    found = connected(graph, np.array([0, 0, 0, 0, 0, 0, 1, 1]), np.array([0, 0, 0, 1, 1]))
    expected = graph.copy()
    expected[[0, 4], 2] = 1
    expected[[0, 4]] /= 2
    expected[5, 2] = 1
    expected[7, 4] = 1
    np.testing.assert_allclose(found.toarray(), expected, atol=1e-14)


def test_a_cluster_without_an_anchor_stays_without_edges():
    graph = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    found = connected(graph, np.array([0, 1, 2]), np.array([0, 2]))
    np.testing.assert_array_equal(found.toarray(), graph)


def test_a_sample_is_linked_next_to_one_that_cannot_be():
    """The second sample has no anchor in its cluster; the third has, but no edge."""
    graph = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    found = connected(graph, np.array([0, 1, 2, 2]), np.array([0, 2]))
    np.testing.assert_array_equal(found.toarray(), [[1, 0], [0, 0], [0, 1], [0, 1]])
