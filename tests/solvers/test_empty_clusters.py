from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manyview.graphs import neighbor_graph, normalize_graph
from manyview.solvers._empty_clusters import fill_empty, largest_entry_signs


def test_signs_of_the_largest_entries():
    assert largest_entry_signs(np.array([[0.1, -0.9], [-0.8, 0.2]])).tolist() == [-1, -1]


def test_lost_clusters_get_half_of_the_one_that_fits_worst():
    """Two pairs of blobs: the pair with the larger misfit is cut between its blobs."""
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(4), 30)
    points = np.array([[0, 0], [4, 0], [0, 40], [4, 40]])[truth] + rng.normal(size=(120, 2))
    graph = normalize_graph(neighbor_graph(points, 8))
    misfit = np.where(truth < 2, 1.0, 2.0)
    labels = fill_empty(np.where(truth < 2, 0, 3), 4, graph, misfit)
    assert set(labels[truth < 2]) <= {0, 2}
    assert set(labels) == {0, 1, 2, 3}
    table = np.zeros((4, 4), dtype=int)
    np.add.at(table, (labels, truth), 1)
    assert table.max(axis=0).sum() >= 116


@pytest.mark.parametrize("n", [2, 3, 7])
def test_every_sample_can_become_a_cluster(n):
    graph = sp.csr_array(np.ones((n, n)) - np.eye(n))
    labels = fill_empty(np.zeros(n, dtype=int), n, graph, np.zeros(n))
    assert sorted(labels) == list(range(n))
    labels = fill_empty(np.zeros(n, dtype=int), n, sp.csr_array((n, n)), np.arange(n))
    assert sorted(labels) == list(range(n))
