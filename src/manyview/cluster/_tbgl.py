"""TBGL, the published method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from manyview._utils.machine import check_memory
from manyview._utils.progress import Step, has_listeners, report_step, say
from manyview.cluster._anchors import choose_anchors, count_anchors
from manyview.cluster._base import Facts, MultiViewClusterer, interval, limit_neighbors, one_of
from manyview.exceptions import OrderDependenceWarning, warn_user
from manyview.graphs import SCALERS, bipartite_graph, read_clusters, structured_graph
from manyview.solvers import published
from manyview.views import Views

# Arrays of the size of the graph tensor that are alive at the peak: eight variables, and room for what is temporary.
_TENSORS = 9
# When each variant stops; the paper only says "until convergence".
_STOP = {"program": {"max_iter": 52, "tol": 0.0}, "paper": {"max_iter": 300, "tol": 1e-4}}


class TBGL(MultiViewClusterer):
    """Tensorised bipartite graph learning, as published.

    Every view gives a graph between the samples and a set of anchors. The graphs are cleaned together: a tensor
    Schatten-p quasi-norm makes them agree, a sparse error takes up the rest, and a Laplacian term with learned view
    weights pulls the weighted mean graph towards ``n_clusters`` components, which are then read off.

    .. warning::
       The tensor term takes a Fourier transform along the *order of the samples*, and the benchmark files are sorted
       by class. On MSRC-v5 in file order the method reaches ACC 0.995, with the rows shuffled about 0.6. Use it to
       reproduce the paper. A fit says so with an ``OrderDependenceWarning``.

    Parameters
    ----------
    %(n_clusters)s
    n_anchors : float or int, default=0.5
        Number of anchors, or their share of the samples (a float up to 1.0).
    n_neighbors : int, default=10
        Anchors that each sample is connected with in each view.
    p : float, default=0.9
        Exponent of the Schatten quasi-norm, above 0 and up to 1. Smaller values punish disagreement between views less
        in proportion to its size.
    noise_weight : float, default=0.025
        Penalty weight of deviations from an input graph (the paper's α).
    variant : {"program", "paper"}, default="program"
        What to run where the authors' program and the paper's algorithm 1 differ. "program" transforms along the
        samples, adds a term for even use of the anchors, changes β in every pass, and stops after 52 passes, far from
        convergence; "paper" transforms along the anchors, has the printed terms, order and start only, keeps β, and
        stops when the residuals are small. Arguments below that are given win over the variant.
    sparsity_weight : float, optional
        Penalty weight of uneven use of anchors, a term that is not in the paper. By default 1e-4 ("program") or 0
        ("paper", without the third copy of the graphs that the term needs).
    connectivity_weight : float, default=10.0
        Initial penalty weight on the number of components (β, for which the paper states no value). "program" halves
        it in every pass, "paper" keeps it.
    tensor_axis : {"samples", "anchors", "views"}, optional
        Axis of the Fourier transform. By default "samples" ("program") or "anchors" ("paper"); both depend on the
        order of the samples, as anchors are kept in that order. "views" does not, but depends on the order of the
        views if there are more than three.
    norm_scale : {"code", "paper"}, optional
        Whether the quasi-norm is divided by the length of that axis ("code", as programmed) or not ("paper", as
        printed). By default that of the variant.
    initial_penalty : float, optional
        Penalties μ and ρ at the start. By default 1e-4 ("program") or 1e-5 ("paper").
    penalty_growth : float, default=1.1
        By what the penalties are multiplied after every pass (η).
    anchors : {"vda", "das", "kmeans", "random"} or array-like of int, default="vda"
        How anchors are selected, or the indices of the samples to use, which makes ``n_anchors`` irrelevant.
    scaling : %(scalings)s
        How each view is scaled. The default, "max", divides it by its largest value, as the authors do.
    max_iter : int, optional
        Passes of the solver, at most. By default 52 ("program", which has then not converged: on MSRC-v5 in file order
        a pass more or less moves ACC between 0.78 and 0.995) or 300 ("paper").
    tol : float, optional
        Stop earlier, when all residuals are below it: the largest entries of B - C - E and C - J, and of C - O where
        there is a third copy. 0 runs all passes. By default 0 ("program") or 1e-4 ("paper", which states no number).
    %(view_sizes)s
    random_state : int, RandomState or None, default=None
        For "kmeans" and "random" anchors, and for the spectral cut when the graph cannot be brought to ``n_clusters``
        components.
    %(n_jobs)s
    verbose : bool, default=False
        Print a line for every tenth pass.

    Attributes
    ----------
    %(labels_)s
    view_weights_ : ndarray of shape (n_views,)
        How much each view counts in the consensus graph; they sum to 1.
    consensus_graph_ : csr_array of shape (n_samples, n_anchors)
        The weighted mean of the cleaned graphs.
    component_graph_ : csr_array of shape (n_samples, n_anchors)
        The graph nearest to it that falls into components; ``labels_`` are these.
    n_components_ : int
        How many they are: ``n_clusters``, or a ``ConvergenceWarning`` says what was done.
    anchor_indices_ : ndarray of shape (n_anchors,)
        The samples that serve as anchors, ascending.
    %(n_iter_)s
    history_ : dict of ndarray
        Per pass: ``objective``, ``noise_residual``, ``tensor_residual``, ``even_residual``, ``connectivity_weight``,
        ``view_weights``.
    %(view_names_)s
    %(n_features_in_)s

    Notes
    -----
    Time O(V·n·m·d) for the graphs and O(V·n·m·(V + K + log n) + n·m² + m³) per pass; memory
    nine arrays of V·n·m numbers.

    Known differences from the authors' program: the last view's sparse copy does not stand in for every view's
    (``manyview.solvers.published.Settings(last_view_slip=True)`` brings that back and then reproduces the program's
    graphs to 1e-12), and anchors are selected with other rounding. VDA selection is chaotic: other rounding gives other
    anchors, so published digits are one draw from a spread.

    References
    ----------
    W. Xia, Q. Gao, Q. Wang, X. Gao, C. Ding and D. Tao, "Tensorized bipartite graph learning for multi-view
    clustering", IEEE Transactions on Pattern Analysis and Machine Intelligence 45(4), 2023.

    Examples
    --------
    >>> import warnings
    >>> from manyview import TBGL, OrderDependenceWarning
    >>> from manyview.datasets import make_multiview
    >>> views = make_multiview(120, n_clusters=3, random_state=0)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", OrderDependenceWarning)
    ...     model = TBGL(n_clusters=3).fit(views)
    >>> model.labels_.shape, model.consensus_graph_.shape
    ((120,), (120, 60))
    """

    facts: ClassVar[Facts] = Facts(
        title="tensorised bipartite graph learning, as published",
        paper_name="TBGL",
        input_kind="anchor graphs",
        memory="n·m",
        uses_kmeans=False,
        order_dependent=True,
        reference="Xia et al., IEEE TPAMI 2023",
    )
    _sorts_samples: ClassVar[bool] = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "p": [interval(Real, 0, 1, "right")],
        "noise_weight": [interval(Real, 0, None, "left")],
        "variant": [one_of(*published.VARIANTS)],
        "sparsity_weight": [interval(Real, 0, None, "left"), None],
        "connectivity_weight": [interval(Real, 0, None, "left")],
        "tensor_axis": [one_of(*published.TENSOR_AXES), None],
        "norm_scale": [one_of("code", "paper"), None],
        "initial_penalty": [interval(Real, 0, None, "neither"), None],
        "penalty_growth": [interval(Real, 1, None, "left")],
        "max_iter": [interval(Integral, 1, None, "left"), None],
        "tol": [interval(Real, 0, None, "left"), None],
    }

    def __init__(
        self,
        n_clusters: int,
        n_anchors: float = 0.5,
        n_neighbors: int = 10,
        p: float = 0.9,
        noise_weight: float = 0.025,
        variant: str = "program",
        sparsity_weight: float | None = None,
        connectivity_weight: float = 10.0,
        tensor_axis: str | None = None,
        norm_scale: str | None = None,
        initial_penalty: float | None = None,
        penalty_growth: float = 1.1,
        anchors: str | Sequence[int] = "vda",
        scaling: str = "max",
        max_iter: int | None = None,
        tol: float | None = None,
        view_sizes: int | Sequence[int] | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_anchors = n_anchors
        self.n_neighbors = n_neighbors
        self.p = p
        self.noise_weight = noise_weight
        self.variant = variant
        self.sparsity_weight = sparsity_weight
        self.connectivity_weight = connectivity_weight
        self.tensor_axis = tensor_axis
        self.norm_scale = norm_scale
        self.initial_penalty = initial_penalty
        self.penalty_growth = penalty_growth
        self.anchors = anchors
        self.scaling = scaling
        self.max_iter = max_iter
        self.tol = tol
        self.view_sizes = view_sizes
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fit(self, views: Views) -> None:
        m = count_anchors(self.anchors, self.n_anchors, views.n_samples, self.n_clusters)
        check_memory(
            "TBGL",
            _TENSORS * 8 * views.n_views * views.n_samples * m,
            f"{views.n_views} views, {views.n_samples} samples and {m} anchors",
            "Choose a smaller n_anchors, or use GraphEnsemble.",
        )
        scaled = [SCALERS[self.scaling](view) for view in views.arrays]
        anchors = choose_anchors(scaled, self.anchors, m, self.random_state)
        k = limit_neighbors(self.n_neighbors, len(anchors))
        settings, max_iter, tol = self._settings()
        self._warn_of_order(settings.tensor_axis, views.n_views)

        graphs = np.empty((views.n_views, len(anchors), views.n_samples))
        for graph, view in zip(graphs, scaled, strict=True):
            graph[:] = bipartite_graph(view, view[anchors], k).T.toarray()
        state, history = published.run(
            published.by_anchors(graphs),  # in memory as the solver has them
            settings,
            connectivity_weight=self.connectivity_weight,
            max_iter=max_iter,
            tol=tol,
            n_threads=self.n_jobs,
            on_pass=partial(self._after_pass, max_iter) if self.verbose or has_listeners() else None,
        )
        self.anchor_indices_ = anchors
        self.view_weights_ = published.view_weights(state.xi)
        self.consensus_graph_ = sp.csr_array(published.consensus(state))
        self.history_ = {name: np.array(values) for name, values in asdict(history).items()}
        self.n_iter_ = state.n_iter
        structured = structured_graph(self.consensus_graph_, self.n_clusters)
        self.component_graph_ = structured.graph
        self.n_components_ = structured.n_components
        self.labels_ = read_clusters(
            structured.graph, self.n_clusters, initial=self.consensus_graph_, random_state=self.random_state
        )

    def _settings(self) -> tuple[published.Settings, int, float]:
        """Return the constants of the solver, its passes and its tolerance: those of the variant, unless given."""
        of_variant = published.VARIANTS[self.variant] | _STOP[self.variant]  # type: ignore[index]
        given = {name: getattr(self, name) for name in of_variant if getattr(self, name, None) is not None}
        chosen = of_variant | given
        max_iter, tol = chosen.pop("max_iter"), chosen.pop("tol")
        settings = published.Settings(
            n_clusters=self.n_clusters,
            variant=self.variant,  # type: ignore[arg-type]
            p=self.p,
            noise_weight=self.noise_weight,
            penalty_growth=self.penalty_growth,
            **chosen,
        )
        return settings, max_iter, tol

    def _after_pass(self, max_iter: int, state: published.State, history: published.History) -> None:
        if state.n_iter % 10 == 1:
            residuals = f"residuals {history.noise_residual[-1]:.2g} and {history.tensor_residual[-1]:.2g}"
            say(self.verbose, f"TBGL pass {state.n_iter}: objective {history.objective[-1]:.4g}, {residuals}")
        report_step(Step("TBGL", state.n_iter, max_iter, "passes", history.objective[-1]))

    def _warn_of_order(self, tensor_axis: str, n_views: int) -> None:
        if tensor_axis == "views" and n_views <= 3:
            return
        what = "views" if tensor_axis == "views" else "rows"
        caution = "" if what == "views" else ", and scores measured on rows sorted by class do not hold for others"
        warn_user(
            f"TBGL(tensor_axis={tensor_axis!r}) takes a Fourier transform along the order of the {what}: the "
            f"same {what} in another order give other clusters{caution}.",
            OrderDependenceWarning,
        )
