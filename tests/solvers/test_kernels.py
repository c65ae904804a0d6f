from __future__ import annotations

import numpy as np
import pytest

from manyview.proximal import project_simplex, prox_squared_l12, soft_threshold
from manyview.solvers import _kernels as kernels


@pytest.fixture
def letters():
    """Nine arrays of all signs, as the first passes have them, by anchors: of one view, 6 anchors and 150 samples."""
    return np.random.default_rng(0).normal(size=(9, 6, 150))


@pytest.mark.parametrize("mu3", [0.3, 0.0])
@pytest.mark.parametrize("noisy", [False, True])
def test_terms_of_one_anchor(letters, mu3, noisy):
    B, E, J, O, Y1, Y2, Y3, C = letters[:8, 0]  # noqa: E741
    mu, rho = 0.7, 1.9
    expected = rho * (J - Y2 / rho) + mu * (B - noisy * E + Y1 / mu)
    if mu3:
        expected += mu3 * (O - Y3 / mu3)
    kernels.gather_pulls(B, E, np.append(J, [9.0, 9.0]), O, Y1, Y2, Y3, mu, rho, mu3, noisy, C)
    np.testing.assert_allclose(C, expected, atol=1e-14)


def test_graph(letters):
    """Anchors 0 and 1 are in use, 1 and 3 have errors, and C of 0, 1 and 2 was not zero before."""
    pull, B, E, Y1, C = letters[:5]
    pull[4] = -100.0  # an anchor without edges
    in_use, noisy, filled = (np.isin(np.arange(6), which) for which in ([0, 1], [1, 3], [0, 1, 2]))
    mu, scale, part = 0.7, 0.4, slice(40, 140)
    terms = np.where(in_use[:, None], C, mu * (B - noisy[:, None] * E) + Y1)[:, part]
    expected = project_simplex((scale * (terms + pull[:, part])).T).T
    C[3:] = 0.0
    before = C.copy()
    now = kernels.step_graph(pull[:, part].copy(), B, E, Y1, mu, scale, in_use, noisy, filled, 40, C)
    np.testing.assert_allclose(C[:, part], expected, atol=1e-14)
    np.testing.assert_array_equal(np.delete(C, np.arange(40, 140), axis=1), np.delete(before, np.arange(40, 140), 1))
    np.testing.assert_array_equal(now, expected.any(axis=1))
    assert not now[4]


def test_target(letters):
    C, Y, out = letters[:3, 0]
    kernels.step_target(C, Y, 0.4, out)
    np.testing.assert_allclose(out, C + Y / 0.4, atol=1e-14)


def test_evenness(letters):
    C, Y3, O = letters[:3, 0]  # noqa: E741
    load = kernels.step_even(C, Y3, 0.4, 0.25, O)
    np.testing.assert_allclose(O, prox_squared_l12((C + Y3 / 0.4)[:, None], 0.25)[:, 0], atol=1e-14)
    assert load == pytest.approx(np.abs(O).sum() ** 2)


@pytest.mark.parametrize("noisy", [False, True])
def test_errors(letters, noisy):
    B, C, Y1, E = letters[:4, 0]
    E *= noisy
    total = kernels.step_errors(B, C, Y1, 0.4, 0.9, noisy, E)
    np.testing.assert_allclose(E, soft_threshold(B - C + Y1 / 0.4, 0.9), atol=1e-14)
    assert 0 < np.count_nonzero(E) < E.size
    assert total == pytest.approx(np.abs(E).sum())


@pytest.mark.parametrize("noisy", [False, True])
def test_errors_below_the_threshold(letters, noisy):
    B, C, Y1, E = letters[:4, 0]
    E *= noisy
    assert kernels.step_errors(B, C, Y1, 0.4, 1e3, noisy, E) == 0
    assert not E.any()


def test_multiplier(letters):
    Y, left, right = letters[:3, 0]
    expected = Y + 0.6 * (left - right)
    largest = kernels.step_multiplier(Y, 0.6, left, np.append(right, [1e9, 1e9]))
    assert largest == np.abs(left - right).max()
    np.testing.assert_allclose(Y, expected, atol=1e-14)


@pytest.mark.parametrize("in_use", [False, True])
@pytest.mark.parametrize("noisy", [False, True])
def test_noise_multiplier(letters, in_use, noisy):
    Y1, B, C, E = letters[:4, 0]
    residual = B - in_use * C - noisy * E
    expected = Y1 + 0.6 * residual
    largest, bound = kernels.step_noise_multiplier(Y1, 0.6, B, C, E, in_use, noisy)
    np.testing.assert_allclose(Y1, expected, atol=1e-14)
    assert largest == pytest.approx(np.abs(residual).max())
    assert bound == np.abs(Y1).max()


def test_sum_of_views(letters):
    C, factors = letters[:3], np.array([[1.0, 0, 2, 0, 3, 1], [0, 0, 1, 1, 1, 1], [5, 0, 0, 0, 1, 2]])
    C[0, 1] = np.nan  # not read
    found = kernels.sum_views(C, factors, np.array([1, 2, 5]))
    np.testing.assert_allclose(found, np.stack([np.zeros(150), 2 * C[0, 2] + C[1, 2], C[0, 5] + C[1, 5] + 2 * C[2, 5]]))
