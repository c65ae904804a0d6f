"""Pictures of graphs, small enough to keep: those of the views, and the one that was learned from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview.graphs import SCALERS, bipartite_graph
from manyview.graphs.components import binned, places
from manyview.views import Views

LEARNED = "learned"
COMPONENTS = "components"
_NEIGHBORS = 10  # the paper's, and TBGL's default
_MOST_PIXELS = 210


def graph_pictures(model: Any, views: Views, classes: np.ndarray) -> dict[str, np.ndarray]:
    """The input graph of each view and the learned graph, between the samples and the model's anchors.

    Samples and anchors are ordered by their known class, so that in a good graph there is weight in the blocks on the
    diagonal only. The graphs of the views are the paper's (scaled by the largest value, ten neighbours) on the anchors
    of the model.

    Parameters
    ----------
    model : fitted estimator
        With ``anchor_indices_`` and ``consensus_graph_``, perhaps ``component_graph_``.
    views : Views
        What it was fitted on.
    classes : ndarray of int, shape (n_samples,)
        Known classes of these samples.

    Returns
    -------
    dict of ndarray
        Images with values from 0 to 1, by the name of the view; the learned one is called "learned", and the one that
        clusters are read off "components", where these two differ. A view of such a name is called "learned (view)".
    """
    anchors = model.anchor_indices_
    graphs = {}
    for name, view in zip(views.names, views.arrays, strict=True):
        scaled = SCALERS["max"](view)
        graphs[_name_of(name, views.names)] = bipartite_graph(
            scaled, scaled[anchors], min(_NEIGHBORS, len(anchors) - 1)
        )
    graphs[LEARNED] = model.consensus_graph_
    if hasattr(model, "component_graph_"):
        graphs[COMPONENTS] = model.component_graph_
    return {name: _picture(sp.coo_array(graph), classes, classes[anchors]) for name, graph in graphs.items()}


def _name_of(view: str, views: Sequence[str]) -> str:
    """The name of the picture of a view: its own, if that is not the name of another picture."""
    name = view
    while name in (LEARNED, COMPONENTS) or (name != view and name in views):
        name += " (view)"
    return name


def _picture(graph: sp.coo_array, row_classes: np.ndarray, column_classes: np.ndarray) -> np.ndarray:
    image, _ = binned(
        places(row_classes)[graph.row], places(column_classes)[graph.col], graph.data, graph.shape, _MOST_PIXELS
    )
    return (image / image.max()).astype(np.float32) if image.any() else image.astype(np.float32)
