"""Graph with exactly K components close to a given one (Nie et al., 2016, "CLR").

``min_{S,F} |S - A|²_F + 2λ·tr(FᵀL_S F)  s.t.  S >= 0, S1 = 1, FᵀF = I``

==========  =========================================================================================
letter      meaning
==========  =========================================================================================
A           the given graph, n x n; entries that are not stored stay absent from S
S           the learned graph
L_S         Laplacian of (S + Sᵀ)/2
F           embedding, n x K: the smallest eigenvectors of L_S
λ           penalty weight, raised until S has K components and lowered when it has more
==========  =========================================================================================

Because ``2·tr(FᵀL_S F) = Σ_ij |f_i - f_j|² s_ij``, the step for S is a projection row by row. MLAN, MVGL and SwMC use
this solver with their own A.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from manyview.graphs import graph_component_labels, laplacian_eigenvectors, symmetrize
from manyview.graphs.laplacian import edge_costs
from manyview.graphs.structured import WeightSearch
from manyview.proximal import project_simplex_sparse

Retarget = Callable[[sp.csr_array], np.ndarray]
OnPass = Callable[[int, float], None]


@dataclass(frozen=True)
class LearnedGraph:
    """Result of :func:`run`.

    ``graph`` is S with the pattern of A, ``n_components`` counts its components, ``embedding`` is F and ``weight`` is
    λ at the end. ``objective``, ``weights`` and ``components`` have one entry per pass.
    """

    graph: sp.csr_array
    n_components: int
    embedding: np.ndarray
    weight: float
    objective: list[float] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    components: list[int] = field(default_factory=list)

    @property
    def n_iter(self) -> int:
        """Number of passes."""
        return len(self.weights)

    @property
    def history(self) -> dict[str, np.ndarray]:
        """History of the estimators, one entry per pass."""
        return {
            "objective": np.array(self.objective),
            "connectivity_weight": np.array(self.weights),
            "n_components": np.array(self.components, dtype=np.int64),
        }


def embed(graph: sp.csr_array, n_clusters: int, start: np.ndarray | None = None) -> np.ndarray:
    """F-step: ``argmin_F tr(FᵀL_S F)  s.t.  FᵀF = I``."""
    return laplacian_eigenvectors(symmetrize(graph), n_clusters, start=start)[1]


def graph_step(target: sp.csr_array, embedding: np.ndarray, weight: float) -> sp.csr_array:
    """S-step: ``argmin_S |S - A|² + λ·Σ_ij |f_i - f_j|² s_ij``, rows on the simplex, on the pattern of A."""
    cost = edge_costs(embedding, embedding, target.indices, target.indptr)
    data = target.data - weight / 2 * cost
    return project_simplex_sparse(sp.csr_array((data, target.indices, target.indptr), shape=target.shape))


def objective(target: sp.csr_array, graph: sp.csr_array, embedding: np.ndarray, weight: float) -> float:
    """Return ``|S - A|² + λ·Σ_ij |f_i - f_j|² s_ij`` for graphs with the same pattern."""
    cost = edge_costs(embedding, embedding, graph.indices, graph.indptr)
    return float(np.sum((graph.data - target.data) ** 2) + weight * (cost @ graph.data))


def fit(
    graph: sp.csr_array, n_clusters: int, *, weight: float = 0.1, max_iter: int = 30, on_pass: OnPass | None = None
) -> LearnedGraph:
    """Run CLR as published: a graph with K components or more is only made row-stochastic."""
    n_components, _ = graph_component_labels(graph)
    if n_components < n_clusters:
        return run(graph, n_clusters, weight=weight, max_iter=max_iter, on_pass=on_pass)
    totals = np.asarray(graph.sum(axis=1)).ravel()
    rows = np.repeat(np.divide(1.0, totals, out=np.zeros_like(totals), where=totals > 0), np.diff(graph.indptr))
    stochastic = sp.csr_array((graph.data * rows, graph.indices, graph.indptr), shape=graph.shape)
    return LearnedGraph(stochastic, n_components, embed(graph, n_clusters), weight)


def run(
    target: sp.csr_array,
    n_clusters: int,
    *,
    initial: sp.csr_array | None = None,
    weight: float = 0.1,
    max_iter: int = 30,
    retarget: Retarget | None = None,
    on_pass: OnPass | None = None,
) -> LearnedGraph:
    """Alternate the steps for S and F, adapting λ, until S has exactly K components.

    Parameters
    ----------
    target : csr_array of shape (n, n)
        A, in canonical format. Its stored entries, zeros and negative ones included, are the edges that S may have.
    n_clusters : int
        K.
    initial : csr_array of shape (n, n), optional
        The graph whose Laplacian gives the first F; by default A.
    weight : float, default=0.1
        Initial λ.
    max_iter : int, default=30
        Maximum number of passes.
    retarget : callable, optional
        Called with S after each pass; returns new values of A, for methods whose weights depend on S.
    on_pass : callable, optional
        Called after each pass with its number and the objective.

    Returns
    -------
    LearnedGraph
        The first S with exactly K components; otherwise the one with the fewest above K, or the last.
    """
    embedding = embed(target if initial is None else initial, n_clusters)
    search = WeightSearch(weight)
    values: list[float] = []
    weights: list[float] = []
    components: list[int] = []
    spare: tuple[int, sp.csr_array] | None = None
    for _ in range(max_iter):
        graph = graph_step(target, embedding, search.weight)
        n_components, _ = graph_component_labels(graph)
        values.append(objective(target, graph, embedding, search.weight))
        weights.append(search.weight)
        components.append(n_components)
        if on_pass is not None:
            on_pass(len(values), values[-1])
        if n_components == n_clusters:
            break
        if n_components < n_clusters:
            embedding = embed(graph, n_clusters, embedding)
        elif spare is None or n_components < spare[0]:  # too many: keep F and lower λ
            spare = n_components, graph
        search.move(n_components < n_clusters)
        if retarget is not None:
            target = sp.csr_array((retarget(graph), target.indices, target.indptr), shape=target.shape)
    if n_components != n_clusters and spare is not None:
        n_components, graph = spare
    return LearnedGraph(graph, n_components, embedding, weights[-1], values, weights, components)
