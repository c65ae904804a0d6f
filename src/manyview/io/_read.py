"""`read_views`: from files to `Views`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pandas

from manyview._utils.formats import (
    extension_of,
    name_without_extension,
    split_sheet,
)
from manyview._utils.machine import physical_memory
from manyview.exceptions import ClassColumnWarning, FileFormatError, OrientationWarning, warn_user
from manyview.io._annotations import (
    LabelSource,
    LabelsPath,
    annotate,
    check_order,
    match_metadata,
    side_by_side,
)
from manyview.io._common import Options, Part
from manyview.io._files import LABEL_READERS, METADATA_READERS, READERS, files_to_read, read_file
from manyview.io._ids import key_numbers, loosened
from manyview.io._impute import IMPUTE, described, fill_cells
from manyview.io._join import agreed_labels, joined, loosen, matched_by
from manyview.io._orientation import orient
from manyview.io._selection import constant_columns, distinct, select_columns
from manyview.io._sheets import sheet_names
from manyview.io._table_columns import read_table_labels, settle
from manyview.io._table_files import Table, load_table
from manyview.views import Reading, Views
from manyview.views.container import default_names
from manyview.views.suspects import class_column


def read_views(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | Mapping[str, str | os.PathLike[str]],
    *,
    views_key: str | Sequence[str] | None = None,
    labels_key: str | None = None,
    names: Sequence[str] | None = None,
    id_column: str | Sequence[str] | Literal[False] | None = None,
    label_column: str | None = None,
    labels: LabelsPath | Sequence[LabelsPath] | None = None,
    metadata: LabelsPath | Sequence[LabelsPath] | None = None,
    header: bool | None = None,
    join: Literal["exact", "inner", "outer"] = "exact",
    match_ids: Literal["exact", "loose"] = "exact",
    transpose: bool | str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    drop: str | Sequence[str] = (),
    only: str | Sequence[str] = (),
    one_hot: str | Sequence[str] = (),
    impute: Literal["median", "mean", "most_frequent", "knn", "zero"] | None = None,
    decimal: Literal[".", ","] | None = None,
    encoding: str | None = None,
    max_bytes: int | None = None,
) -> Views:
    """Read views, and labels and sample ids where there are any, from one file or from several.

    Values are unchanged unless ``impute`` or ``one_hot`` say otherwise: types are kept and missing values are NaN, for
    :func:`manyview.check_views` to check. ``views.reading`` says what was skipped, left out or filled in. Nothing is
    ever unpickled.

    Parameters
    ----------
    path : path, sequence of paths, or mapping of name to path
        One file that holds all views (``.mat`` of any version, ``.npz``, ``.h5mu``) or one view; several files with
        one view each, of any formats (also ``.npy``, ``.mtx``, ``.mtx.gz``, ``.parquet``, ``.xlsx``, ``.h5ad``, ``.h5``
        of 10x, ``.gct``, ``.csv``, ``.tsv``, ``.tab``, ``.txt``, the last four also as ``.gz``, ``.bz2``, ``.xz`` or
        ``.zst``); a folder with ``matrix.mtx``, ``barcodes.tsv`` and ``features.tsv`` of 10x; or any other folder: all
        files of these formats in it, sorted by name. ``"omics.xlsx:RNA"`` is one sheet of a workbook. In a folder,
        hidden files and texts such as ``README.txt`` are left out, and a file called ``labels``, ``truth``, ``y`` or
        the like is taken as ``labels``. Columns of text may be separated by tabs, commas or semicolons, in a ``.txt``
        also by spaces.
    views_key : str or sequence of str, optional
        In ``.h5ad``: ``X`` (default), entries of layers and of obsm, such as ``"obsm/X_pca"``; in ``.h5mu``: modalities
        (default: all), or matrices of them, such as ``"rna/layers/counts"``.
        In ``.mat`` and ``.npz``: the variable(s) with the views. By default, in ``.mat``, a cell of matrices
        (usual names such as ``X``, ``data`` or ``fea`` come first), else numbered matrices (``X1``, ``X2``,
        ...), else one matrix with a usual name; in ``.npz`` all 2-D arrays of numbers. Two that are equally
        plausible are an error.
    labels_key : str, optional
        In ``.mat`` and ``.npz``: the variable with the labels. By default one called ``y``, ``gt``, ``gnd``,
        ``truth``, ``label`` or the like, in upper or lower case: a row or a column, a cell, or a one-hot
        matrix.
    names : sequence of str, optional
        Names of the views. Default: the keys of the mapping, the names of the files without extension,
        the names of the variables in the file, or ``view0``, ``view1``, ... for the elements of a cell.
    id_column : str, sequence of str, or False, optional
        In tables: the column with the sample ids; several names if files call it differently. False: there are no
        ids, row i is the same sample in every file. By default a column of texts that differ from row to row, or one
        of whole numbers that all files have under the same name with largely the same values. Other columns of
        distinct whole numbers that stand first, are named like ids, count the rows or recur in other files may be
        ids or features: these are an error, which asks for ``id_column``.
    label_column : str, optional
        In tables, and in ``obs`` of ``.h5ad`` and ``.h5mu``: the column with the classes. By default one called
        ``label``, ``class`` or ``ground_truth``. All of ``obs`` is in ``metadata``.
    labels : path, or sequence of paths, optional
        A file with the classes (a table or ``.npy`` as above, or ``.txt`` with one class per line), used instead of
        labels found elsewhere. ``"clinical.csv:subtype"`` names a column of it, ``"clinical.csv:subtype@barcode"``
        also the column with the ids, if it is called otherwise than in the views. Of several, the first are the
        ``labels``, and all are in ``metadata``. Labels annotate the samples of the views and neither add nor drop
        any: those without one have the label None, and what is known of other samples is left out. Where neither the
        views nor the labels have ids, they are matched by position, and there must be equally many.
    metadata : path, or sequence of paths, optional
        Tables of other facts about the samples, such as clinical data, for ``metadata``; they never take part in
        clustering. All columns, or those of ``"clinical.csv:age,stage"``; ``"clinical.csv@barcode"`` names the column
        with the ids. Rows are matched by ids if the views have some. Samples without a row have missing values, and
        ``views.reading`` says how many there are; rows of other samples are left out.
    header : bool, optional
        Whether tables of text begin with the names of the columns. By default they do; only a first line
        of numbers (other than 0, 1, 2, ...) is an error, because it could also be a sample.
    join : {"exact", "inner", "outer"}
        If all files have ids, samples are joined on them, in the order of the first file. ``"exact"``: every
        file must have the same ids. ``"inner"``: keep the samples that are in all files. ``"outer"``: keep those
        that are in some file with a view, new ones after those of the files before; ``present`` says which views
        each has. If no file has ids, rows are matched by position, and there must be equally many;
        ``views.reading.matched_by`` says which of the two was done.
    match_ids : {"exact", "loose"}
        Whether ids that differ only in ``.``, ``_`` and ``-``, in case or in a ``-1`` at the end, such as the barcodes
        ``AAAC.1`` and ``aaac-1``, are the same. They are never matched without it.
    transpose : bool, or name(s) of files or views, optional
        Whether features are in rows, as in tables of GEO, TCGA and 10x: True for all files, or those that are. By
        default, this is recognised by names where these leave no doubt, with an ``OrientationWarning``: names of
        samples in other files or in that of ``labels`` stand in the first line, or features such as genes in the first
        column and samples in the first line. Where they leave some, it is an error. False: samples are in rows.
    drop : str or sequence of str, optional
        Columns to leave out, by name or pattern (``"batch"``, ``"qc_*"``); with features in rows, the rows.
    only : str or sequence of str, optional
        The features to keep, by name or pattern; ids and classes are kept in any case.
    one_hot : str or sequence of str, optional
        Columns of categories in tables, by name or pattern: each of their values becomes a column of 0 and 1, such as
        ``batch=A``.
    impute : {"median", "mean", "most_frequent", "knn", "zero"}, optional
        How single missing cells are filled in, by scikit-learn's imputers: by their column, or from the five nearest
        samples (knn), among the samples that are read. A row that is wholly empty is a missing view of that sample and
        stays one. Infinite values are not missing.
    decimal : {".", ","}, optional
        The decimal mark of tables of text; the other one then separates thousands. By default it is recognised, column
        by column, where numbers such as ``1,5`` or ``1,234.5`` leave no doubt.
    encoding : str, optional
        The encoding of tables of text. Default: UTF-8, or UTF-16 where the file says so.
    max_bytes : int, optional
        Files that would take more memory, after decompression, are refused before it is allocated.
        Default: the memory of the machine.

    Returns
    -------
    Views
        With samples in the rows. Views stored as features x samples are recognised by the number of labels
        or, without labels, by the side that all views have in common, and transposed. Sparse views stay
        sparse (CSR). Sample ids are text.

    Raises
    ------
    FileFormatError
        If a file is damaged, foreign or ambiguous; with its name and what was found in it.
    FileNotFoundError
        If there is no such file; with the names of similar ones.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from manyview.io import read_views
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "flowers.npz")
    ...     np.savez(file, colour=np.ones((4, 3)), texture=np.ones((4, 8)), y=[0, 0, 1, 1])
    ...     read_views(file)
    Views(4 samples; colour: 3, texture: 8; 2 classes)
    """
    if join not in ("exact", "inner", "outer"):
        raise ValueError(f"join: expected 'exact', 'inner' or 'outer', got {join!r}.")
    if match_ids not in ("exact", "loose"):
        raise ValueError(f"match_ids: expected 'exact' or 'loose', got {match_ids!r}.")
    if impute not in (None, *IMPUTE):
        raise ValueError(f"impute: expected one of {', '.join(IMPUTE)}, got {impute!r}.")
    if decimal not in (None, ".", ","):
        raise ValueError(f"decimal: expected '.' or ',', got {decimal!r}.")
    options = Options(
        drop=_patterns("drop", drop),
        only=_patterns("only", only),
        one_hot=_patterns("one_hot", one_hot),
        decimal=decimal,
        encoding=_checked_encoding(encoding),
        views_key=views_key if views_key is None or isinstance(views_key, str) else tuple(views_key),
        labels_key=labels_key,
        id_column=_id_names(id_column),
        label_column=label_column,
        header=header,
        transpose=_transpose(transpose),
        max_bytes=physical_memory() if max_bytes is None else max_bytes,
    )
    facts = _sources(metadata, "metadata")
    files, file_names, sources = files_to_read(path, _sources(labels, "labels"), facts)
    # A column named as a label is not a feature. Columns without names are called by their numbers.
    named = (source.columns(())[0] for source in sources if source.chosen.startswith(":"))
    left_out = frozenset(name for name in named if name and not name.isdecimal()) | _named_facts(files, facts)
    options = replace(options, left_out=left_out)
    sources, facts = ([_with_sheet(source, options) for source in each] for each in (sources, facts))
    by_file = [read_file(file, READERS, options) for file in files]
    file_names = _names_of_parts(by_file, file_names)
    parts = [part for own in by_file for part in own]
    del by_file  # so that tables are freed once their numbers are extracted
    labels_table = _labels_table(sources or facts, options)
    parts, transposed = orient(
        parts, options, labels_table, file_names or [name_without_extension(Path(part.source)) for part in parts]
    )
    if transposed and transpose is None:
        warn_user(
            f"features were in rows: transposed {', '.join(transposed)}. Pass transpose=False if each row is a sample.",
            OrientationWarning,
        )
    parts, selected = select_columns(parts, options)
    parts = [_with_distinct_names(part) for part in settle(parts, options, labels_table)]
    if sources or facts:
        options = replace(options, known_ids=_known_ids(parts))
    annotations = [_read_labels(source, options) for source in sources]
    tables = [read_file(each.path, METADATA_READERS, replace(options, chosen=each.chosen))[0] for each in facts]
    check_order(annotations, parts)
    if not sources and label_column is not None and all(part.labels is None for part in parts):
        found = "; ".join(f"{part.source}: {', '.join(part.columns[:8]) or 'no table'}" for part in parts)
        raise FileFormatError(f"no file has a column {label_column!r} (label_column). Columns found: {found}.")
    how = matched_by([*parts, *annotations])
    loosely = ", loosely" if match_ids == "loose" and how not in (None, "position") else ""
    notes = [*dict.fromkeys(note for part in [*parts, *annotations, *tables] for note in part.notes), *selected]
    written: dict[str, str] = {}
    if match_ids == "loose":
        loose, written = loosen([*parts, *annotations, *tables])
        n_views, n_labels = len(parts), len(annotations)
        parts, annotations, tables = loose[:n_views], loose[n_views:][:n_labels], loose[n_views + n_labels :]
    parts, ids = joined(parts, join)
    arrays = tuple(array for part in parts for array in part.arrays)
    known, frame, without = agreed_labels(parts) if not sources else None, None, 0
    matching = {"ids": ids, "n_samples": arrays[0].shape[0], "by_position": id_column is False}
    if sources:
        known, frame = annotate(annotations, **matching)
    if tables:
        more, without = match_metadata(tables, **matching)
        frame = (
            more
            if frame is None
            else side_by_side([("labels", _not_in(frame, sources, facts, more)), ("metadata", more)])
        )
    frame = _with_metadata(frame, parts, ids, match_ids)
    if written and ids is not None:
        ids = np.array([written[id_] for id_ in ids.tolist()])
        frame = None if frame is None else frame.set_axis(ids)
    view_names = tuple(names) if names is not None else _view_names(parts, file_names)
    features = tuple(part.feature_names for part in parts for _ in part.arrays)
    present, files_of_views = _present(parts), tuple(part.source for part in parts for _ in part.arrays)
    filled: dict[str, int] = {}
    if impute is not None:
        arrays, counts = fill_cells(
            arrays, impute, places=files_of_views, features=features, samples=ids, present=present
        )
        own_names = view_names or default_names(len(arrays))
        filled = {name: count for name, count in zip(own_names, counts, strict=True) if count}
        notes.append(described(impute, own_names, counts))
    return Views(
        arrays=arrays,
        names=view_names,
        sample_ids=ids,
        labels=known,
        present=present,
        feature_names=features,
        metadata=frame,
        reading=Reading(
            matched_by=None if how is None else how + loosely,
            transposed=transposed,
            without_metadata=without,
            id_columns=tuple(dict.fromkeys(part.id_name for part in parts if part.id_name)),
            notes=tuple(filter(None, notes)),
            filled=filled,
            sources=files_of_views,
        ),
    )


def _patterns(argument: str, given: object) -> tuple[str, ...]:
    patterns = (given,) if isinstance(given, str) else given
    if not isinstance(patterns, Sequence) or not all(isinstance(one, str) for one in patterns):
        raise TypeError(f"{argument}: expected a name of a column, or several, got {given!r}.")
    return tuple(patterns)


def _checked_encoding(encoding: str | None) -> str | None:
    try:
        if encoding is not None:
            "".encode(encoding)
    except LookupError:
        raise ValueError(f"encoding: there is no encoding of texts {encoding!r}, such as 'cp1252'.") from None
    return encoding


def _with_distinct_names(part: Part) -> Part:
    """Make the names of features distinct, and note which do not distinguish samples, and which do so too well."""
    if part.feature_names is None:
        return part
    names, note = distinct(part.source, part.feature_names)
    found, suspicious = class_column(names, part.arrays[0]), ""
    if found is not None:
        name, what = found
        suspicious = (
            f"{part.source}: {what}. If so, leave it out with drop={name!r}, or compare the clusters with it by "
            f"label_column={name!r}"
        )
        warn_user(f"{suspicious}.", ClassColumnWarning)
    notes = (note, constant_columns(part.source, names, part.arrays[0]), suspicious)
    return replace(part, feature_names=names, notes=(*part.notes, *filter(None, notes)))


def _id_names(id_column: object) -> tuple[str, ...] | Literal[False] | None:
    if id_column is None or id_column is False:
        return id_column
    if isinstance(id_column, str):
        return (id_column,)
    if not isinstance(id_column, Sequence) or not all(isinstance(name, str) for name in id_column):
        raise TypeError(f"id_column: expected a name, several names, False or None, got {id_column!r}.")
    return tuple(id_column) or None


def _transpose(transpose: object) -> tuple[str, ...] | bool | None:
    if transpose is None or isinstance(transpose, bool):
        return transpose
    if isinstance(transpose, str | os.PathLike):
        return (str(transpose),)
    if not isinstance(transpose, Sequence):
        raise TypeError(f"transpose: expected True, False, or names of files, got {transpose!r}.")
    return tuple(map(str, transpose))


def _labels_table(sources: Sequence[LabelSource], options: Options) -> Table | None:
    """Return the first file of labels, if it is a table, to find values of the views in it."""
    path = sources[0].path if sources else None
    extension = None if path is None else extension_of(path, LABEL_READERS)
    file = None if path is None else split_sheet(path)[0]
    if path is None or extension is None or LABEL_READERS[extension] is not read_table_labels:
        return None
    return load_table(path, options) if file is not None and file.is_file() and file.stat().st_size else None


def _known_ids(parts: Sequence[Part]) -> np.ndarray | None:
    """Return the sorted hashes of the ids of the first file that has some."""
    ids = next((part.ids for part in parts if part.ids is not None), None)
    return None if ids is None else key_numbers(ids.tolist())


def _sources(given: LabelsPath | Sequence[LabelsPath] | None, argument: str) -> list[LabelSource]:
    several = [] if given is None else [given] if isinstance(given, str | os.PathLike) else list(given)
    return [LabelSource.parse(one, argument) for one in several]


def _named_facts(files: Sequence[Path], facts: Sequence[LabelSource]) -> frozenset[str]:
    """Return the columns of metadata in files with views, which are no features then."""
    found: set[str] = set()
    for source in facts:
        if source.path.resolve() in {file.resolve() for file in files}:
            columns, _ = source.several(())
            if columns is None:
                raise FileFormatError(
                    f"{source.path}: is both a file of views and metadata. Leave it out of one of them, or name its "
                    f"columns of metadata, which are no features then: metadata='{source.path}:COLUMN,COLUMN'."
                )
            found.update(columns)
    return frozenset(found)


def _not_in(
    frame: pandas.DataFrame, sources: Sequence[LabelSource], facts: Sequence[LabelSource], more: pandas.DataFrame
) -> pandas.DataFrame:
    """Return the labels without those that are columns of the metadata of the same file."""
    tables = {source.path.resolve() for source in facts}
    same = [
        name
        for name, source in zip(frame.columns, sources, strict=True)
        if source.path.resolve() in tables and name in more.columns
    ]
    return frame.drop(columns=same)


def _with_sheet(source: LabelSource, options: Options) -> LabelSource:
    """Move the sheet of ``FILE.xlsx:SHEET:COLUMN`` from the column to the file, if the workbook has such a sheet."""
    if extension_of(source.path) != ".xlsx" or not source.chosen.startswith(":") or not source.path.is_file():
        return source
    sheet, _, column = source.chosen[1:].partition(":")
    if sheet not in sheet_names(source.path, options.max_bytes):
        return source
    return LabelSource(Path(f"{source.path}:{sheet}"), column and f":{column}")


def _with_metadata(
    metadata: pandas.DataFrame | None, parts: Sequence[Part], ids: np.ndarray | None, match_ids: str
) -> pandas.DataFrame | None:
    """Add what files such as ``.h5ad`` tell about the samples to the labels."""
    for part in parts:
        if part.metadata is None or not len(part.metadata.columns):
            continue
        frame = part.metadata
        if ids is not None:
            frame = frame.set_axis(frame.index.map(loosened)) if match_ids == "loose" else frame
            frame = frame.reindex(ids)
        known = pandas.DataFrame(index=frame.index) if metadata is None else metadata
        new = [column for column in frame if column not in known]
        metadata = pandas.concat([known, frame[new].set_axis(known.index)], axis=1)
    return metadata


def _read_labels(source: LabelSource, options: Options) -> Part:
    """Read one column of labels."""
    extension = extension_of(source.path, LABEL_READERS)
    if source.chosen and extension is not None and LABEL_READERS[extension] is not read_table_labels:
        raise FileFormatError(
            f"{source.path}: has no columns with names, so {source.chosen!r} cannot be one. Pass the file alone."
        )
    return read_file(source.path, LABEL_READERS, replace(options, chosen=source.chosen))[0]


def read_labels(
    labels: LabelsPath,
    views: Views,
    *,
    id_column: str | Sequence[str] | Literal[False] | None = None,
    header: bool | None = None,
    match_ids: str = "exact",
) -> np.ndarray:
    """Return labels of a file for the samples of views that were read already, None for samples without one.

    Parameters
    ----------
    labels : path
        As for :func:`read_views`: ``FILE``, ``FILE:COLUMN`` or ``FILE:COLUMN@ID``.
    views : Views
        With the ids of the samples, if they have some.
    id_column, header, match_ids
        As for :func:`read_views`.
    """
    ids = views.sample_ids
    known = None if ids is None else key_numbers(ids.tolist())
    options = Options(id_column=_id_names(id_column), header=header, max_bytes=physical_memory(), known_ids=known)
    part = _read_labels(LabelSource.parse(labels), options)
    if match_ids == "loose" and ids is not None:
        (part, own), _ = loosen([part, Part("views", ids=ids)])
        ids = own.ids
    return annotate([part], ids, views.n_samples, by_position=id_column is False)[0]


def _names_of_parts(by_file: Sequence[Sequence[Part]], file_names: Sequence[str] | None) -> list[str] | None:
    """Return the names of the views of several files: those of the files, or of the modalities of a file."""
    if file_names is None and len(by_file[0]) == 1:
        return None
    if file_names is None:
        return [part.names[0] for part in by_file[0]]
    names = []
    for own, name in zip(by_file, file_names, strict=True):
        names += [name] if len(own) == 1 else [part.names[0] for part in own]
    return names


def _view_names(parts: Sequence[Part], file_names: Sequence[str] | None) -> tuple[str, ...]:
    if file_names is None:
        return parts[0].names
    with_views = [part for part in parts if part.arrays]
    for part in with_views:
        if len(part.arrays) > 1:
            raise FileFormatError(
                f"{part.source}: holds {len(part.arrays)} views; of several files, each must hold one. "
                "Read it alone, or pass views_key=."
            )
    for i, name in enumerate(file_names):
        if name in file_names[:i]:
            sources = f"{with_views[file_names.index(name)].source} and {with_views[i].source}"
            raise FileFormatError(f"{sources}: both views would be called {name!r}. Pass names=, or leave one out.")
    return tuple(file_names)


def _present(parts: Sequence[Part]) -> np.ndarray | None:
    """Return which samples have which views after an outer join, one column per view."""
    columns = [part.present for part in parts for _ in part.arrays if part.present is not None]
    return np.column_stack(columns) if columns else None
