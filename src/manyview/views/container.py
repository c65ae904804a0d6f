"""The container of views with their names, and tests for the kinds of tables that it accepts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from manyview._utils.text import one_line, shortened
from manyview.exceptions import ViewsError


@dataclass(frozen=True)
class Reading:
    """How the files of the views were read.

    Parameters
    ----------
    matched_by : str, optional
        How rows of several files were matched: "id `patient`" or "position". None: there was one file.
    transposed : tuple of str
        The files that had features in rows.
    without_metadata : int
        How many samples have no row in the files of metadata.
    id_columns : tuple of str
        The columns that held the ids of the samples.
    notes : tuple of str
        What else was skipped, left out, changed or filled in.
    filled : dict of str to int
        Number of missing cells that were filled in, by view; views without any are left out.
    sources : tuple of str
        The file of each view, or one file with all of them.

    Examples
    --------
    >>> from manyview.views import Reading
    >>> Reading("id `mouse`", ("rna.tsv",)).sentences
    ('features were in rows: transposed rna.tsv', 'matched by id `mouse`')
    """

    matched_by: str | None = None
    transposed: tuple[str, ...] = ()
    without_metadata: int = 0
    id_columns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    filled: Mapping[str, int] = field(default_factory=dict)
    sources: tuple[str, ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """The facts as sentences."""
        turned = f"features were in rows: transposed {', '.join(self.transposed)}" if self.transposed else ""
        matched = "" if self.matched_by is None else f"matched by {self.matched_by}"
        samples = "1 sample has" if self.without_metadata == 1 else f"{self.without_metadata:,} samples have"
        missing = f"{samples} no row in the metadata" if self.without_metadata else ""
        return tuple(text for text in (turned, matched, missing, *self.notes) if text)

    def source(self, view: int) -> str | None:
        """Return the file of a view."""
        return None if not self.sources else self.sources[view if len(self.sources) > 1 else 0]


@dataclass(frozen=True, eq=False)
class Views:
    """Named views of the same samples, with sample ids and class labels where they are known.

    Parameters
    ----------
    arrays : sequence of array-like or sparse, each of shape (n_samples, n_features_v)
        The views. Arrays on disk (``np.memmap``) and Dask arrays are not loaded. Dask data frames become Dask arrays of
        their partitions, whose lengths are computed once; their indexes are not looked at.
    names : sequence of str, optional
        One name per view, all different. Default: ``"view0"``, ``"view1"``, ...
    sample_ids : array-like of shape (n_samples,), optional
        Id of each row.
    labels : array-like of shape (n_samples,), optional
        Known classes, for scoring; never used by estimators. None or NaN for samples without one.
    present : array-like of bool, shape (n_samples, n_views), optional
        Which views each sample has; at least one. The values of missing rows are ignored. None if every sample has
        every view.
    feature_names : sequence of (sequence of str, or None), optional
        Names of the columns of each view. Default: the column names of data frames, None for other views.
    metadata : DataFrame of n_samples rows, optional
        Further facts about the samples, such as clinical data; never used by estimators.
    reading : Reading, optional
        How rows were matched, if the views come from files.

    Notes
    -----
    To scikit-learn, views are a table of samples: ``len(views)`` is the number of samples, and ``views[rows]``, with a
    slice, a mask or integers, has these samples of every view. ``views["texture"]`` is one view; ``views.arrays``,
    ``views.names`` and ``views.items()`` are all of them.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview import Views
    >>> views = Views([np.ones((3, 2)), np.zeros((3, 4))], names=["colour", "texture"])
    >>> views
    Views(3 samples; colour: 2, texture: 4)
    >>> views["texture"].shape
    (3, 4)
    >>> len(views), views[:2]
    (3, Views(2 samples; colour: 2, texture: 4))
    """

    arrays: tuple[Any, ...]
    names: tuple[str, ...] = ()
    sample_ids: np.ndarray | None = None
    labels: np.ndarray | None = None
    present: np.ndarray | None = None
    feature_names: tuple[tuple[str, ...] | None, ...] | None = None
    metadata: Any = None
    reading: Reading | None = None

    def __post_init__(self) -> None:
        n_views = len(self.arrays)
        if n_views == 0:
            raise ViewsError("views: expected at least one view, got none.")
        names = tuple(str(name) for name in self.names) or default_names(n_views)
        if len(names) != n_views:
            raise ViewsError(f"names: expected one per view ({n_views}), got {len(names)}: {list(names)}.")
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ViewsError(f"names: view names must be unique, got {repeated[0]!r} more than once.")
        if self.feature_names is None and any(map(is_lazy_frame, self.arrays)):
            object.__setattr__(self, "feature_names", tuple(map(column_names, self.arrays)))
        arrays = tuple(_to_array(array, where) for array, where in zip(self.arrays, places(names), strict=True))
        for where, array in zip(places(names), arrays, strict=True):
            if array.ndim != 2:
                raise ViewsError(f"{where}: expected a 2-D array (samples x features), got {array.ndim}-D.")
        _check_equal_rows(names, arrays)
        object.__setattr__(self, "arrays", arrays)
        object.__setattr__(self, "names", names)
        for name in ("sample_ids", "labels"):
            value = getattr(self, name)
            if value is not None:
                value = np.asarray(value)
                if value.shape != (self.n_samples,):
                    raise ViewsError(
                        f"{name}: expected one value per sample, shape ({self.n_samples},), got {value.shape}."
                    )
                object.__setattr__(self, name, value)
        object.__setattr__(self, "present", self._check_present())
        object.__setattr__(self, "feature_names", self._check_feature_names())
        if self.metadata is not None and len(self.metadata) != self.n_samples:
            raise ViewsError(f"metadata: expected one row per sample ({self.n_samples}), got {len(self.metadata)}.")

    def _check_present(self) -> np.ndarray | None:
        if self.present is None:
            return None
        present = np.asarray(self.present)
        if present.shape != (self.n_samples, self.n_views) or present.dtype.kind != "b":
            raise ViewsError(
                f"present: expected True or False for every sample and view, shape ({self.n_samples}, "
                f"{self.n_views}), got {present.dtype} of shape {present.shape}."
            )
        check_any_view(present, self.sample_ids)
        return None if present.all() else present

    def _check_feature_names(self) -> tuple[tuple[str, ...] | None, ...]:
        if self.feature_names is None:
            return tuple(column_names(array) for array in self.arrays)
        if len(self.feature_names) != self.n_views:
            raise ViewsError(
                f"feature_names: expected one list per view ({self.n_views}), got {len(self.feature_names)}."
            )
        names = tuple(None if own is None else tuple(map(str, own)) for own in self.feature_names)
        for where, own, width in zip(places(self.names), names, self.n_features, strict=True):
            if own is not None and len(own) != width:
                raise ViewsError(f"feature_names of {where}: expected one per column ({width}), got {len(own)}.")
        return names

    @classmethod
    def from_frames(cls, frames: Mapping[str, Any], *, labels: Any = None, metadata: Any = None) -> Views:
        """Join data frames, one per view, on their indexes; a sample may be missing from some.

        Parameters
        ----------
        frames : mapping of str to data frame
            With the ids of the samples as index, and columns of numbers.
        labels : Series, mapping of id to class, or str, optional
            Known classes by the ids of the samples, or the name of a column of ``metadata``. Samples without one have
            the label None; those of other samples are left out.
        metadata : data frame, optional
            Further facts about the samples, with their ids as index; likewise.

        Returns
        -------
        Views
            With the ids of all frames, in the order of their first appearance. ``present`` says which views each sample
            has; rows of missing views are zero.

        Raises
        ------
        ViewsError
            If an id occurs twice in a frame, a frame has no ids, or labels or metadata are of other samples.

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
        >>> kinds = {"tumour c": "basal", "tumour a": "luminal"}
        >>> Views.from_frames({"mrna": mrna, "mirna": mirna}, labels=kinds).labels
        array(['luminal', None, 'basal'], dtype=object)
        """
        # These build on this module.
        from manyview.views.joins import annotations_of, join_frames
        from manyview.views.suspects import check_frames

        arrays, sample_ids, present = join_frames(frames)
        check_frames([str(name) for name in frames], frames.values())
        classes, facts = annotations_of(sample_ids, labels, metadata)
        names, features = tuple(str(name) for name in frames), tuple(map(column_names, frames.values()))
        return cls(
            arrays,
            names,
            sample_ids=sample_ids,
            labels=classes,
            present=present,
            feature_names=features,
            metadata=facts,
        )

    @property
    def n_samples(self) -> int:
        """Number of rows, the same in every view."""
        return int(self.arrays[0].shape[0])

    @property
    def n_views(self) -> int:
        """Number of views."""
        return len(self.arrays)

    @property
    def n_features(self) -> tuple[int, ...]:
        """Number of columns of each view."""
        return tuple(int(a.shape[1]) for a in self.arrays)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of samples, and of the columns of all views together."""
        return self.n_samples, sum(self.n_features)

    def items(self) -> Iterator[tuple[str, Any]]:
        """Iterate over names and views."""
        return zip(self.names, self.arrays, strict=True)

    def __len__(self) -> int:
        return self.n_samples

    def __sizeof__(self) -> int:
        """Return the bytes including those of the arrays, which Dask workers use to decide what to spill."""
        sizes = (array.data.nbytes if sp.issparse(array) else getattr(array, "nbytes", 0) for array in self.arrays)
        return object.__sizeof__(self) + int(sum(sizes))

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(
            "Views are a table of samples and cannot be iterated over. For the views: views.arrays, views.items(); for "
            "samples: views[rows]."
        )

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            if key not in self.names:
                raise KeyError(one_line(f"no view named {key!r}; there are {', '.join(self.names)}"))
            return self.arrays[self.names.index(key)]
        if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:  # how scikit-learn selects rows
            key = key[0]
        if isinstance(key, int | np.integer):
            raise TypeError(
                f"views[{key}] could be a view or a sample. For the view: views.arrays[{key}] or by name; for the "
                f"sample: views[[{key}]]."
            )
        if isinstance(key, tuple):
            raise TypeError("Views are indexed by samples (a slice, a mask or integers) or by the name of a view.")
        return self.take(key if isinstance(key, slice) else np.asarray(key, dtype=None if len(key) else np.intp))

    def __repr__(self) -> str:
        sizes = ", ".join(f"{shortened(name)}: {d}" for name, d in zip(self.names, self.n_features, strict=True))
        classes = "" if self.labels is None else f"; {count_classes(self.labels)} classes"
        missing = "" if self.present is None else f"; {1 - self.present.mean():.0%} missing"
        return f"Views({self.n_samples} samples; {sizes}{classes}{missing})"

    def _repr_html_(self) -> str:
        from manyview.views.shown import views_as_html  # which builds on this module

        return views_as_html(self)

    def has_view(self, view: int) -> np.ndarray | None:
        """Return which samples have this view; None if all do."""
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
            metadata=None if self.metadata is None else self.metadata.iloc[rows],
        )

    def shuffled(self, random_state: int | np.random.RandomState | None = None) -> Views:
        """Return the samples in a random order, as needed for scores of methods that depend on the order."""
        return self.take(check_random_state(random_state).permutation(self.n_samples))


def count_classes(labels: np.ndarray) -> int:
    """Return the number of different labels, without missing ones (NaN, None)."""
    if labels.dtype.kind == "O":
        return len({label for label in labels.tolist() if not is_no_class(label)})
    return len(np.unique(labels[~np.isnan(labels)] if labels.dtype.kind == "f" else labels))


def is_no_class(label: Any) -> bool:
    """Return whether a label says that the class is not known."""
    # NaN differs from itself; comparing pandas' NA gives NA.
    return label is None or type(label).__name__ == "NAType" or bool(label != label)


def check_any_view(present: np.ndarray, sample_ids: np.ndarray | None, first_row: int = 0) -> None:
    """Refuse samples without any view; ``first_row`` is the index of the first row, for the error."""
    without = np.flatnonzero(~present.any(axis=1))
    if without.size:
        known = "" if sample_ids is None else f" ({sample_ids[without[0]]})"
        more = "" if without.size == 1 else f", and {without.size - 1} more,"
        raise ViewsError(
            f"views: the sample in row {first_row + without[0]}{known}{more} has no view at all; remove it."
        )


def default_names(n_views: int) -> tuple[str, ...]:
    """Return the default names of views."""
    return tuple(f"view{v}" for v in range(n_views))


def _to_array(view: Any, where: str) -> Any:
    if is_lazy_frame(view):
        dtype = np.result_type(*(getattr(kind, "numpy_dtype", kind) for kind in _numeric_types(view, where)))
        return view.astype(dtype).to_dask_array(lengths=True)
    if is_lazy(view) and np.isnan(view.shape).any():
        raise ViewsError(
            f"{where}: the sizes of this Dask array's chunks are not known. Call compute_chunk_sizes() on it first."
        )
    if is_table(view):
        return view
    try:
        return np.asarray(view)
    except ValueError as error:
        raise ViewsError(f"{where}: the rows have different lengths; expected a 2-D array.") from error


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
    others = places(names)[rows.index(expected)] if len(rows) == 2 else "the other views"
    raise ViewsError(f"{places(names)[odd]}: expected {expected} rows like {others}, got {rows[odd]}.{hint}")


def _take_rows(array: Any, rows: Any) -> Any:
    if is_frame(array):
        return array.iloc[rows]
    return array.tocsr()[rows] if sp.issparse(array) else array[rows]


def places(names: Sequence[str]) -> list[str]:
    """Return the name of each view in errors."""
    return [f"views[{name!r}]" for name in names]


def column_names(table: Any) -> tuple[str, ...] | None:
    """Return the names of a data frame's columns, if they are text."""
    if not is_frame(table) or not all(isinstance(name, str) for name in table.columns):
        return None
    return tuple(table.columns)


def is_frame(value: Any) -> bool:
    """Return whether the value is a data frame, without importing pandas."""
    return hasattr(value, "iloc") and hasattr(value, "dtypes")


def has_levels(table: Any) -> bool:
    """Return whether the value is a data frame whose columns have two levels: view and feature."""
    return is_frame(table) and getattr(table.columns, "nlevels", 1) == 2


def is_lazy(value: Any) -> bool:
    """Return whether the value is a Dask array, without importing Dask."""
    return all(hasattr(value, name) for name in ("dask", "chunks", "shape"))


def chunks_of(views: Views) -> tuple[int, ...] | None:
    """Return the rows of the chunks of the first view that is a Dask array; None if none is."""
    return next((array.chunks[0] for array in views.arrays if is_lazy(array)), None)


def is_lazy_frame(value: Any) -> bool:
    """Return whether the value is a Dask data frame, without importing Dask."""
    return is_frame(value) and all(hasattr(value, name) for name in ("dask", "divisions", "to_dask_array"))


def has_ids(frame: Any) -> bool:
    """Return whether the index of a data frame holds ids rather than row numbers."""
    return type(frame.index).__name__ != "RangeIndex"


def frame_values(frame: Any, where: str) -> np.ndarray:
    """Return the numbers of a data frame, missing values as NaN."""
    _numeric_types(frame, where)
    return frame.to_numpy(dtype=np.float64, na_value=np.nan)


def _numeric_types(frame: Any, where: str) -> list[Any]:
    """Return the types of the columns, after checking that all hold numbers."""
    bad = [str(c) for c, t in frame.dtypes.items() if getattr(t, "kind", "O") not in "biuf"]
    if bad:
        raise ViewsError(
            f"{where}: expected numeric columns, but {', '.join(map(repr, bad[:3]))} hold(s) other values."
        )
    return list(frame.dtypes)


def is_annotated(value: Any) -> bool:
    """Return whether the value is a MuData or an AnnData object."""
    return hasattr(value, "obs_names") and hasattr(value, "obsm")


def is_table(value: Any) -> bool:
    """Return whether the value is one array, sparse matrix, data frame or Dask array, and not a list of them."""
    is_array = sp.issparse(value) or isinstance(value, np.ndarray) or is_lazy(value)
    return is_array or (hasattr(value, "iloc") and hasattr(value, "shape"))
