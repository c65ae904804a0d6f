"""Sheets of Excel workbooks, ``.xlsx``: values as they were last computed; ``FILE:SHEET`` names one of several."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from datetime import date, time
from pathlib import Path
from typing import Any

import pandas

from manyview._utils.formats import split_sheet
from manyview._utils.imports import require
from manyview.exceptions import FileFormatError
from manyview.io._common import Options, check_size, reading
from manyview.io._numbers import is_missing, read_numbers

_BYTES_PER_CELL = 40  # of a Python object in a list
_MAX_TITLES = 20  # rows above the table
_MAX_ROWS = 2**20
_DOCTYPE, _CHUNK = b"<!DOCTYPE", 2**16
_UTF16 = (b"\xff\xfe", b"\xfe\xff", b"<\0", b"\0<")  # in which a document type would not be seen


def load_sheet(path: Path, options: Options) -> tuple[list[str], list[list[Any]], tuple[str, ...]]:
    """Return the first row, the rows below it, and notes on what was skipped; rows are equally long."""
    file, name = split_sheet(path)
    with file.open("rb") as stream, reading(file, "an Excel workbook"):
        workbook = _open(file, stream, options.max_bytes)
        try:
            sheet = _choose(file, workbook, name)
            first, rows = _filled_rows(path, sheet, options.max_bytes)
        finally:
            workbook.close()
    n_titles = _n_titles(rows)
    skipped = first - 1 + n_titles
    rows = rows[n_titles:]
    if not rows:
        raise FileFormatError(f"{path}: the sheet is empty.")
    empty = next((i for i, row in enumerate(rows) if not row), None)
    if empty is not None:
        raise FileFormatError(f"{path}: row {skipped + empty + 1} is empty, but more rows follow.")
    width = max(map(len, rows))
    names = ["" if cell is None else str(cell).strip() for cell in rows[0]] + [""] * (width - len(rows[0]))
    nameless = next((at for at, name in enumerate(names) if at and not name), None)
    if nameless is not None:
        raise FileFormatError(
            f"{path}: column {_letter(nameless)} has values, but no name in row {skipped + 1}. Name it, or remove what "
            "stands beside the table."
        )
    notes = (f"{path.name}: skipped {skipped} row{'s' * (skipped > 1)} above the table",) if skipped else ()
    return names, [row + [None] * (width - len(row)) for row in rows], notes


def sheet_names(file: Path, max_bytes: int) -> list[str]:
    """Return the names of the sheets of a workbook."""
    with file.open("rb") as stream, reading(file, "an Excel workbook"):
        workbook = _open(file, stream, max_bytes)
        try:
            return [str(sheet.title) for sheet in workbook.worksheets]
        finally:
            workbook.close()


def frame_of(path: Path, names: Sequence[str], rows: Sequence[Sequence[Any]], options: Options) -> pandas.DataFrame:
    """Return the columns of a sheet: numbers, or texts."""
    columns = zip(*rows, strict=True)
    frame = pandas.DataFrame({at: _column(list(cells)) for at, cells in enumerate(columns)})
    read_numbers(path, names, frame, range(len(names)), options.decimal, with_points=False)
    return frame


def _open(file: Path, stream: Any, max_bytes: int) -> Any:
    openpyxl = require("openpyxl", extra="excel", purpose="Reading .xlsx")
    with zipfile.ZipFile(stream) as archive:
        # zipfile stops at the size in the directory, so that this size is a bound even if it is wrong.
        check_size(file, sum(member.file_size for member in archive.infolist()), max_bytes)
        for member in archive.infolist():
            if _declares_type(archive, member):
                raise FileFormatError(
                    f"{file}: {member.filename} declares a document type or is UTF-16, which Excel never writes."
                )
    stream.seek(0)
    return openpyxl.load_workbook(stream, read_only=True, data_only=True, keep_links=False)


def _declares_type(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bool:
    """Return whether a part of a workbook has a document type, whose entities could expand to any size."""
    end = b""
    with archive.open(member) as part:
        while chunk := part.read(_CHUNK):
            if _DOCTYPE in end + chunk or (not end and chunk[:2] in _UTF16):
                return True
            end = chunk[-len(_DOCTYPE) :]
    return False


def _choose(file: Path, workbook: Any, name: str | None) -> Any:
    """Return the sheet of this name, else the only visible one with values."""
    sheets = {str(sheet.title): sheet for sheet in workbook.worksheets}
    if name is not None:
        if name not in sheets:
            raise FileFormatError(f"{file}: has no sheet {name!r}. It has {', '.join(map(repr, sheets))}.")
        return sheets[name]
    visible = {title: sheet for title, sheet in sheets.items() if sheet.sheet_state == "visible" and _has_values(sheet)}
    if len(visible) == 1:
        return next(iter(visible.values()))
    if not visible:
        raise FileFormatError(f"{file}: its sheets are empty or hidden: {', '.join(map(repr, sheets)) or 'none'}.")
    first = next(iter(visible))
    raise FileFormatError(
        f"{file}: has {len(visible)} sheets: {', '.join(map(repr, visible))}. Name one as '{file}:{first}'; several, "
        "each named so, are several views."
    )


def _has_values(sheet: Any) -> bool:
    sheet.reset_dimensions()  # what the file announces, which may be any number of columns
    return any(cell is not None for row in sheet.iter_rows(values_only=True, max_row=100) for cell in row)


def _filled_rows(path: Path, sheet: Any, max_bytes: int) -> tuple[int, list[list[Any]]]:
    """Return the number of the first row that is not empty, and all rows from it to the last one."""
    rows: list[list[Any]] = []
    first, n_empty, n_cells = 0, 0, 0
    for number, row in enumerate(_rows(sheet), start=1):
        if number > _MAX_ROWS:  # rows may announce any number, up to which there are empty ones
            raise FileFormatError(f"{path}: has more than the {_MAX_ROWS:,} rows of a sheet.")
        if not row:
            n_empty += 1
            continue
        n_cells += len(row) + n_empty
        check_size(path, _BYTES_PER_CELL * n_cells, max_bytes)
        first = first or number
        rows += [[] for _ in range(n_empty if rows else 0)]
        rows.append(row)
        n_empty = 0
    return first, rows


def _rows(sheet: Any) -> Iterator[list[Any]]:
    """Yield the cells of each row without empty ones at its end."""
    sheet.reset_dimensions()
    for cells in sheet.iter_rows(values_only=True):
        end = len(cells)
        while end and (cells[end - 1] is None or cells[end - 1] == ""):
            end -= 1
        yield list(cells[:end])


def _n_titles(rows: Sequence[list[Any]]) -> int:
    """Return the number of rows above the names: titles, which stand alone in their row, and empty rows."""
    for i, row in enumerate(rows[: _MAX_TITLES + 1]):
        if sum(cell is not None for cell in row) > 1:
            names = all(isinstance(cell, str) or cell is None for cell in row)
            return i if names or not i else 0
    return 0


def _column(cells: list[Any]) -> Any:
    known = [cell for cell in cells if not (cell is None or (isinstance(cell, str) and is_missing(cell)))]
    if known and all(isinstance(cell, bool) for cell in known) and len(known) == len(cells):
        return pandas.Series(cells, dtype=bool)
    if (
        known
        and all(isinstance(cell, int) and not isinstance(cell, bool) for cell in known)
        and len(known) == len(cells)
    ):
        return pandas.Series(cells)
    if known and all(isinstance(cell, int | float) for cell in known):
        return pandas.Series([float(cell) if isinstance(cell, int | float) else None for cell in cells], dtype=float)
    return pandas.Series([None if cell is None else _text(cell) for cell in cells], dtype=object)


def _text(cell: Any) -> str:
    return cell.isoformat() if isinstance(cell, date | time) else str(cell)


def _letter(at: int) -> str:
    """Return the letters of a column.

    Examples
    --------
    >>> _letter(0), _letter(27)
    ('A', 'AB')
    """
    letters = ""
    at += 1
    while at:
        at, rest = divmod(at - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters
