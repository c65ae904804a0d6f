"""Numbers as people write them, against what each way of writing means."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manyview.exceptions import FileFormatError
from manyview.io._numbers import is_missing, is_number, read_numbers

STYLES = {
    (",", "."),
    (".", ","),
    (" ", ","),
    (" ", "."),
    ("'", "."),
    ("\u00a0", ","),
    ("\u202f", ","),
    ("", ","),
    ("", "."),
}


def wrote(value: float, groups: str, decimal: str, digits: int) -> str:
    """Write a number with separators between thousands."""
    return f"{value:,.{digits}f}".replace(",", "G").replace(".", decimal).replace("G", groups)


def read(*columns: list[str], decimal: str | None = None) -> pandas.DataFrame:
    frame = pandas.DataFrame({at: pandas.Series(own, dtype=object) for at, own in enumerate(columns)})
    read_numbers(Path("t.csv"), [f"c{at}" for at in range(len(columns))], frame, range(len(columns)), decimal)
    return frame


@given(
    st.lists(st.floats(-1e9, 1e9).map(lambda x: round(x, 2)), min_size=2, max_size=6), st.sampled_from(sorted(STYLES))
)
def test_what_was_written_is_read_once_the_mark_is_known(values, style):
    texts = [wrote(value, *style, 2) for value in values]
    found = read(texts, decimal=style[1])[0]
    np.testing.assert_allclose(pandas.to_numeric(found).to_numpy(dtype=float), values)


@given(
    st.lists(st.floats(-1e9, 1e9).map(lambda x: round(x, 3)), min_size=1, max_size=4),
    st.sampled_from(sorted(STYLES)),
    st.integers(0, 3),
)
def test_without_a_word_it_is_read_right_or_refused(values, style, digits):
    """A guess is never wrong, except for points that look like decimal points in a column without any comma."""
    values = [round(value, digits) for value in values]
    texts = [wrote(value, *style, digits) for value in values]
    if not any("," in text for text in texts) and style[0] != ".":
        style = (style[0], ".")
    try:
        found = pandas.to_numeric(read(texts)[0]).to_numpy(dtype=float)
    except FileFormatError as refused:
        found, told = None, str(refused)
    if found is None:
        assert "which could be" in told
        assert "decimal=','" in told
        return
    np.testing.assert_allclose(found, values)


@pytest.mark.parametrize("text", ["1.5", "-1", "+2", ".5", "5.", "1e-3", "1,5E+3", "1.234.567", "12 %", "inf", "nan"])
def test_numbers(text):
    assert is_number(text)


@pytest.mark.parametrize(
    "text", ["", "p53", "1,23,456", "1.2.3", "1 23", "2020-01-02", "1/2", "<5", "12%%", "1,234 567", "٣x"]
)
def test_no_numbers(text):
    assert not is_number(text)


def test_marks_of_missing_values():
    assert all(map(is_missing, ["-", " ? ", "N/A", "#DIV/0!", "Null", "–", "."]))
    assert not any(map(is_missing, ["", "0", "x", "--1", "unknown"]))


def test_columns_without_a_number_stay_texts():
    frame = read(["-", "-"], ["+", "-"], ["x", "1,5"])
    assert all(frame[column].dtype == object for column in frame)


def test_one_column_tells_the_mark_of_another():
    frame = read(["1,5", "2,25"], ["1,234", "5,678"])
    assert frame[1].tolist() == [1.234, 5.678]


def test_columns_that_disagree():
    with pytest.raises(
        FileFormatError, match=r"'c0' \(such as '1,5'\) and 'c1' \(such as '1,234\.5'\)|'c1' .* and 'c0'"
    ):
        read(["1,5", "2,5"], ["1,234.5", "2"])
    with pytest.raises(
        FileFormatError, match=r"'c0' .*commas \(such as '1,5'\), column 'c1' with points \(such as 1\.234\)"
    ):
        read(["1,5", "2,5"], ["1.234", "-"])
