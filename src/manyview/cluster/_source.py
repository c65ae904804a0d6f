"""Rows as they are given: what a fit of many samples, and placing new ones, go through block by block."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import joblib
import numpy as np
import scipy.sparse as sp

from manyview.engines import BLOCK_ROWS, Block, LocalRows, Rows
from manyview.exceptions import ViewsError
from manyview.graphs.content import Sketch, repetitions, row_hashes, row_keys, sketch_rows
from manyview.views import Views, check_views
from manyview.views.checks import check_block

# No block need be smaller than this.
_FEWEST_ROWS = 256


@dataclass(frozen=True)
class _Cut:
    """Views, as a column of rows: a slice of it is the views of these samples."""

    views: Views

    @property
    def shape(self) -> tuple[int]:
        return (self.views.n_samples,)

    def __getitem__(self, rows: slice) -> Views:
        return self.views.take(rows)


def local_rows(views: Views, n_jobs: int | None) -> LocalRows:
    """The samples in blocks that hold ``views``, not yet checked, and ``rows``, a range."""
    n_threads = n_jobs or joblib.cpu_count()
    # Other sparse formats cannot be cut: every block would turn the whole table into CSR again.
    views = replace(views, arrays=tuple(array.tocsr() if sp.issparse(array) else array for array in views.arrays))
    columns = {"views": _Cut(views), "rows": range(views.n_samples)}
    return LocalRows(columns, n_threads, _block_rows(views.n_samples, n_threads))


def _block_rows(n_samples: int, n_threads: int) -> int:
    """A few samples are cut into smaller blocks, one for every thread."""
    return min(BLOCK_ROWS, max(_FEWEST_ROWS, -(-n_samples // n_threads)))


def checked(block: Block) -> Views:
    """The views of a block."""
    return check_block(block["views"], block["rows"].start)


@dataclass(frozen=True)
class Drawn:
    """A sample of the rows by content.

    ``views`` are checked; ``rows`` is where each was found; ``patterns`` lists the combinations of views that any of
    all rows have, None if they have all.
    """

    views: Views
    rows: np.ndarray
    patterns: np.ndarray | None


def draw_by_content(rows: Rows, size: int) -> Drawn:
    """About ``size`` of the rows, whatever their order: different ones, drawn as if at random, as often as they occur.

    If there are fewer different rows than that, or many copies, all are thinned out alike.
    """
    rows.extend(_look)
    signatures, patterns = rows.reduce(_overview, _unite)
    sketch = rows.reduce(_sketch, partial(_join, size=size), signatures, size)
    rows.drop("hashes")
    found = np.sort(sketch.rows)
    parts = [part for part in rows.map(_pick, found) if part is not None]
    times = repetitions(sketch.counts, size)[np.argsort(sketch.rows)]
    picked = np.repeat(np.arange(len(found)), times)
    try:
        views = check_views(_stack(parts).take(picked), keep_float32=True)
    except ViewsError as error:  # what is wrong with few of them need not be wrong with all
        raise ViewsError(
            f"{error} This was found in the {len(picked)} of {rows.n_rows} samples that were drawn to learn from; "
            "learn_on says how many."
        ) from error
    return Drawn(views, found[picked], None if patterns.all() else patterns)


def _look(block: Block) -> dict[str, np.ndarray]:
    views = checked(block)
    present = np.ones((1, len(views)), dtype=bool) if views.present is None else np.unique(views.present, axis=0)
    return {"hashes": row_hashes(views.arrays, views.present), "patterns": present}


def _overview(block: Block) -> tuple[np.ndarray, np.ndarray]:
    """Of each view a number that does not depend on the order of the samples, the sum of their hashes modulo 2^64.

    And the combinations of views that samples have.
    """
    return np.add.reduce(block["hashes"], axis=0), block["patterns"]


def _unite(one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    return one[0] + other[0], np.unique(np.concatenate([one[1], other[1]]), axis=0)


def _sketch(block: Block, signatures: np.ndarray, size: int) -> Sketch:
    return sketch_rows(row_keys(block["hashes"], signatures), block["rows"].start, size)


def _join(one: Sketch, other: Sketch, size: int) -> Sketch:
    return one.joined(other, size)


def _pick(block: Block, wanted: np.ndarray) -> Views | None:
    """The wanted samples of a block, if it has any."""
    own = wanted[(wanted >= block["rows"].start) & (wanted < block["rows"].stop)] - block["rows"].start
    return check_block(block["views"].take(own), 0) if len(own) else None


def _stack(parts: list[Views]) -> Views:
    """Samples of several blocks, one after the other."""
    arrays: list[Any] = []
    for v in range(len(parts[0])):
        columns = [part.arrays[v] for part in parts]
        if sp.issparse(columns[0]):
            arrays.append(sp.vstack(columns, format="csr"))
        else:
            arrays.append(np.concatenate(columns))
    marked = [part.present for part in parts]
    present = None
    if any(part is not None for part in marked):
        whole = [np.ones((part.n_samples, len(part)), dtype=bool) for part in parts]
        present = np.concatenate([own if mark is None else mark for own, mark in zip(whole, marked, strict=True)])
    return replace(parts[0], arrays=tuple(arrays), sample_ids=None, labels=None, present=present)
