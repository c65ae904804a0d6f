"""Lines of what a fit has recorded."""

from __future__ import annotations

import numpy as np
import pytest

from manyview import plot
from manyview.exceptions import PlotError


def lines(ax):
    return {line.get_label(): line.get_ydata() for line in ax.lines}


def test_ensemble(models, ax):
    model = models["GraphEnsemble"]
    plot.convergence(model, ax=ax)
    assert list(lines(ax)) == ["agreement", "stability"]
    np.testing.assert_array_equal(lines(ax)["agreement"], model.history_["agreement"])
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), model.history_["n_members"])
    assert (ax.get_ylim(), ax.get_xlabel(), ax.get_ylabel()) == ((0, 1), "members", "NMI")


def test_every_method_has_a_default(models, ax):
    usual = {
        "GraphEnsemble": ["agreement", "stability"],
        "CoTrainingSpectral": ["subspace change"],
        "ConcatKMeans": ["start objective"],
        "ConcatSpectral": ["start objective"],
        "SNF": ["relative change"],
    }
    for name, model in models.items():
        ax.clear()
        if name == "LMVSC":
            continue
        if model.n_iter_ == 0:
            with pytest.raises(PlotError, match=f"{name} made no pass"):
                plot.convergence(model, ax=ax)
            continue
        plot.convergence(model, ax=ax)
        if name in usual or "objective" in model.history_:
            assert list(lines(ax)) == usual.get(name, ["objective"])
        if list(lines(ax)) == ["objective"]:
            np.testing.assert_array_equal(lines(ax)["objective"], model.history_["objective"])
            np.testing.assert_array_equal(ax.lines[0].get_xdata(), np.arange(1, model.n_iter_ + 1))
            assert (ax.get_xlabel(), ax.get_ylabel()) == ("pass", "objective")


def test_a_line_for_each_view(models, ax):
    model = models["TBGL"]
    plot.convergence(model, keys="view_weights", ax=ax)
    assert list(lines(ax)) == list(model.view_names_)
    np.testing.assert_array_equal(np.array(list(lines(ax).values())).T, model.history_["view_weights"])
    ax.clear()
    plot.convergence(model, keys=["noise_residual", "view_weights"], ax=ax)
    assert list(lines(ax)) == ["noise residual", *(f"view weights: {name}" for name in model.view_names_)]
    assert len(ax.get_legend().get_texts()) == 1 + len(model.view_names_)


def test_errors(models, fake_model, ax):
    with pytest.raises(PlotError, match="keys: history_ of TBGL has no 'loss'; it has objective, noise_residual"):
        plot.convergence(models["TBGL"], keys="loss", ax=ax)
    with pytest.raises(PlotError, match=r"history_\['member_weights'\] has 8 value\(s\), not one for each of the 2"):
        plot.convergence(models["GraphEnsemble"], keys=["member_weights"], ax=ax)
    with pytest.raises(PlotError, match="LMVSC solves each view once"):
        plot.convergence(models["LMVSC"], ax=ax)
    never = fake_model(labels_=np.zeros(3), n_iter_=0, history_={"objective": np.array([])})
    with pytest.raises(PlotError, match=r"FakeModel made no pass \(n_iter_=0\).* nothing to draw"):
        plot.convergence(never, ax=ax)
    odd = fake_model(labels_=np.zeros(3), n_iter_=2, history_={"loss": np.array([2.0, 1.0])})
    with pytest.raises(PlotError, match="FakeModel: choose keys= from what history_ has: loss"):
        plot.convergence(odd, ax=ax)
    assert not ax.has_data()
    plot.convergence(odd, keys="loss", ax=ax)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [2, 1])
