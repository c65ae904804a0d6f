"""One member of the ensemble: what it draws, its graph, its clusters.

A *member* has graphs of one family. It draws two thirds or more of the views, half to three quarters of the anchor
pool, a number of neighbours k and a number of clusters K' >= K. It maximises ``tr(UᵀWQ)`` over orthonormal U and Q
through the m x m Gram matrix (exactly but for a tolerance of 1e-3), scales the rows of U to length 1 and minimises
``Σ_i min_c |u_i - z_c|²`` over K' centres z (k-means: a local minimum).

====  =================================================================================================
n     samples; m anchors of a member, drawn from a pool of M samples; V views; K clusters; R members
C_v   graph of view v, n x m: k CAN weights per row, ``min Σ_j d_ij c_ij + γ_i|c_i|²`` on the simplex, in closed form
C     the edges that the dense C_v support together, if the family asks for it; D ``= diag(Cᵀ1)``
W     ``Σ_v C_v D_v^-½``, with ``C D^-½`` in place of each dense view; U, Q its leading singular vectors
====  =================================================================================================
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any

import numpy as np

from manyview.engines import Block, Rows
from manyview.ensemble.columns import (
    DISTANCE,
    EDGE_ANCHORS,
    EDGE_WEIGHTS,
    MEMBER_EMBEDDING,
    MEMBER_LABELS,
    NEAREST,
    TOO_SHORT,
    units_in_one,
)
from manyview.ensemble.edges import (
    abstain,
    add_degrees,
    balance_rows,
    best_supported,
    edge_gram,
    edge_product,
    fill_upper,
    scale_anchors,
    view_edges,
)
from manyview.ensemble.kmeans import assign, kmeans, kmeans_rows, nearest_centre, unit_rows
from manyview.exceptions import ViewsError
from manyview.graphs.laplacian import inverse_sqrt, leading_eigenvectors, some_eigenvectors

# Residual of the eigenvectors, relative to the largest eigenvalue; clusters do not change with more digits.
_TOLERANCE = 1e-2
# Degree of the filter that finds them; above this share of all eigenvectors, LAPACK's dense solver is faster.
_FILTER_DEGREE, _MANY_VECTORS = 3, 0.15
# Rows whose edges are kept while a member is fitted: up to these, memory is less of a concern than time.
_FEW_ROWS = 20_000


@dataclass(frozen=True)
class Family:
    """A family of graphs. Every member draws from the ranges (lowest, highest) on a logarithmic scale.

    ``n_neighbors`` is the number of anchors that a sample is compared with, at most ``reach`` times the anchors of a
    cluster. Views are compared one by one and their graphs summed, which is an *or*: samples are connected if they
    are near in some views. With ``choosiness``, the ratio of neighbours to edges that are kept, dense views keep only
    the edges that they support together; graphs of counts are always summed. With a ``scaling``, views are compared
    side by side, an *and*: their distances are summed before neighbours are chosen, with that scaling of every view
    whose own is automatic.
    """

    name: str
    n_neighbors: tuple[int, int]
    reach: float
    choosiness: tuple[float, float] | None
    scaling: str | None = None


# Local graphs follow clusters that are small or of odd shapes, broad ones average out noise. Side by side, views that
# each confuse some clusters can separate them together; centred rows keep lengths, which unit rows lose.
FAMILIES = (
    Family("local", (5, 15), 1.0, None),
    Family("broad", (20, 60), 3.0, (1.0, 4.0)),
    Family("joint-centered", (8, 30), 2.0, None, "centered"),
    Family("joint-standardized", (8, 30), 2.0, None, "standardized"),
)
# Singular vectors after the K-th are multiplied by this power of the drop of the spectrum.
_DROP_POWER = 8.0


def families_with(n_neighbors: Any) -> tuple[Family, ...]:
    """Return the families of graphs to try: the default ones, or those with the user's range of neighbours."""
    if isinstance(n_neighbors, str):
        return FAMILIES
    pair: list[Any] = [n_neighbors] * 2 if isinstance(n_neighbors, Integral) else list(n_neighbors)
    if len(pair) != 2 or not all(isinstance(k, Integral) for k in pair) or not 1 <= pair[0] <= pair[1]:
        raise ViewsError(f"n_neighbors: expected 'auto', an int or a pair 1 <= low <= high, got {n_neighbors!r}.")
    return tuple(replace(each, n_neighbors=(int(pair[0]), int(pair[1]))) for each in FAMILIES)


@dataclass(frozen=True)
class Settings:
    """Settings of the ensemble: ``n_members`` of the best family of graphs, after at most ``n_tries`` of each."""

    n_clusters: int
    n_members: int = 48
    n_tries: int = 16
    families: tuple[Family, ...] = FAMILIES
    anchor_share: tuple[float, float] = (0.5, 0.75)
    view_share: float = 2 / 3
    more_clusters: float = 1.2
    weight_power: float = 4.0
    n_starts: int = 10
    seed: int = 0


@dataclass(frozen=True)
class Lists:
    """Properties that the neighbour lists of all rows share.

    There is a list for each view, then those of views side by side, whose numbers are in ``joint``, by family of
    graphs. ``n_anchors`` is the size of the pool. ``far`` is, per list, the squared distance of samples with nothing in
    common. ``patterns`` holds the combinations of views that samples have, each once; None if every sample has all
    views. ``view_weights``, at most 1, are the weights of views in sums; None if all are equal.
    """

    n_anchors: int
    far: tuple[float, ...]
    patterns: np.ndarray | None = None
    view_weights: tuple[float, ...] | None = None
    joint: dict[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def n_views(self) -> int:
        """Number of views, whose lists come first."""
        return len(self.far) - len({number for numbers in self.joint.values() for number in numbers})

    def weight(self, view: int) -> float:
        """Return the weight of a list in sums of several."""
        return 1.0 if self.view_weights is None or view >= len(self.view_weights) else self.view_weights[view]

    def have(self, family: Family) -> bool:
        """Return whether there are the lists that this family needs."""
        return family.scaling is None or family.name in self.joint

    def cover(self, views: np.ndarray) -> bool:
        """Return whether every sample has one of these views."""
        return self.patterns is None or bool(self.patterns[:, views].any(axis=1).all())


def _not_yet() -> np.ndarray:
    return np.empty((0, 0))


@dataclass(frozen=True)
class Member:
    """A member: what it has drawn and, once it is fitted, its embedding of rows and its centres.

    ``lists`` are the neighbour lists that it has drawn: those of some views, or one of views side by side. ``n_kept``
    is the number of edges that dense views share; 0 if their graphs are summed. A row is embedded by its edges, scaled
    per graph and anchor by ``scale``, times ``vectors``; its cluster is the nearest of ``centres``.
    """

    index: int
    family: str
    lists: tuple[int, ...]
    anchors: np.ndarray
    n_neighbors: int
    n_kept: int
    n_clusters: int
    seed: int
    scale: np.ndarray = field(default_factory=_not_yet)
    vectors: np.ndarray = field(default_factory=_not_yet)
    centres: np.ndarray = field(default_factory=_not_yet)

    @property
    def labels(self) -> str:
        """Name of the column of its labels."""
        return MEMBER_LABELS.of(self.family, self.index)


def draw_member(settings: Settings, family: Family, lists: Lists, index: int) -> Member:
    """Draw views, anchors, k and K' of a member; they depend on the index, not on the number of members.

    For a fair comparison, the views of summed graphs are the same for every family and, if the pool is large, so are
    anchors and K'; views side by side are those of one of the first members.
    """
    s, rng = settings, member_draws(settings, index)
    views = draw_views(lists, s.view_share, rng)
    if family.scaling is not None:
        joint = lists.joint[family.name]
        views = (joint[index % len(joint)],)
    k = round(_draw_log(family.n_neighbors, rng))
    choosiness = _draw_log(family.choosiness or (1.0, 1.0), rng)
    pool = lists.n_anchors
    n_anchors = min(pool, max(int(rng.uniform(*s.anchor_share) * pool), 10 * s.n_clusters, 3 * k))
    k = max(1, min(k, max(4, int(family.reach * n_anchors / s.n_clusters)), n_anchors - 1))
    anchors = np.sort(rng.choice(pool, n_anchors, replace=False))
    n_kept = max(3, round(k / choosiness)) if family.choosiness else 0
    most = max(int(s.more_clusters * s.n_clusters), s.n_clusters + 2 * (s.more_clusters > 1))
    n_clusters = min(int(rng.integers(s.n_clusters, most + 1)), n_anchors)
    seed = int(rng.integers(2**62))
    return Member(index, family.name, views, anchors, k, min(n_kept, k), n_clusters, seed)


def member_draws(settings: Settings, index: int) -> np.random.Generator:
    """Return the random generator of a member; its views are drawn first."""
    return np.random.default_rng([settings.seed, index])


def draw_views(lists: Lists, share: float, rng: np.random.Generator) -> tuple[int, ...]:
    """Draw this share of the views or more; views are added until each sample has one of them."""
    n_views = lists.n_views
    n_drawn = rng.integers(int(np.ceil(share * n_views - 1e-9)), n_views + 1)
    shuffled = rng.permutation(n_views)
    while not lists.cover(shuffled[:n_drawn]):
        n_drawn += 1
    return tuple(sorted(map(int, shuffled[:n_drawn])))


def _draw_log(limits: tuple[float, float], rng: np.random.Generator) -> float:
    low, high = limits
    return float(low * (high / low) ** rng.random())


def fit_member(rows: Rows, lists: Lists, member: Member, n_clusters: int) -> Member:
    """Cluster the rows by the leading vectors of the member's graph; they keep its labels.

    A member draws K' >= K clusters, and as many vectors. If K clusters are well separated, the vectors after the K-th
    split the largest of them at random, and k-means would follow these rather than separate two small clusters. So they
    are multiplied by ``(σ_j / σ_K)^8``: nearly 0 after a clear drop of the spectrum, and 1 if there is none.
    """
    keeps_edges = rows.n_rows <= _FEW_ROWS
    if keeps_edges:
        rows.extend(_keep_edges, lists, member)
    values, vectors, scale, volumes = member_spectrum(rows, lists, member, member.n_clusters, _TOLERANCE)
    vectors = vectors * np.minimum(values / values[min(n_clusters, len(values)) - 1], 1.0) ** _DROP_POWER
    project = np.ascontiguousarray(vectors / values)
    embedding = MEMBER_EMBEDDING.of(member.family, member.index)
    rows.keep(embedding, _embed, lists, member, scale, project)
    if keeps_edges:
        rows.drop(EDGE_ANCHORS.of(member.family, member.index))
        rows.drop(EDGE_WEIGHTS.of(member.family, member.index))
    centres = start_centres(vectors, volumes, member.n_clusters, np.random.default_rng(member.seed))
    centres, _, _ = kmeans_rows(rows, embedding, centres, rows.n_rows)
    rows.keep(member.labels, assign, embedding, centres)
    rows.drop(embedding)
    return replace(member, scale=scale, vectors=project, centres=centres)


def member_spectrum(
    rows: Rows, lists: Lists, member: Member, n_vectors: int, tol: float = _TOLERANCE
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Compute the spectrum of the member's W, to a tolerance, from its Gram matrix.

    Returns
    -------
    values, vectors : ndarrays of shapes (n_vectors,) and (m + 1, n_vectors)
        Leading singular values of W and right vectors.
    scale : ndarray of shape (n_graphs, m + 1)
        Factors of the anchors of each graph in W.
    volumes : ndarray of shape (m + 1,)
        ``diag(WᵀW)``.
    """
    units = units_in_one(rows.n_rows)  # the edges of a row in a graph sum to 1 at most
    degrees = rows.sum(_degrees, lists, member, units) / units
    scale = inverse_sqrt(degrees) * graph_weights(lists, member)[:, None]
    units = units_in_one(_largest_entry(lists, member))
    lower = rows.sum(_gram, lists, member, scale, units)
    size, gram = len(lower), np.empty(lower.shape, dtype=np.float32)  # suffices for the tolerance, and is twice as fast
    np.multiply(lower, 1 / units, out=gram, casting="same_kind")
    if n_vectors > _MANY_VECTORS * size:
        squares, vectors = some_eigenvectors(gram, size - n_vectors, size - 1)
        squares, vectors = squares[::-1], vectors[:, ::-1]
    else:
        fill_upper(gram)
        squares, vectors = leading_eigenvectors(
            lambda block: gram @ block, size, n_vectors, tol=tol, degree=_FILTER_DEGREE, dtype=np.float32
        )
    squares, vectors = squares.astype(float), vectors.astype(float)
    values = np.sqrt(np.maximum(squares, 1e-12 * max(float(squares[0]), 1e-300)))
    return values, vectors, scale, lower.diagonal() / units


def start_centres(vectors: np.ndarray, volumes: np.ndarray, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Return initial centres of k-means on the rows: those of k-means on the anchors, which are few."""
    anchors = unit_rows(vectors[:, :n_clusters])
    used = np.einsum("ij,ij->i", anchors, anchors) > 0.5
    return kmeans(anchors[used], volumes[used], n_clusters, rng)


def _largest_entry(lists: Lists, member: Member) -> float:
    """Return a bound on the entries of ``WᵀW``.

    ``W = Σ_g f_g C_g D_g^-½``, where graph g has the weight f_g, rows of C_g sum to 1 at most and its columns to D_g at
    most, so that the norm of each ``C_g D_g^-½`` is at most 1, and that of W at most ``Σf``. If views are missing, each
    row of W is ``Σf`` times a mean of the rows of those graphs that have it. The square of a mean is at most the sum of
    the squares, so the squared norm is at most ``(Σf)²`` times the number of graphs, however small a weight is. The
    entries are those of a positive semi-definite matrix: none is larger than its norm, the square of that of W.
    """
    weights = graph_weights(lists, member)
    return float(weights.sum() ** 2 * (1 if lists.patterns is None else len(weights)))


def member_labels(block: Block, lists: Lists, member: Member) -> np.ndarray:
    """Return the clusters of a block's rows, fitted or new; -1 for rows without edges, which do not vote."""
    anchors, weights = fused_edges(block, lists, member, member.scale)
    labels = nearest_centre(unit_rows(edge_product(anchors, weights, member.vectors)), member.centres)
    abstain(weights, labels)
    return labels


def member_edges(block: Block, lists: Lists, member: Member) -> tuple[np.ndarray, np.ndarray, list[tuple[int, int]]]:
    """Return anchors, weights, and the columns of each graph of the sum, see :func:`graph_weights`.

    The caller may change the weights, not the anchors.
    """
    dense = [v for v in member.lists if member.n_kept and np.isinf(lists.far[v])]
    single = [v for v in member.lists if v not in dense]
    width, kept = member.n_neighbors + 1, member.n_kept + 1 if dense else 0
    graphs = [(0, kept)] if dense else []
    graphs += [(kept + i * width, kept + (i + 1) * width) for i in range(len(single))]
    known = EDGE_ANCHORS.of(member.family, member.index), EDGE_WEIGHTS.of(member.family, member.index)
    if known[0] in block:
        return block[known[0]], block[known[1]].copy(), graphs
    anchors, weights = _view_edges(block, lists, member, single)
    if dense:
        shared, support = _view_edges(block, lists, member, dense)
        support *= np.repeat([lists.weight(v) for v in dense], width)
        best_supported(shared, support, member.n_kept, len(member.anchors))
        anchors, weights = np.hstack([shared[:, :kept], anchors]), np.hstack([support[:, :kept], weights])
    return anchors, weights, graphs


def _keep_edges(block: Block, lists: Lists, member: Member) -> dict[str, np.ndarray]:
    anchors, weights, _ = member_edges(block, lists, member)
    return {
        EDGE_ANCHORS.of(member.family, member.index): anchors,
        EDGE_WEIGHTS.of(member.family, member.index): weights,
    }


def graph_weights(lists: Lists, member: Member) -> np.ndarray:
    """Return the weight of each graph; that of the shared graph is the sum over the dense views."""
    dense = [v for v in member.lists if member.n_kept and np.isinf(lists.far[v])]
    shared = [sum(lists.weight(v) for v in dense)] if dense else []
    return np.array(shared + [lists.weight(v) for v in member.lists if v not in dense], dtype=float)


def _view_edges(block: Block, lists: Lists, member: Member, views: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the edges of several views, side by side."""
    k = member.n_neighbors
    position = np.full(lists.n_anchors, -1, dtype=np.int32)
    position[member.anchors] = np.arange(len(member.anchors))
    shape = (len(block[NEAREST.of(member.lists[0])]), (k + 1) * len(views))
    anchors, weights = np.empty(shape, dtype=np.int32), np.empty(shape)
    too_short = block[TOO_SHORT.name] if TOO_SHORT.name in block else np.zeros(shape[0], dtype=bool)
    for i, v in enumerate(views):
        near, distance, neutral = block[NEAREST.of(v)], block[DISTANCE.of(v)], len(member.anchors)
        view_edges(near, distance, position, neutral, k, lists.far[v], anchors, weights, i * (k + 1), too_short)
    return anchors, weights


def _degrees(block: Block, lists: Lists, member: Member, units: float) -> np.ndarray:
    anchors, weights, graphs = member_edges(block, lists, member)
    degrees = np.zeros((len(graphs), len(member.anchors) + 1))
    for degree, (start, stop) in zip(degrees, graphs, strict=True):
        add_degrees(anchors, weights, start, stop, units, degree)
    return degrees


def fused_edges(block: Block, lists: Lists, member: Member, scale: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return anchors and weights of W."""
    anchors, weights, graphs = member_edges(block, lists, member)
    if lists.patterns is not None:
        starts = np.array([start for start, _ in graphs] + [graphs[-1][1]])
        balance_rows(weights, starts, graph_weights(lists, member))
    for factors, (start, stop) in zip(scale, graphs, strict=True):
        scale_anchors(anchors, weights, start, stop, factors)
    return anchors, weights


def _gram(block: Block, lists: Lists, member: Member, scale: np.ndarray, units: float) -> np.ndarray:
    return edge_gram(*fused_edges(block, lists, member, scale), len(member.anchors) + 1, units)


def _embed(block: Block, lists: Lists, member: Member, scale: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    return unit_rows(edge_product(*fused_edges(block, lists, member, scale), vectors))
