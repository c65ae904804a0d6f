"""Neighbour lists of small data that the tests of the ensemble share."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manyview.datasets import make_multiview
from manyview.ensemble.columns import DISTANCE, NEAREST
from manyview.ensemble.members import Lists
from manyview.graphs import SCALERS, nearest_lists


@pytest.fixture(scope="session")
def blobs():
    """Columns of 300 rows in 4 clusters, seen in three views and in one of noise; their lists; the clusters."""
    views = make_multiview(300, 4, n_views=3, n_noise_views=1, noise=0.05, random_state=0)
    columns, n_pool = {}, 120
    for v, x in enumerate(views.arrays):
        columns[NEAREST.of(v)], columns[DISTANCE.of(v)] = nearest_lists(x, x[:n_pool], 60, n_threads=1)
    return columns, Lists(n_pool, (np.inf,) * 4), views.labels


@pytest.fixture(scope="session")
def texts():
    """Columns of 200 rows of unit length in two views, most of them with nothing in common; their lists."""
    rng = np.random.default_rng(0)
    columns, n_pool = {}, 60
    for v in range(2):
        x = rng.random((200, 30)) * (rng.random((200, 30)) < 0.04)
        x[np.arange(200), rng.integers(30, size=200)] += 0.1
        x = sp.csr_array(x / np.linalg.norm(x, axis=1, keepdims=True))
        near, distance = nearest_lists(x, x[:n_pool], 40, only_similar=True, n_threads=1)
        columns[NEAREST.of(v)], columns[DISTANCE.of(v)] = near, distance
    return columns, Lists(n_pool, (2.0, 2.0))


@pytest.fixture(scope="session")
def rings():
    """Columns of 300 rows in two rings, seen in three views; their lists, of 85 % as in the estimator; the rings."""
    views = make_multiview(300, 2, shape="rings", random_state=0)
    columns, n_pool = {}, 255
    for v, x in enumerate(map(SCALERS["centered"], views.arrays)):
        columns[NEAREST.of(v)], columns[DISTANCE.of(v)] = nearest_lists(x, x[:n_pool], 180, n_threads=1)
    return columns, Lists(n_pool, (np.inf,) * 3), views.labels
