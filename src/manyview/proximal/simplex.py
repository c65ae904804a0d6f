"""Euclidean projection onto the simplex, dense and on a sparsity pattern."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from manyview._utils.compiled import njit


@njit(nogil=True, cache=True)
def project_row(y: np.ndarray, total: float, out: np.ndarray) -> None:
    """Write ``argmin_x ½|x - y|²  subject to  x >= 0, Σx = total`` to ``out`` (which may be ``y`` itself).

    The solution is ``(y - θ)₊``. Starting from all entries, θ is set so that the active ones sum to the total, and
    those at or below θ are removed; θ only grows, so this ends after a few passes with the exact θ.
    """
    n = y.size
    if n == 0:
        return
    top = y[0]  # a common shift does not change the projection; this one limits rounding
    for j in range(n):
        top = max(top, y[j])
    active = np.empty(n)
    count = n
    mass = 0.0
    for j in range(n):
        active[j] = y[j] - top
        mass += active[j]
    theta = (mass - total) / count
    while True:
        kept = 0
        mass = 0.0
        for j in range(count):
            value = active[j]
            if value > theta:
                active[kept] = value
                mass += value
                kept += 1
        if kept == count or kept == 0:
            break
        count = kept
        theta = (mass - total) / count
    for j in range(n):
        out[j] = max(y[j] - top - theta, 0.0)


@njit(nogil=True, cache=True, error_model="numpy")
def project_columns(y: np.ndarray, total: float, out: np.ndarray) -> np.ndarray:
    """Write the projection of every column of ``y`` to ``out`` (which may be ``y``), as :func:`project_row` of rows.

    All columns are handled together, row by row as in memory, so that the loops compile to vector instructions. θ is at
    least ``max(y) - total``, as the largest entry of the result is at most the total; starting there removes most
    entries at once, and rows without entries above θ are not looked at again.

    Returns
    -------
    ndarray of bool, one per row
        Rows of the result that are not zero.
    """
    m, n = y.shape
    filled = np.zeros(m, dtype=np.bool_)
    if m == 0:
        return filled
    top = y[0].copy()
    for j in range(1, m):
        for i in range(n):
            top[i] = y[j, i] if y[j, i] > top[i] else top[i]
    theta, before = np.full(n, -total), np.full(n, m + 1.0)
    mass, count = np.empty(n), np.empty(n)
    rows = np.arange(m)
    moving = True
    while moving:
        mass[:] = 0.0
        count[:] = 0.0
        kept = 0
        for row in rows:
            found = False
            for i in range(n):
                value = y[row, i] - top[i]
                above = value > theta[i]
                mass[i] += value if above else 0.0
                count[i] += 1.0 if above else 0.0
                found |= above
            rows[kept] = row
            kept += found
        rows = rows[:kept]
        moving = False
        for i in range(n):
            moving |= count[i] < before[i]
            theta[i] = (mass[i] - total) / count[i]
            before[i] = count[i]
    filled[rows] = True
    for j in range(m):
        for i in range(n):
            out[j, i] = max(y[j, i] - top[i] - theta[i], 0.0)
    return filled


@njit(nogil=True, cache=True)
def _project_segments(values: np.ndarray, starts: np.ndarray, total: float, out: np.ndarray) -> None:
    for i in range(starts.size - 1):
        project_row(values[starts[i] : starts[i + 1]], total, out[starts[i] : starts[i + 1]])


def project_simplex(y: np.ndarray, total: float = 1.0) -> np.ndarray:
    """Project every row onto the simplex: ``argmin_x ½|x - y|²  subject to  x >= 0, Σx = total``.

    Parameters
    ----------
    y : ndarray of shape (..., m)
        Points; the last axis is projected.
    total : float, default=1.0
        The sum of each projected row, positive.

    Returns
    -------
    ndarray of shape (..., m)
        A new array; exact (no tolerance), with exact zeros.

    Examples
    --------
    >>> import numpy as np
    >>> project_simplex(np.array([0.5, 0.8, -0.2]))
    array([0.35, 0.65, 0.  ])
    """
    y = np.ascontiguousarray(y, dtype=np.float64)
    out = np.empty_like(y)
    starts = np.arange(0, y.size + 1, max(y.shape[-1], 1))
    _project_segments(y.reshape(-1), starts, float(total), out.reshape(-1))
    return out


def project_simplex_sparse(graph: sp.csr_array | sp.csc_array, total: float = 1.0) -> sp.csr_array | sp.csc_array:
    """Project the stored entries of each row (CSR) or column (CSC) onto the simplex; other entries stay absent.

    That is ``argmin ½|x - y|²  subject to  x >= 0, Σx = total, x = 0 outside the pattern``. An empty row or column
    stays empty. The pattern is kept, so entries that became zero are stored zeros.

    Parameters
    ----------
    graph : csr_array or csc_array
    total : float, default=1.0
        The sum of each projected row or column, positive.
    """
    out = np.empty(graph.nnz)
    _project_segments(graph.data.astype(np.float64, copy=False), graph.indptr, float(total), out)
    return type(graph)((out, graph.indices, graph.indptr), shape=graph.shape)
