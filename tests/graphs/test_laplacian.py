from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manyview.graphs import leading_singular_vectors, normalize_bipartite, spectrum
from manyview.graphs.laplacian import _filter, _orthonormal, gram, inverse_sqrt, leading_eigenvectors


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


def many_anchors(n_components, *, bridge=0.0, copies=False):
    """Make a graph of parts of the same size, alike if ``copies``, that bridges may tie to a hub."""
    rng = np.random.default_rng(0)
    parts = []
    for _ in range(n_components):
        rng = np.random.default_rng(0) if copies else rng
        shape = (1990 // n_components, 990 // n_components)
        parts.append(rng.random(shape) * (rng.random(shape) < 0.05))
    dense = np.zeros((2000, 1000))
    for c, part in enumerate(parts):
        i, j = c * part.shape[0], c * part.shape[1]
        dense[i : i + part.shape[0], j : j + part.shape[1]] = part
        dense[1995, j] = bridge
    dense[1995:, 995:] = 1.0
    return normalize_bipartite(sp.csr_array(dense))


@pytest.mark.parametrize(
    "settings",
    [
        {"n_components": 1, "bridge": 0.5},
        {"n_components": 5},
        {"n_components": 5, "bridge": 1e-3},
        {"n_components": 5, "bridge": 0.1, "copies": True},  # connected, every eigenvalue of a part four times
        {"n_components": 5, "copies": True},
    ],
)
def test_graphs_with_many_anchors_have_the_singular_vectors_of_a_dense_decomposition(settings):
    graph = many_anchors(**settings)
    u, values, v = leading_singular_vectors(graph, 8, 9)
    squares, vectors = np.linalg.eigh((graph.T @ graph).toarray())
    squares, vectors = squares[::-1], vectors[:, ::-1]
    np.testing.assert_allclose(values**2, squares[:9], atol=1e-10)
    np.testing.assert_allclose(u.T @ u, np.eye(8), atol=1e-9)
    np.testing.assert_allclose(graph @ v, u * values[:8], atol=1e-9)
    gap = squares[7] - squares[8]
    if gap > 1e-6:  # else the eighth vector is one of several
        np.testing.assert_allclose(v @ v.T, vectors[:, :8] @ vectors[:, :8].T, atol=1e-9 / gap)


def test_graphs_with_many_edges_are_decomposed_densely():
    thin = many_anchors(5)
    assert spectrum._is_thin(thin)
    assert not spectrum._is_thin(thin[:, :700])
    assert not spectrum._is_thin(sp.csr_array(np.ones((2000, 1000))))


def test_many_anchors_without_any_edge():
    u, values, v = leading_singular_vectors(sp.csr_array((2000, 1000)), 2, 3)
    np.testing.assert_allclose(values, 0, atol=1e-100)
    np.testing.assert_array_equal(u, 0)
    np.testing.assert_allclose(v.T @ v, np.eye(2), atol=1e-12)


def test_vanishing_values_give_zero_vectors_not_nan():
    matrix = np.outer(np.arange(1.0, 7), np.ones(4))
    u, values, _ = leading_singular_vectors(matrix, 3)
    assert np.isfinite(u).all()
    assert values[0] == pytest.approx(np.linalg.norm(matrix))


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_fewer_anchors_with_edges_than_values_asked_for(make):
    matrix = np.zeros((6, 5))
    matrix[:, 3] = np.arange(6)
    u, values, v = leading_singular_vectors(make(matrix), 2, 4)
    np.testing.assert_allclose(values, [np.sqrt(55), 0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(np.outer(u[:, 0], v[:, 0]) * values[0], matrix, atol=1e-12)
    np.testing.assert_array_equal(u[:, 1], 0)
    np.testing.assert_allclose(v.T @ v, np.eye(2), atol=1e-12)


def test_gram_leaves_unsorted_columns_as_they_are():
    thin = sp.csr_array((np.array([2.0, 3.0, 5.0]), np.array([30, 7, 1]), np.array([0, 2, 3])), shape=(2, 40))
    dense = thin.toarray()
    np.testing.assert_array_equal(gram(thin), dense.T @ dense)
    np.testing.assert_array_equal(thin.indices, [30, 7, 1])


def test_gram_of_dense_and_sparse(graph):
    thin = sp.csr_array(graph * (np.random.default_rng(1).random(graph.shape) < 0.1))
    np.testing.assert_allclose(gram(thin), thin.toarray().T @ thin.toarray(), atol=1e-14)
    np.testing.assert_allclose(gram(sp.csr_array(graph)), graph.T @ graph, atol=1e-14)


def test_gram_of_entries_side_by_side():
    thin = sp.csr_array((np.arange(1.0, 6), np.array([3, 4, 5, 4, 5]), np.array([0, 3, 5])), shape=(2, 40))
    assert thin.nnz <= 0.1 * 2 * 40  # by the kernel, not as a dense matrix
    np.testing.assert_array_equal(gram(thin), thin.toarray().T @ thin.toarray())


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_no_more_vectors_than_columns(make):
    matrix = np.random.default_rng(0).random((6, 2))
    u, values, v = leading_singular_vectors(make(matrix), 3, 4)
    assert (u.shape, values.shape, v.shape) == ((6, 2), (2,), (2, 2))


def counted(matrix):
    """``X -> matrix @ X`` that keeps the widths of the blocks it was given."""
    widths = []

    def apply(block):
        widths.append(block.shape[1])
        return matrix @ block

    return apply, widths


def psd(values, seed=0):
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(values), len(values))))[0]
    return (turn * values) @ turn.T


@pytest.mark.parametrize(("size", "k"), [(120, 5), (300, 8), (200, 20), (150, 1)])
@pytest.mark.parametrize("kind", ["decaying", "wishart"])
def test_eigenvectors_equal_those_of_a_full_solution(size, k, kind):
    normal = np.random.default_rng(size).normal(size=(size, size))
    matrix = psd(0.9 ** np.arange(size)) if kind == "decaying" else normal @ normal.T / size
    apply, widths = counted(matrix)
    values, vectors = leading_eigenvectors(apply, size, k)
    expected, full = np.linalg.eigh(matrix)
    leading = full[:, -k:]
    assert max(widths) < size / 3  # the matrix was never formed
    assert values.shape == (k,)
    assert (np.diff(values) <= 0).all()
    np.testing.assert_allclose(values, expected[::-1][:k], rtol=1e-6)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(k), atol=1e-10)
    np.testing.assert_allclose(vectors @ vectors.T, leading @ leading.T, atol=1e-4)


def test_an_eigenvalue_is_found_as_often_as_it_occurs():
    rng = np.random.default_rng(1)
    blocks = []
    for _ in range(10):  # random walks on ten components: 1 once each
        graph = rng.random((40, 40)) * (rng.random((40, 40)) < 0.3)
        walk = normalize_bipartite(graph)
        blocks.append(walk @ walk.T)
    matrix = sp.csr_array(sp.block_diag(blocks, format="csr"))
    values, vectors = leading_eigenvectors(lambda block: matrix @ block, 400, 10)
    np.testing.assert_allclose(values, 1, atol=1e-6)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(10), atol=1e-10)
    np.testing.assert_allclose(matrix @ vectors, vectors, atol=2e-5)
    values, _ = leading_eigenvectors(lambda block: matrix @ block, 400, 11)
    assert values[10] < 0.999


def test_a_small_matrix_is_solved_at_once():
    matrix = psd(np.arange(1.0, 31))
    apply, widths = counted(matrix)
    values, vectors = leading_eigenvectors(apply, 30, 4)
    assert widths == [30]
    np.testing.assert_allclose(values, [30, 29, 28, 27], rtol=1e-12)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-12)


@pytest.mark.parametrize("k", [1, 10, 30])
def test_all_eigenvectors_of_a_small_matrix(k):
    values, vectors = leading_eigenvectors(lambda block: psd(np.arange(30.0)) @ block, 30, k)
    np.testing.assert_allclose(values, np.arange(29, 29 - k, -1), atol=1e-12)
    assert vectors.shape == (30, k)


@pytest.mark.parametrize("rank", [0, 3])
def test_eigenvectors_of_a_matrix_with_less_rank_than_asked_for(rank):
    matrix = psd(np.concatenate([np.arange(1.0, rank + 1), np.zeros(200 - rank)]))
    values, vectors = leading_eigenvectors(lambda block: matrix @ block, 200, 6)
    np.testing.assert_allclose(values, [*range(rank, 0, -1), *[0] * (6 - rank)], atol=1e-10)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(6), atol=1e-10)


def test_eigenvectors_are_the_same_every_time():
    matrix = psd(0.9 ** np.arange(150))
    first, second = (leading_eigenvectors(lambda block: matrix @ block, 150, 4)[1] for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["independent", "of any length", "nearly dependent", "dependent", "empty"])
def test_an_orthonormal_basis_spans_the_columns(dtype, kind):
    rng = np.random.default_rng(3)
    block = rng.normal(size=(80, 9))
    if kind == "of any length":
        block *= 10.0 ** np.arange(-12, 15, 3)
    if kind == "nearly dependent":
        block[:, 5:] = block[:, :1] + 1e-2 * block[:, 5:]
    if kind == "dependent":
        block[:, 5:] = block[:, 1:5]
    if kind == "empty":
        block[:, 4] = 0
    block = block.astype(dtype)
    basis = _orthonormal(block)
    assert basis.dtype == dtype
    exact = 1e-4 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(basis.T @ basis, np.eye(9), atol=exact)
    np.testing.assert_allclose(basis @ (basis.T @ block), block, atol=exact * np.abs(block).max())


@pytest.mark.parametrize("degree", [1, 4, 6])
def test_the_filter_is_a_chebyshev_polynomial(degree):
    """T_k, moved from [-1, 1] to [0, cut]: ``cos(k arccos x)`` within, ``cosh(k arcosh x)`` above."""
    cut, values = 0.5, np.array([0.0, 0.1, 0.33, 0.5, 0.7, 1.0])
    found = _filter(lambda block: values[:, None] * block, np.eye(6), np.diag(values), cut, degree)
    x = 2 * values / cut - 1
    expected = np.where(
        x <= 1, np.cos(degree * np.arccos(np.minimum(x, 1))), np.cosh(degree * np.arccosh(np.maximum(x, 1)))
    )
    np.testing.assert_allclose(found, np.diag(expected), atol=1e-9)
