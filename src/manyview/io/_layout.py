"""Where the table is in a text file: its encoding, lines above and below it, and the separator of its columns.

Spreadsheets write titles above a table, R writes a first line that is one name short, GEO surrounds it with lines that
begin with ``!``. What was skipped is noted; what could be read in two ways is an error.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from manyview.exceptions import FileFormatError
from manyview.io._lines import SPACES, csv_reader, open_bytes
from manyview.io._numbers import is_missing, is_number

_NAMES = {"\t": "tabs", ",": "commas", ";": "semicolons"}
_LINES_SEEN = 20  # to find the separator
_MAX_TITLES = 20  # lines above the table
_CHARACTERS_SEEN = 2**20  # bound for long lines
_PIECE = 2**16  # characters of a line read at a time
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_GCT = {"#1.2": 2, "#1.3": 4}  # numbers in the second line
_GEO_BEGIN, _GEO_END = "!series_matrix_table_begin", "!series_matrix_table_end"


@dataclass(frozen=True)
class Layout:
    """How a text file holds a table."""

    path: Path
    max_bytes: int
    encoding: str = "utf-8-sig"
    separator: str = ","
    skipped: int = 0
    """Lines above the table."""
    end: str = ""
    """Beginning of the line below the table."""
    features_in_rows: bool = False
    """Whether the format says so."""
    shape: tuple[int, int] | None = None
    """Numbers of features and samples that the format announces (GCT)."""
    about_features: int = 0
    """Columns after the first that describe features."""
    about_samples: int = 0
    """Lines below the names of the columns that describe samples."""
    notes: tuple[str, ...] = ()

    def open_bytes(self) -> BinaryIO:
        """Open the table as UTF-8."""
        if self.encoding == "utf-8-sig" and not (self.skipped or self.about_samples or self.end):
            return open_bytes(self.path, self.max_bytes)
        return io.BufferedReader(_Table(self), _PIECE)

    def open_text(self) -> TextIO:
        """Open the table as text with its line ends."""
        return io.TextIOWrapper(self.open_bytes(), encoding="utf-8-sig", newline="")


class _Table(io.RawIOBase):
    """The lines of a file between those above and below the table, as UTF-8."""

    def __init__(self, layout: Layout) -> None:
        self._text = io.TextIOWrapper(open_bytes(layout.path, layout.max_bytes), encoding=layout.encoding, newline="")
        self._end, self._rest = layout.end, b""
        for _ in range(layout.skipped):
            _next_line(self._text)
        self._starts = True
        if layout.about_samples:
            self._rest = _whole_line(self._text).encode()
            for _ in range(layout.about_samples):
                if not _next_line(self._text):
                    break

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._rest:
            self._rest = self._piece().encode()
        content, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        buffer[: len(content)] = content
        return len(content)

    def _piece(self) -> str:
        if not self._end:
            return self._text.read(_PIECE)
        piece = self._text.readline(_PIECE)
        if self._starts and piece.startswith(self._end):
            return ""
        self._starts = piece.endswith(("\n", "\r"))
        return piece

    def close(self) -> None:
        if not self.closed:
            self._text.close()
        super().close()


def _whole_line(text: TextIO) -> str:
    pieces = [text.readline(_PIECE)]
    while pieces[-1] and not pieces[-1].endswith(("\n", "\r")):
        pieces.append(text.readline(_PIECE))
    return "".join(pieces)


def _next_line(text: TextIO) -> str:
    """Read one line; return its beginning, or an empty text at the end of the file."""
    first = piece = text.readline(_PIECE)
    while piece and not piece.endswith(("\n", "\r")):
        piece = text.readline(_PIECE)
    return first


def find_layout(path: Path, max_bytes: int, separator: str | None, encoding: str | None, kind: str) -> Layout:
    """Find the table in a text file.

    Parameters
    ----------
    path : Path
    max_bytes : int
    separator : str, optional
        The separator that the extension of the file announces, which is preferred to others.
    encoding : str, optional
        What the caller said. Default: UTF-8, or UTF-16 if the file begins with its byte order mark.
    kind : str
        Name of the format, for errors.
    """
    layout = Layout(path, max_bytes, encoding or _encoding(path, max_bytes), separator or ",")
    lines = _first_lines(layout)
    if "\0" in "".join(lines):
        raise FileFormatError(
            f"{path}: expected {kind}, UTF-8 text, found binary data or another encoding. Save it as UTF-8, or pass "
            "encoding= with the name of its encoding, such as 'utf-16'."
        )
    if lines[0].startswith(("!", "^")):
        layout = _in_geo(layout)
        lines = _first_lines(layout)
    elif lines[0].rstrip() in _GCT and (".gct" in path.name.lower() or _gct_numbers(lines)):
        return _in_gct(layout, lines)
    elif lines[0].lower().startswith("sep=") and len(lines[0].rstrip()) == 5:  # what Excel takes for a command
        separator = lines[0][4]
        layout, lines = _skip(layout, 1, told=False), lines[1:]
    return _find_table(layout, lines or [""], separator)


def _encoding(path: Path, max_bytes: int) -> str:
    with open_bytes(path, max_bytes) as stream:
        start = stream.read(4)
    if start in (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE):
        raise FileFormatError(f"{path}: is written in UTF-32. Save it as UTF-8.")
    return next((encoding for mark, encoding in _MARKS.items() if start.startswith(mark)), "utf-8-sig")


def _first_lines(layout: Layout) -> list[str]:
    """Return the first lines without line ends; a single line may be truncated."""
    lines: list[str] = []
    left = _CHARACTERS_SEEN
    with io.TextIOWrapper(layout.open_bytes(), encoding="utf-8-sig") as stream:
        while left > 0 and len(lines) < 2 * _LINES_SEEN + _MAX_TITLES and (line := stream.readline(left)):
            left -= len(line)
            if line.endswith("\n") or left > 0 or not lines:
                lines.append(line.removesuffix("\n"))
    return lines or [""]


def _skip(layout: Layout, n_lines: int, told: bool = True, **changes: Any) -> Layout:
    note = f"{layout.path.name}: skipped {n_lines} line{'s' * (n_lines > 1)} above the table"
    notes = (*layout.notes, note) if n_lines and told else layout.notes
    return replace(layout, skipped=layout.skipped + n_lines, notes=notes, **changes)


def _in_geo(layout: Layout) -> Layout:
    """Find the table of a series matrix of GEO, which stands between two lines."""
    with io.TextIOWrapper(layout.open_bytes(), encoding="utf-8-sig", newline="") as text:
        n_lines = 1
        while (line := _next_line(text)) and not line.startswith(_GEO_BEGIN):
            n_lines += 1
    if not line:
        raise FileFormatError(
            f"{layout.path}: begins like a file of GEO, but has no line {_GEO_BEGIN!r}. Only series matrix files hold "
            "a table of all samples: download ..._series_matrix.txt.gz."
        )
    return _skip(layout, n_lines, told=False, end=_GEO_END, features_in_rows=True)


def _in_gct(layout: Layout, lines: Sequence[str]) -> Layout:
    """Find the table of a GCT file, whose second line has the numbers of rows and columns.

    In version 1.3 it also has those of the columns that describe features and of the lines that describe samples; in
    version 1.2 there is one such column.
    """
    version, numbers = lines[0].rstrip(), _gct_numbers(lines)
    if not numbers:
        raise FileFormatError(
            f"{layout.path}: expected {_GCT[version]} numbers in the second line of a GCT file of version "
            f"{version[1:]}: rows, columns{'' if version == '#1.2' else ', and those that describe them'}; found "
            f"{(lines[1] if len(lines) > 1 else '')[:40]!r}."
        )
    n_features, n_samples, *about = numbers
    about_features, about_samples = about or (1, 0)
    note = (
        f"{layout.path.name}: left out {about_features} column(s) that describe features and {about_samples} line(s) "
        "that describe samples"
    )
    return replace(
        _skip(layout, 2, told=False, features_in_rows=True),
        separator="\t",
        shape=(n_features, n_samples),
        about_features=about_features,
        about_samples=about_samples,
        notes=(*layout.notes, note) if any(about) else layout.notes,
    )


def _gct_numbers(lines: Sequence[str]) -> list[int]:
    """Return the numbers in the second line of a GCT file; none if they are not there."""
    words = lines[1].split() if len(lines) > 1 else []
    are_numbers = len(words) == _GCT[lines[0].rstrip()] and all(map(str.isdecimal, words)) and len(lines[1]) < 60
    return list(map(int, words)) if are_numbers else []


def _find_table(layout: Layout, lines: list[str], separator: str | None) -> Layout:
    """Find the separator, and the lines above the table: comments, titles and empty lines."""
    n_comments = next((i for i, line in enumerate(lines) if line.strip() and not line.startswith("#")), len(lines))
    if n_comments == len(lines):  # one line of names and comments only
        n_comments = 0
    rest = lines[n_comments:]
    if n_comments and not lines[n_comments - 1].startswith("#"):
        return _with_titles(_skip(layout, n_comments), rest, separator)
    found = _with_titles(_skip(layout, n_comments), rest, separator)
    if n_comments and found.skipped == layout.skipped + n_comments:
        names, first = _fields(lines[n_comments - 1].lstrip("# "), found.separator), _fields(rest[0], found.separator)
        has_numbers = any(is_number(cell) or is_missing(cell) for cell in first[1:])
        if len(names) == len(first) > 1 and has_numbers and not any(map(is_number, names)):
            return _with_titles(_skip(layout, n_comments - 1), lines[n_comments - 1 :], found.separator)
    return found


def _with_titles(layout: Layout, lines: list[str], separator: str | None) -> Layout:
    separator = _find_separator(layout.path, lines, separator)
    titles = _n_titles(lines, separator)
    return _skip(replace(layout, separator=separator), titles)


def _find_separator(path: Path, lines: list[str], nominal: str | None) -> str:
    """Return the separator that splits all of the first lines into the same number of fields, more than one.

    Where no separator does, the first line may be one field shorter, as R writes it, or titles may stand above the
    table. The separator that the extension announces is preferred. Two others are an error.
    """
    full = [line for line in lines if line.strip()] or [""]
    choices = [*_NAMES, *([SPACES] if nominal is None else [])]
    for with_titles, shorter in ((False, False), (False, True), (True, False), (True, True)):
        found: list[str] = []
        for choice in choices:
            own = full[_n_titles(full, choice, shorter) :] if with_titles else full
            if choice == SPACES and found:  # of a table with another separator, names may have spaces
                continue
            if _is_regular(own[:_LINES_SEEN], choice, shorter):
                found.append(choice)
        if nominal in found:
            # Decimal commas split rows as regularly as semicolons do, but leave semicolons in the fields.
            better = [choice for choice in found if _are_numbers(full, choice) and not _are_numbers(full, str(nominal))]
            return better[0] if better else str(nominal)
        if len(found) > 1:
            words = " or ".join(_NAMES[separator] for separator in found)
            raise FileFormatError(
                f"{path}: its columns could be separated by {words}. Call the file .csv if they are separated by "
                "commas, .tsv if by tabs, or write it with one of these."
            )
        if found:
            return found[0]
    if nominal is not None:
        return nominal
    in_first = [separator for separator in _NAMES if separator in full[0]]  # so that the error names the short line
    if len(in_first) != 1:
        raise FileFormatError(
            f"{path}: expected a table with columns separated by tabs, commas, semicolons or spaces, found a first "
            f"line {full[0][:60]!r}. If it has one column, call the file .csv; if it holds classes, pass it as labels."
        )
    return in_first[0]


def _n_titles(lines: Sequence[str], separator: str, shorter: bool = False) -> int:
    """Return the number of lines above the names of the columns: empty lines, and titles in the first field.

    The names are the first line with more than one name; a title stands alone in its line.
    """
    for i, line in enumerate(lines[: _MAX_TITLES + 1]):
        fields = _fields(line, separator)
        n_full = sum(field.strip() != "" for field in fields)
        if n_full < 2:
            continue
        if i == 0 or separator == SPACES:
            return 0
        if all(is_number(field) or not field.strip() for field in fields[1:]):
            return _n_empty(lines)  # no names: what stands above may be a first line of R
        padded = any(len(_fields(above, separator)) > 1 for above in lines[:i])
        return i if len(fields) > 2 or not padded else _n_empty(lines)
    return _n_empty(lines)


def _n_empty(lines: Sequence[str]) -> int:
    return next((i for i, line in enumerate(lines) if line.strip()), 0)


def _is_regular(lines: list[str], separator: str, shorter: bool) -> bool:
    try:
        rows = [_fields(line, separator, strict=True) for line in _joined(lines, separator)]
    except csv.Error:
        return False
    first, others = len(rows[0]), {len(row) for row in rows[1:]}
    if not shorter:
        return len(others | {first}) == 1 and first > 1
    if others != {first + 1}:
        return False
    # One name above two columns is also what a title looks like: R quotes names, and writes numbers below.
    return first > 1 or lines[0].startswith('"') or all(is_number(row[1]) or is_missing(row[1]) for row in rows[1:])


def _are_numbers(lines: list[str], separator: str) -> bool:
    """Return whether all fields of the last lines but the first are numbers."""
    rows = (_fields(line, separator) for line in lines[-_LINES_SEEN // 2 :])
    return all(is_number(field) or is_missing(field) or not field for row in rows for field in row[1:])


def _joined(lines: list[str], separator: str) -> list[str]:
    """Join lines that end within quotes, in which a line may break."""
    joined, open_line = [], ""
    for line in lines:
        open_line = f"{open_line}\n{line}" if open_line else line
        if open_line.count('"') % 2 == 0:
            joined.append(open_line)
            open_line = ""
    return joined or lines


def _fields(line: str, separator: str, strict: bool = False) -> list[str]:
    line = line.strip(" ") if separator == SPACES else line
    try:
        return next(csv_reader([line], separator), [])
    except csv.Error:
        if strict:
            raise
        return line.split(separator)
