"""Optional dependencies: imported where they are used, with a clear message when they are absent."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from manyview.exceptions import MissingDependencyError


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import ``module``, or say which extra of manyview brings it.

    Parameters
    ----------
    module : str
        The module to import, such as ``"h5py"``.
    extra : str
        The extra of manyview that installs it.
    purpose : str
        What it is needed for; the error begins with it.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingDependencyError(
            f'{purpose} needs {module.partition(".")[0]}: pip install "manyview[{extra}]"'
        ) from error
