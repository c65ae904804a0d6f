"""Missing cells filled in by scikit-learn's imputers, view by view. A row that is wholly empty stays a missing view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview.exceptions import FileFormatError
from manyview.io._table_files import listed
from manyview.views import Reading, Views

IMPUTE = ("median", "mean", "most_frequent", "knn", "zero")
"""How missing cells can be filled in: each by its column, or by the five nearest samples (knn)."""

_IN_WORDS = {
    "median": "the median of the column",
    "mean": "the mean of the column",
    "most_frequent": "the most frequent value of the column",
    "knn": "the mean of the five nearest samples",
    "zero": "0",
}
_IN_THE_FIT = {
    "median": "the median of the column in the fit",
    "mean": "the mean of the column in the fit",
    "most_frequent": "the most frequent value of the column in the fit",
    "knn": "the median of the column in the fit (a model keeps no samples for knn)",
    "zero": "0, as in the fit",
}


def fill_cells(
    arrays: Sequence[Any],
    how: str,
    *,
    places: Sequence[str],
    features: Sequence[Sequence[str] | None],
    samples: np.ndarray | None,
    present: np.ndarray | None,
) -> tuple[tuple[Any, ...], list[int]]:
    """Return the views without single missing cells, and the number of cells filled in each.

    Parameters
    ----------
    arrays : sequence of arrays, dense or sparse
    how : str
        One of :data:`IMPUTE`.
    places : sequence of str
        Names of the views in errors.
    features, samples
        Names of the columns of each view and of the rows, for errors.
    present : ndarray of bool, shape (n_samples, n_views), optional
        Rows that are False are missing views and neither filled nor learned from.
    """
    filled, counts = [], []
    for v, array in enumerate(arrays):
        known = np.ones(array.shape[0], dtype=bool) if present is None else present[:, v].copy()
        values = array.data if sp.issparse(array) else array
        if values.dtype.kind != "f" or not np.isnan(values).any():
            filled.append(array)
            counts.append(0)
            continue
        if not sp.issparse(array):
            known &= ~np.isnan(array).all(axis=1)
        own = array[known] if not known.all() else array
        _check(own, how, places[v], features[v], None if samples is None else samples[known])
        n_cells = int(np.isnan(own.data if sp.issparse(own) else own).sum())
        done = _imputer(how).fit_transform(own)
        filled.append(done if known.all() else _spread(done, array, known))
        counts.append(n_cells)
    return tuple(filled), counts


def values_of_fit(views: Views, how: str) -> dict[str, np.ndarray]:
    """Return what a missing cell of each column is filled with in samples that come after the fit.

    The views may be filled in already: neither median, mean nor most frequent value of a column change by that.
    Instead of the nearest samples (knn), which would have to be kept, it is the median.

    Examples
    --------
    >>> views = Views((np.array([[1.0, 5.0], [2.0, 7.0], [9.0, 9.0]]),), names=("blood",))
    >>> values_of_fit(views, "median")
    {'blood': array([2., 7.])}
    """
    found = {}
    for v, (name, array) in enumerate(zip(views.names, views.arrays, strict=True)):
        known, present = np.ones(array.shape[0], dtype=bool), views.has_view(v)
        if present is not None:
            known &= present
        if not sp.issparse(array):
            known &= ~np.isnan(array).all(axis=1)
        own = array if known.all() else array[known]
        if how in ("median", "knn") and not sp.issparse(own):  # scikit-learn takes ten times as long
            values = np.median(own, axis=0)
        else:
            values = _imputer("median" if how == "knn" else how).fit(own).statistics_
        found[name] = np.asarray(values, dtype=np.float64)
    return found


def fill_as_in_fit(views: Views, how: str, values: Mapping[str, np.ndarray]) -> Views:
    """Return the views of new samples with single missing cells filled in with values of the fit.

    Parameters
    ----------
    views : Views
    how : str
        One of :data:`IMPUTE`, for the note about it.
    values : mapping of str to ndarray of shape (n_features,)
        One value for each column, in the order of the columns. Views without values are left as they are.
    """
    arrays, counts = [], []
    for v, (name, array) in enumerate(zip(views.names, views.arrays, strict=True)):
        rows, columns = missing_cells(array, views.has_view(v)) if name in values else ((), ())
        if len(rows):
            array = array.tocsr(copy=True) if sp.issparse(array) else array.copy()
            if sp.issparse(array):
                cells = np.isnan(array.data)
                array.data[cells] = values[name][array.indices[cells]]
            else:
                array[rows, columns] = values[name][columns]
        arrays.append(array)
        counts.append(len(rows))
    if not any(counts):
        return views
    reading = Reading() if views.reading is None else views.reading
    note = described(how, views.names, counts, words=_IN_THE_FIT)
    filled = {name: count for name, count in zip(views.names, counts, strict=True) if count}
    return replace(views, arrays=tuple(arrays), reading=replace(reading, notes=(*reading.notes, note), filled=filled))


def missing_cells(array: Any, present: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and columns of single missing cells; those of rows that are missing views are left out."""
    if sp.issparse(array):
        entries = array.tocoo()
        cells = np.isnan(entries.data)
        rows, columns = entries.row[cells], entries.col[cells]
    elif array.dtype.kind != "f":
        rows, columns = np.empty((2, 0), dtype=np.int64)
    else:
        missing = np.isnan(array)
        rows, columns = np.nonzero(missing & ~missing.all(axis=1, keepdims=True))
    if present is not None:
        rows, columns = rows[present[rows]], columns[present[rows]]
    return rows, columns


def described(
    how: str, names: Sequence[str], counts: Sequence[int], words: Mapping[str, str] = MappingProxyType(_IN_WORDS)
) -> str:
    """Return a sentence about what was filled in; empty if nothing was.

    Examples
    --------
    >>> described("median", ["rna", "protein"], [12, 0])
    'imputed 12 missing cells by the median of the column: rna 12'
    """
    total = sum(counts)
    if not total:
        return ""
    each = ", ".join(f"{name} {count:,}" for name, count in zip(names, counts, strict=True) if count)
    return f"imputed {total:,} missing cell{'s' * (total > 1)} by {words[how]}: {each}"


def _imputer(how: str) -> Any:
    from sklearn.impute import KNNImputer, SimpleImputer

    if how == "knn":
        return KNNImputer(keep_empty_features=True)
    if how == "zero":
        return SimpleImputer(strategy="constant", fill_value=0, keep_empty_features=True)
    return SimpleImputer(strategy=how, keep_empty_features=True)


def _check(array: Any, how: str, place: str, features: Sequence[str] | None, samples: np.ndarray | None) -> None:
    """Refuse infinite values, empty columns, and what an imputer cannot do."""
    if sp.issparse(array) and how == "knn":
        raise FileFormatError(
            f"{place}: is sparse, and impute='knn' needs a dense view. Pass impute='median' or another of "
            f"{', '.join(IMPUTE)}."
        )
    values = array.tocsr().data if sp.issparse(array) else array
    if np.isinf(values).any():
        rows, columns = array.tocoo().coords if sp.issparse(array) else np.indices((0, 0))
        infinite = np.isinf(array.tocoo().data if sp.issparse(array) else array)
        at = (rows[infinite][0], columns[infinite][0]) if sp.issparse(array) else np.argwhere(infinite)[0]
        sample = f"row {at[0]}" if samples is None else f"sample {str(samples[at[0]])!r}"
        raise FileFormatError(
            f"{place}: {sample}, {_column(features, int(at[1]))} is infinite, which is no missing value and is not "
            "imputed. Correct it (the logarithm of 0 is a common cause), or empty the cell."
        )
    if how != "zero" and not sp.issparse(array):
        empty = np.flatnonzero(np.isnan(array).all(axis=0))
        if len(empty):
            names = [str(column) if features is None else features[column] for column in empty.tolist()]
            raise FileFormatError(
                f"{place}: {len(empty)} column(s) have no value at all, from which to impute: {listed(names)}. Leave "
                f"them out with drop={names[0]!r}."
            )


def _column(features: Sequence[str] | None, at: int) -> str:
    return f"column {at}" if features is None else f"column {features[at]!r}"


def _spread(done: Any, array: Any, known: np.ndarray) -> Any:
    """Return the view with its filled rows; the others as they were."""
    if sp.issparse(array):
        rows = np.flatnonzero(known)
        entries = sp.coo_array(done)
        return sp.csr_array((entries.data, (rows[entries.row], entries.col)), shape=array.shape)
    whole = array.copy()
    whole[known] = done
    return whole
