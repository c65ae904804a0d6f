"""Quadratic programmes on the simplex, solved exactly: a small one, and many that share their matrix.

Active-set methods need about as many steps as there are positive coefficients, for any condition of the matrix; the
number of steps of gradient methods grows with its condition number.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from manyview._utils.compiled import njit

# Relative to the largest entries of the problem: gradients and curvatures below this are rounding.
_ROUNDING = 1e-13


def simplex_qp(matrix: np.ndarray, linear: np.ndarray) -> np.ndarray:
    """Solve ``argmin_x xᵀAx - 2xᵀs  subject to  x >= 0, Σx = 1`` for a small positive semi-definite A by active sets.

    If A is singular, as for two equal views, the minimum may not be unique. Then x is nearest to equal shares, as with
    a vanishing ridge.

    Parameters
    ----------
    matrix : ndarray of shape (V, V)
        A, symmetric.
    linear : ndarray of shape (V,)
        s.

    Returns
    -------
    ndarray of shape (V,)
        x, exact up to rounding, with exact zeros.

    Examples
    --------
    >>> import numpy as np
    >>> simplex_qp(np.eye(3), np.array([0.5, 0.8, -0.2]))  # the projection onto the simplex
    array([0.35, 0.65, 0.  ])
    """
    size = len(linear)
    rounding = _ROUNDING * max(float(np.abs(matrix).max()), float(np.abs(linear).max()), 1e-300)
    x, free = np.full(size, 1 / size), np.ones(size, dtype=bool)
    for _ in range(20 * size):  # far more than needed: the objective decreases, so no set of free entries recurs
        step = np.zeros(size)
        step[free] = _free_minimum(matrix[np.ix_(free, free)], linear[free], rounding) - x[free]
        blocked = free & (x + step <= 0)
        if blocked.any():  # move until the first entry becomes zero
            reach = np.divide(x, -step, out=np.full(size, np.inf), where=blocked)
            first = int(np.argmin(reach))
            x = x + reach[first] * step
            free[first] = False
            x[~free] = 0.0
            continue
        x = x + step
        slope = matrix @ x - linear
        gain = np.where(free, 0.0, slope[free].mean() - slope)
        if gain.max() <= rounding:
            break
        free[int(np.argmax(gain))] = True
    return x / x.sum()


def _free_minimum(matrix: np.ndarray, linear: np.ndarray, rounding: float) -> np.ndarray:
    """Return ``argmin_x xᵀAx - 2xᵀs  subject to  Σx = 1``; if it is unbounded, a point far along the descent."""
    even = np.full(len(linear), 1 / len(linear))
    # In coordinates around equal shares, without the direction in which the sum changes.
    downhill = linear - matrix @ even
    centred = matrix - matrix.mean(axis=0)
    curvature, directions = scipy.linalg.eigh(centred - centred.mean(axis=1, keepdims=True))
    slope = directions.T @ (downhill - downhill.mean())
    slope[np.abs(slope) <= rounding] = 0.0  # flat direction: no step
    return even + directions @ (slope / np.maximum(curvature, rounding))


@njit(nogil=True, cache=True)
def simplex_qp_rows(
    gram: np.ndarray,
    targets: np.ndarray,
    ridge: float,
    scales: np.ndarray,
    tol: float,
    max_iter: int,
    out: np.ndarray,
    values: np.ndarray,
    gaps: np.ndarray,
) -> int:
    """Solve ``argmin_z zᵀGz - 2bᵀz`` on the simplex for every row b of ``targets`` by the active-set method.

    On entry, ``out`` holds the minima without ``z >= 0``; one that has no negative entry is the solution. Otherwise
    the search starts from the best corner. In each step the entry with the steepest descent joins the support, then z
    moves towards the minimum on the support, and entries that would become negative leave it. The value decreases in
    every step, so no support recurs. ``gaps`` gets ``(gᵀz - min_j g_j)/scale`` with the gradient g, ``values`` the
    minima. Returns the largest number of steps of a row.
    """
    n, m = targets.shape
    support = np.empty(m, dtype=np.int64)
    factor, forward, trial, gradient = np.empty((m, m)), np.empty((m, 2)), np.empty(m), np.empty(m)
    most = 0
    for i in range(n):
        z, b = out[i], targets[i]
        size, value, step, entering = 0, np.inf, 0, 0
        inside = z.min() >= 0
        if inside:
            size = m
            for j in range(m):
                support[j] = j
        else:
            z[:] = 0.0
            for j in range(1, m):
                if gram[j, j] - 2 * b[j] < gram[entering, entering] - 2 * b[entering]:
                    entering = j
            z[entering] = 1.0
        while step < max_iter:
            step += 1
            if not inside:
                support[size] = entering
                _factorize(gram, b, ridge, support, size, size + 1, factor, forward)
                size = _descend(gram, b, ridge, support, size + 1, factor, forward, trial, z)
            inner = 0.0
            for j in range(m):
                gradient[j] = -b[j]
            for p in range(size):
                for j in range(m):
                    gradient[j] += gram[support[p], j] * z[support[p]]
            now = 0.0
            for p in range(size):
                inner += gradient[support[p]] * z[support[p]]
                now -= b[support[p]] * z[support[p]]
            now += inner
            stuck = z[entering] == 0 and now >= value  # no progress beyond rounding
            entering = int(np.argmin(gradient))
            gaps[i] = 2 * max(inner - gradient[entering], 0.0) / scales[i]
            if inside or gaps[i] <= tol or stuck or z[entering] > 0:
                break
            value = now
        values[i] = now
        z /= z.sum()
        most = max(most, step)
    return most


@njit(nogil=True, cache=True)
def _factorize(
    gram: np.ndarray,
    b: np.ndarray,
    ridge: float,
    support: np.ndarray,
    first: int,
    size: int,
    factor: np.ndarray,
    forward: np.ndarray,
) -> None:
    """Compute rows ``first`` to ``size - 1`` of L with ``LLᵀ = G`` on the support, and of ``L⁻¹[b, 1]``."""
    for p in range(first, size):
        pivot = gram[support[p], support[p]]
        forward[p, 0], forward[p, 1] = b[support[p]], 1.0
        for q in range(p):
            entry = gram[support[p], support[q]]
            for r in range(q):
                entry -= factor[p, r] * factor[q, r]
            entry /= factor[q, q]
            factor[p, q] = entry
            pivot -= entry * entry
            forward[p, 0] -= entry * forward[q, 0]
            forward[p, 1] -= entry * forward[q, 1]
        factor[p, p] = np.sqrt(max(pivot, ridge))  # less is rounding: G - αI has no negative eigenvalue
        forward[p] /= factor[p, p]


@njit(nogil=True, cache=True)
def _descend(
    gram: np.ndarray,
    b: np.ndarray,
    ridge: float,
    support: np.ndarray,
    size: int,
    factor: np.ndarray,
    forward: np.ndarray,
    trial: np.ndarray,
    z: np.ndarray,
) -> int:
    """Move z to the minimum on the support, ``G⁻¹(b + ν1)``, removing entries that reach 0; return its new size."""
    while True:
        inner, ones = 0.0, 0.0
        for p in range(size):
            inner += forward[p, 0] * forward[p, 1]
            ones += forward[p, 1] ** 2
        multiplier = (1.0 - inner) / ones
        for p in range(size - 1, -1, -1):
            trial[p] = forward[p, 0] + multiplier * forward[p, 1]
            for q in range(p + 1, size):
                trial[p] -= factor[q, p] * trial[q]
            trial[p] /= factor[p, p]
        reach, leaving = 1.0, -1
        for p in range(size):
            here = z[support[p]]
            if trial[p] < 0 and here / (here - trial[p]) < reach:
                reach, leaving = here / (here - trial[p]), p
        for p in range(size):
            z[support[p]] = max(z[support[p]] + reach * (trial[p] - z[support[p]]), 0.0)
        if leaving < 0:
            return size
        z[support[leaving]] = 0.0
        size -= 1
        for p in range(leaving, size):
            support[p] = support[p + 1]
        _factorize(gram, b, ridge, support, leaving, size, factor, forward)
