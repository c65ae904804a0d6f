from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manyview.graphs import neighbours
from manyview.graphs.neighbours import nearest_lists, nearest_rows, row_blocks, squared_distances


def naive(a, b):
    return ((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=2)


@pytest.mark.parametrize("as_sparse", [False, True])
def test_distances(as_sparse):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(7, 4)), rng.normal(size=(5, 4))
    given = (sp.csr_array(a), sp.csr_array(b)) if as_sparse else (a, b)
    np.testing.assert_allclose(squared_distances(*given), naive(a, b), atol=1e-12)


def test_distances_survive_a_large_offset():
    rng = np.random.default_rng(1)
    a = rng.normal(size=(20, 3))
    np.testing.assert_allclose(squared_distances(a + 1e6, a + 1e6), naive(a, a), atol=1e-8)


def test_distances_oracle(oracle):
    helpers = oracle("helpers")
    a, b = helpers["in_l2_a"].T, helpers["in_l2_b"].T
    np.testing.assert_allclose(squared_distances(a, b), helpers["out_l2"], atol=1e-8)
    np.testing.assert_allclose(squared_distances(a, a), helpers["out_l2_self"], atol=1e-8)
    one = squared_distances(helpers["in_l2_a1"].T, helpers["in_l2_b1"].T)
    np.testing.assert_allclose(one, helpers["out_l2_1row"], atol=1e-8)


@pytest.mark.parametrize("k", [1, 3, 6])
def test_nearest_rows_equal_a_full_sort(k, monkeypatch):
    monkeypatch.setattr(neighbours, "_BLOCK_ENTRIES", 13)  # many small blocks
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(11, 3)), rng.normal(size=(6, 3))
    indices, distances = nearest_rows(a, b, k)
    full = naive(a, b)
    np.testing.assert_array_equal(indices, np.argsort(full, axis=1)[:, :k])
    np.testing.assert_allclose(distances, np.sort(full, axis=1)[:, :k], atol=1e-12)


def test_self_is_excluded_but_duplicates_are_not():
    a = np.array([[0.0], [0.0], [1.0], [5.0]])
    indices, distances = nearest_rows(a, a, 2, exclude_self=True)
    np.testing.assert_array_equal(indices[:2], [[1, 2], [0, 2]])
    np.testing.assert_array_equal(distances[0], [0.0, 1.0])


def test_row_blocks_cover():
    rows = np.concatenate([np.arange(100_000)[block] for block in row_blocks(100_000, 997)])
    np.testing.assert_array_equal(rows, np.arange(100_000))
    assert [block.stop - block.start for block in row_blocks(3, 10**12)] == [1, 1, 1]


@pytest.fixture(scope="module")
def words():
    """Samples in several blocks of threads, the last one not full, and 51 of them as anchors; most values are zero."""
    rng = np.random.default_rng(3)
    view = rng.normal(size=(600, 37)) * (rng.random((600, 37)) < 0.3)
    return view, view[549:]


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("length", [1, 7, 51])
def test_lists_equal_nearest_rows(words, make, length):
    view, anchors = map(make, words)
    indices, distances = nearest_lists(view, anchors, length)
    expected, exact = nearest_rows(view, anchors, length)
    assert (indices.dtype, distances.dtype) == (np.int32, np.float32)
    np.testing.assert_array_equal(indices, expected)
    np.testing.assert_allclose(distances, exact, rtol=1e-6, atol=1e-12)
    assert (np.diff(distances, axis=1) >= 0).all()


def full_sort(distances, length):
    """By distance, then by index."""
    order = np.argsort(distances, axis=1, kind="stable")[:, :length]
    return order, np.take_along_axis(distances, order, axis=1).astype(np.float32)


def assert_same(found, expected):
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("length", [1, 20, 150, 290, 300])
def test_ties_are_in_the_order_of_the_index(make, dtype, length):
    rng = np.random.default_rng(4)
    view, anchors = (rng.integers(0, 3, size=(count, 4)).astype(dtype) for count in (300, 300))
    assert_same(nearest_lists(make(view), make(anchors), length), full_sort(naive(view, anchors), length))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("m", "d", "length"), [(512, 64, 20), (700, 3, 120), (250, 30, 249)])
def test_lists_equal_a_full_sort(dtype, m, d, length):
    rng = np.random.default_rng(5)
    centres = 4 * rng.normal(size=(6, d))
    view, anchors = ((centres[rng.integers(0, 6, n)] + rng.normal(size=(n, d))).astype(dtype) for n in (300, m))
    indices, distances = nearest_lists(view, anchors, length)
    expected, exact = full_sort(naive(view.astype(np.float64), anchors.astype(np.float64)), length)
    np.testing.assert_array_equal(indices, expected)
    np.testing.assert_allclose(distances, exact, rtol=2e-7)


def test_single_precision_gives_the_lists_of_the_same_numbers_in_double(words):
    view, anchors = (array.astype(np.float32) for array in words)
    single, mixed = (nearest_lists(view, given, 9) for given in (anchors, anchors.astype(np.float64)))
    double = nearest_lists(view.astype(np.float64), anchors.astype(np.float64), 9)
    assert_same(mixed, single)
    np.testing.assert_array_equal(single[0], double[0])
    np.testing.assert_allclose(single[1], double[1], rtol=2e-7)


@pytest.mark.parametrize("scale", [1e-40, 1e-25, 1e18, 1e30])
def test_lists_where_single_precision_ends(words, scale):
    view, anchors = words
    expected = nearest_lists(view, anchors, 9)[0]
    np.testing.assert_array_equal(nearest_lists(view * scale, anchors * scale, 9)[0], expected)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_rows_too_far_for_single_precision_have_neighbours(convert):
    anchors = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    indices, distances = nearest_lists(convert(np.array([[1e15, 0.0], [0.0, 1e30]])), convert(anchors), 2)
    assert indices[0, 0] == 0  # at 1e30 the anchors are one point
    assert np.isfinite(distances).all()


@pytest.mark.parametrize("offset", [1e3, 1e7])
def test_close_neighbours_far_from_the_rest_are_told_apart(offset):
    # the distances that matter are far below what a product in single precision can show
    rng = np.random.default_rng(6)
    line = rng.permutation(400) / 1024
    anchors = np.column_stack([line, np.where(np.arange(400) < 200, offset, -offset)])
    indices, distances = nearest_lists(anchors, anchors, 12)
    assert_same((indices, distances), full_sort(naive(anchors, anchors), 12))
    np.testing.assert_array_equal(indices[:, 0], np.arange(400))


@pytest.mark.parametrize("length", [0, 52])
def test_a_list_is_not_longer_than_there_are_anchors(words, length):
    with pytest.raises(ValueError, match=f"length must be from 1 to the number of anchors, 51, got {length}"):
        nearest_lists(*words, length)


@pytest.mark.parametrize("layout", [np.asfortranarray, lambda array: np.repeat(array, 2, axis=1)[:, ::2]])
def test_any_layout_gives_the_same_bits(words, layout):
    assert_same(nearest_lists(layout(words[0]), layout(words[1]), 9), nearest_lists(*words, 9))


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("only_similar", [False, True])
def test_lists_have_the_same_bits_with_any_number_of_threads(words, make, dtype, only_similar):
    view, anchors = (make(array.astype(dtype)) for array in words)
    expected = nearest_lists(view, anchors, 9, only_similar=only_similar, n_threads=1)
    for n_threads in (2, 5, None):
        assert_same(nearest_lists(view, anchors, 9, only_similar=only_similar, n_threads=n_threads), expected)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("only_similar", [False, True])
@pytest.mark.parametrize(
    ("n", "m", "d"), [(600, 51, 37), (513, 51, 37), (257, 51, 36), (300, 1, 5), (65, 8, 1), (7, 3, 2)]
)
def test_lists_have_the_same_bits_wherever_a_row_stands(words, make, dtype, only_similar, n, m, d):
    # anchors that are samples: at a distance of zero but for rounding, every bit of the products is seen
    view, anchors = words[0][:n, :d].astype(dtype), make(words[0][n - m : n, :d].astype(dtype))

    def lists(rows):
        return nearest_lists(make(view[rows]), anchors, min(m, 9), only_similar=only_similar, n_threads=1)

    indices, distances = lists(np.arange(n))
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(n)
        assert_same(lists(order), (indices[order], distances[order]))
    for row in range(n - m, n, 7):
        assert_same(lists([row]), (indices[[row]], distances[[row]]))


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_rows_have_equal_lists(words, make, dtype):
    view = np.concatenate([words[0], words[0][::-1]]).astype(dtype)
    anchors = np.concatenate([words[1], words[1]]).astype(dtype)
    indices, distances = nearest_lists(make(view), make(anchors), 9)
    assert_same((indices[600:][::-1], distances[600:][::-1]), (indices[:600], distances[:600]))
    # every anchor is there twice, the first of the two comes first, and the last place goes to a first one
    np.testing.assert_array_equal(indices[:, 1::2], indices[:, :-1:2] + 51)
    assert (indices[:, -1] < 51).all()
    np.testing.assert_array_equal(distances[:, 1::2], distances[:, :-1:2])


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_anchors_that_are_not_similar_come_last_at_infinity(words, make):
    view, anchors = words
    indices, distances = nearest_lists(make(view), make(anchors), 51, only_similar=True)
    inner = np.take_along_axis(view @ anchors.T, indices, axis=1)
    np.testing.assert_array_equal(np.isinf(distances), inner <= 0)
    np.testing.assert_array_equal(np.sort(indices, axis=1), np.tile(np.arange(51), (600, 1)))
    exact = np.take_along_axis(naive(view, anchors), indices, axis=1)
    np.testing.assert_allclose(distances[inner > 0], exact[inner > 0], rtol=1e-6, atol=1e-12)
    assert (inner <= 0).any(axis=1).all()
    assert (distances[:, :-1] <= distances[:, 1:]).all()


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_texts_without_a_common_word_are_not_near(make):
    texts = np.array([[0.1, 0, 0], [0, 5, 0]])
    anchors = np.array([[0, 0, 0.1], [9, 0, 0], [0, 0.1, 0.1]])
    indices, distances = nearest_lists(make(texts), make(anchors), 2, only_similar=True)
    np.testing.assert_array_equal(indices[:, 0], [1, 2])
    assert np.isinf(distances[:, 1]).all()
    assert nearest_lists(make(texts), make(anchors), 1)[0][0, 0] == 0


def clusters(n_rows, m, n_clusters=5, d=8, noise=0.3, offset=0.0):
    """Rows and anchors in clear clusters, some rows between them and some far away from all."""
    rng = np.random.default_rng(9)
    centres = 4 * rng.normal(size=(n_clusters, d))
    view, anchors = (centres[rng.integers(n_clusters, size=n)] + noise * rng.normal(size=(n, d)) for n in (n_rows, m))
    view[::7] = centres[rng.integers(n_clusters, size=len(view[::7]))] / 2 + centres[0] / 2
    view[::31] *= 20
    return view + offset, anchors + offset


def grouped(anchors, length, dtype):
    return neighbours._AnchorGroups.of(neighbours._DenseAnchors.of(anchors, dtype), length)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("length", [1, 20, 60])
@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_groups_change_no_bit(dtype, length, offset, scale, monkeypatch):
    view, anchors = (scale * each for each in clusters(3000, 600, offset=offset))
    view, anchors = view.astype(dtype), anchors.astype(dtype)
    groups = grouped(anchors, length, dtype)
    assert groups is not None
    assert max(len(near.values) for near in groups.near) < 300
    found = nearest_lists(view, anchors, length)
    monkeypatch.setattr(neighbours, "_FEW_ANCHORS", 10**9)
    assert_same(found, nearest_lists(view, anchors, length))


@pytest.mark.parametrize("exponent", [-40, -38, -20, -18, 17.2, 18, 19, 37])
def test_groups_where_single_precision_ends(exponent, monkeypatch):
    view, anchors = (10.0**exponent * each for each in clusters(1600, 400))
    found = nearest_lists(view, anchors, 9)
    monkeypatch.setattr(neighbours, "_FEW_ANCHORS", 10**9)
    assert_same(found, nearest_lists(view, anchors, 9))


def test_groups_with_ties_within_and_between(monkeypatch):
    rng = np.random.default_rng(10)
    view, anchors = (rng.integers(0, 3, (n, 3)) + 50 * rng.integers(0, 4, (n, 1)) for n in (2000, 500))
    view, anchors = view.astype(np.float64), anchors.astype(np.float64)
    view[0] = 26  # as near to one group as to the next
    for length in (1, 40, 110, 400):
        assert_same(nearest_lists(view, anchors, length), full_sort(naive(view, anchors), length))
    assert grouped(anchors, 40, np.float64) is not None


def test_what_groups_rule_out_is_farther_than_the_list_is_long():
    view, anchors = clusters(500, 400)
    groups = grouped(anchors, 30, np.float64)
    nearest, left = groups._bounds(groups.anchors.centre_rows(view))
    apart = naive(view, anchors)
    listed = np.sort(apart, axis=1)[:, 29]
    ruled_out = ~left[:, groups.group]
    assert ruled_out.mean() > 0.5
    assert (apart[ruled_out] > np.broadcast_to(listed[:, None], apart.shape)[ruled_out]).all()
    for row, near in zip(nearest, left, strict=True):  # what is compared with some anchors has no others left
        if not (near & ~groups.needed[row]).any():
            assert set(np.flatnonzero(near[groups.group])) <= set(groups.near[row].numbers)


@pytest.mark.parametrize("noise", [1.0, 3.0])
def test_there_are_no_groups_where_clusters_overlap(noise):
    assert grouped(clusters(10, 600, d=40, noise=3 * noise)[1], 30, np.float64) is None
    assert grouped(np.random.default_rng(11).normal(size=(600, 5)), 30, np.float64) is None


def test_groups_take_little_memory():
    # clusters in a row, each near the next: every group needs others, and each would have a copy of these
    rng = np.random.default_rng(12)
    chain = np.arange(600)[:, None] / 5 + rng.normal(size=(600, 2)) / 10
    groups = grouped(chain, 60, np.float64)
    assert groups is None or sum(len(near.values) for near in groups.near) <= 4 * 600
