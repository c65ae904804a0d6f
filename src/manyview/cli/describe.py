"""``manyview describe``: what is in clusters that exist already, from an earlier run or from anywhere."""

from __future__ import annotations

import json
import shlex
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from manyview._utils.files import Content, write_folder
from manyview.cli import _completion as completion
from manyview.cli._contents import Contents
from manyview.cli._errors import say
from manyview.cli._options import AsJson, OutFolder, Source, grouped
from manyview.cli._output import ANSWER_NAMES, Json, check_folder, print_json, result_console, to_json, write_table
from manyview.exceptions import FileFormatError

if TYPE_CHECKING:
    from manyview.description import Description
    from manyview.views import Views

NAMES = {"description": "description.json", "markers": "markers.csv", "report": "report.html"}


@grouped
def describe(
    clusters: Annotated[
        str,
        typer.Argument(
            metavar="OUT|LABELS",
            help="Clusters to describe: the folder that manyview cluster wrote, or a table FILE[:COLUMN][@ID] with a "
            "label for each sample, from anywhere.",
            show_default=False,
            autocompletion=completion.columns_of_file,
        ),
    ],
    source: Source,
    contents: Contents,
    out: OutFolder = Path("manyview-description"),
    report: Annotated[bool, typer.Option("--report/--no-report", help="Whether to write report.html.")] = True,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Random seed.")] = 0,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, metavar="N", help="Number of threads. Default: all cores.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Describe clusters: markers, typical samples, metadata, survival. Writes description.json and markers.csv.

    The clusters are those of an earlier run, or labels from anywhere; FILES are the views that they were found in. The
    markers have p values if manyview can learn the clusters again, which takes the folder of an earlier run.
    """
    from manyview.cli._progress import fit_progress
    from manyview.report.documents import describe_description

    contents.check(has_labels=bool(source.labels))
    check_folder(out, list(NAMES.values()))
    earlier = _earlier_run(Path(clusters))
    with warnings.catch_warnings(record=True) as caught:
        views = _checked(source.read(**contents.reading))
        found, model = _clusters(clusters, earlier, views, source)
        views = contents.prepared(views if earlier is not None else _without(views, found))
        names = contents.names() or _earlier_names(earlier)
        with fit_progress():
            description = contents.describe(views, found if model is None else model, seed=seed, jobs=jobs, names=names)
    warned = list(dict.fromkeys(str(warning.message) for warning in caught))
    for text in warned:
        say(f"warning: {text}")
    switches = ["--out", str(out), *([] if report else ["--no-report"]), "--seed", str(seed)]
    words = [clusters, *source.words, *contents.words, *switches, *([] if jobs is None else ["--jobs", str(jobs)])]
    facts: Json = {
        "files": source.files,
        "reading": source.reading | contents.reading,
        "command": shlex.join(["manyview", "describe", *words]),
    }
    method = None if model is None else type(model).__name__
    document = describe_description(description, views, clusters, method=method, warnings=warned, jobs=jobs, **facts)
    page = None
    if report:
        from manyview.report.description import render_description

        page = render_description(description, views, sample_names=not contents.no_sample_names, **facts)
    document["output"] = _write(out, document, description, page)
    if as_json:
        print_json(document)
    else:
        from manyview.cli._answer_tables import print_description

        print_description(document, result_console())


def _write(folder: Path, document: Json, description: Description, page: str | None) -> dict[str, str | None]:
    """Write all files, or none; returns their paths."""
    names = {part: None if part == "report" and page is None else name for part, name in NAMES.items()}
    files: dict[str, Content] = {
        NAMES["description"]: to_json({**document, "output": names}),
        NAMES["markers"]: lambda file: write_table(file, description.markers),
    }
    if page is not None:
        files[NAMES["report"]] = page.encode(errors="backslashreplace")
    write_folder(folder, files, outdated=lambda: {NAMES["report"]})
    return {part: None if name is None else str(folder / name) for part, name in names.items()}


def _checked(views: Views) -> Views:
    from manyview.views import check_views

    return check_views(views, keep_float32=True)


def _earlier_run(folder: Path) -> Json | None:
    """Return the result of an earlier run; None if the labels are not in a folder."""
    if not folder.is_dir():
        return None
    file = folder / ANSWER_NAMES["result"]
    try:
        result: Json = json.loads(file.read_bytes())
        if str(result["format"]).startswith("manyview result "):
            return result
    except FileNotFoundError:
        raise typer.BadParameter(
            f"the folder {folder} has no {file.name}. Expected one that manyview cluster has written, or a table of "
            "labels.",
            param_hint="OUT|LABELS",
        ) from None
    except (ValueError, TypeError, LookupError):
        pass
    raise FileFormatError(f"{file}: was not written by manyview cluster.")


def _clusters(labels: str, earlier: Json | None, views: Views, source: Source) -> tuple[Any, Any]:
    """Return the label of each sample, None where there is none, and an estimator with these labels if there is one."""
    import numpy as np

    from manyview.io._read import read_labels
    from manyview.views.fingerprint import fingerprint

    options = {name: source.options[name] for name in ("id_column", "match_ids") if name in source.options}
    if earlier is None:
        return read_labels(labels, views, header=source.header, **options), None
    data, known = earlier["data"], views
    is_same = fingerprint(views) == data["sha256_views"]
    if not data["has_ids"] or views.sample_ids is None:
        if not is_same:
            whose = "the files" if data["has_ids"] else "its labels"
            raise FileFormatError(
                f"{labels}: {whose} have no sample ids, and the files do not hold the data that were clustered "
                f"({data['n_samples']:,} samples, other values or another order), so that rows cannot be matched."
            )
        known = replace(views, sample_ids=None)
    table = Path(labels) / ANSWER_NAMES["labels"]
    found = read_labels(f"{table}:cluster@sample", known, **options)
    same_views = [(view["name"], view["n_features"]) for view in data["views"]] == list(
        zip(views.names, views.n_features, strict=True)
    )
    if not same_views:
        clustered = ", ".join(f"{view['name']} ({view['n_features']:,})" for view in data["views"])
        warnings.warn(
            f"these are not the views that were clustered, {clustered}; so there are no p values.", stacklevel=2
        )
        return found, None
    if not is_same:
        warnings.warn(
            "values or order of the samples differ from those that were clustered; matched by id.", stacklevel=2
        )
    model = _estimator(earlier, views)
    model.labels_ = found
    if earlier["confidence"] is not None:
        confidence = read_labels(f"{table}:confidence@sample", known, **options)
        model.confidence_ = np.array([np.nan if value is None else value for value in confidence], dtype=float)
    return found, model


def _without(views: Views, labels: Any) -> Views:
    """Return the views without columns of metadata that are the labels themselves, which go with them of course."""
    if views.metadata is None:
        return views
    texts = ["" if label is None else str(label) for label in labels]
    same = [
        name
        for name, values in views.metadata.items()
        if [str(value) if is_known else "" for value, is_known in zip(values, values.notna(), strict=True)] == texts
    ]
    return replace(views, metadata=views.metadata.drop(columns=same))


def _earlier_names(earlier: Json | None) -> dict[str, str]:
    """Return the names that the clusters of an earlier run have."""
    description = None if earlier is None else earlier.get("description")
    return {} if description is None else {str(each["cluster"]): each["name"] for each in description["clusters"]}


def _estimator(earlier: Json, views: Views) -> Any:
    """Return the estimator of an earlier run, with its parameters."""
    from manyview.cluster._registry import get_method

    make: Any = get_method(earlier["method"]["name"]).estimator
    model = make(**earlier["parameters"])
    model.view_names_ = views.names
    return model
