"""No wrong answer in silence: rows of several tables are matched by the right ids, or the command asks."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pandas as pd
import pytest

from manyview.datasets import make_multiview


@pytest.fixture
def mice(tmp_path, monkeypatch):
    """Two tables with whole numbers as ids in front, sorted by class, the second one shuffled; and the classes."""
    monkeypatch.chdir(tmp_path)
    views = make_multiview(60, 3, noise=0.2, random_state=0)
    views = views.take(np.argsort(views.labels, kind="stable"))
    random = np.random.default_rng(0)
    ids = random.permutation(60) + 1
    for name, array in zip(("genes", "lipids"), views.arrays, strict=False):
        table = pd.DataFrame(array).add_prefix(name)
        table.insert(0, "mouse", ids)
        table.to_csv(f"{name}.csv", index=False)
        table.iloc[random.permutation(60)].to_csv(f"{name}-shuffled.csv", index=False)
        table.rename(columns={"mouse": f"no of {name}"}).to_csv(f"{name}-renamed.csv", index=False)
    pd.DataFrame({"mouse": ids, "diet": views.labels}).to_csv("diets.csv", index=False)
    return tmp_path


def answer(call, *words):
    result = call("cluster", *words, "-k", "3", "--set", "n_members=4")
    assert result.exit_code == 0, result.stderr
    labels = pd.read_csv("manyview-output/labels.csv", index_col="sample")["cluster"]
    return result.stdout, labels


@pytest.mark.parametrize("words", [(), ("--id", "mouse")])
def test_shuffled_rows_give_the_same_labels(call, mice, words):
    _, expected = answer(call, "genes.csv", "lipids.csv", "--id", "mouse")
    text, found = answer(call, "genes.csv", "lipids-shuffled.csv", *words)
    assert "matched by id `mouse`\n" in text
    assert found.to_dict() == expected.to_dict()


def test_where_the_answer_says_what_rows_were_matched_by(call, mice, valid):
    words = ("genes.csv", "lipids-shuffled.csv", "--labels", "diets.csv:diet")
    answer(call, *words)
    result = valid("result", (mice / "manyview-output" / "result.json").read_text())
    assert result["data"]["matched_by"] == "id `mouse`"
    assert result["scores"]["acc"] > 0.9
    assert "matched by id `mouse`" in (mice / "manyview-output" / "report.html").read_text()
    assert "matched by id `mouse`" in call("inspect", *words).stdout.splitlines()
    assert valid("inspection", call("inspect", *words, "--json").stdout)["matched_by"] == "id `mouse`"


def test_ids_of_different_names_are_asked_for_and_both_answers_work(call, mice):
    files = ("genes-renamed.csv", "lipids-renamed.csv")
    for command in (("inspect",), ("cluster", "-k", "3")):
        asked = call(*command, *files)
        assert (asked.exit_code, asked.stdout, asked.stderr.count("\n")) == (2, "", 1)
        assert "'no of genes' of genes-renamed.csv, 'no of lipids' of lipids-renamed.csv" in asked.stderr
        assert "--id" in asked.stderr
        assert "--no-id" in asked.stderr
    named = call("inspect", *files, "--id", "no of genes", "--id", "no of lipids")
    assert "matched by id `no of genes`, `no of lipids`" in named.stdout
    assert named.stdout.splitlines()[-1].endswith("--id 'no of genes' --id 'no of lipids' -k auto")
    position = call("inspect", *files, "--no-id", COLUMNS="200")
    assert "matched by position" in position.stdout.splitlines()
    assert position.stdout.splitlines()[-1].endswith("--no-id -k auto")
    assert "column 'no of genes': distinct whole numbers, nearly consecutive" in position.stdout


def test_one_table_is_asked_about_and_the_proposal_can_be_typed(call, mice):
    asked = call("inspect", "genes-renamed.csv", "--view-sizes", "2")
    assert asked.exit_code == 2
    assert "Pass --id 'no of genes' if it is the id, --no-id if it is a feature." in asked.stderr
    assert call("inspect", "genes-renamed.csv", "--view-sizes", "2", "--id", "no of genes").exit_code == 0


def test_either_an_id_or_none(call, mice):
    both = call("inspect", "genes.csv", "lipids.csv", "--id", "mouse", "--no-id")
    assert both.exit_code == 2
    assert "either --id or --no-id, not both" in both.stderr


def test_a_position_is_said(call, mice):
    random = np.random.default_rng(0)
    for name in ("a", "b"):
        pd.DataFrame(random.normal(size=(60, 3))).add_prefix(name).to_csv(f"{name}.csv", index=False)
    text, _ = answer(call, "a.csv", "b.csv")
    assert "matched by position\n" in text
    assert json.loads((mice / "manyview-output" / "result.json").read_text())["data"]["matched_by"] == "position"


@pytest.mark.parametrize("shuffled", [False, True])
def test_breast(call, data_file, tmp_path, monkeypatch, shuffled):
    monkeypatch.chdir(tmp_path)
    for name in ("mrna", "mirna", "protein", "clinical"):
        shutil.copyfile(data_file(f"omics/breast/{name}.csv"), f"{name}.csv")
    if shuffled:
        table = pd.read_csv("mirna.csv")
        table.sample(frac=1, random_state=0).to_csv("mirna.csv", index=False)
    files = ("mrna.csv", "mirna.csv", "protein.csv")
    text, _ = answer(call, *files, "--labels", "clinical.csv:subtype")
    assert "matched by id `patient`\n" in text
    result = json.loads((tmp_path / "manyview-output" / "result.json").read_text())
    assert result["data"]["n_samples"] == len(pd.read_csv("mrna.csv"))
    assert result["scores"]["acc"] > 0.6
