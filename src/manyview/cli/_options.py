"""Options and help texts that several commands share; each option is declared once, with its help and its default.

Groups of options are dataclasses, such as :class:`Source`. A command has a parameter of such a class and is decorated
with :func:`grouped`; on the command line, the fields of the class are options like any other.
"""

from __future__ import annotations

import inspect
import shlex
import warnings
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from enum import StrEnum
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from manyview._utils.formats import VIEW_FILES, in_words, name_without_extension
from manyview.cli import _completion as completion
from manyview.exceptions import ClassColumnWarning, OrientationWarning

if TYPE_CHECKING:
    from manyview.views import Views

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
_OUT = typer.Option("--out", "-o", metavar="FOLDER", help="Folder to write all files to.")
OutFolder = Annotated[Path, _OUT]
OptionalOutFolder = Annotated[Path | None, _OUT]
"""For commands that write nothing unless asked to."""

_reading = partial(typer.Option, rich_help_panel="Reading files")

ALL_FILES = "*"
"""Value of ``--transpose`` without a file."""


def examples(*lines: str) -> str:
    """Return the examples below a help text, each command on its own line."""
    return "\n\n".join(["Examples:", *lines])  # typer joins the lines of a paragraph, and older ones know no "\b"


def help_alone(ctx: typer.Context) -> None:
    """Print the help of a group of commands if no command was given."""
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())
        raise typer.Exit


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Show the fields of every parameter that is a dataclass as options of their own.

    Examples
    --------
    >>> import inspect
    >>> from dataclasses import dataclass
    >>> from manyview.cli._options import grouped
    >>> @dataclass
    ... class Cell:
    ...     row: int
    ...     column: int = 3
    >>> @grouped
    ... def show(cell: Cell, loud: bool = False) -> None:
    ...     print(cell, loud)
    >>> list(inspect.signature(show).parameters)
    ['row', 'column', 'loud']
    >>> show(row=1, column=2, loud=True)
    Cell(row=1, column=2) True
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, type] = {}
    flat: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        kind = hints[parameter.name]
        if is_dataclass(kind) and isinstance(kind, type):
            groups[parameter.name] = kind
            flat += _as_parameters(kind)
        else:
            flat.append(parameter.replace(annotation=kind, kind=inspect.Parameter.KEYWORD_ONLY))

    @wraps(command)
    def run(**given: Any) -> None:
        command(**{name: kind(**_taken(kind, given)) for name, kind in groups.items()}, **given)

    del run.__wrapped__
    run.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in flat}
    return run


def _as_parameters(kind: type) -> list[inspect.Parameter]:
    hints = get_type_hints(kind, include_extras=True)
    return [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=_default(field), annotation=hints[field.name]
        )
        for field in fields(kind)
    ]


def _default(field: Field[Any]) -> Any:
    if field.default is not MISSING:
        return field.default
    return field.default_factory() if field.default_factory is not MISSING else inspect.Parameter.empty


def _taken(kind: type, given: dict[str, Any]) -> Mapping[str, Any]:
    """Take the fields of a group out of what was given."""
    return {field.name: given.pop(field.name) for field in fields(kind)}


class Join(StrEnum):
    """Which samples to keep if files list different ones."""

    EXACT = "exact"
    INNER = "inner"
    OUTER = "outer"


class Impute(StrEnum):
    """How missing cells are filled in."""

    MEDIAN = "median"
    MEAN = "mean"
    MOST_FREQUENT = "most_frequent"
    KNN = "knn"
    ZERO = "zero"


class Decimal(StrEnum):
    """The decimal mark of numbers."""

    POINT = "."
    COMMA = ","


class MatchIds(StrEnum):
    """Which ids are the same."""

    EXACT = "exact"
    LOOSE = "loose"


@dataclass(frozen=True)
class Source:
    """What to read, and how: the options of every command that reads views."""

    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILES",
            help="One file with all views (.mat, .npz, .h5mu), one file per view, or a folder of these; or several "
            "folders, one per view, of shards (.parquet, .npy, zarr) that need not fit into memory. FILE.xlsx:SHEET is "
            f"a sheet of a workbook. Formats: {in_words(VIEW_FILES)}.",
            show_default=False,
        ),
    ]
    id_column: Annotated[
        list[str] | None,
        _reading(
            "--id",
            metavar="COLUMN",
            help="Column with the sample ids, by which rows are matched. May be repeated if files call it differently.",
            show_default=False,
            autocompletion=completion.columns,
        ),
    ] = None
    labels: Annotated[
        list[str] | None,
        _reading(
            metavar="FILE[:COLUMN[@ID]]",
            help="Known classes, for scores only: a file, or a column of it, and the column with its ids if that is "
            "called otherwise than in the views. Samples without a class stay. May be repeated: the first is scored.",
            autocompletion=completion.columns_of_file,
        ),
    ] = None
    label_column: Annotated[
        str | None,
        _reading(
            metavar="COLUMN",
            help="Column of the views' tables with the known classes.",
            autocompletion=completion.columns,
        ),
    ] = None
    join: Annotated[
        Join,
        _reading(
            help="Which samples to keep if files list different ones: none, and stop with an error (exact), those in "
            "all files (inner), or all (outer)."
        ),
    ] = Join.EXACT
    names: Annotated[str | None, _reading(metavar="A,B,...", help="Names of the views.")] = None
    views_key: Annotated[
        str | None,
        _reading(
            metavar="A,B,...",
            help="In .mat and .npz: the variables with the views. In .h5ad and .h5mu: matrices such as obsm/X_pca, or "
            "modalities.",
        ),
    ] = None
    labels_key: Annotated[
        str | None, _reading(metavar="NAME", help="In .mat and .npz: the variable with the classes.")
    ] = None
    header: Annotated[
        bool | None,
        _reading("--header/--no-header", help="Whether tables begin with the names of the columns. Default: detected."),
    ] = None
    view_sizes: Annotated[
        str | None,
        _reading(metavar="N|N,N,...", help="For one table: the number of views, or of columns of each view."),
    ] = None
    views_from_prefix: Annotated[
        str | None,
        _reading(
            metavar="SEPARATOR",
            help="For one table: the view of a column is the part of its name before this separator, such as rna in "
            'rna__TP53 with "__".',
        ),
    ] = None
    no_id: Annotated[
        bool,
        _reading(
            "--no-id",
            help="No column of whole numbers is an id: all are features, and row i is the same sample in every file.",
        ),
    ] = False
    transpose: Annotated[
        list[str] | None,
        _reading(
            "--transpose",
            metavar="[FILE]",
            help="Features are in rows: in all files, or in FILE. May be repeated. Default: detected where the names "
            "are unambiguous.",
            show_default=False,
        ),
    ] = None
    no_transpose: Annotated[bool, _reading("--no-transpose", help="Samples are in rows in all files.")] = False
    match_ids: Annotated[
        MatchIds,
        _reading(help="Whether ids that differ only in '.', '_' and '-', case or a final '-1' are the same (loose)."),
    ] = MatchIds.EXACT
    drop: Annotated[
        list[str] | None,
        _reading(
            metavar="COLUMN",
            help="Column to leave out, or a pattern such as 'qc_*'. May be repeated.",
            autocompletion=completion.columns,
        ),
    ] = None
    only: Annotated[
        list[str] | None,
        _reading(
            metavar="PATTERN",
            help="Features to keep, by name or pattern; others are left out. May be repeated.",
            autocompletion=completion.columns,
        ),
    ] = None
    one_hot: Annotated[
        list[str] | None,
        _reading(
            metavar="COLUMN",
            help="Column of categories to replace by a column of 0 and 1 for each of its values. May be repeated.",
            autocompletion=completion.columns,
        ),
    ] = None
    impute: Annotated[
        Impute | None,
        _reading(
            help="How to fill in single missing cells: from their column, or from the five nearest samples (knn). "
            "Default: they are an error.",
            show_default=False,
        ),
    ] = None
    decimal: Annotated[
        Decimal | None,
        _reading(
            help="Decimal mark of tables of text; the other one separates thousands. Default: detected.",
            show_default=False,
        ),
    ] = None
    encoding: Annotated[
        str | None,
        _reading(
            metavar="NAME", help="Encoding of tables of text, such as cp1252. Default: UTF-8, or UTF-16 by its mark."
        ),
    ] = None

    @property
    def _id_names(self) -> list[str]:
        return [self.id_column] if isinstance(self.id_column, str) else list(self.id_column or [])

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of :func:`manyview.read_views` besides the path, without those at their defaults."""
        keys, ids = _split(self.views_key), self._id_names
        if ids and self.no_id:
            raise typer.BadParameter("either --id or --no-id, not both.", param_hint="--no-id")
        if self.transpose and self.no_transpose:
            raise typer.BadParameter("either --transpose or --no-transpose, not both.", param_hint="--no-transpose")
        chosen = {
            "id_column": False if self.no_id else _one_or_all(ids),
            "labels": _one_or_all(self.labels),
            "label_column": self.label_column,
            "join": str(self.join),
            "names": _split(self.names),
            "views_key": keys[0] if keys is not None and len(keys) == 1 else keys,
            "labels_key": self.labels_key,
            "header": self.header,
            "match_ids": str(self.match_ids),
            "transpose": False if self.no_transpose else ALL_FILES in (self.transpose or ()) or self.transpose or None,
            "drop": _one_or_all(self.drop),
            "only": _one_or_all(self.only),
            "one_hot": _one_or_all(self.one_hot),
            "impute": None if self.impute is None else str(self.impute),
            "decimal": None if self.decimal is None else str(self.decimal),
            "encoding": self.encoding,
        }
        return {name: value for name, value in chosen.items() if value is not None and value != "exact"}

    @property
    def path(self) -> str | list[str]:
        """The first argument of :func:`manyview.read_views`."""
        files = [str(file) for file in self.files]
        return files[0] if len(files) == 1 else files

    @property
    def sizes(self) -> int | str | list[int] | None:
        """How to cut one table into views: their number, their widths, or the separator in the names of columns."""
        words = _split(self.view_sizes)
        if words is None:
            return self.views_from_prefix
        if self.views_from_prefix is not None:
            raise typer.BadParameter(
                "either --view-sizes or --views-from-prefix, not both.", param_hint="--views-from-prefix"
            )
        if not all(word.isdecimal() for word in words):
            raise typer.BadParameter(f"expected whole numbers, got {self.view_sizes!r}.", param_hint="--view-sizes")
        numbers = [int(word) for word in words]
        return numbers[0] if len(numbers) == 1 else numbers

    @property
    def reading(self) -> dict[str, Any]:
        """How the files are read, where it differs from the default."""
        if self.in_shards:
            words = [repr(dict(zip(self._folder_names, map(str, self.files), strict=True)))]
            words += [f"{name}={value!r}" for name, value in self._opening.items()]
            return {"python": f"manyview.open_views({', '.join(words)})"}
        return self.options | ({} if self.sizes is None else {"view_sizes": self.sizes})

    @property
    def in_shards(self) -> bool:
        """Whether every view is a folder of shards, which are opened and not read."""
        return len(self.files) > 1 and all(file.is_dir() for file in self.files)

    @property
    def _folder_names(self) -> list[str]:
        names = _split(self.names) or [name_without_extension(file.resolve()) for file in self.files]
        if len(names) != len(self.files):
            raise typer.BadParameter(
                f"expected one name per folder, {len(self.files)}, got {len(names)}.", param_hint="--names"
            )
        return names

    @property
    def _opening(self) -> dict[str, Any]:
        """Arguments of :func:`manyview.open_views` besides the folders."""
        given = self.options | ({} if self.sizes is None else {"view_sizes": self.sizes})
        options: dict[str, Any] = {name: given[name] for name in ("id_column", "labels") if name in given}
        if "drop" in given:
            options["skip_columns"] = [given["drop"]] if isinstance(given["drop"], str) else given["drop"]
        if options.get("id_column") is False:
            del options["id_column"]
            options.setdefault("skip_columns", [])
        others = sorted(given.keys() - {"id_column", "labels", "names", "drop"})
        if others:
            raise typer.BadParameter(
                f"is not for folders of shards, which are matched by position: {self.files[0]} is a folder. Give one "
                "file per view, or one folder of such files.",
                param_hint=f"--{others[0].replace('_', '-')}",
            )
        return options

    @property
    def as_data(self) -> dict[str, Any]:
        """The same views as an experiment declares them, see :func:`manyview.experiments._datasets.load`."""
        if self.in_shards:
            firsts = [min(file for file in folder.iterdir() if file.name[0] != ".") for folder in self.files]
            raise typer.BadParameter(
                f"methods are compared on views that fit into memory, and {self.files[0]} is a folder of shards. "
                f"Compare a part, such as {shlex.join(map(str, firsts))}, or use manyview cluster.",
                param_hint="FILES",
            )
        more = {"options": self.options, "view_sizes": self.sizes}
        return {"read": self.path} | {name: value for name, value in more.items() if value not in (None, {})}

    @property
    def title(self) -> str:
        """A name for the data: those of the files, without folders and extensions."""
        return ", ".join(name_without_extension(file.resolve()) for file in self.files)

    def read(self, **more: Any) -> Views:
        """Read the views, with more arguments of :func:`manyview.read_views`; their values are not checked yet."""
        from manyview.io import open_views, read_views
        from manyview.views.wide import cut_table

        if self.in_shards:
            if more:
                raise typer.BadParameter(
                    f"is not for folders of shards, and {self.files[0]} is one. Join it with the labels that are "
                    "written, by the ids.",
                    param_hint=f"--{min(more)}",
                )
            return open_views(dict(zip(self._folder_names, self.files, strict=True)), **self._opening)
        sizes = self.sizes
        with warnings.catch_warnings():
            for printed in (OrientationWarning, ClassColumnWarning):  # the commands print views.reading
                warnings.simplefilter("ignore", printed)
            views = read_views(self.path, **self.options, **more)
        return views if sizes is None else cut_table(views, sizes)

    @property
    def words(self) -> list[str]:
        """The words of the command line with the same options."""
        given = {
            "--labels": self.labels,
            "--label-column": self.label_column,
            "--join": None if self.join is Join.EXACT else str(self.join),
            "--names": self.names,
            "--views-key": self.views_key,
            "--labels-key": self.labels_key,
            "--view-sizes": self.view_sizes,
            "--views-from-prefix": self.views_from_prefix,
            "--match-ids": None if self.match_ids is MatchIds.EXACT else str(self.match_ids),
            "--drop": self.drop,
            "--only": self.only,
            "--one-hot": self.one_hot,
            "--impute": None if self.impute is None else str(self.impute),
            "--decimal": None if self.decimal is None else str(self.decimal),
            "--encoding": self.encoding,
        }
        words = []
        for option, value in given.items():
            for one in value if isinstance(value, list) else [value]:
                words += [] if one is None else [option, one]
        ids = [word for name in self._id_names for word in ("--id", name)] + (["--no-id"] if self.no_id else [])
        header = [] if self.header is None else ["--header" if self.header else "--no-header"]
        turned = [word for file in self.transpose or () for word in ("--transpose", file)]
        turned = ["--transpose"] if ALL_FILES in turned else turned + (["--no-transpose"] if self.no_transpose else [])
        return [*(str(file) for file in self.files), *ids, *words, *header, *turned]


def _one_or_all(words: list[str] | None) -> str | list[str] | None:
    return words[0] if words is not None and len(words) == 1 else words or None


def _split(text: str | None) -> list[str] | None:
    return None if text is None else [word.strip() for word in text.split(",")]
