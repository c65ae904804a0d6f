from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from manyview.engines import LocalRows
from manyview.solvers.invariant import KINDS, Lists, Settings, choose_kind, init_state, run, update

SETTINGS = Settings(n_clusters=4, n_members=10, n_tries=4)
FINE, BROAD = KINDS


@pytest.fixture(scope="module")
def result(blobs):
    columns, lists, _ = blobs
    rows = LocalRows(columns, 1, 128)
    return rows, *run(rows, lists, SETTINGS)


def test_the_blobs_are_found_in_spite_of_a_view_of_noise(blobs, result):
    labels = result[0].gather("labels")
    assert labels.shape == (300,)
    assert set(labels) == {0, 1, 2, 3}
    assert adjusted_rand_score(labels, blobs[2]) == 1


def test_rows_keep_embedding_and_confidence(result):
    rows = result[0]
    assert rows.gather("embedding").shape == (300, 4)
    values = rows.gather("confidence")
    assert values.shape == (300,)
    assert values.min() >= 0
    assert values.max() <= 1
    assert values.mean() > 0.7


def test_steps_add_up_to_the_members(result):
    _, state, ensemble, steps = result
    consensus = ensemble.consensus
    counts = [step.n_members for step in steps]
    assert all(np.diff([0, *counts]) > 0)
    assert counts[0] == SETTINGS.n_tries
    assert counts[-1] == SETTINGS.n_members == len(state.members) == len(consensus.weights)
    assert np.isnan(steps[0].stability)
    assert all(0 <= step.stability <= 1 + 1e-12 for step in steps[1:])
    assert steps[-1].agreement == consensus.agreement
    assert {step.kind for step in steps} == {state.kind.name} == {member.kind for member in state.members}
    assert [member.index for member in state.members] == list(range(SETTINGS.n_members))


def test_steps_tell_how_the_kind_was_chosen(result):
    _, state, _, steps = result
    for step in steps:
        assert set(step.scores) == {"fine", "broad"}
        assert step.scores == steps[0].scores
        assert step.scores[state.kind.name] == max(step.scores.values())


def tried(rows, lists, settings):
    return [update(init_state(rows, lists, settings, kind), settings.n_tries) for kind in settings.kinds]


def off_diagonal_mean(information):
    return information[~np.eye(len(information), dtype=bool)].mean()


def test_the_kind_with_the_larger_mean_information_is_chosen(blobs):
    columns, lists, _ = blobs
    state, scores = choose_kind(tried(LocalRows(columns, 1), lists, SETTINGS))
    expected = {}
    for kind in KINDS:
        alone = update(init_state(LocalRows(columns, 1), lists, SETTINGS, kind), SETTINGS.n_tries)
        assert alone.mean_information == pytest.approx(off_diagonal_mean(alone.information))
        expected[kind.name] = alone.mean_information
    assert scores == expected
    assert state.kind.name == max(expected, key=expected.get)
    assert state.mean_information == max(expected.values())
    assert len(state.members) == SETTINGS.n_tries
    assert expected["fine"] != expected["broad"]


@pytest.mark.parametrize("kinds", [KINDS, KINDS[::-1]], ids=["fine first", "broad first"])
def test_rings_need_fine_graphs(rings, kinds):
    columns, lists, truth = rings
    rows, settings = LocalRows(columns, 1), Settings(n_clusters=2, n_members=16, kinds=kinds)
    state, scores = choose_kind(tried(rows, lists, settings))
    assert state.kind == FINE
    assert scores["fine"] > scores["broad"]
    assert {member.kind for member in state.members} == {"fine"}
    run(rows, lists, settings)
    assert adjusted_rand_score(rows.gather("labels"), truth) == 1


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_one_kind_alone_is_taken(blobs, kind):
    columns, lists, truth = blobs
    rows = LocalRows(columns, 1)
    state, _, steps = run(rows, lists, replace(SETTINGS, kinds=(kind,)))
    assert state.kind == kind
    assert {step.kind for step in steps} == {kind.name}
    assert list(steps[0].scores) == [kind.name]
    assert adjusted_rand_score(rows.gather("labels"), truth) == 1


def test_no_more_members_are_tried_than_there_shall_be(blobs):
    columns, lists, _ = blobs
    state, _, steps = run(LocalRows(columns, 1), lists, replace(SETTINGS, n_members=2))
    assert len(state.members) == 2
    assert [step.n_members for step in steps] == [2]


def test_eight_members_are_enough_for_clear_clusters(blobs):
    columns, lists, truth = blobs
    rows = LocalRows(columns, 1)
    state, ensemble, steps = run(rows, lists, Settings(n_clusters=4))
    assert [step.n_members for step in steps] == [4, 8]
    assert steps[-1].stability == pytest.approx(1)
    assert len(state.members) == len(ensemble.members) == len(ensemble.consensus.weights) == 8
    assert adjusted_rand_score(rows.gather("labels"), truth) == 1


def test_a_look_at_few_members_changes_nothing_if_they_disagree(texts):
    columns, lists = texts
    rows, others = LocalRows(columns, 1), LocalRows(columns, 1)
    settings = Settings(n_clusters=4, n_members=10, n_tries=8)
    state, _, steps = run(rows, lists, settings)
    assert [step.n_members for step in steps] == [8, 9, 10]
    expected, _ = choose_kind(tried(others, lists, settings))
    expected = update(expected, 2)
    np.testing.assert_array_equal(state.information, expected.information)
    for member in state.members:
        np.testing.assert_array_equal(rows.gather(member.name), others.gather(member.name))


def test_steps_are_reported_as_they_are_made(blobs):
    columns, lists, _ = blobs
    seen = []
    steps = run(LocalRows(columns, 1), lists, SETTINGS, on_step=seen.append)[2]
    assert len(seen) == len(steps) > 1
    assert [step.n_members for step in seen] == [step.n_members for step in steps]


def test_stability_compares_with_the_step_before(texts):
    columns, lists = texts
    rows, found = LocalRows(columns, 1), []
    steps = run(rows, lists, SETTINGS, on_step=lambda step: found.append(rows.gather("labels")))[2]
    expected = [normalized_mutual_info_score(a, b) for a, b in pairwise(found)]
    assert max(expected) < 0.99
    np.testing.assert_allclose([step.stability for step in steps[1:]], expected)


@pytest.mark.parametrize("n_members", [1, 2, 3])
def test_few_members_are_enough(blobs, n_members):
    columns, lists, _ = blobs
    rows = LocalRows(columns, 1)
    state, _, steps = run(rows, lists, replace(SETTINGS, n_members=n_members))
    assert steps[-1].n_members == len(state.members) == n_members
    assert set(rows.gather("labels")) == {0, 1, 2, 3}


@pytest.mark.parametrize("n_threads", [2, 3])
def test_the_number_of_threads_does_not_change_a_bit(blobs, result, n_threads):
    columns, lists, _ = blobs
    rows = LocalRows(columns, n_threads, 128)
    state, ensemble, steps = run(rows, lists, SETTINGS)
    for name in ("labels", "embedding", "confidence", *(member.name for member in state.members)):
        np.testing.assert_array_equal(rows.gather(name), result[0].gather(name))
    np.testing.assert_array_equal(state.information, result[1].information)
    np.testing.assert_array_equal(ensemble.consensus.weights, result[2].consensus.weights)
    np.testing.assert_equal(steps, result[3])


@pytest.mark.parametrize("block_rows", [50, 8192])
def test_the_size_of_the_blocks_does_not_change_the_partition(blobs, result, block_rows):
    columns, lists, _ = blobs
    rows = LocalRows(columns, 1, block_rows)
    run(rows, lists, SETTINGS)
    assert adjusted_rand_score(rows.gather("labels"), result[0].gather("labels")) == 1
    np.testing.assert_allclose(rows.gather("confidence"), result[0].gather("confidence"), atol=0.05)


def test_another_seed_draws_other_members(blobs, result):
    columns, lists, _ = blobs
    state, _, _ = run(LocalRows(columns, 1, 128), lists, replace(SETTINGS, seed=1, n_members=3))
    for a, b in zip(state.members, result[1].members, strict=False):
        assert not np.array_equal(a.anchors, b.anchors)


def test_an_empty_ensemble(blobs):
    columns, lists, _ = blobs
    state = init_state(LocalRows(columns, 1), lists, SETTINGS, BROAD)
    assert state.members == ()
    assert state.information.shape == (0, 0)
    assert state.kind == BROAD


def test_members_can_be_added_bit_by_bit(blobs):
    columns, lists, _ = blobs
    at_once, in_parts = (init_state(LocalRows(columns, 1, 128), lists, SETTINGS, BROAD) for _ in range(2))
    at_once = update(at_once, 5)
    for n_members in (1, 3, 1):
        in_parts = update(in_parts, n_members)
    assert [member.index for member in in_parts.members] == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(in_parts.information, at_once.information)
    for member in at_once.members:
        np.testing.assert_array_equal(in_parts.rows.gather(member.name), at_once.rows.gather(member.name))


def test_an_update_leaves_the_state_before_as_it_was(blobs):
    columns, lists, _ = blobs
    empty = init_state(LocalRows(columns, 1), lists, SETTINGS, FINE)
    two = update(empty, 2)
    update(two, 1)
    assert (len(empty.members), len(two.members), two.information.shape) == (0, 2, (2, 2))


def test_information_is_what_members_share(result):
    rows, state, _, _ = result
    labels = [rows.gather(member.name) for member in state.members]
    shared = state.information * 2 / np.add.outer(state.information.diagonal(), state.information.diagonal())
    expected = [[normalized_mutual_info_score(a, b) for b in labels] for a in labels]
    np.testing.assert_allclose(shared, expected, atol=1e-10)


def test_one_view_alone_is_clustered(blobs):
    columns, lists, truth = blobs
    rows = LocalRows(columns, 1)
    run(rows, Lists(lists.n_pool, lists.far[:1]), replace(SETTINGS, n_members=6))
    assert adjusted_rand_score(rows.gather("labels"), truth) > 0.95


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_texts_with_little_in_common_get_valid_labels(texts, kind):
    columns, lists = texts
    rows = LocalRows(columns, 1)
    run(rows, lists, Settings(n_clusters=5, n_members=4, kinds=(kind,)))
    labels = rows.gather("labels")
    assert set(labels) == set(range(5))
    assert np.isfinite(rows.gather("embedding")).all()
