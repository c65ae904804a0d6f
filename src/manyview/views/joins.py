"""Outer joins of tables on sample ids: data frames, and the modalities of AnnData and MuData objects.

AnnData and MuData are recognised by their attributes; neither package is imported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from manyview.exceptions import ViewsError
from manyview.views.container import frame_values, has_ids, is_annotated, is_frame


class Joined(NamedTuple):
    """Tables with the same rows: a sample that is missing from a table has zeros there, and False in ``present``."""

    arrays: tuple[Any, ...]
    sample_ids: np.ndarray
    present: np.ndarray


def outer_join(arrays: Sequence[Any], ids: Sequence[Any], places: Sequence[str], order: Any = ()) -> Joined:
    """Join tables on the ids of their rows, keeping every id.

    Parameters
    ----------
    arrays : sequence of arrays, dense or sparse
        One row per id.
    ids : sequence of sequences
        The ids of every table.
    places : sequence of str
        Names of the tables in errors.
    order : sequence, optional
        Ids that come first, in this order. The others follow in the order of their first appearance.
    """
    all_ids, (_, *rows) = unite_ids([order, *ids], ["order", *places])
    n = len(all_ids)
    spread_arrays = tuple(spread(array, own, n) for array, own in zip(arrays, rows, strict=True))
    return Joined(spread_arrays, all_ids, np.column_stack([holds(own, n) for own in rows]))


def join_frames(frames: Mapping[str, Any]) -> Joined:
    """Join data frames on their indexes."""
    if not isinstance(frames, Mapping) or not frames:
        raise ViewsError(f"frames: expected a dict of data frames, one per view, got {_kind(frames)}.")
    places = [f"views[{str(name)!r}]" for name in frames]
    first_ids = {}
    for place, frame in zip(places, frames.values(), strict=True):
        if not is_frame(frame):
            raise ViewsError(f"{place}: expected a data frame, got {_kind(frame)}.")
        if not has_ids(frame):
            raise ViewsError(
                f"{place}: its index only counts the rows, so it has no ids to join on. Make the ids the index, for "
                "example with frame.set_index('sample'); if the row numbers are the ids, with list(frame.index)."
            )
        if frame.index.to_frame().isna().any(axis=None):
            raise ViewsError(f"{place}: a sample has no id; its index has missing values.")
        if len(frame):
            first_ids[place] = frame.index[0]
    _check_one_kind(first_ids)
    arrays = [frame_values(frame, place) for place, frame in zip(places, frames.values(), strict=True)]
    return outer_join(arrays, [np.asarray(frame.index) for frame in frames.values()], places)


def annotations_of(sample_ids: np.ndarray, labels: Any, metadata: Any) -> tuple[np.ndarray | None, Any]:
    """Return labels and metadata in the order of the samples; None and missing values for samples without them."""
    facts = None
    if metadata is not None:
        if not is_frame(metadata) or not hasattr(metadata, "columns") or not has_ids(metadata):
            raise ViewsError("metadata: expected a data frame with the ids of the samples as its index.")
        facts = _of_samples("metadata", metadata, sample_ids)
    if labels is None:
        return None, facts
    if isinstance(labels, str):
        if facts is None or labels not in facts.columns:
            there = "there is no metadata" if facts is None else f"it has {', '.join(map(repr, facts.columns))}"
            raise ViewsError(f"labels: expected the name of a column of metadata, got {labels!r}; {there}.")
        found = facts[labels]
    else:
        import pandas

        by_id = pandas.Series(labels) if isinstance(labels, Mapping) else labels
        if not hasattr(by_id, "reindex") or getattr(by_id, "ndim", 0) != 1 or not has_ids(by_id):
            raise ViewsError(
                f"labels: expected a Series with the ids of the samples as its index, a dict of them, or the name of a "
                f"column of metadata, got {_kind(labels)}. Frames are joined, so that positions say nothing."
            )
        found = _of_samples("labels", by_id, sample_ids)
    known = found.notna().to_numpy()
    if known.all():
        return np.asarray(found.tolist()), facts
    values = [_whole(one) if is_known else None for one, is_known in zip(found.tolist(), known, strict=True)]
    return np.array(values, dtype=object), facts


def _of_samples(where: str, table: Any, sample_ids: np.ndarray) -> Any:
    """Return the rows of the samples."""
    if not table.index.is_unique:
        twice = table.index[table.index.duplicated()][0]
        raise ViewsError(f"{where}: the id {str(twice)!r} occurs more than once in its index. Ids must be unique.")
    if not table.index.isin(sample_ids).any():
        raise ViewsError(
            f"{where}: its ids and those of the frames have nothing in common, such as {str(table.index[0])!r} and "
            f"{str(sample_ids[0])!r}."
            if len(table)
            else f"{where}: is empty."
        )
    return table.reindex(sample_ids)


def _whole(value: Any) -> Any:
    """Return a whole number that a missing value beside it has made a float as an integer."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def unite_ids(ids: Sequence[Any], places: Sequence[str]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return all ids in the order of their first appearance, and the positions of every table's rows among them."""
    # Empty lists are left out, because their type would change that of the others.
    flat = np.concatenate([np.asarray(own) for own in ids if len(own)] or [np.array([], dtype=object)])
    position = {id_: i for i, id_ in enumerate(dict.fromkeys(flat.tolist()))}
    rows = np.array([position[id_] for id_ in flat.tolist()], dtype=np.intp)
    all_ids = flat[np.unique(rows, return_index=True)[1]]
    split = np.split(rows, np.cumsum([len(own) for own in ids])[:-1])
    for own, place in zip(split, places, strict=True):
        counts = np.bincount(own, minlength=1)
        if counts.max() > 1:
            repeated = own[np.argmax(counts[own] > 1)]
            raise ViewsError(
                f"{place}: the id {str(all_ids[repeated])!r} occurs {counts[repeated]} times; {(counts > 1).sum()} "
                "id(s) are repeated. Ids must be unique."
            )
    return all_ids, split


def spread(values: Any, rows: np.ndarray, n_samples: int) -> Any:
    """Copy row i of the values to row ``rows[i]`` of ``n_samples`` rows, with zeros elsewhere. Keeps the type."""
    if np.array_equal(rows, np.arange(n_samples)):
        return values
    if sp.issparse(values):
        entries = values.tocoo()
        return sp.csr_array((entries.data, (rows[entries.row], entries.col)), shape=(n_samples, values.shape[1]))
    result = np.zeros((n_samples, *values.shape[1:]), dtype=values.dtype)
    result[rows] = values
    return result


def holds(rows: np.ndarray, n_samples: int) -> np.ndarray:
    """Return a mask of the samples at these positions."""
    mask = np.zeros(n_samples, dtype=bool)
    mask[rows] = True
    return mask


def _check_one_kind(first_ids: Mapping[str, Any]) -> None:
    """Refuse ids that are numbers in one table and text in another, which would never match."""
    text = {place: id_ for place, id_ in first_ids.items() if isinstance(id_, str)}
    other = {place: id_ for place, id_ in first_ids.items() if place not in text}
    if text and other:
        (a, id_a), (b, id_b) = next(iter(text.items())), next(iter(other.items()))
        raise ViewsError(
            f"{b}: its ids are not text, such as {id_b}, but those of {a} are, such as {id_a!r}. "
            "Convert them to one type, for example with frame.index.astype(str)."
        )


def _kind(value: Any) -> str:
    return "none" if isinstance(value, Mapping) else type(value).__name__


def annotated_views(data: Any) -> dict[str, Any]:
    """Return the fields of `Views`: the modalities of a MuData, or the 2-D entries in ``obsm`` of an AnnData."""
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
    """Return the fields of `Views` from AnnData objects, joined on their ids: ``X`` of each is a view."""
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
    """Load values on disk (backed mode) or not yet computed (Dask)."""
    for load in ("to_memory", "compute"):
        if hasattr(array, load):
            array = getattr(array, load)()
    return array if sp.issparse(array) or is_frame(array) else np.asarray(array)
