"""The seven scores of the multi-view literature, all from one contingency table.

Notation: ``N[j, c]`` samples of class ``j`` in cluster ``c``, ``n`` samples, ``M = n (n - 1) / 2`` pairs of
samples, ``T`` of them in the same class, ``H`` in the same cluster, ``I`` in both.

Conventions where a formula is 0/0: no pair in a cluster (``H = 0``) makes precision 1, no pair in a class
(``T = 0``) makes recall 1; NMI is 1 when both partitions are one single group and 0 when exactly one of them
is; ARI is 1 when both partitions are trivial in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from manyview.metrics.matching import best_matching
from manyview.metrics.table import Contingency, contingency

SCORES = ("acc", "nmi", "purity", "precision", "recall", "f_score", "ari")
"""Names of the seven scores, in the order of printing."""

SCORE_TITLES = dict(zip(SCORES, ("ACC", "NMI", "Purity", "Precision", "Recall", "F-score", "ARI"), strict=True))
"""Titles of the scores in tables and figures."""

_AVERAGES: dict[str, Callable[[float, float], float]] = {
    "arithmetic": lambda a, b: (a + b) / 2,
    "geometric": lambda a, b: sqrt(a * b),
    "max": max,
    "min": min,
}


class PairScores(NamedTuple):
    """Precision, recall and F-score of the pairs of samples in the same cluster."""

    precision: float
    recall: float
    f_score: float


def clustering_scores(y_true: Any, y_pred: Any, *, nmi_average: str = "arithmetic") -> dict[str, float]:
    """Compare a clustering with known classes by the seven usual scores.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Known classes, any hashable values.
    y_pred : array-like of shape (n_samples,)
        Clusters, any hashable values; there may be more or fewer of them than classes.
    nmi_average : {"arithmetic", "geometric", "max", "min"}, default="arithmetic"
        The mean of the two entropies that divides the mutual information. Published multi-view tables often
        use ``"max"``, which is never larger.

    Returns
    -------
    dict
        ``acc``, ``nmi``, ``purity``, ``precision``, ``recall``, ``f_score``, ``ari``, in this order. All but
        ``ari`` lie between 0 and 1; ``ari`` is at most 1 and about 0 for a random clustering.

    Examples
    --------
    >>> from manyview.metrics import clustering_scores
    >>> scores = clustering_scores([0, 0, 0, 1, 1, 1], ["b", "b", "a", "a", "a", "a"])
    >>> {name: round(value, 2) for name, value in scores.items()}
    {'acc': 0.83, 'nmi': 0.48, 'purity': 0.83, 'precision': 0.57, 'recall': 0.67,
     'f_score': 0.62, 'ari': 0.32}
    """
    _check_average(nmi_average, "nmi_average")
    counts = contingency(y_true, y_pred)
    pairs = _pair_scores(counts)
    values = (
        _accuracy(counts),
        _normalized_mutual_info(counts, nmi_average),
        _purity(counts),
        pairs.precision,
        pairs.recall,
        pairs.f_score,
        _adjusted_rand(counts),
    )
    return dict(zip(SCORES, values, strict=True))


def accuracy(y_true: Any, y_pred: Any) -> float:
    """Compute the share of samples in the right class under the best one-to-one map of clusters to classes.

    ``ACC = 1/n  max over one-to-one maps  sum_c N[map(c), c]``. The samples of clusters
    without a class count as wrong. With tens of thousands of groups on both sides the matching takes most of the time
    of all seven scores.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Classes and clusters.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from manyview.metrics import accuracy
    >>> accuracy([0, 0, 1, 1], [5, 5, 5, 3])
    0.75
    """
    return _accuracy(contingency(y_true, y_pred))


def purity(y_true: Any, y_pred: Any) -> float:
    """Compute the share of samples that belong to the most frequent class of their cluster.

    ``purity = 1/n  sum_c max_j N[j, c]``. Never below the accuracy, and 1 when every sample is a cluster.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Classes and clusters.

    Returns
    -------
    float
        Between 0 and 1.
    """
    return _purity(contingency(y_true, y_pred))


def normalized_mutual_info(y_true: Any, y_pred: Any, *, average: str = "arithmetic") -> float:
    """Compute the mutual information of classes and clusters, divided by a mean of their entropies.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Classes and clusters.
    average : {"arithmetic", "geometric", "max", "min"}, default="arithmetic"
        Which mean.

    Returns
    -------
    float
        Between 0 and 1. If both partitions have a single group, 1; if exactly one has, 0.
    """
    _check_average(average, "average")
    return _normalized_mutual_info(contingency(y_true, y_pred), average)


def pair_scores(y_true: Any, y_pred: Any) -> PairScores:
    """Compute precision, recall and F-score of the pairs of samples in the same cluster.

    ``precision = I / H``, ``recall = I / T``, ``f_score = 2 I / (H + T)``, their harmonic mean.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Classes and clusters.

    Returns
    -------
    PairScores
        ``precision`` is 1 if no pair is in the same cluster, ``recall`` is 1 if no pair is in the same class.

    Examples
    --------
    >>> from manyview.metrics import pair_scores
    >>> pair_scores([0, 0, 1, 1], [0, 0, 1, 2])
    PairScores(precision=1.0, recall=0.5, f_score=0.6666666666666666)
    """
    return _pair_scores(contingency(y_true, y_pred))


def adjusted_rand(y_true: Any, y_pred: Any) -> float:
    """Compute the Rand index, corrected for chance (Hubert and Arabie).

    ``ARI = (I - T H / M) / ((T + H) / 2 - T H / M)``, and 1 when both partitions are trivial in the same way.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Classes and clusters.

    Returns
    -------
    float
        At most 1; 0 on average for random clusterings.
    """
    return _adjusted_rand(contingency(y_true, y_pred))


def _check_average(average: str, name: str) -> None:
    if average not in _AVERAGES:
        raise ValueError(f"{name}: expected one of {', '.join(map(repr, _AVERAGES))}, got {average!r}.")


def _accuracy(counts: Contingency) -> float:
    return float(counts.table[best_matching(counts)].sum()) / counts.n_samples


def _purity(counts: Contingency) -> float:
    return float(counts.table.max(axis=0).sum()) / counts.n_samples


def _normalized_mutual_info(counts: Contingency, average: str) -> float:
    n_classes, n_clusters = counts.table.shape
    if n_classes == n_clusters == counts.table.nnz:
        return 1.0  # the same partition; also covers a single group on both sides
    if n_classes == 1 or n_clusters == 1:
        return 0.0
    n, cells = counts.n_samples, counts.table.tocoo()
    log_class, log_cluster = np.log(counts.class_sizes), np.log(counts.cluster_sizes)
    surprise = np.log(cells.data) + np.log(n) - log_class[cells.row] - log_cluster[cells.col]
    information = cells.data @ surprise / n
    entropies = (
        np.log(n) - counts.class_sizes @ log_class / n,
        np.log(n) - counts.cluster_sizes @ log_cluster / n,
    )
    # rounding can give a ratio slightly below 0 or above 1
    return float(np.clip(information / _AVERAGES[average](*entropies), 0.0, 1.0))


def _n_pairs(sizes: np.ndarray) -> int:
    """Return the pairs within groups of these sizes, as a Python int: products of two of them overflow 64 bits."""
    return int((sizes.astype(np.int64) * (sizes - 1) // 2).sum())


def _pair_counts(counts: Contingency) -> tuple[int, int, int]:
    """Return ``I``, ``H``, ``T`` of the module's notation."""
    return _n_pairs(counts.table.data), _n_pairs(counts.cluster_sizes), _n_pairs(counts.class_sizes)


def _pair_scores(counts: Contingency) -> PairScores:
    both, clustered, classed = _pair_counts(counts)
    return PairScores(
        precision=both / clustered if clustered else 1.0,
        recall=both / classed if classed else 1.0,
        f_score=2 * both / (clustered + classed) if clustered + classed else 1.0,
    )


def _adjusted_rand(counts: Contingency) -> float:
    both, clustered, classed = _pair_counts(counts)
    n_pairs = counts.n_samples * (counts.n_samples - 1) // 2
    # numerator and denominator times 2 M, so that everything up to the division is exact
    product = classed * clustered
    span = (classed + clustered) * n_pairs - 2 * product
    return 2 * (both * n_pairs - product) / span if span else 1.0
