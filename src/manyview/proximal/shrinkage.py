"""Shrinkage operators: each docstring states the problem that the function solves exactly."""

from __future__ import annotations

import numpy as np

from manyview._utils.compiled import njit

_LANES = 64


def soft_threshold(x: np.ndarray, threshold: float | np.ndarray) -> np.ndarray:
    """Return ``argmin_z ½(z - x)² + threshold·|z|``, elementwise.

    Parameters
    ----------
    x : ndarray
    threshold : float or ndarray
        Not negative; broadcast against ``x``.

    Examples
    --------
    >>> import numpy as np
    >>> soft_threshold(np.array([3.0, -0.5]), 1.0)
    array([ 2., -0.])
    """
    return np.sign(x) * np.maximum(np.abs(x) - threshold, 0.0)


def prox_lp(x: np.ndarray, threshold: float | np.ndarray, p: float, *, sweeps: int | None = None) -> np.ndarray:
    """Return ``argmin_z ½(z - x)² + threshold·|z|^p`` for ``0 < p <= 1``, elementwise (generalised soft threshold).

    Below ``t₀ + λp·t₀^(p-1)`` with ``t₀ = (2λ(1-p))^(1/(2-p))`` the minimum is at 0. Above it, at the larger root of
    ``t - |x| + λp·t^(p-1) = 0``.

    Parameters
    ----------
    x : ndarray
    threshold : float or ndarray
        λ, not negative; broadcast against ``x``.
    p : float
        The exponent.
    sweeps : int, optional
        Find the root by that many fixed-point sweeps from ``|x|``, which leaves an error of up to 4 % just above the
        cut (p = 0.9, four sweeps, as in the published program). Default: Newton's method to full accuracy.

    Examples
    --------
    >>> import numpy as np
    >>> prox_lp(np.array([2.0, -2.0, 1.4]), 1.0, 0.5).round(5)
    array([ 1.60538, -1.60538,  0.     ])
    """
    if p == 1:
        return soft_threshold(x, threshold)
    magnitude, lam = np.broadcast_arrays(np.abs(x).astype(np.float64), np.asarray(threshold, dtype=np.float64))
    t0 = (2 * lam * (1 - p)) ** (1 / (2 - p))
    with np.errstate(divide="ignore", invalid="ignore"):  # λ = 0 gives 0·inf, but then nothing is shrunk
        cut = np.where(lam > 0, t0 + lam * p * t0 ** (p - 1), 0.0)
    alive = magnitude > cut
    y, lam = magnitude[alive], lam[alive]
    t = y.copy()
    if sweeps is not None:
        for _ in range(sweeps):
            t = y - lam * p * t ** (p - 1)
    else:
        # g(t) = t - y + λp·t^(p-1) is convex and increases right of the root, so Newton's steps from y fall
        # monotonically onto it; twelve reach rounding error even at the cut.
        for _ in range(12):
            slope = 1 - lam * p * (1 - p) * t ** (p - 2)
            t = t - (t - y + lam * p * t ** (p - 1)) / slope
    shrunk = np.zeros(magnitude.shape)
    shrunk[alive] = t
    return np.sign(x) * shrunk


@njit(nogil=True, cache=True, error_model="numpy")
def squared_l12_threshold(values: np.ndarray, weight: float) -> float:
    """Return the θ of :func:`prox_squared_l12` for one column: the root of ``θ = weight·Σ(|values| - θ)₊``.

    Newton's method on a convex, piecewise linear function: θ rises from 0 and the set of entries above it shrinks,
    until it does not change; then θ is exact.
    """
    # Sums are kept in lanes, so that the loops compile to vector instructions and add up in a fixed order.
    masses, counts = np.empty(_LANES), np.empty(_LANES)
    whole = values.size - values.size % _LANES
    theta, before = 0.0, values.size + 1.0
    while True:
        masses[:] = 0.0
        counts[:] = 0.0
        for start in range(0, whole, _LANES):
            for i in range(_LANES):
                size = abs(values[start + i])
                masses[i] += size if size > theta else 0.0
                counts[i] += 1.0 if size > theta else 0.0
        for i in range(whole, values.size):
            size = abs(values[i])
            masses[i - whole] += size if size > theta else 0.0
            counts[i - whole] += 1.0 if size > theta else 0.0
        count = counts.sum()
        if not count < before:
            return theta
        theta, before = weight * masses.sum() / (1.0 + weight * count), count


@njit(nogil=True, cache=True)
def squared_l12_thresholds(e: np.ndarray, weight: float) -> np.ndarray:
    """Return the :func:`squared_l12_threshold` of every column of ``e``."""
    theta = np.empty(e.shape[1])
    for j in range(e.shape[1]):
        theta[j] = squared_l12_threshold(np.ascontiguousarray(e[:, j]), weight)
    return theta


def prox_squared_l12(e: np.ndarray, weight: float) -> np.ndarray:
    """Return ``argmin_X |X - E|²_F + weight·Σ_j (Σ_i |X_ij|)²``, column by column (note: no ½).

    Every column is soft-thresholded at its own level (the exclusive lasso). On a row-stochastic matrix it evens
    out the sums of the columns, that is the use of the anchors.

    Parameters
    ----------
    e : ndarray of shape (n, m)
    weight : float
        Not negative.

    Examples
    --------
    >>> import numpy as np
    >>> prox_squared_l12(np.array([[3.0], [1.0]]), 0.5).ravel()
    array([2., 0.])
    """
    e = np.ascontiguousarray(e, dtype=np.float64)
    return soft_threshold(e, squared_l12_thresholds(e, float(weight)))


def prox_l21(w: np.ndarray, threshold: float) -> np.ndarray:
    """Return ``argmin_E ½|E - W|²_F + threshold·Σ_j |E_:j|₂``: columns are shortened, short ones become 0.

    Parameters
    ----------
    w : ndarray of shape (n, m)
    threshold : float
        Not negative.

    Examples
    --------
    >>> import numpy as np
    >>> prox_l21(np.array([[3.0, 0.1], [4.0, 0.0]]), 1.0)
    array([[2.4, 0. ],
           [3.2, 0. ]])
    """
    length = np.linalg.norm(w, axis=0)
    keep = np.divide(np.maximum(length - threshold, 0.0), length, out=np.zeros_like(length), where=length > 0)
    return w * keep
