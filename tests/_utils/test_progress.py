"""Methods, searches and audits report their progress in order, and only to listeners."""

from __future__ import annotations

from itertools import groupby, pairwise

import numpy as np
import pytest

import manyview.cluster._base
from manyview import GraphEnsemble
from manyview._utils.progress import Step, has_listeners, listening, report_step
from manyview.audit import audit_order, audit_seeds, audit_views
from manyview.cluster import RDEKM, SMSC, available_methods, suggest_n_clusters
from manyview.datasets import make_multiview

METHODS = {method.name: method.estimator for method in available_methods()}

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def blobs():
    return make_multiview(90, n_clusters=3, noise=0.6, n_features=6, random_state=0)


def steps_of(work):
    """What is told meanwhile, and what comes out."""
    steps = []
    with listening(steps.append):
        found = work()
    return steps, found


def check_order(steps):
    assert all(0 <= step.done <= step.total for step in steps)
    for _, of_one in groupby(steps, key=lambda step: (step.what, step.unit, step.total)):
        assert all(before.done <= after.done for before, after in pairwise(of_one))


@pytest.mark.parametrize("name", METHODS)
def test_every_method_tells_its_passes(name, blobs, capsys):
    alone = METHODS[name](3, random_state=0).fit(blobs)
    steps, model = steps_of(lambda: METHODS[name](3, random_state=0).fit(blobs))
    assert steps
    assert {step.what for step in steps} == {name}
    assert len({(step.unit, step.total) for step in steps}) == 1
    check_order(steps)
    assert all(before.done < after.done for before, after in pairwise(steps))
    assert all(np.isfinite(step.objective) for step in steps)
    assert capsys.readouterr().out == ""
    np.testing.assert_array_equal(model.labels_, alone.labels_)


@pytest.mark.parametrize(
    ("name", "parameters", "last"), [("TBGL", {"max_iter": 12}, 12), ("CoTrainingSpectral", {"max_iter": 3}, 3)]
)
def test_those_that_make_all_their_passes_end_at_the_total(name, parameters, last, blobs):
    steps, _ = steps_of(lambda: METHODS[name](3, random_state=0, **parameters).fit(blobs))
    assert [step.done for step in steps] == list(range(1, last + 1))
    assert steps[-1].total == last


def test_several_starts_are_counted_together(blobs):
    model = RDEKM(3, n_init=3, max_iter=50, random_state=0)
    steps, _ = steps_of(lambda: model.fit(blobs))
    assert {step.total for step in steps} == {150}
    assert {51, 101} <= {step.done for step in steps}


def test_nobody_is_called_if_nobody_listens(blobs, monkeypatch):
    def told(step):
        raise AssertionError(step)

    monkeypatch.setattr(manyview.cluster._base, "report_step", told)
    assert not has_listeners()
    assert SMSC(3, random_state=0)._on_pass() is None
    SMSC(3, random_state=0).fit(blobs)
    with listening(lambda step: None), pytest.raises(AssertionError, match="SMSC"):
        SMSC(3, random_state=0).fit(blobs)


def test_fits_by_blocks_also_tell_the_samples_they_place():
    views = make_multiview(1000, 3, random_state=0)
    model = GraphEnsemble(3, learn_on=200, n_members=8, n_jobs=2, random_state=0)
    steps, _ = steps_of(lambda: model.fit(views))
    check_order(steps)
    units = [unit for unit, _ in groupby(step.unit for step in steps)]
    assert units == ["members", "samples"]
    placed = [step for step in steps if step.unit == "samples"]
    assert len(placed) > 1
    assert (placed[-1].done, placed[-1].total) == (1000, 1000)


def test_a_number_of_clusters_that_is_looked_for_is_told_before_the_fit(blobs):
    steps, _ = steps_of(lambda: GraphEnsemble("auto", n_members=8, random_state=0).fit(blobs))
    check_order(steps)
    assert [what for what, _ in groupby(step.what for step in steps)] == ["suggest_n_clusters", "GraphEnsemble"]


def test_the_search_for_a_number_of_clusters_tells(blobs):
    steps, _ = steps_of(lambda: suggest_n_clusters(blobs, [2, 3], random_state=0))
    assert [(step.done, step.total, step.unit) for step in steps] == [(i, 4, "fits") for i in range(5)]


@pytest.mark.parametrize(
    ("audit", "total", "fits"),
    [
        (lambda model, views: audit_order(model, views, n_shuffles=2), 5, 3),
        (lambda model, views: audit_seeds(model, views, n_seeds=2), 3, 3),
        (audit_views, 4, 4),
    ],
    ids=["order", "seeds", "views"],
)
def test_audits_tell_their_fits(audit, total, fits, blobs):
    steps, result = steps_of(lambda: audit(SMSC(3, random_state=0), blobs))
    name = f"audit_{result.question}"
    assert {step.what for step in steps} == {name, "SMSC"}
    outer = [step for step in steps if step.what == name]
    check_order(outer)
    assert {step.total for step in outer} == {total}
    assert (outer[0].done, outer[-1].done) == (0, fits)


def test_a_listener_that_has_left_hears_nothing_even_after_an_error():
    steps = []
    with pytest.raises(KeyboardInterrupt), listening(steps.append):
        raise KeyboardInterrupt
    report_step(Step("late", 1, 2, "fits"))
    assert steps == []
    assert not has_listeners()
