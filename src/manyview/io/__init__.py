"""Reading views from files: MATLAB, NumPy, Matrix Market, and tables with one file per view."""

from manyview.io._read import read_views

__all__ = ["read_views"]
