"""``--scale``: a scaling for all views, or for each."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from manyview._utils.scalings import SCALINGS
from manyview.cli._choice import Choice, slug
from manyview.cluster import GraphEnsemble, available_methods

METHODS = {slug(method.name): method.estimator for method in available_methods()}


@pytest.fixture
def tables(tmp_path, monkeypatch, page):
    """Counts of genes, and proteins in mixed units of which the widest is noise."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], 30)
    rna = rng.poisson(np.where(truth[:, None] == np.arange(20) % 2, 6.0, 1.0))
    protein = np.column_stack([truth + rng.normal(0, 0.1, 60), 1e5 * rng.normal(size=60)])
    for name, array in (("rna", rna), ("protein", protein)):
        frame = pd.DataFrame(array, columns=[f"{name}{j}" for j in range(array.shape[1])])
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    return ["rna.csv", "protein.csv"]


FEW = ("--set", "n_members=4", "--no-report", "--json")


def refused(result):
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    return result.stderr


def found(result):
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def labels():
    return pd.read_csv("manyview-output/labels.csv").iloc[:, 1].to_numpy()


def test_a_scaling_for_each_view(call, tables):
    words = ("--scale", "rna=counts", "--scale", "protein=standardized")
    result = found(call("cluster", *tables, "-k", "2", *words, *FEW))
    assert result["parameters"]["scaling"] == {"rna": "counts", "protein": "standardized"}
    views = [pd.read_csv(name).to_numpy() for name in tables]
    model = GraphEnsemble(2, scaling=["counts", "standardized"], n_members=4, random_state=0).fit(views)
    assert set(model.scaling_.values()) == {"counts", "standardized"}
    np.testing.assert_array_equal(labels(), model.labels_)
    assert " ".join(words) in result["command"]


def test_views_that_are_not_named_keep_auto(call, tables):
    result = found(call("cluster", *tables, "-k", "2", "--scale", "protein=standardized", *FEW))
    assert result["parameters"]["scaling"] == {"protein": "standardized"}


@pytest.mark.parametrize("method", ["graph-ensemble", "smsc"])
def test_one_scaling_for_all_views(call, tables, method):
    few = FEW if method == "graph-ensemble" else FEW[2:]
    result = found(call("cluster", *tables, "-k", "2", "-m", method, "--scale", "standardized", *few))
    assert result["parameters"]["scaling"] == "standardized"
    views = [pd.read_csv(name).to_numpy() for name in tables]
    options = {"n_members": 4} if method == "graph-ensemble" else {}
    model = METHODS[method](2, scaling="standardized", random_state=0, **options).fit(views)
    np.testing.assert_array_equal(labels(), model.labels_)


def test_the_number_of_clusters_is_looked_for_with_the_same_scaling(call, tables):
    result = found(call("cluster", *tables, "-k", "auto", "-m", "smsc", "--scale", "standardized", *FEW[2:]))
    same = found(call("cluster", *tables, "-k", "auto", "-m", "smsc", "--set", "scaling=standardized", *FEW[2:]))
    assert result["suggestion"] == same["suggestion"]


def test_audits_take_it_too(call, tables):
    words = (
        "--questions",
        "seeds",
        "--seeds",
        "1",
        "--scale",
        "rna=counts",
        "--scale",
        "protein=standardized",
        "--set",
        "n_members=4",
    )
    result = found(call("audit", *tables, "-k", "2", *words, "--json"))
    assert result["parameters"]["scaling"] == {"rna": "counts", "protein": "standardized"}


@pytest.mark.parametrize("command", ["cluster", "audit"])
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--scale", "gene=counts"], "--scale: there is no view 'gene'. The views are rna, protein."),
        (
            ["--scale", "rna=standardised"],
            "there is no scaling 'standardised' in 'rna=standardised'. Did you mean stand",
        ),
        (
            ["--scale", "zscore"],
            "There are auto, max, unit, none, counts, shares, directions, centered, standardized, ro",
        ),
        (["--scale", "auto", "-m", "smsc"], "there is no scaling 'auto' in 'auto'. There are max, unit"),
        (
            ["--scale", "rna=counts", "-m", "smsc"],
            "SMSC scales all views in the same way: expected a scaling for all, su",
        ),
        (["--scale", "max", "-m", "rdekm"], "RDEKM does not scale views. Leave --scale out."),
        (["--scale", "max", "--set", "scaling=max"], "--scale and --set scaling=... set the same parameter."),
        (
            ["--scale", "max", "--scale", "rna=unit"],
            "expected one scaling for all views, or VIEW=NAME for each view with",
        ),
        (["--scale", "rna=max", "--scale", "rna=unit"], "the view 'rna' is given twice."),
    ],
)
def test_what_cannot_be(call, tables, command, words, message):
    assert message in refused(call(command, *tables, "-k", "2", *words))


def test_a_view_may_have_an_equals_sign_in_its_name():
    assert Choice(scales=["a=b=max"]).parameters == {"scaling": {"a=b": "max"}}


def test_words_ask_for_the_same():
    words = Choice(scales=["a=max", "b=unit"]).words
    assert words == ["--method", "graph-ensemble", "--scale", "a=max", "--scale", "b=unit", "--seed", "0"]


@pytest.mark.parametrize("command", ["cluster", "audit"])
def test_help_lists_the_scalings(call, command):
    text = " ".join(call(command, "--help", COLUMNS="200").stdout.replace("│", " ").split())
    for name, line in SCALINGS.items():
        assert f"{name}: {line}" in text


@pytest.mark.parametrize("name", METHODS)
def test_methods_lists_the_scalings(call, valid, name):
    takes = "scaling" in METHODS[name](2).get_params()
    text = " ".join(call("methods", name, COLUMNS="200").stdout.split())
    (one,) = valid("methods", call("methods", name, "--json").stdout)
    values = {parameter["name"]: parameter["values"] for parameter in one["parameters"]}
    assert {key for key, value in values.items() if value is not None} == ({"scaling"} if takes else set())
    if takes:
        auto = {"auto": "chosen for each view by its values"} if name == "graph-ensemble" else {}
        assert values["scaling"] == auto | SCALINGS
        assert all(f"{key} {line}" in text for key, line in values["scaling"].items())
