"""Contents of the clusters: which samples each has, and how the clusters match known classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas

from manyview._utils.text import shortened
from manyview.metrics import Contingency, contingency
from manyview.metrics.matching import best_matching

_MAX_IN_CONFUSION = 200  # classes, and clusters
_MAX_CLASSES_OF_CLUSTER = 12
# Samples that are listed: of all clusters together, and bounds for one cluster.
_MAX_LISTED = 3000
_MIN_LISTED_OF_CLUSTER, _MAX_LISTED_OF_CLUSTER = 5, 100


@dataclass(frozen=True)
class Classes:
    """Known classes, clusters and the best matching between them.

    Parameters
    ----------
    counts : Contingency
        Of classes and clusters, without samples whose class is not known.
    codes : ndarray of int, shape (n_samples,)
        The class of each sample; -1 where it is not known.
    match : ndarray of int, shape (n_classes,)
        The cluster that each class matches; numbers after the last cluster for classes that match none.
    """

    counts: Contingency
    codes: np.ndarray
    match: np.ndarray
    _names: dict[int, str] = field(default_factory=dict)

    @classmethod
    def compare(cls, labels: np.ndarray, clusters: np.ndarray) -> Classes:
        """Count and match. At least one class must be known."""
        known = ~pandas.isna(labels)
        counts = contingency(labels[known], clusters[known])
        codes = np.full(len(clusters), -1)
        codes[known] = counts.class_codes
        rows, columns = best_matching(counts)
        match = np.full(len(counts.classes), -1)
        match[rows] = counts.clusters[columns]
        unmatched = np.flatnonzero(match < 0)
        match[unmatched] = clusters.max() + 1 + np.arange(len(unmatched))
        return cls(counts, codes, match)

    def name(self, code: int) -> str | None:
        """Return the name of a class, shortened and on one line; None for -1."""
        if code < 0:
            return None
        if code not in self._names:
            self._names[code] = shortened(self.counts.classes[code], 40)
        return self._names[code]

    def match_of(self, code: int) -> int | None:
        """Return the cluster that a class matches, or a number after the last; None for -1."""
        return None if code < 0 else int(self.match[code])

    def of_cluster(self, cluster: int) -> list[list[Any]]:
        """Return the classes of the samples of a cluster with their counts, the twelve largest at most."""
        column = self.counts.table[:, np.flatnonzero(self.counts.clusters == cluster)].tocoo()
        largest = np.argsort(-column.data, kind="stable")[:_MAX_CLASSES_OF_CLUSTER]
        return [[self.name(column.coords[0][i]), int(column.data[i])] for i in largest]

    def confusion(self) -> dict[str, Any]:
        """Return the counts of classes (rows) and clusters, both in matching order; of many, the largest."""
        classes = _largest(self.counts.class_sizes)
        found = _largest(self.counts.cluster_sizes)
        position = {int(cluster): i for i, cluster in enumerate(self.match[classes])}
        clusters = sorted(found.tolist(), key=lambda c: position.get(int(self.counts.clusters[c]), len(position)))
        return {
            "classes": [self.name(code) for code in classes],
            "clusters": [int(self.counts.clusters[code]) for code in clusters],
            "counts": self.counts.table[classes][:, clusters].toarray().tolist(),
            "n_classes": len(self.counts.classes),
            "n_clusters": len(self.counts.clusters),
        }


def _largest(sizes: np.ndarray) -> np.ndarray:
    """Return the indices of the largest, ascending."""
    return np.sort(np.argsort(-sizes, kind="stable")[:_MAX_IN_CONFUSION])


def list_samples(
    clusters: np.ndarray,
    name: Callable[[int], str],
    confidence: np.ndarray | None,
    classes: Classes | None,
    sample_names: bool = True,
) -> list[dict[str, Any]]:
    """List the samples of every cluster by descending confidence; of many, evenly spaced ones of that order.

    Parameters
    ----------
    clusters : ndarray of int, shape (n_samples,)
    name : function
        From the row of a sample to its name.
    confidence : ndarray of shape (n_samples,), optional
    classes : Classes, optional
    sample_names : bool, default=True
        Whether the class of a single sample may be shown.

    Returns
    -------
    list of dict
        With ``cluster``, ``size``, ``shown`` (``id``, ``confidence`` and ``label`` of each) and ``labels``, the classes
        of all samples of the cluster with their counts.
    """
    sizes = np.bincount(clusters)
    order = np.lexsort((clusters,) if confidence is None else (-confidence, clusters))
    ends = np.cumsum(sizes)
    most = int(np.clip(_MAX_LISTED // len(sizes), _MIN_LISTED_OF_CLUSTER, _MAX_LISTED_OF_CLUSTER))
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
                        "label": None if classes is None or not sample_names else classes.name(classes.codes[row]),
                    }
                    for row in rows
                ],
                "labels": None if classes is None or not size else classes.of_cluster(cluster),
            }
        )
    return listed
