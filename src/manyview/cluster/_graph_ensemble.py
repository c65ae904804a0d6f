"""GraphEnsemble, the method that cannot depend on the order of the samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar

import joblib
import numpy as np
import pandas
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from manyview._utils.progress import Step, heard, tell
from manyview._utils.threads import one_thread
from manyview.cluster._base import Facts, MultiViewClusterer, check_n_clusters, interval, one_of
from manyview.cluster._blocks import fit_on_all, fit_on_sample, place_part, take_graph
from manyview.cluster._dask import (
    client_for,
    column,
    is_distributed,
    open_rows,
    place_lazily,
    worker_block_rows,
    worker_memory,
)
from manyview.cluster._footprint import Footprint
from manyview.cluster._learn import Basis, Learned, fitted_views, learn, make_graph, settle, split_clusters
from manyview.cluster._new_samples import labels_of_clusters, open_new_views, precision
from manyview.cluster._pool import list_length, pool_size
from manyview.cluster._scaling import scaling_names
from manyview.cluster._source import draw_by_content, local_rows
from manyview.cluster._suggest import ClusterCountSuggestion, suggest_n_clusters
from manyview.engines import BLOCK_ROWS, LocalRows
from manyview.exceptions import ClusterCountWarning, ViewsError, warn_user
from manyview.graphs import SCALERS
from manyview.graphs.components import relabel_by_first
from manyview.solvers import invariant
from manyview.solvers._components import GraphRule, connect_clusters, inner_edges
from manyview.views import Views, check_views
from manyview.views.checks import check_n_views, check_new_views

# Samples that "auto" learns on, at most.
_LEARNED_ROWS = 10_000
# A labelling that shares less than this with the one a batch of members before is not settled.
_SETTLED = 0.95


class GraphEnsemble(ClassNamePrefixFeaturesOutMixin, TransformerMixin, MultiViewClusterer):
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
        Graphs in the ensemble. More are steadier and take longer, in proportion. If the clusters are clear, fewer are
        made; ``n_iter_`` says how many.
    learn_on : "auto", "all" or int, default="auto"
        How many samples the ensemble is learned on, at most: "auto" means 10,000. If there are more, they are drawn by
        their content, so that the draw does not depend on their order, and all samples are then placed as by
        :meth:`predict`. "all" learns on every sample, which takes longer, in proportion.
    engine : {"auto", "local", "dask"}, default="auto"
        Where the work is done. "local" is the threads of this machine; "dask" the workers of the current
        ``distributed.Client``, with the same result. "auto" takes the workers if the views are Dask arrays and there
        is a client.
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
        of the step before; NaN for the first) after each batch; ``member_weights``, ``member_neighbors``,
        ``member_clusters`` per member; ``fine_information`` and ``broad_information``, what a member of that kind tells
        about another, in nats.
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
    >>> from manyview import GraphEnsemble
    >>> from manyview.datasets import make_multiview
    >>> views = make_multiview(120, n_clusters=3, random_state=0)
    >>> model = GraphEnsemble(n_clusters=3, random_state=0).fit(views)
    >>> model.labels_.shape, model.confidence_.mean() > 0.9
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
    _sorts_samples: ClassVar[bool] = False  # it sorts them itself, and the views too

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [one_of("auto"), interval(Integral, 1, None, "left")],
        "n_anchors": [one_of("auto"), interval(Integral, 2, None, "left")],
        "n_neighbors": [one_of("auto"), interval(Integral, 1, None, "left"), "array-like"],
        "scaling": [one_of("auto", *SCALERS), dict, "array-like"],
        "n_members": [interval(Integral, 1, None, "left")],
        "learn_on": [one_of("auto", "all"), interval(Integral, 100, None, "left")],
        "engine": [one_of("auto", "local", "dask")],
    }

    def __init__(
        self,
        n_clusters: int | str,
        *,
        n_anchors: str | int = "auto",
        n_neighbors: str | int | tuple[int, int] = "auto",
        scaling: str | Sequence[str] | Mapping[str, str] = "auto",
        n_members: int = 48,
        learn_on: str | int = "auto",
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
        self.learn_on = learn_on
        self.engine = engine
        self.view_sizes = view_sizes
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check(self, views: Any) -> Views:
        """Check the values now if there are few samples; else that is done block by block."""
        given = check_new_views(views, view_sizes=self.view_sizes)
        if self._in_blocks(given):
            check_n_views(given, self.min_views)
            return given
        checked = check_views(views, view_sizes=self.view_sizes, min_views=self.min_views, keep_float32=True)
        self._check_n_clusters(checked)
        return checked

    def _check_n_clusters(self, views: Views) -> None:
        if isinstance(self.n_clusters, Integral):
            check_n_clusters(views, int(self.n_clusters))

    def _fit(self, views: Views) -> None:
        self._announce(views)
        if self._in_blocks(views):
            self._fit_in_blocks(views)
        else:
            self._fit_in_memory(views)

    def _in_blocks(self, views: Views) -> bool:
        """Whether there are more samples than the basis of a fit is made of, or they may be in many places."""
        return views.n_samples > self._n_learned() or is_distributed(views, self.engine)

    def _fit_in_memory(self, views: Views) -> None:
        basis, suggestion = self._settle(views)
        columns = basis.columns()
        rows = LocalRows(columns, self.n_jobs)
        learned = learn(rows, basis, self._on_step())
        clusters = rows.gather("labels").astype(np.int64)
        labels = split_clusters(clusters, basis.order.twin, basis.settings.n_clusters)
        graph, graph_columns = make_graph(basis, columns, labels)
        graph_rows = LocalRows(graph_columns, self.n_jobs)
        graph_rows.keep("graph", inner_edges, graph.rule)
        connect_clusters(graph_rows, graph.rule)

        given = np.argsort(basis.order.rows)  # the canonical place of each given row
        self.labels_ = relabel_by_first(labels[given])
        self.embedding_ = rows.gather("embedding")[given].astype(precision(views), copy=False)
        self.confidence_ = rows.gather("confidence")[given].astype(precision(views), copy=False)
        self.consensus_graph_ = take_graph(graph_rows)[given].astype(precision(views), copy=False)
        self.anchor_indices_ = basis.order.rows[graph.members]
        label_of = labels_of_clusters(clusters, self.labels_[basis.order.rows], basis.settings.n_clusters)
        self._set_learned(basis, suggestion, learned, graph.rule, label_of)

    def _fit_in_blocks(self, views: Views) -> None:
        rows = open_rows(views, self.engine, self.n_jobs)
        drawn = draw_by_content(rows, self._n_learned())
        self._check_n_clusters(drawn.views)
        basis, suggestion = self._settle(drawn.views, drawn.patterns)
        if isinstance(rows, LocalRows):
            rows.on_rows = lambda done: tell(Step("GraphEnsemble", done, views.n_samples, "samples"))
        fit = fit_on_all if self.learn_on == "all" else fit_on_sample
        found = fit(rows, basis, self._on_step())

        graph = take_graph(rows) if isinstance(rows, LocalRows) else column(rows, "graph", views)
        columns = [column(rows, name, views) for name in ("labels", "embedding", "confidence")]
        self.labels_, self.embedding_, self.confidence_ = columns
        self.consensus_graph_ = graph
        self.anchor_indices_ = drawn.rows[basis.order.rows[found.members]]
        self._set_learned(basis, suggestion, found.learned, found.rule, found.label_of)

    def _settle(self, views: Views, patterns: np.ndarray | None = None) -> tuple[Basis, ClusterCountSuggestion | None]:
        """What is settled before learning, from samples in memory."""
        wanted = scaling_names(self.scaling, views)
        suggestion = self._suggest(views)
        n_clusters = int(self.n_clusters if suggestion is None else suggestion.n_clusters)
        n_pool = self._pool_size(views.n_samples, n_clusters)
        return settle(views, wanted, self._settings(n_clusters), n_pool, self.n_jobs, patterns), suggestion

    def _set_learned(
        self,
        basis: Basis,
        suggestion: ClusterCountSuggestion | None,
        learned: Learned,
        rule: GraphRule,
        label_of: np.ndarray,
    ) -> None:
        """Set the attributes that do not belong to samples."""
        state, ensemble, steps = learned.state, learned.ensemble, learned.steps
        copies = np.bincount(basis.order.source)
        self.n_clusters_ = basis.settings.n_clusters
        self.suggestion_ = suggestion
        self.view_weights_ = np.array([rule.view_weights[place] / copies[place] for place in basis.order.source])
        self.scaling_ = basis.scaling_names
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
        self._fitted_views = fitted_views(basis, learned, label_of)

    def _on_step(self) -> Callable[[invariant.Step], None] | None:
        return self._after_step if self.verbose or heard() else None

    def _after_step(self, step: invariant.Step) -> None:
        if self.verbose:
            _print_progress(step)
        tell(Step("GraphEnsemble", step.n_members, self.n_members, "members", step.agreement, "agreement"))

    def _announce(self, views: Views) -> None:
        """Say what the fit is about to take, and refuse it if that cannot be had."""
        who, client = type(self).__name__, client_for(views, self.engine)
        if client is None:
            self._footprint(views, self.n_jobs or joblib.cpu_count(), BLOCK_ROWS).announce(who, self.verbose)
        else:
            footprint = self._footprint(views, 1, worker_block_rows(views))
            footprint.announce_to_workers(who, self.verbose, worker_memory(client))

    def _footprint(self, views: Views, n_threads: int, block_rows: int) -> Footprint:
        n = views.n_samples
        n_learned = min(n, self._n_learned())
        n_pool = self.n_anchors if isinstance(self.n_anchors, Integral) else pool_size(n_learned, 1)
        return Footprint(
            views,
            n_learned=n_learned,
            n_listed=n if self.learn_on == "all" else n_learned,
            n_clusters=self.n_clusters,
            n_pool=int(n_pool),
            n_members=self.n_members,
            list_length=min(list_length(graph_kinds(self.n_neighbors)), int(n_pool)),
            n_threads=n_threads,
            block_rows=block_rows,
        )

    def _n_learned(self) -> int:
        """Samples that the basis of a fit is made of, at most."""
        return self.learn_on if isinstance(self.learn_on, Integral) else _LEARNED_ROWS

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
            return pandas.DataFrame(embedding, index=ids)
        return embedding

    def _gather(self, views: Any, what: str) -> Any:
        check_is_fitted(self)
        fitted = self._fitted_views
        given = open_new_views(fitted, views, self.view_sizes, type(self).__name__)
        if is_distributed(given, self.engine):
            return place_lazily(given, fitted, what)
        with one_thread():
            return np.concatenate(local_rows(given, self.n_jobs).map(place_part, fitted, what))

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


def _print_progress(step: invariant.Step) -> None:
    stability = "" if np.isnan(step.stability) else f", NMI with the step before {step.stability:.3f}"
    print(f"GraphEnsemble {step.n_members} {step.kind} members: agreement {step.agreement:.3f}{stability}", flush=True)
