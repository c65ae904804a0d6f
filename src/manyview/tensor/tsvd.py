"""The t-SVD: an FFT along one axis of a third-order tensor, then matrix SVDs of the slices.

A real tensor has conjugate-symmetric slices, so only the first half is formed (``rfft``). The slices are thin, as there
are few views, so their singular values come from small Gram matrices and not from a full SVD.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import reduce

import numpy as np
import scipy.fft

from manyview._utils.compiled import njit

# Gram matrices square the condition number: singular values below this share of the largest are rounding noise.
_RELATIVE_ZERO = 1e-12
# Columns of the slices handled at a time: small enough for the caches, and fixed, so that sums do not depend on the
# number of threads.
_BLOCK = 64
# Slices and columns per task of a thread where all slices are kept. One column and its transform fit the caches.
_SLICES = 128
_COLUMNS = 16


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
    spectrum: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Replace the singular values σ of every Fourier slice by ``shrink(σ)``.

    With the smaller side of the slices A in front, each is multiplied by Q·diag(shrink(σ)/σ)·Qᴴ, where Q and σ² come
    from the Gram matrix AAᴴ. Unless there is an array to keep the slices in, the longer side is cut into blocks, which
    are transformed once for the sum of the Gram matrices and once more for the product.

    Parameters
    ----------
    tensor : ndarray of three axes, real
    axis : int
        The axis that is Fourier transformed.
    shrink : callable
        Maps an array of shape (length // 2 + 1, min(a, b)), descending in each row, to an array of the same shape. It
        must map 0 to 0. Some of the rows may come in one call and some in another.
    workers : int, default=1
        Number of threads; the result does not depend on it.
    out : ndarray, optional
        Array for the result; may be ``tensor`` itself.
    spectrum : ndarray of shape (a, b, length // 2 + 1), complex, optional
        Work array for the slices, with the two other axes in their order. It saves one transform, and parts of the
        tensor that are zero are skipped; the result is the same but for rounding. Its memory may be that of ``tensor``
        and ``out``, if each series of numbers along ``axis`` lies within the memory of its own transform
        (``tsvd.with_room_for_spectrum``).

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
    if spectrum is not None:
        order = (short, long, axis)
        kept = spectrum if short < long else spectrum.swapaxes(0, 1)
        values = _map_kept(tensor.transpose(order), shrink, workers, out.transpose(order), kept)
        return out, values
    blocks = [slice(start, start + _BLOCK) for start in range(0, tensor.shape[long], _BLOCK)]

    def part(block: slice) -> tuple[slice, ...]:
        return tuple(block if a == long else slice(None) for a in range(3))

    def slices_of(block: slice) -> np.ndarray:
        transformed = scipy.fft.rfft(tensor[part(block)], axis=axis)
        return np.moveaxis(transformed, (axis, short, long), (0, 1, 2))

    def gram(block: slice) -> np.ndarray:
        slices = slices_of(block)
        return slices @ slices.conj().swapaxes(1, 2)

    def multiply(block: slice) -> None:
        slices = np.moveaxis(scaling @ slices_of(block), (0, 1, 2), (axis, short, long))
        out[part(block)] = scipy.fft.irfft(slices, n=length, axis=axis)

    with ThreadPoolExecutor(workers) as pool:
        scaling, shrunk = _shrinking_factors(reduce(np.add, pool.map(gram, blocks)), shrink)
        list(pool.map(multiply, blocks))
    return out, shrunk


def _shrinking_factors(grams: np.ndarray, shrink: Callable[[np.ndarray], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return Q·diag(shrink(σ)/σ)·Qᴴ of slices with these Gram matrices, and shrink(σ)."""
    squares, q = np.linalg.eigh(grams)
    sigma, q = np.sqrt(np.maximum(squares, 0.0))[:, ::-1], q[:, :, ::-1]
    usable = sigma > _RELATIVE_ZERO * sigma[:, :1]
    shrunk = np.where(usable, shrink(sigma), 0.0)
    factor = np.divide(shrunk, sigma, out=np.zeros_like(sigma), where=usable)
    return (q * factor[:, None, :]) @ q.conj().swapaxes(1, 2), shrunk


def with_room_for_spectrum(shape: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Return zeros of a shape and an array for their spectrum along the last axis, in the same memory."""
    spectrum = np.zeros((*shape[:2], shape[2] // 2 + 1), dtype=np.complex128)
    return spectrum.view(np.float64)[:, :, : shape[2]], spectrum


def _map_kept(
    tensor: np.ndarray,
    shrink: Callable[[np.ndarray], np.ndarray],
    workers: int,
    out: np.ndarray,
    spectrum: np.ndarray,
) -> np.ndarray:
    """Map the singular values of a (short, long, length) tensor, keeping its spectrum; return the new values.

    The series of one column of the slices are transformed together: they fit the caches, all columns do not.
    """
    n_short, n_columns, length = tensor.shape
    n_slices = spectrum.shape[2]
    values = np.empty((n_slices, n_short))

    filled = np.zeros(n_columns, dtype=bool)

    def transform(block: range) -> None:
        work = np.empty((n_short, n_slices), dtype=np.complex128)
        for column in block:
            series = tensor[:, column]
            filled[column] = series.any()
            if filled[column]:
                spectrum[:, column] = np.fft.rfft(series, out=work)
            elif out[:, column].any():
                out[:, column] = 0.0

    def multiply(slices: range) -> None:
        products = _add_products(spectrum, columns, slices.start, slices.stop)
        scaling, values[slices.start : slices.stop] = _shrinking_factors(products, shrink)
        _multiply_slices(scaling, spectrum, columns, slices.start, slices.stop)

    def transform_back(block: range) -> None:
        work = np.empty((n_short, length))
        for column in columns[block.start : block.stop]:
            out[:, column] = np.fft.irfft(spectrum[:, column], n=length, out=work)

    def cut(total: int, size: int) -> list[range]:
        return [range(start, min(start + size, total)) for start in range(0, total, size)]

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(transform, cut(n_columns, _COLUMNS)))
        columns = np.flatnonzero(filled)
        list(pool.map(multiply, cut(n_slices, _SLICES)))
        list(pool.map(transform_back, cut(len(columns), _COLUMNS)))
    return values


# Products and sums may be contracted to one instruction, which rounds once instead of twice.
@njit(nogil=True, cache=True, fastmath={"contract"})
def _add_products(spectrum: np.ndarray, columns: np.ndarray, start: int, stop: int) -> np.ndarray:
    """Return the Gram matrices AAᴴ of the slices ``start`` to ``stop``."""
    n_short, n = len(spectrum), stop - start
    x, y = np.empty((n_short, n)), np.empty((n_short, n))  # real and imaginary parts
    real, imaginary = np.zeros((n_short, n_short, n)), np.zeros((n_short, n_short, n))
    for column in columns:
        for v in range(n_short):
            for f in range(n):
                x[v, f] = spectrum[v, column, start + f].real
                y[v, f] = spectrum[v, column, start + f].imag
            for w in range(v + 1):
                for f in range(n):
                    real[v, w, f] += x[v, f] * x[w, f] + y[v, f] * y[w, f]
                if w < v:
                    for f in range(n):
                        imaginary[v, w, f] += y[v, f] * x[w, f] - x[v, f] * y[w, f]
    grams = np.empty((n, n_short, n_short), dtype=np.complex128)
    for v in range(n_short):
        for w in range(v + 1):
            for f in range(n):
                grams[f, v, w] = complex(real[v, w, f], imaginary[v, w, f])
                grams[f, w, v] = complex(real[v, w, f], -imaginary[v, w, f])
    return grams


@njit(nogil=True, cache=True, fastmath={"contract"})
def _multiply_slices(scaling: np.ndarray, spectrum: np.ndarray, columns: np.ndarray, start: int, stop: int) -> None:
    """Multiply the slices ``start`` to ``stop`` from the left, in place."""
    n_short, n = len(spectrum), stop - start
    p, q = np.empty((n_short, n_short, n)), np.empty((n_short, n_short, n))  # real and imaginary parts of the factors
    for v in range(n_short):
        for w in range(n_short):
            for f in range(n):
                p[v, w, f] = scaling[f, v, w].real
                q[v, w, f] = scaling[f, v, w].imag
    x, y = np.empty((n_short, n)), np.empty((n_short, n))  # and of the slices
    real, imaginary = np.empty(n), np.empty(n)
    for column in columns:
        for w in range(n_short):
            for f in range(n):
                x[w, f] = spectrum[w, column, start + f].real
                y[w, f] = spectrum[w, column, start + f].imag
        for v in range(n_short):
            real[:] = 0.0
            imaginary[:] = 0.0
            for w in range(n_short):
                for f in range(n):
                    real[f] += p[v, w, f] * x[w, f] - q[v, w, f] * y[w, f]
                    imaginary[f] += p[v, w, f] * y[w, f] + q[v, w, f] * x[w, f]
            for f in range(n):
                spectrum[v, column, start + f] = complex(real[f], imaginary[f])
