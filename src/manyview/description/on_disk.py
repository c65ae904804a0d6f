"""Descriptions of clusters of views on disk: of samples that are drawn, with the sizes of the whole clusters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from manyview.views import Views, check_views
from manyview.views.on_disk import draw_samples, load_results, load_samples, what_was_drawn

if TYPE_CHECKING:
    from manyview.description._description import Description


def describe_drawn(
    describe: Callable[..., Description], views: Views, labels: Any, per_sample: dict[str, Any], **options: Any
) -> Description:
    """Describe the clusters by a draw of samples, which are named by their rows among all.

    Parameters
    ----------
    describe : callable
        What :func:`manyview.describe` does with views in memory.
    views : Views
        On disk.
    labels : estimator or array-like
        As for ``describe``.
    per_sample : dict
        Further arguments with an entry per sample, or the name of a column, or None.
    **options : dict
        Others.
    """
    from manyview.description._description import cluster_codes

    is_model = hasattr(labels, "labels_")
    whole = load_results(labels) if is_model else None
    every = labels if whole is None else whole.labels_
    codes, _ = cluster_codes(every, views.n_samples)
    rows = draw_samples(codes, options["random_state"], getattr(labels, "anchor_indices_", None))
    some = check_views(load_samples(views, rows), keep_float32=True)
    taken = {name: _taken(value, rows) for name, value in per_sample.items()}
    found = describe(some, load_results(labels, rows) if is_model else _taken(every, rows), **taken, **options)
    found = count_all(found, codes, getattr(whole, "confidence_", None))
    typical = found.typical.assign(row=rows[found.typical["row"].to_numpy()])
    pictures = {int(rows[row]): picture for row, picture in found.pictures.items()}
    return replace(found, rows=rows[found.rows], typical=typical, pictures=pictures)


def _taken(values: Any, rows: np.ndarray) -> Any:
    if values is None or isinstance(values, str):
        return values
    return values.iloc[rows] if hasattr(values, "iloc") else [values[row] for row in rows.tolist()]


def count_all(description: Description, codes: np.ndarray, confidence: np.ndarray | None) -> Description:
    """Return a description with the size and the confidence of the clusters of all samples, if it is of some only."""
    from manyview.description._description import cluster_table

    known = np.flatnonzero(codes >= 0)
    if len(description.labels) == len(known):
        return description
    shares = None if confidence is None else np.asarray(confidence, dtype=float)[known]
    return replace(
        description,
        clusters=cluster_table(codes[known], description.names, shares),
        notes=[what_was_drawn(len(description.labels), len(codes)), *description.notes],
    )
