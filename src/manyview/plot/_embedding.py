"""Figure of the embedding: samples as points in the plane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from manyview._utils.drawing import bring_means, circle, principal
from manyview.exceptions import PlotError
from manyview.plot._shared import axes_or_new, clusters, colours, fitted_attribute, matplotlib_module

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MIN_STRENGTH = 0.15  # of the colour of a sample whose confidence is 0
_MAX_NAMES = 30  # names of more clusters would cover the points


def embedding(
    model: Any,
    *,
    projection: str | tuple[int, int] = "auto",
    labels: Any = None,
    max_points: int = 5000,
    random_state: int | np.random.RandomState | None = 0,
    ax: Axes | None = None,
) -> Axes:
    """Draw the samples in two dimensions of ``embedding_``, coloured by cluster, paler where ``confidence_`` is low.

    Parameters
    ----------
    model : fitted estimator
        With ``embedding_``.
    projection : "auto", "pca", "circle" or pair of int, default="auto"
        "pca" draws the first two principal components of ``embedding_``. "circle" is the linear projection that brings
        the means of three or more clusters as near as possible to equal distances on a circle. It shows all clusters
        where the components are equally important, as in spectral embeddings. "auto" takes "circle" for three or
        more clusters, else "pca". A pair draws two columns.
    labels : array-like of shape (n_samples,), optional
        Labels to colour by, instead of the model's clusters; numbers or names.
    max_points : int, default=5000
        Maximum number of points. Of more samples, a random sample is drawn; the title has both numbers.
    random_state : int, RandomState or None, default=0
        Random seed of that sample.
    ax : Axes, optional
        Where to draw; a new figure if None.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from manyview import GraphEnsemble, plot
    >>> from manyview.datasets import make_multiview
    >>> model = GraphEnsemble(3, random_state=0).fit(make_multiview(120, n_clusters=3, random_state=0))
    >>> print(plot.embedding(model, max_points=100, ax=Figure().subplots()).get_title())
    GraphEnsemble: 100 of 120 samples, pale: less sure
    """
    coordinates = np.asarray(fitted_attribute(model, "embedding_"))
    names, codes = clusters(model, labels)
    points, axis_labels = _project(coordinates, codes, projection)
    confidence = getattr(model, "confidence_", None)
    if max_points < 1:
        raise PlotError(f"max_points: expected at least 1, got {max_points}.")
    shown = np.arange(len(points))
    if len(points) > max_points:
        shown = check_random_state(random_state).choice(len(points), max_points, replace=False)
    strength = np.ones(len(shown)) if confidence is None else _MIN_STRENGTH + (1 - _MIN_STRENGTH) * confidence[shown]
    shown, strength = shown[np.argsort(strength)], np.sort(strength)  # those with high confidence on top
    rgb = colours(len(names))[codes[shown]]

    ax = axes_or_new(ax)
    size = float(np.clip(20_000 / len(shown), 4, 40))
    ax.scatter(points[shown, 0], points[shown, 1], s=size, c=1 - strength[:, None] * (1 - rgb), linewidths=0)
    _write_names(ax, points, codes, names)
    ax.set(xticks=[], yticks=[], xlabel=axis_labels[0], ylabel=axis_labels[1])
    count = f"{len(points):,}" if len(shown) == len(points) else f"{len(shown):,} of {len(points):,}"
    pale = "" if confidence is None else ", pale: less sure"
    ax.set_title(f"{type(model).__name__}: {count} samples{pale}")
    return ax


def _project(
    coordinates: np.ndarray, codes: np.ndarray, projection: str | tuple[int, int]
) -> tuple[np.ndarray, list[str]]:
    """Return the points, and the labels of the two axes."""
    if not isinstance(projection, str):
        return _columns(coordinates, projection)
    if projection == "auto":
        projection = "circle" if codes.max() >= 2 else "pca"
    if projection not in ("pca", "circle"):
        raise PlotError(
            f"projection: expected 'auto', 'pca', 'circle' or two columns of embedding_, got {projection!r}."
        )
    return _principal(coordinates) if projection == "pca" else _circle(coordinates, codes)


def _principal(coordinates: np.ndarray) -> tuple[np.ndarray, list[str]]:
    if coordinates.shape[1] < 2:
        raise PlotError(f"embedding_ has {coordinates.shape[1]} column(s); a figure needs two.")
    points, shares = principal(coordinates)
    return points, [f"component {i + 1} ({share:.0%} of the variance)" for i, share in enumerate(shares)]


def _circle(coordinates: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, list[str]]:
    n_clusters = codes.max() + 1
    if n_clusters < 3:
        raise PlotError(f"projection: 'circle' needs three or more clusters, got {n_clusters}; use 'pca'.")
    points = bring_means(coordinates, codes, circle(n_clusters))
    return points, ["means of the clusters on a circle", "linear projection"]


def _columns(coordinates: np.ndarray, columns: tuple[int, int]) -> tuple[np.ndarray, list[str]]:
    width = coordinates.shape[1]
    if len(columns) != 2 or not all(0 <= column < width for column in columns):
        raise PlotError(f"projection: expected two of 0 to {width - 1}, the columns of embedding_, got {columns!r}.")
    return coordinates[:, list(columns)], [f"column {column} of the embedding" for column in columns]


def _write_names(ax: Axes, points: np.ndarray, codes: np.ndarray, names: list[str]) -> None:
    """Write the names of the largest clusters, each above the middle of its samples."""
    halo = [matplotlib_module("patheffects").withStroke(linewidth=3, foreground="white")]
    for code in np.argsort(-np.bincount(codes), kind="stable")[:_MAX_NAMES]:
        x, y = np.median(points[codes == code], axis=0)
        ax.annotate(
            names[code], (x, y), (0, 4), textcoords="offset points", ha="center", fontweight="bold", path_effects=halo
        )
