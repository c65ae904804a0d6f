"""Rendering of all reports: the template environment, and how pages write numbers.

A page is one file. Texts from outside, such as names of views, are escaped by the templates.
"""

from __future__ import annotations

import math
import re
from functools import cache
from shlex import quote
from typing import TYPE_CHECKING, Any

from manyview._utils.drawing import TEN_COLOURS
from manyview._utils.machine import gib
from manyview._utils.text import cut, duration, shortened, without_commands
from manyview._version import __version__
from manyview.audit.result import question, short_answer
from manyview.metrics import SCORE_TITLES

if TYPE_CHECKING:
    from jinja2 import Environment

_NOTHING = "–"
_MAX_TEXT = 20_000


def render_page(template: str, **content: Any) -> str:
    """Render one of the templates that extend ``base.html`` as an HTML page.

    Parameters
    ----------
    template : str
        File name of the template.
    **content
        Variables of the template; it is an error if one that it uses is not given.

    Returns
    -------
    str

    Examples
    --------
    >>> page = render_page("base.html", title="<b> & co")
    >>> page[:15], "&lt;b&gt; &amp; co" in page, "<b> & co" in page
    ('<!doctype html>', True, False)
    """
    from plotly.offline import get_plotlyjs

    return (
        _templates()
        .get_template(template)
        .render(colours=TEN_COLOURS, plotly_js=get_plotlyjs(), version=__version__, **content)
    )


@cache
def _templates() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("manyview.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        number=number,
        duration=_duration,
        memory=memory,
        p_value=p_value,
        score=score_name,
        quote=quote,
        short=shortened,
        percent=percent,
        question=question,
        short_answer=short_answer,
        begin=begin,
        digits=digits,
        small_p=small_p,
    )
    return environment


def _shown(value: Any) -> Any:
    """Shorten texts from outside, and escape their control characters."""
    if type(value) is not str or (len(value) <= _MAX_TEXT and value.isprintable()):
        return value
    return "\n".join(map(without_commands, cut(value, _MAX_TEXT).split("\n")))


def number(value: float | None, digits: int = 3, sign: bool = False) -> str:
    """Format a number, with a typographic minus; a dash if there is none.

    Examples
    --------
    >>> number(0.12345), number(-0.5, 1), number(0.5, 1, sign=True), number(None)
    ('0.123', '−0.5', '+0.5', '–')
    """
    if value is None or not math.isfinite(value):
        return _NOTHING
    rounded = round(value, digits) + 0.0  # not -0.000
    return f"{rounded:{'+' if sign and rounded else ''},.{digits}f}".replace("-", "−")


def percent(share: float | None) -> str:
    """Format a share of 1 as whole per cent; 0 and 100 only where that is exact.

    Examples
    --------
    >>> percent(0.123), percent(0.9999), percent(1.0), percent(None)
    ('12 %', '> 99 %', '100 %', '–')
    """
    if share is None:
        return _NOTHING
    if 0 < share < 0.005:
        return "< 1 %"
    return "> 99 %" if 0.995 <= share < 1 else f"{100 * share:.0f} %"


def _duration(seconds: float | None) -> str:
    """Format a time; a dash if there is none."""
    return _NOTHING if seconds is None else duration(seconds)


def memory(size: float | None) -> str:
    """Format a number of bytes; a dash if there is none."""
    return _NOTHING if size is None else gib(size)


def p_value(value: float | None) -> str:
    """Format a p-value with three digits, and small ones as a bound.

    Examples
    --------
    >>> p_value(0.0123), p_value(1e-9)
    ('0.012', '< 0.001')
    """
    return "< 0.001" if value is not None and value < 0.001 else number(value)


def small_p(value: float | None) -> str:
    """Format a p value with two digits, and tiny ones as a bound: of many tests, the order of magnitude matters.

    Examples
    --------
    >>> small_p(0.0123), small_p(2.34e-9), small_p(0.5), small_p(1e-99), small_p(None)
    ('0.012', '2.3e−9', '0.50', '< 1e−15', '–')
    """
    if value is None or not math.isfinite(value):
        return _NOTHING
    if value < 1e-15:
        return "< 1e−15"
    if value >= 0.001:
        return f"{value:.2g}" if value < 0.1 else f"{value:.2f}"
    mantissa, power = f"{value:.1e}".split("e")
    return f"{mantissa}e−{abs(int(power))}"


def digits(value: float | None) -> str:
    """Format a number of any size with four digits; a dash if there is none.

    Examples
    --------
    >>> digits(1234.5678), digits(-0.00012345), digits(2000000.0), digits(None)
    ('1,235', '−0.0001234', '2,000,000', '–')
    """
    if value is None or not math.isfinite(value):
        return _NOTHING
    text = f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"
    return text.replace("-", "−")


def begin(name: str) -> str:
    """Return the name of a cluster for the beginning of a line; names that users gave stay as they are.

    Examples
    --------
    >>> begin("cluster 3"), begin("basal-like")
    ('Cluster 3', 'basal-like')
    """
    return f"C{name[1:]}" if re.fullmatch(r"cluster -?\d+", name) else name


def score_name(name: str) -> str:
    """Return the name of a score in tables."""
    return SCORE_TITLES.get(name, name)
