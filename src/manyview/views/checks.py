"""Conversion of user input into checked views: containers, missing views, and the values of each view."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from manyview.exceptions import ViewsError
from manyview.views.container import (
    Views,
    check_any_view,
    default_names,
    frame_values,
    has_ids,
    has_levels,
    is_annotated,
    is_frame,
    is_lazy,
    is_table,
    places,
)
from manyview.views.joins import annotated_views, modality_views
from manyview.views.suspects import check_frames
from manyview.views.wide import ViewSizes, split_columns, split_levels

Array: TypeAlias = np.ndarray | sp.csr_array
"""One checked view: a dense array or a CSR array, ``float64``, or ``float32`` where that is asked for."""

LARGEST, SMALLEST = 1e150, 1e-150
"""Bounds of the largest absolute value of a view, so that squared distances neither overflow nor vanish."""


def check_views(
    views: Any,
    *,
    view_sizes: ViewSizes | None = None,
    present: Any = None,
    zero_rows: Literal["values", "missing"] | Sequence[str] = "values",
    min_views: int = 1,
    min_samples: int = 2,
    may_be_constant: bool = False,
    may_have_gaps: bool = False,
    keep_float32: bool = False,
) -> Views:
    """Convert user input into checked ``float64`` views.

    A sample may have missing views, but not all: its row in a missing view is all NaN, or ``present`` is False.

    Parameters
    ----------
    views : Views, sequence or mapping of arrays, MuData, AnnData, or one 2-D array
        Each view is a dense array, a data frame or a scipy sparse matrix of shape (n_samples, n_features_v),
        integers or floats. Sparse views stay sparse (CSR). Data frames with an index must agree on it;
        :meth:`Views.from_frames` joins those that do not. Of a MuData or a mapping of AnnData objects, ``X`` of every
        modality is a view; a sample may be absent from some. Of one AnnData, every 2-D entry in ``obsm`` is a view,
        and there must be at least two; ``X`` is not taken. Values on disk or not yet computed (dask) are loaded.
    view_sizes : int, sequence of int, mapping or str, optional
        For *one* table that holds all views side by side: the number of columns of each view, or the number of views of
        (nearly) equal width; or, by name, the columns of each view: a pattern (``{"rna": "rna__*"}``), a list of
        columns, a slice, a mask, or a callable that returns one of these, such as
        ``sklearn.compose.make_column_selector``; or a separator (``"__"``): what comes before it in the name of a
        column is the view. A column that belongs to no view is an error. A data frame whose columns have two levels,
        view and feature, needs no ``view_sizes``.
    present : array-like of bool, shape (n_samples, n_views), optional
        Which views each sample has, if missing views are not rows of NaN.
    zero_rows : {"values", "missing"} or sequence of str, default="values"
        What a row of zeros means: ordinary values, or, in all views or in the named ones, a missing view. For counts of
        words or events it often means a missing view.
    min_views, min_samples : int
        Minimum numbers of views and samples.
    may_be_constant, may_have_gaps : bool, default=False
        Whether all samples may have the same values in a view, as a few new samples may, and whether single values may
        be NaN or infinite, for a transformer to impute.
    keep_float32 : bool, default=False
        Whether ``float32`` views stay ``float32``.

    Returns
    -------
    Views
        With C-ordered arrays, ``float64`` or ``float32`` where that is kept; dense ones share memory with the input
        where nothing had to be changed. Rows of missing views are zero; ``present`` distinguishes them.

    Raises
    ------
    ViewsError
        Names the view, what was expected and what was found.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview import check_views
    >>> check_views({"colour": np.arange(6).reshape(3, 2), "texture": np.eye(3)})
    Views(3 samples; colour: 2, texture: 3)
    >>> check_views(np.random.rand(5, 7), view_sizes=[3, 4])
    Views(5 samples; view0: 3, view1: 4)
    >>> check_views([np.array([[1.0, 2.0], [np.nan, np.nan], [5.0, 6.0]]), np.eye(3)])
    Views(3 samples; view0: 2, view1: 3; 17% missing)
    """
    if view_sizes is not None:
        views = split_columns(views, view_sizes, min_samples)
    given = _as_views(views)
    check_n_views(given, min_views)
    if given.n_samples < min_samples:
        raise ViewsError(
            f"views: expected at least {min_samples} samples, got n_samples={given.n_samples}"
            f"{' (1 sample)' if given.n_samples == 1 else ''}."
        )
    if present is not None:
        marked = replace(given, present=present).present
        given = given if marked is None else replace(given, present=marked & _known(given))
    return _check_all(
        given,
        _zero_views(zero_rows, given.names),
        may_be_constant=may_be_constant,
        may_have_gaps=may_have_gaps,
        keep_float32=keep_float32,
    )


def check_n_views(given: Views, min_views: int) -> None:
    """Refuse fewer views than the minimum number."""
    if given.n_views < min_views:
        raise ViewsError(
            f"views: expected at least {min_views} views, got {given.n_views}. "
            "To use one table as several views, pass view_sizes=."
        )


def _check_all(given: Views, zero_views: Sequence[str] = (), **rules: Any) -> Views:
    """Check the values of every view, and determine which rows are present."""
    checked = []
    known = np.ones((given.n_samples, given.n_views), dtype=bool)
    for v, (where, array) in enumerate(zip(places(given.names), given.arrays, strict=True)):
        has_view = given.has_view(v)
        known_as: dict[str, Any] = {
            "features": given.feature_names and given.feature_names[v],
            "samples": given.sample_ids,
            "source": given.reading and given.reading.source(v),
        }
        values, has_view = check_values(array, where, present=has_view, **known_as, **rules)
        if given.names[v] in zero_views:
            values, has_view = check_values(values, where, present=_nonzero_rows(values), **known_as, **rules)
        checked.append(values)
        known[:, v] = True if has_view is None else has_view
    check_any_view(known, given.sample_ids, rules.get("first_row", 0))
    return replace(given, arrays=tuple(checked), present=known)


def _known(views: Views) -> np.ndarray:
    return np.ones((views.n_samples, views.n_views), dtype=bool) if views.present is None else views.present


def check_new_views(views: Any, *, view_sizes: ViewSizes | None = None, any_columns: bool = False) -> Views:
    """Convert the containers of samples whose values are checked block by block; see :func:`check_block`.

    ``any_columns`` of data frames may be ids or classes, of which the caller speaks.
    """
    return _as_views(views if view_sizes is None else split_columns(views, view_sizes), any_columns)


def check_block(block: Views, first_row: int) -> Views:
    """Check the values of some rows, which may be constant. ``first_row`` is the index of the first."""
    return _check_all(block, first_row=first_row, may_be_constant=True, keep_float32=True)


def _zero_views(zero_rows: Any, names: Sequence[str]) -> Sequence[str]:
    """Return the names of the views in which a row of zeros means a missing view."""
    if isinstance(zero_rows, str):
        if zero_rows not in ("values", "missing"):
            raise ViewsError(f"zero_rows: expected 'values', 'missing' or names of views, got {zero_rows!r}.")
        return names if zero_rows == "missing" else ()
    unknown = [name for name in zero_rows if name not in names]
    if unknown:
        raise ViewsError(f"zero_rows: there is no view {unknown[0]!r}; the views are {', '.join(names)}.")
    return list(zero_rows)


def _nonzero_rows(values: Array) -> np.ndarray:
    if isinstance(values, np.ndarray):
        return np.asarray(values.any(axis=1))
    return np.asarray(abs(values).max(axis=1).todense()).ravel() != 0


def _as_views(views: Any, any_columns: bool = False) -> Views:
    """Convert containers to Views; values are checked later."""
    if isinstance(views, Views):
        return views
    if is_annotated(views):
        return Views(**annotated_views(views))
    if isinstance(views, str | bytes):
        raise ViewsError(f"views: expected arrays, got the text {views!r}. To read a file: manyview.read_views(path).")
    if isinstance(views, Mapping) and not is_table(views):  # scipy's DOK matrices are mappings, too
        names, arrays = tuple(str(name) for name in views), tuple(views.values())
    elif has_levels(views):
        return split_levels(views)
    elif isinstance(views, np.ndarray) and views.dtype == object and views.ndim != 2:
        raise ViewsError(f"views: expected a list of arrays, got an object array of shape {views.shape}.")
    elif is_table(views) or (isinstance(views, Sequence) and len(views) > 0 and np.isscalar(views[0])):
        shape = getattr(views, "shape", np.shape(views))
        raise ViewsError(
            f"views: expected several views, got one array of shape {tuple(shape)}. "
            "Pass a list or dict of 2-D arrays, or view_sizes= to say which columns belong to which view."
        )
    elif isinstance(views, Sequence):
        names, arrays = (), tuple(views)
    else:
        raise ViewsError(
            f"views: expected a list or dict of 2-D arrays, got {type(views).__module__}.{type(views).__qualname__}."
        )
    if any(is_annotated(array) for array in arrays):
        return Views(**modality_views(dict(zip(names or default_names(len(arrays)), arrays, strict=True))))
    given = Views(arrays, names)
    if not any_columns and any(is_frame(array) for array in arrays):
        check_frames(given.names, arrays)
    return replace(given, sample_ids=_common_index(given))


def _common_index(views: Views) -> np.ndarray | None:
    """Return the sample ids of data frames; all frames with ids must have the same."""
    ids, first = None, ""
    for where, view in zip(places(views.names), views.arrays, strict=True):
        if not is_frame(view) or not has_ids(view):
            continue
        index = np.asarray(view.index)
        if ids is None:
            ids, first = index, where
        elif not np.array_equal(index, ids):
            at = int(np.flatnonzero(index != ids)[0])
            raise ViewsError(
                f"{where}: its index differs from that of {first} (row {at}: {index[at]!r} and {ids[at]!r}). "
                "Bring the frames into one order first, for example with frame.loc[ids]; or Views.from_frames joins "
                "them on their indexes, also if samples are missing from some frames."
            )
    return ids


def check_values(
    array: Any,
    where: str,
    *,
    present: np.ndarray | None = None,
    features: Sequence[str] | None = None,
    samples: np.ndarray | None = None,
    source: str | None = None,
    first_row: int = 0,
    may_be_constant: bool = False,
    may_have_gaps: bool = False,
    keep_float32: bool = False,
) -> tuple[Array, np.ndarray | None]:
    """Return one view as finite float64, C-ordered or CSR, and which of its rows are present (None: all).

    Parameters
    ----------
    present : ndarray of bool, optional
        False for missing rows, whose values are ignored. A row that is all NaN counts as missing, too. Missing rows
        become zero.
    features, samples : sequences, optional
        Names of the columns and rows, for errors.
    source : str, optional
        The file that the view was read from, for errors.
    first_row : int
        Index of the first row, for errors.
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
    except TypeError as error:  # with numpy's "argument must be a string or a ... number"
        raise TypeError(f"{where}: expected numbers. {error}") from error
    except ValueError as error:
        raise ViewsError(f"{where}: {error}") from error
    if sp.issparse(checked):
        checked = _with_short_indices(sp.csr_array(checked))
        if not checked.has_canonical_format or not checked.data.all():
            checked = checked.copy()  # the arrays may be the user's
            checked.sum_duplicates()
            checked.eliminate_zeros()  # stored zeros would change the rounding of sums
    present = _present_rows(checked, present)
    if present is not None:
        checked = keep_rows(checked, present)
    if not may_have_gaps:
        at = partial(_position, features=features, samples=samples, first_row=first_row)
        _check_finite(checked, where, at, source)
        _check_size(checked, where, at, may_be_small=may_be_constant)
    seen = checked if present is None else checked[present]
    if not may_be_constant and _is_constant(seen):
        raise ViewsError(f"{where}: {_why_constant(seen.shape[0], present is None)}; leave this view out.")
    return checked, present


def _why_constant(n_samples: int, complete: bool) -> str:
    if n_samples <= 1:
        return "no sample has this view" if n_samples == 0 else "only one sample has this view"
    who = "every sample has" if complete else f"the {n_samples} samples that have this view have"
    return f"{who} the same values, so it does not distinguish them"


def _with_short_indices(array: sp.csr_array) -> sp.csr_array:
    """Return the array with 32-bit indices where they suffice, because scikit-learn's k-means requires them."""
    if max(array.nnz, *array.shape) > np.iinfo(np.int32).max:
        return array
    indices, indptr = (index.astype(np.int32, copy=False) for index in (array.indices, array.indptr))
    return sp.csr_array((array.data, indices, indptr), shape=array.shape)


def _present_rows(array: Array, present: np.ndarray | None) -> np.ndarray | None:
    """Return which rows are present: neither marked as missing nor all NaN; None for all."""
    if isinstance(array, np.ndarray):
        # Only rows with NaN in the first column are checked, so that a complete view costs little.
        rows = np.flatnonzero(np.isnan(array[:, 0]))
        gone = rows[np.isnan(array[rows]).all(axis=1)]
        if gone.size:
            present = np.ones(len(array), dtype=bool) if present is None else present.copy()
            present[gone] = False
    return None if present is None or present.all() else present


def keep_rows(array: Array, rows: np.ndarray) -> Array:
    """Return a copy in which all other rows are zero."""
    if isinstance(array, np.ndarray):
        return np.where(rows[:, None], array, array.dtype.type(0))
    sizes = np.diff(array.indptr)
    kept = np.repeat(rows, sizes)
    indptr = np.concatenate([[0], np.cumsum(np.where(rows, sizes, 0))]).astype(array.indptr.dtype)
    return sp.csr_array((array.data[kept], array.indices[kept], indptr), shape=array.shape)


def _position(row: int, column: int, *, features: Sequence[str] | None, samples: Any, first_row: int) -> str:
    """Describe the position of a value, with the names of sample and feature where they are known."""
    sample = "" if samples is None else f" (sample {str(samples[row])!r})"
    feature = "" if features is None else f" ({features[column]!r})"
    return f"row {first_row + row}{sample}, column {column}{feature}"


def _check_finite(array: Array, where: str, at: Callable[[int, int], str], source: str | None) -> None:
    values = array.data if sp.issparse(array) else array
    finite = np.isfinite(values)
    if finite.all():
        return
    what = "NaN" if np.isnan(values).any() else "infinity (inf)"
    remedy = "Impute or remove them first."
    if source is not None and what == "NaN":
        remedy = "Fill them in with impute='median' (or mean, most_frequent, knn, zero), or correct the file."
    raise ViewsError(
        f"{'' if source is None else f'{source}: '}{where}: contains {what}, first at "
        f"{at(*_row_and_column(array, int(np.argmin(finite))))}; {(~finite).sum()} of {np.prod(array.shape)} values "
        f"are not finite. {remedy} (A row of only NaN means that the sample has no values in this view.)"
    )


def _check_size(array: Array, where: str, at: Callable[[int, int], str], *, may_be_small: bool) -> None:
    """Refuse finite values whose squares overflow, and views whose squares underflow."""
    values = array if isinstance(array, np.ndarray) else array.data
    if not values.size:
        return
    largest = max(float(values.max()), -float(values.min()))  # as Python floats: 1e150 overflows in float32
    if largest > LARGEST:
        row, column = _row_and_column(array, int(np.argmax(np.abs(values))))
        raise ViewsError(
            f"{where}: its largest value, {array[row, column]:.3g} at {at(row, column)}, is too large to be "
            f"squared; expected at most {LARGEST:g}. If it marks a missing value, impute or remove it; "
            "else divide the view by a constant."
        )
    if 0 < largest < SMALLEST and not may_be_small:
        raise ViewsError(
            f"{where}: its largest absolute value, {largest:.3g}, is too small to be squared; expected at least "
            f"{SMALLEST:g}. Multiply the view by a constant."
        )


def _row_and_column(array: Array, number: int) -> tuple[int, int]:
    """Return row and column of a stored value, given its index among the stored values."""
    if isinstance(array, np.ndarray):
        return divmod(number, array.shape[1])
    return int(np.searchsorted(array.indptr, number, side="right")) - 1, int(array.indices[number])


def _is_constant(array: Array) -> bool:
    """Return whether all rows are equal, without copying the array."""
    if array.shape[0] == 0:
        return True
    first = array[[0]]
    if sp.issparse(array):
        spread = np.asarray((array.max(axis=0) - array.min(axis=0)).todense())
        return not spread.any()
    return bool((array == first).all())
