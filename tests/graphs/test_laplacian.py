from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manyview.graphs import leading_singular_vectors, normalize_bipartite
from manyview.graphs.laplacian import gram, inverse_sqrt


@pytest.fixture
def graph():
    rng = np.random.default_rng(0)
    dense = rng.random((20, 8)) * (rng.random((20, 8)) < 0.4)
    dense[:, 5] = 0  # an anchor nobody uses
    dense[7] = 0
    return dense


def laplacian(graph):
    n, m = graph.shape
    full = np.zeros((n + m, n + m))
    full[:n, n:], full[n:, :n] = graph, graph.T
    scale = np.diag(inverse_sqrt(full.sum(axis=1)))
    return np.eye(n + m) - scale @ full @ scale


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_normalised_graph_is_the_corner_of_the_laplacian(graph, make):
    normalised = normalize_bipartite(make(graph))
    normalised = normalised if isinstance(normalised, np.ndarray) else normalised.toarray()
    np.testing.assert_allclose(normalised, -laplacian(graph)[:20, 20:], atol=1e-14)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_singular_vectors_are_the_smallest_eigenvectors(graph, make):
    u, values, v = leading_singular_vectors(normalize_bipartite(make(graph)), 3, 4)
    assert u.shape == (20, 3)
    assert v.shape == (8, 3)
    np.testing.assert_allclose(values, np.linalg.svd(normalize_bipartite(graph))[1][:4], atol=1e-10)
    p = np.vstack([u, v]) / np.sqrt(2)
    np.testing.assert_allclose(p.T @ p, np.eye(3), atol=1e-10)
    np.testing.assert_allclose(np.diag(p.T @ laplacian(graph) @ p), 1 - values[:3], atol=1e-10)


def test_vanishing_values_give_zero_vectors_not_nan():
    matrix = np.outer(np.arange(1.0, 7), np.ones(4))
    u, values, _ = leading_singular_vectors(matrix, 3)
    assert np.isfinite(u).all()
    assert values[0] == pytest.approx(np.linalg.norm(matrix))


def test_gram_of_dense_and_sparse(graph):
    thin = sp.csr_array(graph * (np.random.default_rng(1).random(graph.shape) < 0.1))
    np.testing.assert_allclose(gram(thin), thin.toarray().T @ thin.toarray(), atol=1e-14)
    np.testing.assert_allclose(gram(sp.csr_array(graph)), graph.T @ graph, atol=1e-14)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_no_more_vectors_than_columns(make):
    matrix = np.random.default_rng(0).random((6, 2))
    u, values, v = leading_singular_vectors(make(matrix), 3, 4)
    assert (u.shape, values.shape, v.shape) == ((6, 2), (2,), (2, 2))
