"""Graphs as images: which place a row or column gets, and how many share a pixel."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def strongest_group(edges: sp.coo_array, rows: np.ndarray, n_groups: int) -> np.ndarray:
    """The group of rows that most of the weight of each column comes from; ``n_groups`` for columns without weight."""
    m = edges.shape[1]
    weights = np.bincount(rows[edges.row] * m + edges.col, weights=edges.data, minlength=n_groups * m)
    by_group = weights.reshape(n_groups, m)
    return np.where(by_group.any(axis=0), by_group.argmax(axis=0), n_groups)


def places(codes: np.ndarray) -> np.ndarray:
    """The place of each element when they are sorted by code."""
    found = np.empty(len(codes), dtype=np.int64)
    found[np.argsort(codes, kind="stable")] = np.arange(len(codes))
    return found


def binned(
    rows: np.ndarray, columns: np.ndarray, weights: np.ndarray, shape: tuple[int, int], max_pixels: int
) -> tuple[np.ndarray, tuple[int, int]]:
    """An image of the weights, and how many rows and columns a pixel stands for.

    All pixels stand for equally many, except the last ones: otherwise there would be stripes.
    """
    down, right = (-(-size // max_pixels) for size in shape)
    height, width = -(-shape[0] // down), -(-shape[1] // right)
    used = weights != 0  # stored zeros may lead to columns that are left out
    pixel = rows[used] // down * width + columns[used] // right
    image = np.bincount(pixel, weights=weights[used], minlength=height * width)
    return image.reshape(height, width), (down, right)
