"""All scores and times as one long table of comma-separated values."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any

from manyview._utils.files import quoting
from manyview.experiments._tables import COLUMNS

FIELDS = (
    *("part", "dataset", "row", "axis", "value", "protocol", "score", "mean", "std"),
    *("runs", "seconds", "peak_bytes", "status", "reason"),
)


def to_csv(summary: Mapping[str, Any]) -> str:
    """Write every score of the summary into one long table, one score per line.

    Parameters
    ----------
    summary : dict
        From :func:`manyview.experiments.summarise`.

    Returns
    -------
    str
        Comma-separated values with a header. ``protocol`` is "published", "file-order" or "shuffled". A place
        without scores has one line with its ``status`` and ``reason``. Lines of growth have the score "seconds".

    Examples
    --------
    >>> from manyview.experiments._model import Spec
    >>> from manyview.experiments.export import to_csv
    >>> from manyview.experiments.summary import summarise
    >>> print(to_csv(summarise(Spec("empty", "Nothing yet", ()), {}, {}, [])))
    part,dataset,row,axis,value,protocol,score,mean,std,runs,seconds,peak_bytes,status,reason
    """
    lines = [
        {"part": part["name"], **line}
        for part in summary["parts"]
        for line in (*_of_tables(part), *_of_curves(part), *_of_growth(part))
    ]
    text = io.StringIO()
    values = (value for line in lines for value in line.values())
    writer = csv.DictWriter(text, FIELDS, lineterminator="\n", quoting=quoting(values))
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()


def _of_tables(part: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for table in part.get("tables", ()):
        for row in table["rows"]:
            for column in COLUMNS:
                place = {"dataset": table["dataset"], "row": row["name"], "protocol": column}
                yield from _of_result(place, row[column])


def _of_curves(part: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for curve in part.get("curves", ()):
        place = {name: curve[name] for name in ("dataset", "row", "protocol")} | {"axis": part["axis"]["name"]}
        for point in curve["points"]:
            yield from _of_result(place | {"value": point["x"]}, point)


def _of_growth(part: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for line in part.get("growth", ()):
        for point in line["points"]:
            place = {"row": line["row"], "axis": line["axis"], "value": point["x"]}
            if "seconds" in point:
                seconds = point["seconds"]
                times = {"score": "seconds", "mean": seconds["mean"], "std": seconds["std"], "seconds": seconds["mean"]}
                yield place | times | {"runs": point["runs"], "status": "done"}
            else:
                yield place | {"status": point["status"], "reason": point["reason"]}


def _of_result(place: Mapping[str, Any], result: Mapping[str, Any] | None) -> Iterator[dict[str, Any]]:
    if result is None:
        return
    ended = {name: result.get(name) for name in ("runs", "seconds", "peak_bytes", "status", "reason")}
    if "scores" not in result:
        yield {**place, **ended}
        return
    for score, value in result["scores"].items():
        yield {**place, "score": score, "mean": value["mean"], "std": value["std"], **ended}
