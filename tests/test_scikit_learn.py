"""scikit-learn's own tools on `Views` and on one wide data frame."""

from __future__ import annotations

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.metrics import adjusted_rand_score, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    train_test_split,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import resample, shuffle

from manyview import GraphEnsemble, Views, ViewTransformer
from manyview.cluster import available_methods
from manyview.datasets import make_multiview

VIEWS = make_multiview(90, 3, n_views=2, n_features=[3, 4], noise=0.1, random_state=0)
VIEWS = Views(VIEWS.arrays, ("a", "b"), [f"s{i}" for i in range(90)], VIEWS.labels)
WIDE = pd.DataFrame(np.hstack(VIEWS.arrays), columns=[f"a__{j}" for j in range(3)] + [f"b__{j}" for j in range(4)])
Y = VIEWS.labels
SCORER = make_scorer(adjusted_rand_score)
DATA = pytest.mark.parametrize(("data", "sizes"), [(VIEWS, None), (WIDE, "__")], ids=["Views", "wide frame"])


def estimator(sizes=None, **parameters):
    return GraphEnsemble(**{"n_clusters": 3, "n_members": 4, "random_state": 0, "view_sizes": sizes} | parameters)


def first(data):
    """The values of the first feature, by which samples are known."""
    return (data.arrays[0] if isinstance(data, Views) else data.to_numpy())[:, 0]


@DATA
def test_samples_are_split_and_not_views(data, sizes):
    train, test, _, y_test = train_test_split(data, Y, test_size=30, random_state=0, stratify=Y)
    assert (len(train), len(test)) == (60, 30)
    assert sorted([*first(train), *first(test)]) == sorted(first(data))
    np.testing.assert_array_equal(y_test, Y[[list(first(data)).index(value) for value in first(test)]])
    model = estimator(sizes).fit(train)
    assert adjusted_rand_score(y_test, model.predict(test)) > 0.9


@pytest.mark.parametrize("tool", [shuffle, resample])
def test_shuffle_and_resample(tool):
    found, y = tool(VIEWS, Y, random_state=0)
    assert len(found) == 90
    np.testing.assert_array_equal(y, Y[[list(first(VIEWS)).index(value) for value in first(found)]])
    assert found.sample_ids[0] == f"s{list(first(VIEWS)).index(first(found)[0])}"
    np.testing.assert_array_equal(found.labels, y)


@pytest.mark.parametrize("splitter", [KFold(3), StratifiedKFold(3), ShuffleSplit(2, random_state=0)])
def test_splitters_see_the_samples(splitter):
    for train, test in splitter.split(VIEWS, Y):
        assert len(train) + len(test) <= 90
        assert len(VIEWS[train]) == len(train) > len(VIEWS[test]) > 0


@DATA
def test_cross_validation(data, sizes):
    assert cross_val_score(estimator(sizes), data, Y, cv=3, scoring=SCORER).min() > 0.8
    assert set(cross_validate(estimator(sizes), data, Y, cv=2, scoring=SCORER)) >= {"test_score", "fit_time"}
    assert cross_val_predict(estimator(sizes), data, Y, cv=3).shape == (90,)


@DATA
def test_grid_search(data, sizes):
    search = GridSearchCV(estimator(sizes), {"n_clusters": [2, 3]}, cv=2, scoring=SCORER).fit(data, Y)
    assert search.best_params_ == {"n_clusters": 3}
    assert adjusted_rand_score(Y, search.predict(data)) > 0.9


def test_grid_search_through_a_pipeline_of_views():
    steps = Pipeline([("scale", ViewTransformer(StandardScaler())), ("cluster", estimator())])
    search = GridSearchCV(steps, {"cluster__n_clusters": [2, 3]}, cv=2, scoring=SCORER, n_jobs=2).fit(VIEWS, Y)
    assert search.best_params_ == {"cluster__n_clusters": 3}


def test_column_transformer_before_one_table():
    scale = ColumnTransformer([("a", StandardScaler(), ["a__0", "a__1", "a__2"])], remainder="passthrough")
    model = make_pipeline(scale, estimator([3, 4])).fit(WIDE)
    assert adjusted_rand_score(Y, model.predict(WIDE)) > 0.9
    named = make_pipeline(scale.set_output(transform="pandas"), estimator({"a": "a__*", "b": "remainder__*"}))
    assert adjusted_rand_score(Y, named.fit(WIDE).predict(WIDE)) > 0.9


def test_function_transformer_on_views():
    halve = FunctionTransformer(lambda views: Views([array / 2 for array in views.arrays], views.names))
    assert adjusted_rand_score(Y, make_pipeline(halve, estimator()).fit_predict(VIEWS)) > 0.9


def test_output_as_pandas():
    frame = estimator().set_output(transform="pandas").fit(VIEWS).transform(VIEWS)
    assert list(frame.index) == list(VIEWS.sample_ids)
    assert list(frame.columns) == ["graphensemble0", "graphensemble1", "graphensemble2"]


def test_parameters_are_called_as_everywhere():
    model = estimator().fit(X=VIEWS, y=Y)
    np.testing.assert_array_equal(model.predict(X=VIEWS), estimator().fit_predict(X=VIEWS))
    assert model.transform(X=VIEWS).shape == (90, 3)
    requests = [name for name in dir(GraphEnsemble) if name.startswith("set_") and name.endswith("_request")]
    assert requests == []


def test_no_method_has_a_score_of_its_own():
    """So that a search without ``scoring`` is refused, and does not pick the fewest clusters by their confidence."""
    assert [method.name for method in available_methods() if hasattr(method.estimator, "score")] == []
    with pytest.raises(TypeError, match="no scoring is specified"):
        GridSearchCV(estimator(), {"n_clusters": [2, 3]}, cv=2).fit(VIEWS)


def test_metadata_routing():
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(estimator(), {"n_clusters": [2, 3]}, cv=2, scoring=SCORER)
        assert search.fit(VIEWS, Y).best_params_ == {"n_clusters": 3}


def test_clone_and_joblib(tmp_path):
    assert clone(estimator("__")).view_sizes == "__"
    joblib.dump(VIEWS, tmp_path / "views.joblib")
    again = joblib.load(tmp_path / "views.joblib")
    np.testing.assert_array_equal(again.arrays[1], VIEWS.arrays[1])
    assert joblib.hash(again) == joblib.hash(VIEWS)
    found = joblib.Parallel(2)(joblib.delayed(len)(VIEWS[rows]) for rows in (slice(10), [1, 2], Y == 0))
    assert found == [10, 2, (Y == 0).sum()]


@pytest.mark.parametrize("use", [lambda v: v[0], lambda v: list(v), lambda v: [*v], lambda v: v[1, 2]])
def test_old_code_does_not_change_its_meaning_quietly(use):
    with pytest.raises(TypeError, match=r"views\.arrays|by samples"):
        use(VIEWS)
