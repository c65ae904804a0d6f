"""The commands with the library that they are for, as processes: run, stop, go on, look."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

import manyview
from manyview.exceptions import StoreError
from manyview.experiments import Store, load_spec

SPEC = """
kind = "table"
title = "One method on generated data"
scores = ["acc", "nmi"]
protocols = ["file-order", "shuffled"]
seeds = 100

[[row]]
name = "[red]TBGL"
estimator = "TBGL"

[[dataset]]
name = "generated"
[dataset.generate]
n_samples = 60
n_clusters = 3
random_state = 0
"""


def start(*words, **options):
    root = os.path.dirname(os.path.dirname(manyview.__file__))
    env = {**os.environ, "PYTHONPATH": root, "COLUMNS": "100"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-m", "manyview", "experiments", *words], env=env, **pipes, **options)


def finished_cells(path, keys):
    try:
        with Store(path) as store:
            return len(store.results(keys))
    except StoreError:
        return 0


@pytest.mark.slow
def test_stop_go_on_and_look(tmp_path, call):
    spec, store, out = (str(tmp_path / name) for name in ("mine.toml", "mine.sqlite", "report.html"))
    (tmp_path / "mine.toml").write_text(SPEC)
    keys = [cell.key for cell in load_spec(spec).cells]

    with start("run", spec, "--store", store, "--workers", "1") as running:
        while running.poll() is None and not finished_cells(store, keys):
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        printed, said = running.communicate(timeout=60)
    assert (running.returncode, printed) == (130, "")
    assert said.splitlines()[-1].endswith(f"Go on with: manyview experiments run {spec} --store {store}")
    assert "Traceback" not in said
    before = finished_cells(store, keys)
    assert 0 < before < len(keys)

    few = ("--seeds", "3")
    with start("run", spec, "--store", store, "--workers", "1", *few) as running:
        printed, said = running.communicate(timeout=120)
    assert (running.returncode, printed) == (0, "")
    assert "4 of 4 cells done, none failed" in said  # in file order one seed is enough

    shown = call("experiments", "show", spec, "--store", store, *few)
    assert shown.exit_code == 0
    assert "generated: acc, nmi, mean±deviation of up to 3 runs by order of rows" in shown.stdout
    assert "[red]TBGL" in shown.stdout
    assert "waiting" not in shown.stdout
    assert json.loads(call("experiments", "show", spec, "--store", store, "--json").stdout)["cells"]["waiting"] > 0
    assert call("experiments", "report", spec, "--store", store, "--out", out).stdout == f"{out}\n"
    assert (tmp_path / "report.html").read_text(encoding="utf-8").rstrip().endswith("</html>")
    for format in ("csv", "latex", "markdown"):
        exported = call("experiments", "export", spec, "--store", store, "--format", format, *few)
        assert exported.exit_code == 0
        assert "generated" in exported.stdout


def test_bundled_specs_are_listed(call):
    found = {spec["name"]: spec for spec in json.loads(call("experiments", "list", "--json").stdout)}
    assert {"quick", "paper"} <= set(found)
    assert found["quick"]["absent"] == {}


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["show", "quick", "--store", "gone.sqlite"], "no store at gone.sqlite"),
        (["show", "quick", "--store", "."], "is a folder"),
        (["run", "quack", "--store", "x.sqlite"], "no spec called 'quack'"),
        (["run", "gone.toml", "--store", "x.sqlite"], "gone.toml"),
    ],
)
def test_bad_input(call, tmp_path, monkeypatch, words, text):
    monkeypatch.chdir(tmp_path)
    result = call("experiments", *words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert text in result.stderr
    assert result.stderr.count("\n") == 1
    assert os.listdir(tmp_path) == []
