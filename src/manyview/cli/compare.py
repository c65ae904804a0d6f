"""``manyview compare``: methods side by side on the same data."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from manyview._utils.files import write_folder
from manyview.cli import _completion as completion
from manyview.cli._choice import ClustersOrRange, as_typed, find_method, parse_n_clusters, slug
from manyview.cli._errors import BAD_INPUT, STOPPED, say
from manyview.cli._options import AsJson, OptionalOutFolder, Source, grouped
from manyview.cli._output import Json, check_folder, print_json, print_pieces, result_console, to_json
from manyview.cli._run import check_n_clusters, say_chosen, suggest
from manyview.cli.experiments import MemoryLimit, in_bytes

if TYPE_CHECKING:
    from manyview.experiments import Spec, Store

FORMAT = "manyview comparison 1"
NAMES = ("comparison.json", "comparison.csv", "labels.csv", "report.html")
ALL = "all"


@grouped
def compare(
    source: Source,
    clusters: ClustersOrRange,
    methods: Annotated[
        str,
        typer.Option(
            "--methods",
            metavar="all|A,B,...",
            help="Methods to compare; see: manyview methods. A method of your own is module:Name or file.py:Name: a "
            "class with fit(list of arrays) and labels_, or a function of views, k and seed.",
            autocompletion=completion.method_list,
        ),
    ] = ALL,
    seeds: Annotated[
        int, typer.Option(min=1, help="Runs of each method, each with another random seed and row order.")
    ] = 5,
    time_limit: Annotated[
        float | None, typer.Option(min=0.001, metavar="SECONDS", help="Limit for one fit. Default: one hour.")
    ] = None,
    memory_limit: MemoryLimit = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Fits at a time, each in its own process. Default: one per core."),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Keep every fit in this file, so that the same command resumes after a stop."
        ),
    ] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Run fits again that ended without a result.")] = False,
    out: OptionalOutFolder = None,
    as_json: AsJson = False,
) -> None:
    """Run several methods on the same data and show them side by side: scores, stability, agreement, time, memory.

    Rows are shuffled, in another order for each seed, so that no method profits from the order of a file.

    With -k auto or a range, the number of clusters is chosen once, and all methods use the same.

    Every method has its default parameters. Fits run in processes of their own, with one thread. Code of your own that
    --methods names is run there, too.
    """
    from manyview import experiments as library
    from manyview.cli._progress import cell_progress, fit_progress
    from manyview.experiments.compare import compare_results, comparison_spec
    from manyview.experiments.export import labels_csv, runs_csv
    from manyview.experiments.summary import distinct_runs
    from manyview.report.documents import describe_data, describe_suggestion
    from manyview.views import check_views

    wanted = parse_n_clusters(clusters, may_choose=True)
    chosen = _find_methods(methods)
    _check_no_method(source.files, methods)
    check_folder(out, NAMES)
    declared = source.as_data
    views = source.read()
    # views that no method can fit are an error here, before many processes are started
    checked = check_views(views, min_views=min(_min_views(method) for method in chosen))
    check_n_clusters(wanted, checked.n_samples)
    if isinstance(wanted, int):
        n_clusters, suggestion = wanted, None
    else:
        with fit_progress():
            suggestion = suggest(checked, wanted)
        say_chosen(wanted, suggestion)
        n_clusters = suggestion.n_clusters
    data, sample_ids = describe_data(views, source.files, source.reading), views.sample_ids
    del views, checked  # each process reads its own
    spec = comparison_spec(declared, chosen, n_clusters, seeds, name=source.title)
    command = _command(source, as_typed(wanted), methods, seeds, time_limit, memory_limit, store)
    with _open_store(store) as results:
        results.knows(source.title, data["sha256"])
        try:
            with cell_progress() as show_event:
                library.run(
                    spec,
                    results,
                    workers=workers,
                    time_limit=time_limit,
                    memory_limit=in_bytes(memory_limit),
                    retry=retry,
                    run_code=True,  # its name was typed
                    read_first=False,  # done above
                    on_event=show_event,
                )
        except KeyboardInterrupt:
            say(_what_is_kept(spec, results, store, command))
            raise typer.Exit(STOPPED) from None
        found = results.results(cell.key for cell in spec.cells)
        runs = [run for run in results.runs() if run["id"] in {result.run for result in found.values()}]
        comparison = {
            "format": FORMAT,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "command": command,
            "data": data,
            "suggestion": describe_suggestion(suggestion),
            **compare_results(spec, found, results.datasets()),
            "runs": distinct_runs(runs),
        }
    for method in comparison["methods"]:
        method["slug"] = slug(method["name"]) if method["code"] is None else method["code"]["reference"]
    if out is not None:
        from manyview.report.comparison import render

        labels = labels_csv(comparison, spec, found, sample_ids)
        contents = (to_json(comparison), runs_csv(comparison), labels, render(comparison))
        write_folder(out, dict(zip(NAMES, contents, strict=True)))
    _show(comparison, as_json)
    if out is not None:
        say(f"wrote {', '.join(NAMES)} to {out}")
    if not any(method["runs_done"] for method in comparison["methods"]):
        say("no method ended with clusters; the reasons are above")
        raise typer.Exit(BAD_INPUT)


def _show(comparison: Json, as_json: bool) -> None:
    if as_json:
        print_json(comparison)
        return
    from manyview.cli._answer_tables import comparison_pieces

    console = result_console()
    print_pieces(comparison_pieces(comparison, console.width), console)


def _find_methods(text: str) -> list[str]:
    """Return the names of classes, and the references to code of the user's own, each once."""
    from manyview.cluster._registry import HOMES
    from manyview.experiments.own_methods import find, is_reference

    found: list[str] = []
    for word in (word.strip() for word in text.split(",")):
        if word.lower() == ALL:
            found += HOMES
        elif is_reference(word):
            found.append(find(word).reference)  # an error here, before anything is read, if there is no such file
        else:
            found.append(find_method(word, "--methods").name)
    return list(dict.fromkeys(found))


def _min_views(method: str) -> int:
    from manyview.cluster._registry import HOMES, get_method

    return get_method(method).estimator.min_views if method in HOMES else 1


def _check_no_method(files: Sequence[Path], methods: str) -> None:
    """Refuse names of methods among the files, which is where they are after a space instead of a comma."""
    from manyview.cluster._registry import HOMES

    known = {slug(name) for name in HOMES}
    named = [str(file) for file in files if str(file) in known and not file.exists()]
    if named:
        listed = ",".join([*([] if methods == ALL else [methods]), *named])
        raise typer.BadParameter(
            f"{named[0]} is a method, not a file: join methods with commas (--methods {listed}).",
            param_hint="--methods",
        )


@contextmanager
def _open_store(path: Path | None) -> Iterator[Store]:
    """Open the store at ``path``, or a temporary one."""
    from manyview import experiments as library

    with (
        TemporaryDirectory(prefix="manyview-") as folder,
        library.Store(path or Path(folder, "results.sqlite"), create=True) as store,
    ):
        yield store


def _what_is_kept(spec: Spec, results: Store, store: Path | None, command: str) -> str:
    if store is None:
        return "stopped; nothing is kept. With --store FILE, finished fits are kept, and the same command resumes."
    done = len(results.results(cell.key for cell in spec.cells))
    return f"stopped; {done} of {len(spec.cells)} fits are kept in {store}. Go on with: {command}"


def _command(
    source: Source,
    n_clusters: str,
    methods: str,
    seeds: int,
    time_limit: float | None,
    memory_limit: float | None,
    store: Path | None,
) -> str:
    words = [*source.words, "-k", n_clusters, "--methods", methods, "--seeds", str(seeds)]
    words += [] if time_limit is None else ["--time-limit", f"{time_limit:g}"]
    words += [] if memory_limit is None else ["--memory-limit", f"{memory_limit:g}"]
    return shlex.join(["manyview", "compare", *words, *([] if store is None else ["--store", str(store)])])
