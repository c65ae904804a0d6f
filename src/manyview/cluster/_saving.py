"""Saving a fitted model in a file, and loading it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, BinaryIO

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
from manyview.store._file import describe_version, write_to
from manyview.views.container import is_lazy


@dataclass(frozen=True)
class Origin:
    """How the files of a fit were read, and the names of its clusters, for ``manyview predict``.

    Parameters
    ----------
    reading : dict
        Arguments of :func:`manyview.read_views` that hold for new files as well, where they differ from the defaults.
    transposed : tuple of str
        The views whose files had features in rows.
    cluster_names : tuple of str or None
        A name for each cluster, if they were renamed.
    values : dict of str to ndarray
        For each view, what a missing cell of each column is filled with: the median in the fit, or what ``impute`` in
        ``reading`` says. Empty if it is not known.
    """

    reading: dict[str, Any] = field(default_factory=dict)
    transposed: tuple[str, ...] = ()
    cluster_names: tuple[str, ...] | None = None
    values: dict[str, np.ndarray] = field(default_factory=dict)

    def check(self) -> None:
        """Raise an error if the values, perhaps from a file, are of other types."""
        for name, own in self.values.items():
            if not isinstance(own, np.ndarray) or own.dtype != np.float64 or own.ndim != 1 or np.isnan(own).any():
                raise ValueError(f"expected one number for each column of {name}")
        names = (*self.transposed, *(self.cluster_names or ()), *self.reading)
        if not isinstance(self.reading, dict) or not all(isinstance(name, str) for name in names):
            raise ValueError("expected names of arguments, views and clusters")


# The dataclasses that fitted attributes consist of. A file can name nothing else.
RECORDS: tuple[type, ...] = (
    AnchoredViews,
    ClusterCountSuggestion,
    Consensus,
    Lists,
    Member,
    Model,
    Origin,
    Scaling,
    Space,
)

_CLASSES = {method.name: method.estimator for method in available_methods()}
_PARTS = {"class": str, "parameters": dict, "attributes": dict}


def save(model: MultiViewClusterer, path: str | os.PathLike[str], results: bool) -> None:
    """Write a fitted model; see :meth:`MultiViewClusterer.save`."""
    write_file(path, *_encoded(model, results))


def content(model: MultiViewClusterer) -> Callable[[BinaryIO], None]:
    """Return a function that writes a fitted model to an open file, without the results of single samples."""
    tree, arrays = _encoded(model, results=False)
    return lambda file: write_to(file, tree, arrays)


def can_predict(method: type[MultiViewClusterer]) -> bool:
    """Return whether a method assigns samples that it was not fitted to."""
    return hasattr(method, "predict")


def _encoded(model: MultiViewClusterer, results: bool) -> tuple[dict[str, Any], list[np.ndarray]]:
    """Return the tree and the arrays of a model's file."""
    name = type(model).__name__
    if _CLASSES.get(name) is not type(model):
        raise ModelFileError(
            f"{name}: is not one of manyview's own methods, so that its file could not be loaded again. Keep its "
            "parameters and its arrays in a way of your own."
        )
    check_is_fitted(model, msg="This %(name)s is not fitted yet: call fit(views) before save(path).")
    parameters = model.get_params(deep=False)
    own = vars(model) | _without_results(model, results)
    # In the order of their names, so that equal models have equal files.
    names = sorted(own.keys() - parameters.keys() - set(own.get("_left_out", ())))
    attributes = {key: _loaded(own[key], f"{name}.{key}") for key in names}
    _check_names(type(model), attributes, name)
    codec = Codec(RECORDS)
    arrays: list[np.ndarray] = []
    tree = {
        "class": name,
        "parameters": {key: codec.encode(value, f"{name}.{key}", arrays) for key, value in parameters.items()},
        "attributes": {key: codec.encode(value, f"{name}.{key}", arrays) for key, value in attributes.items()},
    }
    return tree, arrays


def _without_results(model: MultiViewClusterer, results: bool) -> dict[str, Any]:
    """Return which attributes the file leaves out, as an attribute itself: the results of single samples.

    Methods that cannot predict keep them in any case, because their files would hold nothing else of use.
    """
    name, known = type(model).__name__, vars(model).get("_left_out", ())
    if results and known:
        raise ModelFileError(
            f"{name}: results=True, but this model was loaded from a file without {', '.join(known)}. Save the model "
            "that was fitted, or fit it again."
        )
    if results or not can_predict(type(model)):
        return {}
    return {"_left_out": ("labels_", *model._sample_axes)}


def _loaded(value: Any, where: str) -> Any:
    """Return the values of a Dask array, as a file outlives its workers; any other value as it is."""
    if not is_lazy(value):
        return value
    try:
        return value.compute()
    except Exception as error:  # of any kind, as the cluster may have failed in any way
        raise ModelFileError(
            f"{where}: its values are with Dask workers and could not be fetched. Save the model while the client of "
            f"its fit is at work, or without results=True. ({type(error).__name__}: {error})"
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
        Of the class that was saved, with the same parameters and fitted attributes. If it was saved without
        ``results=True``, it predicts as before, but has no ``labels_`` and other results of single samples.

    Raises
    ------
    ModelFileError
        The file is damaged, of a newer format or of a version with other attributes, or no model file; the text says
        which, and what to do.
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
    try:
        return _decoded(path, tree, arrays)
    except ModelFileError as error:
        note = describe_version(path)
        if not note:
            raise
        raise ModelFileError(
            f"{error} The file {note}: use that version, or fit the model again and save it."
        ) from error


def _decoded(path: str | os.PathLike[str], tree: Any, arrays: list[np.ndarray]) -> MultiViewClusterer:
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
    _check_private(attributes, where)
    model = _construct(method, parameters, where)
    model.__dict__.update(attributes)
    return model


def _construct(method: type[MultiViewClusterer], parameters: dict[str, Any], where: str) -> MultiViewClusterer:
    """Return the estimator; parameters that are newer than the file have their defaults."""
    try:
        return method(**parameters)
    except TypeError as error:
        raise ModelFileError(f"{where}: its parameters are not those of this manyview: {error}") from error


def _check_private(attributes: dict[str, Any], where: str) -> None:
    """Raise an error if what the file says about itself is of another type."""
    left_out, origin = attributes.get("_left_out", ()), attributes.get("_origin", Origin())
    if not isinstance(left_out, tuple) or not all(isinstance(name, str) for name in left_out):
        raise ModelFileError(f"{where}._left_out: expected names of attributes, found {str(left_out)[:80]!r}.")
    if not isinstance(origin, Origin):
        raise ModelFileError(f"{where}._origin: expected how files were read, found {str(origin)[:80]!r}.")


def _check_names(method: type[MultiViewClusterer], attributes: Iterable[str], where: str) -> None:
    """Raise an error if an attribute would hide one of the class, or has no proper name."""
    for key in attributes:
        if not key.isidentifier() or hasattr(method, key):
            raise ModelFileError(f"{where}: cannot have an attribute {key!r}; the name is not free or is no name.")
