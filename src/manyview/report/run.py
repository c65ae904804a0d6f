"""The report on one clustering: the clusters and the evidence for them on one page.

:func:`summarise` collects everything in a plain dict, :func:`render` makes a page of it, and :func:`write_report` does
both for a fitted model.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from manyview._utils.drawing import AGREEMENTS, is_by_view, steps, usual_keys
from manyview._utils.files import write_whole
from manyview._utils.machine import one_thread
from manyview._utils.progress import Step, report_step, say, showing_progress
from manyview._utils.text import shortened
from manyview.description import Description, describe
from manyview.description.map import Shown, choose_shown, project
from manyview.description.on_disk import count_all
from manyview.exceptions import ViewsError
from manyview.report import run_figures as figures
from manyview.report._clusters import Classes, list_samples
from manyview.report._described import describe_clusters
from manyview.report._figure import picture_address
from manyview.report._page import render_page
from manyview.report._view_graphs import (
    agreement_of_samples,
    agreement_of_view,
    blocks,
    cast_votes,
    graph_images,
)
from manyview.report.description_figures import sections
from manyview.report.documents import describe_result, not_settled
from manyview.report.file import Report
from manyview.views import Views, check_views
from manyview.views.checks import check_new_views
from manyview.views.on_disk import is_on_disk, load_to_show

_DIGITS = 4
_MAX_IN_TABLE = 30  # classes and clusters; more are drawn as a heat map
_MAX_POINTS = 400  # of a line of convergence


@one_thread()  # reproducible with any number of cores, as in fit; and problems this small need no threads
def summarise(
    model: Any,
    views: Views,
    result: Mapping[str, Any],
    *,
    audits: Iterable[Any] = (),
    description: Description | None = None,
    sample_names: bool = True,
    random_state: int = 0,
) -> dict[str, Any]:
    """Collect everything that the report on one clustering shows.

    Of many samples, a random sample of 2,000 is drawn, so the time hardly depends on their number.

    Parameters
    ----------
    model : fitted estimator
    views : Views
        What it was fitted on.
    result : dict
        As ``describe_result`` gives it.
    audits : iterable of AuditResult, optional
        Results of audits of this clustering.
    description : Description, optional
        What the clusters are, of :func:`manyview.describe`, for the same model and views. Its names of the clusters are
        used on the whole page, and the map can be coloured by ``views.metadata``.
    sample_names : bool, default=True
        Whether to show ids, labels and metadata of single samples. If not, they are shown by their row numbers, and
        only tables of groups remain.
    random_state : int, default=0
        Random seed for the choice of samples that are shown.

    Returns
    -------
    dict
        Everything of ``result``, and ``names``, ``sample_names``, ``map``, ``cluster_samples``, ``description``,
        ``graphs``, ``blocks``, ``views``, ``convergence``, ``confusion``, ``audits`` and ``reproduce``: plain values,
        ready for ``json.dumps``.

    Examples
    --------
    >>> from manyview import GraphEnsemble
    >>> from manyview.datasets import make_multiview
    >>> from manyview.report.documents import describe_result
    >>> views = make_multiview(60, n_clusters=3, random_state=0)
    >>> model = GraphEnsemble(3, n_members=4, random_state=0).fit(views)
    >>> summary = summarise(model, views, describe_result(model, views))
    >>> summary["map"]["n_shown"], [cluster["size"] for cluster in summary["cluster_samples"]]
    (60, [20, 20, 20])
    """
    clusters = np.asarray(model.labels_)
    cluster_names = _names(description, clusters)
    # Labels from elsewhere may be missing. Samples are named by their row in the views as given.
    origin = np.arange(len(clusters)) if description is None else description.rows
    given, views = views, views if len(origin) == views.n_samples else views.take(origin)
    confidence = getattr(model, "confidence_", None)
    classes = None if views.labels is None or result["scores"] is None else Classes.compare(views.labels, clusters)
    shown = choose_shown(model, clusters, random_state)
    votes = cast_votes(model, views, shown)
    names = [shortened(name, 40) for name in views.names]
    sizes = {cluster["cluster"]: cluster["size"] for cluster in result["clusters"]}

    def name(row: int) -> str:
        return str(row) if given.sample_ids is None or not sample_names else shortened(given.sample_ids[row], 60)

    def name_here(row: int) -> str:
        return name(int(origin[row]))

    return {
        **result,
        "warnings": result["warnings"] if sample_names else _without_ids(result["warnings"], views.sample_ids),
        "names": cluster_names,
        "sample_names": sample_names,
        "map": _map(model, views, shown, agreement_of_samples(votes, shown), classes if sample_names else None)
        | {"id": [name_here(row) for row in shown.rows.tolist()]},
        "cluster_samples": [
            listed | {"size": sizes.get(listed["cluster"], 0)}  # of all samples, also if these are drawn
            for listed in list_samples(clusters, name_here, confidence, classes, sample_names)
        ],
        "description": None
        if description is None
        else describe_clusters(description, given, origin[shown.rows], name, sample_names),
        "graphs": graph_images(model, shown, votes, names),
        "blocks": blocks(shown),
        "views": _views(model, names, views.n_features, [agreement_of_view(vote, shown) for vote in votes]),
        "convergence": convergence_lines(model, names),
        "confusion": None if classes is None else classes.confusion(),
        "audits": [audit.to_dict() for audit in audits] or list(result.get("audits", ())),
        "reproduce": {"command": result["command"], "python": _python(model, result)},
    }


def _names(description: Description | None, clusters: np.ndarray) -> list[str]:
    """Return the name of each cluster; the description must be of these clusters."""
    n_clusters = int(clusters.max()) + 1
    if description is not None and not isinstance(description, Description):
        raise TypeError(f"description: expected the result of manyview.describe, got {type(description).__name__}.")
    if description is None:
        return [f"cluster {k}" for k in range(n_clusters)]
    same = len(description.rows) == len(clusters) and np.array_equal(description.labels, clusters)
    if not same or len(description.names) != n_clusters:
        raise ViewsError(
            "description: it is about other clusters than those of the model; call manyview.describe(views, model)."
        )
    return list(description.names)


def _without_ids(texts: Sequence[str], ids: np.ndarray | None) -> list[str]:
    """Return the warnings, and a sentence in place of each that names a sample."""
    known = set() if ids is None else {str(one) for one in ids}

    def names_one(text: str) -> bool:
        words = re.findall(r"[^\s,;:()'\"`]+", text)
        return any(word in known or word.rstrip(".") in known for word in words if len(word) > 2)

    return ["A warning about single samples is not shown here." if names_one(text) else text for text in texts]


def _views(
    model: Any, names: Sequence[str], n_features: Sequence[int], agreement: Sequence[tuple[float | None, float | None]]
) -> list[dict[str, Any]]:
    weights = getattr(model, "view_weights_", [None] * len(names))
    return [
        {
            "name": name,
            "n_features": width,
            "weight": None if weight is None else float(weight),
            "agreement": share,
            "ari": ari,
        }
        for name, width, weight, (share, ari) in zip(names, n_features, weights, agreement, strict=True)
    ]


def _map(model: Any, views: Views, shown: Shown, agreement: np.ndarray, classes: Classes | None) -> dict[str, Any]:
    points, how = project(model, views, shown)
    confidence = getattr(model, "confidence_", None)
    codes = [] if classes is None else classes.codes[shown.rows].tolist()
    return {
        "how": how,
        "n_shown": len(shown.rows),
        "x": points[:, 0].round(_DIGITS).tolist(),
        "y": points[:, 1].round(_DIGITS).tolist(),
        "cluster": shown.codes.tolist(),
        "confidence": None if confidence is None else _rounded(confidence[shown.rows]),
        "label": classes and [classes.name(code) for code in codes],
        "label_match": classes and [classes.match_of(code) for code in codes],
        "agreement": _rounded(agreement),
    }


def _rounded(values: np.ndarray) -> list[float | None]:
    rounded = np.asarray(values, dtype=np.float64).round(_DIGITS)
    return [value if known else None for value, known in zip(rounded.tolist(), np.isfinite(rounded), strict=True)]


def convergence_lines(model: Any, names: list[str]) -> list[dict[str, Any]]:
    """Return every record with a value for each step, the usual ones first.

    Parameters
    ----------
    model : fitted estimator
        With ``history_`` and ``n_iter_``.
    names : list of str
        Of the views; a record with a value for each view becomes a line for each.

    Returns
    -------
    list of dict
        With ``group`` (lines of one figure), ``name``, ``unit`` (of the steps), ``x`` and ``y``.
    """
    history = getattr(model, "history_", {})
    if not history or is_by_view(history):
        return []
    numbers, unit = steps(history, getattr(model, "n_iter_", 0))
    kept = np.unique(np.linspace(0, len(numbers) - 1, min(len(numbers), _MAX_POINTS)).round().astype(np.int64))
    usual = usual_keys(history)
    lines = []
    for key in [*usual, *(key for key in history if key not in (*usual, "n_members"))]:
        values = np.asarray(history[key])
        if values.ndim == 0 or len(values) != len(numbers) or len(numbers) == 0 or values.dtype.kind not in "biuf":
            continue
        words = key.replace("_", " ")
        group = "agreement of the labels" if key in AGREEMENTS else words
        if values.ndim == 1:
            columns = {words: values}
        elif values.ndim == 2 and values.shape[1] == len(names):
            columns = dict(zip(names, values.T, strict=True))
        else:
            continue
        x = numbers[kept].tolist()
        lines += [
            {
                "group": group,
                "name": name,
                "unit": unit,
                "x": x,
                "y": [float(value) if np.isfinite(value) else None for value in column[kept]],
            }
            for name, column in columns.items()
        ]
    return lines


def _python(model: Any, result: Mapping[str, Any]) -> str:
    """Return a program that fits the same model to the same data; defaults are left out."""
    if result["method"] is None:
        return (
            f"import manyview\n\n{_reading(result['data'])}\n"
            "description = manyview.describe(views, labels)  # labels: the cluster of each sample\n"
        )
    name = result["method"]["name"]
    defaults = {key: value.default for key, value in inspect.signature(type(model).__init__).parameters.items()}
    given = {key: value for key, value in result["parameters"].items() if defaults.get(key) != value}
    words = ", ".join(f"{key}={value!r}" for key, value in given.items())
    start = f"import manyview\nfrom manyview.cluster import {name}\n\n"
    return start + f"{_reading(result['data'])}\nmodel = {name}({words}).fit(views)\n"


def _reading(data: Mapping[str, Any]) -> str:
    """Return the line of a program that reads the views."""
    files, options = list(data["files"]), dict(data["reading"])
    if "python" in options:
        return f"views = {options['python']}"
    if not files:
        return "# views: the same as for this report"
    sizes = options.pop("view_sizes", None)
    words = [repr(files[0] if len(files) == 1 else files), *(f"{key}={value!r}" for key, value in options.items())]
    line = f"views = manyview.read_views({', '.join(words)})"
    return line if sizes is None else f"{line}\nviews = manyview.views.wide.cut_table(views, {sizes!r})"


def render(summary: Mapping[str, Any]) -> str:
    """Render the summary of a clustering as one HTML page.

    Parameters
    ----------
    summary : dict
        As :func:`summarise` gives it.

    Returns
    -------
    str
        A page that opens from disk and needs no network.

    Examples
    --------
    >>> from manyview import GraphEnsemble
    >>> from manyview.datasets import make_multiview
    >>> from manyview.report.documents import describe_result
    >>> views = make_multiview(60, n_clusters=3, random_state=0)
    >>> model = GraphEnsemble(3, n_members=4, random_state=0).fit(views)
    >>> "<h1>3 clusters of 60 samples</h1>" in render(summarise(model, views, describe_result(model, views)))
    True
    """
    confusion = summary["confusion"]
    small = confusion is not None and max(len(confusion["classes"]), len(confusion["clusters"])) <= _MAX_IN_TABLE
    return render_page(
        "run.html",
        title=f"{summary['n_clusters']:,} cluster{'s' * (summary['n_clusters'] != 1)} of "
        f"{summary['data']['n_samples']:,} samples",
        summary=summary,
        names=summary["names"],
        map=figures.samples(summary),
        legends=figures.legends(summary),
        marks=[figures.cluster_mark(k, summary["n_clusters"]) for k in range(summary["n_clusters"])],
        sample_heading="Sample" if summary["data"]["has_ids"] and summary["sample_names"] else "Row",
        sizes=figures.sizes(summary["clusters"], summary["names"]),
        not_settled=not_settled(summary),
        suggestion=figures.suggestion(summary["suggestion"]) if summary["suggestion"] else None,
        pictures=[(graph, picture_address(graph["image"])) for graph in summary["graphs"]],
        views=figures.views(summary["views"]),
        **sections(summary),
        convergence=figures.convergence(summary["convergence"]),
        confusion=confusion if small else None,
        confusion_map=figures.confusion(confusion, summary["names"]) if confusion and not small else None,
    )


def write_report(
    model: Any,
    views: Any,
    path: str | os.PathLike[str],
    *,
    audits: Iterable[Any] = (),
    description: Description | Literal[False] | None = None,
    sample_names: bool = True,
    verbose: bool = False,
) -> Report:
    """Write the report on a fitted model: one HTML file that opens from disk and needs no network.

    Parameters
    ----------
    model : fitted estimator
    views : Views, list or dict of arrays
        What it was fitted on. Names, ids and labels of :class:`manyview.Views` are shown. Of Dask arrays and
        memory-mapped files, about 20,000 samples are drawn and loaded, which the page shows.
    path : str or path
        The file, in a folder that exists. A file of that name is replaced.
    audits : iterable of AuditResult, optional
        Results of audits of this clustering, to be shown as well.
    description : Description, optional
        What the clusters are, of :func:`manyview.describe`: with p values, names of the clusters, pictures and so on.
        By default the report makes one of its own, without p values; False leaves these sections out.
    sample_names : bool, default=True
        Whether to show ids, labels and metadata of single samples. Pages about patients get mailed around: with False,
        samples are shown by their row numbers, and only tables of groups remain.
    verbose : bool, default=False
        Show progress: as a bar in a notebook or a terminal, elsewhere as printed lines.

    Returns
    -------
    Report
        The file: a path that shows the page in a notebook.

    Raises
    ------
    OSError
        If the file cannot be written. An existing file is left unchanged.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from manyview import GraphEnsemble
    >>> from manyview.datasets import make_multiview
    >>> from manyview.report import write_report
    >>> views = make_multiview(60, n_clusters=3, random_state=0)
    >>> model = GraphEnsemble(3, n_members=4, random_state=0).fit(views)
    >>> with TemporaryDirectory() as folder:
    ...     report = write_report(model, views, Path(folder, "report.html"))
    ...     Path(report).read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    with showing_progress(verbose):
        summary = _summary_of(model, views, audits, description, sample_names, verbose)
        _report_part(2, verbose, "drawing figures")
        write_whole(path, render(summary))
        _report_part(3, verbose, "written")
    return Report(path)


def _summary_of(
    model: Any,
    views: Any,
    audits: Iterable[Any],
    description: Description | Literal[False] | None,
    sample_names: bool,
    verbose: bool,
) -> dict[str, Any]:
    """Return what the report on a fitted model shows."""
    _report_part(0, verbose, "describing the clusters")
    given = check_new_views(views, view_sizes=getattr(model, "view_sizes", None))
    if not is_on_disk(given):
        given = check_views(given, keep_float32=True)
    whole, shown_model, samples = load_to_show(model, given)
    if description is None:
        found = describe(samples, shown_model, p_values=False)
        description = count_all(found, whole.labels_, getattr(whole, "confidence_", None))
    elif description and samples is not given:
        raise ValueError(
            "description: the views are on disk, and the report draws samples of its own. Leave it out, or pass False."
        )
    _report_part(1, verbose, "collecting samples and graphs")
    return summarise(
        shown_model,
        samples,
        describe_result(whole, given),
        audits=audits,
        description=description or None,
        sample_names=sample_names,
    )


def _report_part(done: int, verbose: bool, what: str) -> None:
    say(verbose, f"write_report: {what}")
    report_step(Step("write_report", done, 3, "parts"))
