"""SMSC, one non-negative embedding of several graphs whose rows name the clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from manyview.cluster._base import Facts, MultiViewClusterer, kmeans_labels, limit_neighbors, one_of
from manyview.exceptions import warn_user
from manyview.graphs import SCALERS, neighbor_graph, normalize_graph, symmetrize
from manyview.graphs.scaling import scale_unit_rows
from manyview.solvers import smsc
from manyview.solvers._weights import shares
from manyview.views import Views

_STARTS = ("kmeans", "svd")


class SMSC(MultiViewClusterer):
    """Multi-view spectral clustering that joins a non-negative embedding with spectral ones.

    The normalised neighbour graph of every view is factored into an embedding that is non-negative and common to all
    views, and an orthonormal one of its own. The largest entry in a row of the common embedding names the cluster, so
    nothing is clustered afterwards. Views that are fitted badly get a smaller weight.

    Use it as a baseline that needs no tuning, when the views agree. Its weights differ little, even for a noise view,
    which therefore costs something. The objective has many local minima, and the result depends on the start: scores
    may differ by several points, sometimes by far more.

    Parameters
    ----------
    %(n_clusters)s
    n_neighbors : int, default=10
        Samples that each sample is connected with.
    scaling : %(scalings)s
        How each view is scaled. The default, "row-standardized", subtracts from each sample the mean of its own
        features and divides by their standard deviation.
    max_iter : int, default=200
        Passes at most.
    tol : float, default=1e-8
        Stop when the objective changes by less, relatively.
    initialization : {"best", "kmeans", "svd"}, default="best"
        Where to start: from the clusters that k-means finds in the spectral embedding of the mean graph ("kmeans"),
        from the eigenvectors of each view, as the authors do ("svd"), or from both, of which the result with the lower
        objective is kept ("best"). The signs of eigenvectors are arbitrary, and "svd" depends on them; the largest
        entry of each is made positive, so that it is at least always the same start.
    %(n_init)s
    %(view_sizes)s
    random_state : int, RandomState or None, default=None
        For k-means; not used with "svd".
    %(verbose)s

    Attributes
    ----------
    %(labels_)s
    embedding_ : ndarray of shape (n_samples, n_clusters)
        The common embedding, non-negative. Its columns are in no particular order.
    view_weights_ : ndarray of shape (n_views,)
        Weights of the views, with sum 1.
    %(n_iter_)s
    history_ : dict of ndarray
        Per pass: ``objective`` and ``residuals``, the misfit of every view, of which the objective is the sum. It never
        rises, except in the pass after one in which a cluster that had lost all its samples was given new ones.
    %(view_names_)s
    %(n_features_in_)s

    Notes
    -----
    Time O(V·n²·d) for the neighbours and O(V·n·K·(k + K)) per pass; memory O(V·n·(k + K)), the graphs being sparse.

    The authors' program divides the common embedding by the number of views once too often, which changes weights and
    residuals, though hardly the labels (``manyview.solvers.smsc.Settings(scale_slip=True)`` brings that back and then,
    from the program's graphs and singular vectors, reproduces its embedding to 1e-12). It watches the sum of the
    squared misfits, which is not what it minimises, takes singular vectors, which may belong to negative eigenvalues,
    and stops after 60 passes, often too early. It may return fewer clusters than asked for. Here, a badly fitted
    cluster is halved in that case; if a cluster gets lost again, a ``ConvergenceWarning`` says so. If a sample has a
    duplicate, the program drops the edge between the two; here, it is kept.

    References
    ----------
    Z. Hu, F. Nie, R. Wang and X. Li, "Multi-view spectral clustering via integrating nonnegative embedding and spectral
    embedding", Information Fusion 55, 2020, pp. 251-259.

    Examples
    --------
    >>> from manyview.cluster import SMSC
    >>> from manyview.datasets import make_multiview
    >>> views = make_multiview(120, n_clusters=3, random_state=0)
    >>> model = SMSC(n_clusters=3, random_state=0).fit(views)
    >>> model.labels_.shape, bool((model.embedding_ >= 0).all())
    ((120,), True)
    """

    facts: ClassVar[Facts] = Facts(
        title="non-negative embedding shared by the spectral ones",
        paper_name="SMSC",
        input_kind="neighbour graphs",
        memory="n·k",
        uses_kmeans=True,  # for the start, and the result depends on it
        reference="Hu et al., Information Fusion 2020",
    )
    min_views: ClassVar[int] = 1
    _sample_axes: ClassVar[dict[str, tuple[int, ...]]] = {"embedding_": (0,)}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"initialization": [one_of("best", *_STARTS)]}

    def __init__(
        self,
        n_clusters: int,
        *,
        n_neighbors: int = 10,
        scaling: str = "row-standardized",
        max_iter: int = 200,
        tol: float = 1e-8,
        initialization: str = "best",
        n_init: int = 10,
        view_sizes: int | Sequence[int] | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.scaling = scaling
        self.max_iter = max_iter
        self.tol = tol
        self.initialization = initialization
        self.n_init = n_init
        self.view_sizes = view_sizes
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, views: Views) -> None:
        k = limit_neighbors(self.n_neighbors, views.n_samples - 1, "other samples")
        graphs = [neighbor_graph(SCALERS[self.scaling](view), k) for view in views.arrays]
        similarities = [symmetrize(normalize_graph(graph)) for graph in graphs]
        starts = _STARTS if self.initialization == "best" else (self.initialization,)
        # Fewer lost clusters come first: an objective for fewer than n_clusters does not compare.
        found = min(
            (
                smsc.run(
                    similarities,
                    self._frames(start, similarities),
                    max_iter=self.max_iter,
                    tol=self.tol,
                    on_pass=self._on_pass(before=i * self.max_iter, total=len(starts) * self.max_iter),
                )
                for i, start in enumerate(starts)
            ),
            key=lambda each: (each.n_filled, each.objective[-1]),
        )
        if found.n_filled:
            warn_user(
                f"The embedding has samples for {self.n_clusters - found.n_filled} clusters instead of n_clusters="
                f"{self.n_clusters}; clusters that fit badly were halved.",
                ConvergenceWarning,
            )

        self.labels_ = found.labels
        self.embedding_ = found.embedding
        self.view_weights_ = shares(found.weights)
        self.n_iter_ = len(found.objective)
        self.history_ = {"objective": found.objective, "residuals": found.residuals}

    def _frames(self, start: str, similarities: Sequence[sp.csr_array]) -> list[np.ndarray]:
        if start == "svd":
            return smsc.frames_of_spectra(similarities, self.n_clusters)
        points = scale_unit_rows(smsc.common_eigenvectors(similarities, self.n_clusters))
        first = kmeans_labels(points, self.n_clusters, self.random_state, self.n_init)
        return smsc.frames_of_labels(similarities, first, self.n_clusters)
