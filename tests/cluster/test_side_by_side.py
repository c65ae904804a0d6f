"""k-means and spectral clustering on one table of all views, beside scikit-learn's."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from manyview.cluster import ConcatKMeans, ConcatSpectral
from manyview.cluster._side_by_side import put_side_by_side
from manyview.datasets import make_multiview
from manyview.exceptions import ViewsError
from manyview.graphs import canonical_order

BOTH = [ConcatKMeans, ConcatSpectral]
SCALINGS = ["standardized", "centered"]


@pytest.fixture(scope="module")
def blobs():
    """Three overlapping clusters in views of other units and widths."""
    views = make_multiview(150, n_clusters=3, noise=0.6, n_features=6, random_state=0)
    return [1000 * views.arrays[0], 0.01 * views.arrays[1][:, :2], views.arrays[2] * 10.0 ** np.arange(6)]


def distances(table):
    table = table.toarray() if sp.issparse(table) else table
    return np.linalg.norm(table[:, None] - table[None], axis=2)


def by_hand(views, scaling):
    """What users do: features standardised, or every view centred and divided by its total deviation."""
    if scaling == "standardized":
        return np.hstack([StandardScaler().fit_transform(view) for view in views])
    return np.hstack([(view - view.mean(axis=0)) / np.sqrt(view.var(axis=0).sum()) for view in views])


@pytest.mark.parametrize("scaling", SCALINGS)
def test_the_table_is_what_users_make(blobs, scaling):
    np.testing.assert_allclose(put_side_by_side(blobs, scaling), by_hand(blobs, scaling), atol=1e-12)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_sparse_views_stay_sparse_and_have_the_same_distances(scaling):
    rng = np.random.default_rng(0)
    views = [rng.poisson(0.5, (40, 9)) * 3.0, rng.normal(size=(40, 4))]
    table = put_side_by_side([sp.csr_array(views[0]), views[1]], scaling)
    assert sp.issparse(table)
    np.testing.assert_allclose(distances(table), distances(by_hand(views, scaling)), atol=1e-10)


def test_every_view_counts_the_same_unless_columns_are_standardized(blobs):
    ends = np.cumsum([view.shape[1] for view in blobs])[:-1]
    for scaling in ("centered", "none", "max", "unit", "directions"):
        parts = np.split(put_side_by_side(blobs, scaling), ends, axis=1)
        np.testing.assert_allclose([part.var(axis=0).sum() for part in parts], 1.0)
    parts = np.split(put_side_by_side(blobs, "standardized"), ends, axis=1)
    np.testing.assert_allclose([part.var(axis=0).sum() for part in parts], [6, 2, 6])


@pytest.mark.parametrize("scaling", SCALINGS)
def test_kmeans_is_that_of_scikit_learn(blobs, scaling):
    rows = canonical_order(blobs).rows  # the order in which the estimator has the samples
    expected = KMeans(3, n_init=10, random_state=7).fit(by_hand(blobs, scaling)[rows])
    model = ConcatKMeans(3, scaling=scaling, random_state=7).fit(blobs)
    assert adjusted_rand_score(expected.labels_, model.labels_[rows]) == 1
    assert model.history_["start_objective"].min() == pytest.approx(expected.inertia_)
    assert len(model.history_["start_objective"]) == 10


@pytest.mark.parametrize("n_neighbors", [5, 10])
@pytest.mark.parametrize("scaling", SCALINGS)
def test_spectral_clustering_is_that_of_scikit_learn(blobs, scaling, n_neighbors):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a graph of several components would be a warning
        expected = SpectralClustering(
            3, affinity="nearest_neighbors", n_neighbors=n_neighbors, n_init=10, random_state=0
        ).fit(by_hand(blobs, scaling))
    model = ConcatSpectral(3, scaling=scaling, n_neighbors=n_neighbors, random_state=0).fit(blobs)
    assert adjusted_rand_score(expected.labels_, model.labels_) == 1


def test_components_of_the_graph_are_clusters():
    rng = np.random.default_rng(0)
    groups = rng.permutation(np.repeat(np.arange(5), 30))
    views = [100 * rng.normal(size=(5, 4))[groups] + rng.normal(size=(150, 4)) for _ in range(2)]
    model = ConcatSpectral(5, random_state=0).fit(views)
    assert adjusted_rand_score(groups, model.labels_) == 1


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("estimator", BOTH)
def test_wide_sparse_tables(estimator, scaling):
    """Dense, this table would have 2.4 GB."""
    rng = np.random.default_rng(0)
    words = sp.random_array((3000, 100_000), density=1e-4, rng=rng, format="csr")
    groups = np.arange(3000) % 3
    model = estimator(3, scaling=scaling, n_init=1, random_state=0).fit([words, 5.0 * np.eye(3)[groups]])
    assert model.labels_.shape == (3000,)


@pytest.mark.parametrize("estimator", BOTH)
def test_one_view_is_enough(estimator, blobs):
    assert estimator(3, random_state=0).fit(blobs[:1]).labels_.max() == 2


@pytest.mark.parametrize("estimator", BOTH)
def test_missing_views_are_refused(estimator, blobs):
    views = [view.copy() for view in blobs]
    views[1][4] = np.nan
    with pytest.raises(ViewsError, match=f"{estimator.__name__} needs every view of every sample, but 1 of 150"):
        estimator(3).fit(views)


@pytest.mark.parametrize("estimator", BOTH)
def test_a_line_for_every_start(estimator, blobs, capsys):
    estimator(3, n_init=4, random_state=0, verbose=True).fit(blobs)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == [f"{estimator.__name__} pass {i}" for i in range(1, 5)]
