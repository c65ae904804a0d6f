"""Weights of views that follow from taking roots: ``Σ_v √t_v`` instead of ``Σ_v t_v``.

The root is concave, so its tangent at the current t is above it, and a step that lowers ``Σ_v w_v t_v`` with the slopes
``w_v = 1/(2√t_v)`` lowers ``Σ_v √t_v`` too. The weights are these slopes and need not be chosen. For residuals
``r_v = |A_v|_F``, t_v is the square of r_v and the slope is ``1/(2r_v)``.

At t = 0 the slope is infinite. Below a small floor ε the root is therefore replaced by its tangent at ε. The result is
concave as well, so the argument still holds, and weights are at most ``1/(2√ε)``.
"""

from __future__ import annotations

import numpy as np


def root_weights(squares: np.ndarray, floor: np.ndarray | float) -> np.ndarray:
    """Return ``1/(2√max(t, ε))``, the slopes of :func:`roots`."""
    return 0.5 / np.sqrt(np.maximum(squares, floor))


def roots(squares: np.ndarray, floor: np.ndarray | float) -> np.ndarray:
    """Return ``√t`` above the floor ε, and ``(t + ε)/(2√ε)`` below."""
    return np.where(squares >= floor, np.sqrt(np.maximum(squares, floor)), (squares + floor) / (2 * np.sqrt(floor)))


def shares(weights: np.ndarray) -> np.ndarray:
    """Return the weights divided by their sum; equal ones if all are 0."""
    total = weights.sum()
    return weights / total if total > 0 else np.full(len(weights), 1 / len(weights))
