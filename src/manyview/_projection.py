"""Samples with many coordinates as points in the plane, by a linear map that is chosen to show their clusters."""

from __future__ import annotations

import numpy as np


def principal(coordinates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first two principal components, and the shares of the variance that they have.

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
    """Places at equal distances on a circle, one for each cluster, the first on top."""
    angles = 2 * np.pi * np.arange(n_clusters) / n_clusters
    return np.column_stack([np.sin(angles), np.cos(angles)])


def bring_means(coordinates: np.ndarray, codes: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Project such that the means of the clusters come as near as possible to given places in the plane.

    The map is linear. If the means are as many dimensions apart as there are clusters, less one, as in spectral
    embeddings, they come to their places exactly.

    Parameters
    ----------
    coordinates : ndarray of shape (n_samples, n_columns)
    codes : ndarray of int, shape (n_samples,)
        Clusters from 0, none of them empty.
    places : ndarray of shape (n_clusters, 2)

    Returns
    -------
    ndarray of shape (n_samples, 2)

    Examples
    --------
    >>> (bring_means(np.eye(3), np.arange(3), circle(3)).round(2) + 0.0).tolist()
    [[0.0, 1.0], [0.87, -0.5], [-0.87, -0.5]]
    """
    means = cluster_means(coordinates, codes, len(places))
    return _away_from_middle(coordinates, means) @ places


def shares_of_means(coordinates: np.ndarray, codes: np.ndarray, n_clusters: int) -> np.ndarray:
    """Each sample as a mixture of the means of the clusters.

    The mixture is that of least squares; shares below 0 are then left out, and the others add up to 1.

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
    shares = np.maximum(_away_from_middle(coordinates, means) + 1 / n_clusters, 0)
    return shares / shares.sum(axis=1, keepdims=True)


def _away_from_middle(coordinates: np.ndarray, means: np.ndarray) -> np.ndarray:
    """How much of each mean, seen from the middle of them all, there is in each sample; they add up to 0."""
    middle = means.mean(axis=0)
    # The centred means add up to 0, so one singular value is rounding error and must not be inverted.
    return (coordinates - middle) @ np.linalg.pinv(means - middle, rcond=1e-8)


def cluster_means(coordinates: np.ndarray, codes: np.ndarray, n_clusters: int) -> np.ndarray:
    """The mean of each cluster, one row each."""
    return np.array([coordinates[codes == code].mean(axis=0) for code in range(n_clusters)])
