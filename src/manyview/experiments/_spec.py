"""Reading specs: from TOML files to parts with all their cells.

A spec is a list of parts (``parts = ["result1", "p-value"]``), each in a file of its own, or one part. A file whose
name begins with an underscore is shared by several specs. What a file may contain is declared in ``_schema.py``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import resources
from importlib.resources.abc import Traversable
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from manyview.cluster._registry import HOMES, get_method, make_estimator, settable
from manyview.datasets import dataset_info
from manyview.exceptions import SpecError
from manyview.experiments import own_methods
from manyview.experiments._model import DEFAULT_SCORES, FILE_ORDER, SHUFFLED, Cell, Dataset, Entry, Part, Row, Spec

if TYPE_CHECKING:
    from manyview.experiments._schema import GrowthTable, RowTable, ScoresTable

_BUNDLED = resources.files("manyview.experiments") / "specs"
_SHARED = "_methods.toml"

Rows = dict[str, tuple[Row, ...]]
"""The rows of a part, by the name of the dataset."""

Code = dict[str, own_methods.Code]
"""Methods of a user's own, by reference."""


def load_spec(name_or_path: str | os.PathLike[str]) -> Spec:
    """Read a spec.

    Parameters
    ----------
    name_or_path : str or path
        One of :func:`available_specs`, or a TOML file of your own. Parts that it names are bundled ones, or files
        (``"mine.toml"``) in its folder. Files of data and code that it names are in its folder, too. Code is found
        here, but not executed.

    Raises
    ------
    SpecError
        If there is no such spec, or something in it is wrong. The text names the file, the table and the key.

    Examples
    --------
    >>> from manyview.experiments import load_spec
    >>> spec = load_spec("p-value")
    >>> spec.parts[0].axes, spec.parts[0].stated["MSRC-v5"]
    ({'p': 'exponent p of the Schatten quasi-norm'}, 0.9)
    >>> spec.cells[0].estimator, spec.cells[0].parameters
    ('TBGL', {'p': 0.1})
    """
    from manyview.experiments._schema import ListingTable, validate

    name = os.fspath(name_or_path)
    file = _find(name, Path())
    values = _values(file)
    stem = file.name.removesuffix(".toml")
    folder = Path(name).parent if _is_path(name) else Path()
    with _naming(file.name):
        if "parts" not in values:
            part = _part(file)
            return Spec(stem, part.title, (part,))
        listing = validate(ListingTable, values, file.name)
        parts = tuple(_part(_find(part, folder)) for part in listing.parts)
        _check_sources(file.name, parts)
        return Spec(stem, listing.title, parts)


@contextmanager
def _naming(file: str) -> Iterator[None]:
    """Name the file that was asked for also in errors about a file that it refers to."""
    try:
        yield
    except SpecError as error:
        if str(error).startswith(f"{file}: "):
            raise
        raise SpecError(f"{file}: {error}") from error


def available_specs() -> tuple[tuple[str, str], ...]:
    """Return name and title of every bundled spec.

    Examples
    --------
    >>> from manyview.experiments import available_specs
    >>> "paper" in dict(available_specs())
    True
    """
    return tuple((name, _values(_BUNDLED / f"{name}.toml")["title"]) for name in _bundled_names())


def _bundled_names() -> list[str]:
    names = sorted(file.name for file in _BUNDLED.iterdir())
    return [name.removesuffix(".toml") for name in names if name.endswith(".toml") and not name.startswith("_")]


def _is_path(name: str) -> bool:
    return name.endswith(".toml")


def _find(name: str, folder: Path) -> Traversable:
    if _is_path(name):
        if not (folder / name).is_file():
            raise SpecError(f"{name}: no such file.")
        return folder / name
    if name not in _bundled_names():
        raise SpecError(
            f"no spec called {name!r}; there are {', '.join(_bundled_names())}. A file of your own must end in .toml."
        )
    return _BUNDLED / f"{name}.toml"


def _values(file: Traversable) -> dict[str, Any]:
    from manyview.experiments._schema import parse

    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise SpecError(f"{file.name}: not a TOML file, which is UTF-8: {error}") from error
    return parse(text, file.name)


# A part -----------------------------------------------------------------------------------------------------------


def _part(file: Traversable) -> Part:
    from manyview.experiments._schema import GrowthTable, part_table

    table = part_table(_values(file), file.name)
    name = file.name.removesuffix(".toml")
    folder = os.path.abspath(file.parent) if isinstance(file, Path) and not _is_bundled(file) else ""
    lines = _lines(table)
    code = _code(lines, folder, table.kind)
    for line in lines:
        for key in ("per_dataset", "preset", "each_view", "protocols") if table.kind == "growth" else ("axes", "sizes"):
            if getattr(line, key):
                raise line.error(key, f"has no meaning in a part of kind {table.kind!r}; remove it.")
    if isinstance(table, GrowthTable):
        datasets, rows, entries = _growth(name, table, lines, code)
        published: dict[str, Any] = {}
        stated: Mapping[str, Any] = _stated_exponents(table, rows)
    else:
        registered = [Dataset(given, {"fetch": given}) for given in table.datasets]
        datasets = (*registered, *(Dataset(own.name, own.source, own.stand_in_for, folder) for own in table.dataset))
        rows = {
            dataset.name: tuple(row for line in lines for row in _expand(line, dataset, code)) for dataset in datasets
        }
        entries = tuple(_fits(name, table, datasets, lines, code))
        _check_lines(lines, rows)
        published = _published(table, datasets, rows)
        stated = _stated_best(table, rows)
    return Part(
        name=name,
        kind=table.kind,
        title=table.title,
        source=table.source,
        note=table.note,
        datasets=datasets,
        rows=rows,
        entries=entries,
        scores=tuple(table.scores) or (DEFAULT_SCORES if table.kind in ("table", "sweep") else ()),
        published=published,
        axes={axis: found.label for axis, found in table.axes.items()},
        stated=stated,
        alone=table.alone,
        time_limit=table.time_limit,
    )


def _is_bundled(file: Path) -> bool:
    return file.parent == _BUNDLED


def _code(lines: list[RowTable], folder: str, kind: str) -> Code:
    """Return the checksums of the methods that are a user's own, by reference."""
    found: Code = {}
    for line in lines:
        if own_methods.is_reference(line.estimator):
            if kind == "graphs":
                raise line.error("estimator", "only methods of manyview have graphs to draw.")
            try:
                found[line.estimator] = own_methods.find(line.estimator, folder)
            except SpecError as error:
                raise line.error("estimator", str(error)) from None
    return found


def _fits(
    part: str, table: ScoresTable, datasets: tuple[Dataset, ...], lines: list[RowTable], code: Code
) -> Iterator[Entry]:
    """List all fits of a table, of a sweep, or of pictures of graphs."""
    points: list[tuple[str | None, Any]] = [(name, x) for name, axis in table.axes.items() for x in axis.values]
    for dataset, line in product(datasets, lines):
        for row, (axis, x) in product(_expand(line, dataset, code), points or [(None, None)]):
            given = {**row.parameters, **row.per_dataset.get(dataset.name, {})}
            if axis is not None:
                given[table.axes[axis].parameter] = x
            _check_parameters(line, given)
            for protocol in line.protocols or table.protocols:
                for seed in _needed(range(line.seeds or table.seeds), row.estimator, protocol):
                    cell = Cell(
                        dataset=dataset.name,
                        source=dataset.source,
                        estimator=row.estimator,
                        parameters=given,
                        protocol=protocol,
                        seed=seed,
                        view=row.view,
                        keep_graphs=table.kind == "graphs",
                        code=row.code,
                        folder=dataset.folder or _folder(row, code),
                    )
                    yield Entry(part, dataset.name, row.name, cell, axis, x)


def _needed(seeds: range, estimator: str, protocol: str) -> range:
    """Return all seeds, or one: in file order, a method without k-means gives the same labels with each."""
    every = protocol == SHUFFLED or own_methods.is_reference(estimator) or get_method(estimator).facts.uses_kmeans
    return seeds if every else seeds[:1]


def _growth(
    part: str, table: GrowthTable, lines: list[RowTable], code: Code
) -> tuple[tuple[Dataset, ...], Rows, tuple[Entry, ...]]:
    """List all fits of growth, with one size varied at a time; generated rows are in random order already."""
    datasets: dict[str, Dataset] = {}
    rows: dict[str, dict[str, Row]] = {}
    entries = []
    for line in lines:
        axes = line.axes or list(table.axes)
        for axis in line.sizes:
            line.check_choice("sizes", axis, axes)
        for axis in axes:
            line.check_choice("axes", axis, table.axes)
            for x in line.sizes.get(axis, table.axes[axis].values):
                data, given = dict(table.base), dict(line.parameters)
                if (argument := table.axes[axis].data) is not None:
                    data[argument] = x
                else:
                    given[str(table.axes[axis].parameter)] = x
                _check_parameters(line, given)
                sizes = ", ".join(f"{name}={data[other.data]}" for name, other in table.axes.items() if other.data)
                dataset = Dataset(f"generated, {sizes}", {"generate": data})
                datasets[dataset.name] = dataset
                row = _row(line, code)
                rows.setdefault(dataset.name, {})[row.name] = row
                for seed in range(line.seeds or table.seeds):  # every one: time differs also where labels do not
                    cell = Cell(
                        dataset.name,
                        dataset.source,
                        line.estimator,
                        given,
                        FILE_ORDER,
                        seed,
                        code=row.code,
                        folder=_folder(row, code),
                    )
                    entries.append(Entry(part, dataset.name, row.name, cell, axis, x))
    return tuple(datasets.values()), {name: tuple(found.values()) for name, found in rows.items()}, tuple(entries)


# Rows -------------------------------------------------------------------------------------------------------------


def _lines(table: ScoresTable | GrowthTable) -> list[RowTable]:
    """Return the shared rows that ``methods`` names, and the part's own; one of the same name replaces a shared one.

    The name of a class stands for a row with its defaults, unless a shared row has that name.
    """
    from manyview.experiments._schema import RowTable, validate

    own = {line.name: line for line in table.row}
    shared = {line.name: line for line in _shared_rows()}
    for name in table.methods:
        if name in HOMES and name not in shared:
            shared[name] = validate(RowTable, {"name": name, "estimator": name}, _SHARED)
        table.check_choice("methods", name, ["all", *shared])
    names = table.methods
    if names == ["all"]:
        names = [name for name, line in shared.items() if table.single_views or not line.each_view]
    return [own.pop(name, shared[name]) for name in names] + list(own.values())


def _shared_rows() -> list[RowTable]:
    """Return the rows of the shared file, then one with defaults for every method of the registry that is not in it."""
    from manyview.experiments._schema import RowTable, SharedRows, validate

    rows = validate(SharedRows, _values(_BUNDLED / _SHARED), _SHARED).row
    named = {row.estimator for row in rows}
    others = [{"name": method, "estimator": method} for method in HOMES if method not in named]
    return rows + [validate(RowTable, row, _SHARED) for row in others]


def _row(line: RowTable, code: Code, **more: Any) -> Row:
    own = code.get(line.estimator)
    values = {"name": line.name, "parameters": line.parameters, "note": line.note} | more
    return Row(estimator=line.estimator, code=None if own is None else own.sha256, **values)


def _folder(row: Row, code: Code) -> str:
    return str(code[row.estimator].folder) if row.code else ""


def _expand(line: RowTable, dataset: Dataset, code: Code) -> Iterator[Row]:
    """Return the row on a dataset, or a row for each of its views."""
    given = dict(line.per_dataset.get(dataset.name, {}))
    if line.preset is not None and "fetch" in dataset.source:
        preset = getattr(dataset_info(dataset.source["fetch"]), line.preset)
        given = {**(preset.params if preset is not None else {}), **given}
    per_dataset = {dataset.name: given} if given else {}
    views: list[int | None] = list(range(_n_views(line, dataset))) if line.each_view else [None]
    for view in views:
        name = line.name if view is None else line.name.replace("{view}", str(view + 1))
        yield _row(line, code, name=name, per_dataset=per_dataset, view=view)


def _n_views(line: RowTable, dataset: Dataset) -> int:
    if "fetch" not in dataset.source:
        raise line.error(
            "each_view",
            f"the number of views of {dataset.name!r} is not known before it is loaded. Only datasets of the registry "
            "(fetch) can have a row for each view.",
        )
    return len(dataset_info(dataset.source["fetch"]).views)


# What the paper says ----------------------------------------------------------------------------------------------


def _published(table: ScoresTable, datasets: tuple[Dataset, ...], rows: Rows) -> dict[str, Any]:
    """Read ``[published.DATASET]``: for each row ``mean±deviation`` of all scores, or the paper's text instead."""
    found: dict[str, Any] = {}
    real = [dataset.name for dataset in datasets if dataset.stand_in_for is None]
    for dataset, given in table.published.items():
        table.check_choice("published", dataset, real)
        for row, text in given.items():
            table.check_choice(row, row, [known.name for known in rows[dataset]], f"published.{dataset}")
            try:
                found.setdefault(dataset, {})[row] = _means_and_deviations(text, table.scores)
            except ValueError as error:
                raise table.error(row, str(error), f"published.{dataset}") from None
    return found


def _means_and_deviations(text: str, scores: list[str]) -> dict[str, Any] | str:
    if not any(character.isdigit() for character in text):
        return text
    words = text.split()
    if len(words) != len(scores):
        raise ValueError(f"expected {len(scores)} values, one per score, got {len(words)}.")
    try:
        pairs = [word.partition("±") for word in words]
        return {
            score: (float(mean), float(deviation) if deviation else None)
            for score, (mean, _, deviation) in zip(scores, pairs, strict=True)
        }
    except ValueError:
        raise ValueError(f"expected numbers, mean±deviation, got {text!r}.") from None


def _stated_best(table: ScoresTable, rows: Rows) -> Mapping[str, float]:
    """Return ``[stated]`` of a sweep: the best value, by dataset."""
    for dataset in table.stated:
        table.check_choice(dataset, dataset, rows, "stated")
    return table.stated


def _stated_exponents(table: GrowthTable, rows: Rows) -> Mapping[str, Mapping[str, float]]:
    """Return ``[stated.ROW]`` of growth: the exponent, by axis."""
    for row, exponents in table.stated.items():
        table.check_choice("stated", row, {line.name for lines in rows.values() for line in lines})
        for axis in exponents:
            table.check_choice(axis, axis, table.axes, f"stated.{row}")
    return table.stated


# Checks -----------------------------------------------------------------------------------------------------------


def _check_parameters(line: RowTable, parameters: Mapping[str, Any]) -> None:
    """Raise an error for a parameter that the estimator does not have, or a value that it would refuse."""
    if own_methods.is_reference(line.estimator):
        return  # known when the code is imported, which is done by the runner
    method = get_method(line.estimator)
    names = settable(method)
    for name in parameters:
        line.check_choice("parameters", name, names)
    try:
        make_estimator(method, 2, seed=0, n_jobs=None, parameters=parameters)._validate_params()
    except ValueError as error:
        raise line.error("parameters", str(error)) from None


def _check_lines(lines: list[RowTable], rows: Rows) -> None:
    """Raise an error for parameters of a dataset that is not there, and for rows of the same name."""
    for line in lines:
        for dataset in line.per_dataset:
            line.check_choice("per_dataset", dataset, rows)
    for found in rows.values():
        names = [row.name for row in found]
        for name in names:
            if names.count(name) > 1:
                raise lines[0].error("name", f"{name!r} is there more than once.")


def _check_sources(file: str, parts: tuple[Part, ...]) -> None:
    """Raise an error if a name is that of different datasets: results are stored by the name of the dataset."""
    sources: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for part in parts:
        for dataset in part.datasets:
            first, source = sources.setdefault(dataset.name, (part.name, dataset.source))
            if source != dataset.source:
                raise SpecError(f"{file}: parts: {dataset.name!r} in {part.name!r} is not the one of {first!r}.")
