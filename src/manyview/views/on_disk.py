"""Some samples of views that are too large to load: which ones, and their values in memory."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from manyview.views.checks import check_views
from manyview.views.container import Views, is_lazy

MOST_LOADED = 20_000
"""Samples of views on disk that reports, descriptions and audits load, about."""
_LEAST_OF_CLUSTER = 100


def is_on_disk(views: Views) -> bool:
    """Return whether a view is a Dask array or a memory-mapped file."""
    return any(is_lazy(array) or isinstance(array, np.memmap) for array in views.arrays)


def draw_samples(labels: np.ndarray, random_state: int = 0, also: Iterable[int] | None = None) -> np.ndarray:
    """Draw about 20,000 rows at random, in ascending order, and 100 of each cluster where there are as many.

    Parameters
    ----------
    labels : ndarray of int
        Clusters, of all samples.
    random_state : int, default=0
        Random seed.
    also : iterable of int, optional
        Rows that are needed in any case.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.views.on_disk import draw_samples
    >>> labels = np.zeros(100_000, dtype=int)
    >>> labels[:30] = 1
    >>> rows = draw_samples(labels)
    >>> len(rows) >= 20_000, np.bincount(labels[rows])[1]
    (True, np.int64(30))
    """
    if len(labels) <= MOST_LOADED:
        return np.arange(len(labels))
    order = np.random.default_rng(random_state).permutation(len(labels))
    parts = [order[:MOST_LOADED], np.asarray(list(() if also is None else also), dtype=np.int64)]
    drawn = np.bincount(labels[parts[0]][labels[parts[0]] >= 0], minlength=int(labels.max()) + 1)
    for cluster in np.flatnonzero(drawn < _LEAST_OF_CLUSTER):
        parts.append(order[labels[order] == cluster][:_LEAST_OF_CLUSTER])
    return np.unique(np.concatenate(parts))


def load_samples(views: Views, rows: np.ndarray) -> Views:
    """Return these samples in memory; those without ids get their row numbers as ids.

    Parameters
    ----------
    views : Views
        With Dask arrays or memory-mapped files, of which no more than the blocks with these rows are read.
    rows : ndarray of int
        In ascending order.
    """
    ids = rows if views.sample_ids is None else views.sample_ids[rows]
    some = replace(views, sample_ids=None).take(rows)
    lazy = [array for array in some.arrays if is_lazy(array)]
    arrays = [np.array(array) if isinstance(array, np.memmap) else array for array in some.arrays]
    if lazy:
        import dask  # there are Dask arrays, so it is installed

        loaded = iter(dask.compute(*lazy))
        arrays = [next(loaded) if is_lazy(array) else array for array in arrays]
    return replace(some, arrays=tuple(arrays), sample_ids=ids)


def what_was_drawn(n_drawn: int, n_samples: int) -> str:
    """Return the sentence that says so."""
    return f"The views are on disk: {n_drawn:,} of the {n_samples:,} samples were drawn at random and loaded."


def load_results(model: Any, rows: np.ndarray | None = None) -> Any:
    """Return a copy of a fitted model with results of samples in memory: clusters and confidence, or all of some rows.

    Anchors are then counted among these rows, of which they must be a part.
    """
    same = copy(model)
    names = {"labels_", "confidence_"}
    if rows is not None:
        names |= {"embedding_", "consensus_graph_"} | {
            name for name, axes in model._sample_axes.items() if axes == (0,)
        }
    for name in names & vars(model).keys():
        value = getattr(model, name)
        value = value if rows is None or value is None else value[rows]
        setattr(same, name, value.compute() if is_lazy(value) else value)
    anchors = getattr(model, "anchor_indices_", None)
    if rows is not None and anchors is not None:
        same.anchor_indices_ = np.searchsorted(rows, anchors)
    return same


def load_to_show(model: Any, views: Views, random_state: int = 0) -> tuple[Any, Any, Views]:
    """Return a fitted model with its clusters in memory, and model and views with the samples that are shown.

    Views in memory are returned as they are; of views on disk about 20,000 samples are loaded.
    """
    if not is_on_disk(views):
        return model, model, views
    whole = load_results(model)
    rows = draw_samples(np.asarray(whole.labels_), random_state, getattr(model, "anchor_indices_", None))
    shown = load_samples(views, rows)
    return whole, load_results(model, rows), check_views(shown, keep_float32=True)
