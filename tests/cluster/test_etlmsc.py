from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from manyview import OrderDependenceWarning
from manyview.cluster import ETLMSC
from manyview.cluster._base import kmeans_labels
from manyview.datasets import make_multiview
from manyview.exceptions import ViewsError
from manyview.graphs import gaussian_kernel
from manyview.io import read_views
from manyview.metrics import accuracy

FILES = {"msrc": ("MSRC-v5.mat", 7), "3s": ("3Sources.mat", 6)}
quiet = pytest.mark.filterwarnings("ignore::manyview.exceptions.OrderDependenceWarning")


@pytest.fixture(scope="module")
def blobs():
    return make_multiview(90, n_clusters=3, n_views=3, noise=0.2, random_state=0)


@quiet
def test_fitted_attributes(blobs):
    model = ETLMSC(3, random_state=0).fit(blobs)
    assert set(model.labels_) == {0, 1, 2}
    assert model.labels_[0] == 0
    assert model.essential_walk_.shape == (90, 90)
    np.testing.assert_allclose(np.linalg.norm(model.embedding_, axis=1), 1)
    assert model.embedding_.shape == (90, 3)
    for name in ("objective", "residual"):
        assert model.history_[name].shape == (model.n_iter_,)
    assert model.history_["residual"][-1] < 1e-6 <= model.history_["residual"][-2]
    assert ETLMSC(3, max_iter=4).fit(blobs).n_iter_ == 4


@quiet
def test_a_high_price_of_errors_leaves_the_sum_of_the_walks(blobs):
    model = ETLMSC(3, error_weight=90, random_state=0).fit(blobs)
    kernels = [gaussian_kernel(x) for x in blobs.arrays]
    expected = sum(k / k.sum(axis=1, keepdims=True) for k in kernels)
    np.testing.assert_allclose(model.essential_walk_, expected, atol=1e-5)
    assert accuracy(blobs.labels, model.labels_) > 0.95


@pytest.mark.parametrize(
    ("axis", "n_views", "what"),
    [("rows", 2, "samples"), ("columns", 2, "samples"), ("views", 4, "views"), ("views", 3, None)],
)
def test_warns_of_the_order(axis, n_views, what):
    views = list(np.random.default_rng(0).normal(size=(n_views, 20, 3)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ETLMSC(2, tensor_axis=axis, random_state=0).fit(views)
    texts = [str(w.message) for w in caught if w.category is OrderDependenceWarning]
    assert len(texts) == (what is not None)
    assert all(f"order of the {what}" in text for text in texts)


@quiet
def test_order_of_samples(blobs):
    order = np.random.default_rng(0).permutation(90)
    for axis, same in (("rows", False), ("views", True)):
        model = ETLMSC(3, tensor_axis=axis, error_weight=20, random_state=0)
        plain = model.fit(blobs).essential_walk_[order][:, order]
        labels = model.labels_[order]
        moved = model.fit(blobs.take(order))
        assert np.allclose(moved.essential_walk_, plain, atol=1e-7) == same
        assert not same or adjusted_rand_score(moved.labels_, labels) == 1


@quiet
def test_along_the_views_k_means_brings_no_order_in():
    """Noise, and a single run of k-means: its seeds decide, and they have to be the same samples."""
    views = list(np.random.default_rng(0).normal(size=(3, 60, 4)))
    model = ETLMSC(5, tensor_axis="views", error_weight=30, n_init=1, random_state=0)
    labels = model.fit(views).labels_
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(60)
        assert adjusted_rand_score(model.fit([view[order] for view in views]).labels_, labels[order]) == 1


@quiet
def test_too_low_a_price_of_errors_is_refused(blobs):
    with pytest.raises(ViewsError, match=r"error_weight=0\.1 makes an error of everything"):
        ETLMSC(3, error_weight=0.1).fit(blobs)


def test_too_large_for_the_memory_is_refused(blobs, monkeypatch):
    monkeypatch.setattr("manyview._utils.machine.available_memory", lambda: 10**6)
    with pytest.raises(MemoryError, match=r"ETLMSC needs about .* for 90 samples and 3 views"):
        ETLMSC(3).fit(blobs)


@quiet
@pytest.mark.parametrize(
    ("tag", "order", "name"),
    [
        ("msrc", "file", "mode3_lam0.1"),
        ("msrc", "shuf", "mode3_lam0.2"),
        ("3s", "file", "mode3_lam0.2"),
        ("3s", "sorted", "mode3_lam0.04"),
    ],
)
def test_accuracy_of_the_authors_program(oracle, data_file, tag, order, name):
    """Mean of single k-means runs, within two standard deviations of the program's."""
    file, n_clusters = FILES[tag]
    views, stored = read_views(data_file(file)), oracle(f"etlmsc__{tag}__{order}")
    rows = {"file": np.arange(views.n_samples), "sorted": np.argsort(views.labels, kind="stable")}.get(order)
    rows = oracle("perms")[tag] if rows is None else rows
    truth = np.asarray(views.labels)[rows]
    theirs = [accuracy(truth, stored[f"labels__{name}__s{seed}"]) for seed in range(1, 6)]
    model = ETLMSC(n_clusters, error_weight=float(name.split("_lam")[1]) * len(truth), n_init=1, random_state=0)
    model.fit(views.take(rows))
    ours = [accuracy(truth, kmeans_labels(model.embedding_, n_clusters, seed, 1)) for seed in range(10)]
    assert abs(np.mean(ours) - np.mean(theirs)) <= 2 * max(np.std(theirs), 0.01)


@quiet
def test_class_sorted_rows_are_worth_half_of_the_accuracy(data_file):
    views = read_views(data_file("MSRC-v5.mat"))
    assert accuracy(views.labels, ETLMSC(7, random_state=0).fit(views).labels_) > 0.98
    shuffled = views.take(np.random.default_rng(0).permutation(210))
    assert accuracy(shuffled.labels, ETLMSC(7, random_state=0).fit(shuffled).labels_) < 0.5
