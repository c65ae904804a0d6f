"""Files of new samples: read as those of the fit were, and assigned to the views of a model by name, never by position.

The view of a file follows from the names of its features, or from ``--names``. The variables of a file with several
views have names themselves. What fits no view, or more than one, is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import typer

from manyview._utils.formats import extension_of, name_without_extension, uncompressed
from manyview._utils.machine import physical_memory
from manyview.cli._options import ALL_FILES, MatchIds, Source
from manyview.cluster._saving import Origin
from manyview.exceptions import FileFormatError, ModelFileError, ViewsError
from manyview.io._common import Options
from manyview.io._impute import IMPUTE, fill_as_in_fit, missing_cells, values_of_fit
from manyview.io._table_files import LOADERS, load_table
from manyview.views import Views
from manyview.views.container import default_names
from manyview.views.new_samples import check_same_features, listed
from manyview.views.wide import cut_table

# Options of the fit that hold for new files as well, unless other ones are typed.
_KEPT = ("id_column", "no_id", "label_column", "header", "match_ids", "drop", "only", "one_hot")
_FILLED = "median"  # how cells can be filled in if the fit had none to fill in
_LARGELY = 0.5  # share of the features of a view by which a file is recognised as transposed


@dataclass(frozen=True)
class Known:
    """The views that a model was fitted to: numbers and names of their features, and how their files were read."""

    file: Path
    n_features: Mapping[str, int]
    features: Mapping[str, tuple[str, ...] | None]
    origin: Origin

    @classmethod
    def of(cls, model: Any, file: Path) -> Known:
        """Return the views of a loaded model."""
        views, features = model._model.views, getattr(model, "feature_names_in_", {})
        sizes = dict(zip(views.names, views.n_features, strict=True))
        named = {name: features.get(name) for name in sizes}
        origin = getattr(model, "_origin", Origin())
        if origin.cluster_names is not None and len(origin.cluster_names) != model.n_clusters_:
            raise ModelFileError(f"{file}: has {len(origin.cluster_names)} names for {model.n_clusters_} clusters.")
        return cls(file, sizes, named, origin)

    @property
    def in_words(self) -> str:
        """The views with their first features, for errors."""
        return "; ".join(
            f"{name} ({self.n_features[name]:,} features{f': {listed(own)}' if own else ''})"
            for name, own in self.features.items()
        )


def origin_of(source: Source, views: Views) -> Origin:
    """Return how the files of a fit were read, as far as it holds for new files."""
    reading = {name: getattr(source, name) for name in _KEPT if getattr(source, name) not in (None, False, "exact")}
    if source.header is False:
        reading["header"] = False
    if "id_column" not in reading and not source.no_id and views.reading is not None and views.reading.id_columns:
        reading["id_column"] = list(views.reading.id_columns)
    if "match_ids" in reading:
        reading["match_ids"] = str(source.match_ids)
    if source.impute is not None:
        reading["impute"] = str(source.impute)
    values = {} if source.in_shards else values_of_fit(views, reading.get("impute", _FILLED))
    return Origin(reading, tuple(_transposed_views(source, views)), values=values)


def _transposed_views(source: Source, views: Views) -> list[str]:
    turned = [] if views.reading is None else list(views.reading.transposed)
    if len(source.files) == 1 and views.n_views > 1 and not source.files[0].is_dir():
        return list(views.names) if turned else []
    files = source.files if len(source.files) == views.n_views else [None] * views.n_views
    return [
        name
        for name, file in zip(views.names, files, strict=True)
        if (file is not None and file.name in turned) or name in [name_without_extension(Path(one)) for one in turned]
    ]


def read_new(source: Source, known: Known) -> Views:
    """Read the files of new samples; the views have the names of those of the model that they belong to.

    Files are read with the options of the fit first, then as typed, which is right where new files look different.
    If the features then fit no view, files with features in rows are found by the names in their first columns.
    Missing cells are filled in with values of the fit, as new samples may be few: if the fit filled in some, or if it
    is asked for.

    Raises
    ------
    FileFormatError, ViewsError, typer.BadParameter
        If a file cannot be read, or its view is not clear; the message names the file and what to do.
    """
    how = _how_to_fill(source, known)
    views = _read(replace(source, impute=None), known)
    return views if how is None else _fill(views, how, known)


def _read(source: Source, known: Known) -> Views:
    """Read the files of new samples as they are, with the names of the views of the model."""
    names = _parse_names(source, known)
    error: Exception | None = None
    was_turned = False
    for attempt in _attempts(source, known, names):
        try:
            views = attempt.read()
        except FileFormatError as found:
            error = found
            continue
        try:
            return _assigned(views, source, known, names)
        except ViewsError as found:
            error, was_turned = found, bool(views.reading and views.reading.transposed)
            break
    turned = None if source.transpose or source.no_transpose else _with_features_in_rows(source, known, names)
    if turned or (turned is not None and was_turned):
        how = {"transpose": turned} if turned else {"no_transpose": True}
        return _assigned(_plain(_as_fitted(source, known), **how).read(), source, known, names)
    assert error is not None  # the loop ends with a return or an error
    if names is None and len(source.files) > 1 and isinstance(error, FileFormatError):
        _refuse_unknown(source, known)
    raise error


def _refuse_unknown(source: Source, known: Known) -> None:
    """Refuse a file without any feature of the model, rather than ask how its rows match those of the others."""
    wanted = {feature for features in known.features.values() for feature in features or ()}
    wanted |= {feature.partition("=")[0] for feature in wanted}  # columns of categories: batch=A
    if not wanted or None in known.features.values():
        return
    for file in source.files:
        if file.is_dir() or uncompressed(extension_of(file) or "") not in LOADERS:
            continue
        try:
            table = load_table(file, Options(encoding=source.encoding, max_bytes=physical_memory()))
        except FileFormatError:
            continue
        if not wanted & {*table.names, *table.frame[0].astype(str)}:  # with features in rows: in the first column
            raise _unknown(str(file), table.names, known)


def _attempts(source: Source, known: Known, names: Sequence[str] | None) -> Iterator[Source]:
    """Yield the ways to read the files."""
    typed = source.transpose or source.no_transpose
    turned = [
        str(file) for file, name in zip(source.files, names or (), strict=False) if name in known.origin.transposed
    ]
    fitted = _as_fitted(source, known)
    yield _plain(fitted, **({"transpose": turned} if turned and not typed else {}))
    if fitted != source or (turned and not typed):
        yield _plain(source)


def _as_fitted(source: Source, known: Known) -> Source:
    """Return the source with the options of the fit, where nothing else was typed."""
    kept = {name: value for name, value in known.origin.reading.items() if name in _KEPT}
    if source.id_column or source.no_id:
        kept = {name: value for name, value in kept.items() if name not in ("id_column", "no_id")}
    if source.labels:
        kept.pop("label_column", None)
    if "match_ids" in kept:
        kept["match_ids"] = MatchIds(kept["match_ids"])
    default = Source(files=[])
    return replace(
        source,
        **{name: value for name, value in kept.items() if getattr(source, name) == getattr(default, name)},
    )


def _plain(source: Source, **changes: Any) -> Source:
    """Return the source without names of views, which are given later; files of the same name need different ones."""
    stems = [name_without_extension(file) for file in source.files]
    apart = None if len(set(stems)) == len(stems) else ",".join(f"file{i}" for i in range(len(stems)))
    return replace(source, names=apart, **changes)


def _with_features_in_rows(source: Source, known: Known, names: Sequence[str] | None) -> list[str]:
    """Return the files whose first column, and not their first line, names features of the model."""
    turned = []
    for i, file in enumerate(source.files):
        views = [names[i]] if names is not None and len(names) == len(source.files) else list(known.features)
        wanted = [set(own) for own in map(known.features.get, views) if own]
        shares = {}
        for way in ("samples", "features"):  # in rows
            alone = replace(_as_fitted(source, known), files=[file], names=None, labels=None, label_column=None)
            try:
                found = (
                    replace(alone, no_transpose=True) if way == "samples" else replace(alone, transpose=[ALL_FILES])
                ).read()
            except (FileFormatError, ViewsError, OSError):
                continue
            own = set((found.feature_names or (None,))[0] or ())
            shares[way] = max((len(own & each) / len(each) for each in wanted), default=0.0)
        if shares.get("features", 0.0) >= max(_LARGELY, shares.get("samples", 0.0)):
            turned.append(str(file))
    return turned


def _how_to_fill(source: Source, known: Known) -> str | None:
    """Return how missing cells are filled in; None: not at all."""
    fitted = known.origin.reading.get("impute")
    if source.impute is None:
        return fitted if fitted in IMPUTE else None
    how = str(source.impute)
    if known.origin.values and how != (fitted or _FILLED):
        why = f"was fitted with --impute {fitted}" if fitted else "keeps the medians of its fit"
        raise typer.BadParameter(
            f"{known.file} {why}, and missing cells of new samples are filled in with values of the fit: "
            f"--impute {fitted or _FILLED}.",
            param_hint="--impute",
        )
    return how


def _fill(views: Views, how: str, known: Known) -> Views:
    """Fill in missing cells with the values of the fit, which belong to columns by their names."""
    values = {}
    for v, name in enumerate(views.names):
        own, wanted = (views.feature_names or (None,) * views.n_views)[v], known.features[name]
        kept = known.origin.values.get(name, np.empty(0))
        rows, columns = missing_cells(views.arrays[v], views.has_view(v))
        if len(rows) and len(kept) != known.n_features[name]:
            sample = f"row {rows[0]}" if views.sample_ids is None else f"sample {str(views.sample_ids[rows[0]])!r}"
            column = f"column {columns[0]}" if own is None else f"column {own[columns[0]]!r}"
            raise typer.BadParameter(
                f"{known.file} keeps no values of its fit, from which to fill in the {len(rows):,} missing cell(s) of "
                f"{name}, first of {sample}, {column}. Models of manyview cluster --save keep them, except those of "
                "folders of shards. Fit and save it again, or fill in the cells yourself, from the samples of the fit.",
                param_hint="--impute",
            )
        if own is not None and wanted is not None:
            by_name = dict(zip(wanted, kept.tolist(), strict=False))
            kept = np.array([by_name.get(feature, np.nan) for feature in own])
        if len(rows) and len(kept) == views.n_features[v]:  # others are refused by the model, which says why
            values[name] = kept
    return fill_as_in_fit(views, how, values)


def _parse_names(source: Source, known: Known) -> list[str] | None:
    """Return the views that ``--names`` gives to the files."""
    if source.names is None:
        return None
    names = [name.strip() for name in source.names.split(",")]
    for i, name in enumerate(names):
        if name not in known.features:
            raise _bad_names(f"there is no view {name!r} in {known.file}. Its views are {', '.join(known.features)}.")
        if name in names[:i]:
            raise _bad_names(f"{name!r} is there twice; every file is another view.")
    return names


def _bad_names(reason: str) -> typer.BadParameter:
    return typer.BadParameter(reason, param_hint="--names")


def _assigned(views: Views, source: Source, known: Known, names: Sequence[str] | None) -> Views:
    """Return the views with the names of those of the model."""
    places = _places(views, source)
    features = views.feature_names or (None,) * views.n_views
    if names is not None:
        if len(names) != views.n_views:
            raise _bad_names(
                f"got {len(names)} name(s) for {views.n_views} view(s), which are {', '.join(places)}. Give one name "
                f"for each, in their order, out of {', '.join(known.features)}."
            )
        if source.header is False:  # then they are called by their numbers
            features = tuple(
                None if own and _is_counted(own) and known.features[name] != own else own
                for name, own in zip(names, features, strict=True)
            )
        for place, name, own in zip(places, names, features, strict=True):
            _check_named(place, name, own, known)
    elif _have_names(views, source):
        for name, place in zip(views.names, places, strict=True):
            if name not in known.features:
                raise ViewsError(
                    f"{place}: is no view of {known.file}, whose views are {', '.join(known.features)}. Rename it, or "
                    "say which view it is: names= with one name for each view of the file, in their order."
                )
        names = views.names
    else:
        if views.n_views == 1 and (wide := _cut_by_features(views, places[0], known)) is not None:
            return wide
        names = _by_features(places, features, views, known)
    return replace(views, names=tuple(names), feature_names=features)


def _places(views: Views, source: Source) -> list[str]:
    """Return how errors call each view: by its file, or by file and variable."""
    if len(source.files) == views.n_views:
        return [str(file) for file in source.files]
    return [f"{source.files[0]}: {name}" for name in views.names]


def _have_names(views: Views, source: Source) -> bool:
    """Return whether the views are called by names in the file: not by its own name, nor by their positions."""
    if source.sizes is not None:
        return isinstance(source.sizes, str)  # the beginnings of the columns' names
    one = len(source.files) == 1 and not source.files[0].is_dir()
    if not one or views.names == (name_without_extension(source.files[0]),) or any(views.feature_names or ()):
        return False
    return source.files[0].suffix.lower() != ".mat" or views.names != default_names(views.n_views)


def _check_named(place: str, name: str, own: Sequence[str] | None, known: Known) -> None:
    """Compare the features of a file with those of the view that ``--names`` says it is."""
    wanted = known.features[name]
    if own is None or wanted is None or set(own) == set(wanted):
        return
    others = [other for other, features in known.features.items() if features and set(features) == set(own)]
    if others:
        raise _bad_names(f"{place} is given as {name}, but its features are those of {' and '.join(others)}.")
    check_same_features(f"{place} (view {name})", own, wanted)


def _by_features(
    places: Sequence[str], features: Sequence[Sequence[str] | None], views: Views, known: Known
) -> list[str]:
    """Return the view of each file by the names of its features."""
    found = [_fitting(place, own, known) for place, own in zip(places, features, strict=True)]
    unclear = [place for place, fitting in zip(places, found, strict=True) if len(fitting) != 1]
    if unclear:
        several = [fitting for fitting in found if len(fitting) > 1]
        why = (
            f"the names of its features are those of {' and '.join(several[0])}"
            if several
            else "there are no names of features by which to recognise its view"
        )
        place = next(place for place, fitting in zip(places, found, strict=True) if fitting in several or not fitting)
        raise ViewsError(f"{place}: {why}. {_advice(found, views, known)}")
    names = [fitting[0] for fitting in found]
    for i, name in enumerate(names):
        if name in names[:i]:
            raise ViewsError(
                f"{places[names.index(name)]} and {places[i]}: both have the features of the view {name!r}. Give one "
                "file for each view: put the samples of both into one, or predict them one after the other."
            )
    return names


def _fitting(place: str, own: Sequence[str] | None, known: Known) -> list[str]:
    """Return the views with the features of a file, none if it has no names; refuse a file with other features."""
    if own is None or _is_counted(own):
        return []
    given = set(own)
    named = {name: set(features) for name, features in known.features.items() if features}
    fitting = [name for name, features in named.items() if features == given]
    if fitting and len(given) == len(own):
        return fitting
    if not named:
        return []
    nearest = max(named, key=lambda name: len(named[name] & given) / len(named[name] | given))
    if not named[nearest] & given:
        raise _unknown(place, own, known)
    check_same_features(f"{place} (view {nearest}, by its features)", own, known.features[nearest] or ())
    return fitting


def _unknown(place: str, own: Sequence[str], known: Known) -> ViewsError:
    return ViewsError(
        f"{place}: none of its {len(own)} columns ({listed(own)}) is a feature of {known.file}. Its views are "
        f"{known.in_words}. Leave the file out, or name its columns as in the fit."
    )


def _is_counted(names: Sequence[str]) -> bool:
    """Return whether names are only consecutive numbers, as columns without names are called.

    Examples
    --------
    >>> _is_counted(["0", "1", "2"]), _is_counted(["2", "1"]), _is_counted(["7157", "672"]), _is_counted(["x0", "x1"])
    (True, True, False, False)
    """
    if not all(name.isdecimal() for name in names):
        return False
    numbers = sorted(map(int, names))
    return numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _advice(found: Sequence[Sequence[str]], views: Views, known: Known) -> str:
    """Return what to type so that every file has a view; a file that is called like a view is taken as an example."""
    guesses = [
        fitting[0] if len(fitting) == 1 else name if name in known.features else None
        for fitting, name in zip(found, views.names, strict=True)
    ]
    if None not in guesses and len(set(guesses)) == len(guesses):
        example = f"names='{','.join(map(str, guesses))}' if these are the views"
    else:
        example = f"names= with one name for each file, separated by commas, out of {', '.join(known.features)}"
    sizes = list(known.n_features.values())
    wide = ""
    if views.n_views == 1 and len(sizes) > 1 and views.n_features[0] == sum(sizes):
        cut = ",".join(map(str, sizes))
        wide = (
            f" If it holds all {len(sizes)} views side by side, in the order of the fit: view_sizes='{cut}' "
            f"names='{','.join(known.features)}'."
        )
    return f"Say which view each file is, in the order of the files: {example}.{wide}"


def _cut_by_features(views: Views, place: str, known: Known) -> Views | None:
    """Cut one table that holds the features of several views; None if it does not."""
    own = (views.feature_names or (None,))[0]
    if own is None or _is_counted(own):
        return None
    given = set(own)
    inside = {name: features for name, features in known.features.items() if features and given >= set(features)}
    wanted = [feature for features in inside.values() for feature in features]
    if len(inside) < 2 or len(set(wanted)) < len(wanted) or any(len(each) == len(given) for each in inside.values()):
        return None
    check_same_features(f"{place} (views {', '.join(inside)}, by its features)", own, wanted)
    return cut_table(views, {name: list(features) for name, features in inside.items()})
