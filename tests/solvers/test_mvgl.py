from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from manyview.graphs import can_weights, graph_component_labels, neighbor_graph, symmetrize
from manyview.io import read_views
from manyview.proximal import project_simplex
from manyview.solvers import clr, mvgl
from manyview.solvers._aligned import align_graphs
from manyview.solvers.mvgl import Settings

DATASETS = {"msrc": ("MSRC-v5.mat", 7), "3s": ("3Sources.mat", 6)}
RUNS = list(itertools.product(DATASETS, [False, True]))
EPS = np.finfo(np.float64).eps


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """As inside an estimator's fit; many small eigenproblems only get slower with more."""
    with threadpool_limits(limits=1):
        yield


def make_neighbours(noise=(0.9, 1.1, 1.3), n=90, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(3, 5)) * 2
    labels = rng.integers(3, size=n)
    return [neighbor_graph(centres[labels] + rng.normal(size=(n, 5)) * s, 8, symmetric=False) for s in noise]


def learn(neighbours):
    return [symmetrize(mvgl.learn_view(edges, symmetrize(edges), 3).graph) for edges in neighbours]


@pytest.fixture(scope="module")
def graphs():
    return learn(make_neighbours())


@pytest.fixture(scope="module")
def learned(graphs):
    return mvgl.run(graphs, Settings(3))


def all_pairs(n, *, loops):
    return sp.csr_array(np.ones((n, n)) if loops else np.ones((n, n)) - np.eye(n))


# Stage 1


@pytest.mark.parametrize("local", [True, False])
def test_one_step_of_stage_1(local):
    """Row i is the projection of ``-|f_i - f_j|²/(2μ)``."""
    edges = make_neighbours()[0]
    n, mu = edges.shape[0], 0.4
    allowed = edges if local else all_pairs(n, loops=False)
    F = clr.embed(symmetrize(edges), 3)
    expected = np.zeros((n, n))
    for i in range(n):
        support = allowed.indices[allowed.indptr[i] : allowed.indptr[i + 1]]
        cost = np.array([((F[i] - F[j]) ** 2).sum() for j in support])
        expected[i, support] = project_simplex(-cost / (2 * mu))
    actual = mvgl.learn_view(allowed, symmetrize(edges), 3, weight=1 / mu, max_iter=1)
    np.testing.assert_allclose(actual.graph.toarray(), expected, atol=1e-12)


def test_stage_1_ends_in_k_components():
    edges = make_neighbours()[2]
    assert graph_component_labels(edges)[0] == 1
    view = mvgl.learn_view(edges, symmetrize(edges), 3)
    S = view.graph.toarray()
    assert (S >= 0).all()
    np.testing.assert_allclose(S.sum(axis=1), 1, atol=1e-12)
    assert view.n_components == graph_component_labels(view.graph)[0] == 3
    assert not S[edges.toarray() == 0].any()


# Weights


def test_products_of_rows(graphs, learned):
    aligned = align_graphs(graphs)
    products = mvgl.row_products(aligned, aligned.read(learned.graph))
    A = learned.graph.toarray()
    for i in range(len(A)):
        Z = np.stack([A[i] - graph.toarray()[i] for graph in graphs], axis=1)
        np.testing.assert_allclose(products[i], Z.T @ Z, atol=1e-13)


def test_weights_minimise_the_distance():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(20, 12, 4))
    products = np.einsum("iav,iaw->ivw", Z, Z)
    weights = mvgl.sample_weights(products, ridge=0.0)
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-12)
    assert (weights < 0).any()
    for z, w in zip(Z, weights, strict=True):
        # w = (1 - Σu, u): a plain least squares problem in u
        u = np.linalg.lstsq(z[:, 1:] - z[:, :1], -z[:, 0], rcond=None)[0]
        np.testing.assert_allclose(w, np.concatenate([[1 - u.sum()], u]), atol=1e-10)


def test_nonnegative_weights_minimise_on_the_simplex():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(40, 5, 4)) * [1, 2, 0.5, 1]
    products = np.einsum("iav,iaw->ivw", Z, Z)
    weights = mvgl.sample_weights(products, ridge=0.0, negative=False)
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-12)
    for C, w in zip(products, weights, strict=True):
        best = np.inf  # over all sets of views that may count
        for size in range(1, 5):
            for chosen in itertools.combinations(range(4), size):
                x = np.linalg.solve(C[np.ix_(chosen, chosen)], np.ones(size))
                best = min(best, 1 / x.sum()) if (x / x.sum() >= 0).all() else best
        assert w @ C @ w == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("negative", [True, False])
def test_weights_are_equal_where_views_are(negative):
    products = np.stack([np.zeros((3, 3)), np.full((3, 3), 0.7), np.full((3, 3), 1e-20)])
    np.testing.assert_allclose(mvgl.sample_weights(products, negative=negative), 1 / 3, atol=1e-6)


def test_weighted_mean_applies_weights_to_rows(graphs):
    aligned = align_graphs(graphs)
    W = np.random.default_rng(0).normal(size=(graphs[0].shape[0], 3))
    actual = aligned.graph(mvgl.mean_graph(aligned, W)).toarray()
    for i, w in enumerate(W):
        np.testing.assert_allclose(actual[i], sum(w[v] * graphs[v].toarray()[i] for v in range(3)), atol=1e-14)


def test_the_weight_step_does_not_raise_the_objective(graphs):
    aligned = align_graphs(graphs)
    equal = np.full((graphs[0].shape[0], 3), 1 / 3)
    data = mvgl.mean_graph(aligned, equal)
    graph, _, _ = mvgl.graph_step(aligned.graph(data), 3, all_pairs=False, weight=1.0, max_iter=30)
    fitted = aligned.read(graph)
    before = ((fitted - data) ** 2).sum()
    weights = [mvgl.sample_weights(mvgl.row_products(aligned, fitted), negative=negative) for negative in (False, True)]
    some, any_sign = (((fitted - mvgl.mean_graph(aligned, w)) ** 2).sum() for w in weights)
    assert any_sign <= some + 1e-9 <= before
    assert any_sign < 0.99 * before


# The graph of all views


def test_only_positive_entries_become_edges_but_every_row_keeps_some():
    dense = np.array([[0.0, 0.5, -0.2], [-0.1, 0.0, -0.3], [0.7, 0.0, 0.0]])
    stored = sp.csr_array((dense.ravel(), np.tile(np.arange(3), 3), [0, 3, 6, 9]), shape=(3, 3))
    kept = mvgl.positive_entries(stored)
    assert np.diff(kept.indptr).tolist() == [1, 3, 1]
    np.testing.assert_array_equal(kept.toarray(), [[0, 0.5, 0], [-0.1, 0, -0.3], [0.7, 0, 0]])


def test_a_target_in_enough_pieces_is_projected():
    """The authors' program returns it as it is, negative entries and all."""
    block = np.full((4, 4), 0.3) - 0.3 * np.eye(4)
    block[0, 1] = -0.1
    target = sp.csr_array(sp.block_diag([block, block]))
    target.sort_indices()
    graph, n_components, price = mvgl.graph_step(target, 2, all_pairs=False, weight=1.0, max_iter=30)
    assert (n_components, price) == (2, 0.0)
    A = graph.toarray()
    np.testing.assert_allclose(A[0], [0, 0, 0.5, 0.5, 0, 0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(A.sum(axis=1), 1, atol=1e-12)


def test_the_learned_graph_is_feasible(graphs, learned):
    A = learned.graph.toarray()
    assert (A >= 0).all()
    np.testing.assert_allclose(A.sum(axis=1), 1, atol=1e-12)
    assert learned.n_components == graph_component_labels(learned.graph)[0] == 3
    np.testing.assert_allclose(learned.weights.sum(axis=1), 1, atol=1e-12)
    expected = np.einsum("iv,vij->ij", learned.weights, [graph.toarray() for graph in graphs])
    np.testing.assert_allclose(learned.target.toarray(), expected, atol=1e-13)
    assert learned.objective[-1] == pytest.approx(((A - expected) ** 2).sum())


def test_without_locality_any_two_samples_can_be_connected():
    neighbours = make_neighbours()
    pairs = all_pairs(neighbours[0].shape[0], loops=False)
    graphs = [symmetrize(mvgl.learn_view(pairs, symmetrize(edges), 3).graph) for edges in neighbours]
    learned = mvgl.run(graphs, Settings(3), all_edges=pairs)
    assert learned.n_components == 3
    A = learned.graph.toarray()
    assert A[sum(symmetrize(edges).toarray() for edges in neighbours) == 0].max() > 0.01
    assert not np.diag(A).any()


def test_one_view_keeps_its_partition(graphs):
    alone = mvgl.run(graphs[:1], Settings(3))
    np.testing.assert_allclose(alone.weights, 1)
    np.testing.assert_array_equal(graph_component_labels(alone.graph)[1], graph_component_labels(graphs[0])[1])


def test_noise_in_half_of_a_view_costs_weight_there():
    rng = np.random.default_rng(0)
    same = np.equal.outer(np.arange(120) % 3, np.arange(120) % 3) & ~np.eye(120, dtype=bool)
    clean = [np.triu(same & (rng.random((120, 120)) < 0.5)) for _ in range(3)]
    first = np.arange(120) < 60
    noise = np.triu(rng.random((120, 120)) < 0.3, 1)
    clean[0] = np.where(first[:, None] & first, noise, clean[0])
    graphs = [sp.csr_array((half | half.T) / 20.0) for half in clean]
    weights = mvgl.run(graphs, Settings(3)).weights[:, 0]
    assert weights[first].mean() < weights[~first].mean() - 0.05


def test_the_order_of_views_and_samples_does_not_matter(graphs, learned):
    turned = mvgl.run(graphs[::-1], Settings(3))
    np.testing.assert_allclose(turned.weights[:, ::-1], learned.weights, atol=1e-5)
    np.testing.assert_allclose(turned.graph.toarray(), learned.graph.toarray(), atol=1e-6)
    order = np.random.default_rng(1).permutation(graphs[0].shape[0])
    moved = [sp.csr_array(graph[order][:, order]) for graph in graphs]
    for graph in moved:
        graph.sort_indices()
    again = mvgl.run(moved, Settings(3))
    np.testing.assert_allclose(again.graph.toarray(), learned.graph.toarray()[order][:, order], atol=1e-6)


def test_it_gives_up_when_no_price_leads_to_enough_components(graphs):
    """Every sample has an edge, so 90 samples cannot be in 60 components."""
    learned = mvgl.run(graphs, Settings(60))
    assert learned.n_components < 60
    assert len(learned.objective) == 1


def test_passes_are_reported(graphs):
    seen = []
    learned = mvgl.run(graphs, Settings(3), max_iter=3, tol=0.0, on_pass=lambda n, value: seen.append((n, value)))
    assert seen == list(enumerate(learned.objective, start=1))
    assert len(seen) == 3


# The authors' program


def double_and_halve(edges, initial, n_clusters, max_iter=30):
    """The program's rule in stage 1: double λ for too few components, halve it for too many, and never bisect."""
    zeros = sp.csr_array((np.zeros(edges.nnz), edges.indices, edges.indptr), shape=edges.shape)
    F, weight = clr.embed(initial, n_clusters), 1.0
    for _ in range(max_iter):
        S = clr.graph_step(zeros, F, weight)
        found = graph_component_labels(S)[0]
        if found == n_clusters:
            break
        weight, F = (2 * weight, clr.embed(S, n_clusters)) if found < n_clusters else (weight / 2, F)
    return S


def reference_neighbours(view):
    """The program leaves out the nearest sample instead of the sample itself: a self-loop for the later duplicate.

    It takes the first ones of equally near samples, which matters in 3Sources, where distances are integers.
    """
    X = np.asarray(view if isinstance(view, np.ndarray) else view.toarray(), dtype=np.float64)
    squares = (X**2).sum(axis=1)
    D = np.maximum(squares[:, None] + squares - 2 * X @ X.T, 0.0)
    np.fill_diagonal(D, 0.0)
    near = np.argsort(D, axis=1, kind="stable")[:, 1:17]
    weights = can_weights(np.take_along_axis(D, near, axis=1))
    n = len(X)
    graph = sp.csr_array((weights.ravel(), near[:, :15].ravel(), np.arange(0, 15 * n + 1, 15)), shape=(n, n))
    graph.sort_indices()
    return graph


@pytest.mark.parametrize(("tag", "local"), RUNS)
def test_same_graphs_of_the_views(oracle, data_file, tag, local):
    expected = oracle(f"mvgl{'_local' if local else ''}__{tag}__file")
    file, n_clusters = DATASETS[tag]
    mean = 0
    views = read_views(data_file(file))
    for v, view in enumerate(views.arrays):
        edges = reference_neighbours(view)
        allowed = edges if local else all_pairs(edges.shape[0], loops=True)
        S = symmetrize(double_and_halve(allowed, symmetrize(edges), n_clusters)).toarray()
        np.testing.assert_allclose(S, expected[f"Sview{v + 1}"], atol=1e-6)
        mean = mean + S / views.n_views
        # Where λ only ever rises, that is what learn_view does too; view 4 of MSRC-v5 with locality is the exception.
        if not (tag == "msrc" and local and v == 3):
            ours = mvgl.learn_view(allowed, symmetrize(edges), n_clusters)
            np.testing.assert_allclose(symmetrize(ours.graph).toarray(), S, atol=1e-6)
    np.testing.assert_allclose(mean, expected["S0_init"], atol=1e-6)


@pytest.mark.parametrize(("tag", "local"), RUNS)
def test_same_weights_given_the_graph(oracle, tag, local):
    """The program's weights are those of the columns of its graph."""
    expected = oracle(f"mvgl{'_local' if local else ''}__{tag}__file")
    alpha = expected["alpha"]
    graphs = [sp.csr_array(expected[f"Sview{v + 1}"]) for v in range(len(alpha))]
    aligned = align_graphs(graphs, None if local else all_pairs(alpha.shape[1], loops=True))
    products = mvgl.row_products(aligned, aligned.read(sp.csr_array(expected["A"].T)))
    weights = mvgl.sample_weights(products, ridge=len(alpha) * EPS)
    # Where two views agree, the matrix is singular and the program's weights are rounding errors.
    regular = np.linalg.cond(products) < 1e9
    assert regular.mean() > 0.9
    np.testing.assert_allclose(weights[regular], alpha.T[regular], atol=1e-6)
    fit = ((aligned.read(sp.csr_array(expected["A"].T)) - mvgl.mean_graph(aligned, weights)) ** 2).sum()
    assert fit == pytest.approx(expected["J"].ravel()[-1], abs=1e-6)


@pytest.mark.parametrize(("tag", "local", "n_different"), [(*run, 5 if run == ("3s", False) else 0) for run in RUNS])
def test_weights_differ_from_the_programs_only_between_views_with_the_same_row(oracle, tag, local, n_different):
    """Five samples of 3Sources: any split of weight between two equal rows is a minimum, and the program's is rounding.

    It adds eps times the trace to the diagonal, which is no more than the rounding error of C_i. Our ridge splits
    evenly. The weight of both rows together, the weighted sum and the objective are the same.
    """
    expected = oracle(f"mvgl{'_local' if local else ''}__{tag}__file")
    alpha = expected["alpha"].T
    views = np.stack([expected[f"Sview{v + 1}"] for v in range(alpha.shape[1])])
    apart = expected["A"].T - views
    products = np.einsum("vij,wij->ivw", apart, apart)
    weights = mvgl.sample_weights(products, ridge=alpha.shape[1] * EPS)
    different = np.flatnonzero(np.abs(weights - alpha).max(axis=1) > 1e-6)
    assert len(different) == n_different
    for i in different:
        pairs = [
            pair
            for pair in itertools.combinations(range(len(views)), 2)
            if np.ptp(views[list(pair), i], 0).max() < 1e-14
        ]
        assert len(pairs) == 1
        equal = list(pairs[0])
        others = np.setdiff1d(np.arange(len(views)), equal)
        np.testing.assert_allclose(weights[i, others], alpha[i, others], atol=1e-9)
        assert weights[i, equal].sum() == pytest.approx(alpha[i, equal].sum(), abs=1e-9)
        np.testing.assert_allclose(weights[i] @ views[:, i], alpha[i] @ views[:, i], atol=1e-9)
        ours = mvgl.sample_weights(products[i : i + 1])[0, equal]
        np.testing.assert_allclose(ours, alpha[i, equal].sum() / 2, atol=1e-6)
        assert products[i, equal[0], equal[0]] > 0.01  # A is far from both: it is not a perfect fit that is singular


@pytest.mark.parametrize(("tag", "local"), RUNS)
def test_same_result_with_the_slip_of_the_program(oracle, tag, local):
    expected = oracle(f"mvgl{'_local' if local else ''}__{tag}__file")
    n_views, n = expected["alpha"].shape
    graphs = [sp.csr_array(expected[f"Sview{v + 1}"]) for v in range(n_views)]
    settings = Settings(DATASETS[tag][1], ridge=n_views * EPS, column_slip=True)
    learned = mvgl.run(graphs, settings, all_edges=None if local else all_pairs(n, loops=True), max_iter=40)
    np.testing.assert_allclose(learned.objective, expected["J"].ravel(), atol=1e-6)
    np.testing.assert_allclose(learned.graph.toarray(), expected["A"], atol=1e-6)
    assert adjusted_rand_score(graph_component_labels(learned.graph)[1], expected["labels__default"]) == 1.0
