"""Learning on rows: the type of graph, batches of members, and their consensus."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from manyview.engines import LocalRows
from manyview.ensemble.consensus import find_consensus
from manyview.ensemble.fit import Ensemble, _best_of, learn
from manyview.ensemble.members import FAMILIES, Lists, Settings

SETTINGS = Settings(n_clusters=4, n_members=10, n_tries=4)
ADDED_UP = LOCAL, BROAD = FAMILIES[:2]
each_type = pytest.mark.parametrize("family", ADDED_UP, ids=lambda each: each.name)


def n_members(ensemble):
    """The number of members of each consensus."""
    return [len(step.weights) for step in ensemble.steps]


@pytest.fixture(scope="module")
def result(blobs):
    columns, lists, _ = blobs
    return learn(LocalRows(columns, 1, 128), lists, SETTINGS)


def test_the_blobs_are_found_in_spite_of_a_view_of_noise(blobs, result):
    labels = result.rows.gather("labels")
    assert labels.shape == (300,)
    assert set(labels) == {0, 1, 2, 3}
    assert adjusted_rand_score(labels, blobs[2]) == 1


def test_rows_keep_embedding_and_confidence(result):
    assert result.rows.gather("embedding").shape == (300, 4)
    values = result.rows.gather("confidence")
    assert values.shape == (300,)
    assert values.min() >= 0
    assert values.max() <= 1
    assert values.mean() > 0.7


def test_steps_add_up_to_the_members(result):
    counts = n_members(result)
    assert all(np.diff([0, *counts]) > 0)
    assert counts[0] == SETTINGS.n_tries
    assert counts[-1] == SETTINGS.n_members == len(result.members)
    assert np.isnan(result.steps[0].stability)
    assert all(0 <= step.stability <= 1 + 1e-12 for step in result.steps[1:])
    assert {member.family for member in result.members} == {result.family.name}
    assert [member.index for member in result.members] == list(range(SETTINGS.n_members))
    assert all(len(member.centres) == member.n_clusters for member in result.members)


def test_only_the_last_consensus_has_shares(result):
    *before, last = result.steps
    assert all(step.shares.size == 0 for step in before)
    assert last.shares.shape == (SETTINGS.n_members, max(m.n_clusters for m in result.members), 4)


def test_trials_tell_how_the_family_was_chosen(result):
    assert {trial.family for trial in result.trials} == {"local", "broad"}
    assert result.trials[0].family == result.family.name
    assert result.trials[0].score == max(trial.score for trial in result.trials)
    assert {trial.n_members for trial in result.trials} == {SETTINGS.n_tries}


def tried(rows, lists, settings):
    return [Ensemble(rows, lists, settings, family) for family in settings.families if lists.have(family)]


def off_diagonal_mean(information):
    return information[~np.eye(len(information), dtype=bool)].mean()


def naive_trial(ensemble, every):
    """Agreement and cross agreement by scikit-learn, from labels; members of a family are first weighted as in the
    consensus, then equally."""
    rows = ensemble.rows
    weights = find_consensus(rows, SETTINGS, ensemble.members, ensemble.information).weights
    labels = rows.gather("labels")
    each = {
        other.family.name: [normalized_mutual_info_score(labels, rows.gather(m.labels)) for m in other.members]
        for other in every
    }
    return np.average(each[ensemble.family.name], weights=weights), np.mean([np.mean(nmi) for nmi in each.values()])


def test_the_family_that_agrees_most_is_chosen(texts):
    columns, lists = texts
    every = tried(LocalRows(columns, 1), lists, SETTINGS)
    ranking = _best_of(every, every, SETTINGS.n_tries)
    trials = {trial.family: trial for trial in ranking[0].trials}
    for ensemble in every:
        trial, (agreement, cross) = trials[ensemble.family.name], naive_trial(ensemble, every)
        assert (trial.agreement, trial.cross_agreement) == pytest.approx((agreement, cross))
        assert trial.information == pytest.approx(off_diagonal_mean(ensemble.information))
        assert trial.n_members == len(ensemble.members) == SETTINGS.n_tries
    assert [ensemble.family.name for ensemble in ranking] == [trial.family for trial in ranking[0].trials]
    first, second = ranking[0].trials
    assert first.information > second.information
    plain = [(2 * trial.agreement + trial.cross_agreement) / 3 for trial in (first, second)]
    assert [first.score, second.score] == pytest.approx(sorted(plain, reverse=True))


def test_families_that_are_given_up_are_still_asked(texts):
    columns, lists = texts
    every = tried(LocalRows(columns, 1), lists, SETTINGS)
    left = _best_of(every, every, 2)[:1]
    _best_of(every, left, 4)
    first, second = every[0].trials
    assert (first.family, first.n_members, second.n_members) == (left[0].family.name, 4, 2)
    assert first.cross_agreement == pytest.approx(naive_trial(left[0], every)[1])


@pytest.mark.parametrize("types", [ADDED_UP, ADDED_UP[::-1]], ids=["local first", "broad first"])
def test_rings_need_local_graphs(rings, types):
    columns, lists, truth = rings
    rows, settings = LocalRows(columns, 1), Settings(n_clusters=2, n_members=16, families=types)
    every = tried(rows, lists, settings)
    best = _best_of(every, every, settings.n_tries)[0]
    assert best.family == LOCAL
    assert {member.family for member in best.members} == {"local"}
    learn(rows, lists, settings)
    assert adjusted_rand_score(rows.gather("labels"), truth) == 1


@each_type
def test_one_type_alone_is_taken(blobs, family):
    columns, lists, truth = blobs
    ensemble = learn(LocalRows(columns, 1), lists, replace(SETTINGS, families=(family,)))
    assert ensemble.family == family
    assert ensemble.trials == []
    assert adjusted_rand_score(ensemble.rows.gather("labels"), truth) == 1


def test_no_more_members_are_tried_than_there_shall_be(blobs):
    columns, lists, _ = blobs
    ensemble = learn(LocalRows(columns, 1), lists, replace(SETTINGS, n_members=2))
    assert len(ensemble.members) == 2
    assert n_members(ensemble) == [2]


def test_eight_members_are_enough_for_clear_clusters(blobs):
    columns, lists, truth = blobs
    ensemble = learn(LocalRows(columns, 1), lists, Settings(n_clusters=4))
    assert n_members(ensemble) == [4, 8]
    assert ensemble.steps[-1].stability == pytest.approx(1)
    assert len(ensemble.members) == 8
    assert adjusted_rand_score(ensemble.rows.gather("labels"), truth) == 1


def test_a_look_at_few_members_changes_nothing_if_they_disagree(texts):
    columns, lists = texts
    settings = Settings(n_clusters=4, n_members=10, n_tries=8)
    ensemble = learn(LocalRows(columns, 1), lists, settings)
    assert n_members(ensemble) == [8, 9, 10]
    assert np.isnan(ensemble.steps[0].stability)
    expected = Ensemble(LocalRows(columns, 1), lists, settings, ensemble.family)
    expected.grow(10)
    np.testing.assert_allclose(ensemble.information, expected.information, rtol=1e-12)
    for member in ensemble.members:
        np.testing.assert_array_equal(ensemble.rows.gather(member.labels), expected.rows.gather(member.labels))


def test_every_consensus_is_reported_as_it_is_found(blobs):
    columns, lists, _ = blobs
    seen = []
    ensemble = learn(LocalRows(columns, 1), lists, SETTINGS, lambda who, found: seen.append((who, len(found.weights))))
    assert len(seen) > 1
    assert [count for _, count in seen] == n_members(ensemble)
    assert all(who is ensemble for who, _ in seen)


def test_every_round_of_trials_is_reported(texts):
    columns, lists = texts
    rounds = []
    ensemble = learn(
        LocalRows(columns, 1), lists, replace(SETTINGS, n_tries=8), on_trials=lambda trials: rounds.append(list(trials))
    )
    assert [trials[0].n_members for trials in rounds] == [2, 4, 8]
    assert rounds[-1] == ensemble.trials
    assert rounds[-1][0].family == ensemble.family.name
    alone = replace(SETTINGS, families=(LOCAL,))
    learn(LocalRows(columns, 1), lists, alone, on_trials=lambda _: pytest.fail("there was nothing to choose from"))


def test_stability_compares_with_the_step_before(texts):
    columns, lists = texts
    rows, found = LocalRows(columns, 1), []
    ensemble = learn(rows, lists, SETTINGS, lambda *_: found.append(rows.gather("labels")))
    expected = [normalized_mutual_info_score(a, b) for a, b in pairwise(found)]
    assert max(expected) < 0.99
    np.testing.assert_allclose([step.stability for step in ensemble.steps[1:]], expected)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_members_are_enough(blobs, n):
    columns, lists, _ = blobs
    ensemble = learn(LocalRows(columns, 1), lists, replace(SETTINGS, n_members=n))
    assert n_members(ensemble)[-1] == len(ensemble.members) == n
    assert set(ensemble.rows.gather("labels")) == {0, 1, 2, 3}


@pytest.mark.parametrize("n_threads", [2, 3])
def test_the_number_of_threads_does_not_change_a_bit(blobs, result, n_threads):
    columns, lists, _ = blobs
    ensemble = learn(LocalRows(columns, n_threads, 128), lists, SETTINGS)
    for name in ("labels", "embedding", "confidence", *(member.labels for member in ensemble.members)):
        np.testing.assert_array_equal(ensemble.rows.gather(name), result.rows.gather(name))
    np.testing.assert_array_equal(ensemble.information, result.information)
    for step, other in zip(ensemble.steps, result.steps, strict=True):
        np.testing.assert_equal(vars(step), vars(other))


@pytest.mark.parametrize("block_rows", [50, 8192])
def test_the_size_of_the_blocks_does_not_change_the_partition(blobs, result, block_rows):
    columns, lists, _ = blobs
    rows = learn(LocalRows(columns, 1, block_rows), lists, SETTINGS).rows
    assert adjusted_rand_score(rows.gather("labels"), result.rows.gather("labels")) == 1
    np.testing.assert_allclose(rows.gather("confidence"), result.rows.gather("confidence"), atol=0.05)


def test_another_seed_draws_other_members(blobs, result):
    columns, lists, _ = blobs
    ensemble = learn(LocalRows(columns, 1, 128), lists, replace(SETTINGS, seed=1, n_members=3))
    for a, b in zip(ensemble.members, result.members, strict=False):
        assert not np.array_equal(a.anchors, b.anchors)


def test_an_empty_ensemble(blobs):
    columns, lists, _ = blobs
    ensemble = Ensemble(LocalRows(columns, 1), lists, SETTINGS, BROAD)
    assert ensemble.members == ensemble.steps == []
    assert ensemble.information.shape == (0, 0)


def test_members_can_be_added_bit_by_bit(blobs):
    columns, lists, _ = blobs
    at_once, in_parts = (Ensemble(LocalRows(columns, 1, 128), lists, SETTINGS, BROAD) for _ in range(2))
    at_once.grow(5)
    for n in (1, 4, 5):
        in_parts.grow(n)
    assert [member.index for member in in_parts.members] == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(in_parts.information, at_once.information)
    for member in at_once.members:
        np.testing.assert_array_equal(in_parts.rows.gather(member.labels), at_once.rows.gather(member.labels))


def test_information_is_what_members_share(result):
    labels = [result.rows.gather(member.labels) for member in result.members]
    entropies = result.information.diagonal()
    expected = [[normalized_mutual_info_score(a, b) for b in labels] for a in labels]
    np.testing.assert_allclose(result.information * 2 / np.add.outer(entropies, entropies), expected, atol=1e-10)


def test_one_view_alone_is_clustered(blobs):
    columns, lists, truth = blobs
    rows = LocalRows(columns, 1)
    learn(rows, Lists(lists.n_anchors, lists.far[:1]), replace(SETTINGS, n_members=6))
    assert adjusted_rand_score(rows.gather("labels"), truth) > 0.95


@each_type
def test_texts_with_little_in_common_get_valid_labels(texts, family):
    columns, lists = texts
    rows = LocalRows(columns, 1)
    learn(rows, lists, Settings(n_clusters=5, n_members=4, families=(family,)))
    labels = rows.gather("labels")
    assert set(labels) == set(range(5))
    assert np.isfinite(rows.gather("embedding")).all()
