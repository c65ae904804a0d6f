"""``manyview experiments``: run declared evaluations, and show their results."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

import typer

from manyview._utils.files import write_folder, write_whole
from manyview._utils.text import duration, printable
from manyview.cli import _completion as completion
from manyview.cli._errors import STOPPED, say
from manyview.cli._options import AsJson, examples, help_alone
from manyview.cli._output import Json, print_json, print_pieces, result_console

if TYPE_CHECKING:
    from manyview.experiments import Outcome, Spec

app = typer.Typer(
    invoke_without_command=True,
    epilog=examples(
        "manyview experiments list",
        "manyview experiments run quick --store quick.sqlite",
        "manyview experiments show quick --store quick.sqlite",
    ),
)

SpecName = Annotated[
    str,
    typer.Argument(
        metavar="SPEC",
        help="Name of a bundled spec (see: list), or the path of a TOML file.",
        autocompletion=completion.specs,
    ),
]
StorePath = Annotated[
    Path | None,
    typer.Option(
        "--store",
        metavar="FILE",
        help="File with the results; made by run. Default: SPEC.sqlite in the current folder.",
        show_default=False,
    ),
]
MemoryLimit = Annotated[
    float | None,
    typer.Option(
        "--memory-limit",
        min=0.001,
        metavar="GIB",
        help="Memory for the process of one fit, in GiB, data and libraries included; looked at twice a second. "
        "Default: what the machine has.",
    ),
]
PartNames = Annotated[
    list[str],
    typer.Option("--part", "--only", metavar="PART", help="Only this part of the spec. May be repeated. Default: all."),
]
Scores = Annotated[
    list[str],
    typer.Option("--score", metavar="SCORE", help="Score to show. May be repeated. Default: those of the spec."),
]
Seeds = Annotated[
    int | None, typer.Option("--seeds", min=1, metavar="N", help="Only the first N random seeds. Default: all.")
]


class Format(StrEnum):
    """Formats of exported results."""

    CSV = "csv"
    LATEX = "latex"
    MARKDOWN = "markdown"


@app.callback()
def _experiments(ctx: typer.Context) -> None:
    """Run evaluations that are declared as specs: published results beside ours, in file order and on shuffled rows."""
    help_alone(ctx)


@app.command("list", epilog=examples("manyview experiments list", "manyview experiments list --json"))
def list_specs(as_json: AsJson = False) -> None:
    """List the bundled specs, their sizes, and which of their datasets are missing."""
    from manyview import experiments as library

    found = [_facts_of(library.load_spec(name)) for name, _ in library.available_specs()]
    if as_json:
        print_json(found)
    else:
        from manyview.cli._experiment_tables import spec_tables

        print_pieces(spec_tables(found), result_console())


def _facts_of(spec: Spec) -> Json:
    from manyview import experiments as library

    datasets = {dataset.name: dataset for part in spec.parts for dataset in part.datasets}
    reasons = {name: library.why_absent(dataset.source) for name, dataset in datasets.items()}
    return {
        "name": spec.name,
        "title": spec.title,
        "parts": [part.name for part in spec.parts],
        "cells": len(spec.cells),
        "datasets": list(datasets),
        "absent": {name: reason for name, reason in reasons.items() if reason is not None},
    }


@app.command(
    epilog=examples(
        "manyview experiments run quick --store quick.sqlite",
        "manyview experiments run paper --store paper.sqlite --time-limit 3600",
        "manyview experiments run paper --store paper.sqlite --part result1 --seeds 3",
    )
)
def run(
    spec: SpecName,
    store: StorePath = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Fits at a time, each in its own process. Default: one per core."),
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(min=0.001, metavar="SECONDS", help="Limit for one fit. Default: that of the spec.")
    ] = None,
    memory_limit: MemoryLimit = None,
    parts: PartNames = [],  # noqa: B006  typer copies it
    retry: Annotated[bool, typer.Option("--retry", help="Run fits again that ended without a result.")] = False,
    seeds: Seeds = None,
    run_code: Annotated[
        bool,
        typer.Option(
            "--run-code", help="Run code that the spec names: rows whose estimator is module:Name. Read it first."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run all cells of a spec that are not in the store yet; a cell is one fit of a method to a dataset.

    Every finished cell is stored at once. Stop with Ctrl-C at any time, and resume with the same command.
    """
    from manyview import experiments as library
    from manyview.cli._progress import cell_progress

    chosen, store = _select(spec, parts, seeds), _store(spec, store)
    with library.Store(store, create=True) as results:
        say(f"{spec}: {len(chosen.cells)} cells, results go to {store}")
        try:
            with cell_progress() as show_event:
                outcome = library.run(
                    chosen,
                    results,
                    workers=workers,
                    time_limit=time_limit,
                    memory_limit=in_bytes(memory_limit),
                    retry=retry,
                    run_code=run_code,
                    on_event=show_event,
                )
        except KeyboardInterrupt:
            again = _command("run", spec, store, parts, seeds) + (" --run-code" if run_code else "")
            say(f"stopped; finished cells are in {store}. Go on with: {again}")
            raise typer.Exit(STOPPED) from None
    if as_json:
        print_json({"spec": spec, "store": str(store), **asdict(outcome)})
    show_it = _command("show", spec, store, parts, seeds)
    say(f"{_what_was_done(outcome)} Results are in {store}. Show them with: {show_it}")


def _what_was_done(outcome: Outcome) -> str:
    others = {status: count for status, count in outcome.counts.items() if status != "done" and count}
    why = ", ".join(f"{count} {status}" for status, count in others.items())
    failed = f"{sum(others.values())} without a result ({why})" if others else "none failed"
    total = sum(outcome.counts.values())
    done = f"{outcome.counts.get('done', 0)} of {total} cells done, {failed};"
    return f"{done} {outcome.ran} were run now, in {duration(outcome.seconds)}."


@app.command(
    epilog=examples(
        "manyview experiments show quick --store quick.sqlite",
        "manyview experiments show paper --store paper.sqlite --score purity",
        "manyview experiments show paper --store paper.sqlite --json > paper.json",
    )
)
def show(
    spec: SpecName,
    store: StorePath = None,
    scores: Scores = [],  # noqa: B006
    parts: PartNames = [],  # noqa: B006
    seeds: Seeds = None,
    as_json: AsJson = False,
) -> None:
    """Print the tables: results in file order and on shuffled rows, beside published ones; order audit and ranking."""
    from manyview.cli._experiment_tables import check_scores, summary_tables

    check_scores(scores)
    store = _store(spec, store)
    summary = _summary(spec, store, parts, seeds)
    if as_json:
        print_json(summary)
        return
    console = result_console()
    print_pieces(summary_tables(summary, scores, console.width), console)
    if waiting := summary["cells"]["waiting"]:
        command = printable(_command("run", spec, store, parts, seeds))
        print(f"\n{waiting} cells are waiting. Run them with: {command}")


@app.command(epilog=examples("manyview experiments report paper --store paper.sqlite --out report.html"))
def report(
    spec: SpecName,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The HTML file to write.")],
    store: StorePath = None,
    parts: PartNames = [],  # noqa: B006
    seeds: Seeds = None,
    as_json: AsJson = False,
) -> None:
    """Write all tables and figures as one HTML page that opens without a network, and print its path."""
    store = _store(spec, store)
    summary = _summary(spec, store, parts, seeds)
    from manyview.report.experiments import render

    write_whole(out, render(summary, store=str(store), spec=spec))
    if as_json:
        print_json({"spec": spec, "report": str(out)})
    else:
        print(out)


@app.command(
    epilog=examples(
        "manyview experiments export paper --store paper.sqlite --format csv > paper.csv",
        "manyview experiments export paper --store paper.sqlite --format latex --columns shuffled --out tables.tex",
        "manyview experiments export paper --store paper.sqlite --format markdown --out paper.md --pictures paper",
    )
)
def export(
    spec: SpecName,
    format: Annotated[Format, typer.Option("--format", help="Format of the file.")],
    store: StorePath = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="The file to write. Default: stdout.")
    ] = None,
    scores: Scores = [],  # noqa: B006
    columns: Annotated[
        str,
        typer.Option(
            metavar="A,B,...", help="Columns of the tables: some of published, file-order, shuffled. Default: all."
        ),
    ] = "",
    pictures: Annotated[
        Path | None,
        typer.Option(
            "--pictures",
            metavar="FOLDER",
            help="With markdown: write curves and graphs as SVG files into this folder and show them on the page. "
            "Default: no pictures.",
            show_default=False,
        ),
    ] = None,
    parts: PartNames = [],  # noqa: B006
    seeds: Seeds = None,
) -> None:
    """Write the tables as CSV, LaTeX or Markdown."""
    from manyview import experiments as library
    from manyview.experiments.wording import check_choice

    store = _store(spec, store)
    chosen = [column.strip() for column in columns.split(",") if column.strip()]
    check_choice(scores, chosen)
    if pictures is not None and format is not Format.MARKDOWN:
        raise typer.BadParameter(f"only --format markdown shows pictures, not {format}.", param_hint="--pictures")
    summary = _summary(spec, store, parts, seeds)
    if format is Format.CSV:
        text = library.to_csv(summary, scores, chosen)
    elif format is Format.LATEX:
        text = library.to_latex(summary, scores, chosen)
    else:
        words = [
            *(word for score in scores for word in ("--score", score)),
            *(["--columns", columns] if columns else []),
            *(["--out", str(out)] if out and pictures else []),  # pictures are linked from there
            *(["--pictures", str(pictures)] if pictures else []),
        ]
        command = f"{_command('export', spec, store, parts, seeds)} {shlex.join(['--format', 'markdown', *words])}"
        shown = {} if pictures is None else _write_pictures(summary, pictures, Path() if out is None else out.parent)
        text = library.to_markdown(summary, command, scores, chosen, pictures=shown)
    if out is None:
        sys.stdout.write(text)
    else:
        write_whole(out, text)
        print(out)


def _write_pictures(summary: Json, folder: Path, page_folder: Path) -> dict[str, tuple[str, str]]:
    """Write a picture for each part that has one; return its address, as seen from the page, and its description."""
    from manyview.report.experiment_pictures import draw

    drawn = draw(summary)
    if not drawn:
        say("no curves or graphs have been measured, so there are no pictures")
        return {}
    write_folder(folder, {f"{name}.svg": picture.svg for name, picture in drawn.items()})
    address = Path(os.path.relpath(folder, page_folder))
    return {name: (quote((address / f"{name}.svg").as_posix()), drawn[name].description) for name in drawn}


def in_bytes(gibibytes: float | None) -> float | None:
    """Return a limit of the command line in bytes."""
    return None if gibibytes is None else gibibytes * 2**30


def _store(spec: str, store: Path | None) -> Path:
    """Return the file with the results: the given one, or one that is called like the spec."""
    return Path(f"{Path(spec).name.removesuffix('.toml')}.sqlite") if store is None else store


def _select(name: str, parts: list[str], seeds: int | None) -> Spec:
    from manyview import experiments as library
    from manyview.experiments import first_seeds, only

    spec = only(library.load_spec(name), parts)
    return spec if seeds is None else first_seeds(spec, seeds)


def _summary(name: str, store: Path, parts: list[str], seeds: int | None) -> Json:
    from manyview import experiments as library

    spec = _select(name, parts, seeds)
    with library.Store(store, create=False) as results:
        found = results.results(cell.key for cell in spec.cells)
        return library.summarise(spec, found, results.datasets(), results.runs())


def _command(name: str, spec: str, store: Path, parts: list[str], seeds: int | None) -> str:
    """Return the command line for the same selection of results."""
    words = ["manyview", "experiments", name, spec, "--store", str(store)]
    words += [word for part in parts for word in ("--part", part)]
    words += [] if seeds is None else ["--seeds", str(seeds)]
    return shlex.join(words)
