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


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("only_similar", [False, True])
def test_lists_have_the_same_bits_with_any_number_of_threads(words, make, only_similar):
    view, anchors = map(make, words)
    expected = nearest_lists(view, anchors, 9, only_similar=only_similar, n_threads=1)
    for n_threads in (2, 5, None):
        found = nearest_lists(view, anchors, 9, only_similar=only_similar, n_threads=n_threads)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(
    ("n", "m", "d"), [(600, 51, 37), (513, 51, 37), (257, 51, 36), (300, 1, 5), (65, 8, 1), (7, 3, 2)]
)
def test_lists_have_the_same_bits_wherever_a_row_stands(words, make, n, m, d):
    # anchors that are samples: at a distance of zero but for rounding, every bit of the products is seen
    view, anchors = words[0][:n, :d], words[0][n - m : n, :d]
    indices, distances = nearest_lists(make(view), make(anchors), min(m, 9))
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(n)
        found = nearest_lists(make(view[order]), make(anchors), min(m, 9))
        np.testing.assert_array_equal(found[0], indices[order])
        np.testing.assert_array_equal(found[1], distances[order])
    for row in range(n - m, n):
        alone = nearest_lists(make(view[[row]]), make(anchors), min(m, 9), n_threads=1)
        np.testing.assert_array_equal(alone[1][0], distances[row])


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
