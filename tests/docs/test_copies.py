"""What the documentation copies from the code is what the code says."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
import typer

from manyview.cli import app
from manyview.cluster import available_methods
from manyview.experiments import available_specs, load_spec

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(("page", "directive"), [("methods.md", "method-facts"), ("choosing.md", "method-situations")])
def test_the_tables_of_methods_are_made_from_the_registry(page, directive):
    lines = (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines()
    assert lines.count(f"```{{{directive}}}") == 1


def test_every_method_is_in_the_tables():
    pages = runpy.run_path(str(ROOT / "docs" / "_ext" / "methods.py"))
    facts, situations = pages["facts_table"](), pages["situations_table"]()
    for method in available_methods():
        assert f"\n| `{method.name}` | {method.facts.title} | " in facts
    dependent = ", ".join(f"`{m.name}`" for m in available_methods() if m.facts.order_dependent)
    assert f"order of the rows | all but {dependent} |\n" in situations
    assert "| samples with missing views | `GraphEnsemble`" in situations


def test_the_page_of_the_command_line_names_every_command():
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    commands = typer.main.get_command(app)
    experiments = commands.commands["experiments"]
    names = [*commands.commands, *(f"experiments {name}" for name in experiments.commands)]
    assert [name for name in names if f"`manyview {name}" not in page] == []


def test_the_page_of_the_command_line_names_every_option():
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    commands = typer.main.get_command(app).commands
    plain = {name: command for name, command in commands.items() if name != "experiments"}  # has a page of its own
    options = {option for command in plain.values() for p in command.params for option in p.opts if p.opts[0][0] == "-"}
    assert sorted(option for option in options if not re.search(rf"[`\s]{option}\b", page)) == []


def test_the_spec_on_the_page_of_the_evaluation_can_be_read(tmp_path):
    page = (ROOT / "docs" / "evaluation.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "mine.toml").write_text(example, encoding="utf-8")
    (tmp_path / "mine.py").touch()  # a method of one's own; reading a spec runs no code
    (part,) = load_spec(tmp_path / "mine.toml").parts
    assert [dataset.name for dataset in part.datasets] == ["MSRC-v5", "ORL", "patients", "blobs"]


def test_the_page_of_the_evaluation_names_every_part():
    page = (ROOT / "docs" / "evaluation.md").read_text(encoding="utf-8")
    assert {name for name, _ in available_specs()} <= set(re.findall(r"`([\w-]+)`", page)) | {"quick-p", "quick-table"}
