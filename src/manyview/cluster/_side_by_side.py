"""k-means and spectral clustering on one wide table of all views: what a user tries first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from manyview.cluster._base import Facts, MultiViewClusterer, limit_neighbors, run_kmeans
from manyview.graphs import SCALERS, symmetrize, unit_variance
from manyview.graphs.anchors import concatenate
from manyview.graphs.neighbours import nearest_rows
from manyview.graphs.similarity import list_graph
from manyview.graphs.spectrum import random_walk_eigenvectors
from manyview.views import Array, Views


def scale_view(view: Array, scaling: str) -> Array:
    """Scale a view for methods that only look at distances between its samples.

    Centring changes no distance, so a sparse view stays sparse with "centered", too.
    """
    return view if scaling == "centered" and sp.issparse(view) else SCALERS[scaling](view)


def put_side_by_side(views: Sequence[Array], scaling: str) -> Array:
    """Return one table with the columns of all scaled views; sparse if one of them is.

    With "standardized" every column has a variance of 1. Otherwise every view has, in total.
    """
    scaled = [scale_view(view, scaling) for view in views]
    return concatenate(scaled if scaling == "standardized" else [unit_variance(view) for view in scaled])


class _SideBySide(MultiViewClusterer):
    """Base of the methods on one table of all views, with several starts of k-means."""

    min_views: ClassVar[int] = 1

    def _run_kmeans(self, points: Array) -> None:
        """Start k-means ``n_init`` times, keep the best run, and set the attributes that follow from it."""
        rng = check_random_state(self.random_state)
        report = self._on_pass("sum of squared distances", total=self.n_init, unit="starts")
        runs = []
        for start in range(1, self.n_init + 1):
            # One after the other from the same generator: the same runs as with scikit-learn's n_init, but reported.
            runs.append(run_kmeans(points, self.n_clusters, rng, 1))
            if report is not None:
                report(start, runs[-1].inertia_)
        best = min(runs, key=lambda run: run.inertia_)
        self.labels_ = best.labels_
        self.n_iter_ = int(best.n_iter_)
        self.history_ = {"start_objective": np.array([run.inertia_ for run in runs])}


class ConcatKMeans(_SideBySide):
    """k-means on the views side by side.

    Every view is scaled, the scaled views are concatenated to one table, and scikit-learn's k-means clusters its rows.

    Use it as the first method to compare with: one that is not better on your data is not worth its trouble. It finds
    round clusters of similar size only, and does not distinguish views: one of pure noise counts as much as the others.

    Parameters
    ----------
    %(n_clusters)s
    scaling : %(scalings)s
        How each view is scaled. With "standardized" every column has a variance of 1, so that a view counts by
        its number of columns. With any other scaling, each scaled view is then divided so that the variances of its
        columns add up to 1: all views count the same. The default, "centered", does only that: it keeps the proportions
        of the columns of a view. Centring changes no distance, so "none" gives the same.
    %(n_init)s
    %(view_sizes)s
    random_state : int, RandomState or None, default=None
        For the starts. An int makes the result reproducible.
    verbose : bool, default=False
        Print a line for every start.

    Attributes
    ----------
    %(labels_)s
    n_iter_ : int
        Passes of k-means from the start that is kept.
    history_ : dict of ndarray
        ``start_objective``: the sum of squared distances to the centres that each start ended with.
    %(view_names_)s
    %(n_features_in_)s

    Notes
    -----
    Time O(n·d·K) per pass for d features of all views together, memory O(n·d). If one view is sparse, the table is.
    Sparse views are not centred and stay sparse, except with the scalings "shares", "directions" and
    "row-standardized".

    The runs are those of scikit-learn's ``KMeans(n_clusters, n_init=10)``, on samples in an order that follows from
    their content.

    References
    ----------
    D. Arthur and S. Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007, pp. 1027-1035.

    Examples
    --------
    >>> from manyview.cluster import ConcatKMeans
    >>> from manyview.datasets import make_multiview
    >>> views = make_multiview(120, n_clusters=3, random_state=0)
    >>> model = ConcatKMeans(n_clusters=3, random_state=0).fit(views)
    >>> model.labels_.shape, model.history_["start_objective"].shape
    ((120,), (10,))
    """

    facts: ClassVar[Facts] = Facts(
        title="k-means, views side by side",
        paper_name="",
        input_kind="features",
        memory="n·d",
        uses_kmeans=True,
        reference="Arthur and Vassilvitskii, SODA 2007",
    )

    def __init__(
        self,
        n_clusters: int,
        *,
        scaling: str = "centered",
        n_init: int = 10,
        view_sizes: int | Sequence[int] | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.scaling = scaling
        self.n_init = n_init
        self.view_sizes = view_sizes
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, views: Views) -> None:
        self._run_kmeans(put_side_by_side(views.arrays, self.scaling))


class ConcatSpectral(_SideBySide):
    """Spectral clustering on the views side by side.

    Every view is scaled, and the scaled views are concatenated to one table. Samples are connected with their nearest
    neighbours in this table, and k-means clusters the leading eigenvectors of the graph.

    Use it as the second method to compare with, after :class:`ConcatKMeans`: clusters may have any shape. Neighbours
    must be near in all views together. That helps if every view blurs other clusters, and harms if one view is noise.

    Parameters
    ----------
    %(n_clusters)s
    n_neighbors : int, default=10
        Nearest neighbours of each sample, which counts as its own first neighbour, as in scikit-learn. Each sample has
        at least one other.
    scaling : %(scalings)s
        How each view is scaled. With "standardized" every column has a variance of 1, so that a view counts by
        its number of columns. With any other scaling, each scaled view is then divided so that the variances of its
        columns add up to 1: all views count the same. The default, "centered", does only that: it keeps the proportions
        of the columns of a view. Centring changes no distance, so "none" gives the same.
    %(n_init)s
    %(view_sizes)s
    random_state : int, RandomState or None, default=None
        For k-means. The embedding does not depend on it.
    verbose : bool, default=False
        Print a line for every start of k-means.

    Attributes
    ----------
    %(labels_)s
    embedding_ : ndarray of shape (n_samples, n_clusters)
        The eigenvectors that k-means was run on, leading one first.
    n_iter_ : int
        Passes of k-means from the start that is kept.
    history_ : dict of ndarray
        ``start_objective``: the sum of squared distances to the centres that each start of k-means ended with.
    %(view_names_)s
    %(n_features_in_)s

    Notes
    -----
    Time O(n²·d) for the neighbours and O(n·k·K) per Lanczos step; memory O(n·k), and O(n·d) for the table. If one view
    is sparse, the table is. Sparse views are not centred and stay sparse, except with the scalings "shares",
    "directions" and "row-standardized".

    The graph and the embedding are those of scikit-learn's ``SpectralClustering(n_clusters,
    affinity="nearest_neighbors")``. Where the graph has several components, scikit-learn warns and the embedding is
    arbitrary in part; here, every component is solved by itself.

    References
    ----------
    J. Shi and J. Malik, "Normalized cuts and image segmentation", IEEE Transactions on Pattern Analysis and Machine
    Intelligence 22(8), 2000, pp. 888-905.

    Examples
    --------
    >>> from manyview.cluster import ConcatSpectral
    >>> from manyview.datasets import make_multiview
    >>> views = make_multiview(120, n_clusters=3, random_state=0)
    >>> model = ConcatSpectral(n_clusters=3, random_state=0).fit(views)
    >>> model.labels_.shape, model.embedding_.shape
    ((120,), (120, 3))
    """

    facts: ClassVar[Facts] = Facts(
        title="spectral clustering, views side by side",
        paper_name="",
        input_kind="neighbour graphs",
        memory="n·k",
        uses_kmeans=True,
        reference="Shi and Malik, IEEE TPAMI 2000",
    )
    _sample_axes: ClassVar[dict[str, tuple[int, ...]]] = {"embedding_": (0,)}

    def __init__(
        self,
        n_clusters: int,
        *,
        n_neighbors: int = 10,
        scaling: str = "centered",
        n_init: int = 10,
        view_sizes: int | Sequence[int] | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.scaling = scaling
        self.n_init = n_init
        self.view_sizes = view_sizes
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, views: Views) -> None:
        k = limit_neighbors(self.n_neighbors, views.n_samples, "samples")
        table = put_side_by_side(views.arrays, self.scaling)
        # The sample itself is left out: an edge to itself changes no Laplacian.
        neighbours, _ = nearest_rows(table, table, max(k - 1, 1), exclude_self=True)
        graph = symmetrize(list_graph(neighbours, np.ones(neighbours.shape), views.n_samples))
        embedding = random_walk_eigenvectors(graph, self.n_clusters)

        self._run_kmeans(embedding)
        self.embedding_ = embedding
