"""Essential tensor learning (Wu, Lin and Zha, 2019, "ETLMSC"): low-rank part of the views' random walks.

``min_{Z,E} |Z|_⊛ + λ·|E|_{2,1}  s.t.  T = Z + E``

======  ==================  ==============================================================================
letter  shape               meaning
======  ==================  ==============================================================================
T       (V, n, n)           transition matrices of the views, rows sum to 1
Z       (V, n, n)           the essential tensor, low-rank after a Fourier transform along one axis
E       (V, n, n)           errors; whole columns, of all views together, are zero
Y       (V, n, n)           multiplier of T = Z + E
μ       scalar              penalty of the same
λ       scalar              weight of errors
======  ==================  ==============================================================================

``|Z|_⊛`` is the tensor nuclear norm, divided by the length of the transformed axis; ``|E|_{2,1}`` adds up the lengths
of the columns, each taken over all views. The penalty is doubled in every pass, as in the authors' program: the
constraint is met after about 25 passes, but the result depends on the initial penalty and on its growth. With
``penalty_growth=1`` it converges to the minimum of the (convex) problem, after many more passes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from manyview.engines import RowThreads
from manyview.proximal import prox_l21
from manyview.tensor import prox_schatten

TENSOR_AXES = {"views": 0, "rows": 1, "columns": 2}
"""Which axis of the (views, from, to) tensor is Fourier transformed."""

_LARGEST_PENALTY = 1e11
# Lower bound on the entries of a walk, as a share of the largest: every sample is reached from every other.
_SMALLEST_STEP = 1e-12
_PERRON_STEPS, _PERRON_TOLERANCE = 1000, 1e-13


@dataclass
class State:
    """All variables, by the letters of the table above; ``before`` is the Z of the previous pass."""

    T: np.ndarray
    Z: np.ndarray
    E: np.ndarray
    Y: np.ndarray
    before: np.ndarray
    mu: float
    n_iter: int = 0


@dataclass(frozen=True)
class Essential:
    """Result of :func:`run`.

    ``walk`` is ``Σ_v Z_v``. ``objective`` and ``residual`` have one entry per pass; the residual is the largest entry
    of ``T - Z - E`` and of the changes of Z and E.
    """

    walk: np.ndarray
    objective: list[float] = field(default_factory=list)
    residual: list[float] = field(default_factory=list)

    @property
    def n_iter(self) -> int:
        """Number of passes."""
        return len(self.objective)


def transition_matrix(kernel: np.ndarray) -> np.ndarray:
    """Return ``D⁻¹K``: the rows of a positive kernel, divided by their sums."""
    return kernel / kernel.sum(axis=1, keepdims=True)


def init_state(transitions: np.ndarray, penalty: float) -> State:
    """Return a state with all variables zero; ``transitions`` is not copied and not changed."""
    Z, E, Y, before = (np.zeros(transitions.shape) for _ in range(4))
    return State(transitions, Z, E, Y, before, mu=penalty)


def update_essential(state: State, axis: int, threads: RowThreads) -> float:
    """Z-step: ``argmin_Z |Z|_⊛ + μ/2·|Z - (T - E + Y/μ)|²_F``; returns ``|Z|_⊛``."""
    state.Z, state.before = state.before, state.Z

    def step(rows: slice) -> None:
        for Z, T, E, Y in zip(state.Z, state.T, state.E, state.Y, strict=True):
            np.divide(Y[rows], state.mu, out=Z[rows])
            Z[rows] += T[rows]
            Z[rows] -= E[rows]

    threads.map(step, state.Z.shape[1])
    return prox_schatten(state.Z, 1 / state.mu, 1.0, axis, workers=threads.n_threads, out=state.Z)[1]


def update_errors(state: State, error_weight: float, threads: RowThreads) -> tuple[float, float]:
    """E-step: ``argmin_E λ·|E|_{2,1} + μ/2·|E - (T - Z + Y/μ)|²_F``; returns ``|E|_{2,1}`` and the largest change."""

    def step(columns: slice) -> tuple[float, float]:
        part = (slice(None), slice(None), columns)
        target = state.Y[part] / state.mu
        target += state.T[part]
        target -= state.Z[part]
        stacked = prox_l21(target.reshape(-1, target.shape[2]), error_weight / state.mu)
        length = float(np.sqrt(np.einsum("ij,ij->j", stacked, stacked)).sum())
        errors = stacked.reshape(target.shape)
        change = _largest(np.subtract(errors, state.E[part], out=target))
        state.E[part] = errors
        return length, change

    lengths, changes = zip(*threads.map(step, state.E.shape[2]), strict=True)
    return sum(lengths), max(changes)


def update_multiplier(state: State, threads: RowThreads) -> tuple[float, float]:
    """Y-step: ``Y ← Y + μ·(T - Z - E)``; returns the largest entry of ``T - Z - E`` and the largest change of Z."""

    def step(rows: slice) -> tuple[float, float]:
        residual = change = 0.0
        for v in range(len(state.T)):
            part = (v, rows)
            gap = state.T[part] - state.Z[part]
            gap -= state.E[part]
            residual = max(residual, _largest(gap))
            gap *= state.mu
            state.Y[part] += gap
            change = max(change, _largest(np.subtract(state.Z[part], state.before[part], out=gap)))
        return residual, change

    residuals, changes = zip(*threads.map(step, state.T.shape[1]), strict=True)
    return max(residuals), max(changes)


def run(
    transitions: np.ndarray,
    error_weight: float,
    *,
    tensor_axis: str = "rows",
    penalty: float = 0.01,
    penalty_growth: float = 2.0,
    max_iter: int = 200,
    tol: float = 1e-6,
    n_threads: int | None = None,
    on_pass: Callable[[int, float], None] | None = None,
) -> Essential:
    """Alternate the steps until all changes and ``T - Z - E`` are below ``tol``.

    Parameters
    ----------
    transitions : ndarray of shape (V, n, n)
        T.
    error_weight : float
        λ. From 1 on, E = 0 and Z = T.
    tensor_axis : {"rows", "columns", "views"}
        The axis that is Fourier transformed: start of a step of the walk, its end, or the views.
    penalty, penalty_growth : float
        Initial μ, and its growth factor per pass.
    max_iter, tol : int, float
        Maximum number of passes; largest residual.
    n_threads : int, optional
        Default: all cores. The result does not depend on it.
    on_pass : callable, optional
        Called after each pass with its number and the objective.
    """
    state = init_state(transitions, penalty)
    values: list[float] = []
    residuals: list[float] = []
    with RowThreads(n_threads) as threads:
        while state.n_iter < max_iter:
            norm = update_essential(state, TENSOR_AXES[tensor_axis], threads)
            length, moved = update_errors(state, error_weight, threads)
            residuals.append(max(moved, *update_multiplier(state, threads)))
            state.n_iter += 1
            values.append(norm + error_weight * length)
            if on_pass is not None:
                on_pass(state.n_iter, values[-1])
            if residuals[-1] < tol:
                break
            state.mu = min(penalty_growth * state.mu, _LARGEST_PENALTY)
    return Essential(state.Z.sum(axis=0), values, residuals)


def perron_vector(walk: np.ndarray) -> np.ndarray:
    """Compute the positive π with ``πᵀP = ρ·πᵀ``, ``Σπ = 1`` and the largest ρ, for a positive P; by power iteration.

    If P is stochastic, π is its stationary distribution. If P is almost disconnected, π is ill-determined; but it is
    positive after any number of steps, which is sufficient here.
    """
    share = np.full(len(walk), 1 / len(walk))
    for _ in range(_PERRON_STEPS):
        before, share = share, share @ walk
        share /= share.sum()
        if np.abs(share - before).max() <= _PERRON_TOLERANCE * share.max():
            break
    return share


def symmetric_walk(walk: np.ndarray) -> np.ndarray:
    """Return ``½(Π^½ P Π^-½ + Π^-½ Pᵀ Π^½)`` with ``Π = diag(π)``, whose leading eigenvectors show the clusters.

    P is ``walk`` with negative entries, which Z may have, set to 0 and a tiny number added to all, so that a
    :func:`perron_vector` exists.
    """
    positive = np.maximum(walk, 0.0)
    positive += _SMALLEST_STEP * positive.max()
    scale = np.sqrt(perron_vector(positive))
    positive *= scale[:, None]
    positive /= scale
    return (positive + positive.T) / 2


def _largest(values: np.ndarray) -> float:
    return max(float(values.max()), -float(values.min()))
