from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from manyview.audit import audit_order, audit_seeds


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
