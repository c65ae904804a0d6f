"""The anchors of the methods that have some: how many, which, and the memory that they take."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral

import numpy as np

from manyview._utils.machine import check_memory
from manyview.exceptions import ViewsError
from manyview.graphs import ANCHOR_SELECTORS
from manyview.views import Array, Views


def count_anchors(anchors: str | Sequence[int], n_anchors: float, n_samples: int, n_clusters: int) -> int:
    """How many anchors :func:`choose_anchors` will choose: known, and checked, before anything is computed."""
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
    """Indices of the anchors, ascending: selected by name or as given by the user.

    ``given_rows`` are the rows that the samples had when the user listed anchors, where they have been sorted since.
    """
    if isinstance(anchors, str):
        return ANCHOR_SELECTORS[anchors](views, n_anchors, random_state)
    indices = check_anchor_indices(anchors, views[0].shape[0])
    return indices if given_rows is None else np.sort(np.argsort(given_rows)[indices])


def check_anchor_indices(anchors: Sequence[int], n_samples: int) -> np.ndarray:
    """The user's own anchors: different sample indices."""
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
    """Refuse what cannot fit: a sparse graph between samples and anchors per view, and dense anchors x anchors."""
    edges = (views.n_views + 2) * views.n_samples * min(n_neighbors * views.n_views, n_anchors)
    check_memory(
        who,
        16.0 * edges + 4 * 8.0 * n_anchors**2,
        f"{views.n_views} views, {views.n_samples} samples and {n_anchors} anchors",
        "Choose a smaller n_anchors, or use GraphEnsemble.",
    )
