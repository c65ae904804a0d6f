"""Plain values for files and pages: the data, the method and the result of a fit, ready for ``json.dumps``.

:func:`describe_result` is the content of ``result.json``. The short phrases about data and results that pages and the
command line share are here as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from manyview._utils.environment import cores, describe_environment
from manyview._utils.text import plain
from manyview.metrics import clustering_scores
from manyview.metrics.table import in_blocks, known_codes
from manyview.views import Views
from manyview.views.fingerprint import fingerprint

if TYPE_CHECKING:
    from manyview.audit import AuditResult
    from manyview.cluster import ClusterCountSuggestion
    from manyview.cluster._base import MultiViewClusterer
    from manyview.description import Description

FORMAT = "manyview result 1"
"""Format of ``result.json``; the number changes with the meaning of the keys."""


def describe_result(
    model: MultiViewClusterer,
    views: Views,
    *,
    files: Iterable[object] = (),
    reading: Mapping[str, Any] | None = None,
    command: str | None = None,
    seed: int | None = None,
    suggestion: ClusterCountSuggestion | None = None,
    timings: Mapping[str, float | None] | None = None,
    warnings: Iterable[str] = (),
    audits: Iterable[AuditResult] = (),
    description: Description | None = None,
    order: str | None = None,
) -> dict[str, Any]:
    """Describe a fit: data, method, parameters, clusters, scores and environment; the content of ``result.json``.

    Parameters
    ----------
    model : fitted estimator
        One of :func:`manyview.cluster.available_methods`.
    views : Views
        What it was fitted on, checked. Known classes (``labels``) are used for the scores only, which leave out samples
        without one.
    files : iterable, default=()
        Files of the views, as the user named them.
    reading : mapping, optional
        How they were read, see :func:`describe_data`.
    command : str, optional
        The command line that reproduces the result.
    seed : int, optional
        Random seed; that of the model unless given.
    suggestion : ClusterCountSuggestion, optional
        Evidence for the number of clusters; that of the model unless given.
    timings : mapping of str to float, optional
        Seconds that each step took.
    warnings : iterable of str, default=()
        Warnings that the user has seen; each text is kept once.
    audits : iterable of AuditResult, default=()
        Results of audits of the clustering.
    description : Description, optional
        What is in the clusters.
    order : str, optional
        Order of the rows when the scores were measured, if known, such as "shuffled". By default :func:`row_order`.

    Returns
    -------
    dict
        Numbers, texts, lists and None only, and no NaN: ready for ``json.dumps``.

    Examples
    --------
    >>> from manyview import GraphEnsemble
    >>> from manyview.datasets import make_multiview
    >>> from manyview.report.documents import describe_result
    >>> views = make_multiview(60, n_clusters=3, random_state=0)
    >>> result = describe_result(GraphEnsemble(3, n_members=8, random_state=0).fit(views), views)
    >>> result["method"]["name"], result["n_clusters"], [cluster["size"] for cluster in result["clusters"]]
    ('GraphEnsemble', 3, [20, 20, 20])
    >>> result["scores"]["acc"], result["row_order"]
    (1.0, 'rows as given')
    """
    parameters = model.get_params(deep=False)
    data = describe_data(views, files, reading)
    clusters = _clusters(model)
    return {
        "format": FORMAT,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command,
        "data": data,
        "method": describe_method(model),
        "parameters": plain(parameters),
        "seed": _whole(parameters.get("random_state")) if seed is None else seed,
        "n_clusters": len(clusters),
        "suggestion": describe_suggestion(suggestion or getattr(model, "suggestion_", None)),
        "clusters": clusters,
        "confidence": _described_confidence(getattr(model, "confidence_", None)),
        "view_weights": plain(getattr(model, "view_weights_", None)),
        "graph_families": _described_families(model),
        "n_iter": plain(getattr(model, "n_iter_", None)),
        "converged": plain(getattr(model, "converged_", None)),
        "scores": _scores(views, model.labels_),
        "row_order": order or row_order(data),
        "audits": [audit.to_dict() for audit in audits],
        "description": None if description is None else description.to_dict(),
        "timings": plain(timings or {}),
        "environment": describe_environment(parameters.get("n_jobs") or cores()),
        "warnings": list(dict.fromkeys(warnings)),
    }


DESCRIPTION_FORMAT = "manyview description 1"
"""Format of ``description.json``; the number changes with the meaning of the keys."""


def describe_description(
    description: Description,
    views: Views,
    source: str,
    *,
    method: str | None = None,
    files: Iterable[object] = (),
    reading: Mapping[str, Any] | None = None,
    command: str | None = None,
    jobs: int | None = None,
    warnings: Iterable[str] = (),
) -> dict[str, Any]:
    """Return what is in clusters from anywhere as plain values; the content of ``description.json``.

    Parameters
    ----------
    description : Description
    views : Views
        What was described.
    source : str
        Where the labels are from, as the user named it.
    method : str, optional
        The estimator that was learned again for p values.
    files, reading, command, warnings
        As for :func:`describe_result`.
    jobs : int, optional
        Number of threads.
    """
    return {
        "format": DESCRIPTION_FORMAT,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command,
        "data": describe_data(views, files, reading),
        "labels": {"source": source, "method": method, "n_labelled": len(description.rows)},
        "description": description.to_dict(),
        "environment": describe_environment(jobs or cores()),
        "warnings": list(warnings),
    }


def _scores(views: Views, clusters: np.ndarray) -> dict[str, float] | None:
    """Compare clusters with known classes, over the samples that have a class."""
    classes = class_codes(views)
    if classes is None:
        return None
    return plain(clustering_scores(classes[classes >= 0], clusters[classes >= 0]))


def _clusters(model: MultiViewClusterer) -> list[dict[str, Any]]:
    """Return the size and mean confidence of every cluster."""
    sizes = np.bincount(model.labels_)
    confidence = getattr(model, "confidence_", None)
    sums = None if confidence is None else np.bincount(model.labels_, weights=confidence)
    return [
        {
            "cluster": int(cluster),
            "size": int(sizes[cluster]),
            "confidence": None if sums is None else float(sums[cluster] / sizes[cluster]),
        }
        for cluster in np.flatnonzero(sizes)
    ]


def _described_confidence(confidence: np.ndarray | None) -> dict[str, Any] | None:
    if confidence is None:
        return None
    return {
        "mean": float(np.mean(confidence, dtype=np.float64)),
        "median": float(np.median(confidence)),
        "below_half": int(np.count_nonzero(confidence < 0.5)),
    }


def describe_suggestion(suggestion: ClusterCountSuggestion | None) -> dict[str, Any] | None:
    """Return the suggested number of clusters, its reason and its evidence as plain values; None if there is none."""
    if suggestion is None:
        return None
    names = ("n_clusters", "sure", "candidates", "reason", "evidence", "curve")
    return {name: plain(getattr(suggestion, name)) for name in names}


def _described_families(model: Any) -> list[dict[str, Any]] | None:
    """Return the families of graphs that were tried, the chosen one first; None if the method has none."""
    families = getattr(model, "graph_families_", None)
    return None if not families else [{"family": name, **plain(found)} for name, found in families.items()]


def _whole(value: object) -> int | None:
    return int(value) if isinstance(value, Integral) else None


def describe_data(
    views: Views, files: Iterable[object] = (), reading: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Describe what was read: files, checksum, sizes, and known classes.

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
    >>> from manyview.report.documents import describe_data
    >>> found = describe_data(make_multiview(20, 2, random_state=0), ["a.npz"])
    >>> found["n_samples"], found["n_classes"], found["views"][0]
    (20, 2, {'name': 'view0', 'n_features': 10, 'n_present': 20})
    """
    classes, values = class_codes(views), fingerprint(views)
    known = None if classes is None else classes[classes >= 0]
    present = [views.n_samples] * views.n_views if views.present is None else views.present.sum(axis=0).tolist()
    return {
        "files": [str(file) for file in files],
        "reading": plain(reading or {}),
        "sha256": values if classes is None else fingerprint(views, classes),
        "sha256_views": values,
        "n_samples": views.n_samples,
        "views": [
            {"name": name, "n_features": width, "n_present": count}
            for name, width, count in zip(views.names, views.n_features, present, strict=True)
        ],
        "has_ids": views.sample_ids is not None,
        "matched_by": None if views.reading is None else views.reading.matched_by,
        "transposed": [] if views.reading is None else list(views.reading.transposed),
        "metadata": None if views.metadata is None else [str(name) for name in views.metadata.columns],
        "without_metadata": 0 if views.reading is None else views.reading.without_metadata,
        "notes": [] if views.reading is None else list(views.reading.notes),
        "filled": {} if views.reading is None else dict(views.reading.filled),
        "n_classes": None if known is None else len(np.unique(known)),
        "n_labelled": None if known is None else len(known),
        "sorted_by_class": None if known is None else in_blocks(known),
    }


def class_codes(views: Views) -> np.ndarray | None:
    """Return the known classes as numbers in the order of their names, -1 where unknown; None if all are unknown."""
    return known_codes(views.labels)


def row_order(data: Mapping[str, Any]) -> str:
    """Return the order of the rows in words; ``data`` is from :func:`describe_data`."""
    return "rows as given, sorted by class" if data["sorted_by_class"] else "rows as given"


def scored_samples(data: Mapping[str, Any]) -> str:
    """Return a phrase on how many samples scores are computed, or an empty text if on all.

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
    """Return the advice for a fit whose labels had not settled, or an empty text if they had.

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
    """Return the end of a page's title: the names of the files without their folders.

    Examples
    --------
    >>> title_end({"files": ["a/flowers.mat"]}), title_end({"files": []})
    (' on flowers.mat', '')
    """
    names = ", ".join(Path(file).name or file for file in data["files"])
    return f" on {names}" if names else ""


def describe_method(estimator: Any) -> dict[str, Any]:
    """Describe an estimator's class: name, title, reference, and whether it depends on row order.

    Examples
    --------
    >>> from manyview.cluster import TBGL
    >>> from manyview.report.documents import describe_method
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
