from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manyview.cluster._base import kmeans_labels
from manyview.datasets import make_multiview
from manyview.graphs import neighbor_graph
from manyview.io import read_views
from manyview.metrics import accuracy
from manyview.solvers import amgl


@pytest.fixture(scope="module")
def views():
    """Two views of 150 samples in 3 clusters that overlap, and one of noise."""
    return make_multiview(150, 3, n_views=2, n_noise_views=1, noise=0.4, random_state=0)


@pytest.fixture(scope="module")
def graphs(views):
    return [neighbor_graph(view, 5) for view in views.arrays]


def laplacian(graph):
    dense = graph.toarray()
    degrees = dense.sum(axis=1)
    scale = np.diag([1 / np.sqrt(d) if d > 0 else 0.0 for d in degrees])
    return np.eye(len(dense)) - scale @ dense @ scale


def projector(vectors):
    return vectors @ vectors.T


def normalized(graphs):
    return [sp.csr_array(np.eye(g.shape[0]) - laplacian(g)) for g in graphs]


def test_f_step_minimises_the_weighted_traces(graphs):
    weights = np.array([0.5, 2.0, 1.0])
    vectors, gap = amgl.embed(normalized(graphs), weights, 3)
    mixed = sum(a * laplacian(g) for a, g in zip(weights, graphs, strict=True))
    values = np.linalg.eigvalsh(mixed)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(3), atol=1e-12)
    assert np.trace(vectors.T @ mixed @ vectors) == pytest.approx(values[:3].sum())
    assert gap == pytest.approx((values[3] - values[2]) / weights.sum())


def test_traces(graphs):
    vectors = np.linalg.qr(np.random.default_rng(0).normal(size=(150, 4)))[0]
    expected = [np.trace(vectors.T @ laplacian(g) @ vectors) for g in graphs]
    np.testing.assert_allclose(amgl.traces(normalized(graphs), vectors), expected)


def test_invariants_of_a_run(graphs):
    before = [g.copy() for g in graphs]
    seen = []
    found = amgl.run(graphs, 3, on_pass=lambda n, value: seen.append((n, value)))
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(3), atol=1e-10)
    assert 3 < found.n_iter < 100
    assert (np.diff(found.objective) <= 1e-12).all()
    traces = np.array([np.trace(found.vectors.T @ laplacian(g) @ found.vectors) for g in graphs])
    np.testing.assert_allclose(found.traces, traces, atol=1e-12)
    np.testing.assert_allclose(found.weights, 1 / (2 * np.sqrt(traces)))
    assert found.objective[-1] == pytest.approx(np.sqrt(traces).sum())
    assert found.weights @ found.traces == pytest.approx(found.objective[-1] / 2)
    np.testing.assert_array_equal(found.weight_history[-1], found.weights)
    assert seen == list(enumerate(found.objective, start=1))
    for graph, old in zip(graphs, before, strict=True):
        np.testing.assert_array_equal(graph.toarray(), old.toarray())


def test_noise_gets_the_smallest_weight(graphs):
    weights = amgl.run(graphs, 3).weights
    assert weights[2] < 0.8 * weights[:2].min()


def test_one_view_takes_one_pass(graphs):
    found = amgl.run(graphs[:1], 3)
    assert found.n_iter == 1
    np.testing.assert_allclose(
        projector(found.vectors), projector(np.linalg.eigh(laplacian(graphs[0]))[1][:, :3]), atol=1e-10
    )


def test_identical_views_are_one_view(graphs):
    single, triple = amgl.run(graphs[:1], 3), amgl.run([graphs[0]] * 3, 3)
    np.testing.assert_array_equal(triple.weights, triple.weights[0])
    np.testing.assert_allclose(projector(triple.vectors), projector(single.vectors), atol=1e-8)


@pytest.mark.parametrize("n_views", [1, 2])
def test_graph_in_pieces(n_views):
    """Six components, eight columns, more samples than are decomposed densely: copies of the eigenvalue 1."""
    rng = np.random.default_rng(0)
    points = 1000.0 * rng.normal(size=(6, 3))[rng.integers(6, size=450)] + rng.normal(size=(450, 3))
    graph = neighbor_graph(points, 5)
    found = amgl.run([graph] * n_views, 8)
    values = np.linalg.eigvalsh(laplacian(graph))
    assert values[5] < 1e-10 < values[6]
    np.testing.assert_allclose(found.traces, values[:8].sum(), atol=1e-8)
    assert found.gap == pytest.approx(values[8] - values[7], abs=1e-9)
    assert amgl.run([graph] * n_views, 4).gap < 1e-12


def test_view_in_pieces_takes_over_with_finite_weights(graphs):
    pieces = sp.csr_array(sp.block_diag([np.ones((50, 50)) - np.eye(50)] * 3))
    order = np.random.default_rng(0).permutation(150)
    pieces = sp.csr_array(pieces[order][:, order])
    found = amgl.run([graphs[0], pieces], 3, max_iter=300)
    assert np.isfinite(found.weights).all()
    assert found.weights[1] > 1e5 * found.weights[0]
    assert (np.diff(found.objective) <= 1e-9).all()  # such a weight makes that of rounding
    alone = amgl.run([pieces, pieces], 3)
    np.testing.assert_allclose(alone.weights, 1 / (2 * np.sqrt(3e-12)))


def test_sample_without_edges_has_no_part(graphs):
    lonely = [sp.csr_array(sp.block_diag([g, np.zeros((1, 1))])) for g in graphs]
    found = amgl.run(lonely, 3)
    np.testing.assert_allclose(found.vectors[-1], 0, atol=1e-12)
    np.testing.assert_allclose(projector(found.vectors)[:-1, :-1], projector(amgl.run(graphs, 3).vectors), atol=1e-8)


def test_order_and_scale_do_not_matter(views, graphs):
    expected = projector(amgl.run(graphs, 3).vectors)
    np.testing.assert_allclose(projector(amgl.run(graphs[::-1], 3).vectors), expected, atol=1e-8)
    order = np.random.default_rng(1).permutation(150)
    moved = amgl.run([neighbor_graph(10.0**v * view[order], 5) for v, view in enumerate(views.arrays)], 3)
    np.testing.assert_allclose(projector(moved.vectors), expected[np.ix_(order, order)], atol=1e-8)


# --- what the authors' program returns --------------------------------------------------------------------------------

SETS = [("msrc", "MSRC-v5.mat", 7), ("3s", "3Sources.mat", 6)]


def program_graphs(oracle, tag):
    stored = oracle(f"graphs__{tag}__file")
    return [sp.csr_array(stored[name]) for name in sorted(stored) if name.startswith("W5_")]


@pytest.mark.parametrize(("tag", "file", "n_clusters"), SETS)
def test_parity_with_the_authors_program(oracle, tag, file, n_clusters):
    stored, graphs = oracle(f"amgl__{tag}__file"), program_graphs(oracle, tag)
    found = amgl.run(graphs, n_clusters)
    np.testing.assert_allclose(found.weight_history, stored["alpha_hist"], atol=1e-10)
    np.testing.assert_allclose(found.weights, stored["alpha"][0], atol=1e-10)
    np.testing.assert_allclose(found.objective, stored["Obj"][0], atol=1e-10)
    np.testing.assert_allclose(projector(found.vectors), projector(stored["F"]), atol=1e-10)
    mixed = sum(a * laplacian(g) for a, g in zip(found.weights, graphs, strict=True))
    spectrum = stored["evLsum"][:, 0]
    np.testing.assert_allclose(np.linalg.eigvalsh(mixed)[: len(spectrum)], spectrum, atol=1e-10)


@pytest.mark.parametrize(("tag", "file", "n_clusters"), SETS)
def test_k_means_on_the_embedding_scores_like_the_program(oracle, data_file, tag, file, n_clusters):
    stored, truth = oracle(f"amgl__{tag}__file"), read_views(data_file(file)).labels
    program = [accuracy(truth, stored[name]) for name in sorted(stored) if name.startswith("labels__")]
    vectors = amgl.run(program_graphs(oracle, tag), n_clusters).vectors
    ours = [accuracy(truth, kmeans_labels(vectors, n_clusters, seed, 1)) for seed in range(10)]
    assert abs(np.mean(ours) - np.mean(program)) <= 2 * np.std(program)


def test_graphs_are_the_programs(oracle, data_file):
    for view, graph in zip(read_views(data_file("MSRC-v5.mat")).arrays, program_graphs(oracle, "msrc"), strict=True):
        np.testing.assert_allclose(neighbor_graph(view, 5).toarray(), graph.toarray(), atol=1e-10)


def test_graphs_are_the_programs_but_for_duplicates(oracle, data_file):
    """In 3Sources it links one of two equal samples with itself; with this edge moved to the other, all agree."""
    for view, graph in zip(read_views(data_file("3Sources.mat")).arrays, program_graphs(oracle, "3s"), strict=True):
        moved, table = graph.toarray(), view if isinstance(view, np.ndarray) else view.toarray()
        (i,) = np.flatnonzero(moved.diagonal())
        (j,) = np.setdiff1d(np.flatnonzero((table == table[i]).all(axis=1)), i)
        moved[[i, j], [j, i]] += moved[i, i] / 2
        moved[i, i] = 0
        np.testing.assert_allclose(neighbor_graph(view, 5).toarray(), moved, atol=1e-10)
