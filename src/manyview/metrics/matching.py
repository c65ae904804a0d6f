"""The best one-to-one matching between clusters and classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from manyview.metrics.table import Contingency, contingency


def best_matching(counts: Contingency) -> tuple[np.ndarray, np.ndarray]:
    """Pair classes with clusters so that the pairs hold as many samples as possible.

    Solves ``max over one-to-one maps of the sum of table[class, cluster]``. The table stays sparse: where the
    dense Hungarian method would need n_classes x n_clusters numbers, this needs one per pair that occurs.

    Parameters
    ----------
    counts : Contingency
        The counts, classes in rows.

    Returns
    -------
    rows, columns : ndarray of int
        Class ``rows[i]`` goes with cluster ``columns[i]``. Only pairs that share a sample are listed, so both
        may be shorter than the number of classes and of clusters.
    """
    wide = counts.table.shape[0] <= counts.table.shape[1]
    table = (counts.table if wide else counts.table.T).tocoo()
    n_rows, n_columns = table.shape
    # The sparse solver requires a match of every row among stored non-zeros. A spare column of weight 1 for each row
    # makes that possible, and adding 1 to every count keeps the optimum, as each row adds exactly 1.
    spare = np.arange(n_rows)
    weights = np.concatenate([table.data + 1.0, np.ones(n_rows)])
    indices = (np.concatenate([table.row, spare]), np.concatenate([table.col, n_columns + spare]))
    graph = sp.coo_array((weights, indices), shape=(n_rows, n_columns + n_rows)).tocsr()
    rows, columns = min_weight_full_bipartite_matching(graph, maximize=True)
    real = columns < n_columns
    rows, columns = rows[real], columns[real]
    return (rows, columns) if wide else (columns, rows)


def match_labels(y_true: Any, y_pred: Any) -> np.ndarray:
    """Give every cluster the name of the class that it matches best, one to one.

    For plots and tables, in which the numbers of clusters are arbitrary. The partition stays the same, so no score
    changes.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Classes and clusters.

    Returns
    -------
    ndarray of shape (n_samples,)
        ``y_pred`` with the names of ``y_true``. Clusters without a class (because there are more clusters than classes,
        or the remaining class shares no sample with them) get new names, largest cluster first: the integers after the
        largest class if classes are numbers (below 2^53), else ``"unmatched 1"``, ``"unmatched 2"``, ...

    Examples
    --------
    >>> from manyview.metrics import match_labels
    >>> match_labels([0, 0, 1, 1, 2, 2], [2, 2, 0, 0, 1, 1]).tolist()
    [0, 0, 1, 1, 2, 2]
    >>> match_labels(["a", "a", "a", "b"], [7, 7, 8, 9]).tolist()
    ['a', 'a', 'unmatched 1', 'b']
    """
    counts = contingency(y_true, y_pred)
    rows, columns = best_matching(counts)
    n_left = len(counts.clusters) - len(columns)
    left = np.setdiff1d(np.arange(len(counts.clusters)), columns)
    left = left[np.argsort(-counts.cluster_sizes[left], kind="stable")]
    names = np.concatenate([counts.classes, _new_names(counts.classes, n_left)]) if n_left else counts.classes
    name_of = np.empty(len(counts.clusters), dtype=np.intp)
    name_of[columns] = rows
    name_of[left] = len(counts.classes) + np.arange(n_left)
    return names[name_of[counts.cluster_codes]]


def _new_names(classes: np.ndarray, n_names: int) -> np.ndarray:
    """Return names that no class has; numbers if the classes are numbers."""
    if classes.dtype.kind in "biuf" and abs(largest := float(classes.max())) < 2**53:
        start = int(np.floor(largest)) + 1
        return np.arange(start, start + n_names, dtype=np.result_type(classes, np.min_scalar_type(start + n_names)))
    taken, names, number = set(classes.tolist()), list[str](), 0
    while len(names) < n_names:
        number += 1
        if (name := f"unmatched {number}") not in taken:
            names.append(name)
    # Strings beside strings; else objects, as numpy would convert dates or bytes to strings, or fail.
    return np.array(names, dtype=str if classes.dtype.kind == "U" else object)
