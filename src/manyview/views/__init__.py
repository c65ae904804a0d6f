"""Views: several descriptions of the same samples, and their checks.

A *view* is a 2-D array with one row per sample. All views of a dataset have the same rows in the same order and
their own columns. :class:`Views` holds them with their names; :func:`check_views` turns what users have (lists,
dicts, data frames, sparse matrices, MuData, one wide array) into clean ``float64`` views, or raises an error that names
the view and the problem. A sample may have missing views: ``present`` says which it has.
"""

from manyview.views.checks import Array, check_views
from manyview.views.container import Reading, Views

__all__ = ["Array", "Reading", "Views", "check_views"]
