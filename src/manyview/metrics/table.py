"""Contingency table of two labellings, which every score is computed from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp


@dataclass(frozen=True, eq=False)
class Contingency:
    """Number of samples of each class in each cluster.

    Attributes
    ----------
    table : scipy.sparse.csr_array of int64, shape (n_classes, n_clusters)
        Counts; only pairs that occur are stored.
    classes : ndarray of shape (n_classes,)
        Names of the rows: the distinct values of ``y_true``.
    clusters : ndarray of shape (n_clusters,)
        Names of the columns: the distinct values of ``y_pred``.
    class_codes, cluster_codes : ndarray of int, shape (n_samples,)
        Row and column of each sample.
    """

    table: sp.csr_array
    classes: np.ndarray
    clusters: np.ndarray
    class_codes: np.ndarray
    cluster_codes: np.ndarray

    @property
    def n_samples(self) -> int:
        """Number of samples counted."""
        return len(self.class_codes)

    @property
    def class_sizes(self) -> np.ndarray:
        """Number of samples in each class."""
        return np.bincount(self.class_codes, minlength=len(self.classes))

    @property
    def cluster_sizes(self) -> np.ndarray:
        """Number of samples in each cluster."""
        return np.bincount(self.cluster_codes, minlength=len(self.clusters))


def contingency(y_true: Any, y_pred: Any) -> Contingency:
    """Count the samples of each class in each cluster.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Classes and clusters; any hashable values (numbers, strings, a mixture). The two may have different types and
        different numbers of values. Missing values (NaN, ``None``) are an error.

    Returns
    -------
    Contingency
        With a sparse table, classes in rows and clusters in columns, sorted if the values can be sorted, else in order
        of appearance.

    Raises
    ------
    ValueError
        For labels that are not 1-D, empty, missing or of different lengths; the text names the argument.

    Examples
    --------
    >>> from manyview.metrics import contingency
    >>> counts = contingency(["cat", "cat", "dog", "dog"], [1, 1, 1, 0])
    >>> counts.table.toarray()
    array([[0, 2],
           [1, 1]])
    >>> counts.classes.tolist(), counts.clusters.tolist()
    (['cat', 'dog'], [0, 1])
    """
    true, pred = _as_labels(y_true, "y_true"), _as_labels(y_pred, "y_pred")
    if len(true) != len(pred):
        raise ValueError(
            f"y_pred: expected one label per sample like y_true ({len(true)}), got {len(pred)}. "
            "Both must describe the same samples in the same order."
        )
    classes, rows = _encode(true, "y_true")
    clusters, columns = _encode(pred, "y_pred")
    ones = np.ones(len(rows), dtype=np.int64)
    table = sp.coo_array((ones, (rows, columns)), shape=(len(classes), len(clusters))).tocsr()
    return Contingency(table, classes, clusters, rows, columns)


def _as_labels(labels: Any, name: str) -> np.ndarray:
    """Return a 1-D array of labels; raise an error if labels are missing."""
    if isinstance(labels, list | tuple) and _is_mixture(labels):
        # numpy would turn [1, "1"] into two equal strings and so merge two different labels
        array = np.empty(len(labels), dtype=object)
        array[:] = labels
    else:
        try:
            array = np.asarray(labels)
        except ValueError as error:
            raise ValueError(f"{name}: expected a 1-D array of labels, got rows of different lengths.") from error
    if array.ndim != 1:
        hint = " Use .ravel() on a column." if array.ndim == 2 and 1 in array.shape else ""
        raise ValueError(f"{name}: expected a 1-D array of labels, got shape {array.shape}.{hint}")
    if len(array) == 0:
        raise ValueError(f"{name}: expected at least one label, got none.")
    missing = _missing(array)
    if missing.any():
        raise ValueError(
            f"{name}: {int(missing.sum())} label(s) missing (NaN or None), first at position "
            f"{int(missing.argmax())}. Leave these samples out of both arguments."
        )
    return array


def _is_mixture(labels: list[Any] | tuple[Any, ...]) -> bool:
    kinds = {type(label) for label in labels}
    numbers = (bool, int, float, np.number, np.bool_)
    nested = (list, tuple, np.ndarray)
    return (
        len(kinds) > 1
        and not all(issubclass(kind, numbers) for kind in kinds)
        and not any(issubclass(kind, nested) for kind in kinds)
    )


def _missing(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind in "fc":
        return np.isnan(array)
    if array.dtype.kind in "mM":
        return np.isnat(array)
    if array.dtype.kind == "O":
        return np.fromiter((_is_missing(label) for label in array), dtype=bool, count=len(array))
    return np.zeros(len(array), dtype=bool)


def _is_missing(label: Any) -> bool:
    # NaN and NaT differ from themselves; comparing pandas' NA raises an error
    try:
        return label is None or bool(label != label)
    except (TypeError, ValueError):
        return type(label).__name__ == "NAType"


def _encode(labels: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct labels, and the index of each label among them."""
    if labels.dtype.kind != "O":
        values, codes = np.unique(labels, return_inverse=True)
        return values, codes
    seen: dict[Any, int] = {}
    try:
        codes = np.fromiter((seen.setdefault(label, len(seen)) for label in labels), dtype=np.intp, count=len(labels))
    except TypeError as error:
        raise ValueError(f"{name}: expected hashable labels such as numbers or strings. {error}") from error
    values = np.empty(len(seen), dtype=object)
    values[:] = list(seen)
    try:
        order = np.array(sorted(range(len(values)), key=values.__getitem__), dtype=np.intp)
    except TypeError:  # a mixture without an order
        return values, codes
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return values[order], rank[codes]


def known_codes(labels: Any) -> np.ndarray | None:
    """Return classes as numbers in the order of their names, -1 for samples without one; None if there are none.

    Examples
    --------
    >>> from manyview.metrics.table import known_codes
    >>> known_codes(["ox", None, "cat"])
    array([ 1, -1,  0])
    """
    if labels is None:
        return None
    array = np.asarray(labels)
    known = ~_missing(array)
    if not known.any():
        return None
    codes = np.full(len(array), -1)
    codes[known] = _encode(array[known], "labels")[1]
    return codes


def in_blocks(labels: np.ndarray) -> bool:
    """Return whether every class is one block of rows, as in a file sorted by class, in any order of the classes.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.metrics.table import in_blocks
    >>> in_blocks(np.array([1, 1, 0, 2, 2])), in_blocks(np.array([1, 0, 1]))
    (True, False)
    """
    return int(np.count_nonzero(labels[1:] != labels[:-1])) == len(np.unique(labels)) - 1
