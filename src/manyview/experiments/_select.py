"""A smaller spec: some of its parts, or fewer seeds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from manyview.experiments._model import Entry, Part, Spec


def only(spec: Spec, parts: Sequence[str]) -> Spec:
    """Keep the named parts, in the order of the spec; none named is all.

    Parameters
    ----------
    spec : Spec
    parts : sequence of str
        Names of parts of ``spec``.

    Examples
    --------
    >>> from manyview.experiments._model import Part, Spec
    >>> tables = [Part(name, "table", "", "", (), {}, ()) for name in ("one", "two", "three")]
    >>> [part.name for part in only(Spec("all", "", tuple(tables)), ["three", "one"]).parts]
    ['one', 'three']
    """
    known = [part.name for part in spec.parts]
    for name in parts:
        if name not in known:
            raise ValueError(f"part: expected one of {', '.join(known)} of the spec {spec.name}, got {name!r}.")
    return replace(spec, parts=tuple(part for part in spec.parts if part.name in parts or not parts))


def first_seeds(spec: Spec, n: int) -> Spec:
    """Keep the ``n`` smallest seeds of every line, order of rows and point; whoever has fewer keeps all.

    Parameters
    ----------
    spec : Spec
    n : int
        At least 1.

    Examples
    --------
    >>> from manyview.experiments._model import Cell, Entry, Part, Spec
    >>> fits = tuple(Entry("one", "digits", "TBGL", Cell("digits", {}, "TBGL", seed=seed)) for seed in range(20))
    >>> spec = Spec("all", "", (Part("one", "table", "", "", (), {}, fits),))
    >>> [entry.cell.seed for entry in first_seeds(spec, 3).parts[0].entries]
    [0, 1, 2]
    """
    if n < 1:
        raise ValueError(f"seeds: expected at least 1, got {n}.")
    return replace(spec, parts=tuple(_with_first_seeds(part, n) for part in spec.parts))


def _with_first_seeds(part: Part, n: int) -> Part:
    seeds = defaultdict(set)
    for entry in part.entries:
        seeds[_place(entry)].add(entry.cell.seed)
    kept = {place: sorted(found)[:n] for place, found in seeds.items()}
    return replace(part, entries=tuple(entry for entry in part.entries if entry.cell.seed in kept[_place(entry)]))


def _place(entry: Entry) -> tuple[object, ...]:
    return entry.dataset, entry.row, entry.cell.protocol, entry.axis, entry.value
