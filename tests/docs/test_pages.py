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
import os
import re
import subprocess
import sys
from collections.abc import Iterator
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


def run_console(block: Block, where: str) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    env = {**os.environ, "PATH": path, "COLUMNS": "110", "NO_COLOR": "1", "PYTHONWARNINGS": ""}
    for command, shown in _COMMAND.findall(block.text):
        if command.split()[0] in SET_UP:
            continue
        done = subprocess.run(
            ["bash", "-c", command], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300
        )
        expected = _EXIT_CODE.search(command)
        assert done.returncode == (int(expected[1]) if expected else 0), f"{where}: {command}\n{done.stdout}"
        if shown.strip():
            checker, example = doctest.OutputChecker(), doctest.Example(command, shown)
            same = checker.check_output(shown, done.stdout, LIKE)
            assert same, f"{where}: {command}\n{checker.output_difference(example, done.stdout, LIKE)}"


def type_in(page: Path, data_file, *, slow: bool) -> None:
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
            run_console(block, where)


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
def test_examples_work_as_typed(page, data_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    type_in(page, data_file, slow=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(block.kind == "slow" for block in blocks(page))], ids=name
)
@pytest.mark.filterwarnings("ignore")
def test_slow_examples_work_as_typed(page, data_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    type_in(page, data_file, slow=True)
