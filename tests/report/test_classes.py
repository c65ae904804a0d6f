"""Classes beside clusters."""

from __future__ import annotations

import numpy as np

from manyview.report._classes import Classes


def test_clusters_are_in_the_order_of_the_classes_that_they_match():
    labels = np.repeat(["ants", "bees", "cats"], [4, 5, 3])
    clusters = np.array([2] * 4 + [0] * 4 + [1] + [1] * 3)
    found = Classes.compare(labels, clusters)
    assert found.place.tolist() == [2, 0, 1]
    assert found.confusion() == {
        "classes": ["ants", "bees", "cats"],
        "clusters": [2, 0, 1],
        "counts": [[4, 0, 0], [0, 4, 1], [0, 0, 3]],
        "n_classes": 3,
        "n_clusters": 3,
    }
    assert found.of_cluster(1) == [["cats", 3], ["bees", 1]]


def test_classes_without_a_cluster_get_places_of_their_own():
    found = Classes.compare(np.array([0, 0, 1, 2]), np.array([0, 0, 0, 1]))
    assert found.place.tolist() == [0, 2, 1]
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
    assert [found.place_of(code) for code in found.codes] == [0, None, 1, None]
    assert found.of_cluster(2) == []


def test_of_many_the_largest_are_kept():
    labels = np.repeat(np.arange(300), np.arange(1, 301))
    counts = Classes.compare(labels, labels).confusion()
    assert counts["clusters"] == list(range(100, 300))
    assert counts["classes"] == [str(k) for k in range(100, 300)]
    assert np.array_equal(counts["counts"], np.diag(np.arange(101, 301)))
    assert (counts["n_classes"], counts["n_clusters"]) == (300, 300)
