"""What a fit gave, as plain values: the content of ``result.json``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas

from manyview._environment import cores, describe_environment
from manyview._fingerprint import fingerprint
from manyview.metrics import Contingency, clustering_scores, contingency

if TYPE_CHECKING:
    from manyview.audit import AuditResult
    from manyview.cluster import ClusterCountSuggestion
    from manyview.cluster._base import MultiViewClusterer
    from manyview.views import Views

FORMAT = "manyview result 1"
"""What a result says of itself; the number changes with the meaning of the keys."""


def describe_result(
    model: MultiViewClusterer,
    views: Views,
    *,
    files: Iterable[object] = (),
    command: str | None = None,
    seed: int | None = None,
    suggestion: ClusterCountSuggestion | None = None,
    timings: Mapping[str, float | None] | None = None,
    warnings: Iterable[str] = (),
    audits: Iterable[AuditResult] = (),
    row_order: str | None = None,
) -> dict[str, Any]:
    """Say what was clustered, how, and what came out.

    Parameters
    ----------
    model : fitted estimator
        One of :func:`manyview.cluster.available_methods`.
    views : Views
        What it was fitted on, checked. Known classes (``labels``) are used for the scores only; samples without one
        are left out of these.
    files : iterable, default=()
        What the views were read from, as the user named it.
    command : str, optional
        The command line that does the same again.
    seed : int, optional
        The seed; that of the model unless given.
    suggestion : ClusterCountSuggestion, optional
        Why there are so many clusters; that of the model unless given.
    timings : mapping of str to float, optional
        Seconds that each step took.
    warnings : iterable of str, default=()
        What the user was warned of; each text is kept once.
    audits : iterable of AuditResult, default=()
        What was found out about the answer.
    row_order : str, optional
        How the rows were ordered when the scores were measured, if the caller knows, such as "shuffled". Else it says
        whether the classes are blocks of rows.

    Returns
    -------
    dict
        Numbers, texts, lists and None only, and no NaN: ready for ``json.dumps``.

    Examples
    --------
    >>> from manyview import InvariantTBGL
    >>> from manyview.datasets import make_multiview
    >>> from manyview.report.result import describe_result
    >>> views = make_multiview(60, n_clusters=3, random_state=0)
    >>> result = describe_result(InvariantTBGL(3, n_members=8, random_state=0).fit(views), views)
    >>> result["method"]["name"], result["n_clusters"], [cluster["size"] for cluster in result["clusters"]]
    ('InvariantTBGL', 3, [20, 20, 20])
    >>> result["scores"]["acc"], result["row_order"]
    (1.0, 'rows as given')
    """
    parameters = model.get_params(deep=False)
    counts, classes = _known_classes(views, model.labels_)
    sorted_by_class = None if counts is None else _are_blocks(counts.class_codes)
    clusters = _clusters(model)
    return {
        "format": FORMAT,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command,
        "data": {
            "files": [str(file) for file in files],
            "sha256": fingerprint(views, classes),
            "n_samples": views.n_samples,
            "views": _described_views(views),
            "has_ids": views.sample_ids is not None,
            "n_classes": None if counts is None else len(counts.classes),
            "sorted_by_class": sorted_by_class,
        },
        "method": {
            "name": type(model).__name__,
            "title": model.facts.title,
            "reference": model.facts.reference,
            "order_dependent": model.facts.order_dependent,
        },
        "parameters": _plain(parameters),
        "seed": _whole(parameters.get("random_state")) if seed is None else seed,
        "n_clusters": len(clusters),
        "suggestion": _described_suggestion(suggestion or getattr(model, "suggestion_", None)),
        "clusters": clusters,
        "confidence": _described_confidence(getattr(model, "confidence_", None)),
        "view_weights": _plain(getattr(model, "view_weights_", None)),
        "n_iter": _plain(getattr(model, "n_iter_", None)),
        "converged": _plain(getattr(model, "converged_", None)),
        "scores": None if counts is None else _plain(clustering_scores(counts.class_codes, counts.cluster_codes)),
        "row_order": row_order or ("rows as given, sorted by class" if sorted_by_class else "rows as given"),
        "audits": [audit.to_dict() for audit in audits],
        "timings": _plain(timings or {}),
        "environment": describe_environment(parameters.get("n_jobs") or cores()),
        "warnings": list(dict.fromkeys(warnings)),
    }


def _known_classes(views: Views, clusters: np.ndarray) -> tuple[Contingency | None, np.ndarray | None]:
    """Classes of the samples that have one, counted by cluster; and those of all samples as numbers, -1 for none."""
    if views.labels is None:
        return None, None
    has_class = ~pandas.isna(views.labels)
    if not has_class.any():
        return None, None
    counts = contingency(views.labels[has_class], clusters[has_class])
    classes = np.full(views.n_samples, -1)
    classes[has_class] = counts.class_codes
    return counts, classes


def _are_blocks(classes: np.ndarray) -> bool:
    """Whether every class is one block of rows."""
    return int(np.count_nonzero(np.diff(classes))) == int(classes.max())


def _described_views(views: Views) -> list[dict[str, Any]]:
    n_present = [views.n_samples] * len(views) if views.present is None else views.present.sum(axis=0).tolist()
    return [
        {"name": name, "n_features": n_features, "n_present": present}
        for name, n_features, present in zip(views.names, views.n_features, n_present, strict=True)
    ]


def _clusters(model: MultiViewClusterer) -> list[dict[str, Any]]:
    """Size and mean confidence of every cluster."""
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


def _described_suggestion(suggestion: ClusterCountSuggestion | None) -> dict[str, Any] | None:
    if suggestion is None:
        return None
    return {name: _plain(getattr(suggestion, name)) for name in ("n_clusters", "sure", "candidates", "reason", "curve")}


def _whole(value: object) -> int | None:
    return int(value) if isinstance(value, Integral) else None


def _plain(value: Any) -> Any:
    """A value as JSON knows it; what JSON has no word for becomes the text that Python has for it.

    Examples
    --------
    >>> _plain({"a": (1, np.float32(0.5), np.nan), "b": np.eye(2), 3: np.bool_(True)})
    {'a': [1, 0.5, None], 'b': [[1.0, 0.0], [0.0, 1.0]], '3': True}
    >>> _plain(slice(3))
    'slice(None, 3, None)'
    """
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, Sequence):
        return [_plain(inner) for inner in value]
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value) if math.isfinite(value) else None
    return repr(value)
