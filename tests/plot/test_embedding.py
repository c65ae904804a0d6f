"""The samples as points."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA

from manyview import GraphEnsemble, plot
from manyview.datasets import make_multiview
from manyview.exceptions import PlotError
from manyview.plot._shared import colours
from manyview.report.documents import describe_result
from manyview.report.run import summarise


def points(ax):
    return np.asarray(ax.collections[0].get_offsets())


def in_order(values):
    return values[np.lexsort(values.T)]


@pytest.fixture
def model(fake_model):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(3), 20)
    return fake_model(labels_=labels, embedding_=3 * np.eye(4)[labels] + rng.normal(scale=0.1, size=(60, 4)))


def test_principal_components(model, ax):
    plot.embedding(model, projection="pca", ax=ax)
    pca = PCA(2).fit(model.embedding_)
    expected = pca.transform(model.embedding_)
    signs = np.sign((points(ax) * expected).sum(axis=0))
    np.testing.assert_allclose(points(ax), expected * signs, atol=1e-12)
    assert ax.get_xlabel() == f"component 1 ({pca.explained_variance_ratio_[0]:.0%} of the variance)"
    assert ax.get_title() == "FakeModel: 60 samples"


def test_the_map_is_that_of_the_report(ax):
    views = make_multiview(150, n_clusters=4, noise=0.3, random_state=0)
    model = GraphEnsemble(4, n_members=4, random_state=0).fit(views)
    plot.embedding(model, views, ax=ax)
    summary = summarise(model, views, describe_result(model, views))["map"]
    drawn = np.column_stack([summary["x"], summary["y"]])
    np.testing.assert_allclose(in_order(points(ax).round(4)), in_order(drawn), atol=1e-12)
    assert len(np.unique(points(ax).round(3), axis=0)) > 140  # and not four dots


def test_without_views_the_embedding_spreads_the_samples_of_a_cluster(model, ax):
    plot.embedding(model, ax=ax)
    found = points(ax)
    means = np.array([found[model.labels_ == k].mean(axis=0) for k in range(3)])
    apart = min(np.linalg.norm(means[i] - means[j]) for i in range(3) for j in range(i))
    wide = [np.linalg.norm(found[model.labels_ == k] - means[k], axis=1).mean() for k in range(3)]
    assert 0.1 * apart < min(wide) < max(wide) < 0.5 * apart


@pytest.mark.parametrize("seed", range(5))
def test_signs_of_the_components_are_settled(seed, fake_model, ax):
    coordinates = np.random.default_rng(seed).normal(size=(30, 4))
    plot.embedding(fake_model(labels_=np.zeros(30, dtype=int), embedding_=coordinates), projection="pca", ax=ax)
    loadings = np.linalg.lstsq(coordinates - coordinates.mean(axis=0), points(ax))[0]
    np.testing.assert_allclose(loadings.max(axis=0), np.abs(loadings).max(axis=0))


def test_two_columns(model, ax):
    plot.embedding(model, projection=(2, 0), ax=ax)
    np.testing.assert_array_equal(points(ax), model.embedding_[:, [2, 0]])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("column 2 of the embedding", "column 0 of the embedding")


def test_circle(model, ax):
    plot.embedding(model, projection="circle", ax=ax)
    means = np.array([points(ax)[model.labels_ == k].mean(axis=0) for k in range(3)])
    np.testing.assert_allclose(means, [[0, 1], [0.75**0.5, -0.5], [-(0.75**0.5), -0.5]], atol=1e-12)


def test_colours_and_names_are_those_of_the_clusters(model, ax):
    names = np.array(["ants", "bees", "cats"])
    plot.embedding(model, labels=names[model.labels_], ax=ax)
    np.testing.assert_allclose(ax.collections[0].get_facecolors()[:, :3], colours(3)[model.labels_])
    assert sorted(text.get_text() for text in ax.texts) == list(names)


def test_low_confidence_is_pale_and_below(model, ax):
    model.confidence_ = np.linspace(1, 0, 60)
    plot.embedding(model, projection=(0, 1), ax=ax)
    np.testing.assert_array_equal(points(ax), model.embedding_[::-1, :2])
    drawn = ax.collections[0].get_facecolors()[:, :3]
    full = colours(3)[model.labels_[::-1]]
    np.testing.assert_allclose(drawn[-1], full[-1])
    np.testing.assert_allclose(drawn[0], 1 - 0.15 * (1 - full[0]))
    assert (drawn >= full - 1e-12).all()
    assert ax.get_title() == "FakeModel: 60 samples, pale: less sure"


def test_large_data_are_drawn_by_lot(fake_model, ax):
    n, rng = 100_000, np.random.default_rng(0)
    model = fake_model(labels_=rng.integers(12, size=n), embedding_=rng.normal(size=(n, 3)))
    plot.embedding(model, ax=ax)
    first = points(ax).copy()
    assert first.shape == np.unique(first, axis=0).shape == (5000, 2)
    assert ax.get_title() == "FakeModel: 5,000 of 100,000 samples"
    ax.clear()
    np.testing.assert_array_equal(points(plot.embedding(model, ax=ax)), first)
    ax.clear()
    other = points(plot.embedding(model, random_state=1, ax=ax))
    assert not np.array_equal(in_order(other), in_order(first))


def test_only_the_largest_clusters_are_named(fake_model, ax):
    labels = np.repeat(np.arange(50), np.arange(1, 51))
    model = fake_model(labels_=labels, embedding_=np.random.default_rng(0).normal(size=(len(labels), 2)))
    plot.embedding(model, ax=ax)
    assert sorted(int(text.get_text()) for text in ax.texts) == list(range(20, 50))


def test_errors(model, fake_model, ax):
    with pytest.raises(PlotError, match=r"projection: expected two of 0 to 3, .* got \(0, 4\)"):
        plot.embedding(model, projection=(0, 4), ax=ax)
    with pytest.raises(PlotError, match=r"projection: expected 'map', 'pca', 'circle' or two columns .* got 'tsne'"):
        plot.embedding(model, projection="tsne", ax=ax)
    with pytest.raises(PlotError, match="'circle' needs three or more clusters, got 2"):
        plot.embedding(model, projection="circle", labels=np.arange(60) % 2, ax=ax)
    with pytest.raises(PlotError, match="max_points: expected at least 1, got 0"):
        plot.embedding(model, max_points=0, ax=ax)
    with pytest.raises(PlotError, match=r"embedding_ has 1 column\(s\); a figure needs two"):
        plot.embedding(fake_model(labels_=np.zeros(5), embedding_=np.arange(5.0)[:, None]), projection="pca", ax=ax)
    with pytest.raises(PlotError, match="expected the 60 samples that the model was fitted on, got 6"):
        plot.embedding(model, [np.eye(6), np.eye(6)], ax=ax)
    assert not ax.has_data()
