"""``manyview predict``: the clusters of new samples, by a model of ``manyview cluster --save`` or of Python."""

from __future__ import annotations

import csv
import shlex
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from manyview._utils.files import quoting, write_folder
from manyview._utils.text import printable
from manyview.cli import STARTED
from manyview.cli._errors import STOPPED, say
from manyview.cli._options import AsJson, OutFolder, Source, grouped
from manyview.cli._output import Json, check_folder, print_json, result_console, to_json, words

if TYPE_CHECKING:
    import numpy as np
    from rich.console import Console

    from manyview.cli._new_files import Known
    from manyview.views import Views

NAMES = ("prediction.json", "labels.csv")


@grouped
def predict(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            help="File of manyview cluster --save, or of model.save in Python.",
            show_default=False,
        ),
    ],
    source: Source,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, metavar="N", help="Number of threads. Default: all cores.")
    ] = None,
    out: OutFolder = Path("manyview-prediction"),
    as_json: AsJson = False,
) -> None:
    """Assign new samples to the clusters of a model, and write labels.csv and prediction.json.

    Files are recognised as views of the model by the names of their features, or named by --names, in their order.
    Views that are not given count as missing, and so do those that single samples do not have (--join outer).

    Either both files are written, or none. Files of an earlier prediction in the same folder are replaced.
    """
    try:
        check_folder(out, NAMES)
        command = ["predict", str(model), *source.words, *([] if jobs is None else ["--jobs", str(jobs)])]
        document, views, found, known = _predict(
            model, source, jobs, shlex.join(["manyview", *command, "--out", str(out)])
        )
        document["output"] = dict(zip(("prediction", "labels"), NAMES, strict=True))
        write_folder(
            out, {NAMES[0]: to_json(document), NAMES[1]: lambda file: write_labels(file, views, *found, known)}
        )
    except KeyboardInterrupt:
        say("stopped; nothing was written")
        raise typer.Exit(STOPPED) from None
    document["output"] = {part: str(out / name) for part, name in document["output"].items()}
    if as_json:
        print_json(document)
    else:
        _print(document, result_console())


def _predict(
    path: Path, source: Source, jobs: int | None, command: str
) -> tuple[Json, Views, tuple[np.ndarray, np.ndarray], Known]:
    """Return the document, the views, their labels and confidence, and the views of the model."""
    from manyview.cli._new_files import Known, read_new
    from manyview.report.prediction import describe_prediction
    from manyview.views.checks import check_block

    timings: dict[str, float] = {"start": time.perf_counter() - STARTED}
    model, version = _load(path, source)
    if jobs is not None:
        model.set_params(n_jobs=jobs)
    known = Known.of(model, path)
    with warnings.catch_warnings(record=True) as caught:
        start = time.perf_counter()
        views = read_new(source, known)
        # rows of only NaN are missing views, which the table of labels must say
        views = replace(views, present=check_block(views, 0).present)
        timings["read"] = time.perf_counter() - start
        start = time.perf_counter()
        found = model._predict_both(views)
        timings["predict"] = time.perf_counter() - start
    warned = list(dict.fromkeys(str(warning.message) for warning in caught))
    for text in warned:
        say(f"warning: {text}")
    document = describe_prediction(
        model,
        views,
        *found,
        n_features=known.n_features,
        cluster_names=known.origin.cluster_names,
        file=path,
        version=version,
        files=source.files,
        reading=source.reading,
        command=command,
        timings=timings,
        warnings=warned,
    )
    return document, views, found, known


def _load(path: Path, source: Source) -> tuple[Any, str]:
    """Return the model and the version that wrote it."""
    from manyview.cluster._saving import can_predict, load
    from manyview.store._file import describe_version, file_version, is_model_file

    if path.is_file() and not is_model_file(path):
        models = [file for file in source.files if file.is_file() and is_model_file(file)]
        if models:
            raise typer.BadParameter(
                f"{path} is no model, but {models[0]} is. The model comes first, then the files of the new samples.",
                param_hint="MODEL",
            )
    model, version = load(path), file_version(path)
    if not can_predict(type(model)):
        raise typer.BadParameter(
            f"{path} holds a model of {type(model).__name__}, which cannot assign new samples. GraphEnsemble "
            "(--method graph-ensemble) can.",
            param_hint="MODEL",
        )
    if note := describe_version(path):
        say(f"{path}: {note}; the model could be read.")
    return model, version


def write_labels(file: BinaryIO, views: Views, labels: np.ndarray, confidence: np.ndarray, known: Known) -> None:
    """Write id, cluster, confidence and, for each view of the model, whether the sample has it (1 or 0) as CSV."""
    ids = range(views.n_samples) if views.sample_ids is None else views.sample_ids.tolist()
    names = known.origin.cluster_names
    columns: dict[str, Sequence[object]] = {"sample": ids, "cluster": labels.tolist()}
    if names is not None:
        columns["name"] = [names[label] for label in labels.tolist()]
    columns["confidence"] = [f"{share:.4f}" for share in confidence.clip(0, 1).round(4).tolist()]
    for name in known.n_features:
        columns[f"has_{name}"] = _has_view(views, name)
    text = TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="")
    table = csv.writer(text, lineterminator="\n", quoting=quoting([*ids, *columns, *(names or ())]))
    table.writerow(columns)
    table.writerows(zip(*columns.values(), strict=True))
    text.detach()


def _has_view(views: Views, name: str) -> list[int]:
    if name not in views.names:
        return [0] * views.n_samples
    present = views.has_view(views.names.index(name))
    return [1] * views.n_samples if present is None else present.astype(int).tolist()


def _print(document: Json, console: Console) -> None:
    """Print what was assigned, to what, and where it was written."""
    from manyview.cli._answer_tables import data_line, print_clusters, reading_lines
    from manyview.metrics import SCORE_TITLES
    from manyview.report.documents import scored_samples

    data, model, confidence = (document[part] for part in ("data", "model", "confidence"))
    console.print(words(data_line(data)))
    for line in reading_lines(data):
        console.print(line)
    if missing := document["missing_views"]:
        console.print(words(f"not given, counts as missing: {', '.join(missing)}", "yellow"))
    few = confidence["below_half"]
    unsure = f", {few:,} {'sample' if few == 1 else 'samples'} below 0.5" if few else ""
    method, n_clusters = model["method"]["name"], model["n_clusters"]
    console.print(
        words(f"{model['file']}: {method}, {n_clusters} clusters; mean confidence {confidence['mean']:.3f}{unsure}")
    )
    console.print()
    print_clusters(document["clusters"], console, [each["name"] for each in document["clusters"] if each["name"]])
    if document["scores"] is not None:
        about = f"against the {data['n_classes']} known classes, {document['row_order']}"
        scored = scored_samples(data)
        console.print()
        console.print(words(f"{about}; {scored}:" if scored else f"{about}:"))
        scores = document["scores"].items()
        console.print(words(", ".join(f"{SCORE_TITLES[name]} {value:.3f}" for name, value in scores)))
    console.print()
    for path in document["output"].values():
        print(printable(path))  # not by rich, which would wrap it: it may be copied
