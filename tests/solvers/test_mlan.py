from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from manyview.datasets import make_multiview
from manyview.graphs import SCALERS, graph_component_labels
from manyview.graphs.anchors import concatenate
from manyview.io import read_views
from manyview.proximal import project_simplex
from manyview.solvers import clr, mlan

FILES = {"msrc": ("MSRC-v5.mat", 7), "3s": ("3Sources.mat", 6)}


@pytest.fixture(autouse=True)
def one_thread():
    """As in the estimators: small eigenvalue problems are slower with more."""
    with threadpool_limits(1):
        yield


def prepare(views, k):
    initial, alpha = mlan.first_graph(concatenate(views), len(views), k)
    return np.stack([mlan.edge_distances(view, initial) for view in views]), initial, alpha


def symmetric(graph):
    dense = graph.toarray()
    return (dense + dense.T) / 2


@pytest.fixture(scope="module")
def blobs():
    return list(make_multiview(60, n_clusters=3, n_views=3, noise=0.4, random_state=0).arrays)


@pytest.fixture(scope="module")
def all_distances(blobs):
    return np.stack([((x[:, None] - x[None, :]) ** 2).sum(axis=2) for x in blobs])


def naive_run(distances, k, n_clusters, weighting, lam=None, max_iter=30):
    """Dense, row by row, with λ doubled or halved."""
    n = distances.shape[1]
    mean = distances.mean(axis=0)
    near = np.array([[j for j in np.argsort(row, kind="stable") if j != i] for i, row in enumerate(mean)])
    gaps = [mean[i, near[i, k]] - mean[i, near[i, :k]] for i in range(n)]
    alpha = np.mean([g.sum() / 2 for g in gaps])
    graph = np.zeros((n, n))
    for i in range(n):
        graph[i, near[i, :k]] = gaps[i] / gaps[i].sum()
    lam, stored, passes = alpha if lam is None else lam, distances.copy(), []

    def embed(s):
        w = (s + s.T) / 2
        return np.linalg.eigh(np.diag(w.sum(axis=1)) - w)[1][:, :n_clusters]

    f = embed(graph)
    for n_pass in range(max_iter):
        weights = np.array([0.5 / np.sqrt((d * graph).sum()) for d in stored])
        if weighting == "model":
            weights /= weights.sum()
        total = np.einsum("v,vij->ij", weights, stored)
        if weighting == "compound":
            behind = range(len(stored)) if n_pass else [len(stored) - 1]
            for v in behind:
                stored[v] *= weights[v]
        pull = ((f[:, None] - f[None, :]) ** 2).sum(axis=2)
        graph = np.zeros((n, n))
        for i in range(n):
            graph[i, near[i, :k]] = project_simplex(-(total + lam * pull)[i, near[i, :k]] / (2 * alpha))
        value = (total * graph).sum() + alpha * (graph**2).sum() + lam * (pull * graph).sum()
        found = graph_component_labels(sp.csr_array(graph))[0]
        passes.append((value, lam, found, weights))
        if found == n_clusters:
            break
        if found < n_clusters:
            lam, f = 2 * lam, embed(graph)
        else:
            lam /= 2
    return graph, passes


def test_first_graph_and_alpha(blobs, all_distances):
    graph, alpha = mlan.first_graph(np.hstack(blobs), 3, 5)
    mean = all_distances.mean(axis=0)
    gammas = []
    for i in range(60):
        others = [j for j in np.argsort(mean[i]) if j != i]
        gaps = mean[i, others[5]] - mean[i, others[:5]]
        np.testing.assert_allclose(graph[[i]].toarray()[0, others[:5]], gaps / gaps.sum(), atol=1e-12)
        gammas.append(gaps.sum() / 2)
    assert alpha == pytest.approx(np.mean(gammas))
    np.testing.assert_allclose(graph.sum(axis=1), 1)
    sparse, sparse_alpha = mlan.first_graph(sp.csr_array(np.hstack(blobs)), 3, 5)
    np.testing.assert_allclose(sparse.toarray(), graph.toarray(), atol=1e-10)
    assert sparse_alpha == pytest.approx(alpha)


def test_alpha_is_positive_without_any_spread():
    assert mlan.first_graph(np.repeat(np.eye(2), 12, axis=0), 1, 5)[1] > 0
    assert mlan.first_graph(np.eye(6), 1, 3)[1] > 0


@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, sp.csr_array])
def test_edge_distances(blobs, all_distances, kind):
    graph, _ = mlan.first_graph(np.hstack(blobs), 3, 5)
    rows, columns = np.repeat(np.arange(60), 5), graph.indices
    for view, distances in zip(blobs, all_distances, strict=True):
        np.testing.assert_allclose(mlan.edge_distances(kind(view), graph), distances[rows, columns], atol=1e-10)


def test_view_weights(blobs, all_distances):
    distances, graph, _ = prepare(blobs, 5)
    expected = [0.5 / np.sqrt((d * graph.toarray()).sum()) for d in all_distances]
    np.testing.assert_allclose(mlan.view_weights(distances, graph), expected)
    silent = np.vstack([distances, np.zeros(graph.nnz)])
    assert mlan.view_weights(silent, graph)[-1] == 0
    only = np.zeros(graph.nnz)
    only[graph.data == 0] = 1.0
    only[0], graph.data[0] = 1.0, 0.0
    assert np.isfinite(mlan.view_weights(only[None], graph)).all()


@pytest.mark.parametrize("weighting", ["model", "compound"])
@pytest.mark.parametrize("lam", [None, 5.0])
def test_run_is_the_naive_one(blobs, all_distances, weighting, lam):
    learned = mlan.run(*prepare(blobs, 6), 3, weighting=weighting, weight=lam)
    graph, passes = naive_run(all_distances, 6, 3, weighting, lam)
    assert learned.n_iter == len(passes) > 1
    np.testing.assert_allclose(learned.graph.toarray(), graph, atol=1e-8)
    np.testing.assert_allclose(learned.history["objective"], [p[0] for p in passes], rtol=1e-8)
    np.testing.assert_allclose(learned.history["connectivity_weight"], [p[1] for p in passes])
    np.testing.assert_array_equal(learned.history["n_components"], [p[2] for p in passes])
    if weighting == "model":
        np.testing.assert_allclose(learned.history["view_weights"], [p[3] for p in passes])
    np.testing.assert_array_equal(learned.view_weights, learned.history["view_weights"][-1])
    assert learned.n_components == 3
    assert learned.graph.data.min() >= 0
    np.testing.assert_allclose(learned.graph.sum(axis=1), 1)


def test_objective_falls_when_alpha_and_lambda_are_fixed(blobs):
    distances, graph, _ = prepare(blobs, 6)
    alpha, lam = 0.02, 0.01
    embedding = clr.embed(graph, 3)
    values = [mlan.objective(distances, graph, embedding, alpha, lam)]
    for _ in range(8):
        target = mlan.view_weights(distances, graph) @ distances / (-2 * alpha)
        shaped = sp.csr_array((target, graph.indices, graph.indptr), shape=graph.shape)
        graph = clr.graph_step(shaped, embedding, lam / alpha)
        values.append(mlan.objective(distances, graph, embedding, alpha, lam))
        embedding = clr.embed(graph, 3)
        values.append(mlan.objective(distances, graph, embedding, alpha, lam))
    assert (np.diff(values) <= 1e-10).all()
    assert values[-1] < values[0] - 1e-3


def test_objective_by_hand(blobs, all_distances):
    distances, graph, _ = prepare(blobs, 6)
    embedding = np.random.default_rng(0).normal(size=(60, 3))
    w = symmetric(graph)
    laplacian = np.diag(w.sum(axis=1)) - w
    roots = sum(np.sqrt((d * graph.toarray()).sum()) for d in all_distances)
    expected = roots + 0.3 * (graph.toarray() ** 2).sum() + 2 * 0.7 * np.trace(embedding.T @ laplacian @ embedding)
    assert mlan.objective(distances, graph, embedding, 0.3, 0.7) == pytest.approx(expected)


def test_a_graph_in_too_many_pieces_is_returned_as_it_is():
    points = np.repeat(np.arange(5.0), 8)[:, None] * 100 + np.random.default_rng(0).normal(size=(40, 1))
    distances, initial, alpha = prepare([points], 3)
    learned = mlan.run(distances, initial, alpha, 2)
    assert learned.n_components >= 5
    assert learned.n_iter == 0 == len(learned.history["objective"])
    assert learned.graph is initial
    np.testing.assert_array_equal(learned.view_weights, [1.0])


def test_reports_every_pass(blobs):
    seen = []
    learned = mlan.run(*prepare(blobs, 6), 3, on_pass=lambda *line: seen.append(line))
    assert [n for n, _ in seen] == list(range(1, learned.n_iter + 1))
    np.testing.assert_allclose([value for _, value in seen], learned.history["objective"])


@pytest.fixture(scope="module", params=[(tag, pre) for tag in FILES for pre in ("z", "raw")], ids="-".join)
def published(request, oracle, data_file):
    tag, pre = request.param
    name, n_clusters = FILES[tag]
    scale = SCALERS["row-standardized" if pre == "z" else "none"]
    views = [scale(np.asarray(x, dtype=float)) for x in read_views(data_file(name)).arrays]
    return oracle(f"mlan_orig__{tag}__file"), pre, n_clusters, prepare(views, 9)


def test_parity_of_the_first_graph(published):
    stored, pre, _, (_, initial, _) = published
    np.testing.assert_allclose(symmetric(initial), stored[f"Sinit_{pre}"], atol=1e-10)


@pytest.mark.parametrize("lam", [1, 13])
def test_parity_with_the_authors_program(published, lam):
    """Graph, number of passes, components in every pass and labels, for two first λ; 1e-10 where stored.

    (The path of λ is the plain doubling in all of them, so bisection makes no difference.)
    """
    stored, pre, n_clusters, (distances, initial, alpha) = published
    name = f"{pre}_lam{lam}"
    learned = mlan.run(distances, initial, alpha, n_clusters, weighting="compound", weight=lam)
    eigenvalues = stored[f"evs_{name}"][:, 1:]
    assert learned.n_iter == eigenvalues.shape[1]
    components = (eigenvalues < 1e-10).sum(axis=0)
    np.testing.assert_array_equal(learned.history["n_components"], components)
    np.testing.assert_allclose(learned.history["connectivity_weight"], lam * 2.0 ** np.arange(learned.n_iter))
    # The program's w are what is multiplied in each pass; w as used is their product, of which the last view has one
    # factor more than the others.
    factors = stored[f"Wv_{name}"].copy()
    factors[0, :-1] = 1.0
    products = np.cumprod(factors, axis=0)
    products[0, :-1] = stored[f"Wv_{name}"][0, :-1]
    np.testing.assert_allclose(
        learned.history["view_weights"], products / products.sum(axis=1, keepdims=True), atol=1e-10
    )
    assert adjusted_rand_score(graph_component_labels(learned.graph)[1], stored[f"labels__{name}"]) == 1
    if f"S_{name}" in stored:
        np.testing.assert_allclose(symmetric(learned.graph), stored[f"S_{name}"], atol=1e-10)


def test_compounding_makes_all_views_cost_a_quarter(oracle, data_file):
    views = [
        SCALERS["row-standardized"](np.asarray(x, dtype=float)) for x in read_views(data_file("MSRC-v5.mat")).arrays
    ]
    distances, initial, alpha = prepare(views, 9)
    learned = mlan.run(distances, initial, alpha, 7, weighting="compound", weight=10.0)
    total = learned.history["view_weights"][-1] * (distances @ learned.graph.data)
    np.testing.assert_allclose(total / total.mean(), 1, atol=0.05)
