from __future__ import annotations

import numpy as np
import pytest

from manyview.graphs.neighbours import _list_smallest
from manyview.graphs.smallest import Scratch, count_up_to, pack, sort_bits, upper_bound


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
def test_lists_are_a_stable_sort(kind, size, k):
    given, room = values(kind, size)[None], Scratch.of(size)
    indices, distances = np.empty((1, k), dtype=np.int32), np.empty((1, k))
    for _ in range(2):  # marks left by the first call do no harm
        _list_smallest(
            *(given, given.view(np.int64), indices, distances),
            *(room.marks, room.words, room.near, room.bits, room.order, room.spare),
        )
        np.testing.assert_array_equal(indices[0], np.argsort(given[0], kind="stable")[:k])
        np.testing.assert_array_equal(distances[0], np.sort(given[0])[:k])


@pytest.mark.parametrize("kind", GRAPH_TYPES)
@pytest.mark.parametrize("size", [0, 1, 127, 128, 129, 256, 300, 701])
def test_bits_are_sorted(kind, size):
    given, room = values(kind, 701), Scratch.of(701)
    sort_bits(given.view(np.int64), size, room.order, room.spare)
    np.testing.assert_array_equal(room.order[:size], np.argsort(given[:size], kind="stable"))


def test_bits_up_to_a_bound_are_counted():
    bits = np.random.default_rng(0).integers(0, 50, 1000)
    for bound in (-1, 0, 17, 49, 100):
        assert count_up_to(bits, bound) == (bits <= bound).sum()


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
        room = Scratch.of(size)
        room.marks[:size] = rng.random(size) < 0.4
        np.testing.assert_array_equal(room.near[: pack(room.marks, room.words, room.near)], np.flatnonzero(room.marks))
    for size in (16, 512):
        room = Scratch.of(size)
        room.marks[:] = 1
        assert pack(room.marks, room.words, room.near) == size
