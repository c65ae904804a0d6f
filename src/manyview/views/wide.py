"""Splitting one table into views: by widths, by names of columns, or by a column index of two levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from sklearn.utils import check_array

from manyview.exceptions import ViewsError
from manyview.views.container import Views, column_names, has_ids, is_annotated, is_frame, is_lazy, is_table

ViewSizes: TypeAlias = int | str | Sequence[int] | Mapping[str, Any]
"""How a table is split: see ``view_sizes`` of :func:`manyview.check_views`."""


def cut_table(views: Views, view_sizes: ViewSizes) -> Views:
    """Split the only view of ``views`` into several; ids, labels and metadata are kept.

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
    cut = split_columns(views.arrays[0], view_sizes, feature_names=(views.feature_names or (None,))[0])
    return replace(
        cut, sample_ids=views.sample_ids, labels=views.labels, metadata=views.metadata, reading=views.reading
    )


def split_levels(table: Any) -> Views:
    """Split a data frame into views by the first level of its columns."""
    names = list(dict.fromkeys(table.columns.get_level_values(0)))
    parts = [table[name] for name in names]
    ids = np.asarray(table.index) if has_ids(table) else None
    return Views(tuple(parts), tuple(map(str, names)), sample_ids=ids)


def split_columns(
    table: Any, view_sizes: ViewSizes, min_samples: int = 1, feature_names: Sequence[str] | None = None
) -> Views:
    """Split one table into views; ``feature_names`` are those of its columns, by default a data frame's."""
    if not is_table(table) and (isinstance(table, Views | Mapping) or _is_list_of_tables(table) or is_annotated(table)):
        raise ViewsError("view_sizes: only for one 2-D array; these views are already separate.")
    ids = np.asarray(table.index) if is_frame(table) and has_ids(table) else None
    known = column_names(table) if feature_names is None else tuple(feature_names)
    given, table = table, table.to_numpy() if is_frame(table) else table
    if not is_lazy(table):
        try:
            table = check_array(
                table, accept_sparse="csr", dtype=None, ensure_all_finite=False, ensure_min_samples=min_samples
            )
        except ValueError as error:
            raise ViewsError(f"views: {error}") from error
    groups = _groups(given, known, table.shape[1], view_sizes)
    return Views(
        tuple(table[:, columns] for columns in groups.values()),
        tuple(groups) if isinstance(view_sizes, Mapping | str) else (),
        sample_ids=ids,
        feature_names=None if known is None else tuple(_at(known, columns) for columns in groups.values()),
    )


def _at(names: Sequence[str], columns: slice | list[int]) -> tuple[str, ...]:
    return tuple(names[columns] if isinstance(columns, slice) else [names[c] for c in columns])


def _groups(
    table: Any, known: Sequence[str] | None, n_columns: int, view_sizes: ViewSizes
) -> dict[Any, slice | list[int]]:
    """Return the columns of each view, as a slice or as positions."""
    if isinstance(view_sizes, str):
        view_sizes = _by_prefix(known, view_sizes)
    if isinstance(view_sizes, Mapping):
        chosen = {str(name): _chosen(table, known, n_columns, name, which) for name, which in view_sizes.items()}
        _check_partition(chosen, known, n_columns)
        return dict(chosen)
    edges = _edges(view_sizes, n_columns)
    return {v: slice(start, stop) for v, (start, stop) in enumerate(pairwise(edges))}


def _edges(view_sizes: int | Sequence[int], n_columns: int) -> np.ndarray:
    if isinstance(view_sizes, int | np.integer):
        if not 1 <= view_sizes <= n_columns:
            raise ViewsError(
                f"view_sizes: cannot cut n_features={n_columns} columns into {view_sizes} views; "
                f"expected between 1 and {n_columns}."
            )
        return np.linspace(0, n_columns, int(view_sizes) + 1).round().astype(int)
    sizes = np.asarray(view_sizes)
    if sizes.ndim != 1 or sizes.size == 0 or sizes.dtype.kind not in "iu" or (sizes < 1).any():
        raise ViewsError(f"view_sizes: expected positive integers, one per view, got {view_sizes!r}.")
    if sizes.sum() != n_columns:
        raise ViewsError(
            f"view_sizes: {list(map(int, sizes))} add up to {sizes.sum()} columns, "
            f"but the array has n_features={n_columns}."
        )
    return np.concatenate([[0], np.cumsum(sizes)])


def _by_prefix(known: Sequence[str] | None, separator: str) -> dict[str, list[str]]:
    """Return the columns of each view by the text before the separator in their names."""
    if known is None:
        raise ViewsError(
            f"view_sizes={separator!r}: views are found by the names of columns, but these have none. Pass a data "
            "frame, or the widths of the views."
        )
    groups: dict[str, list[str]] = {}
    for name in known:
        prefix, found, _ = name.partition(separator)
        if not found or not prefix:
            raise ViewsError(
                f"view_sizes={separator!r}: the column {name!r} has no view before a {separator!r} in its name. Rename "
                "or remove it."
            )
        groups.setdefault(prefix, []).append(name)
    return groups


def _chosen(table: Any, known: Sequence[str] | None, n_columns: int, view: str, which: Any) -> list[int]:
    """Return the positions of the columns selected by a pattern, a list, a slice, a mask or a callable."""
    where = f"view_sizes[{view!r}]"
    if callable(which):
        which = which(table)
    if isinstance(which, slice) and all(end is None or isinstance(end, int) for end in (which.start, which.stop)):
        found = list(range(n_columns))[which]
    elif isinstance(which, str):
        if known is None:
            raise ViewsError(f"{where}: the pattern {which!r} needs names of columns, but these have none.")
        found = [c for c, name in enumerate(known) if fnmatchcase(name, which)]
    else:
        items = list(np.asarray(which)) if not isinstance(which, list | tuple) else list(which)
        if items and all(isinstance(item, bool | np.bool_) for item in items):
            if len(items) != n_columns:
                raise ViewsError(f"{where}: expected one True or False per column ({n_columns}), got {len(items)}.")
            found = [c for c, wanted in enumerate(items) if wanted]
        else:
            found = [_position(item, known, n_columns, where) for item in items]
    if not found:
        raise ViewsError(f"{where}: {which!r} selects no column. The columns are {_some(known, n_columns)}.")
    return found


def _position(column: Any, known: Sequence[str] | None, n_columns: int, where: str) -> int:
    if isinstance(column, str):
        if known is None or column not in known:
            raise ViewsError(f"{where}: there is no column {column!r}. The columns are {_some(known, n_columns)}.")
        return list(known).index(column)
    if not -n_columns <= int(column) < n_columns:
        raise ViewsError(f"{where}: there is no column {column}; there are {n_columns}.")
    return int(column) % n_columns


def _check_partition(chosen: Mapping[str, Sequence[int]], known: Sequence[str] | None, n_columns: int) -> None:
    """Refuse columns that belong to no view or to two."""
    names = [str(c) for c in range(n_columns)] if known is None else known
    owner: dict[int, str] = {}
    for view, columns in chosen.items():
        for c in columns:
            if c in owner:
                raise ViewsError(f"view_sizes: the column {names[c]!r} belongs to both {owner[c]!r} and {view!r}.")
            owner[c] = view
    left = [names[c] for c in range(n_columns) if c not in owner]
    if left:
        raise ViewsError(
            f"view_sizes: no view takes the column {left[0]!r}{f', nor {len(left) - 1} more' if left[1:] else ''}. Add "
            "it to a view, or leave it out of the table."
        )


def _some(known: Sequence[str] | None, n_columns: int) -> str:
    names = [f"0 to {n_columns - 1}"] if known is None else list(map(repr, known[:5]))
    return ", ".join(names) + (", ..." if known is not None and len(known) > 5 else "")


def _is_list_of_tables(value: Any) -> bool:
    return isinstance(value, Sequence) and len(value) > 0 and is_table(value[0])
