"""How much memory a fit of GraphEnsemble takes, besides the views themselves: told, and refused, before it begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview._utils.memory import available_memory, check_memory, gib
from manyview.cluster._pool import GRAPH_NEIGHBORS
from manyview.views import Views

# Copies of the samples at the peak of scaling (in canonical order, scaled, and one on the way), and of a block's.
_COPIES, _BLOCK_COPIES = 3, 4
# Bytes of an entry of the lists (place and distance), and of an edge that is at work (place, weight, and a copy).
_LISTED, _EDGE = 8, 32
# If their number is to be found, so many clusters are reckoned with.
_CLUSTERS = 20


@dataclass(frozen=True)
class Footprint:
    """What a fit is about to work on.

    ``n_learned`` samples are scaled and ordered in memory, and ``n_listed`` are learned on. All samples are gone
    through in blocks of ``block_rows``, one per thread.
    """

    views: Views
    n_learned: int
    n_listed: int
    n_clusters: int | str
    n_pool: int
    n_members: int
    list_length: int
    n_threads: int
    block_rows: int

    @property
    def learning(self) -> float:
        """Bytes that learning takes: scaled samples, lists, labels of the members, a Gram matrix per thread."""
        copies = _COPIES * self.n_learned * self._sample_bytes
        embeddings = 8 * (3 + self.n_threads) * self._n_clusters
        lists = self.n_listed * (len(self.views) * self.list_length * _LISTED + 8 * self.n_members + embeddings)
        return copies + lists + self.n_threads * 12 * (0.75 * self.n_pool) ** 2

    @property
    def results(self) -> float:
        """Bytes of what is known of every sample in the end; the graph is there twice while it is put together."""
        size = 4 if all(_value_bytes(array) == 4 for array in self.views.arrays) else 8
        edges = len(self.views) * min(GRAPH_NEIGHBORS, self.n_pool) * 2 * (size + 4)
        hashes = 9 * len(self.views)
        return self.views.n_samples * (16 + 2 * size * (self._n_clusters + 1) + edges + hashes)

    @property
    def block(self) -> float:
        """Bytes that a thread takes for the block in its hands."""
        n_views = len(self.views)
        edges = n_views * (self.list_length // 2 + 1) * _EDGE
        row = _BLOCK_COPIES * self._sample_bytes + n_views * self.list_length * _LISTED + edges
        return min(self.block_rows, self.views.n_samples) * row

    @property
    def total(self) -> float:
        """Bytes at the peak. What was learned on in a sample is given back before the results are put together."""
        kept = self.n_listed == self.views.n_samples
        return (
            self.learning + self.results if kept else max(self.learning, self.results)
        ) + self.n_threads * self.block

    def announce(self, who: str, verbose: bool) -> None:
        """Say, if wanted, what the fit will take; refuse it if that cannot be had."""
        n = self.views.n_samples
        size = f"{n:,} samples in {len(self.views)} views, learning on {self.n_listed:,}"
        if verbose:
            there = gib(available_memory())
            print(f"{who} on {size}: about {gib(self.total)} besides the views; {there} are available.", flush=True)
        instead = (
            "Fit some of the samples and predict the others, or give Dask arrays, whose labels stay with the workers."
        )
        if self.n_listed > self.n_learned:
            instead = "Learn on a sample (learn_on='auto'), or give Dask arrays to a Dask cluster."
        elif self.learning > self.results:
            instead = f"Choose a smaller learn_on than {self.n_learned:,}, or a smaller n_anchors or n_neighbors."
        check_memory(who, self.total, size, instead)

    def announce_to_workers(self, who: str, verbose: bool, memory: Sequence[int]) -> None:
        """The same for Dask workers with so much memory: a block must fit into each, the rest they spill to disk."""
        size = f"{self.views.n_samples:,} samples in {len(self.views)} views, learning on {self.n_listed:,}"
        block = f"{self.block_rows:,} samples"
        if verbose:
            there = f"{len(memory)} workers have {gib(sum(memory))}"
            print(f"{who} on {size}: about {gib(self.total)}, and {gib(self.block)} per block; {there}.", flush=True)
        if memory and self.block > min(memory):
            raise MemoryError(
                f"{who} needs about {gib(self.block)} for a block of {block}; a Dask worker has {gib(min(memory))}. "
                "Give each worker more memory (memory_limit of the cluster), or rechunk the views to fewer rows."
            )

    @property
    def _n_clusters(self) -> int:
        return _CLUSTERS if isinstance(self.n_clusters, str) else int(self.n_clusters)

    @property
    def _sample_bytes(self) -> float:
        """Bytes of one sample in all views."""
        return sum(_row_bytes(array) for array in self.views.arrays)


def _row_bytes(array: Any) -> float:
    if sp.issparse(array):
        return (_value_bytes(array) + 8) * array.nnz / max(array.shape[0], 1)
    return float(_value_bytes(array) * array.shape[1])


def _value_bytes(array: Any) -> int:
    """Single precision stays, and everything else becomes double."""
    return 4 if getattr(array, "dtype", None) == np.float32 else 8
