"""Graphs between samples and anchors: scaling, anchors, neighbours, Laplacians, components."""

from manyview.graphs.anchors import ANCHOR_SELECTORS, select_kmeans, select_random, select_vda
from manyview.graphs.bipartite import bipartite_graph, can_weights, neighbor_graph
from manyview.graphs.components import component_labels, read_clusters
from manyview.graphs.laplacian import leading_singular_vectors, normalize_bipartite
from manyview.graphs.scaling import SCALERS
from manyview.graphs.structured import StructuredGraph, structured_graph

__all__ = [
    "ANCHOR_SELECTORS",
    "SCALERS",
    "StructuredGraph",
    "bipartite_graph",
    "can_weights",
    "component_labels",
    "leading_singular_vectors",
    "neighbor_graph",
    "normalize_bipartite",
    "read_clusters",
    "select_kmeans",
    "select_random",
    "select_vda",
    "structured_graph",
]
