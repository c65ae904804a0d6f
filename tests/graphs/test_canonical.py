from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from manyview.graphs import canonical_order
from manyview.graphs.canonical import _projections, unit_of


@pytest.fixture
def views():
    """Two dense views of the same width, a sparse one, and a narrow one with many ties."""
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.5, size=(40, 30)).astype(float)
    return [rng.normal(size=(40, 6)), rng.random((40, 6)), sp.csr_array(counts), rng.integers(0, 3, (40, 2)) * 1.0]


def dense(array):
    return array if isinstance(array, np.ndarray) else array.toarray()


def ordered(arrays, order):
    """The views as they are in canonical order."""
    return [dense(arrays[v])[order.rows] for v in order.views]


def assert_same_views(found, expected):
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)  # bit by bit


def naive_twins(arrays, order):
    rows = [tuple(np.concatenate([dense(a)[r] for a in arrays])) for r in order.rows]
    return [rows.index(row) for row in rows]


@pytest.mark.parametrize("seed", range(3))
def test_permuted_rows_come_to_the_same_places(views, seed):
    perm = np.random.default_rng(seed).permutation(40)
    permuted = [v[perm] for v in views]
    first, second = canonical_order(views), canonical_order(permuted)
    assert_same_views([dense(v)[second.rows] for v in permuted], [dense(v)[first.rows] for v in views])
    assert second.views == first.views
    assert second.source == first.source
    np.testing.assert_array_equal(second.twin, first.twin)
    np.testing.assert_array_equal(np.sort(first.rows), np.arange(40))


def test_permuted_views_come_to_the_same_places(views):
    expected = canonical_order(views)
    for perm in permutations(range(4)):
        permuted = [views[v] for v in perm]
        order = canonical_order(permuted)
        np.testing.assert_array_equal(order.rows, expected.rows)
        np.testing.assert_array_equal(order.twin, expected.twin)
        assert_same_views(ordered(permuted, order), ordered(views, expected))


def test_source_tells_where_each_given_view_went(views):
    order = canonical_order(views)
    assert sorted(order.views) == [0, 1, 2, 3]
    assert [order.views[place] for place in order.source] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "unit", [lambda x: x.copy(), lambda x: x * 0.3048, lambda x: 1.8 * x + 32], ids=["copy", "feet", "fahrenheit"]
)
def test_a_view_given_twice_counts_once_in_whatever_unit(views, unit):
    order = canonical_order([views[0], views[1], unit(views[0])])
    assert sorted(order.views) in ([0, 1], [1, 2])
    assert order.source[2] == order.source[0] != order.source[1]
    np.testing.assert_array_equal(order.rows, canonical_order(views[:2]).rows)


def test_a_copy_in_single_precision_may_differ_by_its_rounding(views):
    single = views[0].astype(np.float32)
    order = canonical_order([single, views[1], single * np.float32(0.3048)])
    assert sorted(order.views) in ([0, 1], [1, 2])
    assert order.source[2] == order.source[0]


@pytest.mark.parametrize("copy", [lambda x: x.copy(), lambda x: x * 0.3048, lambda x: x.toarray()])
def test_a_sparse_view_given_twice_counts_once(views, copy):
    order = canonical_order([views[2], copy(views[2]), views[0]])
    assert sorted(order.views) in ([0, 2], [1, 2])
    assert order.source[1] == order.source[0]


def test_which_copy_is_kept_does_not_depend_on_the_order(views):
    """Copies in other units are equal up to rounding only, which must not depend on the order either."""
    given = [views[0], views[1], 0.3048 * views[0], 1.8 * views[0] + 32]
    expected = ordered(given, canonical_order(given))
    for order in permutations(range(4)):
        permuted = [given[v] for v in order]
        assert_same_views(ordered(permuted, canonical_order(permuted)), expected)


@pytest.mark.parametrize("with_gaps", [False, True])
@pytest.mark.parametrize("n_views", [2, 3, 4])
def test_the_same_values_in_another_order_of_the_samples(n_views, with_gaps):
    """Such views differ in nothing but what their samples have in the others."""
    n, exchangeable = 26, 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        values, there = rng.integers(0, 3, (n, 1)).astype(float), rng.random(n) < (0.7 if with_gaps else 1.0)
        shuffles = [rng.permutation(n) for _ in range(n_views)]
        given = [values[rows] for rows in shuffles]
        present = np.column_stack([there[rows] for rows in shuffles])
        table = np.where(present, np.hstack(given), -1.0)
        orders = [list(order) for order in permutations(range(n_views))]
        same = sum(np.array_equal(np.sort(_rows(table)), np.sort(_rows(table[:, order]))) for order in orders)
        if same > 1:  # then only their positions differ
            exchangeable += 1
            continue
        found = set()
        for order in orders:
            rows = rng.permutation(n)
            moved = [given[v][rows] for v in order]
            own = canonical_order(moved, present=present[rows][:, order])
            found.add(table[rows][:, order][own.rows][:, own.views].tobytes())
        assert len(found) == 1
    assert exchangeable < 10


def _rows(table):
    """One number for each row."""
    return table @ 5.0 ** np.arange(table.shape[1])


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_a_view_with_the_same_ranks_is_no_copy(make):
    x = np.random.default_rng(1).normal(size=(30, 1))
    order = canonical_order([make(x), make(x**3)])
    assert sorted(order.views) == [0, 1]
    assert order.source[0] != order.source[1]


def test_views_with_the_same_ranks_are_ordered_by_content():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(20, 1))
    views = [x, x**3, np.exp(x)]
    expected = ordered(views, canonical_order(views))
    for _ in range(20):
        rows = rng.permutation(20)
        permuted = [views[v][rows] for v in rng.permutation(3)]
        assert_same_views(ordered(permuted, canonical_order(permuted)), expected)


def test_a_view_with_one_other_value_is_no_copy(views):
    other = views[0].copy()
    other[7, 2] += 1e-6
    assert len(canonical_order([views[0], other]).views) == 2


def test_tags_keep_equal_views_apart(views):
    given = [views[0], views[1], views[0]]
    order = canonical_order(given, ["unit", "max", "max"])
    assert sorted(order.views) == [0, 1, 2]
    assert len(set(order.source)) == 3
    assert len(canonical_order(given, ["unit", "max", "unit"]).views) == 2


def test_tags_travel_with_their_views(views):
    given, tags = [views[0], views[1], views[0]], ["unit", "max", "max"]
    expected = canonical_order(given, tags)
    for perm in permutations(range(3)):
        permuted, names = [given[v] for v in perm], [tags[v] for v in perm]
        order = canonical_order(permuted, names)
        assert [names[v] for v in order.views] == [tags[v] for v in expected.views]
        assert_same_views(ordered(permuted, order), ordered(given, expected))


@pytest.mark.parametrize("unit", [lambda x: x * 0.3048, lambda x: 1.8 * x + 32, lambda x: x / 1e9])
@pytest.mark.parametrize("v", [0, 1, 3])
def test_another_unit_does_not_move_a_row(views, unit, v):
    changed = [unit(view) if u == v else view for u, view in enumerate(views)]
    expected, order = canonical_order(views), canonical_order(changed)
    np.testing.assert_array_equal(order.rows, expected.rows)
    np.testing.assert_array_equal(order.twin, expected.twin)
    assert order.views == expected.views


def test_equal_rows_have_the_same_twin_and_others_their_own_place(views):
    again = np.concatenate([np.arange(40), [3, 17, 3, 39]])
    repeated = [v[again] for v in views]
    order = canonical_order(repeated)
    np.testing.assert_array_equal(order.twin, naive_twins(repeated, order))
    assert len(np.unique(order.twin)) == 40
    np.testing.assert_array_equal(canonical_order(views).twin, np.arange(40))


def test_rows_that_differ_in_one_view_only_are_no_twins():
    x = np.random.default_rng(2).normal(size=(10, 3))
    order = canonical_order([np.ones((10, 2)), x])
    np.testing.assert_array_equal(order.twin, np.arange(10))


def test_rows_that_swap_their_ranks_between_views_are_no_twins():
    a, b = np.array([[1.0], [2.0], [3.0]]), np.array([[2.0], [1.0], [4.0]])
    expected = canonical_order([a, b])
    np.testing.assert_array_equal(expected.twin, np.arange(3))
    for rows in permutations(range(3)):
        for views in ([a, b], [b, a]):
            permuted = [view[list(rows)] for view in views]
            order = canonical_order(permuted)
            np.testing.assert_array_equal(order.twin, np.arange(3))
            assert_same_views(ordered(permuted, order), ordered([a, b], expected))


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_rows_with_the_same_projection_are_ordered_by_content(make):
    x = np.array([[1e300, 1.0], [1e300, 2.0], [1e300, 3.0], [1e300, 2.0]])
    assert len(np.unique(_projections(x))) == 1
    found = []
    for perm in permutations(range(4)):
        order = canonical_order([make(x[list(perm)])])
        found.append(x[list(perm)][order.rows])
        np.testing.assert_array_equal(order.twin, naive_twins([x[list(perm)]], order))
    assert_same_views(found[1:], found[:-1])


def test_minus_zero_is_zero():
    rng = np.random.default_rng(3)
    x = rng.integers(-1, 2, (30, 3)) * 1.0
    signed = np.where((x == 0) & (rng.random(x.shape) < 0.5), -0.0, x)
    assert np.signbit(signed).sum() > np.signbit(x).sum()
    other = rng.integers(0, 2, (30, 2)) * 1.0
    expected, order = canonical_order([x, other]), canonical_order([signed, other])
    assert_same_views(ordered([signed, other], order), ordered([x, other], expected))
    np.testing.assert_array_equal(order.twin, expected.twin)
    np.testing.assert_array_equal(canonical_order([np.array([[0.0], [-0.0]])]).twin, [0, 0])


def test_dense_and_sparse_copies_come_to_the_same_places(views):
    expected = canonical_order([dense(v) for v in views])
    for kinds in (["d", "s", "d", "s"], ["s", "d", "s", "d"], ["s"] * 4):
        given = [sp.csr_array(v) if kind == "s" else dense(v) for v, kind in zip(views, kinds, strict=True)]
        order = canonical_order(given)
        np.testing.assert_array_equal(order.rows, expected.rows)
        np.testing.assert_array_equal(order.twin, expected.twin)
        assert order.views == expected.views


def test_the_order_of_memory_does_not_matter(views):
    expected, order = canonical_order(views[:2]), canonical_order([np.asfortranarray(v) for v in views[:2]])
    np.testing.assert_array_equal(order.rows, expected.rows)
    assert order.views == expected.views


@pytest.mark.parametrize("n", [1, 2])
def test_a_sample_alone_and_a_constant_view(n):
    order = canonical_order([np.ones((n, 2)), np.zeros((n, 3))])
    np.testing.assert_array_equal(order.twin, np.zeros(n))
    np.testing.assert_array_equal(np.sort(order.rows), np.arange(n))


@st.composite
def small_tables(draw):
    """Views of different widths, with so few values that rows and ranks collide all the time; and permutations."""
    n = draw(st.integers(1, 8))
    arrays = []
    for width in draw(st.permutations([1, 2, 3]))[: draw(st.integers(1, 3))]:
        values = draw(st.lists(st.integers(-1, 1), min_size=n * width, max_size=n * width))
        arrays.append(np.array(values, dtype=float).reshape(n, width))
    return arrays, draw(st.permutations(range(n))), draw(st.permutations(range(len(arrays))))


@given(small_tables())
@settings(max_examples=50)
def test_order_depends_on_content_alone(case):
    arrays, rows, views = case
    permuted = [arrays[v][rows] for v in views]
    expected, order = canonical_order(arrays), canonical_order(permuted)
    assert_same_views(ordered(permuted, order), ordered(arrays, expected))
    np.testing.assert_array_equal(order.twin, expected.twin)
    np.testing.assert_array_equal(order.twin, naive_twins(permuted, order))


# Samples that lack views ------------------------------------------------------------------------------------------


def with_gaps(arrays, present):
    """Zeros where a sample lacks the view, as checked views have them."""
    keep = [present[:, [v]] * 1.0 for v in range(len(arrays))]
    return [
        sp.csr_array(array.multiply(rows)) if sp.issparse(array) else array * rows
        for array, rows in zip(arrays, keep, strict=True)
    ]


@pytest.fixture
def gaps(views):
    present = np.random.default_rng(5).random((40, 4)) < 0.6
    present[:, 3] |= ~present.any(axis=1)
    return with_gaps(views, present), present


def assert_same_order(given, present, order, expected_given, expected_present, expected):
    assert_same_views(ordered(given, order), ordered(expected_given, expected))
    np.testing.assert_array_equal(
        present[order.rows][:, order.views], expected_present[expected.rows][:, expected.views]
    )
    np.testing.assert_array_equal(order.twin, expected.twin)


@pytest.mark.parametrize("seed", range(5))
def test_samples_that_lack_views_come_to_the_same_places(gaps, seed):
    arrays, present = gaps
    rng = np.random.default_rng(seed)
    rows, order = rng.permutation(40), rng.permutation(4)
    permuted = [arrays[v][rows] for v in order]
    mask = present[rows][:, order]
    found, expected = canonical_order(permuted, present=mask), canonical_order(arrays, present=present)
    assert_same_order(permuted, mask, found, arrays, present, expected)
    np.testing.assert_array_equal(expected.twin, np.arange(40))


def test_a_row_that_is_missing_is_not_a_row_of_zeros():
    a, b = np.array([[0.0], [0.0], [1.0], [2.0]]), np.array([[5.0], [5.0], [6.0], [7.0]])
    present = np.ones((4, 2), dtype=bool)
    assert len(np.unique(canonical_order([a, b], present=present).twin)) == 3
    present[1, 0] = False
    places = []
    for rows in permutations(range(4)):
        order = canonical_order([a[list(rows)], b[list(rows)]], present=present[list(rows)])
        np.testing.assert_array_equal(order.twin, np.arange(4))
        places.append(tuple(np.array(rows)[order.rows]))
    assert len(set(places)) == 1


def test_equal_samples_with_equal_gaps_are_twins_and_others_are_not(gaps):
    arrays, present = gaps
    again = np.concatenate([np.arange(40), [3, 17, 3]])
    order = canonical_order([a[again] for a in arrays], present=present[again])
    assert len(np.unique(order.twin)) == 40
    np.testing.assert_array_equal(
        order.twin, naive_twins([*(a[again] for a in arrays), present[again].astype(float)], order)
    )


def test_a_mask_with_nothing_missing_changes_nothing(views):
    order, expected = canonical_order(views, present=np.ones((40, 4), dtype=bool)), canonical_order(views)
    np.testing.assert_array_equal(order.rows, expected.rows)
    np.testing.assert_array_equal(order.twin, expected.twin)
    assert (order.views, order.source) == (expected.views, expected.source)


@pytest.mark.parametrize("unit", [lambda x: x.copy(), lambda x: 1.8 * x + 32], ids=["copy", "fahrenheit"])
def test_a_view_given_twice_counts_once_if_its_gaps_are_the_same(views, unit):
    present = np.ones((40, 3), dtype=bool)
    present[:9, [0, 2]] = False
    given = with_gaps([views[0], views[1], unit(views[0])], present)
    order = canonical_order(given, present=present)
    assert sorted(order.views) in ([0, 1], [1, 2])
    assert order.source[2] == order.source[0]
    present[9, 2] = False
    other = with_gaps(given, present)
    assert sorted(canonical_order(other, present=present).views) == [0, 1, 2]


def test_zeros_in_a_copy_where_the_view_is_missing_make_no_copy(views):
    present = np.ones((40, 3), dtype=bool)
    present[:9, 0] = False
    given = with_gaps([views[0], views[1], views[0]], present)
    given[2] = given[0].copy()  # the same values, but they are there
    assert len(canonical_order(given, present=present).views) == 3


@given(small_tables(), st.data())
@settings(max_examples=50)
def test_order_with_gaps_depends_on_content_alone(case, data):
    arrays, rows, views = case
    n = len(arrays[0])
    flags = data.draw(st.lists(st.booleans(), min_size=n * len(arrays), max_size=n * len(arrays)))
    present = np.array(flags).reshape(n, len(arrays))
    present[0] = True  # some sample has each view
    arrays = with_gaps(arrays, present)
    permuted, mask = [arrays[v][rows] for v in views], present[rows][:, views]
    expected, order = canonical_order(arrays, present=present), canonical_order(permuted, present=mask)
    assert_same_order(permuted, mask, order, arrays, present, expected)
    np.testing.assert_array_equal(order.twin, naive_twins([*permuted, mask.astype(float)], order))


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("factor", "offset"), [(1.0, 0.0), (0.3048, 0.0), (1.8, 32.0)])
def test_the_unit_of_a_copy_brings_it_back(make, factor, offset):
    x = np.random.default_rng(6).normal(3, 2, (20, 4))
    offset = offset if make is np.asarray else 0.0  # sparse views are compared without
    unit, shift = unit_of(make(factor * x + offset), make(x))
    new = np.random.default_rng(7).normal(9, 5, (6, 4))
    for values in (make(factor * new + offset), sp.csr_array(factor * new + offset)):
        np.testing.assert_allclose(unit * dense(values) + shift, new, atol=1e-12)
    if factor == 1.0:
        np.testing.assert_array_equal(unit * new + shift, new)
