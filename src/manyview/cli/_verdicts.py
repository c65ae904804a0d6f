"""What follows from all results together: who depends on the order of the rows, and who is better on shuffled rows."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.text import Text

from manyview.cli._cells import Json, new_table, titled, words
from manyview.experiments.wording import COLUMN_NAMES, probability, verdict


def order_audit_tables(audit: Sequence[Json]) -> list[RenderableType]:
    """Tell whether methods find the same when rows are shuffled."""
    if not audit:
        return []
    verdicts = new_table(("method", False), ("verdict", False), ("p (Holm)", True))
    numbers = ("pairs", "acc\nfile\norder", "acc\nshuffled", "change", "p", "ARI")
    details = new_table(("method", False), ("dataset", False), *((heading, True) for heading in numbers))
    for line in audit:
        verdicts.add_row(words(line["row"]), _verdict(line), probability(line["p_value"]))
        for number, found in enumerate(line["datasets"]):
            details.add_row(
                words("" if number else line["row"]),
                words(found["dataset"]),
                str(found["pairs"]),
                f"{found['file_order']:.3f}",
                f"{found['shuffled']:.3f}",
                f"{found['shuffled'] - found['file_order']:+.3f}",
                probability(found["p_value"]),
                f"{found['agreement']:.3f}",
            )
    return [
        Text(),
        words("order audit", "bold"),
        *titled("Does the accuracy differ between the rows of a file as they are and shuffled?", verdicts),
        *titled("Means over pairs of runs with the same seed; ARI compares the labels of both.", details),
    ]


def _verdict(line: Json) -> Text:
    style = "red" if line["flagged"] else "yellow" if line["too_few_pairs"] else ""
    return Text(verdict(line), style=style)


def ranking_tables(ranking: Json) -> list[RenderableType]:
    """Order the methods by their mean rank over datasets."""
    order = COLUMN_NAMES[ranking["protocol"]]
    pieces: list[RenderableType] = [Text(), words(f"ranking by {ranking['score']}, rows {order}", "bold")]
    if ranking["methods"]:
        datasets = ranking["datasets"]
        table = new_table(("method", False), ("mean\nrank", True), *((name, True) for name in datasets))
        for method in ranking["methods"]:
            places = (f"{method['ranks'][name]:g}" for name in datasets)
            table.add_row(words(method["name"]), f"{method['mean_rank']:.2f}", *places)
        pieces += titled(f"ranks on {len(datasets)} datasets, rows {order}; 1 is best", table)
        pieces += _difference(ranking)
    else:
        pieces.append(words("not enough results yet"))
    reasons: dict[str, list[str]] = {}
    for name, reason in ranking["left_out"].items():
        reasons.setdefault(reason, []).append(name)
    return [*pieces, *(words(f"left out: {', '.join(names)}: {reason}") for reason, names in reasons.items())]


def _difference(ranking: Json) -> list[Text]:
    if ranking["critical_difference"] is None:
        return []
    text = f"critical difference of mean ranks at {ranking['alpha']:g}: {ranking['critical_difference']:.2f}"
    if ranking["friedman_p"] is not None:
        text += f"; p of Friedman's test: {probability(ranking['friedman_p'])}"
    return [words(text), *(words(f"not told apart: {', '.join(group)}") for group in ranking["groups"])]
