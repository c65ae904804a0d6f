"""What a spec file may contain, as pydantic models, and what is said about a file that does not follow them.

A file lists parts, or is one part. Here keys, types and choices are checked; ``_spec.py`` checks what depends on
several tables, such as the parameters of an estimator. It imports this module only when a spec is read, because
importing pydantic takes about 0.1 s.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from difflib import get_close_matches
from inspect import signature
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from manyview.cluster._registry import FORMER_NAMES, HOMES
from manyview.datasets import list_datasets, make_multiview
from manyview.exceptions import SpecError
from manyview.experiments._datasets import LOADERS
from manyview.experiments._model import PROTOCOLS
from manyview.experiments.own_methods import is_reference
from manyview.metrics import SCORES

_MAX_SEEDS = 1000
_MAX_DOTS = 500  # the TOML parser keeps every beginning of a dotted key
_GENERATE = (*signature(make_multiview).parameters, "dtype", "sorted")
_SOURCES = ("fetch", "load", "read", "generate")
_READING = {
    "id": "id_column",
    **{name: name for name in ("labels", "label_column", "names", "views_key", "labels_key")},
    **{name: name for name in ("header", "join", "match_ids", "transpose")},
}
"""Keys beside ``read``, and the arguments of :func:`manyview.read_views` that they are."""

_EXPECTED = {
    "string_type": "a text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
}
"""What pydantic's types of errors say, in the words of TOML."""


# Values -----------------------------------------------------------------------------------------------------------


def one_of(value: str, choices: Iterable[str]) -> str:
    """Return the value if it is one of these; else raise a ValueError that lists them."""
    known = list(choices)
    if value not in known:
        raise ValueError(f"expected one of {', '.join(known)}; got {value!r}.{_hint(value, known)}")
    return value


def _hint(value: str, known: list[str]) -> str:
    if FORMER_NAMES.get(value) in known:
        return f" It is called {FORMER_NAMES[value]} now."
    close = get_close_matches(value, known, n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def _choice(choices: Iterable[str]) -> AfterValidator:
    return AfterValidator(lambda value: one_of(value, choices))


def _method(value: str) -> str:
    """Check the name of a method; a reference to code of a user's own is looked up later."""
    if is_reference(value):
        return value
    try:
        return one_of(value, HOMES)
    except ValueError as error:
        raise ValueError(f"{error} A method of your own is written as module:Name.") from None


def _texts(value: Any) -> Any:
    """Check for a text or a list of texts."""
    if isinstance(value, str) or (isinstance(value, list) and value and all(isinstance(one, str) for one in value)):
        return value
    raise ValueError(f"expected a text or a list of texts, got {value!r}.")


def _texts_or_switch(value: Any) -> Any:
    return value if isinstance(value, bool) else _texts(value)


def _id_column(value: Any) -> Any:
    if value is True:
        raise ValueError("expected the name of a column, or false if there is none; got True.")
    return _texts_or_switch(value)


def _sizes(value: Any) -> Any:
    """Check for the number of views, or the numbers of columns of each."""
    numbers = value if isinstance(value, list) and value else [value]
    if not all(isinstance(one, int) and not isinstance(one, bool) and one > 0 for one in numbers):
        raise ValueError(f"expected a whole number from 1 on or a list of these, got {value!r}.")
    return value


def _number(value: Any) -> Any:
    """Check for a number without changing it: 1 and 1.0 are different values of a cell's parameters."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ValueError(f"expected a number, got {value!r}.")
    return value


def _distinct(values: list[Any]) -> list[Any]:
    for value in values:
        if values.count(value) > 1:
            raise ValueError(f"has {value!r} more than once.")
    return values


def _distinct_names(tables: list[Any]) -> list[Any]:
    _distinct([table.name for table in tables])
    return tables


Item = TypeVar("Item")
OneOrMore = Annotated[
    list[Item],
    BeforeValidator(lambda value: [value] if isinstance(value, str) else value),
    Field(min_length=1),
    AfterValidator(_distinct),
]
"""Texts, each once; a single one may be written without brackets."""

Number = Annotated[Any, AfterValidator(_number)]
Texts = Annotated[Any, AfterValidator(_texts)]
Protocol = Annotated[str, _choice(PROTOCOLS)]
Registered = Annotated[str, _choice([info.name for info in list_datasets()])]
Generated = dict[Annotated[str, _choice(_GENERATE)], Any]


# Tables -----------------------------------------------------------------------------------------------------------


class Table(BaseModel):
    """A table of a file. The validation context is the name of the file, for errors that are found later."""

    model_config = ConfigDict(extra="forbid", strict=True)
    _file: str = ""

    def model_post_init(self, context: Any) -> None:
        """Keep the name of the file."""
        self._file = context

    @model_validator(mode="before")
    @classmethod
    def _know_keys(cls, values: Any) -> Any:
        known = list(cls.model_fields)
        for key in values if isinstance(values, dict) else ():
            if key not in known:
                raise ValueError(f"{key}: no such key; there are {', '.join(known)}.{_hint(key, known)}")
        return values

    def error(self, key: str, text: str, table: str = "") -> SpecError:
        """Return an error about a key of this table, or of a table in it."""
        return _error(self._file, table, f"{key}: {text}")

    def check_choice(self, key: str, value: str, choices: Iterable[str], table: str = "") -> None:
        """Raise a SpecError if the value of a key is none of these."""
        try:
            one_of(value, choices)
        except ValueError as error:
            raise self.error(key, str(error), table) from None


class RowTable(Table):
    """``[[row]]``: how a method is run, on any dataset."""

    name: str
    estimator: Annotated[str, AfterValidator(_method)]
    parameters: dict[str, Any] = {}
    per_dataset: dict[str, dict[str, Any]] = {}
    preset: Annotated[str, _choice(("tbgl_preset",))] | None = None
    each_view: bool = False
    protocols: OneOrMore[Protocol] | None = None
    seeds: Annotated[int, Field(ge=1, le=_MAX_SEEDS)] | None = None
    axes: OneOrMore[str] | None = None
    sizes: dict[str, Annotated[list[Number], Field(min_length=1), AfterValidator(_distinct)]] = {}
    note: str = ""

    def error(self, key: str, text: str, table: str = "") -> SpecError:
        """Return an error about a key of this row."""
        return super().error(key, text, f"row {self.name!r}")


class SharedRows(Table):
    """The file of the rows that several parts share."""

    row: Annotated[list[RowTable], AfterValidator(_distinct_names)]


class DatasetTable(Table):
    """``[[dataset]]``: a dataset with its source."""

    name: str
    fetch: Registered | None = None
    load: Annotated[str, _choice(LOADERS)] | None = None
    read: Texts = None
    generate: Generated = {}
    first: Annotated[int, Field(ge=1)] | None = None
    stand_in_for: str | None = None
    id: Annotated[Any, AfterValidator(_id_column)] = None
    labels: Texts = None
    label_column: str | None = None
    join: Annotated[str, _choice(("exact", "inner", "outer"))] | None = None
    names: list[str] | None = None
    views_key: Texts = None
    labels_key: str | None = None
    header: bool | None = None
    match_ids: Annotated[str, _choice(("exact", "loose"))] | None = None
    transpose: Annotated[Any, AfterValidator(_texts_or_switch)] = None
    view_sizes: Annotated[Any, AfterValidator(_sizes)] = None
    views_from_prefix: str | None = None

    @property
    def source(self) -> dict[str, Any]:
        """The source as :class:`~manyview.experiments._model.Dataset` has it."""
        found = {key: getattr(self, key) for key in _SOURCES if getattr(self, key)}
        if options := {name: value for key, name in _READING.items() if (value := getattr(self, key)) is not None}:
            found["options"] = options
        if (sizes := self.view_sizes or self.views_from_prefix) is not None:
            found["view_sizes"] = sizes
        return found if self.first is None else found | {"first": self.first}

    @model_validator(mode="after")
    def _has_one_source(self) -> DatasetTable:
        if len(self.source.keys() & set(_SOURCES)) != 1:
            raise ValueError("name: expected exactly one of the keys fetch, load, read and generate beside it.")
        for key in (*_READING, "view_sizes", "views_from_prefix"):
            if self.read is None and getattr(self, key) is not None:
                raise ValueError(f"{key}: says how files are read, but there is no read beside it.")
        if self.view_sizes is not None and self.views_from_prefix is not None:
            raise ValueError("views_from_prefix: expected either this or view_sizes, not both.")
        return self


class AxisTable(Table):
    """``[axes.NAME]`` of a sweep: a parameter of the method, and its values."""

    label: str
    values: Annotated[list[Number], Field(min_length=1), AfterValidator(_distinct)]
    parameter: str


class GrowthAxisTable(Table):
    """``[axes.NAME]`` of growth: a parameter of the method, or an argument of the data, and its values."""

    label: str
    values: Annotated[list[Number], Field(min_length=1), AfterValidator(_distinct)]
    data: Annotated[str, _choice(_GENERATE)] | None = None
    parameter: str | None = None

    @model_validator(mode="after")
    def _varies_one_thing(self) -> GrowthAxisTable:
        if (self.data is None) == (self.parameter is None):
            raise ValueError("parameter: expected what is varied: either this, or data, an argument of the data.")
        return self


class PartTable(Table):
    """Keys of parts of all kinds."""

    kind: Annotated[str, _choice(("table", "sweep", "growth", "graphs"))]
    title: str
    source: str = ""
    note: str = ""
    scores: OneOrMore[Annotated[str, _choice(SCORES)]] = []
    alone: bool = False
    time_limit: float | None = None
    seeds: Annotated[int, Field(ge=1, le=_MAX_SEEDS)]
    methods: OneOrMore[str] = []
    single_views: bool = True
    row: Annotated[list[RowTable], AfterValidator(_distinct_names)] = []

    @model_validator(mode="after")
    def _has_rows(self) -> PartTable:
        if not self.methods and not self.row:
            raise ValueError("methods: expected at least one, here or as [[row]].")
        return self


class ScoresTable(PartTable):
    """A part of kind "table", "sweep" or "graphs": methods on datasets."""

    datasets: OneOrMore[Registered] = []
    dataset: list[DatasetTable] = []
    protocols: OneOrMore[Protocol]
    axes: dict[str, AxisTable] = {}
    published: dict[str, dict[str, str]] = {}
    stated: dict[str, Number] = {}

    @model_validator(mode="after")
    def _has_datasets_and_axes(self) -> ScoresTable:
        if not self.datasets and not self.dataset:
            raise ValueError("datasets: expected at least one, here or in [[dataset]].")
        try:
            _distinct([*self.datasets, *(given.name for given in self.dataset)])
        except ValueError as error:
            raise ValueError(f"dataset: {error}") from None
        if (self.kind == "sweep") != bool(self.axes):
            wanted = "at least one" if self.kind == "sweep" else "none"
            raise ValueError(f"axes: expected {wanted}, as kind is {self.kind!r}.")
        return self


class GrowthTable(PartTable):
    """A part of kind "growth": time of methods on generated data of different sizes."""

    base: Generated = {}
    axes: Annotated[dict[str, GrowthAxisTable], Field(min_length=1)]
    stated: dict[str, dict[str, Number]] = {}


class ListingTable(Table):
    """A file that names parts, which are in files of their own."""

    title: str
    parts: OneOrMore[str]


# Files ------------------------------------------------------------------------------------------------------------

Model = TypeVar("Model", bound=Table)


def parse(text: str, file: str) -> dict[str, Any]:
    """Return the values of a TOML file."""
    if any(line.count(".") > _MAX_DOTS for line in text.splitlines()):
        raise SpecError(f"{file}: not a TOML file: a line with more than {_MAX_DOTS} dots.")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also of numbers and nesting that Python refuses
        raise SpecError(f"{file}: not a TOML file: {error}") from error


def validate(model: type[Model], values: dict[str, Any], file: str) -> Model:
    """Return the values of a file as a model; raise a SpecError about the first that is wrong."""
    try:
        return model.model_validate(values, context=file)
    except ValidationError as error:
        raise _translate(error, values, file) from None


def part_table(values: dict[str, Any], file: str) -> ScoresTable | GrowthTable:
    """Return a part; its kind decides which keys there are."""
    if values.get("kind") == "growth":
        return validate(GrowthTable, values, file)
    return validate(ScoresTable, values, file)


def _translate(error: ValidationError, values: dict[str, Any], file: str) -> SpecError:
    """Return pydantic's first error in our words: the table, the key, what was expected and what is there."""
    first = error.errors(include_url=False)[0]
    path: list[str] = []
    at: Any = values
    for step in first["loc"]:
        if isinstance(at, dict) and step in at:
            at = at[step]
            path.append(str(step))
        elif isinstance(at, list) and isinstance(step, int):
            at = at[step]
            if isinstance(at, dict):  # written as [[key]]; called by its name, or by its number
                path[-1] += f" {at.get('name', step + 1)!r}"
        elif first["type"] == "missing":
            path.append(str(step))
    text = _text(first)
    # A validator of a whole table names the key itself.
    of_a_table = first["type"] == "value_error" and isinstance(at, dict) and "[key]" not in first["loc"]
    if not of_a_table:
        text = f"{path.pop()}: {text}"
    return _error(file, ".".join(path), text)


def _text(error: Any) -> str:
    kind, found = error["type"], error["input"]
    if kind == "value_error":
        return str(error["ctx"]["error"])
    if kind == "missing":
        return "missing. Add this key."
    if kind in _EXPECTED:
        return f"expected {_EXPECTED[kind]}, got {found!r}."
    if kind == "too_short":
        return f"expected at least one, got {found!r}."
    if kind in ("greater_than_equal", "less_than_equal"):
        limit = f"at least {error['ctx']['ge']}" if kind == "greater_than_equal" else f"at most {error['ctx']['le']}"
        return f"expected {limit}, got {found!r}."
    return f"{error['msg']}, got {found!r}."


def _error(file: str, table: str, text: str) -> SpecError:
    return SpecError(f"{file}: [{table}] {text}" if table else f"{file}: {text}")
