"""Checking the numbers of one view."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from manyview.exceptions import ViewsError

Array: TypeAlias = np.ndarray | sp.csr_array
"""One checked view: a dense array or a CSR array, ``float64``."""


def is_frame(value: Any) -> bool:
    """Whether the value is a data frame; asks without importing pandas."""
    return hasattr(value, "iloc") and hasattr(value, "dtypes")


def check_values(array: Any, where: str) -> Array:
    """One view as finite float64, C-ordered or CSR; not constant."""
    if is_frame(array):
        array = _frame_values(array, where)
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
            dtype=np.float64,
            order="C",
            ensure_all_finite=False,
            ensure_min_samples=1,
        )
    except TypeError as error:  # keeps numpy's "argument must be a string or a ... number"
        raise TypeError(f"{where}: expected numbers. {error}") from error
    except ValueError as error:
        raise ViewsError(f"{where}: {error}") from error
    if sp.issparse(checked):
        checked = sp.csr_array(checked)
        if not checked.has_canonical_format:
            checked = checked.copy()  # the arrays may be the user's
            checked.sum_duplicates()
    _check_finite(checked, where)
    if _is_constant(checked):
        raise ViewsError(
            f"{where}: every sample has the same values, so it says nothing about them; leave this view out."
        )
    return checked


def _frame_values(frame: Any, where: str) -> np.ndarray:
    bad = [str(c) for c, t in frame.dtypes.items() if getattr(t, "kind", "O") not in "biuf"]
    if bad:
        raise ViewsError(
            f"{where}: expected numeric columns, but {', '.join(map(repr, bad[:3]))} hold(s) something else."
        )
    return frame.to_numpy(dtype=np.float64, na_value=np.nan)


def _check_finite(array: Array, where: str) -> None:
    values = array.data if sp.issparse(array) else array
    finite = np.isfinite(values)
    if finite.all():
        return
    what = "NaN" if np.isnan(values).any() else "infinity (inf)"
    first = np.argwhere(~finite)[0]
    if not isinstance(array, np.ndarray):
        entries = array.tocoo()
        first = np.array([entries.row[first[0]], entries.col[first[0]]])
    raise ViewsError(
        f"{where}: contains {what}, first at row {first[0]}, column {first[1]}; {(~finite).sum()} of "
        f"{np.prod(array.shape)} values are not finite. Impute or remove them first."
    )


def _is_constant(array: Array) -> bool:
    """Whether all rows are equal; reads the array once and copies nothing."""
    first = array[[0]]
    if sp.issparse(array):
        spread = np.asarray((array.max(axis=0) - array.min(axis=0)).todense())
        return not spread.any()
    return bool((array == first).all())
