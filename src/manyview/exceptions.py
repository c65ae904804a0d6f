"""Errors and warnings of manyview.

Every error is also the built-in exception that a caller would expect (``ValueError``, ``OSError``, ...), so that
``except ValueError`` keeps working. Invalid *parameters* raise scikit-learn's ``InvalidParameterError``, a
``ValueError`` too, like every scikit-learn estimator.
"""

from __future__ import annotations

import sys
import warnings

from manyview._utils.text import one_line

_INTERNAL = ("manyview", "sklearn")


class _SafeMessage(Exception):
    """Error whose message is one line without control characters: names and values from files may contain any."""

    def __str__(self) -> str:
        return one_line(super().__str__())


class ViewsError(_SafeMessage, ValueError):
    """The views cannot be clustered as given; the message names the view and what was found in it."""


class FileFormatError(_SafeMessage, ValueError):
    """A file is damaged, of another format or ambiguous; the message names the file and what was found in it."""


class ModelFileError(_SafeMessage, ValueError):
    """A model cannot be saved, or a file is not a model that can be loaded; the message says what was found."""


class StoreError(_SafeMessage, ValueError):
    """A file is not a store of experiments, is in use, or holds results on other data; the message says which."""


class DatasetError(_SafeMessage, OSError):
    """A named dataset is not in the cache and cannot be downloaded, or its checksum is wrong."""


class SpecError(_SafeMessage, ValueError):
    """The specification of an experiment is invalid; the message names the file, the table and the key."""


class PlotError(_SafeMessage, ValueError):
    """There is nothing to draw, or it cannot be drawn; the message says what is missing and which methods have it."""


class MissingDependencyError(ImportError):
    """An optional dependency of manyview is not installed; the message says how to install it."""


class EngineError(_SafeMessage, RuntimeError):
    """The workers are gone or cannot continue; the message says what happened and what to do."""


class OrderDependenceWarning(UserWarning):
    """The result of this method changes when the same samples are given in another order."""


class ClusterCountWarning(UserWarning):
    """The evidence for the automatically chosen number of clusters is weak."""


class OrientationWarning(UserWarning):
    """A file had features in rows and was transposed automatically; the message names it."""


class ClassColumnWarning(UserWarning):
    """A column that is named like known classes, with few whole numbers, counts as a feature; the message names it."""


class UnlikeFitWarning(UserWarning):
    """New samples are far from all fitted ones, as in other units; the message names the view."""


class ReducedNeighborsWarning(UserWarning):
    """There are too few anchors or other samples for ``n_neighbors``; a smaller number was used."""


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the line of the user's code that called into the package, at any depth."""
    level = 2
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _INTERNAL:
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)
