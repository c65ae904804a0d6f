"""GraphEnsemble where samples lack views; the other methods say that they cannot."""

from __future__ import annotations

import re
from itertools import combinations, permutations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from manyview import GraphEnsemble, Views
from manyview.cluster import available_methods
from manyview.datasets import drop_views, make_multiview
from manyview.exceptions import ViewsError
from manyview.metrics import accuracy, adjusted_rand

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def fit(views, n_clusters=3, **parameters):
    return GraphEnsemble(n_clusters, random_state=0, n_jobs=1, **{"n_members": 6, **parameters}).fit(views)


@pytest.fixture(scope="module")
def blobs():
    return make_multiview(120, 3, n_views=3, n_features=[4, 6, 5], random_state=0)


def assert_same(model, other, rows=slice(None)):
    """The other model saw ``rows`` of what the model saw."""
    assert adjusted_rand(model.labels_[rows], other.labels_) == 1.0
    np.testing.assert_allclose(other.confidence_, model.confidence_[rows], atol=1e-8)


def assert_sound(model, n_samples, n_clusters):
    """Labels of the right kind, and numbers everywhere."""
    assert model.labels_.shape == (n_samples,)
    assert model.labels_.dtype.kind == "i"
    assert set(model.labels_) == set(range(n_clusters))
    assert np.isfinite(model.embedding_).all()
    assert ((model.confidence_ >= 0) & (model.confidence_ <= 1)).all()
    assert np.isfinite(model.view_weights_).all()
    assert model.view_weights_.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(model.consensus_graph_.sum(axis=1), 1.0)


# Any data, any gaps -----------------------------------------------------------------------------------------------


@st.composite
def cases(draw):
    """Small tables of several sorts, with gaps of any pattern that leaves each sample a view, and two samples each."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, n_views, n_clusters = draw(st.integers(8, 30)), draw(st.integers(2, 4)), draw(st.integers(2, 3))
    arrays = []
    for _ in range(n_views):
        kind, d = draw(st.sampled_from(["normal", "integers", "counts", "shares"])), draw(st.integers(1, 5))
        if kind == "normal":
            arrays.append(rng.normal(size=(n, d)) + 4 * rng.integers(0, 3, n)[:, None])
        elif kind == "integers":
            arrays.append(rng.integers(0, 3, (n, d)).astype(float))
        elif kind == "counts":
            arrays.append(sp.csr_array(rng.poisson(0.05, (n, 210)).astype(float)))
        else:
            arrays.append(rng.dirichlet(np.ones(d + 1), n))
    present = rng.random((n, n_views)) < draw(st.sampled_from([0.1, 0.4, 0.7, 0.95]))
    if draw(st.booleans()):
        present[np.arange(n), rng.integers(n_views, size=n)] = True
    else:
        present[~present.any(axis=1), draw(st.integers(0, n_views - 1))] = True  # the same one for all
    copies = rng.integers(0, n, draw(st.integers(0, 4)))
    again = np.concatenate([np.arange(n), copies])
    return [array[again] for array in arrays], present[again], n_clusters, rng


def varies(array, has_view):
    values = array[has_view]
    return len(np.unique(values.toarray() if sp.issparse(values) else values, axis=0)) > 1


def usable(arrays, present, n_clusters):
    """Every view differs between the samples that have it, and there are enough different samples."""
    parts = [(a.toarray() if sp.issparse(a) else a) * present[:, [v]] for v, a in enumerate(arrays)]
    distinct = len(np.unique(np.hstack([*parts, present]), axis=0))
    return distinct >= n_clusters and all(varies(a, present[:, v]) for v, a in enumerate(arrays))


def exchangeable(arrays, present):
    """Two views can be exchanged, with some samples, without a change of the data: only their positions differ."""
    tables = [(a.toarray() if sp.issparse(a) else a) for a in arrays]
    codes: dict[bytes, int] = {}
    joint = np.full(present.shape, -1)
    for v, table in enumerate(tables):
        known = table[present[:, v]] - table[present[:, v]].min(axis=0)
        for row, values in zip(np.flatnonzero(present[:, v]), (known / known.max()).round(6) + 0.0, strict=True):
            joint[row, v] = codes.setdefault(values.tobytes(), len(codes))
    for u, v in combinations(range(len(arrays)), 2):
        swapped = joint.copy()
        swapped[:, [u, v]] = joint[:, [v, u]]
        if not np.array_equal(joint, swapped) and sorted(joint.tolist()) == sorted(swapped.tolist()):
            return True
    return False


@settings(max_examples=40)
@given(cases())
def test_any_gaps_in_any_data(case):
    arrays, present, n_clusters, rng = case
    if not usable(arrays, present, n_clusters):
        return
    views = Views(arrays, present=present)
    model = fit(views, n_clusters)
    assert_sound(model, len(present), n_clusters)

    if len(np.unique(model._model.label_of)) == n_clusters:  # no sample was split off by force
        np.testing.assert_array_equal(model.predict(views), model.labels_)
    np.testing.assert_array_equal(model.transform(views), model.embedding_)
    np.testing.assert_array_equal(model.predict_confidence(views), model.confidence_)

    rows, order = rng.permutation(len(present)), rng.permutation(len(arrays))
    assert_same(model, fit(views.take(rows), n_clusters), rows)
    if exchangeable(arrays, present):
        return
    other = fit(Views([arrays[v] for v in order], present=present[:, order]), n_clusters)
    assert_same(model, other)
    np.testing.assert_allclose(other.view_weights_, model.view_weights_[order], atol=1e-8)


def test_views_with_the_same_values_in_another_order_of_the_samples():
    """Whole numbers in one column, with missing views: another order of the views moved samples (seeds 1 and 10)."""
    n_compared = 0
    for seed in (1, 10, 16):
        rng = np.random.default_rng(seed)
        values, there = rng.integers(0, 3, (26, 1)).astype(float), rng.random(26) < 0.7
        shuffle = rng.permutation(26)
        arrays = [values, values[shuffle], rng.integers(0, 3, (26, 2)).astype(float)]
        present = np.column_stack([there, there[shuffle], rng.random(26) < 0.8])
        present[~present.any(axis=1), 2] = True
        if exchangeable(arrays, present):
            continue
        n_compared += 1
        model = fit(Views(arrays, present=present))
        for order in permutations(range(3)):
            other = fit(Views([arrays[v] for v in order], present=present[:, order]))
            assert_same(model, other)
    assert n_compared


# What must not matter ---------------------------------------------------------------------------------------------


def test_a_mask_with_nothing_missing_changes_no_bit(blobs):
    model, other = fit(blobs), fit(Views(blobs.arrays, present=np.ones((120, 3), dtype=bool)))
    for name in ("labels_", "embedding_", "confidence_", "view_weights_", "anchor_indices_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(other, name))
    assert abs(model.consensus_graph_ - other.consensus_graph_).max() == 0


def test_rows_of_nan_and_a_mask_say_the_same(blobs):
    gaps = drop_views(blobs, 0.3, random_state=0)
    arrays = [np.where(gaps.present[:, [v]], array, np.nan) for v, array in enumerate(blobs.arrays)]
    model, other = fit(gaps), fit(arrays)
    anything = [np.where(gaps.present[:, [v]], array, 1e9) for v, array in enumerate(blobs.arrays)]
    third = fit(Views(anything, present=gaps.present))
    for name in ("labels_", "embedding_", "confidence_", "view_weights_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(other, name))
        np.testing.assert_array_equal(getattr(model, name), getattr(third, name))


@pytest.mark.parametrize("seed", [0, 1])
def test_samples_are_not_grouped_by_what_they_lack(seed):
    rng = np.random.default_rng(seed)
    half = rng.random(100) < 0.5
    present = np.column_stack([half, half, np.ones(100, dtype=bool)])
    arrays = [rng.normal(10, 1, (100, 4)) * present[:, [v]] for v in range(3)]  # nothing but noise
    assert adjusted_rand(half, fit(arrays, 2).labels_) == 1.0  # with zeros for values they are
    assert abs(adjusted_rand(half, fit(Views(arrays, present=present), 2).labels_)) < 0.05


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_samples_and_views_does_not_matter(seed):
    views = drop_views(make_multiview(100, 3, noise=0.5, random_state=seed), 0.4, random_state=seed)
    model = fit(views)
    rng = np.random.default_rng(seed)
    rows, order = rng.permutation(100), rng.permutation(3)
    other = fit(Views([views.arrays[v][rows] for v in order], present=views.present[rows][:, order]))
    assert_same(model, other, rows)
    np.testing.assert_allclose(other.view_weights_, model.view_weights_[order], atol=1e-8)


def test_equal_samples_with_equal_gaps_get_equal_labels():
    views = drop_views(make_multiview(50, 3, noise=1.0, random_state=1), 0.4, random_state=1)
    model = fit(views.take(np.repeat(np.arange(50), 3)))
    for found in (model.labels_, model.confidence_, *model.embedding_.T):
        assert (found.reshape(-1, 3) == found.reshape(-1, 3)[:, :1]).all()


def test_a_view_given_twice_counts_once_with_its_gaps(blobs):
    gaps = drop_views(blobs, 0.3, random_state=0)
    model = fit(gaps)
    copy = gaps.present[:, [1]]
    twice = fit(Views([*gaps.arrays, (1.8 * gaps.arrays[1] + 32) * copy], present=np.hstack([gaps.present, copy])))
    np.testing.assert_array_equal(model.labels_, twice.labels_)
    assert twice.view_weights_[1] == twice.view_weights_[3] == pytest.approx(model.view_weights_[1] / 2)


# The answer -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", ["random", "blocks"])
@pytest.mark.parametrize("seed", [0, 1])
def test_blobs_with_gaps_are_found(pattern, seed):
    views = drop_views(make_multiview(200, 4, random_state=seed), 0.3, pattern=pattern, random_state=seed)
    assert accuracy(views.labels, fit(views, 4, n_members=16).labels_) > 0.95


def test_texts_with_gaps_are_found():
    views = make_multiview(150, 3, n_views=2, random_state=0)
    rng = np.random.default_rng(0)
    words = sp.csr_array(rng.poisson(0.05 + 0.5 * (np.arange(300) % 3 == views.labels[:, None]), (150, 300)) * 1.0)
    gaps = drop_views(Views([*views.arrays, words], labels=views.labels), 0.3, random_state=0)
    model = fit(gaps, n_members=16)
    assert model.scaling_["view2"] == "counts"
    assert accuracy(views.labels, model.labels_) > 0.95


@pytest.mark.parametrize("n_having", [2, 3])
def test_a_view_that_hardly_any_sample_has(blobs, n_having):
    present = np.ones((120, 3), dtype=bool)
    present[n_having:, 1] = False
    model = fit(Views(blobs.arrays, present=present))
    assert_sound(model, 120, 3)
    assert accuracy(blobs.labels, model.labels_) > 0.95


@pytest.mark.parametrize("n_views", [2, 3])
def test_views_without_a_sample_in_common(n_views):
    views = make_multiview(90, 3, n_views=n_views, random_state=0)
    present = np.arange(90)[:, None] % n_views == np.arange(n_views)
    assert_sound(fit(Views(views.arrays, present=present)), 90, 3)


def test_a_small_pool_has_every_view(blobs):
    present = np.ones((120, 3), dtype=bool)
    present[5:, 1] = False
    model = fit(Views(blobs.arrays, present=present), n_anchors=8)
    assert present[model.anchor_indices_, 1].sum() == 5
    assert_sound(model, 120, 3)


def test_more_clusters_than_different_samples_with_gaps():
    a, b = np.array([[0.0], [0.0], [1.0], [2.0]]), np.array([[5.0], [5.0], [6.0], [6.0]])
    present = np.ones((4, 2), dtype=bool)
    with pytest.raises(ViewsError, match="n_clusters=4 is more than there are different samples: all but 3 of the 4"):
        fit(Views([a, b], present=present), 4)
    present[1, 0] = False  # which is not the same as zero
    assert_sound(fit(Views([a, b], present=present), 4), 4, 4)


def test_one_sample_with_a_view_is_not_enough(blobs):
    present = np.ones((120, 3), dtype=bool)
    present[1:, 2] = False
    with pytest.raises(ViewsError, match=r"views\['view2'\]: only one sample has this view; leave this view out"):
        fit(Views(blobs.arrays, present=present))


# The others -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "method", [m for m in available_methods() if m.name != "GraphEnsemble"], ids=lambda method: method.name
)
def test_other_methods_need_every_view_of_every_sample(blobs, method):
    model = method.estimator(3)
    array = blobs.arrays[1].copy()
    array[[4, 9]] = np.nan
    message = (
        f"views['texture']: {type(model).__name__} needs every view of every sample, but 2 of 120 samples lack this "
        "one, the first in row 4. GraphEnsemble can do without"
    )
    with pytest.raises(ViewsError, match=re.escape(message)):
        model.fit({"colour": blobs.arrays[0], "texture": array})
    assert not hasattr(model, "labels_")
