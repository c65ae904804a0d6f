"""LMVSC, multi-view subspace clustering in linear time."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from manyview._utils.machine import check_memory
from manyview.cluster._anchors import kmeans_centres
from manyview.cluster._base import Facts, MultiViewClusterer, interval, kmeans_labels, one_of
from manyview.exceptions import ViewsError, warn_user
from manyview.graphs import SCALERS
from manyview.graphs.scaling import scale_unit_rows
from manyview.solvers import lmvsc
from manyview.views import Views

_MOST_ANCHORS = 50
_SAMPLES_PER_ANCHOR = 5
_CENTRE_ROUNDS = 100
# Arrays of the size of all coefficients that are alive at the peak.
_TEMPORARY = 3


class LMVSC(MultiViewClusterer):
    """Large-scale multi-view subspace clustering: samples as mixtures of each view's anchors.

    Every view has anchors of its own, the centres of k-means. Each sample is written as the convex combination of the
    anchors that comes nearest to it, with a ridge that spreads the coefficients. The coefficients of all views are put
    side by side, and k-means on their leading left singular vectors gives the clusters.

    Use it as a fast baseline: time and memory are linear in the number of samples. All views count the same, so a
    noisy one hurts, and ``ridge`` is in the units of squared features unless ``relative_ridge`` is set. Results move
    with the anchors, and so with ``random_state``.

    Parameters
    ----------
    %(n_clusters)s
    n_anchors : "auto" or int, default="auto"
        Anchors of each view; together at least ``n_clusters``. "auto" takes a fifth of the samples, but at most 50, or
        ``n_clusters`` if that is more.
    ridge : float, default=1.0
        Penalty weight of the squared coefficients. The larger, the more equal they are.
    relative_ridge : bool, default=False
        Whether ``ridge`` is multiplied, in each view, by the mean squared distance of its anchors from their mean, so
        that the units of the features do not matter.
    degree_normalize : bool, default=False
        Whether each anchor's coefficients are divided by the square root of their sum, so that anchors with many
        samples do not dominate. The authors' program does not.
    row_normalize : bool, default=False
        Whether the rows of the embedding are scaled to unit length before k-means.
    scaling : %(scalings)s
        How each view is scaled. The default, "max", divides it by its largest value.
    max_iter : int, default=1000
        Steps at most in the quadratic programme of each sample, which takes about one per positive coefficient.
    tol : float, default=1e-8
        Gap to the minimum at which a sample's quadratic programme is solved, relative to the squared lengths of the
        sample and of the anchors around the anchors' mean.
    n_init : int, default=10
        Runs of k-means, of which the best is taken: for the anchors of each view, and on the embedding.
    %(view_sizes)s
    random_state : int, RandomState or None, default=None
        For the anchors and for k-means.
    %(n_jobs)s
    verbose : bool, default=False
        Print a line for every view.

    Attributes
    ----------
    %(labels_)s
    embedding_ : ndarray of shape (n_samples, n_clusters)
        The left singular vectors, before ``row_normalize``. Fewer columns if fewer anchors differ.
    singular_values_ : ndarray of shape (n_clusters,)
        Their singular values.
    coefficients_ : ndarray of shape (n_samples, n_anchors of all views)
        The coefficients, view after view; in each view they are not negative and sum to 1.
    anchors_ : list of ndarray of shape (n_anchors, n_features_v)
        The anchors of each view, scaled as the view was. Fewer than asked for if fewer samples of the view differ.
    n_iter_ : int
        Most steps that a quadratic programme took.
    history_ : dict of ndarray
        Per view, not per pass: ``objective``, the value of the quadratic programmes together, and ``qp_gap``, the
        largest gap of a sample in the units of ``tol``.
    %(view_names_)s
    %(n_features_in_)s

    Notes
    -----
    Time O(n·m·(d + s²)) per view, for m anchors of which s have a positive coefficient, and O(n·(V·m)²) for the
    embedding; memory O(n·V·m). Anchors are found from all samples up to 10,000, or 50 per anchor if that is more; of
    more samples, as many are drawn at random. As in the authors' program, k-means starts from samples drawn at random.
    The seeds matter: those of k-means++ make anchors of outliers, and with many anchors results on MSRC-v5 are then
    unlike the program's.

    The authors' program does not scale the views and runs an interior-point solver for every sample. Here, the
    quadratic programmes are solved by an active-set method, exactly but for rounding and ``tol``.

    References
    ----------
    Z. Kang, W. Zhou, Z. Zhao, J. Shao, M. Han and Z. Xu, "Large-scale multi-view subspace clustering in linear time",
    AAAI 2020, pp. 4412-4419.

    Examples
    --------
    >>> from manyview.cluster import LMVSC
    >>> from manyview.datasets import make_multiview
    >>> views = make_multiview(200, n_clusters=3, random_state=0)
    >>> model = LMVSC(n_clusters=3, random_state=0).fit(views)
    >>> model.embedding_.shape, model.coefficients_.shape
    ((200, 3), (200, 120))
    """

    facts: ClassVar[Facts] = Facts(
        title="subspace clustering on anchors of each view",
        paper_name="LMVSC",
        input_kind="anchor graphs",
        memory="n·m",
        uses_kmeans=True,
        reference="Kang et al., AAAI 2020",
    )
    _sample_axes: ClassVar[dict[str, tuple[int, ...]]] = {"embedding_": (0,), "coefficients_": (0,)}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_anchors": [one_of("auto"), interval(Integral, 1, None, "left")],
        "ridge": [interval(Real, 0, None, "neither")],
        "relative_ridge": ["boolean"],
        "degree_normalize": ["boolean"],
        "row_normalize": ["boolean"],
    }

    def __init__(
        self,
        n_clusters: int,
        *,
        n_anchors: str | int = "auto",
        ridge: float = 1.0,
        relative_ridge: bool = False,
        degree_normalize: bool = False,
        row_normalize: bool = False,
        scaling: str = "max",
        max_iter: int = 1000,
        tol: float = 1e-8,
        n_init: int = 10,
        view_sizes: int | Sequence[int] | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_anchors = n_anchors
        self.ridge = ridge
        self.relative_ridge = relative_ridge
        self.degree_normalize = degree_normalize
        self.row_normalize = row_normalize
        self.scaling = scaling
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.view_sizes = view_sizes
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fit(self, views: Views) -> None:
        rng = check_random_state(self.random_state)
        m = self._anchor_count(views)
        width = m * views.n_views
        check_memory(
            "LMVSC",
            8.0 * (_TEMPORARY * views.n_samples * width + width**2),
            f"{views.n_samples} samples and {m} anchors in each of {views.n_views} views",
            "Choose a smaller n_anchors, or use GraphEnsemble.",
        )
        scaled = [SCALERS[self.scaling](view) for view in views.arrays]
        seed = int(rng.randint(2**31))  # the same for every view, so that their order does not matter
        anchors = [
            kmeans_centres(
                view,
                m,
                np.random.RandomState(seed),
                max_iter=_CENTRE_ROUNDS,
                seeds="random",
                n_init=self.n_init,
            )
            for view in scaled
        ]
        found = lmvsc.run(
            scaled,
            anchors,
            self.n_clusters,
            ridges=[lmvsc.relative_ridge(a, self.ridge) if self.relative_ridge else self.ridge for a in anchors],
            degree_normalize=self.degree_normalize,
            tol=self.tol,
            max_iter=self.max_iter,
            n_threads=self.n_jobs,
            on_pass=self._on_pass(total=views.n_views, unit="views"),
        )
        points = scale_unit_rows(found.embedding) if self.row_normalize else found.embedding
        labels = kmeans_labels(points, self.n_clusters, rng, self.n_init)
        if found.n_steps.max() >= self.max_iter and found.gap.max() > self.tol:
            warn_user(
                f"max_iter={self.max_iter} steps left a gap of {found.gap.max():.1e}, more than tol={self.tol}; "
                "the coefficients are approximate.",
                ConvergenceWarning,
            )

        self.labels_ = labels
        self.embedding_ = found.embedding
        self.singular_values_ = found.singular_values
        self.coefficients_ = found.coefficients
        self.anchors_ = anchors
        self.n_iter_ = int(found.n_steps.max())
        self.history_ = {"objective": found.objective, "qp_gap": found.gap}

    def _anchor_count(self, views: Views) -> int:
        if isinstance(self.n_anchors, str):
            return max(min(_MOST_ANCHORS, views.n_samples // _SAMPLES_PER_ANCHOR), self.n_clusters)
        if self.n_anchors > views.n_samples:
            raise ViewsError(f"n_anchors={self.n_anchors} is more than there are samples: n_samples={views.n_samples}.")
        if self.n_anchors * views.n_views < self.n_clusters:
            raise ViewsError(
                f"n_anchors={self.n_anchors} for each of {views.n_views} views is less than "
                f"n_clusters={self.n_clusters}."
            )
        return self.n_anchors
