from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from manyview.graphs import component_labels, structured_graph
from manyview.graphs.structured import WeightSearch


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


def moves(first, answers):
    search = WeightSearch(first)
    seen = [first]
    for too_few in answers:
        search.move(too_few)
        seen.append(search.weight)
    return seen


def test_weight_is_doubled_while_there_are_too_few_components():
    assert moves(0.1, [True] * 3) == pytest.approx([0.1, 0.2, 0.4, 0.8])


def test_weight_is_halved_while_there_are_too_many():
    assert moves(8.0, [False] * 3) == [8, 4, 2, 1]


def test_weight_is_bisected_once_both_ends_are_known():
    assert moves(1.0, [True, False, True]) == pytest.approx([1, 2, 2**0.5, 2**0.75])


@pytest.mark.parametrize(("target", "first"), [(0.37, 1e-6), (0.37, 1e6), (5.0, 1.0)])
def test_weight_search_finds_a_threshold(target, first):
    search = WeightSearch(first)
    for _ in range(60):
        if abs(search.weight - target) < 0.01 * target:
            break
        search.move(too_few=search.weight < target)
    assert search.weight == pytest.approx(target, rel=0.01)


def test_a_bracket_that_closes_without_success_is_given_up():
    """The threshold moves after it has been passed, as it may when the embedding changes."""
    for new in (0.2, 50.0):
        search = WeightSearch(1.0)
        for step in range(80):
            threshold = 3.0 if step < 2 else new
            if step >= 2 and abs(search.weight - new) < 0.01 * new:
                break
            search.move(too_few=search.weight < threshold)
        assert search.weight == pytest.approx(new, rel=0.01)
