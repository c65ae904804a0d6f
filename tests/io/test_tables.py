"""CSV, TSV and parquet: one file per view, joined on ids or by position."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse as sp

from manyview.exceptions import FileFormatError
from manyview.io import read_views
from manyview.io._parquet import n_values
from manyview.io._table_files import listed

IDS = ["s1", "s2", "s3", "s4"]
WRITERS = {
    ".csv": lambda frame, path: frame.to_csv(path, index=False),
    ".tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    ".parquet": lambda frame, path: frame.to_parquet(path, index=False),
}


@pytest.fixture
def put(tmp_path):
    """Write a text file and return its path."""

    def write(name, text):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize("extension", WRITERS)
def test_join_on_ids_in_the_order_of_the_first_file(tmp_path, extension):
    first = pd.DataFrame({"id": IDS, "a": [1, 2, 3, 4], "b": [0.5, 1.5, 2.5, 3.5]})
    second = pd.DataFrame({"id": IDS[::-1], "c": [40, 30, 20, 10], "kind": list("yyxx")})
    paths = [tmp_path / f"one{extension}", tmp_path / f"two{extension}"]
    WRITERS[extension](first, paths[0])
    WRITERS[extension](second, paths[1])
    found = read_views(paths, label_column="kind")
    assert found.names == ("one", "two")
    assert list(found.sample_ids) == IDS
    assert list(found.labels) == list("xxyy")
    np.testing.assert_array_equal(found["one"], [[1, 0.5], [2, 1.5], [3, 2.5], [4, 3.5]])
    np.testing.assert_array_equal(found["two"], [[10], [20], [30], [40]])
    assert found["two"].dtype.kind == "i"


def test_parquet_index_holds_the_ids(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0]}, index=["u", "v"])
    frame.to_parquet(tmp_path / "a.parquet")
    found = read_views(tmp_path / "a.parquet")
    assert list(found.sample_ids) == ["u", "v"]
    assert found.n_features == (1,)


def test_parquet_types_with_gaps(tmp_path):
    frame = pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64"), "b": [True, False, True]})
    frame.to_parquet(tmp_path / "a.parquet")
    np.testing.assert_array_equal(read_views(tmp_path / "a.parquet").arrays[0], [[1, 1], [np.nan, 0], [3, 1]])


def test_ids_written_as_a_nameless_index_are_no_feature(tmp_path):
    pd.DataFrame({"a": [1, 2], "b": [3, 4]}).to_csv(tmp_path / "a.csv")
    found = read_views(tmp_path / "a.csv")
    assert found.n_features == (2,)
    assert list(found.sample_ids) == ["0", "1"]


def test_ids_keep_their_zeros(put):
    found = read_views([put("a.csv", "id,a\n001,1\n01,2\n"), put("b.csv", "id,b\n01,3\n001,4\n")])
    assert list(found.sample_ids) == ["001", "01"]
    np.testing.assert_array_equal(found["b"], [[4], [3]])


def test_ids_of_different_types_meet_as_text(tmp_path, put):
    pd.DataFrame({"id": [2, 1], "b": [0.2, 0.1]}).to_parquet(tmp_path / "b.parquet")
    found = read_views([put("a.csv", "id,a\n1,5\n2,6\n"), tmp_path / "b.parquet"])
    np.testing.assert_array_equal(found["b"], [[0.1], [0.2]])


@pytest.mark.parametrize(
    ("first", "has_ids"),
    [
        (",a\n0,2\n1,4\n2,6\n", True),
        ("name,a\nx,2\ny,4\n", True),
        ("w,a\nx,2\ny,4\n", True),
        ("a,Sample ID\n2,x\n4,y\n", True),
        ("w,a\n1.5,2\n3.5,4\n0.5,1\n", False),
        ("w,a\n1,2\n3,4\n1,1\n", False),
    ],
    ids=["row numbers", "text by name", "text that is first", "text by name anywhere", "fractions", "repeated"],
)
def test_rule_for_ids(put, first, has_ids):
    found = read_views(put("a.csv", first))
    assert (found.sample_ids is not None) == has_ids
    assert found.n_features == (1 if has_ids else 2,)


def test_id_column_by_name_anywhere(put):
    a, b = put("a.csv", "x,key\n1,7\n2,8\n"), put("b.csv", "key,z\n8,3\n7,4\n")
    found = read_views({"first": a, "second": b}, id_column="key")
    assert found.names == ("first", "second")
    np.testing.assert_array_equal(found["second"], [[4], [3]])


def test_inner_join_keeps_common_samples_in_first_order(put):
    a, b = put("a.csv", "id,x\nq,1\nr,2\ns,3\n"), put("b.csv", "id,z\ns,30\nt,40\nq,10\n")
    found = read_views([a, b], join="inner")
    assert list(found.sample_ids) == ["q", "s"]
    np.testing.assert_array_equal(found["b"], [[10], [30]])


def test_exact_join_tells_what_is_missing(put):
    a, b = put("a.csv", "id,x\nq,1\nr,2\ns,3\n"), put("b.csv", "id,z\ns,30\nt,40\nq,10\n")
    with pytest.raises(FileFormatError, match=r"b\.csv: 1 of the 3 ids in .*a\.csv are missing \(r\); 1 ids are not"):
        read_views([a, b])


def test_inner_join_leaves_out_the_last_samples_of_a_square_file(put):
    """As many samples are kept as there are columns; the rows that are kept are the first ones."""
    a, b = put("a.csv", "id,x,u\nq,1,2\nr,3,4\ns,5,6\n"), put("b.csv", "id,z\nq,10\nr,20\n")
    found = read_views([a, b], join="inner")
    assert found["a"].tolist() == [[1, 2], [3, 4]]
    assert found["b"].tolist() == [[10], [20]]


@pytest.mark.parametrize(("ids", "told"), [("tuv", r"\(t, u, v\)"), ("tuvw", r"\(t, u, v, \.\.\.\)")])
def test_exact_join_names_three_ids_at_most(put, ids, told):
    a, b = put("a.csv", "id,x\nq,1\n"), put("b.csv", "id,z\nq,1\n" + "".join(f"{id_},2\n" for id_ in ids))
    with pytest.raises(FileFormatError, match=rf"b\.csv: {len(ids)} ids are not in .*a\.csv {told}\. Pass join="):
        read_views([a, b])


def test_no_common_id(put):
    with pytest.raises(FileFormatError, match=r"a\.csv, .*b\.csv: no id occurs in all"):
        read_views([put("a.csv", "id,x\nq,1\n"), put("b.csv", "id,x\nr,1\n")], join="inner")


def test_by_position_across_formats(tmp_path, put):
    matrix = sp.random_array((3, 5), density=0.5, rng=0)
    scipy.io.mmwrite(tmp_path / "words.mtx", matrix)
    np.save(tmp_path / "pixels.npy", np.ones((3, 2)))
    found = read_views([tmp_path / "words.mtx", put("a.csv", "a,b\n1,2\n3,4\n1,6\n"), tmp_path / "pixels.npy"])
    assert found.names == ("words", "a", "pixels")
    assert sp.issparse(found["words"])
    assert found.sample_ids is None


def test_by_position_takes_ids_from_the_file_that_has_them(tmp_path, put):
    np.save(tmp_path / "pixels.npy", np.ones((2, 2)))
    a, b = put("a.csv", "id,x\nq,1\nr,2\n"), put("b.csv", "id,z\nr,1\nq,2\n")
    with pytest.raises(FileFormatError, match=r"a\.csv: column 'id' may hold .* but .*pixels\.npy has none.*=False"):
        read_views([tmp_path / "pixels.npy", a])
    found = read_views([tmp_path / "pixels.npy", a], id_column=False)
    assert list(found.sample_ids) == ["q", "r"]
    assert found.reading.matched_by == "position"
    with pytest.raises(FileFormatError, match=r"b\.csv: column 'id' has the ids of .*a\.csv in another order"):
        read_views([a, b, tmp_path / "pixels.npy"], id_column=False)


def test_by_position_needs_equally_many(put):
    with pytest.raises(FileFormatError, match=r"b\.csv: 1 samples, but .*a\.csv has 2.*has no ids; pass id_column="):
        read_views([put("a.csv", "x,z\n1,2\n3,4\n"), put("b.csv", "x,z\n1,2\n")])


@pytest.mark.parametrize("extension", WRITERS)
def test_labels_file_joined_on_ids(tmp_path, put, extension):
    WRITERS[extension](pd.DataFrame({"id": ["r", "q"], "what": ["ox", "cat"]}), tmp_path / f"l{extension}")
    found = read_views(put("a.csv", "id,x\nq,1\nr,2\n"), labels=tmp_path / f"l{extension}")
    assert list(found.labels) == ["cat", "ox"]
    assert found.names == ("a",)


def test_labels_file_without_ids(tmp_path, put, views):
    np.save(tmp_path / "x.npy", views[0])
    np.save(tmp_path / "l.npy", np.arange(6)[:, None])
    assert list(read_views(tmp_path / "x.npy", labels=tmp_path / "l.npy").labels) == list(range(6))
    one_column = put("l.csv", "kind\n" + "\n".join("aabbcc"))
    assert list(read_views(tmp_path / "x.npy", labels=one_column).labels) == list("aabbcc")


def test_labels_file_with_more_columns_needs_a_name(put):
    data, more = put("a.csv", "id,x\nq,1\nr,2\n"), put("l.csv", "id,stage,grade\nq,1,5\nr,2,6\n")
    with pytest.raises(FileFormatError, match=r"l\.csv: expected one column of labels.*'stage', 'grade'"):
        read_views(data, labels=more)
    assert list(read_views(data, labels=more, label_column="grade").labels) == [5, 6]


def test_label_column_by_its_usual_name_is_no_feature(put):
    found = read_views(put("a.csv", "x,Label,z\n1,0,2\n3,1,4\n"))
    assert found.n_features == (2,)
    assert list(found.labels) == [0, 1]


def test_labels_in_two_files_must_agree(put):
    a, b = put("a.csv", "x,label\n1,0\n3,1\n"), put("b.csv", "z,label\n1,0\n3,0\n")
    with pytest.raises(FileFormatError, match=r"b\.csv: its labels differ from those in .*a\.csv"):
        read_views([a, b])


def test_empty_cells_stay_nan(put):
    found = read_views(put("a.csv", "a,b\n1,\n,4\n"))
    np.testing.assert_array_equal(found.arrays[0], [[1, np.nan], [np.nan, 4]])


@pytest.mark.parametrize("text", ["0.5,1.5\n2,3\n", "s1,0.5,0.7\ns2,1,2\n", "3\n4\n", "s1,1\ns2,2\n"])
def test_a_first_line_of_numbers_is_ambiguous(put, text):
    path = put("a.csv", text)
    with pytest.raises(FileFormatError, match=r"a\.csv: the first line .* Pass header=True or header=False"):
        read_views(path)
    assert read_views(path, header=False).n_samples == 2
    assert read_views(path, header=True).n_samples == 1


@pytest.mark.parametrize("text", ["0,1\n2,3\n", ",0,1\nx,2,3\n", "id,1,2\nx,2,3\n", "a,b\n1,2\n"])
def test_counted_names_are_names(put, text):
    assert read_views(put("a.csv", text)).n_samples == 1


def test_quotes_byte_order_mark_and_trailing_lines(tmp_path):
    (tmp_path / "a.csv").write_bytes(b'\xef\xbb\xbf"id","a,b"\r\n"x, y",1\r\nz,2\r\n\r\n')
    assert list(read_views(tmp_path / "a.csv").sample_ids) == ["x, y", "z"]


def test_parquet_with_lists(tmp_path):
    pytest.importorskip("pyarrow")
    pd.DataFrame({"a": [1.0, 2.0], "b": [["p"], ["q"]]}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(FileFormatError, match=r"a\.parquet: .* 1 column\(s\) hold other lists or records: 'b'"):
        read_views(tmp_path / "a.parquet")


def test_parquet_with_one_long_text_in_every_row(tmp_path):
    """The text is stored once, 100 KB; in memory it would be there 2,000 times."""
    pytest.importorskip("pyarrow")
    pd.DataFrame({"a": np.arange(2000.0), "label": ["z" * 100_000] * 2000}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(FileFormatError, match=r"a\.parquet: would take 800,032,000 bytes"):
        read_views(tmp_path / "a.parquet", max_bytes=2**20)


def test_parquet_with_text_that_is_no_text(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    bad = pyarrow.array([b"\xff\xfe", b"a"]).view(pyarrow.string())
    parquet.write_table(pyarrow.table({"label": bad, "a": [1.0, 2.0]}), tmp_path / "a.parquet")
    with pytest.raises(FileFormatError, match=r"a\.parquet: cannot be read as parquet; .*UTF8"):
        read_views(tmp_path / "a.parquet")


def test_names_in_errors():
    assert listed(["a", "b"]) == "'a', 'b'"
    assert listed(list("abcdefgh")) == "'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'"
    assert listed(list("abcdefghijk")) == "'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h' and 3 more"


@pytest.mark.parametrize(("line", "told"), [("4,5,6", "(4, 5, 6)"), ("4,5,6,7", "(4, 5, 6, ...)")])
def test_the_error_shows_three_fields_of_the_first_line(put, line, told):
    with pytest.raises(FileFormatError, match=re.escape(f"the first line {told} could be names")):
        read_views(put("a.csv", f"{line}\n{line}\n"))


def test_parquet_with_vectors(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    vectors = np.random.default_rng(0).random((5, 3))
    frame = pd.DataFrame({"id": list("pqrst"), "a": range(5), "v": [*vectors[:4].tolist(), None]})
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=2)
    views = read_views(tmp_path / "a.parquet")
    assert views.feature_names == (("a", "v_0", "v_1", "v_2"),)
    np.testing.assert_array_equal(views.arrays[0][:4, 1:], vectors[:4])
    assert np.isnan(views.arrays[0][4, 1:]).all()
    # As many values as pyarrow counts: 5 ids, 5 numbers, 12 in lists and 1 missing list.
    metadata = parquet.ParquetFile(tmp_path / "a.parquet").metadata
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    counted = sum(group.column(j).num_values for group in groups for j in range(group.num_columns))
    assert n_values(tmp_path / "a.parquet") == counted == 23


def test_parquet_with_more_values_in_a_list_than_memory(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "a.parquet"
    pd.DataFrame({"v": [np.ones(10**6), np.ones(10**6)]}).to_parquet(path)
    assert path.stat().st_size < 10_000
    with pytest.raises(FileFormatError, match=r"a\.parquet: would take 16,000,000 bytes"):
        read_views(path, max_bytes=10**6)
