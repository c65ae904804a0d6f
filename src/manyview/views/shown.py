"""How views show themselves in a notebook: names, sizes, types, missing samples, and the first rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview._utils import html
from manyview._utils.text import shortened
from manyview.views.container import Views, count_classes, is_frame, is_lazy, is_no_class

# A notebook's cell shows a glance, not the data.
_MAX_VIEWS, _MAX_ROWS, _MAX_COLUMNS = 12, 5, 3
_FEW_VIEWS = 4  # of more, fewer columns are shown


def views_as_html(views: Views) -> str:
    """Return a table with a line for each view, and one with the first rows.

    Of Dask arrays nothing is computed, so that their rows are not shown.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview import Views
    >>> from manyview.views.shown import views_as_html
    >>> "3 samples in 1 view" in views_as_html(Views([np.eye(3)]))
    True
    """
    classes = "" if views.labels is None else f"; {count_classes(views.labels)} classes"
    samples = "1 sample" if views.n_samples == 1 else f"{views.n_samples:,} samples"
    count = "1 view" if views.n_views == 1 else f"{views.n_views} views"
    ids = "" if views.sample_ids is None else ", with ids"
    parts = [html.heading(f"{samples} in {count}{ids}{classes}"), _overview(views)]
    some = [v for v, array in enumerate(views.arrays[:_MAX_VIEWS]) if not is_lazy(array)]
    if views.n_samples and some:
        parts.append(_first_rows(views, some))
    if views.metadata is not None:
        parts.append(html.paragraph(f"Metadata: {_listed(list(map(str, views.metadata.columns)), 8)}"))
    if views.reading is not None:
        parts += [html.paragraph(sentence) for sentence in views.reading.sentences]
    return html.block(parts)


def _overview(views: Views) -> html.Raw:
    columns, rows = ["view", "features", "type", "missing samples", "names of features"], []
    for v, (name, array) in enumerate(list(views.items())[:_MAX_VIEWS]):
        present = views.has_view(v)
        missing = 0 if present is None else int((~present).sum())
        features = (views.feature_names or (None,) * views.n_views)[v]
        rows.append([name, int(array.shape[1]), _type_of(array), missing, _listed(list(features or ()), 4)])
    if views.n_views > _MAX_VIEWS:
        rows.append([f"… and {views.n_views - _MAX_VIEWS} more", None, None, None, None])
    if all(row[-1] is None for row in rows):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    return html.table(columns, rows)


def _type_of(array: Any) -> str:
    if is_frame(array):
        types = sorted({str(each) for each in array.dtypes})
        return f"data frame, {_listed(types, 3)}"
    where = "Dask, " if is_lazy(array) else "sparse, " if sp.issparse(array) else ""
    return f"{where}{'on disk, ' if isinstance(array, np.memmap) else ''}{array.dtype}"


def _listed(names: list[str], most: int) -> str | None:
    if not names:
        return None
    return ", ".join(names[:most]) + (f", … ({len(names):,})" if len(names) > most else "")


def _first_rows(views: Views, some: list[int]) -> html.Raw:
    """Return the first samples, with the first features of each view."""
    first = range(min(views.n_samples, _MAX_ROWS))
    columns: list[str] = ["row" if views.sample_ids is None else "sample"]
    rows: list[list[Any]] = [[str(row if views.sample_ids is None else views.sample_ids[row])] for row in first]
    if views.labels is not None:
        columns.append("class")
        for row in first:
            rows[row].append(None if is_no_class(views.labels[row]) else str(views.labels[row]))
    groups, most = [("", len(columns))], _MAX_COLUMNS if len(some) <= _FEW_VIEWS else _MAX_COLUMNS - 1
    for v in some:
        array, width = views.arrays[v], int(views.arrays[v].shape[1])
        kept = min(width, most)
        values, present = _corner(array, len(first), kept), views.has_view(v)
        names = (views.feature_names or (None,) * views.n_views)[v]
        is_cut = width > kept
        columns += [str(j) if names is None else names[j] for j in range(kept)] + ["…"] * is_cut
        groups.append((views.names[v], kept + is_cut))
        for row in first:
            is_missing = present is not None and not present[row]
            rows[row] += [None if is_missing else value for value in values[row]] + [""] * is_cut
    return html.table([shortened(name, 24) for name in columns], rows, groups=groups)


def _corner(array: Any, n_rows: int, n_columns: int) -> list[list[Any]]:
    if is_frame(array):
        return array.iloc[:n_rows, :n_columns].to_numpy(dtype=object).tolist()
    if sp.issparse(array):  # a format that can be cut stays as it is, since to convert it takes time
        array = (array if array.format in ("csr", "csc") else array.tocsr())[:n_rows, :n_columns].toarray()
    return np.asarray(array[:n_rows, :n_columns]).tolist()
