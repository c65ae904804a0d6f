"""Datasets of experiments: from the source in a spec to views, and the facts that are stored beside results."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from manyview.datasets import (
    data_folder,
    dataset_info,
    fetch_dataset,
    load_digits_views,
    load_mnist_views,
    make_multiview,
)
from manyview.datasets.digits import HOW_TO_GET_MNIST, MNIST_FILE
from manyview.exceptions import ClassColumnWarning, DatasetError, OrientationWarning
from manyview.experiments._model import DatasetFacts
from manyview.io import read_views
from manyview.metrics.table import in_blocks, known_codes
from manyview.views import Views
from manyview.views.fingerprint import fingerprint
from manyview.views.wide import cut_table

LOADERS: dict[str, Callable[[], Views]] = {"digits": load_digits_views, "mnist": load_mnist_views}
"""The loaders that ``{"load": name}`` may name."""


def load(source: Mapping[str, Any], folder: str = "") -> Views:
    """Return the views that a source of a spec describes, in the order of the file.

    Parameters
    ----------
    source : dict
        ``{"fetch": name}``, ``{"load": name}``, ``{"read": path}`` or ``{"generate": {...}}``, see
        :class:`~manyview.experiments._model.Dataset`. Besides the arguments of
        :func:`~manyview.datasets.make_multiview`, ``generate`` may have ``dtype`` ("float32") and ``sorted``: whether
        to sort the samples by class, like most benchmark files. ``read`` may be a list of paths; beside it,
        ``options`` are more arguments of :func:`~manyview.read_views`, and ``view_sizes`` cuts one table into views.
        With ``{"first": n}`` beside it, only the first n rows.
    folder : str, default=""
        What paths are relative to; "" for the current folder.

    Raises
    ------
    DatasetError
        If a file is absent. The text begins with "dataset not found: " and says how to get it.

    Examples
    --------
    >>> from manyview.experiments._datasets import load
    >>> load({"generate": {"n_samples": 6, "n_clusters": 2, "sorted": True, "random_state": 0}}).labels.tolist()
    [0, 0, 0, 1, 1, 1]
    """
    views = _load_all(source, folder)
    return views.take(np.arange(source["first"])) if "first" in source else views


def _load_all(source: Mapping[str, Any], folder: str) -> Views:
    if reason := why_absent(source, folder):
        raise DatasetError(reason)
    if "generate" in source:
        return _generate(**source["generate"])
    if "load" in source:
        return LOADERS[source["load"]]()
    if "read" in source:
        with warnings.catch_warnings():
            for known in (OrientationWarning, ClassColumnWarning):  # the command line has warned already
                warnings.simplefilter("ignore", known)
            options = dict(source.get("options", {}))
            if "labels" in options:
                options["labels"] = _below(folder, options["labels"])
            views = read_views(_below(folder, source["read"]), **options)
        return cut_table(views, source["view_sizes"]) if "view_sizes" in source else views
    return fetch_dataset(source["fetch"], download_if_missing=False)


def why_absent(source: Mapping[str, Any], folder: str = "") -> str | None:
    """Say how to get the file of an absent dataset; None if it is there, or if none is needed.

    Parameters
    ----------
    source : mapping
        Source of a dataset, such as ``{"fetch": "ORL"}`` in a spec.
    folder : str, default=""
        What paths are relative to; "" for the current folder.

    Examples
    --------
    >>> from manyview.experiments._datasets import why_absent
    >>> why_absent({"load": "digits"}) is None
    True
    """
    if source.get("load") == "mnist" and not (data_folder() / MNIST_FILE).is_file():
        return f"dataset not found: MNIST63k. {HOW_TO_GET_MNIST}"
    if missing := [path for path in _files(source) if not Path(folder, path).exists()]:
        where = f"the folder of the spec, {folder}" if folder else "the current folder"
        return f"dataset not found: there is no file {missing[0]}. Paths are relative to {where}."
    if "fetch" not in source:
        return None
    info = dataset_info(source["fetch"])
    if (data_folder() / info.file_name).is_file():
        return None
    # Tables of results repeat this text, so it names no folder of this machine.
    return (
        f"dataset not found: {info.name}. The data come from {info.origin}. Put the file, as {info.file_name}, "
        "into the folder that the environment variable MANYVIEW_DATA names."
    )


def _files(source: Mapping[str, Any]) -> list[str]:
    read = source.get("read", [])
    return [read] if isinstance(read, str) else list(read)


def _below(folder: str, paths: Any) -> Any:
    """Return paths with the folder before them; that of a table may be followed by the name of a column."""
    return os.path.join(folder, paths) if isinstance(paths, str) else [os.path.join(folder, path) for path in paths]


def _generate(*, dtype: str = "float64", sorted: bool = False, **arguments: Any) -> Views:
    views = make_multiview(**{"random_state": 0, **arguments})  # every process must make the same data
    if sorted:
        views = views.take(np.argsort(np.asarray(views.labels), kind="stable"))
    return replace(views, arrays=tuple(array.astype(dtype, copy=False) for array in views.arrays))


def facts(name: str, views: Views) -> DatasetFacts:
    """Return the facts that are stored of a dataset: classes, to score labels later, and a checksum of its values.

    Examples
    --------
    >>> from manyview.datasets import load_digits_views
    >>> from manyview.experiments._datasets import facts
    >>> found = facts("digits", load_digits_views())
    >>> found.n_samples, found.views[0], found.sorted_by_class
    (1797, ('pixels', 64), False)
    """
    classes = known_codes(views.labels)
    return DatasetFacts(
        name=name,
        fingerprint=fingerprint(views, classes),
        n_samples=views.n_samples,
        views=tuple(zip(views.names, views.n_features, strict=True)),
        classes=classes,
        sorted_by_class=None if classes is None else in_blocks(classes[classes >= 0]),
    )
