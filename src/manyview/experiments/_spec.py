"""Reads specs: from TOML files to parts with all their cells.

A spec is a list of parts (``parts = ["result1", "p-value"]``), each in a file of its own, or one part. A file whose
name begins with an underscore is no spec, but is shared by several.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from inspect import signature
from itertools import product
from pathlib import Path
from typing import Any

from manyview.cluster._registry import HOMES, get_method, make_estimator, settable
from manyview.datasets import dataset_info, list_datasets, make_multiview
from manyview.exceptions import SpecError
from manyview.experiments._data import LOADERS
from manyview.experiments._model import FILE_ORDER, PROTOCOLS, SHUFFLED, Cell, Dataset, Entry, Part, Row, Spec
from manyview.experiments._published import Rows, published_values, stated_values
from manyview.experiments._toml import Table, parse
from manyview.metrics import SCORES

_BUNDLED = resources.files("manyview.experiments") / "specs"
_MOST_SEEDS = 1000
_GENERATE = (*signature(make_multiview).parameters, "dtype", "sorted")


@dataclass(frozen=True)
class _Line:
    """A row as a file declares it, for any dataset."""

    table: Table
    name: str
    estimator: str
    parameters: Mapping[str, Any]
    per_dataset: Mapping[str, Mapping[str, Any]]
    preset: str | None
    each_view: bool
    protocols: tuple[str, ...] | None
    axes: tuple[str, ...] | None
    note: str


@dataclass(frozen=True)
class _Axis:
    """What a sweep or growth goes over: an argument of the data, or a parameter of the method."""

    label: str
    values: tuple[float, ...]
    data: str | None
    parameter: str | None


def load_spec(name_or_path: str | os.PathLike[str]) -> Spec:
    """Read a spec.

    Parameters
    ----------
    name_or_path : str or path
        One of :func:`available_specs`, or a TOML file of your own. Parts that it names are bundled ones, or files
        (``"mine.toml"``) in its folder.

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
    name = os.fspath(name_or_path)
    file = _find(name, Path())
    table = _open(file)
    stem = file.name.removesuffix(".toml")
    with _naming(file.name):
        names = table.choices("parts", None, None)
        if names is None:
            part = _part(stem, table)
            return Spec(stem, part.title, (part,))
        title = table.take("title", str)
        table.finish()
        folder = Path(name).parent if _is_path(name) else Path()
        files = [_find(part, folder) for part in names]
        parts = tuple(_part(found.name.removesuffix(".toml"), _open(found)) for found in files)
        _check_sources(file.name, parts)
        return Spec(stem, title, parts)


@contextmanager
def _naming(file: str) -> Iterator[None]:
    """Name the file that was asked for also where the mistake shows in one that it takes something from."""
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
    return tuple((name, _open(_BUNDLED / f"{name}.toml").take("title", str)) for name in _bundled_names())


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


def _open(file: Traversable) -> Table:
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise SpecError(f"{file.name}: not a TOML file, which is UTF-8: {error}") from error
    return parse(text, file.name)


# A part -----------------------------------------------------------------------------------------------------------


def _part(name: str, table: Table) -> Part:
    kind = table.choice("kind", ("table", "sweep", "growth", "graphs"))
    title = table.take("title", str)
    source, note = table.take("source", str, ""), table.take("note", str, "")
    scores = table.choices("scores", SCORES, ())
    alone, time_limit = table.take("alone", bool, False), table.take("time_limit", float, None)
    seeds = range(table.take("seeds", int))
    if not 1 <= seeds.stop <= _MOST_SEEDS:
        raise table.error("seeds", f"expected 1 to {_MOST_SEEDS}, got {seeds.stop}.")
    lines = _lines(table)
    if not lines:
        raise table.error("methods", "expected at least one, here or as [[row]].")
    for line in lines:
        for key in ("per_dataset", "preset", "each_view", "protocols") if kind == "growth" else ("axes",):
            if getattr(line, key):
                raise line.table.error(key, f"means nothing in a part whose kind is {kind!r}.")
    axes = {axis: _axis(given, kind) for axis, given in table.tables("axes")}
    if (kind in ("sweep", "growth")) != bool(axes):
        raise table.error("axes", f"expected {'none' if axes else 'at least one'}, as kind is {kind!r}.")
    if kind == "growth":
        base = _generated(table, "base")
        datasets, rows, entries = _growth(name, base, lines, axes, seeds)
    else:
        datasets = _datasets(table)
        protocols = table.choices("protocols", PROTOCOLS)
        rows = {dataset.name: _rows(lines, dataset) for dataset in datasets}
        entries = tuple(_fits(name, kind, datasets, lines, axes, protocols, seeds))
        _check_lines(lines, rows)
    part = Part(
        name=name,
        kind=kind,
        title=title,
        source=source,
        note=note,
        datasets=datasets,
        rows=rows,
        entries=entries,
        scores=scores,
        published=published_values(table, datasets, rows, scores),
        axes={axis: found.label for axis, found in axes.items()},
        stated=stated_values(table, kind, rows, axes),
        alone=alone,
        time_limit=time_limit,
    )
    table.finish()
    return part


def _fits(
    part: str,
    kind: str,
    datasets: tuple[Dataset, ...],
    lines: list[_Line],
    axes: Mapping[str, _Axis],
    protocols: tuple[str, ...],
    seeds: range,
) -> Iterator[Entry]:
    """All fits of a table, of a sweep, or of pictures of graphs."""
    points: list[tuple[str | None, float | None]] = [(axis, x) for axis in axes for x in axes[axis].values]
    for dataset, line in product(datasets, lines):
        for row, (axis, x) in product(_expand(line, dataset), points or [(None, None)]):
            given = {**row.parameters, **row.per_dataset.get(dataset.name, {})}
            if axis is not None:
                given[str(axes[axis].parameter)] = x
            _check_parameters(line.table, row.estimator, given)
            for protocol in line.protocols or protocols:
                for seed in _needed(seeds, row.estimator, protocol):
                    cell = Cell(
                        dataset=dataset.name,
                        source=dataset.source,
                        estimator=row.estimator,
                        parameters=given,
                        protocol=protocol,
                        seed=seed,
                        view=row.view,
                        keep_graphs=kind == "graphs",
                    )
                    yield Entry(part, dataset.name, row.name, cell, axis, x)


def _needed(seeds: range, estimator: str, protocol: str) -> range:
    """All seeds; but on rows that stay where they are, a method without k-means gives the same labels with each."""
    return seeds if protocol == SHUFFLED or get_method(estimator).facts.uses_kmeans else seeds[:1]


def _growth(
    part: str, base: Mapping[str, Any], lines: list[_Line], axes: Mapping[str, _Axis], seeds: range
) -> tuple[tuple[Dataset, ...], Rows, tuple[Entry, ...]]:
    """The time of fits with one size after another varied; generated rows are in random order as they are."""
    datasets: dict[str, Dataset] = {}
    rows: dict[str, dict[str, Row]] = {}
    entries = []
    for line in lines:
        for axis in line.axes or axes:
            line.table.check_choice("axes", axis, axes)
            for x in axes[axis].values:
                data, given = dict(base), dict(line.parameters)
                if (argument := axes[axis].data) is not None:
                    data[argument] = x
                else:
                    given[str(axes[axis].parameter)] = x
                _check_parameters(line.table, line.estimator, given)
                sizes = ", ".join(f"{name}={data[other.data]}" for name, other in axes.items() if other.data)
                dataset = Dataset(f"generated, {sizes}", {"generate": data})
                datasets[dataset.name] = dataset
                row = Row(line.name, line.estimator, line.parameters, note=line.note)
                rows.setdefault(dataset.name, {})[row.name] = row
                for seed in seeds:  # every one: time differs also where labels do not
                    cell = Cell(dataset.name, dataset.source, line.estimator, given, FILE_ORDER, seed)
                    entries.append(Entry(part, dataset.name, row.name, cell, axis, x))
    return tuple(datasets.values()), {name: tuple(found.values()) for name, found in rows.items()}, tuple(entries)


# What it consists of ----------------------------------------------------------------------------------------------


def _datasets(table: Table) -> tuple[Dataset, ...]:
    """``datasets``, those of the registry by name, and then ``[[dataset]]``, all others."""
    known = [info.name for info in list_datasets()]
    found = [Dataset(name, {"fetch": name}) for name in table.choices("datasets", known, ())]
    for given in table.list_of_tables("dataset"):
        name = given.take("name", str)
        sources = {
            "fetch": given.choice("fetch", known, None),
            "load": given.choice("load", LOADERS, None),
            "read": given.take("read", str, None),
            "generate": _generated(given, "generate"),
        }
        source: dict[str, Any] = {kind: value for kind, value in sources.items() if value}
        if len(source) != 1:
            raise given.error("name", "expected exactly one of the keys fetch, load, read and generate beside it.")
        if (first := given.take("first", int, None)) is not None:
            source["first"] = first
        found.append(Dataset(name, source, given.take("stand_in_for", str, None)))
        given.finish()
    if not found:
        raise table.error("datasets", "expected at least one, here or in [[dataset]].")
    _check_distinct(table, "dataset", [dataset.name for dataset in found])
    return tuple(found)


def _generated(table: Table, key: str) -> dict[str, Any]:
    given = table.table(key)
    arguments = given.items()
    for argument in arguments:
        given.check_choice(argument, argument, _GENERATE)
    return arguments


def _lines(table: Table) -> list[_Line]:
    """The rows that ``methods`` takes from the shared list, and those of the part; one of these may replace one."""
    own = {line.name: line for line in _declared(table)}
    shared = {line.name: line for line in _shared_lines()}
    names = table.choices("methods", ["all", *shared], ())
    single_views = table.take("single_views", bool, True)
    if names == ("all",):
        names = tuple(name for name, line in shared.items() if single_views or not line.each_view)
    return [own.pop(name, shared[name]) for name in names] + list(own.values())


def _shared_lines() -> list[_Line]:
    """Return the rows of ``_methods.toml``, then one with defaults for each method that has none there."""
    lines = _declared(_open(_BUNDLED / "_methods.toml"))
    missing = [name for name in HOMES if name not in {line.estimator for line in lines}]
    return lines + [
        _line(Table({"name": name, "estimator": name, "note": "not in the paper"}, "_methods.toml")) for name in missing
    ]


def _declared(table: Table) -> list[_Line]:
    lines = [_line(given) for given in table.list_of_tables("row")]
    _check_distinct(table, "row", [line.name for line in lines])
    return lines


def _line(table: Table) -> _Line:
    line = _Line(
        table=table,
        name=table.take("name", str),
        estimator=table.choice("estimator", HOMES),
        parameters=table.take("parameters", dict, {}),
        per_dataset={name: given.items() for name, given in table.tables("per_dataset")},
        preset=table.choice("preset", ("tbgl_preset",), None),
        each_view=table.take("each_view", bool, False),
        protocols=table.choices("protocols", PROTOCOLS, None),
        axes=table.choices("axes", None, None),
        note=table.take("note", str, ""),
    )
    table.finish()
    return line


def _rows(lines: list[_Line], dataset: Dataset) -> tuple[Row, ...]:
    return tuple(row for line in lines for row in _expand(line, dataset))


def _expand(line: _Line, dataset: Dataset) -> Iterator[Row]:
    """The row on a dataset, or a row for each of its views."""
    given = dict(line.per_dataset.get(dataset.name, {}))
    if line.preset is not None and "fetch" in dataset.source:
        preset = getattr(dataset_info(dataset.source["fetch"]), line.preset)
        given = {**(preset.params if preset is not None else {}), **given}
    per_dataset = {dataset.name: given} if given else {}
    views: list[int | None] = list(range(_n_views(line, dataset))) if line.each_view else [None]
    for view in views:
        name = line.name if view is None else line.name.replace("{view}", str(view + 1))
        yield Row(name, line.estimator, line.parameters, per_dataset, view, line.note)


def _n_views(line: _Line, dataset: Dataset) -> int:
    if "fetch" not in dataset.source:
        raise line.table.error("each_view", f"the number of views of {dataset.name!r} is known when it is loaded only.")
    return len(dataset_info(dataset.source["fetch"]).views)


def _axis(table: Table, kind: str) -> _Axis:
    axis = _Axis(
        label=table.take("label", str),
        values=table.numbers("values"),
        data=table.choice("data", _GENERATE, None) if kind == "growth" else None,
        parameter=table.take("parameter", str, None),
    )
    if (axis.data is None) == (axis.parameter is None):
        other = " or data, the argument of the data" if kind == "growth" else ""
        raise table.error("parameter", f"expected what is varied: this{other}.")
    table.finish()
    return axis


# Checks -----------------------------------------------------------------------------------------------------------


def _check_parameters(table: Table, estimator: str, parameters: Mapping[str, Any]) -> None:
    """A parameter that the estimator does not have, or would refuse."""
    method = get_method(estimator)
    names = settable(method)
    for name in parameters:
        table.check_choice("parameters", name, names)
    try:
        make_estimator(method, 2, seed=0, n_jobs=None, parameters=parameters)._validate_params()
    except ValueError as error:
        raise table.error("parameters", str(error)) from None


def _check_lines(lines: list[_Line], rows: Rows) -> None:
    """Parameters for a dataset that is not there, and lines of the same name."""
    for line in lines:
        for dataset in line.per_dataset:
            line.table.check_choice("per_dataset", dataset, rows)
    for found in rows.values():
        _check_distinct(lines[0].table, "name", [row.name for row in found])


def _check_distinct(table: Table, key: str, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise table.error(key, f"{name!r} is there more than once.")


def _check_sources(file: str, parts: tuple[Part, ...]) -> None:
    """Results are told apart by the name of the dataset, so it must be the same one in all parts."""
    sources: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for part in parts:
        for dataset in part.datasets:
            first, source = sources.setdefault(dataset.name, (part.name, dataset.source))
            if source != dataset.source:
                raise SpecError(f"{file}: parts: {dataset.name!r} in {part.name!r} is not the one of {first!r}.")
