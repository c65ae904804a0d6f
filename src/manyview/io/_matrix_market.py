"""Matrix Market files, ``.mtx`` and ``.mtx.gz``: one view each, kept sparse where the file is.

Not read by SciPy, whose compiled reader crashes the interpreter on some damaged files, such as one that ends within an
exponent, as in ``1 1 2.5E-`` (``benchmarks/scipy_readers.py``).
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview.exceptions import FileFormatError
from manyview.io._annotated import cells_by_features
from manyview.io._common import DEFLATE_RATIO, Options, Part, check_size, checked_csr, reading
from manyview.io._lines import open_text

_DTYPES = {"real": np.float64, "double": np.float64, "integer": np.int64, "pattern": np.float64}
_MIRRORED = {"general": 0, "symmetric": 1, "skew-symmetric": -1}
"""Sign of the mirrored entry above the diagonal for each symmetry; 0 if entries are not mirrored."""

# Peak bytes per entry of the file: numbers as read, indices, values, and the result. Entries of symmetric files count
# twice.
_BYTES_PER_ENTRY = {(True, 0): 40, (True, 1): 80, (False, 0): 16, (False, 1): 32}
_LONGEST_LINE = 2**16
_LONGEST_ENTRY = 1000  # characters
_FREE_TEXT = 2**20  # characters, for comments


def read_mtx(path: Path, options: Options) -> Part | list[Part]:
    """Read one view; of a matrix of 10x, with barcodes and features beside it, one for each type of feature."""
    beside = beside_matrix(path)
    part = _read_matrix(path, options)
    if beside is None or options.transpose is not None:
        return part
    n_features, n_cells = part.arrays[0].shape
    barcodes = _read_lines(beside[0], options.max_bytes, n_cells)
    features = _read_lines(beside[1], options.max_bytes, n_features)
    columns = [line + line[-1:] * (2 - len(line)) for line in features]
    ids, names = [line[0] for line in columns], [line[1] for line in columns]
    kinds = [line[2] for line in columns] if all(len(line) > 2 for line in columns) else []
    cells = cells_by_features(path, part.arrays[0].T.tocsr(), [line[0] for line in barcodes], ids, names, kinds)
    return [replace(own, names=own.names or part.names) for own in cells]


def beside_matrix(path: Path) -> tuple[Path, Path] | None:
    """Return the files of barcodes and of features beside a matrix of 10x, by their names."""
    found = re.fullmatch(r"(.*)matrix\.mtx(\.gz)?", path.name, re.IGNORECASE)
    if found is None:
        return None
    files = {}
    for kind in ("barcodes", "features", "genes"):
        choices = [path.with_name(f"{found[1]}{kind}.tsv{end}") for end in ("", ".gz")]
        files[kind] = next((file for file in choices if file.is_file()), None)
    features = files["features"] or files["genes"]
    return None if files["barcodes"] is None or features is None else (files["barcodes"], features)


def _read_lines(path: Path, max_bytes: int, n_expected: int) -> list[list[str]]:
    """Return the fields of each line, of one line more than expected at most."""
    with reading(path, "a list of barcodes or features"), open_text(path, max_bytes) as text:
        lines = islice((line for line in _bounded(text, n_expected) if line.strip()), n_expected + 1)
        return [line.rstrip("\r\n").split("\t") for line in lines]


def _read_matrix(path: Path, options: Options) -> Part:
    zipped = path.suffix.lower() == ".gz"
    opener: Any = gzip.open if zipped else open
    with opener(path, "rt", encoding="latin-1") as lines, reading(path, "a Matrix Market file"):
        sparse, field, symmetry = _read_banner(path, lines)
        sizes = _read_sizes(lines, 3 if sparse else 2)
        shape = sizes[:2]
        if symmetry != "general" and shape[0] != shape[1]:
            raise FileFormatError(f"{path}: announced as {symmetry}, but {shape[0]} x {shape[1]} is not square.")
        n_entries = sizes[2] if sparse else _n_dense_entries(shape, symmetry)
        # Every entry takes two bytes of text or more.
        if min(shape) < 1 or 2 * n_entries > path.stat().st_size * (DEFLATE_RATIO if zipped else 1):
            raise FileFormatError(
                f"{path}: the header announces {shape[0]} x {shape[1]} with {n_entries:,} entries, "
                "which is an empty matrix or more than the file can hold."
            )
        sign = _MIRRORED[symmetry]
        check_size(path, _BYTES_PER_ENTRY[sparse, abs(sign)] * n_entries, options.max_bytes)
        entries = _read_entries(path, lines, n_entries, (2 if sparse else 0) + (field != "pattern"))
        whole = entries.T if field == "integer" else entries.T[: 2 if sparse else 0]
        if any((numbers != np.round(numbers)).any() for numbers in whole):
            raise FileFormatError(f"{path}: expected whole numbers, found fractions among the indices or values.")
        _check_range(path, entries, shape if sparse else (), field)
        # The index type of SciPy, which would otherwise copy them.
        index = np.int32 if max(shape) < 2**31 else np.int64
        positions = [numbers.astype(index) - index(1) for numbers in (entries.T[:2] if sparse else ())]
        values = entries[:, -1].astype(_DTYPES[field], copy=sparse) if field != "pattern" else np.ones(n_entries)
        del entries, whole
        if sparse:
            matrix = _sparse(positions, values, shape, sign)
            del positions, values
            return Part(str(path), (checked_csr(matrix, path, options.max_bytes),), (_name(path),))
        return Part(str(path), (_dense(values, shape, sign),), (_name(path),))


def _read_banner(path: Path, lines: Any) -> tuple[bool, str, str]:
    words = lines.readline(_LONGEST_LINE).lower().split()
    known = len(words) == 5 and words[:2] == ["%%matrixmarket", "matrix"] and words[2] in ("coordinate", "array")
    if not known or words[3] not in _DTYPES or words[4] not in _MIRRORED:
        raise FileFormatError(
            f"{path}: expected a first line like '%%MatrixMarket matrix coordinate real general', "
            f"found {' '.join(words)[:80]!r}. Fields: {', '.join(_DTYPES)}; "
            f"symmetries: {', '.join(_MIRRORED)}."
        )
    return words[2] == "coordinate", words[3], words[4]


def _read_sizes(lines: Any, n_sizes: int) -> tuple[int, ...]:
    """Skip comments and empty lines; the first other line holds the sizes."""
    line = next((line for line in _bounded(lines, 0) if not line.startswith("%") and not line.isspace()), "")
    sizes = tuple(map(int, line.split()))
    if len(sizes) != n_sizes or min(sizes) < 0:
        raise ValueError(f"expected {n_sizes} sizes after the comments, found {line.strip()[:80]!r}")
    return sizes


def _n_dense_entries(shape: tuple[int, ...], symmetry: str) -> int:
    if symmetry == "general":
        return shape[0] * shape[1]
    below = shape[0] * (shape[0] - 1) // 2
    return below + shape[0] if symmetry == "symmetric" else below


def _read_entries(path: Path, lines: Any, n_entries: int, n_columns: int) -> np.ndarray:
    if n_entries == 0:
        return np.empty((0, n_columns))
    entries = np.loadtxt(_bounded(lines, n_entries), comments="%", ndmin=2, max_rows=n_entries + 1)
    if entries.shape != (n_entries, n_columns):
        found = "more" if len(entries) > n_entries else f"{len(entries):,}"
        raise FileFormatError(
            f"{path}: the header announces {n_entries:,} entries of {n_columns} number(s) each; "
            f"the file holds {found}, of {entries.shape[1]}."
        )
    return entries


def _check_range(path: Path, entries: np.ndarray, shape: tuple[int, ...], field: str) -> None:
    """Check that indices are within the shape and that integers fit into 64 bits."""
    outside = [(indices < 1) | (indices > side) for indices, side in zip(entries.T, shape, strict=False)]
    if any(found.any() for found in outside):
        raise FileFormatError(f"{path}: expected indices from 1 1 to {shape[0]} {shape[1]}, found one outside.")
    if field == "integer" and (np.abs(entries[:, -1]) >= 2.0**63).any():
        raise FileFormatError(f"{path}: expected whole numbers of 64 bits, found {np.abs(entries[:, -1]).max():.3g}.")


def _bounded(lines: Any, n_entries: int) -> Iterator[str]:
    """Yield lines up to a maximum size: a few deflated bytes can expand to any number of comments or spaces."""
    left = _FREE_TEXT + _LONGEST_ENTRY * n_entries
    while left > 0 and (line := lines.readline(_LONGEST_LINE)):
        left -= len(line)
        yield line
    if left <= 0:
        raise ValueError(f"more text than {n_entries:,} entries need")


def _sparse(positions: list[np.ndarray], values: np.ndarray, shape: tuple[int, ...], sign: int) -> sp.coo_array:
    rows, columns = positions
    if sign:
        off = rows != columns
        rows, columns = np.concatenate([rows, columns[off]]), np.concatenate([columns, rows[off]])
        values = np.concatenate([values, sign * values[off]])
    return sp.coo_array((values, (rows, columns)), shape=(shape[0], shape[1]))


def _dense(values: np.ndarray, shape: tuple[int, ...], sign: int) -> np.ndarray:
    if not sign:
        return values.reshape(shape, order="F")
    matrix = np.zeros(shape, dtype=values.dtype)
    # The lower triangle by columns; a skew-symmetric file leaves out the diagonal.
    start = 0
    for column in range(shape[0]):
        first = column if sign > 0 else column + 1
        below = values[start : start + shape[0] - first]
        matrix[column, first:], matrix[first:, column] = sign * below, below
        start += len(below)
    return matrix


def _name(path: Path) -> str:
    return path.name[: path.name.lower().rindex(".mtx")]
