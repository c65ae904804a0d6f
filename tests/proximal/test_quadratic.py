from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from manyview.proximal import project_simplex, simplex_qp
from manyview.proximal.quadratic import _descend, _factorize, simplex_qp_rows


def minimum_on(support, matrix, linear):
    """The minimum with sum 1 among vectors that are zero elsewhere, of any sign."""
    size = len(support)
    system = np.ones((size + 1, size + 1))
    system[:size, :size], system[-1, -1] = matrix[np.ix_(support, support)], 0.0
    x = np.zeros(len(linear))
    x[support] = np.linalg.solve(system, np.append(linear[support], 1.0))[:-1]
    return x


def best_of_all_supports(matrix, linear):
    """The minimum on the simplex, by trying every set of positive entries."""
    best, lowest = None, np.inf
    for size in range(1, len(linear) + 1):
        for support in map(list, combinations(range(len(linear)), size)):
            x = minimum_on(support, matrix, linear)
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


# With the last eight, a wrong start or a step of the wrong length ends elsewhere, or with no entry that is free.
@pytest.mark.parametrize("seed", [*range(40), 95, 109, 147, 151, 334, 381, 541, 850])
def test_quadratic_programme_of_low_rank(seed):
    """In whole numbers, so that columns are alike, or zero, and much is tied."""
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(rng.integers(1, 5), 8)).round()
    matrix, linear = factor.T @ factor, (rng.normal(size=8) * 3).round()
    x = simplex_qp(matrix, linear)
    slope = matrix @ x - linear
    assert x.min() >= 0
    assert x.sum() == pytest.approx(1, abs=1e-14)
    assert slope[x > 0].max() - slope.min() <= 1e-9


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


def solve_rows(gram, targets, *, ridge=1e-8, scales=None, tol=1e-10, max_iter=1000, start=None):
    n = len(targets)
    out = np.full_like(targets, -1.0) if start is None else start.copy()
    values, gaps = np.full(n, np.nan), np.full(n, np.nan)
    scales = np.ones(n) if scales is None else scales
    steps = simplex_qp_rows(gram, targets, ridge, scales, tol, max_iter, out, values, gaps)
    return out, values, gaps, steps


def gap(gram, z, b):
    """``gᵀz - min_j g_j`` with the gradient g: no point of the simplex is lower by more."""
    gradient = 2 * (gram @ z - b)
    return gradient @ z - gradient.min()


@pytest.fixture
def some_rows():
    rng = np.random.default_rng(5)
    points = rng.normal(size=(6, 9))
    return points @ points.T, rng.normal(size=(12, 9)) @ points.T


def test_the_first_step_is_the_best_corner(some_rows):
    gram, targets = some_rows
    scales = np.arange(1.0, 13.0)
    out, values, gaps, steps = solve_rows(gram, targets, scales=scales, max_iter=1)
    assert steps == 1
    corners = np.diag(gram) - 2 * targets
    np.testing.assert_array_equal(out, np.eye(6)[corners.argmin(axis=1)])
    np.testing.assert_allclose(values, corners.min(axis=1), rtol=1e-14)
    np.testing.assert_allclose(gaps, [gap(gram, z, b) for z, b in zip(out, targets, strict=True)] / scales, atol=1e-12)
    assert gaps.max() > 1e-3


def test_every_step_lowers_the_value_and_reports_it(some_rows):
    gram, targets = some_rows
    before = np.full(len(targets), np.inf)
    for n_steps in range(1, 9):
        out, values, gaps, steps = solve_rows(gram, targets, max_iter=n_steps)
        assert steps <= n_steps
        expected = [z @ gram @ z - 2 * z @ b for z, b in zip(out, targets, strict=True)]
        np.testing.assert_allclose(values, expected, atol=1e-12)
        np.testing.assert_allclose(gaps, [gap(gram, z, b) for z, b in zip(out, targets, strict=True)], atol=1e-10)
        assert (values <= before + 1e-12).all()
        before = values
    np.testing.assert_allclose(gaps, 0, atol=1e-10)
    np.testing.assert_allclose(out, [best_of_all_supports(gram, b) for b in targets], atol=1e-9)


def test_a_loose_tolerance_stops_early(some_rows):
    gram, targets = some_rows
    *_, full_gaps, full = solve_rows(gram, targets)
    tol = 0.5 * solve_rows(gram, targets, max_iter=1)[2].max()
    *_, gaps, steps = solve_rows(gram, targets, tol=tol)
    assert steps < full
    assert full_gaps.max() < gaps.max() <= tol
    assert solve_rows(gram, targets, tol=np.inf)[3] == 1


def test_a_tolerance_that_is_met_exactly_is_met():
    # The minimum is a corner, and the gradient there is zero: so is the gap.
    out, _, gaps, steps = solve_rows(np.eye(2), np.array([[0.0, 1.0]]), tol=0.0)
    assert (out.tolist(), gaps.tolist(), steps) == ([[0.0, 1.0]], [0.0], 1)


def test_no_rows_take_no_steps(some_rows):
    gram, targets = some_rows
    assert solve_rows(gram, targets[:0])[3] == 0


def test_it_ends_where_entries_outside_the_support_are_level_with_it():
    """Rounding decides whether they seem to lower the value; they would join and leave for ever."""
    rng = np.random.default_rng(0)
    for m, d in [(4, 2), (4, 4), (5, 3), (5, 5), (8, 5)]:
        points = rng.normal(size=(m, d))
        gram = points @ points.T
        shares = rng.dirichlet(np.ones(m), size=40)
        shares[:, ::2] = 0.0
        shares /= shares.sum(axis=1, keepdims=True)
        out, _, gaps, steps = solve_rows(gram, shares @ gram, ridge=1e-12, tol=0.0)
        assert steps < 20
        assert gaps.max() < 1e-12
        np.testing.assert_allclose(out @ points, shares @ points, atol=1e-6)


def walk_down(gram, b, z):
    """Towards the minimum on the support, as far as the first entry that becomes zero; then without that one."""
    support = list(range(len(z)))
    while True:
        goal = minimum_on(support, gram, b)
        falling = [j for j in support if goal[j] < 0]
        if not falling:
            return support, goal
        shares = [z[j] / (z[j] - goal[j]) for j in falling]
        z = z + min(shares) * (goal - z)
        support.remove(falling[int(np.argmin(shares))])
        z[[j for j in range(len(z)) if j not in support]] = 0.0


@pytest.mark.parametrize("seed", range(60))
def test_a_step_leads_to_the_first_entry_that_becomes_zero(seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(7, 9))
    gram, b = points @ points.T, rng.normal(size=9) @ points.T * rng.choice([0.3, 1.0, 3.0])
    z = rng.dirichlet(np.full(7, rng.choice([0.3, 1.0, 10.0])))
    left, goal = walk_down(gram, b, z)
    support, factor, forward = np.arange(7), np.empty((7, 7)), np.empty((7, 2))
    _factorize(gram, b, 1e-10, support, 0, 7, factor, forward)
    size = _descend(gram, b, 1e-10, support, 7, factor, forward, np.empty(7), z)
    assert support[:size].tolist() == left
    np.testing.assert_allclose(z, goal, atol=1e-9)


def test_it_ends_where_rounding_is_all_that_is_left(some_rows):
    gram, targets = some_rows
    out, _, gaps, steps = solve_rows(gram, targets, tol=0.0)
    assert steps < 30
    assert gaps.min() >= 0
    assert gaps.max() < 1e-12
    np.testing.assert_allclose(out, [best_of_all_supports(gram, b) for b in targets], atol=1e-9)


def test_a_minimum_without_negative_entries_is_taken_as_it_is(some_rows):
    gram, _ = some_rows
    inside = np.random.default_rng(0).dirichlet(np.ones(6), size=3)
    inside[1, 2] = 0.0  # on the edge still counts
    inside[1] /= inside[1].sum()
    targets = inside @ gram + 0.3  # there the gradient is the same in all directions
    start = inside.copy()
    start[2] = -1.0  # this one is looked for
    out, values, gaps, steps = solve_rows(gram, targets, start=start * [[1.0], [1.0], [1.0]])
    np.testing.assert_allclose(out, inside, atol=1e-9)
    np.testing.assert_allclose(values, [z @ gram @ z - 2 * z @ b for z, b in zip(inside, targets, strict=True)])
    np.testing.assert_allclose(gaps, 0, atol=1e-10)
    assert steps >= 6
    assert solve_rows(gram, targets[:2], start=start[:2])[3] == 1


def test_a_gap_is_not_negative_where_rounding_would_make_it_so():
    rng = np.random.default_rng(2)
    points = rng.normal(size=(6, 9))
    _, _, gaps, _ = solve_rows(points @ points.T, rng.normal(size=(300, 9)) @ points.T, tol=0.0)
    assert 0 <= gaps.min() <= gaps.max() < 1e-11


def test_with_the_identity_entries_join_one_by_one():
    points = np.array([[0.5, 0.8, -0.2, 0.3], [3.0, 0.0, 0.1, 0.2]])
    out, *_, steps = solve_rows(np.eye(4), points)
    np.testing.assert_allclose(out, project_simplex(points), atol=1e-15)
    assert steps == (out[0] > 0).sum() == 3
    assert solve_rows(np.eye(4), points[1:])[3] == 1


def test_points_that_lie_twice_in_the_matrix():
    rng = np.random.default_rng(8)
    points = np.repeat(rng.normal(size=(4, 3)), 2, axis=0)  # of rank 3, with pivots that are nothing but rounding
    targets = rng.normal(size=(20, 3)) @ points.T
    out, values, *_ = solve_rows(points @ points.T, targets, ridge=1e-10, tol=1e-8)
    alone = [simplex_qp(points @ points.T, b) for b in targets]
    expected = [x @ points @ points.T @ x - 2 * x @ b for x, b in zip(alone, targets, strict=True)]
    np.testing.assert_allclose(values, expected, atol=1e-7)
    assert np.isfinite(out).all()


@pytest.mark.parametrize("scale", [1e-120, 1e-6, 1e6, 1e120])
def test_the_scale_of_the_problem_does_not_matter(scale):
    rng = np.random.default_rng(3)
    factor = rng.normal(size=(7, 6))
    matrix, linear = factor.T @ factor, rng.normal(size=6)
    np.testing.assert_allclose(simplex_qp(scale * matrix, scale * linear), simplex_qp(matrix, linear), atol=1e-9)


def test_entries_that_are_flat_share_what_the_others_leave():
    # x₀ wants 0.4 of the whole; the others are alike
    matrix, linear = np.diag([1.0, 0.0, 0.0]), np.array([0.4, 0.0, 0.0])
    np.testing.assert_allclose(simplex_qp(matrix, linear), [0.4, 0.3, 0.3], atol=1e-12)


def test_with_the_identity_both_are_the_projection():
    points = np.random.default_rng(0).normal(size=(5, 7))
    out, values, gaps = np.full_like(points, -1.0), np.empty(5), np.empty(5)
    simplex_qp_rows(np.eye(7), points, 1.0, np.ones(5), 1e-12, 100, out, values, gaps)
    np.testing.assert_allclose(out, project_simplex(points), atol=1e-12)
    np.testing.assert_allclose([simplex_qp(np.eye(7), row) for row in points], project_simplex(points), atol=1e-12)
