"""Gaussian kernels between all samples: dense, n x n."""

from __future__ import annotations

import numpy as np

from manyview.graphs.neighbours import squared_distances
from manyview.views import Array

# Squared distances below this share of the largest are rounding: the samples are equal.
_ROUNDING = 1e-12


def median_bandwidth(distances: np.ndarray) -> float:
    """The median of all pairwise (not squared) distances, each pair twice and each sample with itself once.

    Parameters
    ----------
    distances : ndarray of shape (n, n)
        Squared. Where most are 0, because most samples are duplicates, the median of the others is taken; where all
        are, 1.
    """
    median = float(np.median(distances))
    floor = _ROUNDING * float(distances.max())
    if median <= floor:
        apart = distances[distances > floor]
        median = float(np.median(apart)) if apart.size else 1.0
    return float(np.sqrt(median))


def gaussian_kernel(view: Array, bandwidth: float | None = None) -> np.ndarray:
    """``exp(-|x_i - x_j|²/(2σ²))`` with the bandwidth σ, by default the median distance of two samples.

    Parameters
    ----------
    view : array of shape (n, d)
    bandwidth : float, optional
        σ, positive.

    Returns
    -------
    ndarray of shape (n, n)
        Exactly symmetric, with ones on the diagonal.
    """
    kernel = squared_distances(view, view)
    kernel += kernel.T
    kernel *= 0.5
    np.fill_diagonal(kernel, 0.0)
    sigma = median_bandwidth(kernel) if bandwidth is None else bandwidth
    kernel /= -2.0 * sigma**2  # not times the inverse, which is infinite if distances are tiny
    return np.exp(kernel, out=kernel)
