"""What figures are made of: plain dicts that plotly.js reads, in the style of the page.

Colours are CSS variables of the page, such as ``var(--ink)``, so that figures follow its light and dark style; the
script of the page puts their values in. Names are escaped, because plotly.js reads a little HTML in every text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from html import escape
from math import ceil, floor, log10
from typing import Any, NamedTuple

from manyview._utils.drawing import TEN_COLOURS

plain = partial(escape, quote=False)
"""Text as plotly.js must get it to show it as it is; it does not know how quotes are escaped."""

_SYMBOLS = ("circle", "square", "diamond", "cross", "triangle-up", "x", "star", "triangle-down", "hexagon")
_FEW_TICKS, _SOME_TICKS, _MANY_TICKS = (1,), (1, 2, 5), (1, 1.2, 1.5, 2, 3, 4, 5, 6, 8)


class Figure(NamedTuple):
    """What plotly.js draws, and what a reader who does not see it is told."""

    data: list[dict[str, Any]]
    layout: dict[str, Any]
    description: str


def figure(
    data: list[dict[str, Any]], x: Mapping[str, Any], y: Mapping[str, Any], description: str, **layout: Any
) -> Figure:
    """A figure in the style of the page.

    Parameters
    ----------
    data : list of dict
        From :func:`series`.
    x, y : dict
        Axes as plotly.js has them; ``title`` is plain text.
    description : str
        The figure in words.
    **layout
        More of plotly's layout, such as ``height``.

    Returns
    -------
    Figure

    Examples
    --------
    >>> drawn = figure([series([1, 2], [3, 4])], {"title": "time (s)"}, {"title": "ACC"}, "ACC over time.")
    >>> drawn.layout["xaxis"]["title"]
    {'text': 'time (s)'}
    """
    style = {
        "font": {"color": "var(--ink)", "family": "system-ui, sans-serif", "size": 13},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "hoverlabel": {"bgcolor": "var(--panel)", "font": {"color": "var(--ink)"}, "align": "left"},
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": "var(--faint)", "activecolor": "var(--ink)"},
        "dragmode": False,  # a finger on the figure scrolls the page
        "height": 360,
        "margin": {"l": 60, "r": 20, "t": 30, "b": 60},
        "showlegend": any("name" in trace for trace in data),
        "xaxis": _axis(x),
        "yaxis": _axis(y),
    }
    return Figure(data, style | layout, description)


def series(
    x: Sequence[float],
    y: Sequence[float],
    *,
    name: str | None = None,
    told: Sequence[str] | None = None,
    mode: str = "lines",
    **style: Any,
) -> dict[str, Any]:
    r"""Points or a line.

    Parameters
    ----------
    x, y : list of float
    name : str, optional
        For the legend; there is no entry without it.
    told : list of str, optional
        What is shown when one points at it, several lines apart by newlines; nothing without it.
    mode : {"lines", "markers", "lines+markers"}, default="lines"
    **style
        More of plotly's scatter, such as ``line``.

    Returns
    -------
    dict

    Examples
    --------
    >>> series([1], [2], name="a < b", told=["one\ntwo"])["name"]
    'a &lt; b'
    """
    legend = {"showlegend": False} if name is None else {"name": plain(name)}
    texts = None if told is None else [plain(text).replace("\n", "<br>") for text in told]
    hover = {"hoverinfo": "skip"} if texts is None else {"hoverinfo": "text", "hovertext": texts}
    return {"type": "scatter", "mode": mode, "x": list(x), "y": list(y)} | legend | hover | style


def note(text: str, x: float, y: float, **place: Any) -> dict[str, Any]:
    """Words in a figure, to the right of a point and above it."""
    start = {"showarrow": False, "xanchor": "left", "yanchor": "bottom", "font": {"size": 12}}
    return {"text": plain(text), "x": x, "y": y} | start | place


def marker(place: int, **style: Any) -> dict[str, Any]:
    """A colour and symbol for one of many things; the first 90 differ from each other."""
    colour = f"var(--colour-{place % len(TEN_COLOURS)})"
    return {"color": colour, "symbol": _SYMBOLS[place % len(_SYMBOLS)]} | style


def logarithmic(values: Sequence[float], ticks: Sequence[float] | None = None) -> dict[str, Any]:
    """A logarithmic axis around the values, with the given ticks or with round ones, fewer the longer it is.

    Examples
    --------
    >>> logarithmic([0.1, 8])["ticktext"]
    ['0.01', '0.02', '0.05', '0.1', '0.2', '0.5', '1', '2', '5', '10', '20', '50']
    """
    powers = [log10(value) for value in values if value > 0] or [0.0]
    low, high = min(powers), max(powers)
    margin = max(0.05 * (high - low), 0.1)
    if ticks is None:
        steps = _MANY_TICKS if high - low < 1 else _SOME_TICKS if high - low < 3 else _FEW_TICKS
        every = max(1, round((high - low) / 6))
        ticks = [step * 10.0**power for power in range(floor(low) - 1, ceil(high) + 1, every) for step in steps]
    return {
        "type": "log",
        "range": [low - margin, high + margin],
        "tickvals": list(ticks),
        "ticktext": [f"{tick:,.0f}" if tick >= 10 else f"{tick:g}" for tick in ticks],
    }


def _axis(axis: Mapping[str, Any]) -> dict[str, Any]:
    style = {
        "gridcolor": "var(--line)",
        "linecolor": "var(--faint)",
        "zerolinecolor": "var(--line)",
        "ticks": "outside",
        "automargin": True,
    }
    title = {"title": {"text": plain(axis["title"])}} if "title" in axis else {}
    return style | dict(axis) | title
