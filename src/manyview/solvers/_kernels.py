"""Compiled row kernels of the published solver: one pass over memory per step, no temporary arrays.

Arguments have the letters of the table in :mod:`manyview.solvers.published`; all arrays are of one view, restricted to
some rows (columns in the evenness step).
"""

from __future__ import annotations

import numpy as np

from manyview._utils.compiled import njit
from manyview.proximal.shrinkage import squared_l12_thresholds
from manyview.proximal.simplex import project_row


@njit(nogil=True, cache=True)
def step_graph(
    pull: np.ndarray,
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
    C: np.ndarray,
) -> None:
    """Write the projection of ``(ρG + μQ + μ₃(O - Y3/μ₃) + pull)/(ρ + μ + μ₃)`` to C; ``pull`` is overwritten.

    With ``G = J - Y2/ρ`` and ``Q = B - E + Y1/μ`` (paper, below eq. t6).
    """
    scale = 1.0 / (rho + mu + mu3)
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            pulls = pull[i, j] + rho * J[i, j] - Y2[i, j] + mu * (B[i, j] - E[i, j]) + Y1[i, j]
            pull[i, j] = (pulls + mu3 * O[i, j] - Y3[i, j]) * scale
        project_row(pull[i], 1.0, C[i])


@njit(nogil=True, cache=True)
def step_even(C: np.ndarray, Y3: np.ndarray, mu3: float, weight: float, O: np.ndarray) -> float:  # noqa: E741
    """Write the squared-l_{1,2} prox of ``C + Y3/μ₃`` to O; return ``Σ_j (Σ_i|O_ij|)²``."""
    target = C + Y3 / mu3
    theta = squared_l12_thresholds(target, weight)
    loads = np.zeros(theta.size)
    for i in range(O.shape[0]):
        for j in range(O.shape[1]):
            size = max(abs(target[i, j]) - theta[j], 0.0)
            loads[j] += size
            O[i, j] = size if target[i, j] > 0 else -size
    return (loads**2).sum()


@njit(nogil=True, cache=True)
def step_errors(B: np.ndarray, C: np.ndarray, Y1: np.ndarray, mu: float, threshold: float, E: np.ndarray) -> float:
    """Write the soft threshold of ``B - C + Y1/μ`` to E; return ``Σ|E|``."""
    total = 0.0
    for i in range(E.shape[0]):
        for j in range(E.shape[1]):
            target = B[i, j] - C[i, j] + Y1[i, j] / mu
            size = max(abs(target) - threshold, 0.0)
            total += size
            E[i, j] = size if target > 0 else -size
    return total


@njit(nogil=True, cache=True)
def step_multiplier(Y: np.ndarray, penalty: float, left: np.ndarray, right: np.ndarray) -> float:
    """Add ``penalty·(left - right)`` to Y; return ``max|left - right|``."""
    largest = 0.0
    for i in range(Y.shape[0]):
        for j in range(Y.shape[1]):
            residual = left[i, j] - right[i, j]
            Y[i, j] += penalty * residual
            largest = max(largest, abs(residual))
    return largest


@njit(nogil=True, cache=True)
def step_noise_multiplier(Y1: np.ndarray, mu: float, B: np.ndarray, C: np.ndarray, E: np.ndarray) -> float:
    """Add ``μ·(B - C - E)`` to Y1; return ``max|B - C - E|``."""
    largest = 0.0
    for i in range(Y1.shape[0]):
        for j in range(Y1.shape[1]):
            residual = B[i, j] - C[i, j] - E[i, j]
            Y1[i, j] += mu * residual
            largest = max(largest, abs(residual))
    return largest
