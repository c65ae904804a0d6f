"""Samples of rows that follow from the content of the rows alone, and so do not depend on their order.

Every row gets a 64-bit key, a hash of its values. The rows with the smallest keys are the sample: pseudo-random, but
the same in any order of the rows. Equal rows have equal keys, so the sample consists of different contents, each with
the number of rows that have it (a bottom-k sketch). Sketches of blocks can be merged into the sketch of all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from manyview._utils.compiled import njit
from manyview.graphs.canonical import mix
from manyview.views import Array

_MISSING = np.uint64(0x6A09E667F3BCC909)  # the hash of a missing view


@dataclass(frozen=True)
class Sketch:
    """Bottom-k sketch: the smallest keys, ascending, with the number of rows that have each, and the first of them."""

    keys: np.ndarray
    counts: np.ndarray
    rows: np.ndarray

    def joined(self, other: Sketch, size: int) -> Sketch:
        """Return the sketch of the rows of both, with at most ``size`` keys."""
        keys = np.concatenate([self.keys, other.keys])
        counts = np.concatenate([self.counts, other.counts])
        rows = np.concatenate([self.rows, other.rows])
        return _smallest(keys, counts, rows, size)


def row_hashes(arrays: Sequence[Array], present: np.ndarray | None = None) -> np.ndarray:
    """Hash each sample in each view, uint64 of shape (n, n_views); dense, sparse and float32 copies have equal hashes.

    Parameters
    ----------
    arrays : sequence of arrays of shape (n, d_v)
        Dense, or CSR in canonical format.
    present : ndarray of bool, shape (n, n_views), optional
        Which views each sample has.
    """
    hashes = np.empty((arrays[0].shape[0], len(arrays)), dtype=np.uint64)
    for v, array in enumerate(arrays):
        salts = mix(np.arange(1, array.shape[1] + 1, dtype=np.uint64))
        if isinstance(array, np.ndarray):
            hashes[:, v] = _hash_dense(array, salts)
        else:
            hashes[:, v] = _hash_sparse(array.data, array.indices, array.indptr, salts)
        if present is not None:
            hashes[~present[:, v], v] = _MISSING
    return hashes


def row_keys(hashes: np.ndarray, signatures: np.ndarray) -> np.ndarray:
    """Return one key per sample from its hashes, for any order of the views, which ``signatures`` distinguish.

    Copies of a view count once.
    """
    keys = np.zeros(len(hashes), dtype=np.uint64)
    mixed = mix(hashes ^ mix(signatures))
    for v in range(mixed.shape[1]):
        copied = (mixed[:, :v] == mixed[:, v : v + 1]).any(axis=1)
        keys += np.where(copied, np.uint64(0), mixed[:, v])
    return keys


def sketch_rows(keys: np.ndarray, first_row: int, size: int) -> Sketch:
    """Return the sketch of rows that are numbered from ``first_row`` on, with at most ``size`` keys."""
    return _smallest(keys, np.ones(len(keys), dtype=np.int64), first_row + np.arange(len(keys)), size)


def repetitions(counts: np.ndarray, size: int) -> np.ndarray:
    """Return how often to repeat each content in a sample of about ``size`` rows: by its share, at least once.

    If there are at most ``size`` rows, each is repeated as often as it occurs.
    """
    return np.maximum(np.round(counts * min(size / counts.sum(), 1.0)), 1).astype(np.int64)


def _smallest(keys: np.ndarray, counts: np.ndarray, rows: np.ndarray, size: int) -> Sketch:
    different, index = np.unique(keys, return_inverse=True)
    totals = np.bincount(index, weights=counts).astype(np.int64)
    first = np.full(len(different), np.iinfo(np.int64).max)
    np.minimum.at(first, index, rows)
    return Sketch(different[:size], totals[:size], first[:size])


_mixed: Any = njit(nogil=True, cache=True)(mix)  # of one number


# Zeros add nothing, so that neither their sign nor whether they are stored matters.
@njit(nogil=True, cache=True)
def _hash_dense(array: np.ndarray, salts: np.ndarray) -> np.ndarray:
    hashes = np.zeros(array.shape[0], dtype=np.uint64)
    values = np.empty(array.shape[1])
    bits = values.view(np.uint64)
    for i in range(array.shape[0]):
        values[:] = array[i]
        total = np.uint64(0)
        for j in range(array.shape[1]):
            if values[j] != 0.0:
                total += _mixed(bits[j] ^ salts[j])
        hashes[i] = total
    return hashes


@njit(nogil=True, cache=True)
def _hash_sparse(data: np.ndarray, columns: np.ndarray, starts: np.ndarray, salts: np.ndarray) -> np.ndarray:
    hashes = np.zeros(starts.size - 1, dtype=np.uint64)
    value = np.empty(1)
    bits = value.view(np.uint64)
    for i in range(hashes.size):
        for e in range(starts[i], starts[i + 1]):
            value[0] = data[e]
            if value[0] != 0.0:
                hashes[i] += _mixed(bits[0] ^ salts[columns[e]])
    return hashes
