"""Graphs among the samples that a report shows: the graph and votes of each view, and images.

A view votes for the cluster to which most of a sample's nearest anchors in that view belong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview.description.map import Shown, learned_graph, scaled_views
from manyview.graphs import can_weights
from manyview.graphs.components import binned, places
from manyview.graphs.neighbours import nearest_rows
from manyview.graphs.similarity import list_graph
from manyview.metrics import adjusted_rand
from manyview.views import Array, Views

_NEIGHBORS = 10  # the paper's
_MAX_PIXELS = 250
_DIGITS = 4


@dataclass(frozen=True)
class Vote:
    """The graph of one view among the samples that are shown, and the cluster that it votes for.

    Parameters
    ----------
    graph : csr_array of shape (n_shown, n_anchors)
        Each sample with its nearest anchors, without the sample itself; empty rows where the view is missing.
    cluster : ndarray of int, shape (n_shown,)
        The cluster with most of this weight for each sample; -1 where the view is missing.
    """

    graph: sp.csr_array
    cluster: np.ndarray


def cast_votes(model: Any, views: Views, shown: Shown) -> list[Vote]:
    """Compute the graph and the votes of each view alone.

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
    both, index = np.unique(np.concatenate([shown.rows, shown.anchors]), return_inverse=True)
    rows, anchors = index[: len(shown.rows)], index[len(shown.rows) :]
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
    """Compute the graph of the nearest anchors of each sample in one space, and the clusters that it votes for.

    Parameters
    ----------
    samples, anchors : arrays of shape (n_shown, d) and (n_anchors, d)
    shown : Shown
        Their rows and clusters.
    has_view, anchor_has_view : ndarrays of bool, optional
        Masks of the samples and anchors that have this view; all if None.
    """
    voting = np.arange(len(shown.rows)) if has_view is None else np.flatnonzero(has_view)
    candidates = np.arange(len(shown.anchors)) if anchor_has_view is None else np.flatnonzero(anchor_has_view)
    shape = (len(shown.rows), len(shown.anchors))
    if len(voting) == 0 or len(candidates) < 2:  # a single anchor has no other anchor to be compared with
        return Vote(sp.csr_array(shape), np.full(shape[0], -1))
    near, weights = _nearest_others(
        samples[voting],
        anchors[candidates],
        shown.rows[voting],
        shown.anchors[candidates],
        min(_NEIGHBORS, len(candidates) - 1),
    )
    part = list_graph(candidates[near], weights, shape[1]).tocoo()
    graph = sp.csr_array((part.data, (voting[part.row], part.col)), shape=shape)
    clusters, columns = np.unique(shown.anchor_codes, return_inverse=True)
    belongs = sp.csr_array((np.ones(shape[1]), (np.arange(shape[1]), columns)), shape=(shape[1], len(clusters)))
    voted = np.full(shape[0], -1)
    voted[voting] = clusters[(graph @ belongs).toarray()[voting].argmax(axis=1)]
    return Vote(graph, voted)


def _nearest_others(
    samples: Array, anchors: Array, rows: np.ndarray, anchor_rows: np.ndarray, n_neighbors: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest anchors of each sample, without the sample itself, and their weights."""
    m = len(anchor_rows)
    near, distances = nearest_rows(samples, anchors, min(n_neighbors + 2, m))
    is_self = anchor_rows[near] == rows[:, None]
    kept = np.argsort(is_self, axis=1, kind="stable")[:, : min(n_neighbors + 1, m - 1)]
    near, distances = np.take_along_axis(near, kept, axis=1), np.take_along_axis(distances, kept, axis=1)
    if kept.shape[1] <= n_neighbors:  # the weights need one more anchor: without it, all count equally
        return near, np.full(near.shape, 1 / near.shape[1])
    return near[:, :-1], can_weights(distances)


def agreement_of_view(vote: Vote, shown: Shown) -> tuple[float | None, float | None]:
    """Return the share of samples whose cluster the view votes for, and the ARI; None if the view is always missing."""
    voting = vote.cluster >= 0
    if not voting.any():
        return None, None
    voted, codes = vote.cluster[voting], shown.codes[voting]
    return float((voted == codes).mean()), float(adjusted_rand(codes, voted))


def agreement_of_samples(votes: list[Vote], shown: Shown) -> np.ndarray:
    """Return for each sample the share of its views that vote for its cluster; NaN without any vote."""
    voted = np.array([vote.cluster for vote in votes])
    n_votes = (voted >= 0).sum(axis=0)
    n_agreeing = (voted == shown.codes).sum(axis=0)
    return np.divide(n_agreeing, n_votes, out=np.full(len(n_votes), np.nan), where=n_votes > 0)


def graph_images(model: Any, shown: Shown, votes: Sequence[Vote], names: Sequence[str]) -> list[dict[str, Any]]:
    """Make images of all graphs, samples and anchors ordered by cluster; the learned graphs come first.

    Parameters
    ----------
    model : fitted estimator
    shown : Shown
    votes : list of Vote
    names : list of str
        Of the views.

    Returns
    -------
    list of dict
        With ``name`` (of the view, else None), ``kind`` ("learned", "embedding" or "view"), ``title``, ``image``
        (values from 0 to 1), ``inside`` (share of the weight inside clusters; None without any weight), and
        ``rows`` and ``columns`` (their number and what they are).
    """
    graphs: list[tuple[str | None, str, str, Any]] = [
        (None, kind, title, graph) for kind, title, graph in _learned(model, shown)
    ]
    graphs += [(name, "view", f"view {name}", vote.graph) for name, vote in zip(names, votes, strict=True)]
    return [
        {"name": name, "kind": kind, "title": title} | _image(sp.coo_array(graph), shown)
        for name, kind, title, graph in graphs
    ]


def blocks(shown: Shown) -> list[list[float]]:
    """Return the block of each cluster in the images: left, top, width and height, as shares of the image."""
    n_clusters = int(max(shown.codes.max(), shown.anchor_codes.max())) + 1
    heights = np.bincount(shown.codes, minlength=n_clusters) / len(shown.codes)
    widths = np.bincount(shown.anchor_codes, minlength=n_clusters) / len(shown.anchor_codes)
    found = np.column_stack([np.cumsum(widths) - widths, np.cumsum(heights) - heights, widths, heights])
    return found[(widths > 0) & (heights > 0)].round(5).tolist()


def _learned(model: Any, shown: Shown) -> Iterator[tuple[str, str, sp.csr_array | np.ndarray]]:
    """Yield the learned graphs; for methods that learn coordinates only, the graph of neighbours in these."""
    graph = learned_graph(model, shown)
    if graph is not None:
        yield "learned", "learned graph", graph
    components = learned_graph(model, shown, ["component_graph_"])
    if components is not None:
        yield "learned", "its components", components
    embedding = getattr(model, "embedding_", None)
    if graph is None and embedding is not None:
        title = "neighbours in the learned coordinates"
        yield "embedding", title, vote(embedding[shown.rows], embedding[shown.anchors], shown).graph


def _image(graph: sp.coo_array, shown: Shown) -> dict[str, Any]:
    weights = np.abs(graph.data)
    image, _ = binned(
        places(shown.codes)[graph.row], places(shown.anchor_codes)[graph.col], weights, graph.shape, _MAX_PIXELS
    )
    total = float(weights.sum())
    inside = float(weights[shown.codes[graph.row] == shown.anchor_codes[graph.col]].sum())
    anchors = "anchors" if shown.own_anchors else "samples to compare with"
    return {
        "image": (image / (image.max() or 1.0)).round(_DIGITS).tolist(),
        "inside": inside / total if total else None,
        "rows": f"{graph.shape[0]:,} samples",
        "columns": f"{graph.shape[1]:,} {anchors}",
    }
