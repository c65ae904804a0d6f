"""Figure of scores over the values of one parameter or two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from manyview.exceptions import PlotError
from manyview.plot._shared import axes_or_new, colours, fill_docstring, share_limits

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Scores by setting: from a tuple with a value for each parameter to one score, or several repeats.
Table = dict[tuple[Any, ...], np.ndarray]
_MAX_CELLS_WITH_NUMBERS = 100  # numbers in larger heat maps would be too small to read
_MAX_TICKS = 15


@fill_docstring
def sweep(
    parameter: str | Sequence[str],
    values: Any,
    scores: Any = None,
    *,
    order: str,
    score: str = "ACC",
    ax: Axes | None = None,
) -> Axes:
    """Draw scores over the values of a parameter, or of two as a heat map.

    The values are drawn at equal distances, sorted if they are numbers. Repeats are drawn as mean and standard
    deviation.

    Parameters
    ----------
    parameter : str or pair of str
        Name of the parameter, or of two.
    values : sequence, pair of sequences, or mapping
        The values of the parameter, or of both. Or a mapping from each value (pair of values) to its score or scores.
        Or ``cv_results_`` of scikit-learn's ``GridSearchCV``; then the splits and all other parameters are repeats.
    scores : array-like, optional
        A score for each value, of shape (n_values,), or several, of shape (n_values, n_repeats). For two parameters one
        axis more at the front. Not for mappings.
    order : str
        Order of the rows when the scores were measured, such as ``"rows shuffled"`` or ``"rows in file order"``.
        Scores of methods that depend on row order cannot be judged without it.
    score : str, default="ACC"
        Name of the score. In ``cv_results_`` of several scores, the one to draw.
    %(ax)s

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from manyview import plot
    >>> ax = plot.sweep("n_neighbors", [5, 10, 20], [[0.8, 0.9], [0.9, 0.9], [0.7, 0.8]], order="rows shuffled",
    ...                 ax=Figure().subplots())
    >>> ax.get_ylabel(), ax.get_title()
    ('ACC (rows shuffled)', 'mean ± standard deviation of 2 repeats')
    """
    if not order.strip():
        raise PlotError("order: say how the rows were ordered when the scores were measured, e.g. 'rows shuffled'.")
    parameters = (parameter,) if isinstance(parameter, str) else tuple(parameter)
    if len(parameters) not in (1, 2):
        raise PlotError(f"parameter: expected one name or two, got {len(parameters)}.")
    table = _table(parameters, values, scores, score)
    if not table:
        raise PlotError("values: expected at least one value, got none.")
    ax = axes_or_new(ax)
    label = f"{score} ({order})"
    if len(parameters) == 1:
        _draw_line(ax, table, label)
        ax.set_xlabel(parameters[0])
    else:
        _draw_heat_map(ax, table, label)
        ax.set(ylabel=parameters[0], xlabel=parameters[1])
    ax.set_title(_repeats(table), fontsize="medium")
    return ax


def _draw_line(ax: Axes, table: Table, label: str) -> None:
    settings = _in_order([setting[0] for setting in table])
    means, spreads = (np.array([f(table[value,]) for value in settings]) for f in (np.mean, np.std))
    ax.errorbar(
        range(len(settings)), means, yerr=spreads if spreads.any() else None, fmt="o-", capsize=3, color=colours(1)[0]
    )
    _ticks(ax.xaxis, settings)
    ax.set_ylabel(label)
    if means.max() <= 1:
        ax.set_ylim(*share_limits(means))


def _draw_heat_map(ax: Axes, table: Table, label: str) -> None:
    down, right = (_in_order([setting[i] for setting in table]) for i in range(2))
    missing = np.array([np.nan])
    means = np.array([[table.get((a, b), missing).mean() for b in right] for a in down])
    image = ax.imshow(means, cmap="viridis", aspect="auto")
    _ticks(ax.yaxis, down)
    _ticks(ax.xaxis, right)
    ax.figure.colorbar(image, ax=ax, label=label)
    if means.size <= _MAX_CELLS_WITH_NUMBERS:
        middle = (np.nanmin(means) + np.nanmax(means)) / 2
        for (i, j), value in np.ndenumerate(means):
            if not np.isnan(value):
                ax.text(j, i, f"{value:.2f}", ha="center", va="center", color="black" if value > middle else "white")


def _ticks(axis: Any, values: Sequence[Any]) -> None:
    step = -(-len(values) // _MAX_TICKS)
    axis.set_ticks(range(0, len(values), step), [str(value) for value in values[::step]])


def _repeats(table: Table) -> str:
    counts = sorted({len(scores) for scores in table.values()})
    if counts == [1]:
        return "one run for each setting"
    what = "mean" if len(next(iter(table))) == 2 else "mean ± standard deviation"
    return f"{what} of {' to '.join(map(str, sorted({counts[0], counts[-1]})))} repeats"


def _in_order(values: Sequence[Any]) -> list[Any]:
    """Return each value once, sorted if all are numbers, otherwise in order of occurrence."""
    once = list(dict.fromkeys(values))
    return sorted(once) if all(isinstance(value, Real) for value in once) else once


def _table(parameters: tuple[str, ...], values: Any, scores: Any, score: str) -> Table:
    if isinstance(values, Mapping):
        if scores is not None:
            raise PlotError("scores: not for a mapping, which has them already.")
        if any(str(key).startswith("param_") for key in values):
            return _from_search(parameters, values, score)
        pairs = ((key if len(parameters) == 2 else (key,), found) for key, found in values.items())
        return {setting: np.atleast_1d(np.asarray(found, dtype=np.float64)) for setting, found in pairs}
    if scores is None:
        raise PlotError("scores: missing; give a score for each value, or a mapping from values to scores.")
    lists = [list(values)] if len(parameters) == 1 else [list(one) for one in values]
    scores = np.asarray(scores, dtype=np.float64)
    shape = tuple(map(len, lists))
    if len(lists) != len(parameters) or scores.shape[: len(shape)] != shape or scores.ndim > len(shape) + 1:
        raise PlotError(
            f"scores: expected shape {shape}, with a further axis for repeats if there are any, for the values of "
            f"{' and '.join(parameters)}; got {scores.shape}."
        )
    return {
        tuple(one[i] for one, i in zip(lists, index, strict=True)): np.atleast_1d(scores[index])
        for index in np.ndindex(shape)
    }


def _from_search(parameters: tuple[str, ...], results: Mapping[str, Any], score: str) -> Table:
    """Return the scores of all splits by the values of the parameters."""
    for name in parameters:
        if f"param_{name}" not in results:
            known = ", ".join(key.removeprefix("param_") for key in results if key.startswith("param_"))
            raise PlotError(f"parameter: the search has no {name!r}; it has {known}.")
    splits = [key for key in results if key.startswith("split") and key.endswith(f"_test_{score}")]
    splits = splits or [key for key in results if key.startswith("split") and key.endswith("_test_score")]
    if not splits:
        known = ", ".join(key.removeprefix("split0_test_") for key in results if key.startswith("split0_test_"))
        raise PlotError(f"score: the search has no {score!r}; it has {known or 'no scores of its splits'}.")
    found: dict[tuple[Any, ...], list[float]] = {}
    for i, setting in enumerate(zip(*(list(results[f"param_{name}"]) for name in parameters), strict=True)):
        found.setdefault(setting, []).extend(float(results[key][i]) for key in splits)
    return {setting: np.array(scores) for setting, scores in found.items()}
