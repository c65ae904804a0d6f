"""GraphEnsemble: the same answer for every order of samples and views, and the right one where there is one."""

from __future__ import annotations

import re

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from manyview import GraphEnsemble
from manyview.datasets import make_multiview
from manyview.ensemble import fit as fit_module
from manyview.ensemble.graph import split_clusters
from manyview.exceptions import ViewsError
from manyview.graphs import component_labels
from manyview.io import read_views
from manyview.metrics import accuracy, adjusted_rand, match_labels


def fit(views, n_clusters, **parameters):
    return GraphEnsemble(n_clusters, random_state=0, **parameters).fit(views)


def blobs(n=150, k=3, **parameters):
    return make_multiview(n, k, random_state=0, **parameters)


def assert_same(model, other, rows=slice(None)):
    """The other model saw ``rows`` of what the model saw."""
    assert adjusted_rand(model.labels_[rows], other.labels_) == 1.0
    np.testing.assert_allclose(other.view_weights_, model.view_weights_, atol=1e-8)
    np.testing.assert_allclose(other.confidence_, model.confidence_[rows], atol=1e-8)


# The order of samples and views ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["MSRC-v5", "BBCSport", "3Sources", pytest.param("Handwritten4", marks=pytest.mark.slow)]
)
def test_benchmark_files_in_any_order(benchmark_file, name):
    views = read_views(benchmark_file(f"{name}.mat"))
    k = len(np.unique(views.labels))
    model = fit(views, k, n_members=16)
    for seed in range(5):
        rows = np.random.default_rng(seed).permutation(views.n_samples)
        assert_same(model, fit(views.take(rows), k, n_members=16), rows)
    backwards = fit(list(views.arrays[::-1]), k, n_members=16)
    assert adjusted_rand(model.labels_, backwards.labels_) == 1.0
    np.testing.assert_allclose(backwards.view_weights_, model.view_weights_[::-1], atol=1e-8)


@st.composite
def datasets(draw):
    """Small tables of all sorts: blobs, noise, integers with many ties and duplicates, sparse counts."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, n_views = draw(st.integers(12, 40)), draw(st.integers(2, 4))
    kinds = [draw(st.sampled_from(["normal", "integers", "counts", "shares"])) for _ in range(n_views)]
    arrays = []
    for kind in kinds:
        d = draw(st.integers(2, 6))
        if kind == "normal":
            arrays.append(rng.normal(size=(n, d)) + 4 * rng.integers(0, 3, n)[:, None])
        elif kind == "integers":
            arrays.append(rng.integers(0, 3, (n, d)).astype(float))
        elif kind == "counts":
            arrays.append(sp.csr_array(rng.poisson(0.05, (n, 210)).astype(float)))
        else:
            arrays.append(rng.dirichlet(np.ones(d + 1), n))
    copies = rng.integers(0, n, draw(st.integers(0, 5)))
    arrays = [sp.csr_array(sp.vstack([a, a[copies]])) if sp.issparse(a) else np.vstack([a, a[copies]]) for a in arrays]
    return arrays, draw(st.integers(2, 4)), rng


def usable(arrays, k):
    dense = [a.toarray() if sp.issparse(a) else a for a in arrays]
    return all(np.ptp(a, axis=0).any() for a in dense) and len(np.unique(np.hstack(dense), axis=0)) >= k


@settings(max_examples=60)
@given(datasets())
@pytest.mark.filterwarnings("ignore")
def test_any_data_in_any_order(case):
    arrays, k, rng = case
    if not usable(arrays, k):
        return
    model = fit(arrays, k, n_members=6)
    for _ in range(2):
        rows = rng.permutation(arrays[0].shape[0])
        assert_same(model, fit([a[rows] for a in arrays], k, n_members=6), rows)
    order = rng.permutation(len(arrays))
    other = fit([arrays[v] for v in order], k, n_members=6)
    assert adjusted_rand(model.labels_, other.labels_) == 1.0
    np.testing.assert_allclose(other.view_weights_, model.view_weights_[order], atol=1e-8)


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_threads_do_not_matter(n_jobs):
    views = blobs(300, 4, noise=0.4)
    model, other = fit(views, 4, n_jobs=1), fit(views, 4, n_jobs=n_jobs)
    np.testing.assert_array_equal(model.labels_, other.labels_)
    np.testing.assert_array_equal(model.embedding_, other.embedding_)
    np.testing.assert_array_equal(model.consensus_graph_.toarray(), other.consensus_graph_.toarray())


@pytest.mark.parametrize("block_rows", [37, 100, 1000])
def test_block_size_does_not_matter(monkeypatch, block_rows):
    views = blobs(300, 4, noise=0.4)
    model = fit(views, 4)
    whole = fit_module.LocalRows
    monkeypatch.setattr(fit_module, "LocalRows", lambda columns, n: whole(columns, n, block_rows=block_rows))
    assert_same(model, fit(views, 4))


def test_duplicates_get_the_same_label():
    arrays = [np.repeat(a, 3, axis=0) for a in make_multiview(60, 3, noise=1.0, random_state=1).arrays]
    labels = fit(arrays, 3).labels_.reshape(-1, 3)
    assert (labels == labels[:, :1]).all()


@pytest.mark.parametrize(("factor", "offset"), [(1.0, 0.0), (0.3048, 0.0), (1.8, 32.0)])
def test_a_view_given_twice_counts_once_in_whatever_unit(factor, offset):
    views = blobs(200, 4, noise=0.4)
    model = fit(views, 4)
    twice = fit([*views.arrays, factor * views.arrays[1] + offset], 4)
    np.testing.assert_array_equal(model.labels_, twice.labels_)
    assert twice.view_weights_[1] == twice.view_weights_[-1] == pytest.approx(model.view_weights_[1] / 2)


def test_the_unit_of_a_view_does_not_matter():
    views = blobs(200, 4, noise=0.4)
    other = fit([0.3048 * views.arrays[0], *views.arrays[1:]], 4)
    np.testing.assert_array_equal(fit(views, 4).labels_, other.labels_)


# The answer ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", ["rings", "moons"])
@pytest.mark.parametrize("seed", [0, 1])
def test_rings_and_moons_are_solved(shape, seed):
    views = make_multiview(400, 2, shape=shape, random_state=seed)
    assert accuracy(views.labels, fit(views, 2).labels_) == 1.0


@pytest.mark.parametrize(("k", "n_features"), [(2, 10), (7, 10), (20, 30), (50, 60)])
def test_many_clusters(k, n_features):
    views = make_multiview(max(200, 20 * k), k, n_features=n_features, random_state=1)
    assert accuracy(views.labels, fit(views, k).labels_) > 0.99


@pytest.mark.parametrize("ratio", [1, 5, 20])
def test_uneven_clusters(ratio):
    views = make_multiview(600, 4, sizes=np.geomspace(1, ratio, 4), random_state=1)
    assert accuracy(views.labels, fit(views, 4).labels_) > 0.99


@pytest.mark.parametrize("n_noise_views", [1, 2, 3, 4])
def test_noise_views_cost_little(n_noise_views):
    clean = make_multiview(400, 4, n_views=4, noise=0.3, random_state=0)
    noisy = make_multiview(400, 4, n_views=4, noise=0.3, n_noise_views=n_noise_views, random_state=0)
    model = fit(noisy, 4)
    assert accuracy(noisy.labels, model.labels_) > accuracy(clean.labels, fit(clean, 4).labels_) - 0.03
    assert model.view_weights_[:4].min() > model.view_weights_[4:].max()


def test_outlier_rows_in_one_view_cost_little():
    views = make_multiview(400, 4, n_views=4, noise=0.3, random_state=0)
    rng = np.random.default_rng(0)
    spoilt = [a.copy() for a in views.arrays]
    rows = rng.choice(400, 40, replace=False)
    spoilt[0][rows] = rng.normal(0, 20 * spoilt[0].std(), (40, spoilt[0].shape[1]))
    assert accuracy(views.labels, fit(spoilt, 4).labels_) > accuracy(views.labels, fit(views, 4).labels_) - 0.03


@pytest.mark.parametrize("noise", [0.1, 1.0])
@pytest.mark.parametrize("k", [1, 2, 6])
def test_the_learned_graph_has_the_labels_as_components(k, noise):
    model = fit(blobs(120, 3, noise=noise), k)
    found, labels = component_labels(model.consensus_graph_)
    assert found == k
    np.testing.assert_array_equal(labels, model.labels_)
    np.testing.assert_allclose(model.consensus_graph_.sum(axis=1), 1.0)


def test_fitted_attributes():
    views = blobs(120, 3, noise=0.6)  # not so clear that a few members are enough
    model = fit(views, 3, n_members=20)
    assert model.consensus_graph_.shape == (120, len(model.anchor_indices_))
    assert len(np.unique(model.anchor_indices_)) == len(model.anchor_indices_) == 102
    assert model.embedding_.shape == (120, 3)
    assert ((model.confidence_ >= 0) & (model.confidence_ <= 1)).all()
    assert model.view_weights_.sum() == pytest.approx(1.0)
    assert set(model.scaling_) == set(views.names)
    assert model.n_iter_ == 20 == len(model.history_["member_weights"])
    assert model.history_["n_members"][-1] == 20
    assert model.graph_family_ == next(iter(model.graph_families_))
    assert {"local", "broad"} <= set(model.graph_families_)
    assert model.converged_


def test_confidence_is_lower_where_labels_are_wrong():
    views = blobs(400, 4, noise=0.5)
    model = fit(views, 4)
    wrong = match_labels(views.labels, model.labels_) != views.labels
    assert model.confidence_[wrong].mean() < model.confidence_[~wrong].mean() - 0.1


def test_text_and_numbers_together():
    views = make_multiview(150, 3, random_state=0)
    rng = np.random.default_rng(0)
    words = rng.poisson(0.05 + 0.5 * (np.arange(300) % 3 == views.labels[:, None]), (150, 300))
    words[:5] = 0  # without a word
    model = fit([*views.arrays, sp.csr_array(words.astype(float))], 3)
    assert list(model.scaling_.values())[-1] == "counts"
    assert accuracy(views.labels, model.labels_) == 1.0


def test_scaling_by_name_and_by_position():
    views = blobs()
    wanted = ["centered", "auto", "unit"]
    by_place = fit(views, 3, scaling=wanted)
    by_name = fit(views, 3, scaling=dict(zip(views.names, wanted, strict=True)))
    assert by_place.scaling_ == by_name.scaling_
    assert by_place.scaling_[views.names[0]] == "centered"


def test_n_anchors_is_the_size_of_the_pool():
    assert len(fit(blobs(), 3, n_anchors=40).anchor_indices_) == 40


@pytest.mark.parametrize("n_neighbors", [1, 5, (3, 9)])
def test_n_neighbors_is_what_members_draw(n_neighbors):
    drawn = fit(blobs(), 3, n_neighbors=n_neighbors).history_["member_neighbors"]
    low, high = (n_neighbors, n_neighbors) if isinstance(n_neighbors, int) else n_neighbors
    assert low <= drawn.min() <= drawn.max() <= high


def test_fewer_distinguishable_samples_than_clusters_are_split_with_a_warning():
    labels, twin = np.zeros(4, dtype=np.int64), np.array([0, 0, 2, 3])
    with pytest.warns(ConvergenceWarning, match="Only 1 of n_clusters=3"):
        split = split_clusters(labels, twin, 3)
    np.testing.assert_array_equal(split, [1, 1, 2, 0])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_as_many_clusters_as_samples():
    model = fit([np.arange(6.0)[:, None], np.arange(6.0)[::-1, None] ** 2], 6)
    assert len(np.unique(model.labels_)) == 6


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_anchors": 1000}, "n_anchors=1000 is more than there are samples: n_samples=150"),
        ({"n_anchors": 2}, "n_anchors=2 is less than n_clusters=3"),
        ({"n_neighbors": (9, 3)}, r"n_neighbors: expected 'auto', an int or a pair 1 <= low <= high, got \(9, 3\)"),
        ({"n_neighbors": (0, 3)}, "n_neighbors"),
        ({"scaling": ["auto"]}, r"scaling: expected one name or one per view \(3\), got 1"),
        ({"scaling": {"colour": "unit"}}, "scaling: there is no view 'colour'; the views are view0, view1, view2"),
        ({"scaling": ["auto", "log", "auto"]}, "scaling of view 'view1': expected one of auto, max, .* got 'log'"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    model = GraphEnsemble(3, **parameters)
    with pytest.raises(ViewsError, match=message):
        model.fit(blobs())
    assert not hasattr(model, "labels_")


def test_progress_is_printed_on_request(capsys):
    model = fit(blobs(noise=0.6), 3, verbose=True)
    printed = capsys.readouterr().out
    assert f"GraphEnsemble 48 members with {model.graph_family_} graphs: agreement 0." in printed
    rounds = re.findall(r"tries (\d+) members of each family of graphs: score (.*)\n", printed)
    assert [int(size) for size, _ in rounds] == [4, 8, 16]
    assert [len(scores.split(", ")) for _, scores in rounds] == [4, 2, 2]
    first, second = list(model.graph_families_.items())[:2]
    assert rounds[-1][1] == ", ".join(f"{name} {found['score']:.3f}" for name, found in (first, second))


@pytest.mark.parametrize("learn_on", [100, "all"])
def test_trials_of_many_samples_are_printed_once(monkeypatch, capsys, learn_on):
    monkeypatch.setattr("manyview.cluster._graph_ensemble._LEARNED_ROWS", 100)
    model = fit(blobs(noise=0.6), 3, n_members=8, learn_on=learn_on, verbose=True)
    printed = capsys.readouterr().out
    assert [int(size) for size in re.findall(r"tries (\d+) members", printed)] == [2, 4, 8]
    assert model.graph_family_ == next(iter(model.graph_families_))
