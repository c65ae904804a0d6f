"""Which features set a cluster apart: effect sizes of every feature and cluster, and tests by ranks.

For cluster c and a feature x, with the n_c samples of the cluster against the n - n_c others of those that have the
view:

==========  ==========================================================================================================
auroc       ``P(x_i > x_j) + ½P(x_i = x_j)`` for i in the cluster and j outside: (R_c - n_c(n_c + 1)/2) / (n_c(n - n_c))
            with R_c the sum of the ranks in the cluster
difference  mean in the cluster minus mean outside, divided by the standard deviation of all samples
log_fold    log₂ of the ratio of both means, for features that are never negative; half of a typical value that is not
            zero is added to the sums of both, so that it stays finite
share       share of the samples whose value is not zero, in the cluster and outside
p           Mann-Whitney's test, two-sided, by its normal approximation with corrections for ties and continuity
==========  ==========================================================================================================
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.sparse as sp
from scipy.special import ndtr

from manyview._utils.compiled import njit
from manyview._utils.environment import cores
from manyview.views import Array

# Features that are ranked at a time, by each thread.
_BLOCK = 256


@dataclass(frozen=True)
class FeatureStatistics:
    """What the module describes, each an array of shape (n_clusters, n_features); NaN if a cluster has no samples.

    ``log_fold`` is NaN for features with negative values. ``p`` is NaN if all samples are in one cluster, and 1 for
    constant features.
    """

    auroc: np.ndarray
    difference: np.ndarray
    log_fold: np.ndarray
    mean: np.ndarray
    mean_outside: np.ndarray
    share: np.ndarray
    share_outside: np.ndarray
    p: np.ndarray


@dataclass(frozen=True)
class _Sums:
    """Sums over the samples of each cluster, of shape (n_features, n_clusters), and over all, of shape (n_features,).

    ``ties`` is ``Σ(t³ - t)`` over groups of t equal values; ``spread`` the standard deviation; ``lowest`` the least
    value.
    """

    ranks: np.ndarray
    values: np.ndarray
    nonzero: np.ndarray
    ties: np.ndarray
    spread: np.ndarray
    lowest: np.ndarray


def feature_statistics(
    view: Array, labels: np.ndarray, n_clusters: int, n_jobs: int | None = None
) -> FeatureStatistics:
    """Compare the samples of every cluster with all others, feature by feature.

    Parameters
    ----------
    view : ndarray or sparse array of shape (n_samples, n_features)
        Without missing values. A sparse view stays sparse.
    labels : ndarray of int, shape (n_samples,)
        From 0 to ``n_clusters`` - 1.
    n_clusters : int
    n_jobs : int, optional
        Number of threads; by default all processors.
    """
    n, d = view.shape
    labels = np.ascontiguousarray(labels, dtype=np.int64)
    blocks = [slice(start, min(start + _BLOCK, d)) for start in range(0, d, _BLOCK)]
    if isinstance(view, np.ndarray):
        sums_of = partial(_dense_sums, view, labels, n_clusters)
    else:
        by_column = view.tocsc(copy=True)
        by_column.sum_duplicates()
        by_column.eliminate_zeros()
        sums_of = partial(_sparse_sums, by_column, labels, n_clusters)
    with ThreadPoolExecutor(n_jobs or cores()) as pool:
        parts = list(pool.map(sums_of, blocks))
    sums = _Sums(*(np.concatenate([getattr(part, name) for part in parts]) for name in _Sums.__dataclass_fields__))
    return _statistics(sums, np.bincount(labels, minlength=n_clusters).astype(float), n)


def _statistics(sums: _Sums, sizes: np.ndarray, n: int) -> FeatureStatistics:
    outside = n - sizes
    with np.errstate(divide="ignore", invalid="ignore"):
        wins = sums.ranks - sizes * (sizes + 1) / 2
        auroc = wins / (sizes * outside)
        mean, share = sums.values / sizes, sums.nonzero / sizes
        all_values, all_nonzero = sums.values.sum(axis=1, keepdims=True), sums.nonzero.sum(axis=1, keepdims=True)
        mean_outside, share_outside = (all_values - sums.values) / outside, (all_nonzero - sums.nonzero) / outside
        # a constant has no spread, and differs by rounding only
        difference = np.where(sums.spread > 0, 1 / sums.spread, 0.0)[:, None] * (mean - mean_outside)
        typical = np.where(all_nonzero > 0, all_values / all_nonzero, 1.0) / 2
        log_fold = np.log2((mean + typical / sizes) / (mean_outside + typical / outside))
        log_fold = np.where(sums.lowest[:, None] >= 0, log_fold, np.nan)
        # Mann-Whitney: U is about normal, with this variance.
        variance = sizes * outside / 12 * (n + 1 - sums.ties[:, None] / (n * (n - 1)))
        z = np.maximum(np.abs(wins - sizes * outside / 2) - 0.5, 0.0) / np.sqrt(variance)
        p = np.where(variance > 0, np.minimum(2 * ndtr(-z), 1.0), 1.0)
    nobody = (sizes == 0) | (outside == 0)
    p = np.where(nobody, np.nan, p)
    parts = (auroc, difference, log_fold, mean, mean_outside, share, share_outside, p)
    return FeatureStatistics(*(np.ascontiguousarray(part.T) for part in parts))


def _dense_sums(view: np.ndarray, labels: np.ndarray, n_clusters: int, columns: slice) -> _Sums:
    block = np.ascontiguousarray(view[:, columns].T)
    if block.dtype.kind != "f":
        block = block.astype(np.float64)
    ranks, ties = rank_sums(block, np.argsort(block, axis=1), labels, n_clusters)
    clusters = np.zeros((len(labels), n_clusters))
    clusters[np.arange(len(labels)), labels] = 1.0
    exact = block.astype(np.float64, copy=False)
    lowest, highest = exact.min(axis=1), exact.max(axis=1)
    # of a constant, not its rounding
    spread = np.where(lowest == highest, 0.0, exact.std(axis=1))
    return _Sums(ranks, exact @ clusters, (exact != 0).astype(float) @ clusters, ties, spread, lowest)


def _sparse_sums(view: sp.csc_array, labels: np.ndarray, n_clusters: int, columns: slice) -> _Sums:
    starts = view.indptr[columns.start : columns.stop + 1]
    stored = slice(starts[0], starts[-1])
    data = view.data[stored].astype(np.float64, copy=False)
    ranks, values, nonzero, ties, spread, lowest = sparse_rank_sums(
        data, view.indices[stored], starts - starts[0], labels, np.bincount(labels, minlength=n_clusters).astype(float)
    )
    return _Sums(ranks, values, nonzero, ties, spread, lowest)


@njit(nogil=True, cache=True)
def rank_sums(
    points: np.ndarray, order: np.ndarray, labels: np.ndarray, n_clusters: int
) -> tuple[np.ndarray, np.ndarray]:
    """Add up the ranks of each cluster's samples in every row of ``points``, which ``order`` sorts.

    Equal values share the mean of their ranks. Also returns ``Σ(t³ - t)`` over the groups of t equal values.
    """
    d, n = points.shape
    sums, ties = np.zeros((d, n_clusters)), np.zeros(d)
    for j in range(d):
        values, sorted_by = points[j], order[j]
        start = 0
        while start < n:
            stop = start + 1
            while stop < n and values[sorted_by[stop]] == values[sorted_by[start]]:
                stop += 1
            rank, count = (start + stop + 1) / 2, float(stop - start)
            for i in range(start, stop):
                sums[j, labels[sorted_by[i]]] += rank
            ties[j] += count**3 - count
            start = stop
    return sums, ties


@njit(nogil=True, cache=True)
def sparse_rank_sums(
    data: np.ndarray, indices: np.ndarray, starts: np.ndarray, labels: np.ndarray, sizes: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Compute what :class:`_Sums` holds from the stored values of some columns; all others are zero, and one tie."""
    d, n, n_clusters = len(starts) - 1, float(len(labels)), len(sizes)
    ranks, values, nonzero = np.zeros((d, n_clusters)), np.zeros((d, n_clusters)), np.zeros((d, n_clusters))
    ties, spread, lowest = np.zeros(d), np.zeros(d), np.zeros(d)
    for j in range(d):
        own, rows = data[starts[j] : starts[j + 1]], indices[starts[j] : starts[j + 1]]
        order = np.argsort(own)
        n_stored = len(own)
        n_zeros = n - n_stored
        start = 0
        n_below = 0  # of zero
        while start < n_stored:
            stop = start + 1
            while stop < n_stored and own[order[stop]] == own[order[start]]:
                stop += 1
            before = 0.0
            if own[order[start]] > 0:
                before = n_zeros
            else:
                n_below = stop
            rank, count = before + (start + stop + 1) / 2, float(stop - start)
            for i in range(start, stop):
                ranks[j, labels[rows[order[i]]]] += rank
            ties[j] += count**3 - count
            start = stop
        ties[j] += n_zeros**3 - n_zeros
        total = 0.0
        for i in range(n_stored):
            cluster = labels[rows[i]]
            values[j, cluster] += own[i]
            nonzero[j, cluster] += 1.0
            total += own[i]
        rank_of_zero = n_below + (n_zeros + 1) / 2
        for cluster in range(n_clusters):
            ranks[j, cluster] += rank_of_zero * (sizes[cluster] - nonzero[j, cluster])
        mean = total / n
        squares = n_zeros * mean * mean
        for i in range(n_stored):
            squares += (own[i] - mean) ** 2
        if n_stored > 0:
            lowest[j] = own[order[0]]
            if n_zeros > 0:
                lowest[j] = min(0.0, lowest[j])
            if n_zeros > 0 or own[order[0]] != own[order[n_stored - 1]]:
                spread[j] = np.sqrt(squares / n)
    return ranks, values, nonzero, ties, spread, lowest


def strongest(statistics: FeatureStatistics, cluster: int, n_features: int) -> np.ndarray:
    """Return the features of a cluster by effect size, largest first: by AUROC, and by the difference where equal."""
    away = np.abs(np.nan_to_num(statistics.auroc[cluster], nan=0.5) - 0.5)
    difference = np.abs(np.nan_to_num(statistics.difference[cluster]))
    return np.lexsort((np.arange(len(away)), -difference, -away))[:n_features]


def corrected(p: np.ndarray) -> np.ndarray:
    """Correct p values for the number of tests by Benjamini and Hochberg; NaN stays, and does not count as a test."""
    known = np.isfinite(p)
    result = np.full(p.shape, np.nan)
    tests = p[known]
    order, n = np.argsort(tests), len(tests)
    tests[order] = np.minimum.accumulate((tests[order] * n / np.arange(1, n + 1))[::-1])[::-1]
    result[known] = np.minimum(tests, 1.0)
    return result
