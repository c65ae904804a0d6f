"""What all figures share."""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from manyview import GraphEnsemble, plot
from manyview.exceptions import MissingDependencyError, PlotError
from manyview.plot._shared import _methods_with, colours, fitted_attribute, share_limits

OF_MODELS = (plot.graph, plot.view_weights, plot.convergence, plot.embedding)


@pytest.mark.parametrize("draw", OF_MODELS)
def test_draws_on_the_given_axes(draw, models, ax):
    assert draw(models["GraphEnsemble"], ax=ax) is ax
    assert ax.has_data()
    assert ax.get_title().startswith("GraphEnsemble: ")
    assert ax.get_xlabel()
    ax.figure.draw_without_rendering()


@pytest.mark.parametrize("draw", OF_MODELS)
def test_makes_a_figure_of_its_own(draw, models):
    try:
        ax = draw(models["GraphEnsemble"])
        assert ax.figure is plt.gcf()
        assert len(plt.get_fignums()) == 1
    finally:
        plt.close("all")


@pytest.mark.parametrize("draw", OF_MODELS)
def test_model_that_is_not_fitted(draw, ax):
    with pytest.raises(NotFittedError, match=r"This GraphEnsemble is not fitted yet: call fit\(views\)"):
        draw(GraphEnsemble(3), ax=ax)
    assert not ax.has_data()


@pytest.mark.parametrize(
    ("draw", "attributes"),
    [
        (plot.graph, ("consensus_graph_", "learned_graph_")),
        (plot.view_weights, ("view_weights_",)),
        (plot.embedding, ("embedding_",)),
    ],
)
def test_every_method_is_drawn_or_refused_with_those_that_have_it(draw, attributes, models, ax):
    for attribute in attributes:
        assert _methods_with(attribute) == [name for name, model in models.items() if hasattr(model, attribute)]
    for name, model in models.items():
        ax.clear()
        if any(hasattr(model, attribute) for attribute in attributes):
            assert draw(model, ax=ax).has_data()
        else:
            with pytest.raises(PlotError, match=f"{name} has no {' or '.join(attributes)}. Methods that have it: "):
                draw(model, ax=ax)
            assert not ax.has_data()


def test_error_names_the_methods(models):
    with pytest.raises(PlotError) as error:
        fitted_attribute(models["CLR"], "consensus_graph_")
    names = [name for name, model in models.items() if hasattr(model, "consensus_graph_")]
    assert names[:2] == ["GraphEnsemble", "TBGL"]
    assert str(error.value) == (
        f"CLR has no consensus_graph_. Methods that have it: consensus_graph_: {', '.join(names)}."
    )


def test_without_matplotlib(models, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingDependencyError, match=r'Drawing needs matplotlib: pip install "manyview\[plot\]"'):
        plot.view_weights(models["GraphEnsemble"])


@pytest.mark.parametrize("n", [1, 10, 11, 60])
def test_colours_are_different(n):
    found = colours(n)
    assert found.shape == (n, 3)
    assert len(np.unique(found, axis=0)) == n
    if n > 1:
        assert np.linalg.norm(np.diff(found, axis=0), axis=1).min() > 0.2


def test_share_limits_reach_down_to_negative_scores():
    assert share_limits([0.5, np.nan]) == (0, 1)
    assert share_limits([0.5, -0.1]) == (-0.1, 1)
