"""Does the answer depend on the seed?"""

from __future__ import annotations

from typing import Any

from manyview.audit._parameters import other_seeds, seed_of
from manyview.audit._runs import Runs, check_count
from manyview.audit.result import AuditResult


def audit_seeds(estimator: Any, views: Any, *, n_seeds: int = 5, verbose: bool = False) -> AuditResult:
    """Measure how much a clustering depends on the seed.

    The estimator is fitted on the same rows with its own ``random_state`` (0 if that is not a number) and with
    ``n_seeds`` others, the smallest numbers from 0 on. The audit passes if any two of these runs have an agreement of
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
        Print a line for every fit.

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
    check_count("n_seeds", n_seeds)
    runs = Runs("audit_seeds", estimator, views, verbose)
    runs.n_fits = 1 + n_seeds
    own = seed_of(runs.parameters)
    labels = {}
    if runs.has_seed:
        labels = {
            f"seed {seed}": runs.fit(f"seed {seed}", random_state=seed) for seed in [own, *other_seeds(own, n_seeds)]
        }
    return runs.result("seeds", f"seed {own}", labels)
