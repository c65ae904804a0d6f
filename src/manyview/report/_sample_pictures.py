"""Pictures of samples, as addresses inside a page: images that are given as arrays, and files."""

from __future__ import annotations

import base64
import importlib
import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from manyview._utils.text import shortened
from manyview.report._figure import png_address

_SIDE = 160  # pixels; larger pictures are scaled down
_MAX_ALL = 2_000_000  # bytes of all pictures on a page
_MAX_ONE = 60_000
_MIN_ONE = 4_000  # no picture is smaller than it has to be
_MAX_READ = 200_000_000  # bytes of a file that is opened at all
# What a file of each type begins with. Browsers show these, and none of them can hold a program.
_TYPES = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg", b"GIF8": "gif", b"RIFF": "webp"}


class SamplePictures:
    """Addresses of pictures by row; where there is none, the reason.

    Parameters
    ----------
    pictures : mapping of int to path or array
        From the row of a sample. Arrays have the shape (height, width) or (height, width, 3), and share one scale from
        zero, or the lowest value of all if that is negative, to the highest.
    """

    def __init__(self, pictures: Mapping[int, Any]) -> None:
        self._pictures = pictures
        arrays = [np.asarray(each) for each in pictures.values() if not isinstance(each, str | os.PathLike)]
        self._low = min([0.0, *(float(np.nanmin(each)) for each in arrays)])
        self._high = max([float(np.nanmax(each)) for each in arrays], default=1.0)
        self._most = int(np.clip(_MAX_ALL // max(len(pictures), 1), _MIN_ONE, _MAX_ONE))
        self._reasons: dict[int, str] = {}
        self._left = _MAX_ALL

    def address(self, row: int) -> str | None:
        """Return the picture of a sample as a ``data:`` address; None if there is none."""
        picture = self._pictures.get(row)
        if picture is None:
            return None
        is_file = isinstance(picture, str | os.PathLike)
        try:
            found = self._of_file(Path(picture)) if is_file else self._of_array(picture)
        except (OSError, ValueError) as error:
            reason = (isinstance(error, OSError) and error.strerror) or str(error)
            self._reasons[row] = shortened(f"{Path(picture).name}: {reason}" if is_file else reason, 200)
            return None
        if len(found) > self._left:
            self._reasons[row] = "the page would be too large"
            return None
        self._left -= len(found)
        return found

    def reason(self, row: int) -> str | None:
        """Return why a sample has no picture although one was given; None if it has, or none was given."""
        return self._reasons.get(row)

    def _of_array(self, picture: Any) -> str:
        image = np.nan_to_num(np.asarray(picture, dtype=np.float64), nan=self._low)
        step = -(-max(image.shape[:2]) // _SIDE)
        if step > 1:  # means of blocks of pixels
            height, width = (size // step * step for size in image.shape[:2])
            blocks = image[:height, :width].reshape(height // step, step, width // step, step, *image.shape[2:])
            image = blocks.mean(axis=(1, 3))
        shades = (image - self._low) / ((self._high - self._low) or 1.0)
        return png_address(np.rint(255 * shades.clip(0, 1)).astype(np.uint8))

    def _of_file(self, path: Path) -> str:
        size = path.stat().st_size
        if size > _MAX_READ:
            raise ValueError(f"the file has {size / 1e6:,.0f} MB")
        content = path.read_bytes()
        kind = next((kind for start, kind in _TYPES.items() if content.startswith(start)), None)
        if kind is not None and 4 * len(content) // 3 <= self._most:
            return f"data:image/{kind};base64," + base64.b64encode(content).decode()
        try:
            pillow = importlib.import_module("PIL.Image")
        except ImportError:
            if kind is None:
                raise ValueError("neither PNG, JPEG, GIF nor WebP; other formats need Pillow") from None
            raise ValueError("too large to embed; with Pillow installed it is scaled down") from None
        return self._scaled_down(pillow, content)

    def _scaled_down(self, pillow: Any, content: bytes) -> str:
        try:
            with pillow.open(io.BytesIO(content)) as opened:
                small = opened.convert("RGB")
        except Exception as error:  # damaged files make Pillow raise errors of many kinds
            raise ValueError("cannot be read as a picture") from error
        small.thumbnail((_SIDE, _SIDE))
        for quality in (85, 60, 30):
            file = io.BytesIO()
            small.save(file, "JPEG", quality=quality)
            if 4 * file.tell() // 3 <= self._most:
                break
        return "data:image/jpeg;base64," + base64.b64encode(file.getvalue()).decode()
