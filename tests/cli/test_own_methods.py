"""Commands with methods and data of the user's own, as typed; worker processes are real, and few."""

from __future__ import annotations

import json
import sys

import numpy as np
import pandas as pd
import pytest

from manyview.datasets import make_multiview

MINE = """
import numpy as np
from sklearn.cluster import KMeans

class Mine:
    def __init__(self, n_clusters, random_state=0, power=1.0):
        self.n_clusters, self.random_state, self.power = n_clusters, random_state, power

    def fit(self, views):
        print("working")
        table = np.hstack(views) ** self.power
        self.labels_ = KMeans(self.n_clusters, n_init=3, random_state=self.random_state).fit_predict(table)
        return self

def first_rows(views, k, seed):
    table = np.hstack(views)
    return ((table[:, None] - table[:k]) ** 2).sum(axis=2).argmin(axis=1)

def fails(views, k, seed):
    raise RuntimeError("not today")
"""
SPEC = """
kind = "table"
title = "Mine"
protocols = ["shuffled"]
seeds = 1
scores = ["acc", "nmi"]

[[row]]
name = "mine"
estimator = "mine:Mine"
parameters = { power = 1.0 }

[[dataset]]
name = "patients"
read = ["a.csv", "b.csv"]
id = "patient"
labels = "clinical.csv:subtype"
"""
READ = ("a.csv", "b.csv", "--id", "patient", "--labels", "clinical.csv:subtype", "-k", "3")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", sys.dont_write_bytecode)
    views = make_multiview(60, 3, n_views=2, noise=0.5, random_state=0)
    views = views.take(np.argsort(views.labels, kind="stable"))
    ids = [f"P{i:02}" for i in range(60)]
    for name, array in zip("ab", views.arrays, strict=True):
        table = pd.DataFrame(array, columns=[f"{name}{i}" for i in range(array.shape[1])])
        table.insert(0, "patient", ids)
        table.to_csv(f"{name}.csv", index=False)
    pd.DataFrame({"patient": ids, "subtype": views.labels}).to_csv("clinical.csv", index=False)
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "mine.toml").write_text(SPEC)
    yield tmp_path
    sys.modules.pop("mine", None)


def test_compare_with_a_method_of_ones_own(call, valid, folder):
    result = call("compare", *READ, "--methods", "mine:Mine,mine.py:fails", "--seeds", 1, "--out", "out", "--json")
    assert result.exit_code == 0, result.stderr
    mine, fails = valid("comparison", result.stdout)["methods"]
    assert (mine["name"], mine["slug"], mine["runs_done"]) == ("Mine", "mine:Mine", 1)
    assert mine["code"]["reference"] == "mine:Mine"
    assert (fails["name"], fails["status"]) == ("fails", {"failed": 1})
    assert fails["reason"] == "RuntimeError: not today (mine.py, line 20)"
    assert "a method of your own" in (folder / "out" / "report.html").read_text()
    assert pd.read_csv(folder / "out" / "labels.csv").columns.tolist() == ["sample", "Mine"]


@pytest.mark.parametrize(
    ("methods", "text"),
    [
        ("other:Mine", "other:Mine: there is no other.py in "),
        ("mine:Nine", "mine:Nine: mine.py has no 'Nine'. Did you mean Mine?"),
        ("mine", "there is no method 'mine'."),
    ],
)
def test_compare_with_a_method_that_is_not_there(call, methods, text):
    result = call("compare", *READ, "--methods", methods, "--seeds", 1)
    assert (result.exit_code, result.stdout) == (2, "")
    assert text in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_spec_with_code_needs_the_flag(call, folder):
    result = call("experiments", "run", "mine.toml")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines()[0] == "manyview: mine.toml: 1 cells, results go to mine.sqlite"
    assert "mine: the row 'mine' runs code, mine:Mine, found in" in result.stderr
    assert "--run-code" in result.stderr


def test_run_show_report_and_export_with_the_default_store(call, folder):
    assert call("experiments", "run", "mine.toml", "--run-code").exit_code == 0
    assert (folder / "mine.sqlite").exists()
    shown = call("experiments", "show", "mine.toml")
    assert shown.exit_code == 0
    assert "1 cells: 1 done" in shown.stdout
    assert call("experiments", "report", "mine.toml", "--out", "mine.html").exit_code == 0
    page = (folder / "mine.html").read_text()
    assert "mine:Mine" in page
    assert "manyview experiments run mine.toml --store mine.sqlite --run-code" in page
    exported = call("experiments", "export", "mine.toml", "--format", "csv")
    assert "patients,mine" in exported.stdout
    (folder / "mine.py").write_text(MINE + "# changed\n")
    assert "1 cells: 1 not run yet" in call("experiments", "show", "mine.toml").stdout


def test_data_that_cannot_be_read_is_exit_code_2(call, folder):
    (folder / "b.csv").unlink()
    result = call("experiments", "run", "mine.toml", "--run-code")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "nothing was run. dataset 'patients': dataset not found: there is no file b.csv." in result.stderr


def test_audit_of_a_method_of_ones_own(call, folder):
    words = ("--questions", "order", "--shuffles", "2", "--fail", "--out", "audit", "--json")
    result = call("audit", *READ, "--method", "mine:first_rows", *words)
    assert result.exit_code == 3, result.stderr
    found = json.loads(result.stdout)
    assert (found["method"]["name"], found["audits"][0]["passed"]) == ("first_rows", False)
    assert "first_rows depends strongly on the order of the rows" in (folder / "audit" / "report.html").read_text()
    result = call("audit", *READ, "--method", "mine:Mine", "--set", "power=1", *words[:4])
    assert result.exit_code == 0
    assert "No problems found. The groups that Mine finds" in " ".join(result.stdout.split())


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--set", "pwer=1"), "mine:Mine has no parameter 'pwer'. Did you mean power?"),
        (("--scale", "max"), "mine:Mine scales views itself. Leave --scale out."),
    ],
)
def test_audit_with_options_that_it_does_not_have(call, words, text):
    result = call("audit", *READ, "--method", "mine:Mine", *words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert text in result.stderr


def test_an_error_in_an_audit_is_one_line(call):
    result = call("audit", *READ, "--method", "mine:fails", "--questions", "order")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines()[-1].startswith("manyview: mine:fails failed: RuntimeError: not today (mine.py, ")


def test_cluster_says_where_such_methods_go(call):
    result = call("cluster", "a.csv", "b.csv", "-k", "3", "--method", "mine:Mine", "--out", "x")
    assert result.exit_code == 2
    assert "'mine:Mine' is a method of your own. manyview compare, audit and experiments take these" in result.stderr
