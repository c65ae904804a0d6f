"""Shared by all readers: options, results, variables, and errors.

Files are not trusted. Two rules hold in every reader: nothing is ever unpickled, and the size that a file *announces*
is compared with what it can hold and with ``max_bytes`` before memory is allocated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from manyview._utils.text import shortened
from manyview.exceptions import FileFormatError, MissingDependencyError

DEFLATE_RATIO = 1032
"""Maximum bytes that one byte of a deflate stream (zip, gzip, MATLAB, HDF5) expands to."""

# A small file may announce a large matrix without entries, or hold one long text among short ones. Beyond these sizes,
# memory must be proportional to the file.
_FREE_POINTERS = 2**21
_POINTERS_PER_ENTRY = 16
_FREE_CHARACTERS = 2**22


@dataclass(frozen=True)
class Options:
    """Arguments of ``read_views`` about the content of the files."""

    views_key: str | tuple[str, ...] | None = None
    labels_key: str | None = None
    id_column: tuple[str, ...] | Literal[False] | None = None
    label_column: str | None = None
    header: bool | None = None
    max_bytes: int = 2**36
    decimal: str | None = None
    encoding: str | None = None
    transpose: tuple[str, ...] | bool | None = None
    known_ids: np.ndarray | None = None
    """For a file of classes: the sorted hashes of the ids of the views."""
    drop: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    one_hot: tuple[str, ...] = ()
    left_out: frozenset[str] = frozenset()
    """Columns that are not features, because the caller named them as labels."""
    chosen: str = ""
    """The suffix of the path of a file of labels: ``:COLUMN``, ``@ID`` or both."""


@dataclass(frozen=True, eq=False)
class Part:
    """The content of one file: views (none for a file of labels), and ids and labels where it has them."""

    source: str
    arrays: tuple[Any, ...] = ()
    names: tuple[str, ...] = ()
    ids: np.ndarray | None = None
    labels: np.ndarray | None = None
    columns: tuple[str, ...] = ()
    label_name: str = ""
    """The column of the labels, if they have one."""
    present: np.ndarray | None = None
    """After an outer join: which samples the file has. None: all."""
    id_name: str | None = None
    """The column of the ids."""
    feature_names: tuple[str, ...] | None = None
    metadata: Any = None
    """A data frame of further facts about the samples, indexed by their ids."""
    notes: tuple[str, ...] = ()
    """What was skipped or changed in reading, for the user."""
    table: Any = None
    """A table whose columns are not yet classified, because that needs all files."""

    @property
    def n_rows(self) -> int:
        """Number of samples in the file."""
        if self.arrays:
            return int(self.arrays[0].shape[0])
        return 0 if self.labels is None else len(self.labels)


Variables = Mapping[str, Any]
"""Key -> NumPy array, sparse array, `Cell` or `Other`."""


@dataclass(frozen=True, eq=False)
class Cell:
    """A MATLAB cell array: its elements in MATLAB's (column-major) order, and its shape."""

    items: list[Any]
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Other:
    """A variable that can be neither view nor labels; errors show its kind."""

    kind: str


@contextmanager
def reading(path: Path, kind: str) -> Iterator[None]:
    """Convert any exception of a library on a damaged file into an error that names the file.

    The libraries behind the readers raise nearly every built-in exception on damaged input, from
    ``TypeError`` to ``zlib.error``, so no shorter list than ``Exception`` is right here. Files are opened
    *outside* this block: a missing permission is not a damaged file.
    """
    try:
        with np.errstate(all="ignore"):  # the checks find invalid numbers; no warnings needed
            yield
    except (FileFormatError, MissingDependencyError):
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or "no reason given"
        raise FileFormatError(
            f"{path}: cannot be read as {kind}; it is damaged, cut short, or something else. "
            f"({type(error).__name__}: {reason})"
        ) from error


def check_size(source: object, n_bytes: int, max_bytes: int) -> None:
    """Refuse what would take more than ``max_bytes`` of memory."""
    if n_bytes > max_bytes:
        raise FileFormatError(
            f"{source}: would take {n_bytes:,} bytes of memory, more than max_bytes={max_bytes:,}. "
            "If the file is right and the memory is there, pass a larger max_bytes=."
        )


def checked_csr(matrix: Any, source: object, max_bytes: int) -> sp.csr_array:
    """Return a sparse matrix as CSR after checking that its indices lie within its shape.

    SciPy's compiled code trusts the indices: one out of range reads foreign memory.
    """
    # An index pointer per row, and per column once it is transposed, is allocated even for an empty matrix.
    if max(matrix.shape) > max(_FREE_POINTERS, _POINTERS_PER_ENTRY * matrix.nnz):
        raise FileFormatError(
            f"{source}: announces a sparse matrix of {matrix.shape[0]:,} x {matrix.shape[1]:,} with {matrix.nnz:,} "
            f"entries; more than {_POINTERS_PER_ENTRY} rows or columns for each entry are not read. Leave out empty "
            "ones."
        )
    check_size(source, 8 * max(matrix.shape), max_bytes)
    if hasattr(matrix, "check_format"):
        matrix.check_format(full_check=True)
        # The full check skips this if there are no entries. Compared directly, because differences could overflow.
        if (matrix.indptr[:-1] > matrix.indptr[1:]).any():
            raise ValueError("index pointers must not decrease")
    return sp.csr_array(matrix)


def text_array(texts: Sequence[str], source: object) -> np.ndarray:
    """Return texts such as ids or classes as an array, in which each takes as many bytes as the longest."""
    return text_array_of_blocks(lambda: [texts], source)


def text_array_of_blocks(
    blocks: Callable[[], Iterable[Sequence[str]]], source: object, max_bytes: int | None = None
) -> np.ndarray:
    """Do the same for texts in blocks, iterated over twice: all as Python strings would take ten times the memory."""
    n_texts, n_characters, longest = 0, 0, ""
    for block in blocks():
        n_texts, n_characters = n_texts + len(block), n_characters + sum(map(len, block))
        longest = max(longest, max(block, key=len, default=""), key=len)
    if n_texts * len(longest) > _FREE_CHARACTERS + 2 * n_characters:
        raise FileFormatError(
            f"{source}: expected ids or classes of about the same length, found one of {len(longest):,} characters "
            f"among {n_texts:,}: {shortened(longest)!r}. Shorten it."
        )
    array = np.empty(n_texts, dtype=f"U{max(len(longest), 1)}")
    if max_bytes is not None:
        check_size(source, array.nbytes, max_bytes)
    start = 0
    for block in blocks():
        array[start : start + len(block)] = block
        start += len(block)
    return array


def without_gaps(labels: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return labels with None for the samples that have none; as they are if all have one."""
    if known.all():
        return labels
    found = np.full(len(labels), None, dtype=object)
    found[known] = labels[known].tolist()  # as Python objects, not NumPy scalars
    return found


def some(ids: Sequence[str]) -> str:
    """Return a few ids for an error message."""
    return ", ".join(ids[:3]) + (", ..." if len(ids) > 3 else "")


def is_matrix(value: Any) -> bool:
    """Return whether the value can be a view: two dimensions, numbers, not empty."""
    is_array = sp.issparse(value) or isinstance(value, np.ndarray)
    return is_array and len(value.shape) == 2 and value.dtype.kind in "biufc" and min(value.shape) > 0


def describe(variables: Variables, limit: int = 12) -> str:
    """Describe the variables of a file for errors: ``X cell (1, 2) of (5, 3) and (5, 4), y (5, 1)``."""
    if not variables:
        return "nothing"
    shown = [_describe_one(key, value) for key, value in list(variables.items())[:limit]]
    more = len(variables) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _describe_one(key: str, value: Any) -> str:
    if isinstance(value, Other):
        return f"{key} ({value.kind})"
    if not isinstance(value, Cell):
        return f"{key} {tuple(map(int, value.shape))}"
    items = [_describe_one("", item).strip() for item in value.items[:3]]
    more = " ..." if len(value.items) > 3 else ""
    return f"{key} cell {tuple(map(int, value.shape))}" + (f" of {' and '.join(items)}{more}" if items else "")
