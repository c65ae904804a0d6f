"""The tensor Schatten-p quasi-norm (paper, definition eq3) and its proximal operator (paper, theorem 1)."""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np

from manyview.proximal import prox_lp
from manyview.tensor.tsvd import fourier_slices, map_singular_values, slice_multiplicity

NormScale = Literal["code", "paper"]
"""``"paper"``: the sum over all n₃ Fourier slices, as printed. ``"code"``: that sum divided by n₃, as programmed."""


def schatten_norm(tensor: np.ndarray, p: float, axis: int, *, norm_scale: NormScale = "code") -> float:
    """Return ``|T|_Sp^p = c·Σ_i Σ_j σ_j(T̄⁽ⁱ⁾)^p``, with c = 1 ("paper") or 1/n₃ ("code"). p = 1 is the nuclear norm.

    Parameters
    ----------
    tensor : ndarray of three axes
    p : float
        0 < p <= 1.
    axis : int
        The Fourier-transformed axis, of length n₃.
    norm_scale : {"code", "paper"}
    """
    values = np.linalg.svd(fourier_slices(tensor, axis), compute_uv=False)
    return _norm_of_values(values, p, tensor.shape[axis], norm_scale)


def _norm_of_values(values: np.ndarray, p: float, length: int, norm_scale: NormScale) -> float:
    total = float(slice_multiplicity(length) @ (values**p).sum(axis=1))
    return total if norm_scale == "paper" else total / length


def prox_schatten(
    tensor: np.ndarray,
    threshold: float,
    p: float,
    axis: int,
    *,
    norm_scale: NormScale = "code",
    sweeps: int | None = None,
    workers: int = 1,
    out: np.ndarray | None = None,
    spectrum: np.ndarray | None = None,
) -> tuple[np.ndarray, float]:
    """Solve ``argmin_X ½|X - T|²_F + threshold·|X|_Sp^p``: shrink the singular values of the Fourier slices.

    By Parseval, the squared distances of the slices sum to n₃ times that of the tensors, so values are shrunk by
    ``threshold·n₃`` under the printed norm and by ``threshold`` under the normalised one. The paper states the former
    (theorem 1) and uses the latter in eq. (o4-1) and in the program.

    Parameters
    ----------
    tensor : ndarray of three axes
    threshold : float
    p : float
        0 < p <= 1; 1 gives the prox of the tensor nuclear norm.
    axis : int
        The Fourier-transformed axis. If it is that of the samples, the result depends on their order.
    norm_scale : {"code", "paper"}
    sweeps : int, optional
        See :func:`manyview.proximal.prox_lp`.
    workers : int, default=1
        Number of threads; the result does not depend on it.
    out : ndarray, optional
        Array for the result; may be ``tensor`` itself.
    spectrum : ndarray, optional
        Work array, see :func:`manyview.tensor.map_singular_values`.

    Returns
    -------
    x : ndarray
        The minimiser.
    norm : float
        ``|x|_Sp^p``, at no extra cost.
    """
    length = tensor.shape[axis]
    lam = threshold * length if norm_scale == "paper" else threshold
    shrink = partial(prox_lp, threshold=lam, p=p, sweeps=sweeps)
    x, values = map_singular_values(tensor, axis, shrink, workers=workers, out=out, spectrum=spectrum)
    return x, _norm_of_values(values, p, length, norm_scale)
