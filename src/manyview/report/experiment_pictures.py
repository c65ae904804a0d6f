"""Pictures of experiments for pages without scripts: scores over a parameter, and graphs, as SVG files.

The interactive figures of the HTML report are in ``experiment_figures.py``. Needs matplotlib.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from manyview._utils.imports import require
from manyview.experiments.wording import COLUMN_NAMES, best_of_curve, number
from manyview.metrics import SCORE_TITLES
from manyview.plot._shared import colours, matplotlib_module, share_limits

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PANEL = (4.4, 3.0)  # inches, of curves
_TILE = 1.7  # inches, of graphs
_MARKERS = "os^vDPX"
_COLOURS = 12  # of graphs; more make files larger and show no more
_SAME_FILE = {"svg.hashsalt": "manyview", "savefig.facecolor": "white", "font.size": 9}


@dataclass(frozen=True)
class Picture:
    """A picture as the text of an SVG file, and what it shows in words."""

    svg: str
    description: str


def draw(summary: Mapping[str, Any]) -> dict[str, Picture]:
    """Draw a picture for each part of a summary with measured curves or with graphs.

    Parameters
    ----------
    summary : dict
        From :func:`manyview.experiments.summarise`.

    Returns
    -------
    dict of Picture
        By the name of the part. The same summary gives the same files.

    Examples
    --------
    >>> points = [{"x": x, "scores": {"acc": {"mean": x, "std": 0.0}}} for x in (0.5, 0.9)]
    >>> curve = {"dataset": "MSRC-v5", "row": "TBGL", "protocol": "shuffled", "points": points}
    >>> part = {"name": "p-value", "kind": "sweep", "scores": ["acc"], "axis": {"label": "p"}, "curves": [curve],
    ...         "stated": {"MSRC-v5": 0.5}}
    >>> draw({"parts": [part]})["p-value"].description
    'ACC over p. TBGL on MSRC-v5, shuffled: best ACC 0.900 at 0.9; the paper says 0.5.'
    """
    found = {}
    for part in summary["parts"]:
        if any(point.get("scores") for curve in part.get("curves", ()) for point in curve["points"]):
            found[part["name"]] = _draw_curves(part)
        elif part.get("pictures"):
            found[part["name"]] = _draw_graphs(part["pictures"])
    return found


def _draw_curves(part: Mapping[str, Any]) -> Picture:
    """Draw a row of panels for each dataset and method, a panel for each order of the rows, a line for each score."""
    rows = list(dict.fromkeys((curve["dataset"], curve["row"]) for curve in part["curves"]))
    orders = [order for order in COLUMN_NAMES if any(curve["protocol"] == order for curve in part["curves"])]
    scores, label = part["scores"], part["axis"]["label"]
    described = []
    with matplotlib_module("style").context(["default", _SAME_FILE]):
        figure = matplotlib_module("figure").Figure(
            (_PANEL[0] * len(orders), _PANEL[1] * len(rows) + 0.6), layout="constrained"
        )
        panels = figure.subplots(len(rows), len(orders), squeeze=False, sharex=True)
        for curve in part["curves"]:
            dataset, row, order = curve["dataset"], curve["row"], curve["protocol"]
            ax = panels[rows.index((dataset, row)), orders.index(order)]
            stated = part["stated"].get(dataset)
            _draw_panel(ax, curve, scores, stated)
            ax.set_title(f"{row} on {dataset}, {COLUMN_NAMES[order]}", fontsize="medium")
            best, value = best_of_curve(curve, scores[0])
            if value is not None:
                at = ", ".join(f"{x:g}" for x in best)
                paper = "" if stated is None else f"; the paper says {stated:g}"
                name = f"{row} on {dataset}, {COLUMN_NAMES[order]}"
                described.append(f"{name}: best {SCORE_TITLES[scores[0]]} {number(value)} at {at}{paper}.")
        for ax in panels[-1]:
            ax.set_xlabel(label)
        drawn = {text: handle for ax in panels.flat for handle, text in zip(*_legend(ax), strict=True)}
        names = sorted(drawn, key=lambda text: text.startswith("best"))  # scores come first
        figure.legend([drawn[name] for name in names], names, loc="outside lower center", ncols=5, frameon=False)
        titles = ", ".join(SCORE_TITLES[score] for score in scores)
        return Picture(_svg(figure), f"{titles} over {label}. {' '.join(described)}")


def _legend(ax: Axes) -> tuple[list[Any], list[str]]:
    return ax.get_legend_handles_labels()


def _draw_panel(ax: Axes, curve: Mapping[str, Any], scores: Sequence[str], stated: float | None) -> None:
    values = []
    for score, colour, marker in zip(scores, colours(len(scores)), _MARKERS * len(scores), strict=False):
        done = [(point["x"], point["scores"][score]) for point in curve["points"] if score in point.get("scores", {})]
        x, means = [x for x, _ in done], [value["mean"] for _, value in done]
        spreads = [value["std"] or 0.0 for _, value in done]
        values += means
        ax.errorbar(
            x,
            means,
            yerr=spreads if any(spreads) else None,
            color=colour,
            marker=marker,
            markersize=3.5,
            linewidth=1,
            capsize=2,
            label=SCORE_TITLES[score],
        )
    if stated is not None:
        ax.axvline(stated, color="0.4", linestyle="--", linewidth=1.2, label="best, says the paper")
    best, value = best_of_curve(curve, scores[0])
    if value is not None:
        name = f"best {SCORE_TITLES[scores[0]]}, measured"
        ax.plot(best, [value] * len(best), "*", color="black", markersize=11, zorder=3, label=name)
    ax.set_xticks([point["x"] for point in curve["points"]])
    low, _ = share_limits(values)
    ax.set_ylim(low, 1.04)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color="0.9", linewidth=0.5)


def _draw_graphs(pictures: Sequence[Mapping[str, Any]]) -> Picture:
    """Draw a row of graphs for each fit: those of the views, then the learned ones."""
    fits: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for picture in pictures:
        fits.setdefault((picture["dataset"], picture["row"], picture["protocol"]), []).append(picture)
    width = max(map(len, fits.values()))
    described = []
    with matplotlib_module("style").context(["default", _SAME_FILE]):
        figure = matplotlib_module("figure").Figure((_TILE * width, (_TILE + 0.5) * len(fits)), layout="constrained")
        below = np.atleast_1d(figure.subfigures(len(fits), 1))
        for part, ((dataset, row, order), graphs) in zip(below, fits.items(), strict=True):
            title = f"{row} on {dataset}, {COLUMN_NAMES[order]}: ACC {number(graphs[0]['acc'])}"
            part.suptitle(title, fontsize="medium")
            described.append(f"{title}.")
            panels = part.subplots(1, width, squeeze=False)[0]
            for ax in panels[len(graphs) :]:
                ax.set_axis_off()
            for ax, graph in zip(panels, graphs, strict=False):
                _draw_graph(ax, np.asarray(graph["image"]))
                ax.set_title(graph["name"], fontsize="small")
        names = ", ".join(dict.fromkeys(picture["name"] for picture in pictures))
        words = f"Graphs of samples (down) and anchors (right), both in the order of their classes: {names}."
        return Picture(_svg(figure), f"{words} {' '.join(described)}")


def _draw_graph(ax: Axes, image: np.ndarray) -> None:
    weights = image[image > 0]
    largest = np.quantile(weights, 0.99) if weights.size else 1.0  # a few strong edges do not hide the others
    norm = matplotlib_module("colors").PowerNorm(0.5, vmin=0, vmax=largest, clip=True)
    few_colours = require("matplotlib", extra="plot", purpose="Drawing").colormaps["Blues"].resampled(_COLOURS)
    ax.imshow(image, cmap=few_colours, norm=norm, aspect="auto", interpolation="none")
    ax.set(xticks=[], yticks=[])


def _svg(figure: Any) -> str:
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()
