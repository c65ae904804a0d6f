"""What the comparisons of a summary say: the order audit and the ranking, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from manyview._utils.machine import gib
from manyview.experiments._markdown_parts import escape, markdown_table
from manyview.experiments.statistics import ALPHA
from manyview.experiments.wording import number, probability, verdict
from manyview.metrics import SCORE_TITLES


def order_audit_section(lines: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not lines:
        return
    yield "## Does the order of the rows matter?"
    n_tests = sum(len(line["datasets"]) for line in lines)
    yield (
        "File order against shuffled rows, paired by seed; a method that draws nothing needs one run in file order. "
        "The test is an exact two-sided sign-flip test of the difference in ACC, corrected by Holm's method over all "
        f"{n_tests} combinations of method and dataset. A method is flagged if a corrected p-value is below {ALPHA:g}; "
        f"that takes at least {lines[0]['pairs_needed']} pairs of runs. Agreement is the adjusted Rand index between "
        "the clusters in file order and those of shuffled rows: 1 means the same groups."
    )
    yield markdown_table(
        ("method", "verdict", "smallest corrected p", "dataset: ACC file order → shuffled (agreement, pairs)"),
        [
            (
                line["row"],
                f"**{verdict(line)}**" if line["flagged"] else verdict(line),
                probability(line["p_value"]),
                "; ".join(
                    f"{found['dataset']}: {number(found['file_order'])} → {number(found['shuffled'])} "
                    f"({number(found['agreement'])}, {found['pairs']})"
                    for found in line["datasets"]
                ),
            )
            for line in lines
        ],
    )


def ranking_section(ranking: Mapping[str, Any]) -> Iterator[str]:
    yield "## Ranking on shuffled rows"
    methods, datasets = ranking["methods"], ranking["datasets"]
    if not methods:
        yield "There are not enough results on shuffled rows to rank methods."
    else:
        yield (
            f"Mean rank by {SCORE_TITLES[ranking['score']]} on shuffled rows; 1 is the best. Compared: {len(methods)} "
            f"methods on {escape(', '.join(datasets))}. Equal scores share their ranks. A method that ran out of "
            "memory or time, or failed, has the last rank there."
        )
        yield markdown_table(
            ["method", "mean rank", *datasets],
            [
                [
                    method["name"],
                    number(method["mean_rank"], 2),
                    *(
                        f"{method['ranks'][dataset]:g}" + _failed(ranking, method["name"], dataset)
                        for dataset in datasets
                    ),
                ]
                for method in methods
            ],
        )
        yield _tests(ranking)
    left_out: dict[str, list[str]] = {}
    for name, reason in ranking["left_out"].items():
        left_out.setdefault(reason, []).append(name)
    if left_out:
        yield "Not in the ranking:\n\n" + "\n".join(
            f"- {escape(', '.join(names))}: {escape(reason)}" for reason, names in left_out.items()
        )


def cost_section(scatter: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not scatter:
        return
    datasets, methods = (list(dict.fromkeys(point[name] for point in scatter)) for name in ("dataset", "row"))
    found = {(point["row"], point["dataset"]): point for point in scatter}
    yield "## Time and memory of a fit"
    yield (
        "Seconds / memory beyond that of program and data, rows shuffled: medians over runs that had other fits beside "
        "them on the same machine, each with one thread; compiling is left out."
    )
    yield markdown_table(
        ["method", *datasets],
        [[method, *(_cost(found.get((method, dataset))) for dataset in datasets)] for method in methods],
    )


def _cost(point: Mapping[str, Any] | None) -> str:
    if point is None or point["seconds"] is None:
        return "–"
    return f"{point['seconds']:.3g}" + ("" if point["peak_bytes"] is None else f" / {gib(point['peak_bytes'])}")


def _failed(ranking: Mapping[str, Any], name: str, dataset: str) -> str:
    return " (no result)" if dataset in ranking["failures"].get(name, {}) else ""


def _tests(ranking: Mapping[str, Any]) -> str:
    text = ""
    if ranking["friedman_p"] is not None:
        text = f"Friedman's test of no difference at all: p {_is(ranking['friedman_p'])}. "
    text += (
        f"Nemenyi's critical difference at {ranking['alpha']:g}: {number(ranking['critical_difference'], 2)}. Methods "
        "whose mean ranks are nearer than that do not differ by this test"
    )
    if not ranking["groups"]:
        return f"{text}; here all differ."
    return f"{text}:\n\n" + "\n".join(f"- {escape(', '.join(group))}" for group in ranking["groups"])


def _is(p_value: float) -> str:
    text = probability(p_value)
    return text if text.startswith("<") else f"= {text}"
