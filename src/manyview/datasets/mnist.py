"""MNIST as a multi-view dataset: 63,000 images from one file, three views computed from them."""

from __future__ import annotations

import os

import numpy as np

from manyview.datasets.digits import fourier, gradients
from manyview.datasets.fetch import data_folder
from manyview.datasets.info import DatasetInfo
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
    origin="MNIST, which is in many places",
    citation="LeCun, Bottou, Bengio, Haffner: Gradient-based learning applied to document recognition. 1998.",
)
_AT_ONCE = 3000  # images, so that what lies between them and the views stays small


def load_mnist_views(data_home: str | os.PathLike[str] | None = None) -> Views:
    """Return 63,000 handwritten digits in three views, computed from the images on the fly.

    Every view is a fixed function of one image; labels are not looked at.

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
        If the file is not there; the text says how to make it.

    Examples
    --------
    >>> from manyview.datasets import load_mnist_views
    >>> load_mnist_views()  # doctest: +SKIP
    Views(63000 samples; pixels: 784, gradients: 128, fourier: 60; 10 classes)
    """
    path = data_folder(data_home) / MNIST_FILE
    if not path.is_file():
        raise DatasetError(f"MNIST63k: {path} is not there. {HOW_TO_GET_MNIST}")
    with np.load(path) as file:
        pixels, labels = file["X"].astype(np.float32), file["y"].astype(int)
    parts = np.array_split(pixels.reshape(-1, 28, 28), max(len(pixels) // _AT_ONCE, 1))
    return Views(
        (
            pixels,
            np.concatenate([gradients(part, 8, 7, 7).astype(np.float32) for part in parts]),
            np.concatenate([fourier(part, 5).astype(np.float32) for part in parts]),
        ),
        names=("pixels", "gradients", "fourier"),
        labels=labels,
    )
