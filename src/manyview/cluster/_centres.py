"""Anchors that are centres of k-means, for methods that do not need them to be samples."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from manyview.graphs.anchors import select_spread
from manyview.views import Array

# Centres are found from this many samples each, drawn at random, if there are more: they need to cover the data, and
# the cost then does not grow with the number of samples.
_ROWS_PER_CENTRE = 50


def kmeans_centres(
    table: Array,
    n_centres: int,
    rng: np.random.RandomState,
    *,
    max_iter: int,
    seeds: str = "spread",
    n_init: int = 1,
) -> np.ndarray:
    """Centres of k-means, all different; if no more samples than ``n_centres`` differ, these samples.

    ``seeds="spread"`` starts from samples that cover the data, outliers included (greedy k-means++ on a sketch);
    ``"random"`` from any samples, and so follows the density.
    """
    n = table.shape[0]
    if n > _ROWS_PER_CENTRE * n_centres:
        table = table[np.sort(rng.choice(n, _ROWS_PER_CENTRE * n_centres, replace=False))]
    init: str | np.ndarray = seeds
    if seeds == "spread":
        first = table[select_spread([table], n_centres, np.random.default_rng(rng.randint(2**31)))]
        init = first if isinstance(first, np.ndarray) else first.toarray()
        n_centres, n_init = len(init), 1  # fewer if no more samples differ
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer different samples than centres
        found = KMeans(n_centres, init=init, n_init=n_init, max_iter=max_iter, random_state=rng).fit(table)
    centres = np.unique(found.cluster_centers_[np.unique(found.labels_)], axis=0)
    if len(centres) == n_centres:
        return centres
    # k-means leaves clusters empty only if there are too few different samples, and may then merge others, too.
    rows = np.unique(table if isinstance(table, np.ndarray) else table.toarray(), axis=0)
    return rows if len(rows) <= n_centres else centres
