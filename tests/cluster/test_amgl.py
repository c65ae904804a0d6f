from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from manyview.cluster import AMGL
from manyview.datasets import make_multiview
from manyview.io import read_views
from manyview.metrics import accuracy


@pytest.fixture(scope="module")
def views():
    return make_multiview(150, 3, n_views=2, n_noise_views=1, noise=0.2, random_state=0)


def test_fitted_attributes(views, capsys):
    model = AMGL(3, random_state=0, verbose=True).fit(views)
    assert set(model.labels_) == {0, 1, 2}
    assert model.view_weights_.sum() == pytest.approx(1)
    assert np.argmin(model.view_weights_) == 2
    np.testing.assert_allclose(model.embedding_.T @ model.embedding_, np.eye(3), atol=1e-10)
    assert len(model.history_["objective"]) == model.n_iter_ == len(capsys.readouterr().out.splitlines())
    np.testing.assert_array_equal(model.history_["view_weights"][-1], model.view_weights_)
    assert accuracy(views.labels, model.labels_) > 0.9


def test_order_of_samples_does_not_matter(views):
    model, order = AMGL(3, random_state=0).fit(views), np.random.default_rng(0).permutation(150)
    moved = AMGL(3, random_state=0).fit(views.take(order))
    np.testing.assert_allclose(moved.embedding_, model.embedding_[order])
    assert adjusted_rand_score(moved.labels_, model.labels_[order]) == 1


def test_rows_of_length_one_before_k_means():
    """Samples of one cluster in one direction, at very different lengths."""
    rng = np.random.default_rng(0)
    views = [rng.normal(size=(60, 3)) for _ in range(2)]
    plain, unit = (AMGL(4, random_state=0, row_normalize=flag).fit(views) for flag in (False, True))
    np.testing.assert_array_equal(plain.embedding_, unit.embedding_)
    assert adjusted_rand_score(plain.labels_, unit.labels_) < 1


def test_view_in_pieces_is_reported():
    rng = np.random.default_rng(0)
    pieces = np.repeat(np.arange(12) * 100.0, 20)[:, None] + rng.normal(size=(240, 1))
    other = rng.normal(size=(240, 3))
    with pytest.warns(ConvergenceWarning, match="view 'view1' has 12 components, and n_clusters=4 need no more"):
        model = AMGL(4, n_neighbors=10, random_state=0).fit([other, pieces])
    assert model.view_weights_[1] > 0.99
    assert np.isfinite(model.embedding_).all()


def test_one_of_many_embeddings_is_reported():
    rng = np.random.default_rng(0)
    pieces = np.repeat(np.arange(12) * 100.0, 20)[:, None] + rng.normal(size=(240, 1))
    with pytest.warns(ConvergenceWarning, match="eigenvalues number 4 and 5"):
        AMGL(4, random_state=0).fit([pieces])


@pytest.mark.parametrize("n_clusters", [1, 3])
def test_clear_clusters_raise_no_doubts(n_clusters):
    views = make_multiview(90, 3, noise=0.02, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        labels = AMGL(n_clusters, random_state=0).fit(views).labels_
    assert adjusted_rand_score(labels, views.labels if n_clusters == 3 else labels * 0) == 1


@pytest.mark.parametrize(("tag", "file", "n_clusters"), [("msrc", "MSRC-v5.mat", 7), ("3s", "3Sources.mat", 6)])
def test_single_starts_score_like_the_authors_program(oracle, data_file, tag, file, n_clusters):
    stored, views = oracle(f"amgl__{tag}__file"), read_views(data_file(file))
    program = [accuracy(views.labels, stored[name]) for name in sorted(stored) if name.startswith("labels__")]
    ours = [
        accuracy(views.labels, AMGL(n_clusters, n_init=1, random_state=seed).fit(views).labels_) for seed in range(10)
    ]
    assert abs(np.mean(ours) - np.mean(program)) <= 2 * np.std(program)
