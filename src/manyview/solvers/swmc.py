"""Graph with exactly K components close to the graphs of all views (Nie, Li and Li, 2017, "SwMC").

``min_S Σ_v |S - A_v|_F  s.t.  S >= 0, S1 = 1, rank(L_S) = n - K``

==========  =========================================================================================
letter      meaning
==========  =========================================================================================
A_v         the graph of view v, n x n, without self-loops
S           the learned graph; its edges are edges of some view
α_v         weight of view v, ``1/(2·|S - A_v|_F)``
λ           penalty weight on the number of components
==========  =========================================================================================

The norms are not squared, which gives the weights: an S that is stationary for the sum of norms is so for
``Σ_v α_v·|S - A_v|²_F``, and S and α are updated in turn. With Ā the weighted mean of the A_v,
``Σ_v α_v·|S - A_v|² = (Σα)·|S - Ā|² + const``, so the step for S is CLR on Ā with the weight
λ/Σα (:mod:`manyview.solvers.clr`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from manyview.solvers import clr
from manyview.solvers._aligned import AlignedGraphs, align_graphs
from manyview.solvers._weights import root_weights

# A learned graph that equals the graph of a view would give that view an infinite weight.
_SMALLEST_DISTANCE = 1e-10


@dataclass(frozen=True)
class FusedGraph:
    """Result of :func:`run`.

    ``graph`` is S, ``n_components`` counts its components, ``view_weights`` is α computed from S, and
    ``mean_graph`` is the Ā that S was learned from. The lists have one entry per pass; ``objective`` is the sum of the
    norms, ``connectivity_weight`` is the λ at which the pass ended.
    """

    graph: sp.csr_array
    n_components: int
    view_weights: np.ndarray
    mean_graph: sp.csr_array
    objective: list[float] = field(default_factory=list)
    connectivity_weight: list[float] = field(default_factory=list)
    components: list[int] = field(default_factory=list)


def mean_graph(graphs: AlignedGraphs, weights: np.ndarray) -> sp.csr_array:
    """Return ``argmin_Ā Σ_v α_v·|Ā - A_v|²``, the weighted mean of the graphs."""
    return graphs.graph(weights / weights.sum() @ graphs.values)


def graph_step(
    mean: sp.csr_array, weights: np.ndarray, n_clusters: int, before: sp.csr_array, weight: float, max_iter: int
) -> clr.LearnedGraph:
    """S-step: ``argmin_S Σ_v α_v·|S - A_v|² + 2λ·tr(FᵀL_S F)``, rows on the simplex, λ raised until K components.

    F starts from the graph of the previous pass. λ starts at ``weight`` each time.
    """
    return clr.run(mean, n_clusters, initial=before, weight=weight / weights.sum(), max_iter=max_iter)


def distances(graphs: AlignedGraphs, graph: sp.csr_array) -> np.ndarray:
    """Return ``|S - A_v|_F`` of every view, for an S with the pattern of the graphs."""
    return np.sqrt(((graph.data - graphs.values) ** 2).sum(axis=1))


def view_weights(graphs: AlignedGraphs, apart: np.ndarray) -> np.ndarray:
    """α-step: ``α_v = 1/(2·|S - A_v|_F)``, so that the squared norms are stationary where the norms are."""
    return root_weights(apart**2, _SMALLEST_DISTANCE**2 * (graphs.values**2).sum(axis=1))


def run(
    graphs: Sequence[sp.csr_array],
    n_clusters: int,
    *,
    weight: float = 1.0,
    max_iter: int = 50,
    max_inner: int = 50,
    tol: float = 1e-8,
    on_pass: Callable[[int, float], None] | None = None,
) -> FusedGraph:
    """Alternate the steps for S and α until the objective converges, or no λ gives K components.

    Parameters
    ----------
    graphs : sequence of csr_array of shape (n, n)
        A_v, in canonical format, without stored zeros.
    n_clusters : int
        K.
    weight : float, default=1.0
        Initial λ of every S-step.
    max_iter, max_inner : int, default=50
        Maximum number of passes, and of steps of each CLR.
    tol : float, default=1e-8
        Stop when the relative change of the objective is at most this.
    on_pass : callable, optional
        Called after each pass with its number and the objective.
    """
    aligned = align_graphs(graphs)
    weights = np.full(len(graphs), 1 / len(graphs))
    values: list[float] = []
    penalties: list[float] = []
    components: list[int] = []
    learned: clr.LearnedGraph | None = None
    for _ in range(max_iter):
        mean = mean_graph(aligned, weights)
        before = mean if learned is None else learned.graph
        learned = graph_step(mean, weights, n_clusters, before, weight, max_inner)
        penalties.append(float(learned.weight * weights.sum()))
        components.append(learned.n_components)
        apart = distances(aligned, learned.graph)
        weights = view_weights(aligned, apart)
        values.append(float(apart.sum()))
        if on_pass is not None:
            on_pass(len(values), values[-1])
        if learned.n_components < n_clusters:  # for any λ; another pass would repeat the search
            break
        if len(values) > 1 and abs(values[-1] - values[-2]) <= tol * max(1.0, values[-2]):
            break
    assert learned is not None  # there is at least one pass
    return FusedGraph(learned.graph, learned.n_components, weights, mean, values, penalties, components)
