"""One member of the ensemble: what it draws, its graph, its clusters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from manyview.engines import Block, Rows
from manyview.graphs.laplacian import inverse_sqrt, leading_eigenvectors
from manyview.solvers._edges import (
    abstain,
    add_degrees,
    balance_rows,
    best_supported,
    both_triangles,
    edge_gram,
    edge_product,
    nearest_centre,
    scale_anchors,
    unit_lengths,
    view_edges,
)
from manyview.solvers._exact import units_in_one
from manyview.solvers._kmeans import kmeans, kmeans_rows

# Of the eigenvectors, relative to the largest eigenvalue; clusters do not change with more digits.
_TOLERANCE = 1e-3


@dataclass(frozen=True)
class Kind:
    """A kind of graph. Ranges are (lowest, highest), and every member draws from them anew, on a logarithmic scale.

    ``n_neighbors`` is the number of anchors that a sample looks at in each view, at most ``reach`` times the anchors of
    a cluster. With ``choosiness``, how many of those there are for each one that is kept, dense views keep only the
    edges that they support together; without, they are added up, as views of counts always are.
    """

    name: str
    n_neighbors: tuple[int, int]
    reach: float
    choosiness: tuple[float, float] | None


# Fine graphs follow clusters that are small or of odd shapes, broad ones see through noise.
KINDS = (Kind("fine", (5, 15), 1.0, None), Kind("broad", (20, 60), 3.0, (1.0, 4.0)))


@dataclass(frozen=True)
class Settings:
    """What the ensemble is made of: ``n_members`` of the best kind, after ``n_tries`` of each."""

    n_clusters: int
    n_members: int = 48
    n_tries: int = 16
    kinds: tuple[Kind, ...] = KINDS
    anchor_share: tuple[float, float] = (0.5, 0.75)
    view_share: float = 2 / 3
    more_clusters: float = 1.2
    weight_power: float = 4.0
    n_starts: int = 10
    seed: int = 0


@dataclass(frozen=True)
class Lists:
    """What is common to the rows' lists of nearest pool members.

    ``far`` is, per view, the distance at which similarity ends. ``patterns`` lists which views samples have together,
    each combination once; None if every sample has all.
    """

    n_pool: int
    far: tuple[float, ...]
    patterns: np.ndarray | None = None

    def cover(self, views: np.ndarray) -> bool:
        """Whether every sample has one of these views."""
        return self.patterns is None or bool(self.patterns[:, views].any(axis=1).all())


@dataclass(frozen=True)
class Member:
    """What a member has drawn. ``n_kept`` is the number of edges that dense views share; 0 if they are added up."""

    index: int
    kind: str
    views: tuple[int, ...]
    anchors: np.ndarray
    n_neighbors: int
    n_kept: int
    n_clusters: int
    seed: int

    @property
    def name(self) -> str:
        """Under which the rows keep its labels."""
        return f"{self.kind} member {self.index}"


@dataclass(frozen=True)
class FittedMember:
    """What a member has found: how to embed a row with its edges, and the centres of its clusters there."""

    member: Member
    scale: np.ndarray
    vectors: np.ndarray
    centres: np.ndarray


def draw_member(settings: Settings, kind: Kind, lists: Lists, index: int) -> Member:
    """Draw views, anchors, k and K' of a member; the same for the same index, however many there are.

    Views are the same for every kind, and where the pool is large also anchors and K', for a fair comparison. They are
    so many that each sample has one of them.
    """
    s, n_views = settings, len(lists.far)
    rng = np.random.default_rng([s.seed, index])
    n_drawn = rng.integers(int(np.ceil(s.view_share * n_views - 1e-9)), n_views + 1)
    shuffled = rng.permutation(n_views)
    while not lists.cover(shuffled[:n_drawn]):
        n_drawn += 1
    views = np.sort(shuffled[:n_drawn])
    k = round(_draw_log(kind.n_neighbors, rng))
    choosiness = _draw_log(kind.choosiness or (1.0, 1.0), rng)
    n_anchors = min(lists.n_pool, max(int(rng.uniform(*s.anchor_share) * lists.n_pool), 10 * s.n_clusters, 3 * k))
    k = max(1, min(k, max(4, int(kind.reach * n_anchors / s.n_clusters)), n_anchors - 1))
    anchors = np.sort(rng.choice(lists.n_pool, n_anchors, replace=False))
    n_kept = max(3, round(k / choosiness)) if kind.choosiness else 0
    most = max(int(s.more_clusters * s.n_clusters), s.n_clusters + 2 * (s.more_clusters > 1))
    n_clusters = min(int(rng.integers(s.n_clusters, most + 1)), n_anchors)
    return Member(
        index, kind.name, tuple(map(int, views)), anchors, k, min(n_kept, k), n_clusters, int(rng.integers(2**62))
    )


def _draw_log(limits: tuple[float, float], rng: np.random.Generator) -> float:
    low, high = limits
    return float(low * (high / low) ** rng.random())


@dataclass(frozen=True)
class Spectrum:
    """Leading singular values of a member's W and right vectors, what W's anchors are scaled by, and ``diag(WᵀW)``."""

    values: np.ndarray
    vectors: np.ndarray
    scale: np.ndarray
    volumes: np.ndarray

    def start_centres(self, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
        """Centres to start k-means on the rows from: those of the anchors, which are few."""
        anchors = unit_rows(self.vectors[:, :n_clusters])
        used = np.einsum("ij,ij->i", anchors, anchors) > 0.5
        return kmeans(anchors[used], self.volumes[used], n_clusters, rng)


def member_spectrum(rows: Rows, lists: Lists, member: Member, n_vectors: int) -> Spectrum:
    """The spectrum of the member's graph, to a tolerance of 1e-3, from its Gram matrix."""
    units = units_in_one(rows.n_rows)  # the edges of a row in a graph sum to 1 at most
    degrees = rows.sum(_degrees, lists, member, units) / units
    scale = inverse_sqrt(degrees) * graph_weights(lists, member)[:, None]
    units = units_in_one(_largest_entry(lists, member))
    lower = rows.sum(_gram, lists, member, scale, units)
    gram = both_triangles(lower, units)  # in single precision: digits enough for the tolerance, and twice as fast
    squares, vectors = leading_eigenvectors(
        lambda block: (gram @ block.astype(np.float32)).astype(float), len(gram), n_vectors, tol=_TOLERANCE
    )
    values = np.sqrt(np.maximum(squares, 1e-12 * max(float(squares[0]), 1e-300)))
    return Spectrum(values, vectors, scale, lower.diagonal() / units)


def _largest_entry(lists: Lists, member: Member) -> float:
    """What no entry of ``WᵀW`` exceeds.

    ``W = B Σ_g f_g C_g D_g^-½``, where graph g counts f_g times, rows of C_g sum to 1 at most and its columns to D_g at
    most, so that the norm of each ``C_g D_g^-½`` is at most 1. Rows of samples that lack views are multiplied by B, at
    most ``Σf`` over the smallest f, which is at least 1. The entries are those of a positive semi-definite matrix: none
    is larger than its norm, the square of that of W.
    """
    total = graph_weights(lists, member).sum()
    return float(total**2 if lists.patterns is None else total**4)


def fit_member(rows: Rows, lists: Lists, member: Member) -> FittedMember:
    """Fused spectral clustering on the member's graph; the rows keep its labels."""
    spectrum = member_spectrum(rows, lists, member, member.n_clusters)
    project = np.ascontiguousarray(spectrum.vectors / spectrum.values)
    name = f"embedding of {member.name}"
    rows.keep(name, _embed, lists, member, spectrum.scale, project)
    centres = spectrum.start_centres(member.n_clusters, np.random.default_rng(member.seed))
    centres, _, _ = kmeans_rows(rows, name, centres, rows.n_rows)
    rows.keep(member.name, assign, name, centres)
    rows.drop(name)
    return FittedMember(member, spectrum.scale, project, centres)


def member_labels(block: Block, lists: Lists, fitted: FittedMember) -> np.ndarray:
    """The clusters of a block's rows, which need not be those that the member was fitted to; -1: no edges, no say."""
    anchors, weights = fused_edges(block, lists, fitted.member, fitted.scale)
    labels = nearest_centre(unit_rows(edge_product(anchors, weights, fitted.vectors)), fitted.centres)
    abstain(weights, labels)
    return labels


def unit_rows(table: np.ndarray) -> np.ndarray:
    """Rows of length 1; rows that are zero but for rounding stay zero."""
    return unit_lengths(np.ascontiguousarray(table))


def member_edges(block: Block, lists: Lists, member: Member) -> tuple[np.ndarray, np.ndarray, list[tuple[int, int]]]:
    """Anchors, weights, and the columns of each graph that is added up: see :func:`graph_weights`."""
    dense = [v for v in member.views if member.n_kept and np.isinf(lists.far[v])]
    single = [v for v in member.views if v not in dense]
    width, kept = member.n_neighbors + 1, member.n_kept + 1 if dense else 0
    anchors, weights = _view_edges(block, lists, member, single)
    if dense:
        shared, support = _view_edges(block, lists, member, dense)
        best_supported(shared, support, member.n_kept, len(member.anchors))
        anchors, weights = np.hstack([shared[:, :kept], anchors]), np.hstack([support[:, :kept], weights])
    graphs = [(0, kept)] if dense else []
    graphs += [(kept + i * width, kept + (i + 1) * width) for i in range(len(single))]
    return anchors, weights, graphs


def graph_weights(lists: Lists, member: Member) -> np.ndarray:
    """How often each graph counts: the one that the dense views share as often as there are such views."""
    n_dense = sum(bool(member.n_kept) and np.isinf(lists.far[v]) for v in member.views)
    return np.array([n_dense] * bool(n_dense) + [1] * (len(member.views) - n_dense), dtype=float)


def _view_edges(block: Block, lists: Lists, member: Member, views: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Edges of several views, side by side."""
    k = member.n_neighbors
    place = np.full(lists.n_pool, -1, dtype=np.int32)
    place[member.anchors] = np.arange(len(member.anchors))
    shape = (len(block["near 0"]), (k + 1) * len(views))
    anchors, weights = np.empty(shape, dtype=np.int32), np.empty(shape)
    for i, v in enumerate(views):
        near, distance = block[f"near {v}"], block[f"distance {v}"]
        view_edges(near, distance, place, k, lists.far[v], anchors, weights, i * (k + 1))
    return anchors, weights


def _degrees(block: Block, lists: Lists, member: Member, units: float) -> np.ndarray:
    anchors, weights, graphs = member_edges(block, lists, member)
    degrees = np.zeros((len(graphs), len(member.anchors) + 1))
    for degree, (start, stop) in zip(degrees, graphs, strict=True):
        add_degrees(anchors, weights, start, stop, units, degree)
    return degrees


def fused_edges(block: Block, lists: Lists, member: Member, scale: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Anchors and weights of W."""
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


def assign(block: Block, name: str, centres: np.ndarray) -> np.ndarray:
    return nearest_centre(block[name], centres)
