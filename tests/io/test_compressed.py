"""Compressed tables and ``.txt``: what they hold, what they are called, and what they may unfold to."""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from manyview._utils.formats import COMPRESSED, LABEL_FILES, TEXT_TABLES, VIEW_FILES, in_words
from manyview.exceptions import FileFormatError, MissingDependencyError
from manyview.io import open_views, read_views
from manyview.io._files import LABEL_READERS, READERS
from manyview.io._table_files import LOADERS

ROOT = Path(__file__).parents[2]
SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": "\t"}
TABLE = "id,a,b\nq,1,2.5\nr,3,4.5\n"


def zstd(content):
    return pytest.importorskip("pyarrow").compress(content, codec="zstd", asbytes=True)


COMPRESS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstd}


@pytest.fixture
def put(tmp_path):
    """Write a text, compressed as the name says, and return the path."""

    def write(name, text):
        path = tmp_path / name
        content = text.encode() if isinstance(text, str) else text
        path.write_bytes(COMPRESS.get(path.suffix, bytes)(content))
        return path

    return write


@pytest.mark.parametrize("compression", ["", *COMPRESSED])
@pytest.mark.parametrize("extension", TEXT_TABLES)
def test_tables(put, extension, compression):
    path = put(f"expression{extension}{compression}", TABLE.replace(",", SEPARATORS[extension]))
    for found in (read_views(path), read_views([path])):
        assert found.names == ("expression",)
        assert found.sample_ids.tolist() == ["q", "r"]
        assert found["expression"].tolist() == [[1, 2.5], [3, 4.5]]


@pytest.mark.parametrize("compression", COMPRESSED)
def test_labels(put, compression):
    table = put("a.csv", TABLE)
    assert read_views(table, labels=put(f"l.csv{compression}", "id,kind\nr,ox\nq,cat\n")).labels.tolist() == [
        "cat",
        "ox",
    ]
    without_ids = put(f"a.tsv{compression}", "a\tb\n1\t2\n3\t4\n")
    lines = put(f"l.txt{compression}", "cat\nox, old\n")
    assert read_views(without_ids, labels=lines).labels.tolist() == ["cat", "ox, old"]


def test_labels_of_opened_views(tmp_path, put):
    pytest.importorskip("dask")
    for name in "ab":
        np.save(tmp_path / f"{name}.npy", np.ones((3, 2)))
    views = {name: tmp_path / f"{name}.npy" for name in "ab"}
    assert open_views(views, labels=put("l.csv.gz", "5\n6\n5\n")).labels.tolist() == [5, 6, 5]


def test_a_folder_is_read_without_the_texts_beside_the_data(tmp_path, put):
    put("a.tsv.gz", "x\ty\n1\t2\n3\t4\n")
    put("b.txt", "x y\n1 2\n3 4\n")
    put("labels.txt", "cat\nox\n")
    put("README.txt", "What this is.\n")
    put("MANIFEST.txt", "id\tfile\n1\ta\n")
    found = read_views(tmp_path)
    assert found.names == ("a", "b")
    assert found.labels.tolist() == ["cat", "ox"]


def test_blocks_that_differ_are_read_again(put, monkeypatch):
    monkeypatch.setattr("manyview.io._table_files.BLOCK", 2)
    found = read_views(put("a.csv.gz", "id,a,label\n" + "".join(f"s{i},1,{'x' if i == 5 else i}\n" for i in range(7))))
    assert found.labels.tolist() == ["0", "1", "2", "3", "4", "x", "6"]


@pytest.mark.parametrize(
    ("text", "table"),
    [
        ("id\ta b\tc\nq\t1\t2\nr\t3\t4\n", [[1, 2], [3, 4]]),
        ("id,a b,c\nq,1,2\nr,3,4\n", [[1, 2], [3, 4]]),
        ("id;a b;c\nq;1;2\nr;3;4\n", [[1, 2], [3, 4]]),
        ("id a c\nq 1 2\nr 3 4\n", [[1, 2], [3, 4]]),
        ("  id    a   c \n q      1   2\r\n r  3    4   \n\n", [[1, 2], [3, 4]]),
        ('"id" "a b" "c"\n"q" 1 2\n"r" 3 4\n', [[1, 2], [3, 4]]),
        ("name\ta\nSmith, John\t1\nDoe, Jane\t2\n", [[1], [2]]),
    ],
    ids=["tabs", "commas", "semicolons", "spaces", "aligned", "quotes", "commas between tabs"],
)
@pytest.mark.parametrize("compression", ["", ".gz"])
def test_what_separates_the_columns_of_a_text(put, text, table, compression):
    found = read_views(put(f"a.txt{compression}", text))
    assert found["a"].tolist() == table
    assert found.sample_ids is not None


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("1,5;2,5\n3,5;4,5\n", "could be separated by commas or semicolons. Call the file .csv if"),
        ("cat\ndog\n", "expected a table with columns separated by .* found a first line 'cat'.* pass it as labels"),
        ("Once upon a time\nthere was\n", "expected a table with columns separated by"),
        ("id\ta\tb\nq\t1\t2\nr\t3\n", "line 3 has 2 fields, the first line has 3"),
        ("a b c\n1 2 3\n4 5 6\n" * 10 + "7\t8 9\n", "separated by spaces, but there is a tab in '7.t8 9'"),
        ("a b c\n1 2 3\n\n4 5 6\n", "line 3 is empty, but more lines follow"),
    ],
)
def test_texts_that_are_refused(put, text, error):
    with pytest.raises(FileFormatError, match=rf"a\.txt: .*{error}"):
        read_views(put("a.txt", text))


def test_a_line_that_is_longer_than_what_is_looked_at(put, monkeypatch):
    monkeypatch.setattr("manyview.io._layout._CHARACTERS_SEEN", 50)
    names = [f"gene{i}" for i in range(40)]
    found = read_views(put("a.txt", "\t".join(names) + "\n" + "\t".join("1" * 40) + "\n"))
    assert found.n_features == (40,)


@pytest.mark.parametrize("compression", COMPRESSED)
def test_damaged_and_foreign_files(put, tmp_path, compression):
    whole = put(
        f"a.csv{compression}", "id,a\n" + "".join(f"s{i},{i * 7919 % 1000}\n" for i in range(3000))
    ).read_bytes()
    for content in (whole[: len(whole) // 2], b"id,a\nq,1\nr,2\n"):
        path = tmp_path / f"b.csv{compression}"
        path.write_bytes(content)
        with pytest.raises(FileFormatError, match=rf"b\.csv\{compression}: cannot be read as CSV; it is damaged"):
            read_views(path)
        with pytest.raises(FileFormatError, match=rf"b\.csv\{compression}: cannot be read as"):
            read_views(put("a.csv", TABLE), labels=path)


def peak(read):
    tracemalloc.start()
    try:
        with pytest.raises(FileFormatError) as caught:
            read()
        return tracemalloc.get_traced_memory()[1], str(caught.value)
    finally:
        tracemalloc.stop()


ENDLESS = {
    "rows": (b"a,b\n", b"1,2\n"),
    "one line": (b"a,b\n", b","),
    "first line": (b"", b"a,"),
    "no separator": (b"a,b\n", b"x"),
    "one row of many lines": (b"a,b\n1", b',"\n"'),
    "empty lines": (b"a,b\n1,2\n", b"\n"),
}


@pytest.mark.parametrize(
    ("name", "case"),
    [
        *(("a.csv.gz", case) for case in ENDLESS),
        *((f"a.csv{end}", "one line") for end in COMPRESSED[1:]),
        ("a.txt.gz", "rows"),
        ("a.txt.gz", "first line"),
    ],
)
def test_a_small_file_that_unfolds_is_refused_before_it_takes_the_memory(put, monkeypatch, name, case):
    monkeypatch.setattr("manyview.io._lines._FREE_ROW", 2**10)
    monkeypatch.setattr("manyview.io._layout._CHARACTERS_SEEN", 2**12)
    start, more = ENDLESS[case]
    path, limit = put(name, start + more * (2**23 // len(more))), 2**20
    assert path.stat().st_size < 2**16
    taken, text = peak(lambda: read_views(path, max_bytes=limit))
    dictionary = 2**24 if name.endswith("xz") else 0  # of the decoder, which has that of the encoder in advance
    assert taken < 3 * limit + dictionary
    assert text.startswith(f"{path}: ")
    assert len(text) < 600


@pytest.mark.parametrize("more", [b"x\n", b"x"])
def test_labels_that_unfold(put, more):
    path, table = put("l.txt.gz", more * (2**24 // len(more))), put("a.csv", TABLE)
    taken, _ = peak(lambda: read_views(table, labels=path, max_bytes=2**20))
    assert taken < 2**23


def test_the_error_says_what_it_unfolds_to(put):
    with pytest.raises(FileFormatError, match=r"a\.csv\.gz: unfolds to more than max_bytes=1,000 bytes"):
        read_views(put("a.csv.gz", "a,b\n" + "1,2\n" * 1000), max_bytes=1000)
    with pytest.raises(
        FileFormatError, match=r"a\.csv\.gz: would take 16,032 bytes of memory, more than max_bytes=5,000"
    ):
        read_views(put("a.csv.gz", "a,b\n" + "1,2\n" * 500), max_bytes=5000)


def test_zst_says_what_it_needs(put, monkeypatch):
    path = put("a.csv.zst", TABLE)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match=r'Reading \.zst needs pyarrow: pip install "manyview\[files\]"'):
        read_views(path)


def test_one_list_of_extensions():
    assert tuple(READERS) == VIEW_FILES
    assert tuple(LABEL_READERS) == LABEL_FILES
    assert set(LOADERS) == {*TEXT_TABLES, ".gct", ".parquet", ".xlsx"}
    assert all(extension in in_words(VIEW_FILES) for extension in (*TEXT_TABLES, *COMPRESSED, ".mat", ".mtx.gz"))


@pytest.mark.parametrize("text", [read_views.__doc__, (ROOT / "docs" / "files.md").read_text(encoding="utf-8")])
def test_the_list_is_in_the_documentation(text):
    assert [
        extension for extension in (*VIEW_FILES[:11], *TEXT_TABLES, *COMPRESSED) if f"`{extension}`" not in text
    ] == []
