from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from manyview import read_views
from manyview.graphs import normalize_bipartite
from manyview.solvers.mvsc import embed, gaussian_graph, misfits, objective, run, view_weights


@pytest.fixture
def graphs():
    rng = np.random.default_rng(0)
    views = [rng.normal(size=(30, d)) for d in (2, 3, 5)]
    return [gaussian_graph(view, view[:9], 4)[0] for view in views]


def laplacian(graph):
    n, m = graph.shape
    full = np.zeros((n + m, n + m))
    full[:n, n:] = graph.toarray()
    full += full.T
    degrees = full.sum(axis=1)
    return np.eye(n + m) - full / np.sqrt(np.outer(degrees, degrees))


@pytest.mark.parametrize("bandwidth", [None, 0.3])
def test_graph_is_that_of_loops(bandwidth):
    rng = np.random.default_rng(1)
    view, anchors = rng.normal(size=(20, 3)), rng.normal(size=(8, 3))
    distance = np.array([[np.linalg.norm(x - u) for u in anchors] for x in view])
    near = np.argsort(distance, axis=1)[:, :4]
    sigma = bandwidth or np.median([distance[i, j] for i in range(20) for j in near[i]])
    expected = np.zeros((20, 8))
    for i in range(20):
        for j in near[i]:
            expected[i, j] = np.exp(-(distance[i, j] ** 2) / (2 * sigma**2))
        expected[i] /= expected[i].sum()
    graph, used = gaussian_graph(view, anchors, 4, bandwidth)
    assert used == pytest.approx(sigma)
    np.testing.assert_allclose(graph.toarray(), expected, atol=1e-12)
    assert (np.diff(graph.indptr) == 4).all()


def test_graph_does_not_vanish_far_away():
    graph, _ = gaussian_graph(np.array([[1e4], [0.0]]), np.array([[0.0], [1.0], [2.0]]), 2, 1.0)
    np.testing.assert_allclose(graph.sum(axis=1), 1)
    np.testing.assert_allclose(graph.toarray()[0], [0, 0, 1])


def test_bandwidth_of_duplicates():
    copies = np.zeros((9, 1))
    assert gaussian_graph(copies, copies[:3], 2)[1] == 1.0
    assert gaussian_graph(np.vstack([copies, [[3.0]]]), np.zeros((3, 1)), 2)[1] == 3.0


def test_units_do_not_matter():
    rng = np.random.default_rng(2)
    view = rng.normal(size=(25, 3))
    graph, sigma = gaussian_graph(view, view[:6], 3)
    scaled, wider = gaussian_graph(1000 * view, 1000 * view[:6], 3)
    assert wider == pytest.approx(1000 * sigma)
    np.testing.assert_allclose(scaled.toarray(), graph.toarray(), atol=1e-12)


def test_steps_are_those_of_the_dense_laplacians(graphs):
    weights = np.array([0.5, 0.2, 0.3])
    normalized = [normalize_bipartite(graph) for graph in graphs]
    samples, anchors, values = embed(normalized, weights, 3.0, 4)
    both = np.vstack([samples, anchors])
    np.testing.assert_allclose(both.T @ both, np.eye(4), atol=1e-10)
    dense = [laplacian(graph) for graph in graphs]
    joint = sum(a**3 * matrix for a, matrix in zip(weights, dense, strict=True))
    lowest, vectors = np.linalg.eigh(joint)
    assert scipy.linalg.subspace_angles(both, vectors[:, :4]).max() < 1e-7
    np.testing.assert_allclose(np.sum(weights**3) - values, lowest[:4], atol=1e-12)
    misfit = misfits(normalized, samples, anchors)
    np.testing.assert_allclose(misfit, [np.trace(both.T @ matrix @ both) for matrix in dense], atol=1e-10)
    assert objective(misfit, weights, 3.0) == pytest.approx(lowest[:4].sum())


@pytest.mark.parametrize("exponent", [1.5, 4.0])
def test_weights_are_the_minimum(exponent):
    misfit = np.array([2.0, 1.0, 3.0])
    weights = view_weights(misfit, exponent)
    assert weights.sum() == pytest.approx(1)
    others = np.random.default_rng(3).dirichlet(np.ones(3), size=2000)
    assert objective(misfit, weights, exponent) <= (others**exponent @ misfit).min()
    gradient = exponent * weights ** (exponent - 1) * misfit
    np.testing.assert_allclose(gradient, gradient[0])


def test_limits_of_the_exponent(graphs):
    np.testing.assert_allclose(run(graphs, 3, exponent=1e6).weights, 1 / 3, atol=1e-5)
    sharp = run(graphs, 3, exponent=1.01)
    fits = misfits([normalize_bipartite(graph) for graph in graphs], sharp.samples, sharp.anchors)
    assert sharp.weights[np.argmin(fits)] > 0.99


@pytest.mark.parametrize("exponent", [1.2, 2.0, 8.0])
def test_objective_never_rises(graphs, exponent):
    seen: list[tuple[int, float]] = []
    found = run(graphs, 3, exponent=exponent, tol=0, max_iter=15, on_pass=lambda *report: seen.append(report))
    assert (np.diff(found.objective) <= 1e-14).all()
    assert seen == list(enumerate(found.objective, start=1))
    assert found.weight_history.shape == (len(found.objective), 3)
    np.testing.assert_allclose(found.weight_history.sum(axis=1), 1)
    np.testing.assert_array_equal(found.weight_history[-1], found.weights)


def test_it_stops_when_the_objective_falls_by_less_than_its_share(graphs):
    values = run(graphs, 3, tol=0, max_iter=15).objective
    falls = (values[:-1] - values[1:]) / values[:-1]
    assert len(run(graphs, 3, tol=1).objective) == 2  # there is nothing to compare the first pass with
    for tol in (falls[1] * 1.5, falls[2] * 1.5):
        assert len(run(graphs, 3, tol=tol).objective) == 2 + np.flatnonzero(falls <= tol)[0]


def test_identical_views_count_the_same(graphs):
    sharp, even = run([graphs[0]] * 3, 3, exponent=1.1), run([graphs[0]] * 3, 3, exponent=5.0)
    np.testing.assert_allclose(sharp.weights, 1 / 3)
    np.testing.assert_allclose(even.weights, 1 / 3)
    assert scipy.linalg.subspace_angles(sharp.samples, even.samples).max() < 1e-8


def test_order_of_samples_and_views_does_not_matter(graphs):
    rows = np.random.default_rng(4).permutation(30)
    straight = run(graphs, 3, tol=0, max_iter=8)
    turned = run([graph[rows] for graph in graphs[::-1]], 3, tol=0, max_iter=8)
    np.testing.assert_allclose(turned.weights[::-1], straight.weights, atol=1e-10)
    assert scipy.linalg.subspace_angles(turned.samples, straight.samples[rows]).max() < 1e-7


def test_a_graph_in_pieces_gets_a_finite_weight(graphs):
    pieces = sp.csr_array((np.ones(30), np.arange(30) % 9, np.arange(31)), shape=(30, 9))
    found = run([*graphs, pieces], 3)
    assert np.isfinite(found.objective).all()
    assert np.isfinite(found.samples).all()
    assert found.weights[3] > 0.99


def published(oracle, data_file, name, file):
    """Scaled views, and for each seed the anchors, the other samples and the graphs between them.

    A re-implementation by others takes samples as anchors and leaves them out of the samples.
    """
    stored = oracle(f"mvsc__{name}__file")
    views = [np.asarray(x, dtype=float) for x in read_views(data_file(file)).arrays]
    views = [x / scale for x, scale in zip(views, stored["scale"].ravel(), strict=True)]
    for seed in range(1, 6):
        if f"SltInd_s{seed}" in stored:
            picks = stored[f"SltInd_s{seed}"].ravel() - 1
            rest = np.setdiff1d(np.arange(len(views[0])), picks)
            graphs = [gaussian_graph(x[rest], x[picks], 8, 1.0)[0] for x in views]
            yield {key: stored[f"{key}_s{seed}"] for key in ("obj", "sv", "G")}, picks, rest, graphs


def test_parity_with_a_published_program(oracle, data_file):
    """With its anchors, and without them among the samples, all is the same; but its embedding is √2 too long."""
    for stored, picks, rest, graphs in published(oracle, data_file, "msrc", "MSRC-v5.mat"):
        found = run(graphs, 7, exponent=2.0, tol=0, max_iter=10)
        np.testing.assert_allclose(2 * found.objective, stored["obj"].ravel(), atol=1e-10)
        np.testing.assert_allclose(found.singular_values, stored["sv"].ravel()[:-1], atol=1e-10)
        rows = np.empty((210, 7))
        rows[rest], rows[picks] = found.samples, found.anchors
        np.testing.assert_allclose(stored["G"].T @ stored["G"], 2 * np.eye(7), atol=1e-10)
        np.testing.assert_allclose(2 * rows @ rows.T, stored["G"] @ stored["G"].T, atol=1e-8)


def test_parity_up_to_ties(oracle, data_file):
    """In 3Sources, of word counts, the 8th and the 9th anchor are often equally near, and rounding picks one."""
    counts = read_views(data_file("3Sources.mat")).arrays[0]
    for stored, picks, rest, graphs in published(oracle, data_file, "3s", "3Sources.mat"):
        squares = (counts**2).sum(axis=1)
        exact = squares[rest][:, None] + squares[picks] - 2 * counts[rest] @ counts[picks].T  # whole numbers
        nearest = np.sort(exact, axis=1)
        assert (nearest[:, 7] == nearest[:, 8]).any()
        found = run(graphs, 6, exponent=2.0, tol=0, max_iter=10)
        np.testing.assert_allclose(2 * found.objective, stored["obj"].ravel(), rtol=5e-3)
        np.testing.assert_allclose(found.singular_values, stored["sv"].ravel()[:-1], rtol=0.02)
