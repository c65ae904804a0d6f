from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import entropy as scipy_entropy
from sklearn.metrics import adjusted_rand_score, mutual_info_score, normalized_mutual_info_score

from manyview.engines import LocalRows
from manyview.ensemble import consensus as module
from manyview.ensemble.columns import CONSENSUS, DIRECTIONS, LABELS_BY, MEMBER_LABELS
from manyview.ensemble.consensus import (
    agreement_with,
    confidence,
    entropy,
    find_consensus,
    label_tables,
    mean_information,
    member_weights,
    mutual_information,
    normalized_information,
    pairwise_information,
    stability,
)
from manyview.ensemble.members import Member, Settings

SETTINGS = Settings(n_clusters=3)


def ensemble(labels, block_rows=47, more=0):
    """Rows with a column of labels per member, and the members; ``more`` clusters of each are empty."""
    columns = {MEMBER_LABELS.of("local", r): column.astype(np.int32) for r, column in enumerate(labels)}
    drawn = {"family": "local", "lists": (0,), "anchors": np.arange(9), "n_neighbors": 1, "n_kept": 0, "seed": 0}
    members = [Member(index=r, n_clusters=int(x.max()) + 1 + more, **drawn) for r, x in enumerate(labels)]
    return LocalRows(columns, 1, block_rows), members


def noisy_labels(truth, n_members, share, seed, n_clusters=None):
    """Members that give a share of the samples a label by chance."""
    rng = np.random.default_rng(seed)
    n_clusters = n_clusters or truth.max() + 1
    chance = rng.integers(n_clusters, size=(n_members, len(truth)))
    return np.where(rng.random(chance.shape) < share, chance, truth)


def fitted(labels, settings=SETTINGS, **kwargs):
    rows, members = ensemble(labels, **kwargs)
    information = pairwise_information(rows, members, np.zeros((0, 0)))
    return rows, members, find_consensus(rows, settings, members, information)


@pytest.fixture
def truth():
    return np.random.default_rng(0).integers(3, size=150)


@pytest.fixture
def pairs():
    """A labelling and five others, one of them equal to it, one with a single cluster."""
    rng = np.random.default_rng(1)
    reference = rng.integers(4, size=90, dtype=np.int32)
    others = rng.integers(5, size=(90, 5), dtype=np.int32)
    others[:, 1], others[:, 2], others[:60, 3] = reference, 0, reference[:60]
    return reference, others


def test_information_equals_scikit_learns(pairs):
    reference, others = pairs
    tables = label_tables(reference, others, 6, 7)
    expected = [mutual_info_score(reference, other) for other in others.T]
    np.testing.assert_allclose(mutual_information(tables), expected, atol=1e-12)
    expected = [normalized_mutual_info_score(reference, other) for other in others.T]
    np.testing.assert_allclose(normalized_information(tables), expected, atol=1e-12)


def test_entropy_equals_scipys(pairs):
    _, others = pairs
    counts = np.array([np.bincount(other, minlength=7) for other in others.T])
    np.testing.assert_allclose(entropy(counts), scipy_entropy(counts, axis=1), atol=1e-12)


def test_two_labellings_with_a_single_cluster_agree():
    tables = label_tables(np.zeros(9, dtype=np.int32), np.zeros((9, 1), dtype=np.int32), 3, 2)
    assert mutual_information(tables) == 0
    assert normalized_information(tables) == 1


def test_pairwise_information_has_entropies_on_the_diagonal(truth):
    labels = noisy_labels(truth, 5, 0.5, 2)
    labels[3] %= 2
    rows, members = ensemble(labels)
    information = pairwise_information(rows, members, np.zeros((0, 0)))
    expected = [[mutual_info_score(a, b) for b in labels] for a in labels]
    np.testing.assert_allclose(information, expected, atol=1e-12)


@pytest.mark.parametrize("first", [1, 4, 6])
def test_known_information_is_extended_and_not_computed_again(truth, first):
    labels = noisy_labels(truth, 7, 0.5, 3)
    labels[0] %= 2
    rows, members = ensemble(labels)
    whole = pairwise_information(rows, members, np.zeros((0, 0)))
    known = pairwise_information(rows, members[:first], np.zeros((0, 0)))
    np.testing.assert_array_equal(pairwise_information(rows, members, known), whole)
    np.testing.assert_array_equal(pairwise_information(rows, members, known + 1)[:first, :first], known + 1)


def test_weights_are_the_mean_information_about_the_others():
    information = np.array([[9.0, 0.4, 0.2], [0.4, 9.0, 0.6], [0.2, 0.6, 0.1]])
    np.testing.assert_allclose(member_weights(information, 2.0), [(0.6 / 1) ** 2, 1, (0.8 / 1) ** 2])
    np.testing.assert_allclose(member_weights(information, 0.0), 1)


def test_mean_information_leaves_out_what_members_tell_about_themselves():
    information = np.array([[9.0, 0.4, 0.2], [0.4, 9.0, 0.6], [0.2, 0.6, 0.1]])
    np.testing.assert_allclose(mean_information(information), [0.3, 0.5, 0.4])
    np.testing.assert_array_equal(mean_information(np.eye(1)), [0])


def test_members_that_tell_nothing_weigh_the_same():
    np.testing.assert_array_equal(member_weights(np.eye(3), 4.0), np.ones(3))
    np.testing.assert_array_equal(member_weights(np.eye(1), 4.0), np.ones(1))


@pytest.mark.parametrize("n_members", [1, 2, 6])
def test_the_consensus_of_equal_members_is_their_partition(truth, n_members):
    renamed = np.random.default_rng(4).permuted(np.tile(np.arange(3), (n_members, 1)), axis=1)
    rows, _, consensus = fitted(renamed[:, truth])
    assert adjusted_rand_score(rows.gather("labels"), truth) == 1
    assert consensus.agreement == pytest.approx(1)
    assert consensus.converged
    np.testing.assert_allclose(consensus.weights, 1)


def test_the_consensus_is_better_than_its_members(truth):
    labels = noisy_labels(truth, 12, 0.4, 5)
    rows, _, consensus = fitted(labels)
    found = rows.gather("labels")
    scores = [adjusted_rand_score(member, truth) for member in labels]
    assert adjusted_rand_score(found, truth) > max(scores) + 0.1
    expected = [normalized_mutual_info_score(found, member) for member in labels]
    assert consensus.agreement == pytest.approx(np.average(expected, weights=consensus.weights))


def test_noise_weighs_least(truth):
    labels = noisy_labels(truth, 6, 0.2, 6)
    labels[2] = np.random.default_rng(6).integers(3, size=150)
    rows, _, consensus = fitted(labels)
    assert consensus.weights.argmin() == 2
    assert consensus.weights[2] < 1e-3
    assert consensus.weights.max() == 1
    assert adjusted_rand_score(rows.gather("labels"), truth) > 0.95


def test_finer_members_are_put_together(truth):
    rng = np.random.default_rng(7)
    labels = [truth + 3 * (rng.random(150) < 0.5) for _ in range(8)]
    assert adjusted_rand_score(fitted(labels)[0].gather("labels"), truth) == 1


def test_there_are_fewer_clusters_only_if_members_cannot_tell_more_apart(truth):
    rows, _, _ = fitted([truth % 2] * 4, more=2)
    assert adjusted_rand_score(rows.gather("labels"), truth % 2) == 1
    rare = np.where(np.arange(150) == 17, 2, truth % 2)  # one member in eight sees a third cluster of one sample
    labels = fitted([*[truth % 2] * 7, rare])[0].gather("labels")
    assert (labels == labels[17]).sum() == 1
    assert len(np.unique(labels)) == 3


def dense_votes(labels, members, weights):
    blocks = []
    for label, member, weight in zip(labels, members, weights, strict=True):
        one_hot = np.eye(member.n_clusters)[label]
        blocks.append(one_hot * np.sqrt(weight / weights.sum() / np.maximum(one_hot.sum(axis=0), 1)))
    return np.hstack(blocks)


@pytest.mark.parametrize("small_table", [1000, 0])
@pytest.mark.parametrize("more", [0, 1])
def test_the_embedding_maximises_the_cut(truth, monkeypatch, small_table, more):
    monkeypatch.setattr(module, "_SMALL_TABLE", small_table)
    labels = noisy_labels(truth, 14, 0.5, 8)
    rows, members, consensus = fitted(labels, more=more)
    H = dense_votes(labels, members, consensus.weights)
    U = rows.gather(CONSENSUS.name)
    np.testing.assert_allclose(U.T @ U, np.eye(3), atol=1e-4)
    objective = np.linalg.svd(U.T @ H, compute_uv=False).sum()  # the largest tr(UᵀĤQ) for this U
    assert objective == pytest.approx(np.linalg.svd(H, compute_uv=False)[:3].sum(), rel=1e-6)
    directions = rows.gather(DIRECTIONS.name)
    np.testing.assert_allclose(directions, U / np.linalg.norm(U, axis=1, keepdims=True), atol=1e-12)
    assert any(np.array_equal(rows.gather("embedding"), space) for space in (U, directions))


def test_both_ways_to_the_embedding_lead_to_the_same_partition(truth, monkeypatch):
    labels = noisy_labels(truth, 14, 0.5, 9)
    found = fitted(labels)[0].gather("labels")
    monkeypatch.setattr(module, "_SMALL_TABLE", 0)
    assert adjusted_rand_score(fitted(labels)[0].gather("labels"), found) == 1


@pytest.mark.parametrize("block_rows", [1, 149, 500])
def test_the_size_of_the_blocks_does_not_matter(truth, block_rows):
    labels = noisy_labels(truth, 6, 0.4, 10)
    rows, other = fitted(labels)[0], fitted(labels, block_rows=block_rows)[0]
    assert adjusted_rand_score(rows.gather("labels"), other.gather("labels")) == 1


def test_the_reading_that_agrees_more_is_taken():
    better = set()
    for seed in range(10):
        uneven = np.random.default_rng(seed).choice(5, size=150, p=[0.6, 0.2, 0.1, 0.06, 0.04])
        rows, members, consensus = fitted(noisy_labels(uneven, 8, 0.25, seed))
        spaces = (CONSENSUS.name, DIRECTIONS.name)
        both = [agreement_with(rows, LABELS_BY.of(space), 3, members, consensus.weights) for space in spaces]
        assert consensus.agreement == max(both)
        assert agreement_with(rows, "labels", 3, members, consensus.weights) == max(both)
        better.add(np.sign(both[0] - both[1]))
    assert {-1, 1} <= better  # each is the better one sometimes


def test_stability_is_the_nmi_of_two_labellings(truth):
    labels = noisy_labels(truth, 2, 0.5, 12)
    rows, _ = ensemble(labels)
    assert stability(rows, MEMBER_LABELS.of("local", 0), MEMBER_LABELS.of("local", 1), 3) == pytest.approx(
        normalized_mutual_info_score(*labels)
    )
    assert stability(rows, MEMBER_LABELS.of("local", 0), MEMBER_LABELS.of("local", 0), 3) == pytest.approx(1)


def test_confidence_is_one_where_all_members_agree(truth):
    rows, members, consensus = fitted([truth, (truth + 1) % 3, truth])
    confidence(rows, SETTINGS, members, consensus.weights)
    np.testing.assert_allclose(rows.gather("confidence"), 1)
    assert rows.gather("confidence").max() <= 1


def test_confidence_is_the_weighted_share_that_speaks_for_the_label(truth):
    labels = noisy_labels(truth, 7, 0.6, 13)
    labels[4] = truth + 3 * (np.arange(150) % 2)  # six clusters
    rows, members, consensus = fitted(labels)
    confidence(rows, SETTINGS, members, consensus.weights)
    found, weights = rows.gather("labels"), consensus.weights / consensus.weights.sum()
    expected = np.zeros(150)
    for i in range(150):
        for member, weight in zip(labels, weights, strict=True):
            expected[i] += weight * (found[member == member[i]] == found[i]).mean()
    values = rows.gather("confidence")
    np.testing.assert_allclose(values, expected, atol=1e-12)
    assert values.min() >= 0
    assert values.max() <= 1
