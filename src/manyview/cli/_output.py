"""What goes to stdout: tables for people, JSON for programs."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
_OUT = typer.Option("--out", "-o", metavar="DIR", help="Folder to write all files to.")
OutFolder = Annotated[Path, _OUT]
OptionalOutFolder = Annotated[Path | None, _OUT]
"""For commands that write nothing unless asked to."""


def check_folder(folder: Path | None, names: Sequence[str]) -> None:
    """Refuse a folder that cannot be written to, or in which files would be lost that are not ours.

    This is asked before anything is computed: nobody should wait for a fit, and then find that there is no room for it.

    Parameters
    ----------
    folder : Path or None
        None is no folder, and fine.
    names : sequence of str
        The files that will be written. The first is JSON that says its format: if it is there, the others are ours.
    """
    if folder is None:
        return
    place = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not place.is_dir():
        raise _bad_folder(f"{folder} cannot be a folder: {place} is a file.")
    if not os.access(place, os.W_OK | os.X_OK):
        raise _bad_folder(f"there is no permission to write to {place}.")
    if read_document(folder / names[0]) is None:
        for name in names:
            if (folder / name).exists():
                raise _bad_folder(f"{folder / name} is there already, and was not written by this command.")


def _bad_folder(reason: str) -> typer.BadParameter:
    return typer.BadParameter(f"{reason} Choose another folder.", param_hint="--out")


def read_document(path: Path) -> dict[str, Any] | None:
    """What an earlier run has written there; None if there is nothing, or something that is not ours."""
    try:
        found = json.loads(path.read_bytes())
        return found if str(found["format"]).startswith("manyview ") else None
    except (OSError, ValueError, TypeError, LookupError):
        return None


def to_json(value: Any) -> str:
    """Plain values as JSON that any program can read: no NaN, no infinity."""
    return json.dumps(value, indent=1, allow_nan=False) + "\n"


def print_json(value: Any) -> None:
    """Print plain values as JSON, and nothing else."""
    print(to_json(value), end="")


def result_console() -> Console:
    """Where tables are printed to."""
    from rich.console import Console

    return Console(highlight=False)
