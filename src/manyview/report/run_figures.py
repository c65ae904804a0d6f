"""Figures of the report on one clustering, from pieces of its summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from manyview._utils.drawing import TEN_COLOURS
from manyview._utils.text import shortened
from manyview.report._figure import Figure, figure, hover_texts, marker, note, plain, series
from manyview.report._page import number, percent

# From low to high; the colours differ in lightness, so that the order is visible in grey as well.
_SCALE = [[0, "var(--low)"], [0.5, "var(--middle)"], [1, "var(--high)"]]
_MAX_NUMBERS = 150  # of clusters that are written on the map
_MAX_IN_LEGEND = 40
_AXIS_NAME = 18  # longer names would leave no room for bars on a phone
_UNKNOWN = {"color": "var(--line)", "symbol": "circle-open"}


def cluster_mark(index: int, n_marks: int) -> dict[str, str]:
    """Return the colour and symbol of a cluster or class; symbols differ only if there are too few colours."""
    return marker(index) if n_marks > len(TEN_COLOURS) else marker(index, symbol="circle")


def samples(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Draw the map: one figure, and several ways to colour it.

    Parameters
    ----------
    summary : dict
        As ``summarise`` gives it.

    Returns
    -------
    dict
        ``figure``, and ``colourings``: for each name the ``marker`` of its points.
    """
    points = summary["map"]
    n_shown = points["n_shown"]
    style = {"size": float(np.clip(2200 / max(n_shown, 1) + 4, 5, 12)), "line": {"width": 0.5, "color": "var(--page)"}}
    names = summary["names"]
    colourings = {"cluster": _by_index(points["cluster"], summary["n_clusters"])}
    if points["label"] is not None:
        matches = points["label_match"]
        n_marks = max([summary["n_clusters"], *(match + 1 for match in matches if match is not None)])
        colourings["true label"] = _by_index(matches, n_marks)
    if points["agreement"] is not None:
        colourings["agreement between views"] = _by_value(points["agreement"], "share of views")
    if points["confidence"] is not None:
        colourings["confidence"] = _by_value(points["confidence"], "confidence")
    colourings = {name: style | colours for name, colours in colourings.items()}
    trace = series(
        points["x"], points["y"], hover=_hover(points, names), mode="markers", marker=colourings["cluster"]
    ) | {"customdata": points["cluster"]}
    axis = {"visible": False, "range": [-1.1, 1.1], "fixedrange": False}
    sizes = sorted((cluster["size"] for cluster in summary["clusters"]), reverse=True)
    drawn = figure(
        [trace],
        axis,
        axis | {"scaleanchor": "x"},
        f"Map of {n_shown:,} samples in {len(sizes):,} clusters; the largest has {sizes[0]:,}, the smallest "
        f"{sizes[-1]:,}. The buttons beside it list the samples of each cluster.",
        height=560,
        margin={"l": 4, "r": 4, "t": 30, "b": 4},
        hovermode="closest",
        annotations=_numbers(points, names),
    )
    return {"figure": drawn, "colourings": colourings}


def _by_index(indices: Sequence[int | None], n_marks: int) -> dict[str, Any]:
    marks = [_UNKNOWN if index is None else cluster_mark(index, n_marks) for index in indices]
    symbols = [mark["symbol"] for mark in marks]
    same = len(set(symbols)) == 1
    return {"color": [mark["color"] for mark in marks], "symbol": symbols[0] if same else symbols}


def _by_value(values: Sequence[float | None], title: str) -> dict[str, Any]:
    bar = {"title": {"text": title, "side": "right"}, "thickness": 12, "len": 0.6, "outlinewidth": 0, "x": 1}
    scale = {"colorscale": _SCALE, "cmin": 0, "cmax": 1, "showscale": True, "colorbar": bar}
    return {"color": list(values), "symbol": "circle"} | scale


def _hover(points: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """Return the text of each sample that is shown under the mouse pointer."""
    texts = []
    for i, (name, cluster) in enumerate(zip(points["id"], points["cluster"], strict=True)):
        lines = [f"sample {name}", shortened(names[cluster], 40)]
        for key, words in (("confidence", "confidence"), ("agreement", "views that agree"), ("label", "true label")):
            value = None if points[key] is None else points[key][i]
            if value is not None:
                lines.append(f"{words}: {value if isinstance(value, str) else number(value, 2)}")
        texts.append("\n".join(lines))
    return texts


def _numbers(points: Mapping[str, Any], names: Sequence[str]) -> list[dict[str, Any]]:
    """Write the number of each cluster, or the name that it was given, in the middle of its samples."""
    clusters = np.array(points["cluster"])
    found, codes = np.unique(clusters, return_inverse=True)
    if len(found) > _MAX_NUMBERS:
        return []
    positions = np.column_stack([points["x"], points["y"]])
    style: dict[str, Any] = {"xanchor": "center", "yanchor": "middle", "bgcolor": "var(--veil)", "borderpad": 1}
    size = 15 if len(found) <= 12 else 11 if len(found) <= 50 else 9
    return [
        note(
            short_name(cluster, names),
            *np.median(positions[codes == code], axis=0).tolist(),
            **style,
            font={"size": size},
        )
        for code, cluster in enumerate(found.tolist())
    ]


def short_name(cluster: int, names: Sequence[str], most: int = 18) -> str:
    """Return the number of a cluster, or the name that it was given, shortened."""
    return str(cluster) if names[cluster] == f"cluster {cluster}" else shortened(names[cluster], most)


def legends(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return the marks and names of the true labels on the map, and the number of those left out."""
    points = summary["map"]
    if points["label"] is None:
        return {"marks": [], "more": 0}
    known = {
        match: name for match, name in zip(points["label_match"], points["label"], strict=True) if match is not None
    }
    n_marks = max([summary["n_clusters"], *(match + 1 for match in known)])
    marks = [(cluster_mark(match, n_marks), known[match]) for match in sorted(known)]
    return {"marks": marks[:_MAX_IN_LEGEND], "more": max(0, len(marks) - _MAX_IN_LEGEND)}


def sizes(clusters: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Figure:
    """Draw the sizes of the clusters."""
    numbers = [cluster["cluster"] for cluster in clusters]
    counts = [cluster["size"] for cluster in clusters]
    hover = [
        f"{shortened(names[cluster['cluster']], 40)}: {cluster['size']:,} samples"
        + ("" if cluster["confidence"] is None else f"\nmean confidence {number(cluster['confidence'], 2)}")
        for cluster in clusters
    ]
    bars = _bars(numbers, counts, hover, [cluster_mark(k, 0)["color"] for k in numbers])
    ticks = {"tickvals": numbers, "ticktext": [plain(short_name(k, names)) for k in numbers]}
    ticks = ticks if len(numbers) <= 30 else {}
    return figure(
        [bars],
        {"title": "cluster", "showgrid": False, "zeroline": False, **ticks},
        {"title": "samples", "rangemode": "tozero"},
        f"Sizes of {len(counts)} clusters, from {min(counts):,} to {max(counts):,} samples.",
        height=240,
        margin={"l": 60, "r": 10, "t": 16, "b": 50},
        bargap=0.25,
    )


def _bars(x: Sequence[Any], y: Sequence[Any], hover: Sequence[str], colours: Any, **style: Any) -> dict[str, Any]:
    bars = {"type": "bar", "x": list(x), "y": list(y), "marker": {"color": colours}, "showlegend": False}
    return bars | hover_texts(hover) | style


def suggestion(found: Mapping[str, Any]) -> Figure | None:
    """Draw the evidence for each number of clusters; None if there is no curve."""
    curve = found["curve"]
    numbers = curve.get("n_clusters", [])
    lines = [
        ("eigengap", "eigengap", "var(--colour-0)", "solid"),
        ("reference_eigengap", "eigengap without clusters", "var(--colour-0)", "dot"),
        ("stability", "stability of the clusters", "var(--colour-6)", "solid"),
    ]
    data = [
        series(
            numbers,
            curve[key],
            name=words,
            hover=[f"{k} clusters: {words} {number(v)}" for k, v in zip(numbers, curve[key], strict=True)],
            mode="lines+markers",
            line={"color": colour, "dash": dash},
            marker={"symbol": "circle" if key != "stability" else "square", "size": 7},
        )
        for key, words, colour, dash in lines
        if key in curve
    ]
    if not data or len(numbers) < 2:
        return None
    edge = {"type": "line", "x0": found["n_clusters"], "x1": found["n_clusters"], "yref": "paper", "y0": 0, "y1": 1}
    return figure(
        data,
        {"title": "number of clusters"},
        {"title": "evidence", "rangemode": "tozero"},
        f"Evidence for {numbers[0]} to {numbers[-1]} clusters; {found['n_clusters']} are suggested.",
        height=300,
        shapes=[edge | {"line": {"color": "var(--faint)", "dash": "dash", "width": 1.5}}],
    )


def views(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw weight and agreement of each view as pairs of bars."""
    parts = [
        ("weight", "weight in the answer", "var(--colour-0)", ""),
        ("agreement", "votes that match the clusters", "var(--colour-1)", "/"),
    ]
    data = []
    for key, words, colour, pattern in parts:
        values = [row[key] for row in rows]
        if any(value is not None for value in values):
            hover = [f"{row['name']}: {words} {number(row[key], 2)}" for row in rows]
            style = {"name": words, "showlegend": True, "orientation": "h", "text": [number(v, 2) for v in values]}
            bar = _bars([value or 0 for value in values], range(len(rows)), hover, colour, **style)
            bar["marker"] |= {
                "pattern": {
                    "shape": pattern,
                    "fillmode": "overlay",
                    "fgcolor": "var(--page)",
                    "size": 6,
                    "solidity": 0.2,
                }
            }
            data.append(bar | {"textposition": "outside", "cliponaxis": False})
    return figure(
        data,
        {"range": [0, 1.08], "tickformat": ".0%"},
        {
            "autorange": "reversed",
            "tickvals": list(range(len(rows))),
            "ticktext": [plain(shortened(row["name"], _AXIS_NAME)) for row in rows],
            "ticks": "",
            "showgrid": False,
            "zeroline": False,
        },
        "; ".join(
            f"{row['name']}: weight {number(row['weight'], 2)}, {percent(row['agreement'])} of its votes match "
            "the clusters"
            for row in rows
        ),
        height=110 + 52 * len(rows),
        margin={"l": 20, "r": 20, "t": 10, "b": 40},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "traceorder": "normal"},
        barmode="group",
        bargap=0.3,
    )


def convergence(lines: Sequence[Mapping[str, Any]]) -> list[tuple[str, Figure]]:
    """Draw a figure for each group of records."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for line in lines:
        groups.setdefault(line["group"], []).append(line)
    return [(group, _records(group, found)) for group, found in groups.items()]


def _records(group: str, lines: Sequence[Mapping[str, Any]]) -> Figure:
    unit = lines[0]["unit"]
    few = len(lines[0]["x"]) <= 30
    data = [
        series(
            line["x"],
            line["y"],
            name=line["name"] if len(lines) > 1 else None,
            hover=[
                f"{line['name']}, {unit} {x}: {'–' if y is None else f'{y:.4g}'}"
                for x, y in zip(line["x"], line["y"], strict=True)
            ],
            mode="lines+markers" if few else "lines",
            line={"color": marker(index)["color"]},
            marker=marker(index, size=7),
        )
        for index, line in enumerate(lines)
    ]
    values = [y for line in lines for y in line["y"] if y is not None]
    bounded = group.startswith("agreement")
    y_axis = {"range": [0, 1.04]} if bounded else {"exponentformat": "power"}
    ticks = {"tickvals": lines[0]["x"]} if len(lines[0]["x"]) <= 10 else {}
    ends = f", from {values[0]:.4g} to {values[-1]:.4g}" if values and len(lines) == 1 else ""
    return figure(
        data,
        {"title": unit, **ticks},
        {"title": "NMI" if bounded else "", **y_axis},
        f"{group.capitalize()} over {len(lines[0]['x'])} steps{ends}.",
        height=280,
        margin={"l": 60, "r": 20, "t": 20, "b": 55},
    )


def confusion(counts: Mapping[str, Any], names: Sequence[str]) -> Figure:
    """Draw many classes and clusters as a heat map."""
    classes, clusters = counts["classes"], counts["clusters"]
    hover = [
        [
            f"{plain(name)}, {plain(shortened(names[cluster], 40))}: {n:,}"
            for cluster, n in zip(clusters, row, strict=True)
        ]
        for name, row in zip(classes, counts["counts"], strict=True)
    ]
    trace = {
        "type": "heatmap",
        "z": counts["counts"],
        "hoverinfo": "text",
        "text": hover,
        "colorscale": [[0, "var(--page)"], [1, "var(--strong)"]],
        "colorbar": {"title": {"text": "samples", "side": "right"}, "thickness": 12, "outlinewidth": 0},
    }
    total = sum(map(sum, counts["counts"]))
    matched = sum(row[i] for i, row in enumerate(counts["counts"]) if i < len(row))
    axis = {
        "showticklabels": False,
        "ticks": "",
        "showgrid": False,
        "zeroline": False,
        "mirror": True,
        "showline": True,
    }
    return figure(
        [trace],
        axis | {"title": "clusters, ordered to match the classes"},
        axis | {"title": "classes", "autorange": "reversed"},
        f"{len(classes)} classes and {len(clusters)} clusters: {matched:,} of {total:,} samples are on the diagonal.",
        height=520,
        margin={"l": 40, "r": 20, "t": 20, "b": 50},
    )
