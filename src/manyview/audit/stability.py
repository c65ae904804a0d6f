"""The three audits: how much a clustering changes with the order of the rows, with the seed, and without each view."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from manyview.audit._runs import Runs, pairwise_agreement, seed_of
from manyview.audit.result import AuditResult
from manyview.exceptions import ViewsError
from manyview.views import Views

_AS_GIVEN = "rows as given"
_ALL_VIEWS = "all views"


def audit_order(
    estimator: Any,
    views: Any,
    *,
    n_shuffles: int = 5,
    random_state: int | np.random.RandomState | None = 0,
    verbose: bool = False,
) -> AuditResult:
    """Measure how much a clustering depends on the order of the rows, which carries no information.

    The estimator is fitted on the rows as given and on shuffled rows, always with the same seed, and the groups are
    compared. The audit passes if they are the same in every order.

    A method that draws random numbers row by row draws other ones for the same sample in another order, and should not
    fail for that. So if the groups change and the estimator has a ``random_state``, the rows as given are also fitted
    with ``n_shuffles`` other seeds. If these change the groups as well, the audit fails only if every shuffle agrees
    less with the reference than every seed does. By chance that happens in 1 of 252 audits with 5 shuffles, and in 1
    of 2 with a single one.

    Parameters
    ----------
    estimator : object with ``fit(views)`` and ``labels_``
        Any estimator of this package, with its parameters set. Clones of it are fitted. If its ``random_state`` is
        None, every run gets 0. Anchors that it lists by row follow their rows.
    views : Views, list or dict of arrays, or one array if the estimator has ``view_sizes``
        Whatever :func:`manyview.check_views` takes. Labels, if any, are only used to report accuracies.
    n_shuffles : int, default=5
        Number of shuffled orders.
    random_state : int, RandomState or None, default=0
        Random seed of the shuffles.
    verbose : bool, default=False
        Show progress: as a bar in a notebook or a terminal, elsewhere as a printed line for every fit.

    Returns
    -------
    AuditResult
        With ``question="order"``.

    Examples
    --------
    >>> from manyview.audit import audit_order
    >>> from manyview.cluster import SMSC
    >>> from manyview.datasets import make_multiview
    >>> found = audit_order(SMSC(n_clusters=3), make_multiview(90, noise=0.6, random_state=0), n_shuffles=3)
    >>> found.passed
    True
    >>> print(found.verdict)
    SMSC does not depend on the order of the rows: 3 shuffles gave the same groups as the rows as given.
    """
    _check_count("n_shuffles", n_shuffles)
    random = check_random_state(random_state)
    with Runs("audit_order", estimator, views, verbose) as runs:
        runs.n_fits = 1 + n_shuffles * (2 if runs.has_seed else 1)
        labels = {_AS_GIVEN: runs.fit(_AS_GIVEN)}
        for i in range(n_shuffles):
            name, rows = f"shuffle {i + 1}", random.permutation(runs.views.n_samples)
            found = runs.fit(name, runs.views.take(rows), **_anchors_in_order(runs.parameters, rows))
            labels[name] = found[np.argsort(rows)]
        agreement = pairwise_agreement(list(labels.values()))[0, 1:]
        seed_agreement = None
        if runs.has_seed and agreement.min() < 1:
            seeds = _other_seeds(seed_of(runs.parameters), n_shuffles)
            others = [runs.fit(f"{_AS_GIVEN}, seed {seed}", random_state=seed) for seed in seeds]
            seed_agreement = pairwise_agreement([labels[_AS_GIVEN], *others])[0, 1:]
        return runs.result("order", _AS_GIVEN, labels, seed_agreement)


def audit_seeds(estimator: Any, views: Any, *, n_seeds: int = 5, verbose: bool = False) -> AuditResult:
    """Measure how much a clustering depends on the seed.

    The estimator is fitted on the same rows with its own ``random_state`` (0 if that is not a number) and with
    ``n_seeds`` others, counted from 0. The audit passes if any two of these runs have an agreement of
    at least 0.8. An estimator without ``random_state`` passes and is not fitted.

    Parameters
    ----------
    estimator : object with ``fit(views)`` and ``labels_``
        Any estimator of this package, with its parameters set. Clones of it are fitted.
    views : Views, list or dict of arrays, or one array if the estimator has ``view_sizes``
        Whatever :func:`manyview.check_views` takes. Labels, if any, are only used to report accuracies.
    n_seeds : int, default=5
        Number of other seeds.
    verbose : bool, default=False
        Show progress: as a bar in a notebook or a terminal, elsewhere as a printed line for every fit.

    Returns
    -------
    AuditResult
        With ``question="seeds"``.

    Examples
    --------
    >>> from manyview.audit import audit_seeds
    >>> from manyview.cluster import RDEKM
    >>> from manyview.datasets import make_multiview
    >>> found = audit_seeds(RDEKM(n_clusters=3), make_multiview(90, random_state=0), n_seeds=3)
    >>> found.names
    ('seed 1', 'seed 2', 'seed 3')
    >>> print(found.verdict)
    RDEKM does not depend on the seed: 4 seeds gave the same groups.
    """
    _check_count("n_seeds", n_seeds)
    with Runs("audit_seeds", estimator, views, verbose) as runs:
        runs.n_fits = 1 + n_seeds
        own = seed_of(runs.parameters)
        labels = {}
        if runs.has_seed:
            seeds = [own, *_other_seeds(own, n_seeds)]
            labels = {f"seed {seed}": runs.fit(f"seed {seed}", random_state=seed) for seed in seeds}
        return runs.result("seeds", f"seed {own}", labels)


def audit_views(estimator: Any, views: Any, *, verbose: bool = False) -> AuditResult:
    """Measure how much a clustering depends on each of the views.

    The estimator is fitted on all views and then without each of them in turn, on the same rows and with the same
    seed. The audit passes if every answer has an agreement of at least 0.8 with that of all views. A view whose
    absence changes nothing adds nothing to the others; one whose absence changes much decides the answer, which can be
    right or wrong. Part of a change can be chance: compare it with the result of :func:`audit_seeds`.

    Parameters
    ----------
    estimator : object with ``fit(views)`` and ``labels_``
        Any estimator of this package, with its parameters set. Clones of it are fitted. If its ``random_state`` is
        None, every run gets 0. A ``scaling`` per view loses that of the absent view; ``readout_view`` must be None.
    views : Views, list or dict of arrays, or one array if the estimator has ``view_sizes``
        Whatever :func:`manyview.check_views` takes, one view more than the estimator needs. Labels, if any, are only
        used to report accuracies.
    verbose : bool, default=False
        Show progress: as a bar in a notebook or a terminal, elsewhere as a printed line for every fit.

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
    with Runs("audit_views", estimator, views, verbose) as runs:
        given = runs.views
        if reason := why_none_can_go(estimator, given):
            raise ViewsError(f"views: {reason}")
        if (readout := runs.parameters.get("readout_view")) is not None:
            raise ViewsError(
                f"readout_view={readout!r}: labels are read off that view, so it cannot be left out. "
                "Set readout_view=None to audit the views."
            )
        runs.n_fits = 1 + given.n_views
        labels = {_ALL_VIEWS: runs.fit(_ALL_VIEWS)}
        for v, name in enumerate(given.names):
            changed = _scaling_without(runs.parameters, given, v)
            labels[f"without {name}"] = runs.fit(f"without {name}", _without(given, v), **changed)
        return runs.result("views", _ALL_VIEWS, labels)


def why_none_can_go(estimator: Any, views: Views) -> str | None:
    """Return the reason why no view can be left out, or None if one can."""
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


def _check_count(name: str, value: int) -> None:
    if value < 1:
        raise ValueError(f"{name}: expected at least 1, got {value}.")


def _other_seeds(seed: int, number: int) -> list[int]:
    """Return the smallest seeds from 0 on, without the given one."""
    return [other for other in range(number + 1) if other != seed][:number]


def _anchors_in_order(parameters: Mapping[str, Any], rows: np.ndarray) -> dict[str, Any]:
    """Return the parameters to change for samples in the order ``rows``: anchors that are listed by row."""
    anchors = parameters.get("anchors")
    if anchors is None or isinstance(anchors, str):
        return {}
    return {"anchors": np.argsort(rows)[np.asarray(anchors)]}


def _scaling_without(parameters: Mapping[str, Any], views: Views, left_out: int) -> dict[str, Any]:
    """Return the parameters to change when a view is left out: a scaling that is given per view."""
    scaling = parameters.get("scaling")
    if isinstance(scaling, Mapping):
        return {"scaling": {name: value for name, value in scaling.items() if name != views.names[left_out]}}
    if scaling is not None and not isinstance(scaling, str):
        return {"scaling": [value for v, value in enumerate(scaling) if v != left_out]}
    return {}
