from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from manyview.report.experiment_pictures import draw

pytest.importorskip("matplotlib")


def curve(protocol, means, dataset="MSRC-v5"):
    points = [{"x": x, "status": "done", "scores": {"acc": {"mean": mean, "std": 0.01}}} for x, mean in means.items()]
    return {"dataset": dataset, "row": "TBGL", "protocol": protocol, "points": points}


def sweep(*curves, **more):
    part = {"name": "p-value", "kind": "sweep", "scores": ["acc"], "axis": {"name": "p", "label": "exponent p"}}
    return {"parts": [{**part, "curves": list(curves), "stated": {"MSRC-v5": 0.9}, **more}]}


def graph(name, protocol, image):
    fit = {"dataset": "MSRC-v5", "row": "TBGL", "protocol": protocol, "acc": 0.995}
    return {**fit, "name": name, "image": np.asarray(image, dtype=float).tolist()}


def test_curves_show_the_optimum_of_the_paper_beside_ours():
    both = sweep(curve("file-order", {0.1: 0.5, 0.5: 0.8, 0.9: 0.8}), curve("shuffled", {0.1: 0.6, 0.5: 0.5, 0.9: 0.4}))
    picture = draw(both)["p-value"]
    assert picture.description == (
        "ACC over exponent p. TBGL on MSRC-v5, file order: best ACC 0.800 at 0.5, 0.9; the paper says 0.9. "
        "TBGL on MSRC-v5, shuffled: best ACC 0.600 at 0.1; the paper says 0.9."
    )
    assert ElementTree.fromstring(picture.svg).tag == "{http://www.w3.org/2000/svg}svg"
    without = draw(sweep(*both["parts"][0]["curves"], stated={}))["p-value"]
    assert "paper" not in without.description
    assert picture.svg.count("stroke-dasharray") > without.svg.count("stroke-dasharray"), "the dashed line"


def test_the_same_summary_gives_the_same_file():
    summary = sweep(curve("shuffled", {0.1: 0.6, 0.9: 0.4}))
    assert draw(summary)["p-value"] == draw(summary)["p-value"]


def test_points_without_a_result_are_left_out():
    waiting = curve("shuffled", {0.1: 0.6})
    waiting["points"].append({"x": 0.9, "status": "waiting"})
    assert "best ACC 0.600 at 0.1;" in draw(sweep(waiting))["p-value"].description
    nothing = {**waiting, "points": [{"x": 0.9, "status": "waiting"}]}
    half = draw(sweep(curve("file-order", {0.9: 1.0}), nothing))["p-value"]
    assert "shuffled" not in half.description
    assert draw(sweep(nothing)) == {}


def test_graphs_are_a_row_for_each_fit():
    images = [
        graph("cm", "file-order", np.eye(4)),
        graph("learned", "file-order", np.ones((4, 3))),
        graph("learned", "shuffled", np.zeros((4, 3))),
    ]
    picture = draw({"parts": [{"name": "visual", "kind": "graphs", "pictures": images}]})["visual"]
    assert picture.svg.count("<image ") == 3
    assert picture.description.endswith("TBGL on MSRC-v5, file order: ACC 0.995. TBGL on MSRC-v5, shuffled: ACC 0.995.")
    assert "cm, learned." in picture.description


def test_parts_without_curves_and_graphs_have_no_picture():
    tables = {"name": "result1", "kind": "table", "tables": [], "scores": ["acc"]}
    assert draw({"parts": [tables, {"name": "visual", "kind": "graphs", "pictures": []}]}) == {}
