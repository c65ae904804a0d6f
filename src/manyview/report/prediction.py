"""``prediction.json``: the clusters of new samples as plain values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from manyview._utils.environment import cores, describe_environment
from manyview._utils.text import plain
from manyview.metrics import clustering_scores
from manyview.report.documents import class_codes, describe_data, describe_method, row_order
from manyview.views import Views

FORMAT = "manyview prediction 1"
"""Format of ``prediction.json``; the number changes with the meaning of the keys."""


def describe_prediction(
    model: Any,
    views: Views,
    labels: np.ndarray,
    confidence: np.ndarray,
    *,
    n_features: Mapping[str, int],
    cluster_names: Sequence[str] | None = None,
    file: object = None,
    version: str | None = None,
    files: Iterable[object] = (),
    reading: Mapping[str, Any] | None = None,
    command: str | None = None,
    timings: Mapping[str, float] | None = None,
    warnings: Iterable[str] = (),
) -> dict[str, Any]:
    """Describe the clusters of new samples: model, data, sizes, confidence and scores; the content of the file.

    Parameters
    ----------
    model : fitted estimator
        One that predicts.
    views : Views
        The new samples; the views have the names of those of the model. Known classes are used for the scores only.
    labels, confidence : ndarrays of shape (n_samples,)
        What the model predicts.
    n_features : mapping of str to int
        The views of the model.
    cluster_names : sequence of str, optional
        A name for each cluster.
    file, version : optional
        The file of the model, and the version of manyview that wrote it.
    files, reading : optional
        Where the new samples come from, as for :func:`manyview.report.documents.describe_data`.
    command : str, optional
        The command line that does the same again.
    timings : mapping of str to float, optional
        Seconds that each step took.
    warnings : iterable of str, default=()
        Warnings that the user has seen.

    Returns
    -------
    dict
        Numbers, texts, lists and None only, and no NaN: ready for ``json.dumps``.

    Examples
    --------
    >>> from manyview import GraphEnsemble
    >>> from manyview.datasets import make_multiview
    >>> from manyview.report.prediction import describe_prediction
    >>> views = make_multiview(90, n_clusters=3, random_state=0)
    >>> model, new = GraphEnsemble(3, n_members=8, random_state=0).fit(views[:60]), views[60:]
    >>> sizes = dict(zip(views.names, views.n_features))
    >>> found = describe_prediction(model, new, model.predict(new), model.predict_confidence(new), n_features=sizes)
    >>> sum(cluster["size"] for cluster in found["clusters"]), found["scores"]["acc"]
    (30, 1.0)
    """
    n_clusters = int(model.n_clusters_)
    sizes, sums = (np.bincount(labels, weights=each, minlength=n_clusters) for each in (None, confidence))
    classes, data = class_codes(views), describe_data(views, files, reading)
    return {
        "format": FORMAT,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command,
        "model": {
            "file": None if file is None else str(file),
            "version": version,
            "method": describe_method(model),
            "n_clusters": n_clusters,
            "views": [{"name": name, "n_features": size} for name, size in n_features.items()],
        },
        "data": data,
        "missing_views": [name for name in n_features if name not in views.names],
        "clusters": [
            {
                "cluster": cluster,
                "name": None if cluster_names is None else cluster_names[cluster],
                "size": int(sizes[cluster]),
                "confidence": float(sums[cluster] / sizes[cluster]) if sizes[cluster] else None,
            }
            for cluster in range(n_clusters)
        ],
        "confidence": {
            "mean": float(np.mean(confidence, dtype=np.float64)),
            "median": float(np.median(confidence)),
            "below_half": int(np.count_nonzero(confidence < 0.5)),
        },
        "scores": None if classes is None else plain(clustering_scores(classes[classes >= 0], labels[classes >= 0])),
        "row_order": row_order(data),
        "timings": plain(timings or {}),
        "environment": describe_environment(model.n_jobs or cores()),
        "warnings": list(dict.fromkeys(warnings)),
    }
