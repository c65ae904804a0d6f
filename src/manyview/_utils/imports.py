"""Delayed imports: public names of packages, optional dependencies, and what others import without need."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType
from typing import Any

from manyview.exceptions import MissingDependencyError


def lazily(
    package: str, homes: Mapping[str, str], modules: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` for a package that imports its public names at first use.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    homes : mapping of str to str
        Module of each public name: in the package, or with a leading dot in its parent.
    modules : iterable of str, default=()
        Modules of the package that are available as attributes without an explicit import.

    Examples
    --------
    >>> from manyview._utils.imports import lazily
    >>> get, names = lazily("json", {"JSONDecodeError": "decoder"}, ["tool"])
    >>> get("JSONDecodeError").__name__, get("tool").__name__
    ('JSONDecodeError', 'json.tool')
    """

    def get(name: str) -> Any:
        if name in modules:
            return import_module(f"{package}.{name}")
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f".{homes[name]}", package), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        own = vars(sys.modules[package])  # what it imports for itself is left out of completion
        return sorted({*homes, *modules, *own.get("__all__", ()), *(name for name in own if name.startswith("__"))})

    return get, names


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import ``module``, or raise an error that names the extra of manyview that installs it.

    Parameters
    ----------
    module : str
        The module to import, such as ``"h5py"``.
    extra : str
        The extra of manyview that installs it.
    purpose : str
        What it is needed for; first words of the error message.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingDependencyError(
            f'{purpose} needs {module.partition(".")[0]}: pip install "manyview[{extra}]"'
        ) from error


class Deferred:
    """A finder of modules that run when one of their names is first used, for ``sys.meta_path``.

    Only for a process of our own, as it concerns all that is imported afterwards.

    Examples
    --------
    >>> import sys
    >>> sys.meta_path.insert(0, Deferred("wave"))
    >>> import wave
    >>> type(wave).__name__, wave.Error.__name__, type(wave).__name__
    ('_LazyModule', 'Error', 'module')
    >>> del sys.meta_path[0]
    """

    def __init__(self, *names: str) -> None:
        self._names = names

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the specification of one of the modules, None for all others."""
        spec = PathFinder.find_spec(name, path, target) if name in self._names else None
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec
