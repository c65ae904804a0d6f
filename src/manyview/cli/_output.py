"""What goes to stdout: tables for people, JSON for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def print_json(value: Any) -> None:
    """Print plain values as JSON that any program can read: no NaN, no infinity."""
    print(json.dumps(value, indent=1, allow_nan=False))


def result_console() -> Console:
    """Where tables are printed to."""
    from rich.console import Console

    return Console(highlight=False)
