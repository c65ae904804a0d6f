from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.utils import _safe_indexing, resample
from sklearn.utils.validation import _num_samples

from manyview import Views, check_views
from manyview.exceptions import ViewsError
from manyview.views.checks import check_block, check_new_views
from manyview.views.new_samples import match_fitted
from manyview.views.wide import cut_table


@pytest.fixture
def tables():
    rng = np.random.default_rng(0)
    return rng.random((6, 3)), rng.random((6, 5))


def dense(array):
    return array.toarray() if sp.issparse(array) else np.asarray(array)


def mask(n_samples, n_views, *missing):
    """A mask with these (sample, view) missing."""
    present = np.ones((n_samples, n_views), dtype=bool)
    for sample, view in missing:
        present[sample, view] = False
    return present


def test_names_sizes_and_access(tables):
    views = Views(tables, names=["colour", "texture"], labels=[0, 0, 1, 1, 2, 2], sample_ids=list("abcdef"))
    assert (views.n_samples, views.n_views) == (6, 2)
    assert views.n_features == (3, 5)
    assert views["texture"] is tables[1]
    assert views.arrays[0] is tables[0]
    assert [(name, x.shape) for name, x in views.items()] == [("colour", (6, 3)), ("texture", (6, 5))]
    assert repr(views) == "Views(6 samples; colour: 3, texture: 5; 3 classes)"
    with pytest.raises(KeyError, match="no view named 'shape'; there are colour, texture"):
        views["shape"]


def test_views_are_a_table_of_samples(tables):
    views = Views([*tables, tables[0]])
    assert len(views) == 6
    assert views.shape == (6, 11)
    assert views.n_views == 3


@pytest.mark.parametrize("go_over", [iter, list, enumerate, lambda views: [*views]])
def test_views_cannot_be_gone_over(tables, go_over):
    text = "cannot be iterated over. For the views: views.arrays, views.items(); for samples: views[rows]."
    with pytest.raises(TypeError, match=re.escape(text)):
        go_over(Views(tables))


@pytest.mark.parametrize("key", [0, -1, 7, np.int64(1), (0, ...), (np.int32(0), Ellipsis)])
def test_an_integer_could_be_a_view_or_a_sample(tables, key):
    number = key[0] if isinstance(key, tuple) else key
    text = f"views[{number}] could be a view or a sample. For the view: views.arrays[{number}] or by name; for the"
    with pytest.raises(TypeError, match=re.escape(f"{text} sample: views[[{number}]].")):
        Views(tables)[key]


@pytest.mark.parametrize("key", [(), (0, 1), (slice(2), 0), ("colour", "texture"), (0, 1, ...)])
def test_several_keys_are_refused(tables, key):
    with pytest.raises(TypeError, match=r"indexed by samples \(a slice, a mask or integers\) or by the name of a view"):
        Views(tables, names=["colour", "texture"])[key]


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, sp.coo_matrix, pd.DataFrame])
@pytest.mark.parametrize(
    ("key", "rows"),
    [
        (slice(1, 4), [1, 2, 3]),
        (slice(None, None, -2), [5, 3, 1]),
        (slice(0, 0), []),
        ([4, 1, 4], [4, 1, 4]),
        ([-1], [5]),
        (range(2), [0, 1]),
        (np.array([3], dtype=np.uint8), [3]),
        ([True, False, False, True, False, False], [0, 3]),
        (np.arange(6) > 3, [4, 5]),
        (pd.Series(np.arange(6) < 1), [0]),
        ([], []),
        (np.array([]), []),
    ],
    ids=str,
)
def test_samples_are_selected(tables, convert, key, rows):
    present = mask(6, 2, (1, 0), (4, 1))
    views = Views(
        [convert(x) for x in tables],
        names=["colour", "texture"],
        labels=list("xxyyzz"),
        sample_ids=np.arange(6) + 10,
        present=present,
        feature_names=[list("rgb"), None],
        metadata=pd.DataFrame({"age": [31, 32, 33, 34, 35, 36]}, index=list("abcdef")),
    )
    for found in (views[key], views[key, ...], views.take(rows if len(rows) else slice(0))):
        assert len(found) == found.n_samples == len(rows)
        assert (found.names, found.n_features) == (views.names, views.n_features)
        for x, original in zip(found.arrays, tables, strict=True):
            np.testing.assert_array_equal(dense(x), original[rows] if rows else original[:0])
        assert found.sample_ids.tolist() == [row + 10 for row in rows]
        assert found.labels.tolist() == ["xxyyzz"[row] for row in rows]
        kept = present[rows] if rows else present[:0]
        np.testing.assert_array_equal(np.ones_like(kept) if found.present is None else found.present, kept)
        assert found.feature_names == (("r", "g", "b"), None)
        assert found.metadata["age"].tolist() == [31 + row for row in rows]
        assert found.metadata.index.tolist() == ["abcdef"[row] for row in rows]


@pytest.mark.parametrize("key", [[6], [True, False], [[0, 1]], [0.5]])
def test_samples_that_are_not_there(tables, key):
    with pytest.raises((IndexError, ViewsError)):
        Views(tables)[key]


def test_scikit_learn_takes_views_for_a_table(tables):
    views = Views(tables, labels=[0, 1, 0, 1, 0, 1])
    assert _num_samples(views) == 6
    assert [len(part) for part in train_test_split(views, test_size=2, random_state=0)] == [4, 2]
    for train, test in StratifiedKFold(3).split(views, views.labels):
        np.testing.assert_array_equal(_safe_indexing(views, train).arrays[1], tables[1][train])
        np.testing.assert_array_equal(_safe_indexing(views, test).labels, views.labels[test])
    np.testing.assert_array_equal(_safe_indexing(views, views.labels == 1).arrays[0], tables[0][1::2])
    first, second = resample(views, views.labels, random_state=0)
    np.testing.assert_array_equal(first.labels, second)


def test_feature_names_are_those_of_the_columns(tables):
    frame = pd.DataFrame(tables[0], columns=list("rgb"))
    assert Views([frame, tables[1]]).feature_names == (("r", "g", "b"), None)
    assert Views([pd.DataFrame(tables[0]), sp.csr_array(tables[1])]).feature_names == (None, None)
    assert Views(tables, feature_names=[[1, 2, 3], None]).feature_names == (("1", "2", "3"), None)
    assert Views([frame, tables[1]], feature_names=[None, list("abcde")]).feature_names == (None, tuple("abcde"))
    assert check_views([frame, tables[1]]).feature_names == (("r", "g", "b"), None)


@pytest.mark.parametrize(
    ("feature_names", "message"),
    [
        ([["r", "g", "b"]], "feature_names: expected one list per view (2), got 1."),
        ([], "feature_names: expected one list per view (2), got 0."),
        ([["r", "g"], None], "feature_names of views['a']: expected one per column (3), got 2."),
        ([None, list("abcdef")], "feature_names of views['b']: expected one per column (5), got 6."),
    ],
)
def test_wrong_numbers_of_feature_names_are_refused(tables, feature_names, message):
    with pytest.raises(ViewsError, match=re.escape(message)):
        Views(tables, names=["a", "b"], feature_names=feature_names)


@pytest.mark.parametrize("n_rows", [0, 5, 7])
def test_metadata_has_a_row_for_each_sample(tables, n_rows):
    with pytest.raises(ViewsError, match=rf"metadata: expected one row per sample \(6\), got {n_rows}\."):
        Views(tables, metadata=pd.DataFrame({"age": range(n_rows)}))


def test_metadata_survives_check_and_shuffle(tables):
    views = Views(tables, labels=np.arange(6), metadata=pd.DataFrame({"age": range(40, 46)}))
    shuffled = check_views(views).shuffled(0)
    assert shuffled.metadata["age"].tolist() == [40 + row for row in shuffled.labels]


@pytest.mark.parametrize("convert", [np.asarray, sp.csc_array, pd.DataFrame])
def test_take_and_shuffle_keep_rows_together(tables, convert):
    views = Views([convert(x) for x in tables], labels=np.arange(6), sample_ids=np.arange(6) + 10)
    shuffled = views.shuffled(3)
    assert not np.array_equal(shuffled.labels, views.labels)
    np.testing.assert_array_equal(np.sort(shuffled.labels), views.labels)
    np.testing.assert_array_equal(shuffled.sample_ids, shuffled.labels + 10)
    for x, original in zip(shuffled.arrays, tables, strict=True):
        np.testing.assert_array_equal(dense(x), original[shuffled.labels])
    np.testing.assert_array_equal(views.take([4, 1]).labels, [4, 1])
    np.testing.assert_array_equal(views.take(views.labels < 2).labels, [0, 1])
    np.testing.assert_array_equal(views.shuffled(3).labels, shuffled.labels)


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float32, np.float64, bool, object])
def test_numbers_of_any_type_become_float64(dtype):
    table = np.array([[0, 1], [1, 0], [1, 1]]).astype(dtype)
    checked = check_views([table, table])
    assert checked.arrays[0].dtype == np.float64
    np.testing.assert_array_equal(checked.arrays[0], table.astype(float))


def test_sparse_views_get_short_indices():
    view = sp.csr_array(np.eye(3))
    view.indices, view.indptr = view.indices.astype(np.int64), view.indptr.astype(np.int64)
    (checked,) = check_views([view], min_views=1).arrays
    assert (checked.indices.dtype, checked.indptr.dtype) == (np.int32, np.int32)
    assert view.indices.dtype == np.int64
    np.testing.assert_array_equal(checked.toarray(), np.eye(3))


def test_sparse_stays_sparse_and_untouched():
    unsorted = sp.csr_array((np.array([2.0, 1.0, 5.0]), np.array([1, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    before = unsorted.indices.copy()
    checked = check_views({"dense": np.eye(2), "sparse": unsorted, "matrix": sp.coo_matrix(np.eye(2))})
    assert isinstance(checked["sparse"], sp.csr_array)
    assert isinstance(checked["matrix"], sp.csr_array)
    assert checked["sparse"].has_canonical_format
    np.testing.assert_array_equal(checked["sparse"].toarray(), [[1, 2], [0, 5]])
    np.testing.assert_array_equal(unsorted.indices, before)


def test_clean_input_is_not_copied(tables):
    assert np.shares_memory(check_views(tables).arrays[0], tables[0])


def test_fortran_order_becomes_c_order(tables):
    assert check_views([np.asfortranarray(x) for x in tables]).arrays[0].flags.c_contiguous


def test_frames_bring_their_ids(tables):
    ids = [f"tumour {i}" for i in range(6)]
    frames = {"mrna": pd.DataFrame(tables[0], index=ids), "mirna": pd.DataFrame(tables[1], index=ids)}
    checked = check_views(frames)
    assert list(checked.sample_ids) == ids
    np.testing.assert_array_equal(checked["mirna"], tables[1])
    assert check_views([pd.DataFrame(x) for x in tables]).sample_ids is None


def test_frames_in_another_order_are_refused(tables):
    a = pd.DataFrame(tables[0], index=list("abcdef"))
    b = pd.DataFrame(tables[1], index=list("abdcef"))
    with pytest.raises(ViewsError, match=r"views\['view1'\]: its index differs from that of views\['view0'\] \(row 2"):
        check_views([a, b])


def test_frames_with_other_ids_are_joined(tables):
    a = pd.DataFrame(tables[0], index=list("abcdef"))
    b = pd.DataFrame((10 * tables[1]).astype(int), index=list("fehgdc"))
    views = Views.from_frames({"mrna": a, "mirna": b})
    assert views.names == ("mrna", "mirna")
    assert views.sample_ids.tolist() == list("abcdefhg")
    for name, frame, column in (("mrna", a, 0), ("mirna", b, 1)):
        there = views.present[:, column]
        assert [id_ for id_, is_there in zip(views.sample_ids, there, strict=True) if is_there] == sorted(
            frame.index, key=views.sample_ids.tolist().index
        )
        np.testing.assert_array_equal(views[name][there], frame.loc[views.sample_ids[there]])
        assert not views[name][~there].any()
    np.testing.assert_array_equal(check_views(views).present, views.present)


def test_joined_frames_may_have_ids_of_several_levels(tables):
    ids = pd.MultiIndex.from_product([["p", "q"], [1, 2, 3]])
    frames = {"a": pd.DataFrame(tables[0], index=ids), "b": pd.DataFrame(tables[1][1:], index=ids[1:])}
    views = Views.from_frames(frames)
    assert views.sample_ids[0] == ("p", 1)
    assert views.present[:, 1].tolist() == [False] + [True] * 5


def test_joined_frames_may_be_empty_or_complete(tables):
    ids = list("abcdef")
    a, b = pd.DataFrame(tables[0], index=ids), pd.DataFrame(tables[1], index=ids)
    assert Views.from_frames({"a": a, "b": b.iloc[::-1]}).present is None
    views = Views.from_frames({"a": a, "b": b[:0]})
    assert views.n_features == (3, 5)
    assert not views.present[:, 1].any()


FRAMES = {
    "a": pd.DataFrame({"x": [1.0, 2.0]}, index=["p", "q"]),
    "b": pd.DataFrame({"y": [3.0, 4.0]}, index=["q", "r"]),
}
FACTS = pd.DataFrame({"kind": ["u", "v"], "age": [30, 40]}, index=["r", "p"])


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (pd.Series(["v", "u", "w"], index=["q", "p", "z"]), ["u", "v", None]),
        ({"r": 3, "p": 1}, [1, None, 3]),
        ({"r": 3, "p": 1, "q": 2}, [1, 2, 3]),
        ("kind", ["v", None, "u"]),
        ("age", [40, None, 30]),
    ],
)
def test_labels_and_metadata_of_frames_follow_their_ids(labels, expected):
    views = Views.from_frames(FRAMES, labels=labels, metadata=FACTS)
    assert views.labels.tolist() == expected
    assert views.metadata.index.tolist() == ["p", "q", "r"]
    assert views.metadata["kind"].fillna("-").tolist() == ["v", "-", "u"]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"labels": [0, 1, 1]}, "labels: expected a Series with the ids of the samples as its index.* got list"),
        ({"labels": pd.Series([0, 1, 1])}, "labels: expected a Series with the ids"),
        ({"labels": {"z": 1}}, "labels: its ids and those of the frames have nothing in common, such as 'z' and 'p'"),
        ({"labels": "kind"}, "got 'kind'; there is no metadata"),
        ({"labels": "sort", "metadata": FACTS}, "got 'sort'; it has 'kind', 'age'"),
        ({"metadata": FACTS.reset_index()}, "metadata: expected a data frame with the ids of the samples"),
        ({"metadata": FACTS.set_axis(["p", "p"])}, "metadata: the id 'p' occurs more than once"),
    ],
)
def test_labels_and_metadata_that_do_not_belong_to_the_frames(given, error):
    with pytest.raises(ViewsError, match=error):
        Views.from_frames(FRAMES, **given)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda frame: frame.set_axis(list("abcabd")),
            r"views\['b'\]: the id 'a' occurs 2 times; 2 id.s. are repeated",
        ),
        (lambda frame: frame.set_axis(["x", None, *"abcd"]), r"views\['b'\]: a sample has no id"),
        (lambda frame: frame.set_axis(list(range(6))), r"views\['b'\]: its ids are not text, such as 0, .* as 'a'"),
        (lambda frame: frame.reset_index(drop=True), r"views\['b'\]: its index only counts the rows, .*set_index"),
        (lambda frame: frame.to_numpy(), r"views\['b'\]: expected a data frame, got ndarray"),
        (lambda frame: frame.assign(sex="f"), r"views\['b'\]: expected numeric columns, but 'sex'"),
    ],
)
def test_frames_that_cannot_be_joined(tables, change, message):
    a, b = (pd.DataFrame(table, index=list("abcdef")) for table in tables)
    with pytest.raises(ViewsError, match=message):
        Views.from_frames({"a": a, "b": change(b)})


@pytest.mark.parametrize("frames", [{}, [pd.DataFrame()], pd.DataFrame()], ids=["nothing", "list", "one frame"])
def test_what_is_no_dict_of_frames(frames):
    with pytest.raises(ViewsError, match="frames: expected a dict of data frames, one per view, got"):
        Views.from_frames(frames)


def test_frames_that_do_not_fit_hint_at_the_join(tables):
    a, b = (pd.DataFrame(table, index=list("abcdef")) for table in tables)
    with pytest.raises(ViewsError, match=r"expected 6 rows like .*, got 5\. Views.from_frames joins data frames"):
        check_views({"a": a, "b": b[:5]})
    with pytest.raises(ViewsError, match=r"or Views.from_frames joins them on their indexes"):
        check_views({"a": a, "b": b[::-1]})


def test_gaps_and_equal_samples_only_where_allowed(tables):
    table = tables[0].copy()
    table[2, 1] = np.nan
    with pytest.raises(ViewsError, match=r"views\['view0'\]: contains NaN, first at row 2, column 1"):
        check_views([table, tables[1]])
    np.testing.assert_array_equal(check_views([table, tables[1]], may_have_gaps=True).arrays[0], table)
    with pytest.raises(ViewsError, match="every sample has the same values"):
        check_views([np.ones((6, 2)), tables[1]])
    assert check_views([np.ones((6, 2)), tables[1]], may_be_constant=True).n_samples == 6


def test_labels_and_ids_survive_the_check(tables):
    given = Views(tables, names=["a", "b"], labels=list("xxyyzz"), sample_ids=range(6))
    checked = check_views(given)
    assert list(checked.labels) == list("xxyyzz")
    assert checked.names == ("a", "b")


@given(st.lists(st.integers(1, 4), min_size=1, max_size=5), st.booleans())
def test_one_table_is_cut_into_views(sizes, as_sparse):
    table = np.random.default_rng(0).random((4, sum(sizes)))
    checked = check_views(sp.csr_array(table) if as_sparse else table, view_sizes=sizes)
    assert checked.n_features == tuple(sizes)
    parts = [x.toarray() if sp.issparse(x) else x for x in checked.arrays]
    np.testing.assert_array_equal(np.hstack(parts), table)


def test_one_table_is_cut_into_so_many_views():
    table = np.random.default_rng(0).random((4, 7))
    assert check_views(table, view_sizes=3).n_features == (2, 3, 2)
    assert check_views(table.tolist(), view_sizes=2).n_features == (4, 3)
    assert check_views(pd.DataFrame(table), view_sizes=2).n_features == (4, 3)


def test_one_frame_that_is_cut_brings_its_ids():
    table = pd.DataFrame(np.random.default_rng(0).random((4, 7)))
    assert check_views(table, view_sizes=2).sample_ids is None
    assert check_views(table.set_axis(list("abcd")), view_sizes=2).sample_ids.tolist() == list("abcd")


# Samples that lack views ------------------------------------------------------------------------------------------


def test_rows_of_nan_are_missing(tables):
    a, b = (table.copy() for table in tables)
    a[2], b[[0, 5]] = np.nan, np.nan
    checked = check_views({"a": a, "b": b})
    np.testing.assert_array_equal(checked.present, mask(6, 2, (2, 0), (0, 1), (5, 1)))
    for view, table, rows in ((checked["a"], tables[0], [2]), (checked["b"], tables[1], [0, 5])):
        assert not view[rows].any()
        np.testing.assert_array_equal(np.delete(view, rows, axis=0), np.delete(table, rows, axis=0))


@pytest.mark.parametrize("convert", [np.asarray, np.asfortranarray, sp.csr_array, sp.coo_matrix, pd.DataFrame])
def test_a_mask_says_which_rows_are_missing(tables, convert):
    present = mask(6, 2, (1, 0), (3, 0), (4, 1))
    checked = check_views([convert(table) for table in tables], present=present)
    np.testing.assert_array_equal(checked.present, present)
    for v, table in enumerate(tables):
        assert sp.issparse(checked.arrays[v]) == (convert in (sp.csr_array, sp.coo_matrix))
        np.testing.assert_array_equal(dense(checked.arrays[v]), np.where(present[:, [v]], table, 0.0))
        assert not sp.issparse(checked.arrays[v]) or checked.arrays[v].has_canonical_format


def test_zeros_that_a_sparse_view_stores_are_dropped_from_a_copy():
    given = sp.csr_array((np.array([1.0, 0.0, 2.0, 0.0]), [0, 1, 1, 0], [0, 2, 3, 4]), shape=(3, 2))
    checked = check_views([given, np.eye(3)]).arrays[0]
    assert (checked.nnz, given.nnz) == (2, 4)
    np.testing.assert_array_equal(checked.toarray(), given.toarray())


@pytest.mark.parametrize("value", [1e151, -1.7e308])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, sp.coo_array, pd.DataFrame])
def test_values_too_large_to_be_squared_are_refused(tables, convert, value):
    a = tables[0].copy()
    a[3, 1] = value
    text = f"views['a']: its largest value, {value:.3g} at row 3, column 1, is too large to be squared"
    with pytest.raises(ViewsError, match=re.escape(text)):
        check_views({"a": convert(a), "b": tables[1]})
    a[3, 1] = 1e150
    check_views({"a": convert(a), "b": tables[1]})


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_views_too_small_to_be_squared_are_refused(tables, convert):
    a = tables[0] / abs(tables[0]).max()
    with pytest.raises(ViewsError, match=r"views\['a'\]: its largest absolute value, 9e-151, is too small"):
        check_views({"a": convert(a * 9e-151), "b": tables[1]})
    check_views({"a": convert(a * 1e-150), "b": tables[1]})
    check_views({"a": convert(a * 9e-151), "b": tables[1]}, may_be_constant=True)  # new samples near the origin


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e308])
@pytest.mark.parametrize("zero_rows", ["values", "missing"])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, pd.DataFrame])
def test_values_of_rows_that_are_not_there_are_never_looked_at(tables, convert, zero_rows, value):
    a = tables[0].copy()
    a[3, 1:] = value
    present = mask(6, 2, (3, 0))
    checked = check_views([convert(a), tables[1]], present=present, zero_rows=zero_rows)
    np.testing.assert_array_equal(checked.present, present)
    np.testing.assert_array_equal(dense(checked.arrays[0])[3], 0.0)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("zero_rows", "missing"), [("values", []), ("missing", [(1, 0), (4, 1)]), (["b"], [(4, 1)])])
def test_a_row_of_zeros_is_missing_where_that_is_said(tables, convert, zero_rows, missing):
    a, b = (table.copy() for table in tables)
    a[1], b[4], b[2, 0] = 0, 0, 0
    checked = check_views({"a": convert(a), "b": convert(b)}, zero_rows=zero_rows)
    if missing:
        np.testing.assert_array_equal(checked.present, mask(6, 2, *missing))
    else:
        assert checked.present is None


def test_negative_values_that_add_up_to_zero_are_values():
    a = np.array([[1.0, -1.0], [0.0, 0.0], [0.0, 2.0]])
    for view in (a, sp.csr_array(a), -a):
        assert check_views([view, np.eye(3)], zero_rows=["view0"]).present[:, 0].tolist() == [True, False, True]


def test_stored_zeros_are_zeros():
    stored = sp.csr_array((np.array([0.0, 1.0, 2.0]), np.array([0, 1, 0]), np.array([0, 1, 2, 3])), shape=(3, 2))
    assert check_views([stored, np.eye(3)], zero_rows="missing").present[:, 0].tolist() == [False, True, True]


def test_all_ways_of_saying_it_together(tables):
    a, b = (table.copy() for table in tables)
    a[0], b[1], a[2, 1] = np.nan, 0.0, np.inf
    checked = check_views([a, sp.csr_array(b)], present=mask(6, 2, (2, 0), (3, 1)), zero_rows="missing")
    np.testing.assert_array_equal(checked.present, mask(6, 2, (0, 0), (1, 1), (2, 0), (3, 1)))


def test_zero_rows_leave_gaps_to_those_who_fill_them(tables):
    a = tables[0].copy()
    a[1], a[2, 0] = 0.0, np.nan
    checked = check_views([a, tables[1]], zero_rows="missing", may_have_gaps=True)
    np.testing.assert_array_equal(checked.present, mask(6, 2, (1, 0)))
    assert np.isnan(checked.arrays[0][2, 0])


@pytest.mark.parametrize(
    ("zero_rows", "message"),
    [
        ("gone", "zero_rows: expected 'values', 'missing' or names of views, got 'gone'"),
        (["a", "colour"], "zero_rows: there is no view 'colour'; the views are a, b"),
    ],
)
def test_bad_zero_rows(tables, zero_rows, message):
    with pytest.raises(ViewsError, match=message):
        check_views(dict(zip("ab", tables, strict=True)), zero_rows=zero_rows)


@pytest.mark.parametrize(
    ("present", "message"),
    [
        (np.ones((6, 3), dtype=bool), r"present: .* shape \(6, 2\), got bool of shape \(6, 3\)"),
        (np.ones((5, 2), dtype=bool), r"present: .* shape \(6, 2\), got bool of shape \(5, 2\)"),
        (np.ones((6, 2)), "present: expected True or False for every sample and view, .* got float64"),
    ],
)
def test_bad_masks(tables, present, message):
    with pytest.raises(ViewsError, match=message):
        check_views(tables, present=present)
    with pytest.raises(ViewsError, match=message):
        Views(tables, present=present)


def test_nothing_missing_is_no_mask(tables):
    full = mask(6, 2)
    assert check_views(tables, present=full).present is None
    assert Views(tables, present=full.tolist()).present is None
    assert np.shares_memory(check_views(tables, present=full).arrays[0], tables[0])


@pytest.mark.parametrize("how", ["nan", "mask", "zeros", "nan and mask"])
@pytest.mark.parametrize("ids", [None, list("abcdef")])
def test_a_sample_without_any_view_is_named(tables, how, ids):
    a, b = (table.copy() for table in tables)
    options = {}
    if how == "nan":
        a[4], b[4] = np.nan, np.nan
    elif how == "mask":
        options["present"] = mask(6, 2, (4, 0), (4, 1))
    elif how == "zeros":
        a[4], b[4], options["zero_rows"] = 0, 0, "missing"
    else:
        a[4], options["present"] = np.nan, mask(6, 2, (4, 1))
    name = r" \(e\)" if ids else ""
    with pytest.raises(ViewsError, match=rf"views: the sample in row 4{name} has no view at all; remove it"):
        check_views(Views([a, b], sample_ids=ids), **options)


def test_several_samples_without_any_view_are_counted(tables):
    with pytest.raises(ViewsError, match="the sample in row 1, and 2 more, has no view at all"):
        Views(tables, present=mask(6, 2, *[(row, view) for row in (1, 2, 5) for view in (0, 1)]))


@pytest.mark.parametrize("at", [0, 1])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, pd.DataFrame])
def test_a_row_that_is_nan_in_part_is_an_error(tables, convert, at):
    a = tables[0].copy()
    a[1] = np.nan  # in a dense view: missing
    a[3, at] = np.nan
    first = "row 1, column 0" if convert is sp.csr_array else f"row 3, column {at}"
    with pytest.raises(ViewsError, match=rf"views\['view0'\]: contains NaN, first at {first}; .*A row of only NaN"):
        check_views([convert(a), tables[1]])


def test_samples_that_have_a_view_must_differ_in_it(tables):
    a = np.ones((6, 3))
    a[0] = 2.0
    message = r"views\['view0'\]: the 5 samples that have this view have the same values"
    with pytest.raises(ViewsError, match=message):
        check_views([a, tables[1]], present=mask(6, 2, (0, 0)))
    with pytest.raises(ViewsError, match=message):
        check_views([sp.csr_array(a), tables[1]], present=mask(6, 2, (0, 0)))
    check_views([a, tables[1]], present=mask(6, 2, (1, 0)))
    with pytest.raises(ViewsError, match="no sample has this view; leave this view out"):
        check_views([a, tables[1]], present=mask(6, 2, *[(row, 0) for row in range(6)]))


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, pd.DataFrame])
def test_the_given_arrays_stay_as_they_are(tables, convert):
    a, present = tables[0].copy(), mask(6, 2, (2, 0), (3, 1))
    a[4] = 0.0
    if convert is not sp.csr_array:
        a[1] = np.nan
    given, before = [convert(a), convert(tables[1])], present.copy()
    check_views(given, present=present, zero_rows="missing")
    for array, expected in zip(given, (a, tables[1]), strict=True):
        np.testing.assert_array_equal(dense(array), expected)
    np.testing.assert_array_equal(present, before)


def test_the_mask_goes_with_the_samples(tables):
    present = mask(6, 2, (0, 0), (1, 1), (4, 0))
    views = Views(tables, present=present, labels=np.arange(6))
    assert repr(views) == "Views(6 samples; view0: 3, view1: 5; 6 classes; 25% missing)"
    np.testing.assert_array_equal(views.take([4, 2]).present, [[False, True], [True, True]])
    assert views.take([2, 3]).present is None
    assert views.take(slice(2, 4)).present is None
    shuffled = views.shuffled(1)
    np.testing.assert_array_equal(shuffled.present, present[shuffled.labels])
    np.testing.assert_array_equal(check_views(views).present, present)
    np.testing.assert_array_equal(views.has_view(0), present[:, 0])
    assert Views([*tables, tables[0]], present=np.column_stack([present, mask(6, 1)])).has_view(2) is None


def test_blocks_of_new_samples_count_their_rows_from_the_first(tables):
    a, b = (table.copy() for table in tables)
    a[1], a[4, 2], b[5] = np.nan, np.nan, 7.0
    given = check_new_views({"b": b, "a": a})
    first = check_block(given.take(slice(0, 3)), 0)
    np.testing.assert_array_equal(first.present, mask(3, 2, (1, 1)))
    np.testing.assert_array_equal(first["b"], b[:3])
    assert check_block(given.take(slice(5, 6)), 5).n_samples == 1  # constant, of course
    with pytest.raises(ViewsError, match=r"views\['a'\]: contains NaN, first at row 4, column 2"):
        check_block(given.take(slice(3, 6)), 3)
    a[4], b[4] = np.nan, np.nan
    with pytest.raises(ViewsError, match="the sample in row 4 has no view at all"):
        check_block(check_new_views([a, b]).take(slice(3, 6)), 3)


def test_new_views_by_name_or_all_in_order(tables):
    names, sizes = ("colour", "texture"), (3, 5)
    found = match_fitted(list(tables), check_new_views(list(tables)), names, sizes)
    assert found.names == names
    some = {"texture": tables[1]}
    assert match_fitted(some, check_new_views(some), names, sizes).names == ("texture",)
    for new, message in (
        ([tables[0]], r"views: expected 2 views, as in fit, got 1\. .* name them in a dict; they are colour, texture"),
        ({"shape": tables[0]}, r"views\['shape'\]: there was no such view in fit; there were colour, texture"),
        ({"colour": tables[1]}, r"views\['colour'\]: expected 3 features, as in fit, got 5"),
        (list(tables[::-1]), r"views\['colour'\]: expected 3 features, as in fit, got 5"),
    ):
        with pytest.raises(ViewsError, match=message):
            match_fitted(new, check_new_views(new), names, sizes)


def test_cut_table():
    table = np.arange(15.0).reshape(3, 5)
    cut = cut_table(Views([table], sample_ids=["a", "b", "c"], labels=[0, 0, 1]), [2, 3])
    np.testing.assert_array_equal(cut.arrays[1], table[:, 2:])
    assert (cut.sample_ids.tolist(), cut.labels.tolist()) == (["a", "b", "c"], [0, 0, 1])
    with pytest.raises(ViewsError, match="view_sizes: only for one table, but there are 2 views: view0, view1"):
        cut_table(cut, 2)


def test_names_in_the_representation_are_harmless():
    views = Views([np.ones((2, 1)), np.ones((2, 1))], names=["\x1b[2J", "x" * 1000])
    assert repr(views) == f"Views(2 samples; \\x1b[2J: 1, {'x' * 40}…{'x' * 38}: 1)"
