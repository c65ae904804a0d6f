"""MVSC, large-scale multi-view spectral clustering on sample-anchor graphs."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from manyview.cluster._anchors import check_anchor_memory, kmeans_centres
from manyview.cluster._base import Facts, MultiViewClusterer, interval, kmeans_labels, limit_neighbors, one_of
from manyview.exceptions import ViewsError
from manyview.graphs import SCALERS
from manyview.graphs.anchors import concatenate
from manyview.graphs.scaling import scale_unit_rows
from manyview.solvers import mvsc
from manyview.views import Views

_MOST_ANCHORS = 400
# Few rounds are enough: the centres need to cover the data, not to be optimal.
_CENTRE_ROUNDS = 20


class MVSC(MultiViewClusterer):
    """Multi-view spectral clustering on bipartite graphs: samples, shared anchors and weights for the views.

    Anchors are the centres of k-means on all views side by side. In every view each sample is connected with its
    nearest anchors, and one spectral embedding is found that fits the graphs of all views, each weighted by how well
    it can be fitted. k-means on the embedding gives the clusters.

    Use it when there are too many samples for graphs among samples: time and memory are linear in their number. Views
    that disagree with the others get little weight, but none is dropped. Results move with the anchors, and so with
    ``random_state``; small data sets are better served by a method that uses all samples.

    Parameters
    ----------
    %(n_clusters)s
    n_anchors : "auto" or int, default="auto"
        Number of anchors, at least ``n_clusters``. "auto" takes half of the samples, but at most 400, or
        ``n_clusters`` if that is more.
    n_neighbors : int, default=8
        Anchors that each sample is connected with.
    weight_exponent : float, default=4.0
        Above 1. Near 1 the view that fits best gets all the weight; the larger, the more equal are the weights.
    bandwidth : float or None, default=None
        Width of the Gaussian that turns distances into weights, for all views and in the units of the scaled views.
        None: in each view the median distance between the samples and the anchors that they are connected with.
    scaling : %(scalings)s
        How each view is scaled. The default, "max", divides it by its largest value.
    row_normalize : bool, default=False
        Whether the rows of the embedding are scaled to unit length before k-means. All samples have the same degree in
        these graphs, so there is no effect of degrees to be removed.
    max_iter : int, default=50
        Passes at most.
    tol : float, default=1e-6
        Stop when a pass lowers the objective by no more than this share.
    n_init : int, default=10
        Runs of k-means on the embedding, of which the best is taken.
    %(view_sizes)s
    random_state : int, RandomState or None, default=None
        For the anchors and for k-means.
    %(verbose)s

    Attributes
    ----------
    %(labels_)s
    view_weights_ : ndarray of shape (n_views,)
        Weights of the views, summing to 1.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        The samples' part of the embedding, before ``row_normalize``. Fewer columns if fewer anchors differ.
    singular_values_ : ndarray of shape (n_clusters,)
        The singular values that belong to them, of the weighted sum of the graphs.
    anchors_ : list of ndarray of shape (n_anchors, n_features_v)
        The anchors in each view, scaled as the view was. Fewer than asked for if fewer samples differ.
    bandwidths_ : ndarray of shape (n_views,)
        Width of the Gaussian in each view.
    %(n_iter_)s
    history_ : dict of ndarray
        Per pass: ``objective``, which never rises, and ``view_weights``.
    %(view_names_)s
    %(n_features_in_)s

    Notes
    -----
    Time O(n·m·d) for the graphs and O(n·(V·k)² + m³) per pass for m anchors; memory O(n·V·k + n·d). With more than 50
    samples per anchor, the anchors are found from a random part of the samples of that size.

    The authors' program is not public. A re-implementation by others takes samples as anchors and drops them from the
    samples, so that its labels come in another order, and fails when two centres have the same nearest sample; it
    starts from weights 1/K, and its embedding is too long by √2, both without consequences; and it clusters samples and
    anchors together. Here, centres are anchors, and all samples, and only they, are clustered.

    References
    ----------
    Y. Li, F. Nie, H. Huang and J. Huang, "Large-scale multi-view spectral clustering via bipartite graph", AAAI 2015,
    pp. 2750-2756.

    Examples
    --------
    >>> from manyview.cluster import MVSC
    >>> from manyview.datasets import make_multiview
    >>> views = make_multiview(200, n_clusters=3, random_state=0)
    >>> model = MVSC(n_clusters=3, random_state=0).fit(views)
    >>> model.embedding_.shape, len(model.anchors_[0])
    ((200, 3), 100)
    """

    facts: ClassVar[Facts] = Facts(
        title="spectral clustering on shared anchors, weighted views",
        paper_name="MVSC",
        input_kind="anchor graphs",
        memory="n·k",
        uses_kmeans=True,
        reference="Li et al., AAAI 2015",
    )
    _sample_axes: ClassVar[dict[str, tuple[int, ...]]] = {"embedding_": (0,)}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_anchors": [one_of("auto"), interval(Integral, 1, None, "left")],
        "weight_exponent": [interval(Real, 1, None, "neither")],
        "bandwidth": [None, interval(Real, 0, None, "neither")],
        "row_normalize": ["boolean"],
    }

    def __init__(
        self,
        n_clusters: int,
        *,
        n_anchors: str | int = "auto",
        n_neighbors: int = 8,
        weight_exponent: float = 4.0,
        bandwidth: float | None = None,
        scaling: str = "max",
        row_normalize: bool = False,
        max_iter: int = 50,
        tol: float = 1e-6,
        n_init: int = 10,
        view_sizes: int | Sequence[int] | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_anchors = n_anchors
        self.n_neighbors = n_neighbors
        self.weight_exponent = weight_exponent
        self.bandwidth = bandwidth
        self.scaling = scaling
        self.row_normalize = row_normalize
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.view_sizes = view_sizes
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, views: Views) -> None:
        rng = check_random_state(self.random_state)
        m = self._anchor_count(views.n_samples)
        check_anchor_memory("MVSC", views, m, self.n_neighbors)
        scaled = [SCALERS[self.scaling](view) for view in views.arrays]
        centres = kmeans_centres(concatenate(scaled), m, rng, max_iter=_CENTRE_ROUNDS)
        anchors = np.split(centres, np.cumsum(views.n_features)[:-1], axis=1)
        k = limit_neighbors(self.n_neighbors, len(centres), single=True)
        built = [mvsc.gaussian_graph(*pair, k, self.bandwidth) for pair in zip(scaled, anchors, strict=True)]
        found = mvsc.run(
            [graph for graph, _ in built],
            self.n_clusters,
            exponent=self.weight_exponent,
            max_iter=self.max_iter,
            tol=self.tol,
            on_pass=self._on_pass(),
        )
        points = scale_unit_rows(found.samples) if self.row_normalize else found.samples
        labels = kmeans_labels(points, self.n_clusters, rng, self.n_init)

        self.labels_ = labels
        self.view_weights_ = found.weights
        self.embedding_ = found.samples
        self.singular_values_ = found.singular_values
        self.anchors_ = anchors
        self.bandwidths_ = np.array([bandwidth for _, bandwidth in built])
        self.n_iter_ = len(found.objective)
        self.history_ = {"objective": found.objective, "view_weights": found.weight_history}

    def _anchor_count(self, n_samples: int) -> int:
        if isinstance(self.n_anchors, str):
            return max(min(_MOST_ANCHORS, n_samples // 2), self.n_clusters)
        if self.n_anchors > n_samples:
            raise ViewsError(f"n_anchors={self.n_anchors} is more than there are samples: n_samples={n_samples}.")
        if self.n_anchors < self.n_clusters:
            raise ViewsError(f"n_anchors={self.n_anchors} is less than n_clusters={self.n_clusters}.")
        return self.n_anchors
