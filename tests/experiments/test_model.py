from __future__ import annotations

import pytest

from manyview.experiments._model import FILE_ORDER, SHUFFLED, Cell, Entry, Part, Spec, first_seeds, only


def entry(row, seed, protocol=SHUFFLED, value=None):
    return Entry("one", "digits", row, Cell("digits", {}, row, protocol=protocol, seed=seed), "p", value)


def spec(*entries):
    return Spec("all", "title", tuple(Part(name, "table", "", "", (), {}, entries) for name in ("one", "two", "three")))


def names(spec):
    return [part.name for part in spec.parts]


def test_only_keeps_parts_in_the_order_of_the_spec():
    whole = spec()
    assert names(only(whole, ["three", "one", "one"])) == ["one", "three"]
    assert only(whole, []) == whole
    assert names(whole) == ["one", "two", "three"]


def test_only_refuses_a_part_that_is_not_there():
    with pytest.raises(ValueError, match="part: expected one of one, two, three of the spec all, got 'four'"):
        only(spec(), ["one", "four"])


def test_first_seeds_counts_for_every_line_order_and_point():
    entries = [entry("TBGL", seed) for seed in (7, 5, 6)]
    entries += [
        entry("TBGL", 9, FILE_ORDER),
        entry("SFMC", 8),
        entry("TBGL", 4, value=0.5),
        entry("TBGL", 3, value=0.5),
    ]
    kept = first_seeds(spec(*entries), 2).parts[0].entries
    assert [found.cell.seed for found in kept] == [5, 6, 9, 8, 4, 3]
    assert first_seeds(spec(*entries), 20) == spec(*entries)


def test_first_seeds_changes_no_cell():
    whole = spec(*(entry("TBGL", seed) for seed in range(3)))
    kept = {cell.key for cell in first_seeds(whole, 1).cells}
    assert kept == {whole.parts[0].entries[0].cell.key}


@pytest.mark.parametrize("n", [0, -1])
def test_first_seeds_needs_one(n):
    with pytest.raises(ValueError, match=f"seeds: expected at least 1, got {n}"):
        first_seeds(spec(), n)
