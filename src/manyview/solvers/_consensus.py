"""What the members of an ensemble have in common: agreement, and the partition that comes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from manyview.engines import Block, Rows
from manyview.graphs.laplacian import leading_eigenvectors
from manyview.solvers._edges import label_tables, shared_samples, vote_adjoint, vote_product
from manyview.solvers._exact import units_in_one
from manyview.solvers._kmeans import kmeans, kmeans_rows, occupy
from manyview.solvers._members import Member, Settings, assign, unit_rows

# Up to so many clusters in all members, their Gram matrix is formed; above, it is only applied.
_SMALL_TABLE = 1000
# The clusters of so many members are points enough to start k-means from.
_STARTING_MEMBERS = 32


@dataclass(frozen=True)
class Consensus:
    """The partition that the members agree on; the rows keep ``labels`` and ``embedding``.

    ``agreement`` is its weighted mean NMI with the members; ``n_passes`` and ``arrived`` tell about the last k-means.
    A row's coordinates are the sum of the rows of ``project`` that belong to its clusters, with length 1 if
    ``directions``; its label is the nearest of ``centres``.
    """

    weights: np.ndarray
    agreement: float
    n_passes: int
    arrived: bool
    project: np.ndarray
    directions: bool
    centres: np.ndarray


def _stack(block: Block, names: Sequence[str]) -> np.ndarray:
    return np.column_stack([block[name] for name in names])


def _tables(block: Block, reference: str, n_reference: int, names: Sequence[str], n_labels: int) -> np.ndarray:
    return label_tables(block[reference], _stack(block, names), n_reference, n_labels)


def mutual_information(tables: np.ndarray) -> np.ndarray:
    """Mutual information, in nats, of each contingency table along the first axis."""
    joint = tables / tables.sum(axis=(1, 2), keepdims=True)
    independent = joint.sum(axis=2, keepdims=True) * joint.sum(axis=1, keepdims=True)
    ratio = np.divide(joint, independent, out=np.ones_like(joint), where=joint > 0)
    return (joint * np.log(ratio)).sum(axis=(1, 2))


def entropy(counts: np.ndarray) -> np.ndarray:
    """Entropy, in nats, of the distribution along the last axis."""
    shares = counts / counts.sum(axis=-1, keepdims=True)
    return -(shares * np.log(np.where(shares > 0, shares, 1.0))).sum(axis=-1)


def pairwise_information(rows: Rows, members: Sequence[Member], known: np.ndarray) -> np.ndarray:
    """Mutual information between all pairs of members, with their entropies on the diagonal.

    ``known`` is the result for the first ones, which is not computed again.
    """
    names = [member.name for member in members]
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
    """What each member tells about the others, on average."""
    n = len(information)
    return (information.sum(axis=1) - information.diagonal()) / max(n - 1, 1)


def find_consensus(rows: Rows, settings: Settings, members: Sequence[Member], information: np.ndarray) -> Consensus:
    """The partition of the members into ``n_clusters``; fewer only if the members cannot tell so many apart.

    Maximises ``tr(UᵀĤQ)`` over orthonormal U and Q, to a tolerance of 1e-5, where ``Ĥ_ij = sqrt(w_r / (Σw·|j|))`` for
    every sample i in cluster j of member r: the bipartite graph between samples and clusters, normalised on both sides.
    Then k-means on U, and on U with rows of length 1; started from the clusters' vectors in Q, of which there are few.
    """
    weights = member_weights(information, settings.weight_power)
    names = [member.name for member in members]
    counts = [member.n_clusters for member in members]
    offsets = np.concatenate([[0], np.cumsum(counts)])
    sizes = rows.sum(cluster_sizes, names, offsets)
    column = np.repeat(weights / weights.sum(), counts)
    column = np.sqrt(np.divide(column, sizes, out=np.zeros_like(column), where=sizes > 0))
    n_vectors = min(settings.n_clusters, len(column))
    vectors, values = consensus_vectors(rows, names, offsets, sizes, column, n_vectors)

    project = np.ascontiguousarray(vectors * column[:, None] / values)
    rows.keep("consensus", _vote, names, offsets, project)
    rows.keep("consensus directions", _directions, "consensus")
    rng = np.random.default_rng([settings.seed, 2**31])
    some = offsets[min(_STARTING_MEMBERS, len(members))]
    found = []
    # The columns of U have length 1 but for rounding, so that the entries of each add up to √n at most.
    spaces = (
        ("consensus", vectors * column[:, None], 2 * np.sqrt(rows.n_rows)),
        ("consensus directions", unit_rows(vectors), rows.n_rows),
    )
    for space, points, bound in spaces:
        centres = kmeans(points[:some], sizes[:some], settings.n_clusters, rng, settings.n_starts)
        centres, n_passes, arrived = kmeans_rows(rows, space, centres, bound)
        centres = occupy(rows, space, centres)
        name = f"labels by {space}"
        rows.keep(name, assign, space, centres)
        agreement = agreement_with(rows, name, settings.n_clusters, members, weights)
        directions = space == "consensus directions"
        found.append((agreement, space, Consensus(weights, agreement, n_passes, arrived, project, directions, centres)))
    _, space, consensus = max(found, key=lambda candidate: candidate[0])
    rows.keep("labels", copy, f"labels by {space}")
    rows.keep("embedding", copy, space)
    return consensus


def member_weights(information: np.ndarray, power: float) -> np.ndarray:
    """``(mean information / max)^power``: members that tell little about the others count little."""
    means = mean_information(information)
    top = float(means.max())
    return (means / top) ** power if top > 0 else np.ones(len(means))


def copy(block: Block, name: str) -> np.ndarray:
    """What is kept under ``name``, to keep it under another."""
    return block[name]


def cluster_sizes(block: Block, names: Sequence[str], offsets: np.ndarray) -> np.ndarray:
    """Number of a block's rows in each cluster of all members."""
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
    """Leading right singular vectors of Ĥ, and singular values; ``column`` scales the clusters that have ``sizes``."""
    size = len(column)

    def apply(block: np.ndarray) -> np.ndarray:
        values = column[:, None] * block
        # What is summed are sums of the values of a row's clusters, and cluster j's value is in |j| of them.
        units = np.array([units_in_one(bound) for bound in sizes @ np.abs(values)])
        return column[:, None] * (rows.sum(_covote, names, offsets, values, units) / units)

    if size <= _SMALL_TABLE:  # one pass for the Gram matrix instead of one per product
        shared = rows.sum(_shared, names, offsets)
        gram = column[:, None] * (shared + np.tril(shared, -1).T) * column
        squares, vectors = leading_eigenvectors(lambda block: gram @ block, size, n_vectors)
    else:
        squares, vectors = leading_eigenvectors(apply, size, n_vectors)
    return vectors, np.sqrt(np.maximum(squares, 1e-12))


def agreement_with(rows: Rows, name: str, n_labels: int, members: Sequence[Member], weights: np.ndarray) -> float:
    """Weighted mean NMI between the labels kept under ``name`` and the members."""
    most = max(n_labels, *(member.n_clusters for member in members))
    tables = rows.sum(_tables, name, most, [member.name for member in members], most)
    return float(weights @ normalized_information(tables) / weights.sum())


def stability(rows: Rows, name: str, other: str, n_labels: int) -> float:
    """NMI between two kept labellings."""
    return float(normalized_information(rows.sum(_tables, name, n_labels, [other], n_labels))[0])


def normalized_information(tables: np.ndarray) -> np.ndarray:
    """Mutual information over the mean of both entropies; 1 where both have a single cluster."""
    either = entropy(tables.sum(axis=2)) + entropy(tables.sum(axis=1))
    return np.divide(2 * mutual_information(tables), either, out=np.ones(len(tables)), where=either > 0)


def confidence(rows: Rows, settings: Settings, members: Sequence[Member], weights: np.ndarray) -> np.ndarray:
    """Keep for every row the share of the members, by weight, that speak for its label.

    A member whose cluster j has the sample speaks for a label as much as j's samples have it: these are the shares that
    are returned, of shape (n_members, most clusters of a member, n_clusters), times the members' weights.
    """
    names = [member.name for member in members]
    most = max(member.n_clusters for member in members)
    tables = rows.sum(_tables, "labels", settings.n_clusters, names, most)
    sizes = tables.sum(axis=1, keepdims=True)
    shares = np.divide(tables, sizes, out=np.zeros_like(tables), where=sizes > 0)
    shares *= (weights / weights.sum())[:, None, None]
    shares = np.ascontiguousarray(shares.transpose(0, 2, 1))
    rows.keep("confidence", _confidence, names, shares)
    return shares


def _confidence(block: Block, names: Sequence[str], shares: np.ndarray) -> np.ndarray:
    return votes_for(block["labels"], _stack(block, names), shares)


def votes_for(labels: np.ndarray, member_labels: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """The share of the members that speak for each row's label; see :func:`confidence`."""
    n_members, most, n_clusters = shares.shape
    votes = vote_product(member_labels, np.arange(n_members) * most, shares.reshape(-1, n_clusters))
    return np.clip(votes[np.arange(len(votes)), labels], 0.0, 1.0)
