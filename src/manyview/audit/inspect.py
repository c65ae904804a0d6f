"""Inspection of views before a fit: facts about each view, about all together, and the problems that follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from manyview._utils import html
from manyview._utils.machine import gib
from manyview._utils.text import plain
from manyview.audit._measure import Measured, find_counters, measure
from manyview.audit._problems import Problem, find_problems
from manyview.graphs.content import row_keys
from manyview.metrics.table import in_blocks, known_codes
from manyview.views import Reading, Views
from manyview.views.checks import check_new_views

_MAX_NAMED = 5  # columns that are named; the others are counted


@dataclass(frozen=True)
class ViewInspection:
    """Facts about one view.

    Parameters
    ----------
    name : str
        Name of the view.
    n_features : int
        Number of columns, numeric or not.
    dtype : str
        Type of the values; several if it is a data frame.
    sparse : bool
        Whether it is a sparse matrix.
    density : float
        Share of the values that are not zero.
    n_bytes : int
        Memory in bytes.
    minimum, maximum : float, optional
        Of the finite values.
    typical_scale : float, optional
        Median standard deviation of the columns that vary.
    scale_ratio : float, optional
        Largest standard deviation of a column, as a multiple of ``typical_scale``.
    widest_column : int or str, optional
        The column that has it, by its name, or counted among the numeric ones if it has none.
    scaling : str, optional
        The scaling that "auto" of ``GraphEnsemble`` chooses here, judged by at most 10,000 rows.
    scaling_reason : str, optional
        The reason, from :func:`manyview.graphs.explain_scaling`.
    wide_share : float, optional
        Share of the variance that columns ten times as wide as ``typical_scale`` still have after it; only if
        ``scale_ratio`` is above 100.
    missing_rows : int
        Samples for which the view is missing.
    missing_cells, infinite_cells : int
        Single values that are NaN, and infinite ones.
    first_missing_cell, first_infinite_cell : pair of int or str, optional
        Sample and column of the first: id and name, or row and column number if there are none.
    constant_columns, non_numeric_columns : int
        Columns that have one value only, and columns that are not numeric.
    first_constant, first_non_numeric : tuple
        The first of these, by name, or by number if there are no names.
    counter_columns : int
        Columns that count the samples: distinct whole numbers, nearly consecutive, in any order.
    first_counters : tuple
        The first of these.
    zero_rows, duplicate_rows : int
        Rows of zeros, and rows that repeat an earlier one.
    is_constant : bool
        Whether all samples that have the view have the same values.
    copy_of : str, optional
        An earlier view with the same values.
    """

    name: str
    n_features: int
    dtype: str
    sparse: bool
    density: float
    n_bytes: int
    minimum: float | None
    maximum: float | None
    typical_scale: float | None
    scale_ratio: float | None
    widest_column: int | str | None
    scaling: str | None
    scaling_reason: str | None
    wide_share: float | None
    missing_rows: int
    missing_cells: int
    first_missing_cell: tuple[int | str, int | str] | None
    infinite_cells: int
    first_infinite_cell: tuple[int | str, int | str] | None
    constant_columns: int
    first_constant: tuple[int | str, ...]
    non_numeric_columns: int
    first_non_numeric: tuple[str, ...]
    counter_columns: int
    first_counters: tuple[int | str, ...]
    zero_rows: int
    duplicate_rows: int
    is_constant: bool
    copy_of: str | None


@dataclass(frozen=True)
class LabelInspection:
    """Facts about the known classes.

    Parameters
    ----------
    n_classes : int
        Number of classes.
    sizes : tuple of (str, int)
        Each class and the number of its samples, in the order of the classes.
    sorted_by_class : bool
        Whether every class is one block of rows.
    n_missing : int
        Samples without a class.
    """

    n_classes: int
    sizes: tuple[tuple[str, int], ...]
    sorted_by_class: bool
    n_missing: int = 0


@dataclass(frozen=True, repr=False)
class Inspection:
    """Result of :func:`manyview.audit.inspect_views`. Printing it gives a table and the problems.

    Parameters
    ----------
    n_samples : int
        Number of samples.
    views : tuple of ViewInspection
        Facts about each view.
    n_bytes : int
        Memory of all views in bytes.
    has_ids : bool
        Whether the samples have ids.
    duplicate_ids : int
        Number of ids that an earlier sample has.
    duplicate_id : str, optional
        The first of them.
    labels : LabelInspection, optional
        Facts about the classes, where they are known.
    duplicates : int
        Samples that repeat an earlier one in all views.
    without_view : int
        Samples without any view.
    first_without_view : int or str, optional
        The first of them: by its id, or its row if it has none.
    matched_by : str, optional
        How the rows of several files were matched: "id `patient`" or "position".
    transposed : tuple of str
        Files that had features in rows.
    notes : tuple of str
        What else was skipped, left out, changed or filled in when the files were read.
    filled : dict of str to int
        Number of missing cells that were filled in, by view.
    """

    n_samples: int
    views: tuple[ViewInspection, ...]
    n_bytes: int
    has_ids: bool
    duplicate_ids: int
    duplicate_id: str | None
    labels: LabelInspection | None
    duplicates: int
    without_view: int
    first_without_view: int | str | None
    matched_by: str | None = None
    transposed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    filled: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[Problem, ...] = field(init=False)
    """``level``, ``view`` (None: all) and ``text``; the most serious first. A fit refuses data with an "error"."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "problems", find_problems(self))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as numbers, texts and lists, ready for ``json.dumps``."""
        return plain(asdict(self))

    @property
    def overview(self) -> str:
        """Summary on one line."""
        size = "less than 1 MiB" if self.n_bytes < 2**20 else gib(self.n_bytes)
        ids = "with ids" if self.has_ids else "without ids"
        there = f"{_counted(self.n_samples, 'sample')}, {ids}; {_counted(len(self.views), 'view')}, {size}"
        if self.labels is None:
            return f"{there}; classes not known"
        sizes = [size for _, size in self.labels.sizes]
        low, high = min(sizes, default=0), max(sizes, default=0)
        each = _counted(low, "sample") if low == high else f"{low:,} to {high:,} samples"
        order = ", rows sorted by class" if self.labels.sorted_by_class else ""
        if self.labels.n_missing:
            order += f", {_counted(self.labels.n_missing, 'sample')} without a class"
        return f"{there}; {_counted(len(sizes), 'class', 'classes')} of {each}{order}"

    @property
    def sentences(self) -> tuple[str, ...]:
        """Sentences about the reading: how rows were matched, and which files were transposed."""
        return Reading(self.matched_by, self.transposed, notes=self.notes).sentences

    def __repr__(self) -> str:
        return f"Inspection({self.overview}; {_counted(len(self.problems), 'problem')})"

    def _repr_html_(self) -> str:
        columns = ("view", "columns", "type", "nonzero", "from", "to", "missing", "scaling", "because")
        rows = [
            [
                view.name,
                view.n_features,
                view.dtype,
                f"{view.density:.1%}",
                view.minimum,
                view.maximum,
                view.missing_rows,
                view.scaling,
                view.scaling_reason,
            ]
            for view in self.views
        ]
        problems = [[problem["level"], problem["view"], problem["text"]] for problem in self.problems]
        parts = [html.heading(self.overview), *map(html.paragraph, self.sentences), html.table(columns, rows)]
        if problems:
            parts.append(html.table(("problem", "view", ""), problems))
        return html.block(parts)

    def __str__(self) -> str:
        width = max(len("view"), *(len(view.name) for view in self.views))
        lines = [
            self.overview,
            *self.sentences,
            f"{'view':{width}s}  columns  type          nonzero        from          to  missing  scaling",
        ]
        for view in self.views:
            low, high = (f"{'-' if end is None else format(end, '.4g'):>10s}" for end in (view.minimum, view.maximum))
            lines.append(
                f"{view.name:{width}s}  {view.n_features:7d}  {view.dtype[:14]:14s} {view.density:6.1%}  {low}  "
                f"{high}  {view.missing_rows:7d}  {view.scaling or '-'}"
            )
        lines += [
            f"scaling: {view.name}: {view.scaling} ({view.scaling_reason})" for view in self.views if view.scaling
        ]
        for problem in self.problems:
            where = "" if problem["view"] is None else f"{problem['view']}: "
            lines.append(f"{problem['level']}: {where}{problem['text']}")
        return "\n".join(lines)


def inspect_views(views: Any) -> Inspection:
    """Describe views and their problems, also if they cannot be fitted.

    Every value is read once; sparse views stay sparse. Nothing is changed.

    Parameters
    ----------
    views : Views, or list or dict of arrays
        Anything that :func:`manyview.check_views` takes, with any values.

    Returns
    -------
    Inspection
        Facts about every view and about all together, and ``problems`` in words.

    Raises
    ------
    ViewsError
        If they are not views: not tables, or tables with different numbers of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.audit import inspect_views
    >>> heights = np.array([[1.7, 70.0], [1.8, np.nan], [1.6, 55.0]])
    >>> found = inspect_views({"body": heights, "flat": np.ones((3, 2))})
    >>> for problem in found.problems:
    ...     print(problem["level"], problem["view"], problem["text"][:39])
    error body single values are missing (NaN): 1 of 6
    error flat all its rows have the same values, so i
    """
    given = check_new_views(views, any_columns=True)
    measured = [measure(array, given.has_view(v)) for v, array in enumerate(given.arrays)]
    present = np.column_stack([found.present for found in measured])
    hashes = np.column_stack([found.hashes for found in measured])
    without = np.flatnonzero(~present.any(axis=1))
    ids = _repeated_ids(given.sample_ids)
    return Inspection(
        n_samples=given.n_samples,
        views=tuple(_describe(given, measured, v) for v in range(given.n_views)),
        n_bytes=sum(found.n_bytes for found in measured),
        has_ids=given.sample_ids is not None,
        duplicate_ids=len(ids),
        duplicate_id=ids[0] if len(ids) else None,
        labels=_describe_labels(given.labels),
        duplicates=_repeated(row_keys(hashes, np.arange(given.n_views, dtype=np.uint64))),
        without_view=len(without),
        first_without_view=_sample(given, int(without[0])) if len(without) else None,
        matched_by=None if given.reading is None else given.reading.matched_by,
        transposed=() if given.reading is None else given.reading.transposed,
        notes=() if given.reading is None else given.reading.notes,
        filled={} if given.reading is None else given.reading.filled,
    )


def _describe(given: Views, measured: list[Measured], v: int) -> ViewInspection:
    found, n_features = measured[v], given.n_features[v]
    constant = np.flatnonzero(found.constant)
    counters = find_counters(given.arrays[v], found)
    n_present = int(found.present.sum())
    column = _namer(given, found, v)

    def cell(position: tuple[int, int] | None) -> tuple[int | str, int | str] | None:
        return None if position is None else (_sample(given, position[0]), column(position[1]))

    return ViewInspection(
        name=given.names[v],
        n_features=n_features,
        dtype=found.dtype,
        sparse=found.is_sparse,
        density=found.n_nonzero / max(n_present * found.n_columns, 1),
        n_bytes=found.n_bytes,
        minimum=_finite(found.low.min(initial=np.inf)),
        maximum=_finite(found.high.max(initial=-np.inf)),
        typical_scale=found.typical_scale,
        scale_ratio=found.scale_ratio,
        widest_column=None if found.scale_ratio is None else column(int(found.deviations.argmax())),
        scaling=found.scaling,
        scaling_reason=found.scaling_reason,
        wide_share=found.wide_share,
        missing_rows=len(found.present) - n_present,
        missing_cells=found.n_missing,
        first_missing_cell=cell(found.first_missing),
        infinite_cells=found.n_infinite,
        first_infinite_cell=cell(found.first_infinite),
        constant_columns=len(constant),
        first_constant=tuple(map(column, constant[:_MAX_NAMED].tolist())),
        non_numeric_columns=len(found.not_numbers),
        first_non_numeric=tuple(found.not_numbers[:_MAX_NAMED]),
        counter_columns=len(counters),
        first_counters=tuple(map(column, counters[:_MAX_NAMED])),
        zero_rows=found.n_zero_rows,
        duplicate_rows=_repeated(found.hashes[found.present]),
        is_constant=found.n_columns > 0 and len(constant) == found.n_columns,
        copy_of=next((given.names[u] for u in range(v) if _equal(measured[u], found)), None),
    )


def _sample(given: Views, row: int) -> int | str:
    return row if given.sample_ids is None else str(given.sample_ids[row])


def _namer(given: Views, found: Measured, v: int) -> Callable[[int], int | str]:
    """Return a function from the number of a numeric column to its name, or to the number if it has none."""
    names = None if given.feature_names is None else given.feature_names[v]
    if names is None:
        return int
    numeric = [name for name in names if name not in set(found.not_numbers)] if found.not_numbers else names
    return (lambda column: numeric[column]) if len(numeric) == found.n_columns else int


def _equal(one: Measured, other: Measured) -> bool:
    return 0 < one.n_columns == other.n_columns and np.array_equal(one.hashes, other.hashes)


def _repeated(keys: np.ndarray) -> int:
    ordered = np.sort(keys)
    return int((ordered[1:] == ordered[:-1]).sum())


def _repeated_ids(ids: np.ndarray | None) -> list[str]:
    """Return the ids that an earlier sample has, once for each repetition."""
    if ids is None:
        return []
    texts = np.asarray(ids).astype(str)
    again = np.ones(len(texts), dtype=bool)
    again[np.unique(texts, return_index=True)[1]] = False
    return texts[again].tolist()


def _describe_labels(labels: np.ndarray | None) -> LabelInspection | None:
    codes = known_codes(labels)
    if labels is None or codes is None:
        return None
    known = codes >= 0
    counts = np.bincount(codes[known])
    names = dict(zip(codes[known].tolist(), labels[known].tolist(), strict=True))
    sizes = tuple((str(names[code]), int(count)) for code, count in enumerate(counts.tolist()))
    return LabelInspection(len(sizes), sizes, in_blocks(codes[known]), int(np.count_nonzero(~known)))


def _counted(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
