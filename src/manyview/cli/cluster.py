"""``manyview cluster``: from files to clusters, with a report."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from manyview.cli._choice import Choice, ClustersOrRange, as_typed, find_method, parse_n_clusters, slug
from manyview.cli._contents import Contents
from manyview.cli._options import AsJson, OutFolder, Source, grouped
from manyview.cli._output import print_json, result_console
from manyview.cli._run import Job, run_and_write

if TYPE_CHECKING:
    from manyview.cluster._saving import Origin
    from manyview.views import Views


@grouped
def cluster(
    source: Source,
    k: ClustersOrRange,
    choice: Choice,
    contents: Contents,
    out: OutFolder = Path("manyview-output"),
    audit: Annotated[
        bool, typer.Option("--audit", help="Also test what the answer depends on; takes about 15 more fits.")
    ] = False,
    report: Annotated[bool, typer.Option("--report/--no-report", help="Whether to write report.html.")] = True,
    describe: Annotated[
        bool,
        typer.Option(
            "--describe/--no-describe", help="Whether to describe the clusters: markers, typical samples, metadata."
        ),
    ] = True,
    save: Annotated[
        Path | None,
        typer.Option(
            "--save",
            metavar="FILE",
            help="Also write the model to this file, such as model.mv, for manyview predict. Only methods that can "
            "assign new samples.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Cluster the samples of files, and write labels.csv, markers.csv, result.json, graph.npz and report.html.

    For folders of shards, labels are shards too: labels/part-*.parquet, and graph.npz is left out.

    Either all files are written, or none. Files of an earlier run in the same folder are replaced.
    """
    n_clusters = parse_n_clusters(k, may_choose=True)
    if not describe and contents.asks_for_description is not None:
        raise typer.BadParameter(
            f"either {contents.asks_for_description} or --no-describe, not both.", param_hint="--no-describe"
        )
    if save is not None:
        _check_can_predict(choice.method)
    contents.check(n_clusters, has_labels=bool(source.labels))
    switches = [
        *(["--audit"] if audit else []),
        *([] if report else ["--no-report"]),
        *([] if describe else ["--no-describe"]),
        *([] if save is None else ["--save", str(save)]),
    ]
    words = [*source.words, "-k", as_typed(n_clusters), *choice.words, *contents.words, "--out", str(out), *switches]
    job = Job(
        read=lambda: source.read(**contents.reading),
        choice=choice,
        n_clusters=n_clusters,
        out=out,
        command=shlex.join(["manyview", "cluster", *words]),
        files=source.files,
        reading=source.reading | contents.reading,
        contents=contents,
        with_audit=audit,
        with_report=report,
        with_description=describe,
        save=save,
        origin=lambda views: _origin(source, views),
    )
    show(job, as_json)


def _check_can_predict(name: str) -> None:
    """Refuse to save a method whose file would be of no use, before anything is fitted."""
    from manyview.cluster import available_methods
    from manyview.cluster._saving import can_predict

    if not can_predict(find_method(name).estimator):
        able = ", ".join(slug(method.name) for method in available_methods() if can_predict(method.estimator))
        raise typer.BadParameter(
            f"{name} cannot assign new samples, so nothing could use its model. Leave --save out, or use {able}.",
            param_hint="--save",
        )


def _origin(source: Source, views: Views) -> Origin:
    from manyview.cli._new_files import origin_of

    return origin_of(source, views)


def show(job: Job, as_json: bool) -> None:
    """Fit, write the files, and print the answer."""
    result = run_and_write(job)
    if as_json:
        print_json(result)
    else:
        from manyview.cli._answer_tables import print_answer

        print_answer(result, result_console())
