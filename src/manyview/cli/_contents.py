"""What is told about clusters: options that ``cluster`` and ``describe`` share, checked before anything is fitted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from manyview.cli import _completion as completion
from manyview.cli._errors import say
from manyview.exceptions import ViewsError

if TYPE_CHECKING:
    from manyview.description import Description
    from manyview.views import Views

_contents = partial(typer.Option, rich_help_panel="What is in the clusters", show_default=False)
# Arguments of manyview.describe that are options here, as errors begin with them.
_ARGUMENT = re.compile(r"(survival|rename|pictures|texts): ")


@dataclass(frozen=True)
class Contents:
    """Which facts describe the clusters, and how: the options of ``cluster`` and ``describe``."""

    metadata: Annotated[
        list[str] | None,
        _contents(
            metavar="FILE[:COLUMN,...][@ID]",
            help="Table of other facts about the samples, such as clinical data, to compare with the clusters; never "
            "used to find them. All columns, or those after the colon; after an @, the column with the ids if it is "
            "called otherwise than in the views. Samples without a row stay. May be repeated.",
            autocompletion=completion.columns_of_file,
        ),
    ] = None
    survival: Annotated[
        str | None,
        _contents(
            metavar="TIME,EVENT",
            help="Columns of the metadata with times and events (1, dead, yes; 0, alive, no), for survival curves and "
            "a log-rank test.",
            autocompletion=completion.survival_columns,
        ),
    ] = None
    rename: Annotated[
        str | None,
        _contents(
            metavar="FILE|0=NAME,...",
            help="Names of clusters: a CSV file with numbers and names, or a text such as 0=Basal-like,1=LumA.",
        ),
    ] = None
    pictures: Annotated[
        str | None,
        _contents(
            metavar="COLUMN",
            help="Column of the metadata with paths of pictures, to show beside typical samples; seen from the folder "
            "of the metadata.",
            autocompletion=completion.metadata_columns,
        ),
    ] = None
    texts: Annotated[
        str | None,
        _contents(
            metavar="COLUMN",
            help="Column of the metadata with texts, to show beside typical samples.",
            autocompletion=completion.metadata_columns,
        ),
    ] = None
    markers: Annotated[
        int,
        _contents(min=1, metavar="N", help="Number of features to list for each cluster and view. Default: 10."),
    ] = 10
    no_p_values: Annotated[
        bool,
        _contents(
            "--no-p-values", help="Do not test these features, for which clusters are learned again without each view."
        ),
    ] = False
    no_sample_names: Annotated[
        bool,
        _contents(
            "--no-sample-names",
            help="Keep ids and metadata of single samples out of all files: samples are row numbers.",
        ),
    ] = False

    @property
    def asks_for_description(self) -> str | None:
        """The first option that is about the description alone, as typed; None if there is none."""
        given = {"--survival": self.survival, "--rename": self.rename, "--pictures": self.pictures}
        return next((option for option, value in {**given, "--texts": self.texts}.items() if value is not None), None)

    @property
    def reading(self) -> dict[str, Any]:
        """Arguments of :func:`manyview.read_views` for the metadata."""
        files = self.metadata or []
        return {} if not files else {"metadata": files[0] if len(files) == 1 else files}

    @property
    def words(self) -> list[str]:
        """The words of the command line with the same options."""
        given = {
            "--survival": self.survival,
            "--rename": self.rename,
            "--pictures": self.pictures,
            "--texts": self.texts,
            "--markers": None if self.markers == 10 else str(self.markers),
        }
        words = [word for file in self.metadata or () for word in ("--metadata", file)]
        words += [word for option, value in given.items() if value is not None for word in (option, value)]
        words += ["--no-p-values"] if self.no_p_values else []
        return words + (["--no-sample-names"] if self.no_sample_names else [])

    def check(self, n_clusters: object = None, *, has_labels: bool = False) -> None:
        """Refuse what is wrong whatever the files hold, before they are read.

        Parameters
        ----------
        n_clusters : int, optional
            The number of clusters, if it is known.
        has_labels : bool
            Whether there are files of labels, which are metadata as well.
        """
        from manyview.description.annotations import cluster_names
        from manyview.description.survival import survival_columns

        with _named():
            if self.survival is not None:
                survival_columns(self.survival)
        for option, value in (("--survival", self.survival), ("--pictures", self.pictures), ("--texts", self.texts)):
            if value is not None and not self.metadata and not has_labels:
                raise typer.BadParameter(
                    f"{value!r} is looked for in the metadata, but there is none. Give the table with --metadata.",
                    param_hint=option,
                )
        names = self.names()
        with _named():
            if isinstance(n_clusters, int):
                cluster_names(range(n_clusters), names)

    def names(self) -> dict[str, str] | None:
        """Return the names of clusters that the user gave, by the texts of their labels."""
        from manyview.description.annotations import read_names

        if self.rename is None:
            return None
        if Path(self.rename).is_file():
            with _named():
                return dict(read_names(self.rename))
        pairs = [pair.partition("=") for pair in self.rename.split(",")]
        if not all(equals and key.strip() and name.strip() for key, equals, name in pairs):
            raise typer.BadParameter(
                f"expected a CSV file that exists, or a text such as 0=Basal-like,1=LumA, got {self.rename!r}.",
                param_hint="--rename",
            )
        keys = [key.strip() for key, _, _ in pairs]
        twice = next((key for key in keys if keys.count(key) > 1), None)
        if twice is not None:
            raise typer.BadParameter(f"cluster {twice!r} is named twice.", param_hint="--rename")
        return {key.strip(): name.strip() for key, _, name in pairs}

    def prepared(self, views: Views) -> Views:
        """Check what is looked for in the metadata, and return the views without names of samples if so wished."""
        from manyview.description.annotations import Annotations

        with _named(self._tables(views)):
            Annotations.read(
                self._with_paths(views),
                views.n_samples,
                survival=self.survival,
                pictures=self.pictures,
                texts=self.texts,
            )
        if not self.no_sample_names:
            return views
        metadata = None if views.metadata is None else views.metadata.reset_index(drop=True)
        return replace(views, sample_ids=None, metadata=metadata)

    def describe(
        self,
        views: Views,
        labels: Any,
        *,
        seed: int = 0,
        jobs: int | None = None,
        pictures: Any = None,
        names: dict[str, str] | None = None,
    ) -> Description:
        """Describe clusters; ``labels`` and ``pictures`` are as for :func:`manyview.describe`.

        ``names`` are those of the clusters, if known; by default they are the user's, with a warning for clusters that
        do not exist, as an error would lose the fit.
        """
        from manyview.description import describe

        with _named(self._tables(views)):
            found = describe(
                views,
                labels,
                self._with_paths(views),
                survival=self.survival,
                rename=self._known_names(labels) if names is None else names,
                pictures=self.pictures if pictures is None else pictures,
                texts=self.texts,
                n_markers=self.markers,
                p_values=not self.no_p_values,
                random_state=seed,
                n_jobs=jobs,
            )
        return found.without_sample_names() if self.no_sample_names else found

    def _known_names(self, labels: Any) -> dict[str, str] | None:
        """Return the names of clusters that a fitted estimator has found, with a warning for others."""
        names = self.names()
        if names is None:
            return None
        found = {str(label) for label in set(labels.labels_.tolist())}
        for key in [key for key in names if key not in found]:
            say(f"warning: --rename: there is no cluster {key}, which was to be called {names.pop(key)!r}.")
        return names

    def _tables(self, views: Views) -> str:
        """Return what errors call the metadata: the files, or the labels."""
        if views.metadata is None or not self.metadata:
            return "the metadata"
        return " and ".join(self.metadata)

    def _with_paths(self, views: Views) -> Any:
        """Return the metadata, with paths of pictures as seen from the folder that we are in."""
        if self.pictures is None or views.metadata is None or self.pictures not in views.metadata.columns:
            return views.metadata
        from manyview.io._annotations import LabelSource

        folders = [LabelSource.parse(file).path.parent for file in self.metadata or ()]
        return views.metadata.assign(
            **{self.pictures: [_found(path, folders) for path in views.metadata[self.pictures]]}
        )


def _found(path: Any, folders: Sequence[Path]) -> Any:
    """Return the path of a picture, in the first folder that has it."""
    if not isinstance(path, str):
        return path
    return next((str(folder / path) for folder in folders if (folder / path).is_file()), path)


@contextmanager
def _named(metadata: str = "the metadata") -> Iterator[None]:
    """Turn errors about arguments of ``describe`` into errors about options, which name the files."""
    try:
        yield
    except ViewsError as error:
        found = _ARGUMENT.match(str(error))
        if found is None:
            raise
        text = str(error)[found.end() :].replace("the metadata", metadata)
        raise typer.BadParameter(text, param_hint=f"--{found[1]}") from error
