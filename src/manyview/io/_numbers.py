"""Numbers as people write them: decimal commas, thousands separators, percents, and marks for missing values.

pandas reads plain numbers. What it leaves as text is compared here with two ways of writing, column by column:
``1,234.5`` and ``1.234,5``. A column that fits both, such as one of ``1,234``, is refused until ``decimal=`` says
which it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas

from manyview.exceptions import FileFormatError

MISSING = frozenset(
    {
        *("-", "--", "---", "–", "—", "?", "??", ".", "..", "*", "na", "n.a.", "n/a", "nan", "null", "none", "missing"),
        *("#n/a", "#na", "#null!", "#div/0!", "#value!", "#ref!", "#name?", "#num!"),  # errors of spreadsheets
    }
)
"""Cells (in lower case) among numbers that mean a missing value, besides those that pandas knows."""

_SPACES = (
    " \u00a0\u202f'\u2019"  # between groups of thousands: space, no-break space, narrow no-break space, apostrophes
)
_TAIL = r"(?:[eE][+-]?\d+)?\s*%?"
_LOOKED_AT = 64  # values that show most columns of names
_RAW_ROWS = 200  # rows of a table with semicolons in which thousands are looked for


def _pattern(decimal: str, groups: str) -> re.Pattern[str]:
    """Return a pattern of numbers with this decimal mark, whose thousands may be separated by one of ``groups``."""
    mark, between = re.escape(decimal), f"[{re.escape(groups)}]"
    whole = rf"(?:\d+|[1-9]\d{{0,2}}(?:({between})\d{{3}})(?:\1\d{{3}})*)"
    return re.compile(rf"[+-]?(?:{whole}(?:{mark}\d*)?|{mark}\d+){_TAIL}", re.ASCII)


_MARKS = {".": ",", ",": "."}
_WRITTEN = {mark: _pattern(mark, other + _SPACES) for mark, other in _MARKS.items()}
"""Decimal mark -> pattern of the numbers written with it."""
_PLAIN = {mark: _pattern(mark, _SPACES) for mark in _MARKS}
_DOTTED = re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+", re.ASCII)


def is_number(text: str) -> bool:
    """Return whether a text is a number in some way of writing.

    Examples
    --------
    >>> [text for text in ("1.5", "1,5", "1 234", "1.234,5", "12%", "-inf", "1,2,3", "p53", "") if is_number(text)]
    ['1.5', '1,5', '1 234', '1.234,5', '12%', '-inf']
    """
    try:
        float(text)
    except ValueError:
        return any(pattern.fullmatch(_plain(text)) for pattern in _WRITTEN.values())
    return True


def is_missing(text: str) -> bool:
    """Return whether a cell among numbers means a missing value."""
    return text.strip().lower() in MISSING


def read_numbers(
    path: Path,
    names: Sequence[str],
    frame: Any,
    columns: Iterable[int],
    decimal: str | None,
    with_points: bool = True,
) -> None:
    """Convert the columns of texts that are numbers, in place; other columns stay as they are.

    Parameters
    ----------
    path, names
        Of the table, for errors.
    frame : DataFrame
        Its columns are 0, 1, 2, ...
    columns : iterable of int
        The columns to look at.
    decimal : {".", ","}, optional
        The decimal mark, if the caller knows it. The other mark separates thousands.
    with_points : bool
        Whether columns that are numbers already were written with decimal points.

    Raises
    ------
    FileFormatError
        If columns differ in their decimal marks, or one of them could be read in two ways.
    """
    found: dict[int, tuple[list[str], frozenset[str]]] = {}
    for column in columns:
        texts = _texts_of_numbers(frame[column])
        fitting = frozenset() if texts is None else _fitting(texts, decimal)
        if texts is not None and fitting:
            found[column] = texts, fitting
    marks = {column: next(iter(fit)) for column, (_, fit) in found.items() if len(fit) == 1}
    by_mark = {mark: column for column, mark in reversed(marks.items())}
    if len(by_mark) > 1:
        told = " and ".join(
            f"{names[column]!r} (such as {_example(found[column][0])!r})" for column in by_mark.values()
        )
        raise FileFormatError(
            f"{path}: some columns are written with decimal commas, others with decimal points: {told}. Write all of "
            "them in one way."
        )
    comma = by_mark.get(",")
    if comma is not None and decimal is None and with_points:
        _check_no_points(path, names, frame, comma, _example(found[comma][0]))
    for column, (texts, fitting) in found.items():
        mark = marks.get(column) or ("," if comma is not None else None)
        if comma is not None and decimal is None and len(fitting) > 1 and "." in _example(texts):
            shown = _example(found[comma][0])
            raise FileFormatError(_why_unlike(path, names, comma, shown, column, _example(texts)))
        if mark is None and _PLAIN["."].fullmatch(_example(texts)):
            mark = "."  # spaces between thousands, percents: nothing that depends on the mark
        if mark is None:
            example = _example(texts)
            raise FileFormatError(
                f"{path}: column {names[column]!r} holds {example!r}, which could be {_value(example, '.'):g} or "
                f"{_value(example, ','):g}. Pass decimal=',' if the comma is the decimal mark, decimal='.' if it "
                "separates thousands."
            )
        frame[column] = [np.nan if text == "" else _value(text, mark) for text in texts]


def check_thousands(path: Path, names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Refuse columns of a table with semicolons in which every point could separate thousands, as in ``1.234``.

    Such tables are written where the decimal mark is a comma, and there 1.234 is a thousand.
    """
    for column, name in enumerate(names):
        dotted = [row[column].strip() for row in rows[:_RAW_ROWS] if column < len(row) and "." in row[column]]
        if dotted and all(_DOTTED.fullmatch(cell) for cell in dotted):
            raise FileFormatError(
                f"{path}: column {name!r} holds {dotted[0]!r} in a table whose columns are separated by semicolons, "
                f"which could be {_value(dotted[0], ','):g} or {dotted[0]}. Pass decimal=',' if the point separates "
                "thousands, decimal='.' if it is the decimal mark."
            )


def _texts_of_numbers(values: Any) -> list[str] | None:
    """Return the cells of a column of texts, empty where missing; None for other columns and columns of words."""
    if pandas.api.types.is_numeric_dtype(values.dtype) or pandas.api.types.is_datetime64_any_dtype(values.dtype):
        return None
    first = values[values.notna()].iloc[:_LOOKED_AT]
    if _are_plain(first) and _are_plain(values):
        return None
    if not all(isinstance(cell, str) and (is_missing(cell) or is_number(cell)) for cell in first):
        return None
    texts = ["" if not isinstance(cell, str) or is_missing(cell) else _plain(cell) for cell in values]
    return texts if any(texts) else None


def _are_plain(values: Any) -> bool:
    """Return whether pandas reads all values as numbers."""
    try:
        pandas.to_numeric(values)
    except (ValueError, TypeError, OverflowError):
        return False
    return True


def _fitting(texts: Sequence[str], decimal: str | None) -> frozenset[str]:
    """Return the decimal marks with which every cell is a number, and all or none of them percents."""
    cells = [text for text in texts if text and text.lower().lstrip("+-") not in ("inf", "infinity")]
    if len({text.endswith("%") for text in cells}) > 1:
        return frozenset()
    marks = _WRITTEN if decimal is None else {decimal: _WRITTEN[decimal]}
    return frozenset(mark for mark, pattern in marks.items() if all(pattern.fullmatch(text) for text in cells))


def _check_no_points(path: Path, names: Sequence[str], frame: Any, comma: int, example: str) -> None:
    for column in frame:
        values = frame[column]
        if values.dtype.kind == "f" if isinstance(values.dtype, np.dtype) else False:
            fractions = values[np.isfinite(values) & (values % 1 != 0)]
            if len(fractions):
                raise FileFormatError(_why_unlike(path, names, comma, example, column, f"{fractions.iloc[0]:.6g}"))


def _why_unlike(path: Path, names: Sequence[str], comma: int, example: str, point: int, other: str) -> str:
    return (
        f"{path}: column {names[comma]!r} is written with decimal commas (such as {example!r}), column "
        f"{names[point]!r} with points (such as {other}). Pass decimal=',' if its points separate thousands, else "
        "write all columns in one way."
    )


def _example(texts: Sequence[str]) -> str:
    """Return the first cell that shows how a column is written."""
    marked = [text for text in texts if "," in text or "." in text]
    telling = [
        text for text in marked if sum(pattern.fullmatch(text) is not None for pattern in _WRITTEN.values()) == 1
    ]
    return next(iter([*telling, *marked, *(text for text in texts if text)]), "")


def _plain(text: str) -> str:
    """Return a cell without spaces around it, and with an ASCII minus sign."""
    return text.strip().replace("−", "-")


def _value(text: str, mark: str) -> float:
    text = text.rstrip()
    share = text.endswith("%")
    digits = text.rstrip("%").translate(dict.fromkeys(map(ord, _MARKS[mark] + _SPACES))).replace(mark, ".")
    return float(digits) / 100 if share else float(digits)
