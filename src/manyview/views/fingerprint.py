"""Checksum of views, to recognise the data that a result was computed from."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview.views.container import Views, is_lazy


def fingerprint(views: Views, classes: np.ndarray | None = None) -> str:
    """Return a checksum that changes with any name, shape, type, value or class.

    Parameters
    ----------
    views : Views
        Dask arrays are read in chunks, where their tasks are run; then it is the checksum of those of the chunks.
    classes : ndarray of int, shape (n_samples,), optional
        Known classes as numbers.

    Returns
    -------
    str
        64 hexadecimal digits.

    Examples
    --------
    >>> from manyview.views.fingerprint import fingerprint
    >>> from manyview.datasets import make_multiview
    >>> views = make_multiview(20, random_state=0)
    >>> fingerprint(views) == fingerprint(views.take(range(20))), fingerprint(views) == fingerprint(views.shuffled(1))
    (True, False)
    """
    digest = hashlib.sha256()

    def add(name: str, array: Any) -> None:
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode(errors="surrogatepass"))
        digest.update(np.ascontiguousarray(array).data)

    for name, view in zip(views.names, views.arrays, strict=True):
        if is_lazy(view):
            digest.update(f"chunks of {name} {view.dtype.str} {view.shape}\n".encode(errors="surrogatepass"))
            for chunk in _chunk_digests(view):
                digest.update(chunk)
        elif sp.issparse(view):
            table = sp.csr_array(view, copy=True)  # canonical form of the same entries
            table.sum_duplicates()
            digest.update(f"sparse {name} {table.shape}\n".encode(errors="surrogatepass"))
            add("starts", table.indptr.astype(np.int64))
            add("columns", table.indices.astype(np.int64))
            add("values", table.data)
        else:
            add(f"dense {name}", np.asarray(view))
    if views.present is not None:
        add("present", views.present)
    if classes is not None:
        add("classes", classes.astype(np.int64))
    return digest.hexdigest()


def _chunk_digests(view: Any) -> list[bytes]:
    import dask  # there are Dask arrays, so it is installed

    digest = dask.delayed(_chunk_digest)
    return list(dask.compute(*map(digest, view.to_delayed(optimize_graph=False).ravel().tolist())))


def _chunk_digest(chunk: Any) -> bytes:
    """Return the checksum of the shape and the values of a chunk, which may be sparse."""
    parts = [chunk]
    if sp.issparse(chunk):
        table = sp.csr_array(chunk, copy=True)
        table.sum_duplicates()
        parts = [table.indptr.astype(np.int64), table.indices.astype(np.int64), table.data]
    digest = hashlib.sha256(f"{chunk.shape}\n".encode())
    for part in parts:
        digest.update(np.ascontiguousarray(part).data)
    return digest.digest()
