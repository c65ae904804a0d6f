"""One bipartite graph with exactly K components from those of several views (Li et al., 2022, "SFMC").

``min_{P,α} |Σ_v α_v B_v - P|²_F  s.t.  α >= 0, Σ_v α_v = 1, P >= 0, P1 = 1, P has K components``

==========  ===========================================================================================
letter      meaning
==========  ===========================================================================================
B_v         graph of view v between n samples and m anchors that all views share; rows sum to 1
α           weights of the views
G           consensus graph, Σ_v α_v B_v
P           learned graph with K components
A, s        inner products of the B_v with each other, and with P, for the step for α
==========  ===========================================================================================

The step for P is :func:`manyview.graphs.structured_graph`, which has its own rule for the penalty weight and is not an
exact minimisation: the objective decreases in every step for α, but not in every pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from manyview.graphs.structured import Variant, structured_graph
from manyview.proximal import simplex_qp

OnPass = Callable[[int, float], None]


@dataclass(frozen=True)
class FusedGraph:
    """Result of :func:`run`.

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
        """Number of passes."""
        return len(self.history["objective"])


def fuse(graphs: Sequence[sp.csr_array], weights: np.ndarray) -> sp.csr_array:
    """Return ``G = Σ_v α_v B_v``."""
    n, m = graphs[0].shape
    stacked = sp.csr_array(sp.hstack([weight * graph for weight, graph in zip(weights, graphs, strict=True)]))
    # Columns v·m + j become j; duplicates are summed.
    total = sp.csr_array((stacked.data, stacked.indices % m, stacked.indptr), shape=(n, m))
    total.sum_duplicates()
    total.eliminate_zeros()  # those of views with weight 0
    return total


def inner_product(a: sp.csr_array, b: sp.csr_array) -> float:
    """Return ``⟨A, B⟩``, the sum of all products of entries."""
    return float(a.multiply(b).sum())


def gram(graphs: Sequence[sp.csr_array]) -> np.ndarray:
    """Return ``A_vw = ⟨B_v, B_w⟩``."""
    products = np.zeros((len(graphs), len(graphs)))
    for v, graph in enumerate(graphs):
        for w in range(v + 1):
            products[v, w] = products[w, v] = inner_product(graph, graphs[w])
    return products


def weight_step(products: np.ndarray, graphs: Sequence[sp.csr_array], learned: sp.csr_array) -> np.ndarray:
    """α-step: ``argmin_α |Σ_v α_v B_v - P|²  s.t.  α >= 0, Σα = 1``, given ``A``."""
    return simplex_qp(products, np.array([inner_product(graph, learned) for graph in graphs]))


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
        Maximum number of passes.
    tol : float, default=0.0
        Stop when the changes of all weights, and the relative change of the objective, are at most this.
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
