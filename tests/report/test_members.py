"""Who is in each cluster."""

from __future__ import annotations

import numpy as np

from manyview.report._classes import Classes
from manyview.report._members import list_members


def ids(member):
    return [one["id"] for one in member["shown"]]


def test_the_surest_come_first():
    clusters = np.array([0, 1, 0, 1, 0])
    sure = np.array([0.2, 1.0, 0.9, 0.5, 0.4])
    classes = Classes.compare(np.array(["a", "b", "a", "b", "b"]), clusters)
    first, second = list_members(clusters, lambda row: f"s{row}", sure, classes)
    assert (first["cluster"], first["size"], ids(first)) == (0, 3, ["s2", "s4", "s0"])
    assert first["shown"][0] == {"id": "s2", "confidence": 0.9, "label": "a"}
    assert first["labels"] == [["a", 2], ["b", 1]]
    assert ids(second) == ["s1", "s3"]


def test_without_confidence_in_the_order_of_the_rows():
    found = list_members(np.array([1, 0, 1]), str, None, None)
    assert [ids(member) for member in found] == [["1"], ["0", "2"]]
    assert found[0]["labels"] is None
    assert found[0]["shown"][0] == {"id": "1", "confidence": None, "label": None}


def test_of_many_some_are_spread_from_the_surest_to_the_least_sure():
    sure = np.linspace(0, 1, 5000)
    (found,) = list_members(np.zeros(5000, dtype=int), str, sure, None)
    assert found["size"] == 5000
    assert len(found["shown"]) == 100
    assert (ids(found)[0], ids(found)[-1]) == ("4999", "0")
    shown = [one["confidence"] for one in found["shown"]]
    assert shown == sorted(shown, reverse=True)


def test_many_clusters_list_fewer_members_each():
    found = list_members(np.arange(20_000) % 1000, str, None, None)
    assert {len(member["shown"]) for member in found} == {5}
