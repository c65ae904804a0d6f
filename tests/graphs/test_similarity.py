from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from manyview.graphs import bipartite_graph, can_weights, gaussian_kernel, neighbor_graph
from manyview.graphs.neighbours import squared_distances
from manyview.graphs.similarity import median_bandwidth
from manyview.io import read_views
from manyview.proximal import project_simplex

VIEW = np.random.default_rng(0).random((15, 4))


def test_worked_example():
    np.testing.assert_allclose(can_weights(np.array([[1.0, 4.0, 100.0]])), [[99 / 195, 96 / 195]])


@given(st.integers(0, 10_000), st.integers(1, 8))
def test_weights_solve_their_problem(seed, k):
    """min Σ d_j s_j + γ|s|² on the simplex is the projection of -d/2γ; γ = (k·d_(k+1) - Σd)/2."""
    distances = np.sort(np.random.default_rng(seed).random(12))
    gamma = (k * distances[k] - distances[:k].sum()) / 2
    expected = project_simplex(-distances / (2 * gamma))
    np.testing.assert_allclose(can_weights(distances[None, : k + 1])[0], expected[:k], atol=1e-9)
    assert (expected[k:] < 1e-9).all()


def test_equally_far_neighbours_share_evenly():
    np.testing.assert_array_equal(can_weights(np.full((1, 5), 2.0)), np.full((1, 4), 0.25))


@pytest.mark.parametrize("as_sparse", [False, True])
def test_bipartite_rows_are_stochastic_with_k_entries(as_sparse):
    rng = np.random.default_rng(0)
    x = rng.random((40, 6)) * (rng.random((40, 6)) < 0.7)
    view = sp.csr_array(x) if as_sparse else x
    graph = bipartite_graph(view, view[np.arange(15)], 4)
    assert graph.shape == (40, 15)
    assert (np.diff(graph.indptr) == 4).all()
    np.testing.assert_allclose(graph.sum(axis=1), 1)
    np.testing.assert_allclose(graph.toarray(), bipartite_graph(x, x[:15], 4).toarray(), atol=1e-12)


def test_scale_and_place_do_not_matter():
    x = np.random.default_rng(1).random((30, 3))
    graph = bipartite_graph(x, x[:12], 5).toarray()
    moved = 40 * x - 7
    np.testing.assert_allclose(bipartite_graph(moved, moved[:12], 5).toarray(), graph, atol=1e-10)


def test_bipartite_oracle(oracle, data_file):
    helpers, anchors = oracle("helpers"), oracle("tbgl__msrc__file")["anchor_indices"]
    for view, values in enumerate(read_views(data_file("MSRC-v5.mat")).arrays):
        x = np.asarray(values, dtype=float) / values.max()
        ours = bipartite_graph(x, x[anchors], 10).toarray()
        np.testing.assert_allclose(ours, helpers[f"out_tbgl_B__{view}"], atol=1e-8, err_msg=f"view {view}")


@pytest.mark.parametrize("k", [5, 10])
@pytest.mark.parametrize(("name", "symmetric"), [("s", True), ("ns", False)])
def test_neighbor_graph_oracle(oracle, k, name, symmetric):
    helpers = oracle("helpers")
    ours = neighbor_graph(np.ascontiguousarray(helpers["in_pkn_X"].T), k, symmetric=symmetric)
    np.testing.assert_allclose(ours.toarray(), helpers[f"out_pkn_k{k}_{name}"], atol=1e-8)


def test_neighbor_graph_of_duplicates_differs_from_the_program_only_there(oracle):
    """The program takes the first of equally near samples for the sample itself and leaves it a loop."""
    helpers = oracle("helpers")
    x = np.ascontiguousarray(helpers["in_pkn_Xdup"].T)
    ours, theirs = neighbor_graph(x, 5, symmetric=False).toarray(), helpers["out_pkn_dup_k5_ns"]
    looped = np.flatnonzero(np.diag(theirs))
    assert len(looped) > 0
    assert (np.diag(ours) == 0).all()
    others = np.setdiff1d(np.arange(len(x)), looped)
    np.testing.assert_allclose(ours[others], theirs[others], atol=1e-8)


def test_neighbor_graph_oracle_on_real_data(oracle, data_file):
    graphs = oracle("graphs__msrc__file")
    for view, values in enumerate(read_views(data_file("MSRC-v5.mat")).arrays, start=1):
        x = np.asarray(values, dtype=float)
        for k, name in ((10, "W10"), (5, "W5")):
            stored = graphs[f"{name}_v{view}"]
            np.testing.assert_allclose(neighbor_graph(x, k).toarray(), stored, atol=1e-8, err_msg=f"view {view}")


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_kernel_against_loops(make):
    distances = np.array([[np.linalg.norm(a - b) for b in VIEW] for a in VIEW])
    sigma = np.median(distances)
    np.testing.assert_allclose(gaussian_kernel(make(VIEW)), np.exp(-(distances**2) / (2 * sigma**2)), rtol=1e-10)
    np.testing.assert_allclose(gaussian_kernel(make(VIEW), 0.5), np.exp(-(distances**2) / 0.5), rtol=1e-10)


def test_kernel_is_symmetric_with_ones_on_the_diagonal():
    kernel = gaussian_kernel(VIEW * 1e6)
    np.testing.assert_array_equal(kernel, kernel.T)
    np.testing.assert_array_equal(np.diag(kernel), 1.0)


def test_kernel_does_not_depend_on_the_unit():
    np.testing.assert_allclose(gaussian_kernel(VIEW), gaussian_kernel(1e-3 * VIEW + 7), rtol=1e-8)


def test_mostly_duplicates_take_the_median_of_the_other_distances():
    view = np.vstack([np.zeros((9, 1)), [[3.0]], [[4.0]]])
    assert median_bandwidth((view - view.T) ** 2) == pytest.approx(3.0)
    turned = np.hstack([view, np.full((11, 2), 1 / 3)]) @ np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    assert median_bandwidth(squared_distances(turned, turned)) == pytest.approx(3.0)  # though duplicates are apart
    assert median_bandwidth(np.zeros((3, 3))) == 1.0


@pytest.mark.parametrize(("name", "tag"), [("MSRC-v5", "msrc"), ("3Sources", "3s")])
def test_bandwidth_of_the_authors(oracle, data_file, name, tag):
    expected = oracle(f"coreg__{tag}__file")["sigma"].ravel()
    found = [median_bandwidth(squared_distances(view, view)) for view in read_views(data_file(f"{name}.mat")).arrays]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_distances_whose_squares_have_no_inverse():
    x = np.array([[0.0], [1.0], [3.0]])
    np.testing.assert_allclose(gaussian_kernel(x * 2.0**-518), gaussian_kernel(x), rtol=1e-2)  # few digits are left
