from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from manyview.graphs import component_labels, graph_component_labels, read_clusters, read_graph_clusters
from manyview.graphs.components import relabel_by_first


def block_graph(sizes, anchors_each=3):
    """Samples of block b are linked with the anchors of block b only."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    anchor_labels = np.repeat(np.arange(len(sizes)), anchors_each)
    return sp.csr_array((labels[:, None] == anchor_labels[None, :]) * 1.0), labels


def test_components_of_blocks_and_unused_anchors():
    graph, labels = block_graph([4, 6, 5])
    wide = sp.csr_array(sp.hstack([graph, sp.csr_array((15, 2))]))
    count, found = component_labels(wide)
    assert count == 3
    np.testing.assert_array_equal(found, labels)


def test_labels_are_numbered_by_first_sample():
    np.testing.assert_array_equal(relabel_by_first(np.array([5, 5, 2, 9, 2])), [0, 0, 1, 2, 1])
    graph, labels = block_graph([4, 6, 5])
    order = np.random.default_rng(0).permutation(15)
    _, found = component_labels(sp.csr_array(graph[order]))
    assert found[0] == 0
    assert adjusted_rand_score(found, labels[order]) == 1


def test_rounding_leftovers_are_no_edges():
    graph, _ = block_graph([4, 6])
    dense = graph.toarray()
    dense[0, -1] = 1e-14
    assert component_labels(sp.csr_array(dense))[0] == 2
    dense[0, -1] = 1e-3
    assert component_labels(sp.csr_array(dense))[0] == 1


def test_exact_count_is_read_without_a_warning(recwarn):
    graph, labels = block_graph([4, 6, 5])
    np.testing.assert_array_equal(read_clusters(graph, 3, initial=graph), labels)
    assert not recwarn.list


def test_too_many_components_join_where_the_initial_graph_links_them():
    graph, labels = block_graph([8, 9, 2, 7])
    initial = graph.toarray()
    initial[labels == 2, 3] = 0.4  # the small block used to lean on block 1
    initial[labels == 2, 0] = 0.1
    with pytest.warns(ConvergenceWarning, match="4 connected components instead of n_clusters=3"):
        found = read_clusters(graph, 3, initial=sp.csr_array(initial))
    np.testing.assert_array_equal(found, np.where(labels == 2, 1, np.where(labels == 3, 2, labels)))


def test_components_without_links_still_become_k():
    graph, _ = block_graph([3, 3, 3])
    with pytest.warns(ConvergenceWarning):
        assert len(np.unique(read_clusters(graph, 2, initial=graph))) == 2


def test_too_few_components_are_cut_by_spectral_clustering():
    graph, labels = block_graph([20, 30, 25])
    dense = graph.toarray() + 0.001
    with pytest.warns(ConvergenceWarning, match="1 connected components instead of n_clusters=3"):
        found = read_clusters(sp.csr_array(dense), 3, initial=sp.csr_array(dense), random_state=0)
    assert adjusted_rand_score(found, labels) == 1


def square_graph(sizes):
    """Samples of a block are all linked with each other, and with nobody else."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    return sp.csr_array((labels[:, None] == labels) - np.eye(len(labels))), labels


def test_components_among_samples():
    graph, labels = square_graph([3, 1, 4])
    count, found = graph_component_labels(graph)
    assert count == 3
    np.testing.assert_array_equal(found, labels)
    one_way = graph.toarray()
    one_way[np.tril_indices(8)] = 0  # directions do not matter
    assert graph_component_labels(sp.csr_array(one_way))[0] == 3
    one_way[0, 7] = 1e-14  # neither do leftovers of rounding
    assert graph_component_labels(sp.csr_array(one_way))[0] == 3


def test_exact_count_among_samples_is_read_without_a_warning(recwarn):
    graph, labels = square_graph([4, 6, 5])
    np.testing.assert_array_equal(read_graph_clusters(graph, 3, initial=graph), labels)
    assert not recwarn.list


def test_too_many_components_among_samples_join_where_the_initial_graph_links_them():
    graph, labels = square_graph([8, 9, 2, 7])
    initial = graph.toarray()
    initial[-1, 18] = 0.4  # block 3 has an edge to block 2, block 2 has a weaker one to block 0
    initial[18, 0] = 0.1
    with pytest.warns(ConvergenceWarning, match="4 connected components instead of n_clusters=3"):
        found = read_graph_clusters(graph, 3, initial=sp.csr_array(initial))
    np.testing.assert_array_equal(found, np.where(labels == 3, 2, labels))


def test_too_few_components_among_samples_are_cut():
    graph, labels = square_graph([8, 9, 7])
    joined = graph.toarray()
    joined[0, 8] = joined[8, 0] = 0.1
    with pytest.warns(ConvergenceWarning, match="2 connected components instead of n_clusters=3; it was cut"):
        found = read_graph_clusters(sp.csr_array(joined), 3, initial=graph, random_state=0)
    np.testing.assert_array_equal(found, labels)
