from __future__ import annotations

import numpy as np
import pytest

from manyview.graphs.neighbours import new_marks
from manyview.graphs.smallest import pack, smallest, upper_bound


def values(kind, size):
    rng = np.random.default_rng(size)
    return {
        "different": rng.random(size),
        "of all scales": 10.0 ** rng.uniform(-300, 300, size),
        "few different": rng.integers(0, 4, size).astype(float),
        "equal": np.full(size, 0.3),
        "mostly infinite": np.where(rng.random(size) < 0.05, rng.random(size), np.inf),
        "mostly zero": np.where(rng.random(size) < 0.05, rng.random(size), 0.0),
        "descending": np.arange(size, 0, -1.0),
        "one bit apart": 1 + np.finfo(float).eps * rng.permutation(size),
    }[kind]


GRAPH_TYPES = [
    "different",
    "of all scales",
    "few different",
    "equal",
    "mostly infinite",
    "mostly zero",
    "descending",
    "one bit apart",
]


@pytest.mark.parametrize("kind", GRAPH_TYPES)
@pytest.mark.parametrize(
    ("size", "k"), [(1, 1), (9, 9), (64, 1), (512, 20), (513, 512), (701, 120), (701, 500), (201, 201)]
)
def test_smallest_is_a_stable_sort(kind, size, k):
    given = values(kind, size)
    order, marks = np.full(size + 1, -1), new_marks(size)
    for _ in range(2):  # marks left by the first call do no harm
        smallest(given, k, order, marks)
        np.testing.assert_array_equal(order[:k], np.argsort(given, kind="stable")[:k])


@pytest.mark.parametrize("kind", GRAPH_TYPES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [1, 20, 300])
def test_bound_holds_and_is_close(kind, dtype, k):
    with np.errstate(over="ignore"):
        given = values(kind, 300).astype(dtype)
    bits = given.view(np.int32 if dtype == np.float32 else np.int64)
    bound = upper_bound(bits, k)
    assert (bits <= bound).sum() >= k
    assert (bits <= bound).sum() <= 1.25 * k + 4 or (bits < bound).sum() < k


def test_bound_of_whole_numbers_with_many_ties():
    rng = np.random.default_rng(0)
    for _ in range(200):
        bits = rng.choice(12, 4, replace=False)[rng.integers(0, 4, 60)]
        k = int(rng.integers(1, 61))
        bound = upper_bound(bits, k)
        within = (bits <= bound).sum()
        assert within >= k
        assert within <= 1.25 * k + 4 or (bits < bound).sum() < k


def test_marks_are_packed():
    rng = np.random.default_rng(0)
    for size in (1, 7, 8, 9, 100):
        marks, places = new_marks(size), np.empty(size + 1, dtype=np.int64)
        marks[:size] = rng.random(size) < 0.4
        np.testing.assert_array_equal(places[: pack(marks, places)], np.flatnonzero(marks))
    assert pack(np.ones(16, dtype=np.uint8), np.empty(17, dtype=np.int64)) == 16
    assert pack(np.ones(512, dtype=np.uint8), np.empty(513, dtype=np.int64)) == 512
