"""What every method promises, whichever it is. Their formulas are tested one by one in tests/solvers."""

from __future__ import annotations

import inspect
import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpydoc.docscrape import NumpyDocString
from sklearn.metrics import adjusted_rand_score

import manyview._utils.machine
from manyview import OrderDependenceWarning, Views, read_views
from manyview.cluster import available_methods
from manyview.datasets import make_multiview
from manyview.exceptions import ReducedNeighborsWarning, ViewsError

METHODS = {method.name: method for method in available_methods()}
ORDER_FREE = [name for name, method in METHODS.items() if not method.facts.order_dependent]
ORDER_DEPENDENT = [name for name, method in METHODS.items() if method.facts.order_dependent]
# Ensembles are made smaller here: what is tested does not depend on their size.
QUICK = {"RDEKM": {"n_init": 2}, "GraphEnsemble": {"n_members": 8}}

pytestmark = pytest.mark.filterwarnings("ignore")


def make(name, n_clusters=3, **parameters):
    options = {**QUICK.get(name, {}), "random_state": 0, **parameters}
    return METHODS[name].estimator(n_clusters, **options)


@pytest.fixture(scope="module")
def blobs():
    """Three clusters that overlap: no method gets them all right, so it matters what it does with the rest."""
    return make_multiview(90, n_clusters=3, noise=0.6, n_features=6, random_state=0)


@pytest.fixture(scope="module")
def ties():
    """Small integers: many equal distances, some equal rows."""
    rng = np.random.default_rng(1)
    labels = rng.integers(3, size=70)
    return Views(
        [rng.poisson(1 + 2 * labels[:, None], size=(70, 3)) * 1.0, rng.integers(3, size=(70, 4)) + labels[:, None]]
    )


def data(request, kind):
    if kind == "MSRC-v5":
        return 7, read_views(request.getfixturevalue("benchmark_file")("MSRC-v5.mat"))
    return 3, request.getfixturevalue(kind)


@pytest.mark.parametrize("kind", ["blobs", "ties", "MSRC-v5"])
@pytest.mark.parametrize("name", ORDER_FREE)
def test_the_order_of_the_samples_does_not_matter(request, name, kind):
    n_clusters, views = data(request, kind)
    first = make(name, n_clusters).fit(views)
    rows = np.random.default_rng(5).permutation(views.n_samples)
    second = make(name, n_clusters).fit(views.take(rows))
    assert adjusted_rand_score(first.labels_[rows], second.labels_) == 1
    for attribute, axes in type(first)._sample_axes.items():
        expected, found = getattr(first, attribute), getattr(second, attribute)
        for axis in axes:
            expected = expected[rows] if axis == 0 else expected[:, rows]
        gap = abs(expected - found)
        if attribute == "embedding_":  # eigenvectors are defined up to their sign
            gap = abs(expected @ expected.T - found @ found.T)
        assert gap.max() < 1e-6, attribute
    if hasattr(first, "view_weights_"):
        np.testing.assert_allclose(first.view_weights_, second.view_weights_, atol=1e-8)
    if hasattr(first, "anchor_indices_") and kind == "blobs":
        assert set(first.anchor_indices_) == set(rows[second.anchor_indices_])


@pytest.mark.parametrize("name", ORDER_DEPENDENT)
def test_the_order_of_the_samples_matters_where_the_facts_say_so(request, name):
    views = read_views(request.getfixturevalue("benchmark_file")("MSRC-v5.mat"))
    first = make(name, 7).fit(views).labels_
    rows = np.random.default_rng(5).permutation(210)
    assert adjusted_rand_score(first[rows], make(name, 7).fit(views.take(rows)).labels_) < 0.9


@pytest.mark.parametrize("name", METHODS)
def test_a_method_warns_of_the_order_exactly_if_it_depends_on_it(name, blobs):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make(name).fit(blobs)
    told = any(issubclass(warning.category, OrderDependenceWarning) for warning in caught)
    assert told == METHODS[name].facts.order_dependent


@pytest.mark.parametrize("name", METHODS)
def test_the_order_of_the_views_does_not_matter(name, blobs):
    first = make(name).fit(blobs)
    turned = Views(blobs.arrays[::-1], names=blobs.names[::-1])
    second = make(name).fit(turned)
    assert adjusted_rand_score(first.labels_, second.labels_) == 1
    if hasattr(first, "view_weights_"):
        np.testing.assert_allclose(first.view_weights_, second.view_weights_[::-1], atol=1e-6)


@pytest.mark.parametrize("name", METHODS)
def test_what_a_fit_leaves_behind(name, blobs):
    model = make(name).fit(blobs)
    assert model.labels_.shape == (90,)
    assert list(dict.fromkeys(model.labels_)) == [0, 1, 2]  # every cluster, in the order of its first sample
    assert model.n_iter_ >= 0
    assert model.history_
    assert all(isinstance(values, np.ndarray) for values in model.history_.values())
    assert model.view_names_ == blobs.names
    assert model.n_features_in_ == sum(blobs.n_features)
    described = {entry.name for entry in NumpyDocString(inspect.getdoc(type(model)))["Attributes"]}
    assert {key for key in vars(model) if key.endswith("_") and not key.startswith("_")} <= described
    if hasattr(model, "view_weights_"):
        assert model.view_weights_.shape == (blobs.n_views,)
        assert model.view_weights_.sum() == pytest.approx(1)
    if hasattr(model, "n_components_"):
        assert model.n_components_ == 3
    if hasattr(model, "learned_graph_"):
        assert model.learned_graph_.data.min() >= 0
        np.testing.assert_allclose(model.learned_graph_.sum(axis=1), 1.0, atol=1e-10)


# Methods whose every step is a minimum (-1) or maximum (1) over one block of variables, for the objective they report.
MONOTONE = {"CoRegularizedSpectral": 1, "MVSC": -1, "RDEKM": -1, "SMSC": -1, "AMGL": -1}


@pytest.mark.parametrize("kind", ["blobs", "MSRC-v5"])
@pytest.mark.parametrize("name", MONOTONE)
def test_the_objective_goes_one_way(request, name, kind):
    n_clusters, views = data(request, kind)
    values = make(name, n_clusters, tol=0.0).fit(views).history_["objective"]
    assert len(values) > 2
    assert np.all(MONOTONE[name] * np.diff(values) >= -1e-9 * abs(values[0]))


@pytest.mark.parametrize("name", METHODS)
def test_clear_clusters_are_found(name):
    views = make_multiview(120, n_clusters=4, noise=0.05, random_state=3).shuffled(0)
    assert adjusted_rand_score(views.labels, make(name, 4).fit(views).labels_) == 1


@pytest.mark.parametrize("name", METHODS)
def test_the_same_seed_gives_the_same_result_and_inputs_stay_as_they_are(name, blobs):
    arrays = [view.copy() for view in blobs.arrays]
    for array in arrays:
        array.setflags(write=False)
    first, second = make(name).fit(arrays), make(name).fit(arrays)
    np.testing.assert_array_equal(first.labels_, second.labels_)
    for array, given in zip(arrays, blobs.arrays, strict=True):
        np.testing.assert_array_equal(array, given)


@pytest.mark.parametrize("name", METHODS)
def test_sparse_views_are_clustered_like_dense_ones(name):
    rng = np.random.default_rng(2)
    labels = rng.integers(3, size=60)
    views = [rng.poisson(0.3 + 4 * (labels[:, None] == np.arange(12) % 3), size=(60, 12)) * 1.0 for _ in range(2)]
    sparse = [sp.csr_array(view) for view in views]
    for view in sparse:  # as some readers give them
        view.indices, view.indptr = view.indices.astype(np.int64), view.indptr.astype(np.int64)
    expected = make(name).fit(views).labels_
    assert adjusted_rand_score(expected, make(name).fit(sparse).labels_) == 1
    assert adjusted_rand_score(expected, make(name).fit([views[0], sparse[1]]).labels_) == 1


HARD = {
    "one cluster": (1, lambda rng: [rng.random((20, 3)), rng.random((20, 2))]),
    "as many clusters as samples, nearly": (8, lambda rng: [rng.random((9, 3)), rng.random((9, 2))]),
    "five samples": (2, lambda rng: [rng.random((5, 3)), rng.random((5, 2))]),
    "views of one column": (3, lambda rng: [rng.random((30, 1)), rng.random((30, 1))]),
    "every row three times": (3, lambda rng: [np.repeat(rng.random((12, k)), 3, axis=0) for k in (3, 2)]),
    "one row many times": (3, lambda rng: [np.vstack([np.ones((25, k)), rng.random((12, k))]) for k in (3, 2)]),
    "rows of equal values": (2, lambda rng: [np.repeat(rng.random((24, 1)), 4, axis=1), rng.random((24, 3))]),
    "tiny and huge numbers": (2, lambda rng: [1e-12 * rng.random((24, 3)), 1e12 * rng.random((24, 3))]),
}


@pytest.mark.parametrize("case", HARD)
@pytest.mark.parametrize("name", METHODS)
def test_hard_cases_give_as_many_clusters_as_asked_for(name, case):
    n_clusters, draw = HARD[case]
    model, views = make(name, n_clusters), draw(np.random.default_rng(4))
    if name == "TBGL" and len(views[0]) < 10:
        with pytest.raises(ViewsError, match=r"n_anchors=0.5 gives \d anchors .* needs at least"):
            model.fit(views)
    else:
        assert set(model.fit(views).labels_) == set(range(n_clusters))


@pytest.mark.parametrize("name", METHODS)
def test_bad_views_are_refused_and_leave_nothing_fitted(name, blobs):
    broken = [blobs.arrays[0], blobs.arrays[1][:-1]]
    with pytest.raises(ViewsError, match=r"views\['view1'\]: expected 90 rows like views\['view0'\], got 89"):
        make(name).fit(broken)
    model = make(name, 91)
    with pytest.raises(ViewsError, match="n_clusters=91 is more than there are samples"):
        model.fit(blobs)
    assert not [attribute for attribute in vars(model) if attribute.endswith("_")]


@pytest.mark.parametrize("name", [n for n, m in METHODS.items() if m.facts.memory in ("n²", "n·m")] + ["MVSC", "SFMC"])
def test_too_little_memory_is_said_before_anything_is_done(name, blobs, monkeypatch):
    monkeypatch.setattr(manyview._utils.machine, "available_memory", lambda: 2**15)
    model = make(name)
    with pytest.raises(
        MemoryError, match=rf"^{name} needs about .* for .*90 samples.*; 1 MiB are available\. \w+ .*\.$"
    ):
        model.fit(blobs)
    assert not [attribute for attribute in vars(model) if attribute.endswith("_")]


@pytest.mark.parametrize("name", METHODS)
def test_verbose_tells_how_far_it_is(name, blobs, capsys):
    make(name).fit(blobs)
    assert capsys.readouterr().out == ""
    make(name, verbose=True).fit(blobs)
    lines = capsys.readouterr().out.splitlines()
    assert lines
    assert all(line.startswith(f"{name} ") for line in lines)


@pytest.mark.parametrize("name", METHODS)
def test_facts_and_documentation(name):
    method = METHODS[name]
    facts = method.facts
    assert method.estimator.__name__ == name
    assert facts.input_kind in ("features", "neighbour graphs", "kernels", "anchor graphs")
    assert facts.memory in ("n·k", "n·m", "n·d", "n²")
    assert facts.title
    assert facts.reference
    text = inspect.getdoc(method.estimator)
    assert "%(" not in text
    described = NumpyDocString(text)
    assert [entry.name for entry in described["Parameters"]] == list(inspect.signature(method.estimator).parameters)
    assert all(entry.type and entry.desc for entry in described["Parameters"] + described["Attributes"])
    for section in ("Notes", "Examples", *(["References"] if facts.paper_name else [])):
        assert described[section], section


def test_the_methods_of_the_paper_are_all_there():
    names = {method.facts.paper_name for method in METHODS.values()} - {""}
    assert names == {
        "TBGL", "s-CLR", "Co-train", "Co-reg", "SwMC", "MVGL", "MVSC", "RDEKM", "SMSC", "AMGL", "MLAN", "LMVSC",
        "ETLMSC", "SFMC",
    }  # fmt: skip


# GraphEnsemble sorts the samples by their content, before they are scaled, and draws its anchors in that order.
SCALING = [n for n, m in METHODS.items() if "scaling" in m.estimator(2).get_params() and n != "GraphEnsemble"]


@pytest.mark.parametrize("name", SCALING)
def test_scaling_is_done_before_anything_else(name, blobs, monkeypatch):
    # Scaled samples would be sorted differently, and random draws would hit others.
    monkeypatch.setattr(METHODS[name].estimator, "_sorts_samples", False)
    spoilt = [np.column_stack([view * (10.0 ** np.arange(6)), np.ones(90)]) for view in blobs.arrays]
    scaled = [view / np.linalg.norm(view, axis=1, keepdims=True) for view in spoilt]
    expected = make(name, scaling="none").fit(scaled).labels_
    np.testing.assert_array_equal(make(name, scaling="unit").fit(spoilt).labels_, expected)


NEIGHBOURS = [name for name, method in METHODS.items() if "n_neighbors" in method.estimator(2).get_params()]
ANCHORS = [name for name in NEIGHBOURS if "n_anchors" in METHODS[name].estimator(2).get_params()]


def reductions(model, views):
    """What a fit says of neighbours that it does not have."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(views)
    return [str(warning.message) for warning in caught if warning.category is ReducedNeighborsWarning]


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_more_neighbours_than_there_are_samples_are_a_warning(name, blobs):
    (text,) = reductions(make(name, n_neighbors=1000), blobs)
    assert text.startswith("n_neighbors=1000 ")
    assert "; using n_neighbors=" in text
    assert reductions(make(name, n_neighbors=5), blobs) == []


@pytest.mark.parametrize("name", ANCHORS)
def test_more_neighbours_than_there_are_anchors_are_a_warning(name, blobs):
    (text,) = reductions(make(name, n_neighbors=20, n_anchors=12), blobs)
    assert "12 anchors" in text or "there are 12" in text
    assert reductions(make(name, n_neighbors=3, n_anchors=12), blobs) == []


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_the_number_that_is_named_is_the_one_that_is_used(name, blobs):
    reduced = make(name, n_neighbors=1000)
    (text,) = reductions(reduced, blobs)
    used = int(re.search(r"using n_neighbors=(\d+)", text)[1])
    if name == "GraphEnsemble":
        assert reduced.history_["member_neighbors"].max() == used
    else:
        same = make(name, n_neighbors=used)
        assert reductions(same, blobs) == []
        np.testing.assert_array_equal(same.labels_, reduced.labels_)


@pytest.mark.parametrize("n_neighbors", ["auto", (3, 1000)])
def test_a_range_that_members_can_draw_from_is_no_warning(n_neighbors):
    few = make_multiview(20, n_clusters=3, random_state=0)
    assert reductions(make("GraphEnsemble", n_neighbors=n_neighbors), few) == []


def test_a_range_that_no_member_can_draw_from_is_a_warning(blobs):
    (text,) = reductions(make("GraphEnsemble", n_neighbors=(500, 600)), blobs)
    assert text.startswith("n_neighbors=(500, 600) is more than any graph of the ensemble can have with 76 anchors")


def test_a_single_anchor_is_a_warning():
    rays = [np.outer(2.0 ** np.arange(30), [1.0, 2.0, 3.0]) for _ in range(2)]  # one direction, to the last bit
    (text,) = reductions(make("MVSC", 2, scaling="unit"), rays)
    assert text == "n_neighbors=8 needs at least 9 anchors, but there is 1; using n_neighbors=1."
    assert reductions(make("MVSC", 2, scaling="unit", n_neighbors=1), rays) == []
