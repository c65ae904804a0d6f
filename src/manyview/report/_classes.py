"""Known classes beside the clusters: how they match, and how many samples they share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas

from manyview._utils.text import shortened
from manyview.metrics import Contingency, contingency
from manyview.metrics.matching import best_matching

_MOST_IN_TABLE = 200
_MOST_OF_CLUSTER = 12


@dataclass(frozen=True)
class Classes:
    """Classes, clusters and the best matching between them.

    Parameters
    ----------
    counts : Contingency
        Of classes and clusters, without samples whose class is not known.
    codes : ndarray of int, shape (n_samples,)
        The class of each sample; -1 where it is not known.
    place : ndarray of int, shape (n_classes,)
        The cluster that each class matches; numbers after the last cluster for those that match none.
    """

    counts: Contingency
    codes: np.ndarray
    place: np.ndarray
    _names: dict[int, str] = field(default_factory=dict)

    @classmethod
    def compare(cls, labels: np.ndarray, clusters: np.ndarray) -> Classes:
        """Count and match. At least one class must be known."""
        known = ~pandas.isna(labels)
        counts = contingency(labels[known], clusters[known])
        codes = np.full(len(clusters), -1)
        codes[known] = counts.class_codes
        rows, columns = best_matching(counts)
        place = np.full(len(counts.classes), -1)
        place[rows] = counts.clusters[columns]
        alone = np.flatnonzero(place < 0)
        place[alone] = clusters.max() + 1 + np.arange(len(alone))
        return cls(counts, codes, place)

    def name(self, code: int) -> str | None:
        """What a class is called, on one line and not too long; None for -1."""
        if code < 0:
            return None
        if code not in self._names:
            self._names[code] = shortened(self.counts.classes[code], 40)
        return self._names[code]

    def place_of(self, code: int) -> int | None:
        """The cluster that a class matches, or a number after the last; None for -1."""
        return None if code < 0 else int(self.place[code])

    def of_cluster(self, cluster: int) -> list[list[Any]]:
        """The classes of the samples of a cluster, and how many they are, most first; not more than a dozen."""
        column = self.counts.table[:, np.flatnonzero(self.counts.clusters == cluster)].tocoo()
        largest = np.argsort(-column.data, kind="stable")[:_MOST_OF_CLUSTER]
        return [[self.name(column.coords[0][i]), int(column.data[i])] for i in largest]

    def confusion(self) -> dict[str, Any]:
        """The counts, classes in rows, with the matching clusters in the same order; the largest if there are many."""
        classes = _largest(self.counts.class_sizes)
        found = _largest(self.counts.cluster_sizes)
        at = {int(place): i for i, place in enumerate(self.place[classes])}
        clusters = sorted(found.tolist(), key=lambda c: at.get(int(self.counts.clusters[c]), len(at)))
        return {
            "classes": [self.name(code) for code in classes],
            "clusters": [int(self.counts.clusters[code]) for code in clusters],
            "counts": self.counts.table[classes][:, clusters].toarray().tolist(),
            "n_classes": len(self.counts.classes),
            "n_clusters": len(self.counts.clusters),
        }


def _largest(sizes: np.ndarray) -> np.ndarray:
    """Not too many, in their order."""
    return np.sort(np.argsort(-sizes, kind="stable")[:_MOST_IN_TABLE])
