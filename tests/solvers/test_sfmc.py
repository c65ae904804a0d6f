from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from manyview.graphs import SCALERS, bipartite_graph, component_labels, structured_graph
from manyview.io import read_views
from manyview.proximal import simplex_qp
from manyview.solvers import sfmc

FILES = {"msrc": "MSRC-v5.mat", "3s": "3Sources.mat"}


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """As in the estimators: threads cost more than they bring with matrices this small."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def graphs():
    """Two views of 90 samples in 3 groups and one of noise, 30 anchors."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(3), 30)
    centres = rng.normal(size=(3, 4)) * 3
    views = [centres[labels] + rng.normal(size=(90, 4)) for _ in range(2)] + [rng.normal(size=(90, 4))]
    return [bipartite_graph(x, x[::3], 5) for x in views]


def test_products_and_sums_of_graphs(graphs):
    weights = np.array([0.2, 0.5, 0.3])
    dense = [g.toarray() for g in graphs]
    fused = sfmc.fuse(graphs, weights)
    np.testing.assert_allclose(fused.toarray(), sum(w * g for w, g in zip(weights, dense, strict=True)), atol=1e-15)
    assert fused.has_canonical_format
    np.testing.assert_allclose(sfmc.gram(graphs), [[(a * b).sum() for a in dense] for b in dense], atol=1e-12)
    assert sfmc.fuse(graphs, np.array([1.0, 0, 0])).nnz == np.count_nonzero(dense[0])


@pytest.mark.parametrize("variant", ["code", "rows"])
def test_weight_step_is_the_best_there_is(graphs, variant):
    learned = structured_graph(sfmc.fuse(graphs, np.full(3, 1 / 3)), 3, variant=variant).graph

    def gap(weights):
        return float(((sfmc.fuse(graphs, weights) - learned).toarray() ** 2).sum())

    found = sfmc.weight_step(sfmc.gram(graphs), graphs, learned)
    others = np.random.default_rng(0).dirichlet(np.ones(3), 200)
    assert gap(found) <= min(map(gap, [*others, np.full(3, 1 / 3), *np.eye(3)])) + 1e-12


@pytest.mark.parametrize("variant", ["code", "rows"])
def test_run(graphs, variant):
    seen = []
    fused = sfmc.run(graphs, 3, variant=variant, on_pass=lambda *report: seen.append(report))
    assert fused.n_components == component_labels(fused.learned)[0] == 3
    assert fused.weights.min() >= 0
    assert fused.weights.sum() == pytest.approx(1)
    assert fused.weights[2] < fused.weights[:2].min()  # the view of noise
    union = sum(g.toarray() for g in graphs) > 0
    assert not fused.learned.toarray()[~union].any()
    assert fused.learned.data.min() > 0
    sums = np.asarray(fused.learned.sum(axis=1)).ravel()
    assert np.allclose(sums, 1, atol=1e-9) == (variant == "rows")
    assert [n for n, _ in seen] == list(range(1, fused.n_iter + 1))
    np.testing.assert_array_equal([value for _, value in seen], fused.history["objective"])
    np.testing.assert_array_equal(fused.history["view_weights"][-1], fused.weights)
    np.testing.assert_array_equal(fused.consensus.toarray(), sfmc.fuse(graphs, fused.weights).toarray())
    assert sfmc.run(graphs, 3, tol=0.05).n_iter < sfmc.run(graphs, 3, tol=0.0).n_iter


def test_the_first_pass_starts_from_the_mean(graphs):
    mean = sp.csr_array(sum(graph.toarray() for graph in graphs) / 3)
    expected = sfmc.weight_step(sfmc.gram(graphs), graphs, structured_graph(mean, 3).graph)
    np.testing.assert_allclose(sfmc.run(graphs, 3, max_iter=1).weights, expected, atol=1e-12)


def test_order_of_views_and_anchors(graphs):
    fused = sfmc.run(graphs, 3)
    other = sfmc.run(graphs[::-1], 3)
    np.testing.assert_allclose(other.weights[::-1], fused.weights, atol=1e-9)
    turned = sfmc.run([sp.csr_array(g[:, ::-1]) for g in graphs], 3)
    np.testing.assert_allclose(turned.weights, fused.weights, atol=1e-9)
    for changed in (other, turned):
        np.testing.assert_array_equal(component_labels(changed.learned)[1], component_labels(fused.learned)[1])


def test_equal_views_share_the_weight(graphs):
    fused = sfmc.run([graphs[0]] * 3, 3)
    np.testing.assert_allclose(fused.weights, 1 / 3, atol=1e-12)
    alone = structured_graph(graphs[0], 3).graph
    np.testing.assert_array_equal(component_labels(fused.learned)[1], component_labels(alone)[1])


def test_blocks_are_returned_as_they_are():
    blocks = [sp.csr_array(sp.block_diag([np.full((5, 3), 1 / 3)] * 4)) for _ in range(2)]
    fused = sfmc.run(blocks, 4)
    np.testing.assert_allclose(fused.learned.toarray(), blocks[0].toarray(), atol=1e-15)
    np.testing.assert_allclose(fused.weights, 0.5)


@pytest.fixture(scope="module", params=list(FILES))
def published(request, oracle, data_file):
    """What the original program returned, the graphs with its anchors, the number of classes and the classes."""
    result, views = oracle(f"sfmc__{request.param}__file"), read_views(data_file(FILES[request.param]))
    scaled = [SCALERS["max"](view) for view in views.arrays]
    anchors = result["ind"].ravel().astype(int) - 1
    return result, [bipartite_graph(x, x[anchors], 10) for x in scaled], views.labels


def test_graphs_of_the_original_program(published):
    result, graphs, _ = published
    for v, graph in enumerate(graphs):
        np.testing.assert_allclose(graph.toarray(), result[f"B_v{v + 1}"], atol=1e-10)


def test_passes_of_the_original_program(published):
    """From its weights, its next ones: but for its quadratic programme, which stops up to 1e-4 before the minimum."""
    result, graphs, classes = published
    path, products = result["alpha"].T, sfmc.gram(graphs)
    for before, after in list(pairwise(path))[::3]:
        learned = structured_graph(sfmc.fuse(graphs, before), len(np.unique(classes))).graph
        linear = np.array([sfmc.inner_product(graph, learned) for graph in graphs])
        exact = simplex_qp(products, linear)
        np.testing.assert_allclose(exact, after, atol=1e-4)
        values = [x @ products @ x - 2 * x @ linear for x in (exact, after)]
        assert values[0] <= values[1] + 1e-12
        assert values[1] - values[0] < 1e-6
    learned = structured_graph(sfmc.fuse(graphs, path[-1]), len(np.unique(classes))).graph
    np.testing.assert_allclose(learned.toarray(), result["P"], atol=1e-6)
