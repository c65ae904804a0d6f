from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from manyview.proximal import project_simplex, simplex_qp
from manyview.proximal.quadratic import simplex_qp_rows


def best_of_all_supports(matrix, linear):
    """The minimum on the simplex, by trying every set of positive entries."""
    best, lowest = None, np.inf
    for size in range(1, len(linear) + 1):
        for support in map(list, combinations(range(len(linear)), size)):
            system = np.ones((size + 1, size + 1))
            system[:size, :size], system[-1, -1] = matrix[np.ix_(support, support)], 0.0
            x = np.zeros(len(linear))
            x[support] = np.linalg.solve(system, np.append(linear[support], 1.0))[:-1]
            value = x @ matrix @ x - 2 * x @ linear
            if x.min() >= 0 and value < lowest:
                best, lowest = x, value
    return best


# In the last four an entry becomes zero on the way and comes back.
@pytest.mark.parametrize("seed", [*range(20), 43, 167, 188, 275])
def test_quadratic_programme_against_all_supports(seed):
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(9, 8))
    matrix, linear = factor.T @ factor * 10.0 ** rng.integers(-2, 2), rng.normal(size=8) * 3
    x = simplex_qp(matrix, linear)
    assert x.min() >= 0
    assert x.sum() == pytest.approx(1, abs=1e-14)
    np.testing.assert_allclose(x, best_of_all_supports(matrix, linear), atol=1e-9)
    slope = matrix @ x - linear
    assert (slope[x > 0].max() - slope.min()) <= 1e-12 * max(np.abs(matrix).max(), np.abs(linear).max())


def test_quadratic_programme_where_it_is_flat():
    np.testing.assert_allclose(simplex_qp(np.full((4, 4), 3.7), np.full(4, 1.3)), 0.25, atol=1e-15)
    np.testing.assert_array_equal(simplex_qp(np.zeros((3, 3)), np.zeros(3)), np.full(3, 1 / 3))
    np.testing.assert_array_equal(simplex_qp(np.zeros((3, 3)), np.array([0.1, 0.3, 0.2])), [0, 1, 0])
    np.testing.assert_array_equal(simplex_qp(np.array([[2.0]]), np.array([5.0])), [1])
    # a copy of the first entry takes half of its share
    matrix, linear = np.array([[4.0, 1.0], [1.0, 3.0]]), np.array([2.0, 1.7])
    x = simplex_qp(matrix, linear)
    copied = simplex_qp(matrix[np.ix_([0, 0, 1], [0, 0, 1])], linear[[0, 0, 1]])
    np.testing.assert_allclose(copied, [x[0] / 2, x[0] / 2, x[1]], atol=1e-12)


@pytest.mark.parametrize(("m", "ridge"), [(1, 1.0), (6, 1.0), (20, 1e-3), (40, 1e-6)])
def test_many_programmes_with_one_matrix_are_what_each_is_alone(m, ridge):
    rng = np.random.default_rng(m)
    points = rng.normal(size=(m, max(2, m // 3)))
    gram = points @ points.T + ridge * np.eye(m)
    targets = rng.normal(size=(30, points.shape[1])) @ points.T
    out = np.full_like(targets, -1.0)  # no start: the minimum without signs is not known
    values, gaps = np.empty(30), np.empty(30)
    simplex_qp_rows(gram, targets, ridge, np.ones(30), 1e-10, 1000, out, values, gaps)
    for row, target, value in zip(out, targets, values, strict=True):
        alone = simplex_qp(gram, target)
        assert row @ gram @ row - 2 * row @ target == pytest.approx(alone @ gram @ alone - 2 * alone @ target, abs=1e-8)
        assert value == pytest.approx(row @ gram @ row - 2 * row @ target, abs=1e-8)
    assert gaps.max() <= 1e-10
    np.testing.assert_allclose(out.sum(axis=1), 1.0)
    assert out.min() >= 0


def test_with_the_identity_both_are_the_projection():
    points = np.random.default_rng(0).normal(size=(5, 7))
    out, values, gaps = np.full_like(points, -1.0), np.empty(5), np.empty(5)
    simplex_qp_rows(np.eye(7), points, 1.0, np.ones(5), 1e-12, 100, out, values, gaps)
    np.testing.assert_allclose(out, project_simplex(points), atol=1e-12)
    np.testing.assert_allclose([simplex_qp(np.eye(7), row) for row in points], project_simplex(points), atol=1e-12)
