from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from manyview.graphs.content import Sketch, mix, repetitions, row_hashes, row_keys, sketch_rows


@pytest.fixture
def arrays():
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.3, (500, 12)).astype(float)
    return [rng.normal(size=(500, 7)).astype(np.float32).astype(float), counts]


def keys_of(arrays, present=None):
    hashes = row_hashes(arrays, present)
    return row_keys(hashes, hashes.sum(axis=0))


def test_hashes_do_not_depend_on_how_values_are_stored(arrays):
    hashes = row_hashes(arrays)
    stored = [np.asfortranarray(arrays[0].astype(np.float32)), sp.csr_array(arrays[1])]
    np.testing.assert_array_equal(row_hashes(stored), hashes)
    signed = [array * np.where(array == 0, -1.0, 1.0) for array in arrays]
    assert np.signbit(signed[1]).any()
    np.testing.assert_array_equal(row_hashes(signed), hashes)
    explicit = sp.csr_array(arrays[1] + 1)
    explicit.data -= 1  # zeros that are stored
    np.testing.assert_array_equal(row_hashes([arrays[0], explicit]), hashes)


def test_hashes_tell_different_rows_apart(arrays):
    hashes = row_hashes(arrays)
    assert len(np.unique(hashes[:, 0])) == 500
    assert len(np.unique(hashes[:, 1])) == len(np.unique(arrays[1], axis=0))
    moved = arrays[0].copy()
    moved[3, [0, 1]] = moved[3, [1, 0]]  # the same values in other columns
    moved[4, 2] = np.nextafter(moved[4, 2], 1)
    np.testing.assert_array_equal(np.flatnonzero(row_hashes([moved])[:, 0] != hashes[:, 0]), [3, 4])


def test_keys_do_not_depend_on_the_order_of_samples_and_views_nor_on_copies(arrays):
    keys = keys_of(arrays)
    order = np.random.default_rng(1).permutation(500)
    np.testing.assert_array_equal(keys_of([array[order] for array in arrays]), keys[order])
    np.testing.assert_array_equal(keys_of(arrays[::-1]), keys)
    np.testing.assert_array_equal(keys_of([*arrays, arrays[0].copy()]), keys)


def test_keys_tell_which_view_holds_what():
    a, b, c = np.random.default_rng(0).normal(size=(3, 5))
    keys = keys_of([np.array([a, b, a]), np.array([b, a, c])])
    assert len(set(keys.tolist())) == 3


def test_a_view_in_another_order_of_the_samples_is_no_copy(arrays):
    other = arrays[0][::-1].copy()
    keys = keys_of([arrays[0], other])
    assert not (keys == keys_of([arrays[0]])).any()
    np.testing.assert_array_equal(keys_of([other, arrays[0]]), keys)


def test_a_missing_view_is_not_a_row_of_zeros(arrays):
    present = np.ones((500, 2), dtype=bool)
    present[:20, 1] = False
    arrays[1][:40] = 0.0
    arrays[0][20:40] = arrays[0][:20]
    keys = keys_of(arrays, present)
    assert not (keys[:20] == keys[20:40]).any()


def test_keys_are_spread_evenly(arrays):
    keys = np.sort(keys_of([np.arange(20000.0)[:, None]])) / 2.0**64
    assert np.abs(keys - np.arange(20000) / 20000).max() < 0.015  # Kolmogorov and Smirnov: 1 in 10^3 at 0.0138


def naive_sketch(keys, first, size):
    found = {}
    for row, key in enumerate(keys.tolist(), start=first):
        count, where = found.get(key, (0, row))
        found[key] = (count + 1, where)
    smallest = sorted(found)[:size]
    return smallest, [found[key][0] for key in smallest], [found[key][1] for key in smallest]


def as_lists(sketch: Sketch):
    return sketch.keys.tolist(), sketch.counts.tolist(), sketch.rows.tolist()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=80), st.integers(1, 40), st.integers(1, 79))
def test_sketches_of_parts_add_up_to_that_of_the_whole(values, size, cut):
    keys = mix(np.array(values, dtype=np.uint64))
    whole = sketch_rows(keys, 0, size)
    assert as_lists(whole) == naive_sketch(keys, 0, size)
    cut = min(cut, len(keys) - 1)
    if cut > 0:
        parts = sketch_rows(keys[:cut], 0, size), sketch_rows(keys[cut:], cut, size)
        assert as_lists(parts[0].joined(parts[1], size)) == as_lists(whole)
        assert as_lists(parts[1].joined(parts[0], size)) == as_lists(whole)


def test_contents_are_repeated_by_their_share():
    np.testing.assert_array_equal(repetitions(np.ones(50, dtype=int), 50), 1)
    np.testing.assert_array_equal(repetitions(np.array([9000, 900, 99, 1]), 1000), [900, 90, 10, 1])
    np.testing.assert_array_equal(repetitions(np.array([7, 1, 2]), 1000), [7, 1, 2])


def test_mix_is_one_to_one_on_small_numbers():
    assert len(np.unique(mix(np.arange(10**5, dtype=np.uint64)))) == 10**5


def test_mixed_numbers_are_those_of_splitmix64():
    """The first three outputs of the generator with seed 0, whose state is multiplied out here."""
    expected = np.array([0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F], dtype=np.uint64)
    np.testing.assert_array_equal(mix(np.arange(1, 4, dtype=np.uint64)), expected)
