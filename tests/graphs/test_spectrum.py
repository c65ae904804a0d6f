from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from sklearn.manifold import spectral_embedding

from manyview.graphs import (
    graph_component_labels,
    laplacian_eigenvectors,
    largest_eigenvectors,
    largest_eigenvectors_by_part,
    neighbor_graph,
    normalize_graph,
    spectrum,
    symmetrize,
)
from manyview.graphs.laplacian import edge_costs, some_eigenvectors
from manyview.graphs.spectrum import random_walk_eigenvectors, symmetric_product

SIZES = {"dense": 60, "lanczos": 500}


def points(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 3))


def projector(vectors):
    return vectors @ vectors.T


def in_pieces(n, n_pieces, seed=0):
    """A neighbour graph in ``n_pieces`` components."""
    x = points(n, seed)
    x[:, 0] += 100 * (np.arange(n) % n_pieces)
    return neighbor_graph(x, 5)


@pytest.mark.parametrize("layout", ["C", "F", "strided", "float32"])
@pytest.mark.parametrize("shape", [(7,), (7, 1), (7, 3)])
def test_a_symmetric_product_is_the_product(layout, shape):
    matrix = np.random.default_rng(0).random((7, 7))
    matrix = np.asarray(matrix + matrix.T, order=layout if layout in "CF" else "C")
    matrix = np.repeat(matrix, 2, axis=1)[:, ::2] if layout == "strided" else matrix
    matrix = matrix.astype(np.float32) if layout == "float32" else matrix
    x = np.random.default_rng(1).random(shape)
    product = symmetric_product(matrix, x)
    assert product.shape == shape
    np.testing.assert_allclose(product, matrix @ x, rtol=1e-13)


@pytest.mark.parametrize("n", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("kind", ["dense", "sparse", "operator"])
def test_largest_eigenvectors(n, kind):
    graph = normalize_graph(neighbor_graph(points(n), 8))
    matrix = {"dense": graph.toarray(), "sparse": graph, "operator": spla.aslinearoperator(graph)}[kind]
    values, vectors = largest_eigenvectors(matrix, 4)
    expected_values, expected = np.linalg.eigh(graph.toarray())
    np.testing.assert_allclose(values, expected_values[::-1][:4], atol=1e-10)
    np.testing.assert_allclose(projector(vectors), projector(expected[:, -4:]), atol=1e-7)


@pytest.mark.parametrize("n", SIZES.values(), ids=SIZES)
def test_a_start_changes_nothing_but_the_time(n):
    graph = normalize_graph(neighbor_graph(points(n), 8))
    _, vectors = largest_eigenvectors(graph, 3)
    for start in (vectors, vectors[:, 0], np.ones(n)):
        np.testing.assert_allclose(
            projector(largest_eigenvectors(graph, 3, start=start)[1]), projector(vectors), atol=1e-7
        )


@pytest.mark.parametrize("n", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("n_pieces", [1, 3, 4, 6])
def test_laplacian_eigenvectors_of_graphs_in_pieces(n, n_pieces):
    graph = in_pieces(n, n_pieces)
    assert graph_component_labels(graph)[0] == n_pieces
    values, vectors = laplacian_eigenvectors(graph, 4)
    laplacian = np.diag(graph.toarray().sum(axis=1)) - graph.toarray()
    expected_values, expected = np.linalg.eigh(laplacian)
    np.testing.assert_allclose(values, expected_values[:4], atol=1e-10)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(4), atol=1e-8)
    np.testing.assert_allclose(laplacian @ vectors, vectors * values, atol=1e-8)
    if n_pieces <= 4:  # with more pieces than vectors any of them will do
        np.testing.assert_allclose(projector(vectors), projector(expected[:, :4]), atol=1e-6)


@pytest.mark.parametrize("n_vectors", [1, 4, 5])
def test_as_many_vectors_as_samples(n_vectors):
    graph = neighbor_graph(points(5), 2)
    assert laplacian_eigenvectors(graph, n_vectors)[1].shape == (5, n_vectors)
    assert largest_eigenvectors(normalize_graph(graph), n_vectors)[1].shape == (5, n_vectors)


def test_a_matrix_that_lapack_gives_up_on_for_some_eigenvectors():
    """Two samples that have only each other, beside a larger component."""
    graph = np.zeros((10, 10))
    graph[3, 7] = graph[7, 3] = 1.0
    rest = [i for i in range(10) if i not in (3, 7)]
    graph[np.ix_(rest, rest)] = np.random.default_rng(0).random((8, 8)) * 0.2
    graph = (graph + graph.T) / 2
    np.fill_diagonal(graph, 0)
    laplacian = np.diag(graph.sum(axis=1)) - graph
    for first, last in ((0, 2), (5, 9)):
        values, vectors = some_eigenvectors(laplacian, first, last)
        np.testing.assert_allclose(values, np.linalg.eigvalsh(laplacian)[first : last + 1], atol=1e-12)
        np.testing.assert_allclose(laplacian @ vectors, vectors * values, atol=1e-12)


@pytest.mark.parametrize("how", ["with an error", "with fewer vectors"])
def test_lapack_giving_up_is_survived(monkeypatch, how):
    import scipy.linalg

    original = scipy.linalg.eigh

    def gives_up(matrix, **options):
        values, vectors = original(matrix, **options)
        if "subset_by_index" not in options:
            return values, vectors
        if how == "with an error":
            raise scipy.linalg.LinAlgError("Internal Error.")
        return values[1:], vectors[:, 1:]

    monkeypatch.setattr(scipy.linalg, "eigh", gives_up)
    matrix = np.diag([3.0, 1.0, 2.0, 5.0])
    values, vectors = some_eigenvectors(matrix, 1, 2)
    np.testing.assert_allclose(values, [2, 3])
    np.testing.assert_allclose(matrix @ vectors, vectors * values)


@pytest.mark.parametrize("size", ["small enough to be dense", "large"])
def test_lanczos_giving_up_is_survived(monkeypatch, size):
    original = spla.eigsh

    def gives_up(*args, which, **options):
        if which == "LA":
            raise spla.ArpackNoConvergence("no convergence", np.zeros(0), np.zeros((0, 0)))
        return original(*args, which=which, **options)

    graph = normalize_graph(neighbor_graph(points(500), 8))
    expected = largest_eigenvectors(graph, 3)
    monkeypatch.setattr(spla, "eigsh", gives_up)
    if size == "large":
        monkeypatch.setattr(spectrum, "_LARGE_SIZE", 450)
        monkeypatch.setattr(spectrum, "_dense", None)  # not called
    found = largest_eigenvectors(graph, 3)
    np.testing.assert_allclose(found[0], expected[0], atol=1e-7)
    np.testing.assert_allclose(projector(found[1]), projector(expected[1]), atol=1e-5)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_normalised_graph(make):
    graph = symmetrize(neighbor_graph(points(20), 4)).toarray()
    graph[6] = graph[:, 6] = 0  # a sample without edges
    found = normalize_graph(make(graph))
    found = found if isinstance(found, np.ndarray) else found.toarray()
    degrees = graph.sum(axis=1)
    for i in range(20):
        for j in range(20):
            expected = graph[i, j] / np.sqrt(degrees[i] * degrees[j]) if graph[i, j] else 0.0
            assert found[i, j] == pytest.approx(expected, abs=1e-15)


def test_edge_costs_are_distances_on_the_pattern():
    graph = neighbor_graph(points(20), 4)
    a, b = points(20, 1), points(20, 2)
    found = edge_costs(a, b, graph.indices, graph.indptr)
    rows = np.repeat(np.arange(20), np.diff(graph.indptr))
    expected = [((a[i] - b[j]) ** 2).sum() for i, j in zip(rows, graph.indices, strict=True)]
    np.testing.assert_allclose(found, expected)
    # what makes the step for the graph a projection: 2·tr(FᵀLF) is the sum of costs times weights
    laplacian = np.diag(symmetrize(graph).toarray().sum(axis=1)) - symmetrize(graph).toarray()
    total = edge_costs(a, a, graph.indices, graph.indptr) @ graph.data
    assert total == pytest.approx(2 * np.trace(a.T @ laplacian @ a))


def far_blobs(n_blobs, n_samples, seed=0):
    """The normalised neighbour graph of blobs that are not connected with each other."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_blobs, 4)) * 100
    return neighbor_graph(centres[rng.integers(n_blobs, size=n_samples)] + rng.normal(size=(n_samples, 4)), 5)


def check_by_part(matrix, n_vectors, start=None):
    values, vectors = largest_eigenvectors_by_part(matrix, n_vectors, start=start)
    dense = matrix.toarray()
    np.testing.assert_allclose(values, np.linalg.eigvalsh(dense)[::-1][:n_vectors], atol=1e-10)
    np.testing.assert_allclose(dense @ vectors, vectors * values, atol=1e-10)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(n_vectors), atol=1e-10)
    return vectors


@pytest.mark.parametrize(("n_blobs", "n_vectors"), [(20, 10), (20, 20), (5, 10), (3, 7), (1, 4)])
def test_copies_of_an_eigenvalue_are_all_found(n_blobs, n_vectors):
    matrix = symmetrize(normalize_graph(far_blobs(n_blobs, 450)))
    assert graph_component_labels(matrix)[0] == n_blobs
    vectors = check_by_part(matrix, n_vectors)
    check_by_part(matrix, n_vectors, start=vectors)


def test_identical_parts_have_the_same_spectrum():
    block = normalize_graph(far_blobs(1, 450))
    check_by_part(sp.csr_array(sp.block_diag([block, block, block])), 7)


def test_even_ring_has_every_eigenvalue_twice():
    angle = np.arange(600) * 2 * np.pi / 600
    check_by_part(symmetrize(normalize_graph(neighbor_graph(np.c_[np.cos(angle), np.sin(angle)], 6))), 7)


def test_samples_without_edges_and_stored_zeros():
    block = far_blobs(1, 450).toarray()
    matrix = sp.csr_array(np.block([[np.zeros((3, 453))], [np.zeros((450, 3)), block]]))
    matrix = sp.csr_array(matrix + sp.coo_array(([0.0], ([0], [9])), shape=matrix.shape))
    vectors = check_by_part(matrix, 4)
    np.testing.assert_allclose(vectors[:3], 0)
    tiny = sp.csr_array((4, 4))
    np.testing.assert_allclose(largest_eigenvectors_by_part(tiny, 3)[0], 0)
    check_by_part(tiny, 4)


def test_eigenvalues_that_are_repeated_give_the_same_vectors_in_every_call():
    """Every start vector lies in a small invariant space here, so that ARPACK has to draw new directions."""
    matrix = sp.csr_array(sp.diags_array(np.repeat([3.0, 2.0, 1.0], 200)))
    (values, vectors), (_, again) = (largest_eigenvectors(matrix, 6) for _ in range(2))
    np.testing.assert_array_equal(vectors, again)
    np.testing.assert_allclose(values, 3)


@pytest.mark.parametrize("n", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_eigenvectors_of_the_random_walk(n, kind):
    sparse = neighbor_graph(points(n), 8)
    graph = sparse.toarray()
    found = random_walk_eigenvectors(graph if kind == "dense" else sparse, 4)
    image = graph @ found / graph.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(image, found * (image / found)[0], atol=1e-8)  # each is stretched
    expected = spectral_embedding(graph, n_components=4, drop_first=False, random_state=0)
    np.testing.assert_allclose(projector(found), projector(expected), atol=1e-6)


def test_eigenvectors_of_the_random_walk_of_several_components():
    graph = in_pieces(90, 3)
    _, labels = graph_component_labels(graph)
    found = random_walk_eigenvectors(graph, 3)
    for component in range(3):  # constant inside each component
        np.testing.assert_allclose(np.ptp(found[labels == component], axis=0), 0.0, atol=1e-8)
    assert len(np.unique(found.round(6), axis=0)) == 3
