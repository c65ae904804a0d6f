"""What a fit has recorded, as lines to draw."""

from __future__ import annotations

from typing import Any

import numpy as np

from manyview._utils.drawing import AGREEMENTS, is_by_view, steps, usual_keys

_MOST_POINTS = 400


def convergence_lines(model: Any, names: list[str]) -> list[dict[str, Any]]:
    """Every record with a value for each step, what one looks at first coming first.

    Parameters
    ----------
    model : fitted estimator
        With ``history_`` and ``n_iter_``.
    names : list of str
        Of the views: of a record with a value for each view, every view becomes a line.

    Returns
    -------
    list of dict
        With ``group`` (lines that belong in one figure), ``name``, ``unit`` (what steps are), ``x`` and ``y``.
    """
    history = getattr(model, "history_", {})
    if not history or is_by_view(history):
        return []
    numbers, unit = steps(history, getattr(model, "n_iter_", 0))
    kept = np.unique(np.linspace(0, len(numbers) - 1, min(len(numbers), _MOST_POINTS)).round().astype(np.int64))
    usual = usual_keys(history)
    lines = []
    for key in [*usual, *(key for key in history if key not in (*usual, "n_members"))]:
        values = np.asarray(history[key])
        if values.ndim == 0 or len(values) != len(numbers) or len(numbers) == 0 or values.dtype.kind not in "biuf":
            continue
        words = key.replace("_", " ")
        group = "agreement of the labels" if key in AGREEMENTS else words
        if values.ndim == 1:
            columns = {words: values}
        elif values.ndim == 2 and values.shape[1] == len(names):
            columns = dict(zip(names, values.T, strict=True))
        else:
            continue
        x = numbers[kept].tolist()
        lines += [
            {"group": group, "name": name, "unit": unit, "x": x, "y": _plain(column[kept])}
            for name, column in columns.items()
        ]
    return lines


def _plain(values: np.ndarray) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]
