"""MLAN, one neighbour graph for all views, learned with adaptive neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from manyview.cluster._base import Facts, MultiViewClusterer, interval, limit_neighbors, one_of
from manyview.graphs import SCALERS, read_graph_clusters
from manyview.graphs.anchors import concatenate
from manyview.graphs.spectrum import drop_weak_edges
from manyview.solvers import mlan
from manyview.views import Views


class MLAN(MultiViewClusterer):
    """Multi-view learning with adaptive neighbours: one graph that all views share.

    The neighbours of a sample are found by the mean of its squared distances in all views. How strongly it is connected
    with each is then learned together with the weights of the views, where a view counts more the shorter its distances
    along the graph are, until the graph has exactly ``n_clusters`` connected components. These are the clusters.

    Use it when clusters may have any shape and the views are of similar quality. The weights correct for the scale of
    a view by half only, so scaling matters; a view of noise keeps a good part of its weight, as all views decide on
    the neighbours alike. Results move with ``n_neighbors``, and single samples may become clusters.

    Parameters
    ----------
    %(n_clusters)s
    n_neighbors : int, default=9
        Samples that each sample may be connected with.
    scaling : %(scalings)s
        How each view is scaled. The default, "row-standardized", as in the paper, subtracts from each sample
        the mean of its own features and divides by their standard deviation.
    weighting : {"model", "compound"}, default="model"
        How views are weighted: by the paper's formula, or as in the authors' program, where weights are applied to
        distances that are already weighted, which makes all views count the same in the end. "compound" is there to
        reproduce published numbers.
    connectivity_weight : float or None, default=None
        Initial penalty weight on the number of components; it is doubled, halved, then bisected. None takes the penalty
        weight of uneven weights within a neighbourhood, which follows from the distances. (The program draws an integer
        from 1 to 30.)
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
    view_weights_ : ndarray of shape (n_views,)
        How much the distances of each view count; they sum to 1.
    n_iter_ : int
        Passes made; 0 if the neighbour graph had more than ``n_clusters`` components.
    history_ : dict of ndarray
        Per pass: ``objective``, ``connectivity_weight``, ``n_components``, ``view_weights``. The objective does not
        fall from pass to pass, as the weights in it change.
    %(view_names_)s
    %(n_features_in_)s

    Notes
    -----
    Time O(n²·d) for the neighbours and O(n·k·K) per Lanczos step of every pass; memory O(n·d + n·k·V), as distances are
    kept between neighbours only.

    Differences from the authors' program. With ``weighting="compound"`` and the same ``connectivity_weight``, it learns
    the same graph and gives the same clusters; as in the program, weights of the last view are then a pass ahead of the
    others', so the order of the views matters a little. With the paper's weights, which the program does not compute,
    these are divided by their sum, so that weighted distances have the scale that the penalty weight of uneven weights
    was computed for. The program fails when the neighbour graph has more than ``n_clusters`` components; here the
    smallest are joined to the others, with a warning. When the penalty weight on the number of components oscillates,
    it is bisected.

    References
    ----------
    F. Nie, G. Cai and X. Li, "Multi-view clustering and semi-supervised classification with adaptive neighbours", AAAI
    2017, pp. 2408-2414.

    F. Nie, G. Cai, J. Li and X. Li, "Auto-weighted multi-view learning for image clustering and semi-supervised
    classification", IEEE Transactions on Image Processing 27(3), 2018, pp. 1501-1511.

    Examples
    --------
    >>> from manyview.cluster import MLAN
    >>> from manyview.datasets import make_multiview
    >>> views = make_multiview(120, n_clusters=3, random_state=0)
    >>> model = MLAN(n_clusters=3).fit(views)
    >>> model.n_components_, model.learned_graph_.shape
    (3, (120, 120))
    """

    facts: ClassVar[Facts] = Facts(
        title="one graph for all views, learned with adaptive neighbours",
        paper_name="MLAN",
        input_kind="neighbour graphs",
        memory="n·k",
        uses_kmeans=False,
        reference="Nie et al., AAAI 2017",
    )
    min_views: ClassVar[int] = 1
    _sample_axes: ClassVar[dict[str, tuple[int, ...]]] = {"learned_graph_": (0, 1)}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "weighting": [one_of("model", "compound")],
        "connectivity_weight": [None, interval(Real, 0, None, "neither")],
    }

    def __init__(
        self,
        n_clusters: int,
        *,
        n_neighbors: int = 9,
        scaling: str = "row-standardized",
        weighting: str = "model",
        connectivity_weight: float | None = None,
        max_iter: int = 30,
        view_sizes: int | Sequence[int] | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.scaling = scaling
        self.weighting = weighting
        self.connectivity_weight = connectivity_weight
        self.max_iter = max_iter
        self.view_sizes = view_sizes
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, views: Views) -> None:
        k = limit_neighbors(self.n_neighbors, views.n_samples - 1, "other samples")
        scaled = [SCALERS[self.scaling](view) for view in views.arrays]
        initial, alpha = mlan.first_graph(concatenate(scaled), len(scaled), k)
        learned = mlan.run(
            np.stack([mlan.edge_distances(view, initial) for view in scaled]),
            initial,
            alpha,
            self.n_clusters,
            weighting=self.weighting,
            weight=self.connectivity_weight,
            max_iter=self.max_iter,
            on_pass=self._on_pass(),
        )
        labels = read_graph_clusters(learned.graph, self.n_clusters, initial=initial, random_state=self.random_state)

        self.labels_ = labels
        self.learned_graph_ = drop_weak_edges(learned.graph)
        self.n_components_ = learned.n_components
        self.view_weights_ = learned.view_weights
        self.n_iter_ = learned.n_iter
        self.history_ = learned.history
