from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manyview.graphs import SCALERS, choose_scaling, learn_scaling, unit_variance
from manyview.graphs.scaling import balanced_centre, effective_dimensions, row_lengths


def dense(array):
    return array if isinstance(array, np.ndarray) else array.toarray()


def by_eigenvalues(x):
    values = np.linalg.eigvalsh(np.atleast_2d(np.cov(x.T)))
    return values.sum() ** 2 / (values**2).sum()


@pytest.mark.parametrize("name", SCALERS)
def test_sparse_equals_dense_and_input_is_kept(name):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(9, 4)) * (rng.random((9, 4)) < 0.6)
    x[3] = 0
    before = x.copy()
    scaled = dense(SCALERS[name](x))
    np.testing.assert_allclose(dense(SCALERS[name](sp.csr_array(x))), scaled, atol=1e-15)
    np.testing.assert_array_equal(x, before)
    assert np.isfinite(scaled).all()


def test_max_divides_by_the_largest_value():
    assert SCALERS["max"](np.array([[2.0, -8.0], [4.0, 1.0]])).max() == 1
    assert SCALERS["max"](np.array([[-2.0, -8.0]])).min() == -1
    assert (SCALERS["max"](np.zeros((2, 2))) == 0).all()


def test_unit_rows():
    scaled = SCALERS["unit"](np.array([[3.0, 4.0], [0.0, 0.0]]))
    np.testing.assert_allclose(scaled, [[0.6, 0.8], [0.0, 0.0]])


@pytest.mark.parametrize("function", [*SCALERS.values(), unit_variance, choose_scaling])
def test_a_sparse_input_is_kept(function):
    rng = np.random.default_rng(1)
    x = sp.csr_array(rng.normal(size=(9, 250)) * (rng.random((9, 250)) < 0.3))
    x.data[::5] = 0.0  # stored zeros
    before = x.copy()
    function(x)
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(x, part), getattr(before, part))


@pytest.mark.parametrize("function", [unit_variance, choose_scaling, effective_dimensions])
@pytest.mark.parametrize("d", [5, 80])
def test_a_dense_input_is_kept(function, d):
    x = np.random.default_rng(2).normal(size=(30, d))
    before = x.copy()
    function(x)
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_counts_follow_their_formula(make):
    rng = np.random.default_rng(3)
    x = rng.poisson(0.7, size=(20, 12)) * rng.choice([-1.0, 1.0], size=(20, 12))
    x[4], x[:, 6], x[:, 7] = 0, 0, 2  # an empty sample, a word that nobody uses, one that all others use
    x[4, 7] = 0
    having = np.maximum((x != 0).sum(axis=0), 1)
    expected = np.sign(x) * np.log(1 + np.abs(x)) * (np.log(20 / having) + 1)
    length = np.sqrt((expected**2).sum(axis=1, keepdims=True))
    expected = expected / np.where(length > 0, length, 1)
    scaled = SCALERS["counts"](make(x))
    assert sp.issparse(scaled)
    np.testing.assert_allclose(scaled.toarray(), expected, atol=1e-14)


def test_counts_do_not_count_stored_zeros():
    x = np.array([[1.0, 2.0], [0.0, 1.0], [0.0, 3.0]])
    stored = sp.csr_array((x.ravel(), np.tile([0, 1], 3), [0, 2, 4, 6]), shape=(3, 2))
    np.testing.assert_allclose(SCALERS["counts"](stored).toarray(), SCALERS["counts"](x).toarray(), atol=1e-15)


def test_centered_features_have_mean_zero_and_keep_distances():
    x = np.random.default_rng(4).normal(5, 2, size=(30, 4))
    scaled = SCALERS["centered"](x)
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-14)
    np.testing.assert_allclose(scaled - scaled[0], x - x[0], atol=1e-14)


def naive_centre(x):
    distance = np.array([np.sqrt(((row - x.mean(axis=0)) ** 2).sum()) for row in x])
    weights = np.array([min(gap, 2 * np.median(distance)) ** 2 for gap in distance])
    return sum(weight * row for weight, row in zip(weights, x, strict=True)) / sum(weights)


@pytest.mark.parametrize("d", [1, 2, 7])
def test_balanced_centre_follows_its_formula(d):
    x = np.random.default_rng(13).normal(4, 2, size=(41, d)) ** 3
    np.testing.assert_allclose(balanced_centre(x), naive_centre(x), rtol=1e-12)
    np.testing.assert_allclose(balanced_centre(x + 50), balanced_centre(x) + 50, rtol=1e-12)
    np.testing.assert_allclose(balanced_centre(x * 1e-9), balanced_centre(x) * 1e-9, rtol=1e-12)


@pytest.mark.parametrize("scale", [2.0**-480, 2.0**480])
def test_balanced_centre_at_any_scale(scale):
    x = np.random.default_rng(3).normal(2, 1, size=(30, 4))
    np.testing.assert_array_equal(balanced_centre(x * scale), balanced_centre(x) * scale)


def test_balanced_centre_of_a_constant_is_it():
    np.testing.assert_array_equal(balanced_centre(np.full((5, 2), 3.0)), [3, 3])
    np.testing.assert_array_equal(balanced_centre(np.array([[1.0, 2.0]])), [1, 2])


def test_balanced_centre_lies_outside_of_the_large_cluster():
    rng = np.random.default_rng(14)
    large, small = rng.normal(size=(400, 3)), rng.normal(size=(20, 3)) + np.array([30.0, 0.0, 0.0])
    x = np.vstack([large, small])
    reach = np.linalg.norm(large - large.mean(axis=0), axis=1).max()
    assert np.linalg.norm(x.mean(axis=0) - large.mean(axis=0)) < reach
    centre = balanced_centre(x)
    assert np.linalg.norm(centre - large.mean(axis=0)) > reach
    assert np.linalg.norm(centre - small.mean(axis=0)) > reach


def test_directions_are_unit_rows_around_the_balanced_centre():
    x = np.random.default_rng(15).normal(size=(30, 4)) ** 3
    rows = x - naive_centre(x)
    np.testing.assert_allclose(SCALERS["directions"](x), rows / np.linalg.norm(rows, axis=1)[:, None], atol=1e-14)


def test_directions_of_a_cross():
    x = np.array([[1.0, 5.0], [5.0, 5.0], [3.0, 8.0], [3.0, 2.0], [3.0, 5.0]])
    scaled = SCALERS["directions"](x)
    np.testing.assert_allclose(scaled, [[-1, 0], [1, 0], [0, 1], [0, -1], [0, 0]], atol=1e-15)


def test_shares_are_the_directions_of_square_roots():
    x = np.random.default_rng(5).dirichlet(np.ones(6), 25)
    root = np.sqrt(x) - naive_centre(np.sqrt(x))
    np.testing.assert_allclose(SCALERS["shares"](x), root / np.linalg.norm(root, axis=1)[:, None], atol=1e-14)


def test_shares_below_zero_are_none():
    x = np.random.default_rng(6).dirichlet(np.ones(4), 10)
    below = x.copy()
    below[x < 0.1] = -1e-3
    x[x < 0.1] = 0
    np.testing.assert_array_equal(SCALERS["shares"](below), SCALERS["shares"](x))


def rings(rng):
    """Two rings in a plane, turned into ten dimensions."""
    angle, radius = rng.uniform(0, 2 * np.pi, 200), np.repeat([1.0, 3.0], 100)
    plane = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    return plane @ np.linalg.qr(rng.normal(size=(10, 2)))[0].T


def words(rng, d=300):
    return rng.poisson(0.05, size=(40, d)) * 1.0


def one_feature_outweighs(rng):
    return rng.normal(size=(60, 8)) * [1e3, 1, 1, 1, 1, 1, 1, 1]


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(
    ("view", "name"),
    [
        (words, "counts"),
        (lambda rng: words(rng, 201), "counts"),
        (lambda rng: words(rng, 200), "directions"),
        (lambda rng: rng.random((40, 300)), "directions"),
        (lambda rng: rng.dirichlet(np.ones(8), 50), "shares"),
        (lambda rng: 100 * rng.dirichlet(np.ones(8), 50).round(3), "shares"),
        (lambda rng: rng.dirichlet(np.ones(8), 50) * rng.uniform(0.8, 1.2, (50, 1)), "directions"),
        (lambda rng: rng.dirichlet(np.ones(8), 50) - 0.01, "directions"),
        (rings, "centered"),
        (lambda rng: rng.normal(size=(50, 1)), "centered"),
        (lambda rng: rng.normal(size=(50, 2)), "centered"),
        (lambda rng: rng.normal(size=(50, 8)), "directions"),
        (one_feature_outweighs, "directions"),
        (lambda rng: rng.normal(size=(60, 8)) * [9, 1, 1, 1, 1, 1, 1, 1], "centered"),  # 92 % of the variance
        (lambda rng: 1e3 * rng.normal(size=(50, 1)), "centered"),
        (lambda rng: 100 + rng.normal(size=(60, 8)), "directions"),  # rows of almost the same sum
        (lambda rng: 100 + rng.normal(size=(60, 2)), "centered"),
        (lambda rng: np.zeros((5, 3)), "centered"),
        (lambda rng: np.full((5, 3), 0.1), "centered"),
    ],
)
def test_scaling_is_chosen_by_the_values(view, name, make):
    assert choose_scaling(make(view(np.random.default_rng(7)))) == name


@pytest.mark.parametrize("name", ["centered", "directions"])
def test_choice_does_not_depend_on_the_unit(name):
    x = {"centered": rings, "directions": one_feature_outweighs}[name](np.random.default_rng(8))
    for unit in (x * 0.3048, x * 1e9):
        assert choose_scaling(unit) == name


def test_choice_does_not_depend_on_where_the_scale_begins():
    x = np.random.default_rng(0).normal(15, 3, (100, 12))
    assert choose_scaling(x) == choose_scaling(x + 273.15) == "directions"  # Celsius and Kelvin


@pytest.mark.parametrize("d", [1, 2, 7, 64])
def test_effective_dimensions_by_eigenvalues(d):
    rng = np.random.default_rng(9)
    x = rng.normal(size=(90, d)) * rng.uniform(0.1, 2, d) + 7
    assert effective_dimensions(x) == pytest.approx(by_eigenvalues(x), rel=1e-10)


@pytest.mark.parametrize("rank", [1, 2, 5])
@pytest.mark.parametrize("d", [100, 400])
def test_effective_dimensions_of_a_wide_view_are_about_right(rank, d):
    rng = np.random.default_rng(10)
    x = rng.normal(size=(300, rank)) @ rng.normal(size=(rank, d))
    assert effective_dimensions(x) == pytest.approx(by_eigenvalues(x), rel=0.2)


def test_effective_dimensions_of_nothing_and_of_huge_values():
    x = np.random.default_rng(11).normal(size=(40, 5))
    assert effective_dimensions(np.full((6, 3), 2.0)) == 0
    assert effective_dimensions(1e6 + 1e-9 * x) == 0  # rounding
    assert effective_dimensions(x * 1e-6) == pytest.approx(effective_dimensions(x))
    assert effective_dimensions(x * 1e200) == pytest.approx(effective_dimensions(x))


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_unit_variance_adds_up_to_one(make):
    rng = np.random.default_rng(12)
    x = rng.normal(3, 50, size=(40, 6)) * (rng.random((40, 6)) < 0.5)
    scaled = unit_variance(make(x))
    assert sp.issparse(scaled) == (make is sp.csr_array)
    assert dense(scaled).var(axis=0).sum() == pytest.approx(1)
    np.testing.assert_allclose(dense(scaled), x / np.sqrt(x.var(axis=0).sum()), rtol=1e-12)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("value", [0.0, 1.0, -4.0])
def test_unit_variance_leaves_a_constant(make, value):
    x = np.full((8, 3), value)
    np.testing.assert_array_equal(dense(unit_variance(make(x))), x)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_unit_variance_leaves_a_constant_with_rounded_mean(make):
    x = np.full((7, 2), 0.1)
    np.testing.assert_array_equal(dense(unit_variance(make(x))), x)


# What was learned from some samples, for others -------------------------------------------------------------------


def values(name, seed, n=40):
    """Such values as the scaler is for, with a sample of zeros."""
    rng = np.random.default_rng(seed)
    if name == "shares":
        x = rng.dirichlet(np.ones(7), n)
    elif name == "counts":
        x = rng.poisson(0.4, (n, 12)) * 1.0
        x[:, 5] = 0  # a word that nobody uses
    else:
        x = rng.normal(2, 3, (n, 6))
    x[3] = 0
    return x


makes = pytest.mark.parametrize("make", [np.asarray, sp.csr_array])


@makes
@pytest.mark.parametrize("name", SCALERS)
def test_learning_a_scaling_scales_as_before(name, make):
    x = make(values(name, 0))
    scaling, scaled = learn_scaling(x, name)
    expected = unit_variance(SCALERS[name](x))
    assert scaling.name == name
    assert scaling.sparse == sp.issparse(scaled) == sp.issparse(expected)
    np.testing.assert_array_equal(dense(scaled), dense(expected))
    assert dense(scaled).var(axis=0).sum() == pytest.approx(1)


@makes
@pytest.mark.parametrize("name", SCALERS)
def test_the_samples_that_it_was_learned_from_are_scaled_the_same(name, make):
    x = make(values(name, 1))
    scaling, scaled = learn_scaling(x, name)
    again = scaling.apply(x)
    assert type(again) is type(scaled)
    np.testing.assert_array_equal(dense(again), dense(scaled))
    rows = [7, 3, 30]
    np.testing.assert_array_equal(dense(scaling.apply(x[rows])), dense(scaled)[rows])
    np.testing.assert_array_equal(dense(scaling.apply(x[[9]])), dense(scaled)[[9]])


def unit(x):
    length = np.sqrt((x**2).sum(axis=1, keepdims=True))
    return x / np.where(length > 0, length, 1)


def naive_apply(name, learned_from, new):
    """The formulas, with everything that is not a sample's own taken from other samples."""
    frequencies = np.log(len(learned_from) / np.maximum((learned_from != 0).sum(axis=0), 1)) + 1
    return {
        "max": lambda x: x / learned_from.max(),
        "unit": unit,
        "none": lambda x: x,
        "counts": lambda x: unit(np.sign(x) * np.log1p(np.abs(x)) * frequencies),
        "shares": lambda x: unit(np.sqrt(x) - naive_centre(np.sqrt(learned_from))),
        "directions": lambda x: unit(x - naive_centre(learned_from)),
        "centered": lambda x: x - learned_from.mean(axis=0),
        "standardized": lambda x: unit(x - x.mean(axis=1, keepdims=True)) * np.sqrt(x.shape[1] - 1),
    }[name](new)


@makes
@pytest.mark.parametrize("name", SCALERS)
def test_new_samples_are_scaled_by_what_was_learned(name, make):
    old, new = values(name, 2), values(name, 3, n=9)
    if name == "counts":
        new[0, 5] = 2.0  # the word that nobody used
    scaling, _ = learn_scaling(make(old), name)
    divisor = np.sqrt(naive_apply(name, old, old).var(axis=0).sum())
    for given in (make(new), new, sp.csr_array(new)):  # in whatever format
        before = given.copy()
        found = scaling.apply(given)
        assert sp.issparse(found) == scaling.sparse
        np.testing.assert_allclose(dense(found), naive_apply(name, old, new) / divisor, atol=1e-13)
        np.testing.assert_array_equal(dense(given), dense(before))


@makes
def test_auto_learns_what_it_chose(make):
    x = make(np.random.default_rng(4).dirichlet(np.ones(8), 50))
    scaling, scaled = learn_scaling(x, "auto")
    assert scaling.name == choose_scaling(x) == "shares"
    np.testing.assert_array_equal(dense(scaled), dense(learn_scaling(x, "shares")[1]))


@makes
def test_row_lengths_by_their_definition(make):
    x = values("none", 5)
    np.testing.assert_allclose(row_lengths(make(x)), np.sqrt((x**2).sum(axis=1)))


@pytest.mark.filterwarnings("error")
@makes
@pytest.mark.parametrize("unit", [2.0**100, 2.0**-100])
@pytest.mark.parametrize("name", ["unit", "directions", "centered", "none"])
def test_single_precision_of_any_unit(name, unit, make):
    x = np.random.default_rng(0).random((40, 5), dtype=np.float32)
    _, scaled = learn_scaling(make(x), name)
    _, other = learn_scaling(make(x * np.float32(unit)), name)
    np.testing.assert_array_equal(dense(other), dense(scaled))


@pytest.mark.parametrize("name", ["shares", "directions", "centered", "standardized"])
def test_whole_numbers_become_double_and_single_stays_single(name):
    counts = np.random.default_rng(0).integers(0, 50, (20, 6)).astype(np.uint8)
    expected = SCALERS[name](counts.astype(float))
    np.testing.assert_array_equal(SCALERS[name](counts), expected)
    single = SCALERS[name](counts.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, atol=1e-5)


def test_one_feature_has_no_spread_to_divide_by():
    view = np.array([[1.0], [-2.0], [5.0]])
    np.testing.assert_array_equal(SCALERS["standardized"](view), view)
