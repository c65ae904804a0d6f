"""The command line: ``manyview``, or ``python -m manyview``.

Commands are thin: they read arguments, call the library and print. Results go to stdout, progress and errors to stderr.
Exit codes are 0 for success, 2 for bad input or usage, 1 for an error in manyview itself, 130 after Ctrl-C and 143
after SIGTERM. ``manyview audit --fail`` also has 3, for an answer that does not hold.

Nothing that computes is imported before a command needs it, so that help and error messages come at once.
"""

# ruff: noqa: E402 - the clock starts before the imports

import time

STARTED = time.perf_counter()
"""When the import of the command line began; ``timings.start`` in result.json counts from here."""

import os
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from manyview._utils.imports import Deferred
from manyview._version import __version__
from manyview.cli import (
    audit,
    cluster,
    compare,
    datasets,
    demo,
    describe,
    experiments,
    inspect,
    methods,
    predict,
    warm_up,
)
from manyview.cli._completion import whole_words_for_bash
from manyview.cli._errors import Program
from manyview.cli._options import examples, help_alone

__all__ = ["app", "main"]

app = typer.Typer(
    name="manyview",
    cls=Program,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples(
        "manyview demo", "manyview cluster mrna.csv mirna.csv --id patient -k auto", "manyview audit --help"
    ),
)
_START, _CLUSTER, _COMPARE, _LOOK_UP = "Start here", "Your data", "Compare and check methods", "Look up and set up"


def _add(panel: str, command: Callable[..., None], *lines: str) -> None:
    """Add a command under a heading of ``manyview --help``, with the examples of its own help."""
    app.command(rich_help_panel=panel, epilog=examples(*lines))(command)


_add(_START, demo.demo, "manyview demo", "manyview demo --out digits")
_add(
    _START,
    inspect.inspect,
    "manyview inspect MSRC-v5.mat",
    "manyview inspect colour.csv texture.csv --id image --labels classes.csv:kind",
    "manyview inspect data.npz --json",
)
_add(
    _CLUSTER,
    cluster.cluster,
    "manyview cluster views.mat -k 7",
    "manyview cluster mrna.csv mirna.csv methylation.csv --id patient -k auto --out tumours",
    "manyview cluster colour.csv texture.csv --labels classes.csv:kind -k 5 --method sfmc --set n_anchors=100",
    "manyview cluster table.csv --view-sizes 20,30 -k 4 --audit",
    "manyview cluster mrna.csv mirna.csv -k 3 --metadata clinical.csv --survival days,dead --no-sample-names",
    "manyview cluster mrna.csv mirna.csv --id patient -k 4 --save tumours.mv",
)
_add(
    _CLUSTER,
    describe.describe,
    "manyview describe manyview-output mrna.csv mirna.csv --metadata clinical.csv",
    "manyview describe clusters.csv:subtype@barcode mrna.csv mirna.csv --out subtypes",
)
_add(
    _CLUSTER,
    predict.predict,
    "manyview predict tumours.mv new_mrna.csv new_mirna.csv --out new",
    "manyview predict tumours.mv new_mrna.csv",
    "manyview predict tumours.mv new_mrna.csv new_mirna.csv --join outer",
    "manyview predict tumours.mv first.npy second.npy --names mirna,mrna",
)
_add(
    _COMPARE,
    audit.audit,
    "manyview audit flowers.mat -k 17",
    "manyview audit flowers.mat -k 17 --method tbgl --questions order --shuffles 10",
    "manyview audit flowers.mat -k 17 --out audit --fail",
)
_add(
    _COMPARE,
    compare.compare,
    "manyview compare flowers.mat -k 17",
    "manyview compare colour.csv texture.csv --id flower -k 17 --methods graph-ensemble,sfmc --seeds 3",
    "manyview compare flowers.mat -k 17 --store fits.sqlite --time-limit 600 --out comparison",
)
app.add_typer(experiments.app, name="experiments", rich_help_panel=_COMPARE)
_add(_LOOK_UP, methods.methods, "manyview methods", "manyview methods graph-ensemble", "manyview methods --json")
_add(_LOOK_UP, datasets.datasets, "manyview datasets", "MANYVIEW_DATA=folder manyview datasets --json")
_add(_LOOK_UP, warm_up.warm_up, "manyview warm-up", "NUMBA_CACHE_DIR=/opt/cache manyview warm-up")


def _print_version(asked: bool) -> None:
    if asked:
        print(f"manyview {__version__}")
        raise typer.Exit


@app.callback()
def _program(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", envvar="MANYVIEW_DEBUG", help="Show where an error comes from.")
    ] = False,
) -> None:
    """Multi-view clustering: group samples that are described in several ways."""
    help_alone(ctx)


def main() -> None:
    """Run the program with the arguments of the process."""
    sys.meta_path.insert(0, Deferred("scipy.stats"))  # scikit-learn imports it, and hardly ever needs it
    with whole_words_for_bash(os.environ):
        app(prog_name="manyview")
