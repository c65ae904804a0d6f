"""Errors and warnings of manyview.

Every error is also the built-in exception that a caller would expect (``ValueError``, ``OSError``, ...), so that
``except ValueError`` keeps working. Invalid *parameters* raise scikit-learn's ``InvalidParameterError``, a
``ValueError`` too, like every scikit-learn estimator.
"""

from __future__ import annotations

import sys
import warnings

from manyview._utils.text import one_line

_OURS = ("manyview", "sklearn")


class _Told(Exception):
    """Tells names and values from files, which may be anything: on one line, nothing in it commands a terminal."""

    def __str__(self) -> str:
        return one_line(super().__str__())


class ViewsError(_Told, ValueError):
    """The views cannot be clustered as given; the text names the view and what was found in it."""


class FileFormatError(_Told, ValueError):
    """A file is damaged, foreign or ambiguous; the text names the file and what was found in it."""


class ModelFileError(_Told, ValueError):
    """A model cannot be kept in a file, or a file is no model that can be loaded; the text says what was found."""


class StoreError(_Told, ValueError):
    """A file is no store of experiments, is in use, or holds results on other data; the text says which."""


class DatasetError(_Told, OSError):
    """A named dataset is neither in the cache nor to be had, or its checksum is wrong."""


class SpecError(_Told, ValueError):
    """An experiment is not described as it should be; the text names the file, the table and the key."""


class PlotError(_Told, ValueError):
    """There is nothing to draw, or it cannot be drawn; the text says what is missing and what has it."""


class MissingDependencyError(ImportError):
    """An optional part of manyview was asked for; the text says how to install it."""


class EngineError(_Told, RuntimeError):
    """The machines that do the work are gone, or cannot go on; the text says what happened and what to do."""


class OrderDependenceWarning(UserWarning):
    """The result of this method changes when the same samples are given in another order."""


class ClusterCountWarning(UserWarning):
    """The number of clusters was to be found, but the evidence for the one that was taken is weak."""


class OrientationWarning(UserWarning):
    """A file had features in rows and was transposed without being told; the text names it."""


class ReducedNeighborsWarning(UserWarning):
    """There are too few anchors or other samples for ``n_neighbors``; a smaller number was used."""


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the line of the user's code that led here, however deep in the package the reason was found."""
    level = 2
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _OURS:
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)
