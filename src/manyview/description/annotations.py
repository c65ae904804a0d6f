"""What users tell about samples and clusters: metadata, survival, pictures and texts of samples, names of clusters."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas

from manyview.description.metadata import as_frame
from manyview.description.samples import read_pictures, read_texts
from manyview.description.survival import read_survival, survival_columns
from manyview.exceptions import ViewsError

Names: TypeAlias = Mapping[Any, str] | str | os.PathLike[str]

# Columns of the table of profiles, in which names of clusters are columns as well.
_TAKEN = ("view", "feature")
# First words of a file of names that are headings.
_HEADINGS = frozenset({"", "cluster", "clusters", "label", "labels", "code", "id", "number", "old", "from", "key"})


@dataclass(frozen=True)
class Annotations:
    """What is known about the samples: columns to compare with the clusters, survival, pictures and texts."""

    compared: pandas.DataFrame | None = None
    survival: tuple[np.ndarray, np.ndarray] | None = None
    pictures: np.ndarray | None = None
    texts: np.ndarray | None = None

    @classmethod
    def read(
        cls,
        metadata: Any,
        n_samples: int,
        *,
        survival: tuple[str, str] | str | None = None,
        pictures: Any = None,
        texts: Any = None,
    ) -> Annotations:
        """Check the metadata and what is taken from it, with the arguments of :func:`manyview.describe`.

        Columns of survival, pictures and texts are not compared with the clusters.

        Raises
        ------
        ViewsError
            A column is not there or has values that it should not have, or a picture does not exist.
        """
        frame = None if metadata is None else as_frame(metadata, n_samples)
        used = [name for name in (pictures, texts) if isinstance(name, str)]
        used += [] if survival is None else survival_columns(survival)
        return cls(
            survival=None if survival is None else read_survival(frame, survival),
            pictures=None if pictures is None else read_pictures(pictures, frame, n_samples),
            texts=None if texts is None else read_texts(texts, frame, n_samples),
            compared=None if frame is None else frame.drop(columns=used),
        )

    def take(self, rows: np.ndarray) -> Annotations:
        """Return those of some samples."""
        return Annotations(
            None if self.compared is None else self.compared.iloc[rows],
            None if self.survival is None else (self.survival[0][rows], self.survival[1][rows]),
            None if self.pictures is None else self.pictures[rows],
            None if self.texts is None else self.texts[rows],
        )


def cluster_names(keys: Sequence[Any], rename: Names | None) -> tuple[str, ...]:
    """Return a name for each cluster: that of the user, or "cluster 3"; text labels name themselves.

    Parameters
    ----------
    keys : sequence
        The label of each cluster.
    rename : mapping of label to name, or path of a CSV file
        As for :func:`manyview.describe`. Clusters that it does not name keep their names.

    Raises
    ------
    ViewsError
        There is no such cluster, or two have the same name.
    """
    default = {str(key): key if isinstance(key, str) and key not in _TAKEN else f"cluster {key}" for key in keys}
    if rename is None:
        return tuple(default.values())
    if isinstance(rename, Mapping):
        wanted = {str(key): str(name) for key, name in rename.items()}
    else:
        wanted = dict(read_names(rename, default))
    for key, name in wanted.items():
        if key not in default:
            raise ViewsError(f"rename: there is no cluster {key!r}; the clusters are {', '.join(default)}.")
        if not name.strip() or name in _TAKEN:
            raise ViewsError(f"rename: cluster {key!r} cannot be called {name!r}.")
    names = tuple({**default, **wanted}.values())
    for name in names:
        if names.count(name) > 1:
            raise ViewsError(f"rename: two clusters are called {name!r}.")
    return names


def read_names(path: str | os.PathLike[str], known: Sequence[str] | Mapping[str, Any] = ()) -> list[tuple[str, str]]:
    """Read labels and names of clusters from the first two columns of a CSV file.

    Parameters
    ----------
    path : path
    known : collection of str
        The labels of clusters. A first line with another text that is a usual heading has the names of the columns.
    """
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        rows = [[cell.strip() for cell in row] for row in csv.reader(file) if any(cell.strip() for cell in row)]
    where = os.fspath(path)
    for number, row in enumerate(rows, start=1):
        if len(row) < 2:
            raise ViewsError(f"rename: {where} has one column in line {number}; expected labels and names.")
    if rows and rows[0][0] not in known and rows[0][0].lower() in _HEADINGS:
        rows = rows[1:]
    if not rows:
        raise ViewsError(f"rename: {where} has no names; expected lines such as 0,Basal-like.")
    keys = [row[0] for row in rows]
    for key in keys:
        if keys.count(key) > 1:
            raise ViewsError(f"rename: {where} names cluster {key!r} {keys.count(key)} times.")
    return [(row[0], row[1]) for row in rows]
