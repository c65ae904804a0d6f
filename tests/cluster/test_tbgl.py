from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from manyview import TBGL, OrderDependenceWarning
from manyview.datasets import dataset_info, fetch_dataset, make_multiview
from manyview.exceptions import ReducedNeighborsWarning
from manyview.graphs import component_labels, select_vda
from manyview.metrics import accuracy, clustering_scores
from manyview.solvers.published import Settings

pytestmark = pytest.mark.filterwarnings("ignore::manyview.exceptions.OrderDependenceWarning")


@pytest.fixture(scope="module")
def blobs():
    return make_multiview(150, n_clusters=3, n_views=3, noise=0.2, random_state=0)


@pytest.fixture(scope="module")
def fitted(blobs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return TBGL(3).fit(blobs)


@pytest.fixture(scope="module")
def msrc(data_file):
    return fetch_dataset("MSRC-v5", data_home=data_file("MSRC-v5.mat").parent)


def test_fitted_attributes(blobs, fitted):
    assert fitted.labels_.shape == (150,)
    assert set(fitted.labels_) == {0, 1, 2}
    assert fitted.view_names_ == ("view0", "view1", "view2")
    assert fitted.view_weights_.sum() == pytest.approx(1)
    assert sp.issparse(fitted.consensus_graph_)
    assert fitted.consensus_graph_.shape == (150, 75)
    np.testing.assert_allclose(fitted.consensus_graph_.sum(axis=1), 1)
    assert fitted.n_components_ == 3
    np.testing.assert_array_equal(component_labels(fitted.component_graph_)[1], fitted.labels_)
    assert fitted.n_iter_ == 52
    for name in ("objective", "noise_residual", "tensor_residual", "connectivity_weight"):
        assert fitted.history_[name].shape == (52,)
        assert np.isfinite(fitted.history_[name]).all()
    assert fitted.history_["view_weights"].shape == (52, 3)
    np.testing.assert_allclose(fitted.history_["view_weights"][-1], fitted.view_weights_)
    np.testing.assert_array_equal(fitted.anchor_indices_, select_vda([x / x.max() for x in blobs.arrays], 75))


def test_all_ways_to_pass_views_give_the_same(blobs, fitted):
    ways = [
        list(blobs.arrays),
        blobs.arrays,
        dict(zip("abc", blobs.arrays, strict=True)),
        blobs,
        [sp.csr_array(x) for x in blobs.arrays],
        [np.asfortranarray(x) for x in blobs.arrays],
    ]
    for views in ways:
        np.testing.assert_array_equal(TBGL(3).fit_predict(views), fitted.labels_)
    table = np.hstack(blobs.arrays)
    np.testing.assert_array_equal(TBGL(3, view_sizes=[10, 10, 10]).fit_predict(table), fitted.labels_)
    assert TBGL(3).fit(ways[2]).view_names_ == ("a", "b", "c")


def test_input_is_not_changed(blobs):
    before = [x.copy() for x in blobs.arrays]
    TBGL(3).fit(blobs)
    for x, old in zip(blobs.arrays, before, strict=True):
        np.testing.assert_array_equal(x, old)


@pytest.mark.parametrize("anchors", ["vda", "kmeans", "random"])
def test_same_seed_same_labels_with_any_number_of_threads(blobs, anchors):
    runs = [TBGL(3, anchors=anchors, random_state=4, n_jobs=n_jobs).fit(blobs).labels_ for n_jobs in (1, 1, 2, 3)]
    for labels in runs[1:]:
        np.testing.assert_array_equal(labels, runs[0])


def test_own_anchors(blobs):
    chosen = np.arange(0, 150, 4)
    model = TBGL(3, anchors=chosen[::-1]).fit(blobs)
    np.testing.assert_array_equal(model.anchor_indices_, chosen)
    assert model.consensus_graph_.shape == (150, len(chosen))
    assert TBGL(3, n_anchors=33).fit(blobs).consensus_graph_.shape == (150, 33)
    assert TBGL(3, n_anchors=1.0).fit(blobs).consensus_graph_.shape == (150, 150)


def test_tolerance_stops_early(blobs):
    model = TBGL(3, max_iter=300, tol=1e-3).fit(blobs)
    assert 52 < model.n_iter_ < 300


def test_one_cluster(blobs):
    assert (TBGL(1).fit(blobs).labels_ == 0).all()


def test_warns_of_the_order_in_one_sentence(blobs):
    for axis, what in (("samples", "rows"), ("anchors", "rows")):
        with pytest.warns(OrderDependenceWarning, match=f"along the order of the {what}") as caught:
            TBGL(3, tensor_axis=axis, max_iter=2).fit(blobs)
        assert str(caught[0].message).count(". ") == 0
        assert caught[0].filename == __file__  # points at the user's line


def test_along_views_nothing_depends_on_the_rows(blobs):
    with warnings.catch_warnings():
        warnings.simplefilter("error", OrderDependenceWarning)
        straight = TBGL(3, tensor_axis="views").fit(blobs)
        order = np.random.default_rng(0).permutation(150)
        shuffled = TBGL(3, tensor_axis="views").fit(blobs.take(order))
    assert adjusted_rand_score(shuffled.labels_, straight.labels_[order]) == 1
    np.testing.assert_allclose(shuffled.view_weights_, straight.view_weights_, atol=1e-8)


def test_along_four_views_their_order_is_warned_of():
    views = make_multiview(60, n_clusters=2, n_views=4, random_state=0)
    with pytest.warns(OrderDependenceWarning, match="order of the views"):
        TBGL(2, tensor_axis="views", max_iter=2).fit(views)


def test_few_anchors_reduce_the_neighbours(blobs):
    with pytest.warns(ReducedNeighborsWarning, match="n_neighbors=10 needs at least 11 anchors, but there are 8"):
        TBGL(3, n_anchors=8).fit(blobs)


def test_verbose_tells_how_far_it_is(blobs, capsys):
    TBGL(3, verbose=True, max_iter=12).fit(blobs)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["TBGL pass 1", "TBGL pass 11"]


def test_clone_pickle_parameters_repr(blobs, fitted):
    fresh = clone(fitted)
    assert not hasattr(fresh, "labels_")
    assert fresh.get_params() == fitted.get_params()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).labels_, fitted.labels_)  # noqa: S301
    assert clone(fitted).set_params(p=0.5).p == 0.5
    assert "TBGL" in fitted._repr_html_()
    assert repr(TBGL(3, p=0.5)) == "TBGL(n_clusters=3, p=0.5)"


# --- what the paper reports, and what is behind it --------------------------------------------------------------------


def test_msrc_in_file_order_reaches_the_papers_digits(msrc):
    scores = clustering_scores(msrc.labels, TBGL(7).fit(msrc).labels_, nmi_average="max")
    assert scores["acc"] == pytest.approx(0.995, abs=0.015)
    assert scores["nmi"] == pytest.approx(0.989, abs=0.015)


def test_msrc_with_the_papers_own_objective(msrc):
    model = TBGL(7, sparsity_weight=0, n_anchors=0.7).fit(msrc)
    assert accuracy(msrc.labels, model.labels_) >= 0.99


def test_msrc_shuffled_falls(msrc):
    found = []
    for seed in range(1, 6):
        views = msrc.take(np.random.default_rng(seed).permutation(210))
        found.append(accuracy(views.labels, TBGL(7).fit(views).labels_))
    assert min(found) > 0.45
    assert max(found) < 0.75
    assert 0.5 < np.mean(found) < 0.7


@pytest.mark.parametrize("shift", [1, 17, 100])
def test_msrc_shifted_cyclically_stays(msrc, shift):
    rows = np.roll(np.arange(210), shift)
    shifted = TBGL(7).fit(msrc.take(rows)).labels_
    assert adjusted_rand_score(shifted, TBGL(7).fit(msrc).labels_[rows]) == 1


def test_msrc_with_the_same_anchors_shuffled_still_falls(msrc):
    """It is the Fourier transform, not the choice of anchors."""
    anchors = TBGL(7).fit(msrc).anchor_indices_
    order = np.random.default_rng(1).permutation(210)
    same = np.flatnonzero(np.isin(order, anchors))
    labels = TBGL(7, anchors=same).fit(msrc.take(order)).labels_
    assert accuracy(msrc.labels[order], labels) < 0.75


def test_msrc_a_pass_more_or_less_moves_the_result(msrc):
    found = [accuracy(msrc.labels, TBGL(7, max_iter=passes).fit(msrc).labels_) for passes in (50, 52, 53, 55)]
    assert max(found) - min(found) > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Handwritten4", "Mnist4"])
def test_presets_reach_what_they_say_in_file_order_only(data_file, name):
    info = dataset_info(name)
    views = fetch_dataset(name, data_home=data_file(info.file_name).parent)
    model = TBGL(info.n_classes, **info.tbgl_preset.params)
    scores = clustering_scores(views.labels, model.fit(views).labels_, nmi_average="max")
    assert scores["acc"] == pytest.approx(info.tbgl_preset.reached_acc, abs=0.01)
    assert scores["nmi"] == pytest.approx(info.tbgl_preset.reached_nmi, abs=0.02)
    assert scores["acc"] == pytest.approx(info.tbgl_preset.paper_acc, abs=0.015)
    shuffled = views.shuffled(0)
    assert accuracy(shuffled.labels, model.fit(shuffled).labels_) < 0.7


def test_the_papers_variant_converges_and_explicit_arguments_win(blobs):
    model = TBGL(3, variant="paper", random_state=0).fit(blobs)
    assert model.n_iter_ < 300
    assert max(model.history_["noise_residual"][-1], model.history_["tensor_residual"][-1]) < 1e-4
    assert not model.history_["even_residual"].any()  # there is no third copy
    assert set(model.history_["connectivity_weight"]) == {10.0}
    settings, max_iter, tol = TBGL(3, variant="paper")._settings()
    assert (settings.tensor_axis, settings.norm_scale, settings.initial_penalty) == ("anchors", "paper", 1e-5)
    assert (settings.has_even_copy, max_iter, tol) == (False, 300, 1e-4)
    given = TBGL(3, variant="paper", tensor_axis="samples", sparsity_weight=1e-3, initial_penalty=1e-3, max_iter=7)
    settings, max_iter, tol = given._settings()
    assert (settings.tensor_axis, settings.norm_scale, settings.initial_penalty) == ("samples", "paper", 1e-3)
    assert (settings.has_even_copy, max_iter, tol) == (True, 7, 1e-4)


def test_the_default_is_the_program():
    settings, max_iter, tol = TBGL(3)._settings()
    assert settings == Settings(3)
    assert (max_iter, tol) == (52, 0.0)
    assert TBGL(3, tol=0)._settings()[2] == 0  # 0 is a value, not "none given"


def test_tol_waits_for_the_third_copy(blobs):
    history = TBGL(3, max_iter=300, tol=1e-3).fit(blobs).history_
    largest = np.max([history[f"{name}_residual"] for name in ("noise", "tensor", "even")], axis=0)
    assert largest[-1] < 1e-3 <= largest[:-1].min()
