"""What a fit gave, as plain values."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from manyview import GraphEnsemble
from manyview.audit import audit_seeds
from manyview.cluster import SMSC, available_methods, suggest_n_clusters
from manyview.datasets import make_multiview
from manyview.metrics import SCORES, clustering_scores
from manyview.report.documents import describe_result


@pytest.fixture(scope="module")
def views():
    return make_multiview(60, n_clusters=3, n_views=3, random_state=0)


@pytest.fixture(scope="module")
def model(views):
    return GraphEnsemble(3, n_members=4, random_state=7).fit(views)


def same(value):
    """The value, after a check that JSON keeps it as it is."""
    assert json.loads(json.dumps(value, allow_nan=False)) == value
    return value


def test_the_data_and_the_method(model, views):
    result = same(describe_result(model, views, files=["a.csv", "b.csv"], command="manyview cluster a.csv b.csv"))
    data = result["data"]
    assert (data["files"], data["n_samples"], data["n_classes"]) == (["a.csv", "b.csv"], 60, 3)
    assert [view["name"] for view in data["views"]] == list(views.names)
    assert [view["n_features"] for view in data["views"]] == list(views.n_features)
    assert [view["n_present"] for view in data["views"]] == [60, 60, 60]
    assert result["method"]["name"] == "GraphEnsemble"
    assert result["method"]["order_dependent"] is False
    assert result["command"] == "manyview cluster a.csv b.csv"
    assert result["parameters"]["n_clusters"] == 3
    assert result["parameters"]["n_members"] == 4
    assert result["seed"] == 7
    assert result["environment"]["workers"] >= 1


def test_sizes_and_confidence_are_those_of_the_samples(model, views):
    result = describe_result(model, views)
    for cluster in result["clusters"]:
        members = model.labels_ == cluster["cluster"]
        assert cluster["size"] == members.sum()
        assert cluster["confidence"] == pytest.approx(model.confidence_[members].mean())
    assert [cluster["cluster"] for cluster in result["clusters"]] == [0, 1, 2]
    assert result["n_clusters"] == 3
    assert result["confidence"]["mean"] == pytest.approx(model.confidence_.mean())
    assert result["confidence"]["median"] == pytest.approx(np.median(model.confidence_))
    assert result["confidence"]["below_half"] == (model.confidence_ < 0.5).sum()
    assert result["view_weights"] == pytest.approx(model.view_weights_)
    assert (result["n_iter"], result["converged"]) == (model.n_iter_, model.converged_)
    families = {found.pop("family"): found for found in result["graph_families"]}
    assert list(families.items()) == list(model.graph_families_.items())  # best first


def test_what_a_method_does_not_have_is_none(views):
    result = same(describe_result(SMSC(3).fit(views), views))
    assert result["confidence"] is None
    assert result["converged"] is None
    assert result["suggestion"] is None
    assert result["graph_families"] is None
    assert {cluster["confidence"] for cluster in result["clusters"]} == {None}


def test_every_method_can_be_described(views):
    small = views.take(np.arange(30))
    for method in available_methods():
        found = method.estimator(3)
        found.labels_ = np.arange(30) % 3  # describing needs no more than the labels
        result = same(describe_result(found, small))
        assert result["method"]["name"] == method.name
        assert [cluster["size"] for cluster in result["clusters"]] == [10, 10, 10]


def test_scores_say_how_the_rows_were_ordered(model, views):
    result = describe_result(model, views)
    assert result["scores"] == clustering_scores(views.labels, model.labels_)
    assert tuple(result["scores"]) == SCORES
    assert (result["data"]["sorted_by_class"], result["row_order"]) == (False, "rows as given")
    blocks = np.argsort(views.labels, kind="stable")[::-1]
    in_blocks = describe_result(model, replace(views, labels=views.labels[blocks]))
    assert in_blocks["data"]["sorted_by_class"] is True
    assert in_blocks["row_order"] == "rows as given, sorted by class"
    assert describe_result(model, views, order="shuffled")["row_order"] == "shuffled"


def test_without_classes_there_are_no_scores(model, views):
    for unknown in (None, np.full(60, np.nan), np.full(60, None)):
        result = same(describe_result(model, replace(views, labels=unknown)))
        assert (result["scores"], result["row_order"]) == (None, "rows as given")
        assert (result["data"]["n_classes"], result["data"]["sorted_by_class"]) == (None, None)


def test_classes_may_be_anything_and_some_may_be_unknown(model, views):
    known = np.arange(60) >= 10
    names = np.array(["<b>", 'quote"', "\x1b[2J"], dtype=object)[views.labels]
    names[~known] = None
    result = same(describe_result(model, replace(views, labels=names)))
    assert result["data"]["n_classes"] == 3
    assert result["scores"] == clustering_scores(views.labels[known], model.labels_[known])
    mixture = np.array([1, "1", 2.5], dtype=object)[views.labels]
    assert describe_result(model, replace(views, labels=mixture))["data"]["n_classes"] == 3


def test_the_checksum_changes_with_values_and_classes(model, views):
    def checksum(**changed):
        return describe_result(model, replace(views, **changed))["data"]["sha256"]

    other = (views.arrays[0] + 1, *views.arrays[1:])
    relabelled = (views.labels + (np.arange(60) == 0)) % 3
    assert checksum() == checksum()
    assert len({checksum(), checksum(arrays=other), checksum(labels=relabelled), checksum(labels=None)}) == 4


def test_samples_may_lack_views_and_have_names(model, views):
    present = np.ones((60, 3), dtype=bool)
    present[:5, 1] = False
    result = describe_result(model, replace(views, present=present, sample_ids=np.arange(60)))
    assert [view["n_present"] for view in result["data"]["views"]] == [60, 55, 60]
    assert result["data"]["has_ids"] is True
    assert describe_result(model, replace(views, sample_ids=None))["data"]["has_ids"] is False


def test_parameters_that_json_has_no_word_for(views):
    found = SMSC(3).fit(views)
    found.set_params(random_state=np.random.RandomState(0), view_sizes=np.array([1, 2]), tol=np.float64("nan"))
    result = same(describe_result(found, views))
    assert result["parameters"]["random_state"].startswith("RandomState")
    assert result["parameters"]["view_sizes"] == [1, 2]
    assert result["parameters"]["tol"] is None
    assert result["seed"] is None
    assert describe_result(found, views, seed=3)["seed"] == 3


def test_how_it_came_about(model, views):
    suggestion = suggest_n_clusters(views, range(2, 5), random_state=0)
    result = same(
        describe_result(
            model,
            views,
            suggestion=suggestion,
            timings={"fit": 1.5, "suggest": None},
            warnings=["one", "two", "one"],
            audits=[audit_seeds(SMSC(3), views, n_seeds=1)],
        )
    )
    assert result["suggestion"]["n_clusters"] == suggestion.n_clusters
    assert result["suggestion"]["curve"]["n_clusters"] == [2, 3, 4]
    assert result["timings"] == {"fit": 1.5, "suggest": None}
    assert result["warnings"] == ["one", "two"]
    assert [audit["question"] for audit in result["audits"]] == ["seeds"]
