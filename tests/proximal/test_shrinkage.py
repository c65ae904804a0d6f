from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from manyview.proximal import prox_l21, prox_lp, prox_squared_l12, soft_threshold
from manyview.proximal.shrinkage import squared_l12_thresholds

GRID = np.linspace(-6, 6, 120_001)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("threshold", [0.0, 0.05, 0.7, 2.0])
def test_lp_is_the_global_minimiser(p, threshold):
    for x in (-5.0, -1.3, -0.01, 0.0, 0.4, 0.9, 2.2, 4.9):
        z = float(prox_lp(np.array([x]), threshold, p)[0])
        value = 0.5 * (z - x) ** 2 + threshold * abs(z) ** p
        best = (0.5 * (GRID - x) ** 2 + threshold * np.abs(GRID) ** p).min()
        assert value <= best + 1e-12


@given(st.floats(0.05, 0.95), st.floats(0.01, 5), st.floats(1.0, 3.0))
def test_lp_solves_the_stationarity_equation_exactly(p, threshold, factor):
    t0 = (2 * threshold * (1 - p)) ** (1 / (2 - p))
    cut = t0 + threshold * p * t0 ** (p - 1)
    x = cut * factor * (1 + 1e-9)
    t = float(prox_lp(np.array([x]), threshold, p)[0])
    assert t - x + threshold * p * t ** (p - 1) == pytest.approx(0, abs=1e-9 * x)
    assert float(prox_lp(np.array([cut * (1 - 1e-9)]), threshold, p)[0]) == 0


def test_lp_worked_example():
    assert float(prox_lp(np.array([2.0]), 1.0, 0.5)[0]) == pytest.approx(1.60538, abs=1e-5)


def test_lp_tends_to_soft_threshold():
    x = np.linspace(-3, 3, 13)
    np.testing.assert_allclose(prox_lp(x, 0.7, 0.99999), soft_threshold(x, 0.7), atol=1e-3)


@pytest.mark.parametrize(("column", "p"), [(0, 0.1), (1, 0.5), (2, 0.9), (3, 1.0)])
def test_lp_oracle_takes_four_sweeps(oracle, column, p):
    helpers = oracle("helpers")
    x, threshold = helpers["in_lp_y"].ravel(), helpers["in_lp_lam"].ravel()
    np.testing.assert_allclose(prox_lp(x, threshold, p, sweeps=4), helpers["out_lp_x"][:, column], atol=1e-8)


def test_many_sweeps_reach_the_exact_answer():
    x = np.array([1.6, 2.0, 5.0])
    np.testing.assert_allclose(prox_lp(x, 1.0, 0.5, sweeps=500), prox_lp(x, 1.0, 0.5), atol=1e-12)


def test_lp_with_exponent_one_is_the_soft_threshold_to_the_last_bit():
    x = np.random.default_rng(0).normal(size=200)
    np.testing.assert_array_equal(prox_lp(x=x, threshold=0.3, p=1.0), soft_threshold(x=x, threshold=0.3))
    # there is no root to look for, however coarsely
    np.testing.assert_array_equal(prox_lp(x, 0.3, 1.0, sweeps=0), soft_threshold(x, 0.3))


@pytest.mark.parametrize("sweeps", [0, 1, 4])
def test_sweeps_are_fixed_point_steps_from_the_value_itself(sweeps):
    x, threshold, p = np.array([-3.0, 1.9, 0.1]), np.array([0.5, 0.7, 0.0]), 0.6
    t = np.abs(x)
    for _ in range(sweeps):
        t = np.abs(x) - threshold * p * t ** (p - 1)
    np.testing.assert_allclose(prox_lp(x, threshold, p, sweeps=sweeps), [-t[0], t[1], 0.1], rtol=1e-14)


def test_lp_thresholds_are_broadcast():
    x, threshold = np.array([[2.0, -3, 0.1]]), np.array([[0.0], [0.5], [4.0]])
    out = prox_lp(x, threshold, 0.5)
    assert out.shape == (3, 3)
    np.testing.assert_array_equal(out[0], x[0])  # nothing is shrunk by 0
    np.testing.assert_array_equal(out[1], prox_lp(x[0], 0.5, 0.5))
    np.testing.assert_array_equal(out[2], 0)
    np.testing.assert_array_equal(prox_lp(np.array([2, -3]), 1, 0.5), prox_lp(np.array([2.0, -3.0]), 1.0, 0.5))


@pytest.mark.parametrize("p", [0.05, 0.5, 0.9])
def test_lp_jumps_at_the_cut(p):
    # both are minima there; t₀ is the other one
    t0 = (2 * 0.7 * (1 - p)) ** (1 / (2 - p))
    cut = t0 + 0.7 * p * t0 ** (p - 1)
    assert prox_lp(np.array([cut * (1 - 1e-12)]), 0.7, p)[0] == 0
    assert prox_lp(np.array([cut * (1 + 1e-12)]), 0.7, p)[0] == pytest.approx(t0, rel=1e-9)


def test_lp_at_the_cut_itself_zero_wins():
    # for p = 1/2 and a threshold of 1, t₀ is 1 and the cut 3/2, without any rounding
    assert prox_lp(np.array([1.5]), 1.0, 0.5)[0] == 0


def test_soft_threshold_by_hand():
    x = np.array([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.5])
    np.testing.assert_array_equal(soft_threshold(x, 1.0), [-1, 0, 0, 0, 0, 0, 1.5])
    np.testing.assert_array_equal(soft_threshold(x, np.abs(x) / 2), x / 2)


@pytest.mark.parametrize(("name", "threshold"), [("01", 0.1), ("1", 1.0)])
def test_soft_threshold_oracle(oracle, name, threshold):
    helpers = oracle("helpers")
    np.testing.assert_allclose(soft_threshold(helpers["in_px_b"], threshold), helpers[f"out_px_{name}"], atol=1e-12)


@pytest.mark.parametrize(("name", "weight"), [("01", 0.1), ("1", 1.0), ("10", 10.0)])
def test_squared_l12_oracle(oracle, name, weight):
    helpers = oracle("helpers")
    np.testing.assert_allclose(prox_squared_l12(helpers["in_l12_E"], weight), helpers[f"out_l12_{name}"], atol=1e-8)


@given(st.integers(0, 10_000), st.floats(0, 20))
def test_squared_l12_is_stationary(seed, weight):
    e = np.random.default_rng(seed).normal(size=(6, 3))
    x = prox_squared_l12(e, weight)
    load = np.abs(x).sum(axis=0)
    # gradient of the smooth part against the subgradient 2·weight·load·[-1, 1]
    pull = e - x
    np.testing.assert_allclose(pull[x != 0], (np.sign(x) * weight * load)[x != 0], atol=1e-10)
    assert (np.abs(pull) <= weight * load + 1e-10).all()


def test_squared_l12_thresholds_by_hand():
    # θ = w·Σ(|e| - θ)₊ with two of three entries above θ in the first column, one in the second, none in the third
    e = np.array([[3.0, 0.5, 0.0], [-2.0, 4.0, 0.0], [0.1, -0.5, 0.0]])
    np.testing.assert_allclose(squared_l12_thresholds(e, 0.5), [5 * 0.5 / 2, 4 * 0.5 / 1.5, 0.0], rtol=1e-15)
    np.testing.assert_array_equal(squared_l12_thresholds(e, 0.0), 0)
    np.testing.assert_array_equal(prox_squared_l12(np.asfortranarray(e), 0.5), prox_squared_l12(e, 0.5))
    np.testing.assert_array_equal(prox_squared_l12(e.astype(int), 0.5), prox_squared_l12(np.trunc(e), 0.5))


@pytest.mark.parametrize(("name", "threshold"), [("05", 0.5), ("2", 2.0)])
def test_l21_oracle(oracle, name, threshold):
    helpers = oracle("helpers")
    np.testing.assert_allclose(prox_l21(helpers["in_al_F"], threshold), helpers[f"out_l21_{name}"], atol=1e-8)


def test_l21_shortens_each_column_optimally():
    w = np.random.default_rng(0).normal(size=(5, 4))
    for column, out in zip(w.T, prox_l21(w, 1.3).T, strict=True):
        length = np.linalg.norm(column)
        best = minimize_scalar(
            lambda s, length=length: 0.5 * (s - 1) ** 2 * length**2 + 1.3 * s * length,
            bounds=(0, 1),
            method="bounded",
            options={"xatol": 1e-10},
        )
        np.testing.assert_allclose(out, best.x * column, atol=1e-6)


def test_l21_leaves_zero_columns():
    assert (prox_l21(np.zeros((3, 2)), 1.0) == 0).all()
    np.testing.assert_array_equal(prox_l21(np.array([[0.0, 3.0], [0.0, 4.0]]), 0.0), [[0, 3], [0, 4]])


def test_l21_by_hand():
    w = np.array([[3.0, 0.3, 1e-9], [4.0, 0.4, 0.0]])
    np.testing.assert_allclose(prox_l21(w, 0.5), [[2.7, 0, 0], [3.6, 0, 0]], atol=1e-15)
    np.testing.assert_allclose(prox_l21(w, 5e-10), w * [1 - 1e-10, 1 - 1e-9, 0.5], rtol=1e-6)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: soft_threshold(x, 0.5),
        lambda x: prox_lp(x, 0.5, 0.5),
        lambda x: prox_squared_l12(x, 0.5),
        lambda x: prox_l21(x, 0.5),
    ],
)
def test_input_is_not_changed(function):
    x = np.random.default_rng(3).normal(size=(4, 4))
    before = x.copy()
    function(x)
    np.testing.assert_array_equal(x, before)
