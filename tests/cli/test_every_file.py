"""The commands on every benchmark file, and on the same data as CSV, parquet and Matrix Market files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
import pytest
import scipy.io
import scipy.sparse as sp

from manyview.io import read_views

QUICK = ("MSRC-v5.mat",)
SLOW = (
    "100Leaves.mat",
    "3Sources.mat",
    "BBC4view.mat",
    "BBCSport.mat",
    "Handwritten4.mat",
    "Mnist4.mat",
    "MNIST63k.npz",
    "ORL.mat",
    "Reuters-1200.mat",
    "Reuters600.mat",
    "Scene_15.mat",
    "WebKB.mat",
)
FILES = [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)]
FORMATS = ("as it is", "csv", "parquet", "mtx")


def as_files(path: Path, kind: str, folder: Path) -> list[str]:
    """Write a dataset as one file per view and one of labels; return the words that have it read."""
    views = read_views(path)
    one_table = ["--view-sizes", "4"] if views.n_views == 1 else []
    if kind == "as it is":
        return [str(path), *one_table]
    ids = [f"sample {i}" for i in range(views.n_samples)]
    files = []
    for name, array in zip(views.names, views.arrays, strict=True):
        files.append(folder / f"{name}.{kind}")
        if kind == "mtx":
            scipy.io.mmwrite(files[-1], sp.coo_array(array))
            continue
        dense = array.toarray() if sp.issparse(array) else np.asarray(array)
        table = pandas.DataFrame(dense, columns=[f"feature {i}" for i in range(dense.shape[1])])
        table.insert(0, "id", ids)
        table.to_csv(files[-1], index=False) if kind == "csv" else table.to_parquet(files[-1], index=False)
    labels = folder / "classes.csv"
    classes = pandas.DataFrame({"kind": views.labels})
    if kind != "mtx":  # a matrix has no ids to join on
        classes.insert(0, "id", ids)
    classes.to_csv(labels, index=False)
    return [*map(str, files), "--labels", f"{labels}:kind", *one_table]


@pytest.fixture
def answer(call, valid):
    """The JSON that a command prints, checked against its schema."""

    def run(schema, *words):
        result = call(*words, "--json")
        assert result.exit_code == 0, result.stderr
        return valid(schema, result.stdout)

    return run


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("name", FILES)
def test_commands(answer, benchmark_file, tmp_path, name, kind):
    expected = read_views(benchmark_file(name))
    n_classes = len(np.unique(expected.labels))
    words = as_files(benchmark_file(name), kind, tmp_path)

    seen = answer("inspection", "inspect", *words)
    assert seen["n_samples"] == expected.n_samples

    quick = ("--set", "n_members=4", "--no-p-values")
    found = answer("result", "cluster", *words, "-k", n_classes, *quick, "--out", tmp_path / "clusters")
    assert found["n_clusters"] == len(found["clusters"]) == n_classes
    assert found["scores"]["acc"] > 1.2 / n_classes
    labels = pandas.read_csv(tmp_path / "clusters" / "labels.csv")
    assert len(labels) == expected.n_samples
    assert labels["cluster"].nunique() == n_classes
    page = (tmp_path / "clusters" / "report.html").read_text()
    assert len(page) < 15e6

    audited = answer(
        "audit", "audit", *words, "-k", n_classes, "--set", "n_members=4", "--questions", "order", "--shuffles", 1
    )
    assert [one["passed"] for one in audited["audits"]] == [True]

    if name in QUICK and kind != "csv":  # the files are read by the same code, in processes that take seconds to start
        return
    compared = answer(
        "comparison", "compare", *words, "-k", n_classes, "--methods", "graph-ensemble,lmvsc", "--seeds", 1
    )
    assert {method["slug"] for method in compared["methods"]} == {"graph-ensemble", "lmvsc"}
    assert all(method["scores"]["acc"]["mean"] > 1.2 / n_classes for method in compared["methods"])
