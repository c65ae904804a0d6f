"""What figures show: scores over a parameter, time over the size of the problem, pictures of graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from manyview.experiments._model import PROTOCOLS, Cell, Entry, Part
from manyview.experiments._outcomes import Outcomes, mean_and_deviation

IMAGE_DIGITS = 4
"""Decimals of the values of a picture: more than a colour can show."""


def curves_of(part: Part, outcomes: Outcomes) -> list[dict[str, Any]]:
    """Of a sweep: scores over the parameter, a curve for each dataset, row and protocol."""
    curves: dict[tuple[str, str, str], list[Entry]] = {}
    for entry in sorted(part.entries, key=lambda entry: PROTOCOLS.index(entry.cell.protocol)):
        curves.setdefault((entry.dataset, entry.row, entry.cell.protocol), []).append(entry)
    return [
        {
            "dataset": dataset,
            "row": row,
            "protocol": protocol,
            "points": [{"x": x, **(outcomes.combined(cells) or {})} for x, cells in _by_value(entries)],
        }
        for (dataset, row, protocol), entries in curves.items()
    ]


def growth_of(part: Part, outcomes: Outcomes) -> list[dict[str, Any]]:
    """Of growth: the time of fits over each axis, and the exponent that fits it, beside the stated one."""
    lines: dict[tuple[str, str], list[Entry]] = {}
    for entry in part.entries:
        lines.setdefault((entry.row, entry.axis or ""), []).append(entry)
    found = []
    for (row, axis), entries in lines.items():
        points = [_time(x, cells, outcomes) for x, cells in _by_value(entries)]
        fastest = [(point["x"], point["seconds"]["min"]) for point in points if "seconds" in point]
        found.append(
            {
                "row": row,
                "axis": axis,
                "label": part.axes.get(axis, axis),
                "points": points,
                "exponent": _exponent(fastest),
                "stated": part.stated.get(row, {}).get(axis),
            }
        )
    return found


def pictures_of(part: Part, outcomes: Outcomes) -> list[dict[str, Any]]:
    """Of graphs: every picture that was kept."""
    return [
        {
            "dataset": entry.dataset,
            "row": entry.row,
            "protocol": cell.protocol,
            "name": name,
            "image": np.round(np.asarray(image, dtype=float), IMAGE_DIGITS).tolist(),
            "acc": outcomes.scores(cell)["acc"],
        }
        for entry in part.entries
        for cell, result in outcomes.done([entry.cell])
        for name, image in result.pictures.items()
    ]


def _by_value(entries: Sequence[Entry]) -> list[tuple[float, list[Cell]]]:
    """Cells at each place of the axis, from left to right."""
    places: dict[float, list[Cell]] = {}
    for entry in entries:
        if entry.value is None:
            raise ValueError(f"{entry.part}: the entry of {entry.row!r} on {entry.dataset!r} has no value on the axis.")
        places.setdefault(float(entry.value), []).append(entry.cell)
    return sorted(places.items())


def _time(x: float, cells: Sequence[Cell], outcomes: Outcomes) -> dict[str, Any]:
    times = [result.seconds for _, result in outcomes.done(cells) if result.seconds is not None]
    if not times:
        return {"x": x, "reason": "not run yet", **outcomes.without_result(cells)}
    return {"x": x, "seconds": {**mean_and_deviation(times), "min": min(times)}, "runs": len(times)}


def _exponent(points: Sequence[tuple[float, float]]) -> float | None:
    """Slope of log(time) over log(x). The time is the smallest of all seeds: other work can only add to it."""
    usable = [(x, time) for x, time in points if x > 0 and time > 0]
    if len(usable) < 2:
        return None
    x, time = np.log(np.array(usable)).T
    return float(np.polyfit(x, time, 1)[0])
