"""``manyview datasets``: datasets to try methods on, and which of them are on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from manyview._utils.text import printable
from manyview.cli._options import AsJson
from manyview.cli._output import Json, new_table, print_json, result_console, words

if TYPE_CHECKING:
    from manyview.datasets import DatasetInfo


def datasets(as_json: AsJson = False) -> None:
    """List datasets: bundled, generated, and the benchmark files of the literature, with where to get these."""
    from manyview.datasets import data_folder

    folder = data_folder()
    found = list_all(folder)
    if as_json:
        print_json({"folder": str(folder), "datasets": found})
        return
    result_console().print(_table(found))
    _print_where(found, folder)


def list_all(folder: Path) -> list[Json]:
    """Return all datasets as plain values: those that need no file first."""
    from manyview.datasets import list_datasets, load_digits_views
    from manyview.datasets.digits import HOW_TO_GET_MNIST, MNIST

    digits = load_digits_views()
    bundled = {
        "name": "digits",
        "kind": "bundled",
        "description": "Small images of handwritten digits that come with scikit-learn, described in five ways.",
        "n_samples": digits.n_samples,
        "n_classes": len(set(digits.labels.tolist() if digits.labels is not None else ())),
        "views": _views(zip(digits.names, digits.n_features, strict=True)),
        "python": "manyview.datasets.load_digits_views()",
    }
    generated = {
        "name": "generated",
        "kind": "generated",
        "description": "Clusters of any size and difficulty, with views that say more or less about them.",
        "n_samples": None,
        "n_classes": None,
        "views": None,
        "python": "manyview.datasets.make_multiview(n_samples, n_clusters)",
    }
    no_file = {"file": None, "here": True, "where": None, "sorted_by_class": None, "citation": None, "note": None}
    named = [_of_file(info, folder, f"manyview.datasets.fetch_dataset({info.name!r})") for info in list_datasets()]
    mnist = _of_file(MNIST, folder, "manyview.datasets.load_mnist_views()") | {"where": HOW_TO_GET_MNIST}
    return [bundled | no_file, generated | no_file, *named, mnist]


def _of_file(info: DatasetInfo, folder: Path, call: str) -> Json:
    path = folder / info.file_name
    return {
        "name": info.name,
        "kind": "file",
        "description": info.description,
        "n_samples": info.n_samples,
        "n_classes": info.n_classes,
        "views": _views(info.views),
        "python": call,
        "file": str(path),
        "here": path.is_file(),
        "where": info.url or info.origin,
        "sorted_by_class": info.sorted_by_class,
        "citation": info.citation,
        "note": info.note or None,
    }


def _views(views: Any) -> list[Json]:
    return [{"name": name, "n_features": n_features} for name, n_features in views]


def _table(found: list[Json]) -> Table:
    table = new_table(
        ("name", True), ("samples", True), ("views", True), ("classes", True), ("here", True), ("what it is", False)
    )
    for one in found:
        number = {key: "any" if one[key] is None else f"{one[key]:,}" for key in ("n_samples", "n_classes")}
        views = "any" if one["views"] is None else str(len(one["views"]))
        here = {"bundled": "bundled", "generated": "generated"}.get(one["kind"], "yes" if one["here"] else "no")
        cells = one["name"], number["n_samples"], views, number["n_classes"], here, one["description"]
        table.add_row(*(words(cell) for cell in cells))
    return table


def _print_where(found: list[Json], folder: Path) -> None:
    print(f"\nFiles are looked for in {printable(folder)}; MANYVIEW_DATA names another folder.")
    absent = [one for one in found if not one["here"]]
    if absent:
        print("Those that are not there come from:")
    for one in absent:
        print(printable(f"{one['name']} ({Path(one['file']).name}): {one['where']}"))
    print(
        "With Python: " + ", ".join(f"{one['python']}" for one in found[:2]) + ", manyview.datasets.fetch_dataset(name)"
    )
