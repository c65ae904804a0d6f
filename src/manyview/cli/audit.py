"""``manyview audit``: whether an answer depends on row order, random seed or a single view."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from manyview._utils.files import write_folder
from manyview.cli import _completion as completion
from manyview.cli._choice import Choice, Clusters, parse_n_clusters, parse_settings
from manyview.cli._errors import say
from manyview.cli._options import AsJson, OptionalOutFolder, Source, grouped
from manyview.cli._output import Json, check_folder, print_json, print_pieces, result_console, to_json
from manyview.cli._run import Question, ask
from manyview.exceptions import ViewsError

if TYPE_CHECKING:
    from manyview.audit import AuditResult
    from manyview.experiments.own_methods import OwnMethod

NAMES = ("audit.json", "report.html")
NOT_PASSED = 3
"""Exit code with ``--fail`` if an audit did not pass."""


@grouped
def audit(
    source: Source,
    clusters: Clusters,
    choice: Choice,
    questions: Annotated[
        str,
        typer.Option(
            metavar="A,B,...",
            help="What to test: some of order, seeds, views.",
            autocompletion=completion.question_list,
        ),
    ] = "order,seeds,views",
    shuffles: Annotated[int, typer.Option(min=1, help="Number of row orders to try.")] = 5,
    seeds: Annotated[int, typer.Option(min=1, help="Number of other random seeds to try.")] = 5,
    fail: Annotated[
        bool, typer.Option("--fail", help="End with exit code 3 if the answer does not hold, for scripts.")
    ] = False,
    out: OptionalOutFolder = None,
    as_json: AsJson = False,
) -> None:
    """Test how much an answer depends on the order of the rows, on the random seed, and on any single view.

    The method is fitted many times, with one thing changed each time, and the clusters are compared.

    An answer that does not hold is a finding, not an error: the exit code is still 0, unless --fail is given.

    --method mine:Mine (or file.py:Mine) runs code of your own in this process: a class with fit(list of arrays) and
    labels_, or a function of views, k and seed.
    """
    from manyview.audit.stability import why_none_can_go
    from manyview.cli._progress import fit_progress
    from manyview.experiments.own_methods import is_reference
    from manyview.report.audit import describe_audit, render
    from manyview.views import check_views

    asked = _parse_questions(questions)
    n_clusters = parse_n_clusters(clusters)
    is_own = is_reference(choice.method)
    estimator = _own_estimator(choice, n_clusters) if is_own else choice.estimator(n_clusters)
    check_folder(out, NAMES)
    views = source.read()
    if not is_own:
        choice.check_scales(views.names)
    checked = check_views(views, min_views=estimator.min_views)
    reason = why_none_can_go(estimator, checked)
    skipped = {}
    if reason is not None and Question.VIEWS in asked and len(asked) > 1:
        asked.remove(Question.VIEWS)
        skipped[str(Question.VIEWS)] = reason
    words = [*source.words, "-k", str(estimator.n_clusters), *choice.words, "--questions", ",".join(asked)]
    with fit_progress():
        answers = [_result(found) for _, found in ask(estimator, checked, asked, n_shuffles=shuffles, n_seeds=seeds)]
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


def _own_estimator(choice: Choice, n_clusters: int | str | range) -> OwnMethod:
    """Import the method that ``--method`` names; its errors are one line."""
    from manyview.experiments.own_methods import estimator, find

    if choice.scales:
        raise typer.BadParameter(f"{choice.method} scales views itself. Leave --scale out.", param_hint="--scale")
    assert isinstance(n_clusters, int)  # -k auto and ranges were refused
    parameters = parse_settings(choice.settings, None)
    return estimator(find(choice.method), n_clusters, choice.seed, choice.jobs, parameters)


def _result(found: AuditResult | ViewsError) -> AuditResult:
    if isinstance(found, ViewsError):
        raise found
    return found


def _parse_questions(text: str) -> list[Question]:
    """Return the questions that were asked, each once, in the order of :class:`Question`."""
    known = [str(question) for question in Question]
    given = [word.strip().lower() for word in text.split(",")]
    for word in given:
        if word not in known:
            raise typer.BadParameter(f"expected some of {', '.join(known)}, got {word!r}.", param_hint="--questions")
    return [question for question in Question if question in given]


def _show(document: Json, as_json: bool) -> None:
    if as_json:
        print_json(document)
        return
    from manyview.cli._answer_tables import audit_pieces

    print_pieces(audit_pieces(document), result_console())
