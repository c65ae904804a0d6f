from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manyview.graphs import ANCHOR_SELECTORS, select_kmeans, select_vda
from manyview.graphs.anchors import _row_variances, concatenate


@pytest.fixture
def views():
    rng = np.random.default_rng(0)
    return [rng.random((80, 5)), rng.random((80, 9)), rng.random((80, 3))]


def naive_vda(table, m):
    score = table.var(axis=1, ddof=1)
    score = score / score.max()
    picks = [int(np.argmax(score))]
    while len(picks) < m:
        nearness = 1 / (1 + np.sqrt(np.abs(score - score[picks[-1]])))
        score = score * (1 - nearness / nearness.max())
        score = score / score.max()
        picks.append(int(np.argmax(score)))
    return np.sort(picks)


@pytest.mark.parametrize("name", ANCHOR_SELECTORS)
@pytest.mark.parametrize("m", [2, 17, 80])
def test_as_many_different_samples_as_asked_for(views, name, m):
    indices = ANCHOR_SELECTORS[name](views, m, 0)
    assert len(np.unique(indices)) == m
    assert (np.diff(indices) > 0).all()
    assert indices.min() >= 0
    assert indices.max() < 80


@pytest.mark.parametrize("name", ANCHOR_SELECTORS)
def test_same_seed_same_anchors(views, name):
    first, second = (ANCHOR_SELECTORS[name](views, 12, 7) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_vda_follows_its_definition(views):
    # a dozen picks: with more of them the last bits begin to choose
    np.testing.assert_array_equal(select_vda(views, 12), naive_vda(np.hstack(views), 12))


def test_vda_oracle(oracle):
    helpers = oracle("helpers")
    np.testing.assert_array_equal(select_vda([helpers["in_vda_X"]], 8), helpers["out_vda_ind"].ravel() - 1)
    scores = _row_variances([helpers["in_vda_X"]])
    np.testing.assert_allclose(scores / scores.max(), helpers["out_vda_score"][:, 0], atol=1e-8)


def test_vda_does_not_see_layout_order_of_rows_or_views(views):
    chosen = select_vda(views, 40)
    np.testing.assert_array_equal(select_vda([np.asfortranarray(v) for v in views], 40), chosen)
    np.testing.assert_array_equal(select_vda(views[::-1], 40), chosen)
    order = np.random.default_rng(1).permutation(80)
    np.testing.assert_array_equal(np.sort(order[select_vda([v[order] for v in views], 40)]), chosen)


def test_vda_is_chaotic():
    """The documented weakness: a relative change of 1e-15 in one sample moves many anchors."""
    rng = np.random.default_rng(2)
    x = rng.random((400, 30))
    nudged = x.copy()
    nudged[0] *= 1 + 1e-14
    same = np.intersect1d(select_vda([x], 200), select_vda([nudged], 200))
    assert len(same) < 190


def test_vda_scores_of_sparse_views(views):
    mask = np.random.default_rng(3).random((80, 9)) < 0.3
    dense = [views[0], views[1] * mask]
    mixed = [views[0], sp.csr_array(dense[1])]
    np.testing.assert_allclose(_row_variances(mixed), np.hstack(dense).var(axis=1, ddof=1), rtol=1e-12)


def test_duplicates_do_not_stop_the_selection():
    x = np.repeat(np.random.default_rng(4).random((5, 3)), 6, axis=0)
    indices = select_vda([x], 12)
    assert len(np.unique(indices)) == 12
    assert len(np.unique(x[indices], axis=0)) == 5  # every distinct sample is among them
    assert len(np.unique(select_kmeans([x], 5, 0))) == 5


def test_concatenate_keeps_sparse(views):
    table = concatenate([views[0], sp.csr_array(views[1])])
    assert sp.issparse(table)
    np.testing.assert_array_equal(table.toarray(), np.hstack(views[:2]))
