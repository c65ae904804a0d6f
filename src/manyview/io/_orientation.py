"""Orientation of tables: samples in rows, or features in rows as in tables of GEO, TCGA and 10x.

A table is transposed automatically only if its names are unambiguous: names of samples in the first line, or names of
features in the first column. Ambiguous tables are an error, which asks for ``transpose``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from manyview._utils.text import plain_key
from manyview.exceptions import FileFormatError
from manyview.io._common import Options, Part, text_array
from manyview.io._ids import id_candidates, key_numbers, loosened, share_in_common
from manyview.io._table_files import Table, is_numeric, numbers_in
from manyview.views.suspects import LABEL_COLUMNS

_LARGELY = 0.5  # share of the smaller set of names that the larger one contains
_MOST = 0.8  # share of the names that match a pattern
_LOOKED_AT = 2000  # names compared with patterns
_FEWEST = 3  # rows and columns for which names are evidence

_BARCODE = re.compile(
    r"[ACGTN]{4,}[-._]\d+|[ACGT]{8,}|\w*[ACGT]{12,}[-._]?\d*"  # 10x
    r"|TCGA[-._]\w{2}[-._]\w{4}.*|GTEX[-._]\w+.*|TARGET[-._]\d+[-._]\w+.*|GSM\d+.*|[SED]RR\d+|SAM[NED]A?\d+",
    re.ASCII,
)
_SAMPLE = re.compile(
    r"(sample|patient|subject|participant|donor|case|control|tumou?r|normal|cell|mouse|animal|specimen|indiv\w*|s|p|pt"
    r"|id)[ ._-]?\d+",
    re.ASCII | re.IGNORECASE,
)
_FEATURE = re.compile(
    r"ENS[A-Z]*[GTP]\d{6,}(\.\d+)?(_.*)?"  # Ensembl
    r"|[a-z]{3}-(mir|let|lin)-.*|MIMAT\d+|MI\d{7}"  # miRBase
    r"|cg\d{6,}|ch\.\d+\..*|rs\d{3,}"  # methylation arrays, SNPs
    r"|\d+(_[a-z])?_at|AFFX-.*|ILMN_\d+|A_\d+_P\d+"  # probes of expression arrays
    r"|chr[\dXYM]+[:_-]\d+[-_]\d+|LOC\d+|[NX][MR]_\d+(\.\d+)?|LINC\d+"
    r"|(gene|probe|feature|protein|peptide|metabolite|mirna|mir|cpg|peak|transcript|antibody|adt)[ ._-]?\d+",
    re.ASCII | re.IGNORECASE,
)
_SYMBOL = re.compile(r"[A-Z][A-Za-z0-9]{0,11}([-._][A-Za-z0-9]{1,6})?([|:]\S+)?", re.ASCII)  # HUGO, MGI
_FEATURE_COLUMNS = frozenset(
    {
        *("gene", "genes", "geneid", "genename", "genesymbol", "symbol", "hugosymbol", "hugo", "ensembl", "ensemblid"),
        *("ensemblgeneid", "entrez", "entrezid", "entrezgeneid", "probe", "probes", "probeid", "probesetid", "idref"),
        *("feature", "features", "featureid", "featurename", "mirna", "mirnaid", "protein", "proteinid", "antibody"),
        *("cpg", "peak", "transcript", "transcriptid", "metabolite", "compositeelementref"),
    }
)


def orient(
    parts: Sequence[Part], options: Options, labels: Table | None, view_names: Sequence[str]
) -> tuple[list[Part], tuple[str, ...]]:
    """Transpose the files with features in rows; return all, and the names of the transposed files.

    Parameters
    ----------
    parts : sequence of Part
        The files with views.
    options : Options
        ``transpose`` is the argument of the caller: True, False, names of files or views, or None.
    labels : Table, optional
        The file of classes: its ids are names of samples.
    view_names : sequence of str
        Name of the view of each file.
    """
    given = options.transpose
    if given is True:
        turned = list(range(len(parts)))
    elif given is None:
        turned = _recognise([part.table for part in parts], options, labels)
        turned += [i for i, part in enumerate(parts) if part.table is not None and part.table.features_in_rows]
        turned = sorted(set(turned))
    else:
        turned = _named(given, parts, view_names) if given else []
    oriented = [_transposed(part) if i in turned else part for i, part in enumerate(parts)]
    return oriented, tuple(Path(parts[i].source).name for i in turned)


def _named(given: Sequence[str], parts: Sequence[Part], view_names: Sequence[str]) -> list[int]:
    """Return the indices of the files that the caller named, by path, file name or view name."""
    found = []
    for name in given:
        same = [
            i
            for i, part in enumerate(parts)
            if name in (part.source, Path(part.source).name, view_names[i]) or Path(name) == Path(part.source)
        ]
        if not same:
            raise ValueError(
                f"transpose: {name!r} is none of the files, which are {', '.join(part.source for part in parts)}. To "
                "transpose all of them, pass transpose=True behind their names."
            )
        found += same
    return sorted(set(found))


class _Names:
    """The names in the first line and in the first column of a table, where both are text."""

    def __init__(self, table: Table) -> None:
        self.table = table
        barcodes = _share(_BARCODE, table.names[1:]) >= _MOST  # then numbers in the first column are names
        start = _first_sample(table) or (_counted_features(table) if barcodes else 0)
        self.header = table.names[start:]
        few = len(self.header) < _FEWEST  # then the names of the rows are not needed
        self.rows = [] if few or not start else [str(one) for one in table.frame[0]]
        self.row_keys, self.header_keys = (key_numbers(map(loosened, _texts(own))) for own in (self.rows, self.header))

    @property
    def can_tell(self) -> bool:
        """Return whether there are enough names in both the first line and the first column."""
        return min(len(self.rows), len(self.header_keys)) >= _FEWEST

    @property
    def has_feature_rows(self) -> bool:
        """Return whether the first column holds features, by its name or by most of its values."""
        return plain_key(self.table.names[0]) in _FEATURE_COLUMNS or _share(_FEATURE, self.rows) >= _LARGELY

    @property
    def is_transposed(self) -> bool:
        """Return whether features are in rows, by the patterns of the names alone."""
        if not self.can_tell or self.has_sample_rows:
            return False
        symbols = _share(_FEATURE, self.rows) + _share(_SYMBOL, self.rows, but=(_BARCODE, _SAMPLE, _FEATURE))
        has_features = self.has_feature_rows or symbols >= _MOST
        return _share(_BARCODE, self.header) >= _MOST or (has_features and self.has_sample_header)

    @property
    def has_sample_rows(self) -> bool:
        """Return whether most names in the first column look like samples."""
        return _share(_BARCODE, self.rows) + _share(_SAMPLE, self.rows, but=(_BARCODE,)) >= _LARGELY

    @property
    def has_sample_header(self) -> bool:
        """Return whether most names in the first line look like samples."""
        return _share(_BARCODE, self.header) + _share(_SAMPLE, self.header, but=(_BARCODE,)) >= _LARGELY


def _recognise(tables: Sequence[Table | None], options: Options, labels: Table | None) -> list[int]:
    names = {i: _Names(table) for i, table in enumerate(tables) if table is not None and _may_be(table, options)}
    names = {i: own for i, own in names.items() if own.can_tell}
    classes = [] if labels is None else [one.texts for one in id_candidates(labels, options.label_column)]
    samples = [key_numbers(map(loosened, own)) for own in classes]  # known names of samples
    turned: dict[int, bool] = {}
    waiting = dict(names)
    for i, own in names.items():
        if own.has_sample_rows and not own.has_sample_header:
            turned[i] = False
            samples.append(waiting.pop(i).row_keys)
    while True:
        before = len(waiting)
        for i in list(waiting):
            own = waiting[i]
            in_rows = any(_alike(own.row_keys, known) for known in samples)
            in_header = any(_alike(own.header_keys, known) for known in samples)
            if in_rows != in_header:
                turned[i] = in_header
                samples.append(waiting.pop(i).header_keys if in_header else own.row_keys)
        if len(waiting) == before:
            looks = next((i for i, own in waiting.items() if own.is_transposed), None)
            if looks is None:
                break
            turned[looks] = True
            samples.append(waiting.pop(looks).header_keys)
    turned |= _compared(waiting)
    return [i for i, is_turned in turned.items() if is_turned]


def _compared(waiting: dict[int, _Names]) -> dict[int, bool]:
    """Decide by names that recur in several files, where no name looks like a sample."""
    turned: dict[int, bool] = {}
    for i, own in waiting.items():
        others = [other for j, other in waiting.items() if j != i]
        rows_recur = any(_alike(own.row_keys, other.row_keys) for other in others)
        header_is_rows = any(_alike(own.header_keys, other.row_keys) for other in others)
        rows_are_header = any(_alike(own.row_keys, other.header_keys) for other in others)
        header_recurs = any(_alike(own.header_keys, other.header_keys) for other in others)
        turned[i] = header_is_rows and not rows_are_header and not rows_recur and not header_recurs
        path = own.table.path
        if header_recurs and not rows_recur:
            raise FileFormatError(
                f"{path}: the names in its first line ({_some(own.header)}) recur in another file, those in its first "
                f"column ({_some(own.rows)}) do not. Are the samples in its columns? Pass transpose=True if features "
                "are in rows, transpose=False if samples are."
            )
        if own.has_feature_rows and not turned[i]:
            raise FileFormatError(
                f"{path}: its first column, {own.table.names[0]!r}, looks like names of features ({_some(own.rows)}), "
                "as if features were in rows. Pass transpose=True if they are (transpose= with the name of the file if "
                "only one is so), transpose=False if each row is a sample."
            )
    return turned


def _may_be(table: Table, options: Options) -> bool:
    """Return whether neither the caller nor names of columns imply that samples are in rows."""
    named = [*(options.id_column or ()), *([options.label_column] if options.label_column else [])]
    return not any(name in named or plain_key(name) in LABEL_COLUMNS for name in table.names)


def _alike(one: np.ndarray, other: np.ndarray) -> bool:
    return min(len(one), len(other)) > 0 and share_in_common(one, other) >= _LARGELY


def _texts(names: Iterable[str]) -> list[str]:
    """Return the names that are not numbers: numbered columns are no evidence."""
    return [name for name in names if not name.replace(".", "", 1).isdecimal()]


def _share(pattern: re.Pattern[str], names: Sequence[str], but: Sequence[re.Pattern[str]] = ()) -> float:
    looked_at = names[:_LOOKED_AT]
    fits = sum(
        pattern.fullmatch(name) is not None and not any(other.fullmatch(name) for other in but) for name in looked_at
    )
    return fits / max(len(looked_at), 1)


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:2]) + (", ..." if len(names) > 2 else "")


def _first_sample(table: Table) -> int:
    """Return the number of leading text columns: names and descriptions of the features."""
    columns = (at for at in range(len(table.names)) if is_numeric(numbers_in(table.frame[at])))
    return next(columns, len(table.names))


def _transposed(part: Part) -> Part:
    if part.table is None:
        arrays = tuple(array.T if isinstance(array, np.ndarray) else array.T.tocsr() for array in part.arrays)
        return replace(part, arrays=arrays)
    table = part.table
    start = _first_sample(table) or _counted_features(table)
    values = _columns(table, start)
    return replace(
        part,
        arrays=(values.T,),
        names=(table.path.stem,),
        ids=_header_ids(table, start),
        columns=tuple(table.names),
        feature_names=tuple(str(one) for one in table.frame[0]) if start else None,
        table=None,
    )


def _counted_features(table: Table) -> int:
    """Return 1 if the first column holds numeric names, such as Entrez ids; else 0."""
    return int(any(column.at == 0 for column in id_candidates(table, None)))


def _columns(table: Table, start: int) -> np.ndarray:
    columns = [numbers_in(table.frame[at]) for at in range(start, len(table.names))]
    text = [table.names[start + at] for at, values in enumerate(columns) if not is_numeric(values)]
    if text or not columns:
        found = f"column {text[0]!r} holds text" if text else "there are no numbers"
        raise FileFormatError(
            f"{table.path}: with features in rows, each column but the first is a sample and holds numbers, but "
            f"{found}. Remove it, or leave out transpose=True if samples are in rows."
        )
    return np.column_stack([_as_numpy(values) for values in columns])


def _as_numpy(values: Any) -> np.ndarray:
    if isinstance(values.dtype, np.dtype):
        return np.asarray(values)
    return np.asarray(values.to_numpy(dtype=float, na_value=np.nan))


def _header_ids(table: Table, start: int) -> np.ndarray:
    names = table.names[start:]
    repeated = next((name for name in names if names.count(name) > 1), None) if len(set(names)) < len(names) else None
    if repeated is not None:
        raise FileFormatError(
            f"{table.path}: with features in rows, the first line names the samples, but {repeated!r} occurs "
            f"{names.count(repeated)} times in it. Every sample needs a name of its own."
        )
    return text_array(names, table.path)
