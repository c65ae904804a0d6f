"""What tables in a terminal are made of.

Every piece of text that comes from a spec, a file or an error goes through :func:`words`: it is never read as markup,
and nothing in it reaches the terminal as a command.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from manyview._utils.text import printable

Json = dict[str, Any]


def words(text: object, style: str = "") -> Text:
    """Text as it is, without markup or escapes."""
    return Text(printable(text), style=style)


def reading_lines(data: Json) -> list[Text]:
    """Say how the rows of several files were matched, and which files were transposed."""
    from manyview.views import Reading

    return [words(text) for text in Reading(data["matched_by"], tuple(data["transposed"])).sentences]


def new_table(*columns: tuple[str, bool]) -> Table:
    """Make an empty table; a column is its heading, and whether it holds numbers, which are never broken."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for heading, is_number in columns:
        lines = Text("\n").join(words(line) for line in heading.split("\n"))
        table.add_column(lines, no_wrap=is_number, overflow="fold")
    return table


def candidate_pieces(suggestion: Json | None) -> list[RenderableType]:
    """Lay out the evidence for each number of clusters that was a candidate, if there were several."""
    if suggestion is None or len(suggestion["evidence"]) < 2:
        return []
    headings = ("candidate\nclusters", "eigengap of graphs\n(reference)", "eigengap of consensus\n(reference)")
    table = new_table(*((heading, True) for heading in (*headings, "stability", "score")))
    for column in table.columns:
        column.justify = "right"
    for found in suggestion["evidence"]:
        table.add_row(
            f"{found['n_clusters']}",
            f"{found['graph_eigengap']:.3f} ({found['reference_graph_eigengap']:.3f})",
            f"{found['eigengap']:.3f} ({found['reference_eigengap']:.3f})",
            f"{found['stability']:.2f}",
            f"{found['score']:.3f}",
        )
    return [Text(), table]


def titled(title: str, table: Table) -> list[RenderableType]:
    """Put a title above a table, and an empty line above both."""
    return [Text(), words(title), table]


def result_text(result: Json | None, score: str, *, best: bool = False) -> Text:
    """Mean and deviation of a score, or in a word why there is none."""
    from manyview.experiments.wording import STATUS_NAMES, mean_and_deviation_text

    if result is None:
        return Text("-")
    if (text := mean_and_deviation_text(result, score, "±")) is not None:
        return Text(text, style="bold" if best else "")
    if result["status"] == "done":
        return Text("-")
    published = result["reason"] if result.get("reason", "").isupper() else None  # such as the paper's OM
    return words(published or STATUS_NAMES[result["status"]], "dim")


def reasons(results: Iterable[tuple[str, str, Json]]) -> list[Text]:
    """Say below a table why results are missing: one line for each reason, with all whom it concerns.

    Parameters
    ----------
    results : iterable of (name of the line, order of the rows, result)
    """
    concerned: dict[str, dict[str, dict[str, None]]] = {}  # the inner dicts are sets that keep their order
    for name, order, result in results:
        if result.get("reason") and result["status"] != "absent":
            concerned.setdefault(result["reason"], {}).setdefault(name, {})[order] = None
    lines = []
    for reason, who in concerned.items():
        names = ", ".join(f"{name} ({', '.join(orders)})" for name, orders in who.items())
        lines.append(words(f"{names}: {reason}"))
    return lines
