"""Differences between methods: intervals against SciPy's, pairs by hand, and what may be said."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from manyview.experiments import to_markdown
from manyview.experiments.differences import interval
from manyview.experiments.statistics import critical_difference, datasets_needed
from manyview.experiments.wording import difference_text, too_few_datasets


@pytest.mark.parametrize("n", [2, 3, 10])
def test_the_interval_is_that_of_scipy(n):
    values = np.random.default_rng(n).normal(0.1, 0.05, n)
    expected = stats.t.interval(0.95, n - 1, loc=values.mean(), scale=stats.sem(values))
    np.testing.assert_allclose(interval(values), expected)


def test_intervals_that_need_no_spread():
    assert interval([0.3]) is None
    assert interval([]) is None
    assert interval([0.25, 0.25, 0.25]) == (0.25, 0.25)


def test_the_interval_covers_the_mean_as_often_as_it_says():
    random = np.random.default_rng(0)
    found = [interval(random.normal(0.0, 1.0, 5)) for _ in range(2000)]
    covered = np.mean([low <= 0 <= high for low, high in found])
    assert 0.935 < covered < 0.965


def test_the_number_of_datasets_needed_is_the_smallest_with_which_ranks_can_differ():
    for n in range(2, 20):
        needed = datasets_needed(n)
        assert critical_difference(n, needed) < n - 1
        assert critical_difference(n, needed - 1) >= n - 1 or needed == 1


def test_pairs_have_the_same_seed_and_rows_are_shuffled(made, row):
    cells = made.table([made.dataset("A")], [row("MVSC"), row("mine", "mine:Mine", code="1" * 64)], seeds=4)
    for name, wrong in (("mine", (2, 4, 6, None)), ("MVSC", (4, 8, None, 9))):
        for cell, k in zip(cells["A", name, "shuffled"], wrong, strict=True):
            if k is not None:
                made.done(cell, k)
        for cell in cells["A", name, "file-order"]:
            made.done(cell, 0)
    found = made.summary()["differences"]
    assert found["reference"] == "mine"  # code of one's own comes first
    (line,) = found["lines"]
    (on,) = line["datasets"]
    assert (line["row"], on["pairs"], line["overall"]) == ("MVSC", 2, None)
    values = [2 / 40, 4 / 40]
    assert on["mean"] == pytest.approx(np.mean(values))
    assert (on["low"], on["high"]) == pytest.approx(interval(values))
    assert found["remarks"][0].startswith("An interval of a dataset covers other seeds and orders of its rows")
    assert "Some intervals rest on 2 pairs of runs only; 5 or more would be better." in found["remarks"]
    assert found["remarks"][-1].startswith("One dataset: nothing is said about other data, and methods are not ranked")


def test_over_datasets_that_are_not_generated(made, row):
    sets = [made.dataset("A"), made.dataset("B"), made.dataset("G", generated=True)]
    rows = [row("MVSC"), row("ours", "GraphEnsemble"), row("other", "AMGL"), row("one", "CLR", view=0)]
    cells = made.table(sets, rows, seeds=5)
    wrong = {"A": 2, "B": 6, "G": 9}
    for (dataset, name, _), group in cells.items():
        for cell in group:
            made.done(cell, 0 if name == "ours" else wrong[dataset])
    found = made.summary()["differences"]
    assert found["reference"] == "ours"
    assert [line["row"] for line in found["lines"]] == ["MVSC", "other"]
    overall = found["lines"][0]["overall"]
    assert (overall["datasets"], overall["mean"]) == (2, pytest.approx(4 / 40))
    assert (overall["low"], overall["high"]) == pytest.approx(interval([2 / 40, 6 / 40]))
    assert "Each interval holds by itself; of 2 comparisons, some can fail by chance." in found["remarks"]
    page = to_markdown(made.summary(), "x")
    assert "| MVSC | +0.050 (+0.050 to +0.050) | +0.150 (+0.150 to +0.150) | +0.225 (" in page


def test_a_single_run_has_no_interval(made, row):
    cells = made.table([made.dataset("A")], [row("MVSC"), row("other", "AMGL")], seeds=1)
    made.done(cells["A", "MVSC", "shuffled"][0], 3)
    made.done(cells["A", "other", "shuffled"][0], 1)
    found = made.summary()["differences"]
    assert found["lines"][0]["datasets"][0]["low"] is None
    assert found["remarks"][0].startswith("One run of each method: there is no interval")
    assert difference_text(found["lines"][0]["datasets"][0]) == "−0.050"


def test_nothing_to_compare(made, row):
    made.table([made.dataset("A")], [row("MVSC")])
    assert made.summary()["differences"]["reference"] is None


def test_too_few_datasets_are_said():
    ranking = {"datasets": ["A", "B"], "methods": [{}] * 5, "datasets_needed": 3}
    assert too_few_datasets(ranking) == (
        "With 2 datasets, no difference between 5 methods can be significant by this test; 3 are needed."
    )
    assert too_few_datasets(ranking | {"datasets": ["A", "B", "C"]}) is None
