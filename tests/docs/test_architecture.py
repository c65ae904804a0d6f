"""The architecture page shows the package as it is, and one fit can be followed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

MOST_FILES = 22
"""Files of the package that one fit may visit, those included that make the arrays for compiled kernels."""
KNOWN_CYCLES: set[frozenset[str]] = set()
"""Groups of parts that import each other, each with its reason."""

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "architecture.md"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("docs_architecture", DOCS / "architecture.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def test_the_pictures_are_up_to_date(script):
    assert script.check() is None


def test_check_names_the_stale_picture_and_the_command(script, tmp_path, monkeypatch):
    monkeypatch.setattr(script, "DOCS", tmp_path)
    for file, picture in script.drawings().items():
        file.write_text(picture, encoding="utf-8")
    assert script.check() is None
    (tmp_path / "architecture-walk.svg").write_text("<svg/>", encoding="utf-8")
    assert script.check() == "Not up to date: architecture-walk.svg. Run: python docs/architecture.py draw"


def test_one_fit_visits_few_files(script):
    visits = script.walk(script.trace("in memory").functions())
    assert len(visits) <= MOST_FILES


def test_no_parts_import_each_other(script):
    assert script.cycles(script.imports_of_parts()) == KNOWN_CYCLES


def test_each_part_is_above_what_it_imports(script):
    parts = script.imports_of_parts()
    level = {part: n for n, layer in enumerate(script.layers(parts)) for part in layer}
    assert set(level) == set(parts)
    in_cycles = set().union(*KNOWN_CYCLES)
    wrong = [(part, other) for part in parts for other in parts[part] if level[part] <= level[other]]
    assert [pair for pair in wrong if not in_cycles.issuperset(pair)] == []


def test_cycles_are_found(script):
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set(), "e": {"a", "d"}}
    assert script.cycles(graph) == {frozenset("bc")}
    assert script.layers(graph) == [["d"], ["b", "c"], ["a"], ["e"]]


def test_only_imports_that_no_third_part_explains_are_drawn(script):
    graph = {"a": {"b", "c"}, "b": {"c"}, "c": set(), "d": {"a", "c"}}
    assert script.reduced(graph) == {"a": {"b"}, "b": {"c"}, "c": set(), "d": {"a"}}


def test_a_walk_counts_returns_to_files_that_were_left(script):
    functions = [
        ("a.py", "fit"),
        ("a.py", "check"),
        ("b.py", "draw"),
        ("a.py", "settle"),
        ("c.py", "run"),
        ("b.py", "f"),
    ]
    visits = [(visit.file, visit.function, visit.n_returns) for visit in script.walk(functions)]
    assert visits == [("a.py", "fit", 1), ("b.py", "draw", 1), ("c.py", "run", 0)]


def test_records_of_a_fit_are_seen(script):
    from manyview.views import Views

    assert Views in script.trace("in memory").records


def test_the_page_says_what_each_package_does(script):
    page = PAGE.read_text(encoding="utf-8")
    parts = {part.partition(".")[0] for part in script.imports_of_parts()}
    assert [part for part in sorted(parts) if f"| `{part}" not in page] == []
