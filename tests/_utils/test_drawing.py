"""Linear maps that show clusters."""

from __future__ import annotations

import numpy as np
import pytest

from manyview._utils.drawing import bring_means, circle, principal, shares_of_means


@pytest.fixture
def mixed():
    rng = np.random.default_rng(0)
    codes = np.arange(60) % 4
    return np.eye(4)[codes] @ rng.normal(size=(4, 6)) + rng.normal(scale=0.05, size=(60, 6)), codes


def test_means_come_to_their_places(mixed):
    coordinates, codes = mixed
    points = bring_means(coordinates, codes, circle(4))
    means = np.array([points[codes == k].mean(axis=0) for k in range(4)])
    np.testing.assert_allclose(means, circle(4), atol=1e-10)


def test_shares_add_up_and_means_are_pure(mixed):
    coordinates, codes = mixed
    shares = shares_of_means(coordinates, codes, 4)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert (shares >= 0).all()
    np.testing.assert_array_equal(shares.argmax(axis=1), codes)


def test_a_mixture_has_its_shares():
    coordinates = np.vstack([np.eye(3), np.eye(3), [[0.25, 0.75, 0]]])
    codes = np.array([0, 1, 2, 0, 1, 2, 1])
    coordinates = coordinates - coordinates.mean(axis=0)
    near, far = shares_of_means(coordinates, codes, 3)[-1][[1, 2]]
    assert near > 0.7
    assert far < 0.05


def test_equal_samples_are_equal_shares_of_all():
    np.testing.assert_allclose(shares_of_means(np.ones((6, 2)), np.arange(6) % 3, 3), 1 / 3)
    np.testing.assert_array_equal(principal(np.ones((4, 2)))[0], 0)
