"""The records of experiments: specs have parts, parts have entries, and every entry points to a cell.

A *cell* is one fit: a dataset, an estimator with its parameters, an order of the rows and a seed. It is independent of
the table it is for, so a fit that several tables need is one cell and runs once. An *entry* is the position of a cell
in a table or figure. ``_spec.py`` reads specs, ``runner.py`` runs cells.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from manyview.exceptions import DatasetError

FILE_ORDER = "file-order"
SHUFFLED = "shuffled"
PROTOCOLS = (FILE_ORDER, SHUFFLED)
"""Order of the rows: as in the file, like the paper; or shuffled, with another permutation for each seed."""


DEFAULT_SCORES = ("acc", "nmi")
"""What tables and curves show if a spec does not say."""


@dataclass(frozen=True)
class Dataset:
    """A dataset and its source.

    Parameters
    ----------
    name : str
        Its name in tables.
    source : dict
        ``{"fetch": name}`` of :func:`manyview.datasets.fetch_dataset`, ``{"load": name}`` of a loader of
        :mod:`manyview.datasets`, ``{"read": path}`` of a file (or a list of files) with views and classes for
        :func:`manyview.read_views`, with its ``"options"`` beside it, or ``{"generate": {...}}``, arguments of
        :func:`manyview.datasets.make_multiview`. With ``"first": n`` beside it, only the first rows.
    stand_in_for : str, optional
        The dataset of the paper that it replaces. A stand-in is never shown with published values.
    folder : str, default=""
        What the paths of the source are relative to; "" for the current folder.
    """

    name: str
    source: Mapping[str, Any]
    stand_in_for: str | None = None
    folder: str = ""


@dataclass(frozen=True)
class Cell:
    """One fit, described by everything that determines its result.

    Parameters
    ----------
    dataset : str
        Name of the dataset.
    source : dict
        Source of the dataset, as in :class:`Dataset`.
    estimator : str
        Name of the class, one of :func:`manyview.cluster.available_methods`, or a reference to code of a user's own,
        see :mod:`manyview.experiments.own_methods`.
    parameters : dict
        Arguments of the estimator besides ``random_state`` and ``n_jobs``. The default of ``n_clusters`` is the number
        of known classes.
    protocol : {"file-order", "shuffled"}
        Order of the rows.
    seed : int
        ``random_state`` of the estimator, and of the permutation if rows are shuffled.
    view : int, optional
        The only view that the estimator gets; None for all.
    keep_graphs : bool, default=False
        Whether to keep pictures of the input graphs and of the learned graph.
    code : str, optional
        Of a method of a user's own: checksum of its code, so that changed code is another cell.
    folder : str, default=""
        Where files of data and code are looked for. It does not identify the cell: a folder may be moved.
    """

    dataset: str
    source: Mapping[str, Any]
    estimator: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    protocol: str = FILE_ORDER
    seed: int = 0
    view: int | None = None
    keep_graphs: bool = False
    code: str | None = None
    folder: str = ""

    @cached_property
    def _identity(self) -> dict[str, Any]:
        """What identifies the cell. Code is left out where there is none, so that keys in old stores stay valid."""
        left_out = ("folder",) if self.code else ("folder", "code")
        return {name: value for name, value in asdict(self).items() if name not in left_out}

    @cached_property
    def description(self) -> str:
        """The cell as JSON; equal cells have equal texts."""
        return json.dumps(self._identity, sort_keys=True, separators=(",", ":"))

    @cached_property
    def message(self) -> str:
        """The description with all that a worker needs."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @cached_property
    def key(self) -> str:
        """The checksum of the description, which identifies the cell."""
        return hashlib.sha256(self.description.encode()).hexdigest()[:32]

    @cached_property
    def group(self) -> str:
        """The description without seed and order of rows: cells of a group need about the same time and memory."""
        shared = {name: value for name, value in self._identity.items() if name not in ("seed", "protocol")}
        return json.dumps(shared, sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True)
class Row:
    """A row of a table: how a method is run.

    Parameters
    ----------
    name : str
        Name of the row; the paper's where the paper has it.
    estimator : str
        Name of the class, or a reference to code of a user's own.
    parameters : dict
        For all datasets.
    per_dataset : dict of dict
        More parameters, by the name of the dataset.
    view : int, optional
        The only view that it gets; None for all.
    note : str
        Remark on the setting, shown below the table.
    code : str, optional
        Checksum of the code, if it is a user's own.
    """

    name: str
    estimator: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    per_dataset: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    view: int | None = None
    note: str = ""
    code: str | None = None


@dataclass(frozen=True)
class Entry:
    """The position of a cell: a row of a table, or a point of a curve."""

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
        Rows of scores; scores over a parameter; time over the size of the problem; pictures of graphs.
    title, source, note : str
        For the reader: what it shows, where in the paper it is, remarks.
    datasets : tuple of Dataset
    rows : dict of tuple of Row
        By the name of the dataset: the rows of single views depend on the number of views.
    entries : tuple of Entry
        All fits that it needs.
    scores : tuple of str
        Scores that the table or figure shows, of :data:`manyview.metrics.SCORES`.
    published : dict
        ``published[dataset][row]`` is a dict score -> (mean, deviation or None), or the text that the paper has
        instead, such as "OM".
    axes : dict
        Of a sweep or growth: name -> label.
    stated : dict
        Statements of the paper about the figure: of a sweep the best value by dataset, of growth
        ``stated[row][axis]``, the exponent.
    alone : bool
        Whether its cells must run one at a time, because their time is measured.
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
    """An experiment: the parts that one command runs and shows."""

    name: str
    title: str
    parts: tuple[Part, ...]

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """All cells, each once, by seed: a run that is stopped early has results of every part."""
        distinct = {entry.cell.key: entry.cell for part in self.parts for entry in part.entries}
        return tuple(sorted(distinct.values(), key=lambda cell: cell.seed))


def only(spec: Spec, parts: Sequence[str]) -> Spec:
    """Keep the named parts, in the order of the spec; all if none are named.

    Parameters
    ----------
    spec : Spec
    parts : sequence of str
        Names of parts of ``spec``.

    Examples
    --------
    >>> from manyview.experiments._model import Part, Spec
    >>> tables = [Part(name, "table", "", "", (), {}, ()) for name in ("one", "two", "three")]
    >>> [part.name for part in only(Spec("all", "", tuple(tables)), ["three", "one"]).parts]
    ['one', 'three']
    """
    known = [part.name for part in spec.parts]
    for name in parts:
        if name not in known:
            raise ValueError(f"part: expected one of {', '.join(known)} of the spec {spec.name}, got {name!r}.")
    return replace(spec, parts=tuple(part for part in spec.parts if part.name in parts or not parts))


def first_seeds(spec: Spec, n: int) -> Spec:
    """Keep the ``n`` smallest seeds of every row, order of rows and point; all if there are fewer.

    Parameters
    ----------
    spec : Spec
    n : int
        At least 1.

    Examples
    --------
    >>> from manyview.experiments._model import Cell, Entry, Part, Spec
    >>> fits = tuple(Entry("one", "digits", "TBGL", Cell("digits", {}, "TBGL", seed=seed)) for seed in range(20))
    >>> spec = Spec("all", "", (Part("one", "table", "", "", (), {}, fits),))
    >>> [entry.cell.seed for entry in first_seeds(spec, 3).parts[0].entries]
    [0, 1, 2]
    """
    if n < 1:
        raise ValueError(f"seeds: expected at least 1, got {n}.")
    return replace(spec, parts=tuple(_with_first_seeds(part, n) for part in spec.parts))


def _with_first_seeds(part: Part, n: int) -> Part:
    seeds = defaultdict(set)
    for entry in part.entries:
        seeds[_position(entry)].add(entry.cell.seed)
    kept = {position: sorted(found)[:n] for position, found in seeds.items()}
    return replace(part, entries=tuple(entry for entry in part.entries if entry.cell.seed in kept[_position(entry)]))


def _position(entry: Entry) -> tuple[object, ...]:
    return entry.dataset, entry.row, entry.cell.protocol, entry.axis, entry.value


DONE = "done"
FAILED = "failed"
MEMORY = "memory"
TIME = "time"
ABSENT = "absent"
STATUSES = (DONE, FAILED, MEMORY, TIME, ABSENT)
"""How a cell ended: with labels; with an error; out of memory; at its time limit; without its dataset."""


@dataclass(frozen=True, eq=False)
class CellResult:
    """The result of a cell.

    Parameters
    ----------
    key : str
        Key of the cell.
    status : str
        One of :data:`STATUSES`.
    reason : str
        Why there are no labels, for the reader of a table; if there are, remarks on the fit of a user's own method.
    labels : ndarray of shape (n_samples,), optional
        Clusters, in the order of the *file*, also if the rows were shuffled.
    seconds : float, optional
        Time of the fit alone: of the processor, for a method of this package; that passed, for one of a user's own.
    peak_bytes : int, optional
        Peak memory during the fit, minus the memory before it.
    pictures : dict of ndarray
        If the cell keeps graphs: name of a view, or "learned" -> a picture, rows by samples and columns by anchors.
    run : int
        Number of the run in the store, see :meth:`Store.runs`.
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
    """What is stored of a dataset, so that labels can be scored without it.

    Parameters
    ----------
    name : str
    fingerprint : str
        A checksum of its values, names and classes.
    n_samples : int
    views : tuple of (str, int)
        Name and number of features of each view.
    classes : ndarray of int, shape (n_samples,), or None
        Known classes as numbers, in the order of the file, -1 where unknown; None if none are known.
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
        """The classes; a DatasetError if none are known."""
        if self.classes is None:
            raise DatasetError(f"{self.name}: has no known classes, so no clustering of it can be scored.")
        return self.classes

    @property
    def n_classes(self) -> int:
        """Number of known classes."""
        return len(np.unique(self.known_classes[self.known_classes >= 0]))
