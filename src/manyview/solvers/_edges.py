"""The graph of one ensemble member, block by block: numba kernels over the nearest anchors of each row.

Edges of a block of b rows are two arrays of shape (b, width): anchors and weights. Unused places have weight 0. They
are never stored for all rows, but made again in every pass, which is cheaper than keeping them.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def view_edges(
    near: np.ndarray,
    distance: np.ndarray,
    place: np.ndarray,
    k: int,
    far: float,
    anchors: np.ndarray,
    weights: np.ndarray,
    start: int,
) -> None:
    """CAN weights of each row's k nearest anchors of the member, into ``k + 1`` columns from ``start``.

    ``place`` maps the pool to the member's anchors (-1: not among them). An infinite distance marks an anchor that the
    row has nothing in common with; the scale then ends at ``far``, and if only g < k anchors are similar, the mass
    ``1 - g/k`` goes to the neutral anchor, the one after the last: a row with little to say should not shout. A sample
    that lacks the view lists -1 and has no edges at all.
    """
    neutral = place.max() + 1
    for i in range(near.shape[0]):
        if near.shape[1] == 0 or near[i, 0] < 0:
            for j in range(start, start + k + 1):
                anchors[i, j], weights[i, j] = neutral, 0.0
            continue
        found, similar, last = 0, 0, 0.0
        for j in range(near.shape[1]):
            anchor = place[near[i, j]]
            if anchor < 0:
                continue
            alike = np.isfinite(distance[i, j])
            last = float(distance[i, j]) if alike else far
            if found == k:
                break
            anchors[i, start + found] = anchor
            weights[i, start + found] = last
            found += 1
            similar += alike
        total = 0.0
        for j in range(start, start + similar):
            weights[i, j] = last - weights[i, j]
            total += weights[i, j]
        mass = 0.0
        if similar > 0:
            mass = similar / k if np.isfinite(far) else 1.0
        for j in range(start, start + k + 1):
            if j < start + similar:
                weights[i, j] = weights[i, j] / total * mass if total > 0 else mass / similar
            else:
                anchors[i, j], weights[i, j] = neutral, 0.0
        weights[i, start + k] = 1.0 - mass


@njit(nogil=True, cache=True)
def _nth_largest(values: np.ndarray, n: int) -> float:
    """The value with n others at least as large, by Hoare's selection; reorders ``values``.

    numpy's partition would do, but takes numba six seconds to compile.
    """
    left, right = 0, values.size - 1
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
    return float(values[n])


@njit(nogil=True, cache=True)
def best_supported(anchors: np.ndarray, weights: np.ndarray, k: int, neutral: int) -> None:
    """Keep in each row the k anchors with most weight over all views, in place.

    Weights of the same anchor are added up over the views, then the (k + 1)-th largest sum is subtracted and the rest
    scaled: the same closed form as CAN weights, with the views' support in place of nearness. The neutral anchor keeps
    its mean share of the mass. What is left has columns ``0, ..., k``; all others get weight 0.
    """
    width = anchors.shape[1]
    merged, support = np.empty(width, dtype=anchors.dtype), np.empty(width)
    where, row_of = np.empty(neutral + 1, dtype=np.int32), np.full(neutral + 1, -1, dtype=np.int32)
    for i in range(anchors.shape[0]):
        count, mass, idle = 0, 0.0, 0.0
        for j in range(width):
            anchor, weight = anchors[i, j], weights[i, j]
            if weight <= 0.0:
                continue
            if anchor == neutral:
                idle += weight
                continue
            mass += weight
            if row_of[anchor] == i:  # seen in an earlier view
                support[where[anchor]] += weight
            else:
                row_of[anchor], where[anchor] = i, count
                merged[count], support[count] = anchor, weight
                count += 1
        threshold = 0.0
        if count > k:
            threshold = _nth_largest(support[:count].copy(), k)
        kept, total = 0, 0.0
        for c in range(count):
            if support[c] > threshold:
                anchors[i, kept], weights[i, kept] = merged[c], support[c] - threshold
                total += weights[i, kept]
                kept += 1
        if kept == 0 and count > 0:  # the k + 1 best are equal: as with CAN weights, the first k of them count the same
            for c in range(count):
                if support[c] == threshold and kept < k:
                    anchors[i, kept], weights[i, kept] = merged[c], 1.0
                    kept += 1
            total = float(kept)
        for j in range(width):
            if j < kept:
                weights[i, j] *= mass / total / (mass + idle)
            else:
                anchors[i, j], weights[i, j] = neutral, 0.0
        if mass + idle > 0:  # else the sample lacks all of these views
            weights[i, kept] = idle / (mass + idle) if kept > 0 else 1.0


@njit(nogil=True, cache=True)
def balance_rows(weights: np.ndarray, starts: np.ndarray, counts: np.ndarray) -> None:
    """Let the graphs that a row has edges in count for those that it has none in, in place.

    ``starts`` are the first columns of the graphs and the end of the last; ``counts`` says how often each counts.
    """
    total = counts.sum()
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
def add_degrees(anchors: np.ndarray, weights: np.ndarray, start: int, stop: int, degrees: np.ndarray) -> None:
    """Add the weights in columns ``start`` to ``stop`` to the degrees of their anchors."""
    for i in range(anchors.shape[0]):
        for j in range(start, stop):
            degrees[anchors[i, j]] += weights[i, j]


@njit(nogil=True, cache=True)
def scale_anchors(anchors: np.ndarray, weights: np.ndarray, start: int, stop: int, factors: np.ndarray) -> None:
    """Multiply the weights in columns ``start`` to ``stop`` by the factors of their anchors, in place."""
    for i in range(anchors.shape[0]):
        for j in range(start, stop):
            weights[i, j] *= factors[anchors[i, j]]


@njit(nogil=True, cache=True)
def edge_gram(anchors: np.ndarray, weights: np.ndarray, size: int) -> np.ndarray:
    """``WᵀW`` of the block, dense."""
    gram = np.zeros((size, size))
    for i in range(anchors.shape[0]):
        for p in range(anchors.shape[1]):
            if weights[i, p] != 0.0:
                row = gram[anchors[i, p]]
                for q in range(anchors.shape[1]):
                    row[anchors[i, q]] += weights[i, p] * weights[i, q]
    return gram


@njit(nogil=True, cache=True)
def edge_product(anchors: np.ndarray, weights: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """``W @ vectors`` of the block."""
    product = np.zeros((anchors.shape[0], vectors.shape[1]))
    for i in range(anchors.shape[0]):
        for p in range(anchors.shape[1]):
            if weights[i, p] != 0.0:
                for c in range(vectors.shape[1]):
                    product[i, c] += weights[i, p] * vectors[anchors[i, p], c]
    return product


@njit(nogil=True, cache=True)
def nearest_centre(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Index of the nearest centre of each point, the first of equals; the same bits wherever a point stands."""
    labels = np.empty(points.shape[0], dtype=np.int32)
    n_centres, n_features = centres.shape
    across = np.ascontiguousarray(centres.T)  # so that the inner loop runs over neighbours in memory
    halves = np.zeros(n_centres)
    for j in range(n_features):
        for c in range(n_centres):
            halves[c] += across[j, c] ** 2 / 2
    cost = np.empty(n_centres)
    for i in range(points.shape[0]):
        cost[:] = halves
        for j in range(n_features):
            value = points[i, j]
            for c in range(n_centres):
                cost[c] -= value * across[j, c]
        labels[i] = np.argmin(cost)
    return labels


@njit(nogil=True, cache=True)
def centre_sums(points: np.ndarray, weights: np.ndarray, labels: np.ndarray, n_centres: int) -> np.ndarray:
    """For each label the weighted sum of its points, and in the last column their weight."""
    sums = np.zeros((n_centres, points.shape[1] + 1))
    for i in range(points.shape[0]):
        for j in range(points.shape[1]):
            sums[labels[i], j] += weights[i] * points[i, j]
        sums[labels[i], points.shape[1]] += weights[i]
    return sums


@njit(nogil=True, cache=True)
def label_tables(reference: np.ndarray, labels: np.ndarray, n_reference: int, n_labels: int) -> np.ndarray:
    """Contingency tables of one labelling with each column of ``labels``."""
    tables = np.zeros((labels.shape[1], n_reference, n_labels))
    for i in range(labels.shape[0]):
        for r in range(labels.shape[1]):
            tables[r, reference[i], labels[i, r]] += 1.0
    return tables


@njit(nogil=True, cache=True)
def vote_product(labels: np.ndarray, offsets: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Sum over the members of the rows of ``values`` that belong to each sample's clusters; -1 is none."""
    product = np.zeros((labels.shape[0], values.shape[1]))
    for i in range(labels.shape[0]):
        for r in range(labels.shape[1]):
            if labels[i, r] < 0:
                continue
            for c in range(values.shape[1]):
                product[i, c] += values[offsets[r] + labels[i, r], c]
    return product


@njit(nogil=True, cache=True)
def vote_adjoint(labels: np.ndarray, offsets: np.ndarray, values: np.ndarray, size: int) -> np.ndarray:
    """The transpose of :func:`vote_product`: each sample's values, added to all clusters that it is in."""
    total = np.zeros((size, values.shape[1]))
    for i in range(labels.shape[0]):
        for r in range(labels.shape[1]):
            for c in range(values.shape[1]):
                total[offsets[r] + labels[i, r], c] += values[i, c]
    return total
