"""Data without clusters that are otherwise like the given ones."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from manyview.graphs.reference import without_clusters


def test_dense_views_keep_their_covariance_within_and_between_views():
    rng = np.random.default_rng(0)
    first = rng.choice([-3.0, 3.0], size=(2000, 1)) * [1.0, 2.0, 0.0] + rng.normal(size=(2000, 3)) + 5
    second = first[:, :2] @ [[1.0, 1.0], [0.0, 1.0]] + rng.normal(size=(2000, 2))
    made = np.hstack(without_clusters([first, second], rng))
    given = np.hstack([first, second])
    np.testing.assert_allclose(np.cov(made.T), np.cov(given.T), atol=0.1 * np.cov(given.T).max())
    np.testing.assert_allclose(made.mean(axis=0), given.mean(axis=0), atol=0.4)
    # two clusters have few samples near the centre, a cloud has many
    assert (np.abs(made[:, 1] - 5) < 2).mean() > 3 * (np.abs(given[:, 1] - 5) < 2).mean()


def test_unit_rows_keep_their_length():
    rng = np.random.default_rng(1)
    dense = rng.normal(size=(50, 4))
    dense *= 3 / np.linalg.norm(dense, axis=1, keepdims=True)
    made = without_clusters([dense], rng)[0]
    np.testing.assert_allclose(np.linalg.norm(made, axis=1), 3)


def test_sparse_views_stay_sparse_and_lose_what_words_have_in_common():
    rng = np.random.default_rng(2)
    topics = np.repeat(np.eye(2), [50, 50], axis=0)
    table = (rng.random((100, 40)) < np.repeat(topics, 20, axis=1) * 0.4 + 0.02).astype(float)
    given = sp.csr_array(table)
    made = without_clusters([given], rng)[0]
    np.testing.assert_array_equal(given.toarray(), table)
    assert sp.issparse(made)
    assert made.sum() == table.sum()
    np.testing.assert_array_equal(made.sum(axis=1), table.sum(axis=1))
    same, other = (made @ made.T).toarray()[:50, :50].mean(), (made @ made.T).toarray()[:50, 50:].mean()
    assert abs(same - other) < 0.5 * other


def test_rows_without_entries_stay_empty():
    made = without_clusters([sp.csr_array(np.diag([2.0, 2.0, 0.0]))], np.random.default_rng(0))[0]
    np.testing.assert_allclose(np.sqrt((made.toarray() ** 2).sum(axis=1)), [2.0, 2.0, 0.0])
