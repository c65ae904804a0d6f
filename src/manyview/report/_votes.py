"""What each view alone says: which cluster the nearest anchors of a sample belong to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview.graphs import SCALERS, can_weights
from manyview.graphs.neighbours import nearest_rows
from manyview.graphs.similarity import list_graph
from manyview.metrics import adjusted_rand
from manyview.report._sampling import spread_over_clusters
from manyview.views import Array, Views, check_views
from manyview.views.joins import spread

_NEIGHBORS = 10  # the paper's
_MOST_SHOWN = 2000
_ANCHORS = (600, 2000)  # at most, for few and for many clusters
_ANCHORS_OF_CLUSTER = 15


@dataclass(frozen=True)
class Shown:
    """The samples that are shown and the anchors that they are compared with, as rows of the data.

    Parameters
    ----------
    rows, anchors : ndarrays of int
        Rows of the data.
    places : ndarray of int
        Where these anchors are among those of the model; the same as ``anchors`` if the model has none.
    codes, anchor_codes : ndarrays of int
        Their clusters, from 0.
    own_anchors : bool
        Whether they are anchors of the model.
    """

    rows: np.ndarray
    anchors: np.ndarray
    places: np.ndarray
    codes: np.ndarray
    anchor_codes: np.ndarray
    own_anchors: bool


@dataclass(frozen=True)
class Vote:
    """What one view says about the samples that are shown.

    Parameters
    ----------
    graph : csr_array of shape (n_shown, n_anchors)
        Each sample with its nearest anchors, the sample itself left out; nothing for samples that lack the view.
    cluster : ndarray of int, shape (n_shown,)
        The cluster that most of this weight leads to; -1 where there is none.
    """

    graph: sp.csr_array
    cluster: np.ndarray


def choose_shown(model: Any, codes: np.ndarray, random_state: int = 0) -> Shown:
    """Samples to show, and anchors of the model, or of the data if it has none, to compare them with."""
    rows = spread_over_clusters(codes, _MOST_SHOWN, random_state)
    own = hasattr(model, "anchor_indices_")
    among = np.asarray(model.anchor_indices_) if own else np.arange(len(codes))
    most = int(np.clip(_ANCHORS_OF_CLUSTER * (codes.max() + 1), *_ANCHORS))
    places = spread_over_clusters(codes[among], most, random_state + 1)
    anchors = among[places]
    return Shown(rows, anchors, places, codes[rows], codes[anchors], own)


def scaled_views(model: Any, views: Views, rows: np.ndarray) -> tuple[list[Array], np.ndarray]:
    """Return rows of every view on the scale on which the model compares them, and which views each sample has.

    A model that keeps the scaling of its fit applies it. The others keep its name only; it is learned from these rows.
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


def cast_votes(model: Any, views: Views, shown: Shown) -> list[Vote]:
    """What each view alone says about the samples that are shown.

    Parameters
    ----------
    model : fitted estimator
    views : Views
        What it was fitted on.
    shown : Shown

    Returns
    -------
    list of Vote
        One for each view.
    """
    both, place = np.unique(np.concatenate([shown.rows, shown.anchors]), return_inverse=True)
    rows, anchors = place[: len(shown.rows)], place[len(shown.rows) :]
    scaled, present = scaled_views(model, views, both)
    return [
        vote(view[rows], view[anchors], shown, present[rows, v], present[anchors, v]) for v, view in enumerate(scaled)
    ]


def vote(
    samples: Array,
    anchors: Array,
    shown: Shown,
    has_view: np.ndarray | None = None,
    anchor_has_view: np.ndarray | None = None,
) -> Vote:
    """What the nearest anchors of each sample say in one space.

    Parameters
    ----------
    samples, anchors : arrays of shape (n_shown, d) and (n_anchors, d)
    shown : Shown
        Who they are.
    has_view, anchor_has_view : ndarrays of bool, optional
        Which of them are known here; all if None.
    """
    asked = np.arange(len(shown.rows)) if has_view is None else np.flatnonzero(has_view)
    asking = np.arange(len(shown.anchors)) if anchor_has_view is None else np.flatnonzero(anchor_has_view)
    shape = (len(shown.rows), len(shown.anchors))
    if len(asked) == 0 or len(asking) < 2:  # with one anchor alone, that anchor itself would have nobody to ask
        return Vote(sp.csr_array(shape), np.full(shape[0], -1))
    near, weights = _nearest_others(
        samples[asked], anchors[asking], shown.rows[asked], shown.anchors[asking], min(_NEIGHBORS, len(asking) - 1)
    )
    part = list_graph(asking[near], weights, shape[1]).tocoo()
    graph = sp.csr_array((part.data, (asked[part.row], part.col)), shape=shape)
    clusters, anchor_places = np.unique(shown.anchor_codes, return_inverse=True)
    belongs = sp.csr_array((np.ones(shape[1]), (np.arange(shape[1]), anchor_places)), shape=(shape[1], len(clusters)))
    said = np.full(shape[0], -1)
    said[asked] = clusters[(graph @ belongs).toarray()[asked].argmax(axis=1)]
    return Vote(graph, said)


def _nearest_others(
    samples: Array, anchors: Array, rows: np.ndarray, anchor_rows: np.ndarray, n_neighbors: int
) -> tuple[np.ndarray, np.ndarray]:
    """The nearest anchors of each sample, without the sample itself, and their weights."""
    m = len(anchor_rows)
    near, distances = nearest_rows(samples, anchors, min(n_neighbors + 2, m))
    is_self = anchor_rows[near] == rows[:, None]
    kept = np.argsort(is_self, axis=1, kind="stable")[:, : min(n_neighbors + 1, m - 1)]
    near, distances = np.take_along_axis(near, kept, axis=1), np.take_along_axis(distances, kept, axis=1)
    if kept.shape[1] <= n_neighbors:  # no further anchor to measure by: those that there are count equally
        return near, np.full(near.shape, 1 / near.shape[1])
    return near[:, :-1], can_weights(distances)


def agreement_of_view(vote: Vote, shown: Shown) -> tuple[float | None, float | None]:
    """The share of samples for whose cluster the view speaks, and the adjusted Rand index; None if nobody has it."""
    asked = vote.cluster >= 0
    if not asked.any():
        return None, None
    said, is_in = vote.cluster[asked], shown.codes[asked]
    return float((said == is_in).mean()), float(adjusted_rand(is_in, said))


def agreement_of_samples(votes: list[Vote], shown: Shown) -> np.ndarray:
    """For each sample the share of its views that speak for its cluster; NaN if it has no view to ask."""
    said = np.array([vote.cluster for vote in votes])
    asked = (said >= 0).sum(axis=0)
    agreed = (said == shown.codes).sum(axis=0)
    return np.divide(agreed, asked, out=np.full(len(asked), np.nan), where=asked > 0)
