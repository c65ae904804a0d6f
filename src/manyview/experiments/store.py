"""The store of results: one SQLite file, to which every finished cell is written at once."""

from __future__ import annotations

import io
import json
import os
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from manyview.cluster._registry import FORMER_NAMES
from manyview.exceptions import StoreError, warn_user
from manyview.experiments._model import Cell, CellResult, DatasetFacts
from manyview.io._numpy import read_header

# SQLite keeps these two numbers at the head of the file: the application, and the version of the tables.
_APPLICATION = 0x6D767870
_VERSION = 1
_PATIENCE = 30  # seconds to wait for other processes that use the file
_TABLES = """
CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    facts TEXT NOT NULL             -- JSON: time, versions, machine
) STRICT;
CREATE TABLE datasets (
    name TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL,
    views TEXT NOT NULL,            -- JSON: [[name, number of features], ...]
    sorted_by_class INTEGER NOT NULL,
    classes BLOB NOT NULL           -- array, in the order of the file (n_samples x 0 if none are known)
) STRICT;
CREATE TABLE cells (
    key TEXT PRIMARY KEY,
    cell TEXT NOT NULL,             -- JSON: everything that determines the result
    run INTEGER NOT NULL REFERENCES runs,
    status TEXT NOT NULL,
    reason TEXT NOT NULL,
    seconds REAL,
    peak_bytes INTEGER,
    fingerprint TEXT,               -- of the data
    labels BLOB,                    -- array, in the order of the file
    finished TEXT NOT NULL
) STRICT;
CREATE TABLE pictures (
    key TEXT NOT NULL REFERENCES cells,
    name TEXT NOT NULL,
    picture BLOB NOT NULL,          -- array
    PRIMARY KEY (key, name)
) STRICT;
CREATE TABLE starts (
    key TEXT NOT NULL,
    run INTEGER NOT NULL REFERENCES runs,
    started TEXT NOT NULL
) STRICT;
"""
_MAX_BYTES = 2**28  # of an array: labels of 2^28 samples, or half as many if there are more than 256 clusters
_CHUNK = 2**16
_MAX_VARIABLES = 500  # in one SQL statement


class Store:
    """Results of experiments in one file.

    A process that is killed at any moment leaves a valid file, with all cells that had been written. The file can be
    read while a run writes. Labels are stored in full, so any score can be computed later.

    Parameters
    ----------
    path : str or path
        The file.
    create : bool, default=False
        Whether to open it for writing, and to create the file if it is absent.

    Raises
    ------
    StoreError
        If there is no such file, or it is not a store.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from manyview.experiments import Store
    >>> with TemporaryDirectory() as folder, Store(Path(folder, "results.db"), create=True) as store:
    ...     store.results([])
    {}
    """

    def __init__(self, path: str | os.PathLike[str], create: bool = False) -> None:
        self.path = Path(path)
        if self.path.is_dir():
            raise StoreError(f"{self.path} is a folder; a store is a file.")
        if not create and not self.path.exists():
            raise StoreError(f"no store at {self.path}. To make one: manyview experiments run SPEC --store {self.path}")
        try:
            self._connection = _connect(self.path, create)
        except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter from SQLite's message about a damaged file
            raise StoreError(f"{self.path} cannot be opened as a store: {error}.") from error
        self._warn_of_former_names()

    def _warn_of_former_names(self) -> None:
        """Warn of results of methods under former names, which no spec asks for."""
        for old, new in FORMER_NAMES.items():
            with suppress(sqlite3.Error):  # a damaged file; reading results from it raises an error
                asked = self._connection.execute("SELECT count(*) FROM cells WHERE cell LIKE ?", [f'%"{old}"%'])
                if count := asked.fetchone()[0]:
                    warn_user(
                        f"{self.path} holds {count} result(s) of {old}, which is called {new} now. They stay in the "
                        "file and are not shown; run the experiment again for new ones.",
                        UserWarning,
                    )

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Be the only run that writes; any end of the process releases the lock."""
        # SQLite locks a separate file, because the store itself must stay readable.
        with closing(sqlite3.connect(f"{self.path}-lock", timeout=0, isolation_level=None)) as lock:
            try:
                lock.execute("BEGIN EXCLUSIVE")
            except sqlite3.OperationalError as error:
                raise StoreError(f"{self.path} is in use by another run. Wait for it, or use another store.") from error
            yield

    def begin_run(self, facts: Mapping[str, Any]) -> int:
        """Store the facts of a run, and return its number."""
        with self._connection as write:
            number = write.execute("INSERT INTO runs (facts) VALUES (?)", [json.dumps(facts)]).lastrowid
        assert number is not None
        return number

    def note_start(self, cell: Cell, run: int) -> None:
        """Store that a cell has been started."""
        with self._connection as write:
            write.execute("INSERT INTO starts VALUES (?, ?, ?)", [cell.key, run, _now()])

    def add(self, cell: Cell, result: CellResult, data: DatasetFacts | None) -> None:
        """Write the result of a cell in one transaction; an earlier result of the same cell is replaced.

        Parameters
        ----------
        cell : Cell
        result : CellResult
        data : DatasetFacts or None
            Facts of its dataset, if that could be read.

        Raises
        ------
        StoreError
            If the store has the dataset with other values. Nothing is written then.
        """
        labels = None if result.labels is None else _pack(_smallest(result.labels))
        with self._connection as write:
            if data is not None:
                self._add_dataset(data)
            write.execute("DELETE FROM pictures WHERE key = ?", [cell.key])
            write.execute(
                "INSERT OR REPLACE INTO cells VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    cell.key,
                    cell.description,
                    result.run,
                    result.status,
                    result.reason,
                    result.seconds,
                    result.peak_bytes,
                    data and data.fingerprint,
                    labels,
                    _now(),
                ],
            )
            write.executemany(
                "INSERT INTO pictures VALUES (?, ?, ?)",
                [(cell.key, name, _pack(picture)) for name, picture in result.pictures.items()],
            )

    def _add_dataset(self, data: DatasetFacts) -> None:
        if not self.knows(data.name, data.fingerprint):
            unknown = np.empty((data.n_samples, 0))
            self._connection.execute(
                "INSERT INTO datasets VALUES (?, ?, ?, ?, ?)",
                [
                    data.name,
                    data.fingerprint,
                    json.dumps(data.views),
                    bool(data.sorted_by_class),
                    _pack(unknown if data.classes is None else _smallest(data.classes)),
                ],
            )

    def knows(self, dataset: str, fingerprint: str) -> bool:
        """Return whether there are results of a dataset.

        Raises
        ------
        StoreError
            If there are, but of other values.
        """
        known = self._connection.execute("SELECT fingerprint FROM datasets WHERE name = ?", [dataset]).fetchone()
        if known is not None and known[0] != fingerprint:
            raise StoreError(
                f"{dataset}: its values are not those that the results in {self.path} were found on (fingerprint "
                f"{fingerprint[:12]}, there {known[0][:12]}). Use another store, or restore the old data."
            )
        return known is not None

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Turn all errors about a damaged file into one: its values may be anything."""
        try:
            yield
        except Exception as error:
            raise StoreError(
                f"{self.path} is damaged, or was not written by manyview. ({type(error).__name__}: {error})"
            ) from error

    def results(self, keys: Iterable[str]) -> dict[str, CellResult]:
        """Return the results of these cells, by key; cells that have not been run are left out."""
        with self._reading():
            return self._results(list(keys))

    def _results(self, keys: list[str]) -> dict[str, CellResult]:
        found: dict[str, CellResult] = {}
        for some in _batches(keys):
            marks = ", ".join("?" * len(some))
            rows = self._connection.execute(
                f"SELECT key, status, reason, labels, seconds, peak_bytes, run FROM cells WHERE key IN ({marks})", some
            )
            for key, status, reason, labels, seconds, peak_bytes, run in rows:
                unpacked = None if labels is None else _unpack(labels)
                found[key] = CellResult(key, status, reason, unpacked, seconds, peak_bytes, run=run)
            pictures: dict[str, dict[str, np.ndarray]] = {}
            for key, name, picture in self._connection.execute(
                f"SELECT key, name, picture FROM pictures WHERE key IN ({marks}) ORDER BY rowid", some
            ):
                pictures.setdefault(key, {})[name] = _unpack(picture)
            found |= {key: replace(found[key], pictures=own) for key, own in pictures.items()}
        return found

    def cells(self) -> list[tuple[Cell, CellResult]]:
        """Return all cells with their results, in the order in which they ended; pictures are left out."""
        with self._reading():
            rows = self._connection.execute(
                "SELECT cell, key, status, reason, labels, seconds, peak_bytes, run FROM cells ORDER BY rowid"
            )
            found = []
            for cell, key, status, reason, labels, seconds, peak_bytes, run in rows:
                unpacked = None if labels is None else _unpack(labels)
                result = CellResult(key, status, reason, unpacked, seconds, peak_bytes, run=run)
                found.append((Cell(**json.loads(cell)), result))
            return found

    def datasets(self) -> dict[str, DatasetFacts]:
        """Return the facts of all datasets with results, by name."""
        with self._reading():
            rows = self._connection.execute("SELECT name, fingerprint, views, sorted_by_class, classes FROM datasets")
            return {row[0]: _dataset(*row) for row in rows}

    def runs(self) -> list[dict[str, Any]]:
        """Return the facts of all runs, from first to last."""
        with self._reading():
            rows = self._connection.execute("SELECT id, facts FROM runs ORDER BY id")
            return [{"id": number, **json.loads(facts)} for number, facts in rows]

    def starts(self) -> list[tuple[str, int, str]]:
        """Return key, run and time of every start of a cell, from first to last."""
        with self._reading():
            return self._connection.execute("SELECT key, run, started FROM starts ORDER BY rowid").fetchall()


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch to write-ahead logging. SQLite does not wait for this lock itself, which readers have for a moment."""
    give_up = time.monotonic() + _PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > give_up:
                raise
            time.sleep(0.05)
        else:
            return


def _connect(path: Path, create: bool) -> sqlite3.Connection:
    if not create:
        return _open_to_read(path)
    connection = sqlite3.connect(path, timeout=_PATIENCE)
    try:
        _check_kind(connection, path, may_be_empty=True)
        # readers do not wait for the writer, nor it for them; committed cells survive a power cut
        _write_ahead(connection)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        with connection as write:
            write.execute("BEGIN IMMEDIATE")  # two runs that start at once must not both create the tables
            if _application(connection) == 0:
                for statement in _TABLES.split(";"):
                    write.execute(statement)
                write.execute(f"PRAGMA application_id = {_APPLICATION}")
                write.execute(f"PRAGMA user_version = {_VERSION}")
    except BaseException:
        connection.close()
        raise
    return connection


def _open_to_read(path: Path) -> sqlite3.Connection:
    address = path.resolve().as_uri()
    # in a folder without write permission, SQLite only reads files that are declared immutable
    for options in ("mode=ro", "immutable=1"):
        connection = sqlite3.connect(f"{address}?{options}", uri=True, timeout=30)
        try:
            _check_kind(connection, path, may_be_empty=False)
            return connection
        except sqlite3.OperationalError as error:
            connection.close()
            failed = error
        except BaseException:
            connection.close()
            raise
    raise failed


def _application(connection: sqlite3.Connection) -> int:
    return connection.execute("PRAGMA application_id").fetchone()[0]


def _check_kind(connection: sqlite3.Connection, path: Path, may_be_empty: bool) -> None:
    empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    if _application(connection) != _APPLICATION and not (empty and may_be_empty):
        raise StoreError(f"{path} is not a store of experiments.")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > _VERSION:
        raise StoreError(
            f"{path} was made by a newer manyview: version {version} of the tables, not {_VERSION}. Update manyview."
        )
    # Views and generated columns are computed when they are read, which could take any time and memory.
    computed = connection.execute(
        "SELECT name FROM sqlite_master WHERE type IN ('view', 'trigger') OR sql LIKE 'CREATE VIRTUAL%' UNION "
        "SELECT m.name FROM sqlite_master AS m, pragma_table_xinfo(m.name) AS c WHERE m.type = 'table' AND c.hidden"
    ).fetchone()
    if computed is not None:
        raise StoreError(f"{path} is not a store of experiments: {computed[0]!r} is no table of values.")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _batches(keys: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(keys), _MAX_VARIABLES):
        yield keys[start : start + _MAX_VARIABLES]


def _dataset(name: str, fingerprint: str, views: str, sorted_by_class: int, classes: bytes) -> DatasetFacts:
    labels = _unpack(classes)
    known = labels.ndim == 1
    shapes = tuple((view, width) for view, width in json.loads(views))
    return DatasetFacts(
        name,
        fingerprint,
        len(labels),
        shapes,
        classes=labels if known else None,
        sorted_by_class=bool(sorted_by_class) if known else None,
    )


def _smallest(labels: np.ndarray) -> np.ndarray:
    """Return labels in the smallest type of integers that holds them."""
    high, low = int(labels.max(initial=0)), int(labels.min(initial=0))
    return labels.astype(np.promote_types(np.min_scalar_type(high), np.min_scalar_type(low)))


def _pack(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return zlib.compress(file.getvalue())


def _unpack(packed: bytes) -> np.ndarray:
    """Return the array, after counting its bytes: a short text can unpack to any number of bytes."""
    inflate, n_bytes, rest = zlib.decompressobj(), 0, packed
    while rest and not inflate.eof:
        n_bytes += len(inflate.decompress(rest, _CHUNK))
        rest = inflate.unconsumed_tail
        if n_bytes > _MAX_BYTES:
            raise ValueError(f"an array of more than {_MAX_BYTES:,} bytes")
    stream = io.BytesIO(zlib.decompress(packed))
    read_header(stream, n_bytes, "an array")
    stream.seek(0)
    return np.lib.format.read_array(stream, allow_pickle=False)
