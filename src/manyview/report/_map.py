"""Map of the samples: points in the plane, clusters apart, samples between the clusters that they resemble."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from sklearn.utils.extmath import randomized_svd

from manyview._utils.drawing import circle, cluster_means, principal, shares_of_means
from manyview.graphs import unit_variance
from manyview.report._view_graphs import Shown, learned_graph, scaled_views
from manyview.views import Views

_MAX_ON_CIRCLE = 12  # clusters; more would be too close to each other
_MAX_MATCHED = 500  # clusters: the time to assign centres grows with the cube of their number
_MAX_COMPONENTS = 50
_GOLDEN_ANGLE = np.pi * (3 - 5**0.5)
_ROUNDING = 1e-9  # relative to the values; smaller ones are rounding errors
_RADIUS = 0.5  # of the largest cluster, relative to the distance of the centres; clusters may touch but not overlap


def project(model: Any, views: Views, shown: Shown) -> tuple[np.ndarray, str]:
    """Compute the points of the samples that are shown, and say in words how.

    Every cluster has a centre. A sample lies between the centres of the clusters that it is a mixture of, by the
    model's ``embedding_``, else by its learned graph, else by all views side by side. Around that point the samples of
    a cluster are spread by its own two principal components, in a disc whose area follows the size of the cluster:
    coordinates in which clusters are compact would put hundreds of samples on one point.

    Parameters
    ----------
    model : fitted estimator
    views : Views
    shown : Shown

    Returns
    -------
    points : ndarray of shape (n_shown, 2)
        Centred at 0; the longer side is 2.
    how : str
    """
    clusters, codes = np.unique(shown.codes, return_inverse=True)
    described = _side_by_side(model, views, shown)
    if len(clusters) == 1:
        return _framed(principal(described)[0]), "the first two principal components of all views side by side"
    shares, source = _mixtures(model, shown, described, codes, len(clusters))
    centres = _centres(cluster_means(described, codes, len(clusters)))
    how = (
        f"between the clusters that a sample is a mixture of {source}; within a cluster, samples that are alike in "
        "all views lie side by side"
    )
    return _framed(shares @ centres + _spread(described, codes, _nearest_distance(centres))), how


def _mixtures(
    model: Any, shown: Shown, described: np.ndarray, codes: np.ndarray, n_clusters: int
) -> tuple[np.ndarray, str]:
    """Return the share of each cluster in each sample by the best that the method has learned, and its name."""
    embedding = getattr(model, "embedding_", None)
    if embedding is not None:
        coordinates = np.asarray(embedding[shown.rows], dtype=np.float64)
        return shares_of_means(coordinates, codes, n_clusters), "in the coordinates that the method found"
    graph = learned_graph(model, shown)
    if graph is not None:
        anchor_codes = np.searchsorted(np.unique(shown.codes), shown.anchor_codes)
        links = np.asarray(abs(graph) @ np.eye(n_clusters)[anchor_codes])
        links[~links.any(axis=1)] = 1.0  # without a link to the anchors that are shown: equal shares
        return links / links.sum(axis=1, keepdims=True), "by its weights in the learned graph"
    return shares_of_means(described, codes, n_clusters), "in all views side by side"


def _side_by_side(model: Any, views: Views, shown: Shown) -> np.ndarray:
    """Return the leading components (at least two) of all views side by side, each view with the same total variance.

    The largest value is 1.
    """
    scaled, _ = scaled_views(model, views, shown.rows)
    comparable = [unit_variance(view) for view in scaled]
    dense = all(isinstance(view, np.ndarray) for view in comparable)
    stacked = np.hstack(comparable) if dense else sp.csr_array(sp.hstack(comparable))
    n_components = min(_MAX_COMPONENTS, *stacked.shape)
    vectors, lengths, _ = randomized_svd(stacked, n_components, n_iter=2, random_state=0)
    found = (vectors * lengths).astype(np.float64)
    found = found / max(np.abs(found).max(), np.finfo(float).tiny)
    return np.column_stack([found, np.zeros((len(found), max(0, 2 - n_components)))])


def _centres(means: np.ndarray) -> np.ndarray:
    """Return a centre for each cluster: on a circle, or if there are many, in a disc, similar clusters nearby."""
    n_clusters = len(means)
    if n_clusters == 2:
        return np.array([[-1.0, 0.0], [1.0, 0.0]])
    if n_clusters <= _MAX_ON_CIRCLE:
        return circle(n_clusters)
    turn = _GOLDEN_ANGLE * np.arange(n_clusters)
    radius = np.sqrt((np.arange(n_clusters) + 0.5) / n_clusters)
    centres = radius[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])
    if n_clusters > _MAX_MATCHED:
        return centres
    wanted = principal(means)[0]
    wanted = wanted / max(np.abs(wanted).max(), np.finfo(float).tiny)
    distances = ((wanted[:, None] - centres) ** 2).sum(axis=2)
    return centres[linear_sum_assignment(distances)[1]]


def _nearest_distance(centres: np.ndarray) -> float:
    """Return the distance of neighbouring centres: exact on a circle, estimated in a disc from the area of each."""
    if len(centres) <= _MAX_ON_CIRCLE:
        return float(np.linalg.norm(centres[0] - centres[1]))
    return float(np.sqrt(np.pi / len(centres)))


def _spread(described: np.ndarray, codes: np.ndarray, distance: float) -> np.ndarray:
    """Return the position of each sample within its cluster, in a disc around 0."""
    sizes = np.bincount(codes)
    spread = np.zeros((len(codes), 2))
    for code, size in enumerate(sizes):
        if size > 2:
            rows = codes == code
            local = principal(described[rows])[0]
            local /= np.maximum(np.sqrt((local**2).mean(axis=0)), _ROUNDING)
            # Outlying samples are moved inwards, so that they stay near their cluster.
            local /= np.sqrt(6 + (local**2).sum(axis=1, keepdims=True))
            spread[rows] = _RADIUS * distance * np.sqrt(size / sizes.max()) * local
    return spread


def _framed(points: np.ndarray) -> np.ndarray:
    low, high = points.min(axis=0), points.max(axis=0)
    side = (high - low).max()
    return (points - (low + high) / 2) * (2 / side if side > _ROUNDING else 0.0)
