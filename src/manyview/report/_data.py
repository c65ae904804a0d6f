"""What every report says about the data and the method, as plain values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from manyview._utils.text import plain
from manyview.metrics.table import in_blocks, known_codes
from manyview.views import Views
from manyview.views.fingerprint import fingerprint


def describe_data(
    views: Views, files: Iterable[object] = (), reading: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return what was read: files, checksum, sizes, and what is known of the classes.

    Parameters
    ----------
    views : Views
        As they were read.
    files : iterable, default=()
        Paths, as the user gave them.
    reading : dict, optional
        How they were read: arguments of :func:`manyview.read_views`, and ``view_sizes``; or ``python``, an expression.

    Returns
    -------
    dict
        Plain values, ready for ``json.dumps``.

    Examples
    --------
    >>> from manyview.datasets import make_multiview
    >>> from manyview.report._data import describe_data
    >>> found = describe_data(make_multiview(20, 2, random_state=0), ["a.npz"])
    >>> found["n_samples"], found["n_classes"], found["views"][0]
    (20, 2, {'name': 'view0', 'n_features': 10, 'n_present': 20})
    """
    classes = class_codes(views)
    known = None if classes is None else classes[classes >= 0]
    present = [views.n_samples] * views.n_views if views.present is None else views.present.sum(axis=0).tolist()
    return {
        "files": [str(file) for file in files],
        "reading": plain(reading or {}),
        "sha256": fingerprint(views, classes),
        "n_samples": views.n_samples,
        "views": [
            {"name": name, "n_features": width, "n_present": count}
            for name, width, count in zip(views.names, views.n_features, present, strict=True)
        ],
        "has_ids": views.sample_ids is not None,
        "matched_by": None if views.reading is None else views.reading.matched_by,
        "transposed": [] if views.reading is None else list(views.reading.transposed),
        "n_classes": None if known is None else len(np.unique(known)),
        "n_labelled": None if known is None else len(known),
        "sorted_by_class": None if known is None else in_blocks(known),
    }


def class_codes(views: Views) -> np.ndarray | None:
    """Known classes as numbers in the order of their names, -1 for samples without; None if there are none at all."""
    return known_codes(views.labels)


def row_order(data: Mapping[str, Any]) -> str:
    """How the rows are ordered, as far as it is known from what :func:`describe_data` says."""
    return "rows as given, sorted by class" if data["sorted_by_class"] else "rows as given"


def scored_samples(data: Mapping[str, Any]) -> str:
    """Say on how many samples scores are computed, if that is not all.

    Examples
    --------
    >>> scored_samples({"n_samples": 100, "n_labelled": 98}), scored_samples({"n_samples": 100, "n_labelled": 100})
    ('scores on 98 of 100 samples that have a label', '')
    """
    labelled, samples = data["n_labelled"], data["n_samples"]
    if labelled is None or labelled == samples:
        return ""
    return f"scores on {labelled:,} of {samples:,} samples that have a label"


def not_settled(result: Mapping[str, Any]) -> str:
    """Say that the labels of a fit had not settled, and what to do; nothing if they had.

    Examples
    --------
    >>> not_settled({"converged": True, "parameters": {}})
    ''
    >>> print(not_settled({"converged": False, "parameters": {"n_members": 48}}))
    The last graphs still changed the labels, so the data may have no clear clusters of this number. Try another number
    of clusters, or more graphs: n_members=96 (--set n_members=96).
    """
    if result["converged"] is not False:
        return ""
    more = 2 * result["parameters"].get("n_members", 48)
    return (
        "The last graphs still changed the labels, so the data may have no clear clusters of this number. Try another "
        f"number of clusters, or more graphs: n_members={more} (--set n_members={more})."
    )


def title_end(data: Mapping[str, Any]) -> str:
    """Return what the title of a page says about the data: the names of the files without their folders.

    Examples
    --------
    >>> title_end({"files": ["a/flowers.mat"]}), title_end({"files": []})
    (' on flowers.mat', '')
    """
    names = ", ".join(Path(file).name or file for file in data["files"])
    return f" on {names}" if names else ""


def describe_method(estimator: Any) -> dict[str, Any]:
    """Return name and facts of an estimator's class.

    Examples
    --------
    >>> from manyview.cluster import TBGL
    >>> from manyview.report._data import describe_method
    >>> describe_method(TBGL(3))["order_dependent"]
    True
    """
    found = estimator.facts
    return {
        "name": type(estimator).__name__,
        "title": found.title,
        "reference": found.reference,
        "order_dependent": found.order_dependent,
    }
