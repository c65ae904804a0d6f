"""MVGL, a graph per view and then one of all views, with weights for every sample."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from manyview._utils.machine import check_memory
from manyview.cluster._base import Facts, MultiViewClusterer, interval, limit_neighbors
from manyview.graphs import SCALERS, neighbor_graph, read_graph_clusters, symmetrize
from manyview.graphs.spectrum import drop_weak_edges
from manyview.solvers import mvgl
from manyview.views import Views


class MVGL(MultiViewClusterer):
    """Graph learning for multi-view clustering: graphs in ``n_clusters`` components, of each view and then of all.

    First the neighbour graph of every view is brought to as many connected components as there are clusters. Then one
    graph with that many components is learned, of which each row is near a weighted sum of that row in the graphs of
    the views. The weights are learned too and are every sample's own.

    Use it when a view is good for some samples and poor for others. The graph of a view keeps little but its clusters,
    so a view that cannot be clustered alone contributes noise; SwMC combines the neighbour graphs themselves. Weights
    per sample are many and may be negative, so single samples can be misled. Results depend on ``n_neighbors``.

    Parameters
    ----------
    %(n_clusters)s
    n_neighbors : int, default=15
        Samples that each sample is connected with in a view.
    local : bool, default=True
        Whether only neighbours can be connected. If not, any two samples can, the neighbours serve as a start, and
        memory grows with the square of the number of samples.
    negative_weights : bool, default=True
        Whether a sample's weights may be negative, as published. They sum to 1 in any case.
    connectivity_weight : float, default=1.0
        Initial penalty weight on the number of components; it is doubled, halved, then bisected, and starts here again
        for every view and in every pass.
    %(scaling)s
    max_iter : int, default=30
        Passes at most. Each learns the graph of all views and then the weights.
    tol : float, default=1e-3
        Stop once the objective changes by no more than this share of it.
    %(view_sizes)s
    random_state : int, RandomState or None, default=None
        For the spectral cut when the graph cannot be brought to ``n_clusters`` components; not used otherwise.
    %(verbose)s

    Attributes
    ----------
    %(labels_)s
    learned_graph_ : csr_array of shape (n_samples, n_samples)
        The graph of all views; rows sum to 1.
    sample_weights_ : ndarray of shape (n_samples, n_views)
        How much each view counts for each sample; rows sum to 1.
    view_weights_ : ndarray of shape (n_views,)
        Their means over the samples.
    n_components_ : int
        Components of the learned graph: ``n_clusters``, or a ``ConvergenceWarning`` says what was done.
    view_components_ : ndarray of shape (n_views,)
        Components of the graphs of the views. They are used as they are if there are more or fewer than
        ``n_clusters``.
    %(n_iter_)s
    history_ : dict of ndarray
        Per pass: ``objective`` (squared distance between the learned graph and the weighted sum),
        ``connectivity_weight`` (at the end of the pass) and ``n_components``. The objective may rise a little, as each
        pass finds its own connectivity weight.
    %(view_names_)s
    %(n_features_in_)s

    Notes
    -----
    Time O(n²·d) for the neighbours and O(n·k·V·K) per Lanczos step, with some ten eigenproblems per view and per pass;
    memory O(n·k·V²). With ``local=False``, n takes the place of k·V.

    The authors' program fits and applies weights to columns, but learns the graph by rows, which only comes to the
    same while that graph is symmetric; here, all three are rows, as in the paper. It returns a weighted sum that is in
    ``n_clusters`` or more pieces as it is, even with negative entries; here, it is projected, and if there are too many
    pieces, the smallest are joined to their neighbours, with a warning. Without ``local``, it learns edges from samples
    to themselves. It has no limit on the number of passes. Where two views have the same row, any split of weight
    between them gives the same result; the program's is decided by rounding errors, here it is even.

    References
    ----------
    K. Zhan, C. Zhang, J. Guan and J. Wang, "Graph learning for multiview clustering", IEEE Transactions on Cybernetics
    48(10), 2018, pp. 2887-2895.

    Examples
    --------
    >>> from manyview.cluster import MVGL
    >>> from manyview.datasets import make_multiview
    >>> views = make_multiview(120, n_clusters=3, random_state=0)
    >>> model = MVGL(n_clusters=3).fit(views)
    >>> model.n_components_, model.learned_graph_.shape
    (3, (120, 120))
    """

    facts: ClassVar[Facts] = Facts(
        title="a graph per view, then one of all, weights per sample",
        paper_name="MVGL",
        input_kind="neighbour graphs",
        memory="n·k",
        uses_kmeans=False,
        reference="Zhan et al., IEEE T. Cybernetics 2018",
    )
    min_views: ClassVar[int] = 1
    _sample_axes: ClassVar[dict[str, tuple[int, ...]]] = {"learned_graph_": (0, 1), "sample_weights_": (0,)}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "local": ["boolean"],
        "negative_weights": ["boolean"],
        "connectivity_weight": [interval(Real, 0, None, "neither")],
    }

    def __init__(
        self,
        n_clusters: int,
        *,
        n_neighbors: int = 15,
        local: bool = True,
        negative_weights: bool = True,
        connectivity_weight: float = 1.0,
        scaling: str = "none",
        max_iter: int = 30,
        tol: float = 1e-3,
        view_sizes: int | Sequence[int] | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.local = local
        self.negative_weights = negative_weights
        self.connectivity_weight = connectivity_weight
        self.scaling = scaling
        self.max_iter = max_iter
        self.tol = tol
        self.view_sizes = view_sizes
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, views: Views) -> None:
        n, n_views = views.n_samples, views.n_views
        k = limit_neighbors(self.n_neighbors, n - 1, "other samples")
        if not self.local:
            check_memory(
                "MVGL with local=False",
                (_BYTES_PER_PAIR + _BYTES_PER_PAIR_AND_VIEW * n_views) * float(n) ** 2,
                f"{n} samples and {n_views} views",
                "Use local=True.",
            )
        neighbours = [neighbor_graph(SCALERS[self.scaling](view), k, symmetric=False) for view in views.arrays]
        initial = [symmetrize(graph) for graph in neighbours]
        all_edges = None if self.local else _all_pairs(n)
        learned_views = [
            mvgl.learn_view(
                edges if all_edges is None else all_edges, graph, self.n_clusters, weight=self.connectivity_weight
            )
            for edges, graph in zip(neighbours, initial, strict=True)
        ]
        learned = mvgl.run(
            [symmetrize(drop_weak_edges(view.graph)) for view in learned_views],
            mvgl.Settings(
                self.n_clusters, negative_weights=self.negative_weights, weight=float(self.connectivity_weight)
            ),
            all_edges=all_edges,
            max_iter=self.max_iter,
            tol=self.tol,
            on_pass=self._on_pass(),
        )
        labels = read_graph_clusters(
            learned.graph,
            self.n_clusters,
            initial=sp.csr_array(sum(initial[1:], start=initial[0])),
            random_state=self.random_state,
        )

        self.labels_ = labels
        self.learned_graph_ = drop_weak_edges(learned.graph)
        self.sample_weights_ = learned.weights
        self.view_weights_ = learned.weights.mean(axis=0)
        self.n_components_ = learned.n_components
        self.view_components_ = np.array([view.n_components for view in learned_views])
        self.n_iter_ = len(learned.objective)
        self.history_ = {
            "objective": np.array(learned.objective),
            "connectivity_weight": np.array(learned.connectivity_weight),
            "n_components": np.array(learned.components, dtype=np.int64),
        }


# Measured peak with local=False.
_BYTES_PER_PAIR, _BYTES_PER_PAIR_AND_VIEW = 132, 24


def _all_pairs(n_samples: int) -> sp.csr_array:
    """Return the graph with an edge between any two samples, but none from a sample to itself."""
    others = np.arange(n_samples - 1, dtype=np.int32)
    indices = others + (others >= np.arange(n_samples)[:, None])
    starts = np.arange(n_samples + 1) * (n_samples - 1)
    return sp.csr_array((np.ones(indices.size), indices.ravel(), starts), shape=(n_samples, n_samples))
