"""Building blocks of graphs: scaling, anchors, neighbours, edge weights, spectra, components."""

from manyview._utils.scalings import SCALINGS
from manyview.graphs.anchors import ANCHOR_SELECTORS, select_das, select_kmeans, select_random, select_vda
from manyview.graphs.canonical import CanonicalOrder, canonical_order
from manyview.graphs.components import component_labels, graph_component_labels, read_clusters, read_graph_clusters
from manyview.graphs.laplacian import normalize_bipartite
from manyview.graphs.neighbours import nearest_lists
from manyview.graphs.scaling import (
    SCALERS,
    ChosenScaling,
    Scaling,
    choose_scaling,
    explain_scaling,
    learn_scaling,
    unit_variance,
)
from manyview.graphs.similarity import bipartite_graph, can_weights, gaussian_kernel, neighbor_graph
from manyview.graphs.spectrum import (
    laplacian_eigenvectors,
    largest_eigenvectors,
    largest_eigenvectors_by_part,
    leading_singular_vectors,
    normalize_graph,
    symmetrize,
)
from manyview.graphs.structured import StructuredGraph, structured_graph

__all__ = [
    "ANCHOR_SELECTORS",
    "SCALERS",
    "SCALINGS",
    "CanonicalOrder",
    "ChosenScaling",
    "Scaling",
    "StructuredGraph",
    "bipartite_graph",
    "can_weights",
    "canonical_order",
    "choose_scaling",
    "component_labels",
    "explain_scaling",
    "gaussian_kernel",
    "graph_component_labels",
    "laplacian_eigenvectors",
    "largest_eigenvectors",
    "largest_eigenvectors_by_part",
    "leading_singular_vectors",
    "learn_scaling",
    "nearest_lists",
    "neighbor_graph",
    "normalize_bipartite",
    "normalize_graph",
    "read_clusters",
    "read_graph_clusters",
    "select_das",
    "select_kmeans",
    "select_random",
    "select_vda",
    "structured_graph",
    "symmetrize",
    "unit_variance",
]
