"""Sums that have the same bits in any order, and the whole solver on shuffled rows and other blocks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from manyview.engines import LocalRows
from manyview.ensemble import consensus as module
from manyview.ensemble.columns import DISTANCE, NEAREST, units_in_one
from manyview.ensemble.edges import add_degrees, edge_gram
from manyview.ensemble.fit import learn
from manyview.ensemble.kmeans import nearest_sums, occupy
from manyview.ensemble.members import FAMILIES, Settings, _largest_entry, draw_member, fused_edges, member_spectrum


@pytest.mark.parametrize("bound", [1e-12, 0.3, 0.5, 1, 1.5, 2, 7, 1e6, 2.0**20, 2.0**20 + 1, 1e9, 1e30])
def test_units_are_the_finest_powers_of_two_of_which_a_sum_has_2_to_the_52_at_most(bound):
    units = units_in_one(bound)
    assert np.frexp(units)[0] == 0.5
    assert bound * units <= 2.0**52 < 2 * bound * units


@pytest.mark.parametrize("bound", [0.0, 5e-324, 1e-320, 1e-300])
def test_units_of_next_to_nothing_are_finite(bound):
    assert np.isfinite(units_in_one(bound))
    assert np.isfinite(1 / units_in_one(bound))


@pytest.mark.parametrize("n", [10**6, 10**9])
def test_the_precision_that_is_promised(n):
    assert 1 / units_in_one(n) == {10**6: 2.0**-32, 10**9: 2.0**-22}[n]


def test_counted_addends_have_the_same_sum_in_any_order_and_plain_ones_have_not():
    rng = np.random.default_rng(0)
    x = rng.normal(size=10_000) * 10.0 ** rng.integers(-9, 9, 10_000)
    units = units_in_one(np.abs(x).sum())
    plain, exact = set(), set()
    for _ in range(20):
        shuffled = rng.permutation(x)
        plain.add(float(np.cumsum(shuffled)[-1]))
        exact.add(float(np.cumsum(np.rint(shuffled * units))[-1] / units))
    assert len(plain) > 1
    assert len(exact) == 1
    assert exact.pop() == pytest.approx(x.sum(), rel=1e-9)


def summed(function, rng, n):
    """The sum of what a function makes of the parts of shuffled rows, the parts in any order."""
    order = rng.permutation(n)
    parts = np.split(order, np.sort(rng.choice(np.arange(1, n), 6, replace=False)))
    return sum(function(parts[i]) for i in rng.permutation(len(parts)))


@pytest.mark.parametrize("what", ["degrees", "gram", "sums"])
def test_kernels_give_the_same_bits_for_any_order_of_rows_and_blocks(what):
    rng = np.random.default_rng(1)
    anchors, weights = rng.integers(15, size=(400, 8)).astype(np.int32), rng.random((400, 8)) ** 9
    points, centres = rng.normal(size=(400, 5)), rng.normal(size=(6, 5))

    def one(rows):
        if what == "gram":
            return edge_gram(anchors[rows], weights[rows], 15, units_in_one((weights.sum(axis=1) ** 2).sum()))
        if what == "sums":
            return nearest_sums(points[rows], centres, units_in_one(np.abs(points).sum()))
        degrees = np.zeros(15)
        add_degrees(anchors[rows], weights[rows], 0, 8, units_in_one(400 * 8), degrees)
        return degrees

    expected = one(np.arange(400))
    for _ in range(10):
        np.testing.assert_array_equal(summed(one, rng, 400), expected)


@pytest.fixture(scope="module")
def gaps(blobs):
    """Rows that lack views: a fifth the first, a seventh the second, a ninth all but the first."""
    columns, lists, _ = blobs
    columns, present = dict(columns), np.ones((300, 4), dtype=bool)
    present[::5, 0], present[::7, 1] = False, False
    present[1::9] = [True, False, False, False]
    for v, has_view in enumerate(present.T):
        near, distance = columns[NEAREST.of(v)].copy(), columns[DISTANCE.of(v)].copy()
        near[~has_view], distance[~has_view] = -1, np.inf
        columns[NEAREST.of(v)], columns[DISTANCE.of(v)] = near, distance
    return columns, replace(lists, patterns=np.unique(present, axis=0))


@pytest.mark.parametrize("family", FAMILIES[:2], ids=lambda each: each.name)
@pytest.mark.parametrize("data", ["blobs", "texts", "gaps", "rings"])
@pytest.mark.parametrize("view_weights", [None, (1.0, 0.3, 0.05, 1e-4), (1e-4, 1.0, 1.0, 0.5)])
def test_no_entry_of_a_gram_matrix_exceeds_its_bound(request, data, family, view_weights):
    columns, lists, *_ = request.getfixturevalue(data)
    rows, lists = LocalRows(columns, 1), replace(lists, view_weights=view_weights and view_weights[: len(lists.far)])
    for index in range(6):
        member = draw_member(Settings(4), family, lists, index)
        scale = member_spectrum(rows, lists, member, 2)[2]
        anchors, weights = fused_edges(columns, lists, member, scale)
        gram = edge_gram(anchors, weights, len(member.anchors) + 1, 1e12) / 1e12
        assert 0.01 < gram.max() <= _largest_entry(lists, member)


def test_a_view_that_hardly_counts_does_not_make_the_units_coarser(gaps):
    _, lists = gaps
    for family in FAMILIES[:2]:
        for index in range(6):
            member = draw_member(Settings(4), family, lists, index)
            equal = _largest_entry(lists, member)
            assert _largest_entry(replace(lists, view_weights=(1.0, 1.0, 1e-6, 1.0)), member) <= equal
            assert equal <= len(member.lists) ** 3


def kept(columns, lists, settings, block_rows, order):
    """All that a run leaves behind, with the rows back in their first order."""
    rows = LocalRows({name: column[order] for name, column in columns.items()}, 1, block_rows)
    ensemble = learn(rows, lists, settings)
    names = ["labels", "embedding", "confidence", *(member.labels for member in ensemble.members)]
    found = {name: rows.gather(name)[np.argsort(order)] for name in names}
    consensus = ensemble.steps[-1]
    small = {"information": ensemble.information, "shares": consensus.shares}
    small |= {name: getattr(consensus, name) for name in ("weights", "project", "centres", "agreement", "n_passes")}
    for member in ensemble.members:
        small |= {f"{name} {member.index}": getattr(member, name) for name in ("scale", "vectors", "centres")}
    return {**found, **small, "steps": np.array([(step.agreement, step.stability) for step in ensemble.steps])}


@pytest.mark.parametrize("data", ["blobs", "texts", "gaps"])
@pytest.mark.parametrize("small_table", [1000, 0])
def test_neither_the_order_of_the_rows_nor_the_blocks_change_a_bit(request, monkeypatch, data, small_table):
    monkeypatch.setattr(module, "_SMALL_TABLE", small_table)
    columns, lists, *_ = request.getfixturevalue(data)
    n, settings = len(columns[NEAREST.of(0)]), Settings(3, n_members=7, n_tries=3)
    expected = kept(columns, lists, settings, 8192, np.arange(n))
    for block_rows in (7, 100, 8192):
        order = np.random.default_rng(block_rows).permutation(n)
        found = kept(columns, lists, settings, block_rows, order)
        assert found.keys() == expected.keys()
        for name, values in found.items():
            np.testing.assert_array_equal(values, expected[name], err_msg=name)


def test_occupy_takes_the_same_of_equally_far_rows_in_any_order():
    corners = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0], [0.0, 0.1]])
    centres = np.array([[0.0, 0.0], [9.0, 9.0], [9.0, 9.0]])
    for seed in range(20):
        points = np.random.default_rng(seed).permutation(np.repeat(corners, 3, axis=0))
        found = occupy(LocalRows({"points": points}, 1, 4), "points", centres)
        np.testing.assert_array_equal(found, [[0, 0], [-1, 0], [0, -1]])
