"""The ensemble as it was fitted, and where it puts rows that it has not seen.

A new row takes the way that the fitted ones took: its edges to each member's anchors, the member's embedding and the
nearest centre there, then the consensus of the clusters it is in. So a row that was fitted gets its own label again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from manyview.engines import Block
from manyview.solvers._consensus import Consensus, votes_for
from manyview.solvers._edges import nearest_centre, vote_product
from manyview.solvers._members import FittedMember, Lists, member_labels, unit_rows


@dataclass(frozen=True)
class Ensemble:
    """Members, what they agree on, and how much each of their clusters speaks for each label."""

    lists: Lists
    members: tuple[FittedMember, ...]
    consensus: Consensus
    shares: np.ndarray


@dataclass(frozen=True)
class Placed:
    """Where new rows belong; ``labels`` are -1 for rows that no member has a view of."""

    labels: np.ndarray
    embedding: np.ndarray
    confidence: np.ndarray


def place(ensemble: Ensemble, block: Block) -> Placed:
    """Labels, coordinates and confidence of a block's rows.

    Members that a row has no edges to do not vote, and the votes of the others count for them.
    """
    consensus = ensemble.consensus
    labels = np.column_stack([member_labels(block, ensemble.lists, fitted) for fitted in ensemble.members])
    counts = [fitted.member.n_clusters for fitted in ensemble.members]
    offsets = np.concatenate([[0], np.cumsum(counts)])
    embedding = vote_product(labels, offsets, consensus.project)
    voting = labels >= 0
    share = np.where(voting, consensus.weights, 0.0).sum(axis=1) / consensus.weights.sum()
    share[voting.all(axis=1)] = 1.0  # but for rounding, which would change what fitted rows get
    voiced = share > 0
    partly = voiced & (share < 1)
    embedding[partly] /= share[partly, None]
    embedding = unit_rows(embedding) if consensus.directions else embedding
    found = np.where(voiced, nearest_centre(embedding, consensus.centres), -1).astype(np.int64)
    votes = votes_for(found, labels, ensemble.shares)
    votes = np.divide(votes, share, out=np.zeros_like(votes), where=voiced)
    return Placed(found, embedding, np.clip(votes, 0.0, 1.0))
