"""The API reference has every public name, and every public name describes itself."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import runpy
from pathlib import Path

import pytest

import manyview
import manyview.solvers

DOCS = Path(__file__).resolve().parents[2] / "docs"
MODULES = [
    "manyview",
    *(f"manyview.{name}" for name in manyview._MODULES if name != "solvers"),
    "manyview.engines.dask",
    *(f"manyview.solvers.{module.name}" for module in pkgutil.iter_modules(manyview.solvers.__path__)),
]


def public(module: str) -> dict[str, object]:
    """The public names of a module: ``__all__``, or else what is defined in it."""
    found = importlib.import_module(module)
    defined = [name for name, value in vars(found).items() if getattr(value, "__module__", None) == module]
    names = getattr(found, "__all__", defined)
    return {f"{module}.{name}": getattr(found, name) for name in names if not name.startswith("_")}


NAMES = {
    name: value
    for module in MODULES
    if not module.rpartition(".")[2].startswith("_")
    for name, value in public(module).items()
    # used by the package itself, and of no use elsewhere
    if name not in ("manyview.exceptions.warn_user", "manyview.views.Array")
}


def listed() -> set[str]:
    """What the pages of the reference list, with full names."""
    made = runpy.run_path(str(DOCS / "_ext" / "methods.py"))
    names = set()
    for page in map(made["reference_page"], made["PAGES"]):
        module = ""
        for line in page.splitlines():
            if match := re.fullmatch(r"\.\. currentmodule:: (\S+)", line):
                module = match[1]
            elif match := re.fullmatch(r"\.\. automodule:: (\S+)", line):
                names |= set(public(match[1]))
            elif match := re.fullmatch(r" {3}([A-Za-z]\S*)", line):
                names.add(f"{module}.{match[1]}")
    return names


def test_every_public_name_is_in_the_reference():
    described = [NAMES[name] for name in listed() if name in NAMES]
    missing = [name for name, value in NAMES.items() if not any(value is other for other in described)]
    assert not missing, f"add to a page in docs/_templates/api: {missing}"


def test_constants_describe_themselves():
    pytest.importorskip("sphinx")
    description = runpy.run_path(str(DOCS / "_ext" / "constants.py"))["description"]
    constants = [name for name in sorted(NAMES) if not callable(NAMES[name]) or name.endswith(".Block")]
    constants = [name for name in constants if name in listed() and not inspect.ismodule(NAMES[name])]
    assert {"manyview.metrics.SCORES", "manyview.engines.BLOCK_ROWS"} <= set(constants)
    assert [name for name in constants if not description(name)] == []


def test_a_name_is_described_once():
    seen: dict[int, str] = {}
    for name in sorted(listed() & set(NAMES)):
        if isinstance(NAMES[name], type) or inspect.isfunction(NAMES[name]):
            assert seen.setdefault(id(NAMES[name]), name) == name


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_public_name_describes_itself(name):
    value = NAMES[name]
    if not (inspect.isroutine(value) or inspect.isclass(value)):
        return
    assert (value.__doc__ or "").strip(), f"{name} has no docstring"
    if inspect.isfunction(value) and not name.startswith("manyview.solvers."):  # there, the letters of the formulas
        text = inspect.cleandoc(value.__doc__)
        missing = [word for word in inspect.signature(value).parameters if not re.search(rf"\b{word}\b", text)]
        assert not missing, f"{name} does not say what {missing} are"
    if inspect.isclass(value):
        for method, function in inspect.getmembers(value, inspect.isfunction):
            if not method.startswith("_") and function.__module__.startswith("manyview"):
                assert (function.__doc__ or "").strip(), f"{name}.{method} has no docstring"
