"""Figure of the samples as points in the plane: the map of the reports, or dimensions of the embedding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from manyview._utils.drawing import bring_means, circle, principal
from manyview.description.map import choose_shown, project
from manyview.exceptions import PlotError
from manyview.plot._shared import axes_or_new, clusters, colours, fill_docstring, fitted_attribute, matplotlib_module
from manyview.views import check_views

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MIN_STRENGTH = 0.15  # of the colour of a sample whose confidence is 0
_MAX_NAMES = 30  # names of more clusters would cover the points


@fill_docstring
def embedding(
    model: Any,
    views: Any = None,
    *,
    projection: str | tuple[int, int] = "map",
    labels: Any = None,
    max_points: int = 5000,
    random_state: int | np.random.RandomState | None = 0,
    ax: Axes | None = None,
) -> Axes:
    """Draw the samples as points in the plane, coloured by cluster, paler where ``confidence_`` is low.

    Parameters
    ----------
    model : fitted estimator
        With ``embedding_``, unless views are given.
    views : Views, list or dict of arrays, optional
        What it was fitted on, for the same map as in reports. Without them, the samples of a cluster are spread by
        ``embedding_``, in which they differ little.
    projection : "map", "pca", "circle" or pair of int, default="map"
        "map" puts a sample between the clusters that it is a mixture of, and spreads the samples of a cluster around
        that point by its own two principal components. The others are linear projections of ``embedding_``: "pca" draws
        the first two principal components; "circle" brings the means of three or more clusters as near as possible to
        equal distances on a circle; a pair draws two columns.
    labels : array-like of shape (n_samples,), optional
        Labels to colour by, instead of the model's clusters; numbers or names.
    max_points : int, default=5000
        Maximum number of points. Of more samples, a random sample is drawn in which small clusters stay visible; the
        title has both numbers.
    random_state : int, RandomState or None, default=0
        Random seed of that sample.
    %(ax)s

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from manyview import GraphEnsemble, plot
    >>> from manyview.datasets import make_multiview
    >>> views = make_multiview(120, n_clusters=3, random_state=0)
    >>> model = GraphEnsemble(3, random_state=0).fit(views)
    >>> print(plot.embedding(model, views, max_points=100, ax=Figure().subplots()).get_title())
    GraphEnsemble: 100 of 120 samples, pale: less sure
    """
    if isinstance(projection, str) and projection not in ("map", "pca", "circle"):
        raise PlotError(
            f"projection: expected 'map', 'pca', 'circle' or two columns of embedding_, got {projection!r}."
        )
    own = fitted_attribute(model, "labels_")
    names, codes = clusters(model, labels)
    if max_points < 1:
        raise PlotError(f"max_points: expected at least 1, got {max_points}.")
    if projection != "map" or views is None:
        coordinates = np.asarray(fitted_attribute(model, "embedding_"))
    shown = choose_shown(
        model, np.unique(own, return_inverse=True)[1], check_random_state(random_state).randint(2**31 - 1), max_points
    )
    rows = shown.rows
    if projection == "map":
        points, axis_labels = project(model, _checked(model, views), shown)[0], [_BETWEEN, ""]
    elif isinstance(projection, str):
        points, axis_labels = _principal(coordinates) if projection == "pca" else _circle(coordinates, codes)
        points = points[rows]
    else:
        points, axis_labels = _columns(coordinates, projection)
        points = points[rows]
    confidence = getattr(model, "confidence_", None)
    strength = np.ones(len(rows)) if confidence is None else _MIN_STRENGTH + (1 - _MIN_STRENGTH) * confidence[rows]
    order = np.argsort(strength, kind="stable")  # those with high confidence on top
    rgb = colours(len(names))[codes[rows[order]]]

    ax = axes_or_new(ax)
    size = float(np.clip(20_000 / len(rows), 4, 40))
    x, y = points[order].T
    ax.scatter(x, y, s=size, c=1 - strength[order, None] * (1 - rgb), linewidths=0)
    _write_names(ax, points, codes[rows], names)
    ax.set(xticks=[], yticks=[], xlabel=axis_labels[0], ylabel=axis_labels[1])
    if projection == "map":
        ax.set_aspect("equal", adjustable="datalim")  # distances within a cluster are comparable in all directions
    count = f"{len(own):,}" if len(rows) == len(own) else f"{len(rows):,} of {len(own):,}"
    pale = "" if confidence is None else ", pale: less sure"
    ax.set_title(f"{type(model).__name__}: {count} samples{pale}")
    return ax


_BETWEEN = "samples between the clusters that they are mixtures of"


def _checked(model: Any, views: Any) -> Any:
    """Return the views, checked, if there are any; they must have the samples of the model."""
    if views is None:
        return None
    given = check_views(views, view_sizes=getattr(model, "view_sizes", None), keep_float32=True)
    if given.n_samples != len(model.labels_):
        raise PlotError(
            f"views: expected the {len(model.labels_)} samples that the model was fitted on, got {given.n_samples}."
        )
    return given


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
    sizes = np.bincount(codes)
    for code in np.argsort(-sizes, kind="stable")[: min(_MAX_NAMES, np.count_nonzero(sizes))]:
        x, y = np.median(points[codes == code], axis=0)
        ax.annotate(
            names[code], (x, y), (0, 4), textcoords="offset points", ha="center", fontweight="bold", path_effects=halo
        )
