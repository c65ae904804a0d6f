"""Scores over parameters."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

from manyview import plot
from manyview.exceptions import PlotError

SHUFFLED = {"order": "rows shuffled"}


def ticks(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def heat(ax):
    return np.asarray(ax.images[0].get_array())


def test_one_score_for_each_value(ax):
    assert plot.sweep("n_neighbors", [20, 5, 10], [0.7, 0.8, 0.9], **SHUFFLED, ax=ax) is ax
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [0.8, 0.9, 0.7])  # sorted by value
    assert ticks(ax.xaxis) == ["5", "10", "20"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("n_neighbors", "ACC (rows shuffled)")
    assert ax.get_ylim() == (0, 1)
    assert ax.get_title() == "one run for each setting"


def test_repeats_become_mean_and_standard_deviation(ax):
    scores = np.array([[0.5, 0.7], [0.4, 0.4]])
    plot.sweep("scaling", ["unit", "max"], scores, order="rows in file order", score="NMI", ax=ax)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [0.6, 0.4])
    bars = ax.collections[0].get_segments()
    np.testing.assert_allclose(bars[0][:, 1], [0.5, 0.7])
    assert ticks(ax.xaxis) == ["unit", "max"]  # names stay as they come
    assert ax.get_ylabel() == "NMI (rows in file order)"
    assert ax.get_title() == "mean ± standard deviation of 2 repeats"


def test_mapping(ax):
    plot.sweep("n_neighbors", {10: [0.9, 0.7, 0.8], 5: 0.5}, **SHUFFLED, ax=ax)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [0.5, 0.8])
    assert ax.get_title() == "mean ± standard deviation of 1 to 3 repeats"


def test_scores_above_one_keep_their_own_axis(ax):
    plot.sweep("n_members", [10, 20], [3.0, 6.0], score="seconds", **SHUFFLED, ax=ax)
    assert ax.get_ylim()[1] > 6


def test_negative_scores_are_not_cut_off(ax):
    plot.sweep("n_members", [10, 20], [-0.1, 0.4], score="ARI", **SHUFFLED, ax=ax)
    assert ax.get_ylim() == (-0.1, 1)


def test_two_parameters_become_a_heat_map(ax):
    scores = np.arange(12).reshape(2, 3, 2) / 20
    plot.sweep(("a", "b"), ([1, 2], ["x", "y", "z"]), scores, **SHUFFLED, ax=ax)
    np.testing.assert_allclose(heat(ax), scores.mean(axis=2))
    assert (ax.get_ylabel(), ticks(ax.yaxis)) == ("a", ["1", "2"])
    assert (ax.get_xlabel(), ticks(ax.xaxis)) == ("b", ["x", "y", "z"])
    assert [text.get_text() for text in ax.texts] == [f"{value:.2f}" for value in scores.mean(axis=2).ravel()]
    assert ax.figure.axes[1].get_ylabel() == "ACC (rows shuffled)"
    assert ax.get_title() == "mean of 2 repeats"


def test_settings_that_were_not_run_stay_empty(ax):
    plot.sweep(["a", "b"], {(1, 10): 0.5, (2, 20): 0.6}, **SHUFFLED, ax=ax)
    np.testing.assert_array_equal(np.isnan(np.ma.filled(heat(ax), np.nan)), [[False, True], [True, False]])
    assert len(ax.texts) == 2


@pytest.fixture(scope="module")
def search():
    grid = {"max_depth": [1, 2, 3], "criterion": ["gini", "entropy"]}
    return GridSearchCV(DecisionTreeClassifier(random_state=0), grid, cv=4).fit(*load_iris(return_X_y=True)).cv_results_


def test_results_of_a_search(search, ax):
    plot.sweep(("criterion", "max_depth"), search, **SHUFFLED, ax=ax)
    of_gini = search["param_criterion"] == "gini"
    np.testing.assert_allclose(heat(ax), [search["mean_test_score"][of_gini], search["mean_test_score"][~of_gini]])
    assert ticks(ax.yaxis) == ["gini", "entropy"]


def test_other_parameters_of_a_search_are_repeats(search, ax):
    plot.sweep("max_depth", search, **SHUFFLED, ax=ax)
    expected = [search["mean_test_score"][search["param_max_depth"] == depth].mean() for depth in (1, 2, 3)]
    np.testing.assert_allclose(ax.lines[0].get_ydata(), expected)
    assert ax.get_title() == "mean ± standard deviation of 8 repeats"


def test_one_of_several_scores_of_a_search(ax):
    results = {"param_k": [1, 2], "split0_test_acc": [0.1, 0.2], "split0_test_nmi": [0.3, 0.4]}
    plot.sweep("k", results, score="nmi", **SHUFFLED, ax=ax)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [0.3, 0.4])
    with pytest.raises(PlotError, match="score: the search has no 'ari'; it has acc, nmi"):
        plot.sweep("k", results, score="ari", **SHUFFLED, ax=ax)


def test_many_values_are_not_all_named(ax):
    plot.sweep("n_neighbors", range(100), np.linspace(0, 1, 100), **SHUFFLED, ax=ax)
    assert ticks(ax.xaxis) == [str(value) for value in range(0, 100, 7)]


def test_errors(search, ax):
    with pytest.raises(TypeError, match="order"):
        plot.sweep("k", [1], [0.5], ax=ax)
    with pytest.raises(PlotError, match="order: say how the rows were ordered"):
        plot.sweep("k", [1], [0.5], order=" ", ax=ax)
    with pytest.raises(PlotError, match=r"scores: expected shape \(2,\), .* values of k; got \(3,\)"):
        plot.sweep("k", [1, 2], [0.5, 0.6, 0.7], **SHUFFLED, ax=ax)
    with pytest.raises(PlotError, match=r"expected shape \(2, 1\), .* values of a and b; got \(2,\)"):
        plot.sweep(("a", "b"), ([1, 2], [3]), [0.5, 0.6], **SHUFFLED, ax=ax)
    with pytest.raises(PlotError, match="scores: missing"):
        plot.sweep("k", [1, 2], **SHUFFLED, ax=ax)
    with pytest.raises(PlotError, match="scores: not for a mapping"):
        plot.sweep("k", {1: 0.5}, [0.5], **SHUFFLED, ax=ax)
    with pytest.raises(PlotError, match="parameter: expected one name or two, got 3"):
        plot.sweep(("a", "b", "c"), {1: 0.5}, **SHUFFLED, ax=ax)
    with pytest.raises(PlotError, match="values: expected at least one value"):
        plot.sweep("k", [], [], **SHUFFLED, ax=ax)
    with pytest.raises(PlotError, match="the search has no 'depth'; it has criterion, max_depth"):
        plot.sweep("depth", search, **SHUFFLED, ax=ax)
    assert not ax.has_data()
