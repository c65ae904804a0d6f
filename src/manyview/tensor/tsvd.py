"""The t-SVD: an FFT along one axis of a third-order tensor, then matrix SVDs of the slices.

A real tensor has conjugate-symmetric slices, so only the first half is formed (``rfft``). The slices are thin, as there
are few views, so their singular values come from small Gram matrices and not from a full SVD.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import scipy.fft

# Gram matrices square the condition number: singular values below this share of the largest are rounding noise.
_RELATIVE_ZERO = 1e-12
# Columns of the slices handled at a time: small enough for the caches, and fixed, so that sums do not depend on the
# number of threads.
_BLOCK = 64


def fourier_slices(tensor: np.ndarray, axis: int) -> np.ndarray:
    """Transform along ``axis`` and return the non-redundant slices, stacked along a new first axis.

    Returns
    -------
    ndarray of shape (length // 2 + 1, a, b), complex
        ``a`` and ``b`` are the two other axes in their order.
    """
    return np.moveaxis(scipy.fft.rfft(tensor, axis=axis), axis, 0)


def from_fourier_slices(slices: np.ndarray, axis: int, length: int) -> np.ndarray:
    """Undo :func:`fourier_slices` of a tensor with ``length`` entries along ``axis``."""
    return scipy.fft.irfft(np.moveaxis(slices, 0, axis), n=length, axis=axis)


def slice_multiplicity(length: int) -> np.ndarray:
    """Return the multiplicity of each of the ``length // 2 + 1`` slices: 2 with a conjugate copy, else 1."""
    times = np.full(length // 2 + 1, 2)
    times[0] = 1
    if length % 2 == 0:
        times[-1] = 1
    return times


def tsvd(tensor: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compute thin SVDs of the non-redundant Fourier slices along ``axis``.

    Parameters
    ----------
    tensor : ndarray of three axes
    axis : int

    Returns
    -------
    u, s, vh : ndarrays of shapes (f, a, r), (f, r), (f, r, b)
        With f = length // 2 + 1 slices and r = min(a, b). ``from_fourier_slices((u * s[:, None]) @ vh, axis, length)``
        restores the tensor.
    """
    return np.linalg.svd(fourier_slices(tensor, axis), full_matrices=False)


def map_singular_values(
    tensor: np.ndarray,
    axis: int,
    shrink: Callable[[np.ndarray], np.ndarray],
    *,
    workers: int = 1,
    out: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Replace the singular values σ of every Fourier slice by ``shrink(σ)``.

    With the smaller side of the slices A in front, each is multiplied by Q·diag(shrink(σ)/σ)·Qᴴ, where Q and σ² come
    from the Gram matrix AAᴴ. The longer side is cut into blocks, which are transformed once for the sum of the
    Gram matrices and once more for the product: that costs less than keeping all slices in memory.

    Parameters
    ----------
    tensor : ndarray of three axes, real
    axis : int
        The axis that is Fourier transformed.
    shrink : callable
        Maps an array of shape (length // 2 + 1, min(a, b)), descending in each row, to an array of the same shape. It
        must map 0 to 0.
    workers : int, default=1
        Number of threads; the result does not depend on it.
    out : ndarray, optional
        Array for the result; may be ``tensor`` itself.

    Returns
    -------
    tensor : ndarray
        The new tensor.
    values : ndarray of shape (length // 2 + 1, min(a, b))
        Its singular values, of the non-redundant slices.
    """
    length = tensor.shape[axis]
    long, short = sorted((a for a in range(3) if a != axis), key=lambda a: -tensor.shape[a])
    out = np.empty(tensor.shape) if out is None else out
    blocks = [slice(start, start + _BLOCK) for start in range(0, tensor.shape[long], _BLOCK)]

    def part(block: slice) -> tuple[slice, ...]:
        return tuple(block if a == long else slice(None) for a in range(3))

    def spectrum(block: slice) -> np.ndarray:
        transformed = scipy.fft.rfft(tensor[part(block)], axis=axis)
        return np.moveaxis(transformed, (axis, short, long), (0, 1, 2))

    def gram(block: slice) -> np.ndarray:
        slices = spectrum(block)
        return slices @ slices.conj().swapaxes(1, 2)

    def multiply(block: slice) -> None:
        slices = np.moveaxis(scaling @ spectrum(block), (0, 1, 2), (axis, short, long))
        out[part(block)] = scipy.fft.irfft(slices, n=length, axis=axis)

    with ThreadPoolExecutor(workers) as pool:
        squares, q = np.linalg.eigh(sum(pool.map(gram, blocks)))
        sigma, q = np.sqrt(np.maximum(squares, 0.0))[:, ::-1], q[:, :, ::-1]
        usable = sigma > _RELATIVE_ZERO * sigma[:, :1]
        shrunk = np.where(usable, shrink(sigma), 0.0)
        factor = np.divide(shrunk, sigma, out=np.zeros_like(sigma), where=usable)
        scaling = (q * factor[:, None, :]) @ q.conj().swapaxes(1, 2)
        list(pool.map(multiply, blocks))
    return out, shrunk
