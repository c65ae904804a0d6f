"""The numbers behind the number of clusters: curves, and what is made of them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from manyview.engines import LocalRows
from manyview.ensemble.columns import CUT, DISTANCE, NEAREST
from manyview.ensemble.gaps import Curve, _consensus_gap, adjusted_rand, measure, settings_for, without_clusters
from manyview.ensemble.members import Lists, Member
from manyview.ensemble.n_clusters import decide, excess
from manyview.graphs import nearest_lists

NUMBERS = (2, 3, 4, 5, 6)


def curve(gaps: dict[int, float], stability: float = 0.8, floor: float = 0.01, n_values: int = 9) -> Curve:
    """Flat spectra but for some gaps, which are twice as large in the consensus."""
    gap = np.full(n_values, floor)
    for k, value in gaps.items():
        gap[k - 1] = value
    return Curve(gap, 2 * gap[1:6], np.full(len(NUMBERS), stability))


FLAT = curve({}, stability=0.3)


def test_measure_finds_the_gap_and_the_agreement_of_clear_clusters(blobs):
    columns, lists, _ = blobs
    found = measure(LocalRows(columns, 1), lists, settings_for(NUMBERS, 300, seed=0, n_members=6), NUMBERS)
    assert len(found.stability) == len(NUMBERS)
    assert len(found.graph_gap) == 10  # half as many again as the largest cut, which is into 7
    assert np.argmax(found.graph_gap[1:]) + 2 == 4
    assert found.graph_gap[3] > 5 * np.delete(found.graph_gap[1:], 2).max()
    assert NUMBERS[np.argmax(found.strength(np.array(NUMBERS)))] == 4
    assert found.stability[2] > 0.95
    assert found.stability[2] > found.stability[3:].max()


def test_graphs_with_fewer_anchors_than_values_have_no_gaps_beyond():
    """Seven anchors and the neutral one are eight values; ten are looked at for cuts into six."""
    x = np.random.default_rng(0).normal(size=(60, 3))
    near, distance = nearest_lists(x, x[:7], 7, n_threads=1)
    rows, lists = LocalRows({NEAREST.of(0): near, DISTANCE.of(0): distance}, 1), Lists(7, (np.inf,))
    found = measure(rows, lists, settings_for((2, 5), 60, seed=0, n_members=2), (2, 5))
    assert len(found.graph_gap) == 9
    assert found.graph_gap[:7].sum() > 0.1
    np.testing.assert_array_equal(found.graph_gap[7:], 0)


def test_measure_has_the_same_bits_with_any_number_of_threads(blobs):
    columns, lists, _ = blobs
    settings = settings_for((2, 4), 300, seed=3, n_members=3)
    one, two = (measure(LocalRows(columns, n), lists, settings, (2, 4)) for n in (1, 2))
    np.testing.assert_array_equal(one.graph_gap, two.graph_gap)
    np.testing.assert_array_equal(one.consensus_gap, two.consensus_gap)
    np.testing.assert_array_equal(one.stability, two.stability)


@pytest.mark.parametrize("numbers", [(2, 3), (3, 21, 24)])
def test_measure_leaves_nothing_in_the_rows(blobs, numbers):
    columns, lists, _ = blobs
    rows = LocalRows(columns, 1)
    measure(rows, lists, settings_for(numbers, 300, seed=0, n_members=4), numbers)
    assert rows.map(sorted) == [sorted(columns)]


def test_every_other_graph_is_cut_into_many_clusters(blobs, monkeypatch):
    columns, lists, _ = blobs
    cut = {}

    def agreement(rows, members, n_clusters):
        cut[n_clusters] = [member.index for member in members]
        return 0.5

    monkeypatch.setattr("manyview.ensemble.gaps._agreement", agreement)
    measure(LocalRows(columns, 1), lists, settings_for((4, 21, 22), 300, seed=0, n_members=5), (4, 21, 22))
    assert cut == {4: [0, 1, 2, 3, 4], 21: [0, 1, 2, 3, 4], 22: [0, 2, 4]}


def test_adjusted_rand_agrees_with_scikit_learn():
    rng = np.random.default_rng(0)
    first, second = rng.integers(4, size=(5, 60)), rng.integers(3, size=(5, 60))
    second[0] = first[0] % 3
    tables = np.zeros((5, 4, 3))
    for table, a, b in zip(tables, first, second, strict=True):
        np.add.at(table, (a, b), 1)
    expected = [adjusted_rand_score(a, b) for a, b in zip(first, second, strict=True)]
    np.testing.assert_allclose(adjusted_rand(tables), expected, atol=1e-12)


def test_adjusted_rand_of_a_single_cluster_is_1():
    assert adjusted_rand(np.array([[[7.0, 0.0], [0.0, 0.0]]])) == 1


def test_consensus_gap_of_cuts_that_agree_but_for_one_split():
    """Two clusters of 10 samples; each member cuts one of them in another place."""
    labels = [np.repeat([0, 1, 2], [10, split, 10 - split]) for split in (2, 4, 6, 8)]
    members = [Member(i, "broad", (0,), np.arange(3), 1, 1, 3, 0) for i in range(4)]
    rows = LocalRows(
        {CUT.of(3, "broad", m.index): np.asarray(x, dtype=np.int32) for m, x in zip(members, labels, strict=True)}
    )
    table = np.hstack([np.eye(3)[x] / np.sqrt(4 * np.bincount(x)) for x in labels])
    values = np.linalg.svd(table, compute_uv=False)
    assert _consensus_gap(rows, members, 2) == pytest.approx(1 - values[2], abs=1e-6)
    np.testing.assert_allclose(values[:2], 1)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_consensus_gap_is_between_two_singular_values(k):
    """Cuts that partly agree: the values fall step by step, so that each gap is another."""
    rng = np.random.default_rng(k)
    truth = rng.integers(0, k + 1, 80)
    labels = [np.where(rng.random(80) < 0.3, rng.integers(0, k + 1, 80), truth) for _ in range(3)]
    members = [Member(i, "broad", (0,), np.arange(3), 1, 1, 3, 0) for i in range(3)]
    names = [CUT.of(k + 1, "broad", member.index) for member in members]
    rows = LocalRows({name: x.astype(np.int32) for name, x in zip(names, labels, strict=True)})
    table = np.hstack([np.eye(k + 1)[x] / np.sqrt(3 * np.bincount(x)) for x in labels])
    values = np.linalg.svd(table, compute_uv=False)
    assert _consensus_gap(rows, members, k) == pytest.approx(values[k - 1] - values[k], abs=1e-6)


def test_a_lone_gap_is_sure():
    found = decide(NUMBERS, curve({4: 0.2}), [FLAT])
    assert (found.n_clusters, found.sure, found.candidates) == (4, True, (4,))
    assert found.reason.startswith(
        "4 clusters: the spectrum drops by 0.200 in the graphs and by 0.40 in their consensus"
    )
    assert "adjusted Rand index of 0.80, together 53.3 times what data of the same spread" in found.reason


def test_two_gaps_are_two_candidates_best_first():
    found = decide(NUMBERS, curve({3: 0.15, 5: 0.2}), [FLAT])
    assert (found.n_clusters, found.sure, found.candidates) == (5, False, (5, 3))
    assert "there is also evidence for 3" in found.reason


def test_the_more_stable_of_two_gaps_wins():
    data = curve({3: 0.2, 5: 0.2})
    data.stability[NUMBERS.index(5)] = 0.95
    assert decide(NUMBERS, data, [FLAT]).candidates == (5, 3)


def test_a_gap_that_is_in_one_spectrum_only_does_not_count():
    data = curve({3: 0.2, 5: 0.2})
    data.consensus_gap[NUMBERS.index(5)] = 0.02
    assert decide(NUMBERS, data, [FLAT]).candidates == (3,)


def test_a_gap_that_the_reference_has_too_does_not_count():
    found = decide(NUMBERS, curve({4: 0.2}), [curve({4: 0.19})])
    assert not found.sure
    assert found.reason.startswith("No number of clusters stands out")
    assert "but that is together 1.1 times what data of the same spread without clusters show at most" in found.reason
    assert decide(NUMBERS, curve({4: 0.2, 3: 0.1}), [curve({4: 0.19})]).n_clusters == 3


def test_several_references_count_by_their_mean():
    data = curve({4: 0.3, 3: 0.15})
    assert decide(NUMBERS, data, [curve({4: 0.19})]).n_clusters == 3
    assert decide(NUMBERS, data, [curve({4: 0.19}), *[FLAT] * 9]).n_clusters == 4
    once, never = (decide(NUMBERS, curve({4: 0.2}), [one, FLAT]) for one in (curve({6: 0.2}), FLAT))
    assert never.sure
    assert not once.sure


def test_a_larger_gap_that_is_not_a_choice_is_named():
    found = decide(NUMBERS, curve({4: 0.1, 8: 0.3}), [FLAT])
    assert (found.n_clusters, found.sure) == (4, False)
    assert "drops most after 8 values, and 8 is not a choice" in found.reason


def test_excess_is_between_difference_and_ratio():
    gaps, reference = np.array([0.3, 0.2, 0.1, 0.05]), np.array([0.2, 0.1, 0.1, 0.02])
    found = excess(gaps, reference)
    np.testing.assert_allclose(found, np.sqrt((gaps - reference) * (gaps - reference) / reference))
    assert found[0] < found[1]  # the same difference above a smaller reference
    assert found[2] == 0


def test_a_reference_that_is_low_by_chance_counts_as_a_falling_one():
    falling, chance = np.array([0.4, 0.3, 0.2]), np.array([0.4, 0.1, 0.3])
    np.testing.assert_allclose(excess(falling + 0.1, falling), 0.1 / np.sqrt(falling))
    assert excess(np.array([0.5, 0.15, 0.4]), chance)[1] == 0  # below 0.2, the mean of 0.1 and 0.3
    assert excess(np.full(3, 0.35), chance)[2] == pytest.approx(0.05 / np.sqrt(0.3))  # a high one stays high


def test_the_excess_above_no_gap_at_all_is_finite():
    assert np.isfinite(excess(np.array([0.1, 0.0]), np.zeros(2))).all()


def test_the_most_stable_number_is_a_candidate():
    data = curve({5: 0.2, 4: 0.18})
    data.stability[NUMBERS.index(2)] = 0.9
    found = decide(NUMBERS, data, [FLAT])
    assert (found.n_clusters, found.sure, found.candidates) == (5, False, (5, 4, 2))
    lone = decide(NUMBERS, Curve(curve({5: 0.2}).graph_gap, curve({5: 0.2}).consensus_gap, data.stability), [FLAT])
    assert (lone.n_clusters, lone.sure, lone.candidates) == (5, True, (5, 2))
    data.stability[NUMBERS.index(2)] = 0.802  # no more than 0.8, to the digits that are shown
    assert decide(NUMBERS, data, [FLAT]).candidates == (5, 4)


def test_the_best_by_each_kind_of_evidence_is_a_candidate():
    data = curve({5: 0.2, 4: 0.18})
    data.graph_gap[2 - 1], data.consensus_gap[NUMBERS.index(2)] = 0.3, 0.0
    data.graph_gap[6 - 1], data.consensus_gap[NUMBERS.index(6)] = 0.0, 0.9
    found = decide(NUMBERS, data, [FLAT])
    assert found.n_clusters == 5
    assert set(found.candidates) == {5, 4, 2, 6}
    assert [one["n_clusters"] for one in found.evidence] == list(found.candidates)
    assert [one["score"] for one in found.evidence] == sorted((one["score"] for one in found.evidence), reverse=True)


def test_there_are_at_most_five_candidates():
    numbers = tuple(range(2, 14))
    gap = np.linspace(0.2, 0.1, 20)
    flat = Curve(np.full(20, 0.01), np.full(12, 0.01), np.full(12, 0.3))
    found = decide(numbers, Curve(gap, gap[1:13], np.linspace(0.7, 0.9, 12)), [flat])
    assert len(found.candidates) == 5
    assert 13 in found.candidates  # the most stable


def test_a_single_choice_is_its_own_candidate():
    single = Curve(np.full(9, 0.01), np.array([0.02]), np.array([0.5]))
    assert decide((3,), single, [single]).candidates == (3,)


def test_nothing_at_all_still_has_candidates():
    found = decide(NUMBERS, FLAT, [FLAT])
    assert not found.sure
    assert len(found.candidates) > 1


@pytest.mark.parametrize(("n_rows", "numbers", "expected"), [(1000, (2, 5), 20), (30, (2, 5), 6), (30, (2, 9), 9)])
def test_graphs_hardly_depend_on_the_range(n_rows, numbers, expected):
    assert settings_for(numbers, n_rows, seed=0).n_clusters == expected


def test_reference_keeps_the_covariance_within_and_between_views():
    rng = np.random.default_rng(0)
    first = rng.choice([-3.0, 3.0], size=(2000, 1)) * [1.0, 2.0, 0.0] + rng.normal(size=(2000, 3)) + 5
    second = first[:, :2] @ [[1.0, 1.0], [0.0, 1.0]] + rng.normal(size=(2000, 2))
    made = np.hstack(without_clusters([first, second], rng))
    given = np.hstack([first, second])
    np.testing.assert_allclose(np.cov(made.T), np.cov(given.T), atol=0.1 * np.cov(given.T).max())
    np.testing.assert_allclose(made.mean(axis=0), given.mean(axis=0), atol=0.4)
    # two clusters have few samples near the centre, a cloud has many
    assert (np.abs(made[:, 1] - 5) < 2).mean() > 3 * (np.abs(given[:, 1] - 5) < 2).mean()


def test_reference_keeps_the_length_of_unit_rows():
    rng = np.random.default_rng(1)
    dense = rng.normal(size=(50, 4))
    dense *= 3 / np.linalg.norm(dense, axis=1, keepdims=True)
    made = without_clusters([dense], rng)[0]
    np.testing.assert_allclose(np.linalg.norm(made, axis=1), 3)


def test_reference_of_sparse_views_is_sparse_and_mixes_the_topics():
    rng = np.random.default_rng(2)
    topics = np.repeat(np.eye(2), [50, 50], axis=0)
    table = (rng.random((100, 40)) < np.repeat(topics, 20, axis=1) * 0.4 + 0.02).astype(float)
    given = sp.csr_array(table)
    made = without_clusters([given], rng)[0]
    np.testing.assert_array_equal(given.toarray(), table)
    assert sp.issparse(made)
    assert made.sum() == table.sum()
    np.testing.assert_array_equal(made.sum(axis=1), table.sum(axis=1))
    same, other = (made @ made.T).toarray()[:50, :50].mean(), (made @ made.T).toarray()[:50, 50:].mean()
    assert abs(same - other) < 0.5 * other


def test_reference_keeps_rows_without_entries_empty():
    made = without_clusters([sp.csr_array(np.diag([2.0, 2.0, 0.0]))], np.random.default_rng(0))[0]
    np.testing.assert_allclose(np.sqrt((made.toarray() ** 2).sum(axis=1)), [2.0, 2.0, 0.0])
