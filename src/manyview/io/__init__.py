"""Views from files: reading MATLAB, NumPy, Matrix Market and tables; opening what is larger than memory."""

from manyview.io._open import open_views
from manyview.io._read import read_views

__all__ = ["open_views", "read_views"]
