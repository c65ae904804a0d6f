from __future__ import annotations

import re

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

from manyview import GraphEnsemble
from manyview.cluster import available_methods
from manyview.graphs import SCALERS, SCALINGS, Scaling, choose_scaling, explain_scaling, learn_scaling, unit_variance
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
    sparse = dense(SCALERS[name](sp.csr_array(x)))
    if name == "standardized":  # a sparse view is not centred
        sparse = sparse - sparse.mean(axis=0)
    np.testing.assert_allclose(sparse, scaled, atol=1e-15)
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
        "standardized": lambda x: (x - learned_from.mean(axis=0)) / learned_from.std(axis=0),
        "row-standardized": lambda x: unit(x - x.mean(axis=1, keepdims=True)) * np.sqrt(x.shape[1] - 1),
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
        expected = naive_apply(name, old, new)
        if name == "standardized" and make is sp.csr_array:  # learned from a sparse view, so it is not centred
            expected = expected + old.mean(axis=0) / old.std(axis=0)
        np.testing.assert_allclose(dense(found), expected / divisor, atol=1e-13)
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
@pytest.mark.parametrize("name", ["unit", "directions", "centered", "standardized", "none"])
def test_single_precision_of_any_unit(name, unit, make):
    x = np.random.default_rng(0).random((40, 5), dtype=np.float32)
    _, scaled = learn_scaling(make(x), name)
    _, other = learn_scaling(make(x * np.float32(unit)), name)
    np.testing.assert_array_equal(dense(other), dense(scaled))


@pytest.mark.parametrize("name", ["shares", "directions", "centered", "standardized", "row-standardized"])
def test_whole_numbers_become_double_and_single_stays_single(name):
    counts = np.random.default_rng(0).integers(0, 50, (20, 6)).astype(np.uint8)
    expected = SCALERS[name](counts.astype(float))
    np.testing.assert_array_equal(SCALERS[name](counts), expected)
    single = SCALERS[name](counts.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, atol=1e-5)


def test_one_feature_has_no_spread_to_divide_by():
    view = np.array([[1.0], [-2.0], [5.0]])
    np.testing.assert_array_equal(SCALERS["row-standardized"](view), view)


# Columns of mean 0 and deviation 1 -------------------------------------------------------------------------------


def mixed_units(seed, n=50):
    """Heights in metres, weights in grammes, years, and a column that is constant."""
    rng = np.random.default_rng(seed)
    years = 2000.0 + rng.integers(0, 20, n)
    return np.column_stack([rng.normal(1.7, 0.1, n), rng.normal(7e4, 1e4, n), years, np.full(n, 0.1)])


def test_standardized_is_what_scikit_learn_does():
    old, new = mixed_units(0), mixed_units(1, 7)
    theirs = StandardScaler().fit(old)
    np.testing.assert_allclose(SCALERS["standardized"](old), theirs.transform(old), atol=1e-12)
    scaling, scaled = learn_scaling(old, "standardized")
    np.testing.assert_allclose(scaled * scaling.divisor, theirs.transform(old), atol=1e-12)
    np.testing.assert_allclose(scaling.apply(new) * scaling.divisor, theirs.transform(new), atol=1e-12)


def test_standardized_by_a_loop():
    x = mixed_units(2)
    scaled = SCALERS["standardized"](x)
    for j in range(3):
        mean = sum(x[:, j]) / len(x)
        deviation = (sum((value - mean) ** 2 for value in x[:, j]) / len(x)) ** 0.5
        for i in range(len(x)):
            assert scaled[i, j] == pytest.approx((x[i, j] - mean) / deviation, abs=1e-10)
    np.testing.assert_array_equal(scaled[:, 3], 0)  # exactly, though the mean of 0.1s is rounded


def test_standardized_leaves_rounding_alone():
    x = np.column_stack([1e6 + 1e-9 * np.random.default_rng(0).normal(size=40), np.arange(40.0)])
    assert np.abs(SCALERS["standardized"](x)[:, 0]).max() < 1e-8


def test_standardized_sparse_views_stay_sparse_as_those_of_scikit_learn():
    rng = np.random.default_rng(3)
    old, new = (sp.csr_array(rng.normal(5, 2, (n, 6)) * (rng.random((n, 6)) < 0.3)) for n in (40, 7))
    old.data[::4] = 0.0  # stored zeros
    theirs = StandardScaler(with_mean=False).fit(old)
    scaling, scaled = learn_scaling(old, "standardized")
    assert sp.issparse(scaled)
    assert scaled.nnz == old.nnz
    np.testing.assert_allclose(dense(scaled) * scaling.divisor, dense(theirs.transform(old)), atol=1e-12)
    np.testing.assert_allclose(dense(scaling.apply(new)) * scaling.divisor, dense(theirs.transform(new)), atol=1e-12)


@makes
def test_standardized_rows_are_the_same_bits_wherever_they_stand(make):
    x = make(mixed_units(4))
    scaling, scaled = learn_scaling(x, "standardized")
    rows = np.random.default_rng(0).permutation(50)
    np.testing.assert_array_equal(dense(scaling.apply(x[rows])), dense(scaled)[rows])


def test_standardized_and_row_standardized_differ():
    x = mixed_units(5)
    np.testing.assert_allclose(SCALERS["standardized"](x).mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(SCALERS["row-standardized"](x).mean(axis=1), 0, atol=1e-12)
    assert np.abs(SCALERS["row-standardized"](x).mean(axis=0)).max() > 0.5


@pytest.mark.parametrize("name", ["standardized", "counts"])
def test_a_scaling_without_what_it_learned_is_refused(name):
    with pytest.raises(
        ValueError, match=f"'{name}' has no parameters learned.*'row-standardized' now: fit the model again"
    ):
        Scaling(name, (), 1.0, sparse=False)


def test_users_scale_columns_of_mixed_units():
    rng = np.random.default_rng(6)
    truth = np.repeat([0, 1], 40)
    clear = truth + rng.normal(0, 0.05, 80)
    views = [np.column_stack([clear, 1e4 * rng.normal(size=80)]) for _ in range(2)]  # the wide column is noise
    found = GraphEnsemble(2, scaling="standardized", random_state=0).fit(views)
    assert found.scaling_ == {"view0": "standardized", "view1": "standardized"}
    np.testing.assert_array_equal(found.labels_, truth)
    assert (GraphEnsemble(2, scaling="row-standardized", random_state=0).fit(views).labels_ != truth).mean() > 0.2


# The names in words ----------------------------------------------------------------------------------------------


def test_every_scaling_has_a_line():
    assert list(SCALINGS) == list(SCALERS)
    assert all("\n" not in line and len(line) < 90 for line in SCALINGS.values())


def test_the_docstring_lists_the_scalings_in_the_same_words():
    lines = [line.strip() for line in GraphEnsemble.__doc__.splitlines()]
    listed = [line for line in lines if line.startswith('- "')]
    assert listed == [f'- "{name}": {line}' for name, line in SCALINGS.items()]


def test_the_docstrings_of_the_other_methods_name_all_scalings():
    listed = ", ".join(f'"{name}"' for name in SCALINGS)
    others = [m.estimator for m in available_methods() if "scaling" in m.estimator(2).get_params()]
    for method in others:
        assert method is GraphEnsemble or f"scaling : {{{listed}}}" in method.__doc__, method


# Images and counts -----------------------------------------------------------------------------------------------


def images(rng, n=300):
    """Digits as images of 28 x 28 pixels from 0 to 255, of which more than half are 0."""
    digits = load_digits().images[rng.permutation(1797)[:n]] / 16 * 255
    large = np.kron(digits, np.ones((3, 3)))
    return np.pad(large, ((0, 0), (2, 2), (2, 2))).reshape(n, 784).round()


def topics(rng, n=300, d=1000):
    return rng.poisson(100 * rng.dirichlet(np.full(d, 0.1), size=5)[rng.integers(5, size=n)]) * 1.0


def sorted_by_topic(rng):
    """Counts of words of which neighbours have the same topic, so that they are correlated."""
    chances = np.kron(np.eye(5), rng.lognormal(0, 0.5, 200)) + 0.02
    return rng.poisson(3 * chances[rng.integers(5, size=300)]) * 1.0


def columns_up_to_one(rng):
    counts = topics(rng)
    return counts / np.maximum(counts.max(axis=0), 1)


def tf_idf(rng):
    counts = topics(rng)
    weighted = counts * np.log(len(counts) / np.maximum((counts > 0).sum(axis=0), 1))
    return weighted / np.linalg.norm(weighted, axis=1, keepdims=True)


def cells(rng):
    """Counts of molecules in single cells."""
    types = rng.gamma(0.3, size=(6, 1500))[rng.integers(6, size=200)]
    return rng.poisson(rng.lognormal(0, 0.5, (200, 1)) * types * rng.gamma(2, 0.5, (200, 1500))) * 1.0


@makes
@pytest.mark.parametrize(
    "change",
    [
        lambda x: x,
        lambda x: (x / 255).astype(np.float32),
        lambda x: (x > 127) * 1.0,
        lambda x: x[:20],
        lambda x: x.reshape(-1, 28, 28).transpose(0, 2, 1).reshape(-1, 784),  # column by column, as MATLAB does
    ],
    ids=["0 to 255", "0 to 1", "black and white", "few", "transposed"],
)
def test_images_are_no_counts(change, make):
    x = images(np.random.default_rng(0))
    assert (x == 0).mean() > 0.5
    assert explain_scaling(make(change(x))).name == "directions"


@makes
@pytest.mark.parametrize(
    "view",
    [
        topics,
        lambda rng: topics(rng) > 0,
        lambda rng: topics(rng, n=2),
        sorted_by_topic,
        columns_up_to_one,
        tf_idf,
        cells,
        lambda rng: np.eye(300)[rng.integers(300, size=500)],
        lambda rng: images(rng) * np.where(np.arange(784) % 50, 1, -1),  # no image has values below 0
    ],
    ids=["topics", "words or not", "two texts", "sorted", "columns to 1", "tf-idf", "cells", "one-hot", "signed"],
)
def test_counts_remain_counts(view, make):
    assert explain_scaling(make(view(np.random.default_rng(1)) * 1.0)).name == "counts"


@makes
@pytest.mark.parametrize(
    ("view", "reason"),
    [
        (topics, r"[89]\d(\.\d)?% zeros, whole numbers, 1,000 columns"),
        (tf_idf, r"[89]\d(\.\d)?% zeros, fractions, 1,000 columns"),
        (
            lambda rng: sp.random_array((90, 2000), density=1e-4, rng=rng).toarray(),
            "99.9% zeros, fractions, 2,000 col.*",
        ),
        (
            images,
            r"6\d(\.\d)?% zeros, but pixels: neighbouring columns are alike and most reach 255; \d+ effective dim.*",
        ),
        (lambda rng: rng.dirichlet(np.ones(8), 50), "no value below 0, and all rows have the same sum"),
        (rings, "2.0 effective dimensions, fewer than 3"),
        (one_feature_outweighs, "one column has more than 99% of the variance"),
        (lambda rng: rng.normal(size=(500, 8)), "8 effective dimensions, neither counts nor shares"),
    ],
)
def test_the_reason_of_a_choice(view, reason, make):
    x = make(view(np.random.default_rng(2)))
    found = explain_scaling(x)
    assert re.fullmatch(reason, found.reason)
    assert found.name == choose_scaling(x)
