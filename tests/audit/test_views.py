from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

from manyview import GraphEnsemble
from manyview.audit import audit_views
from manyview.cluster import SMSC, CoRegularizedSpectral
from manyview.datasets import make_multiview
from manyview.exceptions import ViewsError


class Reading(BaseEstimator):
    """Halves of the view that is called "colour", or of the first one where it is absent."""

    def fit(self, views):
        values = np.asarray(views["colour" if "colour" in views.names else views.names[0]])[:, 0]
        self.labels_ = (values > np.median(values)).astype(int)
        return self


class Noting(BaseEstimator):
    """Notes down what it was given."""

    seen: list

    def __init__(self, scaling="auto", readout_view=None, random_state=None):
        self.scaling = scaling
        self.readout_view = readout_view
        self.random_state = random_state

    def fit(self, views):
        Noting.seen.append((views.names, self.scaling))
        self.labels_ = np.arange(views.n_samples) % 2
        return self


@pytest.fixture
def seen():
    Noting.seen = []
    return Noting.seen


def test_the_view_that_decides_is_named(views):
    turned = replace(views, arrays=views.arrays[::-1], names=views.names[::-1])
    found = audit_views(Reading(), turned)
    assert found.names == ("without noise", "without shape", "without colour")
    np.testing.assert_array_equal(found.agreement[:2], [1, 1])
    assert found.agreement[2] < 0.8
    assert not found.passed
    assert found.verdict == (
        "What Reading finds depends strongly on single views: leaving out colour changes most (agreement "
        f"{found.agreement[2]:.3f}, {found.moved[2]} of 60 samples in another group), leaving out noise least "
        "(agreement 1.000, 0 of 60 samples in another group)."
    )


def test_accuracy_without_each_view():
    views = make_multiview(90, noise=0.3, n_noise_views=1, random_state=0)
    found = audit_views(SMSC(3, random_state=0), views)
    assert found.names[-1] == "without noise0"
    assert found.accuracy.shape == (5,)
    assert f"{found.accuracy[4]:.3f} without noise0 (rows as given)" in found.verdict


def test_the_same_groups_without_any_view(seen, views):
    found = audit_views(Noting(), views)
    assert found.passed
    assert found.verdict == "Noting gives the same groups without any one of the 3 views."
    assert [names for names, _ in seen] == [
        ("colour", "shape", "noise"),
        ("shape", "noise"),
        ("colour", "noise"),
        ("colour", "shape"),
    ]


def test_a_scaling_per_view_loses_that_of_the_absent_view(seen, views):
    audit_views(Noting(scaling=["a", "b", "c"]), views)
    assert [scaling for _, scaling in seen] == [["a", "b", "c"], ["b", "c"], ["a", "c"], ["a", "b"]]
    seen.clear()
    given = {"shape": "max", "noise": "unit"}
    audit_views(Noting(scaling=given), views)
    assert [scaling for _, scaling in seen] == [given, given, {"noise": "unit"}, {"shape": "max"}]
    found = audit_views(GraphEnsemble(2, scaling={"noise": "max"}, n_members=4), views)
    assert len(found.names) == 3


def test_the_view_to_read_off_cannot_be_left_out(seen, views):
    for readout in ("shape", 0):
        with pytest.raises(ViewsError, match=rf"^readout_view={readout!r}: .* off that view, so it cannot be left out"):
            audit_views(Noting(readout_view=readout), views)
    assert not seen
    with pytest.raises(ViewsError, match="Set readout_view=None"):
        audit_views(CoRegularizedSpectral(2, readout_view="noise"), views)


def test_too_few_views(views):
    two = replace(views, arrays=views.arrays[:2], names=views.names[:2], feature_names=None)
    with pytest.raises(ViewsError, match=r"GraphEnsemble needs at least 3 views, got 2: colour, shape\."):
        audit_views(GraphEnsemble(2), two)
    assert len(audit_views(SMSC(2), two).names) == 2  # works on a single view, too
    with pytest.raises(ViewsError, match="Reading needs at least 2 views, got 1: colour"):
        audit_views(Reading(), {"colour": views.arrays[0]})


def test_names_of_columns_and_metadata_go_along(views, seen):
    named = [[f"{name} {column}" for column in range(x.shape[1])] for name, x in views.items()]
    ages = pd.DataFrame({"age": np.arange(views.n_samples)})
    audit_views(Noting(), replace(views, feature_names=named, metadata=ages))
    assert [names for names, _ in seen[1:]] == [("shape", "noise"), ("colour", "noise"), ("colour", "shape")]


def test_one_table_is_cut_first(views):
    found = audit_views(SMSC(2, view_sizes=3, random_state=0), np.hstack(views.arrays))
    expected = audit_views(SMSC(2, random_state=0), list(views.arrays))
    assert found.names == ("without view0", "without view1", "without view2")
    np.testing.assert_array_equal(found.pairwise, expected.pairwise)


def test_samples_that_lack_views_keep_lacking_them():
    views = make_multiview(60, n_views=3, noise=0.3, random_state=0)
    present = np.ones((60, 3), dtype=bool)
    present[4, 1] = False
    found = audit_views(GraphEnsemble(3, n_members=4, random_state=0), replace(views, present=present))
    assert found.names == ("without view0", "without view1", "without view2")
    present[4, 2] = False
    with pytest.raises(ViewsError, match=r"every sample needs two views, but the sample in row 4 has view0 only\."):
        audit_views(GraphEnsemble(3, random_state=0), replace(views, present=present))
