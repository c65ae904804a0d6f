from __future__ import annotations

import numpy as np
import pytest

from manyview._utils import machine
from manyview.cluster import MVGL
from manyview.datasets import make_multiview


@pytest.fixture(scope="module")
def views():
    return make_multiview(100, n_clusters=3, random_state=0)


def test_weights_of_samples_are_put_back_in_order(views):
    rows = np.random.default_rng(0).permutation(views.n_samples)
    first, moved = MVGL(n_clusters=3).fit(views), MVGL(n_clusters=3).fit(views.take(rows))
    np.testing.assert_allclose(moved.sample_weights_, first.sample_weights_[rows], atol=1e-6)
    np.testing.assert_allclose(first.sample_weights_.sum(axis=1), 1, atol=1e-10)
    np.testing.assert_allclose(first.sample_weights_.mean(axis=0), first.view_weights_, atol=1e-12)
    assert first.view_components_.tolist() == [3] * views.n_views


def test_weights_can_be_kept_from_being_negative(views):
    assert (MVGL(n_clusters=3).fit(views).sample_weights_ < -0.01).any()
    assert (MVGL(n_clusters=3, negative_weights=False).fit(views).sample_weights_ >= 0).all()


def test_without_locality_there_are_edges_beyond_the_neighbours(views):
    sparse, full = (
        MVGL(n_clusters=3, n_neighbors=4).fit(views),
        MVGL(n_clusters=3, n_neighbors=4, local=False).fit(views),
    )
    assert full.learned_graph_.nnz > 2 * sparse.learned_graph_.nnz
    assert not full.learned_graph_.diagonal().any()
    np.testing.assert_allclose(np.asarray(full.learned_graph_.sum(axis=1)).ravel(), 1, atol=1e-9)


def test_all_pairs_are_refused_where_memory_is_short(views, monkeypatch):
    monkeypatch.setattr(machine, "available_memory", lambda: 10_000)
    with pytest.raises(MemoryError, match=r"100 samples and \d views.*local=True"):
        MVGL(n_clusters=3, local=False).fit(views)
    MVGL(n_clusters=3).fit(views)
