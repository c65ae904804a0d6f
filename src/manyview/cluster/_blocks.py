"""A fit of more samples than are in memory, or than need be learned on: block by block.

Either the ensemble is learned on a sample by content and every row is placed by it, as new samples are, or it is
learned on all rows. In both cases the rows end up with ``labels``, ``embedding``, ``confidence`` and ``graph``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from manyview.cluster._learn import (
    Basis,
    Learned,
    OnStep,
    fitted_views,
    larger_pool,
    learn,
    make_graph,
    pooled_views,
    whole_rule,
)
from manyview.cluster._new_samples import FittedViews, PooledViews, list_columns, place_samples, precision
from manyview.cluster._source import checked
from manyview.engines import BLOCK_ROWS, Block, LocalRows, Rows
from manyview.exceptions import warn_user
from manyview.solvers._components import GraphRule, connect_clusters, inner_edges
from manyview.solvers._ensemble import place


@dataclass(frozen=True)
class Found:
    """What a fit has found, besides what the rows hold; ``members`` are the anchors' places in the basis's views."""

    learned: Learned
    rule: GraphRule
    members: np.ndarray
    label_of: np.ndarray


def fit_on_sample(rows: Rows, basis: Basis, on_step: OnStep) -> Found:
    """Learn on the basis's samples, then place all rows."""
    columns = basis.columns()
    sample = LocalRows(columns, basis.n_jobs)
    learned = learn(sample, basis, on_step)
    graph, _ = make_graph(basis, columns, sample.gather("labels").astype(np.int64))
    fitted = fitted_views(basis, learned, np.arange(basis.settings.n_clusters))
    graph_views = None if graph.pools is basis.pool.views else pooled_views(basis, graph.pools)
    rows.extend(_place, fitted, graph.rule, graph_views)
    return Found(learned, graph.rule, graph.members, _finish(rows, graph.rule))


def fit_on_all(rows: Rows, basis: Basis, on_step: OnStep) -> Found:
    """Learn on all rows; the basis says how they are scaled and which samples are anchors."""
    known = pooled_views(basis, basis.pool.views)
    rows.extend(_list, known)
    learned = learn(rows, basis, on_step)
    pool = basis.pool
    anchors = basis.views.take(basis.order.rows[pool.members])
    labels = place(learned.ensemble, list_columns(anchors, known)).labels
    if len(np.unique(labels)) < basis.settings.n_clusters:  # a cluster without an anchor could have no edges
        sample_labels = place(learned.ensemble, basis.columns()).labels
        pool = larger_pool(basis, sample_labels)
        labels = sample_labels[pool.members]
        rows.extend(_list, pooled_views(basis, pool.views))
    rule = whole_rule(rows, basis, pool, labels)
    rows.extend(_with_precision, rule, precision(basis.views))
    return Found(learned, rule, pool.members, _finish(rows, rule))


def take_graph(rows: Rows) -> sp.csr_array:
    """The graph of all rows, which the blocks then no longer hold: memory is needed once, and not twice."""
    blocks = rows.map(_graph)
    rows.drop("graph")
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
    return block["graph"]


def place_part(block: Block, fitted: FittedViews, what: str) -> np.ndarray:
    """Labels, embedding or confidence of the samples in a block."""

    def one(part: Block) -> dict[str, Any]:
        views = checked(part)
        return {what: place_samples(list_columns(views, fitted), views, part["rows"].start, fitted)[what]}

    return in_parts(block, one)[what]


def in_parts(block: Block, function: Callable[[Block], Mapping[str, Any]]) -> dict[str, Any]:
    """What the function returns for a block, which is gone through in parts that a processor's cache can hold."""
    rows = block["rows"]
    if len(rows) <= BLOCK_ROWS:
        return dict(function(block))
    cuts = [slice(start, min(start + BLOCK_ROWS, len(rows))) for start in range(0, len(rows), BLOCK_ROWS)]
    found = [function({"views": block["views"].take(cut), "rows": rows[cut]}) for cut in cuts]
    return {
        name: sp.csr_array(sp.vstack([part[name] for part in found]))
        if sp.issparse(found[0][name])
        else np.concatenate([part[name] for part in found])
        for name in found[0]
    }


def _place(
    block: Block, fitted: FittedViews, rule: GraphRule, graph_views: PooledViews | None
) -> dict[str, np.ndarray]:
    def one(part: Block) -> dict[str, Any]:
        views = checked(part)
        columns = list_columns(views, fitted)
        found = place_samples(columns, views, part["rows"].start, fitted)
        lists = columns if graph_views is None else list_columns(views, graph_views)
        graph = inner_edges({**lists, **found}, rule)
        return {**found, "graph": graph.astype(found["confidence"].dtype)}

    return in_parts(block, one)


def _list(block: Block, known: PooledViews) -> dict[str, np.ndarray]:
    return in_parts(block, lambda part: list_columns(checked(part), known))


def _with_precision(block: Block, rule: GraphRule, dtype: np.dtype) -> dict[str, Any]:
    values = {"embedding": block["embedding"], "confidence": block["confidence"], "graph": inner_edges(block, rule)}
    return {name: value.astype(dtype, copy=False) for name, value in values.items()}


def _finish(rows: Rows, rule: GraphRule) -> np.ndarray:
    """Make each cluster one component, and number them by their first row; the new number of each."""
    connect_clusters(rows, rule)
    first = rows.reduce(_first_rows, np.minimum, rule.n_clusters)
    label_of = np.argsort(np.argsort(first))
    rows.keep("labels", _renamed, label_of)
    found = int((first < rows.n_rows).sum())
    if found < rule.n_clusters:
        warn_user(
            f"Only {found} of n_clusters={rule.n_clusters} clusters can be told apart; there are no samples in the "
            "others.",
            ConvergenceWarning,
        )
    return label_of


def _first_rows(block: Block, n_clusters: int) -> np.ndarray:
    labels, places = np.unique(block["labels"], return_index=True)
    first = np.full(n_clusters, np.iinfo(np.int64).max)
    first[labels] = block["rows"].start + places
    return first


def _renamed(block: Block, label_of: np.ndarray) -> np.ndarray:
    return label_of[block["labels"]]
