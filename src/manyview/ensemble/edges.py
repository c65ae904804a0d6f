"""The graph of one member, block by block: numba kernels over the nearest anchors of each row.

Edges of a block of b rows are two arrays of shape (b, width): anchors and weights. Unused positions have weight 0. They
are not stored for all rows, but computed again in every pass, which is cheaper.

Results of a row depend on this row alone, bit by bit, and sums over rows are exact, so that results depend neither on
the order of the rows nor on the blocks. "Counted in units": see :func:`manyview.ensemble.columns.units_in_one`.
"""

from __future__ import annotations

import numpy as np

from manyview._utils.compiled import njit

_TILE = 64
_LOWER = np.tri(_TILE, dtype=bool)

# Arrays are made by the callers of the kernels: numba takes longer to compile np.zeros than such a loop.


@njit(nogil=True, cache=True)
def view_edges(
    near: np.ndarray,
    distance: np.ndarray,
    position: np.ndarray,
    neutral: int,
    k: int,
    far: float,
    anchors: np.ndarray,
    weights: np.ndarray,
    start: int,
    too_short: np.ndarray,
) -> None:
    """Write the CAN weights of each row's k nearest anchors of the member to ``k + 1`` columns from ``start``.

    ``position`` maps the pool to the member's anchors (-1: not among them). Anchors with nothing in
    common with the row are at infinite distance; then ``far`` is the distance to anchor k + 1, and if only g < k
    anchors are similar, the mass ``1 - g/k`` goes to the ``neutral`` anchor, the one after the last: rows with few
    neighbours get proportionally less weight. A sample without the view lists -1 and has no edges at all. A row with
    fewer anchors of the member than ``k + 1`` in its list is marked as ``too_short``.
    """
    length, stop = near.shape[1], start + k + 1
    for i in range(near.shape[0]):
        anchor, weight = anchors[i], weights[i]
        has_view = length > 0 and near[i, 0] >= 0
        found, j = start, 0 if has_view else length
        while found < stop and j < length:  # no branch: other anchors than the member's are overwritten
            own = position[near[i, j]]  # read once: the next entry need not wait until it is written
            anchor[found], weight[found] = own, distance[i, j]
            found += own >= 0
            j += 1
        if has_view and found < stop:
            too_short[i] = True
        last = weight[found - 1] if found > start else 0.0
        last = last if last < np.inf else far
        similar, total = start, 0.0
        for j in range(start, found if found < stop - 1 else stop - 1):
            if weight[j] < np.inf:
                weight[j] = last - weight[j]
                total += weight[j]
                similar += 1
        mass = 0.0
        if similar > start:
            mass = (similar - start) / k if far < np.inf else 1.0
        factor = mass / total if total > 0 else 0.0
        equal = mass / (similar - start) if similar > start else 0.0
        for j in range(start, similar):
            weight[j] = weight[j] * factor if total > 0 else equal
        for j in range(similar, stop):
            anchor[j] = neutral
            weight[j] = 0.0
        weight[stop - 1] = 1.0 - mass if has_view else 0.0


@njit(nogil=True, cache=True, inline="always")  # one caller: compiled within it alone
def _nth_largest(values: np.ndarray, size: int, n: int) -> float:
    """Return the one of the first values with n others at least as large, by Hoare's selection; reorders ``values``.

    numba takes six seconds to compile numpy's partition.
    """
    left, right = 0, size - 1
    while left < right:
        pivot = values[n]
        i, j = left, right
        while i <= j:
            while values[i] > pivot:
                i += 1
            while values[j] < pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if j < n:
            left = i
        if n < i:
            right = j
    return values[n]


@njit(nogil=True, cache=True)
def _merge_row(
    anchors: np.ndarray, weights: np.ndarray, stop: int, mass_of: np.ndarray, merged: np.ndarray, support: np.ndarray
) -> int:
    """Sum the weights of equal anchors of one row; return the number of different ones below ``stop`` with weight.

    ``mass_of`` has an entry for each anchor, zero before and after, except that the weights of the anchors from
    ``stop`` on are left there.
    """
    count = 0
    for j in range(anchors.size):
        anchor, weight = anchors[j], weights[j]
        mass = mass_of[anchor]
        merged[count], mass_of[anchor] = anchor, mass + weight
        count += (mass == 0.0) & (weight > 0.0) & (anchor < stop)
    for c in range(count):
        support[c] = mass_of[merged[c]]
        mass_of[merged[c]] = 0.0
    return count


def best_supported(anchors: np.ndarray, weights: np.ndarray, k: int, neutral: int) -> None:
    """Keep the k anchors with most weight over all views in each row, in place.

    Weights of the same anchor are summed over the views, then the (k + 1)-th largest sum is subtracted and the rest
    scaled: the closed form of CAN weights, with the views' support in place of nearness. The neutral anchor keeps its
    mean share of the mass. The result is in columns ``0, ..., k``; all others get weight 0.
    """
    width = anchors.shape[1]
    merged, scratch = np.empty(width + 1, dtype=anchors.dtype), np.empty((2, width))
    _best_supported(anchors, weights, k, neutral, np.zeros(neutral + 1), merged, scratch)


@njit(nogil=True, cache=True)
def _best_supported(
    anchors: np.ndarray,
    weights: np.ndarray,
    k: int,
    neutral: int,
    mass_of: np.ndarray,
    merged: np.ndarray,
    scratch: np.ndarray,
) -> None:
    width, support, reordered = anchors.shape[1], scratch[0], scratch[1]
    for i in range(anchors.shape[0]):
        anchor, weight = anchors[i], weights[i]
        count = _merge_row(anchor, weight, neutral, mass_of, merged, support)
        idle, mass_of[neutral] = mass_of[neutral], 0.0
        mass = 0.0
        for c in range(count):
            mass += support[c]
        threshold = 0.0
        if count > k:
            for c in range(count):
                reordered[c] = support[c]
            threshold = _nth_largest(reordered, count, k)
        kept, total = 0, 0.0
        for c in range(count):  # no branch: anchors that are not kept are overwritten
            anchor[kept], weight[kept] = merged[c], support[c] - threshold
            kept += support[c] > threshold
        for j in range(kept):
            total += weight[j]
        if kept == 0 and count > 0:  # the k + 1 best are equal: equal weights, as with CAN weights
            for c in range(count):
                if support[c] == threshold and kept < k:
                    anchor[kept], weight[kept] = merged[c], 1.0
                    kept += 1
            total = float(kept)
        for j in range(kept):
            weight[j] *= mass / total / (mass + idle)
        for j in range(kept, width):
            anchor[j], weight[j] = neutral, 0.0
        if mass + idle > 0:  # else all of these views are missing
            weight[kept] = idle / (mass + idle) if kept > 0 else 1.0


@njit(nogil=True, cache=True)
def balance_rows(weights: np.ndarray, starts: np.ndarray, counts: np.ndarray) -> None:
    """Scale the weights of each row up for the graphs in which it has no edges, in place.

    ``starts`` are the first columns of the graphs and the end of the last; ``counts`` are the weights of the graphs.
    """
    total = 0.0
    for g in range(counts.size):
        total += counts[g]
    for i in range(weights.shape[0]):
        present = 0.0
        for g in range(counts.size):
            for j in range(starts[g], starts[g + 1]):
                if weights[i, j] > 0.0:
                    present += counts[g]
                    break
        if 0.0 < present < total:
            for j in range(weights.shape[1]):
                weights[i, j] *= total / present


@njit(nogil=True, cache=True)
def add_degrees(
    anchors: np.ndarray, weights: np.ndarray, start: int, stop: int, units: float, degrees: np.ndarray
) -> None:
    """Add the weights in columns ``start`` to ``stop`` to the degrees of their anchors, counted in units.

    They are rounded up, so that no column divided by its degree sums to more than 1, which bounds the Gram matrix.
    """
    for i in range(anchors.shape[0]):
        for j in range(start, stop):
            degrees[anchors[i, j]] += np.ceil(weights[i, j] * units)


@njit(nogil=True, cache=True)
def scale_anchors(anchors: np.ndarray, weights: np.ndarray, start: int, stop: int, factors: np.ndarray) -> None:
    """Multiply the weights in columns ``start`` to ``stop`` by the factors of their anchors, in place."""
    for i in range(anchors.shape[0]):
        for j in range(start, stop):
            weights[i, j] *= factors[anchors[i, j]]


def edge_gram(anchors: np.ndarray, weights: np.ndarray, size: int, units: float) -> np.ndarray:
    """Compute ``WᵀW`` of the block, counted in units: the lower triangle, and zeros above."""
    gram, width = np.zeros((size, size)), anchors.shape[1]
    merged = np.empty(width + 1, dtype=anchors.dtype)
    _edge_gram(anchors, weights, units, np.zeros(size), merged, np.empty(width), gram)
    return gram


@njit(nogil=True, cache=True)
def _edge_gram(
    anchors: np.ndarray,
    weights: np.ndarray,
    units: float,
    mass_of: np.ndarray,
    merged: np.ndarray,
    value: np.ndarray,
    gram: np.ndarray,
) -> None:
    for i in range(anchors.shape[0]):
        count = _merge_row(anchors[i], weights[i], mass_of.size, mass_of, merged, value)
        for p in range(count):
            a, factor = merged[p], value[p] * units
            for q in range(p + 1):
                b = merged[q]
                gram[a if a > b else b, b if a > b else a] += np.rint(factor * value[q])


def fill_upper(matrix: np.ndarray) -> None:
    """Copy the lower triangle of a square matrix to the upper one, in place, in tiles that fit into the cache."""
    for start in range(0, len(matrix), _TILE):
        stop = start + _TILE
        matrix[start:stop, stop:] = matrix[stop:, start:stop].T
        tile = matrix[start:stop, start:stop]
        tile[:] = np.where(_LOWER[: len(tile), : len(tile)], tile, tile.T)


def edge_product(anchors: np.ndarray, weights: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Compute ``W @ vectors`` of the block."""
    product = np.zeros((len(anchors), vectors.shape[1]))
    _edge_product(anchors, weights, vectors, product)
    return product


@njit(nogil=True, cache=True)
def _edge_product(anchors: np.ndarray, weights: np.ndarray, vectors: np.ndarray, product: np.ndarray) -> None:
    for i in range(anchors.shape[0]):
        total = product[i]
        for p in range(anchors.shape[1]):
            weight, vector = weights[i, p], vectors[anchors[i, p]]
            for c in range(total.size):
                total[c] += weight * vector[c]


@njit(nogil=True, cache=True)
def abstain(weights: np.ndarray, labels: np.ndarray) -> None:
    """Set the labels of rows without edges to -1, in place: they do not vote."""
    for i in range(weights.shape[0]):
        j = 0
        while j < weights.shape[1] and weights[i, j] <= 0.0:
            j += 1
        if j == weights.shape[1]:
            labels[i] = -1
