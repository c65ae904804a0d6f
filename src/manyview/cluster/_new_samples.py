"""Placing samples that a model was not fitted to, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
from threadpoolctl import threadpool_limits

from manyview.cluster._pool import PoolView, ScaledView, neighbor_columns
from manyview.exceptions import ViewsError
from manyview.solvers._ensemble import Ensemble, Placed, place
from manyview.views import Views, check_block, check_new_views, is_table, match_fitted

# Samples that are looked at together: memory stays flat however many there are.
_BLOCK_ROWS = 8192


@dataclass(frozen=True)
class FittedViews:
    """All that placing a sample takes.

    ``source[v]`` is the place in ``pools`` of the view whose content view v has, and ``label_of`` the label of each
    cluster of the ensemble.
    """

    names: tuple[str, ...]
    n_features: tuple[int, ...]
    source: tuple[int, ...]
    pools: tuple[PoolView, ...]
    ensemble: Ensemble
    label_of: np.ndarray


def place_blocks(fitted: FittedViews, views: Any, view_sizes: Any, n_jobs: int | None, who: str) -> Iterator[Placed]:
    """Where the samples belong, one block after the other."""
    given = open_new_views(fitted, views, view_sizes, who)
    with ThreadPoolExecutor(n_jobs or joblib.cpu_count()) as threads, threadpool_limits(limits=1):
        for start in range(0, given.n_samples, _BLOCK_ROWS):
            rows = slice(start, min(start + _BLOCK_ROWS, given.n_samples))
            columns = _columns(fitted, check_block(given, rows), n_jobs)
            placed = place(fitted.ensemble, columns, lambda tasks: list(threads.map(lambda task: task(), tasks)))
            lost = np.flatnonzero(placed.labels < 0)
            if lost.size:
                raise ViewsError(
                    f"views: the sample in row {start + lost[0]} has {', '.join(given.names)} only, which no graph of "
                    f"this model has drawn. Give more views of it, or fit with a larger n_members."
                )
            yield Placed(fitted.label_of[placed.labels], placed.embedding, placed.confidence)


def open_new_views(fitted: FittedViews, views: Any, view_sizes: Any, who: str) -> Views:
    """The views of new samples, in the order and by the names of the fitted ones; their values are not looked at."""
    n_features = sum(fitted.n_features)
    if view_sizes is not None and is_table(views) and views.shape[-1] != n_features:
        # scikit-learn's own words, which its tools look for
        raise ViewsError(f"X has {views.shape[-1]} features, but {who} is expecting {n_features} features as input.")
    given = match_fitted(views, check_new_views(views, view_sizes=view_sizes), fitted.names, fitted.n_features)
    return Views(given.arrays, given.names, given.sample_ids, present=given.present)


def _columns(fitted: FittedViews, views: Views, n_jobs: int | None) -> dict[str, np.ndarray]:
    """The nearest pool members of the samples in each of the different views."""
    scaled = []
    for p, pool in enumerate(fitted.pools):
        copies = [v for v, name in enumerate(views.names) if fitted.source[fitted.names.index(name)] == p]
        if copies:
            present = views.has_view(copies[0])
            present = np.ones(views.n_samples, dtype=bool) if present is None else present
            values = pool.scaling.apply(views.arrays[copies[0]])
        else:
            present, values = np.zeros(views.n_samples, dtype=bool), pool.anchors[:0]
        scaled.append(ScaledView(pool.scaling, values, present))
    return neighbor_columns(scaled, fitted.pools, n_jobs)
