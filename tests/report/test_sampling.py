"""Which samples are shown."""

from __future__ import annotations

import numpy as np
import pytest

from manyview.report._sampling import spread_over_clusters


def test_few_samples_are_all_shown():
    np.testing.assert_array_equal(spread_over_clusters(np.zeros(7, dtype=int), 7), np.arange(7))


@pytest.mark.parametrize("sizes", [[5000, 3, 1], [1] * 40 + [900], [300, 300, 300], [10_000]])
def test_every_cluster_is_kept_and_the_number_is_met(sizes):
    codes = np.random.default_rng(0).permutation(np.repeat(np.arange(len(sizes)), sizes))
    rows = spread_over_clusters(codes, 200)
    assert len(rows) == len(set(rows.tolist())) == 200
    assert (np.diff(rows) > 0).all()
    shown = np.bincount(codes[rows], minlength=len(sizes))
    assert (shown >= 1).all()
    assert (shown <= sizes).all()


def test_half_follows_the_sizes():
    codes = np.repeat([0, 1], [9000, 1000])
    shown = np.bincount(codes[spread_over_clusters(codes, 1000)])
    np.testing.assert_allclose(shown, [250 + 461, 250 + 39], atol=1)


def test_of_more_clusters_than_places_the_largest_are_shown():
    codes = np.repeat(np.arange(20), np.arange(1, 21))
    shown = codes[spread_over_clusters(codes, 6)]
    assert sorted(shown.tolist()) == [14, 15, 16, 17, 18, 19]


def test_the_same_seed_gives_the_same_rows():
    codes = np.arange(5000) % 3
    np.testing.assert_array_equal(spread_over_clusters(codes, 100, 4), spread_over_clusters(codes, 100, 4))
    assert not np.array_equal(spread_over_clusters(codes, 100, 4), spread_over_clusters(codes, 100, 5))
