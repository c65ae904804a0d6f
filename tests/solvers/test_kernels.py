from __future__ import annotations

import numpy as np
import pytest

from manyview.proximal import project_simplex, prox_squared_l12, soft_threshold
from manyview.solvers import _kernels as kernels


@pytest.fixture
def letters():
    """Nine arrays of all signs, as the first passes have them."""
    return np.random.default_rng(0).normal(size=(9, 6, 4))


def test_graph(letters):
    pull, B, E, J, O, Y1, Y2, Y3, C = letters  # noqa: E741
    mu, rho, mu3 = 0.7, 1.9, 0.3
    G, Q = J - Y2 / rho, B - E + Y1 / mu
    expected = project_simplex((rho * G + mu * Q + mu3 * (O - Y3 / mu3) + pull) / (rho + mu + mu3))
    kernels.step_graph(pull.copy(), B, E, J, O, Y1, Y2, Y3, mu, rho, mu3, C)
    np.testing.assert_allclose(C, expected, atol=1e-14)


def test_evenness(letters):
    C, Y3, O = letters[:3]  # noqa: E741
    load = kernels.step_even(C, Y3, 0.4, 0.25, O)
    np.testing.assert_allclose(O, prox_squared_l12(C + Y3 / 0.4, 0.25), atol=1e-14)
    assert load == pytest.approx((np.abs(O).sum(axis=0) ** 2).sum())


def test_errors(letters):
    B, C, Y1, E = letters[:4]
    total = kernels.step_errors(B, C, Y1, 0.4, 0.9, E)
    np.testing.assert_allclose(E, soft_threshold(B - C + Y1 / 0.4, 0.9), atol=1e-14)
    assert 0 < np.count_nonzero(E) < E.size
    assert total == pytest.approx(np.abs(E).sum())


def test_multipliers(letters):
    Y, left, right, Y1, B, C, E = letters[:7]
    expected, noise = Y + 0.6 * (left - right), Y1 + 0.6 * (B - C - E)
    assert kernels.step_multiplier(Y, 0.6, left, right) == np.abs(left - right).max()
    assert kernels.step_noise_multiplier(Y1, 0.6, B, C, E) == np.abs(B - C - E).max()
    np.testing.assert_allclose(Y, expected, atol=1e-14)
    np.testing.assert_allclose(Y1, noise, atol=1e-14)
