from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from manyview import TBGL, GraphEnsemble, OrderDependenceWarning, read_views
from manyview.audit import audit_order
from manyview.cluster import ETLMSC, SFMC, SMSC
from manyview.datasets import make_multiview


def test_an_estimator_that_looks_at_values_only_passes(fakes, views):
    found = audit_order(fakes["Halves"](), views)
    assert found.passed
    assert found.names == tuple(f"shuffle {i}" for i in range(1, 6))
    np.testing.assert_array_equal(found.agreement, np.ones(5))
    np.testing.assert_array_equal(found.moved, np.zeros(5))
    assert found.seed_agreement is None
    assert found.verdict == (
        "Halves does not depend on the order of the rows: 5 shuffles gave the same groups as the rows as given."
    )


def test_an_estimator_that_looks_at_the_order_fails(fakes, views):
    found = audit_order(fakes["FirstRows"](), views, n_shuffles=3)
    assert not found.passed
    assert found.agreement.max() < 0.2
    np.testing.assert_array_equal(found.seed_agreement, np.ones(3))
    assert found.verdict.startswith("FirstRows depends strongly on the order of the rows: with the rows shuffled, ")
    assert f"{found.moved.min()} to {found.moved.max()} of 60 samples change their group" in found.verdict
    assert "Another seed changes nothing." in found.verdict
    assert "Accuracy" not in found.verdict


def test_one_changed_sample_is_enough_to_fail_if_nothing_is_drawn(views):
    class AlmostFree(BaseEstimator):
        """By the sign of a value, but the first row always counts as below: in some orders nothing changes."""

        def __init__(self, random_state=None):
            self.random_state = random_state

        def fit(self, views):
            self.labels_ = (np.asarray(views.arrays[0])[:, 0] < 0).astype(int)
            self.labels_[0] = 1
            return self

    found = audit_order(AlmostFree(), views, n_shuffles=8)
    assert set(found.moved) == {0, 1}
    assert not found.passed
    assert "depends a little on the order" in found.verdict


def test_draws_row_by_row_are_not_taken_for_dependence_on_the_order(fakes, views):
    found = audit_order(fakes["Drawn"](random_state=0), views)
    assert found.agreement.max() < 1
    assert found.passed
    assert len(found.seed_agreement) == 5
    assert "depends on the order of the rows no more than on the seed" in found.verdict


def test_more_than_the_draws_explain_is_a_failure(fakes, views):
    class Both(fakes["Drawn"]):
        """Draws a few labels, and takes the first rows for the rest."""

        def fit(self, views):
            rng = np.random.default_rng(self.random_state)
            labels = (np.arange(views.n_samples) >= views.n_samples / 2).astype(int)
            labels[rng.integers(views.n_samples, size=3)] = 0
            self.labels_ = labels
            return self

    found = audit_order(Both(), views)
    assert found.agreement.max() < found.seed_agreement.min() < 1
    assert not found.passed
    assert "Another seed gives an agreement of 0." in found.verdict


def test_labels_come_back_to_the_given_order(views):
    class FirstColumn(BaseEstimator):
        def fit(self, views):
            self.labels_ = (np.asarray(views.arrays[0])[:, 0] > 0).astype(int)
            return self

    known = replace(views, labels=np.asarray(views.arrays[0])[:, 0] > 0)
    np.testing.assert_array_equal(audit_order(FirstColumn(), known, n_shuffles=2).accuracy, np.ones(3))


def test_the_estimator_sees_no_labels_and_stays_as_it_was(fakes, views):
    seen = []

    class Curious(fakes["Drawn"]):
        def fit(self, views):
            seen.append((views.labels, self.random_state))
            return super().fit(views)

    model = Curious()
    audit_order(model, replace(views, labels=np.arange(60) % 2), n_shuffles=2)
    assert [labels for labels, _ in seen] == [None] * 5
    assert [seed for _, seed in seen] == [0, 0, 0, 1, 2]  # None is the same number in every run
    assert vars(model) == {"share": 0.3, "random_state": None}


def test_a_random_state_starts_every_run_from_the_same_point(fakes, views):
    state = np.random.RandomState(3)
    before = state.get_state()[1].copy()

    class Stateful(fakes["Drawn"]):
        def fit(self, views):
            values = np.asarray(views.arrays[0])[:, 0]
            self.labels_ = (values > np.sort(values)[self.random_state.randint(10, 50)]).astype(int)
            return self

    assert audit_order(Stateful(random_state=state), views).passed
    np.testing.assert_array_equal(state.get_state()[1], before)


def test_accuracy_says_in_which_order_it_was_measured(fakes, views):
    classes = np.sort(np.arange(60) % 2)
    found = audit_order(fakes["FirstRows"](), replace(views, labels=classes), n_shuffles=2)
    assert found.accuracy[0] == 1
    assert found.accuracy[1:].max() < 0.75
    assert found.sorted_by_class
    assert "Accuracy is 1.000 with the rows as given, sorted by class, and 0." in found.verdict
    mixed = audit_order(fakes["FirstRows"](), replace(views, labels=np.arange(60) % 2), n_shuffles=2)
    assert not mixed.sorted_by_class
    assert mixed.row_order == "rows as given; then shuffled"


def test_the_warning_of_the_order_is_left_out_and_others_are_collected(fakes, views):
    class Warning_(fakes["Halves"]):
        def fit(self, views):
            warnings.warn("the order matters", OrderDependenceWarning, stacklevel=2)
            warnings.warn("not converged", RuntimeWarning, stacklevel=2)
            return super().fit(views)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = audit_order(Warning_(), views, n_shuffles=2)
    assert not caught
    assert found.warnings == ("RuntimeWarning: not converged (rows as given, shuffle 1, shuffle 2)",)
    assert "Warning: RuntimeWarning: not converged" in str(found)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="not converged"):
            audit_order(Warning_(), views)


def test_a_run_that_fails_is_named(fakes, views):
    with pytest.raises(RuntimeError, match="these are other rows") as caught:
        audit_order(fakes["Failing"](expected=np.asarray(views.arrays[0])[:, 0]), views)
    assert caught.value.__notes__ == ["audit_order: this happened in the run 'shuffle 1' of Failing."]


def test_what_is_no_clusterer_is_refused(fakes, views):
    class Silent(BaseEstimator):
        def fit(self, views):
            return self

    class Short(BaseEstimator):
        def fit(self, views):
            self.labels_ = np.zeros(5)
            return self

    with pytest.raises(TypeError, match=r"estimator: expected labels_ after fit\(views\), but Silent has none"):
        audit_order(Silent(), views)
    with pytest.raises(ValueError, match=r"shape \(60,\), but those of Short have shape \(5,\)"):
        audit_order(Short(), views)
    with pytest.raises(ValueError, match="n_shuffles: expected at least 1, got 0"):
        audit_order(fakes["Halves"](), views, n_shuffles=0)


def test_a_line_for_every_fit(fakes, views, capsys):
    audit_order(fakes["Halves"](), views, n_shuffles=2)
    assert capsys.readouterr().out == ""
    audit_order(fakes["Halves"](), views, n_shuffles=2, verbose=True)
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(",")[0] for line in lines] == [
        "audit_order Halves: rows as given",
        "audit_order Halves: shuffle 1",
        "audit_order Halves: shuffle 2",
    ]


def test_the_shuffles_follow_from_the_seed(fakes, views):
    runs = [audit_order(fakes["FirstRows"](), views, random_state=seed).agreement for seed in (0, 0, 1)]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert (runs[0] != runs[2]).any()


def test_one_table_and_containers(views):
    table = np.hstack(views.arrays)
    same = [
        audit_order(SMSC(2, random_state=0, view_sizes=[2, 2, 2]), table, n_shuffles=1),
        audit_order(SMSC(2, random_state=0), list(views.arrays), n_shuffles=1),
        audit_order(SMSC(2, random_state=0), dict(zip("abc", views.arrays, strict=True)), n_shuffles=1),
    ]
    assert all(found.passed and found.n_samples == 60 for found in same)


def test_anchors_that_were_listed_follow_their_rows():
    views = make_multiview(60, noise=0.6, random_state=0)
    assert audit_order(SFMC(3, anchors=range(12), random_state=0), views, n_shuffles=3).passed


def test_on_photographs_two_methods_depend_on_the_order_and_others_do_not(data_file):
    views = read_views(data_file("MSRC-v5.mat"))
    for model in (TBGL(7), ETLMSC(7, random_state=0)):
        found = audit_order(model, views, n_shuffles=1)
        assert not found.passed, found.estimator
        assert found.agreement.max() < 0.6
        assert found.accuracy[0] > 0.98  # rows in file order, sorted by class
        assert found.accuracy[1:].max() < 0.75  # rows shuffled
    for model in (GraphEnsemble(7, n_members=8), SMSC(7)):
        found = audit_order(model, views, n_shuffles=2)
        assert found.passed, found.estimator
        np.testing.assert_array_equal(found.agreement, [1, 1])
