"""Views with gaps: how many, where, and that nothing of what is missing is left."""

import numpy as np
import pytest
import scipy.sparse as sp

from manyview import Views
from manyview.datasets import drop_views, make_multiview
from manyview.datasets.generated import PATTERNS


@pytest.fixture
def views():
    return make_multiview(200, n_views=3, n_features=[4, 6, 5], random_state=0)


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5])
def test_each_view_loses_the_rate_but_for_what_is_given_back(views, rate):
    present = drop_views(views, rate, random_state=0).present
    lost = 200 - present.sum(axis=0)
    assert present.dtype == bool
    assert (lost <= 200 * rate).all()
    assert lost.sum() == pytest.approx(600 * (rate - rate**3 / 3), rel=0.03)  # rate**3: the samples that lose all three


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("n_views", [2, 4])
def test_a_sample_that_loses_everything_gets_one_view_back_at_random(pattern, n_views):
    gaps = drop_views(make_multiview(100, n_views=n_views, random_state=0), 1.0, pattern=pattern, random_state=0)
    assert (gaps.present.sum(axis=1) == 1).all()
    assert (gaps.present.mean(axis=0) < 1.5 / n_views).all()


def test_an_only_view_cannot_be_missing():
    assert drop_views(make_multiview(50, n_views=1, random_state=0), 0.5, random_state=0).present is None


def test_two_views_that_lose_half_at_random_still_share_samples():
    gaps = drop_views(make_multiview(400, n_views=2, random_state=0), 0.5, random_state=0)
    assert 0.15 < gaps.present.all(axis=1).mean() < 0.35


def test_random_gaps_are_scattered_and_differ_between_views(views):
    missing = ~drop_views(views, 0.3, random_state=0).present
    assert (np.abs(np.diff(missing.astype(int), axis=0)).sum(axis=0) > 50).all()
    assert not np.array_equal(missing[:, 0], missing[:, 1])


def test_blocks_are_runs_that_may_wrap_around(views):
    wrapped = 0
    for seed in range(20):
        missing = ~drop_views(views.take(np.arange(50)), 0.1, pattern="blocks", random_state=seed).present
        for column in missing.T:
            borders = (column != np.roll(column, 1)).sum()
            assert borders == 2  # one run, on the circle
            assert column.sum() == 5
            wrapped += column[0] and column[-1]
    assert wrapped > 0


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_same_seed_gives_the_same_gaps(views, pattern):
    one, two, other = (drop_views(views, 0.3, pattern=pattern, random_state=seed).present for seed in (1, 1, 2))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)


def test_values_that_are_there_stay_and_nothing_is_left_of_the_others(views):
    gaps = drop_views(views, 0.3, random_state=0)
    for v, (before, after) in enumerate(zip(views.arrays, gaps.arrays, strict=True)):
        here = gaps.present[:, v]
        assert np.array_equal(after[here], before[here])
        assert not after[~here].any()
        assert before[~here].all()  # the given arrays are not touched
    assert gaps.names == views.names
    assert np.array_equal(gaps.labels, views.labels)


def test_sparse_views_stay_sparse():
    table = sp.random_array((60, 30), density=0.3, format="csr", random_state=0)
    gaps = drop_views(Views([table, table.copy() * 2]), 0.4, random_state=0)
    for v, after in enumerate(gaps.arrays):
        assert sp.issparse(after)
        here = gaps.present[:, v]
        assert after[~here].nnz == 0
        assert abs(after[here] - (v + 1) * table[here]).max() == 0
    assert table.nnz == 540


def test_what_was_missing_stays_missing(views):
    first = drop_views(views, 0.4, random_state=0)
    second = drop_views(first, 0.4, random_state=1)
    assert not (second.present & ~first.present).any()
    assert second.present.any(axis=1).all()
    assert second.present.sum() < first.present.sum()


def test_a_rate_of_zero_takes_nothing(views):
    gaps = drop_views(views, 0.0)
    assert gaps.present is None
    assert all(np.array_equal(a, b) for a, b in zip(views.arrays, gaps.arrays, strict=True))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"rate": -0.1}, "rate: expected a share from 0 to 1, got -0.1"),
        ({"rate": 30}, "rate: expected a share from 0 to 1, got 30"),
        ({"rate": np.nan}, "rate: expected a share from 0 to 1, got nan"),
        ({"rate": 0.3, "pattern": "rows"}, "pattern: expected one of 'random', 'blocks', got 'rows'"),
    ],
)
def test_bad_parameters_are_named(views, arguments, text):
    with pytest.raises(ValueError, match=text):
        drop_views(views, **arguments)
