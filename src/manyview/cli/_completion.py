"""Completion in the shell: methods, specs, scalings, and columns of the files that are already on the line.

Each press of TAB starts the program, so nothing here imports what computes, which would take more than a second: the
names of methods are read from the source of the registry, and those of columns from the first line of a table.
"""

from __future__ import annotations

import ast
import csv
import io
import os
import re
import sys
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import typer

import manyview
from manyview._utils.formats import TEXT_TABLES, extension_of, name_without_extension, uncompressed
from manyview._utils.imports import require
from manyview._utils.scalings import SCALINGS

_PACKAGE = Path(manyview.__file__).parent
_MAX_HEADER = 2**20  # bytes that are read of a file
_SEPARATORS = ",\t;|"


def methods() -> list[str]:
    """Return the names of all methods."""
    from manyview.cli._choice import slug

    source = ast.parse((_PACKAGE / "cluster" / "_registry.py").read_text(encoding="utf-8"))
    assigned = (node for node in source.body if isinstance(node, ast.Assign))
    homes = next(node.value for node in assigned if ast.unparse(node.targets[0]) == "HOMES")
    return [slug(name) for name in ast.literal_eval(homes)]


def method_list(incomplete: str) -> list[str]:
    """Return the names of methods for a list that is joined by commas."""
    return _one_more(incomplete, ["all", *methods()])


def question_list(incomplete: str) -> list[str]:
    """Return the questions of an audit for a list that is joined by commas."""
    from manyview.cli._run import Question

    return _one_more(incomplete, map(str, Question))


def clusters() -> list[str]:
    """Return the only number of clusters that is a word."""
    return ["auto"]


def specs(incomplete: str) -> list[str]:
    """Return the names of bundled specs, and the TOML files in the folder that is typed."""
    folder = os.path.split(incomplete)[0]
    own = [os.path.join(folder, path.name) for path in sorted(Path(folder).glob("*.toml"))]
    bundled = (path.stem for path in (_PACKAGE / "experiments" / "specs").glob("[!_]*.toml"))
    return sorted(bundled) + own


def scales(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the scalings; before them, the names of views, which are those of their files."""
    view, equals, _ = incomplete.rpartition("=")
    names = [view + equals + name for name in ("auto", *SCALINGS)]
    return names if equals else names + [f"{name_without_extension(file)}=" for file in _files(ctx)]


def columns(ctx: typer.Context) -> list[str]:
    """Return the columns of the files with views."""
    return _columns(_files(ctx))


def metadata_columns(ctx: typer.Context) -> list[str]:
    """Return the columns of the tables of metadata, and of labels."""
    given = [*(ctx.params.get("metadata") or ()), *(ctx.params.get("labels") or ())]
    return _columns(Path(_split_file(text)[0]) for text in given)


def survival_columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the columns of the metadata for a pair that is joined by a comma."""
    return _one_more(incomplete, metadata_columns(ctx))


def columns_of_file(incomplete: str) -> list[str]:
    """Return the columns of the file in ``FILE:COLUMN,...@ID``, once its name is complete; before, the shell helps."""
    file, rest = _split_file(incomplete)
    if not rest:
        return []
    before = file + rest[: max(rest.rfind(mark) for mark in ":,@") + 1]
    return [before + name for name in _columns([Path(file)])]


def _files(ctx: typer.Context) -> list[Path]:
    """Return the files on the line; before an option without its value, they are arguments of no name yet."""
    return [Path(file) for file in ctx.params.get("files") or ctx.args]


def _one_more(incomplete: str, names: Iterable[str]) -> list[str]:
    """Return a list joined by commas, each time with another name at its end."""
    before, comma, _ = incomplete.rpartition(",")
    return [before + comma + name for name in names if name not in before.split(",")]


def _split_file(text: str) -> tuple[str, str]:
    """Split ``FILE:COLUMN@ID`` after the file; the rest begins with a colon or an @, or is empty."""
    for mark in re.finditer("[:@]", text):
        if Path(text[: mark.start()]).is_file():
            return text[: mark.start()], text[mark.start() :]
    return text, ""


def _columns(files: Iterable[Path]) -> list[str]:
    """Return the names of columns, each once. Files that cannot be read have none: a TAB must never be an error."""
    found: dict[str, None] = {}
    for file in files:
        try:
            found |= dict.fromkeys(_header(file))
        except Exception:
            continue
    return [name for name in found if name.strip()]


def _header(path: Path) -> list[str]:
    extension = extension_of(path) or ""
    if extension == ".parquet":
        return list(require("pyarrow.parquet", extra="files", purpose="Reading parquet").read_schema(path).names)
    if uncompressed(extension) not in TEXT_TABLES:
        return []
    with _open(path) as stream:
        text = stream.read(_MAX_HEADER)
    lines = text.decode("utf-8-sig", errors="replace").splitlines()
    line = next(line for line in lines if line.strip() and not line.startswith("#"))
    return next(csv.reader([line], delimiter=max(_SEPARATORS, key=line.count)))


def _open(path: Path) -> Any:
    import bz2
    import gzip
    import lzma

    opener: Any = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}.get(path.suffix.lower(), open)
    return opener(path, "rb")


@contextmanager
def whole_words_for_bash(environment: MutableMapping[str, str]) -> Iterator[None]:
    """Let a completion for bash see whole words, and answer with the last piece of a word only.

    Bash cuts ``clinical.csv:subtype`` at the colon, passes the pieces as words, and replaces the last piece.
    """
    if environment.get("_MANYVIEW_COMPLETE") != "complete_bash":
        yield
        return
    words = joined(environment["COMP_WORDS"].split("\n")[: int(environment["COMP_CWORD"]) + 1])
    environment["COMP_WORDS"], environment["COMP_CWORD"] = "\n".join(words), str(len(words) - 1)
    is_quoted = words[-1][:1] in ("'", '"')  # such words are not cut
    kept = "" if is_quoted else re.sub(r"@?[^:=@]*$", "", words[-1])  # an @ belongs to the piece that follows it
    answer = io.StringIO()
    try:
        with redirect_stdout(answer):
            yield
    finally:
        for line in answer.getvalue().splitlines():
            piece = line.removeprefix(kept)
            sys.stdout.write((piece if is_quoted else re.sub(r"([^\w%+,./:=@-])", r"\\\1", piece)) + "\n")


def joined(pieces: Sequence[str]) -> list[str]:
    """Return the words of which bash has made these pieces.

    Examples
    --------
    >>> joined(["manyview", "cluster", "--labels", "clinical.csv", ":", "sub"])
    ['manyview', 'cluster', '--labels', 'clinical.csv:sub']
    >>> joined(["manyview", "cluster", "rna.csv", ""])
    ['manyview', 'cluster', 'rna.csv', '']
    """
    words: list[str] = []
    after_break = False
    for piece in pieces:
        is_break = piece != "" and set(piece) <= set(":=@")
        if words and (is_break or (after_break and piece)):
            words[-1] += piece
        else:
            words.append(piece)
        after_break = is_break
    return words
