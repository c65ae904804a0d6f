"""Graphs with K components: one per view, then one for all, weighted per sample (Zhan et al., 2018, "MVGL").

Stage 1, for each view: ``min_{S,F} Σ_ij |f_i - f_j|² s_ij + μ·|S|²_F  s.t.  S >= 0, S1 = 1, FᵀF = I``

Stage 2: ``min_{A,W} Σ_i |a_i - Σ_v w_iv s^v_i|²  s.t.  A >= 0, A1 = 1, rank(L_A) = n - K, W1 = 1``

==========  =========================================================================================
letter      meaning
==========  =========================================================================================
S_v         the graph of view v, n x n, made symmetric after stage 1; s^v_i is its row i
A           the graph of all views; a_i is its row i
S₀          the target of A: row i is Σ_v w_iv s^v_i
W           weights, n x V; a row sums to 1 and may have negative entries
F           embedding, n x K: the smallest eigenvectors of the Laplacian of S
μ           lowered until S has K components; 1/μ is the λ of :mod:`manyview.solvers.clr`
R_v         A - S_v
C_i         V x V Gram matrix of the rows i of R_1, ..., R_V
==========  =========================================================================================

Stage 1 divided by μ is CLR with a target of zeros: the data only determine the allowed edges and the first F. The step
for A is CLR with the target S₀.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from manyview.graphs import graph_component_labels
from manyview.proximal import project_simplex
from manyview.solvers import clr
from manyview.solvers._aligned import AlignedGraphs, align_graphs

_SMALLEST_OBJECTIVE = 1e-12


@dataclass(frozen=True)
class Settings:
    """Constants of stage 2."""

    n_clusters: int
    negative_weights: bool = True
    weight: float = 1.0  # initial λ of every A-step
    max_inner: int = 30
    ridge: float = 1e-8
    """Added to the diagonal of C_i, as a share of its mean: two views with the same row i make C_i singular."""
    column_slip: bool = False
    """Repeat the slip of the authors' program: weights are fitted and applied to columns, but A is fitted by rows."""


@dataclass(frozen=True)
class FusedGraph:
    """Result of :func:`run`.

    ``graph`` is A, ``n_components`` counts its components, ``weights`` is W and ``target`` is S₀, both computed from
    A. The lists have one entry per pass.
    """

    graph: sp.csr_array
    n_components: int
    weights: np.ndarray
    target: sp.csr_array
    objective: list[float] = field(default_factory=list)
    connectivity_weight: list[float] = field(default_factory=list)
    components: list[int] = field(default_factory=list)


def learn_view(
    edges: sp.csr_array, initial: sp.csr_array, n_clusters: int, *, weight: float = 1.0, max_iter: int = 30
) -> clr.LearnedGraph:
    """Stage 1: ``argmin_S |S|² + λ·Σ_ij |f_i - f_j|² s_ij`` on the stored entries of ``edges``, until K components.

    F starts from the graph ``initial``. S is not yet symmetric.
    """
    zeros = sp.csr_array((np.zeros(edges.nnz), edges.indices, edges.indptr), shape=edges.shape)
    return clr.run(zeros, n_clusters, initial=initial, weight=weight, max_iter=max_iter)


def graph_step(
    target: sp.csr_array, n_clusters: int, *, all_pairs: bool, weight: float, max_iter: int
) -> tuple[sp.csr_array, int, float]:
    """A-step: ``argmin_A |A - S₀|²``, rows on the simplex, with K components; returns A, their number and λ.

    Only positive entries of S₀ can become edges, unless ``all_pairs``. A sample has no edge to itself in S₀.
    """
    rows = np.repeat(np.arange(target.shape[0]), np.diff(target.indptr))
    data = np.where(rows == target.indices, 0.0, target.data)
    whole = sp.csr_array((data, target.indices, target.indptr), shape=target.shape)
    wanted = whole if all_pairs else positive_entries(whole)
    # If there are K components or more without a penalty, raising λ would only add components.
    nearest = clr.graph_step(wanted, np.zeros((target.shape[0], 1)), 0.0)
    n_components, _ = graph_component_labels(nearest)
    if n_components >= n_clusters:
        return nearest, n_components, 0.0
    learned = clr.run(wanted, n_clusters, initial=whole, weight=weight, max_iter=max_iter)
    return learned.graph, learned.n_components, float(learned.weight)


def positive_entries(graph: sp.csr_array) -> sp.csr_array:
    """Return the positive entries of the graph; a row without any keeps all its entries, as it needs an edge."""
    rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    positive = graph.data > 0
    kept = positive | ~np.bincount(rows, weights=positive, minlength=graph.shape[0]).astype(bool)[rows]
    indptr = np.concatenate([[0], np.cumsum(kept)])[graph.indptr].astype(graph.indptr.dtype)
    return sp.csr_array((graph.data[kept], graph.indices[kept], indptr), shape=graph.shape)


def row_products(graphs: AlignedGraphs, data: np.ndarray) -> np.ndarray:
    """Return C, of shape (n, V, V): inner products of the rows of ``R_v = A - S_v``, for A with the given entries."""
    rows, n, n_views = graphs.rows, len(graphs.indptr) - 1, len(graphs.values)
    apart = data - graphs.values
    products = np.empty((n, n_views, n_views))
    for v in range(n_views):
        for w in range(v + 1):
            products[:, v, w] = products[:, w, v] = np.bincount(rows, weights=apart[v] * apart[w], minlength=n)
    return products


def sample_weights(products: np.ndarray, *, ridge: float = 1e-8, negative: bool = True) -> np.ndarray:
    """W-step: ``argmin_w wᵀC_i w  s.t.  Σw = 1`` for every i, and ``w >= 0`` unless ``negative``.

    As weights sum to 1, ``a_i - Σ_v w_v s^v_i = Σ_v w_v r^v_i``. The minimiser is proportional to ``C_i⁻¹1``.
    """
    n_views = products.shape[1]
    mean = np.trace(products, axis1=1, axis2=2) / n_views
    scale = np.where(mean > 0, mean, 1.0)  # C_i = 0, all views fit: equal weights
    regular = products / scale[:, None, None] + np.where(mean > 0, ridge, 1.0)[:, None, None] * np.eye(n_views)
    if not negative:
        return _nonnegative_weights(regular)
    weights = np.linalg.solve(regular, np.ones((*mean.shape, n_views, 1)))[..., 0]
    return weights / weights.sum(axis=1, keepdims=True)


def _nonnegative_weights(products: np.ndarray, max_iter: int = 2000, tol: float = 1e-12) -> np.ndarray:
    """Solve ``argmin_w wᵀC_i w`` on the simplex for every i by accelerated projected gradients with restarts."""
    step = 1 / np.linalg.norm(products, axis=(1, 2))[:, None]  # not above 1/λ_max
    weights = ahead = np.full(products.shape[:2], 1 / products.shape[1])
    momentum = 1.0
    for _ in range(max_iter):
        before = weights
        weights = project_simplex(ahead - step * np.einsum("ivw,iw->iv", products, ahead))
        moved = weights - before
        if np.abs(moved).max() <= tol:
            break
        uphill = np.sum((ahead - weights) * moved, axis=1, keepdims=True) > 0
        faster = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = weights + np.where(uphill, 0.0, (momentum - 1) / faster) * moved
        momentum = faster
    return weights


def mean_graph(graphs: AlignedGraphs, weights: np.ndarray) -> np.ndarray:
    """Return the entries of S₀: row i is ``Σ_v w_iv s^v_i``."""
    data = np.zeros(graphs.values.shape[1])
    for values, weight in zip(graphs.values, weights.T, strict=True):
        data += values * weight[graphs.rows]
    return data


def run(
    graphs: Sequence[sp.csr_array],
    settings: Settings,
    *,
    all_edges: sp.csr_array | None = None,
    max_iter: int = 30,
    tol: float = 1e-3,
    on_pass: Callable[[int, float], None] | None = None,
) -> FusedGraph:
    """Stage 2: alternate the steps for A and W until ``J = |A - S₀|²`` converges, or A cannot get K components.

    Parameters
    ----------
    graphs : sequence of csr_array of shape (n, n)
        S_v, symmetric, in canonical format.
    settings : Settings
    all_edges : csr_array of shape (n, n), optional
        Its stored entries are the edges that A may have. By default, the positive entries of S₀.
    max_iter : int, default=30
        Maximum number of passes.
    tol : float, default=1e-3
        Stop when the relative change of J is at most this.
    on_pass : callable, optional
        Called after each pass with its number and J.
    """
    aligned = align_graphs(graphs, all_edges)
    n = graphs[0].shape[0]
    weights = np.full((n, len(graphs)), 1 / len(graphs))
    target = aligned.graph(mean_graph(aligned, weights))
    values: list[float] = []
    penalties: list[float] = []
    components: list[int] = []
    for _ in range(max_iter):
        graph, n_components, penalty = graph_step(
            target,
            settings.n_clusters,
            all_pairs=all_edges is not None,
            weight=settings.weight,
            max_iter=settings.max_inner,
        )
        penalties.append(penalty)
        components.append(n_components)
        fitted = aligned.read(_turned(graph) if settings.column_slip else graph)
        products = row_products(aligned, fitted)
        weights = sample_weights(products, ridge=settings.ridge, negative=settings.negative_weights)
        data = mean_graph(aligned, weights)
        target = _turned(aligned.graph(data)) if settings.column_slip else aligned.graph(data)
        values.append(float(np.sum((fitted - data) ** 2)))
        if on_pass is not None:
            on_pass(len(values), values[-1])
        if n_components < settings.n_clusters:  # for any λ; another pass would repeat the search
            break
        if len(values) > 1 and abs(values[-1] - values[-2]) <= tol * max(values[-2], _SMALLEST_OBJECTIVE):
            break
    return FusedGraph(graph, n_components, weights, target, values, penalties, components)


def _turned(graph: sp.csr_array) -> sp.csr_array:
    """Return the transposed graph, in canonical format."""
    return sp.csr_array(graph.T)
