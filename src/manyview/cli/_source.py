"""The files that a command reads views from."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from manyview._utils.formats import VIEW_FILES, in_words, name_without_extension
from manyview.exceptions import OrientationWarning

if TYPE_CHECKING:
    from manyview.views import Views

_PANEL = "Reading files"

ALL_FILES = "*"
"""What ``--transpose`` without a file stands for."""


class Join(StrEnum):
    """Which samples to keep if files list different ones."""

    EXACT = "exact"
    INNER = "inner"
    OUTER = "outer"


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
            help="One file with all views (.mat, .npz), one file per view, or a folder of these. Formats: "
            f"{in_words(VIEW_FILES)}.",
            show_default=False,
        ),
    ]
    id_column: Annotated[
        list[str] | None,
        typer.Option(
            "--id",
            metavar="COLUMN",
            help="Column with the sample ids, by which rows are matched. Repeat it if files call it differently.",
            show_default=False,
            rich_help_panel=_PANEL,
        ),
    ] = None
    labels: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE[:COLUMN[@ID]]",
            help="Known classes, for scores only: a file, or a column of it, and the column with its ids if that is "
            "called otherwise than in the views. Samples without a class stay. May be repeated: the first is scored.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    label_column: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column of the views' tables with the known classes.", rich_help_panel=_PANEL
        ),
    ] = None
    join: Annotated[
        Join,
        typer.Option(
            help="If files list different samples: refuse, keep those in all, or keep all.", rich_help_panel=_PANEL
        ),
    ] = Join.EXACT
    names: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="What to call the views.", rich_help_panel=_PANEL)
    ] = None
    views_key: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="In .mat and .npz: the variables with the views.", rich_help_panel=_PANEL),
    ] = None
    labels_key: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="In .mat and .npz: the variable with the classes.", rich_help_panel=_PANEL),
    ] = None
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header", help="Whether tables begin with the names of the columns.", rich_help_panel=_PANEL
        ),
    ] = None
    view_sizes: Annotated[
        str | None,
        typer.Option(
            metavar="N|N,N,...",
            help="For one table: the number of views, or of columns of each view.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    views_from_prefix: Annotated[
        str | None,
        typer.Option(
            metavar="SEPARATOR",
            help="For one table: what comes before this in the name of a column is its view, such as rna in rna__TP53 "
            'with "__".',
            rich_help_panel=_PANEL,
        ),
    ] = None
    no_id: Annotated[
        bool,
        typer.Option(
            "--no-id",
            help="No column of whole numbers is an id: all are features, and row i is the same sample in every file.",
            rich_help_panel=_PANEL,
        ),
    ] = False
    transpose: Annotated[
        list[str] | None,
        typer.Option(
            "--transpose",
            metavar="[FILE]",
            help="Features are in rows: in all files, or in FILE; may be repeated. Default: if names leave no doubt.",
            show_default=False,
            rich_help_panel=_PANEL,
        ),
    ] = None
    no_transpose: Annotated[
        bool, typer.Option("--no-transpose", help="Samples are in rows in all files.", rich_help_panel=_PANEL)
    ] = False
    match_ids: Annotated[
        MatchIds,
        typer.Option(
            help="Whether ids that differ only in '.', '_' and '-' or a '-1' at the end are the same (loose).",
            rich_help_panel=_PANEL,
        ),
    ] = MatchIds.EXACT

    @property
    def _id_names(self) -> list[str]:
        return [self.id_column] if isinstance(self.id_column, str) else list(self.id_column or [])

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of :func:`manyview.read_views` besides the path; only those that are not its defaults."""
        labels = self.labels or []
        keys, ids = _split(self.views_key), self._id_names
        if ids and self.no_id:
            raise typer.BadParameter("either --id or --no-id, not both.", param_hint="--no-id")
        if self.transpose and self.no_transpose:
            raise typer.BadParameter("either --transpose or --no-transpose, not both.", param_hint="--no-transpose")
        chosen = {
            "id_column": False if self.no_id else ids[0] if len(ids) == 1 else ids or None,
            "labels": (labels[0] if len(labels) == 1 else labels) or None,
            "label_column": self.label_column,
            "join": str(self.join),
            "names": _split(self.names),
            "views_key": keys[0] if keys is not None and len(keys) == 1 else keys,
            "labels_key": self.labels_key,
            "header": self.header,
            "match_ids": str(self.match_ids),
            "transpose": False if self.no_transpose else ALL_FILES in (self.transpose or ()) or self.transpose or None,
        }
        return {name: value for name, value in chosen.items() if value is not None and value != "exact"}

    @property
    def path(self) -> str | list[str]:
        """The first argument of :func:`manyview.read_views`."""
        files = [str(file) for file in self.files]
        return files[0] if len(files) == 1 else files

    @property
    def sizes(self) -> int | str | list[int] | None:
        """How one table is to be cut into views: their number, their widths, or what ends their names in columns."""
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
        """How the files are read, where that is not the default."""
        return self.options | ({} if self.sizes is None else {"view_sizes": self.sizes})

    @property
    def as_data(self) -> dict[str, Any]:
        """What an experiment reads the same views from, see :func:`manyview.experiments._datasets.load`."""
        more = {"options": self.options, "view_sizes": self.sizes}
        return {"read": self.path} | {name: value for name, value in more.items() if value not in (None, {})}

    @property
    def title(self) -> str:
        """What to call the data: the names of the files, without folders and endings."""
        return ", ".join(name_without_extension(file.resolve()) for file in self.files)

    def read(self) -> Views:
        """Read the views; their values are not checked yet."""
        from manyview.io import read_views
        from manyview.views.wide import cut_table

        sizes = self.sizes
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OrientationWarning)  # the commands print views.reading
            views = read_views(self.path, **self.options)
        return views if sizes is None else cut_table(views, sizes)

    @property
    def words(self) -> list[str]:
        """The command line that asks for the same."""
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


def _split(text: str | None) -> list[str] | None:
    return None if text is None else [word.strip() for word in text.split(",")]
