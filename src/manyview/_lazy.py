"""Packages whose names are imported when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any


def lazily(
    package: str, homes: Mapping[str, str], modules: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The functions ``__getattr__`` and ``__dir__`` of a package that imports what it offers only when it is asked for.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    homes : mapping of str to str
        Public names, and the modules of the package that they are in.
    modules : iterable of str, default=()
        Modules of the package that can be reached without importing them first.

    Examples
    --------
    >>> from manyview._lazy import lazily
    >>> get, names = lazily("json", {"JSONDecodeError": "decoder"}, ["tool"])
    >>> get("JSONDecodeError").__name__, get("tool").__name__
    ('JSONDecodeError', 'json.tool')
    """

    def get(name: str) -> Any:
        if name in modules:
            return import_module(f"{package}.{name}")
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes, *modules})

    return get, names
