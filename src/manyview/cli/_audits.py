"""Audits of one method, in a terminal."""

from __future__ import annotations

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from manyview.audit.result import QUESTIONS, short_answer
from manyview.cli._cells import Json, new_table, reading_lines, words
from manyview.report.documents import scored_samples


def audit_pieces(document: Json) -> list[RenderableType]:
    """Lay out what :func:`manyview.report.audit.describe_audit` gives: an answer to each question, and one to all."""
    data, method = document["data"], document["method"]
    pieces: list[RenderableType] = [
        words(f"Audit of {method['name']}: {', '.join(data['files'])}, {data['n_samples']} samples", "bold"),
        *reading_lines(data),
    ]
    if scored := scored_samples(data):
        pieces.append(words(f"Accuracy: {scored}.", "yellow"))
    for audit in document["audits"]:
        pieces += [Text(), _question(audit), words(audit["verdict"])]
        if audit["names"]:
            pieces += [Text(), _table(audit), words(f"Order of the rows: {audit['row_order']}.", "dim")]
        pieces += [words(f"Warning: {text}", "yellow") for text in audit["warnings"]]
    for question, reason in document["skipped"].items():
        pieces += [Text(), words(QUESTIONS[question], "bold"), words(f"Not asked: {reason}", "yellow")]
    style = "bold green" if document["overall"]["passed"] else "bold red"
    return [*pieces, Text(), words(document["overall"]["text"], style)]


def _question(audit: Json) -> Text:
    answer = Text(f"{short_answer(audit)}.", style="bold green" if audit["passed"] else "bold red")
    return Text.assemble((QUESTIONS[audit["question"]], "bold"), " ", answer)


def _table(audit: Json) -> Table:
    scored = audit["accuracy"] is not None
    headings = ["agreement\n(1 is same)", f"moved\n(of {audit['n_samples']})", *(["accuracy"] if scored else [])]
    table = new_table(("run", False), *((heading, True) for heading in headings))
    for i, name in enumerate([audit["reference"], *audit["names"]]):
        compared = [f"{audit['agreement'][i - 1]:.3f}", str(audit["moved"][i - 1])] if i else ["-", "-"]
        table.add_row(words(name), *compared, *([f"{audit['accuracy'][i]:.3f}"] if scored else []))
    return table
