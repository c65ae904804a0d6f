"""Samples of a fit: blocks in memory or on workers, the memory of a fit, and the draw by content for the basis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any

import joblib
import numpy as np
import scipy.sparse as sp

from manyview._utils.imports import require
from manyview._utils.machine import available_memory, check_memory, gib
from manyview.engines import BLOCK_ROWS, Block, DaskRows, LocalRows, Rows
from manyview.ensemble.anchors import GRAPH_NEIGHBORS, list_length, pool_size
from manyview.ensemble.columns import HASHES, PATTERNS, ROWS, VIEWS
from manyview.ensemble.dask import current_client, worker_blocks, worker_memory, worker_rows
from manyview.ensemble.members import families_with
from manyview.exceptions import EngineError, ViewsError
from manyview.graphs.anchors import table_bytes
from manyview.graphs.content import Sketch, repetitions, row_hashes, row_keys, sketch_rows
from manyview.views import Views, check_views
from manyview.views.checks import check_block
from manyview.views.container import chunks_of, is_lazy

# Minimum number of rows in a block.
_MIN_BLOCK_ROWS = 256
# Copies of the samples at the peak of scaling (scaled, scaled for views side by side, side by side, one temporary), and
# of a block's; maximum number of lists of views side by side, which are half as long as those of views.
_COPIES, _BLOCK_COPIES, _JOINT_LISTS = 4, 4, 8
# Bytes of an entry of the lists (index and distance), and of an edge (index, weight, and a copy).
_LISTED, _EDGE = 8, 32
# Number of clusters for the estimate of memory if n_clusters is "auto".
_CLUSTERS = 20


def is_distributed(views: Views, engine: str) -> bool:
    """Return whether these views are processed in blocks even if there are few samples."""
    return engine == "dask" or any(is_lazy(array) for array in views.arrays)


def client_for(views: Views, engine: str) -> Any | None:
    """Return the Dask client whose workers process these views, or None."""
    return current_client() if engine != "local" and is_distributed(views, engine) else None


def open_rows(views: Views, engine: str, n_jobs: int | None) -> Rows:
    """Cut the samples into blocks that hold ``views`` and ``rows``: on Dask workers, or in threads of this machine.

    Dask arrays are processed by the workers of the current client. Without one, or if the engine is "local", they are
    loaded block by block.
    """
    if views.n_samples == 0:
        raise ViewsError("views: expected at least 2 samples, got n_samples=0.")
    client = client_for(views, engine)
    if client is not None:
        return worker_rows(views, client)
    if engine == "dask":
        require("distributed", extra="dask", purpose="engine='dask'")
        raise EngineError(
            "engine='dask': there is no Dask client. Start one first, for example "
            "client = distributed.Client(n_workers=2), or take engine='local'."
        )
    return local_rows(views, n_jobs)


class _Sliced:
    """Views as a column of rows: its slices are the views of these samples, Dask arrays loaded."""

    def __init__(self, views: Views) -> None:
        self.views, self.shape = views, (views.n_samples,)
        # Blocks are loaded in parallel, each by its own thread; but what a cluster has can only be asked from there.
        self._how = {} if current_client() is not None else {"scheduler": "synchronous"}

    def __getitem__(self, rows: slice) -> Views:
        some = self.views.take(rows)
        lazy = [array for array in some.arrays if is_lazy(array)]
        if not lazy:
            return some
        loaded = iter(require("dask", extra="dask", purpose="Dask arrays").compute(*lazy, **self._how))
        return replace(some, arrays=tuple(next(loaded) if is_lazy(array) else array for array in some.arrays))


def local_rows(views: Views, n_jobs: int | None) -> LocalRows:
    """Cut the samples into blocks that hold ``views``, not yet checked, and ``rows``, a range."""
    n_threads = n_jobs or joblib.cpu_count()
    # Other sparse formats cannot be sliced: every block would convert the whole table to CSR again.
    views = replace(views, arrays=tuple(array.tocsr() if sp.issparse(array) else array for array in views.arrays))
    columns = {VIEWS.name: _Sliced(views), ROWS.name: range(views.n_samples)}
    # A chunk can only be read as a whole, so it is a block.
    return LocalRows(columns, n_threads, chunks_of(views) or _block_rows(views.n_samples, n_threads))


def _block_rows(n_samples: int, n_threads: int) -> int:
    """Return the rows per block: few samples are cut into smaller ones, one for every thread."""
    return min(BLOCK_ROWS, max(_MIN_BLOCK_ROWS, -(-n_samples // n_threads)))


def checked(block: Block) -> Views:
    """Return the views of a block, their values checked."""
    return check_block(block[VIEWS.name], block[ROWS.name].start)


def draw_by_content(rows: Rows, size: int) -> tuple[Views, np.ndarray, np.ndarray | None]:
    """Draw about ``size`` different rows: pseudo-random, but the same in any order of the rows.

    A content is drawn as often as it occurs; if there are fewer different rows than ``size``, or many copies, in
    proportion.

    Returns
    -------
    views : Views
        The drawn samples, checked.
    given : ndarray of int
        Their rows.
    patterns : ndarray of bool or None
        The combinations of views that rows have, None if all rows have all views.
    """
    rows.extend(_look)
    signatures, patterns = rows.reduce(_overview, _unite)
    sketch = rows.reduce(_sketch, partial(_join, size=size), signatures, size)
    rows.drop(HASHES.name)
    found = np.sort(sketch.rows)
    parts = [part for part in rows.map(_pick, found) if part is not None]
    times = repetitions(sketch.counts, size)[np.argsort(sketch.rows)]
    picked = np.repeat(np.arange(len(found)), times)
    try:
        views = check_views(stack(parts).take(picked), keep_float32=True)
    except ViewsError as error:  # an error of the drawn samples need not be one of all
        raise ViewsError(
            f"{error} This was found in the {len(picked)} of {rows.n_rows} samples that were drawn to learn from; "
            "learn_on says how many."
        ) from error
    return views, found[picked], None if patterns.all() else patterns


def _look(block: Block) -> dict[str, np.ndarray]:
    views = checked(block)
    present = np.ones((1, views.n_views), dtype=bool) if views.present is None else np.unique(views.present, axis=0)
    return {HASHES.name: row_hashes(views.arrays, views.present), PATTERNS.name: present}


def _overview(block: Block) -> tuple[np.ndarray, np.ndarray]:
    """Return the sum of hashes modulo 2^64 per view, which does not depend on the order of the samples.

    And the combinations of views that samples have.
    """
    return np.add.reduce(block[HASHES.name], axis=0), block[PATTERNS.name]


def _unite(one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    return one[0] + other[0], np.unique(np.concatenate([one[1], other[1]]), axis=0)


def _sketch(block: Block, signatures: np.ndarray, size: int) -> Sketch:
    return sketch_rows(row_keys(block[HASHES.name], signatures), block[ROWS.name].start, size)


def _join(one: Sketch, other: Sketch, size: int) -> Sketch:
    return one.joined(other, size)


def _pick(block: Block, wanted: np.ndarray) -> Views | None:
    """Return the wanted samples of a block, if it has any."""
    first, stop = block[ROWS.name].start, block[ROWS.name].stop
    own = wanted[(wanted >= first) & (wanted < stop)] - first
    return check_block(block[VIEWS.name].take(own), 0) if len(own) else None


def stack(parts: list[Views]) -> Views:
    """Put samples of several blocks one after the other."""
    arrays: list[Any] = []
    for v in range(parts[0].n_views):
        columns = [part.arrays[v] for part in parts]
        if sp.issparse(columns[0]):
            arrays.append(sp.vstack(columns, format="csr"))
        else:
            arrays.append(np.concatenate(columns))
    marked = [part.present for part in parts]
    present = None
    if any(part is not None for part in marked):
        whole = [np.ones((part.n_samples, part.n_views), dtype=bool) for part in parts]
        present = np.concatenate([own if mark is None else mark for own, mark in zip(whole, marked, strict=True)])
    return replace(parts[0], arrays=tuple(arrays), sample_ids=None, labels=None, present=present, metadata=None)


def gather(rows: Rows, name: str, views: Views) -> Any:
    """Return a column of all rows: in the chunks of the views if one is a Dask array, on the workers if they are."""
    chunks = chunks_of(views)
    if isinstance(rows, DaskRows):
        found = rows.array(name)
        return found if chunks is None or found.chunks[0] == chunks else found.rechunk({0: chunks})
    values = rows.gather(name)
    if chunks is None:
        return values
    array = require("dask.array", extra="dask", purpose="Dask arrays")
    return array.from_array(values, chunks=(chunks, *((size,) for size in values.shape[1:])))


def precision(views: Views) -> np.dtype:
    """Return ``float32`` if all views have it, else ``float64``."""
    return np.result_type(*(array.dtype for array in views.arrays))


def announce(model: Any, views: Views, n_learned: int) -> None:
    """Print the memory that a fit of these views needs, if the model is verbose; raise an error if it is not available.

    ``n_learned`` is the number of samples that scaling and anchors come from.
    """
    n_anchors = model.n_anchors if isinstance(model.n_anchors, Integral) else pool_size(n_learned, 1)
    client = client_for(views, model.engine)
    footprint = Footprint(
        views,
        n_learned=n_learned,
        n_listed=views.n_samples if model.learn_on == "all" else n_learned,
        n_clusters=model.n_clusters,
        n_anchors=int(n_anchors),
        n_members=model.n_members,
        list_length=min(list_length(families_with(model.n_neighbors)), int(n_anchors)),
        n_threads=(model.n_jobs or joblib.cpu_count()) if client is None else 1,
        block_rows=BLOCK_ROWS if client is None else max(worker_blocks(views), default=0),
    )
    if client is None:
        footprint.announce(type(model).__name__, model.verbose)
    else:
        footprint.announce_to_workers(type(model).__name__, model.verbose, worker_memory(client))


@dataclass(frozen=True)
class Footprint:
    """Memory of a fit besides the views themselves, estimated before it begins.

    ``n_learned`` samples are scaled and ordered in memory, and ``n_listed`` are learned on. All samples are processed
    in blocks of ``block_rows``, one per thread.
    """

    views: Views
    n_learned: int
    n_listed: int
    n_clusters: int | str
    n_anchors: int
    n_members: int
    list_length: int
    n_threads: int
    block_rows: int

    @property
    def learning(self) -> float:
        """Bytes for learning: scaled samples, lists, labels of the members, a Gram matrix per thread.

        Before there are lists, there may be a table of distances for the choice of anchors.
        """
        copies = _COPIES * self.n_learned * self._sample_bytes
        embeddings = 8 * (3 + self.n_threads) * self._n_clusters
        lists = self.n_listed * (self.views.n_views * self.list_length * _LISTED + 8 * self.n_members + embeddings)
        joint = self.n_learned * _JOINT_LISTS * self.list_length / 2 * _LISTED
        grams = self.n_threads * 12 * (0.75 * self.n_anchors) ** 2
        return copies + max(lists + joint + grams, table_bytes(self.n_learned, self.n_anchors))

    @property
    def results(self) -> float:
        """Bytes of the results of all samples."""
        size = 4 if all(_value_bytes(array) == 4 for array in self.views.arrays) else 8
        edges = self.views.n_views * min(GRAPH_NEIGHBORS, self.n_anchors) * (size + 4)
        hashes = 9 * self.views.n_views
        return self.views.n_samples * (16 + 2 * size * (self._n_clusters + 1) + edges + hashes)

    @property
    def block(self) -> float:
        """Bytes of a thread for its current block."""
        n_views = self.views.n_views
        edges = n_views * (self.list_length // 2 + 1) * _EDGE
        row = _BLOCK_COPIES * self._sample_bytes + n_views * self.list_length * _LISTED + edges
        return min(self.block_rows, self.views.n_samples) * row

    @property
    def total(self) -> float:
        """Bytes at the peak. The memory of learning on a draw is freed before the results are assembled."""
        kept = self.n_listed == self.views.n_samples
        return (
            self.learning + self.results if kept else max(self.learning, self.results)
        ) + self.n_threads * self.block

    def announce(self, who: str, verbose: bool) -> None:
        """Print the memory of the fit, if verbose; raise an error if it is not available."""
        n = self.views.n_samples
        size = f"{n:,} samples in {self.views.n_views} views, learning on {self.n_listed:,}"
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
        """Do the same for Dask workers with this memory: a block must fit into each, the rest is spilled to disk."""
        size = f"{self.views.n_samples:,} samples in {self.views.n_views} views, learning on {self.n_listed:,}"
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
    """Return the bytes of a value: single precision is kept, everything else becomes double."""
    return 4 if getattr(array, "dtype", None) == np.float32 else 8
