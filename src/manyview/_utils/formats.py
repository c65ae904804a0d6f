"""Extensions of the files that manyview reads, for readers, errors and help texts.

It imports none of the readers, so that help texts are printed without them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
"""Extensions that may follow that of a text table."""

TEXT_TABLES = (".csv", ".tsv", ".tab", ".txt")
"""Tables as text; each may be compressed."""

_SHEET = re.compile(r"(.+\.xlsx):([^:]+)", re.IGNORECASE | re.DOTALL)


def _with_compressed(extensions: Iterable[str]) -> tuple[str, ...]:
    return tuple(extension + end for extension in extensions for end in ("", *COMPRESSED))


VIEW_FILES = (
    *(".mat", ".npz", ".npy", ".mtx", ".mtx.gz", ".parquet", ".xlsx", ".h5ad", ".h5mu", ".h5", ".gct", ".gct.gz"),
    *_with_compressed(TEXT_TABLES),
)
"""Files with views."""

LABEL_FILES = (".npy", ".parquet", ".xlsx", *_with_compressed(TEXT_TABLES))
"""Files with classes; in a ``.txt``, one class per line."""


def extension_of(path: Path, known: Iterable[str] = VIEW_FILES) -> str | None:
    """Return the longest of the known extensions that a file has, or None.

    Examples
    --------
    >>> from pathlib import Path
    >>> from manyview._utils.formats import extension_of
    >>> extension_of(Path("expression.TSV.gz")), extension_of(Path("notes.docx"))
    ('.tsv.gz', None)
    """
    name = split_sheet(path)[0].name.lower()
    return max((one for one in known if name.endswith(one)), key=len, default=None)


def split_sheet(path: Path) -> tuple[Path, str | None]:
    """Split ``FILE.xlsx:SHEET`` into the file and the name of the sheet; None if there is none.

    Examples
    --------
    >>> from pathlib import Path
    >>> from manyview._utils.formats import split_sheet
    >>> file, sheet = split_sheet(Path("omics.xlsx:RNA"))
    >>> file.name, sheet, split_sheet(Path("a:b.csv"))[1]
    ('omics.xlsx', 'RNA', None)
    """
    found = _SHEET.fullmatch(str(path))
    return (path, None) if found is None or path.exists() else (Path(found[1]), found[2])


def name_without_extension(path: Path) -> str:
    """Return the name of a file without its whole extension.

    Examples
    --------
    >>> from pathlib import Path
    >>> from manyview._utils.formats import name_without_extension
    >>> name_without_extension(Path("a/expression.tsv.gz")), name_without_extension(Path("a/expression.v2.csv"))
    ('expression', 'expression.v2')
    """
    extension, sheet = extension_of(path), split_sheet(path)[1]
    return sheet or (path.name[: -len(extension)] if extension else path.stem)


def uncompressed(extension: str) -> str:
    """Return the extension of a text table without that of its compression; others as they are.

    Examples
    --------
    >>> from manyview._utils.formats import uncompressed
    >>> uncompressed(".tsv.gz"), uncompressed(".mtx.gz")
    ('.tsv', '.mtx.gz')
    """
    return next((one for one in (*TEXT_TABLES, ".gct") if extension.startswith(one)), extension)


def in_words(extensions: Iterable[str]) -> str:
    """Return a list of extensions in words; compressed tables are named together.

    Examples
    --------
    >>> from manyview._utils.formats import LABEL_FILES, in_words
    >>> in_words(LABEL_FILES)
    '.npy, .parquet, .xlsx, .csv, .tsv, .tab, .txt (these four also as .gz, .bz2, .xz or .zst)'
    """
    given = list(extensions)
    short = ", ".join(dict.fromkeys(map(uncompressed, given)))
    if not set(_with_compressed(TEXT_TABLES)) <= set(given):
        return short
    return f"{short} (these four also as {', '.join(COMPRESSED[:-1])} or {COMPRESSED[-1]})"
