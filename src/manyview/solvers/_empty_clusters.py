"""Clusters without samples, and what is done about them."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from manyview.graphs import largest_eigenvectors_by_part


def largest_entry_signs(vectors: np.ndarray) -> np.ndarray:
    """The sign of the entry of largest magnitude, for every column."""
    return np.sign(vectors[np.argmax(np.abs(vectors), axis=0), np.arange(vectors.shape[1])])


def fill_empty(labels: np.ndarray, n_clusters: int, similarity: sp.csr_array, misfit: np.ndarray) -> np.ndarray:
    """Give every cluster that has no sample one half of the cluster with the largest total misfit."""
    labels = labels.copy()
    for empty in np.flatnonzero(np.bincount(labels, minlength=n_clusters) == 0):
        sizes = np.bincount(labels, minlength=n_clusters)
        cost = np.where(sizes > 1, np.bincount(labels, weights=misfit, minlength=n_clusters), -1.0)
        members = np.flatnonzero(labels == np.argmax(cost))
        labels[members[_half(similarity[members][:, members], misfit[members])]] = empty
    return labels


def _half(similarity: sp.csr_array, misfit: np.ndarray) -> np.ndarray:
    """A mask of some samples, not of all: one side of the second eigenvector, or else the worst fitted sample."""
    second = largest_eigenvectors_by_part(sp.csr_array(similarity), 2)[1][:, 1:]
    side = (second * largest_entry_signs(second))[:, 0] > 0
    return np.arange(len(misfit)) == np.argmax(misfit) if side.all() else side
