"""Nearest neighbours between samples and anchors, in row blocks, dense or sparse."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from manyview.engines import RowThreads
from manyview.views import Array

# Entries of a block of distances: 32 MB of float64, so memory stays flat however many samples there are.
_BLOCK_ENTRIES = 4_000_000
# Rows in a tile of any matrix product that BLAS libraries use divide this.
_TILE = 64


def squared_distances(a: Array, b: Array) -> np.ndarray:
    """Squared Euclidean distances between the rows of ``a`` and of ``b``, never negative.

    Dense data are centred first: distances do not change, but far less is lost to cancellation.
    """
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        centre = b.mean(axis=0)
        a, b = a - centre, b - centre
    inner = a @ b.T
    inner = inner if isinstance(inner, np.ndarray) else inner.toarray()
    distances = _squared_norms(a)[:, None] + _squared_norms(b)[None, :] - 2 * inner
    return np.maximum(distances, 0.0, out=distances)


def nearest_rows(
    view: Array, anchors: Array, n_neighbors: int, *, exclude_self: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """The nearest anchors of every sample, nearest first.

    Parameters
    ----------
    view : array of shape (n, d)
    anchors : array of shape (m, d)
    n_neighbors : int
        How many, at most m (m - 1 with ``exclude_self``).
    exclude_self : bool
        For ``anchors is view``: a sample is not its own neighbour, though its duplicates are.

    Returns
    -------
    indices, distances : ndarrays of shape (n, n_neighbors)
        Rows of ``anchors``, and squared distances in ascending order; equally near ones in the order of their index.
        Which of those that are equally far share the last places is arbitrary, but always the same.
    """
    n, m = view.shape[0], anchors.shape[0]
    indices = np.empty((n, n_neighbors), dtype=np.int64)
    distances = np.empty((n, n_neighbors))
    for rows in row_blocks(n, m):
        block = squared_distances(view[rows], anchors)
        if exclude_self:
            block[np.arange(block.shape[0]), np.arange(rows.start, rows.stop)] = np.inf
        near = np.argpartition(block, n_neighbors - 1, axis=1)[:, :n_neighbors] if n_neighbors < m else None
        near = np.tile(np.arange(m), (block.shape[0], 1)) if near is None else np.sort(near, axis=1)
        value = np.take_along_axis(block, near, axis=1)
        order = np.argsort(value, axis=1, kind="stable")
        indices[rows] = np.take_along_axis(near, order, axis=1)
        distances[rows] = np.take_along_axis(value, order, axis=1)
    return indices, distances


def nearest_lists(
    view: Array, anchors: Array, length: int, *, only_similar: bool = False, n_threads: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Like :func:`nearest_rows`, in threads and with compact results that do not depend on where a row stands.

    Parameters
    ----------
    view, anchors : arrays of shape (n, d) and (m, d)
    length : int
        How many anchors per row, at most m.
    only_similar : bool
        Anchors with an inner product of zero or less come last, at infinite distance: of two texts without a common
        word neither is near the other, however short they are.

    Returns
    -------
    indices, distances : ndarrays of shape (n, length), int32 and float32
        Squared distances, ascending.
    """
    n, m = view.shape[0], anchors.shape[0]
    indices, distances = np.empty((n, length), dtype=np.int32), np.empty((n, length), dtype=np.float32)
    if isinstance(view, np.ndarray) and isinstance(anchors, np.ndarray) and not only_similar:
        centre = anchors.mean(axis=0)  # as in squared_distances: far less is lost to cancellation
        view, anchors = np.ascontiguousarray(view - centre), anchors - centre
    row_norms, anchor_norms = _squared_norms(view), _squared_norms(anchors)
    transposed = anchors.T if isinstance(anchors, np.ndarray) else anchors.T.tocsr()

    def one(rows: slice) -> None:
        inner = _inner_products(view[rows], transposed)
        block = np.maximum(row_norms[rows, None] + anchor_norms - 2 * inner, 0.0)
        if only_similar:
            block[inner <= 0.0] = np.inf
        near = np.argpartition(block, length - 1, axis=1)[:, :length] if length < m else None
        near = np.tile(np.arange(m), (len(block), 1)) if near is None else np.sort(near, axis=1)
        value = np.take_along_axis(block, near, axis=1)
        order = np.argsort(value, axis=1, kind="stable")
        indices[rows] = np.take_along_axis(near, order, axis=1)
        distances[rows] = np.take_along_axis(value, order, axis=1)

    with RowThreads(n_threads) as threads:
        threads.map(one, n)
    return indices, distances


def _inner_products(rows: Array, transposed: Array) -> np.ndarray:
    """``rows @ transposed``, each entry with the same bits wherever its row stands in the block.

    A matrix product treats the last rows of a block that is not full in another way than the others, so the block is
    filled up with zeros.
    """
    if not isinstance(rows, np.ndarray):
        return (rows @ transposed).toarray()
    full = np.zeros((-(-len(rows) // _TILE) * _TILE, rows.shape[1]))
    full[: len(rows)] = rows
    return (full @ transposed)[: len(rows)]


def row_blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Cut ``n_rows`` so that one block of ``n_columns`` wide rows stays small."""
    step = max(1, _BLOCK_ENTRIES // max(n_columns, 1))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def _squared_norms(a: Array) -> np.ndarray:
    if isinstance(a, np.ndarray):
        return np.einsum("ij,ij->i", a, a)
    return np.asarray(a.multiply(a).sum(axis=1)).ravel()
