"""Every example of the documentation is typed in and does what the page shows.

A page is a Markdown file of ``docs`` or the README. Its examples run from top to bottom, in a folder that is empty but
for the files of one's own that the README speaks of:

- ```` ```python ```` is executed, all blocks of a page with the same variables. Where lines begin with ``>>>``, what
  they print is compared with what follows, as in a doctest.
- ```` ```console ```` has lines ``$ command``, for a shell, each followed by what it shows, if the page says so;
  ``...`` stands for anything. A command must succeed, unless it ends with ``# exit code 2``.

Commands that set up an environment (pip, make, git, ...) are tried by ``.ci/run`` and the tests of packaging, not here.
The comment ``<!-- slow -->`` leaves all that follows on its page to ``make test-all``. ``<!-- needs: NAME -->`` puts a
benchmark file into the folder, without which the rest of the page is skipped.
"""

from __future__ import annotations

import doctest
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas
import pytest
from scipy.io import savemat

from manyview.datasets import load_digits_views, make_multiview

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SHOWN = {"text", "json", "csv", "toml", "bibtex"}
"""Blocks that are for reading. Everything else must be an example, so that none escapes."""
SET_UP = {"pip", "make", "git", "cd", "python", "source"}
LIKE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

_BLOCK = re.compile(r"^(?P<indent> *)```(?P<kind>\S*)[^\n]*\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"^<!-- (slow|needs)(?:: (\S+))? -->$", re.MULTILINE)
_COMMAND = re.compile(r"^\$ ((?:[^\n]*\\\n)*[^\n]*)\n?((?:(?!\$ )[^\n]*\n?)*)", re.MULTILINE)
_EXIT_CODE = re.compile(r"# exit code (\d+)$")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page, or a comment that says what it needs."""

    kind: str
    text: str
    line: int


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    found = [(match.start(), match["kind"], match["text"]) for match in _BLOCK.finditer(text)]
    outside = _BLOCK.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    found += [(match.start(), match[1], match[2] or "") for match in _COMMENT.finditer(outside)]
    for start, kind, body in sorted(found):
        if not kind.startswith("{"):  # directives, such as {math}
            yield Block(kind, body, text.count("\n", 0, start) + 2)


def examples(page: Path) -> list[Block]:
    return [block for block in blocks(page) if block.kind in ("python", "console")]


def run_python(block: Block, variables: dict, where: str) -> None:
    if ">>> " not in block.text:
        exec(compile("\n" * (block.line - 1) + block.text, where, "exec"), variables)
        return
    test = doctest.DocTestParser().get_doctest(block.text, variables, where, where, block.line - 1)
    said: list[str] = []
    test.globs = variables  # its own copy otherwise
    failed, _ = doctest.DocTestRunner(optionflags=LIKE, verbose=False).run(test, out=said.append, clear_globs=False)
    assert not failed, "".join(said)


# Runs commands of manyview in a process of their own each, a fork of one that has imported what takes most of the time
# of a short command. Nothing has been computed there, so that no threads are lost by the fork.
SERVER = """
import json, os, sys
import manyview.audit, manyview.cluster, manyview.description, manyview.experiments, manyview.report.run
from manyview.cli import main
for line in sys.stdin:
    words, folder, output = json.loads(line)
    child = os.fork()
    if not child:
        os.chdir(folder)
        sys.argv = words
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        stream = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(stream, 1), os.dup2(stream, 2)
        try:
            main()
        except SystemExit as end:
            sys.stdout.flush()
            os._exit(end.code or 0)
        os._exit(99)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def environment() -> dict[str, str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "COLUMNS": "110", "NO_COLOR": "1", "PYTHONWARNINGS": ""}


@pytest.fixture(scope="module")
def manyview(tmp_path_factory) -> Iterator[Callable[[list[str]], tuple[int, str]]]:
    """A function that runs a command of manyview, its words given, and returns the exit code and what it shows."""
    output = tmp_path_factory.mktemp("shown") / "output.txt"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": environment()}
    server = subprocess.Popen([sys.executable, "-c", SERVER], **pipes)

    def run(words: list[str]) -> tuple[int, str]:
        server.stdin.write(json.dumps([words, os.getcwd(), str(output)]) + "\n")
        server.stdin.flush()
        return int(server.stdout.readline()), output.read_text(encoding="utf-8")

    yield run
    server.stdin.close()
    server.stdout.close()
    server.wait(timeout=60)


def run_command(command: str, manyview) -> tuple[int, str]:
    """Return the exit code and what is shown, of a command for a shell."""
    words = shlex.split(command.replace("\\\n", " "), comments=True)
    if words[0] == "manyview" and not set(words) & {"|", ">", "&&"}:
        return manyview(words)
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    done = subprocess.run(["bash", "-c", command], env=environment(), timeout=300, **streams)
    return done.returncode, done.stdout


def run_console(block: Block, where: str, manyview) -> None:
    for command, shown in _COMMAND.findall(block.text):
        if command.split()[0] in SET_UP:
            continue
        code, found = run_command(command, manyview)
        expected = _EXIT_CODE.search(command)
        assert code == (int(expected[1]) if expected else 0), f"{where}: {command}\n{found}"
        if shown.strip():
            checker, example = doctest.OutputChecker(), doctest.Example(command, shown)
            same = checker.check_output(shown, found, LIKE)
            assert same, f"{where}: {command}\n{checker.output_difference(example, found, LIKE)}"


def type_in(page: Path, data_file, manyview, *, slow: bool) -> None:
    variables: dict = {"__name__": "__main__"}
    if page.name == "README.md":
        write_own_files()
    for block in blocks(page):
        where = f"{page.relative_to(ROOT)}:{block.line}"
        if block.kind == "slow" and not slow:
            return
        if block.kind == "needs":
            Path(block.text).symlink_to(data_file(block.text))
        elif block.kind == "python":
            run_python(block, variables, where)
        elif block.kind == "console":
            run_console(block, where, manyview)


def write_own_files() -> None:
    """The files that the README takes for granted: one with all views, and three tables with a column of ids."""
    views = load_digits_views().shuffled(0)
    cell = np.empty(views.n_views, dtype=object)
    cell[:] = views.arrays
    savemat("data.mat", {"X": cell, "Y": views.labels})
    blobs = make_multiview(150, 3, n_views=3, random_state=0).shuffled(0)
    patients = [f"P{row:03}" for row in range(len(blobs.labels))]
    for view, array in zip(("mrna", "mirna", "protein"), blobs.arrays, strict=True):
        pandas.DataFrame(array, index=pandas.Index(patients, name="patient")).to_csv(f"{view}.csv")


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_no_block_escapes(page):
    kinds = {block.kind: block.line for block in blocks(page)}
    assert set(kinds) <= SHOWN | {"python", "console", "slow", "needs"}, kinds


@pytest.mark.parametrize("page", [page for page in PAGES if examples(page)], ids=name)
@pytest.mark.filterwarnings("ignore")
def test_examples_work_as_typed(page, data_file, manyview, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    type_in(page, data_file, manyview, slow=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(block.kind == "slow" for block in blocks(page))], ids=name
)
@pytest.mark.filterwarnings("ignore")
def test_slow_examples_work_as_typed(page, data_file, manyview, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    type_in(page, data_file, manyview, slow=True)
