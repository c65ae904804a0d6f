from __future__ import annotations

import itertools

import numpy as np
import pytest

from manyview.proximal import prox_lp
from manyview.tensor import map_singular_values, prox_schatten, schatten_norm

SHAPES = ["10_7_3", "9_8_4", "6_6_2"]
AXIS_OF_MODE = {1: 1, 2: 2, 3: 0}  # the program's name of each orientation -> transformed axis of its tensors
P_OF_NAME = {"5": 0.5, "9": 0.9, "10": 1.0}
THRESHOLD = 0.8


def naive_prox(tensor, p, axis, *, twice_for_odd=False):
    """Full FFT, one SVD per slice; ``twice_for_odd`` repeats a defect of the authors' program.

    It walks through slices 0, ..., ⌈n₃/2⌉ and mirrors each onto its conjugate. For odd n₃ the last two are each
    other's conjugates, so this pair is shrunk, mirrored, and shrunk again.
    """
    slices = np.moveaxis(np.fft.fft(tensor, axis=axis), axis, 0)
    n3 = len(slices)
    last = n3 // 2 + (1 if twice_for_odd and n3 % 2 else 0)
    for i in range(last + 1):
        u, s, vh = np.linalg.svd(slices[i], full_matrices=False)
        slices[i] = (u * prox_lp(s, THRESHOLD, p, sweeps=4)) @ vh
        slices[-i % n3] = slices[i].conj()
    return np.fft.ifft(np.moveaxis(slices, 0, axis), axis=axis).real


@pytest.mark.parametrize(("shape", "mode", "p_name"), list(itertools.product(SHAPES, AXIS_OF_MODE, P_OF_NAME)))
def test_oracle(oracle, shape, mode, p_name):
    helpers = oracle("helpers")
    tensor, axis, p = helpers[f"in_T_{shape}"], AXIS_OF_MODE[mode], P_OF_NAME[p_name]
    expected = helpers[f"out_wlp_{shape}_m{mode}_p{p_name}_u"]
    ours, _ = prox_schatten(tensor, THRESHOLD, p, axis, sweeps=4)
    np.testing.assert_allclose(ours, naive_prox(tensor, p, axis), atol=1e-8)
    # With an odd axis the program shrinks a pair of slices twice; that and nothing else is the difference.
    np.testing.assert_allclose(naive_prox(tensor, p, axis, twice_for_odd=True), expected, atol=1e-8)
    if tensor.shape[axis] % 2 == 0:
        np.testing.assert_allclose(ours, expected, atol=1e-8)


EVEN_AXES = [("10_7_3", 3), ("9_8_4", 1), ("9_8_4", 2), ("6_6_2", 1), ("6_6_2", 2), ("6_6_2", 3)]


@pytest.mark.parametrize(("shape", "mode"), EVEN_AXES)
def test_oracle_nuclear_norm(oracle, shape, mode):
    helpers = oracle("helpers")
    tensor, axis = helpers[f"in_T_{shape}"], AXIS_OF_MODE[mode]
    ours, _ = prox_schatten(tensor, THRESHOLD, 1.0, axis)
    np.testing.assert_allclose(ours, helpers[f"out_wtnn_{shape}_m{mode}"], atol=1e-8)


def objective(x, tensor, threshold, p, axis, norm_scale):
    return 0.5 * ((x - tensor) ** 2).sum() + threshold * schatten_norm(x, p, axis, norm_scale=norm_scale)


@pytest.mark.parametrize("norm_scale", ["code", "paper"])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("p", [0.5, 0.9, 1.0])
def test_nothing_nearby_has_a_smaller_objective(p, axis, norm_scale):
    rng = np.random.default_rng(0)
    tensor = rng.normal(size=(3, 6, 5))
    threshold = 0.6 if norm_scale == "code" else 0.6 / tensor.shape[axis]
    best, norm = prox_schatten(tensor, threshold, p, axis, norm_scale=norm_scale)
    assert norm == pytest.approx(schatten_norm(best, p, axis, norm_scale=norm_scale), rel=1e-6)
    value = objective(best, tensor, threshold, p, axis, norm_scale)
    for size in (1e-3, 1e-2, 0.1, 1.0):
        for _ in range(20):
            other = best + size * rng.normal(size=best.shape)
            assert objective(other, tensor, threshold, p, axis, norm_scale) >= value - 1e-9


def test_p_close_to_one_is_close_to_the_nuclear_norm():
    tensor = np.random.default_rng(1).normal(size=(3, 6, 5))
    nearly, _ = prox_schatten(tensor, 0.5, 0.9999, 1)
    np.testing.assert_allclose(nearly, prox_schatten(tensor, 0.5, 1.0, 1)[0], atol=1e-3)


def test_norm_of_a_small_tensor_by_hand():
    tensor = np.random.default_rng(2).normal(size=(3, 4, 5))
    total = sum(
        (np.linalg.svd(s, compute_uv=False) ** 0.7).sum() for s in np.moveaxis(np.fft.fft(tensor, axis=1), 1, 0)
    )
    assert schatten_norm(tensor, 0.7, 1, norm_scale="paper") == pytest.approx(total)
    assert schatten_norm(tensor, 0.7, 1) == pytest.approx(total / 4)


def test_options_have_names():
    tensor = np.random.default_rng(4).normal(size=(2, 4, 3))
    assert schatten_norm(tensor=tensor, p=0.5, axis=1) == schatten_norm(tensor, 0.5, 1, norm_scale="code")
    ours, norm = prox_schatten(tensor=tensor, threshold=0.3, p=0.5, axis=1)
    same, _ = map_singular_values(tensor=tensor, axis=1, shrink=lambda s: prox_lp(s, 0.3, 0.5))
    np.testing.assert_array_equal(ours, same)
    assert norm == pytest.approx(schatten_norm(ours, 0.5, 1))
    with pytest.raises(TypeError, match="positional"):
        schatten_norm(tensor, 0.5, 1, "paper")


def test_what_each_axis_does_not_see():
    rng = np.random.default_rng(3)
    tensor = rng.normal(size=(3, 8, 6))
    prox = lambda t, axis: prox_schatten(t, 0.7, 0.9, axis)[0]  # noqa: E731
    samples, anchors = rng.permutation(8), rng.permutation(6)
    # along samples: shifts, reversal and the order of anchors make no difference, the order of samples does
    np.testing.assert_allclose(prox(np.roll(tensor, 3, axis=1), 1), np.roll(prox(tensor, 1), 3, axis=1), atol=1e-9)
    np.testing.assert_allclose(prox(tensor[:, ::-1], 1), prox(tensor, 1)[:, ::-1], atol=1e-9)
    np.testing.assert_allclose(prox(tensor[:, :, anchors], 1), prox(tensor, 1)[:, :, anchors], atol=1e-9)
    assert np.abs(prox(tensor[:, samples], 1) - prox(tensor, 1)[:, samples]).max() > 0.01
    # along views: any order of samples and anchors
    np.testing.assert_allclose(
        prox(tensor[:, samples][:, :, anchors], 0), prox(tensor, 0)[:, samples][:, :, anchors], atol=1e-9
    )


def test_sorted_blocks_have_a_smaller_norm_than_shuffled_ones():
    """Why class-sorted files flatter the published method: the order leaks into the norm."""
    labels = np.repeat([0, 1, 2], 20)
    block = (labels[:, None] == labels[None, :]) / 20.0
    order = np.random.default_rng(0).permutation(60)
    tensor = np.stack([block, block])
    assert schatten_norm(tensor[:, order], 1.0, 1) > 1.5 * schatten_norm(tensor, 1.0, 1)


@pytest.mark.parametrize("p_name", P_OF_NAME)
@pytest.mark.parametrize(("shape", "mode"), EVEN_AXES)
def test_weighted_shrinkage_composes(oracle, shape, mode, p_name):
    """A weight for each singular value is a matter of the function handed in."""
    helpers = oracle("helpers")
    tensor, axis, p = helpers[f"in_T_{shape}"], AXIS_OF_MODE[mode], P_OF_NAME[p_name]
    weights = np.linspace(0.25, 2.0, min(np.delete(tensor.shape, axis)))
    ours, _ = map_singular_values(tensor, axis, lambda s: prox_lp(s, THRESHOLD * weights, p, sweeps=4))
    np.testing.assert_allclose(ours, helpers[f"out_wlp_{shape}_m{mode}_p{p_name}_w"], atol=1e-8)
