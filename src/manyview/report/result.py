"""What a fit gave, as plain values: the content of ``result.json``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from manyview._utils.environment import cores, describe_environment
from manyview._utils.text import plain
from manyview.metrics import clustering_scores
from manyview.report._data import class_codes, describe_data, describe_method, row_order

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
    reading: Mapping[str, Any] | None = None,
    command: str | None = None,
    seed: int | None = None,
    suggestion: ClusterCountSuggestion | None = None,
    timings: Mapping[str, float | None] | None = None,
    warnings: Iterable[str] = (),
    audits: Iterable[AuditResult] = (),
    order: str | None = None,
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
    reading : mapping, optional
        How: arguments of :func:`manyview.read_views`, and ``view_sizes``.
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
    order : str, optional
        How the rows were ordered when the scores were measured, if the caller knows, such as "shuffled". Else it says
        whether the classes are blocks of rows.

    Returns
    -------
    dict
        Numbers, texts, lists and None only, and no NaN: ready for ``json.dumps``.

    Examples
    --------
    >>> from manyview import GraphEnsemble
    >>> from manyview.datasets import make_multiview
    >>> from manyview.report.result import describe_result
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
        "timings": plain(timings or {}),
        "environment": describe_environment(parameters.get("n_jobs") or cores()),
        "warnings": list(dict.fromkeys(warnings)),
    }


def _scores(views: Views, clusters: np.ndarray) -> dict[str, float] | None:
    """How well clusters and known classes agree, over the samples that have a class."""
    classes = class_codes(views)
    if classes is None:
        return None
    return plain(clustering_scores(classes[classes >= 0], clusters[classes >= 0]))


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
