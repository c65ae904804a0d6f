"""Compiled kernels of the published solver: one pass over memory per step, no temporary arrays.

Arguments have the letters of the table in :mod:`manyview.solvers.published`. Arrays are by anchors, of shape (V, m, n):
the n numbers of a view and an anchor are one piece of memory. Functions in the plural or with "all" do a step for the
anchors ``first`` to ``last``, the others for one view and anchor. Many anchors are not in use for most of a run; then
their C, J, O, Y2 and Y3 are zero, and are neither read nor written. J may have longer rows, whose ends are not used.
Without O (μ₃ = 0) it and Y3 are not touched.
"""

from __future__ import annotations

import numpy as np

from manyview._utils.compiled import njit
from manyview.proximal.shrinkage import squared_l12_threshold
from manyview.proximal.simplex import project_columns

# Sums and maxima are kept in lanes, so that loops compile to vector instructions and add up in a fixed order.
_LANES = 64


@njit(nogil=True, cache=True)
def gather_pulls(
    B: np.ndarray,
    E: np.ndarray,
    J: np.ndarray,
    O: np.ndarray,  # noqa: E741
    Y1: np.ndarray,
    Y2: np.ndarray,
    Y3: np.ndarray,
    mu: float,
    rho: float,
    mu3: float,
    noisy: bool,
    C: np.ndarray,
) -> None:
    """Write ``ρG + μQ + μ₃(O - Y3/μ₃)`` of one anchor in use to C, whose previous values are not needed any more.

    With ``G = J - Y2/ρ`` and ``Q = B - E + Y1/μ`` (paper, below eq. t6).
    """
    for i in range(C.size):
        pull = rho * J[i] - Y2[i] + Y1[i]
        pull += mu * (B[i] - E[i]) if noisy else mu * B[i]
        C[i] = pull + mu3 * O[i] - Y3[i] if mu3 > 0 else pull


@njit(nogil=True, cache=True)
def gather_all_pulls(
    B: np.ndarray,
    E: np.ndarray,
    J: np.ndarray,
    O: np.ndarray,  # noqa: E741
    Y1: np.ndarray,
    Y2: np.ndarray,
    Y3: np.ndarray,
    mu: float,
    rho: float,
    mu3: float,
    in_use: np.ndarray,
    noisy: np.ndarray,
    last_view_slip: bool,
    first: int,
    last: int,
    C: np.ndarray,
) -> None:
    """Apply :func:`gather_pulls` to the anchors in use; with ``last_view_slip``, the last view's O is that of all."""
    for j in range(first, last):
        if in_use[j]:
            for v in range(len(C)):
                even = O[-1 if last_view_slip else v, j]
                own = B[v, j], E[v, j], J[v, j], even, Y1[v, j], Y2[v, j], Y3[v, j]
                gather_pulls(*own, mu, rho, mu3, noisy[v, j], C[v, j])


@njit(nogil=True, cache=True)
def step_graph(
    pull: np.ndarray,
    B: np.ndarray,
    E: np.ndarray,
    Y1: np.ndarray,
    mu: float,
    scale: float,
    in_use: np.ndarray,
    noisy: np.ndarray,
    filled: np.ndarray,
    first: int,
    C: np.ndarray,
) -> np.ndarray:
    """Write the projection of ``scale·(C + pull)`` to C, for all anchors of one view and samples from ``first`` on.

    Of anchors that are not in use, μQ takes the place of C: all else is zero. It is better to gather the terms anchor
    by anchor than here, where only a few numbers of each array are side by side.

    Parameters
    ----------
    pull : ndarray of shape (m, samples)
        Overwritten.
    in_use, noisy, filled : ndarrays of bool, one per anchor
        Where C has been given by :func:`gather_pulls`, where E may be other than zero, and where C may.

    Returns
    -------
    ndarray of bool, one per anchor
        Where these samples' C is other than zero.
    """
    m, width = pull.shape
    for j in range(m):
        row = pull[j]
        if in_use[j]:
            for i in range(width):
                row[i] = (row[i] + C[j, first + i]) * scale
        elif noisy[j]:
            for i in range(width):
                row[i] = (row[i] + mu * (B[j, first + i] - E[j, first + i]) + Y1[j, first + i]) * scale
        else:
            for i in range(width):
                row[i] = (row[i] + mu * B[j, first + i] + Y1[j, first + i]) * scale
    now = project_columns(pull, 1.0, pull)
    for j in range(m):
        if now[j] or filled[j]:
            for i in range(width):
                C[j, first + i] = pull[j, i]
    return now


@njit(nogil=True, cache=True, error_model="numpy")
def step_target(C: np.ndarray, Y: np.ndarray, penalty: float, out: np.ndarray) -> None:
    """Write ``C + Y/penalty`` of one anchor to ``out``."""
    for i in range(C.size):
        out[i] = C[i] + Y[i] / penalty


@njit(nogil=True, cache=True)
def step_targets(
    C: np.ndarray, Y: np.ndarray, penalty: float, in_use: np.ndarray, first: int, last: int, out: np.ndarray
) -> None:
    """Apply :func:`step_target` to the anchors in use."""
    for j in range(first, last):
        if in_use[j]:
            for v in range(len(C)):
                step_target(C[v, j], Y[v, j], penalty, out[v, j])


@njit(nogil=True, cache=True, error_model="numpy")
def step_even(C: np.ndarray, Y3: np.ndarray, mu3: float, weight: float, O: np.ndarray) -> float:  # noqa: E741
    """Write the squared-l_{1,2} prox of ``C + Y3/μ₃`` of one anchor to O; return ``(Σ_i|O_i|)²``."""
    step_target(C, Y3, mu3, O)
    theta = squared_l12_threshold(O, weight)
    load = np.zeros(_LANES)
    for start in range(0, O.size, _LANES):
        for i in range(min(_LANES, O.size - start)):
            target = O[start + i]
            size = max(abs(target) - theta, 0.0)
            load[i] += size
            O[start + i] = size if target > 0 else -size
    return load.sum() ** 2


@njit(nogil=True, cache=True)
def step_all_even(
    C: np.ndarray,
    Y3: np.ndarray,
    mu3: float,
    weight: float,
    in_use: np.ndarray,
    first: int,
    last: int,
    O: np.ndarray,  # noqa: E741
) -> float:
    """Apply :func:`step_even` to the anchors in use; return the sum of its values."""
    total = 0.0
    for j in range(first, last):
        if in_use[j]:
            for v in range(len(C)):
                total += step_even(C[v, j], Y3[v, j], mu3, weight, O[v, j])
    return total


@njit(nogil=True, cache=True, error_model="numpy")
def step_errors(
    B: np.ndarray, C: np.ndarray, Y1: np.ndarray, mu: float, threshold: float, noisy: bool, E: np.ndarray
) -> float:
    """Write the soft threshold of ``B - C + Y1/μ`` of one anchor to E; return ``Σ|E|``.

    If E is zero before (not ``noisy``) and after, it is not written.
    """
    found = noisy
    if not noisy:
        for i in range(E.size):
            found |= abs(B[i] - C[i] + Y1[i] / mu) > threshold
    if not found:
        return 0.0
    total = np.zeros(_LANES)
    for start in range(0, E.size, _LANES):
        for i in range(min(_LANES, E.size - start)):
            target = B[start + i] - C[start + i] + Y1[start + i] / mu
            size = max(abs(target) - threshold, 0.0)
            total[i] += size
            E[start + i] = size if target > 0 else -size
    return total.sum()


@njit(nogil=True, cache=True)
def step_all_errors(
    B: np.ndarray,
    C: np.ndarray,
    Y1: np.ndarray,
    mu: float,
    threshold: float,
    possible: np.ndarray,
    noisy: np.ndarray,
    first: int,
    last: int,
    E: np.ndarray,
) -> float:
    """Apply :func:`step_errors` where errors are possible, and update ``noisy``; return ``Σ|E|``."""
    total = 0.0
    for j in range(first, last):
        for v in range(len(C)):
            if possible[v, j]:
                size = step_errors(B[v, j], C[v, j], Y1[v, j], mu, threshold, noisy[v, j], E[v, j])
                noisy[v, j] = size > 0
                total += size
    return total


@njit(nogil=True, cache=True)
def step_multiplier(Y: np.ndarray, penalty: float, left: np.ndarray, right: np.ndarray) -> float:
    """Add ``penalty·(left - right)`` of one anchor to Y; return ``max|left - right|``."""
    largest = np.zeros(_LANES)
    for start in range(0, Y.size, _LANES):
        for i in range(min(_LANES, Y.size - start)):
            residual = left[start + i] - right[start + i]
            Y[start + i] += penalty * residual
            largest[i] = max(largest[i], abs(residual))
    return largest.max()


@njit(nogil=True, cache=True)
def step_noise_multiplier(
    Y1: np.ndarray, mu: float, B: np.ndarray, C: np.ndarray, E: np.ndarray, in_use: bool, noisy: bool
) -> tuple[float, float]:
    """Add ``μ·(B - C - E)`` of one anchor to Y1; return ``max|B - C - E|`` and ``max|Y1|``."""
    largest, bound = np.zeros(_LANES), np.zeros(_LANES)
    for start in range(0, Y1.size, _LANES):
        for i in range(min(_LANES, Y1.size - start)):
            residual = B[start + i]
            if in_use:
                residual -= C[start + i]
            if noisy:
                residual -= E[start + i]
            Y1[start + i] += mu * residual
            largest[i] = max(largest[i], abs(residual))
            bound[i] = max(bound[i], abs(Y1[start + i]))
    return largest.max(), bound.max()


@njit(nogil=True, cache=True)
def step_multipliers(
    B: np.ndarray,
    C: np.ndarray,
    E: np.ndarray,
    J: np.ndarray,
    O: np.ndarray,  # noqa: E741
    Y1: np.ndarray,
    Y2: np.ndarray,
    Y3: np.ndarray,
    mu: float,
    rho: float,
    mu3: float,
    in_use: np.ndarray,
    noisy: np.ndarray,
    first: int,
    last: int,
    noise_bound: np.ndarray,
) -> tuple[float, float, float]:
    """Update Y1, Y2, Y3 and the largest ``|Y1|``; return ``max|B - C - E|``, ``max|C - J|`` and ``max|C - O|``."""
    noise = tensor = even = 0.0
    for j in range(first, last):
        for v in range(len(C)):
            residual, noise_bound[v, j] = step_noise_multiplier(
                Y1[v, j], mu, B[v, j], C[v, j], E[v, j], in_use[j], noisy[v, j]
            )
            noise = max(noise, residual)
            if in_use[j]:
                tensor = max(tensor, step_multiplier(Y2[v, j], rho, C[v, j], J[v, j]))
            if in_use[j] and mu3 > 0:
                even = max(even, step_multiplier(Y3[v, j], mu3, C[v, j], O[v, j]))
    return noise, tensor, even


@njit(nogil=True, cache=True)
def sum_views(C: np.ndarray, factors: np.ndarray, anchors: np.ndarray) -> np.ndarray:
    """Return ``Σ_v factors_vj·C_vj`` for some anchors j, of shape (anchors, n); views with factor 0 are not read."""
    total = np.zeros((len(anchors), C.shape[2]))
    for row, j in zip(total, anchors):  # noqa: B905 - not known to numba
        for v in range(len(C)):
            if factors[v, j] > 0:
                for i in range(row.size):
                    row[i] += C[v, j, i] * factors[v, j]
    return total
