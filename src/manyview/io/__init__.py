"""Views from files, read or, if they are larger than memory, opened; and labels of many samples, written."""

from manyview.io._open import open_views
from manyview.io._read import read_views
from manyview.io._write import write_labels

__all__ = ["open_views", "read_views", "write_labels"]
