"""Eigengaps and stability by number of clusters, of the data and of reference data without clusters.

Members (:mod:`manyview.ensemble.members`) with broad graphs draw views, anchors and neighbours. For every K are
measured:

- the *graph gap*: the fused graph W of a member has singular values ``1 = σ_1 >= σ_2 >= ...`` after division by the
  first. With K well separated clusters, K of them are high. This is the drop ``σ_K - σ_{K+1}``, mean over the members;
- the *consensus gap*: the same drop in the graph between the samples and the clusters of all members' cuts into K + 1.
  K real clusters recur in all of these cuts, while the surplus cut is at random;
- the *stability*: the mean adjusted Rand index between all pairs of members' cuts into K.

Into more than 21 clusters, only every other member is cut.

All are also high for data without clusters: a spherical cloud in d dimensions has a drop after d + 1 values, and an
elongated one is always cut in two at the same position. So the same is measured on references with the covariance of
the data but without clusters (:func:`without_clusters`), and only the excess of a gap over their mean counts.

The *score* of K is the geometric mean of both gaps' excess (:func:`manyview.ensemble.n_clusters.excess`), times the
stability. The *strength* is the same for the gaps as they are; :func:`manyview.ensemble.n_clusters.decide` compares it
with the largest of a reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.sparse as sp

from manyview.engines import Block, Rows
from manyview.ensemble.columns import CUT, CUT_VECTORS, VECTORS
from manyview.ensemble.consensus import cluster_sizes, consensus_vectors, label_tables
from manyview.ensemble.edges import edge_product
from manyview.ensemble.kmeans import assign, kmeans_rows, unit_rows
from manyview.ensemble.members import (
    FAMILIES,
    Lists,
    Member,
    Settings,
    draw_member,
    fused_edges,
    member_spectrum,
    start_centres,
)
from manyview.graphs.laplacian import inverse_sqrt
from manyview.graphs.scaling import row_lengths
from manyview.views import Array

# Broad graphs: on the data that this was tried on, their eigengaps are clearer.
_FAMILY = FAMILIES[1]
# Graphs are made for at least this number of clusters, or for clusters of this number of samples, so that they hardly
# depend on the requested range.
_GRAPH_CLUSTERS = 20
_CLUSTER_ROWS = 5
# Into more clusters than this, only every other graph is cut: the time of a cut grows with the square of their number.
_ALL_MEMBERS = _GRAPH_CLUSTERS + 1
# Passes of k-means over the samples, after those over the anchors: more would take most of the time.
_PASSES = 3
# The spectrum is computed up to this multiple of the largest number, to see whether the answer lies beyond.
_LOOK_AHEAD = 1.5
# Residual of the eigenvectors, relative to the largest eigenvalue: less than for labels, as gaps are compared.
_GAP_TOLERANCE = 1e-3
# Lengths of rows are equal up to rounding if they differ by less than this share.
_SAME_LENGTH = 1e-9


@dataclass(frozen=True)
class Curve:
    """Measurements: ``graph_gap[K - 1]`` of all K from 1 to beyond the largest choice, the others of the choices."""

    graph_gap: np.ndarray
    consensus_gap: np.ndarray
    stability: np.ndarray

    def strength(self, numbers: np.ndarray) -> np.ndarray:
        """Return both gaps and the stability of each choice in one number."""
        return np.sqrt(np.maximum(self.graph_gap[numbers - 1] * self.consensus_gap, 0.0)) * self.stability


def mean_curve(curves: Sequence[Curve]) -> Curve:
    """Return the mean of several curves."""
    gaps = ([getattr(curve, name) for curve in curves] for name in ("graph_gap", "consensus_gap", "stability"))
    return Curve(*(np.mean(gap, axis=0) for gap in gaps))


def settings_for(n_clusters: Sequence[int], n_rows: int, seed: int, n_members: int = 24) -> Settings:
    """Return settings of members for all these numbers of clusters."""
    most = max(min(_GRAPH_CLUSTERS, n_rows // _CLUSTER_ROWS), *n_clusters)
    return Settings(most, n_members=n_members, families=(_FAMILY,), seed=seed)


def measure(rows: Rows, lists: Lists, settings: Settings, n_clusters: Sequence[int]) -> Curve:
    """Measure gaps and stability of every number of clusters; the rows hold neighbour lists."""
    members = [draw_member(settings, _FAMILY, lists, i) for i in range(settings.n_members)]
    cuts = sorted({cut for k in n_clusters for cut in (k, k + 1)})
    cut = {k: members if k <= _ALL_MEMBERS else members[::2] for k in cuts}
    n_values = int(_LOOK_AHEAD * max(cuts)) + 1
    own = [[k for k in cuts if k <= _ALL_MEMBERS or member.index % 2 == 0] for member in members]
    gaps = rows.run([partial(_cut, rows, lists, m, ks, n_values) for m, ks in zip(members, own, strict=True)])
    consensus = rows.run([partial(_consensus_gap, rows, cut[k + 1], k) for k in n_clusters])
    agreement = rows.run([partial(_agreement, rows, cut[k], k) for k in n_clusters])
    for k in cuts:
        for member in cut[k]:
            rows.drop(_labels(member, k))
    return Curve(np.mean(gaps, axis=0), np.array(consensus), np.array(agreement))


def _cut(rows: Rows, lists: Lists, member: Member, n_clusters: Sequence[int], n_values: int) -> np.ndarray:
    """Cut one member's graph into every number of clusters; the rows keep the labels. Return its eigengaps."""
    n_vectors = min(n_values, len(member.anchors) + 1)
    values, vectors, scale, volumes = member_spectrum(rows, lists, member, n_vectors, _GAP_TOLERANCE)
    every = VECTORS.of(member.family, member.index)
    rows.keep(every, _vectors, lists, member, scale, np.ascontiguousarray(vectors / values))
    rng = np.random.default_rng(member.seed)
    for k in n_clusters:
        space = CUT_VECTORS.of(k, member.family, member.index)
        rows.keep(space, _directions, every, k)
        centres, _, _ = kmeans_rows(rows, space, start_centres(vectors, volumes, k, rng), rows.n_rows, _PASSES)
        rows.keep(_labels(member, k), assign, space, centres)
        rows.drop(space)
    rows.drop(every)
    values = values / values[0]
    return -np.diff(np.append(values, np.full(n_values - n_vectors, values[-1])))


def _labels(member: Member, n_clusters: int) -> str:
    """Return the column of a member's cut."""
    return CUT.of(n_clusters, member.family, member.index)


def _vectors(block: Block, lists: Lists, member: Member, scale: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    return edge_product(*fused_edges(block, lists, member, scale), vectors)


def _directions(block: Block, name: str, n_vectors: int) -> np.ndarray:
    return unit_rows(np.ascontiguousarray(block[name][:, :n_vectors]))


def _consensus_gap(rows: Rows, members: Sequence[Member], n_clusters: int) -> float:
    """Return the drop after ``n_clusters`` singular values of the graph of samples and clusters of cuts into one more.

    It is normalised on both sides, as in :func:`manyview.ensemble.consensus.find_consensus`, so the first value is 1.
    """
    names = [_labels(member, n_clusters + 1) for member in members]
    offsets = np.arange(len(members) + 1) * (n_clusters + 1)
    sizes = rows.sum(cluster_sizes, names, offsets)
    column = inverse_sqrt(len(members) * sizes)
    values = consensus_vectors(rows, names, offsets, sizes, column, n_clusters + 1)[1]
    return float(values[n_clusters - 1] - values[n_clusters])


def _agreement(rows: Rows, members: Sequence[Member], n_clusters: int) -> float:
    """Return the mean adjusted Rand index of all pairs of cuts into this number of clusters."""
    names = [_labels(member, n_clusters) for member in members]
    found = [adjusted_rand(rows.sum(_tables, names[i], names[:i], n_clusters)) for i in range(1, len(names))]
    return float(np.concatenate(found).mean())


def _tables(block: Block, reference: str, names: Sequence[str], n_clusters: int) -> np.ndarray:
    labels = np.column_stack([block[name] for name in names])
    return label_tables(block[reference], labels, n_clusters, n_clusters)


def adjusted_rand(tables: np.ndarray) -> np.ndarray:
    """Compute the adjusted Rand index of each contingency table along the first axis; 1 if both have one cluster."""
    n_pairs = _pairs(tables.sum(axis=(1, 2)))
    both = _pairs(tables).sum(axis=(1, 2))
    first, second = _pairs(tables.sum(axis=2)).sum(axis=1), _pairs(tables.sum(axis=1)).sum(axis=1)
    by_chance = first * second / n_pairs
    most = (first + second) / 2
    return np.divide(both - by_chance, most - by_chance, out=np.ones(len(tables)), where=most > by_chance)


def _pairs(counts: np.ndarray) -> np.ndarray:
    return counts * (counts - 1) / 2


def without_clusters(scaled: Sequence[Array], rng: np.random.Generator) -> list[Array]:
    """Return reference views without clusters that are otherwise like the given ones.

    Rows of the dense views become random mixtures of all rows, the same ones in every view: a Gaussian cloud with the
    covariance of the data, within and between the views. The entries of sparse views are permuted: each row keeps its
    number of entries and, on average, each column its share of them. If all rows had the same length, they are scaled
    to it.
    """
    n = scaled[0].shape[0]
    mixture = rng.standard_normal((n, n)) / np.sqrt(n)
    views: list[Array] = []
    for view in scaled:
        if isinstance(view, np.ndarray):
            centre = view.mean(axis=0)
            made: Array = centre + mixture @ (view - centre)
        else:
            permuted = rng.permutation(view.nnz)
            starts = view.indptr.copy()  # sum_duplicates changes it in place
            made = sp.csr_array((view.data[permuted], view.indices[permuted], starts), shape=view.shape)
            made.sum_duplicates()
        length = _common_length(view)
        views.append(made if length is None else _with_length(made, length))
    return views


def _common_length(view: Array) -> float | None:
    """Return the length of all rows that are not zero, if it is the same."""
    lengths = row_lengths(view)
    longest = float(lengths.max())
    return longest if (np.abs(lengths[lengths > 0] - longest) <= _SAME_LENGTH * longest).all() else None


def _with_length(view: Array, length: float) -> Array:
    lengths = row_lengths(view)
    factors = np.divide(length, lengths, out=np.zeros_like(lengths), where=lengths > 0)[:, None]
    return view * factors if isinstance(view, np.ndarray) else sp.csr_array(view * factors)
