from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score

from manyview import read_views
from manyview.graphs import SCALERS, graph_component_labels, neighbor_graph, symmetrize
from manyview.graphs.anchors import concatenate
from manyview.graphs.spectrum import drop_weak_edges
from manyview.proximal import project_simplex
from manyview.solvers import clr


def blocks(sizes, seed=0):
    """Full blocks with random weights; rows sum to 1."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    graph = rng.random((len(labels), len(labels))) * (labels[:, None] == labels)
    graph = (graph + graph.T) / 2
    np.fill_diagonal(graph, 0)
    return graph, labels


@pytest.fixture
def cloud():
    return neighbor_graph(np.random.default_rng(1).normal(size=(40, 2)), 6)


def test_graph_step_against_rows_one_by_one(cloud):
    embedding = np.random.default_rng(2).normal(size=(40, 3))
    found = clr.graph_step(cloud, embedding, 0.7).toarray()
    dense = cloud.toarray()
    for i in range(40):
        support = np.flatnonzero(dense[i])
        cost = ((embedding[i] - embedding[support]) ** 2).sum(axis=1)
        expected = np.zeros(40)
        expected[support] = project_simplex(dense[i, support] - 0.35 * cost)
        np.testing.assert_allclose(found[i], expected, atol=1e-12)


def test_graph_step_is_a_minimum(cloud):
    rng = np.random.default_rng(3)
    embedding = rng.normal(size=(40, 3))
    best = clr.graph_step(cloud, embedding, 0.5)
    lowest = clr.objective(cloud, best, embedding, 0.5)
    for _ in range(20):
        other = sp.csr_array((rng.random(cloud.nnz), cloud.indices, cloud.indptr), shape=cloud.shape)
        other.data /= np.repeat(np.asarray(other.sum(axis=1)).ravel(), np.diff(other.indptr))
        mixed = sp.csr_array((0.9 * best.data + 0.1 * other.data, best.indices, best.indptr), shape=best.shape)
        assert clr.objective(cloud, mixed, embedding, 0.5) > lowest


def test_embedding_is_a_minimum(cloud):
    laplacian = np.diag(cloud.toarray().sum(axis=1)) - cloud.toarray()
    embedding = clr.embed(cloud, 3)
    np.testing.assert_allclose(embedding.T @ embedding, np.eye(3), atol=1e-10)
    assert np.trace(embedding.T @ laplacian @ embedding) == pytest.approx(np.linalg.eigvalsh(laplacian)[:3].sum())


def test_objective_against_the_formula(cloud):
    embedding = clr.embed(cloud, 3)
    graph = clr.graph_step(cloud, embedding, 0.5)
    s = symmetrize(graph).toarray()
    laplacian = np.diag(s.sum(axis=1)) - s
    expected = ((graph - cloud).toarray() ** 2).sum() + 2 * 0.5 * np.trace(embedding.T @ laplacian @ embedding)
    assert clr.objective(cloud, graph, embedding, 0.5) == pytest.approx(expected)


def test_steps_with_a_fixed_weight_never_raise_the_objective(cloud):
    embedding = clr.embed(cloud, 4)
    values = []
    for _ in range(8):
        graph = clr.graph_step(cloud, embedding, 0.3)
        values.append(clr.objective(cloud, graph, embedding, 0.3))
        embedding = clr.embed(graph, 4)
        values.append(clr.objective(cloud, graph, embedding, 0.3))
    assert np.all(np.diff(values) <= 1e-12)
    assert values[0] - values[-1] > 1e-3


def test_learned_graph_is_row_stochastic_on_the_pattern_with_k_components(cloud):
    learned = clr.run(cloud, 4)
    graph = learned.graph
    assert learned.n_components == graph_component_labels(graph)[0] == 4
    assert graph.data.min() >= 0
    np.testing.assert_allclose(graph.sum(axis=1), 1.0, atol=1e-12)
    assert not (graph.toarray()[cloud.toarray() == 0]).any()
    assert len(learned.objective) == len(learned.components) == learned.n_iter
    assert learned.components[-1] == 4


def test_blocks_are_returned_at_once():
    graph, labels = blocks([5, 7, 6])
    learned = clr.fit(sp.csr_array(graph), 3)
    assert learned.n_iter == 0
    np.testing.assert_array_equal(graph_component_labels(learned.graph)[1], labels)
    np.testing.assert_allclose(learned.graph.sum(axis=1), 1.0)


def test_weak_edges_between_blocks_are_cut():
    graph, labels = blocks([10, 12, 9, 11])
    rng = np.random.default_rng(4)
    for _ in range(5):
        i, j = rng.choice(42, 2, replace=False)
        graph[i, j] = graph[j, i] = max(graph[i, j], 0.01)
    learned = clr.fit(sp.csr_array(graph), 4)
    np.testing.assert_array_equal(graph_component_labels(learned.graph)[1], labels)


def test_two_moons():
    points, labels = make_moons(200, noise=0.05, random_state=0)
    learned = clr.fit(neighbor_graph(points, 10), 2)
    assert adjusted_rand_score(labels, graph_component_labels(learned.graph)[1]) == 1


def test_oscillation_is_bisected():
    """Rows whose first weight is far too high: the number of components comes down to K from above."""
    cloud = neighbor_graph(np.random.default_rng(7).normal(size=(60, 2)), 8)
    learned = clr.run(cloud, 3, weight=1e4, max_iter=60)
    assert max(learned.components) > 3
    assert learned.n_components == 3


def test_without_success_the_fewest_components_above_k_are_kept(cloud):
    learned = clr.run(cloud, 2, weight=1e4, max_iter=1)
    assert learned.n_components == learned.components[0] > 2


@pytest.mark.parametrize("max_iter", [7, 8, 9])
def test_the_fewest_above_k_are_kept_whatever_came_after_them(cloud, max_iter):
    # passes 7 to 9 find 4, 2 and 5 components
    learned = clr.run(cloud, 3, weight=1e4, max_iter=max_iter)
    assert 3 not in learned.components
    assert learned.n_components == min(count for count in learned.components if count > 3)
    assert graph_component_labels(learned.graph)[0] == learned.n_components


def test_retarget_sees_every_graph_but_the_last(cloud):
    seen = []
    learned = clr.run(cloud, 4, retarget=lambda graph: (seen.append(graph), cloud.data)[1])
    assert len(seen) == learned.n_iter - 1
    expected = clr.run(cloud, 4)
    np.testing.assert_array_equal(learned.graph.toarray(), expected.graph.toarray())


def test_on_pass_is_told_the_objective(cloud):
    told = []
    learned = clr.run(cloud, 4, on_pass=lambda n_iter, value: told.append((n_iter, value)))
    assert told == list(zip(range(1, learned.n_iter + 1), learned.objective, strict=True))
    history = learned.history
    assert {name: values.tolist() for name, values in history.items()} == {
        "objective": learned.objective,
        "connectivity_weight": learned.weights,
        "n_components": learned.components,
    }
    assert history["n_components"].dtype == np.int64


def reference_graph(oracle, tag, view):
    """What the authors' program makes of a view: with a loop where a sample has a duplicate, which CLR removes."""
    graph = oracle(f"graphs__{tag}__file")[f"W10_v{view}"].copy()
    np.fill_diagonal(graph, 0)
    return sp.csr_array(graph)


@pytest.mark.parametrize(("tag", "n_views", "n_clusters"), [("msrc", 5, 7), ("3s", 3, 6)])
def test_parity_with_the_authors_on_single_views(oracle, tag, n_views, n_clusters):
    expected = oracle(f"clr__{tag}__file")
    for view in range(1, n_views + 1):
        learned = clr.fit(reference_graph(oracle, tag, view), n_clusters)
        stored = expected[f"S_view{view}"]
        np.testing.assert_allclose(learned.graph.toarray(), stored, atol=1e-6, err_msg=f"view {view}")
        assert adjusted_rand_score(expected[f"labels__view{view}"], graph_component_labels(learned.graph)[1]) == 1


@pytest.mark.parametrize(("name", "tag", "n_clusters"), [("MSRC-v5", "msrc", 7), ("3Sources", "3s", 6)])
def test_parity_with_the_authors_on_the_views_side_by_side(oracle, data_file, name, tag, n_clusters):
    expected = oracle(f"clr__{tag}__file")
    views = read_views(data_file(f"{name}.mat"))
    graph = drop_weak_edges(neighbor_graph(concatenate([SCALERS["max"](view) for view in views.arrays]), 10))
    np.testing.assert_allclose(graph.toarray(), expected["A_concat"], atol=1e-10)
    learned = clr.fit(graph, n_clusters)
    np.testing.assert_allclose(learned.graph.toarray(), expected["S_concat"], atol=1e-8)
