"""SwMC, one graph close to the graphs of all views, with weights that need no parameter."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from manyview.cluster._base import Facts, MultiViewClusterer, interval, limit_neighbors
from manyview.graphs import SCALERS, neighbor_graph, read_graph_clusters
from manyview.graphs.spectrum import drop_weak_edges
from manyview.solvers import swmc
from manyview.views import Views


class SwMC(MultiViewClusterer):
    """Self-weighted multi-view clustering: one graph in ``n_clusters`` components, near the graphs of all views.

    Each view gives a neighbour graph. The learned graph has exactly as many connected components as there are clusters
    and the smallest sum of distances to the graphs of the views. As distances and not their squares are added up, a
    view that disagrees with the others counts less, without a parameter for it.

    Use it when most views agree and some may be poor, and when clusters may have any shape. A view has one weight for
    all samples (see MVGL for one per sample), and the weights seldom differ by much. Results depend on
    ``n_neighbors``. When the graphs are almost disconnected, single samples become clusters.

    Parameters
    ----------
    %(n_clusters)s
    n_neighbors : int, default=10
        Samples that each sample is connected with in a view.
    connectivity_weight : float, default=1.0
        Initial penalty weight on the number of components; it is doubled, halved, then bisected, and starts here again
        in every pass.
    %(scaling)s
    max_iter : int, default=50
        Passes at most. Each learns a graph and then the weights of the views.
    tol : float, default=1e-8
        Stop once the objective changes by no more than this share of it.
    %(view_sizes)s
    random_state : int, RandomState or None, default=None
        For the spectral cut when the graph cannot be brought to ``n_clusters`` components; not used otherwise.
    %(verbose)s

    Attributes
    ----------
    %(labels_)s
    learned_graph_ : csr_array of shape (n_samples, n_samples)
        The learned graph; rows sum to 1.
    view_weights_ : ndarray of shape (n_views,)
        How much each view counts, summing to 1.
    n_components_ : int
        Components of the learned graph: ``n_clusters``, or a ``ConvergenceWarning`` says what was done.
    %(n_iter_)s
    history_ : dict of ndarray
        Per pass: ``objective`` (the sum of the distances), ``connectivity_weight`` (at the end of the pass) and
        ``n_components``. The objective may rise a little, as each pass finds its own connectivity weight.
    %(view_names_)s
    %(n_features_in_)s

    Notes
    -----
    Time O(n²·d) for the neighbours and O(n·k·V·K) per Lanczos step, with some ten eigenproblems per pass; memory
    O(n·k·V²), as an edge that is in no neighbour graph is never learned. The weights of a neighbour
    graph do not change when a view is multiplied by a number.

    The authors' program draws the first view weights at random, and its results move with them; here, they are equal.
    It takes graphs as given and learns self-loops where they have any, as the usual neighbour graph has for duplicates
    of a sample; here, there are none. It stops on an absolute change of the objective, and when the connectivity
    weight oscillates, with a wrong number of components.

    References
    ----------
    F. Nie, J. Li and X. Li, "Self-weighted multiview clustering with multiple graphs", IJCAI 2017, pp. 2564-2570.

    Examples
    --------
    >>> from manyview.cluster import SwMC
    >>> from manyview.datasets import make_multiview
    >>> views = make_multiview(120, n_clusters=3, random_state=0)
    >>> model = SwMC(n_clusters=3).fit(views)
    >>> model.n_components_, model.learned_graph_.shape
    (3, (120, 120))
    """

    facts: ClassVar[Facts] = Facts(
        title="one graph near those of all views, weights without a parameter",
        paper_name="SwMC",
        input_kind="neighbour graphs",
        memory="n·k",
        uses_kmeans=False,
        reference="Nie, Li and Li, IJCAI 2017",
    )
    min_views: ClassVar[int] = 1
    _sample_axes: ClassVar[dict[str, tuple[int, ...]]] = {"learned_graph_": (0, 1)}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "connectivity_weight": [interval(Real, 0, None, "neither")],
    }

    def __init__(
        self,
        n_clusters: int,
        *,
        n_neighbors: int = 10,
        connectivity_weight: float = 1.0,
        scaling: str = "none",
        max_iter: int = 50,
        tol: float = 1e-8,
        view_sizes: int | Sequence[int] | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.connectivity_weight = connectivity_weight
        self.scaling = scaling
        self.max_iter = max_iter
        self.tol = tol
        self.view_sizes = view_sizes
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, views: Views) -> None:
        k = limit_neighbors(self.n_neighbors, views.n_samples - 1, "other samples")
        learned = swmc.run(
            [drop_weak_edges(neighbor_graph(SCALERS[self.scaling](view), k)) for view in views.arrays],
            self.n_clusters,
            weight=self.connectivity_weight,
            max_iter=self.max_iter,
            tol=self.tol,
            on_pass=self._on_pass(),
        )
        labels = read_graph_clusters(
            learned.graph, self.n_clusters, initial=learned.mean_graph, random_state=self.random_state
        )

        self.labels_ = labels
        self.learned_graph_ = drop_weak_edges(learned.graph)
        self.view_weights_ = learned.view_weights / learned.view_weights.sum()
        self.n_components_ = learned.n_components
        self.n_iter_ = len(learned.objective)
        self.history_ = {
            "objective": np.array(learned.objective),
            "connectivity_weight": np.array(learned.connectivity_weight),
            "n_components": np.array(learned.components, dtype=np.int64),
        }
