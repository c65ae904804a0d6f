"""Missing cells, text columns and columns to leave out, from the command line."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from manyview.cli._options import Decimal, Impute, Source
from manyview.datasets import make_multiview


@pytest.fixture
def patients(tmp_path, monkeypatch):
    """Two tables of 60 patients: one with a batch and two empty cells, one with decimal commas."""
    monkeypatch.chdir(tmp_path)
    views = make_multiview(60, 3, noise=0.2, random_state=0)
    names = pd.Index([f"p{i}" for i in range(60)], name="patient")
    rna = pd.DataFrame(views.arrays[0], names).add_prefix("g")
    rna.iloc[[4, 7], [2, 3]] = np.nan
    rna.insert(0, "batch", np.where(np.arange(60) % 2, "one", "two"))
    rna.to_csv("rna.csv")
    pd.DataFrame(views.arrays[1], names).add_prefix("m").to_csv("meth.csv", sep=";", decimal=",")
    return tmp_path


def test_every_error_leads_to_the_next_command(call, patients, monkeypatch):
    words = ["cluster", "rna.csv", "meth.csv", "-k", "3", "--set", "n_members=4", "--out", "out"]
    text = call(*words).stderr
    assert "rna.csv: expected numbers, but 1 column(s) hold something else: 'batch'" in text
    assert "Leave it out with --drop batch, encode it with --one-hot batch" in text
    words += ["--drop", "batch"]
    monkeypatch.setattr("sys.argv", ["manyview", *words])
    text = call(*words).stderr
    assert "rna.csv: views['rna']: contains NaN, first at row 4 (sample 'p4'), column 2 ('g2'); 4 of 600" in text
    following = text.strip().partition("Go on with: ")[2]
    assert following == f"manyview {shlex.join(words)} --impute median"
    done = call(*shlex.split(following)[1:])
    assert done.exit_code == 0, done.stderr
    assert "rna.csv: left out 1 column: 'batch'" in done.stdout
    assert "imputed 4 missing cells by the median of the column: rna 4" in done.stdout
    data = json.loads(Path("out/result.json").read_text())["data"]
    assert data["filled"] == {"rna": 4}
    assert data["reading"] == {"drop": "batch", "impute": "median"}
    page = Path("out/report.html").read_text()
    assert "imputed 4 missing cells by the median of the column: rna 4" in page


def test_a_clinical_table_among_the_views_is_recognised(call, patients):
    clinical = pd.DataFrame({"age": 50, "sex": ["f", "m"] * 30, "stage": ["I", "II", "III"] * 20})
    clinical.index = pd.Index([f"p{i}" for i in range(60)], name="patient")
    clinical.to_csv("clinical.csv")
    words = ["cluster", "rna.csv", "meth.csv", "--drop", "batch", "--impute", "mean", "-k", "3", "--no-report"]
    text = call(*words[:2], "clinical.csv", *words[2:]).stderr
    assert "2 column(s) hold something else: 'sex', 'stage'" in text
    assert "Leave them out with --drop sex --drop stage, encode categories with --one-hot sex, or pass --id" in text
    assert text.strip().endswith("it is not a view: leave it out, or cluster with --metadata clinical.csv.")
    done = call(*words, "--set", "n_members=4", "--metadata", "clinical.csv")
    assert done.exit_code == 0, done.stderr


def test_inspect_offers_to_impute(call, patients, valid):
    asked = call("inspect", "rna.csv", "meth.csv", "--one-hot", "batch", "--json")
    found = valid("inspection", asked.stdout)
    assert found["notes"] == ["rna.csv: 'batch' became 2 columns, one for each of its values"]
    assert found["next"].endswith("--one-hot batch -k auto --impute median")
    assert asked.exit_code == 2
    filled = call("inspect", "rna.csv", "meth.csv", "--one-hot", "batch", "--impute", "knn", "--json")
    assert valid("inspection", filled.stdout)["filled"] == {"rna": 4}
    assert filled.exit_code == 0


def test_words_and_arguments_say_the_same():
    source = Source(
        [Path("a.csv")],
        drop=["x", "y*"],
        only=["g*"],
        one_hot=["batch"],
        impute=Impute.KNN,
        decimal=Decimal.COMMA,
        encoding="cp1252",
    )
    assert source.options == {
        "drop": ["x", "y*"],
        "only": "g*",
        "one_hot": "batch",
        "impute": "knn",
        "decimal": ",",
        "encoding": "cp1252",
    }
    said = "a.csv --drop x --drop y* --only g* --one-hot batch --impute knn --decimal , --encoding cp1252"
    assert source.words == said.split()
