"""Curves over the number of clusters."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from manyview import plot
from manyview.exceptions import PlotError


@dataclass(frozen=True)
class Suggestion:
    n_clusters: int = 3
    sure: bool = True
    candidates: tuple[int, ...] = (3,)
    curve: dict[str, np.ndarray] = field(
        default_factory=lambda: {
            "n_clusters": np.array([2, 3, 4]),
            "stability": np.array([0.4, 0.8, 0.2]),
            "eigengap": np.array([2.0, 10.0, np.nan]),
        }
    )


def curves(ax):
    return [line for line in ax.lines if len(line.get_xdata()) == 3]


def test_several_scores_are_shares_of_their_highest(ax):
    assert plot.n_clusters(Suggestion(), ax=ax) is ax
    stability, eigengap = curves(ax)
    np.testing.assert_array_equal(stability.get_xdata(), [2, 3, 4])
    np.testing.assert_allclose(stability.get_ydata(), [0.5, 1, 0.25])
    np.testing.assert_allclose(eigengap.get_ydata(), [0.2, 1, np.nan])
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["stability (highest 0.8)", "eigengap (highest 10)"]
    assert ax.get_ylabel() == "share of the highest value"
    assert ax.get_title() == "3 clusters suggested"


def test_scores_of_the_reference_are_drawn_on_demand(ax):
    suggestion = Suggestion()
    suggestion.curve["reference_eigengap"] = np.array([1.0, 1.0, 1.0])
    plot.n_clusters(suggestion, ax=ax)
    assert len(curves(ax)) == 2
    plot.n_clusters(suggestion, keys=["reference_eigengap"], ax=ax)
    np.testing.assert_array_equal(curves(ax)[-1].get_ydata(), [1, 1, 1])


def test_one_score_is_drawn_as_it_is(ax):
    plot.n_clusters(Suggestion(), keys=["stability"], ax=ax)
    np.testing.assert_allclose(curves(ax)[0].get_ydata(), [0.4, 0.8, 0.2])
    assert ax.get_ylim() == (0, 1)
    assert ax.get_ylabel() == "stability"
    assert ax.get_legend() is None


def test_suggestion_and_candidates_are_marked(ax):
    plot.n_clusters(Suggestion(n_clusters=4, sure=False, candidates=(2, 4)), ax=ax)
    assert [line.get_xdata()[0] for line in ax.lines if line.get_linestyle() == "--"] == [4]
    assert [patch.get_x() + patch.get_width() / 2 for patch in ax.patches] == pytest.approx([2, 4])
    assert ax.get_title() == "4 clusters suggested; unsure: 2, 4"


def test_scores_without_a_value_are_left_out(ax):
    curve = Suggestion().curve | {"eigengap": np.full(3, np.nan)}
    plot.n_clusters(replace(Suggestion(), curve=curve), ax=ax)
    assert len(curves(ax)) == 1
    assert ax.get_ylabel() == "stability"


def test_errors(ax):
    with pytest.raises(PlotError, match="expected the result of suggest_n_clusters, got int without n_clusters, sure"):
        plot.n_clusters(3, ax=ax)
    with pytest.raises(PlotError, match="keys: the curve has no 'gap'; it has n_clusters, stability, eigengap"):
        plot.n_clusters(Suggestion(), keys=["gap"], ax=ax)
    with pytest.raises(PlotError, match="nothing to draw"):
        plot.n_clusters(Suggestion(curve={"n_clusters": np.arange(3)}), ax=ax)
    with pytest.raises(PlotError, match=r"curve\['score'\]: expected one value for each of the 3 .* shape \(2,\)"):
        plot.n_clusters(Suggestion(curve={"n_clusters": np.arange(3), "score": np.ones(2)}), ax=ax)
    assert not ax.has_data()
