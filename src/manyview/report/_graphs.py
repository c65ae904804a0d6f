"""Images of the learned graph and of the graph of each view, all with samples and anchors ordered by cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview.graphs.components import binned, places
from manyview.report._votes import Shown, Vote, vote

_MOST_PIXELS = 250
_DIGITS = 4


def graph_images(model: Any, shown: Shown, votes: Sequence[Vote], names: Sequence[str]) -> list[dict[str, Any]]:
    """Images of all graphs, the learned ones first.

    Parameters
    ----------
    model : fitted estimator
    shown : Shown
    votes : list of Vote
    names : list of str
        Of the views.

    Returns
    -------
    list of dict
        With ``name`` (of the view, else None), ``kind`` ("learned", "embedding" or "view"), ``title``, ``image``
        (values from 0 to 1), ``inside`` (share of the weight that is inside clusters; None without any weight), and
        ``rows`` and ``columns`` (what they are, and how many).
    """
    graphs: list[tuple[str | None, str, str, Any]] = [
        (None, kind, title, graph) for kind, title, graph in _learned(model, shown)
    ]
    graphs += [(name, "view", f"view {name}", vote.graph) for name, vote in zip(names, votes, strict=True)]
    return [
        {"name": name, "kind": kind, "title": title} | _picture(sp.coo_array(graph), shown)
        for name, kind, title, graph in graphs
    ]


def blocks(shown: Shown) -> list[list[float]]:
    """Where the clusters are in the images: left, top, width and height, as shares of the image."""
    n_clusters = int(max(shown.codes.max(), shown.anchor_codes.max())) + 1
    heights = np.bincount(shown.codes, minlength=n_clusters) / len(shown.codes)
    widths = np.bincount(shown.anchor_codes, minlength=n_clusters) / len(shown.anchor_codes)
    found = np.column_stack([np.cumsum(widths) - widths, np.cumsum(heights) - heights, widths, heights])
    return found[(widths > 0) & (heights > 0)].round(5).tolist()


def learned_graph(
    model: Any, shown: Shown, names: Sequence[str] = ("consensus_graph_", "learned_graph_")
) -> sp.csr_array | np.ndarray | None:
    """The graph that the method has learned, between the samples that are shown and the anchors; None without one."""
    graph = next((getattr(model, name) for name in names if hasattr(model, name)), None)
    if graph is None:
        return None
    graph = sp.csr_array(graph) if sp.issparse(graph) else np.asarray(graph)
    return graph[shown.rows][:, shown.places]


def _learned(model: Any, shown: Shown) -> Iterator[tuple[str, str, sp.csr_array | np.ndarray]]:
    """What the method has learned; if that is coordinates only, the neighbours in these."""
    graph = learned_graph(model, shown)
    if graph is not None:
        yield "learned", "learned graph", graph
    components = learned_graph(model, shown, ["component_graph_"])
    if components is not None:
        yield "learned", "its components", components
    embedding = getattr(model, "embedding_", None)
    if graph is None and embedding is not None:
        title = "neighbours in the learned coordinates"
        yield "embedding", title, vote(embedding[shown.rows], embedding[shown.anchors], shown).graph


def _picture(graph: sp.coo_array, shown: Shown) -> dict[str, Any]:
    weights = np.abs(graph.data)
    image, _ = binned(
        places(shown.codes)[graph.row], places(shown.anchor_codes)[graph.col], weights, graph.shape, _MOST_PIXELS
    )
    total = float(weights.sum())
    inside = float(weights[shown.codes[graph.row] == shown.anchor_codes[graph.col]].sum())
    anchors = "anchors" if shown.own_anchors else "samples to compare with"
    return {
        "image": (image / (image.max() or 1.0)).round(_DIGITS).tolist(),
        "inside": inside / total if total else None,
        "rows": f"{graph.shape[0]:,} samples",
        "columns": f"{graph.shape[1]:,} {anchors}",
    }
