"""Methods side by side: made-up labels, so that every figure can be computed by hand."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

from manyview.exceptions import DatasetError
from manyview.experiments import summarise
from manyview.experiments._model import DONE, MEMORY, CellResult, DatasetFacts
from manyview.experiments.compare import compare_results, comparison_spec
from manyview.experiments.differences import interval
from manyview.experiments.export import labels_csv, runs_csv
from manyview.metrics import SCORES, adjusted_rand, clustering_scores

CLASSES = np.repeat(np.arange(3), 10)
SOURCE = {"read": "mine.npz"}


def wrong(k, start=0):
    """Labels with k samples in the wrong group."""
    labels = CLASSES.copy()
    rows = (start + np.arange(k)) % 30
    labels[rows] = (labels[rows] + 1) % 3
    return labels


LABELS = {"SFMC": [wrong(0), wrong(2)], "LMVSC": [wrong(8), wrong(4, start=12)], "SMSC": [wrong(5), wrong(5)]}


def make(labels=LABELS, classes=CLASSES, without=(), seeds=2):
    """Spec, results and facts: all methods done with these labels, but for those that had too little memory."""
    spec = comparison_spec(SOURCE, [*labels, *without], 3, seeds, name="mine")
    results = {}
    for cell in spec.cells:
        if cell.estimator in without:
            results[cell.key] = CellResult(cell.key, MEMORY, f"needs 38 GiB, seed {cell.seed}", run=1)
        else:
            found = labels[cell.estimator][cell.seed]
            times = {"seconds": 1.0 + cell.seed, "peak_bytes": 1000 * (1 + cell.seed)}
            results[cell.key] = CellResult(cell.key, DONE, labels=found, run=1, **times)
    facts = DatasetFacts("mine", "f" * 64, 30, (("a", 2), ("b", 3)), classes, None if classes is None else True)
    return spec, results, {"mine": facts}


def method(comparison, name):
    return next(method for method in comparison["methods"] if method["name"] == name)


def test_the_spec_has_every_method_with_every_seed_on_shuffled_rows():
    spec = comparison_spec(SOURCE, ["SFMC", "TBGL", "SFMC"], 4, 3)
    assert {(cell.estimator, cell.seed) for cell in spec.cells} == {(m, s) for m in ("SFMC", "TBGL") for s in range(3)}
    assert [cell.seed for cell in spec.cells] == [0, 0, 1, 1, 2, 2]  # some of all, if it is stopped
    assert {cell.protocol for cell in spec.cells} == {"shuffled"}
    assert all(cell.parameters == {"n_clusters": 4} for cell in spec.cells)


@pytest.mark.parametrize(
    ("methods", "seeds", "text"),
    [(["KMeans"], 2, "methods: expected some of GraphEnsemble, .*; got 'KMeans'"), (["SFMC"], 0, "seeds: expected at")],
)
def test_wrong_arguments(methods, seeds, text):
    with pytest.raises(ValueError, match=text):
        comparison_spec(SOURCE, methods, 3, seeds)


def test_scores_are_means_and_deviations_over_seeds():
    found = compare_results(*make())
    runs = [clustering_scores(CLASSES, labels, nmi_average="max") for labels in LABELS["LMVSC"]]
    for score in SCORES:
        values = [run[score] for run in runs]
        assert method(found, "LMVSC")["scores"][score] == pytest.approx(
            {"mean": np.mean(values), "std": np.std(values)}
        )
        assert [run["scores"][score] for run in method(found, "LMVSC")["runs"]] == pytest.approx(values)
    assert (method(found, "LMVSC")["seconds"], method(found, "LMVSC")["peak_bytes"]) == (1.5, 2000)
    assert (found["row_order"], found["timing"]) == (
        "rows shuffled, in another order for each seed",
        "one thread per fit",
    )


def test_the_best_comes_first_and_those_without_clusters_last():
    found = compare_results(*make(without=["MVGL"]))
    assert [method["name"] for method in found["methods"]] == ["SFMC", "SMSC", "LMVSC", "MVGL"]
    assert (found["criterion"], found["note"]) == ("acc", None)
    last = found["methods"][-1]
    assert (last["status"], last["runs_done"], last["scores"]) == ({"memory": 2}, 0, None)
    assert last["reason"] == "needs 38 GiB, seed 0"
    assert found["agreement"]["methods"] == ["SFMC", "SMSC", "LMVSC"]


def test_differences_are_of_runs_with_the_same_seed():
    found = compare_results(*make(without=["MVGL"]))
    first, _, third, last = found["methods"]
    values = [
        one["scores"]["acc"] - other["scores"]["acc"] for one, other in zip(first["runs"], third["runs"], strict=True)
    ]
    low, high = interval(values)
    assert third["difference"] == pytest.approx({"pairs": 2, "mean": np.mean(values), "low": low, "high": high})
    assert (first["difference"], last["difference"]) == (None, None)


def test_stability_is_the_agreement_of_a_methods_own_runs():
    found = compare_results(*make())
    assert method(found, "SMSC")["stability"] == 1
    assert method(found, "LMVSC")["stability"] == pytest.approx(adjusted_rand(*LABELS["LMVSC"]))
    assert method(compare_results(*make(seeds=1)), "SMSC")["stability"] is None


def test_agreement_is_that_of_the_same_seeds():
    found = compare_results(*make())
    names = found["agreement"]["methods"]
    for i, one in enumerate(names):
        for j, other in enumerate(names):
            expected = [adjusted_rand(a, b) for a, b in zip(LABELS[one], LABELS[other], strict=True)]
            assert found["agreement"]["matrix"][i][j] == pytest.approx(np.mean(expected))
    others = [found["agreement"]["matrix"][0][1], found["agreement"]["matrix"][0][2]]
    assert found["methods"][0]["agreement"] == pytest.approx(np.mean(others))


def test_methods_with_other_seeds_are_not_compared():
    spec, results, facts = make({"SFMC": LABELS["SFMC"], "SMSC": LABELS["SMSC"]})
    for cell in spec.cells:
        if (cell.estimator == "SFMC") == (cell.seed == 0):
            del results[cell.key]
    found = compare_results(spec, results, facts)
    assert found["agreement"]["matrix"] == [[1.0, None], [None, 1.0]]
    assert method(found, "SFMC")["status"] == {"waiting": 1, "done": 1}
    assert method(found, "SFMC")["agreement"] is None


def test_without_classes_agreement_decides_and_is_said_to_prove_nothing():
    found = compare_results(*make(classes=None))
    assert found["criterion"] == "agreement"
    assert "agreement is no proof of truth" in found["note"]
    agreement = [method["agreement"] for method in found["methods"]]
    assert agreement == sorted(agreement, reverse=True)
    assert all(method["scores"] is None for method in found["methods"])
    alone = compare_results(*make({"SFMC": LABELS["SFMC"]}, classes=None))
    assert (alone["criterion"], alone["methods"][0]["agreement"]) == ("stability", None)


def test_declared_specs_still_need_classes():
    spec, results, facts = make(classes=None)
    with pytest.raises(DatasetError, match="mine: has no known classes, so no clustering of it can be scored"):
        summarise(spec, results, facts, [])


@pytest.mark.parametrize("classes", [CLASSES, None])
def test_only_what_json_holds(classes):
    found = compare_results(*make(classes=classes, without=["MVGL"]))
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_a_line_for_every_run():
    lines = list(csv.DictReader(io.StringIO(runs_csv(compare_results(*make(without=["MVGL"]))))))
    assert [(line["method"], line["seed"]) for line in lines[:3]] == [("SFMC", "0"), ("SFMC", "1"), ("SMSC", "0")]
    assert float(lines[1]["acc"]) == pytest.approx(28 / 30)
    assert (lines[1]["seconds"], lines[1]["peak_bytes"]) == ("2.0", "2000")
    assert (lines[-1]["status"], lines[-1]["reason"], lines[-1]["acc"]) == ("memory", "needs 38 GiB, seed 1", "")
    assert {line["row_order"] for line in lines} == {"rows shuffled, in another order for each seed"}


def test_labels_of_the_first_seed():
    spec, results, facts = make(without=["MVGL"])
    found = compare_results(spec, results, facts)
    names = np.array([f'"{i}",' for i in range(30)])
    lines = list(csv.DictReader(io.StringIO(labels_csv(found, spec, results, names))))
    assert list(lines[0]) == ["sample", "SFMC", "SMSC", "LMVSC"]
    assert [line["sample"] for line in lines] == names.tolist()
    assert [int(line["LMVSC"]) for line in lines] == LABELS["LMVSC"][0].tolist()
    assert labels_csv(found, spec, results, None).splitlines()[30].startswith("29,")
