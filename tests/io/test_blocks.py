"""Long text files: what is read block by block is as if read at once, and memory is in proportion to the file."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas
import pytest

from manyview.exceptions import FileFormatError
from manyview.io import _annotations, _table_columns, _table_files, read_views

# Memory for a file of text, in sizes of the file. Before pandas 3 every string is an object of its own.
TEXT = 10 if int(pandas.__version__.split(".")[0]) >= 3 else 40


@pytest.fixture
def small_blocks(monkeypatch):
    """Two lines or values, or seven characters, are a block."""
    monkeypatch.setattr(_table_files, "BLOCK", 2)
    monkeypatch.setattr(_table_columns, "BLOCK", 2)
    monkeypatch.setattr(_annotations, "_BLOCK", 7)


@pytest.fixture
def read(tmp_path):
    """Read a CSV file with these lines."""

    def read_lines(*lines, **options):
        path = tmp_path / "a.csv"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return read_views(path, **options)

    return read_lines


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (["1", "2", "3", "4", "5"], np.int64),
        (["1", "2", "3", "4.5", "5"], np.float64),
        (["1.5", "2", "3", "4", "5"], np.float64),
        (["1", "2", "", "", "5"], np.float64),
        (["1", "2", "3", "4", str(2**64 - 1)], np.uint64),
        ([str(2**53 + 1), "2", "3", "4", "0"], np.int64),
    ],
)
@pytest.mark.usefixtures("small_blocks")
def test_numbers_have_the_type_of_the_whole_column(read, values, dtype):
    array = read("a,b", *(f"{value},{value}" for value in values), id_column=False).arrays[0]
    assert array.dtype == dtype
    expected = np.array([float("nan") if value == "" else dtype(value) for value in values], dtype=dtype)
    np.testing.assert_array_equal(array, np.column_stack([expected, expected]))


@pytest.mark.parametrize(
    "values", [["001", "002", "003", "x", "y"], ["x", "y", "z", "04", "5"], ["True", "False", "7"]]
)
@pytest.mark.usefixtures("small_blocks")
def test_texts_stay_as_they_are_if_only_some_are_numbers(read, values):
    lines = [f"{value},{i / 2}" for i, value in enumerate(values)]
    assert read("label,b", *lines).labels.tolist() == values
    assert read("id,b", *lines).sample_ids.tolist() == values
    with pytest.raises(FileFormatError, match=r"1 column\(s\) hold something else: 'b'"):
        read("a,b", *(f"{i / 2},{value}" for i, value in enumerate(values)))


@pytest.mark.usefixtures("small_blocks")
def test_a_first_column_of_different_texts_holds_the_ids(read):
    assert read("name,b", "a,1", "b,2", "c,3").sample_ids.tolist() == ["a", "b", "c"]
    with pytest.raises(FileFormatError, match="hold something else: 'w'"):
        read("w,b", "a,1.5", "b,2", "c,3", "a,4")
    with pytest.raises(FileFormatError, match=r"id 'a' occurs 2 times in column 'id'; 1 id\(s\) are repeated"):
        read("id,b", "a,1", "b,2", "c,3", "a,4")


@pytest.mark.usefixtures("small_blocks")
def test_empty_lines_at_the_end_are_no_samples(read):
    assert read("a,b", "1,2", "3,4", "1,6", "", "").arrays[0].tolist() == [[1, 2], [3, 4], [1, 6]]


@pytest.fixture
def labels(tmp_path):
    """Read a text file of labels, as many as there are expected to be."""

    def read_text(text, n):
        np.save(tmp_path / "views.npy", np.ones((n, 2)))
        (tmp_path / "y.txt").write_text(text, encoding="utf-8", newline="")
        return read_views(tmp_path / "views.npy", labels=tmp_path / "y.txt").labels

    return read_text


@pytest.mark.usefixtures("small_blocks")
def test_lines_go_on_in_the_next_block(labels):
    names = ["a", " long name ", "", "b\r", "another long name", "c"]
    del names[2]
    assert labels("\n".join(names) + "\n\n \n\n\n\n\n\n\n", 5).tolist() == [name.strip() for name in names]
    assert labels("12\n345678\n9", 3).tolist() == [12, 345678, 9]
    assert labels("12\n345678\n.5", 3).tolist() == ["12", "345678", ".5"]


@pytest.mark.parametrize("n_empty", [1, 6, 20])
@pytest.mark.usefixtures("small_blocks")
def test_an_empty_line_between_labels_is_named(labels, n_empty):
    with pytest.raises(FileFormatError, match=r"y\.txt: line 3 is empty"):
        labels("aaa\nbbb\n" + "\n" * n_empty + "ccc\n", 4)


def test_a_line_without_end_is_no_label(labels):
    with pytest.raises(FileFormatError, match=r"y\.txt: a line has more than 1,048,576 characters"):
        labels("a" * 2**21, 1)


def test_a_table_of_nothing_but_commas_takes_more_memory_than_its_file(read):
    with pytest.raises(FileFormatError, match="would take 320,032 bytes of memory, more than max_bytes=100,000"):
        read("a,b", *[","] * 10_000, max_bytes=100_000)


def peak(read):
    tracemalloc.start()
    try:
        read()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("line", ["{i:x},1", "1,2", "1,x"])
def test_a_table_takes_no_more_than_a_multiple_of_its_file(tmp_path, monkeypatch, line):
    monkeypatch.setattr(_table_files, "BLOCK", 2**10)
    monkeypatch.setattr(_table_columns, "BLOCK", 2**10)
    path = tmp_path / "a.csv"
    path.write_text(
        ("id,a\n" if "i" in line else "a,label\n") + "".join(line.format(i=i) + "\n" for i in range(30_000))
    )
    read_views(path)  # what is imported at the first time is no property of a file
    assert peak(lambda: read_views(path)) < TEXT * path.stat().st_size


@pytest.mark.parametrize("line", ["12\n", "x\n"])
def test_labels_take_no_more_than_a_multiple_of_their_file(tmp_path, monkeypatch, line):
    monkeypatch.setattr(_annotations, "_BLOCK", 2**10)
    path = tmp_path / "y.txt"
    path.write_text(line * 30_000)
    np.save(tmp_path / "views.npy", np.ones((30_000, 1), dtype=bool))
    assert peak(lambda: read_views(tmp_path / "views.npy", labels=path)) < TEXT * path.stat().st_size


@pytest.mark.parametrize(
    ("kind", "line"), [("pattern", "1 1\n"), ("real", "1 1 1\n"), ("integer", "1 1 1\n"), ("array", "1\n")]
)
def test_a_matrix_takes_no_more_than_ten_times_its_file(tmp_path, kind, line):
    path, size = tmp_path / "a.mtx", 100
    layout = "array real" if kind == "array" else f"coordinate {kind}"
    sizes = f"{size} {size}" if kind == "array" else f"{size} {size} {size**2}"
    path.write_text(f"%%MatrixMarket matrix {layout} general\n{sizes}\n{line * size**2}")
    read_views(path)
    assert peak(lambda: read_views(path)) < 10 * path.stat().st_size


@pytest.mark.parametrize(("layout", "sizes", "n_lines"), [("coordinate", "99 99 8000", 8000), ("array", "99 99", 4950)])
def test_a_symmetric_matrix_of_short_lines_takes_more(tmp_path, layout, sizes, n_lines):
    """Each entry stands twice in what is read. Who sets a limit is told before the memory is taken."""
    path = tmp_path / "a.mtx"
    line = "2 1 1\n" if layout == "coordinate" else "1\n"
    path.write_text(f"%%MatrixMarket matrix {layout} real symmetric\n{sizes}\n{line * n_lines}")
    limit = 10 * path.stat().st_size
    with pytest.raises(FileFormatError, match=r"a\.mtx: would take [\d,]+ bytes of memory, more than max_bytes"):
        read_views(path, max_bytes=limit)
    assert peak(lambda: read_views(path, max_bytes=2 * limit)) < 2 * limit
