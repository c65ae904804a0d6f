from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manyview.graphs import SCALERS
from manyview.graphs.anchors import _shifted_sums, alternate_picks, select_das
from manyview.io import read_views


@pytest.fixture
def views():
    rng = np.random.default_rng(0)
    return [rng.random((80, 5)), rng.random((80, 9)) - 0.5, rng.random((80, 3))]


@pytest.fixture(scope="module")
def many():
    """Enough samples and picks for the last bit of a score to matter."""
    rng = np.random.default_rng(2)
    return [rng.random((400, 13)), rng.random((400, 9)) * 1e3, rng.random((400, 8)) / 7]


def naive_das(table, m):
    score = (table - table.min(axis=0)).sum(axis=1)
    score = score / score.max()
    picks = [int(np.argmax(score))]
    while len(picks) < m:
        score = score * (1 - score)
        score = score / score.max()
        picks.append(int(np.argmax(score)))
    return np.sort(picks)


@pytest.mark.parametrize("m", [2, 17, 80])
def test_as_many_different_samples_as_asked_for(views, m):
    indices = select_das(views, m, 0)
    assert len(np.unique(indices)) == m
    assert (np.diff(indices) > 0).all()
    assert indices.min() >= 0
    assert indices.max() < 80


def test_follows_its_definition(views):
    # a dozen picks: with more of them the last bits begin to choose
    np.testing.assert_array_equal(select_das(views, 12), naive_das(np.hstack(views), 12))


@pytest.mark.parametrize(("tag", "file"), [("msrc", "MSRC-v5.mat"), ("3s", "3Sources.mat")])
def test_same_map_as_the_original_program(oracle, data_file, tag, file):
    """All its anchors when scores are added up like there, feature by feature; the first 35 with the bits used here."""
    expected = oracle(f"sfmc__{tag}__file")["ind"].ravel().astype(int) - 1
    scaled = [SCALERS["max"](view) for view in read_views(data_file(file)).arrays]
    table = np.hstack(scaled)
    scores = np.zeros(len(table))
    for feature in (table - table.min(axis=0)).T:
        scores += feature
    np.testing.assert_array_equal(np.sort(alternate_picks(scores, len(expected), False)), expected)
    np.testing.assert_allclose(_shifted_sums(scaled), scores, rtol=1e-12)
    assert np.isin(select_das(scaled, 35), expected).all()


def test_does_not_see_layout_order_of_rows_or_views(many):
    order = np.random.default_rng(1).permutation(400)
    scores, chosen = _shifted_sums(many), select_das(many, 200)
    for changed in ([np.asfortranarray(v) for v in many], many[::-1], [np.asfortranarray(v) for v in many[::-1]]):
        np.testing.assert_array_equal(_shifted_sums(changed), scores)  # bit by bit
        np.testing.assert_array_equal(select_das(changed, 200), chosen)
    rows = [v[order] for v in many]
    np.testing.assert_array_equal(_shifted_sums(rows), scores[order])
    np.testing.assert_array_equal(np.sort(order[select_das(rows, 200)]), chosen)


def test_chaotic(many):
    """The documented weakness."""
    scores = _shifted_sums(many)
    moved = np.setdiff1d(alternate_picks(scores, 200, False), alternate_picks(scores * (1 + 1e-15), 200, False))
    assert len(moved) > 30


def test_scores_of_sparse_views(views):
    mask = np.random.default_rng(3).random((80, 9)) < 0.3
    dense = [views[0], views[1] * mask]
    expected = sum((v - v.min(axis=0)).sum(axis=1) for v in dense)
    np.testing.assert_allclose(_shifted_sums([views[0], sp.csr_array(dense[1])]), expected, rtol=1e-12)


def test_duplicates_do_not_stop_the_selection():
    x = np.repeat(np.random.default_rng(4).random((5, 3)), 6, axis=0)
    indices = select_das([x], 12)
    assert len(np.unique(indices)) == 12
    assert len(np.unique(x[indices], axis=0)) == 5  # every distinct sample is among them
    assert len(np.unique(select_das([np.ones((6, 2))], 4))) == 4
