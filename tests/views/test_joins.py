from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from manyview.exceptions import ViewsError
from manyview.views.joins import outer_join, spread, unite_ids

tables_of_ids = st.lists(st.lists(st.integers(0, 9), unique=True, max_size=6), min_size=1, max_size=4)


@given(tables_of_ids, st.booleans())
def test_every_row_is_where_its_id_is(tables, as_sparse):
    arrays = [np.array([[id_ + 1, v] for id_ in ids]).reshape(-1, 2) for v, ids in enumerate(tables)]
    given_arrays = [sp.csc_array(array) for array in arrays] if as_sparse else arrays
    joined = outer_join(given_arrays, tables, [f"table {v}" for v in range(len(tables))])
    assert joined.sample_ids.tolist() == list(dict.fromkeys(id_ for ids in tables for id_ in ids))
    for v, ids in enumerate(tables):
        array = joined.arrays[v].toarray() if as_sparse else joined.arrays[v]
        for row, id_ in enumerate(joined.sample_ids):
            assert joined.present[row, v] == (id_ in ids)
            assert array[row].tolist() == ([id_ + 1, v] if id_ in ids else [0, 0])


def test_the_order_that_is_given_comes_first():
    joined = outer_join([np.eye(2), np.eye(2)], [["a", "b"], ["c", "a"]], ["x", "y"], order=["c", "b"])
    assert joined.sample_ids.tolist() == ["c", "b", "a"]


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, bool])
def test_the_type_of_the_values_stays(dtype):
    table = np.ones((2, 3), dtype=dtype)
    assert spread(table, np.array([2, 0]), 3).dtype == dtype
    found = spread(sp.csr_array(table), np.array([2, 0]), 3)
    assert isinstance(found, sp.csr_array)
    assert found.dtype == dtype


def test_a_complete_table_is_not_copied():
    table = np.eye(3)
    assert spread(table, np.arange(3), 3) is table
    assert spread(table, np.array([0, 2, 1]), 3) is not table


@pytest.mark.parametrize(
    "ids",
    [
        np.array(["2024-01-02", "2024-01-01"], dtype="datetime64[ns]"),
        np.array([2.5, 1.5]),
        np.array(["bb", "a"]),
        np.fromiter([("p", 1), ("p", 2)], dtype=object),
    ],
    ids=["dates", "floats", "text", "pairs"],
)
def test_ids_of_any_type(ids):
    everyone, rows = unite_ids([ids, ids[::-1]], ["a", "b"])
    np.testing.assert_array_equal(everyone, ids)
    assert everyone.dtype == ids.dtype
    assert [own.tolist() for own in rows] == [[0, 1], [1, 0]]


def test_the_repeated_id_and_its_table_are_named():
    with pytest.raises(ViewsError, match=r"second: the id 'q' occurs 2 times; 2 id\(s\) are repeated"):
        unite_ids([["p", "q", "r"], ["s", "q", "r", "q", "r"]], ["first", "second"])
