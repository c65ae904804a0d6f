"""Columns of tables that are probably no features, by their names and values: ids of the samples, and known classes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from manyview._utils.text import plain_key
from manyview.exceptions import ClassColumnWarning, ViewsError, warn_user
from manyview.views.container import is_frame, places

# fmt: off
ID_COLUMNS = frozenset({
    "", "unnamed0", "index", "rowname", "rownames", "id", "ids", "uid", "uuid", "guid", "key", "name", "names",
    "sample", "samples", "samplename", "barcode", "barcodes", "cell", "cells", "patient", "patients", "subject",
    "subjects", "participant", "participants", "case", "donor", "individual", "animal", "mouse", "specimen",
    "accession", "obsname", "obsnames", "observation", "image", "imagename", "file", "filename", "document", "doc",
    "user", "customer", "record",
})
# fmt: on
"""Columns with these names (normalised by `plain_key`) may hold ids; pandas writes an index as ``""``."""

_ID_ENDS = frozenset({"id", "ids", "uid", "uuid", "barcode", "barcodes", "key", "accession", "code", "nr", "no"})
"""Last words of names of ids, as in ``case_id`` or ``bcr_patient_barcode``."""

LABEL_COLUMNS = frozenset(["label", "labels", "truelabel", "truelabels", "class", "classes", "groundtruth"])
"""Names of columns that hold classes. Fewer than in a .mat: a ``y`` in a table may be a coordinate."""

# Names of columns that hold what clusters are compared with. A numeric one would be the best feature of all.
_CLASS_NAMES = frozenset(
    ("category", "celltype", "classid", "cluster", "clusterid", "clusters", "diagnosis", "group", "groupid", "groups")
) | {"labelid", "outcome", "phenotype", "species", "subtype", "subtypes", "target", "targets", "trueclass"}
_MOST_CLASSES, _LEAST_SHARE = 50, 4  # different values, and samples of each on average
_FEW_ROWS = 10  # below, whole numbers all differ by chance


def is_id_name(name: str) -> bool:
    """Return whether a column is named like an id.

    Examples
    --------
    >>> [name for name in ("mouse", "case_id", "userId", "bcr_patient_barcode", "ID1", "lipid") if is_id_name(name)]
    ['mouse', 'case_id', 'userId', 'bcr_patient_barcode']
    """
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
    last = re.split(r"[^a-z0-9]+", words.strip(" \t_.-"))[-1]
    return plain_key(name) in ID_COLUMNS or (last in _ID_ENDS and last != plain_key(name))


def class_column(names: Sequence[str], array: Any) -> tuple[str, str] | None:
    """Return the first feature of a dense view that may be known classes, and why, by name and values.

    Examples
    --------
    >>> class_column(["MYC", "Subtype"], np.array([[0.3, 1], [0.1, 2], [0.2, 1], [0.5, 2]] * 2))
    ('Subtype', "'Subtype' counts as a feature, but may hold classes: its name is usual for them, and it has 2 \
different whole numbers")
    """
    if not isinstance(array, np.ndarray):
        return None
    for column, name in enumerate(names):
        if plain_key(name) in _CLASS_NAMES | LABEL_COLUMNS and _are_whole(array[:, column]):
            n_values = len(np.unique(array[:, column]))
            if 2 <= n_values <= min(_MOST_CLASSES, len(array) // _LEAST_SHARE):
                return name, (
                    f"{name!r} counts as a feature, but may hold classes: its name is usual for them, and it has "
                    f"{n_values} different whole numbers"
                )
    return None


def check_frames(names: Sequence[str], arrays: Iterable[Any]) -> None:
    """Look for columns of data frames that are no features: refuse ids, and warn of known classes.

    Files are read with :func:`manyview.read_views`, which takes ids and classes for what they are.
    """
    frames = {
        where: view
        for where, view in zip(places(names), arrays, strict=True)
        if is_frame(view) and not hasattr(view, "dask") and len(view) >= _FEW_ROWS and view.columns.is_unique
    }
    counts = Counter(name for frame in frames.values() for name in frame.columns)
    seen: dict[str, tuple[str, np.ndarray]] = {}
    for where, frame in frames.items():
        for name in (name for name in frame.columns if isinstance(name, str) and frame.dtypes[name].kind in "iuf"):
            if counts[name] == 1 and not is_id_name(name) and plain_key(name) not in _CLASS_NAMES | LABEL_COLUMNS:
                continue
            values = frame[name].to_numpy()
            first, known = seen.setdefault(name, (where, values))
            recurs = first != where and np.array_equal(known, values)
            if (recurs or is_id_name(name)) and differ_in_every_row(values):
                also = f", the same as in {first}" if recurs else ""
                raise ViewsError(
                    f"{where}: the column {name!r} has another whole number for every sample{also}: an id, not a "
                    f"feature. Make it the index, frame.set_index({name!r}), or leave it out, "
                    f"frame.drop(columns={name!r})."
                )
            found = class_column([name], values[:, None])
            if found is not None:
                warn_user(
                    f"{where}: {found[1]}. If so, leave it out, frame.drop(columns={name!r}).", ClassColumnWarning
                )


def differ_in_every_row(values: np.ndarray) -> bool:
    """Return whether these are whole numbers, another one in every row, and of enough rows that it is not by chance."""
    return len(values) >= _FEW_ROWS and _are_whole(values) and len(np.unique(values)) == len(values)


def _are_whole(values: np.ndarray) -> bool:
    return bool(np.isfinite(values).all() and (values == np.rint(values)).all())
