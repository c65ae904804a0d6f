"""How much memory a fit of InvariantTBGL takes, besides the views themselves: told, and refused, before it begins."""

from __future__ import annotations

from dataclasses import dataclass

import joblib
import numpy as np
import scipy.sparse as sp

from manyview.cluster._pool import GRAPH_NEIGHBORS
from manyview.engines import BLOCK_ROWS
from manyview.views import Views

# Copies of the samples at the peak of scaling: in canonical order, scaled, and one on the way.
_COPIES = 3
# Copies of a block's samples on the way to its lists.
_BLOCK_COPIES = 4
# Bytes of an entry of the lists (place and distance), and of the edges of a block (place, weight, and a copy).
_LISTED, _EDGE = 8, 32


@dataclass(frozen=True)
class Footprint:
    """What a fit is about to work on.

    ``n_learned`` samples are the basis, ``n_listed`` have their lists kept. If ``in_blocks``, the samples are looked at
    block by block, else they are all in the basis.
    """

    views: Views
    n_learned: int
    n_listed: int
    in_blocks: bool
    n_clusters: int
    n_pool: int
    n_members: int
    list_length: int
    n_threads: int

    @property
    def learning(self) -> float:
        """Bytes that learning takes: scaled samples, lists, the members' labels, and a Gram matrix per thread."""
        copies = _COPIES * self.n_learned * self._sample_bytes
        per_row = len(self.views) * self.list_length * _LISTED + 4 * 2 * self.n_members + 8 * 4 * self.n_clusters
        gram = self.n_threads * 2 * 8 * (0.75 * self.n_pool) ** 2
        return copies + max(self.n_listed, self.n_learned) * per_row + gram

    @property
    def results(self) -> float:
        """Bytes of what is known of every sample in the end, with the graph while it is put together."""
        size = 4 if all(array.dtype == np.float32 for array in self.views.arrays) else 8
        edges = len(self.views) * min(GRAPH_NEIGHBORS, self.n_pool)
        hashes = 9 * len(self.views) if self.in_blocks else 0
        return self.views.n_samples * (8 + size * (self.n_clusters + 1) + edges * (1.5 * size + 4) + hashes)

    @property
    def blocks(self) -> float:
        """Bytes of the blocks that the threads have in hand."""
        n_views = len(self.views)
        edges = n_views * (self.list_length // 2 + 1) * _EDGE
        row = _BLOCK_COPIES * self._sample_bytes + n_views * self.list_length * _LISTED + edges
        return self.n_threads * min(BLOCK_ROWS, self.views.n_samples) * row

    @property
    def total(self) -> float:
        """Bytes at the peak."""
        return (
            max(self.learning + self.blocks, self.results + self.blocks)
            if self.n_listed == 0
            else (self.learning + self.results + self.blocks)
        )

    @property
    def _sample_bytes(self) -> float:
        """Bytes of one sample in all views."""
        return sum(_row_bytes(array) for array in self.views.arrays)


def _row_bytes(array: object) -> float:
    if sp.issparse(array):
        return 16.0 * array.nnz / max(array.shape[0], 1)  # type: ignore[attr-defined]
    single = getattr(array, "dtype", None) == np.float32
    return (4.0 if single else 8.0) * array.shape[1]  # type: ignore[attr-defined]


def threads(n_jobs: int | None) -> int:
    """The threads that ``n_jobs`` means."""
    return n_jobs or joblib.cpu_count()
