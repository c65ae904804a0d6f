"""Which variables of a MATLAB or ``.npz`` file are the views, which are the labels, and which way round they lie."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from manyview._utils.text import plain_key
from manyview.exceptions import FileFormatError
from manyview.io._common import Cell, Options, Part, Variables, describe, is_matrix, text_array

VIEW_KEYS = frozenset({"x", "xs", "data", "fea", "feas", "feat", "feats", "feature", "features", "view", "views", "v"})
"""Usual names of views, as normalised by `plain_key`."""
# fmt: off
LABEL_KEYS = frozenset({
    "y", "gt", "gnd", "truth", "true", "truelabel", "truelabels", "label", "labels", "lab", "labs",
    "groundtruth", "class", "classes", "classid", "classlabel", "classlabels", "cls", "target", "targets",
})
# fmt: on
"""Usual names of labels, as normalised by `plain_key`."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """Variables that could be the views: their keys, the matrices, and names where the file gives them."""

    keys: tuple[str, ...]
    arrays: tuple[Any, ...]
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rule:
    """How a format stores views: a function that finds the most plausible candidates, and its description."""

    find: Callable[[Variables], list[Candidate]]
    expected: str


def part_from_variables(path: Path, variables: Variables, options: Options, rule: Rule) -> Part:
    """Find views and labels among the variables of a file, and transpose so that samples are rows."""
    found = _find_views(path, variables, options.views_key, rule)
    others = {key: value for key, value in variables.items() if key not in found.keys}
    shapes = [array.shape for array in found.arrays]
    labels = find_labels(path, others, shapes, options.labels_key, certain=options.views_key is not None)
    arrays = _samples_in_rows(path, found, None if labels is None else len(labels))
    return Part(str(path), arrays, found.names, labels=labels)


def _find_in_matlab(variables: Variables) -> list[Candidate]:
    """Find a cell, numbered matrices or one matrix with a usual name, else any cell or numbered matrices."""
    usable = {key: value for key, value in variables.items() if not is_label_key(key)}
    cells = [_from_cell(key, value) for key, value in usable.items() if _is_cell_of_views(value)]
    matrices = {key: value for key, value in usable.items() if is_matrix(value)}
    numbered = _numbered(matrices)
    single = [_from_keys([key], matrices) for key in matrices]
    kinds = [_usual(cells), _usual(numbered), _usual(single), cells, numbered]
    return next((candidates for candidates in kinds if candidates), [])


def _find_in_npz(variables: Variables) -> list[Candidate]:
    """Find all matrices, in the order of the file."""
    matrices = {key: v for key, v in variables.items() if is_matrix(v) and not is_label_key(key)}
    return [_from_keys(matrices, matrices)] if matrices else []


MATLAB_RULE = Rule(
    _find_in_matlab, "a cell of matrices such as X, numbered matrices such as X1, X2, or one matrix such as X"
)
NPZ_RULE = Rule(_find_in_npz, "2-D arrays of numbers, besides the labels")


def _find_views(
    path: Path,
    variables: Variables,
    views_key: str | tuple[str, ...] | None,
    rule: Rule,
) -> Candidate:
    if views_key is not None:
        return _named_views(path, variables, views_key)
    candidates = rule.find(variables)
    if not candidates:
        raise FileFormatError(
            f"{path}: found no views. It holds {describe(variables)}. Expected {rule.expected}. "
            "Pass views_key= with the name(s) of the views."
        )
    if len(candidates) > 1:
        choices = " or ".join(", ".join(candidate.keys) for candidate in candidates)
        raise FileFormatError(
            f"{path}: more than one variable could hold the views: {choices}. "
            f"It holds {describe(variables)}. Pass views_key= to choose."
        )
    return candidates[0]


def _named_views(path: Path, variables: Variables, views_key: str | tuple[str, ...]) -> Candidate:
    keys = (views_key,) if isinstance(views_key, str) else views_key
    for key in keys:
        if key not in variables:
            raise FileFormatError(f"{path}: has no variable {key!r} (views_key). It holds {describe(variables)}.")
    if len(keys) == 1 and _is_cell_of_views(variables[keys[0]]):
        return _from_cell(keys[0], variables[keys[0]])
    for key in keys:
        if not is_matrix(variables[key]):
            raise FileFormatError(
                f"{path}: expected {key!r} (views_key) to be a matrix of numbers or a cell of matrices, "
                f"found {describe({key: variables[key]})}."
            )
    return _from_keys(keys, variables)


def _is_cell_of_views(value: Any) -> bool:
    return isinstance(value, Cell) and len(value.items) > 0 and all(map(is_matrix, value.items))


def _from_cell(key: str, cell: Any) -> Candidate:
    return Candidate((key,), tuple(cell.items))


def _from_keys(keys: Iterable[str], variables: Mapping[str, Any]) -> Candidate:
    names = tuple(keys)
    return Candidate(names, tuple(variables[key] for key in names), names)


def _numbered(matrices: Mapping[str, Any]) -> list[Candidate]:
    """Find groups such as X1, X2, X3 (two or more with the same stem), each in the order of its numbers."""
    groups: dict[str, dict[int, str]] = {}
    for key in matrices:
        match = re.fullmatch(r"(\D.*?)_?(\d{1,6})", key, flags=re.ASCII)
        if match and not is_label_key(match[1]):
            groups.setdefault(plain_key(match[1]), {})[int(match[2])] = key
    ordered = ([group[number] for number in sorted(group)] for group in groups.values() if len(group) > 1)
    return [_from_keys(keys, matrices) for keys in ordered]


def _usual(candidates: list[Candidate]) -> list[Candidate]:
    """Return the candidates whose key, without a final number, is a usual name of views."""
    return [c for c in candidates if plain_key(c.keys[0]).rstrip("0123456789") in VIEW_KEYS]


def _samples_in_rows(path: Path, found: Candidate, n_labels: int | None) -> tuple[Any, ...]:
    """Transpose views stored as features x samples; unchanged where both orientations fit."""
    arrays = found.arrays
    if n_labels is not None:  # find_labels made sure that one side of every view fits
        return tuple(array if array.shape[0] == n_labels else _transposed(array) for array in arrays)
    if len({array.shape[0] for array in arrays}) == 1:
        return arrays
    if len({array.shape[1] for array in arrays}) == 1:
        return tuple(map(_transposed, arrays))
    shapes = ", ".join(str(array.shape) for array in arrays)
    raise FileFormatError(
        f"{path}: the views in {', '.join(found.keys)} have shapes {shapes}: neither the numbers of rows nor the "
        "numbers of columns agree, so they do not describe the same samples. Pass views_key= to choose among them."
    )


def _transposed(array: Any) -> Any:
    return array.T if isinstance(array, np.ndarray) else array.T.tocsr()


def is_label_key(key: str) -> bool:
    """Return whether a variable of this name counts as labels, and so never as a view."""
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

    ``certain`` says that the caller named the views. Otherwise a *matrix* with a name for labels that cannot be labels
    is an error: it might be a second view (X and Y), which must not be dropped silently.
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
        return whole_numbers(value.ravel())
    return _labels_from_one_hot(value) if value.ndim == 2 else None


def _labels_from_cell(items: list[Any], source: object) -> np.ndarray | None:
    """Return labels from names, one per sample, or from labels repeated for every view."""
    if not items:
        return None
    if all(isinstance(item, np.ndarray) and item.dtype.kind == "U" for item in items):
        return text_array(["".join(item.ravel()) for item in items], source)
    each = [None if isinstance(item, Cell) else as_labels(item, source) for item in items]
    first = each[0]
    agree = first is not None and all(other is not None and np.array_equal(first, other) for other in each[1:])
    return first if agree else None


def _labels_from_text(value: np.ndarray) -> np.ndarray:
    """Return labels from strings, or from MATLAB's rows of characters."""
    if value.ndim == 2 and value.dtype.itemsize == np.dtype("U1").itemsize:
        return np.array(["".join(row).rstrip() for row in value])
    return value.ravel()


def whole_numbers(values: np.ndarray) -> np.ndarray | None:
    """Return classes that MATLAB stored as double; None for fractions or missing values."""
    if values.dtype.kind != "f":
        return values
    return values.astype(np.int64) if is_whole(values) else None


def is_whole(values: np.ndarray) -> bool:
    """Return whether all numbers are integers that float64 represents exactly."""
    return bool(np.isfinite(values).all() and (values == np.round(values)).all() and (np.abs(values) < 2**53).all())


def _labels_from_one_hot(value: np.ndarray) -> np.ndarray | None:
    """Return the classes of a one-hot matrix without unused classes, by rows or by columns; None if unclear."""
    if not np.isin(value, (0, 1)).all():
        return None
    by_row, by_column = value.sum(axis=1), value.sum(axis=0)
    if (by_row == 1).all() and (by_column > 0).all() and (by_column > 1).any():
        return value.argmax(axis=1)
    if (by_column == 1).all() and (by_row > 0).all() and (by_row > 1).any():
        return value.argmax(axis=0)
    return None
