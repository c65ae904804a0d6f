"""Does the answer depend on a single view?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from manyview.audit._parameters import check_any_view_may_go, without_view
from manyview.audit._runs import Runs
from manyview.audit.result import AuditResult
from manyview.exceptions import ViewsError
from manyview.views import Views

REFERENCE = "all views"


def audit_views(estimator: Any, views: Any, *, verbose: bool = False) -> AuditResult:
    """Measure how much a clustering depends on each of the views.

    The estimator is fitted on all views and then without each of them in turn, on the same rows and with the same
    seed. The audit passes if every answer has an agreement of at least 0.8 with that of all views. A view that changes
    nothing when it is absent adds nothing to the others; one that changes much decides the answer, for better or
    worse. Part of a change can be chance: compare it with what :func:`audit_seeds` finds.

    Parameters
    ----------
    estimator : object with ``fit(views)`` and ``labels_``
        Any estimator of this package, with its parameters set. Clones of it are fitted. If its ``random_state`` is
        None, every run gets 0. A ``scaling`` per view loses that of the absent view; ``readout_view`` must be None.
    views : Views, list or dict of arrays, or one array if the estimator has ``view_sizes``
        Whatever :func:`manyview.check_views` takes, one view more than the estimator needs. Labels, if any, are only
        used to report accuracies.
    verbose : bool, default=False
        Print a line for every fit.

    Returns
    -------
    AuditResult
        With ``question="views"``.

    Examples
    --------
    >>> from manyview.audit import audit_views
    >>> from manyview.cluster import SMSC
    >>> from manyview.datasets import make_multiview
    >>> views = make_multiview(90, n_views=2, n_noise_views=1, noise=0.5, random_state=0)
    >>> found = audit_views(SMSC(n_clusters=3), views)
    >>> found.names
    ('without view0', 'without view1', 'without noise0')
    """
    runs = Runs("audit_views", estimator, views, verbose)
    given = runs.views
    if reason := why_none_can_go(estimator, given):
        raise ViewsError(f"views: {reason}")
    check_any_view_may_go(runs.parameters)
    runs.n_fits = 1 + given.n_views
    labels = {REFERENCE: runs.fit(REFERENCE)}
    for v, name in enumerate(given.names):
        changed = without_view(runs.parameters, given, v)
        labels[f"without {name}"] = runs.fit(f"without {name}", _without(given, v), **changed)
    return runs.result("views", REFERENCE, labels)


def why_none_can_go(estimator: Any, views: Views) -> str | None:
    """Say why no view can be left out; None if one can."""
    needed = max(getattr(estimator, "min_views", 1), 1) + 1
    if views.n_views < needed:
        name = type(estimator).__name__
        return f"to leave one out, {name} needs at least {needed} views, got {views.n_views}: {', '.join(views.names)}."
    if views.present is None or (views.present.sum(axis=1) > 1).all():
        return None
    row = int((views.present.sum(axis=1) == 1).argmax())
    sample = f"row {row}" + ("" if views.sample_ids is None else f" ({views.sample_ids[row]})")
    only = views.names[int(views.present[row].argmax())]
    return f"to leave one out, every sample needs two views, but the sample in {sample} has {only} only."


def _without(views: Views, left_out: int) -> Views:
    kept = [v for v in range(views.n_views) if v != left_out]
    return replace(
        views,
        arrays=tuple(views.arrays[v] for v in kept),
        names=tuple(views.names[v] for v in kept),
        present=None if views.present is None else views.present[:, kept],
        feature_names=None if views.feature_names is None else tuple(views.feature_names[v] for v in kept),
    )
