"""Problems of views, from their statistics, in plain words: what was found, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from math import floor
from typing import TYPE_CHECKING, TypeAlias

from manyview.graphs import SCALINGS
from manyview.views.checks import LARGEST, SMALLEST

if TYPE_CHECKING:
    from manyview.audit.inspect import Inspection, LabelInspection, ViewInspection

Problem: TypeAlias = dict[str, str | None]
"""``level``, ``view`` (None: the data as a whole) and ``text``."""

LEVELS = ("error", "warning", "note")
"""Refused by a fit; makes its result or its scores doubtful; good to know."""

_DOMINANT_SHARE = 0.9  # of the variance, from which wide columns determine the result
_MANY_SAMPLES = 20_000  # from which the memory for a matrix of all pairs is worth a note


def find_problems(found: Inspection) -> tuple[Problem, ...]:
    """Return all problems, the most serious first."""
    problems = [_problem(None, *one) for one in _of_all(found)]
    if found.labels is not None:
        problems += [_problem(None, *one) for one in _of_labels(found.labels, found.n_samples)]
    for view in found.views:
        problems += [_problem(view.name, *one) for one in _of_view(view, found.n_samples)]
    return tuple(sorted(problems, key=lambda problem: LEVELS.index(str(problem["level"]))))


def _problem(view: str | None, level: str, text: str) -> Problem:
    return {"level": level, "view": view, "text": text}


def _of_all(found: Inspection) -> Iterator[tuple[str, str]]:
    n = found.n_samples
    if n < 2:
        yield "error", f"expected at least 2 samples, got {n}."
    if len(found.views) < 2:
        yield "error", "expected at least 2 views, got 1. To use one table as several views, pass view_sizes=."
    if found.without_view:
        first = _row(found.first_without_view)
        yield (
            "error",
            f"samples without any view: {found.without_view:,} of {n:,}, the first is {first}. Leave them out.",
        )
    if found.duplicate_ids:
        yield (
            "warning",
            f"repeated ids: {found.duplicate_ids:,} of {n:,}, for example {found.duplicate_id!r}. Give each sample a "
            "unique id, or results cannot be matched to samples.",
        )
    if found.duplicates:
        yield (
            "note",
            f"samples that repeat another one in all views: {found.duplicates:,} of {n:,}. Equal samples get equal "
            "clusters. If they are there by mistake, leave them out.",
        )
    if n >= _MANY_SAMPLES:
        yield (
            "note",
            f"methods whose memory grows with n² need {n * n * 8 / 1e9:,.0f} GB for every matrix of all pairs of "
            "samples. GraphEnsemble needs none.",
        )


def _of_labels(labels: LabelInspection, n_samples: int) -> Iterator[tuple[str, str]]:
    if labels.n_classes == 1:
        yield "warning", "all samples have the same label, so scores are meaningless."
    elif labels.n_classes > n_samples / 2:
        yield (
            "warning",
            f"{labels.n_classes:,} classes of {n_samples:,} samples: are the labels ids rather than classes?",
        )
    elif labels.sorted_by_class:
        yield (
            "warning",
            "the rows are sorted by class. Methods that depend on the order of the rows, such as TBGL, get higher "
            "scores on them than on shuffled rows: shuffle the rows before you score these methods, or audit them.",
        )


def _of_view(view: ViewInspection, n_samples: int) -> Iterator[tuple[str, str]]:
    yield from _refused(view, n_samples)
    yield from _doubtful(view, n_samples)
    # Tables of counts usually have some columns without any count.
    if view.constant_columns and not view.is_constant and view.scaling != "counts":
        yield (
            "note",
            f"columns with one value only: {view.constant_columns:,} of {view.n_features:,}, "
            f"{_listed(view.first_constant, view.constant_columns)}. They carry no "
            "information; you may leave them out.",
        )
    n_present = n_samples - view.missing_rows
    if n_present - view.duplicate_rows < n_present / 2 and not view.is_constant:
        yield (
            "note",
            f"only {n_present - view.duplicate_rows:,} different rows of {n_present:,}, so this view alone cannot "
            "distinguish most samples.",
        )


def _refused(view: ViewInspection, n_samples: int) -> Iterator[tuple[str, str]]:
    """Yield what :func:`manyview.check_views` does not accept."""
    cells = f"{n_samples * view.n_features:,}"
    if view.n_features == 0:
        yield "error", "it has no columns. Leave this view out."
    elif "complex" in view.dtype:
        yield "error", f"its numbers are complex ({view.dtype}). Take their real and imaginary parts as columns."
    elif view.non_numeric_columns:
        yield (
            "error",
            f"columns that are not numeric: {view.non_numeric_columns:,} of {view.n_features:,}, "
            f"{_listed(view.first_non_numeric, view.non_numeric_columns)}. Turn them into numbers, or leave them out.",
        )
    if view.missing_cells and view.first_missing_cell:
        row, column = view.first_missing_cell
        yield (
            "error",
            f"single values are missing (NaN): {view.missing_cells:,} of {cells}, the first at {_row(row)}, "
            f"{_column(column)}. Fill them in (of files: impute='median'), or leave out these rows or columns. (A row "
            "without any value is no error: the view is missing for that sample.)",
        )
    if view.infinite_cells and view.first_infinite_cell:
        row, column = view.first_infinite_cell
        yield (
            "error",
            f"infinite values: {view.infinite_cells:,} of {cells}, the first at {_row(row)}, {_column(column)}. "
            "Replace them by numbers, or leave out these rows or columns.",
        )
    largest = max(-(view.minimum or 0.0), view.maximum or 0.0)
    if largest > LARGEST:
        yield (
            "error",
            f"values up to {largest:.3g}, too large to be squared; the limit is {LARGEST:g}. If they stand for "
            "missing values, fill these in; else divide the view by a constant.",
        )
    elif 0 < largest < SMALLEST:
        yield (
            "error",
            f"no value above {largest:.3g}, too small to be squared; the limit is {SMALLEST:g}. Multiply the view "
            "by a constant.",
        )
    if 0 < n_samples == view.missing_rows:
        yield "error", "it is missing for all samples. Leave this view out."
    elif view.is_constant:
        yield "error", "all its rows have the same values, so it carries no information. Leave this view out."


def _doubtful(view: ViewInspection, n_samples: int) -> Iterator[tuple[str, str]]:
    if 0 < view.missing_rows < n_samples:
        yield (
            "warning",
            f"missing for {view.missing_rows:,} of {n_samples:,} samples. GraphEnsemble clusters these by their other "
            "views; all other methods refuse them.",
        )
    if view.zero_rows and not view.is_constant:
        yield (
            "warning",
            f"rows of zeros: {view.zero_rows:,} of {n_samples:,}. If that means that nothing was measured, leave "
            "these rows empty (NaN), so that the view counts as missing for these samples.",
        )
    if view.counter_columns:
        listed = _listed(tuple(map(_column, view.first_counters)), view.counter_columns)
        yield (
            "warning",
            f"{listed}: distinct whole numbers, nearly consecutive, like row numbers and ids. If that is what they "
            "are, remove them, or pass id_column=; otherwise they count as features.",
        )
    if view.copy_of is not None:
        yield (
            "warning",
            f"the same values as the view {view.copy_of!r}. GraphEnsemble counts the two as one; all other methods "
            "count them twice. Leave one out.",
        )
    if view.scaling is not None and view.wide_share is not None and view.wide_share > _DOMINANT_SHARE:
        yield (
            "warning",
            f"its columns are on very different scales: the largest standard deviation, of "
            f"{_column(view.widest_column)}, is {view.scale_ratio:,.0f} times the median one. GraphEnsemble's scaling "
            f"'auto' takes '{view.scaling}' ({SCALINGS[view.scaling]}); the widest columns then still have "
            f"{floor(1000 * view.wide_share) / 10:g}% of the variance, so they determine the result. If the "
            f"columns have different units, pass scaling={{{view.name!r}: 'standardized'}}.",
        )


def _row(row: int | str | None) -> str:
    return f"sample {row!r}" if isinstance(row, str) else f"row {row}"


def _column(column: int | str | None) -> str:
    return f"column {column!r}" if isinstance(column, str) else f"column {column}"


def _listed(first: tuple[object, ...], count: int) -> str:
    more = f" and {count - len(first):,} more" if count > len(first) else ""
    return ", ".join(map(str, first)) + more
