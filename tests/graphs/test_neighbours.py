from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manyview.graphs import neighbours
from manyview.graphs.neighbours import nearest_rows, row_blocks, squared_distances


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
