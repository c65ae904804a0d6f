"""Spectral embeddings of the views by co-training (Kumar and Daumé, 2011).

Every view's kernel is projected on the leading eigenspaces of the *other* views and gets new eigenvectors; repeat. No
objective is optimised: there are T sweeps, in which all views are updated from the embeddings of the previous sweep, so
that the order of the views does not matter.

``S_v = (M + Mᵀ)/2``  with  ``M = K_v Σ_{w≠v} U_w U_wᵀ``,  ``U_v`` = leading eigenvectors of ``|D|^-½ S_v |D|^-½``

==========  =========================================================================================
letter      meaning
==========  =========================================================================================
K_v         kernel of view v, n x n, always the given one
U_v         embedding of view v, n x K'
W           the embeddings of the other views side by side, n x r with r = (V - 1)K'
A           K_v W
S_v         kernel of view v projected on the other views, of rank 2r at most; D = diag(S_v 1)
==========  =========================================================================================

``S_v = (AWᵀ + WAᵀ)/2`` is never formed: its eigenvectors are in the span of A and W.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from manyview.graphs import normalize_graph
from manyview.solvers._subspaces import leading_directions, subspace_change

# S_v has negative entries, and its degrees may vanish: they are at least this share of the largest.
_DEGREE_FLOOR = 1e-12


@dataclass(frozen=True)
class CoTraining:
    """Result of :func:`run`: U_v for every view, and the change of the spaces in every sweep, from 0 to 1."""

    embeddings: list[np.ndarray]
    changes: list[float]


def update_embedding(kernel: np.ndarray, others: np.ndarray, n_vectors: int) -> np.ndarray:
    """U-step: the K' leading eigenvectors of ``|D|^-½ S_v |D|^-½``.

    Parameters
    ----------
    kernel : ndarray of shape (n, n)
        K_v.
    others : ndarray of shape (n, r)
        W.
    n_vectors : int
        K'.
    """
    image = kernel @ others
    degrees = np.abs(image @ others.sum(axis=0) + others @ image.sum(axis=0)) / 2
    scale = 1 / np.sqrt(np.maximum(degrees, _DEGREE_FLOOR * degrees.max()))
    basis, factor = np.linalg.qr(scale[:, None] * np.hstack([image, others]))
    left, right = np.hsplit(factor, 2)
    small = left @ right.T
    return basis @ leading_directions((small + small.T) / 2, n_vectors)


def run(
    kernels: Sequence[np.ndarray],
    n_vectors: int,
    *,
    max_iter: int = 5,
    on_pass: Callable[[int, float], None] | None = None,
) -> CoTraining:
    """Embed every view by itself, then update all views from each other in ``max_iter`` sweeps.

    Parameters
    ----------
    kernels : sequence of ndarray of shape (n, n)
        K_v of at least two views; symmetric and non-negative.
    n_vectors : int
        K', at most n.
    max_iter : int, default=5
        T. With 0, every view keeps its own embedding.
    on_pass : callable, optional
        Called after each sweep with its number and the change of the spaces.
    """
    embeddings = [leading_directions(normalize_graph(kernel), n_vectors) for kernel in kernels]
    changes: list[float] = []
    for sweep in range(1, max_iter + 1):
        before = embeddings
        embeddings = [
            update_embedding(kernel, np.hstack([*before[:v], *before[v + 1 :]]), n_vectors)
            for v, kernel in enumerate(kernels)
        ]
        changes.append(subspace_change(before, embeddings))
        if on_pass is not None:
            on_pass(sweep, changes[-1])
    return CoTraining(embeddings, changes)
