"""InvariantTBGL, the method that cannot depend on the order of the samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from manyview._optional import require
from manyview.cluster._base import Facts, MultiViewClusterer, interval, one_of
from manyview.cluster._new_samples import FittedViews, labels_of_clusters, place_blocks, view_units
from manyview.cluster._pool import GRAPH_NEIGHBORS, choose_members, make_pool, pool_size, scale_views
from manyview.cluster._scaling import scaling_names
from manyview.cluster._suggest import ClusterCountSuggestion, suggest_n_clusters
from manyview.engines import LocalRows
from manyview.exceptions import ClusterCountWarning, ViewsError, warn_user
from manyview.graphs import SCALERS, canonical_order
from manyview.graphs.components import connect_clusters, relabel_by_first
from manyview.solvers import invariant
from manyview.solvers._components import learned_graph
from manyview.views import Views

# A labelling that shares less than this with the one a batch of members before is not settled.
_SETTLED = 0.95


class InvariantTBGL(ClassNamePrefixFeaturesOutMixin, TransformerMixin, MultiViewClusterer):
    """Clusters from an ensemble of bipartite graphs that all views support together.

    The method of choice for data of one's own. Samples and views are first brought into an order that follows from
    their content, so the result cannot depend on the order in which they come. Then many graphs between the samples
    and anchors are made, each from other views, other anchors and another number of neighbours, keeping the edges that
    several views support. Each is cut into clusters, and the cut that all agree on best is the answer. Time and memory
    are linear in the number of samples.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters. "auto" asks :func:`manyview.suggest_n_clusters`, warns if the evidence is weak, and keeps
        the answer in ``suggestion_``.
    n_anchors : "auto" or int, default="auto"
        Size of the pool that the graphs draw their anchors from. "auto" takes 85 % of the samples, at most 2,000 or
        20 per cluster.
    n_neighbors : "auto", int or pair of int, default="auto"
        Anchors that a sample looks at in each view, or the range from which every graph draws it. "auto" tries fine
        graphs (5 to 15) and broad ones (20 to 60) and goes on with those that agree better among themselves.
    scaling : str, sequence or dict, default="auto"
        How a view's features are made comparable; one name, or one for each view, in order or by name.
        "counts" (logarithm, inverse document frequency, unit rows), "shares" (square root, centre, unit rows),
        "directions" (centre, unit rows), "centered", "standardized" (each sample over its features), "unit", "max" or
        "none". "auto" looks at sparsity, signs, row sums and dimension (see :func:`manyview.graphs.choose_scaling`);
        ``scaling_`` says what it chose.
    n_members : int, default=48
        Graphs in the ensemble. More are steadier and take longer, in proportion.
    engine : {"auto", "local"}, default="auto"
        Where the work is done. "local" is the threads of this machine.
    view_sizes : int or sequence of int, optional
        For one 2-D array instead of a list of views: the number of columns of each view, or the number of views.
    random_state : int, RandomState or None, default=None
        For what the graphs draw. An int makes the result reproducible, bit by bit.
    n_jobs : int or None, default=None
        Threads; None uses all cores. The result does not depend on it.
    verbose : bool, default=False
        Print a line for every batch of members.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Clusters 0, 1, ... in the order of their first sample.
    view_weights_ : ndarray of shape (n_views,)
        How much each view counts in the learned graph; they sum to 1. The more of a view's edges the clusters cut, the
        less. Copies of a view share its weight.
    consensus_graph_ : csr_array of shape (n_samples, n_anchors)
        The learned graph. It has exactly ``n_clusters`` connected components, and they are the labels.
    anchor_indices_ : ndarray of shape (n_anchors,)
        The samples of the pool, from coarse to fine.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Coordinates in which the clusters are compact.
    confidence_ : ndarray of shape (n_samples,)
        Share of the ensemble, by weight, that speaks for the sample's label: 1 if all do.
    scaling_ : dict of str to str
        The scaling of each view, by name.
    graph_kind_ : {"fine", "broad"}
        The kind of graphs that the ensemble is made of.
    history_ : dict of ndarray
        ``n_members``, ``agreement`` (mean NMI of the labels with the members) and ``stability`` (NMI with the labels
        of the step before) after each batch; ``member_weights``, ``member_neighbors``, ``member_clusters`` per member;
        ``fine_information`` and ``broad_information``, what a member of that kind tells about another, in nats.
    n_iter_ : int
        Members made.
    converged_ : bool
        Whether the last batch of members left the labels as they were, to an NMI of 0.95. If not, the data have no
        clear clusters of that number, or ``n_members`` is small; no warning is given.
    n_clusters_ : int
        Number of clusters: the one given, or the one that "auto" found.
    suggestion_ : ClusterCountSuggestion or None
        Why "auto" found it.
    view_names_ : tuple of str
        Names of the views.
    n_features_in_ : int
        Features of all views together.

    Notes
    -----
    Equal samples get equal labels. A view that is given twice, even in another unit, counts once. Samples may lack
    views (see :func:`manyview.check_views`): each is placed by those that it has.

    Examples
    --------
    >>> from manyview import InvariantTBGL
    >>> from manyview.datasets import make_multiview
    >>> views = make_multiview(120, n_clusters=3, random_state=0)
    >>> model = InvariantTBGL(n_clusters=3, random_state=0).fit(views)
    >>> model.labels_.shape, model.confidence_.min() > 0.9
    ((120,), np.True_)
    """

    facts: ClassVar[Facts] = Facts(
        title="an ensemble of anchor graphs that all views support",
        paper_name="",
        input_kind="anchor graphs",
        memory="n·k",
        uses_kmeans=True,
        reference="this package",
    )
    _takes_missing_views: ClassVar[bool] = True
    _sorts_samples: ClassVar[bool] = False  # it sorts them itself, and the views too

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [one_of("auto"), interval(Integral, 1, None, "left")],
        "n_anchors": [one_of("auto"), interval(Integral, 2, None, "left")],
        "n_neighbors": [one_of("auto"), interval(Integral, 1, None, "left"), "array-like"],
        "scaling": [one_of("auto", *SCALERS), dict, "array-like"],
        "n_members": [interval(Integral, 1, None, "left")],
        "engine": [one_of("auto", "local")],
    }

    def __init__(
        self,
        n_clusters: int | str,
        *,
        n_anchors: str | int = "auto",
        n_neighbors: str | int | tuple[int, int] = "auto",
        scaling: str | Sequence[str] | Mapping[str, str] = "auto",
        n_members: int = 48,
        engine: str = "auto",
        view_sizes: int | Sequence[int] | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_anchors = n_anchors
        self.n_neighbors = n_neighbors
        self.scaling = scaling
        self.n_members = n_members
        self.engine = engine
        self.view_sizes = view_sizes
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fit(self, views: Views) -> None:
        wanted = scaling_names(self.scaling, views)
        suggestion = self._suggest(views)
        n_clusters = int(self.n_clusters if suggestion is None else suggestion.n_clusters)
        settings = self._settings(n_clusters)
        order = canonical_order(views.arrays, wanted, views.present)
        scaled = scale_views(views, wanted, order)
        members = choose_members(scaled, self._pool_size(views.n_samples, n_clusters), settings.seed)
        pool = make_pool(scaled, members, order.twin, settings.kinds, self.n_jobs)
        rows = LocalRows(pool.columns, self.n_jobs)
        on_step = _print_progress if self.verbose else None
        state, ensemble, steps = invariant.run(rows, pool.lists, settings, on_step=on_step)

        labels = split_clusters(rows.gather("labels").astype(np.int64), order.twin, n_clusters)
        graph_members = with_every_cluster(members, labels, n_clusters)
        graph_pool = pool
        if len(graph_members) > len(members):
            graph_pool = make_pool(scaled, graph_members, order.twin, settings.kinds, self.n_jobs)
        graph, weights = learned_graph(
            LocalRows({**graph_pool.columns, "labels": labels}, self.n_jobs),
            graph_pool.lists,
            labels[graph_members],
            min(GRAPH_NEIGHBORS, len(graph_members) - 1),
            n_clusters,
        )
        graph = connect_clusters(graph, labels, labels[graph_members])

        given = np.argsort(order.rows)  # the canonical place of each given row
        copies = np.bincount(order.source)
        self.n_clusters_ = n_clusters
        self.suggestion_ = suggestion
        self.labels_ = relabel_by_first(labels[given])
        self.view_weights_ = np.array([weights[place] / copies[place] for place in order.source])
        self.consensus_graph_ = graph[given]
        self.anchor_indices_ = order.rows[graph_members]
        self.embedding_ = rows.gather("embedding")[given]
        self.confidence_ = rows.gather("confidence")[given]
        self.scaling_ = {
            name: scaled[place].scaling.name for name, place in zip(views.names, order.source, strict=True)
        }
        self.history_ = {
            "n_members": np.array([step.n_members for step in steps]),
            "agreement": np.array([step.agreement for step in steps]),
            "stability": np.array([step.stability for step in steps]),
            **{f"{kind}_information": np.array(value) for kind, value in steps[0].scores.items()},
            "member_weights": ensemble.consensus.weights,
            "member_neighbors": np.array([member.n_neighbors for member in state.members]),
            "member_clusters": np.array([member.n_clusters for member in state.members]),
        }
        self.graph_kind_ = state.kind.name
        self.n_iter_ = len(state.members)
        settled = len(steps) == 1 or steps[-1].stability >= _SETTLED
        self.converged_ = bool(ensemble.consensus.arrived and settled)
        self._fitted_views = FittedViews(
            views.names,
            views.n_features,
            order.source,
            tuple(view_units(views, order)),
            pool.views,
            ensemble,
            labels_of_clusters(rows.gather("labels"), self.labels_[order.rows], n_clusters),
        )

    def predict(self, views: Any) -> np.ndarray:
        """Clusters of samples, which need not be those of the fit.

        Each sample takes the way through the ensemble that the fitted ones took: its nearest anchors, every member's
        clusters, and what these agree on. So the samples of the fit get ``labels_`` again, unless the fit warned that
        single samples had to be split off.

        Parameters
        ----------
        views : Views, list or dict of arrays, or one array with ``view_sizes``
            The views of the fit, or some of them by name in a dict or :class:`manyview.Views`; samples may lack views.
            They are looked at in blocks of 8,192, so memory does not grow with their number.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return self._gather(views, "labels")

    def predict_confidence(self, views: Any) -> np.ndarray:
        """Share of the ensemble that speaks for each sample's label, as in ``confidence_``; views as in ``predict``.

        Members that drew none of a sample's views have no say.
        """
        return self._gather(views, "confidence")

    def transform(self, views: Any) -> np.ndarray:
        """Coordinates of samples in which the clusters are compact, as in ``embedding_``; views as in ``predict``."""
        embedding = self._gather(views, "embedding")
        ids = getattr(views, "sample_ids", None)
        if ids is not None and _get_output_config("transform", self)["dense"] == "pandas":
            # scikit-learn takes the index from data frames only
            return require("pandas", extra="files", purpose="A data frame as output").DataFrame(embedding, index=ids)
        return embedding

    def _gather(self, views: Any, what: str) -> np.ndarray:
        check_is_fitted(self)
        blocks = place_blocks(self._fitted_views, views, self.view_sizes, self.n_jobs, type(self).__name__)
        return np.concatenate([getattr(placed, what) for placed in blocks])

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def _suggest(self, views: Views) -> ClusterCountSuggestion | None:
        """A number of clusters if none is given; warns if the evidence for it is weak."""
        if self.n_clusters != "auto":
            return None
        suggestion = suggest_n_clusters(
            views, scaling=self.scaling, random_state=self.random_state, n_jobs=self.n_jobs, verbose=self.verbose
        )
        if not suggestion.sure:
            warn_user(f"n_clusters='auto' took {suggestion.n_clusters}. {suggestion.reason}", ClusterCountWarning)
        return suggestion

    def _settings(self, n_clusters: int) -> invariant.Settings:
        return invariant.Settings(
            n_clusters=n_clusters,
            n_members=self.n_members,
            kinds=graph_kinds(self.n_neighbors),
            seed=int(check_random_state(self.random_state).randint(2**31)),
        )

    def _pool_size(self, n_samples: int, n_clusters: int) -> int:
        if not isinstance(self.n_anchors, Integral):
            return pool_size(n_samples, n_clusters)
        if self.n_anchors > n_samples:
            raise ViewsError(f"n_anchors={self.n_anchors} is more than there are samples: n_samples={n_samples}.")
        if self.n_anchors < n_clusters:
            raise ViewsError(f"n_anchors={self.n_anchors} is less than n_clusters={n_clusters}.")
        return int(self.n_anchors)


def graph_kinds(n_neighbors: Any) -> tuple[invariant.Kind, ...]:
    """The kinds of graphs to try: the default ones, or those with the user's range of neighbours."""
    if isinstance(n_neighbors, str):
        return invariant.KINDS
    pair: list[Any] = [n_neighbors] * 2 if isinstance(n_neighbors, Integral) else list(n_neighbors)
    if len(pair) != 2 or not all(isinstance(k, Integral) for k in pair) or not 1 <= pair[0] <= pair[1]:
        raise ViewsError(f"n_neighbors: expected 'auto', an int or a pair 1 <= low <= high, got {n_neighbors!r}.")
    return tuple(replace(kind, n_neighbors=(int(pair[0]), int(pair[1]))) for kind in invariant.KINDS)


def split_clusters(labels: np.ndarray, twin: np.ndarray, n_clusters: int) -> np.ndarray:
    """Exactly ``n_clusters`` labels: as long as there are fewer, the largest cluster gives up its first sample."""
    labels = np.unique(labels, return_inverse=True)[1]
    found = labels.max() + 1
    if found == n_clusters:
        return labels
    warn_user(
        f"Only {found} of n_clusters={n_clusters} clusters can be told apart; single samples were split off.",
        ConvergenceWarning,
    )
    for new in range(found, n_clusters):
        distinct = np.unique(twin)
        sizes = np.bincount(labels[distinct], minlength=new)
        first = distinct[labels[distinct] == np.argmax(sizes)][0]
        labels[twin == first] = new
    return labels


def with_every_cluster(pool: np.ndarray, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """The pool, and the first sample of each cluster that has none in it."""
    missing = np.setdiff1d(np.arange(n_clusters), labels[pool])
    return np.concatenate([pool, [np.flatnonzero(labels == c)[0] for c in missing]]).astype(np.int64)


def _print_progress(step: invariant.Step) -> None:
    stability = "" if np.isnan(step.stability) else f", NMI with the step before {step.stability:.3f}"
    print(f"InvariantTBGL {step.n_members} {step.kind} members: agreement {step.agreement:.3f}{stability}", flush=True)
