"""GraphEnsemble, our own method: an ensemble of anchor graphs that cannot depend on the order of the samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import pandas
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from manyview._utils.machine import one_thread
from manyview._utils.progress import Step, has_listeners, report_step, say, showing_progress
from manyview.cluster._base import Facts, MultiViewClusterer, interval, one_of
from manyview.engines import LocalRows
from manyview.ensemble.anchors import pool_size, scaling_names
from manyview.ensemble.columns import CONFIDENCE, EMBEDDING, GRAPH, LABELS
from manyview.ensemble.consensus import Consensus
from manyview.ensemble.fit import Ensemble, Fit, OnConsensus, Trial, fit, settle
from manyview.ensemble.graph import take_graph
from manyview.ensemble.members import Settings, families_with
from manyview.ensemble.n_clusters import ClusterCountSuggestion, suggest_n_clusters
from manyview.ensemble.predict import open_new_views, predict, predict_both
from manyview.ensemble.rare import add_rare
from manyview.ensemble.samples import announce, draw_by_content, gather, is_distributed, open_rows, precision
from manyview.exceptions import ClusterCountWarning, ReducedNeighborsWarning, ViewsError, warn_user
from manyview.graphs import SCALERS
from manyview.graphs.canonical import check_n_clusters
from manyview.views import Array, Views, check_views
from manyview.views.checks import check_n_views, check_new_views
from manyview.views.wide import ViewSizes

# Samples that "auto" learns on, at most.
_LEARNED_ROWS = 10_000
# Below this NMI with the labels of the batch of members before, the labels have not converged.
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
    k_range : sequence of int, optional
        Numbers of clusters that "auto" chooses from, such as ``range(2, 61)``; default as in
        :func:`manyview.suggest_n_clusters`. Only with ``n_clusters="auto"``.
    n_anchors : "auto" or int, default="auto"
        Size of the anchor pool, from which every graph draws its anchors. "auto" takes 85 % of the samples, at most
        2,000 or 20 per cluster.
    n_neighbors : "auto", int or pair of int, default="auto"
        Anchors that a sample is compared with in each view, or the range from which every graph draws it; but at most
        as many as a cluster has anchors on average, or three times that in broad graphs. If no graph has as many as
        asked for, a :class:`manyview.exceptions.ReducedNeighborsWarning` says so. "auto" depends on the family of
        graphs: local 5 to 15, broad 20 to 60, views side by side 8 to 30. A few graphs of each family are tried, and
        the family whose graphs agree best goes on (``graph_families_``). A number or range of one's own holds for all
        families.
    scaling : str, sequence or dict, default="auto"
        How a view's features are made comparable; one name, or one for each view, in order or by name. "auto" chooses
        by sparsity, signs, row sums and dimension; ``scaling_`` says what it chose, and
        :func:`manyview.graphs.explain_scaling` why. Families of graphs with views side by side also try these views,
        unless they hold counts, centred or standardized. A named scaling is kept in all families. It is one of

        - "max": divide the view by its largest value
        - "unit": divide each sample by its length
        - "none": leave the values as they are
        - "counts": logarithm, times inverse document frequency, unit rows; for words and other counts
        - "shares": square root, subtract a balanced centre, unit rows; for histograms and compositions
        - "directions": subtract a balanced centre, unit rows
        - "centered": subtract the mean of each column
        - "standardized": subtract the mean of each column, divide by its deviation; sparse views: only divide
        - "row-standardized": subtract from each sample the mean of its own features, divide by their deviation
    n_members : int, default=48
        Graphs in the ensemble. More are steadier and take longer, in proportion. If the clusters are clear, fewer are
        made; ``n_iter_`` says how many.
    learn_on : "auto", "all" or int, default="auto"
        How many samples the ensemble is learned on, at most: "auto" means 10,000. If there are more, they are drawn by
        their content, so that the draw does not depend on their order, and all samples are then assigned as by
        :meth:`predict`. "all" learns on every sample, which takes longer, in proportion.
    engine : {"auto", "local", "dask"}, default="auto"
        Where the work is done. "local" is the threads of this machine; "dask" the workers of the current
        ``distributed.Client``, with the same result. "auto" takes the workers if the views are Dask arrays and there
        is a client.
    view_sizes : int, sequence of int, mapping or str, optional
        For one table instead of a list of views: the number of columns of each view, or the number of views; or which
        columns belong to which view (see :func:`manyview.check_views`).
    random_state : int, RandomState or None, default=None
        Random seed. An int makes the result reproducible, bit by bit.
    %(n_jobs)s
    verbose : bool, default=False
        Show progress: as a bar in a notebook or a terminal, elsewhere as a printed line for every round in which
        families of graphs are tried, and for every batch of members. The memory that a fit needs is printed first.

    Attributes
    ----------
    %(labels_)s
    view_weights_ : ndarray of shape (n_views,)
        How much each view counts in the learned graph; they sum to 1. A view counts less if the clusters cut many of
        its edges, and, with three or more views, if its neighbours agree little with those of the other views. Copies
        of a view share its weight.
    consensus_graph_ : csr_array of shape (n_samples, n_anchors)
        The learned graph. It has exactly ``n_clusters`` connected components, and they are the labels.
    anchor_indices_ : ndarray of shape (n_anchors,)
        The samples of the anchor pool, from coarse to fine.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Coordinates in which the clusters are compact.
    confidence_ : ndarray of shape (n_samples,)
        Share of the ensemble, by weight, that votes for the sample's label: 1 if all do.
    scaling_ : dict of str to str
        The scaling of each view, by name, wherever the view is compared alone.
    graph_family_ : {"local", "broad", "joint-centered", "joint-standardized"}
        The family of graphs that the members have. "local" and "broad" compare samples in each view and add up the
        graphs of the views, with few or many neighbours. The other two compare samples in several views side by side,
        centred or standardized where ``scaling`` is "auto".
    graph_families_ : dict of str to dict
        What was found with each family that was tried, best first; the first is ``graph_family_``. ``n_members`` is
        the number of graphs that were tried: families that do worse are given up early. ``agreement`` is the mean NMI
        of their consensus with them, by weight, and ``cross_agreement`` that with the graphs of all families.
        ``score``, by which the family is chosen, is two thirds of the first and one third of the second; with views
        side by side, what it lacks to 1 counts a tenth more, because their graphs are more alike. If
        "local" and "broad" differ by less than .03, the one whose graphs share more mutual ``information`` (mean over
        pairs, in nats) has the higher of both scores. Only scores with equal ``n_members`` can be compared.
    history_ : dict of ndarray
        ``n_members``, ``agreement`` (mean NMI of the labels with the members) and ``stability`` (NMI with the labels
        of the step before; NaN for the first) after each batch; ``member_weights``, ``member_neighbors``,
        ``member_clusters`` per member.
    n_iter_ : int
        Members made.
    converged_ : bool
        Whether the last batch of members left the labels as they were, to an NMI of 0.95. If not, the data have no
        clear clusters of that number, or ``n_members`` is small; no warning is given.
    n_clusters_ : int
        Number of clusters: the one given, or the one that "auto" found.
    suggestion_ : ClusterCountSuggestion or None
        Why "auto" found it.
    %(view_names_)s
    %(n_features_in_)s
    feature_names_in_ : dict of str to (tuple of str, or None)
        Names of the features of each view; only there if some view has names.

    Notes
    -----
    Equal samples get equal labels. A view that is given twice, even in another unit, counts once. Views may be
    missing for some samples (see :func:`manyview.check_views`): each is assigned by those that it has.

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
    _sample_axes: ClassVar[dict[str, tuple[int, ...]]] = {
        "embedding_": (0,),
        "confidence_": (0,),
        "consensus_graph_": (0,),
    }

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [one_of("auto"), interval(Integral, 1, None, "left")],
        "k_range": [None, "array-like"],
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
        k_range: Sequence[int] | None = None,
        n_anchors: str | int = "auto",
        n_neighbors: str | int | tuple[int, int] = "auto",
        scaling: str | Sequence[str] | Mapping[str, str] = "auto",
        n_members: int = 48,
        learn_on: str | int = "auto",
        engine: str = "auto",
        view_sizes: ViewSizes | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.k_range = k_range
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
        return check_views(views, view_sizes=self.view_sizes, min_views=self.min_views, keep_float32=True)

    def _in_blocks(self, views: Views) -> bool:
        """Return whether there are more samples than the basis of a fit is made of, or they may be distributed."""
        return views.n_samples > self._n_learned() or is_distributed(views, self.engine)

    def _n_learned(self) -> int:
        """Return the maximum number of samples that the basis of a fit is made of."""
        return self.learn_on if isinstance(self.learn_on, Integral) else _LEARNED_ROWS

    def _fit(self, views: Views) -> None:
        announce(self, views, min(views.n_samples, self._n_learned()))
        rows, sample, given, patterns = None, views, np.arange(views.n_samples), None
        if self._in_blocks(views):
            rows = open_rows(views, self.engine, self.n_jobs)
            sample, given, patterns = draw_by_content(rows, self._n_learned())
        scaling = scaling_names(self.scaling, sample)
        if rows is not None:
            sample, given = add_rare(rows, sample, given, scaling)
        if isinstance(self.n_clusters, Integral):
            check_n_clusters(sample, int(self.n_clusters))

        suggestion = self._suggest(sample)
        n_clusters = int(self.n_clusters if suggestion is None else suggestion.n_clusters)
        n_anchors = self._count_anchors(sample.n_samples, n_clusters)
        basis = settle(sample, given, scaling, self._settings(n_clusters), n_anchors, self.n_jobs, patterns)
        if isinstance(rows, LocalRows):
            rows.on_rows = lambda done: report_step(Step("GraphEnsemble", done, views.n_samples, "samples"))
        on_trials = self._after_trials if self.verbose else None
        found = fit(rows, basis, self.learn_on == "all", self._on_consensus(), on_trials)

        self._set_samples(found, views)
        self._set_learned(found)
        self._warn_of_fewer_neighbors(n_anchors)
        copies = np.bincount(basis.order.source)
        self.view_weights_ = np.array([found.rule.view_weights[v] / copies[v] for v in basis.order.source])
        self.scaling_ = basis.scaling_names
        self.n_clusters_, self.suggestion_ = n_clusters, suggestion
        self._model = found.model

    def _set_samples(self, found: Fit, views: Views) -> None:
        """Set the attributes that have an entry for every sample."""
        rows = found.rows
        graph = take_graph(rows) if isinstance(rows, LocalRows) else gather(rows, GRAPH.name, views)
        names = (LABELS.name, EMBEDDING.name, CONFIDENCE.name)
        self.labels_, embedding, confidence = (gather(rows, name, views) for name in names)
        if not self._in_blocks(views):
            dtype = precision(views)
            embedding, confidence, graph = (each.astype(dtype, copy=False) for each in (embedding, confidence, graph))
        self.embedding_, self.confidence_, self.consensus_graph_ = embedding, confidence, graph
        self.anchor_indices_ = found.anchors

    def _set_learned(self, found: Fit) -> None:
        """Set the attributes of the ensemble."""
        ensemble, steps, last = found.ensemble, found.ensemble.steps, found.ensemble.steps[-1]
        self.history_ = {
            "n_members": np.array([len(step.weights) for step in steps]),
            "agreement": np.array([step.agreement for step in steps]),
            "stability": np.array([step.stability for step in steps]),
            "member_weights": last.weights,
            "member_neighbors": np.array([member.n_neighbors for member in ensemble.members]),
            "member_clusters": np.array([member.n_clusters for member in ensemble.members]),
        }
        self.graph_family_ = ensemble.family.name
        self.graph_families_ = {
            trial.family: {
                "n_members": trial.n_members,
                "agreement": trial.agreement,
                "cross_agreement": trial.cross_agreement,
                "information": trial.information,
                "score": trial.score,
            }
            for trial in ensemble.trials
        }
        self.n_iter_ = len(ensemble.members)
        self.converged_ = bool(last.converged and (len(steps) == 1 or last.stability >= _SETTLED))

    def _warn_of_fewer_neighbors(self, n_anchors: int) -> None:
        """Warn if no member has as many neighbours as asked for; "auto" asks for no number."""
        used = int(self.history_["member_neighbors"].max())
        if isinstance(self.n_neighbors, str) or used >= families_with(self.n_neighbors)[0].n_neighbors[0]:
            return
        warn_user(
            f"n_neighbors={self.n_neighbors} is more than any graph of the ensemble can have with {n_anchors} anchors "
            f"and the given number of clusters; using n_neighbors={used} at most.",
            ReducedNeighborsWarning,
        )

    def _suggest(self, views: Views) -> ClusterCountSuggestion | None:
        """Return a number of clusters if none is given; warn if the evidence for it is weak."""
        if self.n_clusters != "auto":
            if self.k_range is not None:
                raise ViewsError(
                    f"k_range: is for n_clusters='auto', but n_clusters={self.n_clusters}. Leave out one of both."
                )
            return None
        suggestion = suggest_n_clusters(
            views,
            self.k_range,
            scaling=self.scaling,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        if not suggestion.sure:
            warn_user(f"n_clusters='auto' took {suggestion.n_clusters}. {suggestion.reason}", ClusterCountWarning)
        return suggestion

    def _settings(self, n_clusters: int) -> Settings:
        seed = int(check_random_state(self.random_state).randint(2**31))
        return Settings(n_clusters, n_members=self.n_members, families=families_with(self.n_neighbors), seed=seed)

    def _count_anchors(self, n_samples: int, n_clusters: int) -> int:
        if not isinstance(self.n_anchors, Integral):
            return pool_size(n_samples, n_clusters)
        if self.n_anchors > n_samples:
            raise ViewsError(f"n_anchors={self.n_anchors} is more than there are samples: n_samples={n_samples}.")
        if self.n_anchors < n_clusters:
            raise ViewsError(f"n_anchors={self.n_anchors} is less than n_clusters={n_clusters}.")
        return int(self.n_anchors)

    def _on_consensus(self) -> OnConsensus:
        return self._after_consensus if self.verbose or has_listeners() else None

    def _after_trials(self, trials: Sequence[Trial]) -> None:
        n_members = trials[0].n_members
        scores = ", ".join(f"{trial.family} {trial.score:.3f}" for trial in trials if trial.n_members == n_members)
        say(self.verbose, f"GraphEnsemble tries {n_members} members of each family of graphs: score {scores}")

    def _after_consensus(self, ensemble: Ensemble, consensus: Consensus) -> None:
        n_members, agreement, stability = len(consensus.weights), consensus.agreement, consensus.stability
        change = "" if np.isnan(stability) else f", NMI with the step before {stability:.3f}"
        what = f"{n_members} members with {ensemble.family.name} graphs"
        say(self.verbose, f"GraphEnsemble {what}: agreement {agreement:.3f}{change}")
        report_step(Step("GraphEnsemble", n_members, self.n_members, "members", agreement, "agreement"))

    def predict(self, X: Any) -> np.ndarray:
        """Return the clusters of samples, which need not be those of the fit.

        Each sample takes the way through the ensemble that the fitted ones took: its nearest anchors, every member's
        clusters, and their consensus. So the samples of the fit get ``labels_`` again, unless the fit warned that
        single samples had to be split off.

        Parameters
        ----------
        X : Views, list or dict of arrays, or one table with ``view_sizes``
            The views of the fit, or some of them by name in a dict or :class:`manyview.Views`; views of single samples
            may be missing. Features that have names are found by them, in any order. Samples are read in blocks of
            8,192, so memory does not grow with their number.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return self._predict(X, LABELS.name)

    def predict_confidence(self, X: Any) -> np.ndarray:
        """Return the share of the ensemble that votes for each sample's label, as in ``confidence_``.

        Views are as in ``predict``. Members that drew none of a sample's views do not vote.
        """
        return self._predict(X, CONFIDENCE.name)

    def transform(self, X: Any) -> np.ndarray:
        """Return coordinates in which the clusters are compact, as in ``embedding_``; views as in ``predict``."""
        embedding = self._predict(X, EMBEDDING.name)
        ids = getattr(X, "sample_ids", None)
        if ids is not None and _get_output_config("transform", self)["dense"] == "pandas":
            # scikit-learn takes the index from data frames only
            return pandas.DataFrame(embedding, index=ids)
        return embedding

    def _predict(self, X: Any, what: str) -> Any:
        given = self._open_new(X)
        with showing_progress(self.verbose), one_thread():
            return predict(self._model, given, what, self.engine, self.n_jobs)

    def _predict_both(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return what ``predict`` and ``predict_confidence`` return for views in memory, in half the time."""
        given = self._open_new(X)
        with showing_progress(self.verbose), one_thread():
            return predict_both(self._model, given, self.n_jobs)

    def _open_new(self, X: Any) -> Views:
        check_is_fitted(self)
        known, features = self._model.views, getattr(self, "feature_names_in_", None)
        return open_new_views(known, X, self.view_sizes, type(self).__name__, features)

    def _scale_view(self, v: int, values: Array) -> Array:
        """Return samples of view v on the scale on which the model compares them."""
        return self._model.views.scale(v, values)

    @property
    def _n_features_out(self) -> int:
        return int(self._model.consensus.centres.shape[1])
