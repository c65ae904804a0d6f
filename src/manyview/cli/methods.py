"""``manyview methods``: the methods and their parameters."""

from __future__ import annotations

import inspect
import json
import re
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from manyview._utils.text import printable
from manyview.cli import _completion as completion
from manyview.cli._choice import find_method, scalings_of, slug
from manyview.cli._options import AsJson
from manyview.cli._output import new_table, print_json, result_console, words

if TYPE_CHECKING:
    from manyview.cluster import Method

# Parameters that have an option of their own.
_OPTIONS = {"n_clusters": "-k", "random_state": "--seed", "n_jobs": "--jobs", "view_sizes": "--view-sizes"}


def methods(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="Show the parameters of this method.",
            show_default=False,
            autocompletion=completion.methods,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the methods, or the parameters of one method, with their defaults, for --set."""
    from manyview.cluster import available_methods

    chosen = available_methods() if name is None else (find_method(name, "NAME"),)
    if as_json:
        print_json([describe_method(method) for method in chosen])
    elif name is None:
        result_console().print(_method_table(chosen))
        print("\nParameters of a method: manyview methods NAME")
    else:
        _print_method(chosen[0])


def describe_method(method: Method) -> dict[str, Any]:
    """Return all facts about a method as plain values."""
    facts = method.facts
    return {
        "name": slug(method.name),
        "class": method.name,
        "title": facts.title,
        "input": facts.input_kind,
        "memory": facts.memory,
        "order_dependent": facts.order_dependent,
        "kmeans": facts.uses_kmeans,
        "reference": facts.reference,
        "paper_name": facts.paper_name or None,
        "parameters": _parameters(method),
    }


def _parameters(method: Method) -> list[dict[str, Any]]:
    from manyview.cluster._registry import settable

    texts = parameter_texts(method.estimator.__doc__ or "")
    can_be_set = settable(method)
    found = []
    for name, parameter in inspect.signature(method.estimator).parameters.items():
        required = parameter.default is inspect.Parameter.empty
        kind, text = texts[name]
        found.append(
            {
                "name": name,
                "option": "--set" if name in can_be_set else _OPTIONS.get(name),
                "type": re.sub(r",\s*(default=.*|optional)$", "", kind),
                "required": required,
                "default": None if required else _plain(parameter.default),
                "description": text,
                "values": scalings_of(method) if name == "scaling" else None,
            }
        )
    return found


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def parameter_texts(docstring: str) -> dict[str, tuple[str, str]]:
    """Return type and description of each parameter in a numpydoc docstring.

    Examples
    --------
    >>> parameter_texts('''Fit.
    ...
    ...     Parameters
    ...     ----------
    ...     p, q : float, default=0.5
    ...         The exponents.  Small ones
    ...         are sharp.
    ... ''')
    {'p': ('float, default=0.5', 'The exponents. Small ones are sharp.'), 'q': ('float, default=0.5', ...)}
    """
    section = re.search(
        r"^Parameters\n-+\n(.*?)(?=\n\n\S|\n\S[^\n]*\n-+\n|\Z)", inspect.cleandoc(docstring), re.S | re.M
    )
    found: dict[str, tuple[str, str]] = {}
    if section is None:
        return found
    for head, body in re.findall(r"^(\S[^\n]*)\n((?:[ ]+[^\n]*\n?|\n)+)", section[1] + "\n", re.M):
        names, _, kind = head.partition(" : ")
        for name in names.split(","):
            found[name.strip()] = kind, _without_markup(" ".join(body.split()))
    return found


def _without_markup(text: str) -> str:
    """Remove the markup of reStructuredText."""
    return re.sub(r":\w+:`~?([^`]*)`", r"\1", text).replace("``", "")


def _method_table(found: tuple[Method, ...]) -> Table:
    columns = ("name", True), ("what it is", False), ("memory", True), ("order\nmatters", True), ("k-means", True)
    table = new_table(*columns, ("reference", False))
    for method in found:
        facts = method.facts
        answers = ("yes" if facts.order_dependent else "no", "yes" if facts.uses_kmeans else "no")
        cells = (slug(method.name), facts.title, facts.memory, *answers, facts.reference)
        table.add_row(*(words(cell) for cell in cells))
    return table


def _print_method(method: Method) -> None:
    facts, parameters = method.facts, _parameters(method)
    order = "the order of the rows changes its answer" if facts.order_dependent else "it does not depend on row order"
    console = result_console()
    console.print(Text(f"{slug(method.name)} ({method.name}): {facts.title}"))
    console.print(Text(f"{facts.reference}; memory grows with {facts.memory}; {order}"))
    table = new_table(("--set", True), ("default", False), ("what it is", False))
    for parameter in parameters:
        if parameter["option"] == "--set":
            cells = parameter["name"], _typed(parameter["default"]), first_sentence(parameter["description"])
            table.add_row(*(words(cell) for cell in cells))
    console.print()
    console.print(table)
    for parameter in parameters:
        if parameter["values"] is not None:
            values = new_table((f"{parameter['name']} (--scale)", True), ("what it does", False))
            for name, line in parameter["values"].items():
                values.add_row(words(name), words(line))
            console.print()
            console.print(values)
    own = ", ".join(f"{p['name']} with {p['option']}" for p in parameters if p["option"] not in ("--set", None))
    print(printable(f"Others have options of their own: {own}."))


def _typed(default: Any) -> str:
    """Return a default as it would be typed after --set."""
    return default if isinstance(default, str) else json.dumps(default)


def first_sentence(text: str) -> str:
    """Return the first sentence; full stops of abbreviations and numbers do not end it.

    Examples
    --------
    >>> first_sentence("An exponent, e.g. 0.5, up to 1. Smaller ones are sharper.")
    'An exponent, e.g. 0.5, up to 1.'
    """
    return re.split(r"(?<=[^.\s]{2}\.|.\d\.)\s+(?=[A-Z\"])", text, maxsplit=1)[0]
