"""One neighbour graph for all views, learned from weighted distances (Nie, Cai and Li, 2017, "MLAN").

``min_{S,F} Σ_v √⟨D_v, S⟩ + α·|S|²_F + 2λ·tr(FᵀL_S F)  s.t.  S >= 0, S1 = 1, FᵀF = I``

==========  =========================================================================================
letter      meaning
==========  =========================================================================================
D_v         squared distances of view v; only those between neighbours are needed
S           the learned graph, n x n; entries outside the first neighbours stay absent
L_S         Laplacian of (S + Sᵀ)/2
F           embedding, n x K: the smallest eigenvectors of L_S
w_v         weights of the views, ``1/(2√⟨D_v, S⟩)``: the slopes of the roots
α           regularisation, from the distances: such that the first graph has k neighbours
λ           penalty weight, raised until S has K components and lowered when it has more
==========  =========================================================================================

For given weights the problem in S is ``min Σ_v w_v·⟨D_v, S⟩ + α·|S|² + λ·Σ_ij |f_i - f_j|² s_ij``. Divided by α it is
that of :mod:`manyview.solvers.clr` for the graph ``-Σ_v w_v·D_v/(2α)``, whose solver is used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from manyview.graphs import can_weights, graph_component_labels
from manyview.graphs.laplacian import edge_costs
from manyview.graphs.neighbours import nearest_rows, row_blocks
from manyview.graphs.similarity import list_graph
from manyview.solvers import clr
from manyview.solvers._weights import shares

# ⟨D_v, S⟩ is at least this share of what it is for equal weights of all neighbours, so that w_v stays finite.
_SMALLEST_COST = 1e-12


@dataclass(frozen=True)
class SharedGraph:
    """Result of :func:`run`: S with the pattern of the first graph, its components, the last w, and history.

    The objective in the history is that which the pass minimised over S, with its weights and its λ.
    """

    graph: sp.csr_array
    n_components: int
    view_weights: np.ndarray
    n_iter: int
    history: dict[str, np.ndarray]


def first_graph(table: np.ndarray | sp.csr_array, n_views: int, n_neighbors: int) -> tuple[sp.csr_array, float]:
    """Return the neighbour graph of the mean of the views' squared distances, and α.

    Row i of the graph solves ``min_s ⟨d_i, s⟩ + γ_i·|s|²`` on the simplex, with γ_i such that k entries are positive.
    α is the mean of the γ_i.

    Parameters
    ----------
    table : array of shape (n, d)
        All views side by side: the squared distances of its rows are the sums of those of the views.
    n_views, n_neighbors : int
        V, and k.
    """
    k = n_neighbors
    indices, distances = nearest_rows(table, table, k + 1, exclude_self=True)
    distances /= n_views
    graph = list_graph(indices[:, :k], can_weights(distances), table.shape[0])
    spread = float(np.mean(k * distances[:, k] - distances[:, :k].sum(axis=1)) / 2)
    # Without spread, as among duplicates, all neighbours are equally far and any α gives the same graph.
    return graph, spread if spread > 0 else float(distances.mean()) or 1.0


def edge_distances(view: np.ndarray | sp.csr_array, graph: sp.csr_array) -> np.ndarray:
    """Return ``|x_i - x_j|²`` for every stored entry of ``graph``."""
    if isinstance(view, np.ndarray):
        dense = np.ascontiguousarray(view, dtype=np.float64)
        return edge_costs(dense, dense, graph.indices, graph.indptr)
    distances = np.empty(graph.nnz)
    rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    for edges in row_blocks(graph.nnz, max(1, view.nnz // view.shape[0])):
        difference = sp.csr_array(view[rows[edges]] - view[graph.indices[edges]])
        distances[edges] = np.asarray(difference.multiply(difference).sum(axis=1)).ravel()
    return distances


def view_weights(distances: np.ndarray, graph: sp.csr_array) -> np.ndarray:
    """w-step: ``w_v = 1/(2√⟨D_v, S⟩)``, with which ``Σ_v w_v·⟨D_v, S⟩`` is tangent to the sum of roots.

    A view in which all neighbours are equal has no influence with any weight; it gets 0.
    """
    equal = distances.sum(axis=1) * (graph.shape[0] / graph.nnz if graph.nnz else 0.0)
    cost = np.maximum(distances @ graph.data, _SMALLEST_COST * equal)
    return np.divide(0.5, np.sqrt(cost), out=np.zeros_like(cost), where=cost > 0)


def objective(distances: np.ndarray, graph: sp.csr_array, embedding: np.ndarray, alpha: float, weight: float) -> float:
    """Return the objective above, for given α and λ."""
    cost = edge_costs(embedding, embedding, graph.indices, graph.indptr)
    roots = np.sqrt(distances @ graph.data).sum()
    return float(roots + alpha * (graph.data @ graph.data) + weight * (cost @ graph.data))


def run(
    distances: np.ndarray,
    initial: sp.csr_array,
    alpha: float,
    n_clusters: int,
    *,
    weighting: str = "model",
    weight: float | None = None,
    max_iter: int = 30,
    on_pass: Callable[[int, float], None] | None = None,
) -> SharedGraph:
    """Alternate the steps for w, S and F, adapting λ, until S has exactly K components.

    Parameters
    ----------
    distances : ndarray of shape (V, n_edges)
        :func:`edge_distances` of the views.
    initial, alpha : csr_array of shape (n, n), float
        Result of :func:`first_graph`. It is returned unchanged if it has more than K components.
    n_clusters : int
        K.
    weighting : {"model", "compound"}
        "model" takes w from the distances themselves, and divides it by its sum, so that weighted distances have the
        scale that α was computed for. In "compound", the authors' program, distances are overwritten by weighted ones
        and the next weights are computed from these; in the end, ``⟨D_v, S⟩`` is 1/4 for every view. In the first pass
        the program overwrites the distances of the last view only, so the others lag one pass; so they do here.
    weight : float, optional
        Initial λ; by default α.
    max_iter : int
        Maximum number of passes.
    on_pass : callable, optional
        Called after each pass with its number and the objective.
    """
    n_components, _ = graph_component_labels(initial)
    if n_components > n_clusters:
        weights = view_weights(distances, initial)
        return SharedGraph(initial, n_components, shares(weights), 0, _history([], [], [], np.empty((0, len(weights)))))

    stored = np.ones(len(distances))  # factors by which the distances were overwritten
    used: list[np.ndarray] = []
    constants: list[float] = []

    def retarget(graph: sp.csr_array) -> np.ndarray:
        """Return ``-Σ_v w_v·D_v/(2α)``, with weights from the given S."""
        if weighting == "model":
            weights = shares(view_weights(distances, graph))
        else:
            weights = stored * view_weights(stored[:, None] * distances, graph)
            first_behind = len(weights) - 1 if not used else 0
            stored[first_behind:] = weights[first_behind:]
        used.append(weights)
        target = weights @ distances / (-2 * alpha)
        constants.append(float(target @ target))
        return target

    def restore(value: float, constant: float) -> float:
        return alpha * (value - constant)  # clr minimises |S - A|² and divides by α

    def report(n_iter: int, value: float) -> None:
        if on_pass is not None:
            on_pass(n_iter, restore(value, constants[-1]))

    target = sp.csr_array((retarget(initial), initial.indices, initial.indptr), shape=initial.shape)
    first = 1.0 if weight is None else weight / alpha
    learned = clr.run(
        target, n_clusters, initial=initial, weight=first, max_iter=max_iter, retarget=retarget, on_pass=report
    )
    passes = learned.n_iter
    values = [restore(value, constant) for value, constant in zip(learned.objective, constants, strict=False)]
    path = np.array([shares(weights) for weights in used[:passes]])
    history = _history(values, [alpha * weight for weight in learned.weights], learned.components, path)
    return SharedGraph(learned.graph, learned.n_components, path[-1], passes, history)


def _history(
    values: list[float], weights: list[float], components: list[int], path: np.ndarray
) -> dict[str, np.ndarray]:
    return {
        "objective": np.array(values),
        "connectivity_weight": np.array(weights),
        "n_components": np.array(components, dtype=np.int64),
        "view_weights": path,
    }
