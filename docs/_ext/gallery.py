"""The order of the gallery: that in which a user's questions come up."""

from __future__ import annotations

from pathlib import Path

ORDER = (
    "images",
    "text",
    "embeddings",
    "describe",
    "omics",
    "cells",
    "missing",
    "n_clusters",
    "big",
    "order",
    "own_method",
)
"""Examples by file name, ``plot_NAME.py``."""


class ByQuestion:
    """Sort key for sphinx-gallery; an example that is not in :data:`ORDER` is an error."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, file: str) -> int:
        """Return the position of a file."""
        name = Path(file).stem.removeprefix("plot_")
        if name not in ORDER:
            raise ValueError(f"{self.folder}: add {name!r} to ORDER in docs/_ext/gallery.py.")
        return ORDER.index(name)
