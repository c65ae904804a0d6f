"""Tables with genes in rows, as users have them, from the command line."""

from __future__ import annotations

import gzip
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from manyview._utils.formats import extension_of
from manyview.cli._options import Source
from manyview.datasets import make_multiview
from manyview.io._files import READERS


@pytest.fixture
def cells(tmp_path, monkeypatch):
    """Genes and antibodies in rows, cells in columns in different orders; barcodes with a dot in one file."""
    monkeypatch.chdir(tmp_path)
    views = make_multiview(60, 3, noise=0.2, random_state=0)
    random = np.random.default_rng(0)
    codes = np.array(["".join(random.choice(list("ACGT"), 16)) for _ in range(60)])
    order = random.permutation(60)
    genes = pd.Index([f"ENSG000001415{i:02d}" for i in range(10)], name="gene_id")
    proteins = pd.Index([f"CD{i}" for i in range(10)], name="feature")
    pd.DataFrame(views.arrays[0].T, genes, [f"{code}.1" for code in codes]).to_csv("rna.tsv", sep="\t")
    pd.DataFrame(views.arrays[1].T[:, order], proteins, [f"{code}-1" for code in codes[order]]).to_csv("adt.csv")
    pd.DataFrame({"cell": [f"{code}-1" for code in codes], "type": views.labels}).to_csv("types.csv", index=False)
    return tmp_path


def test_inspect_asks_the_right_question_and_its_answer_works(call, cells, valid):
    asked = call("inspect", "rna.tsv", "adt.csv")
    assert (asked.exit_code, asked.stdout, asked.stderr.count("\n")) == (2, "", 1)
    assert "60 of these ids match" in asked.stderr
    assert "pass --match-ids loose if these are the same samples" in asked.stderr
    answered = call("inspect", "rna.tsv", "adt.csv", "--match-ids", "loose", "--labels", "types.csv:type")
    assert (answered.exit_code, answered.stderr) == (0, "")
    lines = answered.stdout.splitlines()
    assert "60 samples" in lines[0]
    assert "features were in rows: transposed rna.tsv, adt.csv" in lines
    following = shlex.split(lines[-1].removeprefix("Next: manyview "))
    done = call(*following, "--set", "n_members=4", "--json")
    assert done.exit_code == 0
    result = valid("result", done.stdout)
    assert (result["data"]["n_samples"], result["data"]["transposed"]) == (60, ["rna.tsv", "adt.csv"])
    assert result["scores"]["acc"] > 0.9


def test_transpose_all_or_one_or_none(call, cells):
    table = pd.read_csv("adt.csv", index_col=0)
    table.columns = [f"q{i}z" for i in range(60)]
    table.set_axis(list("abcdefghij")).to_csv("a.csv")
    table.set_axis(list("klmnopqrst")).to_csv("b.csv")
    table.T.set_axis(list("klmnopqrst"), axis=1).rename_axis("w").to_csv("c.csv")
    asked = call("inspect", "a.csv", "b.csv")
    assert asked.exit_code == 2
    assert "Pass --transpose if features are in rows, --no-transpose if samples are." in asked.stderr
    both = call("inspect", "a.csv", "b.csv", "--transpose")
    assert "features were in rows: transposed a.csv, b.csv" in both.stdout
    assert both.stdout.splitlines()[-1] == "Next: manyview cluster a.csv b.csv --transpose -k auto"
    assert call("inspect", "a.csv", "b.csv", "--transpose", "--json").exit_code == 0
    each = call("inspect", "a.csv", "b.csv", "--transpose", "a.csv", "--transpose", "b.csv")
    assert each.stdout.splitlines()[:3] == both.stdout.splitlines()[:3]
    one = call("inspect", "a.csv", "c.csv", "--transpose", "a.csv")
    assert "features were in rows: transposed a.csv" in one.stdout.splitlines()
    assert one.stdout.splitlines()[-1].endswith("a.csv c.csv --transpose a.csv -k auto")
    refused = call("inspect", "--transpose", "a.csv", "b.csv")  # which takes the first file for the value
    assert refused.exit_code == 2
    assert "'a.csv' is none of the files, which are b.csv" in refused.stderr
    assert "either --transpose or --no-transpose" in call("inspect", "a.csv", "--transpose", "--no-transpose").stderr


def test_words_ask_for_the_same():
    given = Source([Path("a.csv")], transpose=["*"])
    assert given.options == {"transpose": True}
    assert given.words == ["a.csv", "--transpose"]
    assert Source([Path("a.csv")], no_transpose=True).options == {"transpose": False}
    assert Source([Path("a.csv")], no_transpose=True).words == ["a.csv", "--no-transpose"]


@pytest.mark.parametrize("ending", [".tsv", ".tsv.gz"])
def test_glioblastoma(call, data_file, tmp_path, monkeypatch, ending):
    if extension_of(Path(f"a{ending}"), READERS) is None:
        pytest.skip(f"{ending} cannot be read")
    monkeypatch.chdir(tmp_path)
    for name in ("expression", "mirna"):
        packed = data_file(f"omics/gbm/{name}.tsv.gz").read_bytes()
        (tmp_path / f"{name}{ending}").write_bytes(packed if ending == ".tsv.gz" else gzip.decompress(packed))
    result = call("cluster", f"expression{ending}", f"mirna{ending}", "-k", "3", COLUMNS="120")
    assert result.exit_code == 0, result.stderr
    assert f"features were in rows: transposed expression{ending}, mirna{ending}" in result.stdout.splitlines()
    labels = pd.read_csv("manyview-output/labels.csv")
    assert len(labels) == 100
    assert labels["sample"].str.startswith("TCGA-").all()
