"""The folder that an answer is written to: labels.csv, result.json, graph.npz and report.html."""

from __future__ import annotations

import csv
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from manyview._utils.files import Content, quoting, write_folder
from manyview.cli._output import read_document, to_json

if TYPE_CHECKING:
    from manyview.views import Views

# The result comes first, as it says which of the others are ours.
NAMES = {"result": "result.json", "labels": "labels.csv", "graph": "graph.npz", "report": "report.html"}
_GRAPHS = ("consensus_graph_", "learned_graph_")


def _written_before(folder: Path) -> set[str]:
    """The names of what an earlier run has written to this folder."""
    earlier = (read_document(folder / NAMES["result"]) or {}).get("output")
    return set(earlier.values()) & set(NAMES.values()) if isinstance(earlier, dict) else set()


def write_answer(folder: Path, model: Any, views: Views, result: dict[str, Any], page: str | None) -> dict[str, Any]:
    """Write all files of an answer, or none, and remove what an earlier run has left of those that there are not now.

    Parameters
    ----------
    folder : Path
        Made if need be.
    model : fitted estimator
        With the labels, and perhaps a graph.
    views : Views
        With the ids of the samples, if they have some.
    result : dict
        As :func:`manyview.report.documents.describe_result` gives it.
    page : str or None
        The report, if one is wanted.

    Returns
    -------
    dict
        The result with ``output``, the path of each file, or None where there is none. In the file are the names.
    """
    graph = next((getattr(model, name) for name in _GRAPHS if hasattr(model, name)), None)
    contents: dict[str, Content] = {"labels": lambda file: write_labels(file, model, views)}
    if graph is not None:
        contents["graph"] = lambda file: write_graph(file, graph, getattr(model, "anchor_indices_", None))
    if page is not None:
        contents["report"] = page.encode(errors="backslashreplace")  # a file's name may hold bytes that are no text
    names = {kind: name if kind in contents or kind == "result" else None for kind, name in NAMES.items()}
    text = to_json({**result, "output": names})

    files = {NAMES["result"]: text} | {NAMES[kind]: content for kind, content in contents.items()}
    try:
        write_folder(folder, files, outdated=lambda: _written_before(folder))
    except OSError as error:
        what_to_do = "Nothing was written. Make room, or choose another folder with --out."
        raise OSError(error.errno, f"{error.strerror}. {what_to_do}", error.filename) from error
    return {**result, "output": {kind: None if name is None else str(folder / name) for kind, name in names.items()}}


def write_labels(file: BinaryIO, model: Any, views: Views) -> None:
    """A table with the id (the row number if there is none), the cluster and the confidence of every sample."""
    ids = range(views.n_samples) if views.sample_ids is None else views.sample_ids.tolist()
    confidence = getattr(model, "confidence_", None)
    shares = [""] * views.n_samples if confidence is None else _four_digits(confidence)
    text = TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="")
    table = csv.writer(text, lineterminator="\n", quoting=quoting(ids))
    table.writerow(["sample", "cluster", "confidence"])
    table.writerows(zip(ids, model.labels_.tolist(), shares, strict=True))
    text.detach()


def _four_digits(shares: Any) -> list[str]:
    """Shares as text. There are no more than 10,001 different ones, so each is written out once."""
    import numpy as np

    texts = np.array([f"{number / 10_000:.4f}" for number in range(10_001)], dtype=object)
    return texts[np.rint(np.clip(shares, 0, 1) * 10_000).astype(np.intp)].tolist()


def write_graph(file: BinaryIO, graph: Any, anchors: Any = None) -> None:
    """A sparse graph as ``scipy.sparse.load_npz`` reads it, and the anchors, which are rows of the data, beside it.

    Not compressed: that would take longer than all the rest.
    """
    import numpy as np
    import scipy.sparse as sp

    table = sp.csr_array(graph)
    parts = {"data": table.data, "indices": table.indices, "indptr": table.indptr, "shape": np.array(table.shape)}
    others = {} if anchors is None else {"anchors": anchors}
    np.savez(file, format=np.array(b"csr"), _is_array=np.array(True), **parts, **others)
