"""k-means in one discriminative subspace per view, with least absolute residuals (after Xu et al., 2017, "RDEKM").

Neither the program nor the full text of the paper was at hand; this is a reconstruction from what is known of it.

``min Σ_v Σ_i |W_vᵀx_vi - f_v,y(i)|  s.t.  W_vᵀ(S_v + δ_v I)W_v = I/r_v`` (weights of samples) or
``min Σ_v (Σ_i |W_vᵀx_vi - f_v,y(i)|²)^½`` with the same constraint (weights of views)

==========  ===========================================================================================
letter      meaning
==========  ===========================================================================================
x_vi        sample i in view v, centred, the view scaled to a total variance of 1
S_v         total scatter, Σ_i x_vi·x_viᵀ; with it fixed, little scatter within clusters is much between
δ_v         ridge
W_v         subspace of view v, of dimension r_v
f_vc        centre of cluster c in the subspace of view v
y           labels, common to all views
d_vi        weights of the quadratic function that touches the objective from above, ½/residual
==========  ===========================================================================================

In coordinates in which ``S_v + δ_v I`` is the identity, W_v is orthonormal but for a factor, and the subspace with the
least weighted scatter within clusters is spanned by eigenvectors. The points below are in these coordinates
(``manyview.solvers._whitening.whiten``). Residuals below ε count as ``r²/2ε + ε/2``, so that the weights are
bounded and no step raises the objective.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp

from manyview.graphs.laplacian import some_eigenvectors

Weighting = Literal["samples", "views"]
OnPass = Callable[[int, float], None]

# ε, relative to the median residual at the start, and to what a residual would be without clusters.
_SMALL = 1e-6
_SMALLEST = 1e-12


@dataclass(frozen=True)
class Partition:
    """What :func:`run` returns.

    ``labels`` is y, ``embeddings`` are the samples in the subspaces of the views, ``view_weights`` sums to 1 and is
    proportional to the weights of the views, or to those that belong to the mean residuals of the samples;
    ``objective`` has one entry per pass.
    """

    labels: np.ndarray
    embeddings: list[np.ndarray]
    view_weights: np.ndarray
    objective: list[float]

    @property
    def n_iter(self) -> int:
        """Passes made."""
        return len(self.objective)


def weight_step(residuals: np.ndarray, floor: float, weighting: Weighting) -> np.ndarray:
    """d, V x n: ``½/residual``, of each sample in each view or, the same for all samples, of the views."""
    size = residuals if weighting == "samples" else np.linalg.norm(residuals, axis=1, keepdims=True)
    return np.broadcast_to(0.5 / np.maximum(size, floor), residuals.shape)


def class_means(points: np.ndarray, weights: np.ndarray, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """``argmin_m Σ_i d_i |x_i - m_y(i)|²``: weighted means, one row per cluster; none may be empty."""
    members = sp.csr_array((weights, (labels, np.arange(len(labels)))), shape=(n_clusters, len(labels)))
    return (members @ points) / np.bincount(labels, weights, n_clusters)[:, None]


def within_scatter(points: np.ndarray, weights: np.ndarray, labels: np.ndarray, means: np.ndarray) -> np.ndarray:
    """``Σ_i d_i (x_i - m_y(i))(x_i - m_y(i))ᵀ``."""
    deviations = np.sqrt(weights)[:, None] * (points - means[labels])
    return deviations.T @ deviations


def subspace_step(scatter: np.ndarray, n_components: int) -> np.ndarray:
    """``argmin_W tr(Wᵀ S_w W)  s.t.  WᵀW = I``."""
    return some_eigenvectors(scatter, 0, n_components - 1)[1]


def distances(embeddings: Sequence[np.ndarray], centres: Sequence[np.ndarray]) -> np.ndarray:
    """``|W_vᵀx_vi - f_vc|``, V x n x K."""
    out = np.empty((len(embeddings), len(embeddings[0]), len(centres[0])))
    for v, (points, middle) in enumerate(zip(embeddings, centres, strict=True)):
        for c, centre in enumerate(middle):
            out[v, :, c] = np.linalg.norm(points - centre, axis=1)
    return out


def smoothed(size: np.ndarray, floor: float) -> np.ndarray:
    """The residual itself, or ``r²/2ε + ε/2`` below ε."""
    return np.where(size >= floor, size, size**2 / (2 * floor) + floor / 2)


def objective(residuals: np.ndarray, floor: float, weighting: Weighting) -> float:
    """Sum of the smoothed residuals of all samples, or of the views."""
    size = residuals if weighting == "samples" else np.linalg.norm(residuals, axis=1)
    return float(smoothed(size, floor).sum())


def assign_step(gaps: np.ndarray, weights: np.ndarray, floor: float, weighting: Weighting) -> np.ndarray:
    """y, given W and F: minimises the objective or, for weights of views, the quadratic function above it.

    A cluster that nobody chooses gets the sample with the largest sum of residuals, which is its centre then.
    """
    costs = (smoothed(gaps, floor) if weighting == "samples" else weights[:, :, None] * gaps**2).sum(axis=0)
    labels = np.argmin(costs, axis=1)
    return fill_empty(labels, _own(gaps, labels).sum(axis=0), costs.shape[1])


def fill_empty(labels: np.ndarray, residuals: np.ndarray, n_clusters: int) -> np.ndarray:
    """Give every cluster without a sample the one with the largest residual among those that are not alone."""
    labels, sizes = labels.copy(), np.bincount(labels, minlength=n_clusters)
    for empty in np.flatnonzero(sizes == 0):
        sample = int(np.argmax(np.where(sizes[labels] > 1, residuals, -1.0)))
        sizes[labels[sample]] -= 1
        labels[sample], sizes[empty] = empty, 1
    return labels


def run(
    points: Sequence[np.ndarray],
    labels: np.ndarray,
    n_clusters: int,
    n_components: int,
    *,
    weighting: Weighting = "samples",
    max_iter: int = 50,
    tol: float = 1e-6,
    on_pass: OnPass | None = None,
) -> Partition:
    """Alternate the steps for d, for W and F, and for y, from given labels.

    Parameters
    ----------
    points : sequence of ndarray of shape (n, q_v)
        The views in whitened coordinates, each with a column at least.
    labels : ndarray of shape (n,)
        The first y.
    n_clusters, n_components : int
        K, and r_v where q_v allows.
    weighting : {"samples", "views"}, default="samples"
        Whose weights, and which of the two objectives.
    max_iter : int, default=50
        Passes at most.
    tol : float, default=1e-6
        Stop when the labels stay and the objective falls by less, relative to itself.
    on_pass : callable, optional
        Called after each pass with its number and the objective.
    """
    labels = fill_empty(labels, sum(np.linalg.norm(x, axis=1) for x in points), n_clusters)
    weights = np.ones((len(points), len(labels)))
    embeddings, centres = _fit_subspaces(points, weights, labels, n_clusters, n_components)
    residuals = _own(distances(embeddings, centres), labels)
    first = residuals if weighting == "samples" else np.linalg.norm(residuals, axis=1)
    floor = max(_SMALL * float(np.median(first)), _SMALLEST / np.sqrt(len(labels)))
    values: list[float] = []
    before = objective(residuals, floor, weighting)
    for _ in range(max_iter):
        weights = weight_step(residuals, floor, weighting)
        embeddings, centres = _fit_subspaces(points, weights, labels, n_clusters, n_components)
        gaps = distances(embeddings, centres)
        old, labels = labels, assign_step(gaps, weights, floor, weighting)
        residuals = _own(gaps, labels)
        alone = np.bincount(labels, minlength=n_clusters)[labels] == 1
        residuals[:, alone] = 0.0  # the centre of a single sample is the sample
        values.append(objective(residuals, floor, weighting))
        if on_pass is not None:
            on_pass(len(values), values[-1])
        if np.array_equal(labels, old) and abs(before - values[-1]) <= tol * before:
            break
        before = values[-1]
    size = residuals.mean(axis=1) if weighting == "samples" else np.linalg.norm(residuals, axis=1)
    shares = 1 / np.maximum(size, floor)
    return Partition(labels, embeddings, shares / shares.sum(), values)


def _fit_subspaces(
    points: Sequence[np.ndarray], weights: np.ndarray, labels: np.ndarray, n_clusters: int, n_components: int
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The steps for W and F: the samples and the centres in the subspaces."""
    embeddings, centres = [], []
    for x, d in zip(points, weights, strict=True):
        means = class_means(x, d, labels, n_clusters)
        subspace = subspace_step(within_scatter(x, d, labels, means), min(n_components, x.shape[1]))
        embeddings.append(x @ subspace)
        centres.append(means @ subspace)
    return embeddings, centres


def _own(gaps: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """V x n: distances to the centre of the own cluster."""
    return np.take_along_axis(gaps, labels[None, :, None], axis=2)[:, :, 0]
