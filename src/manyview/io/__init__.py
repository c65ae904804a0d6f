"""Views from files: MATLAB, NumPy, Matrix Market and tables are read, larger than memory files are opened."""

from manyview.io._open import open_views
from manyview.io._read import read_views

__all__ = ["open_views", "read_views"]
