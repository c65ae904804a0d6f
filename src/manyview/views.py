"""The views: several descriptions of the same samples, checked once and passed on.

A *view* is a 2-D array with one row per sample. All views of a dataset have the same rows in the same order and
their own columns. :class:`Views` holds them with their names; :func:`check_views` turns what users have (lists,
dicts, data frames, sparse matrices, MuData, one wide array) into clean ``float64`` views or says what is wrong with
which. A sample may lack some of the views: ``present`` says which it has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array, check_random_state

from manyview._omics import annotated_views, is_annotated, modality_views
from manyview._outer_join import join_frames
from manyview._values import Array, check_values, has_ids, is_frame
from manyview.exceptions import ViewsError

__all__ = ["Array", "Views", "check_views"]


@dataclass(frozen=True, eq=False)
class Views:
    """Named views of the same samples, with sample ids and class labels where they are known.

    Parameters
    ----------
    arrays : sequence of array-like or sparse, each of shape (n_samples, n_features_v)
        The views.
    names : sequence of str, optional
        One name per view, all different. Default: ``"view0"``, ``"view1"``, ...
    sample_ids : array-like of shape (n_samples,), optional
        What each row is called.
    labels : array-like of shape (n_samples,), optional
        Known classes, for scoring. No estimator looks at them.
    present : array-like of bool, shape (n_samples, n_views), optional
        Which views each sample has; at least one. The values of a row that is not there are never looked at. None, also
        if every sample has every view: nothing is missing.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview import Views
    >>> views = Views([np.ones((3, 2)), np.zeros((3, 4))], names=["colour", "texture"])
    >>> views
    Views(3 samples; colour: 2, texture: 4)
    >>> views["texture"].shape
    (3, 4)
    """

    arrays: tuple[Any, ...]
    names: tuple[str, ...] = ()
    sample_ids: np.ndarray | None = None
    labels: np.ndarray | None = None
    present: np.ndarray | None = None

    def __post_init__(self) -> None:
        n_views = len(self.arrays)
        if n_views == 0:
            raise ViewsError("views: expected at least one view, got none.")
        names = tuple(str(name) for name in self.names) or _default_names(n_views)
        if len(names) != n_views:
            raise ViewsError(f"names: expected one per view ({n_views}), got {len(names)}: {list(names)}.")
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ViewsError(f"names: every view needs a name of its own, got {repeated[0]!r} more than once.")
        arrays = tuple(_to_array(array, where) for array, where in zip(self.arrays, _places(names), strict=True))
        for where, array in zip(_places(names), arrays, strict=True):
            if array.ndim != 2:
                raise ViewsError(f"{where}: expected a 2-D array (samples x features), got {array.ndim}-D.")
        _check_equal_rows(names, arrays)
        object.__setattr__(self, "arrays", arrays)
        object.__setattr__(self, "names", names)
        for field in ("sample_ids", "labels"):
            value = getattr(self, field)
            if value is not None:
                value = np.asarray(value)
                if value.shape != (self.n_samples,):
                    raise ViewsError(
                        f"{field}: expected one value per sample, shape ({self.n_samples},), got {value.shape}."
                    )
                object.__setattr__(self, field, value)
        object.__setattr__(self, "present", self._check_present())

    def _check_present(self) -> np.ndarray | None:
        if self.present is None:
            return None
        present = np.asarray(self.present)
        if present.shape != (self.n_samples, len(self)) or present.dtype.kind != "b":
            raise ViewsError(
                f"present: expected True or False for every sample and view, shape ({self.n_samples}, {len(self)}), "
                f"got {present.dtype} of shape {present.shape}."
            )
        _check_any_view(present, self.sample_ids)
        return None if present.all() else present

    @classmethod
    def from_frames(cls, frames: Mapping[str, Any]) -> Views:
        """Join data frames, one per view, on their indexes; a sample may be in some of them only.

        Parameters
        ----------
        frames : mapping of str to data frame
            With the ids of the samples as index, and columns of numbers.

        Returns
        -------
        Views
            With every id that some frame has, in the order of their first appearance. ``present`` says which views
            each sample has; the rows of the others are zero.

        Raises
        ------
        ViewsError
            If an id occurs twice in a frame, or a frame has no ids.

        Examples
        --------
        >>> import pandas as pd
        >>> from manyview import Views
        >>> mrna = pd.DataFrame({"TP53": [1.0, 2.0], "MYC": [0.5, 0.1]}, index=["tumour a", "tumour b"])
        >>> mirna = pd.DataFrame({"mir-21": [3.0, 4.0]}, index=["tumour b", "tumour c"])
        >>> views = Views.from_frames({"mrna": mrna, "mirna": mirna})
        >>> views
        Views(3 samples; mrna: 2, mirna: 1; 33% missing)
        >>> views.present.tolist()
        [[True, False], [True, True], [False, True]]
        """
        arrays, sample_ids, present = join_frames(frames)
        return cls(arrays, tuple(str(name) for name in frames), sample_ids=sample_ids, present=present)

    @property
    def n_samples(self) -> int:
        """Number of rows, the same in every view."""
        return int(self.arrays[0].shape[0])

    @property
    def n_features(self) -> tuple[int, ...]:
        """Number of columns of each view."""
        return tuple(int(a.shape[1]) for a in self.arrays)

    def __len__(self) -> int:
        return len(self.arrays)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.arrays)

    def __getitem__(self, key: int | str) -> Any:
        if isinstance(key, str):
            if key not in self.names:
                raise KeyError(f"no view named {key!r}; there are {', '.join(self.names)}")
            key = self.names.index(key)
        return self.arrays[key]

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}: {d}" for name, d in zip(self.names, self.n_features, strict=True))
        classes = "" if self.labels is None else f"; {len(np.unique(self.labels))} classes"
        missing = "" if self.present is None else f"; {1 - self.present.mean():.0%} missing"
        return f"Views({self.n_samples} samples; {sizes}{classes}{missing})"

    def has_view(self, view: int) -> np.ndarray | None:
        """Which samples have this view; None if all have it."""
        if self.present is None or self.present[:, view].all():
            return None
        return self.present[:, view]

    def take(self, rows: Any) -> Views:
        """Return the samples ``rows`` (indices or a mask) in that order, from every view."""
        pick = lambda values: None if values is None else values[rows]  # noqa: E731
        return replace(
            self,
            arrays=tuple(_take_rows(array, rows) for array in self.arrays),
            sample_ids=pick(self.sample_ids),
            labels=pick(self.labels),
            present=pick(self.present),
        )

    def shuffled(self, random_state: int | np.random.RandomState | None = None) -> Views:
        """Return the same samples in a random order, the only order an honest score is measured in."""
        return self.take(check_random_state(random_state).permutation(self.n_samples))


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

    Returns
    -------
    Views
        With C-ordered ``float64`` arrays; dense ones share memory with the input where nothing had to be changed. Rows
        of views that a sample lacks are zero; ``present`` tells them from others.

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
        views = _split_columns(views, view_sizes, min_samples)
    given = _as_views(views)
    if len(given) < min_views:
        raise ViewsError(
            f"views: expected at least {min_views} views, got {len(given)}. "
            "To use one table as several views, pass view_sizes=."
        )
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
    )


def _check_all(given: Views, zero_views: Sequence[str] = (), **rules: Any) -> Views:
    """Check the values of every view, and find out which rows are there."""
    checked = []
    known = np.ones((given.n_samples, len(given)), dtype=bool)
    for v, (where, array) in enumerate(zip(_places(given.names), given.arrays, strict=True)):
        has_view = given.has_view(v)
        values, has_view = check_values(array, where, present=has_view, **rules)
        if given.names[v] in zero_views:
            values, has_view = check_values(values, where, present=_nonzero_rows(values), **rules)
        checked.append(values)
        known[:, v] = True if has_view is None else has_view
    _check_any_view(known, given.sample_ids, rules.get("first_row", 0))
    return replace(given, arrays=tuple(checked), present=known)


def _known(views: Views) -> np.ndarray:
    return np.ones((views.n_samples, len(views)), dtype=bool) if views.present is None else views.present


def _check_any_view(present: np.ndarray, sample_ids: np.ndarray | None, first_row: int = 0) -> None:
    """Every sample needs a view; ``first_row`` is the number of the first, for the text of the error."""
    without = np.flatnonzero(~present.any(axis=1))
    if without.size:
        known = "" if sample_ids is None else f" ({sample_ids[without[0]]})"
        more = "" if without.size == 1 else f", and {without.size - 1} more,"
        raise ViewsError(
            f"views: the sample in row {first_row + without[0]}{known}{more} has no view at all; nothing is known "
            "about it, so leave it out."
        )


def check_new_views(views: Any, *, view_sizes: int | Sequence[int] | None = None) -> Views:
    """Sort out the containers of samples that are to be looked at block by block; see :func:`check_block`."""
    return _as_views(views if view_sizes is None else _split_columns(views, view_sizes, 1))


def check_block(views: Views, rows: slice) -> Views:
    """Some rows of the views, their values checked; they may be constant."""
    return _check_all(views.take(rows), first_row=rows.start, may_be_constant=True)


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
    for where, name, size in zip(_places(given.names), given.names, given.n_features, strict=True):
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
        return Views(**modality_views(dict(zip(names or _default_names(len(arrays)), arrays, strict=True))))
    given = Views(arrays, names)
    return replace(given, sample_ids=_common_index(given))


def _default_names(n_views: int) -> tuple[str, ...]:
    return tuple(f"view{v}" for v in range(n_views))


def _to_array(view: Any, where: str) -> Any:
    if is_table(view):
        return view
    try:
        return np.asarray(view)
    except ValueError as error:
        raise ViewsError(f"{where}: the rows have different lengths; expected a 2-D array.") from error


def is_table(value: Any) -> bool:
    """Whether the value is one array, sparse matrix or data frame (and not a list of them)."""
    return sp.issparse(value) or isinstance(value, np.ndarray) or (hasattr(value, "iloc") and hasattr(value, "shape"))


def _is_list_of_tables(value: Any) -> bool:
    return isinstance(value, Sequence) and len(value) > 0 and is_table(value[0])


def _common_index(views: Views) -> np.ndarray | None:
    """Sample ids from data frames: all that carry an index of their own must carry the same."""
    ids, first = None, ""
    for where, view in zip(_places(views.names), views.arrays, strict=True):
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


def _split_columns(table: Any, view_sizes: int | Sequence[int], min_samples: int) -> Views:
    """Cut one wide table into views."""
    if not is_table(table) and (isinstance(table, Views | Mapping) or _is_list_of_tables(table) or is_annotated(table)):
        raise ViewsError("view_sizes: only for one 2-D array; these views come separately already.")
    ids = np.asarray(table.index) if is_frame(table) and has_ids(table) else None
    table = table.to_numpy() if is_frame(table) else table
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


def _check_equal_rows(names: Sequence[str], arrays: Sequence[Any]) -> None:
    rows = [array.shape[0] for array in arrays]
    if len(set(rows)) == 1:
        return
    expected = max(set(rows), key=rows.count)
    if rows.count(expected) == 1:  # no majority: the first view sets the number
        expected = rows[0]
    odd = next(i for i, r in enumerate(rows) if r != expected)
    columns = {array.shape[1] for array in arrays}
    hint = (
        f" All views have {columns.pop()} columns: if these are features x samples, transpose them."
        if len(columns) == 1
        else " All views must describe the same samples in the same order."
    )
    if all(is_frame(array) and has_ids(array) for array in arrays):
        hint = " Views.from_frames joins data frames on their indexes."
    others = _places(names)[rows.index(expected)] if len(rows) == 2 else "the other views"
    raise ViewsError(f"{_places(names)[odd]}: expected {expected} rows like {others}, got {rows[odd]}.{hint}")


def _take_rows(array: Any, rows: Any) -> Any:
    if is_frame(array):
        return array.iloc[rows]
    return array.tocsr()[rows] if sp.issparse(array) else array[rows]


def _places(names: Sequence[str]) -> list[str]:
    """How an error calls each view."""
    return [f"views[{name!r}]" for name in names]
