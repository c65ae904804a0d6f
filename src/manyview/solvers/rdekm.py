"""k-means in one discriminative subspace per view, with least absolute residuals (after Xu et al., 2017, "RDEKM").

Neither the program nor the full text of the paper was available; this is a reconstruction from its description.

``min Σ_v Σ_i |W_vᵀx_vi - f_v,y(i)|  s.t.  W_vᵀ(S_v + δ_v I)W_v = I/r_v`` (weights of samples) or
``min Σ_v (Σ_i |W_vᵀx_vi - f_v,y(i)|²)^½`` with the same constraint (weights of views)

==========  ===========================================================================================
letter      meaning
==========  ===========================================================================================
x_vi        sample i in view v, centred, the view scaled to a total variance of 1
S_v         total scatter, Σ_i x_vi·x_viᵀ; with it fixed, less scatter within clusters is more between them
δ_v         ridge
W_v         subspace of view v, of dimension r_v
f_vc        centre of cluster c in the subspace of view v
y           labels, common to all views
d_vi        weights of the quadratic upper bound of the objective, ½/residual
==========  ===========================================================================================

In coordinates in which ``S_v + δ_v I`` is the identity, W_v is orthonormal but for a factor, and the subspace with the
least weighted scatter within clusters is spanned by eigenvectors. The points below are in these coordinates
(:func:`whiten`). Residuals below ε count as ``r²/2ε + ε/2``, so that the weights are bounded and no step raises the
objective.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from manyview.graphs.laplacian import some_eigenvectors

Weighting = Literal["samples", "views"]
OnPass = Callable[[int, float], None]

# ε, relative to the median initial residual, and to a residual without clusters.
_SMALL = 1e-6
_SMALLEST = 1e-12
# Views with more features are replaced by the principal components with this share of their variance.
_WIDE = 200
_VARIANCE = 0.99
# Variances below _RANK, relative to the largest, are rounding; so are values below _ROUNDING, relative to the mean.
_RANK = 1e-12
_ROUNDING = 1e-14


@dataclass(frozen=True)
class Partition:
    """Result of :func:`run`.

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
        """Number of passes."""
        return len(self.objective)


def principal_scores(view: np.ndarray | sp.csr_array) -> np.ndarray:
    """Return the principal components of the centred view, scaled to a total variance of 1.

    Of a view with more than 200 features, or more features than samples, the components with 99 % of the variance are
    kept; of any other, all that vary. A constant view has none.
    """
    n, d = view.shape
    mean = np.asarray(view.mean(axis=0)).ravel()
    centred = view - mean if isinstance(view, np.ndarray) else None
    if d <= n:
        cross = centred.T @ centred if centred is not None else (view.T @ view).toarray() - n * np.outer(mean, mean)
    elif centred is not None:
        cross = centred @ centred.T
    else:
        cross = (view @ view.T).toarray()
        cross = cross - cross.mean(axis=0)
        cross = cross - cross.mean(axis=1, keepdims=True)
    variances, axes = scipy.linalg.eigh(cross, check_finite=False)
    variances, axes = np.maximum(variances[::-1], 0.0), axes[:, ::-1]
    # What is left of a constant view after centring is rounding error.
    total = variances.sum()
    rounding = _ROUNDING**2 if centred is not None else _ROUNDING  # of differences of squares
    floor = max(_RANK * variances[0], rounding * n * float(mean @ mean))
    kept = int(np.count_nonzero(variances > floor))
    if d > _WIDE or d > n:
        kept = min(kept, int(np.searchsorted(np.cumsum(variances), _VARIANCE * total)) + 1)
    if d > n:
        scores = axes[:, :kept] * np.sqrt(variances[:kept])
    else:
        scores = centred @ axes[:, :kept] if centred is not None else view @ axes[:, :kept] - mean @ axes[:, :kept]
    return scores / np.sqrt(total) if kept else np.zeros((n, 0))


def whiten(scores: np.ndarray, ridge: float, n_components: int) -> np.ndarray:
    """Return coordinates in which ``S + δI`` is the identity divided by r, with δ = ``ridge`` times the mean variance.

    r is ``n_components``, or the number of coordinates if that is less: views with subspaces of different dimensions
    then have residuals of the same size.

    Components with a variance of δ or less are left out: the ridge would shrink them towards zero, within clusters and
    between, and a subspace of them would have no residuals.
    """
    variances = np.einsum("ij,ij->j", scores, scores)
    ridge = ridge * float(variances.mean()) if len(variances) else 0.0
    kept = variances > ridge
    r = min(n_components, int(kept.sum()))
    return scores[:, kept] / np.sqrt(r * (variances[kept] + ridge))


def weight_step(residuals: np.ndarray, floor: float, weighting: Weighting) -> np.ndarray:
    """Return d, V x n: ``½/residual`` of each sample in each view or, equal for all samples, of the views."""
    size = residuals if weighting == "samples" else np.linalg.norm(residuals, axis=1, keepdims=True)
    return np.broadcast_to(0.5 / np.maximum(size, floor), residuals.shape)


def class_means(points: np.ndarray, weights: np.ndarray, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return ``argmin_m Σ_i d_i |x_i - m_y(i)|²``: weighted means, one row per cluster; none may be empty."""
    indicator = sp.csr_array((weights, (labels, np.arange(len(labels)))), shape=(n_clusters, len(labels)))
    return (indicator @ points) / np.bincount(labels, weights, n_clusters)[:, None]


def within_scatter(points: np.ndarray, weights: np.ndarray, labels: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Return ``Σ_i d_i (x_i - m_y(i))(x_i - m_y(i))ᵀ``."""
    deviations = np.sqrt(weights)[:, None] * (points - means[labels])
    return deviations.T @ deviations


def subspace_step(scatter: np.ndarray, n_components: int) -> np.ndarray:
    """Return ``argmin_W tr(Wᵀ S_w W)  s.t.  WᵀW = I``."""
    return some_eigenvectors(scatter, 0, n_components - 1)[1]


def distances(embeddings: Sequence[np.ndarray], centres: Sequence[np.ndarray]) -> np.ndarray:
    """Return ``|W_vᵀx_vi - f_vc|``, V x n x K."""
    out = np.empty((len(embeddings), len(embeddings[0]), len(centres[0])))
    for v, (points, middle) in enumerate(zip(embeddings, centres, strict=True)):
        for c, centre in enumerate(middle):
            out[v, :, c] = np.linalg.norm(points - centre, axis=1)
    return out


def smoothed(size: np.ndarray, floor: float) -> np.ndarray:
    """Return the residual itself, or ``r²/2ε + ε/2`` below ε."""
    return np.where(size >= floor, size, size**2 / (2 * floor) + floor / 2)


def objective(residuals: np.ndarray, floor: float, weighting: Weighting) -> float:
    """Return the sum of the smoothed residuals of all samples, or of the views."""
    size = residuals if weighting == "samples" else np.linalg.norm(residuals, axis=1)
    return float(smoothed(size, floor).sum())


def assign_step(gaps: np.ndarray, weights: np.ndarray, floor: float, weighting: Weighting) -> np.ndarray:
    """Return y for given W and F: the minimum of the objective or, for weights of views, of its quadratic upper bound.

    A cluster without samples gets the sample with the largest sum of residuals, which then is its centre.
    """
    costs = (smoothed(gaps, floor) if weighting == "samples" else weights[:, :, None] * gaps**2).sum(axis=0)
    labels = np.argmin(costs, axis=1)
    return fill_empty(labels, _own(gaps, labels).sum(axis=0), costs.shape[1])


def fill_empty(labels: np.ndarray, residuals: np.ndarray, n_clusters: int) -> np.ndarray:
    """Give every empty cluster the sample with the largest residual among those that are not alone in theirs."""
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
        The views in whitened coordinates, each with at least one column.
    labels : ndarray of shape (n,)
        Initial y.
    n_clusters, n_components : int
        K, and r_v unless q_v is smaller.
    weighting : {"samples", "views"}, default="samples"
        Weights of samples or of views, with the objective that belongs to them.
    max_iter : int, default=50
        Maximum number of passes.
    tol : float, default=1e-6
        Stop when the labels do not change and the relative change of the objective is below this.
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
    """Update W and F; return the samples and the centres in the subspaces."""
    embeddings, centres = [], []
    for x, d in zip(points, weights, strict=True):
        means = class_means(x, d, labels, n_clusters)
        subspace = subspace_step(within_scatter(x, d, labels, means), min(n_components, x.shape[1]))
        embeddings.append(x @ subspace)
        centres.append(means @ subspace)
    return embeddings, centres


def _own(gaps: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the distances to the centre of each sample's cluster, V x n."""
    return np.take_along_axis(gaps, labels[None, :, None], axis=2)[:, :, 0]
