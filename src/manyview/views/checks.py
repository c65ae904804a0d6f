"""Turn what users have into checked views: containers, samples without a view, columns of one wide table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_array

from manyview.exceptions import ViewsError
from manyview.views.annotated import annotated_views, is_annotated, modality_views
from manyview.views.container import Views, check_any_view, default_names, is_table, places
from manyview.views.values import Array, check_values, has_ids, is_frame, is_lazy


def check_views(
    views: Any,
    *,
    view_sizes: int | Sequence[int] | None = None,
    present: Any = None,
    zero_rows: Literal["values", "missing"] | Sequence[str] = "values",
    min_views: int = 1,
    min_samples: int = 2,
    may_be_constant: bool = False,
    may_have_gaps: bool = False,
    keep_float32: bool = False,
) -> Views:
    """Turn what users have into checked ``float64`` views.

    A sample may lack some of the views, though not all: its row is NaN from end to end there, or ``present`` says so.

    Parameters
    ----------
    views : Views, sequence or mapping of arrays, MuData, AnnData, or one 2-D array
        Each view is a dense array, a data frame or a scipy sparse matrix of shape (n_samples, n_features_v),
        integers or floats. Sparse views stay sparse (CSR). Data frames with an index must agree on it;
        :meth:`Views.from_frames` joins those that do not. Of a MuData or a mapping of AnnData objects, ``X`` of every
        modality is a view; a sample may be absent from some. Of one AnnData, every 2-D entry in ``obsm`` is a view,
        and there must be at least two; ``X`` is not taken. Values on disk or not yet computed (dask) are loaded.
    view_sizes : int or sequence of int, optional
        For *one* 2-D array that holds all views side by side: the number of columns of each view, or the number of
        views of (nearly) equal width.
    present : array-like of bool, shape (n_samples, n_views), optional
        Which views each sample has, if that is not told by rows of NaN.
    zero_rows : {"values", "missing"} or sequence of str, default="values"
        What a row of zeros means: values like all others, or, in all views or in those that are named, that the sample
        lacks the view. For counts of words or events the latter is often what is meant.
    min_views, min_samples : int
        Fewer are an error.
    may_be_constant, may_have_gaps : bool, default=False
        Whether all samples may have the same values in a view, as a few new samples may, and whether single values may
        be NaN or infinite, for a transformer to fill in.
    keep_float32 : bool, default=False
        Whether ``float32`` views stay ``float32``.

    Returns
    -------
    Views
        With C-ordered arrays, ``float64`` or ``float32`` where that is kept; dense ones share memory with the input
        where nothing had to be changed. Rows of views that a sample lacks are zero; ``present`` tells them from others.

    Raises
    ------
    ViewsError
        With the name of the view, what must hold and what was found.

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
    """There must be so many views."""
    if len(given) < min_views:
        raise ViewsError(
            f"views: expected at least {min_views} views, got {len(given)}. "
            "To use one table as several views, pass view_sizes=."
        )


def _check_all(given: Views, zero_views: Sequence[str] = (), **rules: Any) -> Views:
    """Check the values of every view, and find out which rows are there."""
    checked = []
    known = np.ones((given.n_samples, len(given)), dtype=bool)
    for v, (where, array) in enumerate(zip(places(given.names), given.arrays, strict=True)):
        has_view = given.has_view(v)
        values, has_view = check_values(array, where, present=has_view, **rules)
        if given.names[v] in zero_views:
            values, has_view = check_values(values, where, present=_nonzero_rows(values), **rules)
        checked.append(values)
        known[:, v] = True if has_view is None else has_view
    check_any_view(known, given.sample_ids, rules.get("first_row", 0))
    return replace(given, arrays=tuple(checked), present=known)


def _known(views: Views) -> np.ndarray:
    return np.ones((views.n_samples, len(views)), dtype=bool) if views.present is None else views.present


def check_new_views(views: Any, *, view_sizes: int | Sequence[int] | None = None) -> Views:
    """Sort out the containers of samples that are to be looked at block by block; see :func:`check_block`."""
    return _as_views(views if view_sizes is None else split_columns(views, view_sizes))


def check_block(block: Views, first_row: int) -> Views:
    """Some rows of many, their values checked; they may be constant. ``first_row`` is the number of the first."""
    return _check_all(block, first_row=first_row, may_be_constant=True, keep_float32=True)


def _zero_views(zero_rows: Any, names: Sequence[str]) -> Sequence[str]:
    """Names of the views in which a row of zeros is a missing one."""
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


def match_fitted(views: Any, given: Views, names: Sequence[str], n_features: Sequence[int]) -> Views:
    """New samples, by the names of the fitted views: all of these in their order, or some by name.

    Parameters
    ----------
    views : object
        What the user gave.
    given : Views
        What became of it.
    names, n_features : sequences
        Of the fitted views.
    """
    if not (isinstance(views, Views | Mapping) or is_annotated(views)):  # then the names say nothing
        if len(given) != len(names):
            raise ViewsError(
                f"views: expected {len(names)} views, as in fit, got {len(given)}. To give some of them only, name "
                f"them in a dict; they are {', '.join(names)}."
            )
        given = replace(given, names=tuple(names))
    sizes = dict(zip(names, n_features, strict=True))
    for where, name, size in zip(places(given.names), given.names, given.n_features, strict=True):
        if name not in sizes:
            raise ViewsError(f"{where}: there was no such view in fit; there were {', '.join(names)}.")
        if size != sizes[name]:
            raise ViewsError(f"{where}: expected {sizes[name]} features, as in fit, got {size}.")
    return given


def _as_views(views: Any) -> Views:
    """Sort out the containers; values are looked at later."""
    if isinstance(views, Views):
        return views
    if is_annotated(views):
        return Views(**annotated_views(views))
    if isinstance(views, str | bytes):
        raise ViewsError(f"views: expected arrays, got the text {views!r}. To read a file: manyview.read_views(path).")
    if isinstance(views, Mapping) and not is_table(views):  # scipy's DOK matrices are mappings, too
        names, arrays = tuple(str(name) for name in views), tuple(views.values())
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
    return replace(given, sample_ids=_common_index(given))


def _is_list_of_tables(value: Any) -> bool:
    return isinstance(value, Sequence) and len(value) > 0 and is_table(value[0])


def _common_index(views: Views) -> np.ndarray | None:
    """Sample ids from data frames: all that carry an index of their own must carry the same."""
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
                "them on their indexes, also if some samples are in some frames only."
            )
    return ids


def cut_table(views: Views, view_sizes: int | Sequence[int]) -> Views:
    """Cut the only view of ``views`` into several; ids and labels stay.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview import Views
    >>> from manyview.views import cut_table
    >>> cut_table(Views([np.ones((3, 5))], labels=[0, 0, 1]), [2, 3])
    Views(3 samples; view0: 2, view1: 3; 2 classes)
    """
    if len(views) > 1:
        raise ViewsError(f"view_sizes: only for one table, but there are {len(views)} views: {', '.join(views.names)}.")
    return replace(split_columns(views.arrays[0], view_sizes), sample_ids=views.sample_ids, labels=views.labels)


def split_columns(table: Any, view_sizes: int | Sequence[int], min_samples: int = 1) -> Views:
    """Cut one wide table into views."""
    if not is_table(table) and (isinstance(table, Views | Mapping) or _is_list_of_tables(table) or is_annotated(table)):
        raise ViewsError("view_sizes: only for one 2-D array; these views come separately already.")
    ids = np.asarray(table.index) if is_frame(table) and has_ids(table) else None
    table = table.to_numpy() if is_frame(table) else table
    if not is_lazy(table):
        try:
            table = check_array(
                table, accept_sparse="csr", dtype=None, ensure_all_finite=False, ensure_min_samples=min_samples
            )
        except ValueError as error:
            raise ViewsError(f"views: {error}") from error
    n_columns = table.shape[1]
    if isinstance(view_sizes, int | np.integer):
        if not 1 <= view_sizes <= n_columns:
            raise ViewsError(
                f"view_sizes: cannot cut n_features={n_columns} columns into {view_sizes} views; "
                f"expected between 1 and {n_columns}."
            )
        edges = np.linspace(0, n_columns, int(view_sizes) + 1).round().astype(int)
    else:
        sizes = np.asarray(view_sizes)
        if sizes.ndim != 1 or sizes.size == 0 or sizes.dtype.kind not in "iu" or (sizes < 1).any():
            raise ViewsError(f"view_sizes: expected positive integers, one per view, got {view_sizes!r}.")
        if sizes.sum() != n_columns:
            raise ViewsError(
                f"view_sizes: {list(map(int, sizes))} add up to {sizes.sum()} columns, "
                f"but the array has n_features={n_columns}."
            )
        edges = np.concatenate([[0], np.cumsum(sizes)])
    return Views(tuple(table[:, start:stop] for start, stop in pairwise(edges)), sample_ids=ids)
