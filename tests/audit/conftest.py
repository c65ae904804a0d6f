"""Small estimators whose dependence is known, and views to audit them with."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from manyview import OrderDependenceWarning, Views


class Halves(BaseEstimator):
    """Above or below the median of the sum of all features: depends on nothing but the values. Draws nothing."""

    def fit(self, views):
        total = sum(np.asarray(view).sum(axis=1) for view in views.arrays)
        self.labels_ = (total > np.median(total)).astype(int)
        return self


class FirstRows(BaseEstimator):
    """The first half of the rows, whatever is in them. Has a seed that it does not use."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, views):
        warnings.warn("the order matters", OrderDependenceWarning, stacklevel=2)
        self.labels_ = (np.arange(views.n_samples) >= views.n_samples / 2).astype(int)
        return self


class Drawn(BaseEstimator):
    """Halves, but some labels are drawn row by row: another order or another seed gives other labels."""

    def __init__(self, share=0.3, random_state=None):
        self.share = share
        self.random_state = random_state

    def fit(self, views):
        rng = np.random.default_rng(self.random_state)
        labels = Halves().fit(views).labels_
        drawn = rng.random(len(labels)) < self.share
        self.labels_ = np.where(drawn, rng.integers(2, size=len(labels)), labels)
        return self


class Failing(BaseEstimator):
    """Works on the first fit, given what was given, and fails on anything else."""

    def __init__(self, expected=()):
        self.expected = expected

    def fit(self, views):
        if not np.array_equal(np.asarray(views.arrays[0])[:, 0], self.expected):
            raise RuntimeError("these are other rows")
        self.labels_ = np.arange(views.n_samples) % 2
        return self


@pytest.fixture
def fakes():
    """The estimators by name, as importable classes are not shared between test files."""
    return {found.__name__: found for found in (Halves, FirstRows, Drawn, Failing)}


@pytest.fixture
def views():
    """Three views of sixty samples in no order, without labels."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=60)
    arrays = [hidden[:, None] + noise * rng.normal(size=(60, 2)) for noise in (0.3, 0.3, 2.0)]
    return Views(arrays, names=["colour", "shape", "noise"])
