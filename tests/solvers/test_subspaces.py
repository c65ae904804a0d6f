from __future__ import annotations

import numpy as np
import pytest

from manyview.solvers._subspaces import agreement, leading_directions, side_by_side, subspace_change

RNG = np.random.default_rng(0)


def basis(n, k):
    return np.linalg.qr(RNG.normal(size=(n, k)))[0]


def test_leading_directions_are_the_largest_eigenvectors():
    a = RNG.normal(size=(30, 30))
    vectors = np.linalg.eigh(a + a.T)[1]
    found = leading_directions(a + a.T, 4)
    for k in range(4):
        assert abs(found[:, k] @ vectors[:, -1 - k]) == pytest.approx(1)


def test_directions_that_the_matrix_does_not_have_are_zero():
    u = basis(30, 2)
    found = leading_directions(u * [3.0, 1.0] @ u.T, 5)
    np.testing.assert_allclose(found @ found.T, u @ u.T, atol=1e-12)
    assert not found[:, 2:].any()
    negative = leading_directions(u * [3.0, -1.0] @ u.T, 30)
    np.testing.assert_allclose(negative @ negative.T, np.outer(u[:, 0], u[:, 0]), atol=1e-12)


def test_agreement_and_change_are_those_of_the_projectors():
    before, after = [basis(20, 3), basis(20, 3)], [basis(20, 3), basis(20, 3)]
    gaps = [np.sum((u @ u.T - w @ w.T) ** 2) for u, w in zip(before, after, strict=True)]
    assert agreement(before[0], after[0]) == pytest.approx(np.trace(before[0] @ before[0].T @ after[0] @ after[0].T))
    assert subspace_change(before, after) == pytest.approx(np.mean(gaps) / 6)
    assert subspace_change(before, [u @ basis(3, 3) for u in before]) == pytest.approx(0, abs=1e-12)
    assert subspace_change([np.eye(6)[:, :3]], [np.eye(6)[:, 3:]]) == pytest.approx(1)


def test_side_by_side_takes_the_first_columns():
    a, b = basis(8, 4), basis(8, 4)
    np.testing.assert_array_equal(side_by_side([a, b], 2), np.column_stack([a[:, 0], a[:, 1], b[:, 0], b[:, 1]]))
