"""The order-free method: an ensemble of bipartite graphs, and the partition that its members agree on.

Letters, as in the paper where it has them:

====  =================================================================================================
n     samples; m anchors of a member, drawn from a pool of M samples; V views; K clusters; R members
C_v   graph of view v, n x m: k CAN weights per row, ``min Σ_j d_ij c_ij + γ_i|c_i|²`` on the simplex, in closed form
C     the edges that the dense C_v support together, if the member is choosy; D ``= diag(Cᵀ1)``
W     ``Σ_v C_v D_v^-½``, with ``C D^-½`` in place of each dense view; U, Q its leading singular vectors
H     one-hot table of all members' clusters, n x ΣK'
====  =================================================================================================

A *member* draws two thirds or more of the views, half to three quarters of the pool, a number of neighbours k and a
number of clusters K' >= K. If its kind of graph is a choosy one, it adds up the graphs of its dense views and keeps,
per row, the anchors that they together support most (:func:`manyview.solvers._edges.best_supported`). It maximises
``tr(UᵀWQ)`` over orthonormal U and Q through the m x m Gram matrix (exactly but for a tolerance of 1e-3), scales the
rows of U to length 1 and minimises ``Σ_i min_c |u_i - z_c|²`` over K' centres z (k-means: a local minimum).

Which *kind* of graph suits the data is decided without labels: a few members of each kind are made, and the kind whose
members tell most about one another (mean mutual information over all pairs) makes the rest.

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
    confidence,
    copy,
    find_consensus,
    mean_information,
    pairwise_information,
    stability,
)
from manyview.solvers._ensemble import Ensemble
from manyview.solvers._members import KINDS, FittedMember, Kind, Lists, Member, Settings, draw_member, fit_member

__all__ = ["KINDS", "Kind", "Lists", "Settings", "State", "Step", "choose_kind", "init_state", "run", "update"]

# In so many batches the members are made, with a look at the consensus after each.
_BATCHES = 3


@dataclass(frozen=True)
class State:
    """An ensemble of one kind so far: members, and the mutual information between them. The rows keep the labels."""

    rows: Rows
    lists: Lists
    settings: Settings
    kind: Kind
    members: tuple[Member, ...]
    fitted: tuple[FittedMember, ...]
    information: np.ndarray

    @property
    def mean_information(self) -> float:
        """What a member tells about another, on average: how much this kind of graph finds in the data."""
        return float(mean_information(self.information).mean())


@dataclass(frozen=True)
class Step:
    """What a batch of members led to.

    The kind of graph, what each kind's members tell about one another, members so far, agreement with them, and NMI
    with the consensus one batch before.
    """

    kind: str
    scores: dict[str, float]
    n_members: int
    agreement: float
    stability: float


def init_state(rows: Rows, lists: Lists, settings: Settings, kind: Kind) -> State:
    """An empty ensemble over rows that hold ``near v`` and ``distance v`` for every view v."""
    return State(rows, lists, settings, kind, (), (), np.zeros((0, 0)))


def update(state: State, n_members: int) -> State:
    """Add members, which are independent of one another, and measure what they tell about the others."""
    first = len(state.members)
    new = [draw_member(state.settings, state.kind, state.lists, first + i) for i in range(n_members)]
    fitted = state.rows.run([partial(fit_member, state.rows, state.lists, member) for member in new])
    members = (*state.members, *new)
    information = pairwise_information(state.rows, members, state.information)
    return replace(state, members=members, fitted=(*state.fitted, *fitted), information=information)


def choose_kind(rows: Rows, lists: Lists, settings: Settings) -> tuple[State, dict[str, float]]:
    """Try every kind with a few members; the one whose members tell most about one another, and what they tell."""
    n_tries = min(settings.n_tries, settings.n_members)
    tried = [update(init_state(rows, lists, settings, kind), n_tries) for kind in settings.kinds]
    best = max(tried, key=lambda state: state.mean_information)
    return best, {state.kind.name: state.mean_information for state in tried}


def run(
    rows: Rows, lists: Lists, settings: Settings, on_step: Callable[[Step], None] | None = None
) -> tuple[State, Ensemble, list[Step]]:
    """Choose the kind of graph, make the members in batches, with a consensus after each; it should change little.

    In the end the rows keep ``labels``, ``embedding`` and ``confidence``; the ensemble can place other rows.
    """
    state, scores = choose_kind(rows, lists, settings)
    steps: list[Step] = []
    missing = np.arange(settings.n_members - len(state.members))
    for n_members in [0] + [len(part) for part in np.array_split(missing, _BATCHES - 1) if len(part)]:
        state = update(state, n_members) if n_members else state
        consensus = find_consensus(rows, settings, state.members, state.information)
        change = stability(rows, "labels", "earlier labels", settings.n_clusters) if steps else np.nan
        steps.append(Step(state.kind.name, scores, len(state.members), consensus.agreement, change))
        rows.keep("earlier labels", copy, "labels")
        if on_step is not None:
            on_step(steps[-1])
    shares = confidence(rows, settings, state.members, consensus.weights)
    return state, Ensemble(lists, state.fitted, consensus, shares), steps
