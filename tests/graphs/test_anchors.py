from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manyview.graphs import ANCHOR_SELECTORS, SCALERS, anchors, select_das, select_kmeans, select_vda
from manyview.graphs.anchors import (
    _row_variances,
    _shifted_sums,
    alternate_picks,
    concatenate,
    fill_farthest,
    greedy_picks,
    select_spread,
)
from manyview.io import read_views


@pytest.fixture
def views():
    rng = np.random.default_rng(0)
    return [rng.random((80, 5)), rng.random((80, 9)), rng.random((80, 3))]


@pytest.fixture
def signed(views):
    """Views with negative values, which DAS counts from the smallest one."""
    return [views[0], views[1] - 0.5, views[2]]


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


@pytest.fixture(scope="module")
def many():
    """Enough samples and picks for the last bit of one score to matter, see test_vda_is_chaotic."""
    rng = np.random.default_rng(2)
    return [rng.random((400, 13)), rng.random((400, 9)) * 1e3, rng.random((400, 8)) / 7]


def test_vda_does_not_see_layout_order_of_rows_or_views(many):
    order = np.random.default_rng(1).permutation(400)
    scores, chosen = _row_variances(many), select_vda(many, 200)
    same = {
        "layout": [np.asfortranarray(v) for v in many],
        "views": many[::-1],
        "both": [np.asfortranarray(v) for v in many[::-1]],
    }
    for changed in same.values():
        np.testing.assert_array_equal(_row_variances(changed), scores)  # bit by bit
        np.testing.assert_array_equal(select_vda(changed, 200), chosen)
    rows = [v[order] for v in many]
    np.testing.assert_array_equal(_row_variances(rows), scores[order])
    np.testing.assert_array_equal(np.sort(order[select_vda(rows, 200)]), chosen)


def test_vda_is_chaotic(many):
    """The documented weakness: for many samples the last bit of the score moves dozens of anchors."""
    scores = _row_variances(many)
    chosen = alternate_picks(scores, 200, True)
    moved = []
    for sample in range(0, 400, 4):
        nudged = scores.copy()
        nudged[sample] = np.nextafter(nudged[sample], np.inf)
        moved.append(len(np.setdiff1d(chosen, alternate_picks(nudged, 200, True))))
    affected = [count for count in moved if count > 0]
    assert len(affected) > 30
    assert np.median(affected) > 30


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


def naive_das(table, m):
    score = (table - table.min(axis=0)).sum(axis=1)
    score = score / score.max()
    picks = [int(np.argmax(score))]
    while len(picks) < m:
        score = score * (1 - score)
        score = score / score.max()
        picks.append(int(np.argmax(score)))
    return np.sort(picks)


def test_das_follows_its_definition(signed):
    # a dozen picks: with more of them the last bits begin to choose
    np.testing.assert_array_equal(select_das(signed, 12), naive_das(np.hstack(signed), 12))


@pytest.mark.parametrize(("tag", "file"), [("msrc", "MSRC-v5.mat"), ("3s", "3Sources.mat")])
def test_das_has_the_same_map_as_the_original_program(oracle, data_file, tag, file):
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


def test_das_does_not_see_layout_order_of_rows_or_views(many):
    order = np.random.default_rng(1).permutation(400)
    scores, chosen = _shifted_sums(many), select_das(many, 200)
    for changed in ([np.asfortranarray(v) for v in many], many[::-1], [np.asfortranarray(v) for v in many[::-1]]):
        np.testing.assert_array_equal(_shifted_sums(changed), scores)  # bit by bit
        np.testing.assert_array_equal(select_das(changed, 200), chosen)
    rows = [v[order] for v in many]
    np.testing.assert_array_equal(_shifted_sums(rows), scores[order])
    np.testing.assert_array_equal(np.sort(order[select_das(rows, 200)]), chosen)


def test_das_is_chaotic(many):
    """The documented weakness."""
    scores = _shifted_sums(many)
    moved = np.setdiff1d(alternate_picks(scores, 200, False), alternate_picks(scores * (1 + 1e-15), 200, False))
    assert len(moved) > 30


def test_das_scores_of_sparse_views(signed):
    mask = np.random.default_rng(3).random((80, 9)) < 0.3
    dense = [signed[0], signed[1] * mask]
    expected = sum((v - v.min(axis=0)).sum(axis=1) for v in dense)
    np.testing.assert_allclose(_shifted_sums([signed[0], sp.csr_array(dense[1])]), expected, rtol=1e-12)


def test_duplicates_do_not_stop_das():
    x = np.repeat(np.random.default_rng(4).random((5, 3)), 6, axis=0)
    indices = select_das([x], 12)
    assert len(np.unique(indices)) == 12
    assert len(np.unique(x[indices], axis=0)) == 5  # every distinct sample is among them
    assert len(np.unique(select_das([np.ones((6, 2))], 4))) == 4


def test_the_farthest_samples_fill_up():
    """On a line: the other end, the middle, the middles of both halves."""
    line = [np.arange(9.0)[:, None]]
    assert fill_farthest(line, np.array([0]), 5).tolist() == [0, 8, 4, 2, 6]
    assert fill_farthest(line, np.array([0, 8, 1]), 4).tolist() == [0, 8, 1, 4]
    assert fill_farthest(line, np.array([], dtype=int), 2).tolist() == [0, 8]


def test_concatenate_keeps_sparse(views):
    table = concatenate([views[0], sp.csr_array(views[1])])
    assert sp.issparse(table)
    np.testing.assert_array_equal(table.toarray(), np.hstack(views[:2]))


def naive_spread(table, chances):
    """Greedy k-means++ with given uniform numbers: of the candidates drawn, the one that leaves the least distance."""
    picks = [int(chances[0, 0] * len(table))]
    nearest = ((table - table[picks[0]]) ** 2).sum(axis=1)
    for row in chances[1:]:
        running = np.cumsum(nearest)
        candidates = [int(np.searchsorted(running, chance * running[-1], side="right")) for chance in row]
        trials = [np.minimum(nearest, ((table - table[c]) ** 2).sum(axis=1)) for c in candidates]
        best = int(np.argmin([trial.sum() for trial in trials]))
        picks.append(candidates[best])
        nearest = trials[best]
    return np.array(picks)


@pytest.mark.parametrize("m", [1, 5, 16, 30, 80])
def test_spread_picks_different_samples(views, m):
    picks = select_spread(views, m, np.random.default_rng(0))
    assert len(np.unique(picks)) == len(picks) == m
    assert picks.min() >= 0
    assert picks.max() < 80


def test_spread_follows_its_generator(views):
    first, second, other = (select_spread(views, 12, np.random.default_rng(seed)) for seed in (7, 7, 8))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("seed", range(5))
def test_spread_is_greedy_kmeans_plus_plus(views, seed):
    rng = np.random.default_rng(seed)
    np.testing.assert_array_equal(
        select_spread(views, 30, np.random.default_rng(seed)), naive_spread(np.hstack(views), rng.random((30, 3)))
    )


@pytest.mark.parametrize("seed", range(5))
def test_spread_looks_at_three_times_as_many_samples_as_anchors(views, seed):
    rng = np.random.default_rng(seed)
    among = np.sort(rng.choice(80, 21, replace=False))
    expected = among[naive_spread(np.hstack(views)[among], rng.random((7, 3)))]
    np.testing.assert_array_equal(select_spread(views, 7, np.random.default_rng(seed)), expected)


def test_spread_goes_from_coarse_to_fine(views):
    few = [v[:30] for v in views]
    picks = select_spread(few, 20, np.random.default_rng(1))
    np.testing.assert_array_equal(select_spread(few, 10, np.random.default_rng(1)), picks[:10])


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("d", [3, 100])
def test_spread_stops_when_no_more_samples_differ(make, d):
    x = np.repeat(np.random.default_rng(5).normal(size=(5, d)), 7, axis=0)
    picks = select_spread([make(x)], 12, np.random.default_rng(0))
    assert len(picks) == 5
    assert len(np.unique(x[picks], axis=0)) == 5


def test_spread_of_equal_samples_is_one():
    assert len(select_spread([np.ones((9, 2))], 4, np.random.default_rng(0))) == 1


def test_spread_does_not_stop_at_an_outlier():
    x = np.vstack([np.random.default_rng(0).normal(size=(60, 3)), [1e7, 0, 0]])
    for seed in range(5):
        picks = select_spread([x], 20, np.random.default_rng(seed))
        assert len(np.unique(picks)) == len(picks) == 20


@pytest.mark.parametrize("d", [2, 100])
def test_spread_reaches_every_far_cluster(d):
    rng = np.random.default_rng(6)
    labels = np.repeat(np.arange(5), 5)
    x = 1000 * rng.normal(size=(5, d))[labels] + rng.normal(size=(25, d))
    for seed in range(10):
        picks = select_spread([x], 5, np.random.default_rng(seed))
        np.testing.assert_array_equal(np.sort(labels[picks]), np.arange(5))


def test_spread_takes_sparse_and_dense_views_alike(views):
    mixed = [views[0], sp.csr_array(views[1]), views[2]]
    dense, sparse = (select_spread(given, 20, np.random.default_rng(2)) for given in (views, mixed))
    np.testing.assert_array_equal(sparse, dense)


def naive_picks(points, weights, chances):
    """Greedy k-means++ word by word: candidates by weight times squared distance, the best is taken."""

    def draw(values, chance):
        return int(np.searchsorted(np.cumsum(values), chance * values.sum(), side="right"))

    def costs(picks):
        return weights * np.min([((points - points[p]) ** 2).sum(axis=1) for p in picks], axis=0)

    picks = [draw(weights, chances[0, 0])]
    for row in chances[1:]:
        candidates = [draw(costs(picks), chance) for chance in row]
        picks.append(min(candidates, key=lambda candidate: costs([*picks, candidate]).sum()))
    return picks


@pytest.fixture(params=["with a table of distances", "without"])
def table(request, monkeypatch):
    monkeypatch.setattr(anchors, "_MOST_IN_TABLE", 10**4 if request.param == "with a table of distances" else 0)


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("seed", range(5))
def test_greedy_picks_of_weighted_points(seed):
    rng = np.random.default_rng(seed)
    points, weights, chances = rng.normal(size=(600, 4)), rng.random(600) ** 3, rng.random((20, 12, 3))
    weights[::7] = 0.0
    found = greedy_picks(points, weights, chances)
    assert len(found) == 20
    for picks, own in zip(found, chances, strict=True):
        assert picks.tolist() == naive_picks(points, weights, own)
        assert (weights[picks] > 0).all()


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_picks_among_copies_and_far_points(scale):
    rng = np.random.default_rng(1)
    near = np.array([1e3, 0.0, 0.0]) + rng.normal(size=(5, 3))  # far from the others, and close to each other
    points = scale * np.repeat(np.vstack([near, rng.normal(size=(5, 3))]), 7, axis=0)
    (picks,) = greedy_picks(points, np.ones(70), rng.random((1, 30, 3)))
    assert len(picks) == len(np.unique(points[picks], axis=0)) == 10


def test_few_picks_make_no_table(monkeypatch):
    monkeypatch.setattr(anchors, "_gaps_between", None)
    rng = np.random.default_rng(2)
    assert len(greedy_picks(rng.normal(size=(600, 4)), np.ones(600), rng.random((1, 12, 3)))[0]) == 12
