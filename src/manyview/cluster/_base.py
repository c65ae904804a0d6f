"""The base of all estimators: parameter rules, shared docstring entries, views, the order of the samples, k-means.

A method's own parameters, facts and steps are in its own file; :mod:`manyview.cluster._registry` lists the methods.
"""

from __future__ import annotations

import inspect
import os
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags

# scikit-learn keeps these rules private, but stable; they are touched in this file only.
from sklearn.utils._param_validation import Interval, StrOptions

from manyview._utils.machine import one_thread
from manyview._utils.progress import Step, has_listeners, report_step, say, showing_progress
from manyview.exceptions import ReducedNeighborsWarning, ViewsError, warn_user
from manyview.graphs import ANCHOR_SELECTORS, SCALERS, canonical_order
from manyview.graphs.canonical import check_n_clusters
from manyview.graphs.components import relabel_by_first
from manyview.views import Array, Views, check_views

if TYPE_CHECKING:
    from sklearn.cluster import KMeans


def interval(kind: type, low: float | None, high: float | None, closed: str) -> Interval:
    """Return the rule: a number between ``low`` and ``high``, with the ends that ``closed`` names."""
    return Interval(kind, low, high, closed=closed)


def one_of(*names: str) -> StrOptions:
    """Return the rule: one of these names."""
    return StrOptions(set(names))


_SHARED_ENTRIES = {
    "n_clusters": """n_clusters : int
    Number of clusters.""",
    "scalings": "{" + ", ".join(f'"{name}"' for name in SCALERS) + "}",
    "scaling": """scaling : %(scalings)s
    How each view is scaled. The default, "none", leaves it as it is, as the authors do; "counts" or "unit" suit
    texts.""",
    "n_init": """n_init : int, default=10
    Runs of k-means, of which the best is taken.""",
    "view_sizes": """view_sizes : int or sequence of int, optional
    For one 2-D array instead of a list of views: the number of columns of each view, or the number of views.""",
    "n_jobs": """n_jobs : int or None, default=None
    Threads; None uses all cores. The result does not depend on it.""",
    "verbose": """verbose : bool, default=False
    Show progress: as a bar in a notebook or a terminal, elsewhere as a printed line for every pass.""",
    "labels_": """labels_ : ndarray of shape (n_samples,)
    Clusters 0, 1, ... in the order of their first sample.""",
    "n_iter_": """n_iter_ : int
    Passes made.""",
    "view_names_": """view_names_ : tuple of str
    Names of the views.""",
    "n_features_in_": """n_features_in_ : int
    Features of all views together.""",
}
"""Entries of docstrings that most methods share: ``%(n_clusters)s`` in the docstring of a class stands for one."""


def fill_docstring(text: str) -> str:
    """Replace ``%(name)s`` by the shared entry of this name, indented as the line is."""

    def entry(found: re.Match[str]) -> str:
        indent = found[1] or ""
        return indent + fill_docstring(_SHARED_ENTRIES[found[2]]).replace("\n", f"\n{indent}")

    return re.sub(rf"(^ *)?%\(({'|'.join(_SHARED_ENTRIES)})\)s", entry, text, flags=re.MULTILINE)


@dataclass(frozen=True)
class Facts:
    """Facts for choosing a method; :func:`manyview.cluster.available_methods` lists those of all methods.

    Parameters
    ----------
    title : str
        The method in a few words.
    paper_name : str
        Its name in the paper's tables; empty if it is not there.
    input_kind : {"features", "neighbour graphs", "kernels", "anchor graphs"}
        Representation of the views that it works on.
    memory : str
        How its memory grows: "n·k" (neighbours), "n·m" (anchors), "n·d" (features) or "n²".
    uses_kmeans : bool
        Whether it runs k-means, for its labels or for its start. If not, the labels are components of a graph, and
        ``random_state`` rarely matters.
    order_dependent : bool
        Whether the order of the samples changes the result.
    reference : str
        Authors, venue and year.
    """

    title: str
    paper_name: str
    input_kind: str
    memory: str
    uses_kmeans: bool
    reference: str
    order_dependent: bool = False


class MultiViewClusterer(ClusterMixin, BaseEstimator):
    """Base of the multi-view clusterers.

    A subclass states its facts, lists the rules of the parameters that are its own, implements ``_fit(views)`` and
    sets its attributes there, after all that can fail: an estimator whose fit failed must not look fitted. Its
    docstring may name shared entries, such as ``%(n_clusters)s``, which are filled in.

    Unless it says ``_sorts_samples = False``, ``_fit`` sees the samples in an order that follows from their content,
    so ties, random draws and rounding, and with them the result, cannot depend on the order in which they were given.
    The ``sample_ids`` that it sees are the given rows. What it sets for samples is brought back to the given order:
    ``_sample_axes`` names these attributes and their axes that run over samples; ``anchor_indices_`` are rows.
    """

    facts: ClassVar[Facts]
    min_views: ClassVar[int] = 2
    _sorts_samples: ClassVar[bool] = True
    _sample_axes: ClassVar[dict[str, tuple[int, ...]]] = {}

    labels_: np.ndarray
    anchor_indices_: np.ndarray
    feature_names_in_: dict[str, tuple[str, ...] | None]

    # Rules of the parameters that several methods have; each method gets those that its __init__ names.
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [interval(Integral, 1, None, "left")],
        "n_anchors": [interval(Integral, 2, None, "left"), interval(Real, 0, 1, "right")],
        "n_neighbors": [interval(Integral, 1, None, "left")],
        "anchors": [one_of(*ANCHOR_SELECTORS), "array-like"],
        "scaling": [one_of(*SCALERS)],
        "max_iter": [interval(Integral, 1, None, "left")],
        "tol": [interval(Real, 0, None, "left")],
        "n_init": [interval(Integral, 1, None, "left")],
        "view_sizes": [None, interval(Integral, 1, None, "left"), str, Mapping, "array-like"],
        "random_state": ["random_state"],
        "n_jobs": [None, interval(Integral, 1, None, "left")],
        "verbose": ["boolean"],
    }

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        rules = {**MultiViewClusterer._parameter_constraints, **cls._parameter_constraints}
        names = [name for name in inspect.signature(cls.__init__).parameters if name not in ("self", "args", "kwargs")]
        cls._parameter_constraints = {name: rules[name] for name in names}
        if cls.__doc__ is not None:
            cls.__doc__ = fill_docstring(cls.__doc__)

    def fit(self, X: Any, y: Any = None) -> MultiViewClusterer:
        """Cluster the samples.

        Parameters
        ----------
        X : Views, list or dict of arrays, or one table with ``view_sizes``
            Each of shape (n_samples, n_features_v); see :func:`manyview.check_views`.
        y : ignored
            For scikit-learn's conventions only.

        Returns
        -------
        self
        """
        self._validate_params()
        with showing_progress(getattr(self, "verbose", False)):  # a method of one's own need not have it
            return self._check_and_fit(X)

    def _check_and_fit(self, X: Any) -> MultiViewClusterer:
        checked = self._check(X)
        # With more threads BLAS and OpenMP add up in another order; one each keeps every bit of the result the same
        # however many cores there are. The solvers run threads of their own, over rows.
        with one_thread():
            if self._sorts_samples:
                rows = canonical_order(checked.arrays).rows
                self._fit(Views(checked.take(rows).arrays, checked.names, sample_ids=rows))
                self._restore_order(rows)
            else:
                self._fit(checked)
        self.view_names_ = checked.names
        self.n_features_in_ = sum(checked.n_features)
        names = checked.feature_names or ()
        if any(own is not None for own in names):
            self.feature_names_in_ = dict(zip(checked.names, names, strict=True))
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        for name in ("_left_out", "_origin"):  # of a file that the model was loaded from
            self.__dict__.pop(name, None)
        self._warn_of_fewer()
        return self

    if not TYPE_CHECKING:  # for type checkers, it would be every attribute

        def __getattr__(self, name: str) -> Any:
            """Explain why a model that was loaded has no results."""
            if name in vars(self).get("_left_out", ()):
                raise AttributeError(
                    f"{type(self).__name__}.{name} is not in the file that this model was loaded from: it was saved "
                    "without the results of single samples. Save the fitted model with save(path, results=True), or "
                    "call predict(views)."
                )
            return super().__getattribute__(name)  # raises the error that led here

    def save(self, path: str | os.PathLike[str], *, results: bool = False) -> None:
        """Keep the fitted model in one file, for :func:`manyview.load`.

        The file holds the parameters and what predicting needs, exactly, as JSON and plain arrays with a checksum;
        nothing is pickled. The same model gives the same bytes. The file is there as a whole or not at all: if saving
        fails, a file that was there before stays as it was.

        Parameters
        ----------
        path : str or path
            The file, in a folder that exists. A file of that name is replaced.
        results : bool, default=False
            Whether to keep the results of single samples, too: ``labels_``, and ``confidence_``, ``embedding_`` and
            ``consensus_graph_``, which grow with the number of samples. Methods that cannot predict always keep all
            attributes.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            The model has not been fitted.
        ModelFileError
            The model cannot be kept: it is of a class of your own, or has an attribute of a type that a file of plain
            values cannot hold. The text names the attribute.
        OSError
            The file cannot be written.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> import manyview
        >>> from manyview.datasets import make_multiview
        >>> model = manyview.GraphEnsemble(3, n_members=8, random_state=0).fit(make_multiview(60, random_state=0))
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "blobs.manyview")
        ...     model.save(path)
        ...     same = manyview.load(path)
        >>> bool((same.predict(make_multiview(60, random_state=0)) == model.labels_).all())
        True
        """
        from manyview.cluster import _saving  # knows all methods, and they know this module

        _saving.save(self, path, results)

    def _check(self, views: Any) -> Views:
        """Return the given views as ``_fit`` needs them, or raise an error that names what is wrong."""
        checked = check_views(views, view_sizes=self.view_sizes, min_views=self.min_views)
        check_complete(type(self).__name__, checked)
        check_n_clusters(checked, self.n_clusters)
        return checked

    def _fit(self, views: Views) -> None:
        raise TypeError(f"{type(self).__name__} does not implement _fit")

    def _warn_of_fewer(self) -> None:
        """Warn if there are fewer clusters than asked for; labels are numbered without gaps."""
        n_clusters = getattr(self, "n_clusters_", self.n_clusters)
        if isinstance(self.labels_, np.ndarray) and self.labels_.max() + 1 < n_clusters:
            warn_user(
                f"{type(self).__name__} found {self.labels_.max() + 1} clusters instead of n_clusters={n_clusters}: it "
                "cannot tell more samples apart.",
                ConvergenceWarning,
            )

    def _on_pass(
        self, measure: str = "objective", *, before: int = 0, total: int | None = None, unit: str = "passes"
    ) -> Callable[[int, float], None] | None:
        """Return the callback for a solver, called with the number of each pass and a value; None without a listener.

        Parameters
        ----------
        measure : str
            Name of the value.
        before : int
            Passes made before, of all the ``total``.
        total : int, optional
            Maximum number of passes; ``max_iter`` unless given.
        unit : str
            Name of the passes, as in :class:`manyview._utils.progress.Step`.
        """
        if not (self.verbose or has_listeners()):
            return None
        who, most = type(self).__name__, self.max_iter if total is None else total

        def report(n_iter: int, value: float) -> None:
            say(self.verbose, f"{who} pass {n_iter}: {measure} {value:.6g}")
            report_step(Step(who, before + n_iter, most, unit, value, measure))

        return report

    def _restore_order(self, rows: np.ndarray) -> None:
        """Bring what ``_fit`` has set for samples back to the given order; ``rows[p]`` is the given row of sample p."""
        position = np.argsort(rows)
        for name, axes in self._sample_axes.items():
            value = getattr(self, name)
            for axis in axes:
                value = value[position] if axis == 0 else value[:, position]
            setattr(self, name, sp.csr_array(value) if sp.issparse(value) else value)
        self.labels_ = relabel_by_first(self.labels_[position])
        if hasattr(self, "anchor_indices_"):
            self.anchor_indices_ = rows[self.anchor_indices_]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def check_complete(who: str, views: Views) -> None:
    """Raise an error if a view of a sample is missing."""
    for v, name in enumerate(views.names):
        present = views.has_view(v)
        if present is not None:
            raise ViewsError(
                f"views[{name!r}]: {who} needs every view of every sample, but {(~present).sum()} of "
                f"{views.n_samples} samples lack this one, the first in row {np.argmin(present)}. GraphEnsemble can do "
                "without; or leave these samples out, or fill them in."
            )


def limit_neighbors(n_neighbors: int, n_points: int, points: str = "anchors", *, single: bool = False) -> int:
    """Return the number of neighbours, which is less than that of the points; warn if it had to be reduced.

    If ``single``, a single point may be the only neighbour.
    """
    if n_neighbors < n_points or (n_neighbors == n_points == 1 and single):
        return n_neighbors
    if n_points < 2 and not single:
        raise ViewsError(f"n_neighbors={n_neighbors}: expected at least 2 {points} to choose from, got {n_points}.")
    used = max(n_points - 1, 1)
    there = f"there are {n_points}" if n_points > 1 else "there is 1"
    warn_user(
        f"n_neighbors={n_neighbors} needs at least {n_neighbors + 1} {points}, but {there}; using n_neighbors={used}.",
        ReducedNeighborsWarning,
    )
    return used


def kmeans_labels(
    points: np.ndarray, n_clusters: int, random_state: int | np.random.RandomState | None, n_init: int
) -> np.ndarray:
    """Return the labels of the best of ``n_init`` runs of k-means."""
    return run_kmeans(points, n_clusters, random_state, n_init).labels_


def run_kmeans(points: Array, n_clusters: int, random_state: int | np.random.RandomState | None, n_init: int) -> KMeans:
    """Return scikit-learn's k-means, fitted: the best of ``n_init`` runs."""
    from sklearn.cluster import KMeans  # a quarter of a second that most commands do not need

    with warnings.catch_warnings():
        # Fewer different points than clusters: fit warns in terms of clusters if it matters.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return KMeans(n_clusters, n_init=n_init, random_state=random_state).fit(points)
