"""What an experiment is made of: specs have parts, parts have entries, and every entry points to a cell.

A *cell* is one fit: a dataset, an estimator with its parameters, an order of the rows and a seed. It knows nothing of
the table it is for, so a fit that several tables need is one cell and runs once. An *entry* is the place of a cell in a
table or figure. Reading specs is the matter of ``_spec.py``, running cells of ``runner.py``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from manyview.exceptions import DatasetError

FILE_ORDER = "file-order"
SHUFFLED = "shuffled"
PROTOCOLS = (FILE_ORDER, SHUFFLED)
"""How rows are ordered: as in the file, like the paper; or shuffled, with another permutation for each seed."""


@dataclass(frozen=True)
class Dataset:
    """Where views come from.

    Parameters
    ----------
    name : str
        What tables call it.
    source : dict
        ``{"fetch": name}`` of :func:`manyview.datasets.fetch_dataset`, ``{"load": name}`` of a loader of
        :mod:`manyview.datasets`, ``{"read": path}`` of a file (or a list of files) with views and classes for
        :func:`manyview.read_views`, with its ``"options"`` beside it, or ``{"generate": {...}}``, arguments of
        :func:`manyview.datasets.make_multiview`. With ``"first": n`` beside it, only the first rows.
    stand_in_for : str, optional
        The dataset of the paper that it takes the place of. A stand-in is never shown in a published row.
    """

    name: str
    source: Mapping[str, Any]
    stand_in_for: str | None = None


@dataclass(frozen=True)
class Cell:
    """One fit, described by all that decides its result.

    Parameters
    ----------
    dataset : str
        Name of the dataset.
    source : dict
        Where it comes from, as in :class:`Dataset`.
    estimator : str
        Name of the class, one of :func:`manyview.cluster.available_methods`.
    parameters : dict
        Arguments of the estimator besides ``random_state`` and ``n_jobs``. Without ``n_clusters``, there are as many
        clusters as known classes.
    protocol : {"file-order", "shuffled"}
        Order of the rows.
    seed : int
        ``random_state`` of the estimator, and of the permutation if rows are shuffled.
    view : int, optional
        The only view that the estimator gets; None for all.
    keep_graphs : bool, default=False
        Whether to keep pictures of the input graphs and of the learned graph.
    """

    dataset: str
    source: Mapping[str, Any]
    estimator: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    protocol: str = FILE_ORDER
    seed: int = 0
    view: int | None = None
    keep_graphs: bool = False

    @cached_property
    def description(self) -> str:
        """The cell as JSON, the same text for the same cell."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @cached_property
    def key(self) -> str:
        """A name that only this cell has."""
        return hashlib.sha256(self.description.encode()).hexdigest()[:32]

    @cached_property
    def group(self) -> str:
        """What all seeds of a cell share: they need about the same time and memory."""
        shared = {name: value for name, value in asdict(self).items() if name not in ("seed", "protocol")}
        return json.dumps(shared, sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True)
class Row:
    """A line of a table: how a method is run.

    Parameters
    ----------
    name : str
        What the table calls it, as the paper does where it is there.
    estimator : str
        Name of the class.
    parameters : dict
        For all datasets.
    per_dataset : dict of dict
        More parameters, by the name of the dataset.
    view : int, optional
        The only view that it gets; None for all.
    note : str
        What a reader must know about the setting.
    """

    name: str
    estimator: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    per_dataset: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    view: int | None = None
    note: str = ""


@dataclass(frozen=True)
class Entry:
    """The place of a cell: a line of a table, or a point of a curve."""

    part: str
    dataset: str
    row: str
    cell: Cell
    axis: str | None = None
    value: float | None = None


@dataclass(frozen=True)
class Part:
    """A table or a figure.

    Parameters
    ----------
    name : str
        The label in the paper where it is from there, such as "result1".
    kind : {"table", "sweep", "growth", "graphs"}
        Lines of scores; scores over a parameter; time over the size of the problem; pictures of graphs.
    title, source, note : str
        For the reader: what it shows, where it comes from, what must be known.
    datasets : tuple of Dataset
    rows : dict of tuple of Row
        By the name of the dataset: lines for single views depend on how many there are.
    entries : tuple of Entry
        All fits that it needs.
    scores : tuple of str
        Which of :data:`manyview.metrics.SCORES` the table or figure shows.
    published : dict
        ``published[dataset][row]`` is a dict score -> (mean, deviation or None), or the text that stands there
        instead, such as "OM".
    axes : dict
        Of a sweep or growth: name -> label.
    stated : dict
        What the paper says about the figure: of a sweep the best value by dataset, of growth
        ``stated[row][axis]``, the exponent.
    alone : bool
        Whether its cells must run one at a time, because their time is the result.
    time_limit : float, optional
        Seconds for one cell; None for the runner's own.
    """

    name: str
    kind: str
    title: str
    source: str
    datasets: tuple[Dataset, ...]
    rows: Mapping[str, tuple[Row, ...]]
    entries: tuple[Entry, ...]
    note: str = ""
    scores: tuple[str, ...] = ()
    published: Mapping[str, Mapping[str, Mapping[str, tuple[float, float | None]] | str]] = field(default_factory=dict)
    axes: Mapping[str, str] = field(default_factory=dict)
    stated: Mapping[str, Any] = field(default_factory=dict)
    alone: bool = False
    time_limit: float | None = None


@dataclass(frozen=True)
class Spec:
    """What one command runs and shows: some parts."""

    name: str
    title: str
    parts: tuple[Part, ...]

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """All cells, each once. The first seed of every part comes first: a run that is stopped has some of all."""
        distinct = {entry.cell.key: entry.cell for part in self.parts for entry in part.entries}
        return tuple(sorted(distinct.values(), key=lambda cell: cell.seed))


DONE = "done"
FAILED = "failed"
MEMORY = "memory"
TIME = "time"
ABSENT = "absent"
STATUSES = (DONE, FAILED, MEMORY, TIME, ABSENT)
"""How a cell ended: with labels; with an error; for lack of memory; at its time limit; without its dataset."""


@dataclass(frozen=True, eq=False)
class CellResult:
    """How a cell ended, and what it found.

    Parameters
    ----------
    key : str
        Of the cell.
    status : str
        One of :data:`STATUSES`.
    reason : str
        Why it did not end with labels, for the reader of a table; else empty.
    labels : ndarray of shape (n_samples,), optional
        Clusters, in the order of the *file* also if the rows were shuffled.
    seconds : float, optional
        Time of the fit alone.
    peak_bytes : int, optional
        Most memory during the fit, less that before it.
    pictures : dict of ndarray
        If the cell keeps graphs: name of a view, or "learned" -> a picture, rows by samples and columns by anchors.
    run : int
        Which run of the store did it, see :meth:`Store.runs`.
    """

    key: str
    status: str
    reason: str = ""
    labels: np.ndarray | None = None
    seconds: float | None = None
    peak_bytes: int | None = None
    pictures: Mapping[str, np.ndarray] = field(default_factory=dict)
    run: int = 0


@dataclass(frozen=True, eq=False)
class DatasetFacts:
    """What must be known of a dataset to score labels without the dataset.

    Parameters
    ----------
    name : str
    fingerprint : str
        A checksum of its values, names and classes.
    n_samples : int
    views : tuple of (str, int)
        Name and number of features of each view.
    classes : ndarray of int, shape (n_samples,), or None
        Known classes as numbers, in the order of the file, -1 for samples without; None if none are known.
    sorted_by_class : bool or None
        Whether every class is one block of rows.
    """

    name: str
    fingerprint: str
    n_samples: int
    views: tuple[tuple[str, int], ...]
    classes: np.ndarray | None
    sorted_by_class: bool | None

    @property
    def known_classes(self) -> np.ndarray:
        """The classes, where something cannot be done without."""
        if self.classes is None:
            raise DatasetError(f"{self.name}: has no known classes, so no clustering of it can be scored.")
        return self.classes

    @property
    def n_classes(self) -> int:
        """Number of known classes."""
        return len(np.unique(self.known_classes[self.known_classes >= 0]))
