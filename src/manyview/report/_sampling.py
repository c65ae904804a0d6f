"""Which samples a report shows: all of a few, and of many so that small clusters stay visible."""

from __future__ import annotations

import numpy as np


def spread_over_clusters(codes: np.ndarray, most: int, random_state: int = 0) -> np.ndarray:
    """Rows to show, ascending: all if they are no more than ``most``, else a random sample.

    Half of the places are shared equally among the clusters, as far as these have samples; the others follow the
    sizes. A cluster is left out only where there are more clusters than places: then the largest are shown.

    Parameters
    ----------
    codes : ndarray of int, shape (n_samples,)
        The cluster of each sample, from 0.
    most : int
        At least 1.
    random_state : int, default=0
        The same sample for the same number.

    Returns
    -------
    ndarray of int

    Examples
    --------
    >>> codes = np.repeat([0, 1], [1000, 3])
    >>> rows = spread_over_clusters(codes, 20)
    >>> len(rows), np.bincount(codes[rows]).tolist()
    (20, [17, 3])
    """
    n_samples = len(codes)
    if n_samples <= most:
        return np.arange(n_samples)
    sizes = np.bincount(codes)
    shuffled = np.random.default_rng(random_state).permutation(n_samples)
    by_cluster = shuffled[np.argsort(codes[shuffled], kind="stable")]
    rank = np.arange(n_samples) - np.repeat(np.cumsum(sizes) - sizes, sizes)  # within the cluster
    return np.sort(by_cluster[rank < np.repeat(_quotas(sizes, most), sizes)])


def _quotas(sizes: np.ndarray, most: int) -> np.ndarray:
    """How many samples of each cluster, ``most`` together, which is fewer than there are."""
    largest_first = np.argsort(-sizes, kind="stable")
    quotas = np.zeros_like(sizes)
    quotas[largest_first[:most]] = np.minimum(sizes[largest_first[:most]], max(1, most // (2 * len(sizes))))
    left = most - quotas.sum()
    unused = sizes - quotas
    quotas += left * unused // max(int(unused.sum()), 1)
    # What rounding down has left over goes to the largest clusters, one sample each.
    for code in largest_first:
        if quotas.sum() >= most:
            break
        quotas[code] += quotas[code] < sizes[code]
    return quotas
