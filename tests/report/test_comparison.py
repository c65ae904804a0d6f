"""The page of a comparison shows all of it, and what is hostile in it stays text."""

from __future__ import annotations

import copy
import json

import pytest

from manyview.metrics import SCORES
from manyview.report.comparison import render

HOSTILE = "\"'><img src=x onerror=alert(1)></script><script>alert(1)</script>{{ 7 * 7 }}"


def run(seed, value, status="done"):
    scores = {score: value + i / 1000 for i, score in enumerate(SCORES)}
    more = {"status": status, "reason": None, "seconds": 1.0, "peak_bytes": 2**20}
    return {"seed": seed, "scores": scores, "agreement": value / 2, **more}


def method(name, value, **more):
    found = {
        "name": name,
        "slug": name.lower(),
        "title": f"title of {name}",
        "reference": "A. Author",
        "memory_growth": "n²",
        "order_dependent": name == "TBGL",
        "status": {"done": 2},
        "runs_done": 2,
        "reason": None,
        "scores": {score: {"mean": value + i / 1000, "std": 0.01} for i, score in enumerate(SCORES)},
        "stability": 0.777,
        "agreement": value / 2,
        "seconds": 2.5,
        "peak_bytes": 3 * 2**20,
        "runs": [run(0, value - 0.01), run(1, value + 0.01)],
    }
    return found | more


@pytest.fixture
def comparison():
    ended = {"scores": None, "seconds": None, "peak_bytes": None, "stability": None, "agreement": None}
    lost = {**run(0, 0.1, "memory"), "reason": "needs 38 GiB", "scores": None, "agreement": None}
    return {
        "format": "manyview comparison 1",
        "created": "2026-01-02T03:04:05+00:00",
        "command": "manyview compare flowers.mat -k 3",
        "data": {
            "files": ["a/flowers.mat"],
            "sha256": "cafe" * 16,
            "n_samples": 1210,
            "views": [
                {"name": "gist", "n_features": 512, "n_present": 1210},
                {"name": "hog", "n_features": 9, "n_present": 1000},
            ],
            "has_ids": False,
            "matched_by": None,
            "transposed": [],
            "notes": [],
            "filled": {},
            "n_classes": 3,
            "n_labelled": 90,
            "sorted_by_class": True,
        },
        "n_clusters": 3,
        "suggestion": None,
        "seeds": [0, 1],
        "row_order": "rows shuffled, in another order for each seed",
        "timing": "one thread per fit",
        "criterion": "acc",
        "ordered_by": "accuracy (ACC), best first",
        "note": None,
        "methods": [
            method("SFMC", 0.9),
            method("TBGL", 0.6),
            method(
                "MVGL", 0, status={"memory": 2}, runs_done=0, reason="needs 38 GiB", runs=[lost, {**lost, "seed": 1}]
            )
            | ended,
        ],
        "agreement": {"methods": ["SFMC", "TBGL"], "matrix": [[1.0, 0.456], [0.456, 1.0]]},
        "runs": [],
    }


@pytest.fixture(autouse=True)
def _without_plotly(monkeypatch):
    monkeypatch.setattr("plotly.offline.get_plotlyjs", lambda: "/* plotly.js */")


def without_classes(comparison):
    for method in comparison["methods"]:
        method["scores"] = None
        for run in method["runs"]:
            run["scores"] = None
    data = comparison["data"] | {"n_classes": None, "n_labelled": None, "sorted_by_class": None}
    note = "No classes are known: agreement is no proof of truth."
    ordered = {"criterion": "agreement", "ordered_by": "agreement with the other methods, largest first"}
    return comparison | ordered | {"data": data, "note": note}


def test_all_figures_are_there(parse, comparison):
    page = parse(render(comparison))
    assert page.text.count("Methods compared on flowers.mat") == 2  # title and heading
    (line,) = [row for row in page.rows if row[0].startswith("SFMC") and len(row) == 13]
    assert line[1:8] == [f"{0.9 + i / 1000:.3f} ± 0.010" for i in range(7)]
    assert line[8:] == ["2.5 s", "3 MiB", "0.777", "0.450", "2"]
    assert ["SFMC", "1.00", "0.46"] in page.rows
    assert ["MVGL", "0 of 2", "2 × OM", "needs 38 GiB"] in page.rows
    for text in ("Rows shuffled, in another order for each seed; one thread per fit.", "hog (9 features, of 1,000"):
        assert text in page.text
    assert "the rows of the file are sorted by class" in page.text
    assert "SFMC Best accuracy of 2 methods: 0.900 on shuffled rows. Agreement between its runs: 0.777." in page.text


def test_figures_show_every_run_and_the_cost(parse, comparison):
    figures = parse(render(comparison)).figures()
    assert len(figures) == len(SCORES) + 1
    dots, means = figures[0]["data"]
    assert dots["x"] == pytest.approx([0.89, 0.91, 0.59, 0.61])
    assert dots["y"] == [0, 0, 1, 1]
    assert means["x"] == pytest.approx([0.9, 0.6])
    assert figures[0]["layout"]["yaxis"]["ticktext"] == ["SFMC", "TBGL"]
    cost = figures[-1]
    assert [(trace["x"], trace["y"]) for trace in cost["data"]] == [([2.5], [0.9]), ([2.5], [0.6])]
    assert cost["layout"]["xaxis"]["type"] == "log"
    assert all("shuffled rows" in json.dumps(figure["layout"]) for figure in figures)


def test_without_classes(parse, comparison):
    page = parse(render(without_classes(comparison)))
    assert "SFMC Agreement with the other methods, on average: 0.450, the largest." in page.text
    assert "agreement is no proof of truth" in page.text
    assert "ACC" not in page.text
    (figure,) = page.figures()
    assert figure["data"][0]["x"] == pytest.approx([0.445, 0.455, 0.295, 0.305])


def test_one_method_without_classes(parse, comparison):
    alone = without_classes(comparison) | {"criterion": "stability"}
    (alone["methods"],) = [[method] for method in alone["methods"] if method["name"] == "SFMC"]
    for run in alone["methods"][0]["runs"]:
        run["agreement"] = None
    page = parse(render(alone))
    assert "SFMC The only method that ended with clusters. Agreement between its runs: 0.777. No classes" in page.text
    assert (page.figures(), "Every run" in page.text) == ([], False)


def test_nothing_ended(parse, comparison):
    comparison["methods"] = comparison["methods"][2:]
    comparison["agreement"] = {"methods": [], "matrix": []}
    for made in (comparison, without_classes(copy.deepcopy(comparison))):
        page = parse(render(made))
        assert "No method ended with clusters." in page.text
        assert page.figures() == []


def test_hostile_names_stay_text(parse, comparison):
    plain = parse(render(comparison))
    comparison["data"]["files"] = [HOSTILE]
    comparison["data"]["views"][0]["name"] = HOSTILE
    comparison["methods"][2]["reason"] = HOSTILE
    comparison["command"] = HOSTILE
    page = parse(render(comparison))
    assert [(tag, list(own)) for tag, own in page.elements] == [(tag, list(own)) for tag, own in plain.elements]
    assert page.text.count("{{ 7 * 7 }}") >= 5
