"""Small fitted models, axes that pyplot does not know, and a check that pyplot does not get to know them."""

from __future__ import annotations

import warnings

import matplotlib
import matplotlib.pyplot as plt
import pytest
from matplotlib.figure import Figure
from sklearn.base import BaseEstimator

from manyview.cluster import available_methods
from manyview.datasets import make_multiview

matplotlib.use("Agg")


class FakeModel(BaseEstimator):
    """Looks like a fitted estimator with the given attributes."""

    def __init__(self, **attributes):
        vars(self).update(attributes)

    def fit(self, views):
        return self


@pytest.fixture
def fake_model():
    return FakeModel


@pytest.fixture(scope="session")
def models():
    """Every method, fitted to the same 60 samples."""
    views = make_multiview(60, n_clusters=3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {method.name: method.estimator(3, random_state=0).fit(views) for method in available_methods()}


@pytest.fixture
def ax():
    """Axes to draw on. After the test, pyplot must have no figure and matplotlib its settings."""
    settings = dict(matplotlib.rcParams)
    yield Figure(layout="constrained").subplots()
    assert plt.get_fignums() == []
    assert dict(matplotlib.rcParams) == settings
