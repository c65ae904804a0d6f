"""How many clusters: eigengaps and stability of an ensemble of graphs, against data that have no clusters.

Members (:mod:`manyview.solvers._members`) of the broad kind draw views, anchors and neighbours. For every K it is
measured

- the *graph gap*: the fused graph W of a member has singular values ``1 = σ_1 >= σ_2 >= ...`` after division by the
  first. K clusters that are well apart leave K of them high. This is the drop ``σ_K - σ_{K+1}``, mean over the members;
- the *consensus gap*: the same drop in the graph between the samples and the clusters of all members' cuts into K + 1.
  K clusters that are there come back in all of these cuts, and what is cut once too often is cut here and there;
- the *stability*: the mean adjusted Rand index between all pairs of members' cuts into K.

All are also high in data without clusters: a round cloud in d dimensions has a drop after d + 1 values, and a long one
is cut in two in the same place again and again. So the same is done with references that have the spread of the data
along every direction but no clusters (:func:`manyview.graphs.reference.without_clusters`), and only the part of a gap
that exceeds their mean counts.

The *score* of K is the geometric mean of both gaps' excess, times the stability. The *strength* is the same without
taking anything off the gaps; :func:`decide` compares it with the largest of a reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from manyview.engines import Block, Rows
from manyview.graphs.laplacian import inverse_sqrt
from manyview.solvers._consensus import cluster_sizes, consensus_vectors
from manyview.solvers._edges import edge_product, label_tables
from manyview.solvers._kmeans import kmeans_rows
from manyview.solvers._members import (
    KINDS,
    Lists,
    Member,
    Settings,
    assign,
    draw_member,
    fused_edges,
    member_spectrum,
    unit_rows,
)

# Broad graphs: on the data that this was tried on, their eigengaps are the clearer ones.
_KIND = KINDS[1]
# Graphs are made for at least so many clusters, or for clusters of so many samples, so that they hardly change with the
# range that is asked for.
_GRAPH_CLUSTERS = 20
_CLUSTER_ROWS = 5
# The spectrum is looked at up to so many times the largest number, to see whether the answer lies beyond.
_LOOK_AHEAD = 1.5
# It does if the drop there is so many times the one of the best choice and the largest of the reference.
_BEYOND = 1.5
# A number is sure if no other one has more than this share of its score, and its strength is so many times the largest
# of the reference. Others with more than this share of the score are candidates.
_RIVAL = 0.4
_CLEARLY = 2.5
_MOST_CANDIDATES = 5


@dataclass(frozen=True)
class Curve:
    """What was measured: ``graph_gap[K - 1]`` of all K from 1 to beyond the largest choice, the rest of the choices."""

    graph_gap: np.ndarray
    consensus_gap: np.ndarray
    stability: np.ndarray

    def strength(self, numbers: np.ndarray) -> np.ndarray:
        """Both gaps and the stability of each choice in one number."""
        return np.sqrt(np.maximum(self.graph_gap[numbers - 1] * self.consensus_gap, 0.0)) * self.stability


def mean_curve(curves: Sequence[Curve]) -> Curve:
    """The mean of several curves."""
    gaps = ([getattr(curve, name) for curve in curves] for name in ("graph_gap", "consensus_gap", "stability"))
    return Curve(*(np.mean(gap, axis=0) for gap in gaps))


@dataclass(frozen=True)
class Verdict:
    """The best number, whether it is sure, the candidates (best first), why, and the score of every number."""

    n_clusters: int
    sure: bool
    candidates: tuple[int, ...]
    reason: str
    scores: np.ndarray


def settings_for(n_clusters: Sequence[int], n_rows: int, seed: int, n_members: int = 24) -> Settings:
    """Settings of members that serve all these numbers of clusters."""
    most = max(min(_GRAPH_CLUSTERS, n_rows // _CLUSTER_ROWS), *n_clusters)
    return Settings(most, n_members=n_members, kinds=(_KIND,), seed=seed)


def decide(n_clusters: Sequence[int], data: Curve, references: Sequence[Curve]) -> Verdict:
    """Choose among the numbers, or say what is in the way."""
    numbers = np.array(n_clusters)
    reference = mean_curve(references)
    in_graphs = np.maximum(data.graph_gap - reference.graph_gap, 0.0)
    in_consensus = np.maximum(data.consensus_gap - reference.consensus_gap, 0.0)
    scores = np.sqrt(in_graphs[numbers - 1] * in_consensus) * data.stability
    ranking = np.lexsort((-data.consensus_gap, -scores))
    best = ranking[0]
    number = int(numbers[best])
    strongest = np.mean([one.strength(numbers).max() for one in references])
    clearly = data.strength(numbers)[best] / max(strongest, 1e-12)
    rivals = [int(numbers[i]) for i in ranking[1:_MOST_CANDIDATES] if scores[i] > _RIVAL * scores[best]]
    others = np.setdiff1d(np.arange(2, len(in_graphs) + 1), numbers)
    elsewhere = int(others[np.argmax(in_graphs[others - 1])]) if len(others) else number

    seen = (
        f"the spectrum drops by {data.graph_gap[number - 1]:.3f} in the graphs and by {data.consensus_gap[best]:.2f} "
        f"in their consensus after {number} values, and cuts into {number} agree with an adjusted Rand index of "
        f"{data.stability[best]:.2f}"
    )
    compared = f"together {clearly:.1f} times what data of the same spread without clusters show at most"
    if in_graphs[elsewhere - 1] > _BEYOND * max(in_graphs[number - 1], reference.graph_gap[1:].max()):
        doubt = (
            f"Unsure: the spectrum of the graphs drops most after {elsewhere} values, and {elsewhere} is not a choice"
        )
    elif clearly < _CLEARLY:
        doubt = f"No number of clusters stands out: {seen}, but that is {compared}"
    elif rivals:
        doubt = f"Unsure: {seen}, {compared}, but there is also evidence for {_listed(rivals)}"
    else:
        return Verdict(number, True, (number,), f"{number} clusters: {seen}, {compared}.", scores)
    candidates = (number, *(rivals or [int(numbers[i]) for i in ranking[1:2]]))
    return Verdict(number, False, candidates, f"{doubt}. Candidates: {_listed(candidates)}.", scores)


def _listed(numbers: Sequence[int]) -> str:
    *others, last = map(str, numbers)
    return f"{', '.join(others)} and {last}" if others else last


def measure(rows: Rows, lists: Lists, settings: Settings, n_clusters: Sequence[int]) -> Curve:
    """Gaps and stability of every number of clusters; the rows hold ``near v`` and ``distance v`` of each view."""
    members = [draw_member(settings, _KIND, lists, i) for i in range(settings.n_members)]
    cuts = sorted({cut for k in n_clusters for cut in (k, k + 1)})
    gaps = rows.run([partial(_cut, rows, lists, member, cuts) for member in members])
    consensus = rows.run([partial(_consensus_gap, rows, members, k) for k in n_clusters])
    agreement = rows.run([partial(_agreement, rows, members, k) for k in n_clusters])
    for member in members:
        for k in cuts:
            rows.drop(_labels(member, k))
    return Curve(np.mean(gaps, axis=0), np.array(consensus), np.array(agreement))


def _cut(rows: Rows, lists: Lists, member: Member, n_clusters: Sequence[int]) -> np.ndarray:
    """Cut one member's graph into every number of clusters; the rows keep the labels. Its eigengaps."""
    n_values = int(_LOOK_AHEAD * max(n_clusters)) + 1
    n_vectors = min(n_values, len(member.anchors) + 1)
    spectrum = member_spectrum(rows, lists, member, n_vectors)
    everything = f"vectors of {member.name}"
    project = np.ascontiguousarray(spectrum.vectors / spectrum.values)
    rows.keep(everything, _vectors, lists, member, spectrum.scale, project)
    rng = np.random.default_rng(member.seed)
    for k in n_clusters:
        space = f"{k} {everything}"
        rows.keep(space, _directions, everything, k)
        centres, _, _ = kmeans_rows(rows, space, spectrum.start_centres(k, rng), rows.n_rows)
        rows.keep(_labels(member, k), assign, space, centres)
        rows.drop(space)
    rows.drop(everything)
    values = spectrum.values / spectrum.values[0]
    return -np.diff(np.append(values, np.full(n_values - n_vectors, values[-1])))


def _labels(member: Member, n_clusters: int) -> str:
    """Under which the rows keep a member's cut."""
    return f"{member.name} into {n_clusters}"


def _vectors(block: Block, lists: Lists, member: Member, scale: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    return edge_product(*fused_edges(block, lists, member, scale), vectors)


def _directions(block: Block, name: str, n_vectors: int) -> np.ndarray:
    return unit_rows(np.ascontiguousarray(block[name][:, :n_vectors]))


def _consensus_gap(rows: Rows, members: Sequence[Member], n_clusters: int) -> float:
    """Drop after ``n_clusters`` singular values of the graph between samples and the clusters of cuts into one more.

    It is normalised on both sides, as in :func:`manyview.solvers._consensus.find_consensus`, so the first value is 1.
    """
    names = [_labels(member, n_clusters + 1) for member in members]
    offsets = np.arange(len(members) + 1) * (n_clusters + 1)
    sizes = rows.sum(cluster_sizes, names, offsets)
    column = inverse_sqrt(len(members) * sizes)
    values = consensus_vectors(rows, names, offsets, sizes, column, n_clusters + 1)[1]
    return float(values[n_clusters - 1] - values[n_clusters])


def _agreement(rows: Rows, members: Sequence[Member], n_clusters: int) -> float:
    """Mean adjusted Rand index of all pairs of cuts into this number of clusters."""
    names = [_labels(member, n_clusters) for member in members]
    found = [adjusted_rand(rows.sum(_tables, names[i], names[:i], n_clusters)) for i in range(1, len(names))]
    return float(np.concatenate(found).mean())


def _tables(block: Block, reference: str, names: Sequence[str], n_clusters: int) -> np.ndarray:
    labels = np.column_stack([block[name] for name in names])
    return label_tables(block[reference], labels, n_clusters, n_clusters)


def adjusted_rand(tables: np.ndarray) -> np.ndarray:
    """Adjusted Rand index of each contingency table along the first axis; 1 where both have a single cluster."""
    n_pairs = _pairs(tables.sum(axis=(1, 2)))
    both = _pairs(tables).sum(axis=(1, 2))
    first, second = _pairs(tables.sum(axis=2)).sum(axis=1), _pairs(tables.sum(axis=1)).sum(axis=1)
    by_chance = first * second / n_pairs
    most = (first + second) / 2
    return np.divide(both - by_chance, most - by_chance, out=np.ones(len(tables)), where=most > by_chance)


def _pairs(counts: np.ndarray) -> np.ndarray:
    return counts * (counts - 1) / 2
