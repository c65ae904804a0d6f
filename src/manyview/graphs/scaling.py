"""Scaling of the features of a view. :data:`SCALERS` lists the methods by name, :data:`SCALINGS` describes them.

:func:`explain_scaling` chooses one from the values of a view alone. Parameters that depend on the whole view, such as
its centre, are arguments: by default they are computed from the view itself, and :class:`Scaling` keeps them for new
samples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from manyview.views import Array

# A view is a table of counts (words, k-mers, events) if more than half of it is zero and it has more features than
# this, unless these are pixels.
_COUNT_FEATURES = 200
# Pixels are bounded: more than this share of the varying columns come within 5 % of the largest value of all. In ten
# text datasets at most 3 % of the words do, in images of digits 70 % of the pixels.
_PIXELS_AT_LARGEST = 0.5
_NEAR_LARGEST = 0.95
# And the correlation of neighbouring columns is above this: at least 0.5 in images of digits, at most 0.33 in texts,
# also if columns are divided by their largest values or only mark which words occur.
_PIXEL_CORRELATION = 0.45
# Rows are shares of a whole (histograms, compositions) if the relative deviation of their sums is below this, and the
# variance of the sums is below this share of that of independent features.
_SHARES = 0.01
# Deviations from the mean below this, relative to the values, are rounding.
_ROUNDING = 1e-12
# With fewer effective dimensions, the length of a row is as informative as its direction, unless one feature has nearly
# all of the variance, as in tables of mixed units. Directions then keep it from dominating the others.
_FLAT_DIMENSIONS = 3.0
_DOMINANT = 0.99
_SKETCH = 64


def largest_value(view: Array) -> np.ndarray:
    """Return the largest value (the largest magnitude if no value is positive), never 0."""
    largest = float(view.max())
    return np.array(largest if largest > 0 else -float(view.min()) or 1.0)


def scale_max(view: Array, largest: np.ndarray | None = None) -> Array:
    """Divide by the largest value, as the authors do."""
    return view / float(largest_value(view) if largest is None else largest)


def row_lengths(view: Array) -> np.ndarray:
    """Return the Euclidean length of every sample, in double precision, as squares may overflow single precision."""
    if isinstance(view, np.ndarray):
        return np.sqrt(np.add.reduce(np.square(view, dtype=np.float64), axis=1))
    view = view.astype(np.float64, copy=False)
    return np.sqrt(np.asarray(view.multiply(view).sum(axis=1)).ravel())


def scale_unit_rows(view: Array) -> Array:
    """Divide every sample by its Euclidean length; a zero row stays zero."""
    length = row_lengths(view)
    if isinstance(view, np.ndarray):
        length[length == 0] = 1.0
        return np.divide(view, length[:, None], out=np.empty_like(view))
    length = np.repeat(length, np.diff(view.indptr))
    data = np.divide(view.data, length, out=np.zeros_like(view.data), where=length > 0)
    return sp.csr_array((data, view.indices, view.indptr), shape=view.shape)


def scale_none(view: Array) -> Array:
    """Leave the view as it is."""
    return view


def _logarithms(view: Array) -> sp.csr_array:
    table = sp.csr_array(view, copy=True)
    table.data = np.sign(table.data) * np.log1p(np.abs(table.data))
    table.eliminate_zeros()
    return table


def inverse_frequencies(view: Array) -> np.ndarray:
    """Return ``log(n/df) + 1`` for every feature, where df is the number of samples that have it, at least 1."""
    table = _logarithms(view)
    having = np.bincount(table.indices, minlength=table.shape[1])
    return np.log(table.shape[0] / np.maximum(having, 1)) + 1


def scale_counts(view: Array, frequencies: np.ndarray | None = None) -> sp.csr_array:
    """Scale counts as in text retrieval: ``sign(x)·log(1 + |x|)·(log(n/df) + 1)``, then unit rows; sparse.

    The logarithm keeps one frequent word from dominating the others, and :func:`inverse_frequencies` lower the weight
    of features that all samples have.
    """
    table = _logarithms(view)
    table.data *= (inverse_frequencies(view) if frequencies is None else frequencies)[table.indices]
    return scale_unit_rows(table)


def _dense(view: Array) -> np.ndarray:
    """Return the view dense and in double precision; float32 stays float32."""
    dense = view if isinstance(view, np.ndarray) else view.toarray()
    return dense if dense.dtype == np.float32 else dense.astype(np.float64, copy=False)


def _less(view: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Subtract the centre; float32 stays float32."""
    return view - centre.astype(view.dtype, copy=False)


def plain_centre(view: Array) -> np.ndarray:
    """Return the mean of every feature."""
    return _dense(view).mean(axis=0, dtype=np.float64)


def scale_centered(view: Array, centre: np.ndarray | None = None) -> np.ndarray:
    """Subtract the mean of every feature."""
    return _less(_dense(view), plain_centre(view) if centre is None else centre)


def balanced_centre(view: Array) -> np.ndarray:
    """Return a mean weighted by the squared distance from the plain mean, up to twice the median distance.

    If most samples are in one cluster, the plain mean is in it too, and the directions of its samples are arbitrary.
    """
    dense = _dense(view).astype(np.float64, copy=False)
    distance = np.linalg.norm(dense - dense.mean(axis=0), axis=1)
    most = 2 * np.median(distance)
    unit = 2.0 ** np.frexp(most)[1]  # a power of two changes no digit; it prevents overflow below
    weights = (np.minimum(distance, most) / unit) ** 2
    return weights @ dense / weights.sum() if weights.any() else dense.mean(axis=0)


def scale_directions(view: Array, centre: np.ndarray | None = None) -> np.ndarray:
    """Subtract the balanced centre, then divide every sample by its length."""
    return scale_unit_rows(_less(_dense(view), balanced_centre(view) if centre is None else centre))


def _roots(view: Array) -> np.ndarray:
    return np.sqrt(np.maximum(_dense(view), 0))


def scale_shares(view: Array, centre: np.ndarray | None = None) -> np.ndarray:
    """Take square roots, for Hellinger distances between distributions; then as :func:`scale_directions`."""
    return scale_directions(_roots(view), centre)


def column_moments(view: Array) -> np.ndarray:
    """Return what :func:`scale_standardized` subtracts from and divides the features by, of shape (2, d).

    These are mean and standard deviation. The deviation of a constant feature is replaced by 1. The means of a sparse
    view are replaced by 0.
    """
    n = view.shape[0]
    if isinstance(view, np.ndarray):
        low, high = view.min(axis=0).astype(np.float64), view.max(axis=0).astype(np.float64)
        means = np.where(low == high, low, plain_centre(view))  # so that a constant becomes exactly 0
        spread, centre = view.std(axis=0, dtype=np.float64), means
        largest = np.maximum(np.abs(low), np.abs(high))
    else:
        d = view.shape[1]
        data, stored = view.data.astype(np.float64, copy=False), np.bincount(view.indices, minlength=d)
        means = np.bincount(view.indices, weights=data, minlength=d) / n
        apart = np.bincount(view.indices, weights=np.square(data - means[view.indices]), minlength=d)
        spread, centre = np.sqrt((apart + (n - stored) * np.square(means)) / n), np.zeros(d)
        largest = np.asarray(abs(view).max(axis=0).todense(), dtype=np.float64).ravel()
    return np.stack([centre, np.where(spread > _ROUNDING * largest, spread, 1.0)])


def scale_standardized(view: Array, moments: np.ndarray | None = None) -> Array:
    """Subtract the mean of every feature and divide by its standard deviation, as scikit-learn's ``StandardScaler``.

    A constant feature becomes 0. A sparse view is divided by the standard deviations only, so that it stays sparse,
    as with ``StandardScaler(with_mean=False)``; samples that come later are treated as those of the fit.
    """
    centre, spread = column_moments(view) if moments is None else moments
    if isinstance(view, np.ndarray) or centre.any():
        dense = _less(_dense(view), centre)
        return dense / spread.astype(dense.dtype, copy=False)
    data = view.data if view.dtype == np.float32 else view.data.astype(np.float64, copy=False)
    data = data / spread[view.indices].astype(data.dtype, copy=False)
    return sp.csr_array((data, view.indices, view.indptr), shape=view.shape)


def scale_row_standardized(view: Array) -> np.ndarray:
    """Subtract from every sample the mean of its own features and divide by their standard deviation.

    A sample whose features are all equal becomes zero. A view with one feature is left as it is.
    """
    given = _dense(view)
    if given.shape[1] == 1:
        return given
    dense = given.astype(np.float64, copy=False)
    centred = dense - dense.mean(axis=1, keepdims=True)
    spread = dense.std(axis=1, ddof=1, keepdims=True)
    flat = spread <= _ROUNDING * np.abs(dense).max(axis=1, keepdims=True)
    return np.divide(centred, spread, out=np.zeros_like(centred), where=~flat).astype(given.dtype, copy=False)


SCALERS: dict[str, Callable[..., Array]] = {
    "max": scale_max,
    "unit": scale_unit_rows,
    "none": scale_none,
    "counts": scale_counts,
    "shares": scale_shares,
    "directions": scale_directions,
    "centered": scale_centered,
    "standardized": scale_standardized,
    "row-standardized": scale_row_standardized,
}
"""Scalings by name: functions of a view, and of what was learned from it."""
# Functions that compute the parameters of scalers from the whole view.
_LEARNED: dict[str, Callable[[Array], np.ndarray]] = {
    "max": largest_value,
    "counts": inverse_frequencies,
    "shares": lambda view: balanced_centre(_roots(view)),
    "directions": balanced_centre,
    "centered": plain_centre,
    "standardized": column_moments,
}


@dataclass(frozen=True)
class Scaling:
    """A scaler with its parameters learned from a view, and the divisor for a total variance of 1."""

    name: str
    learned: tuple[np.ndarray, ...]
    divisor: float
    sparse: bool

    def __post_init__(self) -> None:
        if self.name in _LEARNED and not self.learned:
            raise ValueError(
                f"the scaling {self.name!r} has no parameters learned in a fit. In files of earlier versions "
                "'standardized' is what is called 'row-standardized' now: fit the model again."
            )

    def apply(self, view: Array) -> Array:
        """Return the samples of the view, of the fit or new, scaled."""
        scaled = SCALERS[self.name](view, *self.learned) / self.divisor
        return sp.csr_array(scaled) if self.sparse else _dense(scaled)


def learn_scaling(view: Array, name: str) -> tuple[Scaling, Array]:
    """Learn a scaling of the view, chosen by its values if the name is "auto"; return it and the scaled view.

    Parameters
    ----------
    view : array of shape (n, d)
    name : str
        One of :data:`SCALERS`, or "auto".
    """
    name = choose_scaling(view) if name == "auto" else name
    learned = (_LEARNED[name](view),) if name in _LEARNED else ()
    scaled = SCALERS[name](view, *learned)
    divisor = total_deviation(scaled)
    return Scaling(name, learned, divisor, sp.issparse(scaled)), scaled / divisor


class ChosenScaling(NamedTuple):
    """A scaling that was chosen by the values of a view, and the reason."""

    name: str
    reason: str


def choose_scaling(view: Array) -> str:
    """Return the name of the scaler that suits the values of a view.

    - ``"counts"``: more than half zeros and more than 200 features, unless these are pixels: non-negative, more than
      half of the varying columns come within 5 % of the largest value of all, and the correlation of neighbouring
      columns is above 0.45.
    - ``"shares"``: non-negative, and all rows have the same sum, up to 1 % of it and of what independent features give.
    - ``"centered"``: fewer than three effective dimensions (participation ratio of the covariance), unless one of
      several features has 99 % of the variance.
    - ``"directions"``: everything else.

    Parameters
    ----------
    view : array of shape (n, d)
        Dense or sparse.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> choose_scaling(rng.dirichlet(np.ones(8), 50)), choose_scaling(rng.normal(size=(50, 8)))
    ('shares', 'directions')
    """
    return explain_scaling(view).name


def explain_scaling(view: Array) -> ChosenScaling:
    """Return the scaling that :func:`manyview.graphs.choose_scaling` chooses for a view, and the reason.

    Parameters
    ----------
    view : array of shape (n, d)
        Dense or sparse.

    Returns
    -------
    ChosenScaling
        ``name``, one of :data:`SCALERS`, and ``reason``, a line of text.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.graphs import explain_scaling
    >>> explain_scaling(np.random.default_rng(0).poisson(0.05, size=(100, 500)))
    ChosenScaling(name='counts', reason='95% zeros, whole numbers, 500 columns')
    """
    n, d = view.shape
    stored = view if isinstance(view, np.ndarray) else view.data
    filled = int(np.count_nonzero(stored))
    before = ""
    if filled < n * d / 2 and d > _COUNT_FEATURES:
        zeros = f"{_percent(1 - filled / (n * d))} zeros"
        largest = _largest_pixel(view)
        if largest is None:
            whole = "whole numbers" if np.array_equal(stored, np.round(stored)) else "fractions"
            return ChosenScaling("counts", f"{zeros}, {whole}, {d:,} columns")
        before = f"{zeros}, but pixels: neighbouring columns are alike and most reach {largest:.4g}; "
    dense = _dense(view).astype(np.float64, copy=False)
    sums = dense.sum(axis=1)
    even = sums.std() < _SHARES * sums.mean() and sums.var() < _SHARES * dense.var(axis=0).sum()
    if dense.min() >= 0 and even:
        return ChosenScaling("shares", f"{before}no value below 0, and all rows have the same sum")
    variances = dense.var(axis=0)
    if d > 1 and variances.max() > _DOMINANT * variances.sum():
        return ChosenScaling("directions", f"{before}one column has more than 99% of the variance")
    dimensions = effective_dimensions(dense)
    if dimensions < _FLAT_DIMENSIONS:
        return ChosenScaling("centered", f"{before}{dimensions:.1f} effective dimensions, fewer than 3")
    return ChosenScaling("directions", f"{before}{dimensions:.0f} effective dimensions, neither counts nor shares")


def _percent(share: float) -> str:
    """Format a share in percent; 100 only if it is exactly 1."""
    percent = 100 * share
    return f"{min(percent, 99.9):.1f}%" if 99 < percent < 100 else f"{percent:.0f}%"


def _largest_pixel(view: Array) -> float | None:
    """Return the largest value if the view looks like pixels of images, else None."""
    table = sp.csc_array(view).astype(np.float64, copy=False)
    low, high = (np.asarray(extreme.todense()).ravel() for extreme in (table.min(axis=0), table.max(axis=0)))
    varying, largest = high > low, float(high.max())
    if low.min() < 0 or not varying.any():
        return None
    if np.mean(high[varying] >= _NEAR_LARGEST * largest) <= _PIXELS_AT_LARGEST:
        return None
    return largest if _neighbour_correlation(table / largest) > _PIXEL_CORRELATION else None


def _neighbour_correlation(table: sp.csc_array) -> float:
    """Return the covariance of neighbouring columns, relative to that of proportional columns."""
    mean = np.asarray(table.mean(axis=0)).ravel()
    spread = np.sqrt(np.maximum(np.asarray(table.multiply(table).mean(axis=0)).ravel() - mean**2, 0))
    products = np.asarray(table[:, :-1].multiply(table[:, 1:]).mean(axis=0)).ravel()
    most = float(spread[:-1] @ spread[1:])
    return float(products.sum() - mean[:-1] @ mean[1:]) / most if most > 0 else 0.0


def effective_dimensions(view: Array) -> float:
    """Return the participation ratio ``(Σλ)²/Σλ²`` of the covariance, from a random sketch if the view is wide."""
    if view.shape[1] > _SKETCH:
        sketch = np.asarray(view @ np.random.default_rng(0).standard_normal((view.shape[1], _SKETCH)))
    else:
        sketch = _dense(view)
    centred = sketch - sketch.mean(axis=0)
    scale = np.abs(centred).max(initial=0.0)
    if scale <= _ROUNDING * np.abs(sketch).max(initial=0.0):
        return 0.0
    covariance = (centred / scale).T @ (centred / scale)
    return float(np.trace(covariance) ** 2 / np.sum(covariance**2))


def total_deviation(view: Array) -> float:
    """Return the square root of the sum of the variances of the features; 1 if they are constant."""
    view = view.astype(np.float64, copy=False)
    if isinstance(view, np.ndarray):
        squares, variance = float(np.square(view).mean(axis=0).sum()), float(view.var(axis=0).sum())
        rounding = _ROUNDING**2
    else:
        mean = np.asarray(view.mean(axis=0)).ravel()
        squares = float(view.multiply(view).sum()) / view.shape[0]
        variance, rounding = squares - float(mean @ mean), _ROUNDING
    return float(np.sqrt(variance)) if variance > rounding * squares else 1.0


def unit_variance(view: Array) -> Array:
    """Divide so that the variances of the features sum to 1, which makes views comparable; constants stay.

    Parameters
    ----------
    view : array of shape (n, d)
    """
    return view / total_deviation(view)
