"""Say what clusters are: markers, samples, metadata and survival, gathered in a :class:`Description`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas

from manyview.description.markers import (
    FeatureStatistics,
    corrected,
    feature_statistics,
    matched_clusters,
    names_of,
    strongest,
)
from manyview.description.metadata import ARTEFACT, Association, as_frame, associations, summary
from manyview.description.samples import centre_distances, typical_samples
from manyview.description.survival import Curve, kaplan_meier, logrank, read_events, read_times
from manyview.exceptions import ViewsError
from manyview.views import Views, check_views

# Clusters are learned again without a view on this many samples at most, which are drawn: enough for any p value.
_MAX_TESTED = 10_000
_EFFECT_SIZES = {"categories": "V", "numbers": "η²"}


@dataclass(frozen=True)
class Survival:
    """Kaplan-Meier curves by cluster, and the log-rank test of all of them."""

    curves: dict[int, Curve]
    statistic: float
    degrees: int
    p: float
    n_missing: int
    time: str
    event: str


@dataclass(frozen=True, repr=False)
class Description:
    """What each cluster is; made by :func:`manyview.describe`. Tables are data frames, with one row per finding.

    Attributes
    ----------
    clusters : DataFrame
        Size and mean confidence of each cluster, with its name.
    markers : DataFrame
        The strongest features of each cluster and view, best first: ``auroc`` and ``difference`` (in standard
        deviations) against all other samples, ``log_fold`` and shares of values that are not zero where no value is
        negative, and ``p`` with ``p_corrected`` from clusters that were learned without that view; ``overlap`` says how
        far these are the same cluster (Jaccard index). p values are NaN where there are none: see ``notes``.
    typical : DataFrame
        The most typical and the most doubtful samples of each cluster.
    metadata : DataFrame or None
        How each column of the metadata goes with the clusters.
    survival : DataFrame or None
        Samples, events and median survival of each cluster.
    profiles : DataFrame
        Mean of every marker in every cluster, in standard deviations from the mean of all samples.
    notes : list of str
        What a reader has to know, such as why there are no p values.
    names : tuple of str
        Name of each cluster.
    labels : ndarray of int, shape (n_samples,)
        Cluster of each sample that has one, by number.
    associations : list of Association
        What ``metadata`` summarises: test and table of each column.
    survival_curves : Survival or None
        What ``survival`` summarises: Kaplan-Meier curves and the log-rank test.
    """

    names: tuple[str, ...]
    labels: np.ndarray
    clusters: pandas.DataFrame
    markers: pandas.DataFrame
    typical: pandas.DataFrame
    profiles: pandas.DataFrame
    metadata: pandas.DataFrame | None = None
    survival: pandas.DataFrame | None = None
    associations: list[Association] = field(default_factory=list)
    survival_curves: Survival | None = None
    notes: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        parts = [
            f"<h3>{escape(name)}</h3>{frame.to_html(index=False, na_rep='', float_format='{:.3g}'.format)}"
            for name, frame in self._frames()
        ]
        return "".join([*parts, *(f"<p>{escape(note)}</p>" for note in self.notes)])

    def _frames(self) -> list[tuple[str, pandas.DataFrame]]:
        named = [
            ("Clusters", self.clusters),
            ("Markers", self.markers),
            ("Typical samples", self.typical),
            ("Metadata", self.metadata),
            ("Survival", self.survival),
        ]
        return [(name, frame) for name, frame in named if frame is not None]

    def _lines(self) -> list[str]:
        lines = []
        for cluster, name in enumerate(self.names):
            own = self.clusters.iloc[cluster]
            sure = "" if np.isnan(own["mean_confidence"]) else f", mean confidence {own['mean_confidence']:.3f}"
            lines.append(f"{name}: {own['size']} samples ({own['share']:.0%}){sure}")
            for view, rows in self.markers[self.markers["cluster"] == cluster].groupby("view", sort=False):
                shown = ", ".join(
                    f"{row.direction} {row.feature} ({row.auroc:.2f})" for row in rows.head(5).itertuples()
                )
                lines.append(f"  {view}: {shown}")
            typical = self.typical[(self.typical["cluster"] == cluster) & (self.typical["role"] == "typical")]
            if len(typical):
                lines.append(f"  typical: {', '.join(map(str, typical['sample'].head(3)))}")
        if self.metadata is not None and len(self.metadata):
            lines.append(
                "goes with the clusters: "
                + "; ".join(
                    f"{row.column} ({_EFFECT_SIZES[row.kind]} {row.effect:.2f}, p {row.p_corrected:.2g})"
                    + (f", {ARTEFACT}" if row.note == ARTEFACT else "")
                    for row in self.metadata[self.metadata["kind"] != "left out"].head(5).itertuples()
                )
            )
        if self.survival_curves is not None:
            found = self.survival_curves
            lines.append(
                f"survival: log-rank χ² {found.statistic:.2f}, {found.degrees} degrees of freedom, p {found.p:.2g}"
            )
        return [*lines, *self.notes]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON: numbers that are not known are None."""
        found: dict[str, Any] = {name: _records(getattr(self, name)) for name in ("clusters", "markers", "typical")}
        for name in ("metadata", "survival"):
            frame = getattr(self, name)
            if frame is not None:
                found[name] = _records(frame)
        curves = self.survival_curves
        if curves is not None:
            test = {
                "statistic": curves.statistic,
                "degrees": curves.degrees,
                "p": curves.p,
                "n_missing": curves.n_missing,
            }
            found["log_rank"] = {key: None if value != value else value for key, value in test.items()}
        return {**found, "notes": list(self.notes)}


def _records(frame: pandas.DataFrame) -> list[dict[str, Any]]:
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return [
        {key: value.item() if isinstance(value, np.generic) else value for key, value in row.items()} for row in rows
    ]


def describe(
    views: Any,
    labels: Any,
    metadata: Any = None,
    *,
    survival: tuple[str, str] | str | None = None,
    rename: Mapping[Any, str] | str | os.PathLike[str] | None = None,
    n_markers: int = 10,
    n_samples: int = 5,
    p_values: bool = True,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Description:
    """Say what clusters are: which features set them apart, which samples are typical, and what goes with them.

    Parameters
    ----------
    views : Views, list or dict of arrays
        What was clustered, as for the estimators.
    labels : estimator or array-like of shape (n_samples,)
        A fitted estimator of the package, or the cluster of each sample, from anywhere. Samples without one (None,
        NaN) are left out.
    metadata : DataFrame of n_samples rows, optional
        What else is known about the samples; by default that of the views. It is compared with the clusters, and never
        used to find them.
    survival : pair of str, or "TIME,EVENT", optional
        The columns of the metadata with times and events (1 or "dead"; 0 or "alive": censored).
    rename : mapping or path of a CSV file, optional
        Names of clusters by label, for all tables; a file has the label in its first column and the name in its second.
    n_markers : int, default=10
        Markers of each cluster and view.
    n_samples : int, default=5
        Typical samples of each cluster, and as many doubtful ones.
    p_values : bool, default=True
        Whether to test the markers. The estimator is fitted once more without each view, since clusters that were
        found from a feature make it look significant.
    random_state : int, default=0
        Random seed, for permutation tests and drawn samples.
    n_jobs : int, optional
        Number of threads; by default all processors.

    Returns
    -------
    Description

    Examples
    --------
    >>> from manyview import GraphEnsemble, describe
    >>> from manyview.datasets import make_multiview
    >>> views = make_multiview(120, 3, random_state=0)
    >>> model = GraphEnsemble(3, random_state=0).fit(views)
    >>> found = describe(views, model)
    >>> found.clusters["size"].sum()
    np.int64(120)
    """
    checked = check_views(views, keep_float32=True)
    if metadata is None:
        metadata = checked.metadata if not isinstance(views, Views) else views.metadata
    frame = None if metadata is None else as_frame(metadata, checked.n_samples)
    model = labels if hasattr(labels, "labels_") else None
    codes, keys = _codes(model.labels_ if model is not None else labels, checked.n_samples)
    confidence = None if model is None else getattr(model, "confidence_", None)
    if confidence is not None:
        confidence = np.asarray(confidence, dtype=float)
    names, notes = _names(keys, rename), []
    known = np.flatnonzero(codes >= 0)
    if len(known) < checked.n_samples:
        notes.append(f"{checked.n_samples - len(known)} samples without a label are left out.")
        checked, codes = checked.take(known), codes[known]
        frame = None if frame is None else frame.iloc[known]
        confidence = None if confidence is None else confidence[known]
        model = None
    sizes = np.bincount(codes, minlength=len(keys))
    clusters = pandas.DataFrame(
        {
            "cluster": range(len(keys)),
            "name": names,
            "size": sizes,
            "share": sizes / sizes.sum(),
            "mean_confidence": np.nan
            if confidence is None
            else np.bincount(codes, weights=confidence, minlength=len(keys)) / np.maximum(sizes, 1),
        }
    )
    markers, profiles, why = _markers(checked, codes, names, model, n_markers, p_values, random_state, n_jobs)
    notes += why + _not_found(markers, names)
    typical = typical_samples(centre_distances(checked, codes, len(keys)), codes, confidence, n_samples)
    ids = checked.sample_ids
    typical.insert(3, "sample", typical["row"] if ids is None else [str(ids[row]) for row in typical["row"]])
    typical["row"] = known[typical["row"]]
    typical.insert(1, "name", [names[c] for c in typical["cluster"]])
    description = Description(names, codes, clusters, markers, typical, profiles, notes=notes)
    if survival is not None:
        frame, curves = _survival(frame, survival, codes, len(keys))
        description = replace(description, survival_curves=curves, survival=_survival_table(curves, names))
    if frame is not None and frame.shape[1]:
        found = associations(frame, codes, len(keys), random_state)
        description = replace(description, associations=found, metadata=summary(found))
    return description


def _codes(labels: Any, n_samples: int) -> tuple[np.ndarray, list[Any]]:
    """Return the labels as numbers from 0 on, -1 for those that are missing, and what they were."""
    values = pandas.Series(np.asarray(labels))
    if len(values) != n_samples:
        raise ViewsError(f"labels: expected one per sample ({n_samples}), got {len(values)}.")
    codes, keys = pandas.factorize(values, sort=True)
    if not len(keys):
        raise ViewsError("labels: every one is missing; expected the cluster of each sample.")
    return np.asarray(codes, dtype=np.int64), [key.item() if isinstance(key, np.generic) else key for key in keys]


def _names(keys: Sequence[Any], rename: Mapping[Any, str] | str | os.PathLike[str] | None) -> tuple[str, ...]:
    """Return a name for each cluster: that of the user, or "cluster 3"; text labels name themselves."""
    default = {str(key): key if isinstance(key, str) else f"cluster {key}" for key in keys}
    if rename is None:
        return tuple(default[str(key)] for key in keys)
    if not isinstance(rename, Mapping):
        table = pandas.read_csv(Path(rename), dtype=str, header=None, keep_default_na=False)
        if table.shape[1] < 2:
            raise ViewsError(f"rename: {os.fspath(rename)} has one column; expected labels and names.")
        rename = dict(zip(table[0], table[1], strict=True))
        rename = {key: name for key, name in rename.items() if key in default} or rename
    wanted = {str(key): str(name) for key, name in rename.items()}
    unknown = [key for key in wanted if key not in default]
    if unknown:
        raise ViewsError(f"rename: there is no cluster {unknown[0]!r}; the clusters are {', '.join(default)}.")
    names = tuple(wanted.get(key, default[key]) for key in default)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ViewsError(f"rename: two clusters are called {twice[0]!r}.")
    return names


def _markers(
    views: Views,
    labels: np.ndarray,
    names: Sequence[str],
    model: Any,
    n_markers: int,
    p_values: bool,
    seed: int,
    n_jobs: int | None,
) -> tuple[pandas.DataFrame, pandas.DataFrame, list[str]]:
    n_clusters, rows, profiles, notes = len(names), [], [], []
    reason = _why_no_p_values(views, model, n_clusters) if p_values else ""
    if reason:
        notes.append(f"No p values: {reason}.")
    for v, (view, array) in enumerate(views.items()):
        present = views.has_view(v)
        has = np.arange(views.n_samples) if present is None else np.flatnonzero(present)
        own = array if present is None else array[has]
        found = feature_statistics(own, labels[has], n_clusters, n_jobs)
        p = overlap = None
        if p_values and not reason:
            p, overlap = _honest_p(views, v, labels, model, seed, n_jobs)
        adjusted = None if p is None else corrected(p)
        features = names_of(views.feature_names[v] if views.feature_names else None, own.shape[1])
        chosen = []
        for cluster in range(n_clusters):
            for rank, j in enumerate(strongest(found, cluster, n_markers), start=1):
                if np.isnan(found.auroc[cluster, j]):
                    continue
                chosen.append(j)
                rows.append(
                    {
                        "cluster": cluster,
                        "name": names[cluster],
                        "view": view,
                        "feature": features[j],
                        "rank": rank,
                        "direction": "high" if found.auroc[cluster, j] >= 0.5 else "low",
                        **{each: getattr(found, each)[cluster, j] for each in _EFFECTS},
                        "p": np.nan if p is None else p[cluster, j],
                        "p_corrected": np.nan if adjusted is None else adjusted[cluster, j],
                        "overlap": np.nan if overlap is None else overlap[cluster],
                    }
                )
        profiles.append(_profiles(own, found, labels[has], sorted(set(chosen)), features, view, names))
    columns = ["cluster", "name", "view", "feature", "rank", "direction", *_EFFECTS, "p", "p_corrected", "overlap"]
    return pandas.DataFrame(rows, columns=columns), pandas.concat(profiles, ignore_index=True), notes


# Clusters that share less with their partner, which was learned without a view, are others.
_SAME_CLUSTER = 0.5


def _not_found(markers: pandas.DataFrame, names: Sequence[str]) -> list[str]:
    """Return a sentence for each view without which some clusters are not found."""
    weak = markers[markers["overlap"] < _SAME_CLUSTER].drop_duplicates(["view", "cluster"])
    sentences = []
    for view, rows in weak.groupby("view", sort=False):
        which = ", ".join(f"{names[row.cluster]} ({row.overlap:.2f})" for row in rows.itertuples())
        sentences.append(
            f"Learned without {view}, these are other clusters (overlap below {_SAME_CLUSTER}): {which}. "
            f"The p values of their {view} markers are about the clusters that match them best."
        )
    return sentences


_EFFECTS = ("auroc", "difference", "log_fold", "mean", "mean_outside", "share", "share_outside")


def _profiles(
    array: Any,
    found: FeatureStatistics,
    labels: np.ndarray,
    chosen: list[int],
    features: list[str],
    view: str,
    names: Sequence[str],
) -> pandas.DataFrame:
    """Return z scores of the means of some features, one row per feature and one column per cluster."""
    values = array[:, chosen]
    values = values.toarray() if not isinstance(values, np.ndarray) else values.astype(float)
    centre, spread = values.mean(axis=0), values.std(axis=0)
    means = found.mean[:, chosen].T
    scores = (means - centre[:, None]) / np.where(spread > 0, spread, 1.0)[:, None]
    table = pandas.DataFrame(scores, columns=list(names))
    table.insert(0, "feature", [features[j] for j in chosen])
    table.insert(0, "view", view)
    return table


def _why_no_p_values(views: Views, model: Any, n_clusters: int) -> str:
    """Return why clusters cannot be learned without a view; empty if they can."""
    if model is None:
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


def _honest_p(
    views: Views, v: int, labels: np.ndarray, model: Any, seed: int, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Test the features of view v with clusters that were learned without it, matched to the labels.

    Returns p values of shape (n_clusters, n_features), and the overlap of each cluster with its partner.
    """
    n_clusters = int(labels.max()) + 1
    others = [u for u in range(views.n_views) if u != v]
    present = np.ones((views.n_samples, views.n_views), dtype=bool) if views.present is None else views.present
    rows = np.flatnonzero(present[:, v] & present[:, others].any(axis=1))
    if len(rows) > _MAX_TESTED:
        rows = np.sort(np.random.default_rng([seed, v]).choice(rows, _MAX_TESTED, replace=False))
    without = Views(
        tuple(views.arrays[u][rows] for u in others),
        tuple(views.names[u] for u in others),
        present=None if views.present is None else present[rows][:, others],
    )
    learned = relearned(model, n_clusters, views.names[v]).fit(without).labels_
    partner, overlap = matched_clusters(labels[rows], learned, n_clusters)
    found = feature_statistics(views.arrays[v][rows], learned, int(learned.max()) + 1, n_jobs)
    p = np.where((partner >= 0)[:, None], found.p[partner], np.nan)
    return p, overlap


def relearned(model: Any, n_clusters: int, without: str) -> Any:
    """Return an estimator like the fitted one, for as many clusters, and for views without one of them."""
    from sklearn.base import clone

    fresh = clone(model)
    parameters = fresh.get_params(deep=False)
    changed: dict[str, Any] = {"n_clusters": n_clusters}
    if "view_sizes" in parameters:
        changed["view_sizes"] = None
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


def _survival(
    frame: pandas.DataFrame | None, wanted: tuple[str, str] | str, labels: np.ndarray, n_clusters: int
) -> tuple[pandas.DataFrame, Survival]:
    """Return the metadata without the columns of survival, and what these say."""
    columns = tuple(part.strip() for part in wanted.split(",")) if isinstance(wanted, str) else tuple(wanted)
    if len(columns) != 2:
        raise ViewsError(f"survival: expected two columns, TIME,EVENT, got {wanted!r}.")
    if frame is None:
        raise ViewsError(
            f"survival: columns {columns[0]!r} and {columns[1]!r} are looked for in metadata; there is none."
        )
    for name in columns:
        if name not in frame.columns:
            there = ", ".join(map(str, frame.columns))
            raise ViewsError(f"survival: the metadata has no column {name!r}; its columns are {there}.")
    times, events = read_times(frame[columns[0]], columns[0]), read_events(frame[columns[1]], columns[1])
    known = np.isfinite(times) & np.isfinite(events)
    if not known.any():
        raise ViewsError(f"survival: no sample has both {columns[0]!r} and {columns[1]!r}.")
    times, events, groups = times[known], events[known].astype(bool), labels[known]
    curves = {
        c: kaplan_meier(times[groups == c], events[groups == c]) for c in range(n_clusters) if (groups == c).any()
    }
    found = Survival(curves, *logrank(times, events, groups), int((~known).sum()), *columns)
    return frame.drop(columns=list(columns)), found


def _survival_table(found: Survival, names: Sequence[str]) -> pandas.DataFrame:
    rows = [
        {"cluster": c, "name": names[c], "n": curve.n_samples, "events": curve.n_events, "median": curve.median}
        for c, curve in found.curves.items()
    ]
    return pandas.DataFrame(rows, columns=["cluster", "name", "n", "events", "median"])
