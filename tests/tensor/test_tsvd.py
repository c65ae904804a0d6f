from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from manyview.tensor import map_singular_values, tsvd
from manyview.tensor.tsvd import fourier_slices, from_fourier_slices, slice_multiplicity, with_room_for_spectrum


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


def slice_by_slice(tensor, axis, shrink):
    """The definition: an SVD for each of all Fourier slices."""
    u, s, vh = np.linalg.svd(np.moveaxis(np.fft.fft(tensor, axis=axis), axis, 0), full_matrices=False)
    return np.fft.ifft(np.moveaxis((u * shrink(s)[:, None]) @ vh, 0, axis), axis=axis).real


@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize("long", [64, 65, 150])
def test_sides_of_one_block_and_more(long, order):
    tensor = np.random.default_rng(1).normal(size=(3, long, 4)).transpose(order)
    shrink = lambda s: np.maximum(s - 8, 0)  # noqa: E731
    for axis in range(3):
        expected = slice_by_slice(tensor, axis, shrink)
        for workers in (1, 3):
            out, _ = map_singular_values(tensor, axis, shrink, workers=workers)
            np.testing.assert_allclose(out, expected, atol=1e-9)
        place = tensor.copy()
        assert map_singular_values(place, axis, shrink, out=place)[0] is place
        np.testing.assert_array_equal(place, out)


@pytest.mark.parametrize("shape", [(3, 40, 20), (20, 40, 3), (3, 300, 7), (4, 9, 6), (1, 5, 4)])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("workers", [1, 3])
def test_keeping_the_spectrum(shape, axis, workers):
    """Same result with an array for the spectrum, where parts of the tensor are zero and are skipped."""
    tensor = np.random.default_rng(1).normal(size=shape)
    tensor[
        tuple(
            slice(2, 4) if a == max(set(range(3)) - {axis}, key=lambda a: shape[a]) else slice(None) for a in range(3)
        )
    ] = 0.0
    shrink = lambda s: np.maximum(s - 4, 0)  # noqa: E731
    expected, values = map_singular_values(tensor, axis, shrink)
    spectrum = np.full(np.moveaxis(fourier_slices(tensor, axis), 0, 2).shape, np.nan, dtype=complex)
    out, kept = map_singular_values(tensor, axis, shrink, workers=workers, spectrum=spectrum)
    np.testing.assert_allclose(out, expected, atol=1e-12)
    np.testing.assert_allclose(kept, values, atol=1e-12)
    old = np.full(shape, 7.0)
    assert map_singular_values(tensor, axis, shrink, out=old, spectrum=spectrum)[0] is old
    np.testing.assert_allclose(old, expected, atol=1e-12)


@pytest.mark.parametrize("length", [8, 9])
def test_the_spectrum_in_the_memory_of_the_tensor(length):
    shape = (3, 20, length)
    place, spectrum = with_room_for_spectrum(shape)
    assert np.shares_memory(place, spectrum)
    assert place.shape == shape
    assert not place.any()
    place[:] = np.random.default_rng(1).normal(size=shape)
    place[:, 5] = 0.0
    shrink = lambda s: np.maximum(s - 2, 0)  # noqa: E731
    expected, values = map_singular_values(place.copy(), 2, shrink)
    out, kept = map_singular_values(place, 2, shrink, out=place, spectrum=spectrum)
    assert out is place
    np.testing.assert_allclose(out, expected, atol=1e-12)
    np.testing.assert_allclose(kept, values, atol=1e-12)


def test_rank_deficient_slices_do_not_blow_up():
    tensor = np.ones((3, 6, 5))  # rounding makes eigenvalues below zero of it
    out, _ = map_singular_values(tensor, 1, lambda s: np.maximum(s - 1, 0))
    assert np.isfinite(out).all()


def test_values_that_are_zero_stay_zero():
    tensor = np.zeros((2, 6, 5))
    tensor[0] = 1.0  # one slice is left along the second axis, with one value: 6√5
    out, values = map_singular_values(tensor, 1, lambda s: np.maximum(s - 1, 0))
    np.testing.assert_array_equal(values[1:], 0)
    np.testing.assert_allclose(values[0], [6 * np.sqrt(5) - 1, 0], atol=1e-12)
    np.testing.assert_allclose(out, tensor * (1 - 1 / (6 * np.sqrt(5))), atol=1e-12)


@pytest.mark.parametrize("scale", [1e-100, 1e-6, 1e6, 1e100])
def test_what_counts_as_zero_follows_the_scale(scale):
    tensor = np.random.default_rng(2).normal(size=(3, 6, 5))
    same, values = map_singular_values(scale * tensor, 1, lambda s: s)
    np.testing.assert_allclose(same / scale, tensor, atol=1e-7)
    np.testing.assert_allclose(values / scale, tsvd(tensor, 1)[1], atol=1e-7)


@pytest.mark.parametrize(("length", "times"), [(1, [1]), (2, [1, 1]), (7, [1, 2, 2, 2]), (8, [1, 2, 2, 2, 1])])
def test_multiplicity_counts_every_slice(length, times):
    assert slice_multiplicity(length).tolist() == times


def test_options_have_names():
    tensor = np.random.default_rng(3).normal(size=(2, 4, 3))
    same, _ = map_singular_values(tensor=tensor, axis=1, shrink=lambda s: s)
    np.testing.assert_allclose(same, tensor, atol=1e-12)
    with pytest.raises(TypeError, match="positional"):
        map_singular_values(tensor, 1, lambda s: s, 2)
