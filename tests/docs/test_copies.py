"""What the documentation copies from the code is what the code says."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import typer

from manyview.cli import app
from manyview.experiments import available_specs, load_spec

ROOT = Path(__file__).resolve().parents[2]


def test_the_tables_of_methods_are_up_to_date():
    for name, table in runpy.run_path(str(ROOT / "docs" / "methods_table.py"))["TABLES"].items():
        page = (ROOT / "docs" / name).read_text(encoding="utf-8")
        start, end = "<!-- python docs/methods_table.py -->\n", "\n<!-- end -->"
        assert page[page.index(start) + len(start) : page.index(end)] == table(), name


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
    (part,) = load_spec(tmp_path / "mine.toml").parts
    assert [dataset.name for dataset in part.datasets] == ["MSRC-v5", "ORL", "mine", "blobs"]


def test_the_page_of_the_evaluation_names_every_part():
    page = (ROOT / "docs" / "evaluation.md").read_text(encoding="utf-8")
    assert {name for name, _ in available_specs()} <= set(re.findall(r"`([\w-]+)`", page)) | {"quick-p", "quick-table"}
