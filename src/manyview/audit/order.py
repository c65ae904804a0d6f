"""Does the answer depend on the order of the rows?"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from manyview.audit._parameters import for_rows, other_seeds, seed_of
from manyview.audit._runs import Runs, check_count, pairwise_agreement
from manyview.audit.result import AuditResult

REFERENCE = "rows as given"


def audit_order(
    estimator: Any,
    views: Any,
    *,
    n_shuffles: int = 5,
    random_state: int | np.random.RandomState | None = 0,
    verbose: bool = False,
) -> AuditResult:
    """Measure how much a clustering depends on the order of the rows, which means nothing.

    The estimator is fitted on the rows as given and on shuffled rows, always with the same seed, and the groups are
    compared. The audit passes if they are the same in every order.

    A method that draws at random row by row gives other draws to other rows in another order. It shall not fail for
    that. So if anything changes and the estimator has a ``random_state``, the rows as given are also fitted with
    ``n_shuffles`` other seeds. If other seeds change the groups as well, the audit fails only if every shuffle agrees
    less with the reference than every seed does; by chance that happens once in 252 audits with 5 shuffles, and once
    in two with a single one.

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
        For the shuffles.
    verbose : bool, default=False
        Print a line for every fit.

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
    check_count("n_shuffles", n_shuffles)
    random = check_random_state(random_state)
    runs = Runs("audit_order", estimator, views, verbose)
    runs.n_fits = 1 + n_shuffles * (2 if runs.has_seed else 1)
    labels = {REFERENCE: runs.fit(REFERENCE)}
    for i in range(n_shuffles):
        name, rows = f"shuffle {i + 1}", random.permutation(runs.views.n_samples)
        found = runs.fit(name, runs.views.take(rows), **for_rows(runs.parameters, rows))
        labels[name] = found[np.argsort(rows)]
    agreement = pairwise_agreement(list(labels.values()))[0, 1:]
    seed_agreement = None
    if runs.has_seed and agreement.min() < 1:
        seeds = other_seeds(seed_of(runs.parameters), n_shuffles)
        others = [runs.fit(f"{REFERENCE}, seed {seed}", random_state=seed) for seed in seeds]
        seed_agreement = pairwise_agreement([labels[REFERENCE], *others])[0, 1:]
    return runs.result("order", REFERENCE, labels, seed_agreement)
