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

from typing import Annotated

import typer

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
from manyview.cli._errors import Program
from manyview.cli._options import examples, help_alone

__all__ = ["app", "main"]

app = typer.Typer(
    name="manyview",
    cls=Program,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples("manyview demo", "manyview cluster views.mat -k 7", "manyview experiments list"),
)
app.command(epilog=examples("manyview demo", "manyview demo --out digits"))(demo.demo)
app.command(
    epilog=examples(
        "manyview inspect MSRC-v5.mat",
        "manyview inspect colour.csv texture.csv --id image --labels classes.csv:kind",
        "manyview inspect data.npz --json",
    )
)(inspect.inspect)
app.command(
    epilog=examples(
        "manyview cluster views.mat -k 7",
        "manyview cluster mrna.csv mirna.csv methylation.csv --id patient -k auto --out tumours",
        "manyview cluster colour.csv texture.csv --labels classes.csv:kind -k 5 --method sfmc --set n_anchors=100",
        "manyview cluster table.csv --view-sizes 20,30 -k 4 --audit",
        "manyview cluster mrna.csv mirna.csv -k 3 --metadata clinical.csv --survival days,dead --no-sample-names",
        "manyview cluster mrna.csv mirna.csv --id patient -k 4 --save tumours.mv",
    )
)(cluster.cluster)
app.command(
    epilog=examples(
        "manyview describe manyview-output mrna.csv mirna.csv --metadata clinical.csv",
        "manyview describe clusters.csv:subtype@barcode mrna.csv mirna.csv --out subtypes",
    )
)(describe.describe)
app.command(
    epilog=examples(
        "manyview predict tumours.mv new_mrna.csv new_mirna.csv --out new",
        "manyview predict tumours.mv new_mrna.csv",
        "manyview predict tumours.mv new_mrna.csv new_mirna.csv --join outer",
        "manyview predict tumours.mv first.npy second.npy --names mirna,mrna",
    )
)(predict.predict)
app.command(
    epilog=examples(
        "manyview compare flowers.mat -k 17",
        "manyview compare colour.csv texture.csv --id flower -k 17 --methods graph-ensemble,sfmc --seeds 3",
        "manyview compare flowers.mat -k 17 --store fits.sqlite --time-limit 600 --out comparison",
    )
)(compare.compare)
app.command(
    epilog=examples(
        "manyview audit flowers.mat -k 17",
        "manyview audit flowers.mat -k 17 --method tbgl --questions order --shuffles 10",
        "manyview audit flowers.mat -k 17 --out audit --fail",
    )
)(audit.audit)
app.command(epilog=examples("manyview methods", "manyview methods graph-ensemble", "manyview methods --json"))(
    methods.methods
)
app.command(epilog=examples("manyview datasets", "MANYVIEW_DATA=folder manyview datasets --json"))(datasets.datasets)
app.command(epilog=examples("manyview warm-up", "NUMBA_CACHE_DIR=/opt/cache manyview warm-up"))(warm_up.warm_up)
app.add_typer(experiments.app, name="experiments")


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
    app(prog_name="manyview")
