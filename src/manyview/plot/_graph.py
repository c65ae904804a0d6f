"""Figure of the learned graph, ordered by cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from manyview.exceptions import PlotError
from manyview.graphs.components import binned, places, strongest_group
from manyview.plot._shared import axes_or_new, clusters, fill_docstring, fitted_attribute, matplotlib_module

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

_GRAPHS = ("consensus_graph_", "learned_graph_")
_MIN_GAP = 0.04  # between names, as a share of the axis; closer ones would overlap
_MAX_HORIZONTAL_NAME = 3  # letters; longer names are written upright


@fill_docstring
def graph(
    model: Any,
    *,
    attribute: str | None = None,
    labels: Any = None,
    max_pixels: int = 500,
    ax: Axes | None = None,
) -> Axes:
    """Draw the learned graph as an image, with samples and anchors ordered by cluster.

    Clusters that the graph separates are blocks; weight outside the blocks is between clusters. In large graphs each
    pixel is the sum over a block of entries, so memory grows with the number of edges and not with n·m.

    Parameters
    ----------
    model : fitted estimator
        With ``consensus_graph_`` (samples and anchors) or ``learned_graph_`` (samples and samples).
    attribute : str, optional
        Another graph of the model, such as ``"component_graph_"`` of TBGL and SFMC.
    labels : array-like of shape (n_samples,), optional
        Labels to order by, instead of the model's clusters; numbers or names.
    max_pixels : int, default=500
        Maximum number of rows and columns of the image.
    %(ax)s

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from manyview import GraphEnsemble, plot
    >>> from manyview.datasets import make_multiview
    >>> model = GraphEnsemble(3, random_state=0).fit(make_multiview(120, n_clusters=3, random_state=0))
    >>> ax = plot.graph(model, ax=Figure().subplots())
    >>> ax.get_title(), [label.get_text() for label in ax.get_yticklabels()]
    ('GraphEnsemble: graph of 120 samples and 102 anchors', ['0', '1', '2'])
    """
    edges = sp.coo_array(fitted_attribute(model, *(_GRAPHS if attribute is None else [attribute])))
    names, rows = clusters(model, labels)
    if max_pixels < 1:
        raise PlotError(f"max_pixels: expected at least 1, got {max_pixels}.")
    if edges.ndim != 2 or edges.shape[0] != len(rows):
        raise PlotError(
            f"{attribute}: expected a graph with a row for each of the {len(rows)} samples, got shape {edges.shape}."
        )
    if not edges.data.any():
        raise PlotError(f"the graph of {type(model).__name__} has no edges: nothing to draw.")
    among_samples = edges.shape[0] == edges.shape[1] and not hasattr(model, "anchor_indices_")
    columns = rows if among_samples else strongest_group(edges, rows, len(names))
    row_sizes = np.bincount(rows, minlength=len(names))
    column_sizes = np.bincount(columns, minlength=len(names))[: len(names)]  # without anchors that have no edge
    shape = (int(row_sizes.sum()), int(column_sizes.sum()))
    image, steps = binned(places(rows)[edges.row], places(columns)[edges.col], edges.data, shape, max_pixels)

    ax = axes_or_new(ax)
    ax.spines[["top", "right"]].set_visible(True)
    norm = matplotlib_module("colors").PowerNorm(0.5, vmin=0, vmax=np.quantile(image[image > 0], 0.99), clip=True)
    extent = (0, image.shape[1] * steps[1], image.shape[0] * steps[0], 0)
    drawn = ax.imshow(image, cmap="Blues", norm=norm, extent=extent, aspect="auto")
    ax.set(xlim=(0, shape[1]), ylim=(shape[0], 0))
    width = min(0.5, 8 / len(names))  # lines around many clusters would cover the edges
    ax.hlines(np.cumsum(row_sizes)[:-1], 0, shape[1], color="0.5", linewidth=width)
    ax.vlines(np.cumsum(column_sizes)[:-1], 0, shape[0], color="0.5", linewidth=width)
    longest = max(map(len, names))
    upright = longest > _MAX_HORIZONTAL_NAME
    _name_clusters(ax.yaxis, row_sizes, names, _MIN_GAP)
    _name_clusters(ax.xaxis, column_sizes, names, _MIN_GAP * (1 if upright else (1 + longest) / 2))
    ax.tick_params(axis="x", labelrotation=90 if upright else 0)
    kind = "samples" if among_samples else "anchors"
    ax.set(xlabel=f"{kind}, by cluster", ylabel="samples, by cluster")
    ax.set_title(
        f"{type(model).__name__}: graph of {shape[0]:,} samples" + f" and {shape[1]:,} anchors" * (kind == "anchors")
    )
    pixel = "" if steps == (1, 1) else f", summed over {steps[0]} x {steps[1]}"
    ticks = matplotlib_module("ticker").MaxNLocator(4).tick_values(0, norm.vmax)
    ticks = ticks[ticks <= norm.vmax]  # larger ones would be clipped, and drawn where the largest weight is
    ax.figure.colorbar(drawn, ax=ax, label=f"edge weight{pixel}", extend="max", ticks=ticks)
    return ax


def _name_clusters(axis: Axis, sizes: np.ndarray, names: list[str], min_gap: float) -> None:
    """Write the name of each cluster in its middle, except where it would overlap with the one before."""
    middles = np.cumsum(sizes) - sizes / 2
    kept: list[int] = []
    for k in np.flatnonzero(sizes):
        if not kept or middles[k] - middles[kept[-1]] >= min_gap * sizes.sum():
            kept.append(int(k))
    axis.set_ticks(middles[kept], [names[k] for k in kept])
