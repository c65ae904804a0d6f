"""Generated multi-view data with known clusters, views of pure noise, and views removed from samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from sklearn.utils import check_random_state

from manyview.views import Views, check_views

Shape = Callable[[np.ndarray, int, np.random.RandomState], np.ndarray]
"""Maps the cluster of each sample, the number of clusters and a random state to the true positions of the samples."""

_DECIMALS = 8  # processors differ in later ones


def rounded(values: np.ndarray) -> np.ndarray:
    """Round values so that computed data have the same bits on every machine.

    Methods whose random draws depend on the content of the samples would otherwise draw differently.
    """
    return np.round(values, _DECIMALS)


def make_multiview(
    n_samples: int = 300,
    n_clusters: int = 3,
    *,
    shape: str = "blobs",
    n_views: int = 3,
    n_noise_views: int = 0,
    n_features: int | Sequence[int] = 10,
    noise: float = 0.1,
    sizes: Sequence[float] | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> Views:
    """Generate samples in clusters, described by several views.

    Every sample has one true position. Each informative view maps these positions by a random rotation (for blobs with
    more clusters than features: a random projection) and adds independent noise. A noise view is drawn independently of
    the clusters, on the scale of the informative ones. Rows are shuffled.

    Parameters
    ----------
    n_samples : int, default=300
        Number of rows.
    n_clusters : int, default=3
        Number of clusters, none of them empty.
    shape : {"blobs", "rings", "moons"}, default="blobs"
        ``"blobs"``: round clouds with centres at distance 1 from each other. ``"rings"``: circles around one
        centre with radii 1, 2, 3, ... ``"moons"``: a chain of half circles that reach into each other, at
        least 1 apart.
    n_views : int, default=3
        Number of informative views, called ``view0``, ``view1``, ...
    n_noise_views : int, default=0
        Number of views of pure noise after them, called ``noise0``, ``noise1``, ...
    n_features : int or sequence of int, default=10
        Number of features of every view, or of each (informative ones first). Rings and moons need 2.
    noise : float, default=0.1
        Standard deviation of the noise in every feature of an informative view. Clusters are 1 apart.
    sizes : sequence of float, optional
        Proportions of the cluster sizes, for example ``[8, 1, 1]``. Default: equal.
    random_state : int, RandomState or None
        Pass an int for reproducible data, identical on every machine: values are rounded to eight decimals.

    Returns
    -------
    Views
        With the clusters, numbered from 0, in ``labels``.

    Examples
    --------
    >>> from manyview.datasets import make_multiview
    >>> make_multiview(90, 3, shape="rings", n_noise_views=1, n_features=[5, 8, 2, 6], random_state=0)
    Views(90 samples; view0: 5, view1: 8, view2: 2, noise0: 6; 3 classes)
    """
    if shape not in SHAPES:
        raise ValueError(f"shape: expected one of {', '.join(map(repr, SHAPES))}, got {shape!r}.")
    limits: tuple[tuple[str, float, int], ...] = (
        ("n_clusters", n_clusters, 1),
        ("n_samples", n_samples, n_clusters),
        ("n_views", n_views, 0),
        ("n_noise_views", n_noise_views, 0),
        ("noise", noise, 0),
    )
    for name, value, least in limits:
        if not value >= least:  # also true of NaN
            raise ValueError(f"{name}: expected at least {least}, got {value}.")
    if n_views + n_noise_views == 0:
        raise ValueError("n_views: expected at least one view, informative or noise, got none.")
    widths = _widths(n_features, n_views, n_noise_views, least=1 if shape == "blobs" else 2)
    counts = _cluster_sizes(n_samples, n_clusters, sizes)

    random = check_random_state(random_state)
    labels = random.permutation(np.repeat(np.arange(n_clusters), counts))
    positions = SHAPES[shape](labels, n_clusters, random)
    variance = positions.var(axis=0).sum()
    arrays = [_observed(positions, width, noise, random) for width in widths[:n_views]]
    arrays += [
        random.normal(0.0, np.sqrt(variance / width + noise**2), (n_samples, width)) for width in widths[n_views:]
    ]
    names = [f"view{i}" for i in range(n_views)] + [f"noise{i}" for i in range(n_noise_views)]
    return Views(tuple(rounded(array) for array in arrays), names=tuple(names), labels=labels)


def _blobs(labels: np.ndarray, n_clusters: int, random: np.random.RandomState) -> np.ndarray:
    # the corners of a regular simplex: all pairs of centres are equally far apart, here 1
    return (np.eye(n_clusters) / np.sqrt(2))[labels] + random.normal(0.0, 0.1, (len(labels), n_clusters))


def _rings(labels: np.ndarray, n_clusters: int, random: np.random.RandomState) -> np.ndarray:
    angle = random.uniform(0, 2 * np.pi, len(labels))
    return (labels + 1.0)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])


def _moons(labels: np.ndarray, n_clusters: int, random: np.random.RandomState) -> np.ndarray:
    angle = random.uniform(0, np.pi, len(labels))
    up = labels % 2 == 0
    # Half circles of radius 2, in turn open to below and to above. Next to each other they are 1.06 apart,
    # and every second one 1.0.
    height = np.where(up, 2 * np.sin(angle), 0.8 - 2 * np.sin(angle))
    return np.column_stack([2.5 * labels + 2 * np.cos(angle), height])


SHAPES: dict[str, Shape] = {"blobs": _blobs, "rings": _rings, "moons": _moons}
"""Functions that draw the true positions, by the name of the shape."""


def _observed(positions: np.ndarray, width: int, noise: float, random: np.random.RandomState) -> np.ndarray:
    """Return one view: the positions under a random linear map, with noise."""
    latent = positions.shape[1]
    directions, _ = np.linalg.qr(random.normal(size=(max(latent, width), min(latent, width))))
    # an isometry if the view is wide enough; else a projection, scaled to keep squared distances on average
    map_ = directions.T if width >= latent else directions * np.sqrt(latent / width)
    return positions @ map_ + random.normal(0.0, noise, (len(positions), width))


def _widths(n_features: int | Sequence[int], n_views: int, n_noise_views: int, least: int) -> list[int]:
    total = n_views + n_noise_views
    widths = [n_features] * total if isinstance(n_features, int | np.integer) else list(n_features)
    if len(widths) != total:
        raise ValueError(f"n_features: expected one number or one per view ({total}), got {len(widths)}.")
    for width, needed in zip(widths, [least] * n_views + [1] * n_noise_views, strict=True):
        if width < needed:
            raise ValueError(f"n_features: expected at least {needed} for this shape, got {width}.")
    return [int(width) for width in widths]


def _cluster_sizes(n_samples: int, n_clusters: int, sizes: Sequence[float] | None) -> np.ndarray:
    """Return integers in these proportions that add up to n_samples, each at least 1."""
    shares = np.ones(n_clusters) if sizes is None else np.asarray(sizes, dtype=np.float64)
    if shares.shape != (n_clusters,) or not (np.isfinite(shares) & (shares > 0)).all():
        raise ValueError(f"sizes: expected {n_clusters} positive numbers, one per cluster, got {sizes!r}.")
    exact = shares / shares.sum() * n_samples
    counts = np.floor(exact).astype(int)
    largest_rests = np.argsort(counts - exact, kind="stable")[: n_samples - counts.sum()]
    counts[largest_rests] += 1
    while (counts == 0).any():  # a cluster with a tiny share still gets one sample, taken from the largest cluster
        counts[counts.argmin()] += 1
        counts[counts.argmax()] -= 1
    return counts


Pattern = Callable[[int, int, np.random.RandomState], np.ndarray]
"""Maps the number of samples, the number to pick and a random state to the indices of the picked samples."""


def drop_views(
    views: Views,
    rate: float,
    *,
    pattern: str = "random",
    random_state: int | np.random.RandomState | None = None,
) -> Views:
    """Remove views of samples, to test methods on missing views.

    Each view loses the same share of the samples. A sample that has lost all of its views gets one of them back, drawn
    at random, so at high rates less is missing than requested: ``1 - present.mean()`` is the actual share.

    Parameters
    ----------
    views : Views, or sequence or mapping of arrays
        Complete, or with missing views already; these stay missing.
    rate : float
        The share of the samples that each view loses, from 0 to 1.
    pattern : {"random", "blocks"}, default="random"
        Which samples a view loses. ``"random"``: drawn independently for each view. ``"blocks"``: consecutive rows,
        starting at a row drawn for each view and continuing with row 0 after the last. Shuffle the rows first unless
        their order is meaningful.
    random_state : int, RandomState or None
        Pass an int for reproducible results.

    Returns
    -------
    Views
        With the mask in ``present``, or None there if nothing is missing. Missing rows are zero.

    Examples
    --------
    >>> from manyview.datasets import drop_views, make_multiview
    >>> views = make_multiview(100, n_views=2, random_state=0)
    >>> drop_views(views, 0.3, random_state=0)
    Views(100 samples; view0: 10, view1: 10; 3 classes; 26% missing)
    """
    if pattern not in PATTERNS:
        raise ValueError(f"pattern: expected one of {', '.join(map(repr, PATTERNS))}, got {pattern!r}.")
    if not 0 <= rate <= 1:  # also true of NaN
        raise ValueError(f"rate: expected a share from 0 to 1, got {rate}.")
    checked = check_views(views)
    n_samples, n_views = checked.n_samples, checked.n_views
    before = np.ones((n_samples, n_views), dtype=bool) if checked.present is None else checked.present

    random = check_random_state(random_state)
    present = before.copy()
    for v in range(n_views):
        present[PATTERNS[pattern](n_samples, round(rate * n_samples), random), v] = False
    for sample in np.flatnonzero(~present.any(axis=1)):
        present[sample, random.choice(np.flatnonzero(before[sample]))] = True

    return check_views(checked, present=present)


def _random(n_samples: int, n_picked: int, random: np.random.RandomState) -> np.ndarray:
    return random.choice(n_samples, n_picked, replace=False)


def _blocks(n_samples: int, n_picked: int, random: np.random.RandomState) -> np.ndarray:
    return (random.randint(n_samples) + np.arange(n_picked)) % n_samples


PATTERNS: dict[str, Pattern] = {"random": _random, "blocks": _blocks}
"""Functions that pick the samples that lose a view, by the name of the pattern."""
