"""The report on labels from anywhere: the sections of the report on one clustering that need no fitted model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np

from manyview._utils.environment import cores, describe_environment
from manyview._utils.machine import one_thread
from manyview.description import Description
from manyview.exceptions import ViewsError
from manyview.graphs.scaling import Scaling, learn_scaling
from manyview.report.documents import describe_data, row_order
from manyview.report.run import render, summarise
from manyview.views import Array, check_views


class _Labelled:
    """Labels in place of a fitted estimator: the map and the votes of the views need no more."""

    def __init__(self, labels: np.ndarray) -> None:
        self.labels_ = labels
        self._scalings: dict[int, Scaling] = {}

    def _scale_view(self, v: int, values: Array) -> Array:
        """Return samples of view v, scaled as its values suggest; the first samples decide how."""
        if v not in self._scalings:
            self._scalings[v], scaled = learn_scaling(values, "auto")
            return scaled
        return self._scalings[v].apply(values)


@one_thread()
def render_description(
    description: Description,
    views: Any,
    *,
    files: Iterable[object] = (),
    reading: Mapping[str, Any] | None = None,
    command: str | None = None,
    sample_names: bool = True,
) -> str:
    """Render what clusters are as one HTML page, for labels from anywhere.

    Parameters
    ----------
    description : Description
        Of :func:`manyview.describe`.
    views : Views, list or dict of arrays
        What was described. Samples without a label are left out.
    files : iterable, default=()
        Files of the views, as the user named them.
    reading : mapping, optional
        How they were read, as for ``result.json``.
    command : str, optional
        The command line that makes the page again.
    sample_names : bool, default=True
        Whether to show ids, labels and metadata of single samples. If not, they are shown by their row numbers.

    Returns
    -------
    str
        A page that opens from disk and needs no network.

    Examples
    --------
    >>> from manyview import describe
    >>> from manyview.datasets import make_multiview
    >>> from manyview.report.description import render_description
    >>> views = make_multiview(60, n_clusters=3, random_state=0)
    >>> "<h1>3 clusters of 60 samples</h1>" in render_description(describe(views, views.labels), views)
    True
    """
    given = check_views(views, keep_float32=True)
    if not len(description.rows) or description.rows.max() >= given.n_samples:
        raise ViewsError(f"views: expected those that were described, got views of {given.n_samples} samples.")
    model = _Labelled(description.labels)
    data = describe_data(given.take(description.rows), files, reading)
    result = {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command,
        "data": data,
        "method": None,
        "parameters": {},
        "n_clusters": len(description.names),
        "suggestion": None,
        "clusters": [
            {"cluster": k, "size": int(size), "confidence": None} for k, size in enumerate(description.clusters["size"])
        ],
        "confidence": None,
        "graph_families": None,
        "n_iter": None,
        "converged": None,
        "scores": None,
        "row_order": row_order(data),
        "audits": [],
        "timings": {},
        "environment": describe_environment(cores()),
        "warnings": [],
    }
    return render(summarise(model, given, result, description=description, sample_names=sample_names))
