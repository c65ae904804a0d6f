from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from manyview.cluster._base import kmeans_labels
from manyview.graphs import gaussian_kernel, normalize_graph
from manyview.graphs.neighbours import squared_distances
from manyview.graphs.scaling import scale_unit_rows
from manyview.io import read_views
from manyview.metrics import clustering_scores
from manyview.solvers.co_regularized import objective, run, update_consensus, update_embedding

DATA = {"msrc": ("MSRC-v5.mat", 7), "3s": ("3Sources.mat", 6)}
VARIANTS = ["centroid", "pairwise"]


@pytest.fixture(autouse=True)
def one_thread():
    with threadpool_limits(limits=1):
        yield


@pytest.fixture(scope="module")
def graphs():
    """Three views of 90 samples in 3 groups: normalised kernels."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(3), 30)
    views = [rng.normal(size=(3, 4))[groups] * 2 + rng.normal(size=(90, 4)) for _ in range(3)]
    return [normalize_graph(gaussian_kernel(view)) for view in views]


@pytest.fixture(params=list(DATA))
def published(request, data_file):
    name, n_clusters = DATA[request.param]
    views = read_views(data_file(name))
    return request.param, views, [normalize_graph(gaussian_kernel(view)) for view in views.arrays], n_clusters


def projector(u):
    return u @ u.T


def largest(matrix, n_vectors):
    return np.linalg.eigh((matrix + matrix.T) / 2)[1][:, ::-1][:, :n_vectors]


def naive_objective(graphs, embeddings, consensus, weight):
    value = sum(np.trace(u.T @ graph @ u) for graph, u in zip(graphs, embeddings, strict=True))
    pairs = combinations(embeddings, 2) if consensus is None else [(u, consensus) for u in embeddings]
    return value + weight * sum(np.trace(projector(u) @ projector(w)) for u, w in pairs)


def disagreement(embeddings):
    return sum(np.sum((projector(u) - projector(w)) ** 2) for u, w in combinations(embeddings, 2))


def test_embedding_step_is_an_eigenproblem(graphs):
    start, pull = (np.linalg.qr(np.random.default_rng(1).normal(size=(90, k)))[0] for k in (3, 6))
    found = update_embedding(graphs[0], pull, 0.7, start)
    np.testing.assert_allclose(projector(found), projector(largest(graphs[0] + 0.7 * projector(pull), 3)), atol=1e-10)
    np.testing.assert_allclose(found.T @ found, np.eye(3), atol=1e-12)


def test_consensus_step_is_an_eigenproblem(graphs):
    embeddings = [largest(graph, 3) for graph in graphs]
    found = update_consensus(embeddings)
    np.testing.assert_allclose(projector(found), projector(largest(sum(map(projector, embeddings)), 3)), atol=1e-10)
    np.testing.assert_allclose(found.T @ found, np.eye(3), atol=1e-12)


@pytest.mark.parametrize("with_consensus", [False, True])
def test_objective_against_traces(graphs, with_consensus):
    embeddings = [largest(graph, 3) for graph in graphs]
    consensus = update_consensus(embeddings) if with_consensus else None
    expected = naive_objective(graphs, embeddings, consensus, 0.3)
    assert objective(graphs, embeddings, consensus, 0.3) == pytest.approx(expected)


@pytest.mark.parametrize("variant", VARIANTS)
def test_sweeps_against_formed_matrices(graphs, variant):
    """The order of the steps as in the paper's program, and no step that lowers the objective."""
    u = [largest(graph, 3) for graph in graphs]
    c = largest(sum(map(projector, u)), 3) if variant == "centroid" else None
    value, per_sweep = naive_objective(graphs, u, c, 0.5), []
    for _ in range(4):
        for v in (1, 2, 0):
            pull = projector(c) if c is not None else sum(projector(u[w]) for w in range(3) if w != v)
            u[v] = largest(graphs[v] + 0.5 * pull, 3)
            before, value = value, naive_objective(graphs, u, c, 0.5)
            assert value >= before - 1e-9
        if c is not None:
            c = largest(sum(map(projector, u)), 3)
            before, value = value, naive_objective(graphs, u, c, 0.5)
            assert value >= before - 1e-9
        per_sweep.append(value)
    seen = []
    learned = run(graphs, 3, variant=variant, max_iter=4, tol=0.0, on_pass=lambda *line: seen.append(line))
    for found, expected in zip(learned.embeddings, u, strict=True):
        np.testing.assert_allclose(projector(found), projector(expected), atol=1e-8)
    assert (learned.consensus is None) == (c is None)
    if c is not None:
        np.testing.assert_allclose(projector(learned.consensus), projector(c), atol=1e-8)
    np.testing.assert_allclose(learned.objective, per_sweep, rtol=1e-10)
    assert seen == list(enumerate(learned.objective, start=1))


@pytest.mark.parametrize("variant", VARIANTS)
def test_stops_when_the_objective_stands_still(graphs, variant):
    values = run(graphs, 3, variant=variant, max_iter=100, tol=1e-5).objective
    assert 2 < len(values) < 100
    steps = np.abs(np.diff(values)) / values[:-1]
    assert steps[-1] <= 1e-5
    assert (steps[:-1] > 1e-5).all()


@pytest.mark.parametrize("variant", VARIANTS)
def test_without_weight_every_view_is_by_itself(graphs, variant):
    learned = run(graphs, 3, variant=variant, weight=0.0)
    assert len(learned.objective) == 1
    for graph, u in zip(graphs, learned.embeddings, strict=True):
        np.testing.assert_allclose(projector(u), projector(largest(graph, 3)), atol=1e-10)


@pytest.mark.parametrize("variant", VARIANTS)
def test_identical_views_are_a_single_one(graphs, variant):
    learned = run([graphs[0]] * 3, 3, variant=variant)
    assert len(learned.objective) == 1
    for u in [*learned.embeddings, *([] if learned.consensus is None else [learned.consensus])]:
        np.testing.assert_allclose(projector(u), projector(largest(graphs[0], 3)), atol=1e-8)


@pytest.mark.parametrize("variant", VARIANTS)
def test_weight_brings_the_views_together(graphs, variant):
    apart, together = (run(graphs, 3, variant=variant, weight=weight).embeddings for weight in (0.0, 0.5))
    assert disagreement(together) < 0.5 * disagreement(apart)


@pytest.mark.parametrize("variant", VARIANTS)
def test_order_of_the_samples_does_not_matter(graphs, variant):
    rows = np.random.default_rng(2).permutation(90)
    base = run(graphs, 3, variant=variant, max_iter=5).embeddings
    shuffled = run([graph[np.ix_(rows, rows)] for graph in graphs], 3, variant=variant, max_iter=5).embeddings
    for u, w in zip(base, shuffled, strict=True):
        np.testing.assert_allclose(projector(w), projector(u)[np.ix_(rows, rows)], atol=1e-8)


def test_order_of_the_views_does_not_matter_to_the_centroid(graphs):
    base, turned = run(graphs, 3, max_iter=5), run(graphs[::-1], 3, max_iter=5)
    np.testing.assert_allclose(projector(turned.consensus), projector(base.consensus), atol=1e-8)
    for u, w in zip(base.embeddings, turned.embeddings[::-1], strict=True):
        np.testing.assert_allclose(projector(w), projector(u), atol=1e-8)


@pytest.mark.parametrize("variant", VARIANTS)
def test_large_graphs_go_to_lanczos(variant):
    """Above 400 samples the low-rank terms are applied and not formed."""
    rng = np.random.default_rng(3)
    groups = np.arange(450) % 3
    views = [rng.normal(size=(3, 4))[groups] * 3 + rng.normal(size=(450, 4)) for _ in range(2)]
    graphs = [normalize_graph(gaussian_kernel(view)) for view in views]
    u = [largest(graph, 3) for graph in graphs]
    c = largest(sum(map(projector, u)), 3)
    u[1] = largest(graphs[1] + 0.5 * projector(c if variant == "centroid" else u[0]), 3)
    u[0] = largest(graphs[0] + 0.5 * projector(c if variant == "centroid" else u[1]), 3)
    for found, expected in zip(run(graphs, 3, variant=variant, max_iter=1).embeddings, u, strict=True):
        np.testing.assert_allclose(projector(found), projector(expected), atol=1e-8)


def test_embeddings_are_those_of_the_published_program(published, oracle):
    tag, views, graphs, n_clusters = published
    stored = oracle(f"coreg__{tag}__file")
    pairwise = run(graphs, n_clusters, variant="pairwise", max_iter=5, tol=0.0)
    centroid = run(graphs, n_clusters, max_iter=5, tol=0.0)
    for v, (view, sigma) in enumerate(zip(views.arrays, stored["sigma"][0], strict=True)):
        np.testing.assert_allclose(graphs[v], normalize_graph(gaussian_kernel(view, sigma)), atol=1e-9)
        np.testing.assert_allclose(projector(pairwise.embeddings[v]), projector(stored["U_pw"][:, :, v]), atol=1e-6)
        np.testing.assert_allclose(projector(centroid.embeddings[v]), projector(stored["U_ct"][:, :, v]), atol=1e-6)
        first = largest(graphs[v], n_clusters)
        np.testing.assert_allclose(projector(first), projector(stored["U0"][:, :, v]), atol=1e-6)
        assert np.sum(first * (graphs[v] @ first)) == pytest.approx(stored["objval_pw"][v, 0], rel=1e-6)


def test_program_reads_the_consensus_of_the_sweep_before(published, oracle):
    tag, _, graphs, n_clusters = published
    stored = oracle(f"coreg__{tag}__file")
    before = run(graphs, n_clusters, max_iter=4, tol=0.0)
    np.testing.assert_allclose(projector(before.consensus), projector(stored["Ustar"]), atol=1e-6)
    # What it stores per view is that view's share of the objective; that of the first is overwritten by the last's.
    u = run(graphs, n_clusters, max_iter=5, tol=0.0).embeddings
    shares = [objective([graph], [w], before.consensus, 0.5) for graph, w in zip(graphs, u, strict=True)]
    np.testing.assert_allclose(shares[1:], stored["objval_ct"][1:, 5], rtol=1e-6)
    assert stored["objval_ct"][0, 5] == stored["objval_ct"][-1, 5]


@pytest.mark.parametrize("variant", VARIANTS)
def test_labels_are_as_good_as_the_published_ones(published, oracle, variant):
    tag, views, graphs, n_clusters = published
    stored = oracle(f"coreg__{tag}__file")
    learned = run(graphs, n_clusters, variant=variant, max_iter=5 if variant == "pairwise" else 4, tol=0.0)
    points = scale_unit_rows(learned.embeddings[0] if learned.consensus is None else learned.consensus)
    theirs = [stored[f"labels__{variant}__s{seed}"].ravel() for seed in range(1, 6)]
    for labels in theirs:  # what a run of k-means has returned stays as it is
        centres = np.stack([points[labels == k].mean(axis=0) for k in range(1, n_clusters + 1)])
        np.testing.assert_array_equal(squared_distances(points, centres).argmin(axis=1) + 1, labels)
    ours = [kmeans_labels(points, n_clusters, seed, n_init=1) for seed in range(10)]
    accuracy = [[clustering_scores(views.labels, labels)["acc"] for labels in runs] for runs in (ours, theirs)]
    assert abs(np.mean(accuracy[0]) - np.mean(accuracy[1])) <= 2 * np.std(accuracy[1])
