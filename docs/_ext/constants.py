"""Constants of the package are described by the text below their assignment, not by that of their type.

Python keeps no docstring of a name that stands for a number, a tuple or a dict, and Sphinx finds the text only in the
module that assigns the name, not in the package that exports it.
"""

from __future__ import annotations

import sys
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import PycodeError
from sphinx.pycode import ModuleAnalyzer


def description(name: str) -> list[str]:
    """Return the lines below the assignment of a name such as ``manyview.metrics.SCORES``; none if there are none."""
    package, _, constant = name.rpartition(".")
    value = getattr(sys.modules[package], constant)
    for module in sorted(sys.modules):
        if module.startswith("manyview.") and getattr(sys.modules[module], constant, None) is value:
            try:
                found = ModuleAnalyzer.for_module(module).find_attr_docs().get(("", constant))
            except PycodeError:  # a module without source
                continue
            if found:
                return found
    return []


def describe(app: Sphinx, what: str, name: str, obj: object, options: Any, lines: list[str]) -> None:
    """Replace the text of a constant."""
    if what == "data" and name.startswith("manyview."):
        lines[:] = description(name)


def setup(app: Sphinx) -> dict[str, bool]:
    """Describe constants before other extensions see the text."""
    app.connect("autodoc-process-docstring", describe, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
