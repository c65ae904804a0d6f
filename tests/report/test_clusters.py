"""Samples of clusters, and classes beside them."""

from __future__ import annotations

import numpy as np

from manyview.report._clusters import Classes, list_samples


def test_clusters_are_in_the_order_of_the_classes_that_they_match():
    labels = np.repeat(["ants", "bees", "cats"], [4, 5, 3])
    clusters = np.array([2] * 4 + [0] * 4 + [1] + [1] * 3)
    found = Classes.compare(labels, clusters)
    assert found.match.tolist() == [2, 0, 1]
    assert found.confusion() == {
        "classes": ["ants", "bees", "cats"],
        "clusters": [2, 0, 1],
        "counts": [[4, 0, 0], [0, 4, 1], [0, 0, 3]],
        "n_classes": 3,
        "n_clusters": 3,
    }
    assert found.of_cluster(1) == [["cats", 3], ["bees", 1]]


def test_classes_without_a_cluster_get_numbers_after_the_last():
    found = Classes.compare(np.array([0, 0, 1, 2]), np.array([0, 0, 0, 1]))
    assert found.match.tolist() == [0, 2, 1]
    assert found.confusion()["clusters"] == [0, 1]


def test_clusters_without_a_class_come_last():
    found = Classes.compare(np.array(["b", "b", "b", "b"]), np.array([0, 1, 1, 2]))
    assert found.confusion()["clusters"][0] == 1
    assert found.confusion()["counts"] == [[2, 1, 1]]


def test_samples_without_a_class_are_not_counted():
    labels = np.array(["a", None, "b", None], dtype=object)
    found = Classes.compare(labels, np.array([0, 0, 1, 2]))
    assert found.codes.tolist() == [0, -1, 1, -1]
    assert [found.name(code) for code in found.codes] == ["a", None, "b", None]
    assert [found.match_of(code) for code in found.codes] == [0, None, 1, None]
    assert found.of_cluster(2) == []


def test_of_many_the_largest_are_kept():
    labels = np.repeat(np.arange(300), np.arange(1, 301))
    counts = Classes.compare(labels, labels).confusion()
    assert counts["clusters"] == list(range(100, 300))
    assert counts["classes"] == [str(k) for k in range(100, 300)]
    assert np.array_equal(counts["counts"], np.diag(np.arange(101, 301)))
    assert (counts["n_classes"], counts["n_clusters"]) == (300, 300)


def ids(listed):
    return [one["id"] for one in listed["shown"]]


def test_samples_are_listed_by_confidence():
    clusters = np.array([0, 1, 0, 1, 0])
    sure = np.array([0.2, 1.0, 0.9, 0.5, 0.4])
    classes = Classes.compare(np.array(["a", "b", "a", "b", "b"]), clusters)
    first, second = list_samples(clusters, lambda row: f"s{row}", sure, classes)
    assert (first["cluster"], first["size"], ids(first)) == (0, 3, ["s2", "s4", "s0"])
    assert first["shown"][0] == {"id": "s2", "confidence": 0.9, "label": "a"}
    assert first["labels"] == [["a", 2], ["b", 1]]
    assert ids(second) == ["s1", "s3"]


def test_without_confidence_in_the_order_of_the_rows():
    found = list_samples(np.array([1, 0, 1]), str, None, None)
    assert [ids(listed) for listed in found] == [["1"], ["0", "2"]]
    assert found[0]["labels"] is None
    assert found[0]["shown"][0] == {"id": "1", "confidence": None, "label": None}


def test_of_many_samples_some_of_every_confidence_are_listed():
    sure = np.linspace(0, 1, 5000)
    (found,) = list_samples(np.zeros(5000, dtype=int), str, sure, None)
    assert found["size"] == 5000
    assert len(found["shown"]) == 100
    assert (ids(found)[0], ids(found)[-1]) == ("4999", "0")
    shown = [one["confidence"] for one in found["shown"]]
    assert shown == sorted(shown, reverse=True)


def test_many_clusters_list_fewer_samples_each():
    found = list_samples(np.arange(20_000) % 1000, str, None, None)
    assert {len(listed["shown"]) for listed in found} == {5}
