"""Figures must be valid for plotly and show the numbers that they were given."""

from __future__ import annotations

import html

import plotly.graph_objects as go
import pytest

from manyview.report import experiment_figures as figures


@pytest.fixture
def drawn(summary):
    """Every kind of figure, from the summary."""
    _, sweep, growth, _ = summary["parts"]
    return {
        "sweep": figures.sweep(sweep["curves"], "acc", sweep["axis"], 0.9),
        "growth": figures.growth(growth["growth"], ["Tensor"]),
        "ranks": figures.ranks(summary["ranking"]),
        "cost": figures.cost(summary["scatter"][:2], ["Tensor", "New"]),
    }


@pytest.mark.parametrize("kind", ["sweep", "growth", "ranks", "cost"])
def test_plotly_accepts_them(drawn, kind):
    figure = drawn[kind]
    assert len(go.Figure({"data": figure.data, "layout": figure.layout}).data) == len(figure.data)
    assert figure.layout["xaxis"]["title"]["text"]


def test_a_sweep_has_a_curve_for_each_order_with_deviations(drawn):
    file_order, shuffled = drawn["sweep"].data
    assert (file_order["name"], shuffled["name"]) == ("Tensor, file order", "Tensor, shuffled")
    assert file_order["x"] == [0.5, 0.9]
    assert file_order["y"] == pytest.approx([0.35, 0.39])
    assert file_order["error_y"]["array"] == [0.01, 0.01]
    assert shuffled["x"] == [0.5]  # the other point ran out of time
    assert file_order["marker"]["symbol"] != shuffled["marker"]["symbol"]
    assert "Tensor, shuffled: 0.350 ± 0.010 at 0.5." in drawn["sweep"].description


def test_a_sweep_marks_the_stated_best_value(summary, drawn):
    (line,) = drawn["sweep"].layout["shapes"]
    assert line["x0"] == line["x1"] == 0.9
    assert drawn["sweep"].layout["annotations"][0]["text"] == "paper: best at 0.9"
    part = summary["parts"][1]
    assert "shapes" not in figures.sweep(part["curves"], "acc", part["axis"]).layout


def test_a_sweep_shows_scores_below_zero(summary):
    part = summary["parts"][1]
    part["curves"][0]["points"][0]["scores"]["acc"] = {"mean": -0.1, "std": 0.05}
    assert figures.sweep(part["curves"], "acc", part["axis"]).layout["yaxis"]["range"][0] == pytest.approx(-0.15)


def test_growth_is_logarithmic_and_names_both_exponents(drawn):
    figure = drawn["growth"]
    measured, stated = figure.data
    assert measured["name"] == "Tensor: measured n^1.04, stated n^1"
    assert measured["x"] == [100, 200]
    assert stated["y"] == [2, 4]  # from the first point with the stated exponent
    assert stated["showlegend"] is False
    assert figure.layout["xaxis"]["type"] == figure.layout["yaxis"]["type"] == "log"
    assert figure.layout["xaxis"]["ticktext"] == ["100", "200", "400"]
    # deviations of 5 s around 2 s and 4 s stay above zero
    assert all(low < mean for low, mean in zip(measured["error_y"]["arrayminus"], measured["y"], strict=True))


def test_growth_without_exponents():
    line = {"row": "A", "axis": "n", "label": "n", "exponent": None, "stated": None}
    line["points"] = [{"x": 1.0, "seconds": {"mean": 1.0, "std": 0.0, "min": 1.0}, "runs": 1}]
    (trace,) = figures.growth([line], ["A"]).data
    assert trace["name"] == "A: too few points"


def test_ranks_join_methods_that_do_not_differ(drawn):
    single, means, first, second, difference = drawn["ranks"].data
    assert means["x"] == [1.0, 2.25, 2.75]
    assert drawn["ranks"].layout["yaxis"]["ticktext"] == ["New", "Robust", "Tensor"]
    assert len(single["x"]) == 6
    assert first["y"] == [-0.25, 1.25]
    assert second["y"] == [0.75, 2.25]
    assert first["x"][0] != second["x"][0]
    assert difference["x"] == [1, pytest.approx(2.31)]
    assert drawn["ranks"].layout["annotations"][0]["text"] == "critical difference 1.31"
    low, high = drawn["ranks"].layout["xaxis"]["range"]
    assert all(low < x < high for trace in drawn["ranks"].data for x in trace["x"])


def test_ranks_without_a_critical_difference(summary):
    figure = figures.ranks(summary["ranking"] | {"critical_difference": None, "groups": []})
    assert len(figure.data) == 2
    assert figure.layout["annotations"] == []


def test_cost_tells_method_dataset_time_and_memory(drawn):
    tensor, new = drawn["cost"].data
    assert tensor["hovertext"] == ["Tensor on MSRC<br>ACC 0.600 (shuffled rows)<br>2.0 s, 64 MiB"]
    assert (tensor["name"], new["name"]) == ("Tensor", "New")
    assert drawn["cost"].layout["xaxis"]["type"] == "log"
    assert drawn["cost"].layout["showlegend"] is True


def test_a_method_looks_the_same_on_all_datasets(summary):
    methods = ["Other", "Tensor", "New"]
    alone, together = (
        figures.cost(points, methods).data for points in (summary["scatter"][1:2], summary["scatter"][:2])
    )
    assert alone[0]["marker"] == together[1]["marker"] != together[0]["marker"]


def test_names_are_escaped(summary):
    hostile = "</script><b>&"
    ranking = summary["ranking"]
    ranking["methods"][0]["name"] = hostile
    ranking["groups"] = [[hostile, "Robust"]]
    point = summary["scatter"][0] | {"row": hostile}
    ranks, cost = figures.ranks(ranking), figures.cost([point], [hostile])
    for text in (ranks.layout["yaxis"]["ticktext"][0], ranks.data[2]["hovertext"][0], cost.data[0]["name"]):
        assert "<b>" not in text
        assert hostile in html.unescape(text)
    assert cost.data[0]["hovertext"][0].count("<") == 2  # line breaks
