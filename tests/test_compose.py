from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler

from manyview import Views, ViewTransformer, check_views
from manyview.exceptions import ViewsError


@pytest.fixture
def views():
    rng = np.random.default_rng(0)
    return Views(
        [rng.normal(5, 3, (12, 4)), sp.csr_array(rng.poisson(0.7, (12, 6)))],
        ["gist", "words"],
        sample_ids=[f"s{i}" for i in range(12)],
        labels=np.arange(12) % 3,
    )


@pytest.fixture
def missing(views):
    """Samples 1 and 4 lack gist, sample 7 lacks words; the values in their rows must not be looked at."""
    present = np.ones((12, 2), dtype=bool)
    present[[1, 4], 0] = present[7, 1] = False
    gist = views["gist"].copy()
    gist[[1, 4]] = 1e9
    return Views([gist, views["words"]], views.names, views.sample_ids, views.labels, present)


def test_each_view_has_its_own_transformer(views):
    result = ViewTransformer({"gist": StandardScaler(), "words": TfidfTransformer()}).fit_transform(views)
    assert isinstance(result, Views)
    assert isinstance(result["words"], sp.csr_array)
    np.testing.assert_allclose(result["gist"], StandardScaler().fit_transform(views["gist"]))
    np.testing.assert_allclose(
        result["words"].toarray(), TfidfTransformer().fit_transform(views["words"].astype(float)).toarray()
    )
    assert result.names == views.names
    np.testing.assert_array_equal(result.sample_ids, views.sample_ids)
    np.testing.assert_array_equal(result.labels, views.labels)


def test_one_for_all_is_cloned_for_each(views):
    scaler = StandardScaler(with_mean=False)
    model = ViewTransformer(scaler).fit(views)
    assert not hasattr(scaler, "scale_")
    assert [model.transformers_[name].n_features_in_ for name in views.names] == [4, 6]
    assert model.view_names_ == ("gist", "words")
    assert model.view_sizes_ == {"gist": 4, "words": 6}
    assert model.n_features_in_ == 10


def test_one_pipeline_for_all_is_one_transformer(views):
    result = ViewTransformer(make_pipeline(StandardScaler(with_mean=False), PCA(2))).fit_transform(views)
    assert result.n_features == (2, 2)


def test_a_sequence_has_one_per_view(views):
    result = ViewTransformer([PCA(3), "passthrough"]).fit_transform(views)
    assert result.n_features == (3, 6)
    np.testing.assert_array_equal(result["words"].toarray(), views["words"].toarray())


@pytest.mark.parametrize(
    ("transformers", "remainder", "names"),
    [
        ({"gist": PCA(2)}, "passthrough", ("gist", "words")),
        ({"gist": PCA(2)}, "drop", ("gist",)),
        ({"gist": "drop"}, "passthrough", ("words",)),
        ({"words": "passthrough"}, "drop", ("words",)),
    ],
)
def test_the_remainder(views, transformers, remainder, names):
    model = ViewTransformer(transformers, remainder=remainder)
    assert model.fit_transform(views).names == names
    assert model.transform(views).names == names


def test_names_of_columns_end_where_a_transformer_makes_others(views):
    ages = pd.DataFrame({"age": range(12)})
    frame = pd.DataFrame(views["gist"], columns=list("abcd"))
    given = Views([frame, views["words"]], views.names, feature_names=[None, list("uvwxyz")], metadata=ages)
    for transformers in ({"gist": PCA(2)}, {"words": "drop"}, {"gist": "drop"}):
        model = ViewTransformer(transformers).fit(given)
        for result in (model.transform(given), model.fit_transform(given)):
            assert len(result.feature_names) == result.n_views
            assert result.metadata is ages


def test_transform_uses_what_the_fit_has_learned(views):
    model = ViewTransformer({"gist": StandardScaler()}).fit(views.take(range(6)))
    expected = StandardScaler().fit(views["gist"][:6]).transform(views["gist"][6:])
    np.testing.assert_allclose(model.transform(views.take(range(6, 12)))["gist"], expected)
    np.testing.assert_allclose(model.transform(views.take([6]))["gist"], expected[:1])


def test_new_samples_may_come_with_some_of_the_views_in_any_order(views):
    model = ViewTransformer({"gist": StandardScaler()}).fit(views)
    whole = model.transform(views)
    some = model.transform({"gist": views["gist"]})
    assert some.names == ("gist",)
    np.testing.assert_array_equal(some["gist"], whole["gist"])
    turned = model.transform({"words": views["words"], "gist": views["gist"]})
    assert turned.names == ("words", "gist")
    np.testing.assert_array_equal(turned["gist"], whole["gist"])


def test_missing_views_are_neither_learned_from_nor_transformed(missing):
    model = ViewTransformer({"gist": StandardScaler(), "words": TfidfTransformer()})
    result = model.fit_transform(missing)
    there = missing.present[:, 0]
    np.testing.assert_allclose(result["gist"][there], StandardScaler().fit_transform(missing["gist"][there]))
    assert not result["gist"][~there].any()
    assert not result["words"].toarray()[7].any()
    assert sp.issparse(result["words"])
    np.testing.assert_array_equal(result.present, missing.present)
    np.testing.assert_allclose(model.transform(missing)["gist"], result["gist"])


def test_a_row_of_nan_is_a_missing_view(views):
    gist = views["gist"].copy()
    gist[3] = np.nan
    result = ViewTransformer({"gist": PCA(2)}).fit_transform({"gist": gist, "words": views["words"]})
    assert not result.present[3, 0]
    assert result.present.sum() == 23
    np.testing.assert_array_equal(result["gist"][3], [0, 0])


@pytest.mark.parametrize(("name", "sparse"), [("gist", False), ("words", True)])
def test_a_view_that_no_new_sample_has_keeps_its_width_and_kind(views, name, sparse):
    model = ViewTransformer({"gist": PCA(3), "words": TfidfTransformer()}).fit(views)
    few = views.take([0, 1])
    present = np.array([[other != name for other in views.names]] * 2)
    result = model.transform(Views(few.arrays, few.names, present=present))
    assert result.n_features == (3, 6)
    assert sp.issparse(result[name]) == sparse
    np.testing.assert_array_equal(result.present, present)


def test_gaps_are_left_to_the_transformer(views):
    gist = views["gist"].copy()
    gist[3, 1] = np.nan
    result = ViewTransformer({"gist": SimpleImputer()}).fit_transform({"gist": gist, "words": views["words"]})
    assert result["gist"][3, 1] == pytest.approx(np.nanmean(gist[:, 1]))
    assert result.present is None


def test_y_is_passed_for_the_samples_that_are_there(missing):
    class RemembersY(TransformerMixin, BaseEstimator):
        def fit(self, X, y=None):
            self.y_ = y
            return self

        def transform(self, X):
            return X

    y = list(range(12))
    fitted = ViewTransformer(RemembersY()).fit(missing, y).transformers_
    assert fitted["gist"].y_.tolist() == [0, 2, 3, 5, 6, 7, 8, 9, 10, 11]
    assert ViewTransformer(RemembersY()).fit(missing).transformers_["gist"].y_ is None
    complete = Views(missing.arrays, missing.names)
    assert ViewTransformer(RemembersY()).fit(complete, y).transformers_["gist"].y_ is y


def test_y_reaches_a_selection_of_features(views):
    result = ViewTransformer({"gist": SelectKBest(k=1)}).fit_transform(views, views.labels)
    assert result.n_features == (1, 6)


def test_the_own_fit_transform_is_used_where_there_is_one():
    class OnlyTogether(TransformerMixin, BaseEstimator):
        def fit(self, X, y=None):
            raise AssertionError("fit_transform is there")

        def fit_transform(self, X, y=None):
            return X + 1

        def transform(self, X):
            return X

    class OnlyApart(BaseEstimator):
        def fit(self, X, y=None):
            self.first_ = X[0]
            return self

        def transform(self, X):
            return X - self.first_

    table = np.random.default_rng(0).random((5, 2))
    result = ViewTransformer([OnlyTogether(), OnlyApart()]).fit_transform([table, table])
    np.testing.assert_array_equal(result.arrays[0], table + 1)
    np.testing.assert_array_equal(result.arrays[1], table - table[0])


def test_frames_in_arrays_out(views):
    ids = [f"s{i}" for i in range(12)]
    frames = {"a": pd.DataFrame(views["gist"], index=ids), "b": pd.DataFrame(views["words"].toarray(), index=ids)}
    model = ViewTransformer(StandardScaler().set_output(transform="pandas"))
    result = model.fit_transform(frames)
    assert all(type(array) is np.ndarray for array in result.arrays)
    assert result.sample_ids.tolist() == ids
    np.testing.assert_allclose(result["a"], StandardScaler().fit_transform(views["gist"]))


def two_levels(views):
    ids = [f"s{i}" for i in range(12)]
    present = np.ones((12, 2), dtype=bool)
    present[3, 1] = False
    return Views([views["gist"], views["words"].toarray()], ("gist", "words"), ids, views.labels, present)


def test_output_as_one_data_frame_with_two_levels(views):
    given = two_levels(views)
    model = ViewTransformer({"gist": PCA(2)}).set_output(transform="pandas")
    frame = model.fit_transform(given)
    plain = ViewTransformer({"gist": PCA(2)}).fit_transform(given)
    assert isinstance(frame, pd.DataFrame)
    assert frame.index.tolist() == given.sample_ids.tolist()
    assert frame["gist"].columns.tolist() == ["pca0", "pca1"]
    assert frame["words"].columns.tolist() == [str(j) for j in range(6)]
    np.testing.assert_array_equal(frame["gist"], plain["gist"])
    assert frame["words"].isna().all(axis=1).tolist() == [row == 3 for row in range(12)]
    pd.testing.assert_frame_equal(model.transform(given), frame)
    pd.testing.assert_frame_equal(clone(model).fit(given).transform(given), frame)
    again = check_views(frame)
    assert again.names == plain.names
    np.testing.assert_array_equal(again.present, plain.present)
    np.testing.assert_array_equal(again["words"], plain["words"])
    assert again.sample_ids.tolist() == plain.sample_ids.tolist()


def test_output_keeps_names_that_features_have(views):
    frames = {"a": pd.DataFrame(views["gist"], columns=list("wxyz")), "b": pd.DataFrame(views["gist"])}
    model = ViewTransformer({"b": FunctionTransformer(lambda values: values[:, :2])}).set_output(transform="pandas")
    frame = model.fit_transform(frames)
    assert frame["a"].columns.tolist() == list("wxyz")
    assert frame["b"].columns.tolist() == ["functiontransformer0", "functiontransformer1"]


def test_output_follows_the_configuration_of_scikit_learn(views):
    given = two_levels(views)
    with sklearn.config_context(transform_output="pandas"):
        assert isinstance(ViewTransformer(StandardScaler()).fit_transform(given), pd.DataFrame)
        kept = ViewTransformer(StandardScaler()).set_output(transform="default")
        assert isinstance(kept.set_output().fit_transform(given), Views)
    with (
        sklearn.config_context(transform_output="polars"),
        pytest.raises(ValueError, match=r"'polars' of scikit-learn: ViewTransformer returns Views or data frames"),
    ):
        ViewTransformer("passthrough").fit_transform(given)


def test_output_that_cannot_be_had_is_refused(views):
    with pytest.raises(ValueError, match=r"transform: expected one of 'default', 'pandas', got 'polars'"):
        ViewTransformer(StandardScaler()).set_output(transform="polars")
    with pytest.raises(ValueError, match=r"views\['words'\]: the output is sparse, which data frames are not"):
        ViewTransformer("passthrough").set_output(transform="pandas").fit_transform(views)


def test_one_table_with_view_sizes():
    table = pd.DataFrame(np.random.default_rng(0).random((8, 5)), index=list("abcdefgh"))
    result = ViewTransformer([PCA(1), "passthrough"], view_sizes=[2, 3]).fit_transform(table)
    assert result.n_features == (1, 3)
    assert result.sample_ids.tolist() == list("abcdefgh")


def test_as_a_step_of_a_pipeline(views):
    steps = Pipeline(
        [("scale", ViewTransformer({"gist": StandardScaler()})), ("cut", ViewTransformer({"gist": PCA(2)}))]
    )
    assert steps.fit_transform(views).n_features == (2, 6)
    steps.set_params(cut__gist__n_components=3)
    assert steps.fit_transform(views).n_features == (3, 6)
    frame = steps.set_output(transform="pandas").fit_transform(two_levels(views))
    assert check_views(frame).n_features == (3, 6)


def test_parameters_by_the_name_of_the_view():
    model = ViewTransformer({"gist": StandardScaler(), "words": "passthrough"})
    params = model.get_params()
    assert params["gist__with_mean"] is True
    assert params["words"] == "passthrough"
    assert set(model.get_params(deep=False)) == {"transformers", "remainder", "view_sizes"}
    model.set_params(gist__with_mean=False, remainder="drop")
    assert model.transformers["gist"].with_mean is False
    assert model.remainder == "drop"
    before = model.transformers
    model.set_params(words=MinMaxScaler(), words__clip=True)
    assert model.transformers["words"].clip is True
    assert before["words"] == "passthrough"  # the user's own dict stays as it is
    model.set_params(transformers={"other": PCA(2)}, other__n_components=1)
    assert model.get_params()["other__n_components"] == 1
    with pytest.raises(ValueError, match="Invalid parameter 'nothing'"):
        model.set_params(nothing=1)


def test_parameters_of_a_sequence_and_of_one_for_all():
    model = ViewTransformer([PCA(2), PCA(3)]).set_params(view1__n_components=1, view0=StandardScaler())
    assert model.get_params()["view1__n_components"] == 1
    assert isinstance(model.transformers[0], StandardScaler)
    assert ViewTransformer(PCA(2)).set_params(transformers__n_components=1).transformers.n_components == 1


@pytest.mark.parametrize("transformers", [StandardScaler(), {"gist": PCA(2)}, [PCA(2), "drop"]], ids=type)
def test_a_clone_shares_nothing(views, transformers):
    model = ViewTransformer(transformers, remainder="drop").fit({"gist": views["gist"], "more": views["gist"]})
    copy = clone(model)
    assert not hasattr(copy, "transformers_")
    assert repr(copy) == repr(model)
    ours, theirs = model._by_name() or {"": transformers}, copy._by_name() or {"": copy.transformers}
    assert all(ours[name] is not theirs[name] for name in ours if not isinstance(ours[name], str))


class Returns(TransformerMixin, BaseEstimator):
    def __init__(self, output):
        self.output = output

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return self.output


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (ViewTransformer({"colour": PCA(2)}), "there is no view 'colour'; the views are gist, words"),
        (ViewTransformer([PCA(2)]), r"expected one per view \(2: gist, words\), got 1"),
        (
            ViewTransformer({"gist": StandardScaler}),
            "for view 'gist' expected an object with fit and transform, .* got",
        ),
        (ViewTransformer({"gist": "scale"}), "'passthrough' or 'drop', got 'scale'"),
        (ViewTransformer(3), "for view 'gist' expected an object with fit and transform"),
        (ViewTransformer({}, remainder="keep"), "remainder: expected 'passthrough' or 'drop', got 'keep'"),
        (ViewTransformer({}, remainder="drop"), r"every view is dropped \(gist, words\)"),
        (ViewTransformer({"gist": Returns(np.ones(12))}), r"views\['gist'\]: expected Returns to return a 2-D .* 1-D"),
        (
            ViewTransformer({"gist": Returns(np.ones((11, 2)))}),
            r"views\['gist'\]: expected Returns to return a row for each of 12 samples, got 11 rows",
        ),
        (ViewTransformer(PCA(2), view_sizes=2), "view_sizes: only for one 2-D array"),
    ],
)
def test_what_cannot_be_fitted_is_told(views, model, message):
    with pytest.raises(ViewsError, match=message):
        model.fit(views)
    assert not hasattr(model, "transformers_")


def test_a_view_with_the_name_of_a_parameter():
    table = np.random.default_rng(0).random((5, 2))
    with pytest.raises(ViewsError, match="'remainder' is the name of a parameter"):
        ViewTransformer({"remainder": PCA(1)}).fit({"remainder": table})


def test_a_view_that_nobody_has_cannot_be_fitted(views):
    present = np.tile([True, False], (12, 1))
    with pytest.raises(ViewsError, match=r"views\['words'\]: no sample has this view"):
        ViewTransformer(StandardScaler()).fit(Views(views.arrays, views.names, present=present))


def test_other_views_than_at_the_fit(views):
    model = ViewTransformer(StandardScaler(with_mean=False))
    with pytest.raises(NotFittedError):
        model.transform(views)
    model.fit(views)
    with pytest.raises(ViewsError, match=r"views\['colour'\]: there was no such view in fit; there were gist, words"):
        model.transform({"colour": views["gist"]})
    with pytest.raises(ViewsError, match=r"views\['gist'\]: expected 4 features, as in fit, got 3"):
        model.transform({"gist": views["gist"][:, :3]})
    with pytest.raises(ViewsError, match=r"expected 2 views, as in fit, got 1\. .* in a dict; they are gist, words"):
        model.transform([views["gist"]])


def test_a_list_is_taken_for_the_fitted_views_in_their_order(views):
    model = ViewTransformer(StandardScaler(with_mean=False)).fit(views)
    result = model.transform(list(views.arrays))
    assert result.names == ("gist", "words")
    np.testing.assert_array_equal(result["gist"], model.transform(views)["gist"])
    with pytest.raises(ViewsError, match=r"views\['gist'\]: expected 4 features, as in fit, got 6"):
        model.transform(list(views.arrays)[::-1])


def test_an_error_of_a_transformer_says_of_which_view(views):
    with pytest.raises(ValueError, match="Cannot center sparse matrices") as caught:
        ViewTransformer(StandardScaler()).fit(views)
    assert caught.value.__notes__ == ["Raised by StandardScaler, the transformer of views['words']."]
