"""Choosing anchors by directly alternating sampling, the selection of SFMC (Li et al., 2022)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from manyview.graphs.anchors import RandomState, alternate_picks, fill_farthest, row_sums, sum_in_any_order
from manyview.views import Array


def select_das(views: Sequence[Array], n_anchors: int, random_state: RandomState = None) -> np.ndarray:
    """Directly alternating sampling, the published selection: deterministic, ``random_state`` is not used.

    The score of a sample is the sum of its features, each counted from its smallest value. The sample with the highest
    score is taken, then every score s, relative to the highest, becomes ``s·(1 - s)``, and so on. This is the logistic
    map and chaotic: on MSRC-v5, scores that are added up in another order, and so differ in their last bits, move 40 of
    105 anchors. Here, all bits of the scores are the same in whatever order samples and views come and however dense
    views lie in memory; only exact ties are broken by position. A view given as a sparse matrix is summed in another
    order, and so may differ in the last bits from the same view given dense. When no score is left, the samples that
    are farthest from those taken follow.

    Parameters
    ----------
    views : sequence of arrays of shape (n, d_v)
    n_anchors : int
        How many samples to take, at most n.
    random_state : int, RandomState or None
        Not used.
    """
    picks = alternate_picks(_shifted_sums(views), n_anchors, False)
    return np.sort(fill_farthest(views, picks, n_anchors))


def _shifted_sums(views: Sequence[Array]) -> np.ndarray:
    """Sum of each sample over the features of all views together, after the minimum of every feature is subtracted."""
    return sum_in_any_order([_shifted_row_sums(view) for view in views])


def _shifted_row_sums(view: Array) -> np.ndarray:
    if isinstance(view, np.ndarray):
        return row_sums(view - view.min(axis=0))
    # Subtracting feature by feature would fill the matrix. Rounding could leave less than nothing.
    return np.maximum(row_sums(view) - float(view.min(axis=0).sum()), 0.0)
