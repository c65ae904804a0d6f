"""Views from MuData and AnnData objects, known by their attributes: neither package is imported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview.exceptions import ViewsError
from manyview.views.container import is_annotated, is_frame
from manyview.views.joins import outer_join


def annotated_views(data: Any) -> dict[str, Any]:
    """The fields of `Views`: the modalities of a MuData, or the 2-D entries in ``obsm`` of an AnnData."""
    if not hasattr(data, "mod"):
        return _obsm_views(data)
    if getattr(data, "axis", 0) == 1:
        raise ViewsError("views: expected a MuData whose modalities share samples (axis=0), got axis=1.")
    fields = modality_views(data.mod, order=np.asarray(data.obs_names))
    unknown = len(fields["sample_ids"]) - len(data.obs_names)
    if unknown:
        raise ViewsError(
            f"views: {unknown} samples of the modalities are not in obs_names of the MuData, such as "
            f"{str(fields['sample_ids'][-1])!r}. Call its method update() first."
        )
    return fields


def modality_views(modalities: Mapping[str, Any], order: Any = ()) -> dict[str, Any]:
    """The fields of `Views` from AnnData objects, joined on their ids: ``X`` of each is a view."""
    names = tuple(str(name) for name in modalities)
    places = [f"views[{name!r}]" for name in names]
    for place, modality in zip(places, modalities.values(), strict=True):
        if not is_annotated(modality) or hasattr(modality, "mod"):
            raise ViewsError(
                f"{place}: expected an AnnData object like the other views, got {type(modality).__name__}. "
                "Pass AnnData objects only, which are joined on obs_names, or arrays only, such as adata.X."
            )
        if modality.X is None:
            raise ViewsError(f"{place}: the AnnData object has no values in X.")
    arrays = [_in_memory(modality.X) for modality in modalities.values()]
    ids = [np.asarray(modality.obs_names) for modality in modalities.values()]
    features = tuple(
        tuple(map(str, modality.var_names)) if hasattr(modality, "var_names") else None
        for modality in modalities.values()
    )
    return {"names": names, "feature_names": features, **outer_join(arrays, ids, places, order)._asdict()}


def _obsm_views(data: Any) -> dict[str, Any]:
    entries = {str(key): data.obsm[key] for key in data.obsm if len(getattr(data.obsm[key], "shape", ())) == 2}
    if len(entries) < 2:
        raise ViewsError(
            "views: the views of one AnnData object are the 2-D entries in its obsm; expected at least two, got "
            f"{', '.join(entries) or 'none'}. Several AnnData objects: pass a dict of them, or a MuData."
        )
    arrays = tuple(_in_memory(entry) for entry in entries.values())
    return {"arrays": arrays, "names": tuple(entries), "sample_ids": np.asarray(data.obs_names)}


def _in_memory(array: Any) -> Any:
    """Load what is on disk (backed mode) or not yet computed (dask)."""
    for load in ("to_memory", "compute"):
        if hasattr(array, load):
            array = getattr(array, load)()
    return array if sp.issparse(array) or is_frame(array) else np.asarray(array)
