from __future__ import annotations

import numpy as np
import pytest

from manyview.engines import LocalRows
from manyview.graphs import can_weights
from manyview.solvers._components import learned_graph, view_weights
from manyview.solvers._members import Lists


def dense_graph(columns, view, k, n_pool):
    """CAN weights of each row's k nearest of the whole pool."""
    near, distance = columns[f"near {view}"], columns[f"distance {view}"].astype(float)
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
