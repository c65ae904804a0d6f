"""Tables of markers: the strongest features of each cluster and view, with p values that their selection does not bias.

Clusters that were found from a feature make that feature look significant. So the features of a view are tested with
clusters that were learned without this view, each matched to the cluster that it resembles most. A feature that is high
in the cluster and low in its partner is not confirmed: its p value is 1.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas

from manyview._utils.progress import Step, report_step, say
from manyview.description.statistics import FeatureStatistics, corrected, feature_statistics, strongest
from manyview.metrics.matching import best_matching
from manyview.metrics.table import contingency
from manyview.views import Views

# Clusters are learned again without a view on a third of the samples, which are drawn, but on at least and at most this
# many: enough to find any effect that matters, at a third of the time of the first fit for each view.
_MIN_TESTED, _MAX_TESTED = 1_000, 4_000
# Clusters that share less with their partner, which was learned without a view, are others.
_SAME_CLUSTER = 0.5
_EFFECTS = ("auroc", "difference", "log_fold", "mean", "mean_outside", "share", "share_outside")
_TYPES = {"cluster": int, "rank": int, **dict.fromkeys((*_EFFECTS, "p", "p_corrected", "overlap"), float)}
_COLUMNS = ("cluster", "name", "view", "feature", "rank", "direction", *_EFFECTS, "p", "p_corrected", "overlap")


def marker_tables(
    views: Views,
    labels: np.ndarray,
    names: Sequence[str],
    model: Any = None,
    *,
    n_markers: int = 10,
    p_values: bool = True,
    seed: int = 0,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> tuple[pandas.DataFrame, pandas.DataFrame, list[str]]:
    """Return the markers of each cluster and view, their profiles, and notes for the reader.

    Parameters
    ----------
    views : Views
        Checked, without samples that have no label.
    labels : ndarray of int, shape (n_samples,)
        From 0 to ``len(names) - 1``.
    names : sequence of str
        Name of each cluster.
    model : fitted estimator, optional
        What is learned again without a view for p values.
    n_markers, p_values, seed, n_jobs, verbose
        As for :func:`manyview.describe`.
    """
    n_clusters = len(names)
    reason = _why_no_p_values(views, model, n_clusters) if p_values else ""
    notes = [f"No p values: {reason}."] if reason else []
    rows, profiles = [], []
    for v, (view, array) in enumerate(views.items()):
        report_step(Step("describe", v, views.n_views, "views"))
        present = views.has_view(v)
        has = np.arange(views.n_samples) if present is None else np.flatnonzero(present)
        own = array if present is None else array[has]
        found = feature_statistics(own, labels[has], n_clusters, n_jobs)
        p, overlap = np.full(found.p.shape, np.nan), np.full(n_clusters, np.nan)
        if p_values and not reason:
            say(verbose, f"describe: learning again without {view}")
            try:
                p, overlap = honest_p(views, v, labels, found.auroc, model, seed, n_jobs)
            except (ValueError, TypeError) as error:  # of the estimator; the description is useful all the same
                notes.append(f"No p values for {view}: learning without it failed. {error}")
        adjusted = corrected(p)
        features = names_of(views.feature_names[v] if views.feature_names else None, own.shape[1])
        chosen: set[int] = set()
        for cluster in range(n_clusters):
            for rank, j in enumerate(strongest(found, cluster, n_markers), start=1):
                if np.isnan(found.auroc[cluster, j]):
                    continue
                chosen.add(j)
                rows.append(
                    {
                        "cluster": cluster,
                        "name": names[cluster],
                        "view": view,
                        "feature": features[j],
                        "rank": rank,
                        "direction": "high" if found.auroc[cluster, j] >= 0.5 else "low",
                        **{each: getattr(found, each)[cluster, j] for each in _EFFECTS},
                        "p": p[cluster, j],
                        "p_corrected": adjusted[cluster, j],
                        "overlap": overlap[cluster],
                    }
                )
        sizes = np.bincount(labels[has], minlength=n_clusters)
        profiles.append(_profiles(found, sizes, sorted(chosen), features, view, names))
        say(verbose, f"describe: found the markers of {view}")
    report_step(Step("describe", views.n_views, views.n_views, "views"))
    # As Python's texts: pandas' own cannot hold names from file names that are no UTF-8.
    table = pandas.DataFrame(rows, columns=list(_COLUMNS), dtype=object).astype(_TYPES)
    return table, pandas.concat(profiles, ignore_index=True), notes + _not_found(table, names)


def by_view(markers: pandas.DataFrame) -> Iterator[tuple[str, pandas.DataFrame]]:
    """Yield the markers of each view. Not by groupby: a view may be called like a file whose name is no text."""
    for view in dict.fromkeys(markers["view"]):
        yield view, markers[markers["view"] == view]


def _not_found(markers: pandas.DataFrame, names: Sequence[str]) -> list[str]:
    """Return a sentence for each view without which some clusters are not found."""
    each = markers.drop_duplicates(["view", "cluster"])
    sentences = []
    for view, rows in by_view(each[each["overlap"] < _SAME_CLUSTER]):

        def listed(some: pandas.DataFrame) -> str:
            return ", ".join(f"{names[row.cluster]} ({row.overlap:.2f})" for row in some.itertuples())

        lost, other = rows[rows["p"].isna()], rows[rows["p"].notna()]
        if len(lost):
            sentences.append(
                f"Learned without {view}, these clusters are not found again (overlap as by chance), so that their "
                f"{view} markers have no p values: {listed(lost)}."
            )
        if len(other):
            sentences.append(
                f"Learned without {view}, these are other clusters (overlap below {_SAME_CLUSTER}): {listed(other)}. "
                f"The p values of their {view} markers are about the clusters that match them best."
            )
    return sentences


def _profiles(
    found: FeatureStatistics,
    sizes: np.ndarray,
    chosen: list[int],
    features: list[str],
    view: str,
    names: Sequence[str],
) -> pandas.DataFrame:
    """Return z scores of the means of some features, one row per feature and one column per cluster.

    A cluster with a share w of the samples is ``(1 - w) · difference`` from the mean of all, in standard deviations.
    """
    scores = found.difference[:, chosen].T * (1 - sizes / max(sizes.sum(), 1))
    table = pandas.DataFrame(scores, columns=pandas.Index(names, dtype=object))
    table.insert(0, "feature", pandas.Series([features[j] for j in chosen], dtype=object))
    table.insert(0, "view", pandas.Series([view] * len(chosen), dtype=object))
    return table


def _why_no_p_values(views: Views, model: Any, n_clusters: int) -> str:
    """Return why clusters cannot be learned without a view; empty if they can."""
    if not hasattr(model, "view_names_"):  # labels, or an estimator that knows no views
        return (
            "clusters that were found from a feature make it look significant, and labels without an estimator "
            "cannot be learned again without a view"
        )
    if views.n_views < 2:
        return "with a single view, no clusters can be learned without it"
    if views.n_views - 1 < _least_views(model):
        return f"{type(model).__name__} needs {_least_views(model)} views, and one of {views.n_views} is left out"
    if n_clusters < 2:
        return "there is one cluster"
    return ""


def _least_views(model: Any) -> int:
    """Return with how many views an estimator works; ours asks users for two, but can do with one."""
    from manyview.cluster import GraphEnsemble

    return 1 if isinstance(model, GraphEnsemble) else getattr(model, "min_views", 1)


def honest_p(
    views: Views,
    v: int,
    labels: np.ndarray,
    auroc: np.ndarray,
    model: Any,
    seed: int = 0,
    n_jobs: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Test the features of view v with clusters that were learned without it, matched to the labels.

    Parameters
    ----------
    auroc : ndarray of shape (n_clusters, n_features)
        Of the labels: what is to be confirmed. p is 1 where that of the partner lies on the other side of ½.

    Returns
    -------
    p : ndarray of shape (n_clusters, n_features)
        NaN if a cluster has no partner.
    overlap : ndarray of shape (n_clusters,)
        Of each cluster with its partner.
    """
    n_clusters = int(labels.max()) + 1
    others = [u for u in range(views.n_views) if u != v]
    present = np.ones((views.n_samples, views.n_views), dtype=bool) if views.present is None else views.present
    rows = np.flatnonzero(present[:, v] & present[:, others].any(axis=1))
    n_tested = min(max(len(rows) // 3, _MIN_TESTED), _MAX_TESTED)
    if len(rows) > n_tested:
        rows = np.sort(np.random.default_rng([seed, v]).choice(rows, n_tested, replace=False))
    without = Views(
        tuple(views.arrays[u][rows] for u in others),
        tuple(views.names[u] for u in others),
        present=None if views.present is None else present[rows][:, others],
    )
    with warnings.catch_warnings():
        # The p values hold whatever was learned, as long as it was learned without the view.
        warnings.simplefilter("ignore")
        learned = relearned(model, n_clusters, views.names[v]).fit(without).labels_
    partner, overlap = matched_clusters(labels[rows], learned, n_clusters)
    found = feature_statistics(views.arrays[v][rows], learned, int(learned.max()) + 1, n_jobs)
    confirmed = (found.auroc[partner] - 0.5) * (auroc - 0.5) >= 0
    p = np.where(confirmed, found.p[partner], 1.0)
    return np.where((partner >= 0)[:, None], p, np.nan), overlap


def relearned(model: Any, n_clusters: int, without: str) -> Any:
    """Return an estimator like the fitted one, for as many clusters, and for views without one of them."""
    from sklearn.base import clone

    fresh = clone(model)
    parameters = fresh.get_params(deep=False)
    changed: dict[str, Any] = {"n_clusters": n_clusters}
    if "view_sizes" in parameters:
        changed["view_sizes"] = None
    if "k_range" in parameters:
        changed["k_range"] = None
    scaling = parameters.get("scaling")
    if isinstance(scaling, Mapping):
        changed["scaling"] = {name: value for name, value in scaling.items() if name != without}
    elif scaling is not None and not isinstance(scaling, str):
        changed["scaling"] = [each for name, each in zip(model.view_names_, scaling, strict=True) if name != without]
    if "verbose" in parameters:
        changed["verbose"] = False
    fresh.set_params(**changed)
    fresh.min_views = _least_views(model)
    return fresh


def matched_clusters(labels: np.ndarray, other: np.ndarray, n_clusters: int) -> tuple[np.ndarray, np.ndarray]:
    """Match clusters of two partitions one to one, so that they share as many samples as possible.

    Returns
    -------
    partner : ndarray of int, shape (n_clusters,)
        The cluster of ``other`` for each cluster of ``labels``, -1 if there is none that shares more samples with it
        than expected by chance.
    overlap : ndarray of shape (n_clusters,)
        Samples of both over samples of either (Jaccard index).
    """
    counts = contingency(labels, other)
    rows, columns = best_matching(counts)
    shared = np.asarray(counts.table.tocsr()[rows, columns], dtype=float).ravel()
    sizes, other_sizes = counts.class_sizes[rows], counts.cluster_sizes[columns]
    partner, overlap = np.full(n_clusters, -1), np.zeros(n_clusters)
    partner[counts.classes[rows]] = np.where(shared > sizes * other_sizes / len(labels), counts.clusters[columns], -1)
    overlap[counts.classes[rows]] = shared / (sizes + other_sizes - shared)
    return partner, overlap


def names_of(names: Sequence[str] | None, n_features: int) -> list[str]:
    """Return the names of a view's features; their numbers if they have none."""
    return list(names) if names is not None else [str(j) for j in range(n_features)]
