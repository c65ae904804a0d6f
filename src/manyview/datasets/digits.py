"""Handwritten digits as multi-view datasets: the images bundled with scikit-learn, and MNIST from a file."""

from __future__ import annotations

import os
from math import factorial

import numpy as np
from sklearn.datasets import load_digits

from manyview.datasets.catalogue import DatasetInfo
from manyview.datasets.fetch import data_folder
from manyview.datasets.generated import rounded
from manyview.exceptions import DatasetError
from manyview.views import Views

MNIST_FILE = "MNIST63k.npz"
HOW_TO_GET_MNIST = (
    f"Make {MNIST_FILE} from a copy of MNIST with numpy.savez: X, the images as rows of 784 grey values (uint8), and "
    "y, the digits; ours are 63,000 of the 70,000 images. Name its folder with data_home= or MANYVIEW_DATA."
)
MNIST = DatasetInfo(
    name="MNIST63k",
    description="Handwritten digits: pixels, and two descriptions computed from them by load_mnist_views.",
    n_samples=63_000,
    n_classes=10,
    views=(("pixels", 784), ("gradients", 128), ("fourier", 60)),
    file_name=MNIST_FILE,
    origin="MNIST, which many archives offer",
    citation="LeCun, Bottou, Bengio, Haffner: Gradient-based learning applied to document recognition. 1998.",
)
_BATCH_IMAGES = 3000  # bounds the memory of intermediate arrays


def load_digits_views() -> Views:
    """Return 1,797 handwritten digits in five views, computed from the images on the fly.

    The images are the 8 x 8 ones bundled with scikit-learn, in scikit-learn's order, which is not sorted by digit.
    Every view is a fixed function of one image and does not use labels. Values are rounded to eight decimals, so that
    they are identical on every machine.

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


def load_mnist_views(data_home: str | os.PathLike[str] | None = None) -> Views:
    """Return 63,000 handwritten digits in three views, computed from the images on the fly.

    Every view is a fixed function of one image and does not use labels.

    Parameters
    ----------
    data_home : path, optional
        Folder with the file ``MNIST63k.npz``: the arrays ``X`` (63,000 x 784 grey values) and ``y`` (digits). See
        :func:`data_folder` for the default.

    Returns
    -------
    Views
        As float32, in the order of the file, with the digits in ``labels`` and the views

        - ``pixels`` (784): grey values from 0 to 254;
        - ``gradients`` (128): histograms of the direction of the brightness gradient, 8 directions in each of 4 x 4
          cells;
        - ``fourier`` (60): magnitudes of the low spatial frequencies, unchanged by circular shifts.

    Raises
    ------
    DatasetError
        If the file does not exist; the message says how to make it.

    Examples
    --------
    >>> from manyview.datasets import load_mnist_views
    >>> load_mnist_views()  # doctest: +SKIP
    Views(63000 samples; pixels: 784, gradients: 128, fourier: 60; 10 classes)
    """
    path = data_folder(data_home) / MNIST_FILE
    if not path.is_file():
        raise DatasetError(f"MNIST63k: {path} does not exist. {HOW_TO_GET_MNIST}")
    with np.load(path) as file:
        pixels, labels = file["X"].astype(np.float32), file["y"].astype(int)
    parts = np.array_split(pixels.reshape(-1, 28, 28), max(len(pixels) // _BATCH_IMAGES, 1))
    return Views(
        (
            pixels,
            np.concatenate([gradients(part, 8, 7, 7).astype(np.float32) for part in parts]),
            np.concatenate([fourier(part, 5).astype(np.float32) for part in parts]),
        ),
        names=("pixels", "gradients", "fourier"),
        labels=labels,
    )


def gradients(images: np.ndarray, n_directions: int = 8, cell: int = 4, step: int = 2) -> np.ndarray:
    """Return histograms of gradient directions, weighted by the length of the gradient."""
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))  # a border of background, so that edges at the rim count
    down = (padded[:, 2:, 1:-1] - padded[:, :-2, 1:-1]) / 2
    right = (padded[:, 1:-1, 2:] - padded[:, 1:-1, :-2]) / 2
    position = np.arctan2(down, right) / (2 * np.pi) * n_directions % n_directions
    # each gradient counts for the two nearest directions, so that a small rotation makes a small change
    distance = np.abs(position[..., None] - np.arange(n_directions))
    share = np.maximum(0.0, 1.0 - np.minimum(distance, n_directions - distance))
    votes = share * np.hypot(down, right)[..., None]
    windows = np.lib.stride_tricks.sliding_window_view(votes, (cell, cell), axis=(1, 2))[:, ::step, ::step]
    return windows.sum(axis=(-2, -1)).reshape(len(images), -1)


def fourier(images: np.ndarray, highest: int = 3) -> np.ndarray:
    """Return the magnitudes of the frequencies up to `highest` in both directions, each once, without the mean."""
    magnitudes = np.abs(np.fft.rfft2(images))
    # a real image has equal magnitudes at (v, h) and (-v, -h), so half of the plane is enough
    frequencies = [(v, 0) for v in range(1, highest + 1)]
    frequencies += [(v, h) for h in range(1, highest + 1) for v in range(-highest, highest + 1)]
    vertical, horizontal = np.array(frequencies).T
    return magnitudes[:, vertical, horizontal]


def profiles(images: np.ndarray) -> np.ndarray:
    """Return the sums along rows, columns, diagonals and antidiagonals."""
    row, column = np.indices(images.shape[1:])
    lines = [key == value for key in (row, column, row - column, row + column) for value in np.unique(key)]
    return images.reshape(len(images), -1) @ np.array(lines, dtype=np.float64).reshape(len(lines), -1).T


def _zernike_magnitudes(images: np.ndarray, order: int = 8) -> np.ndarray:
    """Return the magnitudes of the Zernike moments on the disc inscribed in the image."""
    radius = images.shape[1] / 2
    axis = (np.arange(images.shape[1]) + 0.5 - radius) / radius
    down, right = np.meshgrid(axis, axis, indexing="ij")
    r, angle = np.hypot(down, right), np.arctan2(down, right)
    orders = [(n, m) for n in range(order + 1) for m in range(n % 2, n + 1, 2)]
    basis = np.array([(n + 1) / np.pi * _zernike_radial(r, n, m) * np.exp(-1j * m * angle) for n, m in orders])
    basis[:, r > 1] = 0
    return np.abs(np.tensordot(images, basis, axes=((1, 2), (1, 2)))) / radius**2


def _zernike_radial(r: np.ndarray, n: int, m: int) -> np.ndarray:
    """Evaluate the radial polynomial R_n^m."""
    total = np.zeros_like(r)
    for k in range((n - m) // 2 + 1):
        ways = factorial(k) * factorial((n + m) // 2 - k) * factorial((n - m) // 2 - k)
        total += (-1) ** k * factorial(n - k) / ways * r ** (n - 2 * k)
    return total
