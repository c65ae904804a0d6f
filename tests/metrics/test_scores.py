"""The seven scores, against naive definitions, scikit-learn and the authors' own program."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from manyview.metrics import (
    SCORES,
    accuracy,
    adjusted_rand,
    clustering_scores,
    normalized_mutual_info,
    pair_scores,
    purity,
)
from manyview.metrics.scores import _n_pairs

AVERAGES = ("arithmetic", "geometric", "max", "min")

labellings = st.integers(1, 14).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 4), min_size=n, max_size=n) for _ in range(2)])
)


def naive_accuracy(true, pred):
    classes, clusters = sorted(set(true)), sorted(set(pred))
    classes += [None] * max(0, len(clusters) - len(classes))
    maps = (dict(zip(clusters, order, strict=True)) for order in permutations(classes, len(clusters)))
    return max(np.mean([m[p] == t for t, p in zip(true, pred, strict=True)]) for m in maps)


def naive_pairs(true, pred):
    together = classed = clustered = total = 0
    for i, j in combinations(range(len(true)), 2):
        same_class, same_cluster = true[i] == true[j], pred[i] == pred[j]
        together += same_class and same_cluster
        classed += same_class
        clustered += same_cluster
        total += 1
    return together, clustered, classed, total


def naive_nmi(true, pred, mean):
    n = len(true)
    share = lambda values: {v: values.count(v) / n for v in set(values)}  # noqa: E731
    p, q, joint = share(true), share(pred), share(list(zip(true, pred, strict=True)))
    if len(p) == len(q) == 1:
        return 1.0
    if len(p) == 1 or len(q) == 1:
        return 0.0
    information = sum(w * np.log(w / (p[t] * q[c])) for (t, c), w in joint.items())
    h_true, h_pred = (-sum(w * np.log(w) for w in d.values()) for d in (p, q))
    means = {
        "arithmetic": (h_true + h_pred) / 2,
        "geometric": np.sqrt(h_true * h_pred),
        "max": max(h_true, h_pred),
        "min": min(h_true, h_pred),
    }
    return information / means[mean]


@given(labellings)
def test_accuracy_is_the_best_one_to_one_map(labels):
    assert accuracy(*labels) == pytest.approx(naive_accuracy(*labels), abs=1e-12)


@given(labellings)
def test_purity_counts_the_commonest_class_of_each_cluster(labels):
    true, pred = labels
    members = {c: [t for t, p in zip(true, pred, strict=True) if p == c] for c in set(pred)}
    right = sum(max(m.count(t) for t in m) for m in members.values())
    assert purity(true, pred) == pytest.approx(right / len(true), abs=1e-12)


@given(labellings)
def test_pair_scores_and_ari_count_pairs(labels):
    together, clustered, classed, total = naive_pairs(*labels)
    precision = together / clustered if clustered else 1.0
    recall = together / classed if classed else 1.0
    f_score = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    assert pair_scores(*labels) == pytest.approx((precision, recall, f_score), abs=1e-12)
    chance = classed * clustered / total if total else 0.0
    span = (classed + clustered) / 2 - chance
    expected = (together - chance) / span if abs(span) > 1e-9 else 1.0
    assert adjusted_rand(*labels) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("average", AVERAGES)
@given(labels=labellings)
@settings(max_examples=50)
def test_nmi_is_mutual_information_over_mean_entropy(average, labels):
    expected = naive_nmi(*labels, average)
    assert normalized_mutual_info(*labels, average=average) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("average", AVERAGES)
def test_nmi_with_a_single_group_is_zero_however_entropies_are_averaged(average):
    assert normalized_mutual_info([1] * 5, [1, 1, 2, 2, 3], average=average) == 0
    assert normalized_mutual_info([1, 1, 2, 2, 3], [1] * 5, average=average) == 0


def test_nmi_stays_within_its_bounds_where_rounding_would_not():
    # without the clip: -1.3e-15, and 1 + 4.4e-16
    assert normalized_mutual_info([0] * 10 + [1] * 10, [0, 1] * 10) == 0
    assert normalized_mutual_info([1, 1, 1, 1, 0, 1], [1, 4, 2, 3, 0, 3], average="min") == 1


@given(labellings)
def test_agrees_with_scikit_learn(labels):
    scores = clustering_scores(*labels)
    assert scores["ari"] == pytest.approx(sk.adjusted_rand_score(*labels), abs=1e-12)
    assert scores["nmi"] == pytest.approx(sk.normalized_mutual_info_score(*labels), abs=1e-7)


@given(labellings, st.randoms(use_true_random=False))
def test_names_and_order_do_not_matter(labels, random):
    true, pred = labels
    names, order = list("qwxyz"), list(range(len(true)))
    random.shuffle(names)
    random.shuffle(order)
    renamed = clustering_scores([(10, 7, -3, 2, 5)[true[i]] for i in order], [names[pred[i]] for i in order])
    assert renamed == pytest.approx(clustering_scores(true, pred), abs=1e-12)


@given(labellings)
def test_bounds(labels):
    scores = clustering_scores(*labels)
    assert tuple(scores) == SCORES == ("acc", "nmi", "purity", "precision", "recall", "f_score", "ari")
    assert all(type(value) is float for value in scores.values())
    assert scores["acc"] <= scores["purity"] + 1e-12
    assert all(0 <= scores[name] <= 1 for name in SCORES if name != "ari")
    assert scores["ari"] <= 1
    assert normalized_mutual_info(*labels, average="max") <= scores["nmi"] + 1e-12


@given(labellings)
def test_the_same_partition_scores_exactly_one(labels):
    true, _ = labels
    assert set(clustering_scores(true, [f"cluster {t}" for t in true]).values()) == {1.0}


@pytest.mark.parametrize(
    ("true", "pred", "expected"),
    [
        ([7], ["only"], dict.fromkeys(SCORES, 1.0)),
        ([1, 1, 1], [2, 2, 2], dict.fromkeys(SCORES, 1.0)),
        ([1, 2, 3], ["a", "b", "c"], dict.fromkeys(SCORES, 1.0)),
        (
            [1, 1, 1, 1],
            [1, 2, 3, 4],
            {"acc": 0.25, "nmi": 0, "purity": 1, "precision": 1, "recall": 0, "f_score": 0},
        ),
        (
            [1, 2, 3, 4],
            [1, 1, 1, 1],
            {"acc": 0.25, "nmi": 0, "purity": 0.25, "precision": 0, "recall": 1, "ari": 0},
        ),
        (
            [1, 1, 2, 2],
            [1, 2, 1, 2],
            {"acc": 0.5, "nmi": 0, "precision": 0, "recall": 0, "f_score": 0, "ari": -0.5},
        ),
    ],
)
def test_conventions_for_trivial_partitions(true, pred, expected):
    scores = clustering_scores(true, pred)
    assert {name: scores[name] for name in expected} == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("case", range(14))
def test_matches_the_authors_program(oracle, case):
    stored = oracle("helpers")
    true, pred = stored[f"in_cm_Y__{case}"].ravel(), stored[f"in_cm_P__{case}"].ravel()
    scores = list(clustering_scores(true, pred, nmi_average="max").values())
    if case == 10:  # one single group on both sides: their program stops with an error, our convention says 1
        assert np.isnan(stored["out_cm"][case]).all()
        assert scores == [1.0] * 7
    else:  # their epsilon in every cell of the table is below rounding; no other case differs
        np.testing.assert_allclose(scores, stored["out_cm"][case], rtol=0, atol=1e-8)


def test_a_million_samples_and_products_beyond_64_bits():
    rng = np.random.default_rng(0)
    true = np.sort(rng.integers(5, size=1_000_000))
    pred = np.where(rng.random(true.size) < 0.8, true, rng.integers(8, size=true.size))
    scores = clustering_scores(true, pred)
    assert scores["ari"] == pytest.approx(sk.adjusted_rand_score(true, pred), abs=1e-9)
    assert scores["nmi"] == pytest.approx(sk.normalized_mutual_info_score(true, pred), abs=1e-9)
    assert scores["acc"] == pytest.approx(np.mean(true == pred), abs=1e-12)
    assert scores["f_score"] == pytest.approx(
        2 * scores["precision"] * scores["recall"] / (scores["precision"] + scores["recall"]), abs=1e-12
    )


def test_pairs_are_counted_exactly_where_floats_cannot():
    size = 2**31 - 1
    assert _n_pairs(np.array([size, 3])) == size * (size - 1) // 2 + 3


def test_many_clusters_on_both_sides_need_no_dense_table():
    rng = np.random.default_rng(1)
    true, pred = rng.integers(100_000, size=(2, 300_000))
    assert abs(adjusted_rand(true, pred)) < 1e-3
    assert 0 < purity(true, pred) < 1
    assert 0 < normalized_mutual_info(true, pred) < 1
    assert max(pair_scores(true, pred)) < 1e-3


def test_unknown_average_is_named():
    with pytest.raises(ValueError, match=r"nmi_average: expected one of 'arithmetic'.*got 'median'"):
        clustering_scores([0, 1], [0, 1], nmi_average="median")
    with pytest.raises(ValueError, match=r"^average: expected one of .*got 'median'"):
        normalized_mutual_info([0, 1], [0, 1], average="median")


def test_labels_by_name_and_averages_by_name_only():
    labels = {"y_true": [0, 0, 1, 1], "y_pred": [0, 0, 0, 1]}
    assert clustering_scores(**labels)["nmi"] == normalized_mutual_info(**labels)
    for function in (clustering_scores, normalized_mutual_info):
        with pytest.raises(TypeError, match="positional"):
            function(*labels.values(), "max")
