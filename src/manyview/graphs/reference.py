"""Data without clusters, to compare with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from manyview.graphs.scaling import row_lengths
from manyview.views import Array

# Lengths of rows that differ by less than this share are the same but for rounding.
_SAME = 1e-9


def without_clusters(scaled: Sequence[Array], rng: np.random.Generator) -> list[Array]:
    """Views without clusters that are otherwise like the given ones.

    Rows of the dense views become random mixtures of all rows, the same ones in every view: a Gaussian cloud with the
    covariance of the data, within and between the views. Sparse views have their entries dealt out anew: each row keeps
    its number of entries and, on average, each column its share of them. Where all rows had one length, they get it
    back.
    """
    n = scaled[0].shape[0]
    mixture = rng.standard_normal((n, n)) / np.sqrt(n)
    views: list[Array] = []
    for view in scaled:
        if isinstance(view, np.ndarray):
            centre = view.mean(axis=0)
            made: Array = centre + mixture @ (view - centre)
        else:
            dealt = rng.permutation(view.nnz)
            starts = view.indptr.copy()  # which the next line but one changes in place
            made = sp.csr_array((view.data[dealt], view.indices[dealt], starts), shape=view.shape)
            made.sum_duplicates()
        length = _common_length(view)
        views.append(made if length is None else _with_length(made, length))
    return views


def _common_length(view: Array) -> float | None:
    """The length of all rows that are not zero, if they have the same."""
    lengths = row_lengths(view)
    longest = float(lengths.max())
    return longest if (np.abs(lengths[lengths > 0] - longest) <= _SAME * longest).all() else None


def _with_length(view: Array, length: float) -> Array:
    lengths = row_lengths(view)
    factors = np.divide(length, lengths, out=np.zeros_like(lengths), where=lengths > 0)[:, None]
    return view * factors if isinstance(view, np.ndarray) else sp.csr_array(view * factors)
