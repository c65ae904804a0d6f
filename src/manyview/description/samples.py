"""Which samples are typical of a cluster, and which are between two; texts and pictures to show beside them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import scipy.sparse as sp

from manyview.description.metadata import named_column, sample_name
from manyview.exceptions import ViewsError
from manyview.graphs.scaling import learn_scaling, row_lengths
from manyview.views import Array, Views


def centre_distances(views: Views, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Compute how far each sample is from the mean of each cluster, of shape (n_samples, n_clusters).

    Squared distances in the scaled views, divided by the view's mean distance from its own clusters' means so that all
    views count the same, and averaged over the views that a sample has. A sample is compared with the mean of the
    others in its own cluster, or it would seem central in a small one. NaN for clusters without samples.
    """
    total = np.zeros((views.n_samples, n_clusters))
    counted = np.zeros((views.n_samples, 1))
    for v, array in enumerate(views.arrays):
        present = views.has_view(v)
        rows = np.arange(views.n_samples) if present is None else np.flatnonzero(present)
        distance = _one_view(
            learn_scaling(array if present is None else array[rows], "auto")[1], labels[rows], n_clusters
        )
        usual = np.nanmean(distance[np.arange(len(rows)), labels[rows]])
        total[rows] += distance / (usual if usual > 0 else 1.0)
        counted[rows] += 1
    return total / counted


def _one_view(values: Array, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    n = len(labels)
    clusters = sp.csr_array((np.ones(n), (np.arange(n), labels)), shape=(n, n_clusters))
    sizes = np.bincount(labels, minlength=n_clusters).astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = clusters.T @ values
        means = np.asarray(means.toarray() if sp.issparse(means) else means, dtype=float) / sizes[:, None]
    squares = row_lengths(values) ** 2
    products = np.asarray(values @ means.T, dtype=float)
    distance = np.maximum(squares[:, None] - 2 * products + np.einsum("ij,ij->i", means, means), 0.0)
    # Without the sample itself, the distance from its own mean is n_c²/(n_c - 1)² times as large.
    own, size = (np.arange(n), labels), sizes[labels]
    distance[own] *= np.where(size > 1, (size / np.maximum(size - 1, 1)) ** 2, 1.0)
    return distance


def typical_samples(
    distances: np.ndarray, labels: np.ndarray, confidence: np.ndarray | None, n_samples: int
) -> pandas.DataFrame:
    """List the most typical samples of each cluster, and the most doubtful ones, each with the next cluster.

    Typical samples have the highest confidence, to three digits, and are nearest to the mean of their cluster; doubtful
    ones have the lowest, and the least margin: distance from the next cluster less that from the own, over their sum.
    Without a confidence, distances alone decide.
    """
    everyone = np.arange(len(labels))
    own = distances[everyone, labels]
    others = distances.copy()
    others[everyone, labels] = np.nan
    alone = np.isnan(others).all(axis=1)
    others[alone] = np.inf
    following = np.where(alone, -1, np.nanargmin(others, axis=1))
    away = np.nanmin(others, axis=1)
    with np.errstate(invalid="ignore"):
        margin = np.where(alone, 1.0, (away - own) / np.maximum(away + own, 1e-300))
    sure = np.ones(len(labels)) if confidence is None else np.round(confidence, 3)
    rows = []
    for cluster in np.unique(labels):
        members = np.flatnonzero(labels == cluster)
        central = members[np.lexsort((members, own[members], -sure[members]))][:n_samples]
        doubtful = members[np.lexsort((members, margin[members], sure[members]))]
        doubtful = doubtful[~np.isin(doubtful, central) & (following[doubtful] >= 0)][:n_samples]
        for role, chosen in (("typical", central), ("doubtful", doubtful)):
            rows += [
                {
                    "cluster": int(cluster),
                    "role": role,
                    "rank": rank,
                    "row": int(row),
                    "confidence": np.nan if confidence is None else float(confidence[row]),
                    "distance": float(own[row]),
                    "margin": float(margin[row]),
                    "next_cluster": int(following[row]),
                }
                for rank, row in enumerate(chosen, start=1)
            ]
    columns = ["cluster", "role", "rank", "row", "confidence", "distance", "margin", "next_cluster"]
    return pandas.DataFrame(rows, columns=columns)


def read_texts(texts: Any, frame: pandas.DataFrame | None, n_samples: int) -> np.ndarray:
    """Return the text of each sample, None where there is none; ``texts`` is as for :func:`manyview.describe`."""
    values = named_column(frame, texts, "texts") if isinstance(texts, str) else pandas.Series(list(texts), dtype=object)
    if len(values) != n_samples:
        raise ViewsError(f"texts: expected one per sample ({n_samples}), got {len(values)}.")
    found = np.full(n_samples, None, dtype=object)
    has = values.notna().to_numpy()
    found[has] = [str(value) for value in values[has]]
    return found


def read_pictures(pictures: Any, frame: pandas.DataFrame | None, n_samples: int) -> np.ndarray:
    """Return the picture of each sample: paths and None, or an array of images.

    Parameters
    ----------
    pictures : str, sequence or array
        As for :func:`manyview.describe`. Files have to exist; they are not opened.
    frame : DataFrame or None
        The metadata.
    n_samples : int
    """
    if isinstance(pictures, str):
        values = named_column(frame, pictures, "pictures")
        where = f" of column {pictures!r}"
    elif isinstance(pictures, np.ndarray) and pictures.dtype.kind in "biuf":
        return _images(pictures, n_samples)
    else:
        values, where = pandas.Series(list(pictures), dtype=object), ""
        first = next((value for value in values if value is not None), None)
        if isinstance(first, np.ndarray | list | tuple):
            return _images(np.asarray(list(values)), n_samples)
    if len(values) != n_samples:
        raise ViewsError(f"pictures: expected one per sample ({n_samples}), got {len(values)}.")
    found = np.full(n_samples, None, dtype=object)
    for row in np.flatnonzero(values.notna()).tolist():
        path = values.iloc[row]
        if not isinstance(path, str | os.PathLike):
            raise ViewsError(f"pictures: expected paths of files, got {path!r} for {sample_name(values, row)}{where}.")
        if not Path(path).is_file():
            raise ViewsError(
                f"pictures: there is no file {os.fspath(path)!r}, which {sample_name(values, row)}{where} names."
            )
        found[row] = os.fspath(path)
    return found


def _images(images: np.ndarray, n_samples: int) -> np.ndarray:
    if images.dtype.kind not in "biuf" or not (images.ndim == 3 or (images.ndim == 4 and images.shape[3] == 3)):
        raise ViewsError(
            "pictures: expected numbers of shape (n_samples, height, width), or with 3 colours as a fourth axis, got "
            f"{images.dtype} of shape {images.shape}."
        )
    if len(images) != n_samples:
        raise ViewsError(f"pictures: expected one per sample ({n_samples}), got {len(images)}.")
    return images
