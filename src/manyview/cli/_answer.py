"""The answer of one fit, for people at a terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from manyview._utils.text import duration, printable
from manyview.cli._cells import candidate_pieces, new_table, reading_lines, words
from manyview.metrics import SCORE_TITLES
from manyview.report.documents import not_settled, scored_samples

_MOST_CLUSTERS = 20
_MOST_VIEWS = 8


def print_answer(result: dict[str, Any], console: Console) -> None:
    """Print what was clustered, what came out, and where it was written.

    Parameters
    ----------
    result : dict
        As ``--json`` prints it.
    console : rich.console.Console
        Where to.
    """
    console.print(words(_data(result["data"])))
    for line in reading_lines(result["data"]):
        console.print(line)
    console.print(words(_outcome(result)))
    if result["graph_families"]:
        console.print(words(_families(result["graph_families"])))
    if unsettled := not_settled(result):
        console.print(words(f"Not settled. {unsettled}", "yellow"))
    for piece in candidate_pieces(result["suggestion"]):
        console.print(piece)
    console.print()
    _print_clusters(result["clusters"], console)
    if result["scores"] is not None:
        order = result["row_order"].removeprefix("rows ")
        console.print()
        scored = scored_samples(result["data"])
        about = f"against the {result['data']['n_classes']} known classes, rows {order}"
        console.print(words(f"{about}; {scored}:" if scored else f"{about}:"))
        console.print(words(", ".join(f"{SCORE_TITLES[name]} {value:.3f}" for name, value in result["scores"].items())))
    for audit in result["audits"]:
        verdict = Text("passed" if audit["passed"] else "failed", style="green" if audit["passed"] else "red")
        console.print()
        console.print(Text(f"audit of {audit['question']}: ").append(verdict).append(words(f". {audit['verdict']}")))
    console.print()
    for kind in ("labels", "graph", "result", "report"):
        if (path := result["output"][kind]) is not None:
            print(printable(path))  # not broken into lines: it may be copied


def _data(data: dict[str, Any]) -> str:
    views = [f"{view['name']} ({_width(view, data['n_samples'])})" for view in data["views"]]
    more = f" and {len(views) - _MOST_VIEWS} more" if len(views) > _MOST_VIEWS else ""
    return f"{data['n_samples']:,} samples in {len(views)} views: {', '.join(views[:_MOST_VIEWS])}{more}"


def _width(view: dict[str, Any], n_samples: int) -> str:
    lacking = n_samples - view["n_present"]
    return f"{view['n_features']:,}" + (f"; {lacking:,} samples lack it" if lacking else "")


def _outcome(result: dict[str, Any]) -> str:
    found = result["n_clusters"]
    text = f"{result['method']['name']}: {found} {'cluster' if found == 1 else 'clusters'}"
    text += f" in {duration(result['timings']['fit'])}"
    if (confidence := result["confidence"]) is not None:
        text += f", mean confidence {confidence['mean']:.3f}"
        text += f", {confidence['below_half']:,} samples below 0.5" if confidence["below_half"] else ""
    return text


def _families(families: list[dict[str, Any]]) -> str:
    """Say which family of graphs was taken, and how close the next one was."""
    taken, *others = families
    text = f"graphs: {taken['family']} (score {taken['score']:.3f}"
    return text + (f", next best {others[0]['family']} {others[0]['score']:.3f})" if others else ")")


def _print_clusters(clusters: list[dict[str, Any]], console: Console) -> None:
    with_confidence = clusters[0]["confidence"] is not None
    table = new_table(("cluster", True), ("size", True), *([("mean confidence", True)] if with_confidence else []))
    for column in table.columns:
        column.justify = "right"
    for cluster in clusters[:_MOST_CLUSTERS]:
        confidence = [f"{cluster['confidence']:.3f}"] if with_confidence else []
        table.add_row(str(cluster["cluster"]), f"{cluster['size']:,}", *confidence)
    console.print(table)
    if others := [cluster["size"] for cluster in clusters[_MOST_CLUSTERS:]]:
        console.print(f"and {len(others)} more, of {min(others):,} to {max(others):,} samples")
