"""What clusters are: heat map of markers, survival curves, a column of metadata by cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from manyview.description.heat_map import FULL_COLOUR, heat_maps, sample_order
from manyview.description.map import spread_over_clusters
from manyview.exceptions import PlotError
from manyview.plot._shared import axes_or_new, colours, fill_docstring, result_fields
from manyview.views import check_views

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SOURCE = "manyview.describe"


@fill_docstring
def markers(
    description: Any,
    *,
    n_markers: int = 3,
    view: str | None = None,
    samples: Any = None,
    max_samples: int = 2000,
    ax: Axes | None = None,
) -> Axes:
    """Draw a heat map of the strongest markers: their means in each cluster, or every sample.

    Colours are standard deviations from the mean of all samples.

    Parameters
    ----------
    description : Description
        Of :func:`manyview.describe`.
    n_markers : int, default=3
        Markers of each cluster and view.
    view : str, optional
        Only those of this view.
    samples : Views, list or dict of arrays, optional
        What was described: a column for each sample, by cluster and confidence, in place of a column for each cluster.
    max_samples : int, default=2000
        Columns at most. Of more samples, some are drawn at random such that small clusters stay visible.
    %(ax)s

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from manyview import describe, plot
    >>> from manyview.datasets import make_multiview
    >>> views = make_multiview(90, 3, random_state=0)
    >>> found = describe(views, views.labels)
    >>> ax = plot.markers(found, n_markers=1, ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_xticklabels()]
    ['cluster 0', 'cluster 1', 'cluster 2']
    >>> ax = plot.markers(found, n_markers=1, samples=views, ax=Figure().subplots())
    >>> ax.images[0].get_array().shape[1]
    90
    """
    table, profiles, names = result_fields(description, _SOURCE, "markers", "profiles", "names")
    for parameter, value in (("n_markers", n_markers), ("max_samples", max_samples)):
        if value < 1:
            raise PlotError(f"{parameter}: expected at least 1, got {value}.")
    if view is not None and view not in set(table["view"]):
        raise PlotError(f"view: there is no view {view!r} with markers; there are {', '.join(table['view'].unique())}.")
    chosen = table[table["rank"] <= n_markers]
    chosen = chosen if view is None else chosen[chosen["view"] == view]
    if not len(chosen):
        raise PlotError("there are no markers to draw: with one cluster, nothing sets it apart.")
    if samples is None:
        chosen = chosen.sort_values(["view", "cluster", "rank"], kind="stable").drop_duplicates(["view", "feature"])
        rows = list(zip(chosen["view"], chosen["feature"], strict=True))
        values = profiles.set_index(["view", "feature"])[list(names)].loc[rows].to_numpy()
        ends = np.arange(len(names) + 1) - 0.5
    else:
        rows, values, ends = _by_sample(description, samples, n_markers, view, max_samples)
    ax = axes_or_new(ax)
    image = ax.imshow(
        values, aspect="auto", cmap="RdBu_r", vmin=-FULL_COLOUR, vmax=FULL_COLOUR, interpolation="nearest"
    )
    one_view = view is not None or len({own for own, _ in rows}) == 1
    ax.set_yticks(range(len(rows)), [feature if one_view else f"{feature} ({own})" for own, feature in rows])
    ax.set_xticks((ends[1:] + ends[:-1]) / 2, names, rotation=30 if max(map(len, names)) > 12 else 0)
    ax.tick_params(length=0)
    if samples is not None:
        ax.vlines(ends[1:-1], -0.5, len(rows) - 0.5, colors="black", linewidth=0.8)
    which = "strongest markers" + (f" of {view}" if view is not None else "")
    ax.set_title(f"means of the {which}" if samples is None else f"the {which}, sample by sample")
    ax.figure.colorbar(image, ax=ax, label="standard deviations from the mean of all samples")
    return ax


def _by_sample(
    description: Any, samples: Any, n_markers: int, view: str | None, max_samples: int
) -> tuple[list[tuple[str, str]], np.ndarray, np.ndarray]:
    """Return the markers, their z scores in each sample, and where clusters begin and end."""
    views = check_views(samples, keep_float32=True)
    shown = spread_over_clusters(description.labels, max_samples)
    maps = [each for each in heat_maps(description, views, shown, n_markers) if view in (None, each.view)]
    sure = None if description.confidence is None else description.confidence[shown]
    labels = description.labels[shown]
    order = sample_order(labels, sure, maps)
    rows = [(each.view, feature) for each in maps for feature in each.markers["feature"]]
    ends = np.concatenate([[0], np.cumsum(np.bincount(labels, minlength=len(description.names)))]) - 0.5
    return rows, np.vstack([each.scores for each in maps])[:, order], ends


@fill_docstring
def survival(description: Any, *, ax: Axes | None = None) -> Axes:
    """Draw Kaplan-Meier curves of the clusters, with marks where samples were censored.

    Parameters
    ----------
    description : Description
        Of :func:`manyview.describe`, with ``survival``.
    %(ax)s

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from matplotlib.figure import Figure
    >>> from manyview import describe, plot
    >>> from manyview.datasets import make_multiview
    >>> views = make_multiview(90, 3, random_state=0)
    >>> clinical = pd.DataFrame({"days": 1.0 + np.arange(90), "dead": np.arange(90) % 3 > 0})
    >>> ax = plot.survival(describe(views, views.labels, clinical, survival="days,dead"), ax=Figure().subplots())
    >>> ax.get_xlabel()
    'days'
    """
    found, names = result_fields(description, _SOURCE, "survival_curves", "names")
    if found is None:
        raise PlotError("this description has no survival: describe(..., survival='TIME,EVENT').")
    ax = axes_or_new(ax)
    for (cluster, curve), colour in zip(found.curves.items(), colours(len(names)), strict=False):
        label = f"{names[cluster]} (n = {curve.n_samples}, {curve.n_events} events)"
        last = max([*curve.times, *curve.censored], default=0.0)
        steps = np.concatenate([[0.0], curve.times, [last]])
        ax.step(steps, curve.alive(steps), where="post", color=colour, label=label)
        ax.plot(curve.censored, curve.alive(curve.censored), "|", color=colour, markersize=6)
    ax.set(xlabel=found.time, ylabel="survival", ylim=(0, 1.02), xlim=(0, None))
    p = "no test" if np.isnan(found.p) else f"log-rank p = {found.p:.2g}"
    ax.set_title(f"survival by cluster, {p}")
    ax.legend(frameon=False, fontsize="small")
    return ax


@fill_docstring
def metadata(description: Any, column: str, *, ax: Axes | None = None) -> Axes:
    """Draw a column of the metadata by cluster: shares of categories, or quartiles of numbers.

    Parameters
    ----------
    description : Description
        Of :func:`manyview.describe`, with ``metadata``.
    column : str
        One of its columns.
    %(ax)s

    Examples
    --------
    >>> import pandas as pd
    >>> from matplotlib.figure import Figure
    >>> from manyview import describe, plot
    >>> from manyview.datasets import make_multiview
    >>> views = make_multiview(90, 3, random_state=0)
    >>> found = describe(views, views.labels, pd.DataFrame({"stage": [1, 2, 3] * 30}))
    >>> plot.metadata(found, "stage", ax=Figure().subplots()).get_title().startswith("stage: V ")
    True
    """
    found, names = result_fields(description, _SOURCE, "associations", "names")
    known = {each.column: each for each in found if each.kind != "left out"}
    if column not in known:
        there = ", ".join(known) or "none"
        raise PlotError(f"column: no column {column!r} was compared with the clusters; there are: {there}.")
    each = known[column]
    ax = axes_or_new(ax)
    position = np.arange(len(names))
    if each.kind == "categories":
        counts = each.table.to_numpy(dtype=float)
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        left = np.zeros(len(names))
        for category, share, colour in zip(each.table.columns, shares.T, colours(shares.shape[1]), strict=True):
            ax.barh(position, share, left=left, color=colour, label=str(category))
            left += share
        ax.set(xlim=(0, 1), xlabel="share of the samples")
        ax.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))  # beside the bars
    else:
        quartiles = each.table[["lower quartile", "median", "upper quartile"]].to_numpy()
        ax.hlines(position, quartiles[:, 0], quartiles[:, 2], colors=list(map(tuple, colours(len(names)))), linewidth=6)
        ax.plot(quartiles[:, 1], position, "o", color="white", markeredgecolor="black")
        ax.set(xlabel=f"{column}: median and quartiles")
    ax.set_yticks(position, names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    effect = "V" if each.kind == "categories" else "η²"
    p = "" if np.isnan(each.p) else f", p = {each.p:.2g}"
    ax.set_title(f"{column}: {effect} {each.effect:.2f}{p}")
    return ax
