"""AMGL, one spectral embedding of several graphs that weighs them by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from manyview.cluster._base import Facts, MultiViewClusterer, kmeans_labels, limit_neighbors
from manyview.exceptions import warn_user
from manyview.graphs import SCALERS, graph_component_labels, neighbor_graph
from manyview.graphs.scaling import scale_unit_rows
from manyview.solvers import amgl
from manyview.solvers._weights import shares
from manyview.views import Views

# A view with more than this share of the weights decides alone.
_TAKES_OVER = 0.9
# Eigenvalues closer than this cannot be told apart, nor can their eigenvectors.
_NO_GAP = 1e-8


class AMGL(MultiViewClusterer):
    """Auto-weighted multiple graph learning: one spectral embedding of all views, clustered by k-means.

    Every view becomes a neighbour graph, and the embedding fits all graphs at once. The sum of the roots of the misfits
    is minimised, which gives a view that fits badly a smaller weight without a parameter for it.

    Use it as a quick baseline with nothing to tune: it is spectral clustering with weights, and one bad view among good
    ones is held down. Do not use it when some view is in ``n_clusters`` pieces or more for reasons of its own
    (duplicates, outliers, few neighbours): that view fits perfectly and takes over, which a ``ConvergenceWarning``
    reports. Where the features of a view differ in their units, those with large values decide, unless they are scaled.

    Parameters
    ----------
    %(n_clusters)s
    n_neighbors : int, default=5
        Samples that each sample is connected with. With 10, graphs fall into pieces less often.
    %(scaling)s
    max_iter : int, default=100
        Passes at most; about ten are usual.
    tol : float, default=1e-8
        Stop when the objective changes by less, relatively.
    row_normalize : bool, default=False
        Whether the rows of the embedding are brought to length 1 before k-means.
    %(n_init)s
    %(view_sizes)s
    random_state : int, RandomState or None, default=None
        For k-means.
    %(verbose)s

    Attributes
    ----------
    %(labels_)s
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Orthonormal columns, defined up to a rotation; before ``row_normalize``.
    view_weights_ : ndarray of shape (n_views,)
        Weights of the views, with sum 1.
    %(n_iter_)s
    history_ : dict of ndarray
        Per pass: ``objective``, which never rises, and ``view_weights``.
    %(view_names_)s
    %(n_features_in_)s

    Notes
    -----
    Time O(V·n²·d) for the neighbours and O(V·n·k·K) per Lanczos step of every pass; memory O(V·n·k). Lanczos' method
    needs many steps when eigenvalues lie close together, as they do when one view takes over.

    The authors' program decomposes dense matrices, with the same result, runs k-means once from one start, and scores
    itself against classes of equal size in sorted order. If a sample has a duplicate, its neighbour graph connects
    samples with themselves; here, they are connected with their duplicates.

    References
    ----------
    F. Nie, J. Li and X. Li, "Parameter-free auto-weighted multiple graph learning: a framework for multiview clustering
    and semi-supervised classification", IJCAI 2016, pp. 1881-1887.

    Examples
    --------
    >>> from manyview.cluster import AMGL
    >>> from manyview.datasets import make_multiview
    >>> views = make_multiview(120, n_clusters=3, noise=0.3, random_state=0)
    >>> model = AMGL(n_clusters=3, random_state=0).fit(views)
    >>> model.labels_.shape, model.embedding_.shape
    ((120,), (120, 3))
    """

    facts: ClassVar[Facts] = Facts(
        title="auto-weighted spectral embedding of several graphs",
        paper_name="AMGL",
        input_kind="neighbour graphs",
        memory="n·k",
        uses_kmeans=True,
        reference="Nie et al., IJCAI 2016",
    )
    min_views: ClassVar[int] = 1
    _sample_axes: ClassVar[dict[str, tuple[int, ...]]] = {"embedding_": (0,)}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"row_normalize": ["boolean"]}

    def __init__(
        self,
        n_clusters: int,
        *,
        n_neighbors: int = 5,
        scaling: str = "none",
        max_iter: int = 100,
        tol: float = 1e-8,
        row_normalize: bool = False,
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
        self.row_normalize = row_normalize
        self.n_init = n_init
        self.view_sizes = view_sizes
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, views: Views) -> None:
        k = limit_neighbors(self.n_neighbors, views.n_samples - 1, "other samples")
        graphs = [neighbor_graph(SCALERS[self.scaling](view), k) for view in views.arrays]
        found = amgl.run(
            graphs,
            self.n_clusters,
            max_iter=self.max_iter,
            tol=self.tol,
            on_pass=self._on_pass(),
        )
        self._warn_of_doubt(found, graphs, views.names)
        points = scale_unit_rows(found.vectors) if self.row_normalize else found.vectors
        labels = kmeans_labels(points, self.n_clusters, self.random_state, self.n_init)

        self.labels_ = labels
        self.embedding_ = found.vectors
        self.view_weights_ = shares(found.weights)
        self.n_iter_ = found.n_iter
        self.history_ = {
            "objective": found.objective,
            "view_weights": np.array([shares(weights) for weights in found.weight_history]),
        }

    def _warn_of_doubt(self, found: amgl.Embedding, graphs: list[sp.csr_array], names: tuple[str, ...]) -> None:
        """Say so when one view has decided alone, or when the embedding is one of many."""
        if self.n_clusters == 1:
            return  # the only clustering there is
        weights = shares(found.weights)
        heaviest = int(np.argmax(weights))
        if len(graphs) > 1 and weights[heaviest] > _TAKES_OVER:
            pieces, _ = graph_component_labels(graphs[heaviest])
            if pieces >= self.n_clusters > graph_component_labels(sp.csr_array(sum(graphs)))[0]:
                warn_user(
                    f"The neighbour graph of view {names[heaviest]!r} has {pieces} components, and n_clusters="
                    f"{self.n_clusters} need no more, so it fits perfectly and has taken over: its weight is "
                    f"{weights[heaviest]:.4f}. More than n_neighbors={self.n_neighbors} may connect it.",
                    ConvergenceWarning,
                )
        if found.gap < _NO_GAP:
            warn_user(
                f"The eigenvalues number {self.n_clusters} and {self.n_clusters + 1} of the weighted graphs coincide, "
                f"so that the embedding for n_clusters={self.n_clusters} is one of many, and with it the labels. More "
                f"than n_neighbors={self.n_neighbors} may help.",
                ConvergenceWarning,
            )
