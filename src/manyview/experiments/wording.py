"""How values are put into words and digits, the same in every kind of output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from manyview.experiments._model import ABSENT, DONE, FAILED, FILE_ORDER, MEMORY, SHUFFLED, TIME
from manyview.experiments._outcomes import WAITING
from manyview.experiments._tables import COLUMNS, DIGITS, PUBLISHED

COLUMN_NAMES = {PUBLISHED: "published", FILE_ORDER: "file order", SHUFFLED: "shuffled"}
"""What tables call their columns, and texts the order of the rows."""

STATUS_NAMES = {MEMORY: "OM", TIME: "time limit", FAILED: "error", ABSENT: "no data", WAITING: "not run yet"}
"""What stands in a table where there is no score."""

USUAL_RUNS = 20
"""The paper's number of runs, which tables need not repeat."""


def columns_of(table: Mapping[str, Any]) -> list[str]:
    """Columns of a table in which anything was published or asked for."""
    return [column for column in COLUMNS if any(row[column] is not None for row in table["rows"])]


def title_of(table: Mapping[str, Any]) -> str:
    """The dataset, and what it stands in for."""
    stand_in_for = table["stand_in_for"]
    return table["dataset"] if stand_in_for is None else f"{table['dataset']} (stand-in for {stand_in_for})"


def first_sentence(text: str) -> str:
    """Of a reason, what a table has room for."""
    return " ".join(text.split()).split(". ")[0].removesuffix(".")


def short_reason(result: Mapping[str, Any]) -> str:
    """Why there is no score: "OM: MVGL needs about 38 GiB for 30000 samples; 20 GiB are available"."""
    name = STATUS_NAMES[result["status"]]
    if result["status"] == ABSENT:
        return name  # said once for the dataset
    reason = first_sentence(result.get("reason", ""))
    return name if reason in ("", name) else f"{name}: {reason}"


def number(value: float | None, digits: int = DIGITS) -> str:
    """A number, or a dash where there is none."""
    return "–" if value is None else f"{value:.{digits}f}"


def probability(value: float | None) -> str:
    """A p-value; what is tiny is not spelled out."""
    return "< 0.001" if value is not None and value < 0.001 else number(value)


def mean_and_deviation_text(result: Mapping[str, Any] | None, score: str, plus_minus: str = " ± ") -> str | None:
    """Such as "0.995 ± 0.000", without a deviation of a single run; None if the result has no such score."""
    if result is None or result["status"] != DONE or score not in result["scores"]:
        return None
    mean, std = result["scores"][score]["mean"], result["scores"][score]["std"]
    return number(mean) if std is None or result["runs"] == 1 else f"{number(mean)}{plus_minus}{number(std)}"


def runs_text(result: Mapping[str, Any]) -> str:
    """The number of runs in brackets, if it is known and not the usual one."""
    return f" ({result['runs']})" if result["runs"] not in (None, USUAL_RUNS) else ""


def verdict(line: Mapping[str, Any]) -> str:
    """What the order audit says about a method."""
    if line["flagged"]:
        as_described = "as its description says" if line["order_dependent"] else "which its description denies"
        return f"depends on the order of the rows, {as_described}"
    if line["too_few_pairs"]:
        return f"too few pairs of runs to say: {line['pairs_needed']} are needed"
    denied = ", though its description says that it depends on the order" if line["order_dependent"] else ""
    return f"no difference found{denied}"
