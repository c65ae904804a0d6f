"""A bipartite graph with exactly K components close to a given one (Li et al., 2022, "SFMC"), and the search for λ.

``min_P |G - P|²_F + λ·tr(FᵀL_P F)  s.t.  P >= 0, P1 = 1, FᵀF = I``, with λ raised until P has K components and
lowered when it has more. F holds the K smallest eigenvectors of the Laplacian L_P, so the second term is the
λ-weighted sum of ``p_ij·|u_i/√d_i - q_j/√δ_j|²`` over all edges, with the degrees d and δ of P.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import scipy.sparse as sp

from manyview.graphs.components import component_labels
from manyview.graphs.laplacian import edge_costs, inverse_sqrt, normalize_bipartite
from manyview.graphs.spectrum import drop_weak_edges, leading_singular_vectors
from manyview.proximal import project_simplex_sparse

Variant = Literal["code", "rows"]
# A bracket of λ is closed when the ratio of its ends is below this.
_BRACKETED = 1.001


@dataclass(frozen=True)
class StructuredGraph:
    """Result of :func:`manyview.graphs.structured_graph`.

    ``graph`` has the shape of the input; ``n_components`` counts its components without unused anchors; ``history``
    lists (λ, number of components) after each iteration.
    """

    graph: sp.csr_array
    n_components: int
    history: list[tuple[float, int]] = field(default_factory=list)


def structured_graph(
    graph: sp.csr_array,
    n_clusters: int,
    *,
    max_iter: int = 50,
    connectivity_weight: float = 0.1,
    variant: Variant = "code",
    first_scaling: tuple[float, float] | None = (1.0, 10.0),
) -> StructuredGraph:
    """Remove edges from ``graph`` until it has exactly ``n_clusters`` components.

    Parameters
    ----------
    graph : csr_array of shape (n, m)
        Non-negative; the result has no edge that is not in it.
    n_clusters : int
        K, less than the number of anchors in use.
    max_iter : int, default=50
        Iterations: an exact row step for fixed F and degrees, then new F and degrees, then a new λ.
    connectivity_weight : float, default=0.1
        Initial λ.
    variant : {"code", "rows"}, default="code"
        ``"rows"`` is the printed model. ``"code"`` averages it with the same step on columns, as the authors' program
        does; its rows no longer sum to 1, and it reproduces their numbers.
    first_scaling : pair of float or None, default=(1.0, 10.0)
        Factors of samples and anchors in place of the degrees in the first iteration, as in the authors' program;
        None uses the degrees there too.

    Returns
    -------
    StructuredGraph
        The first iterate with exactly K components; failing that, the last.
    """
    given = drop_weak_edges(graph)
    used = np.flatnonzero(np.diff(given.tocsc().indptr))  # an unused anchor would be a component of its own
    given = sp.csr_array(given[:, used])
    given.sort_indices()  # row and column steps below add up entry by entry
    n_components, _ = component_labels(given)
    if n_components >= n_clusters or len(used) < n_clusters:  # nothing to do, or too few anchors
        return StructuredGraph(_widen(given, used, graph.shape[1]), n_components)

    search = WeightSearch(connectivity_weight)
    basis = given  # gives F and the degrees
    u, _, q = leading_singular_vectors(normalize_bipartite(basis), n_clusters)
    history: list[tuple[float, int]] = []
    for iteration in range(max_iter):
        if iteration == 0 and first_scaling is not None:
            scale_u, scale_q = np.array([first_scaling[0]]), np.array([first_scaling[1]])
        else:
            scale_u = inverse_sqrt(np.asarray(basis.sum(axis=1)).ravel())
            scale_q = inverse_sqrt(np.asarray(basis.sum(axis=0)).ravel())
        a, b = u * scale_u[:, None] / np.sqrt(2), q * scale_q[:, None] / np.sqrt(2)
        cost = edge_costs(a, b, given.indices, given.indptr)
        learned = _graph_step(given, search.weight / 2 * cost, variant)
        n_components, _ = component_labels(learned)
        history.append((search.weight, n_components))
        if n_components == n_clusters:
            break
        if n_components < n_clusters and iteration < max_iter - 1:
            basis = learned
            u, _, q = leading_singular_vectors(normalize_bipartite(basis), n_clusters)
        # With too many, F is kept. (The authors' program is meant to restore it, but has overwritten it.)
        search.move(n_components < n_clusters)
    return StructuredGraph(_widen(drop_weak_edges(learned), used, graph.shape[1]), n_components, history)


def _graph_step(given: sp.csr_array, penalty: np.ndarray, variant: Variant) -> sp.csr_array:
    """Solve ``argmin_P ½|G - P|² + Σ penalty_ij·p_ij`` on the simplex, by rows; "code": averaged with columns."""
    target = sp.csr_array((given.data - penalty, given.indices, given.indptr), shape=given.shape)
    by_row = project_simplex_sparse(target)
    if variant == "rows":
        return by_row
    by_column = project_simplex_sparse(target.tocsc()).tocsr()
    return sp.csr_array(((by_row.data + by_column.data) / 2, given.indices, given.indptr), shape=given.shape)


def _widen(graph: sp.csr_array, columns: np.ndarray, n_columns: int) -> sp.csr_array:
    """Restore the indices of the columns among ``n_columns``."""
    return sp.csr_array((graph.data, columns[graph.indices], graph.indptr), shape=(graph.shape[0], n_columns))


class WeightSearch:
    """Search for the penalty weight λ: doubled if there are too few components, halved if too many, then bisected.

    The graph depends on λ and on the embedding, which changes whenever there were too few components. So both ends of a
    bracket may be out of date. If it closes without success, the search starts again from there.

    Parameters
    ----------
    first : float
        Initial penalty weight on the number of components, positive.

    Examples
    --------
    >>> search = WeightSearch(1.0)
    >>> for too_few in (True, True, False):
    ...     search.move(too_few)
    >>> search.weight  # 2 was too low, 4 too high
    2.8284271247461903
    """

    def __init__(self, first: float) -> None:
        self.weight = first
        self._too_low, self._too_high = 0.0, np.inf

    def move(self, too_few: bool) -> None:
        """Choose the next weight, given whether the current one gave too few components or too many."""
        if too_few:
            self._too_low = self.weight
        else:
            self._too_high = self.weight
        if self._too_high <= _BRACKETED * self._too_low:
            self._too_low, self._too_high = (self.weight, np.inf) if too_few else (0.0, self.weight)
        if self._too_high == np.inf:
            self.weight = 2 * self._too_low
        elif self._too_low == 0:
            self.weight = self._too_high / 2
        else:
            self.weight = float(np.sqrt(self._too_low * self._too_high))
