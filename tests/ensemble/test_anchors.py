"""From views to lists, with samples that lack views: everything against loops over samples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from manyview import Views, check_views
from manyview.ensemble import anchors as module
from manyview.ensemble.anchors import (
    ScaledView,
    Space,
    make_pool,
    neighbour_lists,
    scale_views,
    view_spaces,
    with_every_view,
)
from manyview.ensemble.columns import DISTANCE, NEAREST
from manyview.ensemble.members import FAMILIES
from manyview.graphs import can_weights, canonical_order, learn_scaling


def dense(array):
    return array if isinstance(array, np.ndarray) else array.toarray()


def known_view(values, places):
    scaling, scaled = learn_scaling(values, "counts" if sp.issparse(values) else "directions")
    far = ScaledView(scaling, scaled, np.ones(len(places), dtype=bool)).far
    return Space((0,), (scaling,), (1.0,), (0,), scaled, np.array(places, dtype=np.int32), far, len(places))


def imputed(space, similarity):
    """The space with the anchors that lack the view imputed."""
    donors = module._find_donors(space.positions, similarity)
    values, positions = module._with_imputed(space.values, space.positions, donors)
    return replace(space, values=values, positions=positions)


@pytest.fixture
def known():
    """A pool of 30 that is known in three views to different members; the third is of counts."""
    rng = np.random.default_rng(0)
    there = [np.sort(rng.choice(30, size, replace=False)) for size in (24, 20, 26)]
    counts = sp.csr_array(rng.poisson(0.05, (26, 40)) * 1.0)  # most have no word in common
    return [
        known_view(rng.normal(size=(24, 5)), there[0]),
        known_view(rng.normal(size=(20, 4)), there[1]),
        known_view(counts, there[2]),
    ]


# How alike members of the pool are --------------------------------------------------------------------------------


def naive_similarity(known, n_pool):
    total, common = np.zeros((n_pool, n_pool)), np.zeros((n_pool, n_pool))
    for view in known:
        x = dense(view.values)
        k = min(module._LIKELY_DONORS, len(x) - 1)
        for i, place in enumerate(view.positions):
            distance = ((x[i] - x) ** 2).sum(axis=1)
            if np.isfinite(view.far):
                distance = np.where(x @ x[i] > 0, distance, view.far)
            near = np.lexsort((np.arange(len(x)), distance))[: k + 1]
            total[place, view.positions[near[:k]]] += can_weights(distance[near][None])[0]
        common[np.ix_(view.positions, view.positions)] += 1
    return total / (common + 1)


def test_similarity_is_the_mean_of_can_weights_over_common_views(known, monkeypatch):
    monkeypatch.setattr(module, "_LIKELY_DONORS", 7)
    found = module._similarity(known, 30, 1)
    # Distances are kept in single precision.
    np.testing.assert_allclose(found.toarray(), naive_similarity(known, 30), atol=1e-5)


def test_similarity_in_views_that_few_members_have(known):
    few = [
        replace(view, values=view.values[:n], positions=view.positions[:n])
        for view, n in zip(known, (2, 3, 4), strict=True)
    ]
    np.testing.assert_allclose(module._similarity(few, 30, 1).toarray(), naive_similarity(few, 30), atol=1e-5)


def test_members_without_a_view_in_common_are_not_alike(known):
    found = module._similarity(known, 30, 1).toarray()
    has_view = np.array([[place in view.positions for view in known] for place in range(30)])
    apart = ~(has_view[:, None] & has_view[None]).any(axis=2)
    assert not found[apart].any()


# What is borrowed -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_lenders", [1, 3, 50])
def test_lenders_count_by_how_alike_they_are(monkeypatch, n_lenders):
    monkeypatch.setattr(module, "_DONORS", n_lenders)
    rng = np.random.default_rng(1)
    likeness = rng.random((12, 9)) * (rng.random((12, 9)) < 0.5)
    likeness[0], likeness[1, 1:] = 0.0, 0.0
    likeness[0, 4] = 0.2  # alike to one only
    likeness[1, 0] = 0.3
    k = min(n_lenders, 8)
    expected = np.zeros_like(likeness)
    for row, alike in zip(expected, likeness, strict=True):
        best = sorted(range(9), key=lambda j: (-alike[j], j))[: k + 1]
        gaps = np.array([alike[j] - alike[best[k]] for j in best[:k]])
        row[best[:k]] = gaps / gaps.sum() if gaps.sum() else 1 / k
        row[alike == 0] = 0.0
    found = module._donor_weights(likeness).toarray()
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_allclose(found[0], np.eye(9)[4])


def naive_borrowed(view, likeness):
    """Anchors of everyone, by place: one's own, or the stretched mean of the lenders'."""
    x = dense(view.values)
    found = {int(place): row for place, row in zip(view.positions, x, strict=True)}
    for place in range(len(likeness)):
        alike = likeness[place, view.positions]
        if place not in found and alike.any():
            lend = module._donor_weights(alike[None]).toarray()[0]
            mean, length = lend @ x, lend @ np.linalg.norm(x, axis=1)
            found[place] = mean * length / np.linalg.norm(mean)
    return sorted(found), np.array([found[place] for place in sorted(found)])


@pytest.mark.parametrize("v", [0, 2], ids=["dense", "sparse"])
def test_who_lacks_a_view_stands_at_the_mean_of_those_alike(known, v):
    likeness = naive_similarity(known, 30)
    outsider = int(np.setdiff1d(np.arange(30), known[v].positions)[1])
    likeness[outsider, known[v].positions] = 0.0  # like none of those who have the view
    found = imputed(known[v], sp.csr_array(likeness))
    places, anchors = naive_borrowed(known[v], likeness)
    assert found.positions.tolist() == places == sorted(set(range(30)) - {outsider})
    assert type(found.values) is type(known[v].values)
    np.testing.assert_allclose(dense(found.values), anchors, atol=1e-12)
    own = np.isin(found.positions, known[v].positions)
    np.testing.assert_array_equal(dense(found.values)[own], dense(known[v].values))


def test_borrowed_rows_of_unit_views_have_their_length(known):
    found = imputed(known[0], module._similarity(known, 30, 1))
    lengths = np.linalg.norm(known[0].values, axis=1)
    np.testing.assert_allclose(lengths, lengths[0])
    np.testing.assert_allclose(np.linalg.norm(found.values, axis=1), lengths[0])
    assert len(found.positions) > len(known[0].positions)


@pytest.mark.parametrize("v", [0, 2], ids=["dense", "sparse"])
def test_if_nobody_is_alike_nothing_is_borrowed(known, v):
    found = imputed(known[v], sp.csr_array((30, 30)))
    np.testing.assert_array_equal(found.positions, known[v].positions)
    np.testing.assert_array_equal(dense(found.values), dense(known[v].values))


def test_blocks_of_borrowers_do_not_matter(known, monkeypatch):
    likeness = module._similarity(known, 30, 1)
    expected = imputed(known[1], likeness)
    monkeypatch.setattr(module, "row_blocks", lambda n, _: (slice(i, min(i + 3, n)) for i in range(0, n, 3)))
    found = imputed(known[1], likeness)
    np.testing.assert_array_equal(found.positions, expected.positions)
    np.testing.assert_allclose(found.values, expected.values, atol=1e-15)


# The pool and the lists -------------------------------------------------------------------------------------------


def scaled_view(present, values=None):
    present = np.array(present, dtype=bool)
    values = np.arange(2.0 * len(present)).reshape(-1, 2) if values is None else values
    return ScaledView(learn_scaling(values, "none")[0], values, present)


def test_views_that_few_members_have_get_more(monkeypatch):
    monkeypatch.setattr(module, "_MIN_ANCHORS_PER_VIEW", 4)
    rare, common = np.zeros(40, dtype=bool), np.ones(40, dtype=bool)
    rare[[3, 8, 20, 21, 30, 39]] = True
    common[7] = False
    pool = np.array([8, 2, 5, 6])
    found = with_every_view(pool, [scaled_view(np.ones(40)), scaled_view(rare), scaled_view(common)])
    assert found.tolist() == [8, 2, 5, 6, 3, 20, 21]  # the first of those that have it, until there are four
    rare[20:] = False
    assert with_every_view(pool, [scaled_view(rare)]).tolist() == [8, 2, 5, 6, 3]  # there are no more
    assert with_every_view(pool, [scaled_view(np.ones(40)), scaled_view(common)]).tolist() == pool.tolist()


@pytest.fixture
def views():
    """60 samples that lack views, given in canonical order; the second view is of counts."""
    rng = np.random.default_rng(2)
    arrays = [rng.normal(size=(60, 5)), sp.csr_array(rng.poisson(0.1, (60, 250)) * 1.0), rng.normal(size=(60, 3))]
    present = rng.random((60, 3)) < 0.7
    present[:, 2] |= ~present.any(axis=1)
    return check_views(arrays, present=present)


def scaled_by_those_who_have_it(views):
    order = canonical_order(views.arrays, present=views.present)
    return scale_views(views, ["auto"] * views.n_views, order), order


def test_views_are_scaled_by_the_samples_that_have_them(views):
    scaled, order = scaled_by_those_who_have_it(views)
    for view, v in zip(scaled, order.views, strict=True):
        has_view = views.present[order.rows, v]
        np.testing.assert_array_equal(view.present, has_view)
        scaling, values = learn_scaling(views.arrays[v][order.rows][has_view], "auto")
        assert view.scaling.name == scaling.name
        assert view.scaling.divisor == scaling.divisor
        np.testing.assert_array_equal(dense(view.values)[has_view], dense(values))
        assert not dense(view.values)[~has_view].any()
    counts = next(view for view in scaled if view.scaling.name == "counts")
    lengths = (counts.values.toarray() ** 2).sum(axis=1)
    assert counts.far == pytest.approx(2 * lengths.max())
    assert all(view.far == np.inf for view in scaled if view is not counts)


def naive_lists(view, pool):
    """For every sample the nearest anchors by brute force."""
    x, anchors = dense(view.values), dense(pool.values)
    near, distance = np.full((len(x), pool.length), -1), np.full((len(x), pool.length), np.inf)
    for i in np.flatnonzero(view.present):
        gaps = ((x[i] - anchors) ** 2).sum(axis=1)
        gaps = np.where(anchors @ x[i] > 0, gaps, np.inf) if np.isfinite(pool.far) else gaps
        order = np.lexsort((np.arange(len(gaps)), gaps))[: pool.length]
        near[i], distance[i] = pool.positions[order], gaps[order]
    return near, distance


@pytest.mark.parametrize("length", [5, 1000])
def test_lists_of_samples_that_lack_views(views, length):
    scaled, _ = scaled_by_those_who_have_it(views)
    pool = np.random.default_rng(3).choice(60, 30, replace=False)
    pools, _ = view_spaces(scaled, pool, length, 1)
    columns = neighbour_lists(scaled, pools, 1)
    assert set(columns) == {column.of(v) for column in (NEAREST, DISTANCE) for v in range(3)}
    for v, (view, known) in enumerate(zip(scaled, pools, strict=True)):
        assert known.length == min(length, len(known.positions))
        near, distance = columns[NEAREST.of(v)], columns[DISTANCE.of(v)]
        assert near.dtype == np.int32
        assert distance.dtype == np.float32
        naive_near, naive_distance = naive_lists(view, known)
        assert (near[~view.present] == -1).all()
        assert (near[view.present] >= 0).all()
        np.testing.assert_allclose(distance, naive_distance, rtol=1e-5, atol=1e-6)
        firm = np.isfinite(naive_distance) | (naive_near < 0)  # the order of those with nothing in common is free
        np.testing.assert_array_equal(near[firm], naive_near[firm])


def test_members_of_the_pool_have_their_own_values_where_they_have_the_view(views):
    scaled, _ = scaled_by_those_who_have_it(views)
    pool = np.random.default_rng(3).choice(60, 30, replace=False)
    for view, known in zip(scaled, view_spaces(scaled, pool, 9, 1)[0], strict=True):
        own = view.present[pool[known.positions]]
        np.testing.assert_array_equal(dense(known.values)[own], dense(view.values)[pool[known.positions[own]]])
        assert set(np.flatnonzero(view.present[pool])) <= set(known.positions)
        assert len(known.positions) > view.present[pool].sum()  # some have borrowed it


def test_a_complete_pool_borrows_nothing():
    rng = np.random.default_rng(4)
    views = Views([rng.normal(size=(40, 4)), rng.normal(size=(40, 6))])
    scaled, _ = scaled_by_those_who_have_it(views)
    pool = np.arange(0, 40, 2)
    for view, known in zip(scaled, view_spaces(scaled, pool, 7, 1)[0], strict=True):
        np.testing.assert_array_equal(known.positions, np.arange(20))
        np.testing.assert_array_equal(known.values, view.values[pool])


def test_patterns_are_the_combinations_that_samples_have(views):
    scaled, _ = scaled_by_those_who_have_it(views)
    lists = make_pool(scaled, np.arange(17), FAMILIES, 1).lists
    assert lists.n_anchors == 17
    assert {tuple(row) for row in lists.patterns} == {
        tuple(row) for row in np.column_stack([v.present for v in scaled])
    }
    assert len(lists.patterns) == len({tuple(row) for row in lists.patterns})
    whole = [replace(view, present=np.ones(60, dtype=bool)) for view in scaled]
    assert make_pool(whole, np.arange(17), FAMILIES, 1).lists.patterns is None
