"""Samples as convex combinations of anchors, embedded by singular vectors (Kang et al., 2020, "LMVSC").

``min_{Z_v} |X_v - Z_v A_v|²_F + α·|Z_v|²_F  s.t.  Z_v >= 0, Z_v 1 = 1``  for every view, then the leading left
singular vectors of ``[Z_1, ..., Z_V]/√V``

==========  =========================================================================================
letter      meaning
==========  =========================================================================================
X_v         view v, n x d_v
A_v         anchors of view v, m_v x d_v
Z_v         coefficients, n x m_v; ``z`` is one row
α           ridge, the weight of the penalty on coefficients
G           ``A_v A_vᵀ + αI``
b           ``A_v x`` for a sample x; row x of the problem is ``min_z zᵀGz - 2bᵀz`` on the simplex
U           left singular vectors, n x K: the leading eigenvectors of ``Σ_v Z_v Z_vᵀ / V``
==========  =========================================================================================

The rows of Z sum to 1, so a common shift of samples and anchors changes nothing; with the mean of the anchors at 0, G
is far better conditioned. Each row is solved exactly by an active-set method.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from manyview.engines import RowThreads
from manyview.graphs import leading_singular_vectors
from manyview.graphs.laplacian import inverse_sqrt
from manyview.proximal.quadratic import simplex_qp_rows

OnPass = Callable[[int, float], None]


@dataclass(frozen=True)
class Representation:
    """Solution of one view: Z, the objective and the relative gap of each row, and the largest number of steps."""

    coefficients: np.ndarray
    values: np.ndarray
    gaps: np.ndarray
    n_steps: int


@dataclass(frozen=True)
class Subspace:
    """Result of :func:`run`: U, singular values, all Z_v side by side; objective, largest gap and steps per view."""

    embedding: np.ndarray
    singular_values: np.ndarray
    coefficients: np.ndarray
    objective: np.ndarray
    gap: np.ndarray
    n_steps: np.ndarray


def relative_ridge(anchors: np.ndarray, ridge: float) -> float:
    """Return α relative to the mean squared distance of the anchors from their mean; unchanged if all are equal."""
    spread = float(np.mean(np.sum((anchors - anchors.mean(axis=0)) ** 2, axis=1)))
    return ridge * spread if spread > 0 else ridge


def represent(
    view: np.ndarray | sp.csr_array,
    anchors: np.ndarray,
    ridge: float,
    *,
    tol: float = 1e-8,
    max_iter: int = 1000,
    n_threads: int | None = None,
) -> Representation:
    """Z-step: ``argmin_Z |X - ZA|² + α·|Z|²  s.t.  Z >= 0, Z1 = 1``, for all rows.

    The gap of a row is ``gᵀz - min_j g_j`` with the gradient g, an upper bound on the excess over the minimum, here
    relative to ``|x|² + max_j G_jj`` with the anchors' mean as origin. A row is solved if its gap is at most ``tol``.
    """
    n, m = view.shape[0], len(anchors)
    origin = anchors.mean(axis=0)
    centred = anchors - origin
    ridge = float(ridge)  # the kernel is compiled for floats
    gram = centred @ centred.T + ridge * np.eye(m)
    spectrum, basis = np.linalg.eigh(centred @ centred.T)
    inverse = (basis / (np.maximum(spectrum, 0.0) + ridge)) @ basis.T
    coefficients, values, gaps = np.empty((n, m)), np.empty(n), np.empty(n)

    def block(rows: slice) -> int:
        targets, squares = _products(view[rows], centred, origin)
        coefficients[rows] = _minimize_on_plane(targets, inverse)
        steps = simplex_qp_rows(
            gram, targets, ridge, squares + gram.diagonal().max(), float(tol), int(max_iter),
            coefficients[rows], values[rows], gaps[rows],
        )  # fmt: skip
        values[rows] += squares
        return steps

    with RowThreads(n_threads) as threads:
        n_steps = max(threads.map(block, n))
    return Representation(coefficients, values, gaps, n_steps)


def _minimize_on_plane(targets: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """Return ``argmin_z zᵀGz - 2bᵀz  s.t.  1ᵀz = 1``, ``G⁻¹(b + ν1)``: often non-negative if α is large."""
    free, ones = targets @ inverse, inverse.sum(axis=1)
    return free + (1 - free.sum(axis=1, keepdims=True)) / ones.sum() * ones


def _products(
    block: np.ndarray | sp.csr_array, centred: np.ndarray, origin: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``b`` and ``|x|²`` of these rows, with the anchors' mean as origin."""
    if isinstance(block, np.ndarray):
        shifted = block - origin
        return shifted @ centred.T, np.einsum("ij,ij->i", shifted, shifted)
    squares = np.asarray(block.multiply(block).sum(axis=1)).ravel() - 2 * (block @ origin) + origin @ origin
    return np.asarray(block @ centred.T) - centred @ origin, np.maximum(squares, 0.0)


def embed(
    coefficients: np.ndarray, n_views: int, n_clusters: int, *, degree_normalize: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """U-step: the K leading left singular vectors of ``Z̄ = [Z_1, ..., Z_V]/√V``, or of ``Z̄·diag(Z̄ᵀ1)^-½``."""
    joint = coefficients / np.sqrt(n_views)
    if degree_normalize:
        joint *= inverse_sqrt(joint.sum(axis=0))
    return leading_singular_vectors(joint, n_clusters)[:2]


def run(
    views: Sequence[np.ndarray | sp.csr_array],
    anchors: Sequence[np.ndarray],
    n_clusters: int,
    *,
    ridges: Sequence[float],
    degree_normalize: bool = False,
    tol: float = 1e-8,
    max_iter: int = 1000,
    n_threads: int | None = None,
    on_pass: OnPass | None = None,
) -> Subspace:
    """Solve every view, then embed. There is no alternation; ``on_pass`` is called after each view."""
    starts = np.cumsum([0, *map(len, anchors)])
    coefficients = np.empty((views[0].shape[0], starts[-1]))
    objective, gap, n_steps = np.empty(len(views)), np.empty(len(views)), np.empty(len(views), dtype=np.int64)
    for v, (view, points, ridge) in enumerate(zip(views, anchors, ridges, strict=True)):
        solved = represent(view, points, ridge, tol=tol, max_iter=max_iter, n_threads=n_threads)
        coefficients[:, starts[v] : starts[v + 1]] = solved.coefficients
        objective[v], gap[v], n_steps[v] = solved.values.sum(), solved.gaps.max(), solved.n_steps
        if on_pass is not None:
            on_pass(v + 1, float(objective[v]))
    embedding, values = embed(coefficients, len(views), n_clusters, degree_normalize=degree_normalize)
    return Subspace(embedding, values, coefficients, objective, gap, n_steps)
