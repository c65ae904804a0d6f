"""The second draw: groups of samples that the first draw has missed, whatever order and blocks, and nothing else."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from manyview import GraphEnsemble, Views
from manyview.datasets import make_multiview
from manyview.ensemble import rare, samples
from manyview.metrics import match_labels
from manyview.views import check_views

AUTO = ["auto"] * 3
N, SIZE, DRAWN = 12_000, 25, 600


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(samples, "_block_rows", lambda *_: 1000)


@pytest.fixture(scope="module")
def made():
    """Four large clusters and one of 25 samples, rows in random order."""
    rng = np.random.default_rng(4)
    labels = rng.permutation(np.concatenate([np.full(SIZE, 4), np.arange(N - SIZE) % 4]))
    arrays = [rng.normal(size=(5, d))[labels] + 0.2 * rng.normal(size=(N, d)) for d in (6, 5, 8)]
    return Views(arrays, labels=labels)


def drawn(views, size=DRAWN):
    rows = samples.local_rows(views, 2)
    sample, given, _ = samples.draw_by_content(rows, size)
    return rows, sample, given


def candidates(rows, landmarks, size=500):
    return rows.reduce(rare._find_candidates, partial(rare.Candidates.joined, size=size), landmarks, size)


def fit(views, **parameters):
    return GraphEnsemble(5, random_state=0, n_members=8, learn_on=DRAWN, **parameters).fit(views)


def recall(labels, found):
    return (match_labels(labels, found)[labels == 4] == 4).mean()


def test_a_rare_cluster_is_found_by_the_second_draw_only(made, monkeypatch):
    found = fit(made).labels_
    assert recall(made.labels, found) == 1.0
    assert np.count_nonzero(found == found[made.labels == 4][0]) == SIZE
    monkeypatch.setattr(
        "manyview.cluster._graph_ensemble.add_rare", lambda rows, sample, given, wanted: (sample, given)
    )
    assert recall(made.labels, fit(made).labels_) < 1.0


def test_what_is_added_is_the_rare_cluster(made):
    rows, sample, given = drawn(made)
    more, rows_of = rare.add_rare(rows, sample, given, AUTO)
    added = rows_of[len(given) :]
    assert len(added) >= rare._MIN_GROUP
    assert (made.labels[added] == 4).all()
    assert len(np.unique(rows_of)) == len(rows_of) == more.n_samples
    for array, all_rows in zip(more.arrays, made.arrays, strict=True):
        np.testing.assert_array_equal(array, all_rows[rows_of])


@pytest.mark.parametrize("block_rows", [700, 20_000])
def test_neither_order_nor_blocks_matter(made, monkeypatch, block_rows):
    _, expected = rare.add_rare(*drawn(made), AUTO)
    order = np.random.default_rng(0).permutation(N)
    monkeypatch.setattr(samples, "_block_rows", lambda *_: block_rows)
    turned = Views([made.arrays[v][order] for v in (2, 0, 1)])
    _, found = rare.add_rare(*drawn(turned), AUTO)
    np.testing.assert_array_equal(np.sort(order[found]), np.sort(expected))


def test_a_fit_does_not_depend_on_the_order(made):
    order = np.random.default_rng(1).permutation(N)
    one, other = fit(made), fit(Views([made.arrays[v][order] for v in (1, 2, 0)]))
    np.testing.assert_array_equal(match_labels(one.labels_[order], other.labels_), one.labels_[order])
    np.testing.assert_array_equal(other.confidence_, one.confidence_[order])


@pytest.mark.parametrize(
    "arrays",
    [
        make_multiview(4000, 4, n_features=6, noise=0.5, random_state=0).arrays,
        list(np.random.default_rng(0).standard_t(3, (2, 4000, 2))),
        list(np.random.default_rng(0).exponential(size=(2, 4000, 3))),
        [np.repeat(np.random.default_rng(0).normal(size=(50, 4)), 80, axis=0)] * 2,
    ],
    ids=["overlapping", "heavy tails", "skewed", "copies"],
)
def test_without_rare_clusters_the_draw_stays_as_it_is(arrays):
    rows, sample, given = drawn(Views(tuple(arrays)))
    more, rows_of = rare.add_rare(rows, sample, given, ["auto"] * len(arrays))
    assert more is sample
    assert rows_of is given


def test_lone_outliers_are_not_a_group(made):
    arrays = [array.copy() for array in made.arrays]
    far = np.flatnonzero(made.labels == 4)
    for array in arrays:  # each in a direction of its own
        array[far] = 30 * np.random.default_rng(5).normal(size=(SIZE, array.shape[1]))
    rows, sample, given = drawn(Views(arrays))
    assert rare.add_rare(rows, sample, given, AUTO)[1] is given


def test_all_samples_drawn_leave_nothing_to_add(made, monkeypatch):
    few = Views([array[:500] for array in made.arrays])
    rows, sample, given = drawn(few, 10_000)
    monkeypatch.setattr(rare, "choose_landmarks", lambda *_: pytest.fail("there is nothing to look for"))
    assert rare.add_rare(rows, sample, given, AUTO) == (sample, given)


def test_candidates_are_those_of_a_naive_search(made):
    rows, sample, _ = drawn(made)
    landmarks = rare.choose_landmarks(sample, AUTO)
    (space,) = landmarks.known.spaces
    everything = landmarks.side_by_side(check_views(made))
    between = cdist(everything, space.values, "sqeuclidean")
    near, distance = between.argmin(axis=1), between.min(axis=1)
    relative = distance / landmarks.spread[near]
    expected = np.flatnonzero(relative > landmarks.limit)
    found = candidates(rows, landmarks, N)
    np.testing.assert_array_equal(np.sort(found.sketch.rows), expected)
    np.testing.assert_allclose(found.distance, distance[found.sketch.rows], rtol=1e-4)
    np.testing.assert_allclose(found.relative, relative[found.sketch.rows], rtol=1e-4)
    for array, all_rows in zip(found.views.arrays, made.arrays, strict=True):
        np.testing.assert_array_equal(array, all_rows[found.sketch.rows])
    few = candidates(rows, landmarks, 7)
    np.testing.assert_array_equal(few.sketch.rows, found.sketch.rows[:7])
    np.testing.assert_array_equal(few.relative, found.relative[:7])


def test_landmarks_are_typical_of_the_draw(made):
    _, sample, _ = drawn(made)
    landmarks = rare.choose_landmarks(sample, AUTO)
    (space,) = landmarks.known.spaces
    # Every view has a total variance of 1 in the space.
    values = landmarks.side_by_side(sample)
    np.testing.assert_allclose(values.var(axis=0).sum(), 3.0)
    near = cdist(values, space.values, "sqeuclidean")
    others = near.min(axis=1) > 1e-12
    np.testing.assert_allclose(
        landmarks.spread,
        [np.median(near[others & (near.argmin(axis=1) == c)].min(axis=1)) for c in range(near.shape[1])],
    )
    beyond = (near.min(axis=1) / landmarks.spread[near.argmin(axis=1)] > landmarks.limit).sum()
    assert beyond <= np.ceil((1 - rare._WITHIN) * DRAWN)


def test_samples_with_missing_views_are_no_candidates(made):
    arrays = [array.copy() for array in made.arrays]
    arrays[1][::5] = np.nan
    rows, sample, given = drawn(Views(arrays))
    landmarks = rare.choose_landmarks(sample, AUTO)
    assert not set(candidates(rows, landmarks).sketch.rows) & set(range(0, N, 5))
    added = rare.add_rare(rows, sample, given, AUTO)[1][len(given) :]
    assert len(added)
    assert (made.labels[added] == 4).all()
    arrays[2][np.arange(N) % 5 != 0] = np.nan
    rows, sample, given = drawn(Views(arrays))
    assert rare.choose_landmarks(sample, AUTO) is None
    assert rare.add_rare(rows, sample, given, AUTO)[1] is given


def test_sparse_views(made):
    arrays = [np.where(array > 0.3, array, 0.0) for array in made.arrays]
    dense = rare.add_rare(*drawn(Views(arrays)), ["max"] * 3)[1]
    sparse = rare.add_rare(*drawn(Views([sp.csr_array(array) for array in arrays])), ["max"] * 3)[1]
    np.testing.assert_array_equal(sparse, dense)
