"""Names, words and digits of results, the same in every kind of output."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from manyview.experiments._model import ABSENT, DONE, FAILED, FILE_ORDER, MEMORY, PROTOCOLS, SHUFFLED, TIME
from manyview.experiments._outcomes import WAITING
from manyview.metrics import SCORES

PUBLISHED = "published"
COLUMNS = (PUBLISHED, *PROTOCOLS)
"""The columns of a table, in the order in which they are always shown."""

COLUMN_NAMES = {PUBLISHED: "published", FILE_ORDER: "file order", SHUFFLED: "shuffled"}
"""The columns in words, also the order of the rows in texts."""

STATUS_NAMES = {MEMORY: "OM", TIME: "time limit", FAILED: "error", ABSENT: "no data", WAITING: "not run yet"}
"""What tables show where there is no score."""

DIGITS = 3
"""Decimals of scores in tables; scores that are equal there count as equal."""


def columns_of(table: Mapping[str, Any], chosen: Sequence[str] = ()) -> list[str]:
    """Return the columns of a table in which anything was published or asked for; only the chosen ones, if any are."""
    return [
        column
        for column in COLUMNS
        if (not chosen or column in chosen) and any(row[column] is not None for row in table["rows"])
    ]


def check_choice(scores: Sequence[str] = (), columns: Sequence[str] = ()) -> None:
    """Raise a ValueError for a score or a column that does not exist."""
    for name, chosen, known in (("scores", scores, SCORES), ("columns", columns, COLUMNS)):
        for one in chosen:
            if one not in known:
                raise ValueError(f"{name}: expected some of {', '.join(known)}, got {one!r}.")


def has_published(parts: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether any table has published values beside the measured ones."""
    return any(PUBLISHED in columns_of(table) for part in parts for table in part.get("tables", ()))


def measured(part: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the results of a part that were measured: cells of tables, and points of curves."""
    for table in part.get("tables", ()):
        for row in table["rows"]:
            yield from (row[column] for column in PROTOCOLS if row[column] is not None)
    for curve in part.get("curves", ()):
        yield from curve["points"]


def usual_runs(results: Iterable[Mapping[str, Any]]) -> int | None:
    """Return the most frequent number of runs, which tables do not repeat; None if nothing is done.

    Examples
    --------
    >>> from manyview.experiments.wording import usual_runs
    >>> usual_runs([{"runs": 3}, {"runs": 3}, {"runs": 1}, {"status": "waiting"}])
    3
    """
    counts = Counter(result["runs"] for result in results if result.get("runs"))
    return max(counts, key=lambda runs: (counts[runs], runs), default=None)


def values_sentence(results: Sequence[Mapping[str, Any]]) -> str:
    """Say over how many runs the values of a table are: "Mean ± deviation over 3 runs."."""
    usual = usual_runs(results)
    if usual is None:
        return "Nothing has run yet."
    others = any(result.get("runs") not in (None, usual) for result in results)
    what = "Values of a single run" if usual == 1 else f"Mean ± deviation over {usual} runs"
    return f"{what}{'; another number of runs is in brackets' if others else ''}."


def title_of(table: Mapping[str, Any]) -> str:
    """Return the name of the dataset, and the one that it is a stand-in for."""
    stand_in_for = table["stand_in_for"]
    return table["dataset"] if stand_in_for is None else f"{table['dataset']} (stand-in for {stand_in_for})"


def first_sentence(text: str) -> str:
    """Return the first sentence of a reason, which fits into a table."""
    return " ".join(text.split()).split(". ")[0].removesuffix(".")


def short_reason(result: Mapping[str, Any]) -> str:
    """Say why there is no score: "OM: MVGL needs about 38 GiB for 30000 samples; 20 GiB are available"."""
    name = STATUS_NAMES[result["status"]]
    if result["status"] == ABSENT:
        return name  # the table of datasets has the reason
    reason = first_sentence(result.get("reason", ""))
    return name if reason in ("", name) else f"{name}: {reason}"


def number(value: float | None, digits: int = DIGITS) -> str:
    """Format a number, or a dash for None."""
    return "–" if value is None else f"{value:.{digits}f}"


def probability(value: float | None) -> str:
    """Format a p-value; below 0.001 as "< 0.001"."""
    return "< 0.001" if value is not None and value < 0.001 else number(value)


def shown_mean(result: Mapping[str, Any] | None, score: str) -> float | None:
    """Return the mean of a score, rounded as tables show it; None if there is none."""
    if result is None or score not in result.get("scores", {}):
        return None
    return round(result["scores"][score]["mean"], DIGITS)


def best_of_curve(curve: Mapping[str, Any], score: str) -> tuple[list[float], float | None]:
    """Return where a curve is highest, several positions if tables show equal values there, and its value there.

    Examples
    --------
    >>> from manyview.experiments.wording import best_of_curve
    >>> points = [{"x": x, "scores": {"acc": {"mean": mean}}} for x, mean in ((0.1, 0.7), (0.5, 0.9), (0.9, 0.9))]
    >>> best_of_curve({"points": points}, "acc")
    ([0.5, 0.9], 0.9)
    """
    means = {point["x"]: shown_mean(point, score) for point in curve["points"]}
    highest = max((mean for mean in means.values() if mean is not None), default=None)
    return ([] if highest is None else [x for x, mean in means.items() if mean == highest]), highest


def mean_and_deviation_text(result: Mapping[str, Any] | None, score: str, plus_minus: str = " ± ") -> str | None:
    """Format a score as "0.995 ± 0.000", a single run without deviation; None if the result has no such score."""
    if result is None or result["status"] != DONE or score not in result["scores"]:
        return None
    mean, std = result["scores"][score]["mean"], result["scores"][score]["std"]
    return number(mean) if std is None or result["runs"] == 1 else f"{number(mean)}{plus_minus}{number(std)}"


def runs_text(result: Mapping[str, Any], usual: int | None) -> str:
    """Return the number of runs in brackets, if it is known and not the usual one."""
    return f" ({result['runs']})" if result["runs"] not in (None, usual) else ""


def difference_text(found: Mapping[str, Any] | None) -> str:
    """Format a difference with its interval, such as "+0.012 (−0.004 to +0.028)"; a dash for None.

    Examples
    --------
    >>> from manyview.experiments.wording import difference_text
    >>> difference_text({"mean": 0.0123, "low": -0.004, "high": 0.0286})
    '+0.012 (−0.004 to +0.029)'
    """
    if found is None:
        return "–"
    text = _signed(found["mean"])
    return text if found["low"] is None else f"{text} ({_signed(found['low'])} to {_signed(found['high'])})"


def _signed(value: float) -> str:
    return f"{value:+.{DIGITS}f}".replace("-", "−")


def too_few_datasets(ranking: Mapping[str, Any]) -> str | None:
    """Say that no difference of mean ranks can be significant, if there are too few datasets for that."""
    needed, datasets = ranking.get("datasets_needed"), len(ranking["datasets"])
    if needed is None or datasets >= needed:
        return None
    return (
        f"With {datasets} datasets, no difference between {len(ranking['methods'])} methods can be significant by this "
        f"test; {needed} are needed."
    )


def verdict(line: Mapping[str, Any]) -> str:
    """Return the verdict of the order audit about a method."""
    if line["flagged"]:
        described = {True: ", as its description says", False: ", which its description denies", None: ""}
        return f"depends on the order of the rows{described[line['order_dependent']]}"
    if line["too_few_pairs"]:
        return f"too few pairs of runs to say: {line['pairs_needed']} are needed"
    denied = ", though its description says that it depends on the order" if line["order_dependent"] else ""
    return f"no difference found{denied}"
