"""Placing samples that a model was not fitted to, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from manyview.cluster._pool import PoolView, ScaledView, neighbor_columns
from manyview.engines import Block
from manyview.exceptions import ViewsError
from manyview.graphs import CanonicalOrder
from manyview.graphs.canonical import Unit, unit_of
from manyview.solvers._ensemble import Ensemble, place
from manyview.views import Views
from manyview.views.checks import check_new_views, is_table, match_fitted
from manyview.views.joins import spread


@dataclass(frozen=True)
class PooledViews:
    """All that finding a sample's nearest pool members takes.

    ``source[v]`` is the place in ``pools`` of the view whose content view v has, and ``units[v]`` brings v to the unit
    of that view.
    """

    names: tuple[str, ...]
    n_features: tuple[int, ...]
    source: tuple[int, ...]
    units: tuple[Unit, ...]
    pools: tuple[PoolView, ...]


@dataclass(frozen=True)
class FittedViews(PooledViews):
    """All that placing a sample takes; ``label_of`` is the label of each cluster of the ensemble."""

    ensemble: Ensemble
    label_of: np.ndarray

    def __post_init__(self) -> None:
        """Refuse parts that do not fit together, as those of a file may: compiled code trusts these indices."""
        n_pool = self.ensemble.lists.n_pool
        for pool in self.pools:
            _expect(len(pool.places) == pool.anchors.shape[0], "a place for every anchor")
            _expect(1 <= pool.length <= len(pool.places), "lists no longer than there are anchors")
            _expect(_within(pool.places, n_pool), f"places below {n_pool}")
        consensus, shares = self.ensemble.consensus, self.ensemble.shares
        n_labels = len(self.label_of)
        for fitted in self.ensemble.members:
            member, size = fitted.member, len(fitted.member.anchors) + 1
            _expect(_within(member.anchors, n_pool), f"anchors below {n_pool}")
            _expect(
                0 <= member.n_kept <= member.n_neighbors and member.n_neighbors >= 1, "at most k edges that are kept"
            )
            _expect(fitted.scale.ndim == 2 and fitted.scale.shape[1] == size, f"scales of {size} anchors")
            _expect(fitted.vectors.shape == (size, fitted.centres.shape[1]), f"vectors of {size} anchors")
            _expect(len(fitted.centres) == member.n_clusters <= shares.shape[1], "a centre for every cluster")
        n_clusters = sum(fitted.member.n_clusters for fitted in self.ensemble.members)
        _expect(consensus.project.shape == (n_clusters, consensus.centres.shape[1]), f"{n_clusters} clusters in all")
        _expect(len(consensus.centres) == n_labels, f"{n_labels} centres")
        _expect(shares.shape[::2] == (len(self.ensemble.members), n_labels), f"shares of {n_labels} labels")


def _expect(fits: bool, what: str) -> None:
    if not fits:
        raise ValueError(f"its parts do not fit together: expected {what}")


def _within(indices: np.ndarray, stop: int) -> bool:
    return bool(indices.dtype.kind == "i" and ((indices >= 0) & (indices < stop)).all())


def view_units(views: Views, order: CanonicalOrder) -> Iterator[Unit]:
    """For every view, what brings its values to the unit of the view whose copy it is."""
    for v, source in enumerate(order.source):
        original, rows = order.views[source], _has_view(views, v)
        same = Unit(1.0, np.zeros(views.n_features[v]))
        yield same if v == original else unit_of(views.arrays[v][rows], views.arrays[original][rows])


def labels_of_clusters(clusters: np.ndarray, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """The label of each cluster of the ensemble: that of most of its samples, or one that is left if it has none.

    A cluster has two labels if samples were split off from it.
    """
    counts = np.zeros((n_clusters, n_clusters), dtype=np.int64)
    np.add.at(counts, (clusters, labels), 1)
    label_of = counts.argmax(axis=1)
    empty = counts.sum(axis=1) == 0
    label_of[empty] = np.setdiff1d(np.arange(n_clusters), label_of[~empty])[: empty.sum()]
    return label_of


def place_samples(columns: Block, views: Views, first_row: int, fitted: FittedViews) -> dict[str, np.ndarray]:
    """Labels, and in the precision of the views embedding and confidence, of samples whose lists are known.

    ``first_row`` is the number of the first sample, for the text of an error.
    """
    placed = place(fitted.ensemble, columns)
    lost = np.flatnonzero(placed.labels < 0)
    if lost.size:
        names = [name for v, name in enumerate(views.names) if _has_view(views, v)[lost[0]]]
        raise ViewsError(
            f"views: the sample in row {first_row + lost[0]} has {', '.join(names)} only, which no graph of this "
            "model has drawn. Give more views of it, or fit with a larger n_members."
        )
    return {
        "labels": fitted.label_of[placed.labels],
        "embedding": placed.embedding.astype(precision(views), copy=False),
        "confidence": placed.confidence.astype(precision(views), copy=False),
    }


def precision(views: Views) -> np.dtype:
    """``float32`` if all views have it, else ``float64``."""
    return np.result_type(*(array.dtype for array in views.arrays))


def open_new_views(fitted: FittedViews, views: Any, view_sizes: Any, who: str) -> Views:
    """The views of new samples, in the order and by the names of the fitted ones; their values are not looked at."""
    n_features = sum(fitted.n_features)
    if view_sizes is not None and is_table(views) and views.shape[-1] != n_features:
        # scikit-learn's own words, which its tools look for
        raise ViewsError(f"X has {views.shape[-1]} features, but {who} is expecting {n_features} features as input.")
    given = match_fitted(views, check_new_views(views, view_sizes=view_sizes), fitted.names, fitted.n_features)
    if given.n_samples == 0:
        raise ViewsError(f"views: {who} got no sample to place (n_samples=0); expected at least 1.")
    return Views(given.arrays, given.names, given.sample_ids, present=given.present)


def list_columns(views: Views, known: PooledViews) -> dict[str, np.ndarray]:
    """The nearest pool members of the samples in each of the different views, found by the calling thread."""
    scaled = [_scaled(known, views, place) for place in range(len(known.pools))]
    return neighbor_columns(scaled, known.pools, n_threads=1)


def _scaled(known: PooledViews, views: Views, place: int) -> ScaledView:
    """One of the different views: each sample's from the first copy that it has."""
    scaling, parts = known.pools[place].scaling, []
    present = np.zeros(views.n_samples, dtype=bool)
    for name, source, unit in zip(known.names, known.source, known.units, strict=True):
        if source != place or name not in views.names:
            continue
        v = views.names.index(name)
        new = _has_view(views, v) & ~present
        if new.any():
            array = views.arrays[v] if new.all() else views.arrays[v][new]
            parts.append(spread(scaling.apply(unit.convert(array)), np.flatnonzero(new), views.n_samples))
            present |= new
    return ScaledView(scaling, reduce(add, parts) if parts else known.pools[place].anchors[:0], present)


def _has_view(views: Views, view: int) -> np.ndarray:
    has_view = views.has_view(view)
    return np.ones(views.n_samples, dtype=bool) if has_view is None else has_view
