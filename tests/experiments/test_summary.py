from __future__ import annotations

import json

import numpy as np
import pytest

from manyview.experiments._model import FILE_ORDER, SHUFFLED
from manyview.metrics import adjusted_rand, clustering_scores


def table_row(summary, dataset, name, part=0):
    tables = {table["dataset"]: table for table in summary["parts"][part]["tables"]}
    return next(row for row in tables[dataset]["rows"] if row["name"] == name)


def line_of(summary, row):
    return next(line for line in summary["order_audit"] if line["row"] == row)


def types(value):
    if isinstance(value, dict):
        return {type(key) for key in value}.union(*map(types, value.values()))
    if isinstance(value, list):
        return set().union(*map(types, value))
    return {type(value)}


def test_holds_only_what_json_holds(everything):
    assert json.loads(json.dumps(everything, allow_nan=False)) == everything
    assert types(everything) <= {str, int, float, bool, type(None)}


def test_values_that_json_lacks_are_replaced(made, row):
    made.table([made.dataset("A")], [row("MVSC", parameters={"a": np.float64(0.5), "b": float("inf"), "c": (1, 2)})])
    assert table_row(made.summary(), "A", "MVSC")["parameters"] == {"a": 0.5, "b": None, "c": [1, 2]}


def test_scores_are_means_and_deviations_of_the_runs(made, row):
    cells = made.table([made.dataset("A")], [row("MVSC")])
    for cell, wrong in zip(cells["A", "MVSC", SHUFFLED], (2, 4, 12), strict=True):
        made.done(cell, wrong, seconds=wrong, peak_bytes=100 * wrong)
    found = table_row(made.summary(), "A", "MVSC")
    assert found[FILE_ORDER] == {"status": "waiting"}
    runs = [clustering_scores(made.classes, made.wrong(k), nmi_average="max") for k in (2, 4, 12)]
    assert [run["acc"] for run in runs] == [0.95, 0.9, 0.7]
    for score, value in found[SHUFFLED]["scores"].items():
        values = [run[score] for run in runs]
        mean = sum(values) / 3
        assert value["mean"] == pytest.approx(mean)
        assert value["std"] == pytest.approx((sum((v - mean) ** 2 for v in values) / 3) ** 0.5)
    assert set(found[SHUFFLED]["scores"]) == set(runs[0])
    assert (found[SHUFFLED]["runs"], found[SHUFFLED]["seconds"], found[SHUFFLED]["peak_bytes"]) == (
        3,
        4.0,
        400,
    )  # medians
    assert "reason" not in found[SHUFFLED]


def test_nmi_is_divided_by_the_larger_entropy(made, row):
    cells = made.table([made.dataset("A")], [row("MVSC")], seeds=1)
    made.done(cells["A", "MVSC", SHUFFLED][0], 10)
    nmi = table_row(made.summary(), "A", "MVSC")[SHUFFLED]["scores"]["nmi"]["mean"]
    assert nmi == clustering_scores(made.classes, made.wrong(10), nmi_average="max")["nmi"]
    assert nmi < clustering_scores(made.classes, made.wrong(10))["nmi"] - 0.001


def test_some_runs_that_did_not_end_are_counted_beside_the_others(made, row):
    cells = made.table([made.dataset("A")], [row("MVSC")], seeds=5)["A", "MVSC", SHUFFLED]
    made.done(cells[0])
    made.ended(cells[1], "time", "60 s are over")
    made.ended(cells[2], "time", "60 s are over")
    made.ended(cells[3], "failed", "an error")
    found = table_row(made.summary(), "A", "MVSC")[SHUFFLED]
    assert (found["status"], found["runs"]) == ("done", 1)
    assert found["reason"] == "3 of 5 runs did not end: 2 x 60 s are over; 1 x an error"


def test_no_run_that_ended_says_what_most_ended_with(made, row):
    cells = made.table([made.dataset("A")], [row("MVSC")], seeds=4)["A", "MVSC", SHUFFLED]
    made.ended(cells[0], "failed", "an error")
    made.ended(cells[1], "memory", "too large")
    made.ended(cells[2], "memory", "too large")
    assert table_row(made.summary(), "A", "MVSC")[SHUFFLED] == {"status": "memory", "reason": "too large"}


def test_what_was_never_asked_for_is_none(made, row):
    made.table([made.dataset("A")], [row("MVSC")], protocols=(SHUFFLED,))
    assert table_row(made.summary(), "A", "MVSC")[FILE_ORDER] is None


def test_published_values_stand_beside_but_never_beside_a_stand_in(everything):
    found = table_row(everything, "MSRC-v5", "TBGL")["published"]
    assert found["scores"] == {"acc": {"mean": 0.9952, "std": 0.0}, "nmi": {"mean": 0.9889, "std": None}}
    assert (found["runs"], found["seconds"], found["peak_bytes"]) == (None, None, None)
    assert table_row(everything, "MSRC-v5", "MVGL")["published"] == {"status": "memory", "reason": "OM"}
    assert table_row(everything, "MSRC-v5", "MVSC")["published"] is None
    assert table_row(everything, "Reuters600", "TBGL")["published"] is None


def test_parameters_are_those_of_the_dataset(everything):
    assert table_row(everything, "MSRC-v5", "TBGL")["parameters"] == {"p": 0.9}
    assert table_row(everything, "Reuters600", "TBGL")["parameters"] == {"p": 0.5}


def test_best_of_a_column_is_shared_by_what_looks_equal(made, row):
    published = {"A": {"one": {"acc": (0.9004, None)}, "two": {"acc": (0.8996, None)}, "three": {"acc": (0.8994, 0.0)}}}
    rows = [row("one", "MVSC"), row("two", "SMSC"), row("three", "AMGL")]
    cells = made.table([made.dataset("A")], rows, seeds=1, published=published)
    for wrong, name in enumerate(("one", "two", "three")):
        made.done(cells["A", name, SHUFFLED][0], 3 - wrong)
    best = made.summary()["parts"][0]["tables"][0]["best"]
    assert best["published"] == {"acc": ["one", "two"]}
    assert best[SHUFFLED]["acc"] == best[SHUFFLED]["ari"] == ["three"]
    assert best[FILE_ORDER] == {}


def test_cells_that_two_tables_show_count_once(made, row):
    data = made.dataset("A")
    cells = made.table([data], [row("MVSC")], seeds=2)
    made.table([data], [row("MVSC")], seeds=3, name="again")
    made.done(cells["A", "MVSC", SHUFFLED][0])
    made.ended(cells["A", "MVSC", SHUFFLED][1], "memory", "too large")
    summary = made.summary()
    assert summary["cells"] == {"asked": 6, "done": 1, "failed": 0, "memory": 1, "time": 0, "absent": 0, "waiting": 4}
    assert len(summary["scatter"]) == 1


def test_only_runs_that_did_something_are_named(everything):
    assert [found["id"] for found in everything["runs"]] == [1]


def test_runs_that_went_on_with_the_same_versions_are_named_once(made, row):
    cells = made.table([made.dataset("A")], [row("MVSC")], seeds=4)["A", "MVSC", SHUFFLED]
    for number, cell in enumerate(cells, start=1):
        made.done(cell, run=number)
    commits = ("a", "b", "a", "b")
    runs = [{"id": i, "started": str(i), "commit": commit} for i, commit in enumerate(commits, start=1)]
    assert [(run["id"], run["commit"]) for run in made.summary(runs)["runs"]] == [(1, "a"), (2, "b")]


def test_datasets_say_what_they_are(everything):
    found = {dataset["name"]: dataset for dataset in everything["datasets"]}
    assert "n" not in found  # of growth: described by its axis
    assert found["MSRC-v5"] == {
        "name": "MSRC-v5",
        "stand_in_for": None,
        "generated": False,
        "n_samples": 40,
        "n_classes": 4,
        "views": [["pixels", 5], ["words", 7]],
        "sorted_by_class": True,
        "fingerprint": "f" * 16,
        "absent": None,
    }
    assert found["Reuters600"]["stand_in_for"] == "Reuters"
    assert found["Caltech101-20"]["absent"] == "dataset not found: put Caltech101-20.mat into MANYVIEW_DATA."
    assert found["Caltech101-20"]["n_samples"] is None


def test_labels_without_the_classes_of_their_dataset(made, row):
    cells = made.table([made.dataset("A")], [row("MVSC")], seeds=1)
    made.done(cells["A", "MVSC", SHUFFLED][0])
    del made.facts["A"]
    with pytest.raises(ValueError, match="datasets: expected the facts of 'A', which has results; got those of: none"):
        made.summary()


def test_a_sweep_goes_from_left_to_right(everything):
    part = everything["parts"][1]
    assert part["axis"] == {"name": "p", "label": "label of p"}
    assert part["stated"] == {"MSRC-v5": 0.9}
    assert [(curve["dataset"], curve["row"], curve["protocol"]) for curve in part["curves"]] == [
        ("MSRC-v5", "TBGL", FILE_ORDER),
        ("MSRC-v5", "TBGL", SHUFFLED),
    ]
    first, second = part["curves"][0]["points"]
    assert (first["x"], first["scores"]["acc"]["mean"]) == (0.1, 0.8)
    assert second == {"x": 0.9, "status": "waiting"}


def test_growth_is_the_slope_of_the_smallest_times(everything):
    (line,) = everything["parts"][2]["growth"]
    assert (line["row"], line["axis"], line["label"], line["stated"]) == ("TBGL", "n", "label of n", 1.0)
    assert line["exponent"] == pytest.approx(2.0)
    assert line["points"][0] == {"x": 100.0, "seconds": {"mean": 15000.0, "std": 5000.0, "min": 10000.0}, "runs": 4}
    assert line["points"][3] == {"x": 800.0, "status": "failed", "reason": "ValueError: '<' is not | defined."}


def test_growth_is_a_least_squares_slope_and_needs_two_points(made, row):
    data = made.dataset("n", generated=True)
    cells = made.along("2com", "growth", data, row("MVSC"), "n", [10, 20, 50], protocols=(SHUFFLED,))
    for (value, _), (cell,) in list(cells.items())[:1]:
        made.done(cell, seconds=value)
    assert made.summary()["parts"][0]["growth"][0]["exponent"] is None
    times = {10: 1.0, 20: 3.0, 50: 4.0}
    for (value, _), (cell,) in cells.items():
        made.done(cell, seconds=times[value])
    x, y = np.log(list(times)), np.log(list(times.values()))
    slope = ((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum()
    line = made.summary()["parts"][0]["growth"][0]
    assert line["exponent"] == pytest.approx(slope)
    assert line["stated"] is None


def test_pictures_come_with_the_accuracy_of_their_fit(made, row):
    data = made.dataset("A")
    cells = made.table([data], [row("TBGL", "TBGL")], seeds=1)
    entries = made.parts.pop().entries
    made.add("visual", "graphs", (data,), {}, entries)
    image = np.arange(6.0).reshape(2, 3) / 3
    made.done(cells["A", "TBGL", SHUFFLED][0], 4, pictures={"pixels": image, "learned": image.astype(np.float32)})
    first, second = made.summary()["parts"][0]["pictures"]
    assert (first["name"], second["name"]) == ("pixels", "learned")
    assert (first["dataset"], first["row"], first["protocol"], first["acc"]) == ("A", "TBGL", SHUFFLED, 0.9)
    np.testing.assert_allclose(first["image"], image, atol=1e-4)
    assert len(json.dumps(second["image"])) < 60


def test_the_audit_flags_who_changes_with_the_order_and_nobody_else(everything):
    assert [(line["row"], line["method"]) for line in everything["order_audit"]] == [
        ("MVSC", "MVSC"),
        ("TBGL", "TBGL"),
        ("MVGL", "MVGL"),
    ]
    assert {line["row"]: line["flagged"] for line in everything["order_audit"]} == {
        "MVSC": False,
        "TBGL": True,
        "MVGL": False,
    }
    assert {line["row"] for line in everything["order_audit"] if line["order_dependent"]} == {"TBGL"}
    line = line_of(everything, "TBGL")
    assert [found["dataset"] for found in line["datasets"]] == ["MSRC-v5", "Hand_written & more", "Reuters600"]
    assert line["datasets"][0]["file_order"] == 1.0
    assert line["datasets"][0]["shuffled"] == pytest.approx(0.7)
    assert line["datasets"][0]["difference"] == pytest.approx(0.3)
    assert line["datasets"][0]["p_value"] == 2.0**-19
    n_tests = sum(len(line["datasets"]) for line in everything["order_audit"])
    assert n_tests == 8
    assert line["p_value"] == n_tests * 2.0**-19
    same = line_of(everything, "MVSC")["datasets"][0]
    assert (same["pairs"], same["p_value"], same["agreement"]) == (17, 1.0, 1.0)


def test_agreement_is_between_labels_of_the_two_orders(made, row):
    cells = made.table([made.dataset("A")], [row("MVSC")], seeds=2)
    wrong = {FILE_ORDER: (1, 5), SHUFFLED: (9, 3)}
    for protocol, numbers in wrong.items():
        for cell, k in zip(cells["A", "MVSC", protocol], numbers, strict=True):
            made.done(cell, k)
    (found,) = line_of(made.summary(), "MVSC")["datasets"]
    expected = [adjusted_rand(made.wrong(a), made.wrong(b)) for a, b in zip(*wrong.values(), strict=True)]
    assert found["agreement"] == pytest.approx(np.mean(expected))
    assert found["difference"] == pytest.approx((8 - 2) / 2 / 40)


def test_pairs_have_the_same_seed(made, row):
    cells = made.table([made.dataset("A")], [row("MVSC")], seeds=8)
    for seed in range(8):
        if seed != 7:
            made.done(cells["A", "MVSC", FILE_ORDER][seed], seed)
        if seed != 0:
            made.done(cells["A", "MVSC", SHUFFLED][seed], seed)
    (found,) = line_of(made.summary(), "MVSC")["datasets"]
    assert (found["pairs"], found["difference"], found["agreement"]) == (6, 0.0, 1.0)


@pytest.mark.parametrize(("estimator", "pairs"), [("TBGL", 8), ("MVSC", 1)])
def test_one_run_in_file_order_is_enough_for_who_draws_nothing(made, row, estimator, pairs):
    data, name = made.dataset("A"), row("it", estimator)
    cells = made.table([data], [name], seeds=8)
    part = made.parts.pop()
    kept = [entry for entry in part.entries if entry.cell.protocol == SHUFFLED or entry.cell.seed == 0]
    made.add("result1", "table", (data,), part.rows, kept, scores=("acc",))
    for group in cells.values():
        for cell in group:
            made.done(cell, 0 if cell.protocol == FILE_ORDER else 5)
    (found,) = line_of(made.summary(), "it")["datasets"]
    assert found["pairs"] == pairs
    assert found["p_value"] == 2.0 ** (1 - pairs)


def test_one_of_several_runs_in_file_order_is_no_partner_for_all(made, row):
    cells = made.table([made.dataset("A")], [row("TBGL", "TBGL")], seeds=8)
    made.done(cells["A", "TBGL", FILE_ORDER][2])
    for cell in cells["A", "TBGL", SHUFFLED]:
        made.done(cell, 5)
    (found,) = line_of(made.summary(), "TBGL")["datasets"]
    assert found["pairs"] == 1


def test_few_pairs_cannot_flag_and_it_is_said(made, row):
    cells = made.table([made.dataset("A")], [row("TBGL", "TBGL")], seeds=3)
    for (_, _, protocol), group in cells.items():
        for cell in group:
            made.done(cell, 0 if protocol == FILE_ORDER else 15)
    line = line_of(made.summary(), "TBGL")
    assert (line["flagged"], line["too_few_pairs"], line["pairs_needed"], line["p_value"]) == (False, True, 6, 0.25)


def fill(made, cells, wrong):
    """Shuffled cells done, with so many samples wrong; None leaves the cell waiting, a text is its failure."""
    for (dataset, row), value in wrong.items():
        for cell in cells[dataset, row, SHUFFLED]:
            if isinstance(value, str):
                made.ended(cell, "memory", value)
            elif value is not None:
                made.done(cell, value)


def test_ranks_over_datasets(made, row):
    names = ("MVSC", "AMGL", "SMSC")
    cells = made.table([made.dataset("A"), made.dataset("B")], [row(name, name) for name in names], seeds=1)
    fill(made, cells, {("A", "MVSC"): 3, ("A", "AMGL"): 1, ("A", "SMSC"): 2})
    fill(made, cells, {("B", "MVSC"): "too large", ("B", "AMGL"): 7, ("B", "SMSC"): 7})
    ranking = made.summary()["ranking"]
    assert (ranking["score"], ranking["protocol"], ranking["datasets"]) == ("acc", SHUFFLED, ["A", "B"])
    assert ranking["methods"] == [
        {"name": "AMGL", "mean_rank": 1.25, "ranks": {"A": 1.0, "B": 1.5}},
        {"name": "SMSC", "mean_rank": 1.75, "ranks": {"A": 2.0, "B": 1.5}},
        {"name": "MVSC", "mean_rank": 3.0, "ranks": {"A": 3.0, "B": 3.0}},
    ]
    assert ranking["failures"] == {"MVSC": {"B": "too large"}}
    assert ranking["critical_difference"] == pytest.approx(2.343 * (3 * 4 / (6 * 2)) ** 0.5, rel=1e-3)
    assert ranking["groups"] == [["AMGL", "SMSC", "MVSC"]]
    assert 0 < ranking["friedman_p"] < 1
    assert ranking["left_out"] == {}


def test_who_and_what_is_left_out_of_the_ranking(made, row):
    names = ("MVSC", "AMGL", "SMSC")
    sets = [made.dataset("A"), made.dataset("B"), made.dataset("G", generated=True), made.dataset("C", absent=True)]
    rows = [row("s-CLR (X1)", "CLR", view=0), *(row(name, name) for name in names)]
    cells = made.table(sets, rows, seeds=1)
    fill(made, cells, {(name, method): 2 for name in "AG" for method in names})
    fill(made, cells, {("A", "s-CLR (X1)"): 0, ("B", "MVSC"): 4, ("B", "AMGL"): 5})
    ranking = made.summary()["ranking"]
    assert ranking["datasets"] == ["A", "B"]
    assert [method["name"] for method in ranking["methods"]] == ["MVSC", "AMGL"]
    assert ranking["left_out"] == {
        "s-CLR (X1)": "uses a single view",
        "G": "generated data",
        "C": "nothing has run on it",
        "SMSC": "no result yet, or never asked for, on B",
    }


def test_a_dataset_that_few_ran_on_gives_way_to_many_methods(made, row):
    names = ("MVSC", "AMGL", "SMSC", "MVGL", "SFMC")
    cells = made.table([made.dataset(name) for name in "ABC"], [row(name, name) for name in names], seeds=1)
    fill(made, cells, {(data, name): 2 for data in "AC" for name in names} | {("B", "MVSC"): 1, ("B", "SFMC"): 3})
    ranking = made.summary()["ranking"]
    assert (ranking["datasets"], len(ranking["methods"])) == (["A", "C"], 5)
    assert ranking["left_out"] == {"B": "no result yet, or never asked for: AMGL, SMSC, MVGL"}
    assert ranking["datasets_needed"] == 3  # the critical difference of two datasets is above 4


def test_there_are_no_ranks_over_one_dataset(made, row):
    cells = made.table([made.dataset("A"), made.dataset("G", generated=True)], [row("MVSC"), row("AMGL", "AMGL")])
    for group in cells.values():
        for cell in group:
            made.done(cell, cell.seed)
    ranking = made.summary()["ranking"]
    assert (ranking["methods"], ranking["datasets"], ranking["critical_difference"]) == ([], [], None)
    assert ranking["left_out"] == {"A": "no other dataset has results of the same methods", "G": "generated data"}


def test_a_ranking_of_nothing(made, row):
    made.table([made.dataset("A")], [row("MVSC")])
    ranking = made.summary()["ranking"]
    assert (ranking["methods"], ranking["critical_difference"], ranking["friedman_p"]) == ([], None, None)
    assert ranking["left_out"]["A"] == "nothing has run on it"


def test_scatter_is_of_shuffled_rows_and_all_views(everything):
    found = {(point["dataset"], point["row"]): point for point in everything["scatter"]}
    assert len(found) == len(everything["scatter"]) == 8
    assert found["MSRC-v5", "TBGL"]["acc"] == pytest.approx(0.7)
    assert found["MSRC-v5", "TBGL"]["estimator"] == "TBGL"
    assert (found["MSRC-v5", "TBGL"]["seconds"], found["MSRC-v5", "TBGL"]["peak_bytes"]) == (1.0, 1000)
