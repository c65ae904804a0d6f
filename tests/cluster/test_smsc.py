from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from manyview.cluster import SMSC
from manyview.datasets import make_multiview
from manyview.io import read_views
from manyview.metrics import accuracy


@pytest.fixture(scope="module")
def views():
    return make_multiview(150, 3, n_views=3, noise=0.3, random_state=0)


@pytest.fixture(scope="module")
def fitted(views):
    return SMSC(3, random_state=0).fit(views)


def test_fitted_attributes(views, fitted, capsys):
    assert set(fitted.labels_) == {0, 1, 2}
    assert fitted.view_weights_.sum() == pytest.approx(1)
    assert fitted.embedding_.shape == (150, 3)
    assert (fitted.embedding_ >= 0).all()
    assert adjusted_rand_score(fitted.embedding_.argmax(axis=1), fitted.labels_) == 1
    assert fitted.history_["residuals"].shape == (fitted.n_iter_, 3)
    assert (np.diff(fitted.history_["objective"]) <= 1e-12).all()
    assert accuracy(views.labels, fitted.labels_) > 0.9
    model = SMSC(3, random_state=0, initialization="kmeans", verbose=True).fit(views)
    assert len(capsys.readouterr().out.splitlines()) == model.n_iter_


@pytest.mark.parametrize("initialization", ["best", "kmeans", "svd"])
def test_order_of_samples_does_not_matter(views, initialization):
    order = np.random.default_rng(0).permutation(150)
    model, moved = (SMSC(3, random_state=0, initialization=initialization).fit(v) for v in (views, views.take(order)))
    np.testing.assert_allclose(moved.embedding_, model.embedding_[order])
    assert adjusted_rand_score(moved.labels_, model.labels_[order]) == 1


def test_order_of_views_does_not_matter(views, fitted):
    turned = SMSC(3, random_state=0).fit(views.arrays[::-1])
    np.testing.assert_allclose(turned.view_weights_[::-1], fitted.view_weights_, atol=1e-6)
    assert adjusted_rand_score(turned.labels_, fitted.labels_) == 1


def test_scale_and_offset_of_a_sample_do_not_matter(views, fitted):
    rng = np.random.default_rng(0)
    moved = [rng.uniform(0.5, 3, size=(150, 1)) * view + rng.normal(size=(150, 1)) for view in views.arrays]
    model = SMSC(3, random_state=0).fit(moved)
    assert adjusted_rand_score(model.labels_, fitted.labels_) == 1
    assert model.history_["objective"][-1] == pytest.approx(fitted.history_["objective"][-1], rel=1e-6)


@pytest.mark.filterwarnings("ignore::manyview.exceptions.ReducedNeighborsWarning")
def test_clusters_that_stay_empty_are_reported():
    with pytest.warns(ConvergenceWarning, match=r"clusters instead of n_clusters=9") as caught:
        labels = SMSC(9, max_iter=1, initialization="svd").fit(_few()).labels_
    assert caught[-1].filename == __file__
    assert set(labels) == set(range(9))


def _few():
    rng = np.random.default_rng(0)
    return [rng.normal(size=(10, 1)), rng.normal(size=(10, 1))]


@pytest.mark.parametrize("n_clusters", [1, 2, 9, 10])
@pytest.mark.parametrize("initialization", ["best", "kmeans", "svd"])
@pytest.mark.filterwarnings("ignore")
def test_few_samples_and_one_column(n_clusters, initialization):
    model = SMSC(n_clusters, random_state=0, initialization=initialization).fit(_few())
    assert set(model.labels_) == set(range(n_clusters))


def test_both_starts_on_a_benchmark(data_file):
    """The paper's table has 0.766 for MSRC-v5, which is one of several local minima."""
    views = read_views(data_file("MSRC-v5.mat"))
    found = [SMSC(7, random_state=0, initialization=start).fit(views) for start in ("kmeans", "svd")]
    for model in found:
        assert accuracy(views.labels, model.labels_) > 0.75
        assert (np.diff(model.history_["objective"]) <= 1e-12).all()


def test_of_two_starts_the_lower_objective_is_kept():
    found = set()
    for seed in range(4):
        views = make_multiview(150, 5, noise=1.2, random_state=seed)
        by_start = {start: SMSC(5, random_state=0, initialization=start).fit(views) for start in ("kmeans", "svd")}
        ends = {start: model.history_["objective"][-1] for start, model in by_start.items()}
        lower = min(ends, key=ends.get)
        found.add(lower)
        best = SMSC(5, random_state=0).fit(views)
        assert best.history_["objective"][-1] == ends[lower]
        np.testing.assert_array_equal(best.labels_, by_start[lower].labels_)
    assert found == {"kmeans", "svd"}  # each is the better one somewhere
