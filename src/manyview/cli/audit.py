"""``manyview audit``: how much an answer depends on what should not matter."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from manyview._utils.files import write_folder
from manyview.cli._choice import Choice, Clusters, parse_n_clusters
from manyview.cli._errors import say
from manyview.cli._options import grouped
from manyview.cli._output import AsJson, OptionalOutFolder, check_folder, print_json, result_console, to_json
from manyview.cli._questions import Question, ask
from manyview.cli._source import Source
from manyview.exceptions import ViewsError

if TYPE_CHECKING:
    from manyview.audit import AuditResult

NAMES = ("audit.json", "report.html")
NOT_PASSED = 3
"""Exit code with ``--fail`` if an audit did not pass."""


@grouped
def audit(
    source: Source,
    clusters: Clusters,
    choice: Choice,
    questions: Annotated[
        str, typer.Option(metavar="A,B,...", help="What to ask: some of order, seeds, views.")
    ] = "order,seeds,views",
    shuffles: Annotated[int, typer.Option(min=1, help="Orders of the rows to try.")] = 5,
    seeds: Annotated[int, typer.Option(min=1, help="Other seeds to try.")] = 5,
    fail: Annotated[
        bool, typer.Option("--fail", help="Leave with exit code 3 if the answer does not hold, for scripts.")
    ] = False,
    out: OptionalOutFolder = None,
    as_json: AsJson = False,
) -> None:
    """Find out how much an answer depends on the order of the rows, on the seed, and on any single view.

    The method is fitted many times, with one thing changed each time, and the groups are compared.

    That an answer does not hold is a finding, not an error: the exit code is 0 then, too, unless --fail is given.
    """
    from manyview.audit.stability import why_none_can_go
    from manyview.cli._progress import fit_progress
    from manyview.report.audit import describe_audit, render
    from manyview.views import check_views

    asked = _parse_questions(questions)
    estimator = choice.estimator(parse_n_clusters(clusters))
    check_folder(out, NAMES)
    views = source.read()
    choice.check_scales(views.names)
    checked = check_views(views, min_views=estimator.min_views)
    reason = why_none_can_go(estimator, checked)
    skipped = {}
    if reason is not None and Question.VIEWS in asked and len(asked) > 1:
        asked.remove(Question.VIEWS)
        skipped[str(Question.VIEWS)] = reason
    words = [*source.words, "-k", str(estimator.n_clusters), *choice.words, "--questions", ",".join(asked)]
    with fit_progress():
        answers = [_answer(found) for _, found in ask(estimator, checked, asked, n_shuffles=shuffles, n_seeds=seeds)]
    document = describe_audit(
        estimator,
        views,
        answers,
        skipped=skipped,
        files=source.files,
        reading=source.reading,
        command=shlex.join(["manyview", "audit", *words, "--shuffles", str(shuffles), "--seeds", str(seeds)]),
    )
    if out is not None:
        write_folder(out, dict(zip(NAMES, (to_json(document), render(document)), strict=True)))
    _show(document, as_json)
    if out is not None:
        say(f"wrote {', '.join(NAMES)} to {out}")
    if fail and not document["overall"]["passed"]:
        raise typer.Exit(NOT_PASSED)


def _answer(found: AuditResult | ViewsError) -> AuditResult:
    if isinstance(found, ViewsError):
        raise found
    return found


def _parse_questions(text: str) -> list[Question]:
    """The questions that were asked, each once, in the order in which they are always answered."""
    known = [str(question) for question in Question]
    given = [word.strip().lower() for word in text.split(",")]
    for word in given:
        if word not in known:
            raise typer.BadParameter(f"expected some of {', '.join(known)}, got {word!r}.", param_hint="--questions")
    return [question for question in Question if question in given]


def _show(document: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(document)
        return
    from manyview.cli._audits import audit_pieces
    from manyview.cli._tables import print_pieces

    print_pieces(audit_pieces(document), result_console())
