"""Which files are read, and by which reader: the tables map extensions to readers."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

from manyview._utils.formats import (
    LABEL_FILES,
    VIEW_FILES,
    extension_of,
    in_words,
    name_without_extension,
    split_sheet,
    uncompressed,
)
from manyview._utils.text import plain_key
from manyview.exceptions import FileFormatError
from manyview.io._annotated import read_10x_h5, read_h5ad, read_h5mu
from manyview.io._annotations import LabelSource, read_text_labels
from manyview.io._common import Options, Part
from manyview.io._matlab import read_mat
from manyview.io._matrix_market import beside_matrix, read_mtx
from manyview.io._numpy import read_npy, read_npy_labels, read_npz
from manyview.io._table_columns import read_table, read_table_labels, read_table_metadata
from manyview.io._table_files import LOADERS
from manyview.io._variables import is_label_key

Reader = Callable[[Path, Options], Part | list[Part]]

_VIEW_READERS: dict[str, Reader] = {
    ".mat": read_mat,
    ".npz": read_npz,
    ".npy": read_npy,
    ".mtx": read_mtx,
    ".mtx.gz": read_mtx,
    ".h5ad": read_h5ad,
    ".h5mu": read_h5mu,
    ".h5": read_10x_h5,
}
_LABEL_READERS: dict[str, Reader] = {".npy": read_npy_labels, ".txt": read_text_labels}

READERS = {extension: _VIEW_READERS.get(extension, read_table) for extension in VIEW_FILES}
LABEL_READERS = {extension: _LABEL_READERS.get(uncompressed(extension), read_table_labels) for extension in LABEL_FILES}
METADATA_READERS = {extension: read_table_metadata for extension in LABEL_FILES if uncompressed(extension) in LOADERS}

_NO_TABLES = frozenset({"changelog", "citation", "copying", "license", "licence", "manifest", "notice", "readme"})
"""Names (normalised by `plain_key`) of ``.txt`` files beside data, which are left out of a folder."""

_FROM_R = "R's own files are not read. In R: write.csv(x, 'x.csv'), or arrow::write_parquet(x, 'x.parquet')."
_PICKLED = "Pickles are never opened, because a pickle can run any code. Save arrays as .npz, data frames as .parquet."
_REMEDIES = {
    **dict.fromkeys((".rds", ".rda", ".rdata"), _FROM_R),
    **dict.fromkeys((".pkl", ".pickle", ".joblib", ".pt", ".pth"), _PICKLED),
    **dict.fromkeys((".xls", ".xlsb", ".ods", ".numbers"), "Save it as .xlsx or as CSV UTF-8."),
    **dict.fromkeys((".feather", ".arrow", ".orc"), "Save it as .parquet, for example with pandas."),
    **dict.fromkeys((".sav", ".dta", ".sas7bdat"), "Save it as CSV, for example with pandas or R's haven."),
    **dict.fromkeys((".json", ".jsonl", ".xml"), "Save it as a table, such as CSV."),
    **dict.fromkeys((".loom", ".hdf5", ".nc"), "Save it as .h5ad, .npz or .parquet."),
    **dict.fromkeys(
        (".zip", ".tar", ".tgz", ".7z", ".rar"), "Unpack it first; .gz, .bz2, .xz and .zst are read as they are."
    ),
}
"""What to do with files of other formats."""


def files_to_read(
    path: object, labels: list[LabelSource], facts: list[LabelSource]
) -> tuple[list[Path], list[str] | None, list[LabelSource]]:
    """Return the files to read, the names given to them if any, and the files of labels."""
    if isinstance(path, Mapping):
        names, files = [str(name) for name in path], [Path(file) for file in path.values()]
    elif isinstance(path, str | os.PathLike):
        if not Path(path).is_dir():
            return [Path(path)], None, labels
        if (matrix := _matrix_in(Path(path))) is not None:
            return [matrix], None, labels
        files, labels = _files_in(Path(path), labels, facts)
        names = [name_without_extension(file) for file in files]
    elif isinstance(path, Sequence) and not isinstance(path, bytes):
        files = [Path(file) for file in path]
        names = [file.name if file.is_dir() else name_without_extension(file) for file in files]
    else:
        raise TypeError(f"path: expected a path, several paths or a folder, got {type(path).__name__}.")
    if not files:
        raise ValueError("path: expected at least one file, got none.")
    return [_matrix_in(file) or file for file in files], names, labels


def _matrix_in(folder: Path) -> Path | None:
    """Return the matrix of a folder as 10x writes it, with ``barcodes.tsv`` and ``features.tsv`` beside it."""
    choices = [folder / f"matrix.mtx{end}" for end in ("", ".gz")] if folder.is_dir() else []
    return next((file for file in choices if file.is_file() and beside_matrix(file) is not None), None)


def _files_in(
    folder: Path, labels: list[LabelSource], facts: list[LabelSource]
) -> tuple[list[Path], list[LabelSource]]:
    visible = sorted(file for file in folder.iterdir() if file.is_file() and not file.name.startswith("."))
    data = [file for file in visible if extension_of(file, READERS) is not None and not _is_text_beside(file)]
    beside = {file for matrix in data for file in beside_matrix(matrix) or ()}
    data = [file for file in data if file not in beside]
    if not labels:
        could = [file for file in data if extension_of(file, LABEL_READERS)]
        named = [file for file in could if is_label_key(name_without_extension(file))]
        if len(named) > 1:
            raise FileFormatError(
                f"{folder}: more than one file could hold the labels: "
                f"{', '.join(file.name for file in named)}. "
                "Pass labels= to choose."
            )
        labels = [LabelSource(file) for file in named]
    others = {source.path.resolve() for source in [*labels, *facts]}
    files = [file for file in data if file.resolve() not in others]
    if not files:
        found = ", ".join(file.name for file in visible[:8]) or "no files"
        raise FileFormatError(
            f"{folder}: no files with views in this folder. Expected {_known(READERS)}; found {found}."
        )
    return files, labels


def _is_text_beside(file: Path) -> bool:
    """Return whether a file of a folder is documentation, such as README.txt."""
    return file.suffix.lower() == ".txt" and plain_key(file.stem) in _NO_TABLES


def read_file(path: Path, readers: Mapping[str, Reader], options: Options) -> list[Part]:
    """Read one file with the reader of its extension; a file of several modalities has a part for each."""
    given, path = path, split_sheet(path)[0]
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file.{similar_files(path)}")
    extension = extension_of(path, readers)
    if extension is None:
        known = next((remedy for end, remedy in _REMEDIES.items() if path.name.lower().endswith(end)), "")
        raise FileFormatError(
            f"{path}: cannot be read by its extension.{known and ' '}{known} Expected {_known(readers)}."
        )
    if not path.is_file():
        raise FileFormatError(f"{path}: expected a file, found a folder.")
    if path.stat().st_size == 0:
        raise FileFormatError(f"{path}: the file is empty (0 bytes).")
    found = readers[extension](given, options)
    return found if isinstance(found, list) else [found]


def _known(readers: Mapping[str, Reader]) -> str:
    return f"one of {in_words(readers)}"


def similar_files(path: Path) -> str:
    """Return a hint with similar file names, for the end of an error."""
    if not path.parent.is_dir():
        return f" There is no folder {path.parent} either."
    there = [file for file in path.parent.iterdir() if not file.name.startswith(".")]
    # Compared without extensions, which do not make two names similar.
    names = {name_without_extension(file).lower(): file.name for file in there}
    close = [names[name] for name in get_close_matches(name_without_extension(path).lower(), names, n=3)]
    return f" Did you mean {' or '.join(close)}?" if close else " Paths are seen from the folder you are in."
