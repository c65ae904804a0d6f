"""SFMC, fusion of bipartite graphs with weights of the views that need no parameter."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from manyview.cluster._anchors import check_anchor_memory, choose_anchors, count_anchors
from manyview.cluster._base import Facts, MultiViewClusterer, interval, limit_neighbors, one_of
from manyview.graphs import SCALERS, bipartite_graph, read_clusters
from manyview.solvers import sfmc
from manyview.views import Views

# The authors take half of the samples as anchors; time grows with the cube of their number, so "auto" takes at most
# this many, or this many per cluster.
_MOST_ANCHORS = 400
_ANCHORS_PER_CLUSTER = 5


class SFMC(MultiViewClusterer):
    """Scalable multi-view clustering by fusion of bipartite graphs.

    In every view the samples are connected with their nearest anchors, the same ones in all views. The graphs are added
    up with weights that the method finds itself, and thinned out until exactly ``n_clusters`` connected components are
    left: the clusters. There is nothing to tune but the anchors.

    Use it for many samples, when clusters may have any shape and no k-means is wanted. A view of noise is not
    dropped: on generated data it kept a third of the weight of a good one. Anchors and scaling matter: with sparse word
    counts nearly all samples may end up in one component, and the default anchors are chosen by a chaotic rule, so that
    scores are one draw from a spread.

    Parameters
    ----------
    %(n_clusters)s
    n_anchors : "auto", int or float, default="auto"
        Number of anchors, or their share of the samples. "auto" takes half of the samples, as the authors do, but at
        most 400 or 5 per cluster, and at least one more than clusters.
    n_neighbors : int, default=10
        Anchors that each sample is connected with in a view.
    anchors : {"das", "vda", "kmeans", "random"} or sequence of int, default="das"
        How anchors are chosen: "das" is the authors' way, see :func:`manyview.graphs.select_das`; or the rows that
        are to be anchors.
    variant : {"code", "rows"}, default="code"
        How the graph is thinned out. "rows" is the model as printed; "code" averages its step with the same step on
        columns, as the authors' program does, and reproduces its results.
    scaling : %(scalings)s
        How each view is scaled. The default, "max", divides it by its largest value.
    max_iter : int, default=10
        Passes at most; one learns the graph, then the weights.
    tol : float, default=0.0001
        Stop when no weight changes by more in a pass, nor the objective by more relative to itself. 0 makes all passes,
        as the authors' program does.
    %(view_sizes)s
    random_state : int, RandomState or None, default=None
        For anchors by "kmeans" or "random", and for the spectral cut when the graph cannot be brought to
        ``n_clusters`` components; not used otherwise.
    %(verbose)s

    Attributes
    ----------
    %(labels_)s
    view_weights_ : ndarray of shape (n_views,)
        Weights of the views; they sum to 1. Equal views get equal weights.
    consensus_graph_ : csr_array of shape (n_samples, n_anchors)
        The views' graphs, added up with these weights; rows sum to 1.
    component_graph_ : csr_array of shape (n_samples, n_anchors)
        The learned graph. Its rows sum to 1 for ``variant="rows"`` only.
    n_components_ : int
        Components of the learned graph, without unused anchors: ``n_clusters``, or a ``ConvergenceWarning`` says what
        was done.
    anchor_indices_ : ndarray of shape (n_anchors,)
        Row of each anchor, in the order of the graphs' columns.
    %(n_iter_)s
    history_ : dict of ndarray
        Per pass: ``objective`` (squared distance between the two graphs), ``view_weights``, ``n_components``. The
        objective need not fall from pass to pass, as the learned graph is not an exact minimum.
    %(view_names_)s
    %(n_features_in_)s

    Notes
    -----
    Time O(V·n·m·d) for the graphs of V views and m anchors, and O(n·V²·k² + m³) for each of up to 50 rounds in a pass;
    memory O(V·n·k + m²).

    The authors' program stops with an error when the views together have more than ``n_clusters`` components, divides
    by zero for an anchor without edges, and means to go back when a graph has fallen into too many components, but does
    not. Here, components are joined, such anchors are left out, and it does go back. The weights are exact here and
    good to 1e-4 there.

    References
    ----------
    X. Li, H. Zhang, R. Wang and F. Nie, "Multiview clustering: a scalable and parameter-free bipartite graph fusion
    method", IEEE Transactions on Pattern Analysis and Machine Intelligence 44(1), 2022, pp. 330-344.

    Examples
    --------
    >>> from manyview.cluster import SFMC
    >>> from manyview.datasets import make_multiview
    >>> views = make_multiview(120, n_clusters=3, random_state=0)
    >>> model = SFMC(n_clusters=3).fit(views)
    >>> model.n_components_, model.component_graph_.shape
    (3, (120, 60))
    """

    facts: ClassVar[Facts] = Facts(
        title="fusion of bipartite graphs, without parameters",
        paper_name="SFMC",
        input_kind="anchor graphs",
        memory="n·k",
        uses_kmeans=False,
        reference="Li et al., IEEE TPAMI 2022",
    )
    _sample_axes: ClassVar[dict[str, tuple[int, ...]]] = {"consensus_graph_": (0,), "component_graph_": (0,)}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_anchors": [one_of("auto"), interval(Integral, 2, None, "left"), interval(Real, 0, 1, "right")],
        "variant": [one_of("code", "rows")],
    }

    def __init__(
        self,
        n_clusters: int,
        *,
        n_anchors: str | float = "auto",
        n_neighbors: int = 10,
        anchors: str | Sequence[int] = "das",
        variant: str = "code",
        scaling: str = "max",
        max_iter: int = 10,
        tol: float = 1e-4,
        view_sizes: int | Sequence[int] | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_anchors = n_anchors
        self.n_neighbors = n_neighbors
        self.anchors = anchors
        self.variant = variant
        self.scaling = scaling
        self.max_iter = max_iter
        self.tol = tol
        self.view_sizes = view_sizes
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, views: Views) -> None:
        m = count_anchors(self.anchors, self._number_of_anchors(views.n_samples), views.n_samples, self.n_clusters)
        check_anchor_memory("SFMC", views, m, self.n_neighbors)
        scaled = [SCALERS[self.scaling](view) for view in views.arrays]
        anchors = choose_anchors(scaled, self.anchors, m, self.random_state, given_rows=views.sample_ids)
        k = limit_neighbors(self.n_neighbors, len(anchors))
        graphs = [bipartite_graph(view, view[anchors], k) for view in scaled]
        fused = sfmc.run(
            graphs,
            self.n_clusters,
            variant=self.variant,  # type: ignore[arg-type]
            max_iter=self.max_iter,
            tol=self.tol,
            on_pass=self._on_pass(),
        )
        labels = read_clusters(fused.learned, self.n_clusters, initial=fused.consensus, random_state=self.random_state)

        self.labels_ = labels
        self.view_weights_ = fused.weights
        self.consensus_graph_ = fused.consensus
        self.component_graph_ = fused.learned
        self.n_components_ = fused.n_components
        self.anchor_indices_ = anchors
        self.n_iter_ = fused.n_iter
        self.history_ = fused.history

    def _number_of_anchors(self, n_samples: int) -> float:
        if self.n_anchors != "auto":
            return self.n_anchors  # type: ignore[return-value]
        m = min(n_samples // 2, max(_MOST_ANCHORS, _ANCHORS_PER_CLUSTER * self.n_clusters))
        return min(max(m, 2, self.n_clusters + 1), n_samples)
