from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from manyview import GraphEnsemble, Views, check_views, read_views
from manyview.audit import _measure, inspect_views
from manyview.datasets import make_multiview
from manyview.exceptions import ViewsError

RNG = np.random.default_rng(0)
A, B = RNG.random((30, 4)), RNG.random((30, 6))
GONE = np.r_[np.full((1, 6), np.nan), B[1:]]


def changed(row, column, value, table=B):
    table = table.copy() if value is not None else table.astype(object)
    table[row, column] = value
    return table


def sparse_with(value):
    table = sp.csr_array(B * (B > 0.3))
    table.data[4] = value
    return table


def texts(found, level):
    return [f"{problem['view']}: {problem['text']}" for problem in found.problems if problem["level"] == level]


def only(found, level):
    (text,) = texts(found, level)
    return text


REFUSED = {
    "NaN": (
        [A, changed(5, 2, np.nan)],
        "view1: single values are missing (NaN): 1 of 180, the first at row 5, column 2",
    ),
    "inf": ([A, changed(0, 3, -np.inf)], "view1: infinite values: 1 of 180, the first at row 0, column 3"),
    "sparse NaN": ([A, sparse_with(np.nan)], "view1: single values are missing (NaN): 1 of 180, the first at row "),
    "sparse inf": ([A, sparse_with(np.inf)], "view1: infinite values: 1 of 180, the first at row "),
    "gap in a frame": (
        {"a": A, "f": pd.DataFrame({"x": pd.array([1, None] + [3] * 28, dtype="Int64"), "y": range(30)})},
        "f: single values are missing (NaN): 1 of 60, the first at row 1, column 'x'",
    ),
    "one view": ([A], "None: expected at least 2 views, got 1. To use one table as several views, pass view_sizes=."),
    "one sample": ([A[:1], B[:1]], "None: expected at least 2 samples, got 1."),
    "no sample": ([A[:0], B[:0]], "None: expected at least 2 samples, got 0."),
    "no columns": ([A, B[:, :0]], "view1: it has no columns. Leave this view out."),
    "no columns, sparse": ([A, sp.csr_array((30, 0))], "view1: it has no columns."),
    "constant": ({"a": A, "flat": np.full((30, 3), 7.0)}, "flat: all its rows have the same values"),
    "constant, sparse": ([A, sp.csr_array((30, 3))], "view1: all its rows have the same values"),
    "constant where it is": (
        [A, np.where(np.arange(30)[:, None] < 4, np.nan, np.ones((30, 2)))],
        "view1: all its rows have the same values",
    ),
    "constant, sparse, where it is": (
        Views(
            [A, sp.csr_array(np.repeat([[0.0, 0.0], [1.0, 2.0]], 15, axis=0))],
            present=np.c_[np.ones(30, dtype=bool), np.arange(30) >= 15],
        ),
        "view1: all its rows have the same values",
    ),
    "missing for all": ([A, np.full((30, 2), np.nan)], "view1: it is missing for all samples. Leave this view out."),
    "huge": ([A, -B / B.max() * 1e300], "view1: values up to 1e+300, too large to be squared; the limit is 1e+150."),
    "huge, sparse": ([A, sparse_with(2e150)], "view1: values up to 2e+150, too large to be squared"),
    "tiny": ([A, B / B.max() * 1e-151], "view1: no value above 1e-151, too small to be squared; the limit is 1e-150."),
    "complex": ([A, B + 1j], "view1: its numbers are complex (complex128)"),
    "strings": ([A, B.astype(str)], "view1: columns that are not numeric: 6 of 6, column 0, column 1"),
    "dates": ([A, np.full((30, 2), np.datetime64("2024-01-01"))], "view1: columns that are not numeric"),
    "objects": (
        [A, changed(0, 1, "red", B.astype(object))],
        "view1: columns that are not numeric: 1 of 6, column 1. Turn them into numbers",
    ),
    "dicts": ([A, changed(0, 1, {}, B.astype(object))], "view1: columns that are not numeric: 1 of 6"),
    "text column": (
        {"a": A, "f": pd.DataFrame({"x": range(30), "city": ["Oslo"] * 30})},
        "f: columns that are not numeric: 1 of 2, city. Turn them into numbers, or leave them out.",
    ),
    "no view at all": (
        [np.r_[np.full((1, 4), np.nan), A[1:]], GONE],
        "None: samples without any view: 1 of 30, the first is row 0. Leave them out.",
    ),
}
ACCEPTED = {
    "plain": [A, B],
    "sparse": [A, sparse_with(1.0)],
    "coordinates": [A, sp.coo_array(B * (B > 0.3))],
    "integers": [A, (B * 9).astype(np.uint8)],
    "truth": [A, B > 0.5],
    "float32": [A, B.astype(np.float32)],
    "numbers as objects": [A, B.astype(object)],
    "frames": {"a": pd.DataFrame(A), "b": pd.DataFrame(B > 0.5)},
    "missing rows": [A, GONE],
    "marked as missing": Views([A, changed(0, 0, np.inf)], present=np.c_[np.ones(30, bool), np.arange(30) > 0]),
    "copies": [A, A],
    "constant columns": [A, np.c_[np.ones(30), B]],
    "large": [A, B * 1e150],
    "small": [A, B / B.max() * 1e-150],
    "on disk": [A, np.memmap],
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_error_is_what_a_fit_refuses(case):
    views, text = REFUSED[case]
    with pytest.raises((ViewsError, TypeError)):
        check_views(views, min_views=2)
    found = inspect_views(views)
    assert any(text in one for one in texts(found, "error")), texts(found, "error")
    json.dumps(found.to_dict(), allow_nan=False)
    assert text.partition(": ")[2] in str(found)


@pytest.mark.parametrize("case", ACCEPTED)
def test_no_error_is_what_a_fit_accepts(case, tmp_path):
    views = ACCEPTED[case]
    if case == "on disk":
        np.save(tmp_path / "b.npy", B)
        views = [A, np.load(tmp_path / "b.npy", mmap_mode="r")]
    check_views(views, min_views=2)
    found = inspect_views(views)
    assert texts(found, "error") == []
    json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.parametrize("seed", range(40))
def test_errors_agree_with_the_check_whatever_is_mixed(seed):
    rng = np.random.default_rng(seed)
    views = []
    for _ in range(2):
        table = rng.integers(0, 3, size=(rng.integers(1, 6), rng.integers(1, 4))).astype(float)
        table = np.resize(table, (5, table.shape[1]))
        for value in (np.nan, np.inf):
            if rng.random() < 0.3:
                table[rng.random(table.shape) < 0.3] = value
        if rng.random() < 0.4:
            table[rng.integers(5)] = np.nan
        views.append(sp.csr_array(table) if rng.random() < 0.3 else table)
    try:
        check_views(views, min_views=2)
        refused = False
    except ViewsError:
        refused = True
    assert bool(texts(inspect_views(views), "error")) == refused


def test_no_views_at_all_are_an_error_of_their_own():
    with pytest.raises(ViewsError, match="expected 30 rows like"):
        inspect_views([A, B[:29]])
    with pytest.raises(ViewsError, match="expected several views, got one array"):
        inspect_views(A)


def naive(table):
    """What is in a dense table without gaps, the slow way."""
    rows = [tuple(row) for row in table.tolist()]
    deviations = table.std(axis=0)
    typical = np.median(deviations[deviations > 0])
    return {
        "density": np.count_nonzero(table) / table.size,
        "minimum": table.min(),
        "maximum": table.max(),
        "typical_scale": pytest.approx(typical),
        "scale_ratio": pytest.approx(deviations.max() / typical),
        "widest_column": deviations.argmax(),
        "constant_columns": sum(len(set(column)) == 1 for column in table.T.tolist()),
        "zero_rows": sum(not any(row) for row in rows),
        "duplicate_rows": len(rows) - len(set(rows)),
    }


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.csc_array, pd.DataFrame], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("block", [7, 1 << 21])
def test_facts_are_those_of_a_slow_look(kind, block, monkeypatch):
    monkeypatch.setattr(_measure, "_BLOCK_VALUES", block)
    table = RNG.integers(0, 3, size=(200, 5)).astype(float) * [1, 0, 1, 40, 1]
    table[3] = 0
    table[10:12] = table[3:5]
    (first, view) = inspect_views([table[:, :3], kind(table)]).views
    assert {name: getattr(view, name) for name in naive(table)} == naive(table)
    assert {name: getattr(first, name) for name in naive(table[:, :3])} == naive(table[:, :3])
    assert view.first_constant == (1,)
    assert view.sparse == sp.issparse(kind(table))
    assert (view.n_features, view.missing_rows, view.missing_cells) == (5, 0, 0)


def test_gaps_are_counted_and_left_out_of_the_rest(monkeypatch):
    monkeypatch.setattr(_measure, "_BLOCK_VALUES", 12)
    table = B.copy()
    table[2:4] = np.nan
    table[[5, 20], [1, 2]] = np.nan
    table[[9, 9, 9], [0, 1, 2]] = np.inf
    view = inspect_views([A, table]).views[1]
    assert (view.missing_rows, view.missing_cells, view.infinite_cells) == (2, 2, 3)
    assert (view.first_missing_cell, view.first_infinite_cell) == ((5, 1), (9, 0))
    finite = np.where(np.isfinite(table), table, np.nan)
    assert (view.minimum, view.maximum) == (np.nanmin(finite), np.nanmax(finite))
    assert view.typical_scale == pytest.approx(np.median(np.nanstd(finite, axis=0)))


def test_what_is_marked_as_missing_is_not_looked_at():
    present = np.ones((30, 2), dtype=bool)
    present[:3, 1] = False
    wild = changed(0, 0, np.inf)
    wild[1] = 1e9
    dense, sparse = (
        inspect_views(Views([A, kind(wild)], present=present)).views[1] for kind in (np.asarray, sp.csr_array)
    )
    assert dense.infinite_cells == sparse.infinite_cells == 0
    assert dense.maximum == sparse.maximum == B[3:].max()
    assert dense.minimum == sparse.minimum == B[3:].min()
    assert dense.missing_rows == sparse.missing_rows == 3
    assert dense.typical_scale == pytest.approx(sparse.typical_scale)


def test_missing_rows_say_who_can_do_without():
    text = only(inspect_views([A, GONE]), "warning")
    assert text == (
        "view1: missing for 1 of 30 samples. GraphEnsemble clusters these by their other views; all other methods "
        "refuse them."
    )


def test_duplicates_are_those_in_all_views():
    twice = inspect_views([A[[0, 0, 0, 1, 2]], B[[3, 3, 4, 5, 5]]])
    assert [view.duplicate_rows for view in twice.views] == [2, 2]
    assert twice.duplicates == 1
    assert "samples that repeat another one in all views: 1 of 5" in only(twice, "note")


def test_a_row_that_is_missing_is_no_duplicate_of_one_that_is_zero():
    gone = np.r_[np.full((1, 6), np.nan), np.zeros((1, 6)), B[2:]]
    same = np.r_[A[:1], A[:1], A[2:]]
    assert inspect_views([same, gone]).duplicates == 0


def test_a_copy_is_seen_however_it_is_stored():
    found = inspect_views({"one": B, "other": B + 1, "again": sp.csr_array(B), "frame": pd.DataFrame(B)})
    assert [view.copy_of for view in found.views] == [None, None, "one", "one"]
    assert "again: the same values as the view 'one'. GraphEnsemble counts the two as one" in texts(found, "warning")[0]


def test_rows_of_zeros_are_doubtful():
    table = B.copy()
    table[4:7] = 0
    text = only(inspect_views([A, table]), "warning")
    assert text.startswith(
        "view1: rows of zeros: 3 of 30. If that means that nothing was measured, leave these rows empty"
    )


def test_constant_columns_are_named_but_not_among_counts():
    flat = np.c_[B, np.ones((30, 7))]
    text = only(inspect_views([A, flat]), "note")
    assert "view1: columns with one value only: 7 of 13, 6, 7, 8, 9, 10 and 2 more." in text
    words = sp.random_array((30, 300), density=0.02, rng=0, data_sampler=lambda size: np.arange(1, size + 1)).tocsr()
    found = inspect_views([A, words])
    assert (found.views[1].scaling, found.views[1].constant_columns > 10) == ("counts", True)
    assert "columns with one value" not in str(found)


def test_scales_are_a_problem_if_the_scaling_leaves_them_so():
    wide = RNG.normal(size=(200, 6)) * [1, 1, 5000, 1, 1, 1]
    found = inspect_views([wide, RNG.normal(size=(200, 3))])
    text = only(found, "warning")
    assert "of column 2, is " in text
    assert (
        "GraphEnsemble's scaling 'auto' takes 'directions' (subtract a balanced centre, unit rows); the widest" in text
    )
    assert text.endswith("If the columns have different units, pass scaling={'view0': 'standardized'}.")
    assert found.views[0].scale_ratio == pytest.approx(5000, rel=0.2)
    assert found.views[0].scaling_reason == "one column has more than 99% of the variance"
    assert "scaling: view0: directions (one column has more than 99% of the variance)" in str(found).splitlines()
    tamed = inspect_views([RNG.normal(size=(200, 6)) * [1, 1, 50, 1, 1, 1], RNG.normal(size=(200, 3))])
    assert tamed.problems == ()
    shares = RNG.dirichlet([1e-4, 1e-4, 1e-4, 500, 500, 1e-4], size=200)
    histograms = inspect_views([shares, RNG.normal(size=(200, 3))])
    assert histograms.views[0].scaling == "shares"


def test_a_view_without_numbers_has_no_scaling():
    found = inspect_views({"body": A, "names": np.array([["x"]] * len(A))})
    assert [(view.scaling is None, view.scaling_reason is None) for view in found.views] == [(False,) * 2, (True,) * 2]
    assert [line.split(":")[1] for line in str(found).splitlines() if line.startswith("scaling")] == [" body"]


@pytest.mark.parametrize("name", ["MSRC-v5.mat", "Handwritten4.mat", "Reuters600.mat"])
def test_the_scaling_is_the_one_that_a_fit_takes(benchmark_file, name):
    views = read_views(benchmark_file(name))
    found = inspect_views(views)
    fitted = GraphEnsemble(3, n_members=1, random_state=0).fit(views)
    assert {view.name: view.scaling for view in found.views} == fitted.scaling_


def test_of_many_rows_a_sample_tells_the_scaling(monkeypatch):
    views = make_multiview(3000, 3, random_state=0)
    whole = [view.scaling for view in inspect_views(views).views]
    monkeypatch.setattr(_measure, "_MAX_SAMPLE_ROWS", 500)
    assert [view.scaling for view in inspect_views(views).views] == whole


def test_classes_and_their_order():
    views = make_multiview(60, 3, random_state=0)
    shuffled = inspect_views(views.shuffled(0))
    assert (shuffled.labels.n_classes, shuffled.labels.sorted_by_class) == (3, False)
    assert sum(size for _, size in shuffled.labels.sizes) == 60
    assert shuffled.problems == ()
    in_order = inspect_views(views.take(np.argsort(views.labels, kind="stable")))
    assert in_order.labels.sorted_by_class
    assert (
        "the rows are sorted by class. Methods that depend on the order of the rows, such as TBGL, get higher scores"
        in only(in_order, "warning")
    )
    assert "3 classes of 20 samples, rows sorted by class" in in_order.overview


@pytest.mark.parametrize(
    ("labels", "text"),
    [
        (np.zeros(30), "None: all samples have the same label, so scores are meaningless."),
        (np.arange(30), "None: 30 classes of 30 samples: are the labels ids rather than classes?"),
    ],
)
def test_labels_that_cannot_be_meant(labels, text):
    assert only(inspect_views(Views([A, B], labels=labels)), "warning") == text


def test_labels_of_any_kind():
    labels = np.array(["a", 1, None] * 10, dtype=object)
    found = inspect_views(Views([A, B], labels=labels))
    assert dict(found.labels.sizes) == {"a": 10, "1": 10}
    assert found.labels.n_missing == 10
    assert found.overview.endswith("; 2 classes of 10 samples, 10 samples without a class")
    assert inspect_views(Views([A, B], labels=np.full(30, np.nan))).labels is None


def test_ids_that_occur_twice():
    ids = np.array([f"sample {i % 28}" for i in range(30)])
    found = inspect_views(Views([A, B], sample_ids=ids))
    assert found.has_ids
    assert "repeated ids: 2 of 30, for example 'sample 0'" in only(found, "warning")
    assert inspect_views(Views([A, B], sample_ids=np.arange(30))).problems == ()
    assert not inspect_views([A, B]).has_ids


def test_the_most_serious_comes_first():
    views = Views([np.c_[A, np.ones(30)], changed(1, 1, np.nan)], labels=np.arange(30) // 10)
    levels = [problem["level"] for problem in inspect_views(views).problems]
    assert levels == ["error", "warning", "note"]


def test_many_samples_get_a_word_on_memory():
    many = RNG.random((20_000, 2))
    assert "need 3 GB for every matrix of all pairs of samples" in only(inspect_views([many, many**2]), "note")


def test_nothing_is_changed():
    views = Views([GONE.copy(), sparse_with(np.nan)], sample_ids=np.arange(30), present=np.ones((30, 2), dtype=bool))
    before = GONE.copy(), sparse_with(np.nan)
    inspect_views(views)
    np.testing.assert_array_equal(views.arrays[0], before[0])
    np.testing.assert_array_equal(views.arrays[1].data, before[1].data)


def test_facts_are_frozen():
    found = inspect_views([A, B])
    with pytest.raises(AttributeError):
        found.n_samples = 3
    assert replace(found, n_samples=1).problems[0]["level"] == "error"


@pytest.mark.parametrize(
    ("numbers", "is_counter"),
    [
        (np.arange(30) + 1, True),
        (np.random.default_rng(0).permutation(30), True),
        (np.delete(np.arange(31), 7) + 100, True),  # one is missing
        (np.arange(30) * 2, False),
        (np.arange(30) // 2, False),
        (np.arange(30) + 0.5 * (np.arange(30) == 3), False),
    ],
    ids=["rows", "shuffled", "with a gap", "even", "repeated", "not whole"],
)
def test_a_feature_that_counts_the_samples_is_a_problem(numbers, is_counter):
    table = pd.DataFrame({"height": A[:, 0], "mouse": numbers, "weight": A[:, 1]})
    found = inspect_views({"body": table, "b": B})
    assert found.views[0].first_counters == (("mouse",) if is_counter else ())
    assert any("column 'mouse': distinct whole numbers" in text for text in texts(found, "warning")) == is_counter


def test_ranks_are_no_counters():
    ranks = np.argsort(np.argsort(A, axis=0), axis=0)
    assert inspect_views([ranks, B]).views[0].counter_columns == 0


def test_samples_and_columns_are_named_where_they_have_names():
    table = pd.DataFrame(changed(5, 2, np.nan), index=[f"s{i}" for i in range(30)], columns=list("uvwxyz"))
    table["y"] = 1.0
    found = inspect_views({"a": A, "t": table})
    assert (
        "t: single values are missing (NaN): 1 of 180, the first at sample 's5', column 'w'."
        in texts(found, "error")[0]
    )
    assert found.views[1].first_constant == ("y",)
