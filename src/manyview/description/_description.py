"""Say what clusters are: markers, samples, metadata and survival, gathered in a :class:`Description`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas
from sklearn.exceptions import NotFittedError

from manyview._utils import html
from manyview._utils.progress import showing_progress
from manyview.description.annotations import Annotations, Names, cluster_names
from manyview.description.markers import by_view, marker_tables
from manyview.description.metadata import ARTEFACT, Association, associations, in_sample_order, summary
from manyview.description.on_disk import describe_drawn
from manyview.description.samples import centre_distances, typical_samples
from manyview.description.survival import Survival, compare_survival, survival_columns, survival_table
from manyview.exceptions import ViewsError
from manyview.views import Views, check_views
from manyview.views.checks import check_new_views
from manyview.views.on_disk import is_on_disk

_EFFECT_SIZES = {"categories": "V", "numbers": "η²"}


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
        The most typical and the most doubtful samples of each cluster, with their ``text`` if texts were given.
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
    labels : ndarray of int, shape (n_described,)
        Cluster of each sample that has one, by number.
    rows : ndarray of int, shape (n_described,)
        Row of each of these samples in the views.
    confidence : ndarray of shape (n_described,), or None
        How sure the estimator is of each of them.
    pictures : dict of int to path or array
        Pictures of the samples in ``typical``, by their row in the views.
    associations : list of Association
        What ``metadata`` summarises: test and table of each column.
    survival_curves : Survival or None
        What ``survival`` summarises: Kaplan-Meier curves and the log-rank test.
    """

    names: tuple[str, ...]
    labels: np.ndarray
    rows: np.ndarray
    clusters: pandas.DataFrame
    markers: pandas.DataFrame
    typical: pandas.DataFrame
    profiles: pandas.DataFrame
    metadata: pandas.DataFrame | None = None
    survival: pandas.DataFrame | None = None
    associations: list[Association] = field(default_factory=list)
    survival_curves: Survival | None = None
    confidence: np.ndarray | None = None
    pictures: dict[int, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def without_sample_names(self) -> Description:
        """Return a copy that names samples by their row numbers, without their texts and pictures."""
        typical = self.typical.drop(columns="text", errors="ignore").assign(sample=self.typical["row"])
        return replace(self, typical=typical, pictures={})

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        rows = [
            [
                name,
                int(own["size"]),
                f"{own['share']:.0%}",
                own["mean_confidence"],
                html.lines(f"{view}: {markers}" for view, markers in self._strongest(cluster, 3)),
                ", ".join(self._typical(cluster)) or None,
            ]
            for cluster, (name, (_, own)) in enumerate(zip(self.names, self.clusters.iterrows(), strict=True))
        ]
        columns = ("cluster", "samples", "share", "mean confidence", "markers (AUROC)", "typical samples")
        title = f"{len(self.names)} cluster{'s' * (len(self.names) != 1)} of {self.clusters['size'].sum():,} samples"
        parts = [html.heading(title), html.table(columns, rows), *map(html.paragraph, self._facts())]
        more = {"markers": self.markers, "typical": self.typical, "metadata": self.metadata, "survival": self.survival}
        return html.block([*parts, *(html.frame(name, each) for name, each in more.items() if each is not None)])

    def _strongest(self, cluster: int, most: int) -> list[tuple[str, str]]:
        """Return each view with the strongest markers of a cluster."""
        return [
            (
                view,
                ", ".join(f"{row.direction} {row.feature} ({row.auroc:.2f})" for row in rows.head(most).itertuples()),
            )
            for view, rows in by_view(self.markers[self.markers["cluster"] == cluster])
        ]

    def _typical(self, cluster: int) -> list[str]:
        """Return the three most typical samples of a cluster."""
        typical = self.typical[(self.typical["cluster"] == cluster) & (self.typical["role"] == "typical")]
        return list(map(str, typical["sample"].head(3)))

    def _facts(self) -> list[str]:
        """Return what else is known: metadata, survival and notes, a line each."""
        lines = []
        if self.metadata is not None and (self.metadata["kind"] != "left out").any():
            lines.append(self._association_line(self.metadata))
        if self.survival_curves is not None:
            found = self.survival_curves
            test = f"log-rank χ² {found.statistic:.2f}, {found.degrees} degrees of freedom, p {found.p:.2g}"
            lines.append(f"survival: {test if found.degrees else 'too few events or clusters for a test'}")
        return [*lines, *self.notes]

    def _lines(self) -> list[str]:
        lines = []
        for cluster, name in enumerate(self.names):
            own = self.clusters.iloc[cluster]
            sure = "" if np.isnan(own["mean_confidence"]) else f", mean confidence {own['mean_confidence']:.3f}"
            lines.append(f"{name}: {own['size']} samples ({own['share']:.0%}){sure}")
            lines += [f"  {view}: {markers}" for view, markers in self._strongest(cluster, 5)]
            if typical := self._typical(cluster):
                lines.append(f"  typical: {', '.join(typical)}")
        return lines + self._facts()

    def _association_line(self, metadata: pandas.DataFrame) -> str:
        tested = metadata[metadata["kind"] != "left out"]
        found = tested[tested["p_corrected"] < 0.05]
        if found.empty:
            return f"goes with the clusters: none of {len(tested)} columns (corrected p < 0.05)"
        shown = [
            f"{row.column} ({_EFFECT_SIZES[row.kind]} {row.effect:.2f}, p {row.p_corrected:.2g})"
            + (f", {ARTEFACT}" if row.note == ARTEFACT else "")
            for row in found.head(5).itertuples()
        ]
        return "goes with the clusters: " + "; ".join(shown)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON: numbers that are not known are None."""
        found: dict[str, Any] = {name: _records(getattr(self, name)) for name in ("clusters", "markers", "typical")}
        found |= {"metadata": None, "survival": None, "log_rank": None}
        if self.metadata is not None:
            tables = {each.column: _records(each.table) for each in self.associations}
            found["metadata"] = [{**row, "table": tables[row["column"]]} for row in _records(self.metadata)]
        if self.survival is not None:
            found["survival"] = _records(self.survival)
        curves = self.survival_curves
        if curves is not None:
            test = {
                "time": curves.time,
                "event": curves.event,
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
    rename: Names | None = None,
    pictures: Any = None,
    texts: Any = None,
    n_markers: int = 10,
    n_samples: int = 5,
    p_values: bool = True,
    random_state: int = 0,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Description:
    """Say what clusters are: which features set them apart, which samples are typical, and what goes with them.

    Parameters
    ----------
    views : Views, list or dict of arrays
        What was clustered, as for the estimators. Of Dask arrays and memory-mapped files, about 20,000 samples are
        drawn and loaded, with 100 of each cluster if it has as many: all tables but ``clusters`` are of these, as
        ``notes`` says.
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
    pictures : str, sequence of paths, or array, optional
        To show beside typical samples: the column of the metadata with paths of files, a path per sample (None: no
        picture), or images of shape (n_samples, height, width) or (n_samples, height, width, 3).
    texts : str or sequence of str, optional
        To show beside typical samples: the column of the metadata with texts, or a text per sample.
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
    verbose : bool, default=False
        Show progress: as a bar in a notebook or a terminal, elsewhere as printed lines.

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
    options: dict[str, Any] = {"survival": survival, "rename": rename, "n_markers": n_markers, "n_samples": n_samples}
    options |= {"p_values": p_values, "random_state": random_state, "n_jobs": n_jobs, "verbose": verbose}
    per_sample = {"metadata": metadata, "pictures": pictures, "texts": texts}
    with showing_progress(verbose):
        opened = check_new_views(views)
        if is_on_disk(opened):
            return describe_drawn(_describe, opened, labels, per_sample, **options)
        if metadata is None and isinstance(views, Views):
            per_sample["metadata"] = views.metadata
        return _describe(opened, labels, **per_sample, **options)


def _describe(
    views: Views,
    labels: Any,
    metadata: Any,
    *,
    survival: tuple[str, str] | str | None,
    rename: Names | None,
    pictures: Any,
    texts: Any,
    n_markers: int,
    n_samples: int,
    p_values: bool,
    random_state: int,
    n_jobs: int | None,
    verbose: bool,
) -> Description:
    """Describe clusters of views in memory."""
    checked = check_views(views, keep_float32=True)
    metadata = views.metadata if metadata is None else metadata
    metadata = in_sample_order(metadata, checked.sample_ids, "metadata")
    shown = Annotations.read(metadata, checked.n_samples, survival=survival, pictures=pictures, texts=texts)
    model = labels if hasattr(labels, "labels_") else None
    if model is None and hasattr(labels, "fit"):
        raise NotFittedError(f"labels: {type(labels).__name__} is not fitted yet; call its method fit first.")
    given = model.labels_ if model is not None else in_sample_order(labels, checked.sample_ids, "labels")
    codes, keys = cluster_codes(given, checked.n_samples)
    confidence = None if model is None else getattr(model, "confidence_", None)
    if confidence is not None:
        confidence = np.asarray(confidence, dtype=float)
    names, notes = cluster_names(keys, rename), _doubts(keys, shown.compared, checked)
    known = np.flatnonzero(codes >= 0)
    if len(known) < checked.n_samples:
        notes.append(f"{checked.n_samples - len(known)} samples without a label are left out.")
        checked, codes, shown = checked.take(known), codes[known], shown.take(known)
        confidence = None if confidence is None else confidence[known]
    markers, profiles, why = marker_tables(
        checked,
        codes,
        names,
        model,
        n_markers=n_markers,
        p_values=p_values,
        seed=random_state,
        n_jobs=n_jobs,
        verbose=verbose,
    )
    typical = typical_samples(centre_distances(checked, codes, len(keys)), codes, confidence, n_samples)
    ids, chosen = checked.sample_ids, typical["row"].to_numpy()
    samples = known[chosen] if ids is None else pandas.Series([str(ids[row]) for row in chosen], dtype=object)
    typical.insert(3, "sample", samples)
    typical.insert(1, "name", pandas.Series([names[c] for c in typical["cluster"]], dtype=object))
    typical["row"] = known[chosen]
    if shown.texts is not None:
        typical["text"] = pandas.Series(shown.texts[chosen], dtype=object)
    pictured = {} if shown.pictures is None else {int(known[i]): shown.pictures[i] for i in chosen}
    description = Description(
        names,
        codes,
        known,
        cluster_table(codes, names, confidence),
        markers,
        typical,
        profiles,
        confidence=confidence,
        pictures={row: picture for row, picture in pictured.items() if picture is not None},
        notes=notes + why,
    )
    if shown.survival is not None:
        curves = compare_survival(*shown.survival, codes, len(keys), survival_columns(survival or ""))
        description = replace(description, survival_curves=curves, survival=survival_table(curves, names))
    if shown.compared is not None and shown.compared.shape[1]:
        found = associations(shown.compared, codes, len(keys), random_state)
        description = replace(description, associations=found, metadata=summary(found))
    return description


def cluster_table(codes: np.ndarray, names: Sequence[str], confidence: np.ndarray | None) -> pandas.DataFrame:
    sizes = np.bincount(codes, minlength=len(names))
    sums = np.nan if confidence is None else np.bincount(codes, weights=confidence, minlength=len(names))
    return pandas.DataFrame(
        {
            "cluster": range(len(names)),
            "name": pandas.Series(names, dtype=object),
            "size": sizes,
            "share": sizes / sizes.sum(),
            "mean_confidence": sums / np.maximum(sizes, 1),
        }
    )


def cluster_codes(labels: Any, n_samples: int) -> tuple[np.ndarray, list[Any]]:
    """Return the labels as numbers from 0 on, -1 for those that are missing, and what they were."""
    given = np.asarray(labels)
    if given.ndim == 2 and given.shape[1] == 1:  # a table with one column
        given = given[:, 0]
    if given.ndim != 1:
        raise ViewsError(f"labels: expected one per sample ({n_samples}), got an array of shape {given.shape}.")
    values = pandas.Series(given)
    if pandas.api.types.is_float_dtype(values.dtype) and (values.dropna() % 1 == 0).all():
        values = values.astype("Int64")  # 2 with missing labels beside it is 2.0, and is called 2
    if len(values) != n_samples:
        raise ViewsError(f"labels: expected one per sample ({n_samples}), got {len(values)}.")
    codes, keys = pandas.factorize(values, sort=True)
    if not len(keys):
        raise ViewsError("labels: every one is missing; expected the cluster of each sample.")
    return np.asarray(codes, dtype=np.int64), [key.item() if isinstance(key, np.generic) else key for key in keys]


def _doubts(keys: Sequence[Any], compared: pandas.DataFrame | None, views: Views) -> list[str]:
    """Return a sentence for each thing that may be other than the user thinks."""
    found = []
    if -1 in keys:
        found.append("Label -1 is described as a cluster. If it stands for noise, replace it by None or NaN.")
    features = {
        str(name): view
        for view, names in zip(views.names, views.feature_names or (), strict=False)
        for name in names or ()
    }
    for name in () if compared is None else compared.columns:
        if name in features:
            found.append(
                f"Column {name!r} of the metadata is also the name of a feature of {features[name]}. If clusters were "
                "found from it, its p value proves nothing."
            )
    return found
