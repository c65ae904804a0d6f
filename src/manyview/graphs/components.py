"""Clusters of a graph, bipartite or among samples: its connected components, and the graph as an image."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.exceptions import ConvergenceWarning

from manyview.exceptions import warn_user
from manyview.graphs.laplacian import normalize_bipartite
from manyview.graphs.scaling import scale_unit_rows
from manyview.graphs.spectrum import (
    drop_weak_edges,
    largest_eigenvectors_by_part,
    leading_singular_vectors,
    normalize_graph,
    symmetrize,
)


def component_labels(graph: sp.csr_array) -> tuple[int, np.ndarray]:
    """Return the number of connected components, and the component of each sample.

    Parameters
    ----------
    graph : csr_array of shape (n, m)
        A bipartite graph. Anchors without edges are not counted.

    Returns
    -------
    n_components : int
    labels : ndarray of shape (n,)
        Numbered in the order of the first sample of each component.
    """
    _, labels = connected_components(_among_all(drop_weak_edges(graph)), directed=False)
    labels = relabel_by_first(labels[: graph.shape[0]])
    return int(labels.max()) + 1, labels


def _among_all(graph: sp.csr_array) -> sp.csr_array:
    """Return a bipartite graph as a graph of n + m nodes; edges go from samples to anchors only."""
    n, m = graph.shape
    starts = np.concatenate([graph.indptr, np.full(m, graph.nnz, dtype=graph.indptr.dtype)])
    return sp.csr_array((graph.data, graph.indices + n, starts), shape=(n + m, n + m))


def relabel_by_first(labels: np.ndarray) -> np.ndarray:
    """Rename labels 0, 1, ... in the order in which they first occur."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def read_clusters(
    learned: sp.csr_array,
    n_clusters: int,
    *,
    initial: sp.csr_array,
    random_state: int | np.random.RandomState | None = None,
) -> np.ndarray:
    """Return exactly ``n_clusters`` labels from a learned bipartite graph.

    If the graph has ``n_clusters`` components, these are the clusters. If it has more, the smallest component is
    merged, repeatedly, with the one that it has most links to in the ``initial`` graph. If it has fewer, it is cut by
    spectral clustering. Both repairs raise a ``ConvergenceWarning``.

    Parameters
    ----------
    learned : csr_array of shape (n, m)
    n_clusters : int
    initial : csr_array of shape (n, m)
        The graph that the solver started from, which decides how surplus components are merged.
    random_state : int, RandomState or None
        Random seed of the spectral clustering of a graph with too few components.

    Returns
    -------
    ndarray of shape (n,)
        Labels 0, ..., n_clusters - 1 in the order of their first sample.
    """
    found, labels = component_labels(learned)
    if found > n_clusters:
        # Components are linked through the anchors that they share in the initial graph.
        shares = _indicator(labels) @ initial
        labels = _merge_components(labels, n_clusters, (shares @ shares.T).toarray())
    elif found < n_clusters:
        u, _, _ = leading_singular_vectors(normalize_bipartite(learned), n_clusters)
        labels = _cut(u, n_clusters, random_state)
    _warn_of_repair(found, n_clusters)
    return relabel_by_first(labels)


def graph_component_labels(graph: sp.csr_array) -> tuple[int, np.ndarray]:
    """Return what :func:`manyview.graphs.component_labels` does, for a graph among the samples, directed or not.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
    """
    n_components, labels = connected_components(drop_weak_edges(graph), directed=False)
    return int(n_components), relabel_by_first(labels)


def read_graph_clusters(
    learned: sp.csr_array,
    n_clusters: int,
    *,
    initial: sp.csr_array,
    random_state: int | np.random.RandomState | None = None,
) -> np.ndarray:
    """Return what :func:`manyview.graphs.read_clusters` does, for graphs among the samples.

    Parameters
    ----------
    learned : csr_array of shape (n, n)
    n_clusters : int
    initial : csr_array of shape (n, n)
        The graph that the solver started from, which decides how surplus components are merged.
    random_state : int, RandomState or None
        Random seed of the spectral clustering of a graph with too few components.
    """
    found, labels = graph_component_labels(learned)
    if found > n_clusters:
        indicator = _indicator(labels)
        labels = _merge_components(labels, n_clusters, (indicator @ symmetrize(initial) @ indicator.T).toarray())
    elif found < n_clusters:
        _, vectors = largest_eigenvectors_by_part(normalize_graph(symmetrize(learned)), n_clusters)
        labels = _cut(vectors, n_clusters, random_state)
    _warn_of_repair(found, n_clusters)
    return relabel_by_first(labels)


def _warn_of_repair(found: int, n_clusters: int) -> None:
    if found != n_clusters:
        more = found > n_clusters
        how = "the smallest were joined to their neighbours" if more else "it was cut by spectral clustering"
        warn_user(
            f"The learned graph has {found} connected components instead of n_clusters={n_clusters}; {how}.",
            ConvergenceWarning,
        )


def _indicator(labels: np.ndarray) -> sp.csr_array:
    """Return the indicator matrix of the components: components x samples."""
    return sp.csr_array((np.ones(len(labels)), (labels, np.arange(len(labels)))))


def _merge_components(labels: np.ndarray, n_clusters: int, links: np.ndarray) -> np.ndarray:
    """Merge the smallest component with the one of the largest ``links``, until ``n_clusters`` are left."""
    sizes = np.bincount(labels)
    target = np.arange(len(sizes))
    alive = list(range(len(sizes)))
    while len(alive) > n_clusters:
        smallest = min(alive, key=lambda c: (sizes[c], c))
        others = [c for c in alive if c != smallest]
        strength = links[smallest, others]
        # Without any link no component is nearer than another; the largest is changed least.
        best = others[int(np.argmax(strength))] if strength.any() else max(others, key=lambda c: (sizes[c], -c))
        links[best] += links[smallest]
        links[:, best] += links[:, smallest]
        sizes[best] += sizes[smallest]
        target[target == smallest] = best
        alive = others
    return target[labels]


def _cut(embedding: np.ndarray, n_clusters: int, random_state: int | np.random.RandomState | None) -> np.ndarray:
    from sklearn.cluster import KMeans  # a quarter of a second that most commands do not need

    return KMeans(n_clusters, n_init=10, random_state=random_state).fit(scale_unit_rows(embedding)).labels_


def strongest_group(edges: sp.coo_array, rows: np.ndarray, n_groups: int) -> np.ndarray:
    """Return the group of rows with most of the weight of each column; ``n_groups`` for columns without weight."""
    m = edges.shape[1]
    weights = np.bincount(rows[edges.row] * m + edges.col, weights=edges.data, minlength=n_groups * m)
    by_group = weights.reshape(n_groups, m)
    return np.where(by_group.any(axis=0), by_group.argmax(axis=0), n_groups)


def places(codes: np.ndarray) -> np.ndarray:
    """Return the position of each element after sorting by code."""
    found = np.empty(len(codes), dtype=np.int64)
    found[np.argsort(codes, kind="stable")] = np.arange(len(codes))
    return found


def binned(
    rows: np.ndarray, columns: np.ndarray, weights: np.ndarray, shape: tuple[int, int], max_pixels: int
) -> tuple[np.ndarray, tuple[int, int]]:
    """Return an image of the weights, and the numbers of rows and columns per pixel.

    All pixels but the last ones cover equally many: otherwise there would be stripes.
    """
    down, right = (-(-size // max_pixels) for size in shape)
    height, width = -(-shape[0] // down), -(-shape[1] // right)
    used = weights != 0  # stored zeros may be in columns that are not shown
    pixel = rows[used] // down * width + columns[used] // right
    image = np.bincount(pixel, weights=weights[used], minlength=height * width)
    return image.reshape(height, width), (down, right)
