"""Figure of the scores of each number of clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from manyview._utils.drawing import AGREEMENTS
from manyview.exceptions import PlotError
from manyview.plot._shared import (
    axes_or_new,
    colours,
    fill_docstring,
    legend_on_top,
    matplotlib_module,
    result_fields,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@fill_docstring
def n_clusters(result: Any, *, keys: Sequence[str] | None = None, ax: Axes | None = None) -> Axes:
    """Draw the scores of each number of clusters, and mark the suggested number.

    Parameters
    ----------
    result : result of ``suggest_n_clusters``
        With ``n_clusters``, ``sure``, ``candidates`` and ``curve``, a dict with ``"n_clusters"`` and arrays of scores.
    keys : sequence of str, optional
        The scores to draw; all but those of the reference if None. A single score is drawn as it is. Several scores
        have different units, so each is drawn as a share of its highest value, which is in the legend.
    %(ax)s

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from matplotlib.figure import Figure
    >>> from manyview import plot
    >>> result = SimpleNamespace(
    ...     n_clusters=3, sure=True, candidates=(3,), curve={"n_clusters": [2, 3, 4], "stability": [0.8, 1.0, 0.7]})
    >>> print(plot.n_clusters(result, ax=Figure().subplots()).get_title())
    3 clusters suggested
    """
    best, sure, candidates, curve = result_fields(
        result, "suggest_n_clusters", "n_clusters", "sure", "candidates", "curve"
    )
    numbers = np.asarray(curve["n_clusters"])
    if keys is None:
        keys = [key for key in curve if key != "n_clusters" and not key.startswith("reference")]
    scores = {key: _score(curve, key, numbers) for key in keys}
    scores = {key: values for key, values in scores.items() if np.isfinite(values).any()}
    if not scores:
        raise PlotError("the curve has no score next to 'n_clusters': nothing to draw.")
    ax = axes_or_new(ax)
    for colour, (key, values) in zip(colours(len(scores)), scores.items(), strict=True):
        highest = np.nanmax(values)
        shares = values if len(scores) == 1 or highest <= 0 else values / highest
        ax.plot(numbers, shares, "o-", color=colour, label=f"{key} (highest {highest:.3g})", clip_on=False)
    for number in candidates:
        ax.axvspan(number - 0.3, number + 0.3, color="0.88", zorder=0)
    ax.axvline(best, color="0.4", linestyle="--", zorder=0)
    ax.set_ylim(min(0.0, ax.get_ylim()[0]), 1 if set(scores) <= set(AGREEMENTS) else None)
    ax.xaxis.set_major_locator(matplotlib_module("ticker").MaxNLocator(integer=True))
    ax.set_xlabel("number of clusters (dashed: suggested, grey: candidates)")
    ax.set_ylabel(next(iter(scores)) if len(scores) == 1 else "share of the highest value")
    if len(scores) > 1:
        ax.set_yticks(np.linspace(0, 1, 6))
        legend_on_top(ax)
    others = "" if sure else f"; unsure: {', '.join(map(str, candidates))}"
    ax.set_title(f"{best} clusters suggested{others}")
    return ax


def _score(curve: Any, key: str, numbers: np.ndarray) -> np.ndarray:
    if key not in curve:
        raise PlotError(f"keys: the curve has no {key!r}; it has {', '.join(curve)}.")
    values = np.asarray(curve[key], dtype=np.float64)
    if values.shape != numbers.shape:
        raise PlotError(
            f"curve[{key!r}]: expected one value for each of the {len(numbers)} numbers of clusters, "
            f"got shape {values.shape}."
        )
    return values
