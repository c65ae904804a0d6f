"""``manyview inspect``: what is in files, and what a fit would refuse."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import typer
from rich.table import Table
from rich.text import Text

from manyview._utils.text import printable
from manyview.cli._errors import BAD_INPUT, in_options
from manyview.cli._options import AsJson, Source, grouped
from manyview.cli._output import new_table, print_json, result_console, words

if TYPE_CHECKING:
    from manyview.audit import Inspection, ViewInspection

_STYLES = {"error": "bold red", "warning": "yellow", "note": "dim"}


@grouped
def inspect(source: Source, as_json: AsJson = False) -> None:
    """Describe what is in files before a fit: views, types, missing values, scales, duplicates, classes.

    An "error" is something that a fit would refuse; the exit code is then 2. A "warning" is something that makes its
    answer or its scores doubtful.
    """
    from manyview.audit import inspect_views

    views = source.read()
    found = inspect_views(views)
    following = _following(source, found)
    if as_json:
        print_json({"files": [str(file) for file in source.files], **found.to_dict(), "next": following})
    else:
        _print(source, found, following)
    if _is_refused(found):
        raise typer.Exit(BAD_INPUT)


def _following(source: Source, found: Inspection) -> str:
    """Return the command that a user may want next."""
    known = found.labels is not None and 1 < found.labels.n_classes <= found.n_samples / 2
    number = str(found.labels.n_classes) if found.labels is not None and known else "auto"
    filled = source.impute is None and any(view.missing_cells for view in found.views)
    return shlex.join(["manyview", "cluster", *source.words, "-k", number, *(["--impute", "median"] if filled else [])])


def _print(source: Source, found: Inspection, following: str) -> None:
    console = result_console()
    console.print(Text(f"{', '.join(printable(file) for file in source.files)}: {found.overview}"))
    for sentence in found.sentences:
        console.print(words(in_options(sentence)))
    console.print()
    console.print(_view_table(found))
    console.print()
    if any(view.scaling for view in found.views):
        console.print(_scaling_table(found))
        console.print()
    console.print(_problem_table(found.problems) if found.problems else Text("No problems found."))
    console.print()
    # not by rich, which would wrap it: it may be copied
    print(f"{'Correct the errors, then' if _is_refused(found) else 'Next'}: {printable(following)}")


def _is_refused(found: Inspection) -> bool:
    return any(problem["level"] == "error" for problem in found.problems)


def _view_table(found: Inspection) -> Table:
    table = new_table(
        ("view", False),
        ("columns", True),
        ("type", False),
        ("nonzero", True),
        ("range", True),
        ("missing\nrows", True),
        ("constant\ncolumns", True),
        ("auto\nscaling", True),
    )
    for view in found.views:
        table.add_row(*(words(cell) for cell in _cells(view)))
    return table


def _scaling_table(found: Inspection) -> Table:
    """Return why "auto" selects the scaling of each view."""
    table = Table.grid(padding=(0, 1))
    for view in found.views:
        if view.scaling:
            table.add_row(words("scaling", "dim"), words(f"{view.name}: {view.scaling} ({view.scaling_reason})"))
    return table


def _cells(view: ViewInspection) -> list[str]:
    return [
        view.name,
        f"{view.n_features:,}",
        f"{'sparse ' if view.sparse else ''}{view.dtype}",
        _share(view.density),
        "-" if view.minimum is None else f"{_number(view.minimum)} to {_number(view.maximum)}",
        f"{view.missing_rows:,}",
        f"{view.constant_columns:,}",
        view.scaling or "-",
    ]


def _number(value: float | None) -> str:
    """Return a number with few digits, and with a power of ten only where it is very large or small.

    Examples
    --------
    >>> [_number(value) for value in (0.0, 0.123456, -17570.0, 2.5e9)]
    ['0', '0.12', '-17,570', '2.5e+09']
    """
    if value is None:
        return "-"
    return f"{value:,.0f}" if 100 <= abs(value) < 1e7 else f"{value:.2g}"


def _share(share: float) -> str:
    """Return a share in percent; neither 0 nor 100 unless it is exactly that.

    Examples
    --------
    >>> [_share(share) for share in (0, 1e-6, 0.0123, 0.5, 0.9999, 1)]
    ['0%', '0.1%', '1.2%', '50%', '99.9%', '100%']
    """
    if share in (0, 1):
        return f"{share:.0%}"
    percent = min(max(100 * share, 0.1), 99.9)
    return f"{percent:.1f}%" if percent < 10 or percent > 99 else f"{percent:.0f}%"


def _problem_table(problems: tuple[dict[str, Any], ...]) -> Table:
    table = Table.grid(padding=(0, 1))
    for problem in problems:
        where = "" if problem["view"] is None else f"{problem['view']}: "
        level = problem["level"]
        table.add_row(words(level, _STYLES[level]), words(where + in_options(problem["text"])))
    return table
