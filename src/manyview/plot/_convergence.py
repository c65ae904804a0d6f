"""Figure of convergence: the records of a fit over its passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from manyview._utils.drawing import AGREEMENTS, is_by_view, steps, usual_keys
from manyview.exceptions import PlotError
from manyview.plot._shared import (
    axes_or_new,
    colours,
    fill_docstring,
    fitted_attribute,
    legend_on_top,
    matplotlib_module,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MAX_TICKS = 10


@fill_docstring
def convergence(model: Any, *, keys: str | Sequence[str] | None = None, ax: Axes | None = None) -> Axes:
    """Draw the records of a fit, ``history_``, over its passes.

    Parameters
    ----------
    model : fitted estimator
        With ``history_``.
    keys : str or sequence of str, optional
        Records to draw. None draws the objective; for GraphEnsemble, ``agreement`` and ``stability`` against the
        number of members; for CoTrainingSpectral and SNF, which have no objective, ``subspace_change`` and
        ``relative_change``; for ConcatKMeans and ConcatSpectral, ``start_objective`` against the number of the start.
        An array with a value for each view becomes a line for each.
    %(ax)s

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from manyview import GraphEnsemble, plot
    >>> from manyview.datasets import make_multiview
    >>> model = GraphEnsemble(3, random_state=0).fit(make_multiview(120, n_clusters=3, random_state=0))
    >>> ax = plot.convergence(model, ax=Figure().subplots())
    >>> ax.get_xlabel(), [line.get_label() for line in ax.lines]
    ('members', ['agreement', 'stability'])
    """
    history = fitted_attribute(model, "history_")
    name = type(model).__name__
    if is_by_view(history):
        raise PlotError(
            f"{name} solves each view once: history_ is by view and not by pass, so there is no convergence to draw."
        )
    passes, unit = steps(history, fitted_attribute(model, "n_iter_"))
    if len(passes) == 0:
        raise PlotError(f"{name} made no pass (n_iter_=0), so history_ is empty: nothing to draw.")
    chosen = usual_keys(history) if keys is None else [keys] if isinstance(keys, str) else list(keys)
    if not chosen:
        raise PlotError(f"{name}: choose keys= from what history_ has: {', '.join(history) or 'nothing'}.")
    lines: dict[str, np.ndarray] = {}
    for key in chosen:
        lines |= _lines(model, history, key, len(passes), "" if len(chosen) == 1 else f"{key.replace('_', ' ')}: ")
    ax = axes_or_new(ax)
    for colour, (label, values) in zip(colours(len(lines)), lines.items(), strict=True):
        ax.plot(passes, values, marker="o" if len(passes) <= 30 else "", color=colour, label=label, clip_on=False)
    if len(passes) <= _MAX_TICKS:
        ax.set_xticks(passes)
    else:
        ax.xaxis.set_major_locator(matplotlib_module("ticker").MaxNLocator(integer=True))
    ax.set_xlabel(unit)
    ax.set_title(f"{name}: convergence")
    if set(chosen) <= set(AGREEMENTS):
        ax.set(ylim=(0, 1), ylabel="NMI")
        ax.legend()
        return ax
    if len(chosen) == 1:
        ax.set_ylabel(chosen[0].replace("_", " "))
    if len(lines) > 1:
        legend_on_top(ax)
    return ax


def _lines(model: Any, history: Mapping[str, np.ndarray], key: str, n_steps: int, prefix: str) -> dict[str, np.ndarray]:
    """Return the lines of one array by name: one, or one for each view."""
    if key not in history:
        raise PlotError(f"keys: history_ of {type(model).__name__} has no {key!r}; it has {', '.join(history)}.")
    values = np.asarray(history[key])
    if values.ndim == 0 or len(values) != n_steps:
        raise PlotError(f"keys: history_[{key!r}] has {values.size} value(s), not one for each of the {n_steps} steps.")
    if values.ndim == 1:
        return {key.replace("_", " "): values}
    return {f"{prefix}{view}": column for view, column in zip(model.view_names_, values.T, strict=True)}
