"""Anchors of the methods that have them: their number, the memory they need, and their choice.

Anchors are samples, or centres of k-means for methods that do not need them to be samples.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Integral

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from manyview._utils.machine import check_memory
from manyview.exceptions import ViewsError
from manyview.graphs import ANCHOR_SELECTORS
from manyview.graphs.anchors import select_spread
from manyview.views import Array, Views

# k-means finds the centres from all samples if there are at most _ALL_ROWS, or _ROWS_PER_CENTRE for each centre. If
# there are more, the larger of these two numbers is drawn at random, so that the cost stops growing with n.
_ALL_ROWS = 10_000
_ROWS_PER_CENTRE = 50


def count_anchors(anchors: str | Sequence[int], n_anchors: float, n_samples: int, n_clusters: int) -> int:
    """Return and check the number of anchors that :func:`choose_anchors` will choose, before anything is computed."""
    if isinstance(anchors, str):
        m = int(n_anchors) if isinstance(n_anchors, Integral) else max(2, int(n_anchors * n_samples + 1e-9))
        if m > n_samples:
            raise ViewsError(f"n_anchors={n_anchors} is more than there are samples: n_samples={n_samples}.")
        given = f"n_anchors={n_anchors} gives {m} anchors for n_samples={n_samples}"
    else:
        m = len(check_anchor_indices(anchors, n_samples))
        given = f"anchors lists {m} samples"
    if m <= n_clusters:
        raise ViewsError(f"{given}; n_clusters={n_clusters} needs at least {n_clusters + 1}.")
    return m


def choose_anchors(
    views: Sequence[Array],
    anchors: str | Sequence[int],
    n_anchors: int,
    random_state: int | np.random.RandomState | None,
    given_rows: np.ndarray | None = None,
) -> np.ndarray:
    """Return the indices of the anchors, ascending: selected by name or as given by the user.

    ``given_rows`` are the rows that the samples had when the user listed anchors, where they have been sorted since.
    """
    if isinstance(anchors, str):
        return ANCHOR_SELECTORS[anchors](views, n_anchors, random_state)
    indices = check_anchor_indices(anchors, views[0].shape[0])
    return indices if given_rows is None else np.sort(np.argsort(given_rows)[indices])


def check_anchor_indices(anchors: Sequence[int], n_samples: int) -> np.ndarray:
    """Return the anchors that the user has listed, sorted, if they are different sample indices."""
    indices = np.asarray(anchors)
    if indices.ndim != 1 or indices.dtype.kind not in "iu":
        raise ViewsError(
            f"anchors: expected a 1-D list of sample indices, got {indices.dtype} of shape {indices.shape}."
        )
    outside = indices[(indices < 0) | (indices >= n_samples)]
    if outside.size:
        raise ViewsError(f"anchors: sample index {outside[0]} is not between 0 and {n_samples - 1}.")
    values, counts = np.unique(indices, return_counts=True)
    if (counts > 1).any():
        raise ViewsError(f"anchors: sample index {values[counts > 1][0]} is listed more than once.")
    return values


def check_anchor_memory(who: str, views: Views, n_anchors: int, n_neighbors: int) -> None:
    """Raise a MemoryError if there is no room for the sparse graphs and some dense arrays, anchors x anchors."""
    edges = (views.n_views + 2) * views.n_samples * min(n_neighbors * views.n_views, n_anchors)
    check_memory(
        who,
        16.0 * edges + 4 * 8.0 * n_anchors**2,
        f"{views.n_views} views, {views.n_samples} samples and {n_anchors} anchors",
        "Choose a smaller n_anchors, or use GraphEnsemble.",
    )


def kmeans_centres(
    table: Array,
    n_centres: int,
    rng: np.random.RandomState,
    *,
    max_iter: int,
    seeds: str = "spread",
    n_init: int = 1,
) -> np.ndarray:
    """Return centres of k-means, all different; if no more samples than ``n_centres`` differ, these samples.

    ``seeds="spread"`` starts from samples that cover the data, outliers included (greedy k-means++ on a sketch);
    ``"random"`` from any samples, and so follows the density.
    """
    from sklearn.cluster import KMeans  # a quarter of a second that most commands do not need

    n = table.shape[0]
    most = max(_ALL_ROWS, _ROWS_PER_CENTRE * n_centres)
    if n > most:
        table = table[np.sort(rng.choice(n, most, replace=False))]
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
