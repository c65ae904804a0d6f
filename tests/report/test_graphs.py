"""Images of graphs."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from manyview.report._graphs import blocks, graph_images
from manyview.report._votes import Vote, cast_votes, choose_shown


def test_rows_and_columns_are_ordered_by_cluster():
    labels = np.array([1, 0, 1, 0])
    model = SimpleNamespace(labels_=labels, learned_graph_=np.where(labels[:, None] == labels, 0.5, 0))
    shown = choose_shown(model, labels)
    (learned, view) = graph_images(model, shown, [Vote(sp.csr_array(np.eye(4)[::-1]), labels)], ["hog"])
    assert learned["image"] == [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]
    assert (learned["kind"], learned["name"], learned["inside"]) == ("learned", None, 1.0)
    assert (learned["rows"], learned["columns"]) == ("4 samples", "4 samples to compare with")
    # samples 0 to 3 are joined with 3 to 0; in the order 1, 3, 0, 2 that is outside of the clusters
    assert view["image"] == [[0, 0, 0, 1], [0, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]]
    assert (view["kind"], view["name"], view["inside"]) == ("view", "hog", 0.0)
    assert blocks(shown) == [[0, 0, 0.5, 0.5], [0.5, 0.5, 0.5, 0.5]]


def test_anchors_of_the_model_are_the_columns():
    labels = np.array([0, 0, 1, 1, 1])
    graph = sp.csr_array(np.array([[1, 0], [1, 0], [0, 1], [0, 1], [0.5, 0.5]]))
    model = SimpleNamespace(labels_=labels, consensus_graph_=graph, anchor_indices_=np.array([1, 3]))
    (learned,) = graph_images(model, choose_shown(model, labels), [], [])
    assert learned["image"] == [[1, 0], [1, 0], [0, 1], [0, 1], [0.5, 0.5]]
    assert learned["inside"] == pytest.approx(0.9)
    assert learned["columns"] == "2 anchors"


def test_a_graph_without_weight():
    labels = np.zeros(3, dtype=int)
    model = SimpleNamespace(labels_=labels)
    (view,) = graph_images(model, choose_shown(model, labels), [Vote(sp.csr_array((3, 3)), labels)], ["empty"])
    assert view["inside"] is None
    assert not np.any(view["image"])


def test_every_method_shows_what_it_has_learned(models, blobs):
    for name, model in models.items():
        graphs = [key for key in ("consensus_graph_", "component_graph_", "learned_graph_") if hasattr(model, key)]
        learned = ["learned"] * len(graphs) or ["embedding"] * hasattr(model, "embedding_")
        shown = choose_shown(model, model.labels_)
        found = graph_images(model, shown, cast_votes(model, blobs, shown), blobs.names)
        assert [graph["kind"] for graph in found] == learned + 3 * ["view"], name
        assert all(graph["inside"] > 0.9 for graph in found[-4:]), name
        assert len({np.shape(graph["image"]) for graph in found}) == 1, name
