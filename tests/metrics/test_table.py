"""Labels of every kind, and what is said about bad ones."""

import numpy as np
import pytest

from manyview.metrics import clustering_scores, contingency
from manyview.metrics.table import in_blocks


def test_classes_in_rows_clusters_in_columns():
    counts = contingency(["b", "a", "b", "b"], [3.0, 1.0, 1.0, 3.0])
    assert counts.table.toarray().tolist() == [[1, 0], [1, 2]]
    assert counts.table.dtype == np.int64
    assert counts.classes.tolist() == ["a", "b"]
    assert counts.clusters.tolist() == [1.0, 3.0]
    assert counts.class_sizes.tolist() == [1, 3]
    assert counts.cluster_sizes.tolist() == [2, 2]
    assert counts.n_samples == 4


@pytest.mark.parametrize(
    "labels",
    [
        [1, "1", 1, "1"],
        [True, False, True, False],
        ["α", "β", "α", "β"],
        [b"x", b"y", b"x", b"y"],
        [frozenset({1}), frozenset({2}), frozenset({1}), frozenset({2})],
        np.array(["x", 3, "x", 3], dtype=object),
        np.array([1, 2, 1, 2], dtype=np.uint8),
        np.array(["2020", "2021", "2020", "2021"], dtype="datetime64[Y]"),
        (2.5, 1, 2.5, 1),
        range(0, 4),
    ],
    ids=lambda labels: f"{type(labels).__name__} of {type(labels[0]).__name__}",
)
def test_any_hashable_is_a_label(labels):
    expected = [0, 1, 2, 3] if isinstance(labels, range) else [0, 1, 0, 1]
    assert set(clustering_scores(labels, expected).values()) == {1.0}
    assert set(clustering_scores(expected, labels).values()) == {1.0}


def test_object_labels_are_sorted_where_they_can_be():
    assert contingency(np.array(["b", "a"], dtype=object), [0, 1]).classes.tolist() == ["a", "b"]
    assert contingency(np.array(["b", 1], dtype=object), [0, 1]).classes.tolist() == ["b", 1]


@pytest.mark.parametrize("name", ["y_true", "y_pred"])
@pytest.mark.parametrize(
    ("bad", "text"),
    [
        ([], "expected at least one label, got none"),
        (np.zeros((3, 1)), r"expected a 1-D array of labels, got shape \(3, 1\). Use .ravel\(\)"),
        ([[0, 1], [1, 0], [1, 1]], r"expected a 1-D array of labels, got shape \(3, 2\)\.$"),
        (np.zeros((3, 1, 1)), r"expected a 1-D array of labels, got shape \(3, 1, 1\)\.$"),
        ([[0, 1], [1]], "rows of different lengths"),
        (7, r"expected a 1-D array of labels, got shape \(\)"),
        ("abc", r"expected a 1-D array of labels, got shape \(\)"),
        ([0.0, np.nan, 1.0], r"1 label\(s\) missing \(NaN or None\), first at position 1"),
        (["a", "b", None], r"1 label\(s\) missing \(NaN or None\), first at position 2"),
        (np.array(["a", np.nan, np.nan], dtype=object), r"2 label\(s\) missing"),
        (np.array(["2020", "NaT", "2021"], dtype="datetime64[D]"), r"1 label\(s\) missing"),
        (np.array([{1}, {2}, {3}], dtype=object), "expected hashable labels.*unhashable"),
    ],
)
def test_bad_labels_are_named(name, bad, text):
    arguments = {"y_true": [0, 1, 1], "y_pred": [0, 1, 1], name: bad}
    with pytest.raises(ValueError, match=rf"^{name}: .*{text}"):
        clustering_scores(**arguments)


def test_different_lengths_are_shown():
    with pytest.raises(ValueError, match=r"y_pred: expected one label per sample like y_true \(3\), got 2"):
        clustering_scores([0, 1, 1], [0, 1])
    with pytest.raises(ValueError, match=r"y_pred: expected one label per sample like y_true \(2\), got 3"):
        clustering_scores([0, 1], [0, 1, 1])


def test_pandas_missing_value():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="y_true: 1 label"):
        clustering_scores(pandas.Series([1, None, 2], dtype="Int64"), [0, 1, 1])
    assert clustering_scores(pandas.Series(["u", "v"], dtype="category"), [0, 1])["acc"] == 1.0


def test_missing_values_among_objects():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match=r"y_true: 1 label\(s\) missing .* position 1"):
        contingency(np.array(["a", pandas.NA, "b"], dtype=object), [0, 1, 1])
    # what cannot say whether it differs from itself is not missing for that
    arrays = np.empty(2, dtype=object)
    arrays[:] = [np.arange(2), np.arange(3)]
    with pytest.raises(ValueError, match=r"y_true: expected hashable labels.*unhashable"):
        contingency(arrays, [0, 1])


def test_a_label_that_refuses_to_be_compared_is_not_missing():
    class Awkward:
        def __ne__(self, other):
            raise TypeError("no")

    one, other = Awkward(), Awkward()
    assert contingency([one, other, one], [0, 1, 0]).table.toarray().tolist() == [[2, 0], [0, 1]]


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (["b", "a"], "U"),
        ([2, 1], "i"),
        ([2, 1.5], "f"),
        ([True, False], "b"),
        ([2, "a"], "O"),
        (np.array(["2021", "2020"], dtype="datetime64[Y]"), "M"),
    ],
)
def test_labels_of_one_kind_keep_it(labels, kind):
    counts = contingency(labels, [0, 1])
    assert counts.classes.dtype.kind == kind
    assert set(counts.classes.tolist()) == set(np.array(labels, dtype=counts.classes.dtype).tolist())


def test_a_thousand_samples_and_classes():
    counts = contingency(range(1000), range(1000, 0, -1))
    np.testing.assert_array_equal(counts.table.toarray(), np.eye(1000)[::-1])


def test_a_table_is_itself_and_stays_so():
    counts = contingency([0, 0, 1], [0, 1, 1])
    assert counts.table.dtype == np.int64
    assert (counts.n_samples, counts.class_sizes.tolist(), counts.cluster_sizes.tolist()) == (3, [2, 1], [1, 2])
    assert counts not in {contingency([0, 0, 1], [0, 1, 1])}  # compared by identity: arrays are not true or false
    with pytest.raises(AttributeError):
        counts.table = None


@pytest.mark.parametrize(
    ("labels", "answer"),
    [
        ([3], True),
        ([2, 2, 2], True),
        ([1, 1, 0, 2, 2], True),
        ([4, 3, 2, 1], True),
        (["b", "b", "a"], True),
        (range(1000), True),
        ([1, 0, 1], False),
        ([0, 0, 1, 1, 0, 0], False),
        ([0, 1, 0, 1, 2, 2], False),
        ([2, 1, 1, 2], False),
        ([0, 1, 2, 0], False),
    ],
)
def test_in_blocks(labels, answer):
    assert in_blocks(np.array(labels)) is answer


def test_the_input_is_left_alone():
    true, pred = np.array([2, 1, 1]), ["b", "a", "b"]
    clustering_scores(true, pred)
    assert true.tolist() == [2, 1, 1]
    assert pred == ["b", "a", "b"]
