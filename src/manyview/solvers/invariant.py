"""The order-free method: an ensemble of bipartite graphs, and the partition that its members agree on.

Letters, as in the paper where it has them:

====  =================================================================================================
n     samples; m anchors of a member, drawn from a pool of M samples; V views; K clusters; R members
C_v   graph of view v, n x m: k CAN weights per row, ``min Σ_j d_ij c_ij + γ_i|c_i|²`` on the simplex, in closed form
C     a member's graph: the edges of the C_v that the views support together; D ``= diag(Cᵀ1)``
W     ``C D^-½``, or ``Σ_v C_v D_v^-½`` without shared support; U, Q its leading left and right singular vectors
H     one-hot table of all members' clusters, n x ΣK'
====  =================================================================================================

A *member* draws two thirds or more of the views, half to three quarters of the pool, a number of neighbours k and a
number of clusters K' >= K. It adds up its views' graphs and keeps, per row, the k anchors that the views together
support most (:func:`manyview.solvers._edges.best_supported`): C. It maximises ``tr(UᵀWQ)`` over orthonormal U and Q
(exactly, through the m x m Gram matrix), scales the rows of U to length 1 and minimises ``Σ_i min_c |u_i - z_c|²`` over
K' centres z (k-means: a local minimum). Everything in a member that claims a minimum is exact but for that.

The *consensus* gives member r the weight ``w_r = (mean_s I(r, s) / max)^4``, where I is mutual information, and cuts
the graph between samples and the members' clusters, as :func:`manyview.solvers._consensus.find_consensus` says. Of two
ways to read the cut, the one with the higher weighted mean NMI with the members is taken.

The members are to this method what the slices of the tensor are to the paper: descriptions of the same samples that
should have low rank together. Their weights are what the paper's view weights become, and the learned graph
(:mod:`manyview.solvers._components`) is the mean graph without the edges between clusters.

Every step is a map over rows and sums of small matrices, done by an engine (:mod:`manyview.engines.rows`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from manyview.engines import Rows
from manyview.solvers._consensus import (
    Consensus,
    confidence,
    copy,
    find_consensus,
    pairwise_information,
    stability,
)
from manyview.solvers._members import Lists, Member, Settings, draw_member, fit_member

# In so many batches the members are made, with a look at the consensus after each.
_BATCHES = 2


@dataclass(frozen=True)
class State:
    """The ensemble so far: its members, and the mutual information between them. The rows keep the labels."""

    rows: Rows
    lists: Lists
    settings: Settings
    members: tuple[Member, ...]
    information: np.ndarray


@dataclass(frozen=True)
class Step:
    """What a batch of members led to: members so far, agreement with them, NMI with the consensus one batch before."""

    n_members: int
    agreement: float
    stability: float


def init_state(rows: Rows, lists: Lists, settings: Settings) -> State:
    """An empty ensemble over rows that hold ``near v`` and ``distance v`` for every view v."""
    return State(rows, lists, settings, (), np.zeros((0, 0)))


def update(state: State, n_members: int) -> State:
    """Add members, which are independent of one another, and measure what they tell about the others."""
    first = len(state.members)
    new = [draw_member(state.settings, state.lists, first + i) for i in range(n_members)]
    state.rows.run([partial(fit_member, state.rows, state.lists, member) for member in new])
    members = (*state.members, *new)
    return replace(state, members=members, information=pairwise_information(state.rows, members, state.information))


def run(
    rows: Rows, lists: Lists, settings: Settings, on_step: Callable[[Step], None] | None = None
) -> tuple[State, Consensus, list[Step]]:
    """Make the members in batches, with a consensus after each; it should change less and less.

    In the end the rows keep ``labels``, ``embedding`` and ``confidence``.
    """
    state = init_state(rows, lists, settings)
    steps: list[Step] = []
    sizes = [len(part) for part in np.array_split(np.arange(settings.n_members), _BATCHES) if len(part)]
    for n_members in sizes:
        state = update(state, n_members)
        consensus = find_consensus(rows, settings, state.members, state.information)
        change = stability(rows, "labels", "earlier labels", settings.n_clusters) if steps else np.nan
        steps.append(Step(len(state.members), consensus.agreement, change))
        rows.keep("earlier labels", copy, "labels")
        if on_step is not None:
            on_step(steps[-1])
    confidence(rows, settings, state.members, consensus.weights)
    return state, consensus, steps
