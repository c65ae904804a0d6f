"""Sparse graphs of several views on one sparsity pattern, so that sums over views are array operations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp


@dataclass(frozen=True)
class AlignedGraphs:
    """Graphs of shape (n, n) that store the same entries: ``values[v]`` are those of graph v, in CSR order.

    Entries that only other graphs have are zeros.
    """

    values: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray

    @property
    def rows(self) -> np.ndarray:
        """Row of every entry."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))

    def graph(self, data: np.ndarray) -> sp.csr_array:
        """Return a graph with this pattern and the given entries."""
        n = len(self.indptr) - 1
        return sp.csr_array((data, self.indices, self.indptr), shape=(n, n))

    def read(self, graph: sp.csr_array) -> np.ndarray:
        """Return the entries of a graph in the order of this pattern; it must not have others."""
        data = np.zeros(len(self.indices))
        data[np.searchsorted(self._keys(), entry_keys(graph))] = graph.data
        return data

    def _keys(self) -> np.ndarray:
        return self.rows * np.int64(len(self.indptr) - 1) + self.indices


def entry_keys(graph: sp.csr_array) -> np.ndarray:
    """Return a key of every stored entry, ascending in CSR order: row times n plus column."""
    return np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr)) * np.int64(graph.shape[1]) + graph.indices


def align_graphs(graphs: Sequence[sp.csr_array], pattern: sp.csr_array | None = None) -> AlignedGraphs:
    """Align graphs on the union of their patterns and of ``pattern``."""
    union = sp.csr_array(graphs[0].shape, dtype=bool)
    for graph in (*graphs, *(() if pattern is None else (pattern,))):
        stored = sp.csr_array((np.ones(graph.nnz, dtype=bool), graph.indices, graph.indptr), shape=graph.shape)
        union = sp.csr_array(union + stored)  # the logical or of booleans
    union.sort_indices()
    keys = entry_keys(union)
    values = np.zeros((len(graphs), len(keys)))
    for row, graph in zip(values, graphs, strict=True):
        row[np.searchsorted(keys, entry_keys(graph))] = graph.data
    return AlignedGraphs(values, union.indices, union.indptr)
