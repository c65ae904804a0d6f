from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from manyview.audit import AuditResult, audit_order, audit_seeds
from manyview.audit.result import conclusion, short_answer


def test_the_printed_table(fakes, views):
    known = replace(views, labels=np.sort(np.arange(60) % 2))
    found = audit_order(fakes["FirstRows"](), known, n_shuffles=2)
    lines = str(found).splitlines()
    assert lines[0] == "Audit of FirstRows, order: 60 samples (rows as given, sorted by class; then shuffled)"
    assert lines[1].split() == ["agreement", "moved", "accuracy"]
    assert lines[2].split() == ["rows", "as", "given", "-", "-", "1.000"]
    first = [f"{found.agreement[0]:.3f}", str(found.moved[0]), f"{found.accuracy[1]:.3f}"]
    assert lines[3].split() == ["shuffle", "1", *first]
    assert lines[5] == f"Failed. {found.verdict}"
    assert len({len(line) for line in lines[1:5]}) == 1  # columns are aligned
    assert "accuracy" not in str(audit_order(fakes["Halves"](), views))


def test_moved_counts_samples_and_not_names_of_groups(fakes, views):
    found = audit_order(fakes["FirstRows"](), views, n_shuffles=1, random_state=0)
    rows = np.random.RandomState(0).permutation(60)
    shuffled = (np.argsort(rows) >= 30).astype(int)
    wrong = int((shuffled != (np.arange(60) >= 30)).sum())
    assert found.moved.tolist() == [min(wrong, 60 - wrong)]


@pytest.mark.parametrize("with_labels", [True, False])
def test_everything_goes_into_json(fakes, views, with_labels):
    given = replace(views, labels=np.arange(60) % 2) if with_labels else views
    for found in (
        audit_order(fakes["Drawn"](), given, n_shuffles=2),
        audit_seeds(fakes["Drawn"](), given, n_seeds=2),
        audit_seeds(fakes["Halves"](), given),
    ):
        back = json.loads(json.dumps(found.to_dict()))
        assert back["question"] == found.question
        assert back["passed"] is found.passed
        assert back["verdict"] == found.verdict
        assert back["agreement"] == found.agreement.tolist()
        assert back["row_order"] == found.row_order
        assert (back["accuracy"] is None) == (not with_labels or not found.names)


def test_results_cannot_be_changed(fakes, views):
    with pytest.raises(FrozenInstanceError):
        audit_order(fakes["Halves"](), views).estimator = "another"


def made(question, agreement, **more):
    n_runs = len(agreement)
    pairwise = np.ones((n_runs + 1, n_runs + 1))
    pairwise[0, 1:] = pairwise[1:, 0] = agreement
    names = tuple(f"without view{i}" if question == "views" else f"run {i}" for i in range(n_runs))
    reference = {"order": "rows as given", "seeds": "seed 0", "views": "all views"}[question]
    return AuditResult(question, "TBGL", reference, names, 40, pairwise, np.arange(n_runs), **more)


@pytest.mark.parametrize(
    ("question", "agreement", "answer"),
    [
        ("order", [1.0, 1.0], "No"),
        ("order", [0.9, 0.95], "A little"),
        ("order", [0.3, 0.95], "Yes"),
        ("seeds", [0.9, 1.0], "Hardly"),
        ("seeds", [0.5, 1.0], "Yes"),
        ("views", [0.85], "Hardly"),
    ],
)
def test_short_answers(question, agreement, answer):
    assert short_answer(made(question, agreement).to_dict()) == answer


def test_no_more_than_the_seed():
    found = made("order", [0.5, 0.9], seed_agreement=np.array([0.6, 0.7]))
    assert short_answer(found.to_dict()) == "No more than the seed does"


def test_conclusion():
    good = [made(question, [1.0]).to_dict() for question in ("order", "seeds", "views")]
    text = conclusion("TBGL", good)
    assert text.startswith("No problems found. The groups that TBGL finds change little or not at all with ")
    assert "the order of the rows, the seed or which views there are. Whether the groups are meaningful" in text
    bad = [made("order", [0.3]).to_dict(), good[1], made("views", [0.7, 0.2]).to_dict()]
    text = conclusion("TBGL", bad)
    assert (
        "Do not rely on this result as it is: the groups that TBGL finds depend on the order of the rows and " in text
    )
    assert "such as GraphEnsemble" in text
    assert "Check the view view1: without it the groups are different." in text
    assert "such as GraphEnsemble" not in conclusion("GraphEnsemble", bad)
    assert conclusion("TBGL", bad[2:]).startswith(
        "Use this result with care: the groups that TBGL finds depend on which"
    )
    assert "fit several seeds" in conclusion("TBGL", [made("seeds", [0.3]).to_dict()])
