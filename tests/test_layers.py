"""Imports point one way: building blocks -> solvers -> estimators -> what is built on them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import manyview

ROOT = Path(manyview.__file__).parent

# What each part may import from manyview, besides itself. The modules of _utils are parts of their own.
ALLOWED = {
    "__main__": {"cli"},
    "_version": set(),
    "_utils.compiled": {"_utils.files"},
    "_utils.drawing": set(),
    "_utils.environment": {"_utils.machine", "_version"},
    "_utils.files": set(),
    "_utils.formats": set(),
    "_utils.imports": {"exceptions"},
    "_utils.html": {"_utils.text"},
    "_utils.progress": {"_utils.progress_bar", "_utils.step"},
    "_utils.step": set(),
    "_utils.progress_bar": {"_utils.compiled", "_utils.html", "_utils.step", "_utils.text"},
    "_utils.scalings": set(),
    "_utils.text": set(),
    "_utils.machine": set(),
    "exceptions": {"_utils.text"},
    "views": {"_utils.html", "_utils.imports", "_utils.text", "exceptions"},
    "compose": {"exceptions", "views"},
    "io": {"_utils.files", "_utils.formats", "_utils.imports", "_utils.machine", "_utils.text", "exceptions", "views"},
    "metrics": {"exceptions"},
    "proximal": {"_utils.compiled"},
    "tensor": {"_utils.compiled", "proximal"},
    "engines": {"_utils.imports", "_utils.machine", "exceptions"},
    "graphs": {"_utils.compiled", "_utils.scalings", "engines", "exceptions", "proximal", "views"},
    "solvers": {"_utils.compiled", "engines", "graphs", "proximal", "tensor"},
    "ensemble": {
        "_utils.compiled",
        "_utils.html",
        "_utils.imports",
        "_utils.machine",
        "_utils.progress",
        "engines",
        "exceptions",
        "graphs",
        "views",
    },
    "store": {"_utils.files", "_version", "exceptions"},
    "cluster": {
        "_utils.imports",
        "_utils.machine",
        "_utils.progress",
        "engines",
        "ensemble",
        "exceptions",
        "graphs",
        "solvers",
        "store",
        "views",
    },
    "audit": {
        "_utils.html",
        "_utils.machine",
        "_utils.progress",
        "_utils.text",
        "exceptions",
        "graphs",
        "metrics",
        "views",
    },
    "description": {
        "_utils.compiled",
        "_utils.drawing",
        "_utils.environment",
        "_utils.html",
        "_utils.imports",
        "_utils.progress",
        "_utils.text",
        "cluster",
        "exceptions",
        "graphs",
        "metrics",
        "views",
    },
    "plot": {"_utils.drawing", "_utils.imports", "cluster", "description", "exceptions", "graphs", "views"},
    "datasets": {"_utils.files", "exceptions", "io", "views"},
    "experiments": {
        "_utils.environment",
        "_utils.files",
        "_utils.machine",
        "_utils.text",
        "cluster",
        "datasets",
        "exceptions",
        "graphs",
        "io",
        "metrics",
        "views",
    },
    "report": {
        "_utils.drawing",
        "_utils.environment",
        "_utils.files",
        "_utils.html",
        "_utils.imports",
        "_utils.machine",
        "_utils.progress",
        "_utils.text",
        "_version",
        "audit",
        "cluster",
        "description",
        "exceptions",
        "experiments",
        "graphs",
        "metrics",
        "plot",
        "views",
    },
    "cli": {
        "_utils.compiled",
        "_utils.files",
        "_utils.formats",
        "_utils.imports",
        "_utils.machine",
        "_utils.progress",
        "_utils.progress_bar",
        "_utils.scalings",
        "_utils.text",
        "_version",
        "audit",
        "cluster",
        "datasets",
        "description",
        "exceptions",
        "experiments",
        "io",
        "metrics",
        "report",
        "store",
        "views",
    },
}
FRONT = {ROOT / "__init__.py", ROOT / "_utils" / "__init__.py"}
MODULES = sorted(path for path in ROOT.rglob("*.py") if path not in FRONT)


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            if node.module != "manyview.cluster._registry":  # lists the methods for type checkers
                assert all(alias.name != "*" for alias in node.names), f"{path}: import *"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def part_of(name: str) -> str:
    """The part that a module of the package belongs to, from its name without "manyview."."""
    first, *rest = name.split(".")
    return f"{first}.{rest[0]}" if first == "_utils" else first


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_one_way(path):
    part = part_of(".".join(path.relative_to(ROOT).with_suffix("").parts))
    ours = {part_of(name.removeprefix("manyview.")) for name in imports(path) if name.startswith("manyview.")}
    assert ours - {part} <= ALLOWED[part]


@pytest.mark.parametrize("path", sorted((ROOT / "solvers").glob("*.py")), ids=lambda p: p.name)
def test_solvers_know_nothing_of_scikit_learn(path):
    assert not {name for name in imports(path) if name.startswith("sklearn")}
