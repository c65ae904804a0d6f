"""One table that holds several views: by names of columns, by a column index of two levels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.compose import make_column_selector

from manyview import GraphEnsemble, Views, check_views
from manyview.exceptions import ViewsError
from manyview.views.wide import cut_table

RNG = np.random.default_rng(0)
COLUMNS = ["rna__a", "protein__p", "rna__b", "protein__q", "rna__c"]
TABLE = pd.DataFrame(RNG.random((8, 5)), columns=COLUMNS, index=[f"s{i}" for i in range(8)])
RNA, PROTEIN = ["rna__a", "rna__b", "rna__c"], ["protein__p", "protein__q"]

WAYS = {
    "patterns": {"rna": "rna__*", "protein": "protein__*"},
    "lists": {"rna": RNA, "protein": PROTEIN},
    "positions": {"rna": [0, 2, 4], "protein": [1, -2]},
    "slice and mask": {"rna": slice(0, None, 2), "protein": [False, True, False, True, False]},
    "selectors": {"rna": make_column_selector("^rna"), "protein": make_column_selector("^protein")},
    "callable": {"rna": lambda frame: frame.columns.str.startswith("rna"), "protein": PROTEIN},
    "separator": "__",
}


@pytest.mark.parametrize("way", WAYS)
def test_columns_of_each_view(way):
    views = check_views(TABLE, view_sizes=WAYS[way])
    assert views.names == ("rna", "protein")
    assert views.feature_names == (tuple(RNA), tuple(PROTEIN))
    np.testing.assert_array_equal(views["rna"], TABLE[RNA])
    np.testing.assert_array_equal(views["protein"], TABLE[PROTEIN])
    assert views.sample_ids[3] == "s3"


def test_a_frame_with_two_levels_of_columns():
    frame = TABLE.copy()
    frame.columns = pd.MultiIndex.from_tuples([tuple(name.split("__")) for name in COLUMNS])
    views = check_views(frame)
    assert views.names == ("rna", "protein")
    assert views.feature_names == (("a", "b", "c"), ("p", "q"))
    np.testing.assert_array_equal(views["protein"], TABLE[PROTEIN])
    assert GraphEnsemble(2, n_members=2, random_state=0).fit(frame).view_names_ == views.names


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_arrays_by_position(make):
    views = check_views(make(TABLE.to_numpy()), view_sizes={"rna": [0, 2, 4], "protein": slice(1, 4, 2)})
    assert views.feature_names == (None, None)
    dense = views["protein"] if make is np.asarray else views["protein"].toarray()
    np.testing.assert_array_equal(dense, TABLE[PROTEIN])


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"rna": "rna__*"}, "no view takes the column 'protein__p', nor 1 more"),
        ({"rna": "rna__*", "protein": "protein__p"}, "no view takes the column 'protein__q'\\."),
        (
            {"rna": "rna__*", "protein": ["protein__p", "protein__q", "rna__a"]},
            "'rna__a' belongs to both 'rna' and 'protein'",
        ),
        ({"rna": "mrna*", "protein": PROTEIN}, "'mrna\\*' selects no column. The columns are 'rna__a'"),
        ({"rna": ["rna__x"], "protein": PROTEIN}, "there is no column 'rna__x'. The columns are"),
        ({"rna": [7], "protein": PROTEIN}, "there is no column 7; there are 5"),
        ({"rna": [True], "protein": PROTEIN}, "expected one True or False per column \\(5\\), got 1"),
        ("--", "the column 'rna__a' has no view before a '--'"),
    ],
)
def test_what_cannot_be_cut(sizes, message):
    with pytest.raises(ViewsError, match=message):
        check_views(TABLE, view_sizes=sizes)


@pytest.mark.parametrize("sizes", ["__", {"rna": "rna*", "protein": "p*"}])
def test_arrays_have_no_names_to_go_by(sizes):
    with pytest.raises(ViewsError, match="have none"):
        check_views(TABLE.to_numpy(), view_sizes=sizes)


def test_a_table_that_was_read_is_cut_by_the_names_it_had():
    whole = Views([TABLE.to_numpy()], feature_names=[COLUMNS], labels=np.arange(8) % 2)
    views = cut_table(whole, "__")
    assert views.names == ("rna", "protein")
    assert views.feature_names[1] == tuple(PROTEIN)
    np.testing.assert_array_equal(views.labels, whole.labels)
