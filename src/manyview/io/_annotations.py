"""Classes and other facts about the samples from separate files: ``FILE``, ``FILE:COLUMN`` or ``FILE:COLUMN@ID``.

They annotate the samples of the views: they never add, drop or reorder samples.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas

from manyview._utils.formats import LABEL_FILES, extension_of, name_without_extension
from manyview.exceptions import FileFormatError
from manyview.io._common import Options, Part, reading, some, text_array_of_blocks, without_gaps
from manyview.io._lines import open_text
from manyview.io._variables import whole_numbers

_NULLABLE = {"i": "Int64", "u": "Int64", "b": "boolean"}
"""pandas' types with missing values, by the kind of NumPy's."""

LabelsPath = str | os.PathLike[str]

_LONGEST_NUMBER = 64  # characters
_LONGEST_LINE = 2**20  # characters
_BLOCK = 2**16  # characters or labels processed at a time


@dataclass(frozen=True)
class LabelSource:
    """A file of labels as the caller gave it: its path, and what follows, such as ``:subtype@barcode``."""

    path: Path
    chosen: str = ""

    @classmethod
    def parse(cls, given: LabelsPath, argument: str = "labels") -> LabelSource:
        """Split a text into a path and the columns after it. The name of an existing file is never split."""
        text = os.fspath(given)
        if Path(text).exists():
            return cls(Path(text))
        ends = [i for i, character in enumerate(text) if character in ":@"]
        found = next((end for end in reversed(ends) if Path(text[:end]).is_file()), None)
        if found is None:  # the error names the file; the colon of C:\\data does not end its path
            found = next((end for end in ends if extension_of(Path(text[:end]), LABEL_FILES)), len(text))
        path, chosen = Path(text[:found]), text[found:]
        if chosen in (":", "@"):
            raise ValueError(f"{argument}: expected a column after {chosen!r}, got {text!r}.")
        return cls(path, chosen)

    @property
    def id_column(self) -> str | None:
        """The name after the last ``@``."""
        _, mark, name = self.chosen.rpartition("@")
        return name if mark and name else None

    def several(self, names: Sequence[str]) -> tuple[list[str] | None, str | None]:
        """Return the named columns of metadata, separated by commas, None for all, and that of the ids."""
        column, id_column = self.columns(names)
        if column is None or column in names:
            return None if column is None else [column], id_column
        return [name.strip() for name in column.split(",")], id_column

    def columns(self, names: Sequence[str]) -> tuple[str | None, str | None]:
        """Return the named columns of the classes and of the ids; a name may itself contain ``@``."""
        if self.chosen.startswith(":") and self.chosen[1:] in names:
            return self.chosen[1:], None
        column, mark, id_column = self.chosen.removeprefix(":").rpartition("@")
        return (column or None, id_column or None) if mark else (id_column or None, None)


def annotate(
    parts: Sequence[Part], ids: np.ndarray | None, n_samples: int, *, by_position: bool = False
) -> tuple[np.ndarray, pandas.DataFrame]:
    """Return the first column of labels, and all of them as a data frame, one row per sample.

    Parameters
    ----------
    parts : sequence of Part
        One per column.
    ids : ndarray of str, shape (n_samples,), or None
        Ids of the samples.
    n_samples : int
    by_position : bool
        Whether row i is the same sample in every file, by the caller's word, even if there are ids.
    """
    columns = [_matched(part, ids, n_samples, by_position) for part in parts]
    frame = pandas.DataFrame(dict(zip(_names(parts), columns, strict=True)), index=ids)
    for name in frame:
        if pandas.api.types.is_object_dtype(frame[name].dtype):
            frame[name] = frame[name].convert_dtypes()  # integers with missing values stay integers
    return columns[0], frame


def _matched(part: Part, ids: np.ndarray | None, n_samples: int, by_position: bool) -> np.ndarray:
    """Return the labels in the order of the samples, None for samples without one."""
    rows = _rows(part, ids, n_samples, by_position)
    labels = np.asarray(part.labels)
    labels = labels if rows is None else without_gaps(labels[rows], rows >= 0)
    if pandas.isna(labels).all():
        raise FileFormatError(
            f"{part.source}: column {part.label_name!r} is empty for all {n_samples} samples of the views. "
            "Choose another column, or leave these labels out."
        )
    return labels


def match_metadata(
    parts: Sequence[Part], ids: np.ndarray | None, n_samples: int, *, by_position: bool = False
) -> tuple[pandas.DataFrame, int]:
    """Return the columns of all files of metadata, one row per sample, and how many samples no file knows.

    Parameters
    ----------
    parts : sequence of Part
        One per file, from :func:`manyview.io._table_columns.read_table_metadata`.
    ids, n_samples, by_position
        As for :func:`annotate`.
    """
    frames, known = [], np.zeros(n_samples, dtype=bool)
    for part in parts:
        rows = _rows(part, ids, n_samples, by_position)
        frame: pandas.DataFrame = part.table
        if rows is None:
            known[:] = True
        else:
            known |= rows >= 0
            if (rows < 0).any():  # integers with missing values stay integers
                kinds = {name: _NULLABLE.get(values.dtype.kind) for name, values in frame.items()}
                frame = frame.astype({name: kind for name, kind in kinds.items() if kind is not None})
            frame = frame.reindex(rows)
        frame = frame.set_axis(pandas.RangeIndex(n_samples) if ids is None else ids)
        frames.append((name_without_extension(Path(part.source)), frame))
    return side_by_side(frames), int((~known).sum())


def side_by_side(named: Sequence[tuple[str, pandas.DataFrame]]) -> pandas.DataFrame:
    """Return the columns of several frames of the same samples; names that recur are prefixed with the frame's."""
    often = Counter(column for _, frame in named for column in frame.columns)
    full = [f"{file}:{name}" if often[name] > 1 else name for file, frame in named for name in frame.columns]
    if len(set(full)) < len(full):
        twice = next(name for name in full if full.count(name) > 1)
        raise FileFormatError(f"metadata: {twice!r} is given more than once. Name every file and column once.")
    return pandas.concat([frame for _, frame in named], axis="columns").set_axis(full, axis="columns")


def _rows(part: Part, ids: np.ndarray | None, n_samples: int, by_position: bool) -> np.ndarray | None:
    """Return the row of each sample in a file of labels or metadata, -1 if it has none; None if row i is sample i."""
    is_metadata = part.table is not None
    if part.ids is None or ids is None or by_position:
        if is_metadata and ids is not None and not by_position:
            raise FileFormatError(
                f"{part.source}: no column has the ids of the views ({some(ids.tolist())}). Its columns are "
                f"{', '.join(part.columns)}. Name that of the ids after an @: metadata='{part.source}@COLUMN', or pass "
                "id_column=False if row i is the same sample in every file."
            )
        _check_positions(part, n_samples, by_position)
        return None
    rows = {id_: row for row, id_ in enumerate(part.ids.tolist())}
    found = np.array([rows.get(id_, -1) for id_ in ids.tolist()], dtype=np.intp)
    if (found < 0).all():
        another = (
            f"metadata='{part.source}@COLUMN'" if is_metadata else f"labels='{part.source}:{part.label_name}@COLUMN'"
        )
        raise FileFormatError(
            f"{part.source}: its ids and those of the views have nothing in common. Ids here: "
            f"{some(part.ids.tolist())}; there: {some(ids.tolist())}. If another column holds the ids, "
            f"name it after an @: {another}."
        )
    return found


def check_order(annotations: Sequence[Part], views: Sequence[Part]) -> None:
    """Refuse labels without ids for views whose files do not list the samples in one order."""
    without = next((part for part in annotations if part.ids is None), None)
    known = [part for part in views if part.ids is not None]
    for part in known[1:] if without is not None else ():
        if not np.array_equal(part.ids, known[0].ids):  # type: ignore[arg-type]
            raise FileFormatError(
                f"{part.source}: its ids differ from those of {known[0].source}, or their order does, and "
                f"{without.source} has no ids to tell which of the two it follows."  # type: ignore[union-attr]
            )


def _check_positions(part: Part, n_samples: int, by_position: bool) -> None:
    """Refuse labels that cannot be matched by position: ids that the views do not have, or other numbers of rows."""
    if part.ids is not None and not _is_counted(part.ids) and not by_position:
        raise FileFormatError(
            f"{part.source}: has ids ({some(part.ids.tolist())}), but the views have none to match them with. Pass "
            "id_column= if a column of the views holds them, or id_column=False if row i is the same sample in every "
            "file."
        )
    if part.n_rows != n_samples:
        rows, what = ("rows", "they") if part.table is not None else ("labels", "labels")
        raise FileFormatError(
            f"{part.source}: {part.n_rows} {rows}, but the views have {n_samples} samples. Without ids, {what} are "
            "matched by position, so there must be equally many."
        )


def _is_counted(ids: np.ndarray) -> bool:
    """Return whether ids are the row numbers that pandas and R write."""
    return any(np.array_equal(ids, np.arange(start, start + len(ids)).astype(str)) for start in (0, 1))


def _names(parts: Sequence[Part]) -> list[str]:
    """Return the names of the columns; repeated names are prefixed with their file."""
    names = [part.label_name or name_without_extension(Path(part.source)) for part in parts]
    often = Counter(names)
    full = [
        f"{name_without_extension(Path(part.source))}:{name}" if often[name] > 1 else name
        for part, name in zip(parts, names, strict=True)
    ]
    if repeated := [name for name, count in Counter(full).items() if count > 1]:
        raise FileFormatError(f"labels: {repeated[0]!r} is named more than once. Name every column once.")
    return full


def read_text_labels(path: Path, options: Options) -> Part:
    """Read one class per line: whole numbers, or else names."""
    with reading(path, "UTF-8 text"):
        names = text_array_of_blocks(lambda: _lines(path, options.max_bytes), path, options.max_bytes)
    numbers = _numbers_in(names)
    return Part(str(path), labels=names if numbers is None else numbers)


def _lines(path: Path, max_bytes: int) -> Iterator[list[str]]:
    """Yield the stripped lines of a file in blocks, without empty lines at the end."""
    n_lines, empty = 0, 0
    for block in _blocks_of_lines(path, max_bytes):
        lines = [line.strip() for line in block]
        if not empty and "" in lines:
            at = lines.index("")
            empty = n_lines + at + 1
            yield lines[:at]
            lines = lines[at:]
        if empty and any(lines):
            raise FileFormatError(f"{path}: line {empty} is empty; expected labels, one class per line.")
        if not empty:
            yield lines
        n_lines += len(block)


def _blocks_of_lines(path: Path, max_bytes: int) -> Iterator[list[str]]:
    rest = ""
    with open_text(path, max_bytes) as file:
        while block := file.read(_BLOCK):
            *lines, rest = f"{rest}{block}|".splitlines()
            rest = rest[:-1]  # may continue in the next block
            if len(rest) > _LONGEST_LINE:
                raise FileFormatError(
                    f"{path}: a line has more than {_LONGEST_LINE:,} characters; expected labels, one class per line."
                )
            yield lines
    if rest:
        yield [rest]


def _numbers_in(names: np.ndarray) -> np.ndarray | None:
    """Return the texts as integers, or None if some text is not one."""
    if names.dtype.itemsize > _LONGEST_NUMBER * np.dtype("U1").itemsize:  # too long for numbers
        return None
    numbers = np.empty(len(names), dtype=np.int64)
    for start in range(0, len(names), _BLOCK):
        try:
            found = whole_numbers(names[start : start + _BLOCK].astype(np.float64))
        except ValueError:
            return None
        if found is None:
            return None
        numbers[start : start + _BLOCK] = found
    return numbers
