"""The program: its options, and where its commands are."""

from __future__ import annotations

from typing import Annotated

import typer

from manyview._version import __version__
from manyview.cli import experiments
from manyview.cli._errors import Program
from manyview.cli._help import examples, help_alone

app = typer.Typer(
    name="manyview",
    cls=Program,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples("manyview experiments list", "manyview experiments run quick --store quick.sqlite"),
)
app.add_typer(experiments.app, name="experiments")


def _print_version(asked: bool) -> None:
    if asked:
        print(f"manyview {__version__}")
        raise typer.Exit


@app.callback()
def _program(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", envvar="MANYVIEW_DEBUG", help="Show where an error comes from.")
    ] = False,
) -> None:
    """Multi-view clustering: group samples that are described in several ways."""
    help_alone(ctx)


def main() -> None:
    """Run the program with the arguments of the process."""
    app(prog_name="manyview")
