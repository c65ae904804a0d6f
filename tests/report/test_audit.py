"""Audits as a page."""

from __future__ import annotations

import json

import numpy as np
import pytest

from manyview import Views
from manyview.audit import AuditResult
from manyview.cluster import TBGL
from manyview.report.audit import describe_audit, render

HOSTILE = "<script>alert(1)</script>{{ 7 * 7 }}"


def result(question, agreement, **more):
    n_runs = len(agreement)
    pairwise = np.ones((n_runs + 1, n_runs + 1))
    pairwise[0, 1:] = pairwise[1:, 0] = agreement
    names = tuple(f"without view{i}" if question == "views" else f"run {i}" for i in range(n_runs))
    reference = {"order": "rows as given", "seeds": "seed 0", "views": "all views"}[question]
    return AuditResult(question, "TBGL", reference, names, 40, pairwise, np.arange(n_runs), **more)


@pytest.fixture
def document():
    views = Views([np.eye(4), np.ones((4, 2))], names=["a", HOSTILE], labels=[0, 0, 1, 1])
    accuracy = np.array([0.995, 0.5, 0.6])
    audits = [
        result("order", [0.3, 0.4], accuracy=accuracy, sorted_by_class=True, seed_agreement=np.ones(2)),
        result("seeds", [1.0], warnings=(f"UserWarning: {HOSTILE}",)),
    ]
    made = describe_audit(
        TBGL(2, random_state=0), views, audits, skipped={"views": HOSTILE}, files=[HOSTILE], command="manyview audit"
    )
    return json.loads(json.dumps(made, allow_nan=False))


def test_the_dict(document):
    assert document["overall"]["passed"] is False
    assert document["parameters"]["n_clusters"] == 2
    assert document["data"]["views"][0] == {"name": "a", "n_features": 4, "n_present": 4}
    assert document["data"]["sorted_by_class"] is True
    assert [audit["question"] for audit in document["audits"]] == ["order", "seeds"]


def test_the_page(parse, document, monkeypatch):
    monkeypatch.setattr("plotly.offline.get_plotlyjs", lambda: "/* plotly.js */")
    page = parse(render(document))
    assert "Does the order of the rows change the answer? ⚑ Yes." in page.text
    assert "Does the seed change the answer? No." in page.text
    assert document["overall"]["text"] in page.text
    assert ["rows as given", "–", "–", "0.995"] in page.rows
    assert ["run 1", "0.400", "1 of 40", "0.600"] in page.rows
    assert "Order of the rows: rows as given, sorted by class; then shuffled" in page.text
    assert page.text.count("{{ 7 * 7 }}") == 6  # title, heading, view, file, warning, what was not asked
    assert not any(attributes.get("src") for _, attributes in page.elements)
    assert len([tag for tag, _ in page.elements if tag == "script"]) == 2
