"""``manyview audit``: a verdict for everyone, and exit codes for scripts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator

import manyview.cli
from manyview.datasets import make_multiview

SCHEMA = Path(manyview.cli.__file__).parent / "schemas" / "audit.schema.json"


def save(path, n_views=3, names=("a", "b", "c"), labelled=True):
    made = make_multiview(60, 3, n_views=n_views, noise=0.5, random_state=0)
    rows = np.argsort(made.labels, kind="stable")
    labels = {"labels": made.labels[rows]} if labelled else {}
    np.savez(path, **dict(zip(names, (array[rows] for array in made.arrays), strict=False)), **labels)
    return path


@pytest.fixture
def npz(tmp_path):
    """Three views, sorted by class."""
    return save(tmp_path / "mine.npz")


def document(result):
    found = json.loads(result.stdout)
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(found)
    return found


def flat(text):
    return " ".join(text.split())


def test_an_answer_that_holds(call, npz):
    result = call("audit", npz, "-k", "3", "--method", "smsc", "--shuffles", "2", "--seeds", "2")
    assert (result.exit_code, result.stderr) == (0, "")
    text = flat(result.stdout)
    assert "Does the order of the rows change the answer? No. SMSC does not depend on the order of the rows" in text
    assert "Does the seed change the answer? No." in text
    assert "Does a single view decide the answer?" in text
    assert "Order of the rows: rows as given, sorted by class; then shuffled." in text
    assert "without b" in text
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_an_answer_that_does_not_hold_is_a_finding(call, npz, tmp_path):
    noise = np.random.RandomState(0)
    np.savez(tmp_path / "noise.npz", **{name: noise.randn(40, 5) for name in "abc"})
    words = ("audit", tmp_path / "noise.npz", "-k", "3", "-m", "etlmsc", "--questions", "order", "--shuffles", "2")
    result = call(*words)
    assert result.exit_code == 0
    assert "Do not rely on this result as it is: the groups that ETLMSC finds depend on the order of the rows." in flat(
        result.stdout
    )
    strict = call(*words, "--fail")
    assert (strict.exit_code, strict.stdout) == (3, result.stdout)
    assert call("audit", npz, "-k", "3", "-m", "smsc", "--questions", "order", "--fail").exit_code == 0


def test_json_and_folder(call, npz, tmp_path):
    out = tmp_path / "out"
    words = ("-m", "sfmc", "--questions", "seeds,order", "--shuffles", "1", "--seeds", "1", "-o", out, "--json")
    result = call("audit", npz, "-k", "3", *words)
    found = document(result)
    assert [audit["question"] for audit in found["audits"]] == ["order", "seeds"]
    assert found["method"]["name"] == "SFMC"
    assert found["parameters"]["n_clusters"] == 3
    assert (found["data"]["n_classes"], found["data"]["sorted_by_class"]) == (3, True)
    assert json.loads((out / "audit.json").read_text()) == found
    assert "Does the order of the rows change the answer?" in (out / "report.html").read_text()
    assert result.stderr == f"manyview: wrote audit.json, report.html to {out}\n"
    repeated = found["command"].split()
    assert repeated[:3] == ["manyview", "audit", str(npz)]
    assert document(call(*repeated[1:], "--json"))["audits"] == found["audits"]


def test_two_views_are_too_few_to_leave_one_out(call, tmp_path):
    path = save(tmp_path / "two.npz", 2, labelled=False)
    words = ("audit", path, "-k", "3", "-m", "sfmc", "--shuffles", "1", "--seeds", "1")
    found = document(call(*words, "--json"))
    assert [audit["question"] for audit in found["audits"]] == ["order", "seeds"]
    reason = "to leave one out, SFMC needs at least 3 views, got 2: a, b."
    assert found["skipped"] == {"views": reason}
    assert f"Does a single view decide the answer? Not asked: {reason}" in flat(call(*words).stdout)
    alone = call(*words, "--questions", "views")
    assert (alone.exit_code, alone.stdout) == (2, "")
    assert alone.stderr == f"manyview: views: {reason}\n"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("-k", "3", "--questions", "order,rows"), "expected some of order, seeds, views, got 'rows'"),
        (("-k", "3", "--method", "tgbl"), "there is no method 'tgbl'. Did you mean tbgl"),
        (("-k", "3", "--set", "q=3"), "GraphEnsemble has no parameter 'q' to set"),
        (("-k", "three"), "expected a whole number from 1 on, got 'three'"),
        (("-k", "100", "--method", "smsc"), "100"),
        (("-k", "3", "--shuffles", "0"), "Invalid value for '--shuffles'"),
        (("-k", "3", "--out", "{file}"), "is a file. Choose another folder."),
    ],
)
def test_bad_input_is_one_line(call, npz, words, text):
    result = call("audit", npz, *(word.format(file=npz) for word in words))
    assert (result.exit_code, result.stdout) == (2, "")
    assert text in result.stderr
    assert len(result.stderr.splitlines()) == 1
