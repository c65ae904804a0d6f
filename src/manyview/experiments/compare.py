"""Comparison of several methods on one dataset: a spec that is made in memory, and its results as a dict.

Rows are shuffled, with another permutation for each seed, so no value here depends on the order of the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from manyview._utils.text import plain
from manyview.cluster._registry import HOMES, get_method
from manyview.experiments import own_methods
from manyview.experiments._model import DONE, SHUFFLED, Cell, CellResult, Dataset, DatasetFacts, Entry, Part, Row, Spec
from manyview.experiments._outcomes import WAITING, Outcomes, mean_and_deviation
from manyview.experiments.differences import mean_and_interval
from manyview.metrics import SCORES, adjusted_rand

ROW_ORDER = "rows shuffled, in another order for each seed"
TIMING = "one thread per fit"

CRITERIA = {
    "acc": "accuracy (ACC), best first",
    "agreement": "agreement with the other methods, largest first",
    "stability": "agreement between the runs of the method itself, largest first",
}
"""Criteria that methods are ordered by: known classes if there are any, else other methods, else their own runs."""

NO_CLASSES = (
    "No classes are known, so nothing here says which method is right. Methods can agree and all be wrong: "
    "agreement is no proof of truth."
)

_PART = "comparison"


def comparison_spec(
    source: Mapping[str, Any], methods: Sequence[str], n_clusters: int, seeds: int, *, name: str = "data"
) -> Spec:
    """Make a spec of several methods on one dataset, with shuffled rows.

    Parameters
    ----------
    source : dict
        Source of the views, see :func:`manyview.experiments._datasets.load`.
    methods : sequence of str
        Names of classes, see :func:`manyview.cluster.available_methods`, or references to code of your own, such as
        "mine:Mine", see :mod:`manyview.experiments.own_methods`. All have their default parameters.
    n_clusters : int
        Number of clusters.
    seeds : int
        Runs of each method, with the seeds 0, 1, ...; each has another order of the rows.
    name : str, default="data"
        Name of the dataset.

    Returns
    -------
    Spec
        For :func:`manyview.experiments.run`.

    Examples
    --------
    >>> from manyview.experiments.compare import comparison_spec
    >>> spec = comparison_spec({"read": "flowers.mat"}, ["SFMC", "LMVSC"], n_clusters=17, seeds=3)
    >>> len(spec.cells), spec.cells[0].parameters
    (6, {'n_clusters': 17})
    """
    for method in methods:
        if method not in HOMES and not own_methods.is_reference(method):
            raise ValueError(
                f"methods: expected some of {', '.join(HOMES)}, or a method of your own as module:Name; got {method!r}."
            )
    if seeds < 1:
        raise ValueError(f"seeds: expected at least 1, got {seeds}.")
    parameters = {"n_clusters": n_clusters}
    names = _names(methods)
    own = {method: own_methods.find(method) for method in names if method not in HOMES}
    rows = tuple(
        Row(shown, method, parameters, code=own[method].sha256 if method in own else None)
        for method, shown in names.items()
    )
    entries = tuple(
        Entry(_PART, name, row.name, Cell(name, source, row.estimator, parameters, SHUFFLED, seed, code=row.code))
        for row in rows
        for seed in range(seeds)
    )
    part = Part(_PART, "table", "Methods side by side", "", (Dataset(name, source),), {name: rows}, entries)
    return Spec(_PART, part.title, (part,))


def _names(methods: Sequence[str]) -> dict[str, str]:
    """Return the names of methods in tables: of code the name of the class, unless another method has it."""
    short = {method: method.rpartition(":")[2] for method in dict.fromkeys(methods)}
    taken = Counter(short.values())
    return {
        method: method if taken[name] > 1 or (name in HOMES and name != method) else name
        for method, name in short.items()
    }


def compare_results(
    spec: Spec, results: Mapping[str, CellResult], datasets: Mapping[str, DatasetFacts]
) -> dict[str, Any]:
    """Collect the results of a comparison in one dict of plain values that JSON can hold.

    Parameters
    ----------
    spec : Spec
        From :func:`comparison_spec`.
    results : dict of CellResult
        By the key of the cell.
    datasets : dict of DatasetFacts
        By name; the dataset may be absent if no cell is done.

    Returns
    -------
    dict
        ``row_order`` and ``timing`` say how everything was measured, ``criterion`` and ``ordered_by`` what the methods
        are ordered by; ``note`` is a remark for the reader. Of each method, ``runs`` has every seed, ``scores`` mean
        and deviation of each score where classes are known, ``stability`` the mean agreement (adjusted Rand index)
        between its own runs, and ``agreement`` that with all other methods at the same seeds. The top-level
        ``agreement`` has every pair. ``difference`` is the accuracy of the first method less that of this one: mean and
        95 % interval (``low``, ``high``) over ``pairs`` of runs with the same seed; None without classes, of the first
        method, and without such pairs. Methods without any clusters come last, with their ``reason``. ``notes`` are
        remarks on runs of a user's own method that are done, such as that it changes its input.

    Examples
    --------
    >>> from manyview.experiments.compare import compare_results, comparison_spec
    >>> spec = comparison_spec({"read": "flowers.mat"}, ["SFMC"], n_clusters=17, seeds=3)
    >>> found = compare_results(spec, {}, {})
    >>> found["row_order"], found["methods"][0]["status"]
    ('rows shuffled, in another order for each seed', {'waiting': 3})
    """
    (part,) = spec.parts
    outcomes = Outcomes(results, datasets)
    cells: dict[str, list[Cell]] = {}
    for entry in part.entries:
        cells.setdefault(entry.row, []).append(entry.cell)
    facts = datasets.get(part.datasets[0].name)
    scored = facts is not None and facts.classes is not None
    labels = {name: {cell.seed: outcomes.labels(cell) for cell, _ in outcomes.done(own)} for name, own in cells.items()}
    between = _between_methods(labels)
    methods = [_method(name, own, outcomes, labels[name], between, scored) for name, own in cells.items()]
    criterion = "acc" if scored else "agreement" if between else "stability"
    methods.sort(key=lambda method: _sort_key(method, criterion), reverse=True)
    for method in methods:
        method["difference"] = _difference(methods[0], method) if scored else None
    return plain(
        {
            "n_clusters": part.entries[0].cell.parameters["n_clusters"],
            "seeds": [cell.seed for cell in next(iter(cells.values()))],
            "row_order": ROW_ORDER,
            "timing": TIMING,
            "criterion": criterion,
            "ordered_by": CRITERIA[criterion],
            "note": None if scored else NO_CLASSES,
            "methods": methods,
            "agreement": _matrix([method["name"] for method in methods if method["runs_done"]], between),
        }
    )


Pairs = dict[frozenset[str], dict[int, float]]
"""Agreement of two methods, by seed."""


def _between_methods(labels: Mapping[str, Mapping[int, np.ndarray]]) -> Pairs:
    """Compute the agreement of any two methods at the seeds that both have."""
    found: Pairs = {}
    for one, other in combinations(labels, 2):
        if shared := sorted(labels[one].keys() & labels[other].keys()):
            found[frozenset((one, other))] = {s: adjusted_rand(labels[one][s], labels[other][s]) for s in shared}
    return found


def _matrix(names: Sequence[str], between: Pairs) -> dict[str, Any]:
    def entry(one: str, other: str) -> float | None:
        return 1.0 if one == other else _mean(list(between.get(frozenset((one, other)), {}).values()))

    return {"methods": list(names), "matrix": [[entry(one, other) for other in names] for one in names]}


def _method(
    name: str,
    cells: Sequence[Cell],
    outcomes: Outcomes,
    labels: Mapping[int, np.ndarray],
    between: Pairs,
    scored: bool,
) -> dict[str, Any]:
    method = cells[0].estimator
    facts = get_method(method).facts if method in HOMES else None
    own = [by_seed for pair, by_seed in between.items() if name in pair]
    runs = [_run(cell, outcomes, own, scored) for cell in cells]
    done = [run for run in runs if run["status"] == DONE]
    ended = [run["reason"] for run in runs if run["reason"]]
    return {
        "name": name,
        "code": None if facts else {"reference": method, "sha256": cells[0].code},
        "title": facts.title if facts else f"{method}, not a method of manyview",
        "reference": facts.reference if facts else None,
        "memory_growth": facts.memory if facts else None,
        "order_dependent": facts.order_dependent if facts else None,
        "status": dict(Counter(run["status"] for run in runs)),
        "runs_done": len(done),
        "reason": ended[0] if ended else None,
        "notes": outcomes.notes(cells),
        "scores": {score: mean_and_deviation([run["scores"][score] for run in done]) for score in SCORES}
        if scored and done
        else None,
        "stability": _mean([adjusted_rand(one, other) for one, other in combinations(labels.values(), 2)]),
        "agreement": _mean([value for by_seed in own for value in by_seed.values()]),
        # a median, because other fits and programs run at the same time
        "seconds": float(np.median([run["seconds"] for run in done])) if done else None,
        "peak_bytes": max((run["peak_bytes"] for run in done if run["peak_bytes"] is not None), default=None),
        "runs": runs,
    }


def _difference(first: Mapping[str, Any], method: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the accuracy of the first method less that of another one, in pairs of runs with the same seed."""
    one, other = (
        {run["seed"]: run["scores"]["acc"] for run in own["runs"] if run["scores"]} for own in (first, method)
    )
    values = [one[seed] - other[seed] for seed in sorted(one.keys() & other.keys())]
    return None if method is first or not values else {"pairs": len(values), **mean_and_interval(values)}


def _run(cell: Cell, outcomes: Outcomes, pairs: Sequence[Mapping[int, float]], scored: bool) -> dict[str, Any]:
    result = outcomes[cell]
    is_done = result is not None and result.status == DONE
    return {
        "seed": cell.seed,
        "status": WAITING if result is None else result.status,
        "reason": (result and not is_done and result.reason) or None,
        "seconds": result and result.seconds,
        "peak_bytes": result and result.peak_bytes,
        "scores": outcomes.scores(cell) if is_done and scored else None,
        "agreement": _mean([by_seed[cell.seed] for by_seed in pairs if cell.seed in by_seed]),
    }


def _sort_key(method: Mapping[str, Any], criterion: str) -> tuple[float, ...]:
    """Return the criterion, larger is better; equal methods are ordered by their stability."""
    value = (method["scores"] or {}).get("acc", {}).get("mean") if criterion == "acc" else method[criterion]
    return tuple(-2.0 if number is None else number for number in (value, method["stability"]))


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if len(values) else None
