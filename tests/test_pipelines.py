"""Views in scikit-learn's pipelines, grid searches and cross validation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from manyview import GraphEnsemble, Views, ViewTransformer

SIZES = (4, 3)


@pytest.fixture(scope="module")
def views():
    """Three clusters, in views of which the first has a column that drowns the others unless it is scaled."""
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat([0, 1, 2], 20))
    centres = [rng.normal(0, 6, (3, size)) for size in SIZES]
    arrays = [rng.normal(centre[labels]) for centre in centres]
    arrays[0][:, 0] = rng.normal(0, 1000, 60)
    return Views(arrays, ["gist", "colour"], sample_ids=[f"s{i}" for i in range(60)], labels=labels)


@pytest.fixture(scope="module")
def table(views):
    """All views side by side, which scikit-learn can cut into folds."""
    return np.hstack(views.arrays)


def pipeline(**options):
    return Pipeline(
        [
            ("scale", ViewTransformer(StandardScaler(), **options)),
            ("cluster", GraphEnsemble(3, n_members=8, random_state=0)),
        ]
    )


def test_fit_predict_is_scaling_then_clustering(views):
    labels = pipeline().fit_predict(views)
    scaled = [StandardScaler().fit_transform(view) for view in views.arrays]
    np.testing.assert_array_equal(labels, GraphEnsemble(3, n_members=8, random_state=0).fit(scaled).labels_)
    assert adjusted_rand_score(views.labels, labels) > 0.9


def test_new_samples_are_scaled_as_the_old_ones(views):
    old, new = views.take(range(45)), views.take(range(45, 60))
    model = pipeline().fit(old)
    assert adjusted_rand_score(new.labels, model.predict(new)) > 0.9
    one_by_one = [model.predict(new.take([row]))[0] for row in range(15)]
    np.testing.assert_array_equal(one_by_one, model.predict(new))


def test_new_samples_with_one_of_the_views(views):
    model = pipeline().fit(views.take(range(45)))
    new = views.take(range(45, 60))
    found = model.predict({"colour": new["colour"]})
    assert adjusted_rand_score(new.labels, found) > 0.7


def test_samples_without_all_views_go_through(views):
    present = np.ones((60, 2), dtype=bool)
    present[::6, 0] = present[3::6, 1] = False
    some = Views(views.arrays, views.names, views.sample_ids, views.labels, present)
    assert adjusted_rand_score(views.labels, pipeline().fit_predict(some)) > 0.7


@pytest.mark.parametrize("where", ["transformer", "estimator"])
def test_cross_validation_through_view_sizes(views, table, where):
    if where == "transformer":
        model = pipeline(view_sizes=SIZES)
    else:
        model = make_pipeline(StandardScaler(), GraphEnsemble(3, n_members=8, view_sizes=SIZES, random_state=0))
    folds = KFold(3, shuffle=True, random_state=0)
    scores = cross_val_score(model, table, views.labels, cv=folds, scoring="adjusted_rand_score", error_score="raise")
    assert scores.min() > 0.7


def test_a_grid_search_reaches_both_steps(views, table):
    grid = {
        "scale__view0": [StandardScaler(), "passthrough"],
        "cluster__n_clusters": [2, 3],
    }
    model = Pipeline(
        [
            ("scale", ViewTransformer([StandardScaler(), StandardScaler()], view_sizes=SIZES)),
            ("cluster", GraphEnsemble(2, n_members=8, random_state=0)),
        ]
    )
    folds = KFold(2, shuffle=True, random_state=0)
    search = GridSearchCV(model, grid, scoring="adjusted_rand_score", cv=folds, error_score="raise")
    search.fit(table, views.labels)
    assert search.best_params_["cluster__n_clusters"] == 3
    assert isinstance(search.best_params_["scale__view0"], StandardScaler)
    assert adjusted_rand_score(views.labels, search.predict(table)) > 0.9


@pytest.mark.parametrize("what", ["estimator", "frame", "views"])
def test_the_embedding_as_a_frame_has_the_ids_of_the_samples(views, table, what):
    frame = pd.DataFrame(table, index=views.sample_ids)
    model, given = {
        "estimator": (make_pipeline(GraphEnsemble(3, n_members=8, view_sizes=SIZES, random_state=0)), frame),
        "frame": (pipeline(view_sizes=SIZES), frame),
        "views": (pipeline(), views),
    }[what]
    found = model.set_output(transform="pandas").fit(given).transform(given)
    assert isinstance(found, pd.DataFrame)
    assert found.shape == (60, 3)
    assert found.columns.tolist() == list(model[-1].get_feature_names_out())
    assert found.index.tolist() == views.sample_ids.tolist()
