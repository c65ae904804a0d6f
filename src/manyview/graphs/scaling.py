"""Bringing the features of a view to a common scale. :data:`SCALERS` lists the ways by name."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from manyview.views import Array


def scale_max(view: Array) -> Array:
    """Divide by the largest value, as the authors do (by the largest magnitude if no value is positive)."""
    largest = float(view.max())
    return view / (largest if largest > 0 else -float(view.min()) or 1.0)


def scale_unit_rows(view: Array) -> Array:
    """Divide every sample by its Euclidean length; a zero row stays zero."""
    if isinstance(view, np.ndarray):
        length = np.linalg.norm(view, axis=1, keepdims=True)
        return np.divide(view, length, out=np.zeros_like(view), where=length > 0)
    length = np.repeat(np.sqrt(np.asarray(view.multiply(view).sum(axis=1)).ravel()), np.diff(view.indptr))
    data = np.divide(view.data, length, out=np.zeros_like(view.data), where=length > 0)
    return sp.csr_array((data, view.indices, view.indptr), shape=view.shape)


def scale_none(view: Array) -> Array:
    """Leave the view as it is."""
    return view


SCALERS: dict[str, Callable[[Array], Array]] = {"max": scale_max, "unit": scale_unit_rows, "none": scale_none}
