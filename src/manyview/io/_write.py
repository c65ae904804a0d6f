"""`write_labels`: the clusters of many samples as shards, without loading all of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from manyview._utils.files import Content, write_folder
from manyview._utils.imports import require
from manyview.exceptions import ViewsError
from manyview.views.container import is_lazy

_SHARD_ROWS = 2**20  # of results in memory, which have no chunks
_SHARDS = "part-*.parquet"


def write_labels(model: Any, path: str | os.PathLike[str], *, ids: Any = None) -> None:
    """Write the clusters of all samples as parquet shards, one for every chunk of ``labels_``.

    Chunks of Dask arrays are loaded and written one after the other. Either all shards are written, or none. Shards of
    an earlier call in the same folder are replaced.

    Parameters
    ----------
    model : fitted estimator
        With ``labels_``, and perhaps ``confidence_``.
    path : str or path
        The folder, made if it does not exist: ``part-00000.parquet``, ``part-00001.parquet``, ... with the columns
        ``sample`` (the id, or the row number if there are none), ``cluster``, and ``confidence`` if the model has it.
    ids : Views or array of shape (n_samples,), optional
        Ids of the samples, or the views with their ``sample_ids``. An array may be a Dask array.

    Raises
    ------
    ViewsError
        If there is not one id per sample.
    OSError
        If a file cannot be written, or the folder holds other files. What was there before is unchanged.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from manyview import GraphEnsemble, write_labels
    >>> from manyview.datasets import make_multiview
    >>> model = GraphEnsemble(3, n_members=4, random_state=0).fit(make_multiview(60, n_clusters=3, random_state=0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_labels(model, Path(folder, "labels"), ids=[f"item {i}" for i in range(60)])
    ...     pd.read_parquet(Path(folder, "labels")).columns.tolist()
    ['sample', 'cluster', 'confidence']
    """
    folder = Path(path)
    others = [file.name for file in folder.iterdir() if not file.match(_SHARDS)] if folder.is_dir() else []
    if others:
        raise FileExistsError(f"{folder}: holds other files, such as {min(others)}. Choose another folder.")
    write_folder(folder, label_shards(model, ids), outdated=lambda: shards_in(folder))


def shards_in(folder: Path) -> list[str]:
    """Return the names of the shards in a folder."""
    return [file.name for file in folder.glob(_SHARDS)]


def label_shards(model: Any, ids: Any = None) -> Mapping[str, Content]:
    """Return the content of each shard by its name; values are loaded when it is written."""
    columns = {"cluster": model.labels_}
    if getattr(model, "confidence_", None) is not None:
        columns["confidence"] = model.confidence_
    n_samples = columns["cluster"].shape[0]
    ids = getattr(ids, "sample_ids", ids)
    if ids is not None:
        ids = ids if is_lazy(ids) else np.asarray(ids)
        if ids.shape != (n_samples,):
            raise ViewsError(f"ids: expected one id per sample, shape ({n_samples},), got {ids.shape}.")
    columns = {"sample": range(n_samples) if ids is None else ids, **columns}
    edges = np.cumsum([0, *_lengths(columns["cluster"])]).tolist()
    rows = [slice(start, stop) for start, stop in pairwise(edges)]
    return {f"part-{i:05d}.parquet": partial(_write_shard, columns, each) for i, each in enumerate(rows)}


def _lengths(labels: Any) -> Iterator[int]:
    if is_lazy(labels):
        yield from labels.chunks[0]
    else:
        for start in range(0, len(labels), _SHARD_ROWS):
            yield min(_SHARD_ROWS, len(labels) - start)


def _write_shard(columns: Mapping[str, Any], rows: slice, file: BinaryIO) -> None:
    """Write some rows of the columns, as a table that pandas, Dask, Spark and DuckDB read."""
    arrow = require("pyarrow", extra="files", purpose="Writing parquet")
    parquet = require("pyarrow.parquet", extra="files", purpose="Writing parquet")
    parts = {name: column[rows] for name, column in columns.items()}
    lazy = [name for name, part in parts.items() if is_lazy(part)]
    if lazy:
        compute = require("dask", extra="dask", purpose="Labels in Dask arrays").compute
        parts |= dict(zip(lazy, compute(*(parts[name] for name in lazy)), strict=True))
    parts["cluster"] = np.asarray(parts["cluster"], dtype=np.int32)
    if "confidence" in parts:
        parts["confidence"] = np.clip(np.asarray(parts["confidence"], dtype=np.float32), 0.0, 1.0)
    ids = np.asarray(parts["sample"])
    parts["sample"] = ids if ids.dtype.kind in "iu" else [str(one) for one in ids.tolist()]
    parquet.write_table(arrow.table(parts), file)
