"""What is typed with ``--labels``: clinical tables that are not complete, and what the output says about that."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from manyview.datasets import make_multiview

FEW = ("--set", "n_members=4")
TABLES = ("mrna.csv", "mirna.csv")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Two tables of 60 patients, and a clinical table with two more, two empty cells and ids of another name."""
    monkeypatch.chdir(tmp_path)
    views = make_multiview(60, 3, n_views=2, noise=0.2, random_state=0)
    ids = pd.Index([f"P{i}" for i in range(60)], name="patient")
    for name, values in zip(TABLES, views.arrays, strict=True):
        pd.DataFrame(values, ids).add_prefix("x").to_csv(name)
    kinds = np.array(["Basal", "Her2", "LumA"], dtype=object)[views.labels]
    whole = pd.DataFrame({"subtype": kinds, "stage": np.arange(60) % 4}, ids)
    whole.to_csv("clinical.csv")
    some = whole.astype(object)
    some.loc[["P3", "P40"], "subtype"] = None
    some.loc["P5":"P24", "stage"] = None
    some.loc["Q1"], some.loc["Q2"] = ["Basal", 1], ["LumA", 2]
    some.sample(frac=1, random_state=0).to_csv("partial.csv", index_label="barcode")


def cluster(call, *words):
    result = call("cluster", *TABLES, "-k", 3, *FEW, "--out", "o", *words)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


@pytest.mark.parametrize("join", ["exact", "inner", "outer"])
def test_a_partial_table_changes_the_scores_only(call, valid, join):
    whole = valid("result", cluster(call, "--labels", "clinical.csv:subtype", "--no-report", "--json"))
    clusters = pd.read_csv("o/labels.csv").drop(columns="subtype")
    words = ["--labels", "partial.csv:subtype", "--join", join, "--no-report", "--json"]
    found = valid("result", cluster(call, *words))
    pd.testing.assert_frame_equal(pd.read_csv("o/labels.csv").drop(columns="subtype"), clusters)
    assert (whole["data"]["n_labelled"], found["data"]["n_labelled"]) == (60, 58)
    assert (found["data"]["n_samples"], found["data"]["n_classes"]) == (60, 3)
    own = pd.read_csv("o/labels.csv", index_col="sample")["cluster"]
    known = pd.read_csv("partial.csv", index_col="barcode")["subtype"].dropna().reindex(own.index).dropna()
    matched = pd.crosstab(known, own[known.index]).max(axis=1).sum()  # as each class has its cluster here
    assert found["scores"]["acc"] == pytest.approx(matched / 58)


def test_the_output_says_on_how_many_samples(call):
    assert "scores on" not in cluster(call, "--labels", "clinical.csv:subtype", "--no-report")
    text = cluster(call, "--labels", "partial.csv:subtype")
    assert "against the 3 known classes, rows as given; scores on 58 of 60 samples that have a label:" in " ".join(
        text.split()
    )
    page = Path("o/report.html").read_text()
    assert "Scores on 58 of 60 samples that have a label." in page
    assert "of 58 of the 60 samples" in page
    cluster(call, "--labels", "clinical.csv:subtype")
    assert "samples that have a label" not in Path("o/report.html").read_text()


def test_several_columns_and_the_id_of_the_labels(call, valid):
    words = ["--id", "patient", "--labels", "partial.csv:stage@barcode", "--labels", "partial.csv:subtype@barcode"]
    found = valid("result", cluster(call, *words, "--no-report", "--json"))
    assert (found["data"]["n_labelled"], found["data"]["n_classes"]) == (40, 4)
    assert found["data"]["reading"]["labels"] == ["partial.csv:stage@barcode", "partial.csv:subtype@barcode"]
    assert "--labels partial.csv:stage@barcode --labels partial.csv:subtype@barcode" in found["command"]


def test_inspect_audit_and_compare(call, valid):
    said = valid("inspection", call("inspect", *TABLES, "--labels", "partial.csv:subtype", "--json").stdout)
    assert (said["labels"]["n_classes"], said["labels"]["n_missing"]) == (3, 2)
    asked = ("audit", *TABLES, "-k", 3, *FEW, "--labels", "partial.csv:subtype", "--questions", "seeds", "--seeds", 1)
    audited = valid("audit", call(*asked, "--json").stdout)
    assert audited["data"]["n_labelled"] == 58
    assert audited["audits"][0]["accuracy"][0] > 0.9
    assert "Accuracy: scores on 58 of 60 samples that have a label." in call(*asked).stdout
    words = ("compare", *TABLES, "-k", 3, "--labels", "partial.csv:subtype", "--methods", "lmvsc", "--seeds", 1)
    compared = valid("comparison", call(*words, "--store", "s.sqlite", "--json").stdout)
    assert compared["data"]["n_labelled"] == 58
    assert compared["methods"][0]["scores"]["acc"]["mean"] > 0.9
    assert "Scores on 58 of 60 samples that have a label." in call(*words, "--store", "s.sqlite").stdout


@pytest.mark.parametrize(
    ("labels", "text"),
    [
        ("partial.csv", "Name it: --labels partial.csv:COLUMN, or --labels partial.csv:COLUMN@ID if"),
        ("partial.csv:subtipe", "partial.csv: has no column 'subtipe' besides the ids. It has the columns 'barcode', "),
        ("partial.csv:subtype@patient", "partial.csv: has no column 'patient', which is named after the @"),
        ("gone.csv:subtype", "gone.csv: no such file."),
        ("foreign.csv:subtype", "Ids here: TCGA-1, TCGA-2; there: P0, P1, P2, .... If another column holds the ids"),
        ("lines.txt", "lines.txt: 59 labels, but the views have 60 samples."),
    ],
)
def test_what_is_refused_is_one_line(call, labels, text):
    Path("foreign.csv").write_text("patient,subtype\nTCGA-1,x\nTCGA-2,y\n")
    Path("lines.txt").write_text("x\n" * 59)
    result = call("cluster", *TABLES, "-k", 3, "--labels", labels)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    assert text in result.stderr


def test_compressed_tables(call, valid):
    for name in TABLES:
        Path(f"{name}.gz").write_bytes(gzip.compress(Path(name).read_bytes()))
    Path("clinical.tsv.gz").write_bytes(gzip.compress(Path("clinical.csv").read_bytes().replace(b",", b"\t")))
    plain = valid("result", cluster(call, "--labels", "clinical.csv:subtype", "--no-report", "--json"))
    words = ("cluster", "mrna.csv.gz", "mirna.csv.gz", "-k", 3, *FEW, "--out", "z", "--no-report", "--json")
    found = valid("result", call(*words, "--labels", "clinical.tsv.gz:subtype").stdout)
    assert found["data"]["views"] == plain["data"]["views"]
    assert found["data"]["sha256"] == plain["data"]["sha256"]
    assert json.dumps(found["clusters"]) == json.dumps(plain["clusters"])


def test_help_lists_the_formats(call):
    text = " ".join(call("cluster", "--help", COLUMNS="500").stdout.split())
    assert ".csv, .tsv, .tab, .txt (these four also as .gz, .bz2, .xz or .zst)" in text
    assert "FILE[:COLUMN[@ID]]" in text
