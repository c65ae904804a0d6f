"""Checking the numbers of one view."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from manyview.exceptions import ViewsError

Array: TypeAlias = np.ndarray | sp.csr_array
"""One checked view: a dense array or a CSR array, ``float64``, or ``float32`` where that is asked for."""

LARGEST, SMALLEST = 1e150, 1e-150
"""Between these the largest absolute value of a view must lie: squares of distances must be numbers, too."""


def is_frame(value: Any) -> bool:
    """Whether the value is a data frame; asks without importing pandas."""
    return hasattr(value, "iloc") and hasattr(value, "dtypes")


def is_lazy(value: Any) -> bool:
    """Whether the value is a Dask array; asks without importing Dask."""
    return all(hasattr(value, name) for name in ("dask", "chunks", "shape"))


def has_ids(frame: Any) -> bool:
    """Whether the index of a data frame says more than the number of the row."""
    return type(frame.index).__name__ != "RangeIndex"


def check_values(
    array: Any,
    where: str,
    *,
    present: np.ndarray | None = None,
    first_row: int = 0,
    may_be_constant: bool = False,
    may_have_gaps: bool = False,
    keep_float32: bool = False,
) -> tuple[Array, np.ndarray | None]:
    """One view as finite float64, C-ordered or CSR, and which of its rows are there (None: all).

    Parameters
    ----------
    present : ndarray of bool, optional
        False for rows whose values are not to be looked at. A row that is all NaN counts as missing, too. Missing rows
        become zero.
    first_row : int
        The number of the first row, for the texts of errors.
    may_be_constant : bool
        Whether all rows may be equal, as a few new samples may.
    may_have_gaps : bool
        Whether single values may be NaN or infinite.
    keep_float32 : bool
        Whether float32 stays float32.
    """
    if is_frame(array):
        array = frame_values(array, where)
    elif is_lazy(array):
        array = array.compute()
    values = array.data if sp.issparse(array) and hasattr(array, "data") else array
    kind = getattr(getattr(values, "dtype", None), "kind", "f")
    if kind in "USMmV":
        raise ViewsError(f"{where}: expected numbers, got dtype {values.dtype}, such as {values.ravel()[:1].tolist()}.")
    if kind == "c":
        raise ViewsError(f"{where}: expected real numbers, got dtype {values.dtype}. Complex data not supported.")
    try:
        checked = check_array(
            array,
            accept_sparse="csr",
            accept_large_sparse=True,
            dtype=[np.float64, np.float32] if keep_float32 else np.float64,
            order="C",
            ensure_all_finite=False,
            ensure_min_samples=1,
        )
    except TypeError as error:  # keeps numpy's "argument must be a string or a ... number"
        raise TypeError(f"{where}: expected numbers. {error}") from error
    except ValueError as error:
        raise ViewsError(f"{where}: {error}") from error
    if sp.issparse(checked):
        checked = _with_short_indices(sp.csr_array(checked))
        if not checked.has_canonical_format or not checked.data.all():
            checked = checked.copy()  # the arrays may be the user's
            checked.sum_duplicates()
            checked.eliminate_zeros()  # sums that pass over them are rounded otherwise
    present = _present_rows(checked, present)
    if present is not None:
        checked = keep_rows(checked, present)
    if not may_have_gaps:
        _check_finite(checked, where, first_row)
        _check_size(checked, where, first_row, may_be_small=may_be_constant)
    seen = checked if present is None else checked[present]
    if not may_be_constant and _is_constant(seen):
        n_seen = "every sample" if present is None else f"each of the {seen.shape[0]} samples that have it"
        raise ViewsError(f"{where}: {n_seen} has the same values, so it says nothing about them; leave this view out.")
    return checked, present


def _with_short_indices(array: sp.csr_array) -> sp.csr_array:
    """The same with 32-bit indices where these do, because scikit-learn's k-means takes no others."""
    if max(array.nnz, *array.shape) > np.iinfo(np.int32).max:
        return array
    indices, indptr = (index.astype(np.int32, copy=False) for index in (array.indices, array.indptr))
    return sp.csr_array((array.data, indices, indptr), shape=array.shape)


def _present_rows(array: Array, present: np.ndarray | None) -> np.ndarray | None:
    """Which rows are there: not those that are marked as missing, nor those that hold nothing but NaN."""
    if isinstance(array, np.ndarray):
        # The first column tells which rows to look at, so that a complete view costs next to nothing.
        rows = np.flatnonzero(np.isnan(array[:, 0]))
        gone = rows[np.isnan(array[rows]).all(axis=1)]
        if gone.size:
            present = np.ones(len(array), dtype=bool) if present is None else present.copy()
            present[gone] = False
    return None if present is None or present.all() else present


def keep_rows(array: Array, rows: np.ndarray) -> Array:
    """A copy in which all other rows are zero."""
    if isinstance(array, np.ndarray):
        return np.where(rows[:, None], array, array.dtype.type(0))
    sizes = np.diff(array.indptr)
    kept = np.repeat(rows, sizes)
    indptr = np.concatenate([[0], np.cumsum(np.where(rows, sizes, 0))]).astype(array.indptr.dtype)
    return sp.csr_array((array.data[kept], array.indices[kept], indptr), shape=array.shape)


def frame_values(frame: Any, where: str) -> np.ndarray:
    """The numbers of a data frame, gaps as NaN."""
    bad = [str(c) for c, t in frame.dtypes.items() if getattr(t, "kind", "O") not in "biuf"]
    if bad:
        raise ViewsError(
            f"{where}: expected numeric columns, but {', '.join(map(repr, bad[:3]))} hold(s) something else."
        )
    return frame.to_numpy(dtype=np.float64, na_value=np.nan)


def _check_finite(array: Array, where: str, first_row: int) -> None:
    values = array.data if sp.issparse(array) else array
    finite = np.isfinite(values)
    if finite.all():
        return
    what = "NaN" if np.isnan(values).any() else "infinity (inf)"
    row, column = _place(array, int(np.argmin(finite)))
    raise ViewsError(
        f"{where}: contains {what}, first at row {first_row + row}, column {column}; {(~finite).sum()} of "
        f"{np.prod(array.shape)} values are not finite. Impute or remove them first. (A row that is NaN from end to "
        "end says that the sample lacks this view.)"
    )


def _check_size(array: Array, where: str, first_row: int, *, may_be_small: bool) -> None:
    """Refuse values, all finite, whose squares are not; and views that would vanish when they are squared."""
    values = array if isinstance(array, np.ndarray) else array.data
    if not values.size:
        return
    largest = max(float(values.max()), -float(values.min()))  # a float32 cannot be compared with 1e150
    if largest > LARGEST:
        row, column = _place(array, int(np.argmax(np.abs(values))))
        raise ViewsError(
            f"{where}: its largest value, {array[row, column]:.3g} at row {first_row + row}, column {column}, is too "
            f"large to be squared; expected at most {LARGEST:g}. If it stands for a value that is missing, impute or "
            "remove it; else divide the view by a constant."
        )
    if 0 < largest < SMALLEST and not may_be_small:
        raise ViewsError(
            f"{where}: its largest absolute value, {largest:.3g}, is too small to be squared; expected at least "
            f"{SMALLEST:g}. Multiply the view by a constant."
        )


def _place(array: Array, number: int) -> tuple[int, int]:
    """Row and column of the value of this number, among those that are stored."""
    if isinstance(array, np.ndarray):
        return divmod(number, array.shape[1])
    return int(np.searchsorted(array.indptr, number, side="right")) - 1, int(array.indices[number])


def _is_constant(array: Array) -> bool:
    """Whether all rows are equal; reads the array once and copies nothing."""
    if array.shape[0] == 0:
        return True
    first = array[[0]]
    if sp.issparse(array):
        spread = np.asarray((array.max(axis=0) - array.min(axis=0)).todense())
        return not spread.any()
    return bool((array == first).all())
