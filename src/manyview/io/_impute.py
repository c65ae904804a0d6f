"""Missing cells filled in by scikit-learn's imputers, view by view. A row that is wholly empty stays a missing view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview.exceptions import FileFormatError
from manyview.io._table_files import listed

IMPUTE = ("median", "mean", "most_frequent", "knn", "zero")
"""How missing cells can be filled in: each by its column, or by the five nearest samples (knn)."""

_IN_WORDS = {
    "median": "the median of the column",
    "mean": "the mean of the column",
    "most_frequent": "the most frequent value of the column",
    "knn": "the mean of the five nearest samples",
    "zero": "0",
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


def described(how: str, names: Sequence[str], counts: Sequence[int]) -> str:
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
    return f"imputed {total:,} missing cell{'s' * (total > 1)} by {_IN_WORDS[how]}: {each}"


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
