from __future__ import annotations

import pytest

from manyview.graphs.weight_search import WeightSearch


def moves(first, answers):
    search = WeightSearch(first)
    seen = [first]
    for too_few in answers:
        search.move(too_few)
        seen.append(search.weight)
    return seen


def test_doubled_while_there_are_too_few_components():
    assert moves(0.1, [True] * 3) == pytest.approx([0.1, 0.2, 0.4, 0.8])


def test_halved_while_there_are_too_many():
    assert moves(8.0, [False] * 3) == [8, 4, 2, 1]


def test_bisected_once_both_ends_are_known():
    assert moves(1.0, [True, False, True]) == pytest.approx([1, 2, 2**0.5, 2**0.75])


@pytest.mark.parametrize(("target", "first"), [(0.37, 1e-6), (0.37, 1e6), (5.0, 1.0)])
def test_finds_a_threshold(target, first):
    search = WeightSearch(first)
    for _ in range(60):
        if abs(search.weight - target) < 0.01 * target:
            break
        search.move(too_few=search.weight < target)
    assert search.weight == pytest.approx(target, rel=0.01)


def test_a_bracket_that_closes_without_success_is_given_up():
    """The threshold moves after it has been passed, as it may when the embedding changes."""
    for new in (0.2, 50.0):
        search = WeightSearch(1.0)
        for step in range(80):
            threshold = 3.0 if step < 2 else new
            if step >= 2 and abs(search.weight - new) < 0.01 * new:
                break
            search.move(too_few=search.weight < threshold)
        assert search.weight == pytest.approx(new, rel=0.01)
