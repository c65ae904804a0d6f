"""The published solver: an augmented Lagrangian with growing penalties (paper, algorithm 1).

``min |J|_Sp^p + α·Σ_v|E_v|₁ + β·tr(PᵀLP) + γ·Σ_v Σ_j (Σ_i|O_v,ij|)²``
``s.t.  B_v = C_v + E_v,  C = J,  C = O,  C_v >= 0,  C_v·1 = 1,  PᵀP = I,  ξ in the simplex,  L = Σ_v L_v/ξ_v``

The term with γ is not in the paper; the authors' program adds it. γ = 0 is the paper's objective (label f). In the
program's variant O is then the C of the previous pass and only damps the C-step, so that results are continuous in γ;
in the paper's there is no O, and the C-step is eq. (t9) as printed.

=========  ==================  =========================================================================
letter     shape               meaning
=========  ==================  =========================================================================
B          (V, n, m)           graphs between n samples and m anchors that the views give
C          (V, n, m)           clean graphs, rows on the simplex
E          (V, n, m)           errors, sparse in the sense of l₁
J          (V, n, m)           copy of C that is low-rank across views, as a tensor
O          (V, n, m)           copy of C that uses the anchors evenly
P_U        (n, K)              smallest eigenvectors of L, the samples' part
P_M        (m, K)              the anchors' part
ξ          (V,)                view factors; the weight of a view is 1/ξ_v
Y1..3      (V, n, m)           multipliers of B = C + E, C = J, C = O
μ ρ μ₃     scalars             penalties of the same three
α β γ p    scalars             weights of error, connectivity, evenness; exponent of the Schatten norm
=========  ==================  =========================================================================

There are two variants, because program and text differ:

===================  ==========================================  =============================================
what differs         "program"                                   "paper" (algorithm 1)
===================  ==========================================  =============================================
order of a pass      C, J, O, E, P, β, ξ, multipliers            P, C, E, J, ξ, multipliers
start                C, E, J, O = 0, P from B                    C = B, E = J = 0
β                    halved or doubled by a rule                 constant (the text has no rule)
penalties            start at 1e-4                               start at 1e-5
transformed axis     samples, norm divided by its length         anchors, norm as printed
shrinkage            four sweeps                                 until it converges (theorem 1)
empty anchors        eps is added to their degrees               no weight
===================  ==========================================  =============================================

Three slips of the program are *not* repeated: the last view's O stands in for every view's
(:attr:`Settings.last_view_slip` brings it back), a conjugate pair of slices is shrunk twice when the transformed axis
is odd, and slices are counted in 16 bits. Misprints of the text are read as the mathematics demands: Y2 for Y1 in eq.
(o4), H transposed in eq. (t9), and the threshold of theorem 1, n₃/ρ, in eq. (o4-1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, Literal

import numpy as np

from manyview.engines import RowThreads
from manyview.graphs.spectrum import leading_singular_vectors
from manyview.solvers import _kernels as kernels
from manyview.tensor import prox_schatten
from manyview.tensor.schatten import NormScale
from manyview.tensor.tsvd import with_room_for_spectrum

TENSOR_AXES = {"views": 0, "samples": 1, "anchors": 2}
"""Which axis of the (views, samples, anchors) tensor is Fourier transformed."""

_LARGEST_MU, _LARGEST_RHO = 1e11, 1e13
# Views whose graphs are already disconnected have h_v = 0 up to rounding; a floor keeps 1/ξ_v finite.
_SMALLEST_H = 1e-6
_COMPONENT_TOLERANCE = 1e-7
# Anchors per task of a thread.
_TILE_ANCHORS = 8
_EPS = float(np.finfo(np.float64).eps)


Variant = Literal["program", "paper"]

VARIANTS: dict[Variant, dict[str, Any]] = {
    "program": {
        "tensor_axis": "samples",
        "norm_scale": "code",
        "sparsity_weight": 1e-4,
        "initial_penalty": 1e-4,
        "shrinkage_sweeps": 4,
        "degree_floor": _EPS,
    },
    "paper": {
        "tensor_axis": "anchors",
        "norm_scale": "paper",
        "sparsity_weight": 0.0,
        "initial_penalty": 1e-5,
        "shrinkage_sweeps": None,
        "degree_floor": 0.0,
    },
}
"""The settings in which program and text differ, beside the start and the order of the updates."""


@dataclass(frozen=True)
class Settings:
    """Constants of a run. The defaults are those of the authors' program on MSRC-v5."""

    n_clusters: int
    variant: Variant = "program"
    p: float = 0.9
    noise_weight: float = 0.025  # α
    sparsity_weight: float = 1e-4  # γ
    tensor_axis: str = "samples"
    norm_scale: NormScale = "code"
    initial_penalty: float = 1e-4  # μ, ρ and μ₃ at the start
    penalty_growth: float = 1.1  # η
    shrinkage_sweeps: int | None = 4
    degree_floor: float = _EPS
    """Added to the degrees of anchors, as in the program. It matters: if one view has no edges to an anchor that
    another view uses, the factor 1/√eps draws edges to it, so that the views come to share the few anchors in use. With
    0, for which the paper has no rule, anchors without edges have no weight."""
    last_view_slip: bool = False
    """Repeat the program's slip: the C-step of every view uses the last view's O."""

    @property
    def has_even_copy(self) -> bool:
        """Whether there is a third copy O. The paper has none; the program keeps it even with γ = 0."""
        return self.variant == "program" or self.sparsity_weight > 0


@dataclass
class State:
    """All variables, by the letters of the table above. Arrays are updated in place.

    In memory the graphs are by anchors: the n numbers of an anchor lie side by side, so that Fourier transforms along
    the samples fit the caches, and anchors without edges are skipped (:func:`by_anchors`). Numbers per view and anchor
    say which: ``degrees``, the column sums of C; ``in_use``, anchors outside of which J, O, Y2, Y3 of all views are
    zero; ``noisy``, where E is not; and ``noise_bound``, the largest ``|Y1|``.
    """

    B: np.ndarray
    C: np.ndarray
    E: np.ndarray
    J: np.ndarray
    O: np.ndarray  # noqa: E741
    Y1: np.ndarray
    Y2: np.ndarray
    Y3: np.ndarray
    P_U: np.ndarray
    P_M: np.ndarray
    xi: np.ndarray
    beta: float
    mu: float
    rho: float
    mu3: float  # 0 where there is no O
    spectrum: np.ndarray  # work space for J's Fourier transform, in the memory of J
    degrees: np.ndarray
    in_use: np.ndarray
    noisy: np.ndarray
    noise_bound: np.ndarray
    n_iter: int = 0


@dataclass(frozen=True)
class History:
    """History of a run, one entry per pass."""

    objective: list[float] = field(default_factory=list)
    noise_residual: list[float] = field(default_factory=list)  # max|B - C - E|
    tensor_residual: list[float] = field(default_factory=list)  # max|C - J|
    even_residual: list[float] = field(default_factory=list)  # max|C - O|; 0 where there is no O
    connectivity_weight: list[float] = field(default_factory=list)  # β
    view_weights: list[np.ndarray] = field(default_factory=list)  # ∝ 1/ξ

    def append(self, **values: object) -> None:
        """Add one value to every list."""
        for entry in fields(self):
            getattr(self, entry.name).append(values[entry.name])

    @property
    def residual(self) -> float:
        """The largest residual of the last pass."""
        return max(self.noise_residual[-1], self.tensor_residual[-1], self.even_residual[-1])


def init_state(graphs: np.ndarray, settings: Settings, connectivity_weight: float) -> State:
    """Return the initial state: C = B, other variables zero, equal view factors, P from the input graphs.

    Parameters
    ----------
    graphs : ndarray of shape (V, n, m)
        The input graphs B, not changed; copied unless :func:`by_anchors` finds them contiguous.
    settings : Settings
    connectivity_weight : float
        Initial β.
    """
    shape = (len(graphs), graphs.shape[2], graphs.shape[1])
    zeros = lambda: np.zeros(shape).transpose(0, 2, 1)  # noqa: E731
    # Without O its place is taken by zeros that need no memory.
    even = zeros if settings.has_even_copy else lambda: np.broadcast_to(0.0, graphs.shape)
    graphs = np.ascontiguousarray(by_anchors(graphs), dtype=np.float64).transpose(0, 2, 1)
    low_rank, spectrum = with_room_for_spectrum(shape)
    penalty = settings.initial_penalty
    state = State(
        B=graphs,
        # As printed. The program starts with C = 0 and takes P and the degrees of the first pass from B; its first
        # C-step uses only these degrees of C, so this is equivalent.
        C=by_anchors(graphs).copy().transpose(0, 2, 1),
        E=zeros(),
        J=low_rank.transpose(0, 2, 1),
        O=even(),
        Y1=zeros(),
        Y2=zeros(),
        Y3=even(),
        P_U=np.empty(0),
        P_M=np.empty(0),
        xi=np.full(len(graphs), 1 / len(graphs)),
        beta=float(connectivity_weight),
        mu=penalty,
        rho=penalty,
        mu3=penalty if settings.has_even_copy else 0.0,
        spectrum=spectrum,
        degrees=graphs.sum(axis=1),
        in_use=np.zeros(shape[1], dtype=bool),
        noisy=np.zeros(shape[:2], dtype=bool),
        noise_bound=np.zeros(shape[:2]),
    )
    update_eigenvectors(state, settings)
    return state


def update(state: State, settings: Settings, threads: RowThreads, history: History) -> None:
    """Update all blocks of variables once, in the order of the variant."""
    if settings.variant == "program":
        update_graphs(state, settings, threads)
        rank_term = update_low_rank(state, settings, threads)
        even_term = update_even(state, settings, threads)
        noise_term = update_errors(state, settings, threads)
        singular_values = update_eigenvectors(state, settings)
        update_connectivity_weight(state, settings, singular_values)
    else:
        if state.n_iter:  # the P of the first pass is that of the start
            update_eigenvectors(state, settings)
        update_graphs(state, settings, threads)
        noise_term = update_errors(state, settings, threads)
        rank_term = update_low_rank(state, settings, threads)
        even_term = update_even(state, settings, threads) if settings.has_even_copy else 0.0
    connectivity_term = update_view_factors(state, settings)
    noise_residual, tensor_residual, even_residual = update_multipliers(state, settings, threads)
    state.n_iter += 1
    history.append(
        objective=rank_term + noise_term + state.beta * connectivity_term + even_term,
        noise_residual=noise_residual,
        tensor_residual=tensor_residual,
        even_residual=even_residual,
        connectivity_weight=state.beta,
        view_weights=view_weights(state.xi),
    )


def run(
    graphs: np.ndarray,
    settings: Settings,
    *,
    connectivity_weight: float = 10.0,
    max_iter: int = 52,
    tol: float = 0.0,
    n_threads: int | None = None,
    on_pass: Callable[[State, History], None] | None = None,
) -> tuple[State, History]:
    """Run the solver from the initial state.

    Parameters
    ----------
    graphs : ndarray of shape (V, n, m)
        Row-stochastic input graphs.
    settings : Settings
    connectivity_weight : float
        Initial β, adapted by the program's rule in its variant.
    max_iter : int
        Maximum number of passes. The authors' program makes 52.
    tol : float
        Stop when all residuals are below this: B - C - E, C - J and, where there is an O, C - O.
    n_threads : int, optional
        Default: all cores. The result does not depend on it.
    on_pass : callable, optional
        Called with state and history after each pass.
    """
    history = History()
    with RowThreads(n_threads) as threads:
        state = init_state(graphs, settings, connectivity_weight)
        while state.n_iter < max_iter:
            update(state, settings, threads, history)
            if on_pass is not None:
                on_pass(state, history)
            if history.residual < tol:
                break
    return state, history


def consensus(state: State) -> np.ndarray:
    """Return the consensus graph, the mean of the C_v weighted by 1/ξ_v (paper, last line of algorithm 1)."""
    weights = view_weights(state.xi)
    return np.einsum("v,vij->ij", weights, state.C)


def view_weights(xi: np.ndarray) -> np.ndarray:
    """Return the weights of the views, proportional to 1/ξ_v, with sum 1."""
    return (1 / xi) / (1 / xi).sum()


def by_anchors(graphs: np.ndarray) -> np.ndarray:
    """Return (V, n, m) arrays as (V, m, n), which is how the solver has them in memory."""
    return graphs.transpose(0, 2, 1)


def scale_by_degree(degrees: np.ndarray, settings: Settings) -> np.ndarray:
    """Return ``D_M^-½`` for given degrees of anchors. Rows of the graphs sum to 1, so D_U is the identity."""
    degrees = degrees + settings.degree_floor
    return np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)


def update_graphs(state: State, settings: Settings, threads: RowThreads) -> None:
    """C-step, paper eq. (t9): project the weighted mean of all terms in C_v onto the simplex, row by row.

    The degrees D_M depend on C_v, but are taken from the previous C_v as constants; then the step is exact.
    """
    n_views, n, m = state.C.shape
    B, C, E, O, Y1, Y2, Y3 = map(by_anchors, (state.B, state.C, state.E, state.O, state.Y1, state.Y2, state.Y3))  # noqa: E741
    J = state.spectrum.view(np.float64)

    def gather(columns: slice) -> None:
        constants = state.mu, state.rho, state.mu3, state.in_use, state.noisy, settings.last_view_slip
        kernels.gather_all_pulls(B, E, J, O, Y1, Y2, Y3, *constants, columns.start, columns.stop, C)

    threads.map(gather, m, _TILE_ANCHORS)
    pulling = np.flatnonzero(state.P_M.any(axis=1))
    degrees, filled = state.degrees, (state.degrees > 0) | state.in_use
    state.degrees = np.zeros((n_views, m))
    scale = 1 / (state.mu + state.rho + state.mu3)
    for v in range(n_views):
        factors = 2 * state.beta / state.xi[v] * scale_by_degree(degrees[v], settings)
        anchors = state.P_M[pulling] * factors[pulling, None]

        def step(rows: slice, v: int = v, anchors: np.ndarray = anchors) -> np.ndarray:
            pull = np.zeros((m, rows.stop - rows.start))
            pull[pulling] = anchors @ state.P_U[rows].T  # 2β·H_v, paper below eq. (t8), transposed to fit
            own = B[v], E[v], Y1[v], state.mu, scale, state.in_use, state.noisy[v], filled[v]
            return kernels.step_graph(pull, *own, rows.start, C[v])

        now = np.any(threads.map(step, n), axis=0)
        state.degrees[v, now] = C[v, now].sum(axis=1)
    state.in_use |= state.degrees.any(axis=0)


def update_low_rank(state: State, settings: Settings, threads: RowThreads) -> float:
    """J-step, paper eq. (o4) with Y2 for the misprinted Y1; returns ``|J|_Sp^p``."""
    C, J, Y2 = by_anchors(state.C), state.spectrum.view(np.float64), by_anchors(state.Y2)

    def step(columns: slice) -> None:  # the old J is not needed any more
        kernels.step_targets(C, Y2, state.rho, state.in_use, columns.start, columns.stop, J)

    threads.map(step, C.shape[1], _TILE_ANCHORS)
    axis = TENSOR_AXES[settings.tensor_axis]
    _, norm = prox_schatten(
        state.J,
        1 / state.rho,
        settings.p,
        axis,
        norm_scale=settings.norm_scale,
        sweeps=settings.shrinkage_sweeps,
        workers=threads.n_threads,
        out=state.J,
        spectrum=state.spectrum if axis == TENSOR_AXES["samples"] else None,
    )
    return norm


def update_even(state: State, settings: Settings, threads: RowThreads) -> float:
    """O-step, not in the paper: the prox of the squared l_{1,2} norm; returns its weighted value."""
    weight = 2 * settings.sparsity_weight / state.mu3
    C, O, Y3 = by_anchors(state.C), by_anchors(state.O), by_anchors(state.Y3)  # noqa: E741

    def step(columns: slice) -> float:
        return kernels.step_all_even(C, Y3, state.mu3, weight, state.in_use, columns.start, columns.stop, O)

    return settings.sparsity_weight * sum(threads.map(step, C.shape[1], _TILE_ANCHORS))


def update_errors(state: State, settings: Settings, threads: RowThreads) -> float:
    """E-step, paper eq. (E1): soft threshold at α/μ; returns ``α·Σ_v|E_v|₁``.

    As entries of graphs are between 0 and 1, E is zero where ``|Y1| + μ <= α``, which is nearly everywhere for most of
    a run.
    """
    threshold = settings.noise_weight / state.mu
    B, C, E, Y1 = by_anchors(state.B), by_anchors(state.C), by_anchors(state.E), by_anchors(state.Y1)
    possible = state.noisy | (state.noise_bound + state.mu > settings.noise_weight)

    def step(columns: slice) -> float:
        part = columns.start, columns.stop
        return kernels.step_all_errors(B, C, Y1, state.mu, threshold, possible, state.noisy, *part, E)

    return settings.noise_weight * sum(threads.map(step, C.shape[1], _TILE_ANCHORS))


def update_eigenvectors(state: State, settings: Settings) -> np.ndarray:
    """P-step, paper eq. (P-1) and lemma lem1: leading singular vectors of W; returns its K + 1 largest values."""
    C = by_anchors(state.C)
    m = C.shape[1]
    filled = np.flatnonzero(state.degrees.any(axis=0))
    if len(filled) <= settings.n_clusters:
        filled = np.arange(m)
    factors = np.where(state.degrees > 0, scale_by_degree(state.degrees, settings) / state.xi[:, None], 0.0)
    W = kernels.sum_views(C, factors, filled)
    left, values, right = leading_singular_vectors(W.T, settings.n_clusters, settings.n_clusters + 1)
    state.P_U, state.P_M = left / np.sqrt(2), np.zeros((m, right.shape[1]))
    state.P_M[filled] = right / np.sqrt(2)
    return values


def update_connectivity_weight(state: State, settings: Settings, singular_values: np.ndarray) -> None:
    """β-step, not in the paper: double it for too few components, halve it for too many.

    The program compares the sums of singular values of W with K and K + 1, as if W were normalised. But W is weighted
    by 1/ξ_v, so the sums exceed these bounds from the start, and β is halved in every pass: after thirty passes the
    connectivity term has vanished.
    """
    k = settings.n_clusters
    if singular_values[:k].sum() < k - _COMPONENT_TOLERANCE:
        state.beta *= 2
    elif singular_values.sum() > k + 1 - _COMPONENT_TOLERANCE:
        state.beta /= 2


def update_view_factors(state: State, settings: Settings) -> float:
    """ξ-step, paper eq. (s-c): ``ξ_v = h_v/Σh`` with ``h_v² = tr(PᵀL_vP)``; returns ``Σ_v h_v²/ξ_v``."""
    norm = (state.P_U**2).sum() + (state.P_M**2).sum()
    scaled = scale_by_degree(state.degrees, settings)[:, :, None] * state.P_M
    h = np.empty(len(state.C))
    for v, graph in enumerate(by_anchors(state.C)):
        filled = state.degrees[v] > 0
        edges = graph if filled.all() else graph[filled]
        overlap = (scaled[v, filled] * (edges @ state.P_U)).sum()
        h[v] = np.sqrt(max(norm - 2 * overlap, _SMALLEST_H**2))
    state.xi = h / h.sum()
    return float((h**2 / state.xi).sum())


def update_multipliers(state: State, settings: Settings, threads: RowThreads) -> tuple[float, float, float]:
    """Update multipliers and penalties; returns the residuals ``max|B - C - E|``, ``max|C - J|`` and ``max|C - O|``."""
    B, C, E, O, Y1, Y2, Y3 = map(by_anchors, (state.B, state.C, state.E, state.O, state.Y1, state.Y2, state.Y3))  # noqa: E741
    J = state.spectrum.view(np.float64)
    if not settings.has_even_copy:
        O = Y3 = Y2  # noqa: E741 - not touched

    def step(columns: slice) -> tuple[float, float, float]:
        constants = state.mu, state.rho, state.mu3, state.in_use, state.noisy, columns.start, columns.stop
        return kernels.step_multipliers(B, C, E, J, O, Y1, Y2, Y3, *constants, state.noise_bound)

    noise, tensor, even = np.array(threads.map(step, C.shape[1], _TILE_ANCHORS)).max(axis=0).tolist()
    state.mu = min(state.mu * settings.penalty_growth, _LARGEST_MU)
    state.rho = min(state.rho * settings.penalty_growth, _LARGEST_RHO)
    state.mu3 = min(state.mu3 * settings.penalty_growth, _LARGEST_MU)
    return noise, tensor, even
