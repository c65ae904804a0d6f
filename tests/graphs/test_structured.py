from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from manyview.graphs import component_labels, structured_graph


@pytest.mark.parametrize("name", ["B", "Bblock", "Bzerocol"])
@pytest.mark.parametrize("n_clusters", [2, 3, 4])
def test_oracle(oracle, name, n_clusters):
    helpers = oracle("helpers")
    result = structured_graph(sp.csr_array(helpers[f"in_gc_{name}"]), n_clusters)
    if str(helpers[f"out_gc_err_{name}_c{n_clusters}"][0]) != "none":
        assert result.n_components > n_clusters  # the program gives up here, saying so
        return
    assert result.n_components == n_clusters
    labels = helpers[f"out_gc_y_{name}_c{n_clusters}"].ravel()
    assert adjusted_rand_score(component_labels(result.graph)[1], labels) == 1


@pytest.mark.parametrize("order", ["file", "shuf"])
def test_oracle_reads_the_published_consensus_graph(oracle, order):
    stored = oracle(f"tbgl__msrc__{order}")
    result = structured_graph(sp.csr_array(stored["consensus"]), 7)
    assert result.n_components == 7
    assert adjusted_rand_score(component_labels(result.graph)[1], stored["labels"]) == 1


def test_oracle_learned_graph(oracle):
    stored = oracle("sfmc__msrc__file")
    given = sum(weight * stored[f"B_v{v + 1}"] for v, weight in enumerate(stored["alpha"][:, -1]))
    result = structured_graph(sp.csr_array(given), 7)
    np.testing.assert_allclose(result.graph.toarray(), stored["P"], atol=1e-8)


@pytest.fixture
def noisy_blocks():
    rng = np.random.default_rng(0)
    labels, anchors = np.repeat([0, 1, 2], [15, 20, 25]), np.repeat([0, 1, 2], 5)
    dense = (labels[:, None] == anchors[None, :]) + 0.15 * (rng.random((60, 15)) < 0.3)
    dense[:, 7] = 0  # nobody uses this anchor
    return sp.csr_array(dense / dense.sum(axis=1, keepdims=True)), labels


@pytest.mark.parametrize("variant", ["code", "rows"])
@pytest.mark.parametrize("first_scaling", [(1.0, 10.0), None])
def test_finds_the_blocks_within_the_given_edges(noisy_blocks, variant, first_scaling):
    graph, labels = noisy_blocks
    result = structured_graph(graph, 3, variant=variant, first_scaling=first_scaling)
    assert result.n_components == 3
    assert adjusted_rand_score(component_labels(result.graph)[1], labels) == 1
    learned = result.graph.toarray()
    assert learned.shape == graph.shape
    assert (learned[graph.toarray() == 0] == 0).all()
    assert (learned >= 0).all()
    if variant == "rows":
        np.testing.assert_allclose(learned.sum(axis=1), 1, atol=1e-12)
    assert result.history[-1][1] == 3


def test_order_of_samples_and_anchors_does_not_matter(noisy_blocks):
    graph, _ = noisy_blocks
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(60), rng.permutation(15)
    straight = structured_graph(graph, 3).graph.toarray()
    permuted = structured_graph(sp.csr_array(graph[rows][:, columns]), 3).graph.toarray()
    np.testing.assert_allclose(permuted, straight[rows][:, columns], atol=1e-9)


def test_enough_components_are_left_alone(noisy_blocks):
    graph, _ = noisy_blocks
    blocks = structured_graph(graph, 3).graph
    np.testing.assert_array_equal(structured_graph(blocks, 3).graph.toarray(), blocks.toarray())
    assert structured_graph(blocks, 2).n_components == 3


def test_fewer_anchors_in_use_than_clusters_is_left_alone():
    graph = sp.csr_array(np.array([[0.5, 0.5, 0.0, 0.0]] * 6))
    result = structured_graph(graph, 3)
    assert result.n_components == 1
    np.testing.assert_array_equal(result.graph.toarray(), graph.toarray())
