"""Map of the samples: points in the plane, clusters apart, samples between the clusters that they resemble.

Reports and figures share it. Of many samples, some are chosen such that small clusters stay visible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import randomized_svd

from manyview._utils.drawing import circle, cluster_means, principal, shares_of_means
from manyview.graphs import SCALERS, unit_variance
from manyview.views import Array, Views, check_views
from manyview.views.joins import spread

MAX_SHOWN = 2000
"""Samples on the map of a report."""

_MAX_ANCHORS = (600, 2000)  # for few and for many clusters
_ANCHORS_OF_CLUSTER = 15
_MAX_ON_CIRCLE = 12  # clusters; more would be too close to each other
_MAX_MATCHED = 500  # clusters: the time to assign centres grows with the cube of their number
_MAX_COMPONENTS = 50
_GOLDEN_ANGLE = np.pi * (3 - 5**0.5)
_ROUNDING = 1e-9  # relative to the values; smaller ones are rounding errors
_RADIUS = 0.5  # of the largest cluster, relative to the distance of the centres; clusters may touch but not overlap


@dataclass(frozen=True)
class Shown:
    """The samples that are shown, and the anchors that they are compared with.

    Parameters
    ----------
    rows, anchors : ndarrays of int
        Rows of the data.
    anchor_positions : ndarray of int
        Positions of these anchors among those of the model; the same as ``anchors`` if the model has none.
    codes, anchor_codes : ndarrays of int
        Clusters of the samples and of the anchors, from 0.
    own_anchors : bool
        Whether the anchors are those of the model.
    """

    rows: np.ndarray
    anchors: np.ndarray
    anchor_positions: np.ndarray
    codes: np.ndarray
    anchor_codes: np.ndarray
    own_anchors: bool


def choose_shown(model: Any, codes: np.ndarray, random_state: int = 0, most: int = MAX_SHOWN) -> Shown:
    """Choose samples to show, and anchors of the model to compare them with; other samples if it has no anchors."""
    rows = spread_over_clusters(codes, most, random_state)
    own = hasattr(model, "anchor_indices_")
    among = np.asarray(model.anchor_indices_) if own else np.arange(len(codes))
    most = int(np.clip(_ANCHORS_OF_CLUSTER * (codes.max() + 1), *_MAX_ANCHORS))
    positions = spread_over_clusters(codes[among], most, random_state + 1)
    anchors = among[positions]
    return Shown(rows, anchors, positions, codes[rows], codes[anchors], own)


def spread_over_clusters(codes: np.ndarray, most: int, random_state: int = 0) -> np.ndarray:
    """Return the rows to show, ascending: all if there are at most ``most``, else a random sample.

    Half of the sample is divided equally among the clusters, as far as these have samples; the other half follows the
    sizes. If there are more clusters than ``most``, one sample of each of the largest is shown.

    Parameters
    ----------
    codes : ndarray of int, shape (n_samples,)
        The cluster of each sample, from 0.
    most : int
        At least 1.
    random_state : int, default=0
        Random seed.

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
    """Return the number of samples of each cluster; ``most`` in total, fewer than there are."""
    largest_first = np.argsort(-sizes, kind="stable")
    quotas = np.zeros_like(sizes)
    quotas[largest_first[:most]] = np.minimum(sizes[largest_first[:most]], max(1, most // (2 * len(sizes))))
    left = most - quotas.sum()
    unused = sizes - quotas
    quotas += left * unused // max(int(unused.sum()), 1)
    # Samples that rounding down has left over go to the largest clusters, one each.
    for code in largest_first:
        if quotas.sum() >= most:
            break
        quotas[code] += quotas[code] < sizes[code]
    return quotas


def project(model: Any, views: Views | None, shown: Shown) -> tuple[np.ndarray, str]:
    """Compute the points of the samples that are shown, and say in words how.

    Every cluster has a centre. A sample lies between the centres of the clusters that it is a mixture of, by the
    model's ``embedding_``, else by its learned graph, else by all views side by side. Around that point the samples of
    a cluster are spread by its own two principal components, in a disc whose area follows the size of the cluster:
    coordinates in which clusters are compact would put hundreds of samples on one point.

    Parameters
    ----------
    model : fitted estimator
    views : Views, optional
        What it was fitted on. Without them, ``embedding_`` says how the samples of a cluster differ.
    shown : Shown

    Returns
    -------
    points : ndarray of shape (n_shown, 2)
        Centred at 0; the longer side is 2.
    how : str
    """
    clusters, codes = np.unique(shown.codes, return_inverse=True)
    if views is None:
        described, differences = (
            _at_least_two(np.asarray(model.embedding_[shown.rows], dtype=float)),
            "these coordinates",
        )
    else:
        described, differences = _side_by_side(model, views, shown), "all views"
    if len(clusters) == 1:
        where = "the coordinates that the method found" if views is None else "all views side by side"
        return _framed(principal(described)[0]), f"the first two principal components of {where}"
    shares, source = _mixtures(model, shown, described, codes, len(clusters))
    centres = _centres(cluster_means(described, codes, len(clusters)))
    how = (
        f"between the clusters that a sample is a mixture of {source}; within a cluster, samples that are alike in "
        f"{differences} lie side by side"
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
    return _at_least_two(found / max(np.abs(found).max(), np.finfo(float).tiny))


def _at_least_two(columns: np.ndarray) -> np.ndarray:
    """Return the columns, and columns of zeros if there are fewer than two."""
    return np.column_stack([columns, np.zeros((len(columns), max(0, 2 - columns.shape[1])))])


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
    from scipy.optimize import linear_sum_assignment

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
    positions = np.zeros((len(codes), 2))
    for code, size in enumerate(sizes):
        if size > 2:
            rows = codes == code
            local = principal(described[rows])[0]
            local /= np.maximum(np.sqrt((local**2).mean(axis=0)), _ROUNDING)
            # Outlying samples are moved inwards, so that they stay near their cluster.
            local /= np.sqrt(6 + (local**2).sum(axis=1, keepdims=True))
            positions[rows] = _RADIUS * distance * np.sqrt(size / sizes.max()) * local
    return positions


def _framed(points: np.ndarray) -> np.ndarray:
    low, high = points.min(axis=0), points.max(axis=0)
    side = (high - low).max()
    return (points - (low + high) / 2) * (2 / side if side > _ROUNDING else 0.0)


def scaled_views(model: Any, views: Views, rows: np.ndarray) -> tuple[list[Array], np.ndarray]:
    """Return rows of every view, scaled as in the fit, and a mask of the views that each sample has.

    A model that keeps the learned scaling applies it. Other models keep only its name; it is learned from these rows.
    """
    some = check_views(views.take(rows), min_samples=1, may_be_constant=True, keep_float32=True)
    present = np.ones((len(rows), some.n_views), dtype=bool) if some.present is None else some.present
    scale = getattr(model, "_scale_view", None) or partial(_scale_by_name, model, some.names)
    scaled = []
    for v, view in enumerate(some.arrays):
        known = scale(v, view[present[:, v]]) if present[:, v].any() else view[present[:, v]]
        scaled.append(spread(known, np.flatnonzero(present[:, v]), len(rows)))
    return scaled, present


def _scale_by_name(model: Any, names: Sequence[str], v: int, values: Array) -> Array:
    found = getattr(model, "scaling_", {}).get(names[v]) or getattr(model, "scaling", "max")
    return SCALERS[found if isinstance(found, str) and found in SCALERS else "max"](values)


def learned_graph(
    model: Any, shown: Shown, names: Sequence[str] = ("consensus_graph_", "learned_graph_")
) -> sp.csr_array | np.ndarray | None:
    """Return the learned graph between the samples that are shown and the anchors; None without one."""
    graph = next((getattr(model, name) for name in names if hasattr(model, name)), None)
    if graph is None:
        return None
    graph = sp.csr_array(graph) if sp.issparse(graph) else np.asarray(graph)
    return graph[shown.rows][:, shown.anchor_positions]
