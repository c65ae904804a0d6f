from __future__ import annotations

import warnings
from numbers import Integral
from typing import ClassVar

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from manyview.cluster import CLR
from manyview.cluster._base import MultiViewClusterer, fill_docstring, interval, limit_neighbors
from manyview.exceptions import ReducedNeighborsWarning, ViewsError


class FirstColumn(MultiViewClusterer):
    """Clusters by the sign of the first column, and remembers what it saw."""

    _sample_axes: ClassVar = {"seen_": (0,), "pairs_": (0, 1)}

    def __init__(self, n_clusters, *, n_neighbors=3, view_sizes=None):
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.view_sizes = view_sizes

    def _fit(self, views):
        first = views.arrays[0][:, 0]
        self.labels_ = (first > 0).astype(int)
        self.seen_ = first
        self.pairs_ = np.subtract.outer(first, 2 * first)
        self.anchor_indices_ = np.array([0, 1])
        self.rows_ = views.sample_ids


VIEWS = [np.random.default_rng(0).normal(size=(12, 3)), np.random.default_rng(1).normal(size=(12, 2))]


def test_what_a_method_sets_for_samples_comes_back_in_the_given_order():
    model = FirstColumn(2).fit(VIEWS)
    first = VIEWS[0][:, 0]
    np.testing.assert_array_equal(model.seen_, first)
    np.testing.assert_array_equal(model.pairs_, np.subtract.outer(first, 2 * first))
    expected = (first > 0).astype(int)
    np.testing.assert_array_equal(model.labels_, expected if expected[0] == 0 else 1 - expected)
    np.testing.assert_array_equal(model.anchor_indices_, model.rows_[:2])


def test_fewer_clusters_than_asked_for_are_told():
    with pytest.warns(
        ConvergenceWarning, match=r"^FirstColumn found 2 clusters instead of n_clusters=3: it cannot tell"
    ):
        FirstColumn(3).fit(VIEWS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FirstColumn(2).fit(VIEWS)


def test_a_method_sees_the_samples_in_the_same_order_however_they_come():
    order = np.random.default_rng(2).permutation(12)
    first, second = FirstColumn(2).fit(VIEWS), FirstColumn(2).fit([view[order] for view in VIEWS])
    np.testing.assert_array_equal(first.rows_, order[second.rows_])
    assert not np.array_equal(first.rows_, np.arange(12))


def test_a_method_has_the_rules_of_its_own_parameters_and_no_others():
    assert set(FirstColumn._parameter_constraints) == {"n_clusters", "n_neighbors", "view_sizes"}


def test_a_parameter_without_a_rule_is_noticed_at_once():
    with pytest.raises(KeyError, match="surprise"):

        class Careless(MultiViewClusterer):
            def __init__(self, n_clusters, surprise=None):
                self.n_clusters, self.surprise = n_clusters, surprise


def test_a_method_may_have_a_rule_of_its_own():
    class Careful(MultiViewClusterer):
        _parameter_constraints: ClassVar = {"n_neighbors": [interval(Integral, 7, None, "left")]}

        def __init__(self, n_clusters, n_neighbors=7):
            self.n_clusters, self.n_neighbors = n_clusters, n_neighbors

    assert Careful._parameter_constraints["n_neighbors"] != MultiViewClusterer._parameter_constraints["n_neighbors"]


def test_neighbours_are_limited_by_what_there_is():
    assert limit_neighbors(5, 6) == 5
    with pytest.warns(ReducedNeighborsWarning, match="n_neighbors=5 needs at least 6 other samples, but there are 4"):
        assert limit_neighbors(5, 4, "other samples") == 3
    with pytest.raises(ViewsError, match="n_neighbors=5: expected at least 2 other samples to choose from, got 1"):
        limit_neighbors(5, 1, "other samples")


def test_a_line_for_every_pass(capsys):
    CLR(2, verbose=True)._on_pass()(3, 1234.56789)
    assert capsys.readouterr().out == "CLR pass 3: objective 1234.57\n"


def test_shared_entries_of_docstrings_are_filled_in():
    text = "Cluster.\n\n    %(n_clusters)s\n    scaling : %(scalings)s\n    %(labels_)s\n    %(unknown)s, 5 %"
    lines = fill_docstring(text).splitlines()
    assert lines[2:4] == ["    n_clusters : int", "        Number of clusters."]
    assert lines[4].startswith('    scaling : {"max", "unit", ')
    assert lines[5] == "    labels_ : ndarray of shape (n_samples,)"
    assert lines[-1] == "    %(unknown)s, 5 %"


def test_a_method_without_a_docstring_has_none():
    class Bare(FirstColumn):
        pass

    assert Bare.__doc__ is None
