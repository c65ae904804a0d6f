"""Bars of the view weights."""

from __future__ import annotations

import numpy as np
import pytest

from manyview import plot


def test_bars_are_the_weights(models, ax):
    model = models["AMGL"]
    plot.view_weights(model, ax=ax)
    assert [bar.get_width() for bar in ax.patches] == pytest.approx(model.view_weights_)
    assert [label.get_text() for label in ax.get_yticklabels()] == list(model.view_names_)
    assert [text.get_text().strip() for text in ax.texts] == [f"{weight:.3f}" for weight in model.view_weights_]
    assert ax.yaxis_inverted()  # the first view on top
    assert ax.get_xlabel() == "weight (all views together: 1)"


def test_weights_that_are_no_shares(fake_model, ax):
    model = fake_model(labels_=np.zeros(3), view_weights_=np.array([2.0, 3.0]), view_names_=("a", "b"))
    assert plot.view_weights(model, ax=ax).get_xlabel() == "weight"
