"""Which columns are features: those to leave out, to keep or to encode, and names that occur more than once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pandas

from manyview.exceptions import FileFormatError
from manyview.io._common import Options, Part
from manyview.io._table_files import Table, listed

_MOST_CATEGORIES = 100


def fits(name: str, patterns: Iterable[str]) -> bool:
    """Return whether a name is one of these, or fits one of them as a pattern such as ``gene*``."""
    return any(name == pattern or fnmatchcase(name, pattern) for pattern in patterns)


def select_columns(parts: Sequence[Part], options: Options) -> tuple[list[Part], tuple[str, ...]]:
    """Leave out and encode columns; return the files, and what was done in words.

    Of tables, only ``drop`` and ``one_hot`` are applied: which columns are features, and so subject to ``only``, is
    known when ids and classes are.
    """
    known = [_names(part) for part in parts]
    for argument, patterns in (("drop", options.drop), ("only", options.only), ("one_hot", options.one_hot)):
        _check_patterns(argument, patterns, parts, known)
    selected, notes = [], []
    for part, names in zip(parts, known, strict=True):
        gone = [name for name in names if fits(name, options.drop)]
        if gone:
            notes.append(f"{part.source}: left out {_counted(gone)}")
        if part.table is not None:
            table = _without(part.table, set(gone))
            for column in [name for name in table.names if fits(name, options.one_hot)]:
                table, n_values = _one_hot(table, column)
                notes.append(f"{part.source}: {column!r} became {n_values} columns, one for each of its values")
            part = replace(part, table=table)
        elif part.feature_names is not None:
            part = _kept(part, gone, options.only)
        selected.append(part)
    return selected, tuple(notes)


def _names(part: Part) -> list[str]:
    return list(part.table.names if part.table is not None else part.feature_names or ())


def _check_patterns(
    argument: str, patterns: Sequence[str], parts: Sequence[Part], known: Sequence[Sequence[str]]
) -> None:
    everything = [name for names in known for name in names]
    for pattern in patterns:
        if argument == "one_hot":
            for part, names in zip(parts, known, strict=True):
                if part.table is None and fits(pattern, names):
                    raise FileFormatError(
                        f"{part.source}: {pattern!r} (one_hot) is a row of numbers, as features are in rows. Leave it "
                        "out with drop=, or add it as a table of its own."
                    )
        if any(fits(name, [pattern]) for name in everything):
            continue
        sources = ", ".join(part.source for part in parts)
        if not everything:
            raise FileFormatError(f"{sources}: {argument}={pattern!r}: there are no names of columns in these files.")
        close = get_close_matches(pattern, everything, n=3)
        hint = f"Did you mean {' or '.join(map(repr, close))}?" if close else f"There are {listed(everything)}."
        raise FileFormatError(f"{sources}: {argument}={pattern!r}: there is no such column. {hint}")


def _counted(names: Sequence[str]) -> str:
    return f"{len(names):,} column{'s' * (len(names) > 1)}: {listed(list(names))}"


def _without(table: Table, gone: set[str]) -> Table:
    if not gone:
        return table
    kept = [at for at, name in enumerate(table.names) if name not in gone]
    if not kept:
        raise FileFormatError(f"{table.path}: drop= leaves no column of {listed(table.names)}.")
    frame = table.frame[kept].set_axis(range(len(kept)), axis=1)
    return replace(table, names=[table.names[at] for at in kept], frame=frame)


def _one_hot(table: Table, name: str) -> tuple[Table, int]:
    """Replace a column by one column of 0 and 1 for each of its values; missing values stay missing."""
    at = table.names.index(name)
    values = table.frame[at]
    categories = sorted(values.dropna().unique(), key=str)
    if not 0 < len(categories) <= min(_MOST_CATEGORIES, max(len(values) // 2, 2)):
        raise FileFormatError(
            f"{table.path}: column {name!r} (one_hot) has {len(categories):,} different values for {len(values):,} "
            f"samples; expected some that recur, at most {_MOST_CATEGORIES}. Leave it out with drop={name!r}."
        )
    known = values.notna().to_numpy()
    columns: dict[str, Any] = {other: table.frame[i] for i, other in enumerate(table.names) if i != at}
    if len(columns) < len(table.names) - 1:
        raise FileFormatError(f"{table.path}: names of columns occur twice: {listed(repeated(table.names))}.")
    for category in categories:
        columns[f"{name}={category}"] = np.where(known, (values == category).to_numpy(dtype=float, na_value=0), np.nan)
    frame = pandas.DataFrame(columns)
    return replace(table, names=list(columns), frame=frame.set_axis(range(len(columns)), axis=1)), len(categories)


def _kept(part: Part, gone: Sequence[str], only: Sequence[str]) -> Part:
    """Select columns of a file whose names are known."""
    names = list(part.feature_names or ())
    kept = [at for at, name in enumerate(names) if name not in gone and (not only or fits(name, only))]
    if len(kept) == len(names):
        return part
    check_some_left(part.source, names, len(kept), only)
    return replace(
        part,
        arrays=tuple(array[:, kept] for array in part.arrays),
        feature_names=tuple(names[at] for at in kept),
    )


def check_some_left(source: object, names: Sequence[str], n_kept: int, only: Sequence[str]) -> None:
    """Refuse a view without features."""
    if not n_kept:
        told = f"only={only[0]!r}" if len(only) == 1 else f"only={list(only)}" if only else "drop="
        raise FileFormatError(
            f"{source}: {told} leaves no feature of {listed(list(names))}. Leave this file out, or keep some of them."
        )


def repeated(names: Iterable[str]) -> list[str]:
    """Return the names that occur more than once."""
    return [name for name, count in Counter(names).items() if count > 1]


def distinct(source: str, names: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """Return names of features that all differ, and a note if some did not.

    Examples
    --------
    >>> distinct("rna.csv", ["TP53", "MYC", "TP53"])
    (('TP53', 'MYC', 'TP53.1'), "rna.csv: 1 name of a feature occurs more than once ('TP53'); numbered as 'TP53.1'")
    """
    twice = repeated(names)
    if not twice:
        return tuple(names), ""
    taken, found, counts, example = set(names), [], Counter[str](), ""
    for name in names:
        counts[name] += 1
        new = name
        if counts[name] > 1:
            number = counts[name] - 1
            while (new := f"{name}.{number}") in taken:
                number += 1
            taken.add(new)
            example = example or new
        found.append(new)
    n_twice = f"{len(twice):,} name{'s' * (len(twice) > 1)} of a feature occur{'s' * (len(twice) == 1)}"
    return tuple(found), f"{source}: {n_twice} more than once ({listed(twice, 3)}); numbered as {example!r}"


def constant_columns(source: str, names: Sequence[str], array: Any) -> str:
    """Return a note on the columns of a dense view that have the same value in every row.

    Examples
    --------
    >>> constant_columns("rna.csv", ["TP53", "MYC"], np.array([[1.0, 2.0], [3.0, 2.0]]))
    "rna.csv: 1 column has the same value for all samples: 'MYC'"
    """
    if not isinstance(array, np.ndarray) or len(array) < 2:
        return ""
    at = np.flatnonzero((array[:1] == array[-1:]).ravel())  # first those whose two ends are equal, to look at few
    constant = [names[column] for column in at.tolist() if (array[:, column] == array[0, column]).all()]
    if not constant:
        return ""
    told = "column has" if len(constant) == 1 else "columns have"
    return f"{source}: {len(constant):,} {told} the same value for all samples: {listed(constant, 3)}"
