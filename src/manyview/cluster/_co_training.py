"""Co-training of spectral embeddings; also what it shares with co-regularisation: kernels, and the view to read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from manyview._utils.machine import check_memory
from manyview.cluster._base import Facts, MultiViewClusterer, interval, kmeans_labels
from manyview.exceptions import ViewsError
from manyview.graphs import SCALERS, gaussian_kernel
from manyview.graphs.scaling import scale_unit_rows
from manyview.solvers import co_training
from manyview.solvers._subspaces import side_by_side
from manyview.views import Views

# The rule of the parameter ``readout_view``.
READOUT_VIEW: list[Any] = [None, interval(Integral, 0, None, "left"), str]

# Dense n x n arrays besides one per view: what building a kernel, or decomposing one, takes at its peak.
_TEMPORARY = 4


def gaussian_kernels(who: str, views: Views, scaling: str) -> Iterator[np.ndarray]:
    """Yield the Gaussian kernel of each scaled view; raise a ``MemoryError`` if there is no room for all of them."""
    n, n_views = views.n_samples, views.n_views
    check_memory(
        who,
        8.0 * n**2 * (n_views + _TEMPORARY),
        f"{n} samples and {n_views} views",
        "Use GraphEnsemble, whose memory grows with the samples, not with their square.",
    )
    for view in views.arrays:
        yield gaussian_kernel(SCALERS[scaling](view))


def readout_index(readout_view: int | str | None, views: Views) -> int | None:
    """Return the index of the view that ``readout_view`` gives by name or number."""
    if readout_view is None:
        return None
    if isinstance(readout_view, str):
        if readout_view not in views.names:
            raise ViewsError(f"readout_view={readout_view!r} is not among the views: {', '.join(views.names)}.")
        return views.names.index(readout_view)
    if readout_view >= views.n_views:
        raise ViewsError(f"readout_view={readout_view} is not among the views 0 to {views.n_views - 1}.")
    return int(readout_view)


class CoTrainingSpectral(MultiViewClusterer):
    """Co-trained spectral clustering: each view is reduced to the structure that the other views support.

    Each view has a Gaussian kernel and a spectral embedding. In every sweep, the kernel of a view is projected on the
    embeddings of the other views, and gets a new embedding from what is left. The labels come from k-means on the
    embeddings of all views side by side.

    Use it when every view can tell the clusters apart on its own, if noisily. A view that is mere noise spoils the
    others, as all views count the same. No objective is optimised, and more sweeps are not better: the authors' results
    peak after a few. Where the features of a view differ in their units, those with large values decide, unless they
    are scaled.

    Parameters
    ----------
    %(n_clusters)s
    %(scaling)s
    max_iter : int, default=5
        Number of sweeps. All of them are made; there is no test of convergence.
    projection_factor : float, default=1.5
        The kernels are projected on ``ceil(projection_factor * n_clusters)`` directions of each of the other views; at
        least 1. The paper's text has 1, its program 1.5. The labels are read from the first ``n_clusters`` directions.
    readout_view : int, str or None, default=None
        The number, from 0, or the name of the view whose embedding gives the labels; by default all of them do.
    %(n_init)s
    %(view_sizes)s
    random_state : int, RandomState or None, default=None
        For k-means. The embeddings do not depend on it.
    verbose : bool, default=False
        Print a line for every sweep.

    Attributes
    ----------
    %(labels_)s
    embedding_ : ndarray of shape (n_samples, n_views * n_clusters) or (n_samples, n_clusters)
        What k-means was run on: unit rows.
    view_embeddings_ : ndarray of shape (n_views, n_samples, n_directions)
        The embedding of every view, leading direction first; orthonormal columns, or zero columns where the view has
        fewer directions.
    n_iter_ : int
        Sweeps made.
    history_ : dict of ndarray
        Per sweep: ``subspace_change``, how far the spaces of the embeddings have moved, from 0 (not at all) to 1 (all
        are orthogonal to what they were), in the mean of the views. There is no objective.
    %(view_names_)s
    %(n_features_in_)s

    Notes
    -----
    Time O(n²·d) for the kernels, O(n²·K) per Lanczos step for the first embeddings, and O(n²·K·V²) per sweep; memory n²
    for each view: V·n²·8 bytes and as much as four views for a while.

    All views are updated from the embeddings of the sweep before, so their order does not matter. A projected kernel
    has negative entries; degrees are taken by their magnitude, as in the authors' program.

    The authors' program reads labels from every view after every sweep, compares them with the true ones and reports
    the best. Here, the labels come from the last sweep. Projected kernels are of low rank, and their eigenvectors are
    computed from the factors; the program forms and decomposes n x n matrices.

    References
    ----------
    A. Kumar and H. Daumé III, "A co-training approach for multi-view spectral clustering", ICML 2011, pp. 393-400.

    Examples
    --------
    >>> from manyview.cluster import CoTrainingSpectral
    >>> from manyview.datasets import make_multiview
    >>> views = make_multiview(120, n_clusters=3, random_state=0)
    >>> model = CoTrainingSpectral(n_clusters=3, random_state=0).fit(views)
    >>> model.embedding_.shape, model.view_embeddings_.shape
    ((120, 9), (3, 120, 5))
    """

    facts: ClassVar[Facts] = Facts(
        title="co-trained spectral embeddings",
        paper_name="Co-train",
        input_kind="kernels",
        memory="n²",
        uses_kmeans=True,
        reference="Kumar and Daumé, ICML 2011",
    )
    _sample_axes: ClassVar[dict[str, tuple[int, ...]]] = {"embedding_": (0,), "view_embeddings_": (1,)}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "projection_factor": [interval(Real, 1, None, "left")],
        "readout_view": READOUT_VIEW,
    }

    def __init__(
        self,
        n_clusters: int,
        *,
        scaling: str = "none",
        max_iter: int = 5,
        projection_factor: float = 1.5,
        readout_view: int | str | None = None,
        n_init: int = 10,
        view_sizes: int | Sequence[int] | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.scaling = scaling
        self.max_iter = max_iter
        self.projection_factor = projection_factor
        self.readout_view = readout_view
        self.n_init = n_init
        self.view_sizes = view_sizes
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, views: Views) -> None:
        readout = readout_index(self.readout_view, views)
        learned = co_training.run(
            list(gaussian_kernels("CoTrainingSpectral", views, self.scaling)),
            min(ceil(self.projection_factor * self.n_clusters - 1e-9), views.n_samples),  # 2.2 * 25 is above 55
            max_iter=self.max_iter,
            on_pass=self._on_pass("subspace change"),
        )
        read = learned.embeddings if readout is None else [learned.embeddings[readout]]
        embedding = scale_unit_rows(side_by_side(read, self.n_clusters))
        labels = kmeans_labels(embedding, self.n_clusters, self.random_state, self.n_init)

        self.labels_ = labels
        self.embedding_ = embedding
        self.view_embeddings_ = np.stack(learned.embeddings)
        self.n_iter_ = len(learned.changes)
        self.history_ = {"subspace_change": np.array(learned.changes)}
