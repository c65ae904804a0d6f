"""Shared by figures and reports: colours, records of a fit to show, and points in the plane."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

TEN_COLOURS = (
    "#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6", "#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd",
)  # fmt: skip
"""Ten colours that people with a colour vision deficiency can distinguish (M. A. Petroff, 2021)."""

AGREEMENTS = ("agreement", "stability")
"""Records and scores between 0 and 1 by definition."""

# Shown if there are no agreements: the first of these that was recorded.
_USUAL = ("objective", "subspace_change", "relative_change", "start_objective")


def is_by_view(history: Mapping[str, np.ndarray]) -> bool:
    """Return whether records are per view and not per pass, as for LMVSC, which solves each view once."""
    return "qp_gap" in history


def steps(history: Mapping[str, np.ndarray], n_iter: int) -> tuple[np.ndarray, str]:
    """Return the number of each step, and the unit that is counted."""
    if "n_members" in history:
        return history["n_members"], "members"
    if set(history) == {"start_objective"}:  # methods that only run k-means, whose passes are not recorded
        return np.arange(1, len(history["start_objective"]) + 1), "start"
    return np.arange(1, n_iter + 1), "pass"


def usual_keys(history: Mapping[str, np.ndarray]) -> list[str]:
    """Return the records to show first: the agreements of an ensemble, else the objective or its substitute."""
    return [key for key in AGREEMENTS if key in history] or [key for key in _USUAL if key in history][:1]


def principal(coordinates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute the first two principal components, and their shares of the variance.

    The largest loading of each is positive, so that the picture is reproducible.

    Parameters
    ----------
    coordinates : ndarray of shape (n_samples, n_columns)
        At least two columns and two samples.

    Returns
    -------
    points : ndarray of shape (n_samples, 2)
    shares : ndarray of shape (2,)

    Examples
    --------
    >>> points, shares = principal(np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 0.0]]))
    >>> points[:, 0].tolist(), shares.tolist()
    ([-2.0, 0.0, 2.0], [1.0, 0.0])
    """
    centred = coordinates - coordinates.mean(axis=0)
    lengths, loadings = np.linalg.svd(centred, full_matrices=False)[1:]
    loadings = loadings[:2]
    largest = np.abs(loadings).argmax(axis=1)
    loadings = loadings * np.sign(loadings[np.arange(2), largest])[:, None]
    shares = lengths**2 / max((lengths**2).sum(), np.finfo(float).tiny)
    return centred @ loadings.T, shares[:2]


def circle(n_clusters: int) -> np.ndarray:
    """Return equidistant points on a circle, one for each cluster, the first on top."""
    angles = 2 * np.pi * np.arange(n_clusters) / n_clusters
    return np.column_stack([np.sin(angles), np.cos(angles)])


def bring_means(coordinates: np.ndarray, codes: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Project linearly such that the means of the clusters come as near as possible to given points in the plane.

    If the means span as many dimensions as there are clusters, less one, as in spectral embeddings, they are mapped to
    the points exactly.

    Parameters
    ----------
    coordinates : ndarray of shape (n_samples, n_columns)
    codes : ndarray of int, shape (n_samples,)
        Clusters from 0, none of them empty.
    points : ndarray of shape (n_clusters, 2)

    Returns
    -------
    ndarray of shape (n_samples, 2)

    Examples
    --------
    >>> (bring_means(np.eye(3), np.arange(3), circle(3)).round(2) + 0.0).tolist()
    [[0.0, 1.0], [0.87, -0.5], [-0.87, -0.5]]
    """
    means = cluster_means(coordinates, codes, len(points))
    return _mixture(coordinates, means) @ points


def shares_of_means(coordinates: np.ndarray, codes: np.ndarray, n_clusters: int) -> np.ndarray:
    """Express each sample as a mixture of the means of the clusters.

    The shares minimise the squared error; negative ones are then set to 0 and the others scaled to sum to 1.

    Parameters
    ----------
    coordinates : ndarray of shape (n_samples, n_columns)
    codes : ndarray of int, shape (n_samples,)
        Clusters from 0, none of them empty.
    n_clusters : int

    Returns
    -------
    ndarray of shape (n_samples, n_clusters)

    Examples
    --------
    >>> shares_of_means(np.array([[0.0], [0.0], [1.0], [3.0]]), np.array([0, 0, 1, 1]), 2).round(2).tolist()
    [[1.0, 0.0], [1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]
    """
    means = cluster_means(coordinates, codes, n_clusters)
    shares = np.maximum(_mixture(coordinates, means) + 1 / n_clusters, 0)
    return shares / shares.sum(axis=1, keepdims=True)


def _mixture(coordinates: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Return the least-squares coefficients of the centred means in each sample; they sum to 0."""
    middle = means.mean(axis=0)
    # The centred means sum to 0, so one singular value is rounding error and must not be inverted.
    return (coordinates - middle) @ np.linalg.pinv(means - middle, rcond=1e-8)


def cluster_means(coordinates: np.ndarray, codes: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return the mean of each cluster, one row each."""
    return np.array([coordinates[codes == code].mean(axis=0) for code in range(n_clusters)])
