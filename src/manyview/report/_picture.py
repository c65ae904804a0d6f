"""Matrices as small images that stand in the page itself."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence

import numpy as np

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_WITH_PALETTE = 3


def picture_address(image: Sequence[Sequence[float]] | np.ndarray) -> str:
    """A matrix of weights as the address of a PNG image: zero is clear, the largest are black.

    The image has one colour and all degrees of opacity, so it fits light pages, and dark ones when inverted.

    Parameters
    ----------
    image : array-like of shape (rows, columns)
        Weights; those below zero and missing ones count as zero.

    Returns
    -------
    str
        A ``data:`` address.

    Examples
    --------
    >>> picture_address([[0, 1], [0.5, 0]])[:30]
    'data:image/png;base64,iVBORw0K'
    """
    weights = np.nan_to_num(np.atleast_2d(np.asarray(image, dtype=np.float64))).clip(min=0)
    largest = np.quantile(weights[weights > 0], 0.99) if weights.any() else 1.0  # a few strong edges hide no others
    opacity = np.rint(255 * np.sqrt(np.minimum(weights / largest, 1))).astype(np.uint8)
    height, width = opacity.shape
    lines = np.column_stack([np.zeros(height, np.uint8), opacity])  # each begins with its filter: none
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, _WITH_PALETTE, 0, 0, 0)),
        (b"PLTE", bytes(3 * 256)),
        (b"tRNS", bytes(range(256))),
        (b"IDAT", zlib.compress(lines.tobytes(), 9)),
        (b"IEND", b""),
    )
    png = _SIGNATURE + b"".join(_chunk(name, data) for name, data in chunks)
    return "data:image/png;base64," + base64.b64encode(png).decode()


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
