"""What commands print on stdout, and the folders that they write: tables for people, JSON for programs.

Text that comes from a spec, a file or an error goes through :func:`words` before it is printed: it is never read as
markup, and nothing in it reaches the terminal as a command.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import typer
from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from manyview._utils.files import Content, quoting, write_folder
from manyview._utils.text import printable

if TYPE_CHECKING:
    from manyview.description import Description
    from manyview.views import Views

Json = dict[str, Any]

# The result comes first: an earlier one lists which of the other files are ours.
ANSWER_NAMES = {
    "result": "result.json",
    "labels": "labels.csv",
    "markers": "markers.csv",
    "graph": "graph.npz",
    "report": "report.html",
}
LABEL_SHARDS = "labels"
"""Folder of the labels of views that are opened, not read, instead of labels.csv."""
_GRAPHS = ("consensus_graph_", "learned_graph_")


def to_json(value: Any) -> str:
    """Return plain values as JSON that any program can read: no NaN, no infinity."""
    return json.dumps(value, indent=1, allow_nan=False) + "\n"


def print_json(value: Any) -> None:
    """Print plain values as JSON, and nothing else."""
    print(to_json(value), end="")


def result_console() -> Console:
    """Return the console on stdout, for tables."""
    return Console(highlight=False)


def print_pieces(pieces: Iterable[RenderableType], console: Console) -> None:
    """Print texts and tables one after the other. What is wider than the terminal is wrapped, never cut off."""
    for piece in pieces:
        if isinstance(piece, Table):
            for column in piece.columns:
                if column.no_wrap:  # rich would cut it to make room
                    column.min_width = max(console.measure(cell).maximum for cell in (column.header, *column.cells))
        console.print(piece, crop=False)


def words(text: object, style: str = "") -> Text:
    """Return text as it is, without markup or escapes."""
    return Text(printable(text), style=style)


def new_table(*columns: tuple[str, bool], right: bool = False) -> Table:
    """Return an empty table; a column is its heading, and whether it holds numbers, which are never wrapped."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), pad_edge=False)
    for heading, is_number in columns:
        lines = Text("\n").join(words(line) for line in heading.split("\n"))
        table.add_column(lines, no_wrap=is_number, overflow="fold", justify="right" if right else "left")
    return table


def reasons(results: Iterable[tuple[str, str, Json]]) -> list[Text]:
    """Return why results are missing, for below a table: one line per reason, with all rows that it concerns.

    Parameters
    ----------
    results : iterable of (name of the row, order of the samples, result)
    """
    concerned: dict[str, dict[str, dict[str, None]]] = {}  # the inner dicts are sets that keep their order
    for name, order, result in results:
        if result.get("reason") and result["status"] != "absent":
            concerned.setdefault(result["reason"], {}).setdefault(name, {})[order] = None
    lines = []
    for reason, rows in concerned.items():
        names = ", ".join(f"{name} ({', '.join(orders)})" for name, orders in rows.items())
        lines.append(words(f"{names}: {reason}"))
    return lines


def check_folder(folder: Path | None, names: Sequence[str]) -> None:
    """Refuse a folder that cannot be written to, or in which files would be lost that are not ours.

    Commands check this before they compute anything, so that no fit is lost for want of a folder.

    Parameters
    ----------
    folder : Path or None
        None if nothing is to be written.
    names : sequence of str
        The files that will be written. The first is a JSON file of ours, with "format": if it exists, the others are
        taken for ours as well.
    """
    if folder is None:
        return
    parent = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not parent.is_dir():
        raise _bad_folder(f"{folder} cannot be a folder: {parent} is a file.")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise _bad_folder(f"there is no permission to write to {parent}.")
    if _read_document(folder / names[0]) is None:
        for name in names:
            if (folder / name).exists():
                raise _bad_folder(f"{folder / name} is there already, and was not written by this command.")


def _bad_folder(reason: str) -> typer.BadParameter:
    return typer.BadParameter(f"{reason} Choose another folder.", param_hint="--out")


def _read_document(path: Path) -> Json | None:
    """Return a JSON file that an earlier run has written; None if there is none, or if it is not ours."""
    try:
        found = json.loads(path.read_bytes())
        return found if str(found["format"]).startswith("manyview ") else None
    except (OSError, ValueError, TypeError, LookupError):
        return None


def check_model_path(path: Path | None, folder: Path, sources: Sequence[Path] = ()) -> None:
    """Refuse a path for a model that cannot be written, or where a file would be lost that is no model.

    Parameters
    ----------
    path : Path or None
        None if no model is to be written.
    folder : Path
        The folder of the other files, which may not exist yet.
    sources : sequence of Path
        The files that are read.
    """
    if path is None:
        return
    target, out = path.resolve(), folder.resolve()
    if path.is_dir():
        raise _bad_model_path(f"{path} is a folder. Give the name of a file in it, such as {path / 'model.mv'}.")
    if target in [(out / name).resolve() for name in ANSWER_NAMES.values()]:
        raise _bad_model_path(f"{path} is another file of the answer. Choose another name, such as model.mv.")
    if target in [source.resolve() for source in sources]:
        raise _bad_model_path(f"{path} is one of the files that are read. Choose another name, such as model.mv.")
    if not (path.parent.is_dir() or target.parent in (out, *out.parents)):
        raise _bad_model_path(f"there is no folder {path.parent}. Make it first, or choose another.")
    if path.parent.is_dir() and not os.access(path.parent, os.W_OK | os.X_OK):
        raise _bad_model_path(f"there is no permission to write to {path.parent}. Choose another folder.")
    if path.exists():
        from manyview.store._file import is_model_file

        if not path.is_file() or not is_model_file(path):
            raise _bad_model_path(f"{path} is there already, and is no model. Choose another name.")


def _bad_model_path(reason: str) -> typer.BadParameter:
    return typer.BadParameter(reason, param_hint="--save")


def write_answer(
    folder: Path,
    model: Any,
    views: Views,
    result: Json,
    description: Description | None,
    page: str | None,
    save: Path | None = None,
) -> Json:
    """Write all files of an answer, or none; files of an earlier answer that this one does not have are removed.

    Parameters
    ----------
    folder : Path
        Made if it does not exist.
    model : fitted estimator
        With labels, and perhaps a graph.
    views : Views
        With the ids of the samples, and their metadata, if they have some.
    result : dict
        As :func:`manyview.report.documents.describe_result` returns it.
    description : Description or None
        With the markers, and names of the clusters.
    page : str or None
        The report, if one is wanted.
    save : Path, optional
        Where to write the model, in any folder; see :func:`check_model_path`.

    Returns
    -------
    dict
        The result with ``output``: the path of each file, or None if it was not written. The file result.json has the
        names without the folder, and the path of the model as it was typed.
    """
    from manyview.views.container import is_lazy

    in_shards = any(is_lazy(array) for array in views.arrays)
    graph = next((getattr(model, name) for name in _GRAPHS if hasattr(model, name) and not in_shards), None)
    names_of_clusters = None if description is None else description.names
    contents: dict[str, Content] = {}
    if not in_shards:
        contents["labels"] = lambda file: write_labels(file, model, views, names_of_clusters)
    if description is not None:
        contents["markers"] = lambda file: write_table(file, description.markers)
    if graph is not None:
        contents["graph"] = lambda file: write_graph(file, graph, getattr(model, "anchor_indices_", None))
    if page is not None:
        contents["report"] = page.encode(errors="backslashreplace")  # file names may hold bytes that are no text
    names = {part: name if part in contents or part == "result" else None for part, name in ANSWER_NAMES.items()}
    shards: Mapping[str, Content] = {}
    if in_shards:
        from manyview.io._write import label_shards

        shards, names["labels"] = label_shards(model, views), LABEL_SHARDS
    saved = {"model": None if save is None else str(save)}
    text = to_json({**result, "output": names | saved})

    files = {ANSWER_NAMES["result"]: text} | {ANSWER_NAMES[part]: content for part, content in contents.items()}
    files |= {f"{LABEL_SHARDS}/{name}": content for name, content in shards.items()}
    if save is not None:
        from manyview.cluster._saving import content

        files[str(save.absolute())] = content(model)  # an absolute path stays what it is, also in a folder
    try:
        write_folder(folder, files, outdated=lambda: _written_before(folder))
    except OSError as error:
        what_to_do = "Nothing was written. Make room, or choose another folder with --out."
        raise OSError(error.errno, f"{error.strerror}. {what_to_do}", error.filename) from error
    paths = {part: None if name is None else str(folder / name) for part, name in names.items()}
    return {**result, "output": paths | saved}


def _written_before(folder: Path) -> set[str]:
    """Return the names of the files that an earlier run has written to this folder."""
    earlier = (_read_document(folder / ANSWER_NAMES["result"]) or {}).get("output")
    if not isinstance(earlier, dict):
        return set()
    shards = (folder / LABEL_SHARDS).glob("part-*.parquet") if earlier.get("labels") == LABEL_SHARDS else ()
    return set(earlier.values()) & set(ANSWER_NAMES.values()) | {f"{LABEL_SHARDS}/{file.name}" for file in shards}


def write_labels(file: BinaryIO, model: Any, views: Views, names: Sequence[str] | None = None) -> None:
    """Write the id (the row number if there is none), the cluster and the confidence of every sample as CSV.

    Names of clusters follow their numbers if users gave some, and the metadata of the samples come last.
    """
    ids = range(views.n_samples) if views.sample_ids is None else views.sample_ids.tolist()
    clusters, confidence = model.labels_.tolist(), getattr(model, "confidence_", None)
    columns: dict[str, Sequence[Any]] = {"sample": ids, "cluster": clusters}
    if names is not None and any(name != f"cluster {cluster}" for cluster, name in enumerate(names)):
        columns["name"] = [names[cluster] for cluster in clusters]
    columns["confidence"] = [""] * views.n_samples
    if confidence is not None:
        columns["confidence"] = [f"{share:.4f}" for share in confidence.clip(0, 1).round(4).tolist()]
    for name, values in {} if views.metadata is None else views.metadata.items():
        known = values.notna().tolist()
        free = f"metadata {name}" if str(name) in ("sample", "cluster", "name", "confidence") else str(name)
        columns[free] = [value if is_known else "" for value, is_known in zip(values.tolist(), known, strict=True)]
    texts = (cell for values in (columns, *columns.values()) for cell in values if isinstance(cell, str))
    _write_csv(file, [list(columns)], zip(*columns.values(), strict=True), style=quoting(texts))


def write_table(file: BinaryIO, frame: Any) -> None:
    """Write a data frame as CSV; cells without a value are empty, and numbers have six digits."""
    cells = frame.astype(object).where(frame.notna(), "").to_numpy().tolist()
    rows = [[f"{cell:.6g}" if isinstance(cell, float) else cell for cell in row] for row in cells]
    texts = (cell for row in rows for cell in row)
    _write_csv(file, [list(frame.columns)], rows, style=quoting(texts))


def _write_csv(file: BinaryIO, *parts: Iterable[Iterable[Any]], style: Literal[0, 1]) -> None:
    text = TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="")
    table = csv.writer(text, lineterminator="\n", quoting=style)
    for rows in parts:
        table.writerows(rows)
    text.detach()


def write_graph(file: BinaryIO, graph: Any, anchors: Any = None) -> None:
    """Write a sparse graph for ``scipy.sparse.load_npz``, with the rows of the data that are anchors beside it.

    It is not compressed: that would take longer than all other files together.
    """
    import numpy as np
    import scipy.sparse as sp

    table = sp.csr_array(graph)
    parts = {"data": table.data, "indices": table.indices, "indptr": table.indptr, "shape": np.array(table.shape)}
    others = {} if anchors is None else {"anchors": anchors}
    np.savez(file, format=np.array(b"csr"), _is_array=np.array(True), **parts, **others)
