"""One wide table that holds several views side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.utils import check_array

from manyview.exceptions import ViewsError
from manyview.views.container import Views, has_ids, is_annotated, is_frame, is_lazy, is_table


def cut_table(views: Views, view_sizes: int | Sequence[int]) -> Views:
    """Cut the only view of ``views`` into several; ids and labels stay.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview import Views
    >>> from manyview.views.wide import cut_table
    >>> cut_table(Views([np.ones((3, 5))], labels=[0, 0, 1]), [2, 3])
    Views(3 samples; view0: 2, view1: 3; 2 classes)
    """
    if views.n_views > 1:
        raise ViewsError(
            f"view_sizes: only for one table, but there are {views.n_views} views: {', '.join(views.names)}."
        )
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


def _is_list_of_tables(value: Any) -> bool:
    return isinstance(value, Sequence) and len(value) > 0 and is_table(value[0])
