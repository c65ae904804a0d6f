from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from manyview.proximal import project_simplex, project_simplex_sparse
from manyview.proximal.simplex import project_columns, project_row

finite = st.floats(-1e3, 1e3, allow_subnormal=False)
tables = arrays(np.float64, array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=12), elements=finite)


def by_sorting(row: np.ndarray, total: float) -> np.ndarray:
    """The textbook algorithm."""
    u = np.sort(row)[::-1]
    excess = np.cumsum(u) - total
    rho = np.flatnonzero(u - excess / np.arange(1, len(u) + 1) > 0)[-1]
    return np.maximum(row - excess[rho] / (rho + 1), 0)


@given(tables, st.floats(0.1, 10))
def test_equals_the_sorting_algorithm(y, total):
    expected = np.array([by_sorting(row, total) for row in y])
    np.testing.assert_allclose(project_simplex(y, total), expected, atol=1e-10)


@given(tables)
def test_lies_on_the_simplex_and_stays_there(y):
    before = y.copy()
    x = project_simplex(y)
    assert (x >= 0).all()
    np.testing.assert_allclose(x.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(project_simplex(x), x, atol=1e-12)
    np.testing.assert_array_equal(y, before)


@given(tables, st.floats(-1e6, 1e6))
def test_ignores_a_common_shift(y, shift):
    np.testing.assert_allclose(project_simplex(y + shift), project_simplex(y), atol=1e-8)


def test_no_feasible_point_is_nearer():
    rng = np.random.default_rng(0)
    y = rng.normal(size=(50, 6))
    best = ((project_simplex(y) - y) ** 2).sum(axis=1)
    for _ in range(200):
        other = rng.dirichlet(np.ones(6), size=50)
        assert (((other - y) ** 2).sum(axis=1) >= best - 1e-12).all()


def test_last_axis_of_any_shape():
    y = np.random.default_rng(1).normal(size=(2, 3, 4))
    np.testing.assert_array_equal(project_simplex(y)[1, 2], project_simplex(y[1, 2]))


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        ([0.5, 0.8, -0.2], [0.35, 0.65, 0.0]),
        ([7.0], [1.0]),
        ([2.0, 2.0], [0.5, 0.5]),
        ([1.0, 0.0], [1.0, 0.0]),  # the second is exactly at the threshold
        ([-5.0, -5.5, -9.0], [0.75, 0.25, 0.0]),
        ([0.0, 1e17, 1e17], [0.0, 0.5, 0.5]),  # a shift that would swallow the total
        ([3, 1, 1], [1, 0, 0]),
    ],
)
def test_by_hand(y, expected):
    np.testing.assert_allclose(project_simplex(np.array(y)), expected, atol=1e-15)
    np.testing.assert_allclose(project_simplex(np.array(y) * 3, total=3), np.array(expected) * 3, atol=1e-14)


def test_a_row_may_be_projected_in_place():
    y = np.array([0.5, 0.8, -0.2])
    project_row(y, 1.0, y)
    np.testing.assert_allclose(y, [0.35, 0.65, 0.0], atol=1e-15)


@given(tables, st.sampled_from([0.1, 1.0, 7.0]))
def test_columns_are_projected_as_rows_are(y, total):
    expected = project_simplex(y, total).T
    out = np.full(expected.shape, np.nan)
    filled = project_columns(np.ascontiguousarray(y.T), total, out)
    np.testing.assert_allclose(out, expected, atol=1e-12 * max(1.0, np.abs(y).max(initial=0.0)))
    np.testing.assert_array_equal(filled, out.any(axis=1))


def test_columns_may_be_projected_in_place():
    y = np.array([[0.5, 9.0], [0.8, 2.0], [-0.2, 1.0]])
    assert project_columns(y, 1.0, y).tolist() == [True, True, False]
    np.testing.assert_allclose(y, [[0.35, 1.0], [0.65, 0.0], [0.0, 0.0]], atol=1e-15)
    assert project_columns(np.empty((0, 3)), 1.0, np.empty((0, 3))).shape == (0,)


def test_it_ends_whatever_comes_in():
    y = np.array([[np.nan, 1.0], [1.0, np.nan]])
    assert np.isnan(project_simplex(y)).any(axis=1).all()
    project_columns(y, 1.0, y)
    assert np.isnan(y).any()


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3), (2, 0, 4)])
def test_nothing_to_project(shape):
    assert project_simplex(np.empty(shape)).shape == shape


@pytest.mark.parametrize("case", range(10))
def test_oracle(oracle, case):
    helpers = oracle("helpers")
    y, total = helpers[f"in_simplex_v__{case}"], helpers["in_simplex_k"].ravel()[case]
    np.testing.assert_allclose(project_simplex(y.ravel(), total), helpers[f"out_simplex_x__{case}"].ravel(), atol=1e-8)


@given(tables, st.integers(0, 2**32 - 1))
def test_sparse_equals_dense_on_the_pattern(y, seed):
    mask = np.random.default_rng(seed).random(y.shape) < 0.6
    pattern = sp.csr_array(mask.astype(float))  # 1 marks an entry, so that zeros of y are stored as well
    rows, columns = pattern.nonzero()
    graph = sp.csr_array((y[rows, columns], pattern.indices, pattern.indptr), shape=y.shape)
    projected = project_simplex_sparse(graph).toarray()
    for row, kept, out in zip(y, mask, projected, strict=True):
        assert (out[~kept] == 0).all()
        if kept.any():
            np.testing.assert_allclose(out[kept], by_sorting(row[kept], 1.0), atol=1e-10)


def test_sparse_columns():
    y = np.random.default_rng(2).normal(size=(7, 5))
    projected = project_simplex_sparse(sp.csc_array(y)).toarray()
    np.testing.assert_allclose(projected, project_simplex(y.T).T, atol=1e-14)


def test_sparse_total_pattern_and_empty_rows():
    graph = sp.csr_array((np.array([5, 1, 2, 7]), np.array([0, 2, 1, 1]), np.array([0, 2, 2, 3, 4])), shape=(4, 3))
    projected = project_simplex_sparse(graph, total=2.0)
    np.testing.assert_array_equal(projected.toarray(), [[2, 0, 0], [0, 0, 0], [0, 2, 0], [0, 2, 0]])
    assert projected.nnz == 4  # with the zero
    assert graph.data.tolist() == [5, 1, 2, 7]
