"""Options that several commands share, as dataclasses: each is declared once, with its help and its default.

A command has a parameter of such a class and is decorated with :func:`grouped`; on the command line, the fields of the
class are options like any other.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Show the fields of every parameter that is a dataclass as options of their own.

    Examples
    --------
    >>> import inspect
    >>> from dataclasses import dataclass
    >>> from manyview.cli._options import grouped
    >>> @dataclass
    ... class Place:
    ...     row: int
    ...     column: int = 3
    >>> @grouped
    ... def show(place: Place, loud: bool = False) -> None:
    ...     print(place, loud)
    >>> list(inspect.signature(show).parameters)
    ['row', 'column', 'loud']
    >>> show(row=1, column=2, loud=True)
    Place(row=1, column=2) True
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, type] = {}
    flat: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        kind = hints[parameter.name]
        if is_dataclass(kind) and isinstance(kind, type):
            groups[parameter.name] = kind
            flat += _as_parameters(kind)
        else:
            flat.append(parameter.replace(annotation=kind, kind=inspect.Parameter.KEYWORD_ONLY))

    @wraps(command)
    def run(**given: Any) -> None:
        command(**{name: kind(**_taken(kind, given)) for name, kind in groups.items()}, **given)

    del run.__wrapped__
    run.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in flat}
    return run


def _as_parameters(kind: type) -> list[inspect.Parameter]:
    hints = get_type_hints(kind, include_extras=True)
    return [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=_default(field), annotation=hints[field.name]
        )
        for field in fields(kind)
    ]


def _default(field: Field[Any]) -> Any:
    if field.default is not MISSING:
        return field.default
    return field.default_factory() if field.default_factory is not MISSING else inspect.Parameter.empty


def _taken(kind: type, given: dict[str, Any]) -> Mapping[str, Any]:
    """Take the fields of a group out of what was given."""
    return {field.name: given.pop(field.name) for field in fields(kind)}
