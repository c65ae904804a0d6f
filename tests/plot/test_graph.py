"""The image of the learned graph."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manyview import plot
from manyview.exceptions import PlotError


def image(ax):
    return np.asarray(ax.images[0].get_array())


def tick_labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def boundaries(collection, axis):
    return [float(path.vertices[0, axis]) for path in collection.get_paths()]


@pytest.fixture
def blocks(fake_model):
    """Samples 1, 0, 1, 0, 1 and four anchors, of which one has no edge; one edge runs between the clusters."""
    edges = np.array(
        [
            [0, 0.0, 0.7, 0.3],
            [1, 0.0, 0.0, 0.0],
            [0, 0.0, 0.5, 0.5],
            [1, 0.0, 0.0, 0.0],
            [0.2, 0.0, 0.8, 0.0],
        ]
    )
    return fake_model(
        labels_=np.array([1, 0, 1, 0, 1]), consensus_graph_=sp.csr_array(edges), anchor_indices_=np.arange(4)
    )


def test_no_weight_on_the_colour_bar_is_beyond_its_end(blocks, ax):
    blocks.consensus_graph_ = blocks.consensus_graph_ * 0.46
    plot.graph(blocks, ax=ax)
    (bar,) = [other for other in ax.figure.axes if other is not ax]
    assert 3 <= len(bar.get_yticks()) <= 6
    assert bar.get_yticks().max() <= ax.images[0].norm.vmax


def test_rows_and_anchors_are_ordered_by_cluster(blocks, ax):
    plot.graph(blocks, ax=ax)
    expected = [[1, 0, 0], [1, 0, 0], [0, 0.7, 0.3], [0, 0.5, 0.5], [0.2, 0.8, 0]]
    np.testing.assert_allclose(image(ax), expected)
    assert ax.get_title() == "FakeModel: graph of 5 samples and 3 anchors"
    assert tick_labels(ax.yaxis) == tick_labels(ax.xaxis) == ["0", "1"]
    np.testing.assert_allclose(ax.get_yticks(), [1, 3.5])
    np.testing.assert_allclose(ax.get_xticks(), [0.5, 2])
    assert [boundaries(lines, axis) for lines, axis in zip(ax.collections[:2], (1, 0), strict=True)] == [[2], [1]]
    assert (ax.get_xlim(), ax.get_ylim()) == ((0, 3), (5, 0))


def test_labels_give_the_order_and_the_names(blocks, ax):
    plot.graph(blocks, labels=["b", "a", "c", "a", "a"], ax=ax)
    assert tick_labels(ax.yaxis) == ["a", "b", "c"]
    np.testing.assert_allclose(image(ax)[-1].sum(), 1)  # sample 2
    np.testing.assert_allclose(image(ax)[:3].sum(axis=1), [1, 1, 1])
    np.testing.assert_allclose(sorted(image(ax)[3]), [0, 0.3, 0.7])


def test_long_names_are_upright_below(blocks, ax):
    plot.graph(blocks, labels=np.array(["cats", "dogs"])[blocks.labels_], ax=ax)
    assert {label.get_rotation() for label in ax.get_xticklabels()} == {90}


@pytest.mark.parametrize(
    ("name", "attribute"),
    [("GraphEnsemble", "consensus_graph_"), ("SFMC", "component_graph_"), ("CLR", "learned_graph_")],
)
def test_nothing_of_the_graph_is_lost(name, attribute, models, ax):
    model = models[name]
    edges = getattr(model, attribute)
    plot.graph(model, attribute=attribute, max_pixels=7, ax=ax)
    assert max(image(ax).shape) <= 7
    assert image(ax).sum() == pytest.approx(edges.sum())


def test_components_are_blocks(models, ax):
    model = models["GraphEnsemble"]
    plot.graph(model, ax=ax)
    sizes = np.bincount(model.labels_)
    anchors = np.bincount(model.labels_[model.anchor_indices_])
    owner = np.repeat(np.arange(3), sizes)[:, None] == np.repeat(np.arange(3), anchors)
    assert image(ax).shape == owner.shape
    assert image(ax)[~owner].sum() == 0


def test_graph_among_samples_is_ordered_alike_on_both_sides(models, ax):
    model = models["CLR"]
    plot.graph(model, ax=ax)
    order = np.argsort(model.labels_, kind="stable")
    np.testing.assert_allclose(image(ax), model.learned_graph_.toarray()[order][:, order])
    assert ax.get_xlabel() == ax.get_ylabel() == "samples, by cluster"
    assert ax.get_title() == "CLR: graph of 60 samples"


def test_hundred_thousand_samples_become_a_small_image(fake_model, ax, monkeypatch):
    n, m, rng = 100_000, 2_000, np.random.default_rng(0)
    labels = rng.integers(40, size=n)
    anchors = rng.integers(50, size=(n, 5)) + 50 * labels[:, None]
    edges = sp.csr_array((np.full(5 * n, 0.2), anchors.ravel(), np.arange(0, 5 * n + 1, 5)), shape=(n, m))
    model = fake_model(labels_=labels, consensus_graph_=edges, anchor_indices_=np.arange(m))
    for kind in (sp.csr_array, sp.coo_array):
        monkeypatch.setattr(kind, "toarray", None)  # not to be made dense
    plot.graph(model, ax=ax)
    assert image(ax).shape == (500, 500)
    assert image(ax).sum() == pytest.approx(n)
    assert len(ax.get_xticks()) < 40  # names that would overlap are left out
    assert "summed over 200 x 4" in ax.figure.axes[1].get_ylabel()
    ax.figure.draw_without_rendering()


def test_pixels_stand_for_equally_many_rows(fake_model, ax):
    n = 1_797
    edges = sp.csr_array(np.ones((n, 2)))
    plot.graph(fake_model(labels_=np.zeros(n, dtype=int), consensus_graph_=edges), ax=ax)
    assert image(ax).shape == (450, 2)
    assert set(image(ax)[:-1].ravel()) == {4}
    assert set(image(ax)[-1]) == {1}
    assert ax.get_ylim() == (n, 0)


def test_errors(models, fake_model, ax):
    with pytest.raises(PlotError, match=r"CLR has no component_graph_\. Methods that have it: .* TBGL, SFMC"):
        plot.graph(models["CLR"], attribute="component_graph_", ax=ax)
    with pytest.raises(
        PlotError, match=r"view_weights_: expected a graph .* each of the 60 samples, got shape \(\d,\)"
    ):
        plot.graph(models["SFMC"], attribute="view_weights_", ax=ax)
    with pytest.raises(PlotError, match=r"labels: expected one for each of the 60 samples, got shape \(2,\)"):
        plot.graph(models["SFMC"], labels=[0, 1], ax=ax)
    with pytest.raises(PlotError, match="max_pixels: expected at least 1, got 0"):
        plot.graph(models["SFMC"], max_pixels=0, ax=ax)
    with pytest.raises(PlotError, match="the graph of FakeModel has no edges"):
        plot.graph(fake_model(labels_=np.zeros(3, dtype=int), learned_graph_=sp.csr_array((3, 3))), ax=ax)
    assert not ax.has_data()
