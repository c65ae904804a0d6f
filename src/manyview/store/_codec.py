"""Values as a JSON tree and a list of arrays, and back.

``None``, booleans, integers, finite floats, text and lists are stored as they are. Anything else is an object with one
key, its kind: ``{"array": 3}`` is array 3 of the list, ``{"dict": {...}}`` a dict, and
``{"tuple": [...]}``, ``{"csr_array": ...}`` and so on are stored as simpler values. The kinds are a fixed table;
nothing is ever imported or called because a file names it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview.exceptions import ModelFileError
from manyview.store._file import is_plain

_MAX_DEPTH = 64  # also stops at a value that contains itself
_SUPPORTED = (
    "None, booleans, numbers, text, lists, tuples, ranges, dicts with text as keys, NumPy arrays of numbers or "
    "text, CSR arrays and np.random.RandomState"
)


@dataclasses.dataclass(frozen=True)
class _Kind:
    """How a kind of value is simplified and restored. ``restore`` gets the content of a file and must not trust it."""

    simplify: Callable[[Any], Any]
    restore: Callable[[Any], Any]


class Codec:
    """Conversion of values to a JSON tree and arrays, and back.

    Parameters
    ----------
    records : sequence of dataclass types
        The dataclasses that may occur besides the built-in kinds. They are restored by calling them with their fields.

    Examples
    --------
    >>> from manyview.store import Codec
    >>> arrays = []
    >>> tree = Codec().encode({"sizes": (2, 3), "weights": np.ones(2)}, "model", arrays)
    >>> tree
    {'dict': {'sizes': {'tuple': [2, 3]}, 'weights': {'array': 0}}}
    >>> Codec().decode(tree, "model", arrays)
    {'sizes': (2, 3), 'weights': array([1., 1.])}
    """

    def __init__(self, records: Sequence[type] = ()) -> None:
        self._kinds = {kind.__name__: made for kind, made in _KINDS.items()}
        self._kinds |= {record.__name__: _record_kind(record) for record in records}
        self._names = {kind: kind.__name__ for kind in (*_KINDS, *records)}

    def encode(self, value: Any, where: str, arrays: list[np.ndarray], depth: int = 0) -> Any:
        """Return the tree of a value and append its arrays to ``arrays``. ``where`` is the name used in errors."""
        kind = type(value)
        if depth > _MAX_DEPTH:
            raise ModelFileError(f"{where}: more than {_MAX_DEPTH} nested levels of values cannot be saved.")
        if value is None or kind in (bool, int, str) or (kind is float and math.isfinite(value)):
            return value
        if kind is list:
            return [self.encode(item, f"{where}[{i}]", arrays, depth + 1) for i, item in enumerate(value)]
        if kind is dict and all(type(key) is str for key in value):
            return {"dict": {k: self.encode(item, f"{where}[{k!r}]", arrays, depth + 1) for k, item in value.items()}}
        if kind is np.ndarray and is_plain(value.dtype):
            arrays.append(value)
            return {"array": len(arrays) - 1}
        name = self._names.get(np.generic if isinstance(value, np.generic) else kind)
        if name is None:
            raise _refusal(value, where)
        try:
            simpler = self._kinds[name].simplify(value)
        except ValueError as error:
            raise ModelFileError(f"{where}: {error}") from error
        return {name: self.encode(simpler, where, arrays, depth + 1)}

    def decode(self, tree: Any, where: str, arrays: Sequence[np.ndarray], depth: int = 0) -> Any:
        """Return the value of a tree, which is not trusted."""
        if depth > _MAX_DEPTH:
            raise ModelFileError(f"{where}: more than {_MAX_DEPTH} nested levels of values.")
        if isinstance(tree, list):
            return [self.decode(item, f"{where}[{i}]", arrays, depth + 1) for i, item in enumerate(tree)]
        if not isinstance(tree, dict):
            return tree
        name, content = next(iter(tree.items())) if len(tree) == 1 else ("", None)
        if name == "dict" and isinstance(content, dict):
            return {k: self.decode(item, f"{where}[{k!r}]", arrays, depth + 1) for k, item in content.items()}
        if name == "array" and type(content) is int and 0 <= content < len(arrays):
            return arrays[content]
        if name not in self._kinds:
            raise ModelFileError(
                f"{where}: {str(tree)[:80]!r} is unknown to this version of manyview; a newer one may know it."
            )
        simpler = self.decode(content, where, arrays, depth + 1)
        try:
            return self._kinds[name].restore(simpler)
        except Exception as error:  # the content may be anything, so any error is possible
            raise ModelFileError(f"{where}: is not a valid {name}. ({type(error).__name__}: {error})") from error


def _refusal(value: Any, where: str) -> ModelFileError:
    what = f"a value of type {type(value).__module__}.{type(value).__qualname__}"
    if isinstance(value, np.ndarray | np.generic) and not is_plain(value.dtype):
        what = f"an array of dtype {value.dtype}"
    elif isinstance(value, dict):
        what = "a dict with keys that are not text"
    return ModelFileError(f"{where}: {what} cannot be saved. Supported: {_SUPPORTED}.")


def _record_kind(record: type) -> _Kind:
    """Return the kind of a dataclass; values that its ``__post_init__`` or ``check`` refuses are refused."""
    names = [field.name for field in dataclasses.fields(record) if field.init]

    def restore(fields: dict[str, Any]) -> Any:
        value = record(**fields)
        getattr(value, "check", lambda: None)()
        return value

    return _Kind(simplify=lambda value: {name: getattr(value, name) for name in names}, restore=restore)


def _csr_kind(matrix_type: type) -> _Kind:
    def simplify(matrix: Any) -> dict[str, Any]:
        if matrix.ndim != 2:
            raise ValueError(f"a sparse array of {matrix.ndim} dimension(s) cannot be saved, only of two.")
        shape = [int(length) for length in matrix.shape]
        return {"shape": shape, "data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr}

    def restore(parts: dict[str, Any]) -> Any:
        (n_rows, n_columns), data = parts["shape"], parts["data"]
        indices, indptr = parts["indices"], parts["indptr"]
        # SciPy's compiled code trusts the indices: one out of range reads foreign memory.
        if not (
            data.ndim == indices.ndim == indptr.ndim == 1
            and data.dtype.kind in "biufc"
            and indices.dtype == indptr.dtype
            and indices.dtype in (np.int32, np.int64)
            and len(indptr) == n_rows + 1
            and indptr[0] == 0
            and (indptr[:-1] <= indptr[1:]).all()  # differences could overflow
            and indptr[-1] <= len(indices) == len(data)
            and ((indices >= 0) & (indices < n_columns)).all()
        ):
            raise ValueError(f"its indices do not fit its shape, {n_rows} x {n_columns}")
        matrix = matrix_type((n_rows, n_columns), dtype=data.dtype)
        # Set one by one, because the constructor would choose a dtype for the indices itself.
        matrix.data, matrix.indices, matrix.indptr = data, indices, indptr
        return matrix

    return _Kind(simplify, restore)


def _simplify_random_state(state: np.random.RandomState) -> dict[str, Any]:
    numbers: Any = state.get_state(legacy=False)
    if numbers["bit_generator"] != "MT19937":
        raise ValueError(f"a RandomState of {numbers['bit_generator']} cannot be saved, only of MT19937.")
    return numbers


def _restore_random_state(numbers: dict[str, Any]) -> np.random.RandomState:
    key, position = numbers["state"]["key"], numbers["state"]["pos"]
    # NumPy trusts the position: one out of range reads foreign memory.
    if key.shape != (624,) or key.dtype != np.uint32 or not 0 <= position <= 624:
        raise ValueError("its numbers are not a state of MT19937")
    state = np.random.RandomState(0)
    state.set_state(numbers)
    return state


def _restore_scalar(array: np.ndarray) -> Any:
    if array.ndim:
        raise ValueError(f"it has shape {array.shape}")
    return array[()]


_KINDS: dict[type, _Kind] = {
    float: _Kind(repr, float),  # nan, inf and -inf, which JSON does not have
    tuple: _Kind(list, tuple),
    range: _Kind(lambda value: [value.start, value.stop, value.step], lambda parts: range(*parts)),
    np.generic: _Kind(np.asarray, _restore_scalar),  # NumPy's numbers
    sp.csr_array: _csr_kind(sp.csr_array),
    sp.csr_matrix: _csr_kind(sp.csr_matrix),
    np.random.RandomState: _Kind(_simplify_random_state, _restore_random_state),
}
