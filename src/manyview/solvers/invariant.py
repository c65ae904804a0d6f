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
per row, the anchors that they together support most (``manyview.solvers._edges.best_supported``). It maximises
``tr(UᵀWQ)`` over orthonormal U and Q through the m x m Gram matrix (exactly but for a tolerance of 1e-3), scales the
rows of U to length 1 and minimises ``Σ_i min_c |u_i - z_c|²`` over K' centres z (k-means: a local minimum).

Which *kind* of graph suits the data is decided without labels: a few members of each kind are made, and the kind whose
members tell most about one another (mean mutual information over all pairs) makes the rest; if the clusters are clear,
these few are enough.

The *consensus* gives member r the weight ``w_r = (mean_s I(r, s) / max)^4``, where I is mutual information, and cuts
the graph between samples and the members' clusters, as ``manyview.solvers._consensus.find_consensus`` says. Of two
ways to read the cut, the one with the higher weighted mean NMI with the members is taken.

The members are to this method what the slices of the tensor are to the paper: descriptions of the same samples that
should have low rank together. Their weights are what the paper's view weights become, and the learned graph
(``manyview.solvers._components``) is the mean graph without the edges between clusters.

Every step is a map over rows and sums of small matrices, done by an engine (``manyview.engines.rows``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from manyview.engines import Rows
from manyview.solvers._consensus import (
    Consensus,
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
# Two labellings with an NMI of this or more are the same, but for a few samples in a thousand.
_CLEAR = 0.999


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


def choose_kind(tried: Sequence[State]) -> tuple[State, dict[str, float]]:
    """Of ensembles of every kind, the one whose members tell most about one another, and what they tell."""
    best = max(tried, key=lambda state: state.mean_information)
    return best, {state.kind.name: state.mean_information for state in tried}


def run(
    rows: Rows, lists: Lists, settings: Settings, on_step: Callable[[Step], None] | None = None
) -> tuple[State, Ensemble, list[Step]]:
    """Choose the kind of graph, make the members in batches, with a consensus after each; it should change little.

    Clear clusters need few members: if a quarter of the tries of the best kind say the same as half of them, four and
    eight of sixteen, these are enough. In the end the rows keep ``labels``, ``embedding`` and ``confidence``; the
    ensemble can place other rows.
    """
    n_tries = min(settings.n_tries, settings.n_members)
    n_early = n_tries // 2
    tried = [init_state(rows, lists, settings, kind) for kind in settings.kinds]
    if n_early >= 4:
        tried = [update(state, n_early) for state in tried]
        looks = _Looks(*choose_kind(tried), on_step)
        looks.consensus(n_early // 2)
        consensus = looks.consensus(n_early)
        if looks.steps[-1].stability >= _CLEAR:
            return looks.finish(consensus)
    tried = [update(state, n_tries - len(state.members)) for state in tried]
    looks = _Looks(*choose_kind(tried), on_step)
    consensus = looks.consensus(n_tries)
    missing = np.arange(settings.n_members - n_tries)
    for part in np.array_split(missing, _BATCHES - 1):
        if len(part):
            looks.state = update(looks.state, len(part))
            consensus = looks.consensus(len(looks.state.members))
    return looks.finish(consensus)


class _Looks:
    """The consensus of an ensemble that grows, and how it changes."""

    def __init__(self, state: State, scores: dict[str, float], on_step: Callable[[Step], None] | None) -> None:
        self.state, self.steps = state, list[Step]()
        self._scores, self._on_step = scores, on_step

    def consensus(self, n_members: int) -> Consensus:
        """What the first members agree on; the rows keep it."""
        state, rows = self.state, self.state.rows
        members, information = state.members[:n_members], state.information[:n_members, :n_members]
        found = find_consensus(rows, state.settings, members, information)
        change = stability(rows, "labels", "earlier labels", state.settings.n_clusters) if self.steps else np.nan
        self.steps.append(Step(state.kind.name, self._scores, n_members, found.agreement, change))
        rows.keep("earlier labels", copy, "labels")
        if self._on_step is not None:
            self._on_step(self.steps[-1])
        return found

    def finish(self, consensus: Consensus) -> tuple[State, Ensemble, list[Step]]:
        """The ensemble with the consensus of all its members; the rows keep their confidence."""
        state = self.state
        shares = confidence(state.rows, state.settings, state.members, consensus.weights)
        return state, Ensemble(state.lists, state.fitted, consensus, shares), self.steps
