"""RDEKM, k-means in discriminative subspaces of the views with weights by residual."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from manyview._utils.machine import check_memory
from manyview.cluster._base import Facts, MultiViewClusterer, interval, kmeans_labels, one_of
from manyview.exceptions import ViewsError
from manyview.solvers import rdekm
from manyview.solvers.rdekm import principal_scores, whiten
from manyview.views import Views


class RDEKM(MultiViewClusterer):
    """Re-weighted discriminatively embedded k-means, as reconstructed from its description.

    Every view has a subspace of its own, in which the clusters, common to all views, are as compact as they can be
    while the view as a whole is not. Distances to the centres are added up unsquared, so samples that fit badly in a
    view, or views that fit badly, count less, without a parameter. Clusters, centres and subspaces are improved in
    turn, from several starts of k-means.

    Use it for views that are tables of features with compact clusters, and for outliers in single views. It finds no
    clusters of other shapes, it stays near the clusters that k-means starts from, and it needs many more samples than
    ``n_components`` times views.

    Parameters
    ----------
    %(n_clusters)s
    weighting : {"samples", "views"}, default="samples"
        Whether every sample has a weight of its own in each view, or every view one for all samples.
    n_components : int or None, default=None
        Dimension of each subspace, at most that of the view. None takes ``n_clusters - 1``, at least 1: the centres
        span no more.
    ridge : float, default=1e-3
        Regularises the scatter of a view, as a share of the mean variance of its principal components; components with
        less variance than that are left out. With 0 only those without any are, and the subspaces do not depend on the
        units of the features.
    n_init : int, default=10
        Starts, each from a run of k-means on the views side by side; the one with the lowest objective is kept.
    max_iter : int, default=50
        Passes of each start at most.
    tol : float, default=1e-6
        Stop when no label changes and the objective falls by less, relative to itself.
    %(view_sizes)s
    random_state : int, RandomState or None, default=None
        For the starts. An int makes the result reproducible.
    %(verbose)s

    Attributes
    ----------
    %(labels_)s
    view_weights_ : ndarray of shape (n_views,)
        Weights of the views; they sum to 1. For weights of samples, what belongs to the mean residual in each view (a
        mean of the weights would say little: that of a sample at its centre is without bound). 0 for a constant view.
    embedding_ : ndarray of shape (n_samples, n_components of all views)
        The samples in the subspaces, side by side.
    n_iter_ : int
        Passes made from the start that is kept.
    history_ : dict of ndarray
        ``objective`` per pass, which never rises, and ``start_objective``, the last one of each start.
    %(view_names_)s
    %(n_features_in_)s

    Notes
    -----
    Views are centred and scaled to a total variance of 1. One with more than 200 features, or more features than
    samples, is replaced by the principal components that have 99 % of its variance.

    Time O(n·q² + q³) per view and pass for q components, and O(n·d·min(n, d)) once; memory O(n·d + min(n, d)²).

    No program of the authors is public and the full text was not at hand. Known are the least absolute residuals, the
    subspaces as in discriminant analysis and the weights by residual; whose weights, the dimension, the constraint and
    the starts are a reconstruction, so results are not those of the paper.

    References
    ----------
    J. Xu, J. Han, F. Nie and X. Li, "Re-weighted discriminatively embedded k-means for multi-view clustering", IEEE
    Transactions on Image Processing 26(6), 2017, pp. 3016-3027.

    Examples
    --------
    >>> from manyview.cluster import RDEKM
    >>> from manyview.datasets import make_multiview
    >>> views = make_multiview(120, n_clusters=3, random_state=0)
    >>> model = RDEKM(n_clusters=3, random_state=0).fit(views)
    >>> model.labels_.shape, model.embedding_.shape
    ((120,), (120, 6))
    """

    facts: ClassVar[Facts] = Facts(
        title="k-means in discriminative subspaces, weights by residual",
        paper_name="RDEKM",
        input_kind="features",
        memory="n·d",
        uses_kmeans=True,
        reference="Xu et al., IEEE TIP 2017",
    )
    _sample_axes: ClassVar[dict[str, tuple[int, ...]]] = {"embedding_": (0,)}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "weighting": [one_of("samples", "views")],
        "n_components": [None, interval(Integral, 1, None, "left")],
        "ridge": [interval(Real, 0, 1, "left")],
    }

    def __init__(
        self,
        n_clusters: int,
        *,
        weighting: str = "samples",
        n_components: int | None = None,
        ridge: float = 1e-3,
        n_init: int = 10,
        max_iter: int = 50,
        tol: float = 1e-6,
        view_sizes: int | Sequence[int] | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.weighting = weighting
        self.n_components = n_components
        self.ridge = ridge
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.view_sizes = view_sizes
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, views: Views) -> None:
        n = views.n_samples
        check_memory(
            "RDEKM",
            8 * (3 * max(min(n, d) for d in views.n_features) ** 2 + 2 * n * sum(min(n, d) for d in views.n_features)),
            f"{n} samples and {max(views.n_features)} features in one view",
            "Reduce the features first.",
        )
        n_components = self.n_components or max(self.n_clusters - 1, 1)
        scores = [principal_scores(view) for view in views.arrays]
        varying = [v for v, table in enumerate(scores) if table.shape[1]]
        if not varying:
            raise ViewsError("views: all of them are constant, but for rounding; there is nothing to tell samples by.")
        points = [whiten(scores[v], self.ridge, n_components) for v in varying]
        side_by_side = np.hstack(scores)
        rng = check_random_state(self.random_state)
        found = [
            rdekm.run(
                points,
                kmeans_labels(side_by_side, self.n_clusters, int(seed), 1),
                self.n_clusters,
                n_components,
                weighting=self.weighting,  # type: ignore[arg-type]
                max_iter=self.max_iter,
                tol=self.tol,
                on_pass=self._on_pass(before=start * self.max_iter, total=self.n_init * self.max_iter),
            )
            for start, seed in enumerate(rng.randint(np.iinfo(np.int32).max, size=self.n_init))
        ]
        best = min(found, key=lambda partition: partition.objective[-1])

        self.labels_ = best.labels
        self.view_weights_ = np.zeros(views.n_views)
        self.view_weights_[varying] = best.view_weights
        self.embedding_ = np.hstack(best.embeddings)
        self.n_iter_ = best.n_iter
        self.history_ = {
            "objective": np.array(best.objective),
            "start_objective": np.array([partition.objective[-1] for partition in found]),
        }
