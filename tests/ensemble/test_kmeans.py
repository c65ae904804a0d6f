from __future__ import annotations

import numpy as np
import pytest

from manyview.engines import LocalRows
from manyview.ensemble.kmeans import kmeans, kmeans_rows, nearest_centre, occupy, seed_centres


@pytest.fixture
def clouds():
    """200 points around the corners of a square, with their corners."""
    rng = np.random.default_rng(0)
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    labels = rng.integers(4, size=200)
    return corners[labels] + rng.normal(scale=0.05, size=(200, 2)), corners


def cost(points, centres, weights=1.0):
    return (weights * ((points[:, None] - centres) ** 2).sum(axis=2).min(axis=1)).sum()


def sizes(points, centres):
    return np.bincount(nearest_centre(points, centres), minlength=len(centres))


def by_place(centres):
    return centres[np.lexsort(centres.round(1).T)]


@pytest.mark.parametrize("seed", range(10))
def test_separated_clouds_are_found(clouds, seed):
    points, corners = clouds
    found = kmeans(points, np.ones(200), 4, np.random.default_rng(seed), n_starts=3)
    np.testing.assert_allclose(by_place(found), by_place(corners), atol=0.05)


def test_centres_are_the_weighted_means_of_their_points(clouds):
    points, _ = clouds
    weights = np.random.default_rng(1).random(200)
    centres = kmeans(points, weights, 5, np.random.default_rng(1))
    labels = nearest_centre(points, centres)
    means = [np.average(points[labels == c], axis=0, weights=weights[labels == c]) for c in range(5)]
    np.testing.assert_allclose(centres, means, atol=1e-5)


def test_points_without_weight_do_not_pull(clouds):
    points, corners = clouds
    far = np.vstack([points, np.full((20, 2), 50.0)])
    weights = np.repeat([1.0, 0.0], [200, 20])
    found = kmeans(far, weights, 4, np.random.default_rng(0), n_starts=3)
    np.testing.assert_allclose(by_place(found), by_place(corners), atol=0.05)


def test_more_starts_never_cost_more():
    points, weights = np.random.default_rng(3).random((150, 3)), np.random.default_rng(4).random(150)
    costs = [cost(points, kmeans(points, weights, 12, np.random.default_rng(5), n), weights) for n in (1, 4, 16)]
    assert costs[0] >= costs[1] - 1e-6 >= costs[2] - 2e-6
    assert costs[2] < costs[0]


def test_seeds_are_points_and_all_different_while_there_are_enough(clouds):
    points, _ = clouds
    (seeds,) = seed_centres(points, np.ones(200), 20, np.random.default_rng(0), 1)
    assert {tuple(seed) for seed in seeds} <= {tuple(point) for point in points}
    assert len({tuple(seed) for seed in seeds}) == 20


def test_seeds_repeat_where_there_are_fewer_different_points():
    points = np.repeat([[0.0, 1.0], [1.0, 0.0]], 5, axis=0)
    for seeds in seed_centres(points, np.ones(10), 5, np.random.default_rng(0), 3):
        assert seeds.shape == (5, 2)
        assert {tuple(seed) for seed in seeds} == {(0.0, 1.0), (1.0, 0.0)}


def test_more_centres_than_different_points_cost_nothing():
    points = np.repeat([[0.0, 1.0], [1.0, 0.0]], 5, axis=0)
    centres = kmeans(points, np.ones(10), 4, np.random.default_rng(0))
    assert centres.shape == (4, 2)
    assert cost(points, centres) == 0


def test_no_pass_over_the_rows_raises_the_cost():
    points = np.random.default_rng(6).random((300, 3))
    rows, centres = LocalRows({"points": points}, 1, block_rows=70), points[:8]
    start = cost(points, centres)
    final, n_passes, arrived = kmeans_rows(rows, "points", centres, 300)
    assert arrived
    costs = [start]
    for _ in range(n_passes):
        centres = kmeans_rows(rows, "points", centres, 300, max_passes=1)[0]
        costs.append(cost(points, centres))
    assert n_passes > 5
    assert (np.diff(costs) <= 1e-9).all()
    assert costs[-1] < 0.9 * start
    np.testing.assert_array_equal(centres, final)


def test_passes_that_are_used_up_are_reported():
    points = np.random.default_rng(6).random((300, 3))
    assert kmeans_rows(LocalRows({"points": points}), "points", points[:8], 300, max_passes=2)[1:] == (2, False)


@pytest.mark.parametrize("block_rows", [1, 33, 199])
def test_the_size_of_the_blocks_does_not_matter(clouds, block_rows):
    points, _ = clouds
    expected, n_passes, _ = kmeans_rows(LocalRows({"points": points}), "points", points[:4], 300)
    found = kmeans_rows(LocalRows({"points": points}, block_rows=block_rows), "points", points[:4], 300)
    np.testing.assert_allclose(found[0], expected, atol=1e-12)
    assert found[1:] == (n_passes, True)


@pytest.mark.parametrize("block_rows", [17, 200])
@pytest.mark.parametrize("n_empty", [1, 3, 9])
def test_occupy_leaves_no_centre_empty(clouds, block_rows, n_empty):
    points, corners = clouds
    centres = np.vstack([np.full((n_empty, 2), 30.0), corners])
    assert (sizes(points, centres) == 0).sum() == n_empty
    occupied = occupy(LocalRows({"points": points}, 1, block_rows), "points", centres)
    assert (sizes(points, occupied) > 0).all()
    assert cost(points, occupied) < cost(points, centres)


def test_occupy_leaves_no_centre_empty_when_it_takes_the_only_row_of_another():
    points = np.array([[0.0], [0.1], [0.2], [1.0]])
    centres = np.array([[0.1], [0.7], [50.0]])
    occupied = occupy(LocalRows({"points": points}), "points", centres)
    assert (sizes(points, occupied) > 0).all()


def test_occupy_changes_nothing_where_no_centre_is_empty(clouds):
    points, corners = clouds
    assert occupy(LocalRows({"points": points}), "points", corners) is corners


@pytest.mark.parametrize("size", [1e-3, 1e-9, 1e9])
def test_occupy_leaves_no_centre_empty_however_small_or_large_the_coordinates(size):
    points = np.random.default_rng(0).random((100, 2)) * size
    centres = np.vstack([points[:3], np.full((5, 2), 4 * size)])
    assert (sizes(points, centres) == 0).sum() == 5
    occupied = occupy(LocalRows({"points": points}, 1, 30), "points", centres)
    assert (sizes(points, occupied) > 0).all()


@pytest.mark.parametrize("size", [2.0**-40, 2.0**40])
def test_the_size_of_the_coordinates_does_not_matter(size):
    points = np.random.default_rng(6).random((300, 3))
    expected, n_passes, _ = kmeans_rows(LocalRows({"points": points}), "points", points[:8], 300)
    found = kmeans_rows(LocalRows({"points": points * size}), "points", points[:8] * size, 300 * size)
    np.testing.assert_array_equal(found[0], expected * size)
    assert found[1:] == (n_passes, True)
    first, second = (kmeans(x, np.ones(300), 8, np.random.default_rng(0)) for x in (points, points * size))
    np.testing.assert_array_equal(second, first * size)


def test_occupy_ends_with_fewer_different_rows_than_centres():
    points = np.repeat([[0.0, 1.0], [1.0, 0.0]], 5, axis=0)
    occupied = occupy(LocalRows({"points": points}, 1, 3), "points", np.zeros((4, 2)))
    assert occupied.shape == (4, 2)
    assert cost(points, occupied) == 0
    assert (sizes(points, occupied) > 0).sum() == 2


@pytest.mark.parametrize("shift", [0, 1, 2])
def test_of_equally_far_rows_the_first_by_its_coordinates_is_taken(shift):
    corners = np.roll([[1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]], shift, axis=0)
    occupied = occupy(LocalRows({"points": corners}, 1, block_rows=2), "points", np.array([[0.0, 0.0], [50.0, 50.0]]))
    assert occupied.tolist() == [[0.0, 0.0], [-1.0, 1.0]]
