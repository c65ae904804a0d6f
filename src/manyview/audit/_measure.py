"""Statistics of one view, from one pass over its rows: types, ranges, missing and infinite values, repeated rows.

Any content is accepted. What the statistics mean for a fit is said in :mod:`manyview.audit._problems`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview.graphs import explain_scaling, learn_scaling
from manyview.graphs.content import row_hashes
from manyview.views.container import is_frame

_BLOCK_VALUES = 1 << 21  # read at once: bounds the memory
# Values and rows by which a scaling is chosen; larger samples do not change the choice.
_MAX_SAMPLE_VALUES = 1 << 24
_MAX_SAMPLE_ROWS = 10_000
# Standard deviations from which columns are wide and very wide, as multiples of the median one.
_WIDE = 10.0
_VERY_WIDE = 100.0
# A column counts the samples if its distinct whole numbers fill this share of their range; few samples do so by chance.
_MIN_FILLED = 0.95
_MIN_COUNTED = 5


@dataclass
class Measured:
    """Statistics of one view; values that are missing or not finite are counted, and enter nothing else.

    ``low``, ``high``, ``mean``, ``squares`` (sum of squared deviations) and ``counts`` are those of each column.
    Equal rows have equal ``hashes``. ``scaling`` is the choice of "auto", ``scaling_reason`` its reason, and
    ``wide_share`` the share of the variance that wide columns have after it, if some are very wide. Columns that are
    not numeric are in ``not_numbers``, and in nothing else.
    """

    dtype: str
    n_bytes: int
    n_columns: int
    is_sparse: bool
    present: np.ndarray
    not_numbers: list[str] = field(default_factory=list)
    n_missing: int = 0
    n_infinite: int = 0
    first_missing: tuple[int, int] | None = None
    first_infinite: tuple[int, int] | None = None
    n_nonzero: int = 0
    n_zero_rows: int = 0
    scaling: str | None = None
    scaling_reason: str | None = None
    wide_share: float | None = None
    low: np.ndarray = field(init=False)
    high: np.ndarray = field(init=False)
    mean: np.ndarray = field(init=False)
    squares: np.ndarray = field(init=False)
    counts: np.ndarray = field(init=False)
    hashes: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        d = self.n_columns
        self.low, self.high = np.full(d, np.inf), np.full(d, -np.inf)
        self.mean, self.squares, self.counts = np.zeros(d), np.zeros(d), np.zeros(d, dtype=np.int64)
        self.hashes = np.zeros(len(self.present), dtype=np.uint64)

    @property
    def deviations(self) -> np.ndarray:
        """Standard deviation of each column; exactly 0 for constant columns."""
        return np.where(self.constant, 0.0, np.sqrt(self.squares / np.maximum(self.counts, 1)))

    @property
    def typical_scale(self) -> float | None:
        """Median standard deviation of the columns that vary; None without such columns, or if it is not finite."""
        varying = self.deviations[~self.constant]
        return float(np.median(varying)) if varying.size and np.isfinite(varying).all() and varying.all() else None

    @property
    def scale_ratio(self) -> float | None:
        """Largest standard deviation, as a multiple of the typical one."""
        ratio = self.deviations.max() / self.typical_scale if self.typical_scale else np.inf
        return float(ratio) if np.isfinite(ratio) else None

    @property
    def constant(self) -> np.ndarray:
        """Mask of the columns that have one value only, or none."""
        return ~(self.high > self.low)

    def add_columns(
        self, low: np.ndarray, high: np.ndarray, mean: np.ndarray, squares: np.ndarray, counts: Any
    ) -> None:
        """Add the statistics of further rows."""
        self.low, self.high = np.minimum(self.low, low), np.maximum(self.high, high)
        total = np.maximum(self.counts + counts, 1)
        apart = mean - self.mean
        self.squares += squares + apart**2 * (self.counts * counts / total)
        self.mean += apart * counts / total
        self.counts = self.counts + counts


def measure(view: Any, present: np.ndarray | None) -> Measured:
    """Return the statistics of a view; ``present`` is the mask of its rows, None: all that are not entirely NaN."""
    there = np.ones(view.shape[0], dtype=bool) if present is None else present.copy()
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # huge values are reported as a problem
        if sp.issparse(view):
            return _measure_sparse(view, there)
        return _measure_dense(*_numbers(view), there)


def find_counters(view: Any, found: Measured) -> list[int]:
    """Return the numeric columns that count the samples: distinct whole numbers, nearly consecutive, in any order.

    Empty if most columns do, because they are ranks then.
    """
    n = int(found.present.sum())
    if n < _MIN_COUNTED or found.is_sparse or found.n_columns == 0:
        return []
    widths = found.high - found.low + 1
    likely = (found.counts == n) & (widths >= n) & (widths * _MIN_FILLED <= n)
    table = _numbers(view)[0]
    counters = []
    for j in np.flatnonzero(likely).tolist():
        values = np.asarray(table[:, j], dtype=np.float64)[found.present]
        if (values == np.round(values)).all() and len(np.unique(values)) == n:
            counters.append(j)
    return counters if len(counters) <= max(1, found.n_columns // 2) else []


def _numbers(view: Any) -> tuple[Any, str, int, list[str]]:
    """Return the numeric part of a table, its types, its size in bytes, and the names of the other columns."""
    if is_frame(view):
        types = list(view.dtypes)
        good = [getattr(kind, "kind", "O") in "biuf" for kind in types]
        names = [str(name) for name, is_good in zip(view.columns, good, strict=True) if not is_good]
        table = view.loc[:, good].to_numpy(dtype=np.float64, na_value=np.nan)
        return table, ", ".join(dict.fromkeys(map(str, types))), int(view.memory_usage(index=False).sum()), names
    dtype, n_bytes = str(view.dtype), int(view.nbytes)
    if view.dtype.kind == "O":
        table, names = _objects(np.asarray(view))
        return table, dtype, n_bytes, names
    if view.dtype.kind not in "biuf":
        return np.empty((view.shape[0], 0)), dtype, n_bytes, [f"column {j}" for j in range(view.shape[1])]
    return view, dtype, n_bytes, []


def _objects(table: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return the columns of Python objects that are numbers, and the names of those that are not."""
    columns, names = [], []
    for j in range(table.shape[1]):
        try:
            columns.append(table[:, j].astype(np.float64))
        except (TypeError, ValueError):
            names.append(f"column {j}")
    return np.column_stack(columns) if columns else np.empty((len(table), 0)), names


def _measure_dense(table: Any, dtype: str, n_bytes: int, names: list[str], present: np.ndarray) -> Measured:
    n, d = table.shape
    found = Measured(dtype, n_bytes, d, False, present, names)
    if d == 0:
        return found
    for rows in _cuts(n, d):
        block = np.array(table[rows], dtype=np.float64, order="C")  # a copy: tables on disk cannot be written to
        there = present[rows]  # a view of the mask, which is updated here
        finite = np.isfinite(block)
        if not finite.all():
            there &= ~np.isnan(block).all(axis=1)
            _count_missing(found, block, there, rows.start)
        found.hashes[rows] = row_hashes([block], there[:, None])[:, 0]
        finite &= there[:, None]
        seen: Any = True if finite.all() else finite  # numpy is faster without a mask
        counts = finite.sum(axis=0)
        mean = block.sum(axis=0, where=seen) / np.maximum(counts, 1)
        squares = np.square(block - mean).sum(axis=0, where=seen)
        low, high = block.min(axis=0, where=seen, initial=np.inf), block.max(axis=0, where=seen, initial=-np.inf)
        found.add_columns(low, high, mean, squares, counts)
        filled = ((block != 0) & seen).sum(axis=1)
        found.n_nonzero += int(filled.sum())
        found.n_zero_rows += int((finite.all(axis=1) & (filled == 0)).sum())
    _try_scaling(found, np.ascontiguousarray(table[_sample(found, present)], dtype=np.float64))
    return found


def _cuts(n_rows: int, n_columns: int) -> Iterator[slice]:
    step = max(_BLOCK_VALUES // n_columns, 1)
    return (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))


def _count_missing(found: Measured, block: np.ndarray, there: np.ndarray, first_row: int) -> None:
    """Count single values that are missing or infinite, and keep the position of the first of each."""
    missing, infinite = np.isnan(block) & there[:, None], np.isinf(block) & there[:, None]
    found.n_missing += int(missing.sum())
    found.n_infinite += int(infinite.sum())
    found.first_missing = found.first_missing or _first(missing, first_row)
    found.first_infinite = found.first_infinite or _first(infinite, first_row)


def _first(where: np.ndarray, first_row: int) -> tuple[int, int] | None:
    if not where.any():
        return None
    row, column = divmod(int(where.argmax()), where.shape[1])
    return first_row + row, column


def _measure_sparse(view: Any, present: np.ndarray) -> Measured:
    table = sp.csr_array(view)
    n, d = table.shape
    size = sum(part.nbytes for part in (table.data, table.indices, table.indptr))
    found = Measured(str(view.dtype), int(size), d, True, present)
    if table.dtype.kind not in "biuf":
        found.not_numbers = [f"column {j}" for j in range(d)]
        return found
    table = table.astype(np.float64)  # a copy, which may be changed
    table.sum_duplicates()
    rows = np.repeat(np.arange(n), np.diff(table.indptr))
    table.data[~present[rows]] = 0.0
    found.n_missing, found.first_missing = _count(np.isnan(table.data), rows, table.indices)
    found.n_infinite, found.first_infinite = _count(np.isinf(table.data), rows, table.indices)
    whole = present.copy()
    whole[rows[~np.isfinite(table.data)]] = False
    table.data[~np.isfinite(table.data)] = 0.0
    table.eliminate_zeros()
    found.n_nonzero = table.nnz
    found.n_zero_rows = int((whole & (np.diff(table.indptr) == 0)).sum())
    if d:
        found.hashes = row_hashes([table], present[:, None])[:, 0]
        _add_sparse(found, table if present.all() else table[np.flatnonzero(present)])
        _try_scaling(found, table[_sample(found, whole)])
    return found


def _count(wrong: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> tuple[int, tuple[int, int] | None]:
    """Return how many stored entries are wrong, and the position of the first."""
    if not wrong.any():
        return 0, None
    at = int(wrong.argmax())
    return int(wrong.sum()), (int(rows[at]), int(columns[at]))


def _add_sparse(found: Measured, table: sp.csr_array) -> None:
    """Add the statistics of sparse columns from their stored entries; the others are zeros."""
    n, d = table.shape
    if n == 0:
        return
    stored = np.bincount(table.indices, minlength=d)
    mean = np.bincount(table.indices, weights=table.data, minlength=d) / n
    apart = np.bincount(table.indices, weights=(table.data - mean[table.indices]) ** 2, minlength=d)
    low, high = (np.asarray(extreme.todense()).ravel() for extreme in (table.min(axis=0), table.max(axis=0)))
    found.add_columns(low, high, mean, apart + (n - stored) * mean**2, n)


def _sample(found: Measured, rows: np.ndarray) -> np.ndarray:
    """Return the rows by which a scaling is chosen, ascending: all, or a random sample if there are many."""
    chosen = np.flatnonzero(rows)
    per_row = found.n_nonzero // max(len(rows), 1) + 1 if found.is_sparse else found.n_columns
    most = min(_MAX_SAMPLE_ROWS, max(_MAX_SAMPLE_VALUES // per_row, 100))
    if len(chosen) <= most:
        return chosen
    return np.sort(np.random.default_rng(0).choice(chosen, most, replace=False))


def _try_scaling(found: Measured, rows: Any) -> None:
    """Find the scaling that "auto" chooses for these rows, and the share of the variance of wide columns after it."""
    if not sp.issparse(rows):
        rows = rows[np.isfinite(rows).all(axis=1)]
    if rows.shape[0] == 0:
        return
    found.scaling, found.scaling_reason = explain_scaling(rows)
    ratio, typical = found.scale_ratio, found.typical_scale
    if ratio is not None and typical is not None and ratio > _VERY_WIDE:
        _, scaled = learn_scaling(rows, found.scaling)
        dense = scaled if isinstance(scaled, np.ndarray) else scaled.toarray()
        variances = dense.var(axis=0)
        total = float(variances.sum())
        found.wide_share = float(variances[found.deviations >= _WIDE * typical].sum() / total) if total > 0 else None
