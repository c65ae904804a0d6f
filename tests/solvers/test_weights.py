from __future__ import annotations

import numpy as np
import pytest

from manyview.solvers._weights import root_weights, roots, shares


def test_weights_are_the_slopes_of_the_roots():
    squares = np.array([0.0, 1e-7, 5e-5, 2e-4, 0.3, 7.0])
    step = 1e-6 * (squares + 1e-4)
    slopes = (roots(squares + step, 1e-4) - roots(squares, 1e-4)) / step
    np.testing.assert_allclose(root_weights(squares, 1e-4), slopes, rtol=1e-5)


def test_above_the_floor_it_is_the_root():
    squares = np.array([1e-4, 0.3, 7.0])
    np.testing.assert_allclose(roots(squares, 1e-4), np.sqrt(squares))
    np.testing.assert_allclose(root_weights(squares, 1e-4), 1 / (2 * np.sqrt(squares)))


def test_tangents_are_above_the_roots():
    """What makes lowering the weighted sum lower the sum of the roots, floor or not."""
    grid = np.concatenate([[0.0], np.geomspace(1e-9, 10, 60)])
    at = grid[:, None]
    tangent = roots(at, 1e-4) + root_weights(at, 1e-4) * (grid - at)
    assert (tangent >= roots(grid, 1e-4) - 1e-12).all()


def test_each_has_its_own_floor():
    np.testing.assert_allclose(root_weights(np.zeros(2), np.array([1e-4, 1e-6])), [50, 500])


def test_shares():
    assert shares(np.array([1.0, 3.0])) == pytest.approx([0.25, 0.75])
    assert shares(np.zeros(5)) == pytest.approx([0.2] * 5)
