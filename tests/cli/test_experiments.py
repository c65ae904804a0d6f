from __future__ import annotations

import json
import re
import sys
from types import ModuleType, SimpleNamespace

import pytest
import typer.main

import manyview.experiments
from manyview.cli import app


@pytest.fixture
def page(monkeypatch):
    """Replace the report by a short text; its template is not the matter here."""
    module = ModuleType("manyview.report.experiments")
    module.render = lambda summary, store, spec: f"<html>{summary['spec']['title']}</html>"
    monkeypatch.setitem(sys.modules, "manyview.report", ModuleType("manyview.report"))
    monkeypatch.setitem(sys.modules, "manyview.report.experiments", module)
    return module


PROGRAM = typer.main.get_command(app)
GROUPS = {(): PROGRAM, ("experiments",): PROGRAM.commands["experiments"]}
EVERY = {(*words, name): command for words, group in GROUPS.items() for name, command in group.commands.items()}


@pytest.mark.parametrize("words", [(), *EVERY], ids=" ".join)
def test_help_has_an_example(call, words):
    result = call(*words, "--help")
    assert result.exit_code == 0
    own = " ".join(("manyview", *words))
    lines = [line.strip() for line in result.stdout.partition("Examples:")[2].splitlines()]
    assert any(line.startswith(own) for line in lines), "not there, or broken into two lines"


@pytest.mark.parametrize("words", [words for words in EVERY if words not in GROUPS], ids=" ".join)
def test_examples_can_be_parsed(words):
    for example in EVERY[words].epilog.split("\n\n")[1:]:
        typed = re.sub(r"^\w+=\S+ | > \S+$", "", example).split()  # an environment variable, a file for the output
        assert tuple(typed[1 : len(words) + 1]) == words
        EVERY[words].make_context("manyview", typed[len(words) + 1 :])  # an error if there is no such option


def test_commands_are_listed_by_task(call):
    listed = re.findall(r"^╭─ ([A-Z].*?) ─|^│ ([a-z][a-z-]+) ", call("--help").stdout, re.MULTILINE)
    assert [heading or command for heading, command in listed] == [
        *("Options", "Start here", "demo", "inspect"),
        *("Your data", "cluster", "describe", "predict"),
        *("Compare and check methods", "audit", "compare", "experiments"),
        *("Look up and set up", "methods", "datasets", "warm-up"),
    ]
    assert {command for _, command in listed if command} == set(PROGRAM.commands)


@pytest.mark.parametrize("words", [(), ("experiments",)])
def test_a_group_alone_shows_its_help(call, words):
    assert call(*words).stdout.split() == call(*words, "--help").stdout.split()
    assert call(*words).exit_code == 0


# list


def test_list(call, library):
    result = call("experiments", "list")
    assert result.exit_code == 0
    assert "tiny  2      3 " in result.stdout
    assert "MSRC: needed by tiny" in result.stdout
    assert "[red]\\x1b[2Jgone[/red] :smile:" in result.stdout.replace("\n", "")


def test_list_as_json(call, library):
    (found,) = json.loads(call("experiments", "list", "--json").stdout)
    assert found["parts"] == ["one", "two"]
    assert found["cells"] == 3
    assert found["absent"] == {"MSRC": "dataset not found: MSRC-v5. Ask its authors."}


# run


def test_run_says_what_was_done(call, library):
    result = call("experiments", "run", "tiny", "--store", library.store)
    assert (result.exit_code, result.stdout) == (0, "")
    first, last = result.stderr.splitlines()
    assert first == f"manyview: tiny: 3 cells, results go to {library.store}"
    assert "4 of 7 cells done, 3 without a result (1 memory, 2 time); 6 were run now, in 1 min 15 s." in last
    assert last.endswith(f"Show them with: manyview experiments show tiny --store {library.store}")


def test_run_as_json(call, library):
    result = call("experiments", "run", "tiny", "--store", library.store, "--json")
    assert json.loads(result.stdout) == {
        "spec": "tiny",
        "store": str(library.store),
        "counts": {"done": 4, "memory": 1, "time": 2},
        "ran": 6,
        "seconds": 75.0,
    }


def test_run_without_failures(call, library, monkeypatch):
    outcome = SimpleNamespace(counts={"done": 7, "time": 0}, ran=7, seconds=3.0)
    monkeypatch.setattr(manyview.experiments, "run", lambda *args, **options: outcome)
    result = call("experiments", "run", "tiny", "--store", library.store)
    assert "7 of 7 cells done, none failed; 7 were run now" in result.stderr


def test_run_hands_everything_on(call, library):
    words = ["--workers", "2", "--time-limit", "1.5", "--retry", "--only", "two", "--seeds", "2"]
    assert call("experiments", "run", "tiny", "--store", library.store, *words).exit_code == 0
    ((spec, options),) = library.calls
    assert [part.name for part in spec.parts] == ["two"]
    assert [cell.seed for cell in spec.cells] == [0, 1]
    assert (options["workers"], options["time_limit"], options["retry"]) == (2, 1.5, True)


def test_run_stopped_says_how_to_go_on(call, library, monkeypatch):
    def stopped(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(manyview.experiments, "run", stopped)
    store = library.folder / "my results.sqlite"
    result = call("experiments", "run", "tiny", "--store", store, "--part", "one", "--seeds", "1")
    assert result.exit_code == 130
    command = f"manyview experiments run tiny --store '{store}' --part one --seeds 1"
    assert result.stderr.splitlines()[-1] == f"manyview: stopped; finished cells are in {store}. Go on with: {command}"


# show


def test_show(call, library):
    result = call("experiments", "show", "tiny", "--store", library.store, "--part", "one")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("A tiny spec\n9 cells: 5 done, 2 OM, 1 time limit, 1 not run yet\n")
    waiting = f"1 cells are waiting. Run them with: manyview experiments run tiny --store {library.store} --part one\n"
    assert result.stdout.endswith(waiting)
    ((spec, results),) = library.calls
    assert [part.name for part in spec.parts] == ["one"]
    assert list(results) == [cell.key for cell in spec.cells]


def test_show_as_json(call, library, summary):
    result = call("experiments", "show", "tiny", "--store", library.store, "--json")
    assert json.loads(result.stdout) == summary


@pytest.mark.parametrize("command", ["run", "show", "report", "export"])
def test_unknown_part(call, library, command):
    more = {"report": ["--out", "x.html"], "export": ["--format", "csv"]}.get(command, [])
    result = call("experiments", command, "tiny", "--store", library.store, "--part", "six", *more)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "manyview: part: expected one of one, two of the spec tiny, got 'six'.\n"


def test_unknown_score(call, library):
    result = call("experiments", "show", "tiny", "--store", library.store, "--score", "luck")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("manyview: score: expected one of acc, nmi, ")
    assert result.stderr.endswith("got 'luck'.\n")


# report


def test_report(call, library, page):
    out = library.folder / "report.html"
    result = call("experiments", "report", "tiny", "--store", library.store, "--out", out)
    assert (result.exit_code, result.stdout, result.stderr) == (0, f"{out}\n", "")
    assert out.read_text() == "<html>A tiny spec</html>"
    result = call("experiments", "report", "tiny", "--store", library.store, "--out", out, "--json")
    assert json.loads(result.stdout) == {"spec": "tiny", "report": str(out)}


def test_report_into_a_folder_that_is_not_there(call, library, page):
    out = library.folder / "no" / "report.html"
    result = call("experiments", "report", "tiny", "--store", library.store, "--out", out)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"manyview: {out}: cannot be written: No such file or directory\n"


def test_report_that_fails_leaves_the_old_one(call, library, page):
    out = library.folder / "report.html"
    out.write_text("old")
    page.render = lambda summary, store, spec: 1 / 0
    assert call("experiments", "report", "tiny", "--store", library.store, "--out", out).exit_code == 1
    assert out.read_text() == "old"
    assert sorted(path.name for path in library.folder.iterdir()) == ["report.html", "results.sqlite"]


# export


@pytest.mark.parametrize(
    ("format", "begin"),
    [
        ("csv", "part,acc\n"),
        ("latex", "\\begin{tabular}\n"),
        ("markdown", "<!-- manyview experiments export tiny --store "),
    ],
)
def test_export(call, library, format, begin):
    words = ["experiments", "export", "tiny", "--store", library.store, "--format", format]
    printed = call(*words)
    assert printed.exit_code == 0
    assert printed.stdout.startswith(begin)
    out = library.folder / "out.txt"
    assert call(*words, "--out", out).stdout == f"{out}\n"
    assert out.read_text() == printed.stdout


@pytest.fixture
def drawn(monkeypatch):
    """Replace the drawing of pictures; the drawings themselves are not the matter here."""
    module = ModuleType("manyview.report.experiment_pictures")
    module.draw = lambda summary: {"one": SimpleNamespace(svg="<svg/>", description="a curve")}
    monkeypatch.setitem(sys.modules, "manyview.report.experiment_pictures", module)
    return module


def test_export_with_pictures_links_them_from_the_page(call, library, drawn):
    pages = library.folder / "pages"
    pages.mkdir()
    out, folder = pages / "out.md", library.folder / "new" / "my pictures"
    words = ["experiments", "export", "tiny", "--store", library.store, "--format", "markdown"]
    assert call(*words, "--out", out, "--pictures", folder).stdout == f"{out}\n"
    assert (folder / "one.svg").read_text() == "<svg/>"
    page = out.read_text()
    assert "{'one': ('../new/my%20pictures/one.svg', 'a curve')}" in page
    assert f"--out {out} --pictures '{folder}' -->" in page


@pytest.mark.parametrize("format", ["csv", "latex"])
def test_only_pages_have_pictures(call, library, drawn, format):
    words = ["experiments", "export", "tiny", "--store", library.store, "--format", format]
    result = call(*words, "--pictures", library.folder / "new")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--pictures: only --format markdown shows pictures" in result.stderr
    assert not (library.folder / "new").exists()


def test_nothing_to_draw(call, library, drawn):
    drawn.draw = lambda summary: {}
    words = ["experiments", "export", "tiny", "--store", library.store, "--format", "markdown"]
    result = call(*words, "--pictures", library.folder / "new")
    assert result.exit_code == 0
    assert result.stderr == "manyview: no curves or graphs have been measured, so there are no pictures\n"
    assert not (library.folder / "new").exists()


def test_pictures_that_cannot_be_written(call, library, drawn):
    (library.folder / "file").touch()
    words = ["experiments", "export", "tiny", "--store", library.store, "--format", "markdown"]
    result = call(*words, "--out", library.folder / "out.md", "--pictures", library.folder / "file")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"manyview: {library.folder / 'file'}: cannot be written: ")
    assert not (library.folder / "out.md").exists()
