"""``manyview demo``."""

from __future__ import annotations

import json

from jsonschema import Draft202012Validator

from manyview.cli._choice import Choice
from manyview.cli.schemas import load_schema


def test_the_demo_ends_with_the_path_of_a_report(call, tmp_path, page, monkeypatch):
    estimator = Choice.estimator
    monkeypatch.setattr(Choice, "estimator", lambda self, k: estimator(self, k).set_params(n_members=4))
    result = call("demo", "--out", tmp_path / "digits", COLUMNS="120")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("1,797 samples in 5 views: pixels (64), ")
    assert "against the 10 known classes, rows shuffled:" in result.stdout
    assert result.stdout.endswith(f"\n{tmp_path / 'digits' / 'report.html'}\n")
    written = json.loads((tmp_path / "digits" / "result.json").read_text())
    Draft202012Validator(load_schema("result")).validate(written)
    assert written["row_order"] == "rows shuffled"
    assert written["data"]["files"] == []
    assert written["n_clusters"] == 10
    assert written["scores"]["acc"] > 0.7
    assert page.made_of[0][2]["row_order"] == "rows shuffled"
