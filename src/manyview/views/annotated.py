"""Results for scanpy and muon: views, clusters, metadata and markers as AnnData or MuData.

``joins.py`` reads such objects, and needs neither package; writing them does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas
import scipy.sparse as sp

from manyview._utils.imports import require
from manyview.exceptions import ViewsError
from manyview.views.checks import check_views
from manyview.views.container import Views


def to_anndata(views: Any, labels: Any, description: Any = None) -> Any:
    """Return views and clusters as one AnnData object, for scanpy and its relatives.

    Parameters
    ----------
    views : Views, list or dict of arrays
        What was clustered.
    labels : estimator or array-like of shape (n_samples,)
        A fitted estimator, or the cluster of each sample.
    description : Description, optional
        Of :func:`manyview.describe`, for the names of the clusters and the markers.

    Returns
    -------
    AnnData
        ``X`` has the features of all views side by side, sparse if a view is; ``var`` says from which ``view`` each
        ``feature`` is. Features of views that a sample does not have are NaN, zero if sparse, and ``obs["has VIEW"]``
        says which it has. ``obs`` has the ``cluster`` (categories) and ``confidence`` of each sample, and the metadata
        of the views; ``obsm["X_manyview"]`` the embedding, if the estimator has one; ``uns["markers"]`` the markers.

    Raises
    ------
    MissingDependencyError
        If anndata is not installed: ``pip install manyview[omics]``.

    Examples
    --------
    >>> from manyview import GraphEnsemble, describe, to_anndata
    >>> from manyview.datasets import make_multiview
    >>> views = make_multiview(60, 3, random_state=0)
    >>> model = GraphEnsemble(3, n_members=8, random_state=0).fit(views)
    >>> data = to_anndata(views, model, describe(views, model))  # doctest: +SKIP
    >>> data.obs["cluster"].value_counts()  # doctest: +SKIP
    """
    anndata = require("anndata", extra="omics", purpose="Writing AnnData")
    given = _views(views)
    names = _feature_names(given)
    flat = [name for own in names for name in own]
    var = pandas.DataFrame(
        {"view": np.repeat(given.names, given.n_features), "feature": flat},
        index=flat
        if len(set(flat)) == len(flat)
        else [f"{view}:{name}" for view, own in zip(given.names, names, strict=True) for name in own],
    )
    data = anndata.AnnData(X=_side_by_side(given), obs=_obs(given, labels, description), var=var)
    return _annotated(data, given, labels, description)


def to_mudata(views: Any, labels: Any, description: Any = None) -> Any:
    """Return views and clusters as a MuData object with a modality per view, for muon and its relatives.

    Parameters
    ----------
    views, labels, description
        As for :func:`to_anndata`.

    Returns
    -------
    MuData
        A modality has the samples that have this view. ``obs``, ``obsm`` and ``uns`` are as in :func:`to_anndata`.

    Examples
    --------
    >>> from manyview import to_mudata
    >>> from manyview.datasets import make_multiview
    >>> views = make_multiview(60, 3, random_state=0)
    >>> to_mudata(views, views.labels)["view1"].shape  # doctest: +SKIP
    (60, 10)
    """
    anndata = require("anndata", extra="omics", purpose="Writing MuData")
    mudata = require("mudata", extra="omics", purpose="Writing MuData")
    given = _views(views)
    obs = _obs(given, labels, description)
    modalities = {}
    for v, (name, features) in enumerate(zip(given.names, _feature_names(given), strict=True)):
        present = given.has_view(v)
        rows = np.arange(given.n_samples) if present is None else np.flatnonzero(present)
        values = given.arrays[v][rows]
        modalities[name] = anndata.AnnData(
            X=sp.csr_matrix(values) if sp.issparse(values) else values,
            obs=pandas.DataFrame(index=obs.index[rows]),
            var=pandas.DataFrame(index=features),
        )
    data = mudata.MuData(modalities)
    order = obs.index.get_indexer(data.obs_names)  # that of the modalities
    for name in obs.columns:
        data.obs[name] = obs[name].array.take(order)
    return _annotated(data, given, labels, description, order)


def _views(views: Any) -> Views:
    return check_views(views, keep_float32=True)


def _feature_names(views: Views) -> list[list[str]]:
    known = views.feature_names or (None,) * views.n_views
    return [
        [f"{view}_{j}" for j in range(width)] if own is None else list(own)
        for view, own, width in zip(views.names, known, views.n_features, strict=True)
    ]


def _side_by_side(views: Views) -> Any:
    """Return the features of all views; those of missing views are NaN, or zero if some view is sparse."""
    arrays = list(views.arrays)
    if any(sp.issparse(array) for array in arrays):
        return sp.csr_matrix(sp.hstack([sp.csr_array(array) for array in arrays], format="csr"))
    for v in range(views.n_views):
        present = views.has_view(v)
        if present is not None:
            arrays[v] = np.where(present[:, None], arrays[v], np.nan)
    return np.hstack(arrays)


def _obs(views: Views, labels: Any, description: Any) -> pandas.DataFrame:
    """Return clusters, confidence, which views a sample has, and metadata, by sample."""
    ids = [str(row) for row in range(views.n_samples)] if views.sample_ids is None else list(map(str, views.sample_ids))
    if len(set(ids)) < len(ids):
        raise ViewsError("views: expected a different id for each sample, as AnnData looks samples up by them.")
    clusters = pandas.Series(np.asarray(getattr(labels, "labels_", labels)))
    if len(clusters) != views.n_samples:
        raise ViewsError(f"labels: expected one per sample ({views.n_samples}), got {len(clusters)}.")
    if description is None:
        codes, keys = pandas.factorize(clusters, sort=True)
        categories = [str(key) for key in keys]
    else:
        codes, categories = np.full(views.n_samples, -1), list(description.names)
        if len(description.rows) and description.rows.max() >= views.n_samples:
            raise ViewsError(f"description: expected that of these views, which have {views.n_samples} samples.")
        codes[description.rows] = description.labels
    obs = pandas.DataFrame({"cluster": pandas.Categorical.from_codes(codes, categories)}, index=pandas.Index(ids))
    confidence = getattr(labels, "confidence_", None)
    if confidence is not None:
        obs["confidence"] = np.asarray(confidence, dtype=float)
    for v, name in enumerate(views.names):
        present = views.has_view(v)
        if present is not None:
            obs[f"has {name}"] = present
    for name, values in {} if views.metadata is None else views.metadata.items():
        plain = values.reset_index(drop=True).set_axis(obs.index)
        is_text = not (pandas.api.types.is_numeric_dtype(plain.dtype) or pandas.api.types.is_bool_dtype(plain.dtype))
        # Texts with missing cells are only stored as categories.
        obs[f"metadata {name}" if name in obs.columns else str(name)] = (
            pandas.Categorical(plain.map(str, na_action="ignore").astype(object)) if is_text else plain
        )
    return obs


def _annotated(data: Any, views: Views, labels: Any, description: Any, order: Any = slice(None)) -> Any:
    """Add the embedding and the markers."""
    embedding = getattr(labels, "embedding_", None)
    if embedding is not None and np.shape(embedding)[:1] == (views.n_samples,):
        data.obsm["X_manyview"] = np.asarray(embedding)[order]
    if description is not None:
        data.uns["markers"] = description.markers.copy()
    return data
