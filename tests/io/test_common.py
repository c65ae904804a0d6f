from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from manyview.exceptions import FileFormatError
from manyview.io._common import checked_csr, reading, text_array


@pytest.mark.parametrize(
    "indptr",
    [[0, 2, 1, 2, 2], [0, 2**63 - 1, -(2**63), -1, 2]],
    ids=["back and forth", "differences overflow"],
)
def test_index_pointers_must_not_decrease(indptr):
    matrix = sp.csr_array((4, 3))
    matrix.data, matrix.indices = np.ones(2), np.array([0, 1], dtype=np.int64)
    matrix.indptr = np.array(indptr, dtype=np.int64)
    with pytest.raises(ValueError, match=r"index pointers must not decrease|indptr"):
        checked_csr(matrix, "file", 10**9)


def test_a_sparse_matrix_of_empty_rows_takes_no_memory():
    """200 bytes of a file can announce 2**40 rows; each would take an index pointer."""
    with pytest.raises(FileFormatError, match=r"a\.mtx: announces a sparse matrix of 1,099,511,627,776 x 3 with 0"):
        checked_csr(sp.coo_array((2**40, 3)), "a.mtx", 2**50)


def test_up_to_16_rows_or_columns_for_each_entry(monkeypatch):
    monkeypatch.setattr("manyview.io._common._FREE_POINTERS", 10)
    entries = np.ones(2), ([0, 1], [0, 0])
    assert checked_csr(sp.coo_array(entries, shape=(32, 1)), "a.mtx", 10**9).shape == (32, 1)
    with pytest.raises(FileFormatError, match=r"a\.mtx: announces a sparse matrix of 33 x 1 with 2 entries"):
        checked_csr(sp.coo_array(entries, shape=(33, 1)), "a.mtx", 10**9)


def test_a_small_matrix_may_be_empty():
    assert checked_csr(sp.coo_array((1000, 3)), "a.mtx", 10**9).shape == (1000, 3)


def test_texts_may_be_half_as_long_as_the_longest(monkeypatch):
    monkeypatch.setattr("manyview.io._common._FREE_CHARACTERS", 0)
    assert text_array(["abcd", "ab", "a", "a"], "a.csv").tolist() == ["abcd", "ab", "a", "a"]
    with pytest.raises(FileFormatError, match=r"a\.csv: .* one of 4 characters among 4: 'abcd'"):
        text_array(["abcd", "a", "a", "a"], "a.csv")


def test_one_long_text_among_short_ones():
    """In an array each takes as many bytes as the longest: 100 KB become 20 GB."""
    with pytest.raises(FileFormatError, match=r"a\.csv: .* one of 100,000 characters among 50,001: 'zz.*zz'. Shorten"):
        text_array(["a"] * 50_000 + ["z" * 100_000], "a.csv")
    assert text_array(["a", "z" * 100_000], "a.csv").dtype == "<U100000"


def test_numbers_without_sense_are_no_warnings(tmp_path):
    with warnings.catch_warnings(), reading(tmp_path, "numbers"):
        warnings.simplefilter("error")
        np.array([np.nan, 1e300]).astype(np.int64)
