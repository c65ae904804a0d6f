from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from manyview.graphs import graph_component_labels, neighbor_graph
from manyview.graphs.spectrum import drop_weak_edges
from manyview.io import read_views
from manyview.proximal import project_simplex
from manyview.solvers import clr, swmc
from manyview.solvers._aligned import align_graphs

DATASETS = {"msrc": ("MSRC-v5.mat", 7), "3s": ("3Sources.mat", 6)}


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """As inside an estimator's fit; many small eigenproblems only get slower with more."""
    with threadpool_limits(limits=1):
        yield


def make_graphs(noise=(0.6, 0.8, 1.0), n=90, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(3, 5)) * 2
    labels = rng.integers(3, size=n)
    return [drop_weak_edges(neighbor_graph(centres[labels] + rng.normal(size=(n, 5)) * s, 8)) for s in noise]


@pytest.fixture(scope="module")
def graphs():
    return make_graphs()


@pytest.fixture(scope="module")
def learned(graphs):
    return swmc.run(graphs, 3, tol=1e-14)


def test_aligned_graphs(graphs):
    aligned = align_graphs(graphs)
    for graph, values in zip(graphs, aligned.values, strict=True):
        np.testing.assert_array_equal(aligned.graph(values).toarray(), graph.toarray())
        np.testing.assert_array_equal(aligned.read(graph), values)
    union = sum(graph.toarray() for graph in graphs) > 0
    assert len(aligned.indices) == union.sum()
    np.testing.assert_array_equal(aligned.rows, np.nonzero(union)[0])
    more = align_graphs(graphs, sp.csr_array(np.ones(graphs[0].shape)))
    assert len(more.indices) == graphs[0].shape[0] ** 2
    np.testing.assert_array_equal(more.values[1].reshape(graphs[1].shape), graphs[1].toarray())


def test_aligned_graphs_with_empty_rows():
    a, b = sp.csr_array((4, 4)), sp.csr_array(([2.0], ([1], [3])), shape=(4, 4))
    aligned = align_graphs([a, b])
    np.testing.assert_array_equal(aligned.graph(aligned.values[1]).toarray(), b.toarray())
    assert not aligned.values[0].any()


def test_one_step_of_the_graph_is_the_projection_of_the_weighted_problem(graphs):
    """``argmin_S Σ α_v|S - A_v|² + λ·Σ|f_i - f_j|² s_ij``, row by row on the union of the patterns."""
    aligned, weights, lam = align_graphs(graphs), np.array([0.3, 0.1, 0.5]), 1.7
    dense = [graph.toarray() for graph in graphs]
    mean = swmc.mean_graph(aligned, weights)
    F = clr.embed(mean, 3)
    expected = np.zeros(mean.shape)
    for i in range(len(expected)):
        support = [j for j in range(len(expected)) if any(graph[i, j] > 0 for graph in dense)]
        pull = [sum(a * g[i, j] for a, g in zip(weights, dense, strict=True)) for j in support]
        cost = [((F[i] - F[j]) ** 2).sum() for j in support]
        expected[i, support] = project_simplex((np.array(pull) - lam / 2 * np.array(cost)) / weights.sum())
    actual = swmc.graph_step(mean, weights, 3, mean, lam, max_iter=1)
    np.testing.assert_allclose(actual.graph.toarray(), expected, atol=1e-12)


def test_a_step_of_graph_and_embedding_does_not_raise_the_objective(graphs):
    aligned, weights, lam = align_graphs(graphs), np.array([0.3, 0.1, 0.5]), 1.7

    def value(graph, F):
        fit = (weights * swmc.distances(aligned, graph) ** 2).sum()
        S = graph.toarray()
        L = np.diag((S + S.T).sum(axis=1) / 2) - (S + S.T) / 2
        return fit + 2 * lam * np.trace(F.T @ L @ F)

    mean = swmc.mean_graph(aligned, weights)
    graph = aligned.graph(np.where(mean.data > 0, 1 / np.repeat(np.diff(mean.indptr), np.diff(mean.indptr)), 0.0))
    F = clr.embed(graph, 3)
    values = [value(graph, F)]
    for _ in range(5):
        graph = clr.graph_step(mean, F, lam / weights.sum())
        values.append(value(graph, F))
        F = clr.embed(graph, 3)
        values.append(value(graph, F))
    assert (np.diff(values) <= 1e-12).all()
    assert values[-1] < values[0] - 1e-3


def test_distances_and_weights(graphs, learned):
    aligned = align_graphs(graphs)
    expected = [np.linalg.norm(learned.graph.toarray() - graph.toarray()) for graph in graphs]
    apart = swmc.distances(aligned, learned.graph)
    np.testing.assert_allclose(apart, expected, rtol=1e-12)
    np.testing.assert_allclose(swmc.view_weights(aligned, apart), 1 / (2 * np.array(expected)), rtol=1e-12)
    sizes = [np.linalg.norm(graph.toarray()) for graph in graphs]
    np.testing.assert_allclose(swmc.view_weights(aligned, np.zeros(3)), 0.5e10 / np.array(sizes), rtol=1e-12)


def test_weights_make_squared_norms_stationary_where_norms_are(graphs, learned):
    apart = swmc.distances(align_graphs(graphs), learned.graph)
    assert learned.objective[-1] == pytest.approx(apart.sum())
    assert (learned.view_weights * apart**2).sum() == pytest.approx(apart.sum() / 2, rel=1e-12)


def test_the_learned_graph_is_feasible(graphs, learned):
    S = learned.graph.toarray()
    assert (S >= 0).all()
    np.testing.assert_allclose(S.sum(axis=1), 1, atol=1e-12)
    assert learned.n_components == graph_component_labels(learned.graph)[0] == 3
    assert not S[sum(graph.toarray() for graph in graphs) == 0].any()
    assert learned.components[-1] == 3


def test_identical_views_are_clr_on_one_of_them(graphs):
    once = swmc.run([graphs[0]] * 3, 3, max_iter=1)
    alone = clr.run(graphs[0], 3, weight=1.0, max_iter=50)
    np.testing.assert_allclose(once.graph.toarray(), alone.graph.toarray(), atol=1e-12)
    np.testing.assert_allclose(np.ptp(once.view_weights), 0, atol=1e-12)
    np.testing.assert_allclose(swmc.run([graphs[0]], 3, max_iter=1).graph.toarray(), alone.graph.toarray(), atol=1e-12)


def test_a_view_of_noise_counts_less():
    weights = swmc.run(make_graphs((0.5, 50.0, 0.5)), 3).view_weights
    assert weights[1] < 0.9 * min(weights[0], weights[2])


def test_the_order_of_views_does_not_matter(graphs, learned):
    turned = swmc.run(graphs[::-1], 3, tol=1e-14)
    np.testing.assert_allclose(turned.view_weights[::-1], learned.view_weights, rtol=1e-8)
    np.testing.assert_allclose(turned.graph.toarray(), learned.graph.toarray(), atol=1e-8)


def test_the_order_of_samples_does_not_matter(graphs, learned):
    order = np.random.default_rng(1).permutation(graphs[0].shape[0])
    moved = [sp.csr_array(graph[order][:, order]) for graph in graphs]
    for graph in moved:
        graph.sort_indices()
    np.testing.assert_allclose(
        swmc.run(moved, 3, tol=1e-14).graph.toarray(), learned.graph.toarray()[order][:, order], atol=1e-8
    )


def test_it_gives_up_when_no_price_leads_to_enough_components(graphs):
    """Every sample has an edge, so 90 samples cannot be in 60 components."""
    learned = swmc.run(graphs, 60)
    assert learned.n_components < 60
    assert len(learned.objective) == 1


def test_prices_do_not_depend_on_the_size_of_the_weights(graphs):
    """Each λ starts at 1 and is doubled or halved, whatever the weights of the views add up to."""
    learned = swmc.run(graphs, 3, max_iter=4, tol=0.0)
    assert len(learned.connectivity_weight) == 4
    assert learned.connectivity_weight[0] == clr.run(sp.csr_array(sum(graphs) / 3), 3, weight=1.0, max_iter=50).weight
    parts = 2.0**10 * np.array(learned.connectivity_weight)
    np.testing.assert_allclose(parts, np.round(parts), rtol=1e-9)


def test_passes_are_reported(graphs):
    seen = []
    learned = swmc.run(graphs, 3, on_pass=lambda n, value: seen.append((n, value)))
    assert seen == list(enumerate(learned.objective, start=1))
    assert len(swmc.run(graphs, 3, max_iter=2, tol=0.0).objective) == 2


@pytest.mark.parametrize("tag", DATASETS)
def test_same_graph_as_the_authors_program(oracle, tag):
    """From the program's own neighbour graphs, of which those of 3Sources have a self-loop."""
    expected, given = oracle(f"swmc__{tag}__file"), oracle(f"graphs__{tag}__file")
    n_views = expected["alpha"].shape[1]
    objective = expected["Obj_a0=uniform"]
    # The program stops on an absolute change of 1e-8.
    learned = swmc.run(
        [sp.csr_array(given[f"W10_v{v + 1}"]) for v in range(n_views)], DATASETS[tag][1], tol=1e-8 / objective[-1]
    )
    np.testing.assert_allclose(learned.graph.toarray(), expected["S_uniform"], atol=1e-6)
    np.testing.assert_allclose(learned.view_weights, expected["alpha"][0], atol=1e-6)
    np.testing.assert_allclose(learned.objective, objective, atol=1e-6)
    assert adjusted_rand_score(graph_component_labels(learned.graph)[1], expected["labels__a0=uniform"]) == 1.0


@pytest.mark.parametrize("tag", DATASETS)
def test_same_labels_as_the_authors_program_from_the_data(oracle, data_file, tag):
    """Our neighbour graphs are the program's but for the two duplicates in 3Sources, of which one has a self-loop."""
    expected, given = oracle(f"swmc__{tag}__file"), oracle(f"graphs__{tag}__file")
    file, n_clusters = DATASETS[tag]
    graphs = [drop_weak_edges(neighbor_graph(view, 10)) for view in read_views(data_file(file)).arrays]
    for v, graph in enumerate(graphs):
        other = given[f"W10_v{v + 1}"]
        differ = np.flatnonzero((np.abs(graph.toarray() - other) > 1e-9).any(axis=1))
        assert len(differ) == (2 if tag == "3s" else 0)
        assert np.count_nonzero(np.diag(other)) == len(differ) / 2
    learned = swmc.run(graphs, n_clusters)
    assert adjusted_rand_score(graph_component_labels(learned.graph)[1], expected["labels__a0=uniform"]) >= 0.95
