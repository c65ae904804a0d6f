"""Matrix Market files."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from manyview.exceptions import FileFormatError
from manyview.io import read_views

SQUARE = np.array([[0.0, 2.0, 0.0], [2.0, 5.0, 1.0], [0.0, 1.0, 0.0]])
SKEW = np.array([[0, 2, -3], [-2, 0, 4], [3, -4, 0]])
MATRICES = {
    "sparse": sp.random_array((6, 5), density=0.4, rng=0),
    "sparse integers": sp.coo_array(np.array([[0, 3], [4, 0], [0, 0]])),
    "sparse symmetric": sp.coo_array(SQUARE),
    "sparse skew": sp.coo_array(SKEW),
    "dense": np.arange(12.0).reshape(4, 3) / 7,
    "dense symmetric": SQUARE,
    "dense skew": SKEW,
    "no entries": sp.coo_array((4, 3)),
}


@pytest.mark.parametrize("extension", [".mtx", ".mtx.gz"])
@pytest.mark.parametrize("kind", MATRICES)
def test_round_trip(tmp_path, same, kind, extension):
    matrix = MATRICES[kind]
    path = tmp_path / "plain.mtx"
    scipy.io.mmwrite(path, matrix, comment="a comment", precision=17)
    named = tmp_path / f"words{extension}"
    named.write_bytes(gzip.compress(path.read_bytes()) if extension.endswith("gz") else path.read_bytes())
    found = read_views(named)
    assert found.names == ("words",)
    assert same(found.arrays[0], matrix)


def test_pattern_is_ones(tmp_path):
    path = tmp_path / "links.mtx"
    path.write_text("%%MatrixMarket matrix coordinate pattern general\n% c\n\n2 3 2\n1 2\n2 3\n")
    np.testing.assert_array_equal(read_views(path).arrays[0].toarray(), [[0, 1, 0], [0, 0, 1]])


HEAD = "%%MatrixMarket matrix coordinate real general\n"
BAD = {
    "no banner": ("1 2 3\n", "expected a first line like"),
    "complex": (
        "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 2 3\n",
        "expected a first line like",
    ),
    "vector": ("%%MatrixMarket vector coordinate real general\n1 1 1\n1 1 2\n", "expected a first line like"),
    "unknown format": ("%%MatrixMarket matrix list real general\n1 1\n2\n", "expected a first line like"),
    "no sizes": (HEAD, "damaged"),
    "wrong sizes": (HEAD + "2 2\n1 1 1\n", "expected 3 sizes"),
    "huge": (HEAD + "3 3 1000000000000\n1 1 1\n", "more than the file can hold"),
    "huge dense": (
        "%%MatrixMarket matrix array real general\n1000000 1000000\n1\n",
        "more than the file can hold",
    ),
    "huge rows": (HEAD + "1000000000000000 3 1\n1 1 1\n", "more than 16 rows or columns for each entry"),
    "cut short": (HEAD + "3 3 3\n1 1 1\n2 2 2\n", "announces 3 entries"),
    "cut within an exponent": (HEAD + "3 3 1\n1 1 2.5E-", "damaged"),
    "too many": (HEAD + "3 3 1\n1 1 1\n2 2 2\n", "holds more"),
    "out of range": (HEAD + "3 3 1\n4 1 1\n", "found one outside"),
    "zero index": (HEAD + "3 3 1\n0 1 1\n", "found one outside"),
    "fraction": (HEAD + "3 3 1\n1.5 1 1\n", "expected whole numbers"),
    "text": (HEAD + "3 3 1\n1 1 one\n", "damaged"),
    "not square": ("%%MatrixMarket matrix coordinate real symmetric\n3 2 1\n1 1 1\n", "not square"),
    "empty": (HEAD + "0 3 0\n", "an empty matrix"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_file(tmp_path, kind):
    content, message = BAD[kind]
    (tmp_path / "bad.mtx").write_text(content)
    with pytest.raises(FileFormatError, match=rf"bad\.mtx: .*{message}"):
        read_views(tmp_path / "bad.mtx")


def test_gzip_that_is_none(tmp_path):
    (tmp_path / "bad.mtx.gz").write_text(HEAD)
    with pytest.raises(FileFormatError, match=r"bad\.mtx\.gz: cannot be read as a Matrix Market file"):
        read_views(tmp_path / "bad.mtx.gz")


@pytest.mark.parametrize("filling", ["%\n", " "])
def test_text_without_end_is_not_read_to_its_end(tmp_path, filling):
    """A few deflated bytes unfold to any number of comments, or to a line that fills the memory."""
    path = tmp_path / "bomb.mtx.gz"
    path.write_bytes(gzip.compress((HEAD + "3 3 1\n" + filling * 2**22).encode()))
    with pytest.raises(FileFormatError, match=r"bomb\.mtx\.gz: .*more text than 1 entries need"):
        read_views(path)


def test_whole_numbers_beyond_64_bits(tmp_path):
    (tmp_path / "a.mtx").write_text(HEAD.replace("real", "integer") + "3 3 1\n1 1 1e300\n")
    with pytest.raises(FileFormatError, match=r"a\.mtx: expected whole numbers of 64 bits, found 1e\+300"):
        read_views(tmp_path / "a.mtx")


@pytest.mark.parametrize("field", ["real", "double"])
def test_only_whole_numbers_have_64_bits(tmp_path, field):
    (tmp_path / "a.mtx").write_text(HEAD.replace("real", field) + "1 2 1\n1 2 1e300\n")
    assert read_views(tmp_path / "a.mtx").arrays[0].toarray().tolist() == [[0, 1e300]]


def test_the_text_may_be_long_where_the_entries_are_many(tmp_path):
    """Lines of 1,000 characters, and more of them than the text that is free of charge."""
    n = 1100
    lines = "".join(f"{row}".ljust(999) + "\n" for row in range(n))
    (tmp_path / "a.mtx").write_text(f"%%MatrixMarket matrix array real general\n{n} 1\n{lines}")
    np.testing.assert_array_equal(read_views(tmp_path / "a.mtx").arrays[0].ravel(), np.arange(n))
