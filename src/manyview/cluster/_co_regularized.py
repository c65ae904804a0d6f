"""Co-regularised spectral clustering, pairwise and with a centroid."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from manyview.cluster._base import Facts, MultiViewClusterer, interval, kmeans_labels, one_of
from manyview.cluster._co_training import READOUT_VIEW, gaussian_kernels, readout_index
from manyview.graphs import normalize_graph
from manyview.graphs.scaling import scale_unit_rows
from manyview.solvers import co_regularized
from manyview.solvers._subspaces import side_by_side
from manyview.views import Views


class CoRegularizedSpectral(MultiViewClusterer):
    """Co-regularised spectral clustering: the views' spectral embeddings are pulled towards each other.

    Each view has a Gaussian kernel and a spectral embedding. The embeddings are chosen to suit their own kernels and,
    with a weight, to agree with a common one ("centroid") or with each other ("pairwise"). The labels come from k-means
    on the common embedding, or on all of them side by side.

    Use it when the views are about equally good and a single spectral clustering of each makes sense. All views count
    the same, so a view that is mere noise does harm. Where the features of a view differ in their units, those with
    large values decide, unless they are scaled.

    Parameters
    ----------
    %(n_clusters)s
    variant : {"centroid", "pairwise"}, default="centroid"
        What an embedding is compared with: the consensus of all views, or each of the other views. "pairwise" updates
        the second view first and the first last, and may end in another optimum when the views come in another order;
        "centroid" treats all views alike.
    agreement_weight : float, default=0.5
        How much agreement counts compared with a view's own kernel. The authors' program has 0.5; the grid worth trying
        is 0.01, 0.02, 0.03, 0.04, 0.05, 0.1, 0.5 and 1. Beyond 1, agreement is all that counts, and the views' own
        structure is lost. With "pairwise", the pull grows with the number of the other views.
    %(scaling)s
    max_iter : int, default=30
        Sweeps over all views at most.
    tol : float, default=1e-6
        Stop when a sweep has changed the objective by no more than this share of it.
    readout_view : int, str or None, default=None
        The number, from 0, or the name of the view whose embedding gives the labels. By default, the consensus does, or
        with "pairwise" the embeddings of all views.
    %(n_init)s
    %(view_sizes)s
    random_state : int, RandomState or None, default=None
        For k-means. The embeddings do not depend on it.
    verbose : bool, default=False
        Print a line for every sweep.

    Attributes
    ----------
    %(labels_)s
    embedding_ : ndarray of shape (n_samples, n_clusters) or (n_samples, n_views * n_clusters)
        What k-means was run on: unit rows. The second shape is that of "pairwise" without ``readout_view``.
    view_embeddings_ : ndarray of shape (n_views, n_samples, n_clusters)
        The embedding of every view, with orthonormal columns.
    n_iter_ : int
        Sweeps made. If this is ``max_iter``, the objective may still have been rising, which it often does very slowly.
    history_ : dict of ndarray
        Per sweep: ``objective``, which is maximised and never falls.
    %(view_names_)s
    %(n_features_in_)s

    Notes
    -----
    Time O(n²·d) for the kernels and O(n²) per Lanczos step of every view and sweep; memory n² for each view: V·n²·8
    bytes and as much as four views for a while.

    The authors' program makes 5 sweeps, reads labels after each of them, and with "pairwise" takes those of the first
    view, which makes the result depend on the order of the views. With "centroid" it reads the consensus that the last
    embeddings were pulled to; here, the consensus of the last embeddings is read. The objective that it stores for the
    first view is overwritten by that of the last.

    References
    ----------
    A. Kumar, P. Rai and H. Daumé III, "Co-regularized multi-view spectral clustering", NIPS 2011, pp. 1413-1421.

    Examples
    --------
    >>> from manyview.cluster import CoRegularizedSpectral
    >>> from manyview.datasets import make_multiview
    >>> views = make_multiview(120, n_clusters=3, random_state=0)
    >>> model = CoRegularizedSpectral(n_clusters=3, random_state=0).fit(views)
    >>> model.embedding_.shape, model.view_embeddings_.shape
    ((120, 3), (3, 120, 3))
    """

    facts: ClassVar[Facts] = Facts(
        title="co-regularised spectral embeddings",
        paper_name="Co-reg",
        input_kind="kernels",
        memory="n²",
        uses_kmeans=True,
        reference="Kumar et al., NIPS 2011",
    )
    _sample_axes: ClassVar[dict[str, tuple[int, ...]]] = {"embedding_": (0,), "view_embeddings_": (1,)}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "variant": [one_of("centroid", "pairwise")],
        "agreement_weight": [interval(Real, 0, None, "left")],
        "readout_view": READOUT_VIEW,
    }

    def __init__(
        self,
        n_clusters: int,
        *,
        variant: str = "centroid",
        agreement_weight: float = 0.5,
        scaling: str = "none",
        max_iter: int = 30,
        tol: float = 1e-6,
        readout_view: int | str | None = None,
        n_init: int = 10,
        view_sizes: int | Sequence[int] | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.variant = variant
        self.agreement_weight = agreement_weight
        self.scaling = scaling
        self.max_iter = max_iter
        self.tol = tol
        self.readout_view = readout_view
        self.n_init = n_init
        self.view_sizes = view_sizes
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, views: Views) -> None:
        readout = readout_index(self.readout_view, views)
        kernels = gaussian_kernels("CoRegularizedSpectral", views, self.scaling)
        learned = co_regularized.run(
            [np.asarray(normalize_graph(kernel)) for kernel in kernels],
            self.n_clusters,
            variant=self.variant,
            weight=self.agreement_weight,
            max_iter=self.max_iter,
            tol=self.tol,
            on_pass=self._on_pass(),
        )
        if readout is not None:
            read = learned.embeddings[readout]
        elif learned.consensus is not None:
            read = learned.consensus
        else:
            read = side_by_side(learned.embeddings, self.n_clusters)
        embedding = scale_unit_rows(read)
        labels = kmeans_labels(embedding, self.n_clusters, self.random_state, self.n_init)

        self.labels_ = labels
        self.embedding_ = embedding
        self.view_embeddings_ = np.stack(learned.embeddings)
        self.n_iter_ = len(learned.objective)
        self.history_ = {"objective": np.array(learned.objective)}
