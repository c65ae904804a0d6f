"""The learned graph: what all views see between samples and pool, without the edges that leave a cluster.

View v counts in it with the paper's weight ``1/h_v``, where ``h_v² = tr(FᵀL_vF)/K`` is the mean normalised cut that the
clusters make in the graph of the view (F holds their scaled indicators).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numba import njit

from manyview.engines import Block, Rows
from manyview.solvers._members import Lists, Member, member_edges

# A view whose graph the clusters do not cut at all would outweigh all others.
_SMALLEST_CUT = 0.01


def learned_graph(
    rows: Rows, lists: Lists, anchor_labels: np.ndarray, n_neighbors: int, n_clusters: int
) -> tuple[sp.csr_array, np.ndarray]:
    """Mean graph within the clusters, and view weights.

    Parameters
    ----------
    rows : Rows
        With ``labels``.
    anchor_labels : ndarray of shape (n_pool,)
        The labels of the pool.
    n_neighbors : int
        Edges per row and view.

    Returns
    -------
    graph : csr_array of shape (n, n_pool)
        Rows sum to 1, or to 0 where no edge stays within the cluster.
    weights : ndarray of shape (n_views,)
        They sum to 1.
    """
    n_views = len(lists.far)
    whole = Member(-1, "whole", tuple(range(n_views)), np.arange(lists.n_pool), n_neighbors, 0, n_clusters, 0)
    weights = view_weights(rows.sum(_cluster_masses, lists, whole, anchor_labels))
    return sp.csr_array(sp.vstack(rows.map(_inner_edges, lists, whole, anchor_labels, weights))), weights


def view_weights(masses: np.ndarray) -> np.ndarray:
    """Weights from the mass (n_views, K, K) between the clusters of the samples and those of the anchors."""
    from_samples, to_anchors = masses.sum(axis=2), masses.sum(axis=1)
    volume = np.sqrt(from_samples * to_anchors)
    kept = np.divide(np.einsum("vcc->vc", masses), volume, out=np.zeros_like(volume), where=volume > 0)
    cut = np.maximum(1.0 - kept.mean(axis=1), _SMALLEST_CUT)
    weights = 1.0 / np.sqrt(cut)
    return weights / weights.sum()


def _cluster_masses(block: Block, lists: Lists, member: Member, anchor_labels: np.ndarray) -> np.ndarray:
    anchors, weights, graphs = member_edges(block, lists, member)
    masses = np.zeros((len(graphs), member.n_clusters, member.n_clusters))
    for mass, (start, stop) in zip(masses, graphs, strict=True):
        _add_masses(anchors, weights, start, stop, block["labels"], anchor_labels, mass)
    return masses


@njit(nogil=True, cache=True)
def _add_masses(
    anchors: np.ndarray,
    weights: np.ndarray,
    start: int,
    stop: int,
    labels: np.ndarray,
    anchor_labels: np.ndarray,
    mass: np.ndarray,
) -> None:
    for i in range(anchors.shape[0]):
        for j in range(start, stop):
            if anchors[i, j] < anchor_labels.size:  # the neutral anchor belongs to no cluster
                mass[labels[i], anchor_labels[anchors[i, j]]] += weights[i, j]


def _inner_edges(
    block: Block, lists: Lists, member: Member, anchor_labels: np.ndarray, view_weight: np.ndarray
) -> sp.csr_array:
    anchors, weights, graphs = member_edges(block, lists, member)
    for factor, (start, stop) in zip(view_weight, graphs, strict=True):
        weights[:, start:stop] *= factor
    inside = np.append(anchor_labels, -1)[anchors] == block["labels"][:, None]
    weights[~inside] = 0.0
    total = weights.sum(axis=1, keepdims=True)
    weights = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    row, column = np.nonzero(weights)
    shape = (len(anchors), lists.n_pool)
    return sp.coo_array((weights[row, column], (row, anchors[row, column])), shape=shape).tocsr()
