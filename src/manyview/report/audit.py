"""The report on the audits of one method: as plain values, and as a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from manyview._utils.environment import cores, describe_environment
from manyview._utils.text import plain
from manyview.audit import AuditResult
from manyview.audit.result import conclusion
from manyview.report._page import render_page
from manyview.report.documents import describe_data, describe_method, title_end
from manyview.views import Views

FORMAT = "manyview audit 1"
HEADINGS = {"order": "Order of the rows", "seeds": "Seeds", "views": "Single views"}


def describe_audit(
    estimator: Any,
    views: Views,
    audits: Sequence[AuditResult],
    *,
    skipped: Mapping[str, str] | None = None,
    files: Iterable[object] = (),
    reading: Mapping[str, Any] | None = None,
    command: str | None = None,
) -> dict[str, Any]:
    """Combine the audits of one method in one dict of plain values: the content of ``audit.json``.

    Parameters
    ----------
    estimator : MultiViewClusterer
        The estimator that was audited.
    views : Views
        What it was fitted on.
    audits : sequence of AuditResult
        From :mod:`manyview.audit`.
    skipped : dict, optional
        Questions that were not asked, and why.
    files : iterable, default=()
        Where the views come from.
    reading : mapping, optional
        How they were read, see :func:`manyview.report.documents.describe_data`.
    command : str, optional
        What the user typed.

    Returns
    -------
    dict
        ``audits`` has each result, ``overall`` whether all passed and the conclusion in words.

    Examples
    --------
    >>> from manyview.audit import audit_seeds
    >>> from manyview.cluster import SMSC
    >>> from manyview.datasets import make_multiview
    >>> from manyview.report.audit import describe_audit
    >>> model, views = SMSC(3), make_multiview(60, noise=0.3, random_state=0)
    >>> describe_audit(model, views, [audit_seeds(model, views, n_seeds=2)])["overall"]["passed"]
    True
    """
    parameters = plain(estimator.get_params(deep=False))
    method, found = describe_method(estimator), [audit.to_dict() for audit in audits]
    return {
        "format": FORMAT,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command,
        "data": describe_data(views, files, reading),
        "method": method,
        "parameters": parameters,
        "audits": found,
        "skipped": dict(skipped or {}),
        "overall": {"passed": all(audit["passed"] for audit in found), "text": conclusion(method["name"], found)},
        "environment": describe_environment(parameters.get("n_jobs") or cores()),
    }


def render(document: Mapping[str, Any]) -> str:
    """Render the result of :func:`describe_audit` as one HTML page.

    Returns
    -------
    str
        A page that opens from disk and needs no network.
    """
    return render_page(
        "audit.html",
        title=f"Audit of {document['method']['name']}" + title_end(document["data"]),
        document=document,
        headings=HEADINGS,
    )
