"""Which variable of a file holds the classes of the samples, and in what form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from manyview.exceptions import FileFormatError
from manyview.io._common import Options, Part, is_matrix, reading, text_array, text_array_of_blocks
from manyview.io._streams import open_text
from manyview.io._variables import Cell, Variables, describe, plain_key

# fmt: off
LABEL_KEYS = frozenset({
    "y", "gt", "gnd", "truth", "true", "truelabel", "truelabels", "label", "labels", "lab", "labs",
    "groundtruth", "class", "classes", "classid", "classlabel", "classlabels", "cls", "target", "targets",
})
# fmt: on
"""What authors call their labels, as `plain_key` spells it."""

_LONGEST_NUMBER = 64  # characters
_LONGEST_LINE = 2**20  # characters
_BLOCK = 2**16  # characters or labels that are looked at together


def read_text_labels(path: Path, options: Options) -> Part:
    """Read one class per line: whole numbers, or else names."""
    with reading(path, "UTF-8 text"):
        names = text_array_of_blocks(lambda: _lines(path, options.max_bytes), path, options.max_bytes)
    numbers = _numbers_in(names)
    return Part(str(path), labels=names if numbers is None else numbers)


def _lines(path: Path, max_bytes: int) -> Iterator[list[str]]:
    """The lines of a file in blocks, without the space around them and without empty lines at the end."""
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
            rest = rest[:-1]  # what may go on in the next block
            if len(rest) > _LONGEST_LINE:
                raise FileFormatError(
                    f"{path}: a line has more than {_LONGEST_LINE:,} characters; expected labels, one class per line."
                )
            yield lines
    if rest:
        yield [rest]


def _numbers_in(names: np.ndarray) -> np.ndarray | None:
    """The whole numbers that the texts spell, or None."""
    if names.dtype.itemsize > _LONGEST_NUMBER * np.dtype("U1").itemsize:  # to convert it would take memory in vain
        return None
    numbers = np.empty(len(names), dtype=np.int64)
    for start in range(0, len(names), _BLOCK):
        try:
            some = _whole_numbers(names[start : start + _BLOCK].astype(np.float64))
        except ValueError:
            return None
        if some is None:
            return None
        numbers[start : start + _BLOCK] = some
    return numbers


def is_label_key(key: str) -> bool:
    """Whether a variable of this name is taken for labels, and so never for a view."""
    return plain_key(key) in LABEL_KEYS


def find_labels(
    path: Path,
    variables: Variables,
    shapes: Sequence[tuple[int, ...]],
    labels_key: str | None,
    *,
    certain: bool,
) -> np.ndarray | None:
    """Return the labels among ``variables`` whose number fits a side of every view, or None.

    ``certain`` says that the caller named the views. Otherwise a *matrix* with a name for labels that cannot
    be labels is an error: it might be a second view (X and Y), which must not be lost in silence.
    """
    if labels_key is not None and labels_key not in variables:
        raise FileFormatError(f"{path}: has no variable {labels_key!r} (labels_key). It holds {describe(variables)}.")
    named = [key for key in variables if is_label_key(key)] if labels_key is None else [labels_key]
    read = {key: as_labels(variables[key], path) for key in named}
    candidates = {key: labels for key, labels in read.items() if labels is not None}
    if labels_key is not None and not candidates:
        raise FileFormatError(
            f"{path}: {describe({labels_key: variables[labels_key]})} (labels_key) cannot be labels. "
            "Expected a vector of classes, a cell of names or a one-hot matrix."
        )
    fitting = {key: v for key, v in candidates.items() if all(len(v) in shape for shape in shapes)}
    if candidates and not fitting:
        key, labels = next(iter(candidates.items()))
        raise FileFormatError(
            f"{path}: {key} holds {len(labels)} labels, but the views have shapes "
            f"{', '.join(map(str, shapes))}: "
            "expected one side of every view to be the number of labels. Pass labels_key= or views_key= to choose."
        )
    unclear = [key for key in named if key not in candidates and is_matrix(variables[key])]
    if unclear and not fitting and not certain:
        raise FileFormatError(
            f"{path}: {describe({unclear[0]: variables[unclear[0]]})} has a name for labels, but it is a matrix and "
            "not one-hot, so it could also be a view. Pass views_key= with the name(s) of the views."
        )
    if any(not np.array_equal(a, b) for a in fitting.values() for b in fitting.values()):
        raise FileFormatError(
            f"{path}: more than one variable could hold the labels, and they differ: {', '.join(fitting)}. "
            "Pass labels_key= to choose."
        )
    return next(iter(fitting.values()), None)


def as_labels(value: Any, source: object = "labels") -> np.ndarray | None:
    """Return a variable as a vector of classes, or None where it cannot be one."""
    if isinstance(value, Cell):
        return _labels_from_cell(value.items, source)
    if not isinstance(value, np.ndarray):
        return None
    if value.dtype.kind == "U":
        return _labels_from_text(value)
    if value.dtype.kind not in "biuf" or value.size == 0:
        return None
    if value.size == max(value.shape, default=0):
        return _whole_numbers(value.ravel())
    return _labels_from_one_hot(value) if value.ndim == 2 else None


def _labels_from_cell(items: list[Any], source: object) -> np.ndarray | None:
    """Names, one per sample; or the labels repeated for every view."""
    if not items:
        return None
    if all(isinstance(item, np.ndarray) and item.dtype.kind == "U" for item in items):
        return text_array(["".join(item.ravel()) for item in items], source)
    each = [None if isinstance(item, Cell) else as_labels(item, source) for item in items]
    first = each[0]
    agree = first is not None and all(other is not None and np.array_equal(first, other) for other in each[1:])
    return first if agree else None


def _labels_from_text(value: np.ndarray) -> np.ndarray:
    """MATLAB has rows of characters where NumPy has strings."""
    if value.ndim == 2 and value.dtype.itemsize == np.dtype("U1").itemsize:
        return np.array(["".join(row).rstrip() for row in value])
    return value.ravel()


def _whole_numbers(values: np.ndarray) -> np.ndarray | None:
    """Classes that MATLAB stored as double; a vector with fractions or gaps holds no classes."""
    if values.dtype.kind != "f":
        return values
    return values.astype(np.int64) if is_whole(values) else None


def is_whole(values: np.ndarray) -> bool:
    """Whether all numbers are whole, and can be told from their neighbours."""
    return bool(np.isfinite(values).all() and (values == np.round(values)).all() and (np.abs(values) < 2**53).all())


def _labels_from_one_hot(value: np.ndarray) -> np.ndarray | None:
    """One 1 per sample and no unused class; None if that holds both by rows and by columns."""
    if not np.isin(value, (0, 1)).all():
        return None
    by_row, by_column = value.sum(axis=1), value.sum(axis=0)
    if (by_row == 1).all() and (by_column > 0).all() and (by_column > 1).any():
        return value.argmax(axis=1)
    if (by_column == 1).all() and (by_row > 0).all() and (by_row > 1).any():
        return value.argmax(axis=0)
    return None
