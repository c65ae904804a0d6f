"""Help texts."""

from __future__ import annotations

import typer


def examples(*lines: str) -> str:
    """Show command lines below a help text, each on its own line."""
    return "\n\n".join(["Examples:", *lines])  # typer joins the lines of a paragraph, and older ones know no "\b"


def help_alone(ctx: typer.Context) -> None:
    """Answer a group of commands without a command with its help."""
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())
        raise typer.Exit
