"""``manyview compare``: files of several formats, with fits in this process but for one test, as processes are slow."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.io
from jsonschema import Draft202012Validator
from rich.console import Console

import manyview.cli
import manyview.experiments
from manyview.cli._answer_tables import comparison_pieces
from manyview.cli._output import print_pieces
from manyview.cluster._registry import get_method
from manyview.datasets import make_multiview
from manyview.experiments import Outcome, Store, _worker
from manyview.metrics import accuracy

HOSTILE = "<script>alert(1)</script>[red]\x1b[2J"
SCHEMA = Path(manyview.cli.__file__).parent / "schemas" / "comparison.schema.json"


def views(labelled=True):
    made = make_multiview(45, 3, n_views=2, noise=0.1, random_state=0)
    return made if labelled else replace(made, labels=None)


@pytest.fixture
def mat(tmp_path):
    """Labelled views in one MATLAB file."""
    made = views()
    cell = np.empty((1, 2), dtype=object)
    cell[0, 0], cell[0, 1] = made.arrays
    scipy.io.savemat(tmp_path / "mine.mat", {"X": cell, "Y": made.labels[:, None]})
    return tmp_path / "mine.mat"


@pytest.fixture
def npz(tmp_path):
    """Views without classes."""
    np.savez(tmp_path / "unlabelled.npz", a=views().arrays[0], b=views().arrays[1])
    return tmp_path / "unlabelled.npz"


@pytest.fixture
def tables(tmp_path):
    """Two tables with ids and a hostile name, of which the second lacks the first three samples."""
    paths = []
    for name, array, first in zip((f"a{HOSTILE.replace('/', '')}", "b"), views().arrays, (0, 3), strict=True):
        table = pd.DataFrame(array, columns=[f"x{i}" for i in range(array.shape[1])])
        table.insert(0, "flower", [f"f{i}{HOSTILE if i == 1 else ''}" for i in range(45)])
        paths.append(tmp_path / f"{name}.csv")
        table[first:].to_csv(paths[-1], index=False)
    return paths


class Refusing:
    """A method that needs too much memory."""

    def __init__(self, n_clusters, random_state=None, n_jobs=None):
        pass

    def fit(self, views):
        raise MemoryError("MVGL needs about 38 GiB for 45 samples; 20 GiB are available.")


@pytest.fixture
def quick(monkeypatch):
    """Fits run in this process; what the runner was asked for is in the list that it gives."""
    calls = []
    refusing = SimpleNamespace(estimator=Refusing)
    monkeypatch.setattr(_worker, "get_method", lambda name: refusing if name == "MVGL" else get_method(name))
    monkeypatch.setattr(_worker, "_warm_up", lambda estimator: None)

    def run(spec, store, **options):
        calls.append(options)
        datasets, number = _worker.Datasets(), store.begin_run({**ENVIRONMENT, "workers": 1})
        known = store.results(cell.key for cell in spec.cells)
        for cell in spec.cells:
            if cell.key not in known:
                answer = _worker.execute(cell, datasets)
                store.add(cell, replace(answer.result, run=number), answer.data)
        return Outcome({}, 0, 0.0)

    monkeypatch.setattr(manyview.experiments, "run", run)
    return calls


ENVIRONMENT = {
    "started": "2026-01-02T03:04:05+00:00",
    "version": "0.1.0",
    "commit": None,
    "python": "3.12.3",
    "packages": {"numpy": "2.4.6"},
    "machine": "Linux",
    "cores": 2,
    "memory_bytes": 2**33,
}


def document(result):
    found = json.loads(result.stdout)
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(found)
    return found


def test_labelled_file_with_a_method_that_is_refused(call, quick, mat):
    words = ("compare", mat, "-k", "3", "--methods", "lmvsc,mvgl,sfmc", "--seeds", "2")
    result = call(*words)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "45 samples, 2 views, 3 clusters; 3 methods, 2 runs each" in " ".join(result.stdout.split())
    assert "Rows shuffled, in another order for each seed. Time and memory: one thread per" in result.stdout
    assert "Ordered by accuracy (ACC), best first." in result.stdout
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("SFMC") and "1.000±0.000" in line for line in lines)
    assert any(line.startswith("MVGL") and line.split()[1] == "memory" for line in lines)
    assert "MVGL (0 of 2 runs done): MVGL needs about 38 GiB for 45 samples" in " ".join(result.stdout.split())
    found = document(call(*words, "--json"))
    assert (found["data"]["n_classes"], found["data"]["sorted_by_class"]) == (3, False)
    assert [method["slug"] for method in found["methods"]][-1] == "mvgl"
    assert found["methods"][0]["scores"]["acc"] == {"mean": 1.0, "std": 0.0}
    wide = call(*words, COLUMNS="120").stdout
    assert "Purity" in wide
    assert "Purity" not in result.stdout
    found["methods"][0]["seconds"] = 754
    slow = Console(width=80, file=io.StringIO())
    print_pieces(comparison_pieces(found), slow)
    assert any("  12 min 34 s  " in line and len(line) <= 80 for line in slow.file.getvalue().splitlines())


def test_file_without_classes(call, quick, npz):
    result = call("compare", npz, "-k", "3", "--methods", "lmvsc,sfmc", "--seeds", "1")
    text = " ".join(result.stdout.split())
    assert "Ordered by agreement with the other methods, largest first." in text
    assert "agreement is no proof of truth" in text
    assert "ACC" not in text
    found = document(call("compare", npz, "-k", "4", "--methods", "lmvsc,sfmc", "--seeds", "2", "--json"))
    assert (found["criterion"], found["n_clusters"], found["data"]["n_classes"]) == ("agreement", 4, None)


@pytest.mark.parametrize("k", ["auto", "2:6"])
def test_the_number_of_clusters_is_chosen_once_for_all_methods(call, quick, mat, tmp_path, k):
    words = ("compare", mat, "-k", k, "--methods", "lmvsc,sfmc", "--seeds", "1")
    result = call(*words, "--json")
    found = document(result)
    chosen = found["suggestion"]["n_clusters"]
    assert result.stderr == f"manyview: -k {k} takes {chosen}. {found['suggestion']['reason']}\n"
    assert found["n_clusters"] == chosen
    assert [len(set(labels)) for labels in pairs(call(*words, "--out", tmp_path / "out"), tmp_path)] == [chosen] * 2
    assert f"-k {k}" in found["command"]
    text = " ".join(call(*words).stdout.split())
    assert f"2 views, {chosen} clusters" in text
    assert "The number of clusters was chosen by the data" in text
    assert "The number of clusters was chosen by the data" in (tmp_path / "out" / "report.html").read_text()


def pairs(result, tmp_path):
    """The labels that each method gave."""
    assert result.exit_code == 0, result.stderr
    table = pd.read_csv(tmp_path / "out" / "labels.csv")
    return [table[name] for name in ("LMVSC", "SFMC")]


def test_a_number_that_is_given_needs_no_reason(call, quick, mat):
    found = document(call("compare", mat, "-k", "3", "--methods", "sfmc", "--seeds", "1", "--json"))
    assert found["suggestion"] is None


@pytest.mark.parametrize("k", ["6:2", "1:5", "2:", "abc", "2:46"])
def test_a_range_that_cannot_be(call, quick, mat, k):
    result = call("compare", mat, "-k", k, "--methods", "sfmc")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("manyview: Invalid value for -k: ")
    assert quick == []


def test_tables_with_ids_and_missing_views_to_a_folder(call, quick, tables, tmp_path):
    out = tmp_path / "new" / "out"
    options = ("--id", "flower", "--join", "outer", "-k", "3", "--methods", "graph-ensemble", "--seeds", "1")
    result = call("compare", *tables, *options, "--out", out)
    assert result.exit_code == 0, result.stderr
    assert result.stderr.splitlines()[-1].endswith(f"comparison.json, comparison.csv, labels.csv, report.html to {out}")
    assert "\x1b" not in result.stdout
    assert sorted(path.name for path in out.iterdir()) == [
        *("comparison.csv", "comparison.json", "labels.csv", "report.html")
    ]
    found = json.loads((out / "comparison.json").read_text())
    assert [view["n_present"] for view in found["data"]["views"]] == [45, 42]
    with open(out / "labels.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    assert lines[1]["sample"] == f"f1{HOSTILE}"
    assert accuracy(views().labels, [int(line["GraphEnsemble"]) for line in lines]) > 0.9
    page = (out / "report.html").read_text()
    assert "alert(1)" in page
    assert "<script>alert" not in page


def test_one_table_cut_into_views(call, quick, tmp_path):
    np.save(tmp_path / "wide.npy", np.hstack(views().arrays))
    words = ("-k", "3", "--methods", "sfmc", "--seeds", "1", "--view-sizes", "10,10", "--json")
    found = document(call("compare", tmp_path / "wide.npy", *words))
    assert [view["n_features"] for view in found["data"]["views"]] == [10, 10]
    assert found["methods"][0]["runs_done"] == 1
    assert "--view-sizes 10,10" in found["command"]


def test_what_the_runner_is_asked_for(call, quick, npz):
    words = ("--methods", "sfmc", "--seeds", "1", "--time-limit", "60", "--workers", "2", "--retry")
    words += ("--memory-limit", "0.5")
    assert call("compare", npz, "-k", "3", *words).exit_code == 0
    asked = {name: value for name, value in quick[0].items() if name != "on_event"}
    limits = {"workers": 2, "time_limit": 60.0, "memory_limit": 0.5 * 2**30}
    assert asked == {**limits, "retry": True, "run_code": True, "read_first": False}


def test_a_store_keeps_the_fits_and_refuses_other_data(call, quick, npz, tmp_path, monkeypatch):
    store = tmp_path / "fits.sqlite"
    words = ("compare", npz, "-k", "3", "--methods", "sfmc,lmvsc", "--seeds", "1", "--store", store, "--json")
    first = document(call(*words))
    monkeypatch.setattr(_worker, "execute", None)  # nothing is left to fit
    again = document(call(*words))
    assert again["methods"] == first["methods"]
    np.savez(npz, a=views().arrays[0] + 1, b=views().arrays[1])
    result = call(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "unlabelled: its values are not those that the results in" in result.stderr


@pytest.mark.parametrize("with_store", [True, False])
def test_ctrl_c_says_what_is_kept(call, quick, npz, tmp_path, monkeypatch, with_store):
    def run(spec, store, **options):
        cell = spec.cells[0]
        answer = _worker.execute(cell, _worker.Datasets())
        store.add(cell, replace(answer.result, run=store.begin_run({})), answer.data)
        raise KeyboardInterrupt

    monkeypatch.setattr(manyview.experiments, "run", run)
    words = ["compare", npz, "-k", "3", "--methods", "sfmc", "--seeds", "2", "--out", tmp_path / "out"]
    store = tmp_path / "fits.sqlite"
    result = call(*words, *(["--store", store] if with_store else []))
    assert (result.exit_code, result.stdout) == (130, "")
    assert not (tmp_path / "out").exists()
    if with_store:
        assert f"stopped; 1 of 2 fits are kept in {store}. Go on with: manyview compare {npz} -k 3" in result.stderr
    else:
        assert "stopped; nothing is kept. With --store FILE, finished fits are" in result.stderr


def test_no_method_ends(call, quick, npz, tmp_path):
    result = call("compare", npz, "-k", "3", "--methods", "mvgl", "--seeds", "1", "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "MVGL needs about 38 GiB" in " ".join(result.stdout.split())
    assert "no method ended with clusters" in result.stderr
    assert (tmp_path / "out" / "labels.csv").read_text() == "sample\n"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("-k", "0"), "expected a whole number from 1 on, a range to choose from such as 2:60, or auto, got '0'"),
        (("-k", "46"), "46 clusters are more than there are samples, 45. Choose fewer."),
        (("-k", "3", "--methods", "sfmc,tgbl"), "there is no method 'tgbl'. Did you mean tbgl"),
        (("-k", "3", "--seeds", "0"), "Invalid value for '--seeds'"),
        (("-k", "3", "--view-sizes", "2"), "only for one table, but there are 2 views: a, b"),
        (("-k", "3", "--out", "{file}"), "is a file. Choose another folder."),
        (("-k", "3", "--out", "{file}/deeper"), "is a file. Choose another folder."),
        (("-k", "3", "--store", "{file}"), "cannot be opened as a store"),
        ((), "Missing option '-k' / '--clusters'"),
    ],
)
def test_bad_input_is_one_line(call, npz, words, text):
    result = call("compare", npz, *(word.format(file=npz) for word in words))
    assert (result.exit_code, result.stdout) == (2, "")
    assert text in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_bad_values_are_refused_before_any_process_starts(call, tmp_path, monkeypatch):
    monkeypatch.setattr(manyview.experiments, "run", None)
    bad = views().arrays[0].copy()
    bad[3, 1] = np.nan
    np.savez(tmp_path / "bad.npz", a=bad, b=views().arrays[1])
    result = call("compare", tmp_path / "bad.npz", "-k", "3")
    assert result.exit_code == 2
    assert "views['a']" in result.stderr
    missing = call("compare", tmp_path / "none.npz", "-k", "3")
    assert (missing.exit_code, len(missing.stderr.splitlines())) == (2, 1)


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission(call, npz, tmp_path):
    (tmp_path / "closed").mkdir(mode=0o500)
    result = call("compare", npz, "-k", "3", "--out", tmp_path / "closed" / "out")
    assert (result.exit_code, "is a folder that you may not write to" in result.stderr) == (2, True)


def test_processes_a_stop_and_the_rest(npz, tmp_path, call):
    store = tmp_path / "fits.sqlite"
    words = ["compare", npz, "-k", "3", "--methods", "sfmc,lmvsc", "--seeds", "30", "--workers", "1", "--store", store]
    env = {**os.environ, "PYTHONPATH": str(Path(manyview.__file__).parents[1])}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    # A suite that runs in the background is deaf to Ctrl-C, and what it starts would be, too.
    hearing = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    program = [sys.executable, "-c", f"{hearing}; from manyview.cli import main; main()", *map(str, words)]
    with subprocess.Popen(program, env=env, start_new_session=True, **pipes) as running:
        while running.poll() is None and _finished(store) < 2:  # the first seed of both
            time.sleep(0.05)
        os.killpg(running.pid, signal.SIGINT)
        output, errors = running.communicate(timeout=60)
    kept = _finished(store)
    assert (running.returncode, output) == (130, ""), errors
    assert f"stopped; {kept} of 60 fits are kept in {store}. Go on with: manyview compare" in errors
    assert kept < 60
    words[words.index("30")] = "1"
    found = document(call(*words, "--json"))
    assert [method["runs_done"] for method in found["methods"]] == [1, 1]
    assert all(method["seconds"] > 0 for method in found["methods"])


def _finished(path):
    try:
        with Store(path) as store:
            return len({key for key, *_ in store._connection.execute("SELECT key FROM cells")})
    except ValueError:
        return 0


def test_methods_after_a_space_are_not_taken_for_files(call, tmp_path):
    result = call("compare", tmp_path / "a.csv", "-k", 3, "--methods", "graph-ensemble", "snf", "clr")
    assert result.exit_code == 2
    assert "snf is a method, not a file" in result.stderr
    assert "--methods graph-ensemble,snf,clr" in result.stderr
