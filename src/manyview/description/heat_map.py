"""Markers, sample by sample: the heat maps of reports and figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas

from manyview.description.markers import names_of
from manyview.views import Array, Views

if TYPE_CHECKING:
    from manyview.description._description import Description

FULL_COLOUR = 2.0
"""z score from which a cell of a heat map has the full colour."""


@dataclass(frozen=True)
class HeatMap:
    """The strongest markers of a view in some samples.

    Parameters
    ----------
    view : str
    markers : DataFrame
        Rows of ``Description.markers``, each feature once: by cluster, those that are high before those that are low.
    values : ndarray of shape (n_markers, n_samples)
        NaN where a sample has no such view.
    centre, spread : ndarrays of shape (n_markers,)
        Mean and standard deviation of all samples that have a label; 1 in place of a standard deviation of 0.
    n_left_out : int
        Clusters whose markers have no room.
    """

    view: str
    markers: pandas.DataFrame
    values: np.ndarray
    centre: np.ndarray
    spread: np.ndarray
    n_left_out: int = 0

    @property
    def scores(self) -> np.ndarray:
        """The values in standard deviations from the mean."""
        return (self.values - self.centre[:, None]) / self.spread[:, None]


def heat_maps(
    description: Description, views: Views, samples: np.ndarray, n_markers: int, most: int = 10_000
) -> list[HeatMap]:
    """Return the strongest markers of every view that has some.

    Parameters
    ----------
    description : Description
    views : Views
        What was described.
    samples : ndarray of int
        Positions among the samples that have a label (``description.rows``).
    n_markers : int
        Markers of each cluster at most.
    most : int
        Rows of one heat map at most: those of the largest clusters.
    """
    largest_first = np.argsort(-description.clusters["size"].to_numpy(), kind="stable")
    found = []
    for v, (view, array) in enumerate(views.items()):
        own = description.markers[(description.markers["view"] == view) & (description.markers["rank"] <= n_markers)]
        with_markers = [cluster for cluster in largest_first if cluster in set(own["cluster"])]
        kept = with_markers[: max(1, most // n_markers)]
        own = own[own["cluster"].isin(kept)].sort_values(["rank", "cluster"], kind="stable").drop_duplicates("feature")
        own = own.sort_values(["cluster", "direction", "rank"], kind="stable").reset_index(drop=True)  # high, low
        if not len(own):
            continue
        present = views.has_view(v)
        has = np.full(len(description.rows), True) if present is None else present[description.rows]
        features = views.feature_names[v] if views.feature_names else None
        values, centre, spread = np.empty((len(own), len(samples))), np.zeros(len(own)), np.ones(len(own))
        for i, column in enumerate(_columns(array, features, own, description)):
            labelled = column[description.rows]
            values[i] = np.where(has[samples], labelled[samples], np.nan)
            centre[i], spread[i] = labelled[has].mean(), labelled[has].std() or 1.0
        found.append(HeatMap(view, own, values, centre, spread, len(with_markers) - len(kept)))
    return found


def _columns(array: Array, names: Sequence[str] | None, markers: pandas.DataFrame, description: Description) -> Any:
    """Yield the column of each marker, dense, one at a time."""
    position: dict[str, list[int]] = {}
    for j, name in enumerate(names_of(names, array.shape[1])):
        position.setdefault(name, []).append(j)
    candidates = [position[feature] for feature in markers["feature"]]
    used = sorted({j for columns in candidates for j in columns})
    some = array[:, used]
    some = some if isinstance(some, np.ndarray) else some.tocsc()

    def column(j: int) -> np.ndarray:
        i = used.index(j)
        found = some[:, [i]]
        return np.asarray(found if isinstance(found, np.ndarray) else found.toarray(), dtype=float).ravel()

    for row, columns in zip(markers.itertuples(), candidates, strict=True):
        # Of features with the same name, the one whose mean in the cluster was reported.
        members = description.rows[description.labels == row.cluster]
        yield min(map(column, columns), key=lambda values: abs(values[members].mean() - row.mean) if columns[1:] else 0)


def sample_order(labels: np.ndarray, confidence: np.ndarray | None, maps: Sequence[HeatMap]) -> np.ndarray:
    """Order samples by cluster, and within it by confidence, then by how clearly they have the cluster's markers.

    Parameters
    ----------
    labels : ndarray of int, shape (n_samples,)
        Of the samples of the heat maps.
    confidence : ndarray of shape (n_samples,), optional
    maps : sequence of HeatMap
    """
    clear, counted = np.zeros((2, len(labels)))
    for each in maps:
        sign = np.where(each.markers["direction"] == "high", 1.0, -1.0)
        own = each.markers["cluster"].to_numpy()[:, None] == labels
        scores = sign[:, None] * each.scores
        known = own & np.isfinite(scores)
        clear += np.where(known, scores, 0.0).sum(axis=0)
        counted += known.sum(axis=0)
    clear /= np.maximum(counted, 1)
    sure = np.zeros(len(labels)) if confidence is None else np.round(np.asarray(confidence, dtype=float), 3)
    return np.lexsort((-clear, -sure, labels))
