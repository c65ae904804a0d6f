"""CLR, constrained Laplacian rank clustering of one view or of all views side by side."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from manyview.cluster._base import Facts, MultiViewClusterer, interval, limit_neighbors
from manyview.graphs import SCALERS, neighbor_graph, read_graph_clusters
from manyview.graphs.anchors import concatenate
from manyview.graphs.spectrum import drop_weak_edges
from manyview.solvers import clr
from manyview.views import Views


class CLR(MultiViewClusterer):
    """Constrained Laplacian rank: the nearest graph that falls into ``n_clusters`` components.

    A neighbour graph of the samples is changed as little as possible until it has exactly as many connected components
    as there are clusters, and these are the clusters. It is a method for one view; several are scaled and put side by
    side (the paper's s-CLR-Concat).

    Use it as the simplest graph method to compare with, and when clusters may have any shape. It does not distinguish
    views: one that is wide or noisy dominates the others. Results depend a lot on ``n_neighbors`` and ``scaling``, and
    when the graph is almost disconnected, single samples become clusters.

    Parameters
    ----------
    %(n_clusters)s
    n_neighbors : int, default=10
        Samples that each sample is connected with.
    scaling : %(scalings)s
        How each view is scaled before they are put side by side. The default, "max", divides it by its largest
        value, which changes nothing for a single view.
    symmetric : bool, default=True
        Whether the learned graph is compared with the symmetric neighbour graph, (A + Aᵀ)/2, or with A itself.
    connectivity_weight : float, default=0.1
        Initial penalty weight on the number of components; it is doubled, halved, then bisected.
    max_iter : int, default=30
        Passes at most.
    %(view_sizes)s
    random_state : int, RandomState or None, default=None
        For the spectral cut when the graph cannot be brought to ``n_clusters`` components; not used otherwise.
    %(verbose)s

    Attributes
    ----------
    %(labels_)s
    learned_graph_ : csr_array of shape (n_samples, n_samples)
        The learned graph; rows sum to 1.
    n_components_ : int
        Its components: ``n_clusters``, or a ``ConvergenceWarning`` says what was done.
    n_iter_ : int
        Passes made; 0 if the neighbour graph had the right number of components.
    history_ : dict of ndarray
        Per pass: ``objective``, ``connectivity_weight``, ``n_components``. The objective does not fall from pass to
        pass, as the weight in it changes.
    %(view_names_)s
    %(n_features_in_)s

    Notes
    -----
    Time O(n²·d) for the neighbours and O(n·k·K) per Lanczos step of every pass; memory O(n·k), as an edge that is not
    in the neighbour graph is never learned.

    The authors' program raises an error when the neighbour graph has more than ``n_clusters`` components; here, the
    smallest are joined to their neighbours, with a warning. When the weight oscillates, the program stops after 30
    passes with a wrong number of components; here, it is bisected.

    References
    ----------
    F. Nie, X. Wang, M. I. Jordan and H. Huang, "The constrained Laplacian rank algorithm for graph-based clustering",
    AAAI 2016, pp. 1969-1976.

    Examples
    --------
    >>> from manyview.cluster import CLR
    >>> from manyview.datasets import make_multiview
    >>> views = make_multiview(120, n_clusters=3, random_state=0)
    >>> model = CLR(n_clusters=3).fit(views)
    >>> model.n_components_, model.learned_graph_.shape
    (3, (120, 120))
    """

    facts: ClassVar[Facts] = Facts(
        title="constrained Laplacian rank, views side by side",
        paper_name="s-CLR",
        input_kind="neighbour graphs",
        memory="n·k",
        uses_kmeans=False,
        reference="Nie et al., AAAI 2016",
    )
    min_views: ClassVar[int] = 1
    _sample_axes: ClassVar[dict[str, tuple[int, ...]]] = {"learned_graph_": (0, 1)}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "symmetric": ["boolean"],
        "connectivity_weight": [interval(Real, 0, None, "neither")],
    }

    def __init__(
        self,
        n_clusters: int,
        *,
        n_neighbors: int = 10,
        scaling: str = "max",
        symmetric: bool = True,
        connectivity_weight: float = 0.1,
        max_iter: int = 30,
        view_sizes: int | Sequence[int] | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.scaling = scaling
        self.symmetric = symmetric
        self.connectivity_weight = connectivity_weight
        self.max_iter = max_iter
        self.view_sizes = view_sizes
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, views: Views) -> None:
        k = limit_neighbors(self.n_neighbors, views.n_samples - 1, "other samples")
        table = concatenate([SCALERS[self.scaling](view) for view in views.arrays])
        given = drop_weak_edges(neighbor_graph(table, k, symmetric=self.symmetric))
        learned = clr.fit(
            given,
            self.n_clusters,
            weight=self.connectivity_weight,
            max_iter=self.max_iter,
            on_pass=self._on_pass(),
        )
        labels = read_graph_clusters(learned.graph, self.n_clusters, initial=given, random_state=self.random_state)

        self.labels_ = labels
        self.learned_graph_ = drop_weak_edges(learned.graph)
        self.n_components_ = learned.n_components
        self.n_iter_ = learned.n_iter
        self.history_ = learned.history
