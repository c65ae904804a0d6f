"""From views to an answer: read, choose the number of clusters, fit, audit, describe, write.

``cluster`` and ``demo`` use all of it, ``compare`` and ``audit`` parts.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from manyview.cli import STARTED
from manyview.cli._choice import AUTO, Choice, as_typed
from manyview.cli._contents import Contents
from manyview.cli._errors import STOPPED, say
from manyview.cli._output import ANSWER_NAMES, LABEL_SHARDS, Json, check_folder, check_model_path, write_answer
from manyview.exceptions import ClusterCountWarning, ViewsError

if TYPE_CHECKING:
    from manyview._utils.progress_bar import WorkClock
    from manyview.audit import AuditResult
    from manyview.cluster import ClusterCountSuggestion
    from manyview.description import Description
    from manyview.views import Views


@dataclass(frozen=True)
class Job:
    """What to cluster, how, and where to write the answer."""

    read: Callable[[], Views]
    choice: Choice
    n_clusters: int | str | range
    out: Path
    command: str
    files: Sequence[Path] = ()
    reading: Mapping[str, Any] = field(default_factory=dict)
    contents: Contents = field(default_factory=Contents)
    pictures: Callable[[Views], Any] | None = None
    """Pictures of the samples, for data that come with the package."""
    row_order: str | None = None
    with_audit: bool = False
    with_report: bool = True
    with_description: bool = True
    save: Path | None = None
    origin: Callable[[Views], Any] | None = None
    """Returns what ``save`` keeps about the files, for ``manyview predict``."""


class Question(StrEnum):
    """What an audit can ask, in the order in which it is answered."""

    ORDER = "order"
    SEEDS = "seeds"
    VIEWS = "views"


def run_and_write(job: Job) -> Json:
    """Fit, and write all files of the answer, or none.

    Returns
    -------
    dict
        The content of result.json, with the paths of the files.
    """
    try:
        check_folder(job.out, [*ANSWER_NAMES.values(), LABEL_SHARDS])
        check_model_path(job.save, job.out, job.files)
        model, views, result, description, page = _run(job)
    except KeyboardInterrupt:
        say("stopped; nothing was written")
        raise typer.Exit(STOPPED) from None
    if job.save is not None and job.origin is not None:
        from manyview.cli._answer_tables import cluster_names

        model._origin = replace(job.origin(views), cluster_names=tuple(cluster_names(result["description"])) or None)
    return write_answer(job.out, model, views, result, description, page, job.save)


def _run(job: Job) -> tuple[Any, Views, Json, Description | None, str | None]:
    """Return the fitted model, the views as they are shown, the result as plain values, the description, the report."""
    from manyview._utils.compiled import compiling
    from manyview._utils.progress_bar import WorkClock
    from manyview.cli._progress import fit_progress
    from manyview.description.on_disk import count_all
    from manyview.views.on_disk import load_to_show

    steps = ("start", "compile", "read", "suggest", "fit", "audit", "describe", "report")
    timings: dict[str, float | None] = dict.fromkeys(steps)
    clock = WorkClock(time.perf_counter)  # compiling, which only the first run does, is not the time of the fit
    suggest_first = not isinstance(job.n_clusters, int) and not job.choice.takes_auto
    model = job.choice.estimator(2 if suggest_first else job.n_clusters)
    model._validate_params()  # errors in the command line are reported before anything is read
    suggestion, audits, description = None, [], None

    with warnings.catch_warnings(record=True) as caught, compiling(clock.stop, clock.go_on):
        warnings.simplefilter("ignore", ClusterCountWarning)  # say_chosen reports the same
        timings["start"] = time.perf_counter() - STARTED
        with _timed(timings, "read", clock):
            views = job.contents.prepared(_checked(job.read(), model, job))
        if suggest_first:
            with _timed(timings, "suggest", clock), fit_progress():
                # suggest_n_clusters knows every scaling of a method, but has a default of its own
                scaling = job.choice.parameters.get("scaling", AUTO)
                suggestion = suggest(views, job.n_clusters, scaling, job.choice.seed, job.choice.jobs)
            say_chosen(job.n_clusters, suggestion)
            model.set_params(n_clusters=suggestion.n_clusters)
        with _timed(timings, "fit", clock), fit_progress():
            model.fit(views)
        if model.n_clusters == AUTO:
            suggestion = model.suggestion_
            say_chosen(job.n_clusters, suggestion)
            # the result states this number, and audits fit with it
            model.set_params(n_clusters=model.n_clusters_, k_range=None)
        if job.with_audit:
            with _timed(timings, "audit", clock), fit_progress():
                audits = _audit(model, views)
        whole, shown_model, shown_views = load_to_show(model, views)
        if job.with_description:
            with _timed(timings, "describe", clock), fit_progress():
                pictures = None if job.pictures is None else job.pictures(views)
                description = job.contents.describe(
                    shown_views, shown_model, seed=job.choice.seed, jobs=job.choice.jobs, pictures=pictures
                )
                description = count_all(description, whole.labels_, getattr(whole, "confidence_", None))
    warned = list(dict.fromkeys(str(warning.message) for warning in caught))
    for text in warned:
        say(f"warning: {text}")

    with _timed(timings, "report", clock):
        from manyview.report.documents import describe_result

        result = describe_result(
            whole,
            views,
            files=job.files,
            command=job.command,
            seed=job.choice.seed,
            suggestion=suggestion,
            timings=timings,
            warnings=warned,
            audits=audits,
            description=description,
            reading=job.reading,
            order=job.row_order,
        )
        page = None
        if job.with_report:
            from manyview.report import run

            named = not job.contents.no_sample_names
            summary = run.summarise(
                shown_model, shown_views, result, audits=audits, description=description, sample_names=named
            )
            page = run.render(summary)
    result["timings"] = timings  # with that of the report, which the report itself does not have
    shown = replace(views, metadata=None) if job.contents.no_sample_names else views
    return model, shown, result, description, page


def _checked(views: Views, model: Any, job: Job) -> Views:
    """Return the views; raise an error if the method could not be fitted to them."""
    from manyview.views import check_views
    from manyview.views.on_disk import is_on_disk

    if views.n_views < model.min_views:
        raise typer.BadParameter(
            f"{type(model).__name__} needs at least {model.min_views} views, got {views.n_views}. Give one file for "
            "each view, or say how to cut the columns of this table into views, for example with --view-sizes 2.",
            param_hint="FILES",
        )
    job.choice.check_scales(views.names)
    check_n_clusters(job.n_clusters, views.n_samples)
    # The values of opened views are checked block by block in the fit.
    return views if is_on_disk(views) else check_views(views, keep_float32=True)


def check_n_clusters(n_clusters: int | str | range, n_samples: int) -> None:
    """Refuse more clusters than there are samples."""
    largest = n_clusters[-1] if isinstance(n_clusters, range) else 2 if n_clusters == AUTO else int(n_clusters)
    if largest > n_samples:  # auto finds at least 2
        raise typer.BadParameter(
            f"{largest} clusters are more than there are samples, {n_samples}. Choose fewer.", param_hint="-k"
        )


def suggest(
    views: Views, n_clusters: int | str | range, scaling: Any = AUTO, seed: int = 0, jobs: int | None = None
) -> ClusterCountSuggestion:
    """Choose a number of clusters, for methods that do not choose one themselves."""
    from manyview.cluster import suggest_n_clusters

    k_range = n_clusters if isinstance(n_clusters, range) else None
    return suggest_n_clusters(views, k_range, scaling=scaling, random_state=seed, n_jobs=jobs)


def say_chosen(n_clusters: int | str | range, suggestion: ClusterCountSuggestion) -> None:
    """Print on stderr which number was chosen, and why; ``n_clusters`` is the value of ``-k``."""
    say(f"-k {as_typed(n_clusters)} takes {suggestion.n_clusters}. {suggestion.reason}")


def ask(
    estimator: Any,
    views: Views,
    questions: Sequence[Question] = tuple(Question),
    *,
    n_shuffles: int = 5,
    n_seeds: int = 5,
) -> Iterator[tuple[Question, AuditResult | ViewsError]]:
    """Yield each question with the result of its audit, or with the error if these views do not allow it."""
    from manyview.audit import audit_order, audit_seeds, audit_views

    audits: dict[Question, Callable[..., AuditResult]] = {
        Question.ORDER: partial(audit_order, n_shuffles=n_shuffles),
        Question.SEEDS: partial(audit_seeds, n_seeds=n_seeds),
        Question.VIEWS: audit_views,
    }
    for question in questions:
        try:
            yield question, audits[question](estimator, views)
        except ViewsError as error:
            yield question, error


def _audit(model: Any, views: Views) -> list[AuditResult]:
    """Audit the answer. A question that these views do not allow is a warning only, as there is an answer already."""
    audits = []
    for question, found in ask(model, views):
        if isinstance(found, ViewsError):
            warnings.warn(f"audit_{question} was left out. {found}", stacklevel=2)
        else:
            audits.append(found)
    return audits


@contextmanager
def _timed(timings: dict[str, float | None], name: str, clock: WorkClock) -> Iterator[None]:
    start = clock()
    yield
    timings[name] = clock() - start
    timings["compile"] = clock.compiled or None
