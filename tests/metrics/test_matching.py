"""The matching of clusters to classes."""

from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from manyview.metrics import accuracy, clustering_scores, contingency, match_labels
from manyview.metrics.matching import best_matching

labellings = st.integers(1, 40).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 9), min_size=n, max_size=n) for _ in range(2)])
)


@given(labellings)
def test_as_good_as_the_dense_hungarian_method(labels):
    counts = contingency(*labels)
    table = counts.table.toarray()
    rows, columns = best_matching(counts)
    assert len(set(rows.tolist())) == len(set(columns.tolist())) == len(rows)
    assert (table[rows, columns] > 0).all()
    assert table[rows, columns].sum() == table[linear_sum_assignment(table, maximize=True)].sum()


@pytest.mark.parametrize(("n_classes", "n_clusters"), [(400, 400), (7, 900), (900, 7)])
def test_large_tables_against_the_dense_hungarian_method(n_classes, n_clusters):
    rng = np.random.default_rng(0)
    true, pred = rng.integers(n_classes, size=5000), rng.integers(n_clusters, size=5000)
    table = contingency(true, pred).table.toarray()
    best = table[linear_sum_assignment(table, maximize=True)].sum()
    assert accuracy(true, pred) == pytest.approx(best / 5000, abs=1e-15)


@given(labellings)
def test_relabelling_shows_the_accuracy_and_keeps_the_partition(labels):
    true, pred = labels
    matched = match_labels(true, pred)
    assert np.mean(matched == np.array(true)) == pytest.approx(accuracy(true, pred), abs=1e-12)
    assert set(clustering_scores(pred, matched).values()) == {1.0}


def test_clusters_without_a_class_get_names_of_their_own():
    assert match_labels([1, 1, 1, 1, 1, 1, 1], [5, 5, 5, 3, 4, 4, 5]).tolist() == [1, 1, 1, 3, 2, 2, 1]
    assert match_labels([0.5, 0.5, 0.5], [9, 9, 1]).tolist() == [0.5, 0.5, 1.0]
    assert match_labels([True, True, False], [0, 1, 2]).tolist().count(2) == 1
    names = match_labels(["unmatched 1", "b", "b"], [0, 1, 2]).tolist()
    assert names[0] == "unmatched 1"
    assert sorted(names[1:]) == ["b", "unmatched 2"]


@pytest.mark.parametrize(
    ("classes", "expected", "dtype"),
    [
        (np.array([-3, -3, -1], dtype=np.int8), [-3, 0, -1], np.int16),
        (np.array([7, 7, 255], dtype=np.uint8), [7, 256, 255], np.uint16),
        (np.array([7, 7, 9], dtype=np.uint64), [7, 10, 9], np.uint64),
        (np.array([1.5, 1.5, -2], dtype=np.float32), [1.5, 2, -2], np.float32),
        (np.array([1, 1, 2**24], dtype=np.float32), [1, 2**24 + 1, 2**24], np.float64),
        (np.array([1, 1, 2.0**53 - 1]), [1, 2.0**53, 2.0**53 - 1], np.float64),
        # no next integer in their type
        (np.array([1, 1, 2**64 - 1], dtype=np.uint64), [1, "unmatched 1", 2**64 - 1], object),
        (np.array([1, 1, 2.0**53]), [1, "unmatched 1", 2.0**53], object),
        (np.array([1, 1, np.inf]), [1, "unmatched 1", np.inf], object),
        # neither numbers nor text
        (np.array([1, 1, 2], dtype="datetime64[D]"), [date(1970, 1, 2), "unmatched 1", date(1970, 1, 3)], object),
        (np.array([b"a", b"a", b"b"]), [b"a", "unmatched 1", b"b"], object),
        (np.array([1j, 1j, 2]), [1j, "unmatched 1", 2 + 0j], object),
        (np.array(["a", "a", "b"]), ["a", "unmatched 1", "b"], np.dtype("U11")),
    ],
    ids=lambda value: str(value.dtype) if isinstance(value, np.ndarray) else "",
)
def test_names_for_every_kind_of_class(classes, expected, dtype):
    matched = match_labels(classes, [4, 5, 6])
    # which of the clusters 4 and 5 gets the class is open
    assert sorted(matched.tolist(), key=str) == sorted(expected, key=str)
    assert matched[2] == classes[2]
    assert matched.dtype == dtype
    np.testing.assert_array_equal(match_labels(classes, [4, 4, 6]), classes)
    assert match_labels(classes, [4, 4, 6]).dtype == classes.dtype


@pytest.mark.parametrize(("largest", "dtype"), [(99, np.uint8), (253, np.uint16)])
def test_the_type_has_room_for_all_new_names(largest, dtype):
    matched = match_labels(np.array([7, 7, 7, 7, largest], dtype=np.uint8), [0, 1, 2, 3, 4])
    assert sorted(matched.tolist()) == [7, *range(largest, largest + 4)]
    assert matched.dtype == dtype


def test_a_cluster_that_shares_nothing_with_the_class_left_over_is_not_called_after_it():
    # class "b" is in cluster 0 only, which "a" wins; cluster 1 holds nothing but "a"
    matched = match_labels(["a", "a", "a", "b", "a"], [0, 0, 0, 0, 1]).tolist()
    assert matched == ["a", "a", "a", "a", "unmatched 1"]


def test_mixed_classes():
    assert match_labels(["x", 1, 1, "x"], [0, 4, 4, 0]).tolist() == ["x", 1, 1, "x"]
