"""Building blocks of figures: axes, marks, and matrices as valid images with the weights as opacity."""

from __future__ import annotations

import base64
import io

import matplotlib.image
import numpy as np
import pytest

from manyview.report._figure import logarithmic, marker, picture_address


def opacity(image) -> np.ndarray:
    """The picture as another program reads it; all its points are black."""
    kind, data = picture_address(image).split(",")
    assert kind == "data:image/png;base64"
    pixels = matplotlib.image.imread(io.BytesIO(base64.b64decode(data)), format="png")
    assert not pixels[..., :3].any()
    return pixels[..., 3]


def test_weights_are_opacity():
    assert opacity([[0, 0.25, 1], [0, 1, 0]]) == pytest.approx(np.array([[0, 0.5, 1], [0, 1, 0]]), abs=0.01)


def test_a_few_strong_weights_do_not_hide_the_others():
    image = np.full((50, 50), 0.1)
    image[0, 0] = 1000
    assert opacity(image).min() == 1


@pytest.mark.parametrize("image", [np.zeros((2, 3)), np.full((2, 3), np.nan), np.full((2, 3), -1.0)])
def test_nothing_is_clear(image):
    assert opacity(image) == pytest.approx(np.zeros((2, 3)))


@pytest.mark.parametrize("values", [[1.1, 1.3], [0.9, 1.9], [0.2, 8], [1e-3, 1e5], [3], [7], []])
def test_logarithmic_axes_have_a_few_ticks(values):
    axis = logarithmic(values)
    low, high = axis["range"]
    inside = [tick for tick in axis["tickvals"] if 10**low <= tick <= 10**high]
    assert 1 <= len(inside) <= 12
    assert all(10**low < value < 10**high for value in values)


def test_ninety_things_look_different():
    assert len({tuple(marker(i).values()) for i in range(90)}) == 90
