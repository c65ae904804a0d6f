"""The t-SVD: an FFT along one axis of a third-order tensor, then matrix SVDs of the slices.

A real tensor has conjugate-symmetric slices, so only the first half is ever formed (``rfft``). The slices here are
thin (views are few), so their singular values come from small Gram matrices, never from a full SVD.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.fft

# Gram matrices square the condition number: singular values below this share of the largest are rounding noise.
_RELATIVE_ZERO = 1e-12
# Slices handled at a time: bounds the temporary memory.
_BLOCK = 128


def fourier_slices(tensor: np.ndarray, axis: int, *, workers: int | None = None) -> np.ndarray:
    """Transform along ``axis`` and return the non-redundant slices, stacked along a new first axis.

    Returns
    -------
    ndarray of shape (length // 2 + 1, a, b), complex
        ``a`` and ``b`` are the two other axes in their order.
    """
    return np.moveaxis(scipy.fft.rfft(tensor, axis=axis, workers=workers), axis, 0)


def from_fourier_slices(slices: np.ndarray, axis: int, length: int, *, workers: int | None = None) -> np.ndarray:
    """Undo :func:`fourier_slices`; may overwrite ``slices``."""
    spectrum = np.moveaxis(slices, 0, axis)
    return scipy.fft.irfft(spectrum, n=length, axis=axis, workers=workers, overwrite_x=True)


def slice_multiplicity(length: int) -> np.ndarray:
    """How often each of the ``length // 2 + 1`` slices stands for itself and its conjugate twin."""
    times = np.full(length // 2 + 1, 2)
    times[0] = 1
    if length % 2 == 0:
        times[-1] = 1
    return times


def tsvd(tensor: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Thin SVDs of the non-redundant Fourier slices along ``axis``.

    Returns
    -------
    u, s, vh : ndarrays of shapes (f, a, r), (f, r), (f, r, b)
        With f = length // 2 + 1 slices and r = min(a, b). ``from_fourier_slices((u * s[:, None]) @ vh, axis, length)``
        gives the tensor back.
    """
    return np.linalg.svd(fourier_slices(tensor, axis), full_matrices=False)


def map_singular_values(
    tensor: np.ndarray,
    axis: int,
    shrink: Callable[[np.ndarray], np.ndarray],
    *,
    workers: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Replace the singular values σ of every Fourier slice by ``shrink(σ)``.

    Parameters
    ----------
    tensor : ndarray of three axes, real
    axis : int
        The axis that is Fourier transformed.
    shrink : callable
        Gets an array of shape (slices, min(a, b)), descending in each row, and returns one like it. It must map 0 to
        0; several blocks of slices are passed one after the other.
    workers : int, optional
        Threads of the FFT. They do not change the result.

    Returns
    -------
    tensor : ndarray
        The new tensor.
    values : ndarray of shape (length // 2 + 1, min(a, b))
        Its singular values, of the non-redundant slices.
    """
    length = tensor.shape[axis]
    slices = fourier_slices(tensor, axis, workers=workers)
    values = np.empty((len(slices), min(slices.shape[1:])))
    for start in range(0, len(slices), _BLOCK):
        block = slice(start, start + _BLOCK)
        slices[block], values[block] = _map_slices(slices[block], shrink)
    return from_fourier_slices(slices, axis, length, workers=workers), values


def _map_slices(slices: np.ndarray, shrink: Callable[[np.ndarray], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Multiply each slice A by Q·diag(shrink(σ)/σ)·Qᴴ, with Q and σ² from its smaller Gram matrix."""
    tall = slices.shape[1] > slices.shape[2]
    adjoint = slices.conj().swapaxes(1, 2)
    gram = adjoint @ slices if tall else slices @ adjoint
    squares, q = np.linalg.eigh(gram)
    sigma = np.sqrt(np.maximum(squares, 0.0))[:, ::-1]
    q = q[:, :, ::-1]
    usable = sigma > _RELATIVE_ZERO * sigma[:, :1]
    shrunk = np.where(usable, shrink(sigma), 0.0)
    factor = np.divide(shrunk, sigma, out=np.zeros_like(sigma), where=usable)
    scaling = (q * factor[:, None, :]) @ q.conj().swapaxes(1, 2)
    return (slices @ scaling if tall else scaling @ slices), shrunk
