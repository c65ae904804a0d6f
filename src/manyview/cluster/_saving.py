"""Saving a fitted model in a file, and loading it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from manyview.cluster._base import MultiViewClusterer
from manyview.cluster._registry import FORMER_NAMES, available_methods
from manyview.ensemble.anchors import AnchoredViews, Space
from manyview.ensemble.consensus import Consensus
from manyview.ensemble.members import Lists, Member
from manyview.ensemble.n_clusters import ClusterCountSuggestion
from manyview.ensemble.predict import Model
from manyview.exceptions import ModelFileError
from manyview.graphs import Scaling
from manyview.store import Codec, read_file, write_file
from manyview.views.container import is_lazy

# The dataclasses that fitted attributes consist of. A file can name nothing else.
RECORDS: tuple[type, ...] = (
    AnchoredViews,
    ClusterCountSuggestion,
    Consensus,
    Lists,
    Member,
    Model,
    Scaling,
    Space,
)

_CLASSES = {method.name: method.estimator for method in available_methods()}
_PARTS = {"class": str, "parameters": dict, "attributes": dict}


def save(model: MultiViewClusterer, path: str | os.PathLike[str]) -> None:
    """Write a fitted model; see :meth:`MultiViewClusterer.save`."""
    name = type(model).__name__
    if _CLASSES.get(name) is not type(model):
        raise ModelFileError(
            f"{name}: is not one of manyview's own methods, so that its file could not be loaded again. Keep its "
            "parameters and its arrays in a way of your own."
        )
    check_is_fitted(model, msg="This %(name)s is not fitted yet: call fit(views) before save(path).")
    parameters = model.get_params(deep=False)
    # In the order of their names, so that equal models have equal files.
    attributes = {
        key: _loaded(vars(model)[key], f"{name}.{key}") for key in sorted(vars(model).keys() - parameters.keys())
    }
    _check_names(type(model), attributes, name)
    codec = Codec(RECORDS)
    arrays: list[np.ndarray] = []
    tree = {
        "class": name,
        "parameters": {key: codec.encode(value, f"{name}.{key}", arrays) for key, value in parameters.items()},
        "attributes": {key: codec.encode(value, f"{name}.{key}", arrays) for key, value in attributes.items()},
    }
    write_file(path, tree, arrays)


def _loaded(value: Any, where: str) -> Any:
    """Return the values of a Dask array, as a file outlives its workers; any other value as it is."""
    if not is_lazy(value):
        return value
    try:
        return value.compute()
    except Exception as error:  # of any kind, as the cluster may have failed in any way
        raise ModelFileError(
            f"{where}: its values are with Dask workers and could not be fetched. Save the model while the client of "
            f"its fit is at work. ({type(error).__name__}: {error})"
        ) from error


def load(path: str | os.PathLike[str]) -> MultiViewClusterer:
    """Load a model that its ``save`` has written.

    A file from elsewhere can do no harm: nothing is unpickled, imported or run because the file says so, memory is
    taken in proportion to the length of the file, and nothing is written.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    MultiViewClusterer
        Of the class that was saved, with the same parameters and fitted attributes.

    Raises
    ------
    ModelFileError
        The file is damaged, of a newer format, or no model file; the text says which, and what to do.
    OSError
        The file is not there or cannot be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import manyview
    >>> from manyview.cluster import CLR
    >>> from manyview.datasets import make_multiview
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "blobs.manyview")
    ...     CLR(n_clusters=3).fit(make_multiview(60, random_state=0)).save(path)
    ...     model = manyview.load(path)
    >>> model
    CLR(n_clusters=3)
    >>> model.labels_.shape
    (60,)
    """
    tree, arrays = read_file(path)
    if not isinstance(tree, dict) or {key: type(part) for key, part in tree.items()} != _PARTS:
        raise ModelFileError(f"{path}: does not hold a model. Expected {', '.join(_PARTS)}, found {str(tree)[:80]!r}.")
    name = tree["class"]
    if name in FORMER_NAMES:
        raise ModelFileError(
            f"{path}: holds a model of the class {name!r}, which is called {FORMER_NAMES[name]} now, and whose files "
            "have another content. Fit the model again and save it."
        )
    if name not in _CLASSES:
        raise ModelFileError(
            f"{path}: holds a model of the class {name!r}, which this manyview does not know. It knows "
            f"{', '.join(_CLASSES)}. A newer manyview may know it."
        )
    method, where = _CLASSES[name], f"{path}: {name}"
    _check_names(method, tree["attributes"], where)
    codec = Codec(RECORDS)
    parameters, attributes = (
        {key: codec.decode(value, f"{where}.{key}", arrays) for key, value in tree[part].items()}
        for part in ("parameters", "attributes")
    )
    model = _construct(method, parameters, where)
    model.__dict__.update(attributes)
    return model


def _construct(method: type[MultiViewClusterer], parameters: dict[str, Any], where: str) -> MultiViewClusterer:
    """Return the estimator; parameters that are newer than the file have their defaults."""
    try:
        return method(**parameters)
    except TypeError as error:
        raise ModelFileError(f"{where}: its parameters are not those of this manyview: {error}") from error


def _check_names(method: type[MultiViewClusterer], attributes: Iterable[str], where: str) -> None:
    """Raise an error if an attribute would hide one of the class, or has no proper name."""
    for key in attributes:
        if not key.isidentifier() or hasattr(method, key):
            raise ModelFileError(f"{where}: cannot have an attribute {key!r}; the name is not free or is no name.")
