"""From views to files: read, choose the number of clusters, fit, describe, write."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from manyview.cli._choice import AUTO, Choice, as_typed
from manyview.cli._errors import STOPPED, say
from manyview.cli._folder import NAMES, write_answer
from manyview.cli._output import check_folder
from manyview.cli._questions import ask
from manyview.exceptions import ClusterCountWarning, ViewsError

if TYPE_CHECKING:
    from manyview.audit import AuditResult
    from manyview.cluster import ClusterCountSuggestion
    from manyview.views import Views


@dataclass(frozen=True)
class Job:
    """What to cluster, how, and where the answer goes."""

    read: Callable[[], Views]
    choice: Choice
    n_clusters: int | str | range
    out: Path
    command: str
    files: Sequence[Path] = ()
    reading: Mapping[str, Any] = field(default_factory=dict)
    row_order: str | None = None
    with_audit: bool = False
    with_report: bool = True


def run_and_write(job: Job) -> dict[str, Any]:
    """Do the job; all files of the answer are written, or none.

    Returns
    -------
    dict
        The content of result.json, with the paths of the files.
    """
    try:
        check_folder(job.out, list(NAMES.values()))
        model, views, result, page = _run(job)
    except KeyboardInterrupt:
        say("stopped; nothing was written")
        raise typer.Exit(STOPPED) from None
    return write_answer(job.out, model, views, result, page)


def _run(job: Job) -> tuple[Any, Views, dict[str, Any], str | None]:
    """The fitted model, what it was fitted on, what there is to say about it, and the report if one is wanted."""
    from manyview.cli._progress import fit_progress

    timings: dict[str, float | None] = dict.fromkeys(("start", "read", "suggest", "fit", "audit", "report"))
    ask_first = not isinstance(job.n_clusters, int) and not job.choice.takes_auto
    model = job.choice.estimator(2 if ask_first else job.n_clusters)
    model._validate_params()  # what is wrong with the command line is said before anything is read
    suggestion, audits = None, []

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore", ClusterCountWarning)  # say_chosen says the same
        timings["start"] = _seconds_since_start()
        with _timed(timings, "read"):
            views = _checked(job.read(), model, job)
        if ask_first:
            with _timed(timings, "suggest"), fit_progress():
                # Every scaling of a method is one of suggest_n_clusters; their defaults are not the same.
                scaling = job.choice.parameters.get("scaling", AUTO)
                suggestion = suggest(views, job.n_clusters, scaling, job.choice.seed, job.choice.jobs)
            say_chosen(job.n_clusters, suggestion)
            model.set_params(n_clusters=suggestion.n_clusters)
        with _timed(timings, "fit"), fit_progress():
            model.fit(views)
        if model.n_clusters == AUTO:
            suggestion = model.suggestion_
            say_chosen(job.n_clusters, suggestion)
            # What the result states, and what audits compare with.
            model.set_params(n_clusters=model.n_clusters_, k_range=None)
        if job.with_audit:
            with _timed(timings, "audit"), fit_progress():
                audits = _audit(model, views)
    warned = list(dict.fromkeys(str(warning.message) for warning in caught))
    for text in warned:
        say(f"warning: {text}")

    with _timed(timings, "report"):
        from manyview.report.documents import describe_result

        result = describe_result(
            model,
            views,
            files=job.files,
            command=job.command,
            seed=job.choice.seed,
            suggestion=suggestion,
            timings=timings,
            warnings=warned,
            audits=audits,
            reading=job.reading,
            order=job.row_order,
        )
        page = _report(model, views, result, audits) if job.with_report else None
    result["timings"] = timings  # with that of the report, which the report itself cannot know
    return model, views, result, page


def _checked(views: Views, model: Any, job: Job) -> Views:
    """The views, unless the method is going to refuse them anyhow."""
    from manyview.views import check_views

    if views.n_views < model.min_views:
        raise typer.BadParameter(
            f"{type(model).__name__} needs at least {model.min_views} views, got {views.n_views}. Give one file for "
            "each view, or say how to cut the columns of this table into views, for example with --view-sizes 2.",
            param_hint="FILES",
        )
    job.choice.check_scales(views.names)
    check_n_clusters(job.n_clusters, views.n_samples)
    return check_views(views, keep_float32=True)


def check_n_clusters(n_clusters: int | str | range, n_samples: int) -> None:
    """Refuse more clusters than there are samples."""
    most = n_clusters[-1] if isinstance(n_clusters, range) else 2 if n_clusters == AUTO else int(n_clusters)
    if most > n_samples:  # auto finds no fewer than 2
        raise typer.BadParameter(
            f"{most} clusters are more than there are samples, {n_samples}. Choose fewer.", param_hint="-k"
        )


def suggest(
    views: Views, n_clusters: int | str | range, scaling: Any = AUTO, seed: int = 0, jobs: int | None = None
) -> ClusterCountSuggestion:
    """Choose a number of clusters for methods that cannot."""
    from manyview.cluster import suggest_n_clusters

    k_range = n_clusters if isinstance(n_clusters, range) else None
    return suggest_n_clusters(views, k_range, scaling=scaling, random_state=seed, n_jobs=jobs)


def say_chosen(n_clusters: int | str | range, suggestion: ClusterCountSuggestion) -> None:
    """Say which number was chosen, and why; ``n_clusters`` is what was typed."""
    say(f"-k {as_typed(n_clusters)} takes {suggestion.n_clusters}. {suggestion.reason}")


def _audit(model: Any, views: Views) -> list[AuditResult]:
    """Audit the answer. A question that cannot be asked of these views is a warning, as the answer stands."""
    audits = []
    for question, found in ask(model, views):
        if isinstance(found, ViewsError):
            warnings.warn(f"audit_{question} was left out. {found}", stacklevel=2)
        else:
            audits.append(found)
    return audits


def _report(model: Any, views: Views, result: dict[str, Any], audits: Sequence[AuditResult]) -> str:
    from manyview.report import run

    return run.render(run.summarise(model, views, result, audits=audits))


@contextmanager
def _timed(timings: dict[str, float | None], name: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    timings[name] = time.perf_counter() - start


def _seconds_since_start() -> float | None:
    """The age of this process, where the system tells it (Linux)."""
    try:
        started = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - int(started) / os.sysconf("SC_CLK_TCK"))
    except (OSError, AttributeError):
        return None
