"""Annotated matrices of single-cell biology: ``.h5ad``, ``.h5mu``, and the files of 10x (``.h5``, ``matrix.mtx``).

They are read with h5py, so that neither anndata nor mudata has to be installed, and so that what a file announces is
checked before memory is allocated. ``X`` of each modality is a view, ``obs`` becomes metadata, and ``obs_names`` are
the ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas

from manyview._utils.imports import require
from manyview._utils.text import plain_key
from manyview.exceptions import FileFormatError
from manyview.io._common import Options, Part, reading, text_array
from manyview.io._hdf5 import Hdf5File
from manyview.io._ids import all_differ
from manyview.io._table_files import listed
from manyview.io._variables import is_whole
from manyview.views.suspects import LABEL_COLUMNS

_PLACES = ("layers", "obsm")
"""Where matrices are besides ``X``."""


def read_h5ad(path: Path, options: Options) -> list[Part]:
    """Read ``X`` of an ``.h5ad``, or what ``views_key`` names: ``X``, entries of ``layers`` or of ``obsm``."""
    h5py = require("h5py", extra="files", purpose="Reading .h5ad")
    with reading(path, "an .h5ad file"), h5py.File(path, "r") as file:
        reader = _Annotated(h5py, file, path, options.max_bytes)
        reader.check_heaps()
        keys = _keys(options) or ["X"]
        parts = [reader.part(file, key, path.stem if key == "X" else key.rpartition("/")[2]) for key in keys]
        return _labelled([replace(part, metadata=reader.frame(file, "obs")) for part in parts], options)


def read_h5mu(path: Path, options: Options) -> list[Part]:
    """Read ``X`` of every modality of an ``.h5mu``, or what ``views_key`` names, such as ``rna/layers/counts``."""
    h5py = require("h5py", extra="files", purpose="Reading .h5mu")
    with reading(path, "an .h5mu file"), h5py.File(path, "r") as file:
        reader = _Annotated(h5py, file, path, options.max_bytes)
        reader.check_heaps()
        if np.array_equal(reader.attribute(file, "axis", 0), 1):
            raise FileFormatError(f"{path}: its modalities share features (axis=1), not samples, so they are no views.")
        modalities = reader.group(file, "mod")
        parts: list[Part] = []
        for key in _keys(options) or reader.order(modalities):
            name, _, inner = key.partition("/")
            part = reader.part(reader.group(modalities, name), inner or "X", key.replace("/X", "").replace("/", ":"))
            own = reader.frame(modalities[name], "obs").add_prefix(f"{name}:")
            if not parts and "obs" in file:
                shared = reader.frame(file, "obs")
                own = shared.drop(columns=[column for column in shared if column in own]).join(own)
            parts.append(replace(part, metadata=own))
        return _labelled(parts, options)


def read_10x_h5(path: Path, options: Options) -> list[Part]:
    """Read the matrix of a file of Cell Ranger; each type of feature is a view."""
    h5py = require("h5py", extra="files", purpose="Reading .h5 of 10x")
    with reading(path, "a feature-barcode matrix"), h5py.File(path, "r") as file:
        reader = _Annotated(h5py, file, path, options.max_bytes)
        if "matrix" not in file or "barcodes" not in reader.group(file, "matrix"):
            raise FileFormatError(
                f"{path}: expected a feature-barcode matrix of 10x (Cell Ranger 3 or later). Other HDF5 files are not "
                "read; save arrays as .npz, or tables as .parquet."
            )
        reader.check_heaps()
        group = reader.group(file, "matrix")
        shape = tuple(int(side) for side in reader.stored(reader.item(group, "shape")))
        matrix = reader.compressed(group, shape[::-1], by_rows=True)  # stored as features x cells, by columns
        features = reader.group(group, "features")
        ids, names = (reader.texts(reader.item(features, key)) for key in ("id", "name"))
        kinds = reader.texts(reader.item(features, "feature_type")) if "feature_type" in features else []
        return cells_by_features(path, matrix, reader.texts(reader.item(group, "barcodes")), ids, names, kinds)


def cells_by_features(
    path: Path, matrix: Any, barcodes: Sequence[str], ids: Sequence[str], names: Sequence[str], kinds: Sequence[str]
) -> list[Part]:
    """Return one view for each type of feature of a matrix of 10x, cells in rows."""
    if matrix.shape != (len(barcodes), len(ids)) or len(names) != len(ids) or (kinds and len(kinds) != len(ids)):
        raise FileFormatError(
            f"{path}: a matrix of {matrix.shape[0]:,} cells and {matrix.shape[1]:,} features, but {len(barcodes):,} "
            f"barcodes and {len(ids):,} features."
        )
    times = Counter(names)
    features = [name if times[name] == 1 else f"{name} ({id_})" for name, id_ in zip(names, ids, strict=True)]
    cells = text_array(barcodes, path)
    if len(set(kinds)) < 2:
        return [Part(str(path), (matrix,), ids=cells, feature_names=tuple(features), id_name="barcode")]
    parts = []
    for kind in dict.fromkeys(kinds):
        at = [i for i, own in enumerate(kinds) if own == kind]
        own_names = tuple(features[i] for i in at)
        parts.append(
            Part(f"{path}:{kind}", (matrix[:, at],), (kind,), ids=cells, feature_names=own_names, id_name="barcode")
        )
    return parts


def _keys(options: Options) -> list[str]:
    keys = options.views_key
    return [keys] if isinstance(keys, str) else list(keys or ())


def _labelled(parts: list[Part], options: Options) -> list[Part]:
    """Take the column of ``obs`` that holds the classes, if there is one."""
    frame = parts[0].metadata
    name = options.label_column
    if name is None:
        usual = [column for column in frame if plain_key(column) in LABEL_COLUMNS]
        name = usual[0] if len(usual) == 1 else None
    if name is None or name not in frame:
        return [replace(part, columns=tuple(map(str, part.metadata))) for part in parts]
    values = frame[name]
    labels = np.array([None if pandas.isna(one) else one for one in values.tolist()], dtype=object)
    if values.dtype.kind == "f" and is_whole(values.dropna().to_numpy()):
        labels = np.array([None if one is None else int(one) for one in labels], dtype=object)
    first = replace(parts[0], labels=labels if values.isna().any() else np.array(labels.tolist()))
    return [first, *parts[1:]]


class _Annotated(Hdf5File):
    """Reader of the elements of AnnData, as their specification stores them."""

    def order(self, modalities: Any) -> list[str]:
        """Return the modalities in the order that the file declares, else by name."""
        declared = [str(name) for name in np.atleast_1d(self.attribute(modalities, "mod-order", ()))]
        return declared if set(declared) == set(modalities) else list(modalities)

    def part(self, group: Any, key: str, name: str) -> Part:
        """Return one matrix of an AnnData object with its samples and features."""
        found = self._find(group, key)
        matrix = self.matrix(found)
        ids = self._index(group, "obs")
        features = self._index(group, "var") if key == "X" or found.parent.name.endswith("/layers") else None
        n_rows, n_columns = matrix.shape
        if n_rows != len(ids) or (features is not None and n_columns != len(features)):
            told = "" if features is None else f" x {len(features)}"
            raise FileFormatError(
                f"{self.path}: {found.name} has shape {matrix.shape}, but there are {len(ids)}{told} names for it."
            )
        if not all_differ([ids], len(ids)) and len(set(ids)) < len(ids):
            twice = Counter(ids).most_common(1)[0][0]
            raise FileFormatError(
                f"{self.path}: the name {twice!r} in obs_names occurs more than once. Call obs_names_make_unique()."
            )
        return Part(
            f"{self.path}:{name}" if key != "X" or group.name != "/" else str(self.path),
            (matrix,),
            (name,),
            ids=text_array(ids, self.path),
            id_name="obs_names",
            feature_names=None if features is None else tuple(features),
        )

    def _find(self, group: Any, key: str) -> Any:
        """Return the matrix called ``X``, ``layers/counts``, ``obsm/X_pca``, or ``counts`` and ``X_pca`` for short."""
        there = ["X"] if "X" in group else []
        for place in _PLACES:
            there += [f"{place}/{name}" for name in self.group(group, place)] if place in group else []
        chosen = [one for one in there if key == one or key == one.partition("/")[2]]
        if len(chosen) != 1:
            raise FileFormatError(
                f"{self.path}: {'more than one' if chosen else 'no'} matrix {key!r} in {group.name!r}. It has "
                f"{listed(there) or 'none'}. Pass views_key= to choose."
            )
        return self.item(group, chosen[0])

    def matrix(self, item: Any) -> Any:
        """Return a dense or sparse matrix, or the columns of a data frame."""
        kind = _text(self.attribute(item, "encoding-type", "") or self.attribute(item, "h5sparse_format", ""))
        if not self.is_group(item):
            values = self.stored(item)
            if values.ndim != 2 or values.dtype.kind not in "biuf":
                raise FileFormatError(
                    f"{self.path}: expected a matrix of numbers in {item.name}, found {values.dtype}."
                )
            return values
        if kind.startswith(("csr", "csc")):
            shape = np.atleast_1d(self.attribute(item, "shape", self.attribute(item, "h5sparse_shape", ())))
            return self.compressed(item, tuple(int(side) for side in shape), kind.startswith("csr"))
        if kind == "dataframe":
            frame = self._columns(item)
            if len(frame.columns) and all(pandas.api.types.is_numeric_dtype(own.dtype) for _, own in frame.items()):
                return frame.to_numpy(dtype=float, na_value=np.nan)
        raise FileFormatError(f"{self.path}: expected a matrix of numbers in {item.name}, found {kind or 'a group'}.")

    def _index(self, group: Any, axis: str) -> list[str]:
        frame = self.item(group, axis)
        if not self.is_group(frame):
            raise FileFormatError(
                f"{self.path}: {axis} is stored as older versions of anndata did. Read and write it with a newer one."
            )
        return self.texts(self.item(frame, _text(self.attribute(frame, "_index", "_index"))))

    def frame(self, group: Any, axis: str) -> pandas.DataFrame:
        """Return a data frame such as ``obs``; columns of unknown types are left out."""
        return self._columns(self.group(group, axis)).set_axis(self._index(group, axis))

    def _columns(self, item: Any) -> pandas.DataFrame:
        index = _text(self.attribute(item, "_index", "_index"))
        order = [_text(name) for name in np.atleast_1d(self.attribute(item, "column-order", ()))]
        columns = {name: self._column(item, name) for name in order if name != index and self.is_here(item, name)}
        n_rows = len(self.texts(self.item(item, index)))
        kept = {name: own for name, own in columns.items() if own is not None and len(own) == n_rows}
        return pandas.DataFrame(kept, index=range(n_rows))

    def _column(self, frame: Any, name: str) -> Any:
        item = frame[name]
        kind = _text(self.attribute(item, "encoding-type", ""))
        if not self.is_group(item):
            values = self.stored(item)
            if values.ndim != 1:
                return None
            return values if values.dtype.kind in "biuf" else self.texts(item)
        if kind == "categorical":
            categories = self._column(item, "categories")
            codes = self.stored(self.item(item, "codes"))
            if (
                categories is None
                or codes.ndim != 1
                or codes.dtype.kind not in "iu"
                or codes.max(initial=-1) >= len(categories)
            ):
                return None
            return pandas.Categorical.from_codes(codes, pandas.Index(categories)).astype(object)
        if kind.startswith("nullable"):
            values, mask = self._column(item, "values"), self.stored(self.item(item, "mask")).astype(bool)
            if values is None or len(values) != len(mask):
                return None
            return [None if hidden else value for value, hidden in zip(np.asarray(values).tolist(), mask, strict=True)]
        return None


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
