"""Who is in each cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from manyview.report._classes import Classes

_MOST_OF_ALL = 3000
_MOST_OF_ONE = 100
_LEAST_OF_ONE = 5


def list_members(
    clusters: np.ndarray, name: Callable[[int], str], confidence: np.ndarray | None, classes: Classes | None
) -> list[dict[str, Any]]:
    """Members of every cluster, the surest first; of many, some that are spread from the surest to the least sure.

    Parameters
    ----------
    clusters : ndarray of int, shape (n_samples,)
    name : function
        From the row of a sample to what it is called.
    confidence : ndarray of shape (n_samples,), optional
    classes : Classes, optional

    Returns
    -------
    list of dict
        With ``cluster``, ``size``, ``shown`` (``id``, ``confidence`` and ``label`` of each) and ``labels``, the classes
        of all members with their numbers.
    """
    sizes = np.bincount(clusters)
    order = np.lexsort((clusters,) if confidence is None else (-confidence, clusters))
    ends = np.cumsum(sizes)
    most = int(np.clip(_MOST_OF_ALL // len(sizes), _LEAST_OF_ONE, _MOST_OF_ONE))
    listed = []
    for cluster, size in enumerate(sizes.tolist()):
        ranks = np.unique(np.linspace(0, size - 1, min(size, most)).round().astype(np.int64))
        rows = order[ends[cluster] - size + ranks] if size else []
        listed.append(
            {
                "cluster": cluster,
                "size": size,
                "shown": [
                    {
                        "id": name(row),
                        "confidence": None if confidence is None else round(float(confidence[row]), 4),
                        "label": None if classes is None else classes.name(classes.codes[row]),
                    }
                    for row in rows
                ],
                "labels": None if classes is None or not size else classes.of_cluster(cluster),
            }
        )
    return listed
