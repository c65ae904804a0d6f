"""What goes with clusters, against SciPy, and all the columns that metadata have in practice."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.cluster import KMeans

from manyview import GraphEnsemble, Views
from manyview.description import describe
from manyview.description.metadata import associate, chi_square, in_sample_order, kruskal_wallis, summary
from manyview.exceptions import ViewsError


def column(name, values):
    return pd.Series(values, name=name)


def test_chi_square_is_scipys():
    counts = np.array([[10, 3, 0], [2, 9, 0], [0, 0, 0], [4, 4, 0]])
    statistic, degrees, effect, expected = chi_square(counts.astype(float))
    reference = stats.chi2_contingency(counts[[0, 1, 3]][:, :2], correction=False)
    np.testing.assert_allclose([statistic, degrees], [reference.statistic, reference.dof])
    np.testing.assert_allclose(expected, reference.expected_freq)
    np.testing.assert_allclose(
        effect, stats.contingency.association(counts[[0, 1, 3]][:, :2], method="cramer"), rtol=1e-10
    )


def test_kruskal_wallis_is_scipys():
    rng = np.random.default_rng(0)
    values, groups = rng.integers(0, 12, size=50).astype(float), rng.integers(0, 3, size=50)
    statistic, degrees, effect = kruskal_wallis(values, groups)
    reference = stats.kruskal(*(values[groups == g] for g in range(3)))
    np.testing.assert_allclose(statistic, reference.statistic, rtol=1e-10)
    assert degrees == 2
    np.testing.assert_allclose(effect, reference.statistic / 49)


def test_small_counts_are_tested_by_permutations_and_agree_with_fishers_exact_test():
    labels = np.repeat([0, 1], 8)
    column = pd.Series(["a"] * 7 + ["b"] + ["b"] * 5 + ["a"] * 3, name="arm")
    found = associate(column, labels, 2)
    assert found.test == "χ², permutations"
    # χ² orders the tables of a 2 x 2 design as their probabilities do here
    assert abs(found.p - stats.fisher_exact([[7, 1], [3, 5]]).pvalue) < 0.015


def test_columns_are_told_apart_by_their_values():
    rng = np.random.default_rng(0)
    n, labels = 90, np.repeat([0, 1, 2], 30)
    frame = pd.DataFrame(
        {
            "stage": rng.integers(1, 5, size=n),
            "age": rng.normal(60, 9, size=n),
            "seen": rng.random(n) < 0.5,
            "patient": [f"P{i}" for i in range(n)],
            "site": "Oslo",
            "plate": np.array(["A", "B", "C"])[labels],
            "empty": [None] * n,
            "batch_effect_free": rng.random(n),
        }
    )
    frame.loc[3, "age"] = np.nan
    found = {name: associate(frame[name], labels, 3) for name in frame}
    kinds = {name: each.kind for name, each in found.items()}
    assert kinds == {
        "stage": "categories",
        "age": "numbers",
        "seen": "categories",
        "patient": "left out",
        "site": "left out",
        "plate": "categories",
        "empty": "left out",
        "batch_effect_free": "numbers",
    }
    assert found["age"].n_missing == 1
    assert [name for name, each in found.items() if each.may_be_artefact] == ["plate"]
    table = summary(list(found.values()))
    assert table["column"].iloc[0] == "plate"
    assert table.loc[0, "note"] == "may be an artefact"
    assert table["p_corrected"].notna().sum() == 5


def test_kruskal_wallis_with_missing_cells_and_a_cluster_of_one():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [20, 25, 1])
    values = rng.integers(0, 9, size=46).astype(float)
    values[[3, 30]] = np.nan
    found = associate(column("visits", values), labels, 3)
    groups = [values[(labels == c) & ~np.isnan(values)] for c in range(3)]
    reference = stats.kruskal(*groups)
    np.testing.assert_allclose([found.statistic, found.p], [reference.statistic, reference.pvalue], rtol=1e-10)
    np.testing.assert_allclose(found.effect, reference.statistic / 43, rtol=1e-10)
    np.testing.assert_allclose(found.beyond_chance, max((reference.statistic - 2) / 41, 0), rtol=1e-10)
    assert found.n_missing == 2
    assert found.table["n"].tolist() == [19, 24, 1]
    np.testing.assert_allclose(found.table["median"], [np.median(group) for group in groups])


def test_large_counts_are_tested_as_scipy_does():
    rng = np.random.default_rng(0)
    labels, arms = rng.integers(0, 3, size=300), rng.choice(["a", "b", "c", "d"], size=300)
    found = associate(column("arm", arms), labels, 3)
    table = pd.crosstab(labels, arms)
    reference = stats.chi2_contingency(table, correction=False)
    assert found.test == "χ²"
    np.testing.assert_allclose([found.statistic, found.p], [reference.statistic, reference.pvalue], rtol=1e-10)
    np.testing.assert_allclose(found.effect, stats.contingency.association(table, method="cramer"), rtol=1e-10)
    np.testing.assert_array_equal(found.table, table)


def test_permutations_agree_with_all_orders():
    labels, codes = np.array([0, 0, 0, 1, 1, 2, 2, 2]), np.array([0, 0, 1, 1, 1, 2, 2, 0])
    found = associate(column("arm", np.array(["a", "b", "c"])[codes]), labels, 3)

    def statistic(arms):
        counts = np.zeros((3, 3))
        np.add.at(counts, (labels, np.array(arms)), 1)
        expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / 8
        return ((counts - expected) ** 2 / expected).sum()

    observed = statistic(codes)
    orders = set(itertools.permutations(codes.tolist()))  # all of them are as likely
    exact = np.mean([statistic(order) >= observed - 1e-9 for order in orders])
    assert found.test == "χ², permutations"
    np.testing.assert_allclose(found.statistic, observed, rtol=1e-10)
    assert abs(found.p - exact) < 4 * np.sqrt(exact * (1 - exact) / 9_999)


def test_permutations_are_uniform_without_an_association():
    rng = np.random.default_rng(0)
    p = [
        associate(column("site", rng.integers(0, 12, size=60).astype(str)), rng.integers(0, 4, size=60), 4, seed).p
        for seed in range(100)
    ]
    assert stats.kstest(p, "uniform").pvalue > 0.01


def test_many_categories_do_not_look_like_an_artefact_by_chance():
    rng = np.random.default_rng(0)
    found = associate(column("plate", rng.integers(0, 40, size=150).astype(str)), rng.integers(0, 3, size=150), 3)
    assert found.effect > 0.4, "V is large with many categories, whatever they are"
    assert found.beyond_chance < 0.05
    assert not found.may_be_artefact


def test_numbers_of_plates_are_categories():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, size=150)
    plates = np.array([[1, 7, 12], [2, 5, 11], [3, 6, 9]])[labels, rng.integers(0, 3, size=150)]
    found = associate(column("plate", plates), labels, 3)
    assert found.kind == "categories"
    np.testing.assert_allclose(found.effect, 1)
    assert found.may_be_artefact
    assert "12" in found.table.columns
    ages = associate(column("age", plates + 40), labels, 3)
    assert ages.kind == "numbers"


def test_a_number_that_follows_how_samples_were_handled_is_pointed_out():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, size=200)
    found = associate(column("scanner_offset", labels + rng.normal(0, 1, size=200)), labels, 2)
    assert 0.09 < found.effect < 0.3, "a correlation above 0.3"
    assert found.may_be_artefact


def test_columns_are_ordered_by_what_exceeds_chance():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, size=150)
    frame = pd.DataFrame(
        {"surgeon": rng.integers(0, 40, size=150).astype(str), "age": 60 + 4 * labels + rng.normal(0, 4, size=150)}
    )
    found = summary([associate(frame[name], labels, 3) for name in frame])
    assert found["column"].tolist() == ["age", "surgeon"]


@pytest.mark.parametrize(
    ("name", "values", "kind", "says"),
    [
        ("patient", [f"P{i}" for i in range(12)], "left out", "12 different values for 12 samples"),
        ("record", np.arange(12) + 100, "left out", "a different whole number for each sample"),
        ("patient_id", np.arange(12) ** 3, "left out", "a different whole number for each sample"),
        ("Unnamed: 0", np.arange(12)[::-1], "left out", "a different whole number for each sample"),
        ("days", np.arange(12) ** 3, "numbers", ""),
        ("dose", np.full(12, 0.5), "left out", "only one value, '0.5'"),
        ("site", ["Oslo"] * 12, "left out", "only one value, 'Oslo'"),
        ("empty", [None] * 12, "left out", "no value"),
        ("blank", ["", " "] * 6, "left out", "no value"),
        ("nan", [np.nan] * 12, "left out", "no value"),
        ("seen", np.array([True, False, None] * 4, dtype=object), "categories", ""),
        ("nullable", pd.array([1, 2, None] * 4, dtype="Int64"), "categories", ""),
        ("started", pd.date_range("2020-01-01", periods=12), "numbers", ""),
        ("started", pd.date_range("2020-01-01", periods=12, tz="Europe/Oslo"), "numbers", ""),
        ("started", [f"2020-01-{i + 1:02d}" for i in range(12)], "numbers", ""),
        ("month", pd.period_range("2020-01", periods=12, freq="M"), "numbers", ""),
        ("ward", pd.to_datetime(["2020-01-01", "2020-02-01"] * 6), "categories", ""),
        ("stay", pd.to_timedelta(np.arange(12) ** 2, unit="h"), "numbers", ""),
        ("weight", [f"{i}.5" for i in range(12)], "numbers", ""),
        ("mixed", np.array(["a", 1, 2.5] * 4, dtype=object), "categories", ""),
        ("objects", np.array([i + 0.5 for i in range(12)], dtype=object), "numbers", ""),
        ("codes", pd.Categorical([1, 2, 3] * 4), "categories", ""),
        ("postcode", ["0150", "0151", "0152"] * 4, "categories", ""),
    ],
)
def test_every_column_is_taken_for_what_it_is(name, values, kind, says):
    found = associate(column(name, values), np.arange(12) % 2, 2)
    assert (found.kind, found.reason) == (kind, says)
    assert np.isnan(found.p) == (kind == "left out")


def test_dates_are_years_and_whole_numbers_have_no_point():
    found = associate(column("seen", pd.date_range("2020-01-01", "2020-12-31", periods=20)), np.arange(20) % 2, 2)
    assert found.table["median"].between(2020.4, 2020.6).all()
    found = associate(column("stage", [1.0, 2.0, np.nan, 3.0, 3.0]), np.array([0, 1, 0, 1, 0]), 2)
    assert found.table.columns.tolist() == ["1", "2", "3"]


def test_infinite_numbers_are_missing():
    found = associate(column("ratio", [0.5, np.inf, 1.5, -np.inf, 2.5, 0.25]), np.array([0, 0, 0, 1, 1, 1]), 2)
    assert found.n_missing == 2
    assert np.isfinite(found.table["mean"]).all()


def test_missing_cells_may_leave_a_single_cluster():
    found = associate(column("arm", ["a", "b", None, None]), np.array([0, 0, 1, 1]), 2)
    assert (found.kind, found.reason) == ("left out", "samples of one cluster")


def described(metadata, labels=None, ids=None, **options):
    tables = [np.random.default_rng(seed).normal(size=(30, 3)) for seed in (0, 1)]
    return describe(Views(tables, sample_ids=ids), np.arange(30) % 3 if labels is None else labels, metadata, **options)


def test_columns_that_do_not_go_with_the_clusters_are_not_said_to():
    rng = np.random.default_rng(0)
    found = described(
        pd.DataFrame({"age": rng.normal(size=30), "site": "Oslo", "arm": rng.choice(["a", "b"], size=30)})
    )
    assert "goes with the clusters: none of 2 columns" in repr(found)
    alone = described(pd.DataFrame({"age": rng.normal(size=30)}), labels=np.zeros(30, dtype=int))
    assert "goes with" not in repr(alone)
    assert "nan" not in repr(alone)


def test_rows_are_matched_to_samples_by_name():
    ids = [f"s{i}" for i in range(30)]
    frame = pd.DataFrame({"arm": np.array(["a", "b", "c"])[np.arange(30) % 3]}, index=ids)
    more = pd.concat([frame, pd.DataFrame({"arm": ["c"]}, index=["of another study"])])
    for table in (frame, frame[::-1], more):
        assert described(table, ids=ids).metadata["effect"][0] == pytest.approx(1)
    labels = pd.Series(np.arange(30) % 3, index=ids)
    found = described(frame, labels[::-1], ids)
    assert found.labels.tolist() == labels.tolist()
    assert found.metadata["effect"][0] == pytest.approx(1)


def test_rows_that_cannot_be_matched_are_named():
    ids = np.array(["x", "y", "z"])
    frame = pd.DataFrame({"age": [1, 2, 3]})
    assert in_sample_order(frame, ids, "metadata") is frame
    assert in_sample_order(frame[::-1], None, "metadata")["age"].tolist() == [3, 2, 1]
    with pytest.raises(ViewsError, match="names none of the samples: they are called 'x' and so on, its rows '2'"):
        in_sample_order(frame[::-1], ids, "metadata")
    with pytest.raises(ViewsError, match=r"no row for sample 'z' \(1 of 3 samples have none\)"):
        in_sample_order(frame.set_axis(["x", "y", "Z"]), ids, "metadata")
    with pytest.raises(ViewsError, match="more than one row for sample 'x'"):
        in_sample_order(pd.Series(range(4), index=["x", "y", "z", "x"]), ids, "labels")


def test_doubtful_input_is_pointed_out():
    rng = np.random.default_rng(0)
    view = pd.DataFrame(rng.normal(size=(30, 2)), columns=["age", "height"])
    labels = np.arange(30) % 3 - 1
    found = describe([view, rng.normal(size=(30, 2))], labels, view[["age"]])
    assert any("Label -1 is described as a cluster" in note for note in found.notes)
    assert any("'age' of the metadata is also the name of a feature" in note for note in found.notes)
    with pytest.raises(ValueError, match="GraphEnsemble is not fitted yet"):
        describe([view, view], GraphEnsemble(2))


def test_labels_come_in_many_forms():
    numbers = np.arange(30) % 3
    for labels in (numbers, numbers[:, None], numbers.astype(float), pd.DataFrame({"cluster": numbers}), list(numbers)):
        assert described(None, labels).names == ("cluster 0", "cluster 1", "cluster 2")
    some = np.where(np.arange(30) < 5, np.nan, numbers)
    found = described(None, some, rename={1: "one"})
    assert found.names == ("cluster 0", "one", "cluster 2")
    assert found.clusters["size"].sum() == 25
    with pytest.raises(ViewsError, match=r"got an array of shape \(30, 2\)"):
        described(None, np.zeros((30, 2)))


def test_estimators_that_know_no_views_are_labels():
    table = np.random.default_rng(0).normal(size=(30, 3))
    found = describe([table, table], KMeans(3, n_init=1, random_state=0).fit(table))
    assert found.markers["p"].isna().all()
    assert any("without an estimator" in note for note in found.notes)
