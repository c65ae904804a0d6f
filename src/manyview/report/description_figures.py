"""Figures of what the clusters are, from pieces of the summary: heat maps of markers, and survival curves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from manyview._utils.text import shortened
from manyview.description.heat_map import FULL_COLOUR
from manyview.report._figure import Figure, figure, plain, series
from manyview.report._page import number
from manyview.report.run_figures import cluster_mark

_COLD_TO_WARM = [[0, "var(--cold)"], [0.5, "var(--zero)"], [1, "var(--warm)"]]
_BLUE_TO_RED = [[0, "var(--cold)"], [0.5, "var(--mid)"], [1, "var(--warm)"]]  # all visible on the page
_ROW = 17  # pixels
_AXIS_NAME = 20  # letters; longer names would leave no room for samples on a phone
_MAX_BARS = 30  # clusters in the small figures of metadata


def sections(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the sections on the contents of the clusters are made of; None if they are left out."""
    contents = summary["description"]
    if contents is None:
        return {"contents": None, "stored": None}
    points, columns, metadata = summary["map"], contents["columns"], contents["metadata"]
    groups: dict[str, list[tuple[int, str]]] = {}
    for index, column in sorted(enumerate(columns), key=lambda each: each[1]["group"] is not None):
        group = "metadata" if column["group"] is None else f"markers in {shortened(column['group'], 40)}"
        groups.setdefault(group, []).append((index, column["name"]))
    return {
        "contents": {**contents, "metadata": metadata and _with_scales(metadata)},
        "column_groups": groups,
        "stored": {
            "samples": points["id"],
            "order": contents["order"],
            "columns": [{key: column[key] for key in column if key != "feature"} for column in columns],
            "scale": _BLUE_TO_RED,
        },
        "column_marks": {index: _marks(column) for index, column in enumerate(columns) if "categories" in column},
        "heat": [heat_map(found, points["n_shown"]) for found in contents["heat"]],
        "gaps": [any(None in columns[row["column"]]["values"] for row in found["rows"]) for found in contents["heat"]],
        "spans": spans(points["cluster"], summary["names"]),
        "bars": drawn_clusters(contents["clusters"]),
        "survival": contents["survival"] and survival(contents["survival"], summary["n_clusters"]),
    }


def heat_map(found: Mapping[str, Any], n_samples: int) -> Figure:
    """Draw the frame of a heat map; the script of the page fills in z scores and texts from the stored columns."""
    rows = found["rows"]
    bar = {
        "title": {"text": "z score", "side": "right"},
        "thickness": 10,
        "outlinewidth": 0,
        "tickvals": [-FULL_COLOUR, 0, FULL_COLOUR],
    }
    cells = {
        "type": "heatmap",
        "zmin": -FULL_COLOUR,
        "zmax": FULL_COLOUR,
        "colorscale": _COLD_TO_WARM,
        "colorbar": bar,
        "hoverinfo": "text",
        "hoverongaps": False,
    }
    y_axis = {
        "autorange": False,
        "range": [len(rows) - 0.5, -0.5],
        "tickvals": list(range(len(rows))),
        "ticktext": [plain(shortened(row["feature"], _AXIS_NAME)) for row in rows],
        "tickfont": {"size": 11},
        "ticks": "",
        "showgrid": False,
        "zeroline": False,
    }
    x_axis = {
        "visible": False,
        "range": [-0.5 - 0.02 * n_samples, n_samples - 0.5],
        "showgrid": False,
        "zeroline": False,
    }
    return figure(
        [cells],
        x_axis,
        y_axis,
        f"Heat map of {len(rows)} markers in {found['view']} and {n_samples:,} samples, ordered by cluster. The "
        "sentences and the table say the same in words and numbers.",
        height=_ROW * len(rows) + 50,
        margin={"l": 20, "r": 4, "t": 34, "b": 10},
        plot_bgcolor="var(--line)",
        hovermode="closest",
    )


def spans(clusters: Sequence[int], names: Sequence[str]) -> list[dict[str, Any]]:
    """Return where each cluster begins and ends among samples that are ordered by cluster, with colour and name."""
    sizes = np.bincount(clusters, minlength=len(names))
    ends = np.cumsum(sizes)
    return [
        {
            "start": int(end - size),
            "end": int(end),
            "color": cluster_mark(k, len(names))["color"],
            "name": plain(shortened(name, 30)),
        }
        for k, (size, end, name) in enumerate(zip(sizes, ends, names, strict=True))
    ]


def survival(found: Mapping[str, Any], n_clusters: int) -> Figure:
    """Draw Kaplan-Meier curves, with marks where samples were censored."""
    data = []
    for curve in found["curves"]:
        mark = cluster_mark(curve["cluster"], n_clusters)
        name = f"{curve['name']} ({curve['n']:,})"
        data.append(
            series(
                curve["x"],
                curve["y"],
                name=name,
                hover=[
                    f"{curve['name']}, {found['time']} {time:.6g}: {number(alive, 2)}"
                    for time, alive in zip(curve["x"], curve["y"], strict=True)
                ],
                mode="lines",
                line={"color": mark["color"], "shape": "hv", "width": 2},
            )
        )
        data.append(
            series(
                curve["censored"],
                curve["censored_y"],
                hover=[f"{curve['name']}, censored at {time:.6g}" for time in curve["censored"]],
                mode="markers",
                marker={"color": mark["color"], "symbol": "line-ns-open", "size": 8, "line": {"width": 1.5}},
            )
            | {"showlegend": False}
        )
    medians = "; ".join(
        f"{curve['name']}: median {'not reached' if curve['median'] is None else format(curve['median'], '.6g')}"
        for curve in found["curves"]
    )
    return figure(
        data,
        {"title": found["time"], "rangemode": "tozero", "tickvals": found["ticks"], "zeroline": False},
        {"title": "share without event", "range": [0, 1.03], "tickformat": ".0%", "zeroline": False},
        f"Survival curves of {len(found['curves'])} clusters. {medians}.",
        height=380,
        hovermode="closest",
        legend={"x": 1, "xanchor": "right", "y": 1},
    )


def _marks(column: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return a colour and a symbol for each category of a column."""
    return [cluster_mark(i, len(column["categories"])) for i in range(len(column["categories"]))]


def drawn_clusters(clusters: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the clusters in the small figures of metadata: all, or the largest."""
    largest = sorted(clusters, key=lambda cluster: -cluster["size"])[:_MAX_BARS]
    return sorted(cluster["cluster"] for cluster in largest)


def _with_scales(metadata: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Add the ends of the axis to the columns of numbers, and the function from a value to its place in per cent."""
    return [dict(row) | (_scale(row["table"]) if row["kind"] == "numbers" else {}) for row in metadata]


def _scale(table: Mapping[str, Any]) -> dict[str, Any]:
    known = [value for key in ("lower", "upper") for value in table[key] if value is not None]
    low, high = min(known, default=0.0), max(known, default=1.0)
    margin = 0.05 * (high - low) or 0.5
    low, high = low - margin, high + margin

    def place(value: float) -> float:
        return round(100 * (value - low) / (high - low), 2)

    scale: Callable[[float], float] = place
    return {"scale": scale, "ends": [low, high]}
