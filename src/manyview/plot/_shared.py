"""Helpers of all figures: axes, attributes and clusters of fitted models, colours, bars."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from manyview._utils.drawing import TEN_COLOURS
from manyview._utils.imports import require
from manyview.cluster import available_methods
from manyview.exceptions import PlotError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GOLDEN_RATIO = 0.618034

# What the docstrings of all figures end with.
_AX = """ax : Axes, optional
        Where to draw; a new figure if None.

    Returns
    -------
    Axes"""

Draw = TypeVar("Draw", bound=Callable[..., Any])


def fill_docstring(draw: Draw) -> Draw:
    """Replace ``%(ax)s`` in the docstring of a figure by the entries that all of them share."""
    draw.__doc__ = (draw.__doc__ or "").replace("%(ax)s", _AX)
    return draw


def matplotlib_module(name: str) -> ModuleType:
    """Import a module of matplotlib, such as "ticker"; an error says how to install matplotlib."""
    return require(f"matplotlib.{name}", extra="plot", purpose="Drawing")


def axes_or_new(ax: Axes | None) -> Axes:
    """Return the given axes, or those of a new pyplot figure, without the top and right spines."""
    if ax is None:
        ax = matplotlib_module("pyplot").subplots(layout="constrained")[1]
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def fitted_attribute(model: Any, *names: str) -> Any:
    """Return the first of these attributes that the fitted model has."""
    check_is_fitted(model, "labels_", msg="This %(name)s is not fitted yet: call fit(views) before drawing it.")
    for name in names:
        if hasattr(model, name):
            return getattr(model, name)
    found = "; ".join(f"{name}: {', '.join(_methods_with(name)) or 'no method'}" for name in names)
    raise PlotError(f"{type(model).__name__} has no {' or '.join(names)}. Methods that have it: {found}.")


def _methods_with(attribute: str) -> list[str]:
    """Return the names of the methods whose documentation lists the attribute."""
    return [m.name for m in available_methods() if f"\n{attribute} : " in (inspect.getdoc(m.estimator) or "")]


def result_fields(result: Any, source: str, *names: str) -> tuple[Any, ...]:
    """Return fields of a result; ``source`` is the function that makes such results, for the error."""
    missing = [name for name in names if not hasattr(result, name)]
    if missing:
        raise PlotError(f"expected the result of {source}, got {type(result).__name__} without {', '.join(missing)}.")
    return tuple(getattr(result, name) for name in names)


def clusters(model: Any, labels: Any) -> tuple[list[str], np.ndarray]:
    """Return the names of the clusters and the cluster index of each sample, of ``labels`` if given, else the model."""
    own = fitted_attribute(model, "labels_")
    labels = own if labels is None else np.asarray(labels)
    if labels.shape != own.shape:
        raise PlotError(f"labels: expected one for each of the {len(own)} samples, got shape {labels.shape}.")
    names, codes = np.unique(labels, return_inverse=True)
    return [str(name) for name in names], codes


def colours(n: int) -> np.ndarray:
    """Return ``n`` RGB colours, one row each; of more than ten, consecutive ones differ strongly."""
    if n <= len(TEN_COLOURS):
        return matplotlib_module("colors").to_rgba_array(TEN_COLOURS[:n])[:, :3]
    viridis = require("matplotlib", extra="plot", purpose="Drawing").colormaps["viridis"]
    return viridis(np.arange(n) * _GOLDEN_RATIO % 1)[:, :3]


def horizontal_bars(ax: Axes, names: Sequence[str], values: np.ndarray) -> None:
    """Draw a bar with its value for each name, the first on top."""
    ax.barh(range(len(names)), values, color=TEN_COLOURS[0])
    for i, value in enumerate(values):
        ax.text(max(value, 0), i, f" {value:.3f}", va="center")  # names are to the left of 0
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()


def legend_on_top(ax: Axes) -> None:
    """Put a legend above the lines, and extend the axis to make room for it."""
    labels = ax.get_legend_handles_labels()[1]
    n_columns = 2 if max(map(len, labels)) > 15 else 3
    n_rows = -(-len(labels) // n_columns)
    low, high = ax.get_ylim()
    ax.set_ylim(low, high + 0.1 * n_rows * (high - low))
    ax.legend(loc="upper center", ncols=n_columns, fontsize="small", framealpha=1, edgecolor="none")


def share_limits(values: Any) -> tuple[float, float]:
    """Return the limits of an axis for scores: 0 to 1, or from the lowest value if a score such as ARI is negative."""
    return float(np.nanmin([0.0, *np.ravel(values)])), 1.0
