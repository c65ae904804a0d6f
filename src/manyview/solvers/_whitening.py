"""Views in coordinates in which they have no directions: principal components of equal variance."""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse as sp

# Wider views are replaced by the principal components that have this share of their variance.
_WIDE = 200
_VARIANCE = 0.99
# Variances below this, relative to the largest, are rounding; so are values below the other, relative to the mean.
_RANK = 1e-12
_ROUNDING = 1e-14


def principal_scores(view: np.ndarray | sp.csr_array) -> np.ndarray:
    """The centred view in the axes of its principal components, scaled to a total variance of 1.

    Of a view with more than 200 features, or more features than samples, those components are kept that have 99 % of
    the variance; of another, all that vary. A constant view has none.
    """
    n, d = view.shape
    mean = np.asarray(view.mean(axis=0)).ravel()
    centred = view - mean if isinstance(view, np.ndarray) else None
    if d <= n:
        cross = centred.T @ centred if centred is not None else (view.T @ view).toarray() - n * np.outer(mean, mean)
    elif centred is not None:
        cross = centred @ centred.T
    else:
        cross = (view @ view.T).toarray()
        cross = cross - cross.mean(axis=0)
        cross = cross - cross.mean(axis=1, keepdims=True)
    variances, axes = scipy.linalg.eigh(cross, check_finite=False)
    variances, axes = np.maximum(variances[::-1], 0.0), axes[:, ::-1]
    # What is left of a constant view after centring is rounding, and not a direction.
    total = variances.sum()
    rounding = _ROUNDING**2 if centred is not None else _ROUNDING  # squares are subtracted from each other
    floor = max(_RANK * variances[0], rounding * n * float(mean @ mean))
    kept = int(np.count_nonzero(variances > floor))
    if d > _WIDE or d > n:
        kept = min(kept, int(np.searchsorted(np.cumsum(variances), _VARIANCE * total)) + 1)
    if d > n:
        scores = axes[:, :kept] * np.sqrt(variances[:kept])
    else:
        scores = centred @ axes[:, :kept] if centred is not None else view @ axes[:, :kept] - mean @ axes[:, :kept]
    return scores / np.sqrt(total) if kept else np.zeros((n, 0))


def whiten(scores: np.ndarray, ridge: float, n_components: int) -> np.ndarray:
    """Coordinates in which ``S + δI`` is the identity divided by r, with δ = ``ridge`` times the mean variance.

    r is ``n_components``, or the number of coordinates if that is less: views with subspaces of different dimensions
    then have residuals of the same size.

    Components with a variance of δ or less are left out: the ridge would let them shrink to nothing, within clusters
    and between, and a subspace without any residual could be made of them.
    """
    variances = np.einsum("ij,ij->j", scores, scores)
    ridge = ridge * float(variances.mean()) if len(variances) else 0.0
    kept = variances > ridge
    r = min(n_components, int(kept.sum()))
    return scores[:, kept] / np.sqrt(r * (variances[kept] + ridge))
