from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from manyview import Views, check_views
from manyview.exceptions import ViewsError


@pytest.fixture
def tables():
    rng = np.random.default_rng(0)
    return rng.random((6, 3)), rng.random((6, 5))


def test_names_sizes_and_access(tables):
    views = Views(tables, names=["colour", "texture"], labels=[0, 0, 1, 1, 2, 2], sample_ids=list("abcdef"))
    assert views.n_samples == 6
    assert views.n_features == (3, 5)
    assert len(views) == 2
    assert views["texture"] is tables[1]
    assert views[0] is tables[0]
    assert [x.shape for x in views] == [(6, 3), (6, 5)]
    assert repr(views) == "Views(6 samples; colour: 3, texture: 5; 3 classes)"
    with pytest.raises(KeyError, match="no view named 'shape'; there are colour, texture"):
        views["shape"]


@pytest.mark.parametrize("convert", [np.asarray, sp.csc_array, pd.DataFrame])
def test_take_and_shuffle_keep_rows_together(tables, convert):
    views = Views([convert(x) for x in tables], labels=np.arange(6), sample_ids=np.arange(6) + 10)
    dense = lambda x: x.toarray() if sp.issparse(x) else np.asarray(x)  # noqa: E731
    shuffled = views.shuffled(3)
    assert not np.array_equal(shuffled.labels, views.labels)
    np.testing.assert_array_equal(np.sort(shuffled.labels), views.labels)
    np.testing.assert_array_equal(shuffled.sample_ids, shuffled.labels + 10)
    for x, original in zip(shuffled, tables, strict=True):
        np.testing.assert_array_equal(dense(x), original[shuffled.labels])
    np.testing.assert_array_equal(views.take([4, 1]).labels, [4, 1])
    np.testing.assert_array_equal(views.take(views.labels < 2).labels, [0, 1])
    np.testing.assert_array_equal(views.shuffled(3).labels, shuffled.labels)


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float32, np.float64, bool, object])
def test_numbers_of_any_type_become_float64(dtype):
    table = np.array([[0, 1], [1, 0], [1, 1]]).astype(dtype)
    checked = check_views([table, table])
    assert checked[0].dtype == np.float64
    np.testing.assert_array_equal(checked[0], table.astype(float))


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
    assert np.shares_memory(check_views(tables)[0], tables[0])


def test_fortran_order_becomes_c_order(tables):
    assert check_views([np.asfortranarray(x) for x in tables])[0].flags.c_contiguous


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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda frame: frame.set_axis(list("abcabd")),
            r"views\['b'\]: the id 'a' occurs 2 times; 2 id.s. are repeated",
        ),
        (lambda frame: frame.set_axis(["x", None, *"abcd"]), r"views\['b'\]: a sample has no id"),
        (lambda frame: frame.set_axis(list(range(6))), r"views\['b'\]: its ids are no text, such as 0, .* as 'a'"),
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
    np.testing.assert_array_equal(check_views([table, tables[1]], may_have_gaps=True)[0], table)
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
    parts = [x.toarray() if sp.issparse(x) else x for x in checked]
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
