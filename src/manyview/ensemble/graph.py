"""The learned graph: the edges of all views between samples and anchors, without those that leave a cluster.

View v counts in it with the paper's weight ``1/h_v``, where ``h_v² = tr(FᵀL_vF)/K`` is the mean normalised cut that the
clusters make in the graph of the view (F holds their scaled indicators).

Each cluster is made one connected component. Components follow from the anchors alone: all anchors that a sample has
edges to are connected. So a block of samples is reduced to a partition of the anchors.
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.exceptions import ConvergenceWarning

from manyview._utils.compiled import njit
from manyview.engines import Block, Rows
from manyview.ensemble.columns import GRAPH, LABELS, ROWS, units_in_one
from manyview.ensemble.members import Lists, Member, member_edges
from manyview.exceptions import warn_user

# A view whose graph the clusters do not cut at all would outweigh all others.
_SMALLEST_CUT = 0.01


@dataclass(frozen=True)
class GraphRule:
    """Rule by which the edges of a sample follow from its lists and its label.

    ``labels`` are those of the pool, ``view_weights`` sum to 1, and each view has ``n_neighbors`` edges.
    """

    lists: Lists
    labels: np.ndarray
    n_clusters: int
    n_neighbors: int
    view_weights: np.ndarray

    @property
    def member(self) -> Member:
        """A member with all views and all anchors."""
        views = tuple(range(self.lists.n_views))
        return Member(-1, "whole", views, np.arange(self.lists.n_anchors), self.n_neighbors, 0, self.n_clusters, 0)


def graph_rule(rows: Rows, lists: Lists, anchor_labels: np.ndarray, n_neighbors: int, n_clusters: int) -> GraphRule:
    """Return the rule for rows with ``labels``; view weights follow from the cut of the clusters and from agreement."""
    rule = GraphRule(lists, anchor_labels, n_clusters, n_neighbors, np.ones(lists.n_views))
    units = units_in_one(rows.n_rows)  # the edges of a row in a view sum to 1 at most
    weights = view_weights(rows.sum(_cluster_masses, rule, units) / units)
    weights = weights * [lists.weight(v) for v in range(lists.n_views)]
    return GraphRule(lists, anchor_labels, n_clusters, n_neighbors, weights / weights.sum())


def view_weights(masses: np.ndarray) -> np.ndarray:
    """Return view weights from the mass (n_views, K, K) between clusters of the samples and of the anchors."""
    from_samples, to_anchors = masses.sum(axis=2), masses.sum(axis=1)
    volume = np.sqrt(from_samples * to_anchors)
    kept = np.divide(np.einsum("vcc->vc", masses), volume, out=np.zeros_like(volume), where=volume > 0)
    cut = np.maximum(1.0 - kept.mean(axis=1), _SMALLEST_CUT)
    weights = 1.0 / np.sqrt(cut)
    return weights / weights.sum()


def connect_clusters(rows: Rows, rule: GraphRule) -> None:
    """Make each cluster one connected component of the ``graph`` that the rows keep.

    Samples without edges, and those of components apart from the rest of their cluster, are linked to the anchor of the
    cluster with the most edges. A cluster without an anchor stays without edges.
    """
    uses = rows.sum(_anchor_uses)
    parts = rows.reduce(_anchor_parts, _join_parts)
    order = np.lexsort((-uses, rule.labels))
    first = np.searchsorted(rule.labels[order], np.arange(rule.n_clusters))
    has_anchor = np.isin(np.arange(rule.n_clusters), rule.labels)
    hubs = np.where(has_anchor, order[np.minimum(first, len(order) - 1)], -1)
    rows.keep(GRAPH.name, _link_strays, parts, hubs)


def inner_edges(block: Block, rule: GraphRule) -> sp.csr_array:
    """Return the edges within the clusters, mean over the views; rows sum to 1, or to 0 without such edges."""
    anchors, weights, graphs = member_edges(block, rule.lists, rule.member)
    for factor, (start, stop) in zip(rule.view_weights, graphs, strict=True):
        weights[:, start:stop] *= factor
    edges = _edges_within(anchors, weights, block[LABELS.name], np.append(rule.labels, -1))
    return sp.csr_array(edges, shape=(len(anchors), rule.lists.n_anchors))


def _edges_within(
    anchors: np.ndarray, weights: np.ndarray, labels: np.ndarray, anchor_labels: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return weights, anchors in ascending order and starts of the rows; edges to the same anchor are summed."""
    data, columns = np.empty(anchors.size), np.empty(anchors.size, dtype=np.int32)
    starts = np.zeros(len(anchors) + 1, dtype=np.int32)
    _list_edges_within(anchors, weights, labels, anchor_labels, np.zeros(anchor_labels.size), data, columns, starts)
    return data[: starts[-1]].copy(), columns[: starts[-1]].copy(), starts


def in_own_pages(graph: sp.csr_array, dtype: np.dtype) -> sp.csr_array:
    """Return the graph of a block with weights in this precision, in pages that are given back when it is freed.

    Memory for many arrays of a megabyte is kept by the allocator, so :func:`take_graph` would need it twice.
    """
    data, indices = _in_own_pages(graph.data, dtype), _in_own_pages(graph.indices, graph.indices.dtype)
    return sp.csr_array((data, indices, graph.indptr), shape=graph.shape)


def _in_own_pages(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    if values.size < mmap.PAGESIZE:
        return values.astype(dtype, copy=False)
    copy = np.frombuffer(mmap.mmap(-1, values.size * np.dtype(dtype).itemsize), dtype)
    copy[:] = values
    return copy


@njit(nogil=True, cache=True)
def _list_edges_within(
    anchors: np.ndarray,
    weights: np.ndarray,
    labels: np.ndarray,
    anchor_labels: np.ndarray,
    support: np.ndarray,
    data: np.ndarray,
    columns: np.ndarray,
    starts: np.ndarray,
) -> None:
    count = 0
    for i in range(anchors.shape[0]):
        first, total = count, 0.0
        for j in range(anchors.shape[1]):
            anchor = anchors[i, j]
            if weights[i, j] > 0.0 and anchor_labels[anchor] == labels[i]:
                if support[anchor] == 0.0:
                    place = count  # few anchors, which are kept sorted
                    while place > first and columns[place - 1] > anchor:
                        columns[place] = columns[place - 1]
                        place -= 1
                    columns[place] = anchor
                    count += 1
                support[anchor] += weights[i, j]
                total += weights[i, j]
        for e in range(first, count):
            data[e] = support[columns[e]] / total
            support[columns[e]] = 0.0
        starts[i + 1] = count


def _cluster_masses(block: Block, rule: GraphRule, units: float) -> np.ndarray:
    """Return, for each graph, the mass between the clusters of samples and of anchors, in whole units."""
    anchors, weights, graphs = member_edges(block, rule.lists, rule.member)
    columns = rule.n_clusters + 1  # the last one is of the neutral anchor, which belongs to no cluster
    anchor_labels = np.append(rule.labels, rule.n_clusters)
    pairs = columns * block[LABELS.name].astype(np.int64)[:, None] + anchor_labels[anchors]
    masses = np.empty((len(graphs), rule.n_clusters, rule.n_clusters))
    for mass, (start, stop) in zip(masses, graphs, strict=True):
        counted = np.rint(weights[:, start:stop] * units).ravel()
        table = np.bincount(pairs[:, start:stop].ravel(), counted, minlength=rule.n_clusters * columns)
        mass[:] = table.reshape(-1, columns)[:, :-1]
    return masses


def _anchor_uses(block: Block) -> np.ndarray:
    graph = block[GRAPH.name]
    return np.bincount(graph.indices, minlength=graph.shape[1])


def _anchor_parts(block: Block) -> np.ndarray:
    """Return, for every anchor, the first one that is connected with it by edges of samples.

    Two edges of every sample, the first and another one, connect nearly all that is connected; few others are left.
    """
    graph = block[GRAPH.name]
    sizes = np.diff(graph.indptr)
    filled = np.flatnonzero(sizes)
    start, sizes = graph.indptr[filled], sizes[filled]
    first = graph.indices[start]
    parts = _parts(first, graph.indices[start + filled % sizes], graph.shape[1])
    tail, head = np.repeat(parts[first], sizes), parts[graph.indices]
    left = tail != head
    return _join_parts(parts, _parts(tail[left], head[left], len(parts)))


def _join_parts(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the join of two partitions."""
    each = np.arange(len(one))
    return _parts(np.concatenate([each, each]), np.concatenate([one, other]), len(one))


def _parts(tail: np.ndarray, head: np.ndarray, size: int) -> np.ndarray:
    edges = sp.coo_array((np.ones(len(tail), dtype=np.int8), (tail, head)), shape=(size, size))
    _, labels = connected_components(edges, directed=False)
    return np.unique(labels, return_index=True)[1][labels]


def _link_strays(block: Block, parts: np.ndarray, hubs: np.ndarray) -> sp.csr_array:
    graph, hub = block[GRAPH.name], hubs[block[LABELS.name]]
    sizes = np.diff(graph.indptr)
    part = np.full(len(sizes), -1)
    part[sizes > 0] = parts[graph.indices[graph.indptr[:-1][sizes > 0]]]
    link = np.flatnonzero((part != parts[hub]) & (hub >= 0))
    if not link.size:
        return graph
    weight = 1.0 / np.maximum(sizes[link], 1)
    linked = sp.csr_array(graph + sp.coo_array((weight, (link, hub[link])), shape=graph.shape))
    totals = np.asarray(linked.sum(axis=1)).ravel()
    linked = sp.csr_array(sp.diags_array(1.0 / np.where(totals > 0, totals, 1.0)) @ linked)
    return linked.astype(graph.dtype, copy=False)


def split_clusters(labels: np.ndarray, twin: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return exactly ``n_clusters`` labels: while there are fewer, the largest cluster's first sample is split off.

    ``twin`` is the first sample with the same content: equal samples stay together.
    """
    found = np.unique(labels)
    if len(found) == n_clusters:
        return labels
    warn_user(
        f"Only {len(found)} of n_clusters={n_clusters} clusters can be told apart; single samples were split off.",
        ConvergenceWarning,
    )
    labels = np.searchsorted(found, labels)
    for new in range(len(found), n_clusters):
        distinct = np.unique(twin)
        sizes = np.bincount(labels[distinct], minlength=new)
        first = distinct[labels[distinct] == np.argmax(sizes)][0]
        labels[twin == first] = new
    return labels


def labels_of_clusters(clusters: np.ndarray, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return the label of each cluster of the consensus: that of most of its samples, or a free one if it has none.

    A cluster has two labels if samples were split off from it.
    """
    counts = np.zeros((n_clusters, n_clusters), dtype=np.int64)
    np.add.at(counts, (clusters, labels), 1)
    label_of = counts.argmax(axis=1)
    empty = counts.sum(axis=1) == 0
    label_of[empty] = np.setdiff1d(np.arange(n_clusters), label_of[~empty])[: empty.sum()]
    return label_of


def number_clusters(rows: Rows, n_clusters: int) -> np.ndarray:
    """Renumber the clusters in the order of their first rows; return the number of each."""
    first = rows.reduce(_first_rows, np.minimum, n_clusters)
    label_of = np.argsort(np.argsort(first))
    rows.keep(LABELS.name, _renamed, label_of)
    found = int((first < rows.n_rows).sum())
    if found < n_clusters:
        warn_user(
            f"Only {found} of n_clusters={n_clusters} clusters can be told apart; there are no samples in the others.",
            ConvergenceWarning,
        )
    return label_of


def _first_rows(block: Block, n_clusters: int) -> np.ndarray:
    labels, positions = np.unique(block[LABELS.name], return_index=True)
    first = np.full(n_clusters, np.iinfo(np.int64).max)
    first[labels] = block[ROWS.name].start + positions
    return first


def _renamed(block: Block, label_of: np.ndarray) -> np.ndarray:
    return label_of[block[LABELS.name]]


def take_graph(rows: Rows) -> sp.csr_array:
    """Return the graph of all rows; the blocks drop theirs, so that memory is needed only once."""
    blocks = rows.map(_graph)
    rows.drop(GRAPH.name)
    shape = (rows.n_rows, blocks[0].shape[1])
    sizes = np.concatenate([np.diff(block.indptr) for block in blocks])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    data = np.empty(starts[-1], dtype=blocks[0].data.dtype)
    indices = np.empty(starts[-1], dtype=blocks[0].indices.dtype)
    filled = starts[-1]
    while blocks:
        block = blocks.pop()
        filled -= block.nnz
        data[filled : filled + block.nnz] = block.data
        indices[filled : filled + block.nnz] = block.indices
    small = starts[-1] <= np.iinfo(np.int32).max
    return sp.csr_array((data, indices, starts.astype(np.int32) if small else starts), shape=shape)


def _graph(block: Block) -> sp.csr_array:
    return block[GRAPH.name]
