"""scikit-learn's bundled handwritten digits as a multi-view dataset: no file, no network."""

from __future__ import annotations

from math import factorial

import numpy as np
from sklearn.datasets import load_digits

from manyview.datasets._rounding import rounded
from manyview.views import Views


def load_digits_views() -> Views:
    """Return 1,797 handwritten digits in five views, computed from the images on the fly.

    The images are the 8 x 8 ones that come with scikit-learn, in scikit-learn's order, which is not sorted by
    digit. Every view is a fixed function of one image, rounded to eight decimals, so that it has the same bits on
    every machine; labels are not looked at.

    Returns
    -------
    Views
        With the digits in ``labels``, scikit-learn's image numbers in ``sample_ids``, and the views

        - ``pixels`` (64): grey values from 0 to 16;
        - ``gradients`` (72): histograms of the direction of the brightness gradient, 8 directions in each of
          3 x 3 overlapping cells;
        - ``fourier`` (24): magnitudes of the low spatial frequencies, unchanged by circular shifts;
        - ``profiles`` (46): sums of the grey values along rows, columns and both diagonals;
        - ``moments`` (25): magnitudes of the Zernike moments up to order 8, hardly changed by rotation.

    Examples
    --------
    >>> from manyview.datasets import load_digits_views
    >>> load_digits_views()
    Views(1797 samples; pixels: 64, gradients: 72, fourier: 24, profiles: 46, moments: 25; 10 classes)
    """
    digits = load_digits()
    images = digits.images.astype(np.float64)
    return Views(
        (
            images.reshape(len(images), -1),
            rounded(gradients(images)),
            rounded(fourier(images)),
            profiles(images),
            rounded(_zernike_magnitudes(images)),
        ),
        names=("pixels", "gradients", "fourier", "profiles", "moments"),
        sample_ids=np.arange(len(images)),
        labels=digits.target,
    )


def gradients(images: np.ndarray, n_directions: int = 8, cell: int = 4, step: int = 2) -> np.ndarray:
    """Histograms of gradient directions, weighted by the length of the gradient."""
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))  # a border of background, so that edges at the rim count
    down = (padded[:, 2:, 1:-1] - padded[:, :-2, 1:-1]) / 2
    right = (padded[:, 1:-1, 2:] - padded[:, 1:-1, :-2]) / 2
    position = np.arctan2(down, right) / (2 * np.pi) * n_directions % n_directions
    # each gradient is shared by the two nearest directions, so that a small turn makes a small change
    distance = np.abs(position[..., None] - np.arange(n_directions))
    share = np.maximum(0.0, 1.0 - np.minimum(distance, n_directions - distance))
    votes = share * np.hypot(down, right)[..., None]
    windows = np.lib.stride_tricks.sliding_window_view(votes, (cell, cell), axis=(1, 2))[:, ::step, ::step]
    return windows.sum(axis=(-2, -1)).reshape(len(images), -1)


def fourier(images: np.ndarray, highest: int = 3) -> np.ndarray:
    """Magnitudes of the frequencies up to `highest` in both directions, each once, without the mean."""
    magnitudes = np.abs(np.fft.rfft2(images))
    # a real image has equal magnitudes at (v, h) and (-v, -h), so half of the plane says everything
    frequencies = [(v, 0) for v in range(1, highest + 1)]
    frequencies += [(v, h) for h in range(1, highest + 1) for v in range(-highest, highest + 1)]
    vertical, horizontal = np.array(frequencies).T
    return magnitudes[:, vertical, horizontal]


def profiles(images: np.ndarray) -> np.ndarray:
    """Sums along rows, columns, diagonals and antidiagonals."""
    row, column = np.indices(images.shape[1:])
    lines = [key == value for key in (row, column, row - column, row + column) for value in np.unique(key)]
    return images.reshape(len(images), -1) @ np.array(lines, dtype=np.float64).reshape(len(lines), -1).T


def _zernike_magnitudes(images: np.ndarray, order: int = 8) -> np.ndarray:
    """Magnitudes of the Zernike moments on the disc inscribed in the image."""
    radius = images.shape[1] / 2
    axis = (np.arange(images.shape[1]) + 0.5 - radius) / radius
    down, right = np.meshgrid(axis, axis, indexing="ij")
    r, angle = np.hypot(down, right), np.arctan2(down, right)
    orders = [(n, m) for n in range(order + 1) for m in range(n % 2, n + 1, 2)]
    basis = np.array([(n + 1) / np.pi * _zernike_radial(r, n, m) * np.exp(-1j * m * angle) for n, m in orders])
    basis[:, r > 1] = 0
    return np.abs(np.tensordot(images, basis, axes=((1, 2), (1, 2)))) / radius**2


def _zernike_radial(r: np.ndarray, n: int, m: int) -> np.ndarray:
    """The radial polynomial R_n^m."""
    total = np.zeros_like(r)
    for k in range((n - m) // 2 + 1):
        ways = factorial(k) * factorial((n + m) // 2 - k) * factorial((n - m) // 2 - k)
        total += (-1) ** k * factorial(n - k) / ways * r ** (n - 2 * k)
    return total
