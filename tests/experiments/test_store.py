from __future__ import annotations

import sqlite3
import subprocess
import sys
import zlib
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from manyview.exceptions import StoreError
from manyview.experiments._model import ABSENT, DONE, Cell, CellResult, DatasetFacts
from manyview.experiments._outcomes import Outcomes
from manyview.experiments.store import Store, _write_ahead

CELL = Cell("blobs", {"generate": {"n_samples": 6}}, "TBGL", {"p": 0.5}, "shuffled", 3)
FACTS = DatasetFacts("blobs", "f" * 64, 6, (("a", 4), ("b", 2)), np.array([0, 0, 1, 1, 2, 2]), True)
LABELS = np.array([0, 1, 2, 2, 1, 300])
PICTURES = {"a": np.eye(3, dtype=np.float32), "learned": np.ones((2, 5))}
RESULT = CellResult(CELL.key, DONE, "", LABELS, 1.5, 1000, PICTURES, 1)


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "results.db", create=True) as store:
        store.begin_run({"version": "1"})
        yield store


def check_same(found: CellResult, expected: CellResult) -> None:
    for name in ("key", "status", "reason", "seconds", "peak_bytes", "run"):
        assert getattr(found, name) == getattr(expected, name)
    np.testing.assert_array_equal(found.labels, expected.labels)
    assert list(found.pictures) == list(expected.pictures)
    for name, picture in expected.pictures.items():
        np.testing.assert_array_equal(found.pictures[name], picture)


def test_what_was_written_comes_back(store):
    store.add(CELL, RESULT, FACTS)
    with Store(store.path) as reader:  # while the writer is open
        check_same(reader.results([CELL.key, "another"])[CELL.key], RESULT)
        found = reader.datasets()["blobs"]
        assert reader.runs() == [{"id": 1, "version": "1"}]
    assert (found.fingerprint, found.n_samples, found.views) == (FACTS.fingerprint, 6, FACTS.views)
    assert found.sorted_by_class
    np.testing.assert_array_equal(found.classes, FACTS.classes)


def test_a_later_end_of_a_cell_takes_the_place_of_the_earlier(store):
    store.add(CELL, CellResult(CELL.key, ABSENT, "not there", run=1), None)
    assert store.results([CELL.key])[CELL.key].labels is None
    store.add(CELL, RESULT, FACTS)
    store.add(CELL, RESULT, FACTS)
    check_same(store.results([CELL.key])[CELL.key], RESULT)


def test_scores_are_those_of_the_samples_that_have_a_class(store):
    classes = np.array([0, 0, -1, 1, 1, 200])
    store.add(CELL, replace(RESULT, labels=np.array([3, 3, 3, 4, 4, 5])), replace(FACTS, classes=classes))
    assert store.datasets()["blobs"].classes.tolist() == classes.tolist()
    assert Outcomes(store.results([CELL.key]), store.datasets()).scores(CELL)["acc"] == 1


def test_a_dataset_without_classes(store):
    store.add(CELL, RESULT, replace(FACTS, classes=None, sorted_by_class=None))
    found = store.datasets()["blobs"]
    assert (found.n_samples, found.classes, found.sorted_by_class) == (6, None, None)


def test_whether_a_dataset_is_known(store):
    assert not store.knows("blobs", FACTS.fingerprint)
    store.add(CELL, RESULT, FACTS)
    assert store.knows("blobs", FACTS.fingerprint)
    with pytest.raises(StoreError, match=r"blobs: its values are not those that the results in .* were found on"):
        store.knows("blobs", "0" * 64)


def test_cells_of_old_stores_are_found_again():
    cell = Cell("mine", {"read": "mine.npz"}, "TBGL", {"p": 0.5}, "shuffled", 3)
    assert cell.key == "87d9229190e5e8a121354239d348a8b2"


def test_many_keys(store):
    cells = [Cell("blobs", {}, "TBGL", seed=seed) for seed in range(1200)]
    for cell in cells[::100]:
        store.add(cell, CellResult(cell.key, DONE, labels=LABELS, run=1), FACTS)
    assert set(store.results(cell.key for cell in cells)) == {cell.key for cell in cells[::100]}


def test_data_that_have_changed_are_refused_and_nothing_is_written(store):
    store.add(CELL, RESULT, FACTS)
    other = DatasetFacts("blobs", "e" * 64, 6, FACTS.views, FACTS.classes, True)
    cell = Cell("blobs", {}, "CLR")
    with pytest.raises(StoreError, match=r"blobs: its values are not those .* \(fingerprint eeee"):
        store.add(cell, CellResult(cell.key, DONE, labels=LABELS, run=1), other)
    assert store.results([cell.key]) == {}


def test_only_one_run_at_a_time(store):
    with store.locked(), Store(store.path, create=True) as second:
        with pytest.raises(StoreError, match="in use by another run"), second.locked():
            pass
        assert second.results([]) == {}
    with store.locked():  # given back
        pass


def test_a_run_that_was_killed_gives_the_lock_back(tmp_path):
    path = tmp_path / "results.db"
    code = (
        "import os, signal, sys\nfrom manyview.experiments.store import Store\n"
        "with Store(sys.argv[1], create=True) as store, store.locked():\n    os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", code, path], check=False).returncode == -9
    with Store(path, create=True) as store, store.locked():
        assert store.runs() == []


def test_a_store_in_a_folder_that_cannot_be_written_to_can_be_read(store):
    store.add(CELL, RESULT, FACTS)
    store.close()
    folder = store.path.parent
    folder.chmod(0o500)
    try:
        with Store(store.path) as reader:
            check_same(reader.results([CELL.key])[CELL.key], RESULT)
    finally:
        folder.chmod(0o700)


def test_files_that_are_no_store(tmp_path):
    with pytest.raises(StoreError, match=r"no store at .*none\.db\. To make one: manyview experiments run"):
        Store(tmp_path / "none.db")
    with pytest.raises(StoreError, match="is a folder"):
        Store(tmp_path, create=True)
    (tmp_path / "text.db").write_text("dear diary, " * 100)
    for create in (True, False):
        with pytest.raises(StoreError, match=r"text\.db cannot be opened as a store: file is not a database"):
            Store(tmp_path / "text.db", create=create)
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("CREATE TABLE plants (name)")
    for create in (True, False):
        with pytest.raises(StoreError, match=r"other\.db is not a store of experiments"):
            Store(tmp_path / "other.db", create=create)
    with pytest.raises(StoreError, match="cannot be opened as a store"):
        Store(tmp_path / "no folder" / "a.db", create=True)
    assert not (tmp_path / "no folder").exists()


def test_a_store_of_a_newer_edition(store):
    store.close()
    with sqlite3.connect(store.path) as newer:
        newer.execute("PRAGMA user_version = 7")
    with pytest.raises(StoreError, match="newer manyview: version 7"):
        Store(store.path)


@pytest.fixture
def spoilt(tmp_path):
    """A function: a store after some SQL."""

    def spoil(*statements, values=()):
        path = tmp_path / "spoilt.db"
        Store(path, create=True).close()
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            for statement in statements:
                connection.execute(statement, values if "?" in statement else ())
        return path

    return spoil


def test_a_store_that_computes_is_refused(spoilt):
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS id, '{}' AS facts FROM n"
    path = spoilt("DROP TABLE runs", f"CREATE VIEW runs AS {endless}")
    with pytest.raises(StoreError, match=r"spoilt\.db is not a store of experiments: 'runs' is no table of values"):
        Store(path)


def test_a_column_that_computes_is_refused(spoilt):
    path = spoilt("DROP TABLE runs", "CREATE TABLE runs (id INTEGER PRIMARY KEY, facts AS (hex(zeroblob(9))))")
    with pytest.raises(StoreError, match=r"'runs' is no table of values"):
        Store(path)


@pytest.mark.parametrize("packed", [b"not packed", zlib.compress(b"no array"), zlib.compress(bytes(2**29), 1)])
def test_an_array_that_is_none(spoilt, packed):
    path = spoilt("INSERT INTO datasets VALUES ('a', 'b', '[]', 1, ?)", values=(packed,))
    with (
        Store(path) as store,
        pytest.raises(StoreError, match=r"spoilt\.db is damaged, or was not written by manyview"),
    ):
        store.datasets()


def test_facts_that_are_no_json(spoilt):
    with Store(spoilt("INSERT INTO runs (facts) VALUES ('{')")) as store, pytest.raises(StoreError, match="is damaged"):
        store.runs()


def test_results_under_a_former_name_are_mentioned(store):
    cell = replace(CELL, estimator="InvariantTBGL")
    store.add(cell, replace(RESULT, key=cell.key), FACTS)
    with pytest.warns(UserWarning, match="holds 1 result.s. of InvariantTBGL, which is called GraphEnsemble now"):
        Store(store.path).close()


def test_a_store_that_another_process_closes_is_waited_for(monkeypatch):
    """The last one that closes a store locks it for a moment, and SQLite then refuses without waiting."""

    class Locked:
        refusals = 2

        def execute(self, statement):
            self.refusals -= 1
            if self.refusals >= 0:
                raise sqlite3.OperationalError("database is locked")

    connection = Locked()
    _write_ahead(connection)
    assert connection.refusals == -1
    monkeypatch.setattr("manyview.experiments.store._PATIENCE", 0)
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        _write_ahead(Locked())
