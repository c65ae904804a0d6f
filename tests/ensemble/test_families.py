"""Families of graphs: views side by side, how much each view counts, and the family that the estimator takes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import manyview
from manyview import GraphEnsemble, check_views
from manyview.datasets import make_multiview
from manyview.engines import LocalRows
from manyview.ensemble import samples
from manyview.ensemble.anchors import Space, agreement_weights, lists_of, side_by_side
from manyview.ensemble.columns import DISTANCE, NEAREST
from manyview.ensemble.fit import settle
from manyview.ensemble.members import (
    FAMILIES,
    Lists,
    Member,
    Settings,
    draw_member,
    fit_member,
    graph_weights,
    member_edges,
)
from manyview.graphs import learn_scaling, nearest_lists
from manyview.graphs.components import component_labels
from manyview.metrics import accuracy, adjusted_rand

LOCAL, BROAD, *JOINT = FAMILIES
NAMES = [family.name for family in JOINT]


def dense(array):
    return array if isinstance(array, np.ndarray) else array.toarray()


def gaps(n, n_views, share=0.7, seed=5):
    """Who has which views: each sample has one or more."""
    present = np.random.default_rng(seed).random((n, n_views)) < share
    present[np.arange(n), np.arange(n) % n_views] = True
    return present


def words(n, seed=0, n_words=250):
    """A view of counts: a few words per sample, those of its half of the samples above all."""
    rng = np.random.default_rng(seed)
    own = np.arange(n_words)[None] % 2 == (np.arange(n) % 2)[:, None]
    return sp.csr_array(rng.poisson(np.where(own, 0.1, 0.01)) * 1.0)


def settled(arrays, wanted=None, present=None, n_anchors=None, families=FAMILIES):
    views = check_views(arrays, present=present, min_views=1)
    wanted = ["auto"] * len(arrays) if wanted is None else wanted
    n_anchors = views.n_samples // 2 if n_anchors is None else n_anchors
    return settle(views, np.arange(views.n_samples), wanted, Settings(3, families=families, seed=6), n_anchors, 1)


# Views side by side -----------------------------------------------------------------------------------------------


def naive_nearest(parts, anchors, has_view, space):
    """Loops over samples, anchors and views in common."""
    importance = np.square(space.factors)
    near = np.full((len(has_view), space.length), -1)
    distance = np.full(near.shape, np.inf)
    for i, has in enumerate(has_view):
        if not has.any():
            continue
        found = []
        for a, position in enumerate(space.positions):
            gap = inner = 0.0
            for v in np.flatnonzero(has):
                x, z = dense(parts[v])[i], dense(anchors[v])[a]
                gap += importance[v] * ((x - z) ** 2).sum()
                inner += importance[v] * (x @ z)
            gap *= importance.sum() / importance[has].sum()
            found.append((np.inf if np.isfinite(space.far) and inner <= 0 else gap, position))
        found.sort()
        distance[i], near[i] = zip(*found[: space.length], strict=True)
    return near, distance


@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
@pytest.mark.parametrize("kinds", ["dd", "ds", "sdd", "ss"], ids=lambda kinds: f"views {kinds}")
def test_lists_of_views_side_by_side_are_those_of_a_loop(kinds, missing):
    rng = np.random.default_rng(0)
    every = [
        rng.normal(size=(50, 3 + v))
        if kind == "d"
        else sp.csr_array(rng.random((50, 9 + v)) * (rng.random((50, 9 + v)) < 0.15))
        for v, kind in enumerate(kinds)
    ]
    parts, anchors = [x[:30] for x in every], [x[30:] for x in every]
    factors = tuple(float(f) for f in rng.uniform(0.3, 2.0, len(kinds)))
    starts = tuple(int(s) for s in np.cumsum([0, *(x.shape[1] for x in parts)])[:-1])
    positions = np.sort(rng.choice(70, 20, replace=False)).astype(np.int32)
    scalings = tuple(learn_scaling(x, "none")[0] for x in every)
    far = 9.0 if kinds == "ss" else np.inf
    views = tuple(range(len(kinds)))
    space = Space(views, scalings, factors, starts, side_by_side(anchors, factors), positions, far, 8)
    has_view = np.ones((30, len(kinds)), dtype=bool)
    if missing:
        has_view = rng.random(has_view.shape) < 0.5
        has_view[:2] = [[False] * len(kinds), [True] * len(kinds)]
    near, distance = space.nearest(side_by_side(parts, factors), has_view, 1)
    naive_near, naive_distance = naive_nearest(parts, anchors, has_view, space)
    assert (near.dtype, distance.dtype) == (np.int32, np.float32)
    np.testing.assert_allclose(distance, naive_distance, rtol=1e-5)
    np.testing.assert_array_equal(near, naive_near)
    assert (near[~has_view.any(axis=1)] == -1).all()


def test_views_that_a_sample_lacks_do_not_matter_to_its_list():
    rng = np.random.default_rng(1)
    parts = [rng.normal(size=(40, 3)), rng.normal(size=(40, 5))]
    scalings = tuple(learn_scaling(x, "none")[0] for x in parts)
    values = side_by_side([x[:15] for x in parts], (1.0, 2.0))
    space = Space((0, 1), scalings, (1.0, 2.0), (0, 3), values, np.arange(15, dtype=np.int32), np.inf, 6)
    has_view = gaps(40, 2)
    expected = space.nearest(side_by_side(parts, space.factors), has_view, 1)
    other = [np.where(has_view[:, [v]], x, 1e6) for v, x in enumerate(parts)]
    for one, two in zip(space.nearest(side_by_side(other, space.factors), has_view, 1), expected, strict=True):
        np.testing.assert_array_equal(one, two)


# Which families there are -----------------------------------------------------------------------------------------


def round_view(n=60, d=6, seed=0):
    """Its own scaling is "directions"."""
    return np.random.default_rng(seed).normal(size=(n, d))


def flat_view(n=60, seed=0):
    """Its own scaling is "centered"."""
    return np.random.default_rng(seed).normal(size=(n, 2))


def families_of(basis):
    """Names of the families with views side by side, and the scalings of these views."""
    found = {}
    for name, numbers in basis.pool.lists.joint.items():
        scalings = {}
        for number in numbers:
            space = basis.joint[number]
            scalings |= {basis.order.views[v]: s.name for v, s in zip(space.views, space.scalings, strict=True)}
        found[name] = [scalings[v] for v in sorted(scalings)]
    return found


CENTERED, STANDARDIZED = NAMES


@pytest.mark.parametrize(
    ("arrays", "wanted", "expected"),
    [
        ([round_view(), flat_view()], None, {CENTERED: ["centered"] * 2, STANDARDIZED: ["standardized"] * 2}),
        ([words(60, 0), words(60, 1)], None, {}),
        ([words(60)], None, {}),
        (
            [words(60), round_view()],
            None,
            {CENTERED: ["counts", "centered"], STANDARDIZED: ["counts", "standardized"]},
        ),
        ([round_view()], None, {CENTERED: ["centered"], STANDARDIZED: ["standardized"]}),
        ([flat_view()], None, {STANDARDIZED: ["standardized"]}),
        ([round_view()], ["unit"], {}),
        ([round_view()], ["standardized"], {}),
        ([round_view(), round_view(seed=1)], ["unit", "max"], {CENTERED: ["unit", "max"]}),
        ([words(60), round_view()], ["auto", "none"], {CENTERED: ["counts", "none"]}),
        (
            [round_view(), round_view(seed=1)],
            ["standardized", "auto"],
            {CENTERED: ["standardized", "centered"], STANDARDIZED: ["standardized"] * 2},
        ),
    ],
    ids=[
        "two views",
        "counts",
        "one of counts",
        "counts and another",
        "one round view",
        "one flat view",
        "one with a scaling",
        "one that is standardized",
        "scalings of a user",
        "counts and a scaling of a user",
        "one scaling of a user",
    ],
)
def test_families_are_tried_where_they_make_a_difference(arrays, wanted, expected):
    assert families_of(settled(arrays, wanted)) == expected


def test_without_families_of_views_side_by_side_there_are_lists_of_views_only():
    basis = settled([round_view(), flat_view()], families=(LOCAL, BROAD))
    assert basis.pool.lists.joint == {}
    assert basis.pool.lists.n_views == len(basis.pool.spaces) == len(basis.pool.lists.far) == 2


@pytest.fixture(scope="module")
def noisy():
    """What is settled of three views of blobs, one of them flat, and one of noise."""
    views = make_multiview(160, 4, n_views=3, n_noise_views=1, n_features=[3, 8, 5, 6], noise=0.1, random_state=0)
    return settled(list(views.arrays))


@pytest.fixture(scope="module")
def sparse_too():
    """What is settled of three views that samples lack, one of them of counts."""
    views = make_multiview(120, 2, n_views=2, n_features=[4, 7], noise=0.2, random_state=0)
    return settled([*views.arrays, words(120)], present=gaps(120, 3, 0.8))


def joint_of(basis):
    return [(name, basis.joint[number]) for name in NAMES for number in basis.pool.lists.joint[name]]


def naive_scaled(basis, v, scaling):
    """One of the different views, scaled by those who have it, zero for the others."""
    original, rows = basis.order.views[v], basis.order.rows
    has_view = np.ones(len(rows), dtype=bool) if basis.views.present is None else basis.views.present[rows, original]
    found = np.zeros((len(rows), basis.views.n_features[original]))
    found[has_view] = dense(learn_scaling(basis.views.arrays[original][rows][has_view], scaling)[1])
    return found, has_view


@pytest.mark.parametrize("data", ["noisy", "sparse_too"])
def test_a_view_counts_by_its_dimensions_and_its_weight(request, data):
    basis = request.getfixturevalue(data)
    weights = basis.pool.lists.view_weights
    assert data == "sparse_too" or min(weights) < 0.5
    for _, space in joint_of(basis):
        for v, scaling, factor in zip(space.views, space.scalings, space.factors, strict=True):
            values, has_view = naive_scaled(basis, v, scaling.name)
            if scaling.name == "counts":  # there, dimensions are those of a sketch
                assert factor**2 > weights[v]
                continue
            variances = np.linalg.eigvalsh(np.cov(values[has_view].T))
            dimensions = variances.sum() ** 2 / (variances**2).sum()
            assert factor**2 == pytest.approx(np.sqrt(dimensions) * weights[v])


@pytest.mark.parametrize("data", ["noisy", "sparse_too"])
def test_anchors_side_by_side_are_imputed_as_those_of_views(request, data):
    basis = request.getfixturevalue(data)
    pool = basis.pool
    for _, space in joint_of(basis):
        ends = [*space.starts[1:], space.values.shape[1]]
        everyone = set(range(len(pool.samples)))
        for v, scaling, factor, start, end in zip(
            space.views, space.scalings, space.factors, space.starts, ends, strict=True
        ):
            values, has_view = naive_scaled(basis, v, scaling.name)
            own = np.flatnonzero(has_view[pool.samples])
            anchors = dict(zip(own.tolist(), values[pool.samples[own]], strict=True))
            if pool.donors[v] is not None:
                known = values[pool.samples[own]]
                for position, counts in zip(pool.donors[v].positions, pool.donors[v].weights.toarray(), strict=True):
                    mean, length = counts @ known, counts @ np.linalg.norm(known, axis=1)
                    anchors[int(position)] = mean * length / np.linalg.norm(mean)
            assert set(anchors) == set(pool.spaces[v].positions.tolist())  # as in the space of the view
            everyone &= set(anchors)
            expected = np.array([anchors[position] for position in space.positions])
            np.testing.assert_allclose(dense(space.values)[:, start:end], factor * expected, rtol=1e-9, atol=1e-12)
        assert set(space.positions.tolist()) == everyone
    assert data == "noisy" or all(each is not None and len(each.positions) for each in pool.donors)


@pytest.mark.parametrize("data", ["noisy", "sparse_too"])
def test_members_take_turns_with_the_views_of_the_first_four(request, data):
    basis = request.getfixturevalue(data)
    pool, settings = basis.pool, basis.settings
    assert pool.lists.n_views == len(basis.scaled) == len(pool.spaces) == len(pool.lists.far) - len(basis.joint)
    for family in JOINT:
        drawn = [draw_member(settings, family, pool.lists, index) for index in range(13)]
        for index, member in enumerate(drawn):
            (number,) = member.lists
            assert number >= pool.lists.n_views
            assert basis.joint[number].views == draw_member(settings, LOCAL, pool.lists, index % 4).lists
            assert (member.family, member.n_kept) == (family.name, 0)
            assert family.n_neighbors[0] <= member.n_neighbors <= family.n_neighbors[1]
        numbers = {member.lists for member in drawn}
        assert len({basis.joint[number].views for (number,) in numbers}) == len(numbers) > 1  # views are listed once
    assert not set(pool.lists.joint[CENTERED]) & set(pool.lists.joint[STANDARDIZED])


def test_similarity_ends_side_by_side_where_it_does_in_every_view(sparse_too):
    assert {space.far for _, space in joint_of(sparse_too)} == {np.inf}
    basis = settled([words(60, 0), words(60, 1)], ["unit", "auto"])
    assert families_of(basis) == {CENTERED: ["unit", "counts"]}
    for number in basis.pool.lists.joint[CENTERED]:
        space = basis.joint[number]
        expected = sum(f**2 * basis.pool.lists.far[v] for f, v in zip(space.factors, space.views, strict=True))
        assert space.far == basis.pool.lists.far[number] == pytest.approx(expected)
        assert np.isfinite(space.far)
        assert np.isinf(basis.columns[DISTANCE.of(number)]).any()  # samples without a word in common


@pytest.mark.parametrize("data", ["noisy", "sparse_too"])
def test_columns_of_families_are_the_lists_in_their_spaces(request, data):
    basis = request.getfixturevalue(data)
    for name, space in joint_of(basis):
        number = next(n for n in basis.pool.lists.joint[name] if basis.joint[n] is space)
        scaled = [naive_scaled(basis, v, s.name) for v, s in zip(space.views, space.scalings, strict=True)]
        ends = [*space.starts[1:], space.values.shape[1]]
        anchors = [
            dense(space.values)[:, start:end] / factor
            for start, end, factor in zip(space.starts, ends, space.factors, strict=True)
        ]
        has_view = np.column_stack([has for _, has in scaled])
        _, distance = naive_nearest([values for values, _ in scaled], anchors, has_view, space)
        np.testing.assert_allclose(basis.columns[DISTANCE.of(number)], distance, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("data", ["noisy", "sparse_too"])
def test_new_samples_have_the_lists_of_equal_ones_in_every_space(request, data):
    basis = request.getfixturevalue(data)
    own = {view.scaling.name for view in basis.scaled}
    assert not own <= {"centered", "standardized"}  # the spaces of a view differ
    numbers = range(len(basis.pool.spaces) + len(basis.joint))
    found = lists_of(basis.views.take(basis.order.rows), basis.anchored(basis.pool, numbers))
    assert found.keys() == basis.columns.keys()
    for name, column in found.items():
        np.testing.assert_array_equal(column, basis.columns[name], err_msg=name)
    few = lists_of(basis.views.take(basis.order.rows[:9]), basis.anchored(basis.pool, {1, numbers[-1]}))
    assert set(few) == {column.of(number) for column in (NEAREST, DISTANCE) for number in (1, numbers[-1])}
    for name, column in few.items():
        np.testing.assert_array_equal(column, basis.columns[name][:9], err_msg=name)


# How much views count ---------------------------------------------------------------------------------------------


def naive_weights(basis):
    """Loops over samples and pairs of them."""
    columns, samples, twin = basis.columns, basis.pool.samples, basis.order.twin
    n, n_views = len(twin), len(basis.scaled)

    def nearest(i, v, u):
        """The anchors next to a sample in view v, of those that have u as well."""
        pairs = zip(columns[NEAREST.of(v)][i], columns[DISTANCE.of(v)][i], strict=True)
        near = [a for a, distance in pairs if np.isfinite(distance) and twin[samples[a]] != twin[i]]
        return {*[a for a in near if basis.scaled[v].present[samples[a]] and basis.scaled[u].present[samples[a]]][:20]}

    errors = []
    for v in range(n_views):
        agreement = variance = 0.0
        for u in range(n_views):
            lists = [(nearest(i, v, u), nearest(i, u, v)) for i in range(n)]
            lists = [(one, two) for one, two in lists if one and two]
            if u == v or not lists:
                continue
            most = sum(min(len(one), len(two)) for one, two in lists)
            chance = sum(len(one & two) for one, _ in lists for _, two in lists) / len(lists) / most
            agreement += sum(len(one & two) for one, two in lists) / most - chance
            variance += chance / most
        errors.append(agreement / np.sqrt(variance) if variance else 10.0)
    if max(errors) < 3:
        return [1.0] * n_views
    return [min(1.0, max(0.05, error / min(max(errors), 10.0))) for error in errors]


def by_view(basis):
    """The weights of the views as given."""
    return np.array(basis.pool.lists.view_weights)[list(basis.order.source)]


@pytest.mark.parametrize("case", ["complete", "copies", "missing", "counts", "nothing in common"])
def test_weights_of_views_are_those_of_a_loop(case):
    views = make_multiview(110, 3, n_views=3, n_noise_views=1, noise=0.3, random_state=1)
    arrays, present = list(views.arrays), None
    if case == "copies":
        again = np.concatenate([np.arange(110), np.arange(40), np.arange(40)])
        arrays = [x[again] for x in arrays]
    elif case == "missing":
        present = gaps(110, 4, 0.6)
    elif case == "counts":
        arrays[1] = words(110)
    elif case == "nothing in common":  # no sample has the last view and another one
        present = np.ones((110, 4), dtype=bool)
        present[::3, :3], present[1::3, 3], present[2::3, 3] = False, False, False
    basis = settled(arrays, present=present, n_anchors=80)
    found = agreement_weights(basis.columns, basis.pool, basis.order.twin)
    assert found == basis.pool.lists.view_weights
    np.testing.assert_allclose(found, naive_weights(basis), rtol=1e-9)
    assert max(found) == 1.0
    if case == "nothing in common":
        assert by_view(basis)[3] == 1.0  # there is nothing to compare it with
    else:
        assert min(found) <= by_view(basis)[3] < 0.5


@pytest.mark.parametrize(("copies", "share"), [(1, 1.0), (5, 1.0), (1, 0.7), (1, 0.5)])
def test_a_view_of_noise_counts_little_and_the_others_in_full(copies, share):
    views = make_multiview(200, 4, n_views=3, n_noise_views=1, noise=0.1, random_state=0)
    arrays = [np.repeat(x, copies, axis=0) for x in views.arrays]
    found = by_view(settled(arrays, present=gaps(200 * copies, 4, share), n_anchors=160))
    assert found[:3].tolist() == [1, 1, 1]
    assert 0 < found[3] < 0.2


def test_where_no_views_agree_all_count_the_same():
    rng = np.random.default_rng(0)
    for _ in range(5):
        assert by_view(settled([rng.normal(size=(200, 5)) for _ in range(4)])).tolist() == [1, 1, 1, 1]


def test_a_weak_view_counts_in_full_if_it_agrees_beyond_doubt():
    views = make_multiview(300, 4, n_views=3, noise=0.1, random_state=0)
    arrays = [*views.arrays, np.random.default_rng(0).normal(size=(300, 10)) + 2 * views.arrays[0][:, :10]]
    assert by_view(settled(arrays, n_anchors=250)).tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("n_views", [1, 2])
def test_two_views_count_the_same(n_views):
    arrays = [round_view(), np.random.default_rng(9).normal(size=(60, 3))][:n_views]
    assert settled(arrays).pool.lists.view_weights == (1.0,) * n_views


def test_weights_are_those_of_views_alone():
    lists = Lists(50, (np.inf,) * 5, view_weights=(1.0, 0.25, 0.5), joint={"a": (3, 4), "b": (4, 3)})
    assert [lists.weight(number) for number in range(5)] == [1, 0.25, 0.5, 1, 1]
    assert (lists.n_views, Lists(50, (np.inf,) * 5).n_views) == (3, 5)
    assert Lists(50, (np.inf,) * 5).weight(1) == 1
    assert (lists.have(LOCAL), lists.have(JOINT[0]), lists.have(replace(JOINT[0], name="a"))) == (True, False, True)


# Members ----------------------------------------------------------------------------------------------------------


class KeepingRows(LocalRows):
    """Rows that forget nothing."""

    def drop(self, name):
        pass


def dense_graphs(rows, lists, member):
    """The graphs of a member, (number of graphs, n, m + 1)."""
    parts = []
    for anchors, weights, graphs in rows.map(member_edges, lists, member):
        part = np.zeros((len(graphs), len(anchors), len(member.anchors) + 1))
        for graph, (start, stop) in zip(part, graphs, strict=True):
            np.add.at(graph, (np.arange(len(anchors))[:, None], anchors[:, start:stop]), weights[:, start:stop])
        parts.append(part)
    return np.concatenate(parts, axis=1)


@pytest.fixture(scope="module")
def mixed(texts):
    """Two views of texts, then two dense ones; their lists, with weights."""
    columns, lists = dict(texts[0]), texts[1]
    for v, x in enumerate(make_multiview(200, 3, n_views=2, random_state=0).arrays, start=2):
        columns[NEAREST.of(v)], columns[DISTANCE.of(v)] = nearest_lists(x, x[: lists.n_anchors], 40, n_threads=1)
    return columns, Lists(lists.n_anchors, (2.0, 2.0, np.inf, np.inf), view_weights=(1.0, 0.2, 0.3, 0.8))


@pytest.fixture(scope="module")
def lacking(mixed):
    """The same, of samples that lack views."""
    columns, lists = dict(mixed[0]), mixed[1]
    present = gaps(200, 4, 0.5)
    for v, has_view in enumerate(present.T):
        near, distance = columns[NEAREST.of(v)].copy(), columns[DISTANCE.of(v)].copy()
        near[~has_view], distance[~has_view] = -1, np.inf
        columns[NEAREST.of(v)], columns[DISTANCE.of(v)] = near, distance
    return columns, replace(lists, patterns=np.unique(present, axis=0))


def a_member(n_clusters=4, **drawn):
    member = Member(5, "broad", (0, 1, 2, 3), np.arange(0, 60, 2), 6, 0, n_clusters, 0)
    return replace(member, **drawn)


def fitted_embedding(columns, lists, member, n_clusters):
    rows = KeepingRows(columns, 1, 70)
    fit_member(rows, lists, member, n_clusters)
    return rows.gather("embedding of broad member 5")


def naive_embedding(columns, lists, member, n_clusters):
    """From numpy's singular vectors; those after the K-th count by how far the spectrum has dropped."""
    graphs = dense_graphs(LocalRows(columns, 1, 70), lists, member)
    factors = graph_weights(lists, member)
    degrees = graphs.sum(axis=1, keepdims=True)
    W = np.einsum("g,gij->ij", factors, graphs / np.sqrt(np.where(degrees > 0, degrees, 1)))
    W *= (factors.sum() / (factors @ graphs.any(axis=2)))[:, None]
    U, values, _ = np.linalg.svd(W)
    U = U[:, : member.n_clusters].copy()
    for j in range(n_clusters, member.n_clusters):
        U[:, j] *= (values[j] / values[n_clusters - 1]) ** 8
    return U / np.linalg.norm(U, axis=1, keepdims=True), values


@pytest.mark.parametrize("n_kept", [0, 4])
@pytest.mark.parametrize("data", ["blobs", "mixed", "lacking"])
def test_vectors_after_the_last_cluster_count_by_the_drop_of_the_spectrum(request, data, n_kept):
    columns, lists, *_ = request.getfixturevalue(data)
    member = a_member(n_clusters=6, n_kept=n_kept)
    for n_clusters in (2, 4, 6):
        embedding = fitted_embedding(columns, lists, member, n_clusters)
        expected, values = naive_embedding(columns, lists, member, n_clusters)
        np.testing.assert_allclose(embedding @ embedding.T, expected @ expected.T, atol=2e-3)
        assert n_clusters == 6 or (values[5] / values[n_clusters - 1]) ** 8 < 0.9


@pytest.mark.parametrize("seed", range(3))
def test_clusters_of_very_different_sizes_are_found(seed):
    views = make_multiview(600, 4, sizes=np.geomspace(1, 50, 4), random_state=seed)
    model = GraphEnsemble(4, random_state=0).fit(views)
    assert accuracy(views.labels, model.labels_) >= 0.97


def test_what_dense_views_support_together_is_weighted(mixed):
    columns, lists = mixed
    rows, member = LocalRows(columns, 1, 70), a_member(n_neighbors=8, n_kept=4)
    graphs, single = dense_graphs(rows, lists, member), dense_graphs(rows, lists, replace(member, n_kept=0))
    np.testing.assert_array_equal(graphs[1:], single[:2])
    support = 0.3 * single[2] + 0.8 * single[3]
    threshold = np.sort(support, axis=1)[:, -5][:, None]  # the fifth largest
    expected = np.maximum(support - threshold, 0)
    np.testing.assert_allclose(graphs[0], expected / expected.sum(axis=1, keepdims=True), atol=1e-12)


def test_graphs_count_as_much_as_their_views(mixed):
    lists, member = mixed[1], a_member(n_kept=4)
    np.testing.assert_allclose(graph_weights(lists, member), [0.3 + 0.8, 1.0, 0.2])
    np.testing.assert_allclose(graph_weights(lists, replace(member, lists=(1, 2))), [0.3, 0.2])
    np.testing.assert_allclose(graph_weights(lists, replace(member, n_kept=0)), [1.0, 0.2, 0.3, 0.8])
    side = replace(lists, far=(*lists.far, np.inf), joint={"together": (4,)})
    np.testing.assert_allclose(graph_weights(side, replace(member, lists=(4,), n_kept=0)), [1.0])


# The estimator ----------------------------------------------------------------------------------------------------


def pairs_apart(n=300, noise=0.4, seed=0):
    """Four clusters; two views tell the even ones from the odd ones, two others the first two from the last two."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(4, size=n)
    arrays = []
    for d, which in zip((4, 5, 3, 6), (labels % 2, labels // 2, labels % 2, labels // 2), strict=True):
        x = noise * rng.normal(size=(n, d))
        x[:, 0] += 2 * which
        arrays.append(x)
    return arrays, labels


def fit(arrays, n_clusters=4, present=None, **parameters):
    parameters = {"random_state": 0, "n_jobs": 1, "n_members": 16} | parameters
    return GraphEnsemble(n_clusters, **parameters).fit(check_views(arrays, present=present, keep_float32=True))


def assert_sound(model, n_samples, n_clusters=4):
    assert model.labels_.shape == (n_samples,)
    assert set(model.labels_) == set(range(n_clusters))
    assert np.isfinite(model.embedding_).all()
    assert ((model.confidence_ >= 0) & (model.confidence_ <= 1)).all()
    assert model.view_weights_.sum() == pytest.approx(1.0)
    found, labels = component_labels(model.consensus_graph_)
    assert found == n_clusters
    np.testing.assert_array_equal(labels, model.labels_)


def assert_tells_families(model, tried):
    families = model.graph_families_
    assert set(families) == set(tried)
    assert next(iter(families)) == model.graph_family_
    assert all(
        list(each) == ["n_members", "agreement", "cross_agreement", "information", "score"]
        for each in families.values()
    )
    sizes = [each["n_members"] for each in families.values()]
    assert sizes == sorted(sizes, reverse=True)
    longest = [each["score"] for each in families.values() if each["n_members"] == sizes[0]]
    assert longest == sorted(longest, reverse=True)
    plain = {name: (2 * each["agreement"] + each["cross_agreement"]) / 3 for name, each in families.items()}
    for name in set(families) & set(NAMES):
        assert families[name]["score"] == pytest.approx(1 - 1.1 * (1 - plain[name]))
    if {"local", "broad"} <= set(families) and families["local"]["n_members"] == families["broad"]["n_members"]:
        added_up = ("local", "broad")
        close = abs(plain["local"] - plain["broad"]) < 0.03
        less, more = sorted(added_up, key=lambda name: families[name]["information"] if close else plain[name])
        expected = sorted(plain[name] for name in added_up)
        assert [families[less]["score"], families[more]["score"]] == pytest.approx(expected)


@pytest.fixture
def only_joint(monkeypatch):
    monkeypatch.setattr("manyview.cluster._graph_ensemble.families_with", lambda _: tuple(JOINT))


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(samples, "_block_rows", lambda *_: 130)
    monkeypatch.setattr("manyview.cluster._graph_ensemble._LEARNED_ROWS", 250)


@pytest.fixture(scope="module")
def pairs():
    arrays, labels = pairs_apart()
    return arrays, labels, fit(arrays)


def test_views_that_each_confuse_clusters_tell_them_apart_together(pairs):
    _, labels, model = pairs
    assert model.graph_family_ == CENTERED
    assert accuracy(labels, model.labels_) > 0.95
    assert_sound(model, 300)
    assert_tells_families(model, [family.name for family in FAMILIES])


def test_rings_are_left_to_local_graphs():
    views = make_multiview(300, 2, shape="rings", random_state=0)
    model = fit(list(views.arrays), 2)
    assert model.graph_family_ == "local"
    assert adjusted_rand(views.labels, model.labels_) == 1


def test_clear_clusters_need_no_other_family():
    views = make_multiview(200, 4, random_state=0)
    model = fit(list(views.arrays), 4)
    assert_tells_families(model, ["local", "broad"])
    assert model.n_iter_ == 8
    assert adjusted_rand(views.labels, model.labels_) == 1


def test_texts_have_no_families_of_views_side_by_side():
    model = fit([words(80, 0), words(80, 1)], 2)
    assert_tells_families(model, ["local", "broad"])
    assert_sound(model, 80, 2)


def learned_bits(model, rows=slice(None)):
    return [model.embedding_[rows], model.confidence_[rows], model.consensus_graph_.toarray()[rows]]


@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
def test_the_order_of_samples_does_not_change_a_bit(only_joint, missing):
    arrays, _ = pairs_apart(150)
    arrays[3] = words(150)
    present = gaps(150, 4) if missing else None
    model, rows = fit(arrays, present=present), np.random.default_rng(0).permutation(150)
    other = fit([x[rows] for x in arrays], present=present[rows] if missing else None)
    assert model.graph_family_ in NAMES
    assert other.graph_families_ == model.graph_families_
    assert adjusted_rand(other.labels_, model.labels_[rows]) == 1
    np.testing.assert_array_equal(other.view_weights_, model.view_weights_)
    for one, two in zip(learned_bits(other), learned_bits(model, rows), strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
def test_the_order_of_views_does_not_change_a_bit(only_joint, missing):
    arrays, _ = pairs_apart(150)
    present = gaps(150, 4) if missing else None
    model, order = fit(arrays, present=present), [2, 0, 3, 1]
    other = fit([arrays[v] for v in order], present=present[:, order] if missing else None)
    assert model.graph_family_ in NAMES
    assert other.graph_families_ == model.graph_families_
    np.testing.assert_array_equal(other.labels_, model.labels_)
    np.testing.assert_array_equal(other.view_weights_, model.view_weights_[order])
    for one, two in zip(learned_bits(other), learned_bits(model), strict=True):
        np.testing.assert_array_equal(one, two)


def test_a_view_that_is_given_twice_counts_once(only_joint):
    arrays, _ = pairs_apart(150)
    model, other = fit(arrays), fit([*arrays, arrays[1] * 8 + 3])
    np.testing.assert_array_equal(other.labels_, model.labels_)
    np.testing.assert_array_equal(other.embedding_, model.embedding_)
    assert other.view_weights_[[1, 4]].sum() == pytest.approx(model.view_weights_[1])
    np.testing.assert_array_equal(other.predict([*arrays, arrays[1] * 8 + 3]), model.labels_)


CASES = {
    "dense": ([0, 1, 2, 3], np.float64, False),
    "single precision": ([0, 1, 2, 3], np.float32, False),
    "missing": ([0, 1, 2, 3], np.float64, True),
    "with counts": ([0, 1, 4], np.float64, False),
    "counts are missing": ([0, 1, 4], np.float32, True),
}


@pytest.fixture(params=CASES)
def case(request, only_joint):
    """Views, who has which, and a model with views side by side."""
    which, dtype, missing = CASES[request.param]
    arrays = [x.astype(dtype) for x in [*pairs_apart(200)[0], words(200)]]
    arrays = [arrays[v] for v in which]
    present = gaps(200, len(arrays)) if missing else None
    model = fit(arrays, present=present)
    assert model.graph_family_ in NAMES
    return check_views(arrays, present=present, keep_float32=True), model


def test_samples_of_the_fit_get_their_labels_again(case):
    views, model = case
    assert_sound(model, 200)
    assert_tells_families(model, NAMES)
    np.testing.assert_array_equal(model.predict(views), model.labels_)
    np.testing.assert_array_equal(model.predict(views.take(np.arange(17))), model.labels_[:17])
    np.testing.assert_allclose(model.predict_confidence(views), model.confidence_, rtol=1e-6)
    np.testing.assert_allclose(model.transform(views), model.embedding_, rtol=1e-5, atol=1e-6)


def test_a_model_comes_back_from_its_file(case, tmp_path):
    views, model = case
    model.save(tmp_path / "model.manyview")
    loaded = manyview.load(tmp_path / "model.manyview")
    assert (loaded.graph_family_, loaded.graph_families_) == (model.graph_family_, model.graph_families_)
    assert list(loaded.graph_families_) == list(model.graph_families_)
    assert loaded._model.lists.joint == model._model.lists.joint
    assert loaded._model.lists.view_weights == model._model.lists.view_weights
    np.testing.assert_array_equal(loaded.predict(views), model.labels_)
    np.testing.assert_array_equal(loaded.transform(views), model.transform(views))


def test_one_view_alone_can_be_predicted_from(only_joint):
    arrays, labels = pairs_apart(300, noise=0.2)
    model = fit(arrays)
    assert accuracy(labels, model.labels_) > 0.95
    for v, which in enumerate((labels % 2, labels // 2, labels % 2, labels // 2)):
        found = model.predict({f"view{v}": arrays[v]})
        assert set(found) <= set(range(4))
        # Clusters that this view tells apart are hardly confused.
        sure = [np.bincount(which[model.labels_ == c], minlength=2).argmax() for c in range(4)]
        assert np.mean(np.array(sure)[found] == which) > 0.95


def test_samples_that_lack_views_are_where_the_others_are(only_joint):
    arrays, labels = pairs_apart(300, noise=0.2)
    present = np.ones((300, 4), dtype=bool)
    present[::5, 0], present[1::5, 3], present[2::10, [1, 2]] = False, False, False
    model = fit(arrays, present=present)
    assert_sound(model, 300)
    assert accuracy(labels, model.labels_) > 0.93
    assert accuracy(labels[::5], model.labels_[::5]) > 0.9


@pytest.mark.parametrize("forced", [True, False], ids=["side by side", "chosen"])
@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
@pytest.mark.parametrize("learn_on", ["all", 200])
def test_many_samples_in_blocks(request, small_blocks, learn_on, missing, forced):
    if forced:
        request.getfixturevalue("only_joint")
    arrays, labels = pairs_apart(600, noise=0.3)
    arrays.append(words(600))
    present = gaps(600, 5, 0.9) if missing else None
    views = check_views(arrays, present=present)
    model = fit(arrays, present=present, learn_on=learn_on, n_anchors=120)
    assert not forced or model.graph_family_ in NAMES
    assert_sound(model, 600)
    assert_tells_families(model, NAMES if forced else [family.name for family in FAMILIES])
    np.testing.assert_array_equal(model.predict(views), model.labels_)
    rows = np.random.default_rng(1).permutation(600)
    other = fit([x[rows] for x in arrays], present=present[rows] if missing else None, learn_on=learn_on, n_anchors=120)
    assert adjusted_rand(other.labels_, model.labels_[rows]) == 1
    np.testing.assert_array_equal(other.confidence_, model.confidence_[rows])
    assert accuracy(labels, model.labels_) > 0.6


@pytest.mark.parametrize("learn_on", ["all", 200])
def test_families_are_chosen_in_blocks_as_in_memory(small_blocks, learn_on):
    arrays, labels = pairs_apart(600)
    model = fit(arrays, learn_on=learn_on)
    assert model.graph_family_ == CENTERED
    assert accuracy(labels, model.labels_) > 0.93
