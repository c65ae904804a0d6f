"""Bad views and parameters: each gets its documented exception, with the culprit and the value in the text.

Bad files are in tests/io.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.utils._param_validation import InvalidParameterError

from manyview import TBGL, Views
from manyview.exceptions import ViewsError

pytestmark = pytest.mark.filterwarnings("ignore::manyview.exceptions.OrderDependenceWarning")

RNG = np.random.default_rng(0)
A, B = RNG.random((30, 4)), RNG.random((30, 6))


def changed(row, column, value, dtype=float):
    table = B.astype(dtype)
    table[row, column] = value
    return table


def sparse_with(value):
    table = sp.csr_array(B * (B > 0.3))
    table.data[0] = value
    return table


CELLS = np.empty(2, dtype=object)
CELLS[:] = [A, B]

VIEWS = {
    "NaN": ([A, changed(5, 2, np.nan)], r"views\['view1'\]: contains NaN, first at row 5, column 2"),
    "inf": ({"a": A, "b": changed(0, 3, np.inf)}, r"views\['b'\]: contains infinity \(inf\), first at row 0, column 3"),
    "sparse NaN": ({"a": A, "words": sparse_with(np.nan)}, r"views\['words'\]: contains NaN, first at row 0"),
    "NaN in a frame": (
        {"a": A, "f": pd.DataFrame(changed(1, 1, np.nan))},
        r"views\['f'\]: contains NaN, first at row 1",
    ),
    "missing value in a frame": (
        {"a": A, "f": pd.DataFrame({"x": pd.array([1, None] + [3] * 28, dtype="Int64"), "y": range(30)})},
        r"views\['f'\]: contains NaN, first at row 1, column 0",
    ),
    "mismatched rows": ({"a": A, "gist": B[:29]}, r"views\['gist'\]: expected 30 rows like views\['a'\], got 29"),
    "one of three mismatched": ([A, B[:28], B], r"views\['view1'\]: expected 30 rows like the other views, got 28"),
    "features x samples": ([A.T, B.T], r"expected 4 rows .* got 6.* All views have 30 columns.* transpose"),
    "no views": ([], "expected at least one view, got none"),
    "empty dict": ({}, "expected at least one view, got none"),
    "one view": ([A], "expected at least 2 views, got 1"),
    "no rows": ([A[:0], B[:0]], "expected at least 2 samples, got n_samples=0"),
    "one sample": ([A[:1], B[:1]], r"expected at least 2 samples, got n_samples=1 \(1 sample\)"),
    "no columns": ([A, B[:, :0]], r"views\['view1'\]: Found array with 0 feature\(s\)"),
    "constant view": ({"a": A, "flat": np.full((30, 3), 7.0)}, r"views\['flat'\]: every sample has the same values"),
    "constant sparse view": ([A, sp.csr_array((30, 3))], r"views\['view1'\]: every sample has the same values"),
    "complex": ([A, B + 1j], r"views\['view1'\]: expected real numbers, got dtype complex128"),
    "strings": ([A, B.astype(str)], r"views\['view1'\]: expected numbers, got dtype <U"),
    "bytes": ([A, B.astype("S5")], r"views\['view1'\]: expected numbers, got dtype \|S5"),
    "dates": (
        [A, np.full((30, 2), np.datetime64("2024-01-01"))],
        r"views\['view1'\]: expected numbers, got dtype datetime",
    ),
    "objects that are no numbers": ([A, changed(0, 0, "red", object)], r"views\['view1'\]: could not convert string"),
    "text column in a frame": (
        {"a": A, "f": pd.DataFrame({"x": range(30), "city": ["Oslo"] * 30})},
        r"views\['f'\]: expected numeric columns, but 'city'",
    ),
    "3-D view": ([A, B[:, :, None]], r"views\['view1'\]: expected a 2-D array \(samples x features\), got 3-D"),
    "1-D view": ([A, B[:, 0]], r"views\['view1'\]: expected a 2-D array \(samples x features\), got 1-D"),
    "ragged first": ([[[1.0, 2.0], [3.0]], A], r"views\['view0'\]: the rows have different lengths"),
    "ragged": ([A, [[1.0, 2.0], [3.0]]], r"views\['view1'\]: the rows have different lengths"),
    "one array": (A, r"expected several views, got one array of shape \(30, 4\).*view_sizes="),
    "one frame": (pd.DataFrame(A), r"expected several views, got one array of shape \(30, 4\)"),
    "one sparse matrix": (sp.csr_array(A), r"expected several views, got one array of shape \(30, 4\)"),
    "stack of views": (np.stack([A, A]), r"expected several views, got one array of shape \(2, 30, 4\)"),
    "list of numbers": ([1.0, 2.0], r"expected several views, got one array of shape \(2,\)"),
    "a path": ("data.mat", "expected arrays, got the text 'data.mat'.*read_views"),
    "nothing": (None, "expected a list or dict of 2-D arrays, got builtins.NoneType"),
    "a cell array": (CELLS, r"got an object array of shape \(2,\)"),
}


@pytest.mark.parametrize("case", VIEWS)
def test_bad_views(case):
    views, message = VIEWS[case]
    with pytest.raises(ViewsError, match=message):
        TBGL(2).fit(views)


def test_objects_without_a_number_are_a_type_error():
    with pytest.raises(TypeError, match=r"views\['view1'\]: expected numbers.*must be a string or a real number"):
        TBGL(2).fit([A, changed(0, 0, {}, object)])


PARAMETERS = {
    "K = 0": ({"n_clusters": 0}, "'n_clusters' parameter of TBGL must be an int .* Got 0"),
    "K negative": ({"n_clusters": -3}, "'n_clusters'.*Got -3"),
    "K not whole": ({"n_clusters": 2.5}, "'n_clusters'.*Got 2.5"),
    "K as text": ({"n_clusters": "two"}, "'n_clusters'.*Got 'two'"),
    "p = 0": ({"p": 0.0}, "'p'.*Got 0.0"),
    "p > 1": ({"p": 1.5}, "'p'.*Got 1.5"),
    "p NaN": ({"p": np.nan}, "'p'.*Got nan"),
    "negative noise weight": ({"noise_weight": -1e-3}, "'noise_weight'.*Got -0.001"),
    "negative sparsity weight": ({"sparsity_weight": -1}, "'sparsity_weight'.*Got -1"),
    "negative connectivity weight": ({"connectivity_weight": -2.0}, "'connectivity_weight'.*Got -2.0"),
    "unknown axis": ({"tensor_axis": "sample"}, "'tensor_axis'.*Got 'sample'"),
    "unknown norm": ({"norm_scale": "text"}, "'norm_scale'.*Got 'text'"),
    "unknown anchors": ({"anchors": "best"}, "'anchors'.*Got 'best'"),
    "unknown scaling": ({"scaling": "zscore"}, "'scaling'.*Got 'zscore'"),
    "no anchors": ({"n_anchors": 0}, "'n_anchors'.*Got 0"),
    "share above 1": ({"n_anchors": 1.2}, "'n_anchors'.*Got 1.2"),
    "no neighbours": ({"n_neighbors": 0}, "'n_neighbors'.*Got 0"),
    "no passes": ({"max_iter": 0}, "'max_iter'.*Got 0"),
    "negative tolerance": ({"tol": -1e-3}, "'tol'.*Got -0.001"),
    "negative jobs": ({"n_jobs": -1}, "'n_jobs'.*Got -1"),
    "seed as text": ({"random_state": "x"}, "'random_state'.*Got 'x'"),
}


@pytest.mark.parametrize("case", PARAMETERS)
def test_bad_parameters(case):
    parameters, message = PARAMETERS[case]
    with pytest.raises(InvalidParameterError, match=message):
        TBGL(**{"n_clusters": 2, **parameters}).fit([A, B])


TOGETHER = {
    "K > n": ({"n_clusters": 31}, [A, B], "n_clusters=31 is more than there are samples: n_samples=30"),
    "K > distinct rows": (
        {"n_clusters": 5},
        [np.repeat(A[:4], 8, axis=0), np.repeat(B[:4], 8, axis=0)],
        "n_clusters=5 is more than there are different samples: all but 4 of the 32 rows",
    ),
    "m < K": (
        {"n_clusters": 8, "n_anchors": 6},
        [A, B],
        "n_anchors=6 gives 6 anchors .* n_clusters=8 needs at least 9",
    ),
    "share gives m < K": ({"n_clusters": 8, "n_anchors": 0.2}, [A, B], "n_anchors=0.2 gives 6 anchors"),
    "m > n": ({"n_anchors": 31}, [A, B], "n_anchors=31 is more than there are samples: n_samples=30"),
    "anchors out of range": ({"anchors": [0, 5, 30]}, [A, B], "anchors: sample index 30 is not between 0 and 29"),
    "negative anchors": ({"anchors": [0, 5, -1]}, [A, B], "anchors: sample index -1 is not between 0 and 29"),
    "anchors twice": ({"anchors": [0, 5, 5, 7]}, [A, B], "anchors: sample index 5 is listed more than once"),
    "anchors as mask": (
        {"anchors": [True, False, True]},
        [A, B],
        "anchors: expected a 1-D list of sample indices, got bool",
    ),
    "too few own anchors": ({"anchors": [1, 2]}, [A, B], "anchors lists 2 samples; n_clusters=2 needs at least 3"),
    "view sizes do not add up": ({"view_sizes": [4, 5]}, np.hstack([A, B]), r"\[4, 5\] add up to 9 .* n_features=10"),
    "view size zero": (
        {"view_sizes": [10, 0]},
        np.hstack([A, B]),
        r"expected positive integers, one per view, got \[10, 0\]",
    ),
    "more views than columns": (
        {"view_sizes": 11},
        np.hstack([A, B]),
        "cannot cut n_features=10 columns into 11 views",
    ),
    "view sizes for a dict": ({"view_sizes": 2}, {"a": A, "b": B}, "view_sizes: only for one 2-D array"),
    "view sizes for a list": ({"view_sizes": 2}, [A, B], "view_sizes: only for one 2-D array"),
}


@pytest.mark.parametrize("case", TOGETHER)
def test_parameters_that_do_not_fit_the_views(case):
    parameters, views, message = TOGETHER[case]
    with pytest.raises(ViewsError, match=message):
        TBGL(**{"n_clusters": 2, **parameters}).fit(views)


CONTAINERS = {
    "names too few": (lambda: Views([A, B], names=["a"]), r"names: expected one per view \(2\), got 1"),
    "names repeated": (lambda: Views([A, B], names=["a", "a"]), "got 'a' more than once"),
    "labels too short": (lambda: Views([A, B], labels=[1, 2]), r"labels: expected one value per sample.*got \(2,\)"),
    "ids 2-D": (lambda: Views([A, B], sample_ids=A), r"sample_ids: expected one value per sample.*got \(30, 4\)"),
}


@pytest.mark.parametrize("case", CONTAINERS)
def test_bad_containers(case):
    make, message = CONTAINERS[case]
    with pytest.raises(ViewsError, match=message):
        make()


def test_duplicate_rows_are_fine_while_enough_are_different():
    rows = np.repeat(np.arange(10), 3)
    labels = TBGL(2, n_neighbors=3).fit([A[rows], B[rows]]).labels_
    assert set(labels) == {0, 1}


@pytest.mark.parametrize("parameters", [{"n_clusters": 40}, {"n_clusters": 8, "n_anchors": 6}], ids=["early", "late"])
def test_a_failed_fit_leaves_the_estimator_unfitted(parameters):
    model = TBGL(**parameters)
    with pytest.raises(ViewsError):
        model.fit([A, B])
    assert not [name for name in vars(model) if name.endswith("_")]
