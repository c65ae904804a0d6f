"""One bipartite graph with exactly K components from those of several views (Li et al., 2022, "SFMC").

``min_{P,α} |Σ_v α_v B_v - P|²_F  s.t.  α >= 0, Σ_v α_v = 1, P >= 0, P1 = 1, P has K components``

==========  ===========================================================================================
letter      meaning
==========  ===========================================================================================
B_v         graph of view v between n samples and m anchors that all views share; rows sum to 1
α           weights of the views
G           consensus graph, Σ_v α_v B_v
P           learned graph with K components
A, s        what the step for α needs: inner products of the B_v with each other, and with P
==========  ===========================================================================================

The step for P is :func:`manyview.graphs.structured_graph`, which has its own rule for the price of a wrong number of
components and is no exact minimisation: the objective falls in every step for α, but not from pass to pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from manyview.graphs.structured import Variant, structured_graph

OnPass = Callable[[int, float], None]

# Relative to the largest entries of the problem: gradients and curvatures below this are rounding.
_ROUNDING = 1e-13


@dataclass(frozen=True)
class FusedGraph:
    """What :func:`run` returns.

    ``consensus`` is G and ``learned`` is P, both for the last α, which is ``weights``. ``history`` has one entry per
    pass: ``objective`` and ``view_weights`` after the step for α, ``n_components`` of the P before it.
    """

    weights: np.ndarray
    consensus: sp.csr_array
    learned: sp.csr_array
    n_components: int
    history: dict[str, np.ndarray]

    @property
    def n_iter(self) -> int:
        """Passes made."""
        return len(self.history["objective"])


def fuse(graphs: Sequence[sp.csr_array], weights: np.ndarray) -> sp.csr_array:
    """``G = Σ_v α_v B_v``."""
    n, m = graphs[0].shape
    stacked = sp.csr_array(sp.hstack([weight * graph for weight, graph in zip(weights, graphs, strict=True)]))
    # Columns v·m + j become j; duplicates add up.
    total = sp.csr_array((stacked.data, stacked.indices % m, stacked.indptr), shape=(n, m))
    total.sum_duplicates()
    total.eliminate_zeros()  # those of views with weight 0
    return total


def inner_product(a: sp.csr_array, b: sp.csr_array) -> float:
    """``⟨A, B⟩``, the sum of all products of entries."""
    return float(a.multiply(b).sum())


def gram(graphs: Sequence[sp.csr_array]) -> np.ndarray:
    """``A_vw = ⟨B_v, B_w⟩``."""
    products = np.zeros((len(graphs), len(graphs)))
    for v, graph in enumerate(graphs):
        for w in range(v + 1):
            products[v, w] = products[w, v] = inner_product(graph, graphs[w])
    return products


def weight_step(products: np.ndarray, graphs: Sequence[sp.csr_array], learned: sp.csr_array) -> np.ndarray:
    """α-step: ``argmin_α |Σ_v α_v B_v - P|²  s.t.  α >= 0, Σα = 1``, given ``A``."""
    return simplex_qp(products, np.array([inner_product(graph, learned) for graph in graphs]))


def simplex_qp(matrix: np.ndarray, linear: np.ndarray) -> np.ndarray:
    """``argmin_x xᵀAx - 2xᵀs  s.t.  x >= 0, Σx = 1`` for a small positive semi-definite A, by active sets.

    Where A is flat the minimum is not unique: of two equal views, say. There, ``x`` keeps to equal shares, as with a
    vanishing ridge.

    Parameters
    ----------
    matrix : ndarray of shape (V, V)
        A, symmetric.
    linear : ndarray of shape (V,)
        s.

    Returns
    -------
    ndarray of shape (V,)
        x, exact but for rounding, with exact zeros.

    Examples
    --------
    >>> import numpy as np
    >>> simplex_qp(np.eye(3), np.array([0.5, 0.8, -0.2]))  # the projection onto the simplex
    array([0.35, 0.65, 0.  ])
    """
    size = len(linear)
    rounding = _ROUNDING * max(float(np.abs(matrix).max()), float(np.abs(linear).max()), 1e-300)
    x, free = np.full(size, 1 / size), np.ones(size, dtype=bool)
    for _ in range(20 * size):  # far more than it takes: the objective falls, so no set of free entries comes twice
        step = np.zeros(size)
        step[free] = _free_minimum(matrix[np.ix_(free, free)], linear[free], rounding) - x[free]
        blocked = free & (x + step <= 0)
        if blocked.any():  # as far as the first entry that becomes zero
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
    """``argmin_x xᵀAx - 2xᵀs  s.t.  Σx = 1``; where there is none, a point far out on the way down."""
    even = np.full(len(linear), 1 / len(linear))
    # In coordinates around equal shares, without the direction in which the sum changes.
    downhill = linear - matrix @ even
    centred = matrix - matrix.mean(axis=0)
    curvature, directions = scipy.linalg.eigh(centred - centred.mean(axis=1, keepdims=True))
    slope = directions.T @ (downhill - downhill.mean())
    slope[np.abs(slope) <= rounding] = 0.0  # flat: stay
    return even + directions @ (slope / np.maximum(curvature, rounding))


def run(
    graphs: Sequence[sp.csr_array],
    n_clusters: int,
    *,
    variant: Variant = "code",
    max_iter: int = 10,
    tol: float = 0.0,
    on_pass: OnPass | None = None,
) -> FusedGraph:
    """Alternate the steps for P and α, then learn P once more for the last α.

    Parameters
    ----------
    graphs : sequence of csr_array of shape (n, m)
        B_v.
    n_clusters : int
        K.
    variant : {"code", "rows"}, default="code"
        The step for P, see :func:`manyview.graphs.structured_graph`.
    max_iter : int, default=10
        Passes at most.
    tol : float, default=0.0
        Stop when no weight changes by more, nor the objective by more relative to itself.
    on_pass : callable, optional
        Called after each pass with its number and the objective.
    """
    products = gram(graphs)
    weights = np.full(len(graphs), 1 / len(graphs))
    objective: list[float] = []
    path: list[np.ndarray] = []
    components: list[int] = []
    for _ in range(max_iter):
        learned = structured_graph(fuse(graphs, weights), n_clusters, variant=variant)
        before, weights = weights, weight_step(products, graphs, learned.graph)
        gap = fuse(graphs, weights) - learned.graph
        objective.append(inner_product(gap, gap))
        path.append(weights)
        components.append(learned.n_components)
        if on_pass is not None:
            on_pass(len(objective), objective[-1])
        if np.abs(weights - before).max() <= tol and _settled(objective, tol):
            break
    consensus = fuse(graphs, weights)
    final = structured_graph(consensus, n_clusters, variant=variant)
    history = {"objective": np.array(objective), "view_weights": np.array(path), "n_components": np.array(components)}
    return FusedGraph(weights, consensus, final.graph, final.n_components, history)


def _settled(objective: list[float], tol: float) -> bool:
    return len(objective) > 1 and abs(objective[-1] - objective[-2]) <= tol * objective[-2]
