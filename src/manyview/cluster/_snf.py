"""SNF, similarity network fusion: affinities of the views that diffuse through each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from manyview._utils.machine import check_memory
from manyview.cluster._base import Facts, MultiViewClusterer, interval, kmeans_labels, limit_neighbors
from manyview.cluster._side_by_side import scale_view
from manyview.graphs import unit_variance
from manyview.graphs.neighbours import nearest_rows, squared_distances
from manyview.graphs.similarity import list_graph
from manyview.graphs.spectrum import random_walk_eigenvectors
from manyview.views import Array, Views

# Dense n x n arrays at the peak besides two per view: the mean of the others, and the products with it.
_TEMPORARY = 4
# Columns of a kernel that are spread at a time: at 4,000 samples four times faster than all at once, same bits.
_COLUMNS = 64


class SNF(MultiViewClusterer):
    """Similarity network fusion: affinities diffuse along the neighbours of every view until the views agree.

    Every view has an affinity between all samples, whose bandwidth adapts to how dense the samples are, and a graph of
    the nearest neighbours. In every pass, the mean affinity of the other views is averaged over the neighbours of both
    samples in this view. Affinities that several views support get stronger, others vanish. The mean over the views is
    clustered by spectral clustering.

    Use it for some hundred or thousand samples, such as patients with several kinds of omics data, for which it was
    made and is widely used. All views count the same, so one of pure noise harms. The result depends on
    ``n_neighbors``.

    Parameters
    ----------
    %(n_clusters)s
    n_neighbors : int, default=20
        Nearest other samples of each sample: they set the bandwidth, and affinities spread along them. K in the paper,
        which recommends 10 to 30.
    bandwidth_factor : float, default=0.5
        Larger values let affinities fall more slowly with the distance. µ in the paper, which recommends 0.3 to 0.8.
    scaling : %(scalings)s
        How each view is scaled. Each scaled view is then divided so that the variances of its columns add up to
        1. The default, "centered", does only that: it keeps the proportions of the columns of a view. The authors
        standardise every column, "standardized".
    max_iter : int, default=20
        Number of passes. All of them are made; there is no test of convergence. The paper recommends 10 to 20.
    %(n_init)s
    %(view_sizes)s
    random_state : int, RandomState or None, default=None
        For k-means. The embedding does not depend on it.
    %(verbose)s

    Attributes
    ----------
    %(labels_)s
    affinity_ : ndarray of shape (n_samples, n_samples)
        The fused affinities, symmetric.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        The leading eigenvectors of the fused affinities, which k-means was run on.
    %(n_iter_)s
    history_ : dict of ndarray
        ``relative_change`` per pass: how far the affinities have moved, relative to their size, in the mean of the
        views. There is no objective.
    %(view_names_)s
    %(n_features_in_)s

    Notes
    -----
    Time O(V·n²·d) for the distances and O(V·n²·(k + V)) per pass; memory n², for 2V + 4 arrays at the peak.

    The exponent ``d²/(µ·ε)`` of the affinity has the unit of a distance. Total variances of 1 make it independent of
    the units of a view, and of its number of columns. The authors' program has ``d²/(2µ²ε²)`` instead, makes the
    affinities symmetric in every pass, and adds 1 to their diagonal; the formulas here are those of the paper.

    References
    ----------
    B. Wang, A. M. Mezlini, F. Demir, M. Fiume, Z. Tu, M. Brudno, B. Haibe-Kains and A. Goldenberg, "Similarity network
    fusion for aggregating data types on a genomic scale", Nature Methods 11, 2014, pp. 333-337.

    Examples
    --------
    >>> from manyview.cluster import SNF
    >>> from manyview.datasets import make_multiview
    >>> views = make_multiview(120, n_clusters=3, random_state=0)
    >>> model = SNF(n_clusters=3, random_state=0).fit(views)
    >>> model.affinity_.shape, model.embedding_.shape
    ((120, 120), (120, 3))
    """

    facts: ClassVar[Facts] = Facts(
        title="similarity network fusion",
        paper_name="",
        input_kind="kernels",
        memory="n²",
        uses_kmeans=True,
        reference="Wang et al., Nature Methods 2014",
    )
    _sample_axes: ClassVar[dict[str, tuple[int, ...]]] = {"affinity_": (0, 1), "embedding_": (0,)}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"bandwidth_factor": [interval(Real, 0, None, "neither")]}

    def __init__(
        self,
        n_clusters: int,
        *,
        n_neighbors: int = 20,
        bandwidth_factor: float = 0.5,
        scaling: str = "centered",
        max_iter: int = 20,
        n_init: int = 10,
        view_sizes: int | Sequence[int] | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.bandwidth_factor = bandwidth_factor
        self.scaling = scaling
        self.max_iter = max_iter
        self.n_init = n_init
        self.view_sizes = view_sizes
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, views: Views) -> None:
        n, n_views = views.n_samples, views.n_views
        check_memory(
            "SNF",
            8.0 * n**2 * (2 * n_views + _TEMPORARY),
            f"{n} samples and {n_views} views",
            "Use GraphEnsemble, whose memory grows with the samples, not with their square.",
        )
        k = limit_neighbors(self.n_neighbors, n, "samples")
        kernels = [view_kernels(scale_view(view, self.scaling), k, self.bandwidth_factor) for view in views.arrays]
        fused = fuse(kernels, self.max_iter, on_pass=self._on_pass("relative change"))
        embedding = random_walk_eigenvectors(fused.affinity, self.n_clusters)
        labels = kmeans_labels(embedding, self.n_clusters, self.random_state, self.n_init)

        self.labels_ = labels
        self.affinity_ = fused.affinity
        self.embedding_ = embedding
        self.n_iter_ = len(fused.changes)
        self.history_ = {"relative_change": np.array(fused.changes)}


# The formulas, with the paper's letters:
#
# ρ(i, j)   distance of two samples in a view
# N_i       the K nearest other samples of sample i
# ε(i, j)   mean of three distances: of i to N_i on average, of j to N_j on average, and ρ(i, j)
# W(i, j)   affinity, exp(-ρ²/(µ·ε))
# P         full kernel of a view, n x n: a random walk that stays with probability ½
# S         local kernel of a view, n x n with K + 1 entries per row: a random walk to neighbours


@dataclass(frozen=True)
class Kernels:
    """The kernels P and S of a view."""

    full: np.ndarray
    local: sp.csr_array


@dataclass(frozen=True)
class Fused:
    """Result of :func:`fuse`: the fused affinities, and the relative change of P in every pass."""

    affinity: np.ndarray
    changes: list[float]


def view_kernels(view: Array, n_neighbors: int, bandwidth_factor: float) -> Kernels:
    """Compute P and S of a view, brought to a total variance of 1.

    Parameters
    ----------
    view : array of shape (n, d)
    n_neighbors : int
        K, at most n - 1.
    bandwidth_factor : float
        µ.
    """
    view = unit_variance(view)
    near, squares = nearest_rows(view, view, n_neighbors, exclude_self=True)
    exponents = affinity_exponents(squared_distances(view, view), np.sqrt(squares).mean(axis=1), bandwidth_factor)
    own = np.arange(len(near))[:, None]
    weights = np.exp(np.take_along_axis(exponents, near, axis=1))
    # W(i, i) = 1: a sample is in its own neighbourhood.
    local = np.hstack([np.ones(own.shape), weights])
    local /= local.sum(axis=1, keepdims=True)
    # P is the same if a row of W is multiplied by a number. The largest entry becomes 1, so that none underflows as a
    # whole, however far a sample is from all others.
    np.fill_diagonal(exponents, -np.inf)
    exponents -= exponents.max(axis=1, keepdims=True)
    return Kernels(
        normalize_full(np.exp(exponents, out=exponents)), list_graph(np.hstack([own, near]), local, len(own))
    )


def affinity_exponents(squares: np.ndarray, spreads: np.ndarray, bandwidth_factor: float) -> np.ndarray:
    """Compute ``-ρ²/(µ·ε)``, the logarithm of W; 0 for copies of a sample, where ε is 0.

    Parameters
    ----------
    squares : ndarray of shape (n, n)
        ρ², overwritten with the result.
    spreads : ndarray of shape (n,)
        Mean distance of each sample to its K nearest others.
    bandwidth_factor : float
        µ.
    """
    scales = np.sqrt(squares)
    scales += spreads[:, None]
    scales += spreads[None, :]
    scales *= -bandwidth_factor / 3
    return np.divide(squares, scales, out=squares, where=scales < 0)


def normalize_full(weights: np.ndarray) -> np.ndarray:
    """Compute P from W: ``W(i, j)/(2·Σ_{k≠i} W(i, k))`` and ½ on the diagonal. W is overwritten.

    A row without any weight becomes a walk to all other samples with equal probability.

    Parameters
    ----------
    weights : ndarray of shape (n, n)
        Non-negative; the diagonal does not matter.
    """
    np.fill_diagonal(weights, 0.0)
    sums = weights.sum(axis=1, keepdims=True)
    weights[sums.ravel() == 0] = 1.0
    np.fill_diagonal(weights, 0.0)
    sums[sums == 0] = len(weights) - 1
    weights /= 2 * sums
    np.fill_diagonal(weights, 0.5)
    return weights


def fuse(kernels: Sequence[Kernels], max_iter: int, *, on_pass: Callable[[int, float], None] | None = None) -> Fused:
    """Diffuse ``P_v <- S_v · mean_{w≠v} P_w · S_vᵀ`` and normalise P again, ``max_iter`` times.

    All views are updated from the kernels of the pass before, so the order of the views does not matter.

    Parameters
    ----------
    kernels : sequence of Kernels
        Of two views at least.
    max_iter : int
        Number of passes.
    on_pass : callable, optional
        Called after each pass with its number and the relative change of P.

    Returns
    -------
    Fused
        With the mean of P over the views, made symmetric.
    """
    full, changes = [view.full for view in kernels], []
    for i in range(1, max_iter + 1):
        before = full
        full = [_diffuse(view.local, _mean(before[:v] + before[v + 1 :])) for v, view in enumerate(kernels)]
        moved = [np.linalg.norm(new - old) / np.linalg.norm(old) for new, old in zip(full, before, strict=True)]
        changes.append(float(np.mean(moved)))
        if on_pass is not None:
            on_pass(i, changes[-1])
    mean = _mean(full)
    return Fused((mean + mean.T) / 2, changes)


def _diffuse(local: sp.csr_array, others: np.ndarray) -> np.ndarray:
    """Compute ``S·P·Sᵀ``, normalised; S is sparse, so that each product takes n²·K steps."""
    return normalize_full(_spread(local, _spread(local, others)))


def _spread(local: sp.csr_array, kernel: np.ndarray) -> np.ndarray:
    """Compute ``(S·P)ᵀ``, in blocks of columns of P that fit in the processor's cache."""
    spread = np.empty(kernel.shape)
    for start in range(0, len(kernel), _COLUMNS):
        columns = slice(start, start + _COLUMNS)
        spread[columns] = (local @ np.ascontiguousarray(kernel[:, columns])).T
    return spread


def _mean(kernels: list[np.ndarray]) -> np.ndarray:
    """Compute the mean of n x n arrays without a copy of all of them."""
    total = kernels[0].copy()
    for kernel in kernels[1:]:
        total += kernel
    total /= len(kernels)
    return total
