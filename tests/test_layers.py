"""Imports point one way: building blocks -> solvers -> estimators -> what is built on them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import manyview

ROOT = Path(manyview.__file__).parent

# What each part may import from manyview, besides itself.
ALLOWED = {
    "__main__": {"cli"},
    "_colours": set(),
    "_compiled": set(),
    "_environment": {"_memory", "_version"},
    "_files": set(),
    "_fingerprint": {"_views"},
    "_lazy": set(),
    "_memory": set(),
    "_history": set(),
    "_printable": set(),
    "_progress": set(),
    "_projection": set(),
    "_optional": {"exceptions"},
    "_threads": set(),
    "_version": set(),
    "exceptions": {"_printable"},
    "_values": {"exceptions"},
    "_plain": set(),
    "_outer_join": {"_values", "exceptions"},
    "_omics": {"_outer_join", "_values", "exceptions"},
    "_views": {"_outer_join", "_printable", "_values", "exceptions"},
    "views": {"_omics", "_values", "_views", "exceptions"},
    "compose": {"_outer_join", "exceptions", "views"},
    "io": {"_memory", "_optional", "_outer_join", "_printable", "exceptions", "views"},
    "metrics": {"exceptions"},
    "proximal": {"_compiled"},
    "tensor": {"proximal"},
    "engines": {"_optional", "_threads", "exceptions"},
    "graphs": {"_compiled", "engines", "exceptions", "proximal", "views"},
    "solvers": {"_compiled", "engines", "graphs", "proximal", "tensor"},
    "store": {"_files", "_version", "exceptions"},
    "cluster": {
        "_lazy",
        "_memory",
        "_optional",
        "_outer_join",
        "_progress",
        "_threads",
        "_values",
        "engines",
        "exceptions",
        "graphs",
        "solvers",
        "store",
        "views",
    },
    "audit": {"_memory", "_plain", "_progress", "_values", "exceptions", "graphs", "metrics", "views"},
    "plot": {"_colours", "_history", "_optional", "_projection", "cluster", "exceptions", "graphs"},
    "datasets": {"_files", "exceptions", "io", "views"},
    "experiments": {
        "_environment",
        "_files",
        "_fingerprint",
        "_memory",
        "_plain",
        "_printable",
        "cluster",
        "datasets",
        "exceptions",
        "graphs",
        "io",
        "metrics",
        "views",
    },
    "report": {
        "_colours",
        "_environment",
        "_files",
        "_fingerprint",
        "_history",
        "_lazy",
        "_memory",
        "_plain",
        "_printable",
        "_projection",
        "_threads",
        "_version",
        "audit",
        "cluster",
        "exceptions",
        "experiments",
        "graphs",
        "metrics",
        "views",
    },
    "cli": {
        "_files",
        "_printable",
        "_progress",
        "_version",
        "audit",
        "cluster",
        "datasets",
        "exceptions",
        "experiments",
        "io",
        "metrics",
        "report",
        "views",
    },
}
MODULES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            assert all(alias.name != "*" for alias in node.names), f"{path}: import *"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_one_way(path):
    part = path.relative_to(ROOT).parts[0].removesuffix(".py")
    ours = {name.split(".")[1] for name in imports(path) if name.startswith("manyview.")}
    assert ours - {part} <= ALLOWED[part]


@pytest.mark.parametrize("path", sorted((ROOT / "solvers").glob("*.py")), ids=lambda p: p.name)
def test_solvers_know_nothing_of_scikit_learn(path):
    assert not {name for name in imports(path) if name.startswith("sklearn")}
