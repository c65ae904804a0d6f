from __future__ import annotations

import numpy as np
import pytest

from manyview.tensor import map_singular_values, tsvd
from manyview.tensor.tsvd import fourier_slices, from_fourier_slices, slice_multiplicity


@pytest.fixture(params=[(3, 8, 5), (4, 9, 6), (2, 7, 7), (1, 5, 4)])
def tensor(request):
    return np.random.default_rng(0).normal(size=request.param)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_slices_there_and_back(tensor, axis):
    back = from_fourier_slices(fourier_slices(tensor, axis), axis, tensor.shape[axis])
    np.testing.assert_allclose(back, tensor, atol=1e-12)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_tsvd_rebuilds_the_tensor(tensor, axis):
    u, s, vh = tsvd(tensor, axis)
    assert (np.diff(s, axis=1) <= 0).all()
    back = from_fourier_slices((u * s[:, None]) @ vh, axis, tensor.shape[axis])
    np.testing.assert_allclose(back, tensor, atol=1e-12)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_identity_and_scaling(tensor, axis):
    same, values = map_singular_values(tensor, axis, lambda s: s)
    np.testing.assert_allclose(same, tensor, atol=1e-7)
    np.testing.assert_allclose(values, tsvd(tensor, axis)[1], atol=1e-7)
    np.testing.assert_allclose(map_singular_values(tensor, axis, lambda s: 3 * s)[0], 3 * tensor, atol=1e-6)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_keeping_the_largest_value_is_the_best_rank_one_slice(tensor, axis):
    first, _ = map_singular_values(tensor, axis, lambda s: s * (np.arange(s.shape[1]) == 0))
    u, s, vh = tsvd(tensor, axis)
    expected = from_fourier_slices(u[:, :, :1] * s[:, None, :1] @ vh[:, :1], axis, tensor.shape[axis])
    np.testing.assert_allclose(first, expected, atol=1e-8)


def test_shrink_is_called_on_descending_values(tensor):
    def shrink(sigma):
        assert (np.diff(sigma, axis=1) <= 0).all()
        return sigma

    map_singular_values(tensor, 1, shrink)


def test_rank_deficient_slices_do_not_blow_up():
    tensor = np.ones((3, 6, 5))
    out, _ = map_singular_values(tensor, 1, lambda s: np.maximum(s - 1, 0))
    assert np.isfinite(out).all()


@pytest.mark.parametrize("length", [1, 2, 7, 8])
def test_multiplicity_counts_every_slice(length):
    assert slice_multiplicity(length).sum() == length
