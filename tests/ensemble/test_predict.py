"""Samples that GraphEnsemble was not fitted to, and those it was: predict, predict_confidence, transform."""

from __future__ import annotations

import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import manyview
from manyview import GraphEnsemble, Views
from manyview.datasets import drop_views, make_multiview
from manyview.ensemble import samples
from manyview.ensemble.graph import labels_of_clusters
from manyview.exceptions import UnlikeFitWarning, ViewsError
from manyview.metrics import accuracy, match_labels


def fit(views, n_clusters=3, **parameters):
    return GraphEnsemble(n_clusters, random_state=0, **{"n_members": 12, "n_jobs": 1, **parameters}).fit(views)


def found(model, views):
    return model.predict(views), model.transform(views), model.predict_confidence(views)


def assert_equal(results, expected):
    for result, other in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result, other)  # bit by bit


def dense(array):
    return array.toarray() if sp.issparse(array) else np.asarray(array)


def words(labels, seed=0):
    """Counts of 300 words, of which each class has its own."""
    rates = 0.03 + 0.3 * (np.arange(300) % 3 == labels[:, None])
    return sp.csr_array(np.random.default_rng(seed).poisson(rates) * 1.0)


def noisy():
    """Clusters that overlap: labels, confidence and coordinates are not plain."""
    return make_multiview(120, 3, n_features=[4, 6, 5], noise=0.5, random_state=0)


def mixed():
    views = noisy()
    counts = words(views.labels)
    counts = sp.csr_array(counts.multiply(np.arange(120)[:, None] > 3))  # the first ones without a word
    return Views([*views.arrays[:2], counts, np.abs(views.arrays[2])], labels=views.labels)


def duplicates():
    rows = np.concatenate([np.arange(120), [5, 5, 70, 119]])
    return noisy().take(rows)


def copies():
    views = noisy()
    return Views([views.arrays[2], *views.arrays, 1.8 * views.arrays[1] + 32], labels=views.labels)


def shares():
    """A view for every scaler that ``auto`` chooses from."""
    views, rng = noisy(), np.random.default_rng(1)
    plane = views.arrays[0][:, :2]
    return Views([rng.dirichlet(np.ones(6), 120), plane, words(views.labels), views.arrays[1]], labels=views.labels)


@pytest.fixture(scope="module", params=[noisy, mixed, duplicates, copies, shares], ids=lambda make: make.__name__)
def data(request):
    return request.param()


@pytest.fixture(scope="module")
def fitted():
    """Three views and a model of them."""
    views = noisy()
    return views, fit(views)


@pytest.fixture(scope="module")
def named():
    """Views of all sorts by name, a model of them, and new samples."""
    views = make_multiview(160, 3, n_features=[4, 6, 5], random_state=0)
    everyone = {**dict(zip("abc", views.arrays, strict=True)), "words": words(views.labels)}
    model = fit({name: array[:120] for name, array in everyone.items()})
    return model, {name: array[120:] for name, array in everyone.items()}, views.labels[120:]


# The samples of the fit -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [0.0, 0.3])
@pytest.mark.parametrize("n_members", [3, 25])
def test_fitted_samples_get_what_they_have(data, rate, n_members):
    views = drop_views(data, rate, random_state=0) if rate else data
    model = fit(views, n_members=n_members)
    own = model.labels_, model.embedding_, model.confidence_
    assert_equal(found(model, views), own)
    rows = np.random.default_rng(1).permutation(views.n_samples)[:50]
    assert_equal(found(model, views.take(rows)), [values[rows] for values in own])
    for row in (0, 17):
        assert_equal(found(model, views.take([row])), [values[[row]] for values in own])


@pytest.mark.parametrize(
    "scaling",
    [
        "max",
        "unit",
        "none",
        "counts",
        "shares",
        "directions",
        "centered",
        "standardized",
        "row-standardized",
    ],
)
def test_fitted_samples_get_what_they_have_with_any_scaling(scaling):
    views = noisy()
    views = Views([*views.arrays[:2], sp.csr_array(np.maximum(views.arrays[2], 0))])
    model = fit(views, scaling=scaling, n_members=5)
    assert_equal(found(model, views), (model.labels_, model.embedding_, model.confidence_))


@pytest.mark.parametrize("block_rows", [1, 7, 50, 120])
def test_blocks_do_not_matter(fitted, monkeypatch, block_rows):
    views, model = fitted
    monkeypatch.setattr(samples, "_block_rows", lambda *_: block_rows)
    if block_rows == 1:
        views = views.take(np.arange(9))
    n = views.n_samples
    assert_equal(found(model, views), (model.labels_[:n], model.embedding_[:n], model.confidence_[:n]))


@pytest.mark.parametrize("n_jobs", [None, 2, 3])
def test_threads_do_not_matter(fitted, n_jobs):
    model = fitted[1]
    new = make_multiview(100, 3, n_features=[4, 6, 5], noise=0.5, random_state=1)
    assert_equal(found(clone_fitted(model).set_params(n_jobs=n_jobs), new), found(model, new))


def clone_fitted(model):
    return pickle.loads(pickle.dumps(model))  # noqa: S301


# New samples ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1])
def test_new_samples_come_to_the_cluster_of_their_class(seed):
    views = make_multiview(300, 4, random_state=seed)
    old, new = views.take(slice(0, 200)), views.take(slice(200, 300))
    model = fit(old, 4)
    assert accuracy(old.labels, model.labels_) == 1.0
    class_of = {label: old.labels[model.labels_ == label][0] for label in range(4)}
    np.testing.assert_array_equal([class_of[label] for label in model.predict(new)], new.labels)
    assert model.predict_confidence(new).min() > 0.5
    some = drop_views(new, 0.4, random_state=seed)
    assert np.mean([class_of[label] for label in model.predict(some)] == new.labels) > 0.95


def test_new_texts_come_to_the_cluster_of_their_class(named):
    model, new, labels = named
    predicted = model.predict(new)
    assert accuracy(labels, predicted) == 1.0
    assert accuracy(labels, model.predict({"words": new["words"]})) > 0.9


def test_a_new_sample_does_not_depend_on_the_others(named):
    model, new, _ = named
    expected = found(model, new)
    for row in (0, 11, 39):
        alone = {name: array[[row]] for name, array in new.items()}
        assert_equal(found(model, alone), [values[[row]] for values in expected])


def test_confidence_is_lower_where_labels_are_wrong():
    views = make_multiview(600, 4, noise=0.5, random_state=0)
    model, new = fit(views.take(slice(0, 300)), 4, n_members=24), views.take(slice(300, 600))
    wrong = match_labels(new.labels, model.predict(new)) != new.labels
    confidence = model.predict_confidence(new)
    assert ((confidence >= 0) & (confidence <= 1)).all()
    assert confidence[wrong].mean() < confidence[~wrong].mean() - 0.1


# Some of the views ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", [["a", "b"], ["c"], ["words", "a"], ["c", "b", "a"]])
def test_some_views_by_name_in_any_order(named, names):
    model, new, labels = named
    some = {name: new[name] for name in names}
    expected = found(model, some)
    assert accuracy(labels, expected[0]) > 0.9
    assert_equal(found(model, {name: new[name] for name in reversed(names)}), expected)
    assert_equal(found(model, Views(list(some.values()), names)), expected)
    # the same as if the samples lacked the others
    present = np.array([[name in names for name in new]] * 40)
    assert_equal(found(model, Views(list(new.values()), list(new), present=present)), expected)


def test_rows_of_nan_are_views_that_a_sample_lacks(named):
    model, new, _ = named
    gaps = {**new, "a": new["a"].copy(), "b": new["b"].copy()}
    gaps["a"][:10], gaps["b"][5:20] = np.nan, np.nan
    results = found(model, gaps)
    for rows, names in ((slice(0, 5), ["b", "c", "words"]), (slice(5, 10), ["c", "words"]), (slice(20, 40), list(new))):
        part = {name: new[name][rows] for name in names}
        assert_equal([values[rows] for values in results], found(model, part))


def test_all_views_in_another_order(named):
    model, new, _ = named
    assert_equal(found(model, dict(reversed(new.items()))), found(model, new))


def test_copies_of_a_view_stand_for_one_another_in_whatever_unit():
    views = make_multiview(160, 3, n_views=2, n_features=[4, 6], random_state=0)
    celsius, other = views.arrays
    everyone = {"celsius": celsius, "other": other, "fahrenheit": 1.8 * celsius + 32}
    model = fit({name: array[:120] for name, array in everyone.items()})
    new = {name: array[120:] for name, array in everyone.items()}
    expected = found(model, {"celsius": new["celsius"]})
    assert accuracy(views.labels[120:], expected[0]) > 0.95
    assert_equal(found(model, {"fahrenheit": new["fahrenheit"]}), expected)
    assert_equal(found(model, dict(reversed(new.items()))), found(model, new))
    # Each sample has one of the copies, or both.
    mixed = {name: new[name].copy() for name in ("celsius", "fahrenheit")}
    mixed["celsius"][:15], mixed["fahrenheit"][20:] = np.nan, np.nan
    assert_equal(found(model, mixed), expected)


def test_copies_of_counts_stand_for_one_another():
    views = make_multiview(120, 3, n_views=1, random_state=0)
    counts = words(views.labels)
    model = fit({"counts": counts, "other": views.arrays[0], "tenfold": counts * 10})
    assert len(model._model.views.scalings) == 2
    expected = found(model, {"counts": counts})
    np.testing.assert_array_equal(model.predict({"tenfold": counts * 10}), expected[0])
    np.testing.assert_array_equal(model.predict({"tenfold": counts.toarray() * 10}), expected[0])


def test_views_that_no_graph_has_drawn():
    views = make_multiview(90, 3, n_views=4, random_state=0)
    model = fit(views, n_members=1)
    known = model._model.views
    drawn = {v for number in model._model.members[0].lists for v in known.spaces[known.numbers.index(number)].views}
    lost = [name for name, source in zip(views.names, model._model.views.source, strict=True) if source not in drawn]
    assert lost
    message = rf"the sample in row 0 has {lost[0]} only, which no graph of this model has drawn\. Give more views"
    with pytest.raises(ViewsError, match=message):
        model.predict({lost[0]: views[lost[0]]})
    present = np.ones((90, 4), dtype=bool)
    present[7] = [name == lost[0] for name in views.names]
    with pytest.raises(ViewsError, match=rf"the sample in row 7 has {lost[0]} only"):
        model.predict(Views(views.arrays, present=present))


# Formats ----------------------------------------------------------------------------------------------------------


def test_sparse_instead_of_dense_and_the_other_way(named):
    model, new, _ = named
    other = {name: array.toarray() if sp.issparse(array) else sp.csc_array(array) for name, array in new.items()}
    for result, expected in zip(found(model, other), found(model, new), strict=True):
        np.testing.assert_allclose(result, expected, atol=1e-9)


def test_lists_frames_and_other_types(fitted):
    views, model = fitted
    expected = found(model, views)
    assert_equal(found(model, list(views.arrays)), expected)
    assert_equal(found(model, tuple(np.asfortranarray(array) for array in views.arrays)), expected)
    assert_equal(found(model, [pd.DataFrame(array) for array in views.arrays]), expected)
    assert_equal(found(model, [array.tolist() for array in views.arrays]), expected)
    single = [array.astype(np.float32) for array in views.arrays]
    for result, wanted in zip(found(model, single), expected, strict=True):
        assert result.dtype == (np.float32 if wanted.dtype == float else wanted.dtype)
        np.testing.assert_allclose(result, wanted, atol=1e-4)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, pd.DataFrame])
def test_one_table_with_view_sizes(convert):
    views = noisy()
    table = np.hstack(views.arrays)
    model = fit(convert(table), view_sizes=[4, 6, 5])
    assert_equal(found(model, convert(table)), (model.labels_, model.embedding_, model.confidence_))
    assert model.predict(convert(table[:1])) == model.labels_[:1]
    gaps = table.copy()
    gaps[3, :4] = np.nan
    if convert is not sp.csr_array:
        expected = fit(views).predict(Views([gaps[:, :4], gaps[:, 4:10], gaps[:, 10:]]))
        np.testing.assert_array_equal(model.predict(convert(gaps)), expected)
    with pytest.raises(ViewsError, match="X has 14 features, but GraphEnsemble is expecting 15 features as input"):
        model.predict(convert(table[:, 1:]))


def test_the_given_arrays_stay_as_they_are(named):
    model, new, _ = named
    given = {name: array.copy() for name, array in new.items()}
    given["a"][3] = np.nan
    before = {name: dense(array).copy() for name, array in given.items()}
    found(model, given)
    for name, array in given.items():
        np.testing.assert_array_equal(dense(array), before[name])


def test_frames_as_output(fitted):
    views, model = fitted
    model = clone_fitted(model).set_output(transform="pandas")
    names = [f"graphensemble{i}" for i in range(3)]
    ids = [f"sample {i}" for i in range(120)]
    for given, index in (
        (views, range(120)),
        (list(views.arrays), range(120)),
        (Views(views.arrays, sample_ids=ids), ids),
    ):
        frame = model.transform(given)
        assert list(frame.columns) == names == list(model.get_feature_names_out())
        assert list(frame.index) == list(index)
        np.testing.assert_array_equal(frame.to_numpy(), model.embedding_)


# Keeping a model --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [0.0, 0.3])
@pytest.mark.parametrize("keep", ["pickle", "file"])
def test_a_model_that_was_kept_says_the_same(tmp_path, keep, rate):
    views = copies()
    views = Views([*views.arrays, words(views.labels)])
    model = fit(drop_views(views, rate, random_state=0) if rate else views)
    new = copies().shuffled(3)
    new = Views([*new.arrays, words(new.labels, seed=1)])
    if keep == "file":
        model.save(tmp_path / "model")
        same = manyview.load(tmp_path / "model")
    else:
        same = clone_fitted(model)
    for given in (new, drop_views(new, 0.5, random_state=1), {"view0": new.arrays[0]}):
        assert_equal(found(same, given), found(model, given))


def test_a_clone_is_not_fitted_and_fits_the_same(fitted):
    views, model = fitted
    other = clone(model)
    with pytest.raises(NotFittedError):
        other.predict(views)
    assert_equal(found(other.fit(views), views), found(model, views))


def test_fit_predict_and_fit_transform(fitted):
    views, model = fitted
    np.testing.assert_array_equal(clone(model).fit_predict(views), model.labels_)
    np.testing.assert_array_equal(clone(model).fit_transform(views), model.embedding_)


# What is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["predict", "predict_confidence", "transform"])
def test_a_model_that_is_not_fitted(method):
    with pytest.raises(NotFittedError, match="GraphEnsemble instance is not fitted yet"):
        getattr(GraphEnsemble(3), method)(noisy())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda a: a[:2], "views: expected 3 views, as in fit, got 2. To give some of them only, name them in a dict"),
        (lambda a: [*a, a[0]], "views: expected 3 views, as in fit, got 4"),
        (lambda a: a[::-1], "views['view0']: expected 4 features, as in fit, got 5"),
        (lambda a: {"view1": a[1][:, :3]}, "views['view1']: expected 6 features, as in fit, got 3"),
        (lambda a: {"view0": a[0], "colour": a[1]}, "views['colour']: there was no such view in fit; there were view0"),
        (lambda a: {"view0": a[0], "view1": a[1][:9]}, "views['view1']: expected 120 rows like views['view0'], got 9"),
        (lambda a: a[0], "views: expected several views, got one array of shape (120, 4)"),
        (lambda a: {}, "views: expected at least one view, got none"),
        (lambda a: [x[:0] for x in a], "n_samples=0"),
        (lambda a: {"view1": sp.csr_array(a[1][:0])}, "n_samples=0"),
        (lambda a: [x.astype(str) for x in a], "views['view0']: expected numbers, got dtype <U"),
    ],
)
@pytest.mark.parametrize("method", ["predict", "transform"])
def test_what_cannot_be_placed(fitted, method, given, message):
    views, model = fitted
    with pytest.raises(ViewsError, match=re.escape(message)):
        getattr(model, method)(given(list(views.arrays)))


@pytest.mark.parametrize("block_rows", [10, 1000])
def test_rows_in_errors_count_over_the_blocks(fitted, monkeypatch, block_rows):
    views, model = fitted
    monkeypatch.setattr(samples, "_block_rows", lambda *_: block_rows)
    for value, what in ((np.nan, "NaN"), (np.inf, "infinity")):
        arrays = [array.copy() for array in views.arrays]
        arrays[1][57, 2] = value
        with pytest.raises(ViewsError, match=rf"views\['view1'\]: contains {what}.*, first at row 57, column 2"):
            model.predict(arrays)
        arrays[1] = sp.csr_array(arrays[1])
        with pytest.raises(ViewsError, match=rf"views\['view1'\]: contains {what}.*, first at row 57, column 2"):
            model.predict(arrays)
    arrays = [array.copy() for array in views.arrays]
    for array in arrays:
        array[83] = np.nan
    with pytest.raises(ViewsError, match="the sample in row 83 has no view at all"):
        model.predict(arrays)
    with pytest.raises(ViewsError, match=r"the sample in row 83 \(83rd\) has no view at all"):
        model.predict(Views(arrays, sample_ids=[f"{i}rd" for i in range(120)]))


def test_clusters_get_the_label_of_most_samples_or_one_that_is_left():
    clusters, labels = np.array([2, 2, 2, 0, 0]), np.array([0, 3, 0, 1, 1])  # sample 1 was split off from cluster 2
    assert labels_of_clusters(clusters, labels, 4).tolist() == [1, 2, 0, 3]


@pytest.mark.filterwarnings("ignore::manyview.exceptions.UnlikeFitWarning")
@pytest.mark.parametrize("far", [1e10, 1e25, 1e100])
def test_samples_that_are_far_from_everything_are_placed(far):
    views = make_multiview(120, 3, n_features=2, random_state=0)  # of more features the directions would be taken
    labels, places, sure = found(fit(views), [view[:5] * far for view in views.arrays])
    assert set(labels) <= {0, 1, 2}
    assert np.isfinite(places).all()
    assert np.isfinite(sure).all()


def shifted(views, name, change):
    arrays = [change(array) if known == name else array for known, array in zip(views.names, views.arrays, strict=True)]
    return Views(tuple(arrays), views.names)


@pytest.mark.parametrize(
    "change",
    [
        lambda values: 1000 * values,  # another unit
        lambda values: np.exp(3 * np.abs(values)),  # without the logarithm that the fit had
        lambda values: values + 50,
    ],
)
def test_new_samples_on_another_scale_are_reported(change):
    views = make_multiview(200, n_clusters=3, n_views=2, random_state=0)
    model = fit(views[:120])
    new = shifted(views[120:], "view1", change)
    with pytest.warns(UnlikeFitWarning, match=r"views\['view1'\]: \d+ of the 80 new samples .* same units"):
        model.predict(new)
    with pytest.warns(UnlikeFitWarning, match="view1"):
        model.predict({"view1": new["view1"][:1]})


@pytest.mark.parametrize("noise", [0.1, 0.6])
@pytest.mark.parametrize("n_features", [2, 300])
def test_new_samples_of_the_same_kind_are_not(noise, n_features):
    views = make_multiview(300, n_clusters=3, n_features=n_features, noise=noise, random_state=0)
    views = drop_views(views, 0.2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnlikeFitWarning)
        model = fit(views[:60])
        model.predict(views[60:])
        for v, name in enumerate(views.names):
            known = views.present[:, v]
            model.predict({name: views[name][known][-1:]})


def test_counts_of_other_totals_are_of_the_same_kind():
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(30), 3)[rng.integers(3, size=200)]
    views = Views(tuple(sp.csr_array(rng.poisson(200 * shares).astype(float)) for _ in range(2)))
    model = fit(views[:120], scaling="counts")
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnlikeFitWarning)
        model.predict(shifted(views[120:], "view1", lambda values: 10 * values))
