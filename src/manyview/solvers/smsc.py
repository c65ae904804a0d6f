"""Non-negative embedding of all views and an orthonormal frame per view (Hu, Nie, Wang and Li, 2020, "SMSC").

``min_{Y,R} Σ_v |S_v - Y R_vᵀ|_F  s.t.  Y >= 0,  R_vᵀR_v = I``

==========  =========================================================================================
letter      meaning
==========  =========================================================================================
S_v         similarities of view v, n x n, symmetric: ``D^-½ W_v D^-½`` of its graph W_v
Y           non-negative embedding, n x K; the largest entry of a row names the cluster
R_v         frame of view v, n x K with orthonormal columns
p_v         weight of view v, ``1/(2|S_v - Y R_vᵀ|_F)``
==========  =========================================================================================

With the weights fixed, ``Σ_v p_v|S_v - Y R_vᵀ|²`` is minimised exactly over Y and over every R_v, which lowers the
objective, too. It has many local minima, and the result depends on the first R_v. The authors' program starts with
singular vectors, whose signs are arbitrary although a non-negative Y depends on them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from manyview.graphs import largest_eigenvectors_by_part
from manyview.solvers._weights import root_weights, roots, shares

# Squared residuals are differences of squares; below this share of |S_v|² they are rounding.
_FLOOR = 1e-14


@dataclass(frozen=True)
class Settings:
    """Constants of a run."""

    scale_slip: bool = False
    """Repeat the program's slip: the weighted mean in the step for Y is divided by the number of views once more."""


@dataclass(frozen=True)
class NonnegativeEmbedding:
    """Result of :func:`run`.

    ``embedding`` is Y, ``frames`` are R, ``weights`` are p and ``labels`` name all K clusters. ``objective`` and
    ``residuals`` (one column for each view) have one entry per pass. ``n_reseeds`` counts how often empty
    clusters were filled during the run, ``n_filled`` the clusters that were empty after the last pass.
    """

    embedding: np.ndarray
    frames: list[np.ndarray]
    weights: np.ndarray
    labels: np.ndarray
    objective: np.ndarray
    residuals: np.ndarray
    n_reseeds: int
    n_filled: int


def mean_image(images: Sequence[np.ndarray], weights: np.ndarray) -> np.ndarray:
    """Return ``Σ_v p_v S_v R_v / Σ_v p_v`` from the images ``S_v R_v``: the unconstrained minimiser Y."""
    return np.einsum("v,vik->ik", shares(weights), np.stack(images))


def embedding_step(image: np.ndarray) -> np.ndarray:
    """Y-step: ``argmin_Y Σ_v p_v|S_v - Y R_vᵀ|²  s.t.  Y >= 0``, from :func:`mean_image`."""
    return np.maximum(image, 0.0)


def frame_step(similarity: sp.csr_array, embedding: np.ndarray) -> np.ndarray:
    """R-step: ``argmin_R |S_v - Y Rᵀ|²  s.t.  RᵀR = I``, the polar factor of ``S_vᵀY``."""
    left, _, right = np.linalg.svd(similarity.T @ embedding, full_matrices=False)
    return left @ right


def squared_residual(similarity: sp.csr_array, image: np.ndarray, embedding: np.ndarray) -> float:
    """Return ``|S_v - Y R_vᵀ|² = |S_v|² - 2⟨S_v R_v, Y⟩ + |Y|²`` from the image ``S_v R_v``."""
    square = np.vdot(similarity.data, similarity.data) - 2 * np.vdot(image, embedding) + np.vdot(embedding, embedding)
    return max(float(square), 0.0)


def mean_similarity(similarities: Sequence[sp.csr_array], weights: np.ndarray | None = None) -> sp.csr_array:
    """Return the weighted mean of the S_v."""
    parts = np.ones(len(similarities)) if weights is None else weights
    return sp.csr_array(sum(share * s for share, s in zip(shares(parts), similarities, strict=True)))


def common_eigenvectors(similarities: Sequence[sp.csr_array], n_clusters: int) -> np.ndarray:
    """Return the K leading eigenvectors of the mean of the S_v, to find initial clusters in.

    They do not depend on signs and rotations of the views' own eigenvectors, nor on the order of the views.
    """
    return largest_eigenvectors_by_part(mean_similarity(similarities), n_clusters)[1]


def frames_of_labels(similarities: Sequence[sp.csr_array], labels: np.ndarray, n_clusters: int) -> list[np.ndarray]:
    """Return initial R_v from clusters: the R-step for the Y of scaled indicators of the clusters."""
    sizes = np.bincount(labels, minlength=n_clusters)
    indicator = np.zeros((len(labels), n_clusters))
    indicator[np.arange(len(labels)), labels] = 1 / np.sqrt(sizes[labels])
    return [frame_step(similarity, indicator) for similarity in similarities]


def frames_of_spectra(similarities: Sequence[sp.csr_array], n_clusters: int) -> list[np.ndarray]:
    """Return initial R_v as in the authors' program: the K leading eigenvectors of S_v, largest entries positive."""
    frames = [largest_eigenvectors_by_part(similarity, n_clusters)[1] for similarity in similarities]
    return [frame * largest_entry_signs(frame) for frame in frames]


def largest_entry_signs(vectors: np.ndarray) -> np.ndarray:
    """Return the sign of the entry of largest magnitude of every column."""
    return np.sign(vectors[np.argmax(np.abs(vectors), axis=0), np.arange(vectors.shape[1])])


def misfits(
    similarities: Sequence[sp.csr_array], images: Sequence[np.ndarray], embedding: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Return ``Σ_v p_v|s_v,i - R_v y_i|²`` for every sample i, with the rows s_v,i of S_v."""
    total = np.zeros(len(embedding))
    for weight, similarity, image in zip(weights, similarities, images, strict=True):
        squares = np.asarray(similarity.multiply(similarity).sum(axis=1)).ravel()
        total += weight * (squares + np.sum(embedding * (embedding - 2 * image), axis=1))
    return np.maximum(total, 0.0)


def fill_empty(labels: np.ndarray, n_clusters: int, similarity: sp.csr_array, misfit: np.ndarray) -> np.ndarray:
    """Give every empty cluster one half of the cluster with the largest total misfit."""
    labels = labels.copy()
    for empty in np.flatnonzero(np.bincount(labels, minlength=n_clusters) == 0):
        sizes = np.bincount(labels, minlength=n_clusters)
        cost = np.where(sizes > 1, np.bincount(labels, weights=misfit, minlength=n_clusters), -1.0)
        samples = np.flatnonzero(labels == np.argmax(cost))
        labels[samples[_half(similarity[samples][:, samples], misfit[samples])]] = empty
    return labels


def _half(similarity: sp.csr_array, misfit: np.ndarray) -> np.ndarray:
    """Return a mask of some samples, not all: one side of the second eigenvector, or else the sample of worst fit."""
    second = largest_eigenvectors_by_part(sp.csr_array(similarity), 2)[1][:, 1:]
    side = (second * largest_entry_signs(second))[:, 0] > 0
    return np.arange(len(misfit)) == np.argmax(misfit) if side.all() else side


def run(
    similarities: Sequence[sp.csr_array],
    frames: Sequence[np.ndarray],
    *,
    settings: Settings | None = None,
    max_iter: int = 200,
    tol: float = 1e-8,
    on_pass: Callable[[int, float], None] | None = None,
) -> NonnegativeEmbedding:
    """Alternate the steps for Y, R and p until the objective converges.

    If a cluster is empty by then, or after half of the passes, the cluster with the largest misfit is halved, and the
    alternation continues, as long as this reduces the number of empty clusters; the objective may rise in that pass.

    Parameters
    ----------
    similarities : sequence of csr_array of shape (n, n)
        S_v.
    frames : sequence of ndarray of shape (n, K)
        Initial R_v.
    settings : Settings, optional
    max_iter : int, default=200
        Maximum number of passes.
    tol : float, default=1e-8
        Stop when the relative change of the objective is below this.
    on_pass : callable, optional
        Called after each pass with its number and the objective.
    """
    n_views, n_clusters = len(similarities), frames[0].shape[1]
    shrink = n_views if settings is not None and settings.scale_slip else 1
    floor = _FLOOR * np.array([np.vdot(s.data, s.data) for s in similarities])
    weights = np.ones(n_views)
    images = [s @ frame for s, frame in zip(similarities, frames, strict=True)]
    values: list[float] = []
    residuals: list[np.ndarray] = []
    n_reseeds, fewest = 0, n_clusters
    for n_iter in range(1, max_iter + 1):
        image = mean_image(images, weights) / shrink
        embedding = embedding_step(image)
        frames = [frame_step(s, embedding) for s in similarities]
        images = [s @ frame for s, frame in zip(similarities, frames, strict=True)]
        squares = np.array([squared_residual(s, i, embedding) for s, i in zip(similarities, images, strict=True)])
        weights = root_weights(squares, floor)
        values.append(float(roots(squares, floor).sum()))
        residuals.append(np.sqrt(squares))
        if on_pass is not None:
            on_pass(n_iter, values[-1])
        # Where a row of Y is zero, the largest entry before clipping decides; elsewhere it is the same one.
        labels = np.argmax(image, axis=1)
        n_empty = int(np.count_nonzero(np.bincount(labels, minlength=n_clusters) == 0))
        converged = n_iter > 1 and abs(values[-2] - values[-1]) <= tol * values[-2]
        can_reseed = 0 < n_empty < fewest and n_iter < max_iter
        if converged and not can_reseed:
            break
        if not (can_reseed and (converged or n_iter == max_iter // 2)):
            continue
        n_reseeds, fewest = n_reseeds + 1, n_empty
        misfit = misfits(similarities, images, embedding, weights)
        filled = fill_empty(labels, n_clusters, mean_similarity(similarities, weights), misfit)
        frames = frames_of_labels(similarities, filled, n_clusters)
        images = [s @ frame for s, frame in zip(similarities, frames, strict=True)]
    if n_empty:
        misfit = misfits(similarities, images, embedding, weights)
        labels = fill_empty(labels, n_clusters, mean_similarity(similarities, weights), misfit)
    return NonnegativeEmbedding(
        embedding, list(frames), weights, labels, np.array(values), np.array(residuals), n_reseeds, n_empty
    )
