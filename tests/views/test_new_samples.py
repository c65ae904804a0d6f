"""Features by their names: what is kept at fit, and what becomes of other orders, missing and unknown ones."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import manyview
from manyview import GraphEnsemble, Views, ViewTransformer, check_views
from manyview.datasets import make_multiview
from manyview.exceptions import ViewsError

VIEWS = make_multiview(90, 3, n_features=[4, 6, 5], noise=0.3, random_state=0)
FRAMES = {
    name: pd.DataFrame(array, columns=[f"{name}.{j}" for j in range(array.shape[1])]) for name, array in VIEWS.items()
}
WIDE = pd.concat(FRAMES.values(), axis=1)
LEVELS = pd.concat(FRAMES, axis=1)
WAYS = {"frames": (FRAMES, None), "wide": (WIDE, [4, 6, 5]), "groups": (WIDE, "."), "levels": (LEVELS, None)}


def changed(given, change):
    """Every frame, or the only one, after the change."""
    return {name: change(frame) for name, frame in given.items()} if isinstance(given, dict) else change(given)


def reversed_columns(frame):
    return frame.iloc[:, ::-1]


@pytest.fixture(scope="module", params=WAYS)
def fitted(request):
    given, sizes = WAYS[request.param]
    return GraphEnsemble(3, n_members=4, random_state=0, view_sizes=sizes).fit(given), given


def test_names_of_features_are_kept_by_view(fitted):
    model, _ = fitted
    names = list(model.feature_names_in_.values())
    assert names == [tuple(frame.columns) for frame in FRAMES.values()]
    assert list(model.feature_names_in_) == list(model.view_names_)


@pytest.mark.parametrize("method", ["predict", "transform", "predict_confidence"])
def test_features_in_another_order_are_found_by_name(fitted, method):
    model, given = fitted
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = getattr(model, method)(given)
        np.testing.assert_array_equal(getattr(model, method)(changed(given, reversed_columns)), expected)


def test_a_loaded_model_finds_them_too(fitted, tmp_path):
    model, given = fitted
    model.save(tmp_path / "model.manyview")
    loaded = manyview.load(tmp_path / "model.manyview")
    assert loaded.feature_names_in_ == model.feature_names_in_
    np.testing.assert_array_equal(loaded.predict(changed(given, reversed_columns)), model.labels_)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.drop(columns="view1.2"), "lacks 'view1.2'"),
        (lambda frame: frame.assign(**{"view1.9": 0.0}), "has unknown 'view1.9'"),
        (lambda frame: frame.rename(columns={"view1.0": "TP53"}), "lacks 'view1.0' and has unknown 'TP53'"),
        (lambda frame: frame.iloc[:, [0, *range(frame.shape[1] - 1)]], "occurs more than once"),
    ],
    ids=["missing", "unknown", "renamed", "twice"],
)
def test_other_features_are_refused_by_name(change, message):
    for given, sizes in ((FRAMES, None), (WIDE, [4, 6, 5])):
        model = GraphEnsemble(3, n_members=4, random_state=0, view_sizes=sizes).fit(given)
        new = {**FRAMES, "view1": change(FRAMES["view1"])} if sizes is None else change(WIDE)
        with pytest.raises(ViewsError, match=message):
            model.predict(new)


def test_arrays_without_names_are_taken_with_scikit_learns_warning():
    model = GraphEnsemble(3, n_members=4, random_state=0).fit(FRAMES)
    with pytest.warns(UserWarning, match=r"does not have valid feature names, but GraphEnsemble was fitted with"):
        np.testing.assert_array_equal(model.predict(VIEWS), model.labels_)


def test_names_that_the_fit_did_not_know_are_mentioned():
    model = GraphEnsemble(3, n_members=4, random_state=0).fit(VIEWS)
    assert not hasattr(model, "feature_names_in_")
    with pytest.warns(UserWarning, match=r"has feature names, but GraphEnsemble was fitted without feature names"):
        model.predict(FRAMES)


def test_a_fit_without_names_forgets_those_of_the_one_before():
    model = GraphEnsemble(3, n_members=4, random_state=0).fit(FRAMES)
    assert not hasattr(model.fit(VIEWS), "feature_names_in_")


def test_numbers_are_no_names():
    frames = [pd.DataFrame(array) for array in VIEWS.arrays]
    assert check_views(frames).feature_names == (None, None, None)


def test_every_estimator_keeps_them():
    model = manyview.cluster.LMVSC(3, random_state=0).fit(FRAMES)
    assert model.feature_names_in_["view1"] == tuple(FRAMES["view1"].columns)


def test_some_views_by_name_and_sparse_ones():
    model = GraphEnsemble(3, n_members=12, random_state=0).fit(FRAMES)
    some = {"view1": FRAMES["view1"], "view2": FRAMES["view2"]}
    expected = model.predict(some)
    np.testing.assert_array_equal(model.predict(changed(some, reversed_columns)), expected)
    names = tuple(tuple(frame.columns[::-1]) for frame in some.values())
    turned = [sp.csr_array(frame.to_numpy()[:, ::-1]) for frame in some.values()]
    np.testing.assert_array_equal(model.predict(Views(turned, tuple(some), feature_names=names)), expected)


def test_a_transformer_finds_features_by_name():
    transformer = ViewTransformer("passthrough").fit(FRAMES)
    found = transformer.transform(changed(FRAMES, reversed_columns))
    for array, frame in zip(found.arrays, FRAMES.values(), strict=True):
        np.testing.assert_array_equal(array, frame.to_numpy())
    with pytest.raises(ViewsError, match=r"lacks 'view0.1'"):
        transformer.transform({**FRAMES, "view0": FRAMES["view0"].drop(columns="view0.1")})


def test_joined_frames_have_names():
    frames = {name: frame.set_index(pd.Index([f"s{i}" for i in range(90)])) for name, frame in FRAMES.items()}
    assert Views.from_frames(frames).feature_names[2] == tuple(FRAMES["view2"].columns)


def test_errors_name_sample_and_feature():
    frames = {name: frame.set_index(pd.Index([f"s{i}" for i in range(90)])) for name, frame in FRAMES.items()}
    frames["view1"] = frames["view1"].copy()
    frames["view1"].iloc[7, 2] = np.nan
    with pytest.raises(
        ViewsError, match=r"view1'\]: contains NaN, first at row 7 \(sample 's7'\), column 2 \('view1.2'\)"
    ):
        GraphEnsemble(3).fit(frames)
