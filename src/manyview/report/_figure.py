"""Building blocks of figures: dicts for plotly.js in the style of the page, and matrices as PNG images.

Colours are CSS variables of the page, such as ``var(--ink)``, so that figures follow its light and dark style; the
script of the page inserts their values. Names are escaped, because plotly.js interprets some HTML in every text.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Mapping, Sequence
from functools import partial
from html import escape
from math import ceil, floor, log10
from typing import Any, NamedTuple

import numpy as np

from manyview._utils.drawing import TEN_COLOURS

plain = partial(escape, quote=False)
"""Escape a text for plotly.js, which does not know how quotes are escaped."""

_SYMBOLS = ("circle", "square", "diamond", "cross", "triangle-up", "x", "star", "triangle-down", "hexagon")
_FEW_TICKS, _SOME_TICKS, _MANY_TICKS = (1,), (1, 2, 5), (1, 1.2, 1.5, 2, 3, 4, 5, 6, 8)
_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PNG_GREY, _PNG_RGB, _PNG_WITH_PALETTE = 0, 2, 3


class Figure(NamedTuple):
    """What plotly.js draws, and a description in words for screen readers."""

    data: list[dict[str, Any]]
    layout: dict[str, Any]
    description: str


def figure(
    data: list[dict[str, Any]], x: Mapping[str, Any], y: Mapping[str, Any], description: str, **layout: Any
) -> Figure:
    """Make a figure in the style of the page.

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
    hover: Sequence[str] | None = None,
    mode: str = "lines",
    **style: Any,
) -> dict[str, Any]:
    r"""Make a series of points or a line.

    Parameters
    ----------
    x, y : list of float
    name : str, optional
        For the legend; there is no entry without it.
    hover : list of str, optional
        Text of each point that is shown under the mouse pointer, lines separated by newlines; none without it.
    mode : {"lines", "markers", "lines+markers"}, default="lines"
    **style
        More of plotly's scatter, such as ``line``.

    Returns
    -------
    dict

    Examples
    --------
    >>> series([1], [2], name="a < b", hover=["one\ntwo"])["name"]
    'a &lt; b'
    """
    legend = {"showlegend": False} if name is None else {"name": plain(name)}
    shown = {"hoverinfo": "skip"} if hover is None else hover_texts(hover)
    return {"type": "scatter", "mode": mode, "x": list(x), "y": list(y)} | legend | shown | style


def hover_texts(texts: Sequence[str]) -> dict[str, Any]:
    """Return the part of a trace with the texts that are shown under the mouse pointer."""
    return {"hoverinfo": "text", "hovertext": [plain(text).replace("\n", "<br>") for text in texts]}


def note(text: str, x: float, y: float, **style: Any) -> dict[str, Any]:
    """Make an annotation, by default to the right of a point and above it."""
    start = {"showarrow": False, "xanchor": "left", "yanchor": "bottom", "font": {"size": 12}}
    return {"text": plain(text), "x": x, "y": y} | start | style


def marker(index: int, **style: Any) -> dict[str, Any]:
    """Return the colour and symbol of one of many things; the first 90 differ from each other."""
    colour = f"var(--colour-{index % len(TEN_COLOURS)})"
    return {"color": colour, "symbol": _SYMBOLS[index % len(_SYMBOLS)]} | style


def logarithmic(values: Sequence[float], ticks: Sequence[float] | None = None) -> dict[str, Any]:
    """Make a logarithmic axis around the values, with the given ticks or with round ones, fewer on longer axes.

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


def picture_address(image: Sequence[Sequence[float]] | np.ndarray) -> str:
    """Return a matrix of weights as the address of a PNG image: zero is transparent, the largest are black.

    The image has one colour and all degrees of opacity, so it fits light pages, and dark ones when inverted.

    Parameters
    ----------
    image : array-like of shape (rows, columns)
        Weights; negative and missing ones count as zero.

    Returns
    -------
    str
        A ``data:`` address.

    Examples
    --------
    >>> picture_address([[0, 1], [0.5, 0]])[:30]
    'data:image/png;base64,iVBORw0K'
    """
    weights = np.nan_to_num(np.atleast_2d(np.asarray(image, dtype=np.float64))).clip(min=0)
    largest = (
        np.quantile(weights[weights > 0], 0.99) if weights.any() else 1.0
    )  # so that a few strong edges do not hide the others
    opacity = np.rint(255 * np.sqrt(np.minimum(weights / largest, 1))).astype(np.uint8)
    return _png(opacity, _PNG_WITH_PALETTE, (b"PLTE", bytes(3 * 256)), (b"tRNS", bytes(range(256))))


def png_address(image: np.ndarray) -> str:
    """Return an image as the address of a PNG image.

    Parameters
    ----------
    image : ndarray of uint8, shape (height, width) or (height, width, 3)
        Shades of grey, or red, green and blue.

    Returns
    -------
    str
        A ``data:`` address.
    """
    return _png(image, _PNG_GREY if image.ndim == 2 else _PNG_RGB)


def _png(pixels: np.ndarray, colours: int, *chunks: tuple[bytes, bytes]) -> str:
    height, width = pixels.shape[:2]
    # each line begins with its filter: none
    lines = np.column_stack([np.zeros(height, np.uint8), pixels.reshape(height, -1)])
    header = struct.pack(">IIBBBBB", width, height, 8, colours, 0, 0, 0)
    data = zlib.compress(lines.tobytes(), 9)
    parts = ((b"IHDR", header), *chunks, (b"IDAT", data), (b"IEND", b""))
    png = _PNG_SIGNATURE + b"".join(_chunk(name, content) for name, content in parts)
    return "data:image/png;base64," + base64.b64encode(png).decode()


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
