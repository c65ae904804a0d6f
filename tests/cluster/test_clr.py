from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from manyview import read_views
from manyview.cluster import CLR
from manyview.datasets import make_multiview


@pytest.fixture(scope="module")
def views():
    return make_multiview(90, n_clusters=3, noise=0.3, random_state=0)


@pytest.mark.parametrize(("name", "tag", "n_clusters"), [("MSRC-v5", "msrc", 7), ("3Sources", "3s", 6)])
def test_labels_of_the_authors(oracle, data_file, name, tag, n_clusters):
    model = CLR(n_clusters).fit(read_views(data_file(f"{name}.mat")))
    assert adjusted_rand_score(oracle(f"clr__{tag}__file")["labels__concat"], model.labels_) == 1


def test_one_view_is_enough(views):
    model = CLR(3).fit([views.arrays[0]])
    assert model.n_components_ == 3


def test_the_unit_of_a_single_view_does_not_matter(views):
    expected = CLR(3).fit([views.arrays[0]]).labels_
    np.testing.assert_array_equal(CLR(3, scaling="none").fit([1000 * views.arrays[0]]).labels_, expected)


def test_copies_side_by_side_are_one_view(views):
    expected = CLR(3).fit([views.arrays[0]])
    found = CLR(3).fit([views.arrays[0], views.arrays[0], views.arrays[0]])
    np.testing.assert_array_equal(found.labels_, expected.labels_)


def test_more_components_than_clusters_are_joined():
    rng = np.random.default_rng(0)
    view = np.concatenate([rng.normal(100 * c, 1, size=(20, 2)) for c in range(4)])
    with pytest.warns(ConvergenceWarning, match="4 connected components instead of n_clusters=2"):
        model = CLR(2, n_neighbors=5).fit([view])
    assert model.n_components_ == 4
    assert set(model.labels_) == {0, 1}


def test_unsymmetric_input_has_exactly_k_edges_per_row(views):
    model = CLR(3, n_neighbors=7, symmetric=False).fit(views)
    assert np.diff(model.learned_graph_.indptr).max() <= 7
