"""Small tables in HTML for notebooks: how objects of the package show themselves.

Everything that comes from outside is escaped. Nothing has a colour of its own, so that tables are readable in light and
in dark notebooks.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from html import escape
from numbers import Integral, Real
from typing import Any

from manyview._utils.text import shortened

_NOTHING = "–"
_MARKED = '<tr class="marked">'
_MOST = 200  # characters of a text in a cell
_MOST_ROWS = 20  # of a data frame
# The name twice outweighs the rules of notebooks, which set all cells to the right.
_STYLE = """<style>
.manyview.manyview p { margin: 0.3em 0 }
.manyview.manyview .wide { overflow-x: auto }
.manyview.manyview table { margin: 0.3em 0; border-collapse: collapse }
.manyview.manyview table td, .manyview.manyview table th { text-align: left; vertical-align: top }
.manyview.manyview table td, .manyview.manyview table th { padding: 0.15em 0.8em 0.15em 0.3em }
.manyview.manyview table .number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums }
.manyview.manyview table .line { white-space: nowrap }
.manyview.manyview table .group { text-align: center }
.manyview.manyview table .marked td { font-weight: bold }
.manyview.manyview .bar { height: 0.7em; margin-top: 0.25em; background: currentColor; opacity: 0.45 }
.manyview.manyview summary { cursor: pointer }
</style>"""


class Raw(str):
    """A piece of HTML, which is not escaped again."""

    __slots__ = ()


def block(parts: Iterable[str]) -> str:
    """Return pieces of HTML as the output of a notebook's cell, with the style that they need."""
    return f'<div class="manyview">{_STYLE}{"".join(parts)}</div>'


def escaped(text: object, most: int = _MOST) -> Raw:
    """Return a text as HTML, shortened, with control characters as escapes.

    Examples
    --------
    >>> escaped("<b> & co")
    '&lt;b&gt; &amp; co'
    """
    return Raw(escape(shortened(text, most)))


def table(
    columns: Sequence[object],
    rows: Iterable[Sequence[Any]],
    *,
    marked: Collection[int] = (),
    groups: Sequence[tuple[str, int]] = (),
) -> Raw:
    r"""Return a table: numbers to the right, texts to the left, a dash for what is None or NaN.

    Parameters
    ----------
    columns : sequence
        The heading of each column.
    rows : iterable of sequences
        The cells; :class:`Raw` ones are taken as they are.
    marked : collection of int
        The rows that are shown in bold.
    groups : sequence of (str, int)
        Headings above those of the columns, each with the number of columns below it.

    Examples
    --------
    >>> print(table(["view", "features"], [["gist <1>", 512]]).replace("<tr>", "\n<tr>"))
    <div class="wide"><table><thead>
    <tr><th>view</th><th class="number">features</th></tr></thead><tbody>
    <tr><td>gist &lt;1&gt;</td><td class="number">512</td></tr></tbody></table></div>
    """
    listed = [list(row) for row in rows]
    numeric = [any(_is_number(row[c]) for row in listed) for c in range(len(columns))]
    above = "".join(f'<th class="group" colspan="{width}">{escaped(name, 40)}</th>' for name, width in groups)
    head = f"<tr>{above}</tr>" * bool(groups) + f"<tr>{_cells('th', columns, numeric)}</tr>"
    body = "".join(
        f"{_MARKED if i in marked else '<tr>'}{_cells('td', row, numeric)}</tr>" for i, row in enumerate(listed)
    )
    return Raw(f'<div class="wide"><table><thead>{head}</thead><tbody>{body}</tbody></table></div>')


def frame(title: str, values: Any) -> Raw:
    """Return the first rows of a data frame, to be shown after a click on its title."""
    first, n_rows = values.head(_MOST_ROWS), len(values)
    rows = first.astype(object).where(first.notna(), None).to_numpy().tolist()
    cut = f", the first {_MOST_ROWS} of {n_rows:,} rows" if n_rows > _MOST_ROWS else f", {n_rows} rows"
    return details(f"{title}{cut}", table(list(values.columns), rows))


def lines(texts: Iterable[object]) -> Raw:
    """Return texts below each other."""
    return Raw("<br>".join(map(escaped, texts)))


def paragraph(text: object) -> Raw:
    """Return a text as a paragraph."""
    return Raw(f"<p>{escaped(text, 2000)}</p>")


def heading(text: object) -> Raw:
    """Return a text as a heading in bold."""
    return Raw(f"<p><strong>{escaped(text)}</strong></p>")


def details(summary: object, content: str) -> Raw:
    """Return content that is shown after a click on the summary."""
    return Raw(f"<details><summary>{escaped(summary)}</summary>{content}</details>")


def bar(share: float) -> Raw:
    """Return a bar with this share of its full length."""
    width = 6 * min(max(share, 0.0), 1.0) if math.isfinite(share) else 0.0
    return Raw(f'<div class="bar" style="width: {width:.2f}em"></div>')


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _cells(tag: str, values: Sequence[Any], numeric: Sequence[bool]) -> str:
    begin = {True: f'<{tag} class="number">', False: f"<{tag}>"}
    return "".join(f"{begin[right]}{_shown(value)}</{tag}>" for value, right in zip(values, numeric, strict=True))


def _shown(value: Any) -> str:
    if isinstance(value, Raw):
        return value
    if value is None or (_is_number(value) and value != value):
        return _NOTHING
    if not _is_number(value):
        return escaped(value)
    return f"{value:,}" if isinstance(value, Integral) else f"{value:.4g}".replace("-", "−")
