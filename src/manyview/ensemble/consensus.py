"""Consensus of the members: their weights, the partition they agree on, and the confidence in it.

H is the one-hot table of all members' clusters, n x ΣK'. A member r has the weight ``w_r = (mean_s I(r, s) / max)^4``,
where I is mutual information. :func:`find_consensus` cuts the graph between samples and the members' clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from manyview._utils.compiled import njit
from manyview.engines import Block, Rows
from manyview.ensemble.columns import CONFIDENCE, CONSENSUS, DIRECTIONS, EMBEDDING, LABELS, LABELS_BY, units_in_one
from manyview.ensemble.edges import edge_product
from manyview.ensemble.kmeans import assign, kmeans, kmeans_rows, occupy, unit_rows
from manyview.ensemble.members import Member, Settings
from manyview.graphs.laplacian import leading_eigenvectors

# Up to this number of clusters in all members, their Gram matrix is formed; above, it is only applied.
_SMALL_TABLE = 1000
# Residual of the singular vectors, relative to the largest value.
_TOLERANCE = 1e-4
# The clusters of this number of members are enough points to start k-means from.
_STARTING_MEMBERS = 32


@dataclass(frozen=True)
class Consensus:
    """Partition that the members agree on; the rows keep ``labels`` and ``embedding``.

    ``weights`` are those of the members, ``agreement`` its weighted mean NMI with them, ``stability`` its NMI with the
    consensus one batch of members before (NaN for the first); ``n_passes`` and ``converged`` are about the last
    k-means. A row's coordinates are the sum of the rows of ``project`` that belong to its clusters, with length 1 if
    ``directions``; its label is the nearest of ``centres``. ``shares`` is what :func:`confidence` returns for the
    last consensus of a fit.
    """

    weights: np.ndarray
    agreement: float
    n_passes: int
    converged: bool
    project: np.ndarray
    directions: bool
    centres: np.ndarray
    stability: float = np.nan
    shares: np.ndarray = field(default_factory=lambda: np.empty((0, 0, 0)))


def _stack(block: Block, names: Sequence[str]) -> np.ndarray:
    return np.column_stack([block[name] for name in names])


def _tables(block: Block, reference: str, n_reference: int, names: Sequence[str], n_labels: int) -> np.ndarray:
    return label_tables(block[reference], _stack(block, names), n_reference, n_labels)


def mutual_information(tables: np.ndarray) -> np.ndarray:
    """Compute the mutual information, in nats, of each contingency table along the first axis."""
    joint = tables / tables.sum(axis=(1, 2), keepdims=True)
    independent = joint.sum(axis=2, keepdims=True) * joint.sum(axis=1, keepdims=True)
    ratio = np.divide(joint, independent, out=np.ones_like(joint), where=joint > 0)
    return (joint * np.log(ratio)).sum(axis=(1, 2))


def entropy(counts: np.ndarray) -> np.ndarray:
    """Compute the entropy, in nats, of the distribution along the last axis."""
    shares = counts / counts.sum(axis=-1, keepdims=True)
    return -(shares * np.log(np.where(shares > 0, shares, 1.0))).sum(axis=-1)


def pairwise_information(rows: Rows, members: Sequence[Member], known: np.ndarray) -> np.ndarray:
    """Compute the mutual information between all pairs of members, with their entropies on the diagonal.

    ``known`` is the result for the first members, which is not computed again.
    """
    names = [member.labels for member in members]
    most = max(member.n_clusters for member in members)

    def one(i: int) -> np.ndarray:
        return mutual_information(rows.sum(_tables, names[i], most, names[: i + 1], most))

    first, n = len(known), len(members)
    lower = np.zeros((n, n))
    lower[:first, :first] = np.tril(known)
    for i, line in enumerate(rows.run([partial(one, i) for i in range(first, n)]), start=first):
        lower[i, : i + 1] = line
    return lower + np.tril(lower, -1).T


def mean_information(information: np.ndarray) -> np.ndarray:
    """Return the mean mutual information of each member with the others."""
    n = len(information)
    return (information.sum(axis=1) - information.diagonal()) / max(n - 1, 1)


def find_consensus(rows: Rows, settings: Settings, members: Sequence[Member], information: np.ndarray) -> Consensus:
    """Find the consensus of the members in ``n_clusters``; fewer only if they do not distinguish as many.

    Maximises ``tr(UᵀĤQ)`` over orthonormal U and Q, to a tolerance of 1e-4, where ``Ĥ_ij = sqrt(w_r / (Σw·|j|))`` for
    every sample i in cluster j of member r: the bipartite graph between samples and clusters, normalised on both sides.
    Then k-means on U, and on U with rows of length 1; started from the clusters' vectors in Q, which are few.
    """
    weights = member_weights(information, settings.weight_power)
    names = [member.labels for member in members]
    counts = [member.n_clusters for member in members]
    offsets = np.concatenate([[0], np.cumsum(counts)])
    sizes = rows.sum(cluster_sizes, names, offsets)
    column = np.repeat(weights / weights.sum(), counts)
    column = np.sqrt(np.divide(column, sizes, out=np.zeros_like(column), where=sizes > 0))
    n_vectors = min(settings.n_clusters, len(column))
    vectors, values = consensus_vectors(rows, names, offsets, sizes, column, n_vectors)

    project = np.ascontiguousarray(vectors * column[:, None] / values)
    rows.keep(CONSENSUS.name, _vote, names, offsets, project)
    rows.keep(DIRECTIONS.name, _directions, CONSENSUS.name)
    rng = np.random.default_rng([settings.seed, 2**31])
    some = offsets[min(_STARTING_MEMBERS, len(members))]
    found = []
    # The columns of U have length 1 up to rounding, so that the absolute entries of each sum to √n at most.
    spaces = (
        (CONSENSUS.name, vectors * column[:, None], 2 * np.sqrt(rows.n_rows)),
        (DIRECTIONS.name, unit_rows(vectors), rows.n_rows),
    )
    for space, points, bound in spaces:
        centres = kmeans(points[:some], sizes[:some], settings.n_clusters, rng, settings.n_starts)
        centres, n_passes, converged = kmeans_rows(rows, space, centres, bound)
        centres = occupy(rows, space, centres)
        labels, directions = LABELS_BY.of(space), space == DIRECTIONS.name
        rows.keep(labels, assign, space, centres)
        agreement = agreement_with(rows, labels, settings.n_clusters, members, weights)
        consensus = Consensus(weights, agreement, n_passes, converged, project, directions, centres)
        found.append((agreement, space, consensus))
    _, space, consensus = max(found, key=lambda candidate: candidate[0])
    rows.keep(LABELS.name, copy, LABELS_BY.of(space))
    rows.keep(EMBEDDING.name, copy, space)
    return consensus


def member_weights(information: np.ndarray, power: float) -> np.ndarray:
    """Return ``(mean information / max)^power``: low if a member shares little information with the others."""
    means = mean_information(information)
    top = float(means.max())
    return (means / top) ** power if top > 0 else np.ones(len(means))


def copy(block: Block, name: str) -> np.ndarray:
    """Return the column ``name``, to keep it under another name."""
    return block[name]


def cluster_sizes(block: Block, names: Sequence[str], offsets: np.ndarray) -> np.ndarray:
    """Return the number of a block's rows in each cluster of all members."""
    clusters = _stack(block, names) + offsets[:-1]
    return np.bincount(clusters.ravel(), minlength=offsets[-1]).astype(float)


def _vote(block: Block, names: Sequence[str], offsets: np.ndarray, values: np.ndarray) -> np.ndarray:
    return vote_product(_stack(block, names), offsets, values)


def _directions(block: Block, name: str) -> np.ndarray:
    return unit_rows(block[name])


def _covote(
    block: Block, names: Sequence[str], offsets: np.ndarray, values: np.ndarray, units: np.ndarray
) -> np.ndarray:
    labels = _stack(block, names)
    return vote_adjoint(labels, offsets, vote_product(labels, offsets, values), len(values), units)


def _shared(block: Block, names: Sequence[str], offsets: np.ndarray) -> np.ndarray:
    return shared_samples(_stack(block, names), offsets, int(offsets[-1]))


def consensus_vectors(
    rows: Rows, names: Sequence[str], offsets: np.ndarray, sizes: np.ndarray, column: np.ndarray, n_vectors: int
) -> tuple[np.ndarray, np.ndarray]:
    """Compute leading right singular vectors of Ĥ, and singular values; ``column`` scales clusters of ``sizes``."""
    size = len(column)

    def apply(block: np.ndarray) -> np.ndarray:
        values = column[:, None] * block
        # For each row, the values of its clusters are summed, and the value of cluster j occurs in |j| rows.
        units = np.array([units_in_one(bound) for bound in sizes @ np.abs(values)])
        return (column[:, None] * (rows.sum(_covote, names, offsets, values, units) / units)).astype(np.float32)

    if size <= _SMALL_TABLE:  # one pass for the Gram matrix instead of one per product
        shared = rows.sum(_shared, names, offsets)
        gram = (column[:, None] * (shared + np.tril(shared, -1).T) * column).astype(np.float32)
        product: Callable[[np.ndarray], np.ndarray] = gram.__matmul__
    else:
        product = apply
    squares, vectors = leading_eigenvectors(product, size, n_vectors, tol=_TOLERANCE, dtype=np.float32)
    return vectors.astype(float), np.sqrt(np.maximum(squares.astype(float), 1e-12))


def agreement_with(rows: Rows, name: str, n_labels: int, members: Sequence[Member], weights: np.ndarray) -> float:
    """Return the weighted mean NMI between the labels kept under ``name`` and the members."""
    most = max(n_labels, *(member.n_clusters for member in members))
    tables = rows.sum(_tables, name, most, [member.labels for member in members], most)
    return float(weights @ normalized_information(tables) / weights.sum())


def stability(rows: Rows, name: str, other: str, n_labels: int) -> float:
    """Return the NMI between two labellings that the rows keep."""
    return float(normalized_information(rows.sum(_tables, name, n_labels, [other], n_labels))[0])


def normalized_information(tables: np.ndarray) -> np.ndarray:
    """Return the mutual information over the mean of both entropies; 1 if both have a single cluster."""
    either = entropy(tables.sum(axis=2)) + entropy(tables.sum(axis=1))
    return np.divide(2 * mutual_information(tables), either, out=np.ones(len(tables)), where=either > 0)


def confidence(rows: Rows, settings: Settings, members: Sequence[Member], weights: np.ndarray) -> np.ndarray:
    """Keep for every row the share of the members, by weight, that vote for its label.

    The vote of a member for a sample is the distribution of labels in the sample's cluster. These distributions, times
    the members' weights, are returned, of shape (n_members, largest number of clusters of a member, n_clusters).
    """
    names = [member.labels for member in members]
    most = max(member.n_clusters for member in members)
    tables = rows.sum(_tables, LABELS.name, settings.n_clusters, names, most)
    sizes = tables.sum(axis=1, keepdims=True)
    shares = np.divide(tables, sizes, out=np.zeros_like(tables), where=sizes > 0)
    shares *= (weights / weights.sum())[:, None, None]
    shares = np.ascontiguousarray(shares.transpose(0, 2, 1))
    rows.keep(CONFIDENCE.name, _confidence, names, shares)
    return shares


def _confidence(block: Block, names: Sequence[str], shares: np.ndarray) -> np.ndarray:
    return votes_for(block[LABELS.name], _stack(block, names), shares)


def votes_for(labels: np.ndarray, member_labels: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return the share of the members that vote for each row's label; see :func:`confidence`."""
    n_members, most, n_clusters = shares.shape
    votes = vote_product(member_labels, np.arange(n_members) * most, shares.reshape(-1, n_clusters))
    return np.clip(votes[np.arange(len(votes)), labels], 0.0, 1.0)


def label_tables(reference: np.ndarray, labels: np.ndarray, n_reference: int, n_labels: int) -> np.ndarray:
    """Return the contingency tables of one labelling with each column of ``labels``."""
    tables = np.zeros((labels.shape[1], n_reference, n_labels))
    _label_tables(reference, labels, tables)
    return tables


def vote_product(labels: np.ndarray, offsets: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Sum, over the members, the rows of ``values`` of each sample's clusters; -1 is no cluster."""
    clusters = np.add(labels, offsets[: labels.shape[1]], dtype=np.int32)
    return edge_product(clusters, (labels >= 0).astype(np.float64), values)


def vote_adjoint(
    labels: np.ndarray, offsets: np.ndarray, values: np.ndarray, size: int, units: np.ndarray
) -> np.ndarray:
    """Apply the transpose of :func:`vote_product`: add each sample's values, in units, to its clusters."""
    total = np.zeros((size, values.shape[1]))
    _vote_adjoint(labels, offsets, np.rint(values * units), total)
    return total


def shared_samples(labels: np.ndarray, offsets: np.ndarray, size: int) -> np.ndarray:
    """Count the samples that two clusters have in common: the lower triangle, and zeros above."""
    counts = np.zeros((size, size))
    _shared_samples(labels + offsets[:-1], counts)
    return counts


# Arrays are made by the callers of these kernels: numba takes longer to compile np.zeros than such a loop.
@njit(nogil=True, cache=True)
def _label_tables(reference: np.ndarray, labels: np.ndarray, tables: np.ndarray) -> None:
    for i in range(labels.shape[0]):
        for r in range(labels.shape[1]):
            tables[r, reference[i], labels[i, r]] += 1.0


@njit(nogil=True, cache=True)
def _vote_adjoint(labels: np.ndarray, offsets: np.ndarray, counted: np.ndarray, total: np.ndarray) -> None:
    for i in range(labels.shape[0]):
        for r in range(labels.shape[1]):
            line = total[offsets[r] + labels[i, r]]
            for c in range(line.size):
                line[c] += counted[i, c]


@njit(nogil=True, cache=True)
def _shared_samples(clusters: np.ndarray, counts: np.ndarray) -> None:
    for i in range(clusters.shape[0]):
        for r in range(clusters.shape[1]):
            line = counts[clusters[i, r]]
            for s in range(r + 1):
                line[clusters[i, s]] += 1.0
