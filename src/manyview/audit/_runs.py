"""The fits of one audit: clones of one estimator, fitted one after the other, and their labels compared.

Which fits there are is decided in :mod:`manyview.audit.stability`.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone

from manyview._utils.progress import Step, report_step, say, showing_progress
from manyview.audit.result import AuditResult
from manyview.exceptions import OrderDependenceWarning, warn_user
from manyview.metrics import accuracy, adjusted_rand
from manyview.metrics.table import in_blocks, known_codes
from manyview.views import Views, check_views
from manyview.views.checks import check_new_views
from manyview.views.on_disk import draw_samples, is_on_disk, load_samples, what_was_drawn


class Runs:
    """The fits of one audit. The given estimator is never fitted or changed, only clones of it are."""

    n_fits = 0
    """Maximum number of fits, which is reported to progress listeners; set by each audit."""

    def __init__(self, audit: str, estimator: Any, views: Any, verbose: bool) -> None:
        self._display = showing_progress(verbose)
        self.audit = audit
        self.estimator = clone(estimator)
        self.name = type(estimator).__name__
        self.parameters = self.estimator.get_params(deep=False)
        given = check_new_views(views, view_sizes=self.parameters.get("view_sizes"))
        drawn = draw_samples(np.zeros(given.n_samples, dtype=np.int64)) if is_on_disk(given) else range(given.n_samples)
        if len(drawn) < given.n_samples:
            warn_user(f"{audit}: {what_was_drawn(len(drawn), given.n_samples)}", UserWarning)
            given = load_samples(given, np.asarray(drawn))
        given = check_views(given)
        self.classes = known_codes(given.labels)
        self.views = replace(given, labels=None, metadata=None)  # the estimator must not see them
        self.verbose = verbose
        self._warned: dict[str, list[str]] = {}
        self._n_done = 0
        if "view_sizes" in self.parameters:  # the table has been cut into views
            self.estimator.set_params(view_sizes=None)
        if self.has_seed and self.parameters["random_state"] is None:
            self.estimator.set_params(random_state=seed_of(self.parameters))

    def __enter__(self) -> Runs:
        self._display.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._display.__exit__(*error)

    @property
    def has_seed(self) -> bool:
        """Whether the estimator has a seed to set."""
        return "random_state" in self.parameters

    def fit(self, name: str, views: Views | None = None, **changed: Any) -> np.ndarray:
        """Return the labels of one run: on the views as given or on others, with some parameters changed."""
        views = self.views if views is None else views
        model = clone(self.estimator).set_params(**changed)
        self._report()
        start = time.perf_counter()
        try:
            # The caller's warning filters apply, except that the dependence on row order is measured, not warned of.
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("ignore", OrderDependenceWarning)
                labels = self._check_labels(model.fit(views), views.n_samples)
        except Exception as error:
            error.add_note(f"{self.audit}: this happened in the run {name!r} of {self.name}.")
            raise
        for text in {f"{warning.category.__name__}: {warning.message}": None for warning in caught}:
            self._warned.setdefault(text, []).append(name)
        say(self.verbose, f"{self.audit} {self.name}: {name}, {time.perf_counter() - start:.2f} s")
        self._n_done += 1
        self._report()
        return labels

    def _report(self) -> None:
        report_step(Step(self.audit, self._n_done, self.n_fits, "fits"))

    def _check_labels(self, model: Any, n_samples: int) -> np.ndarray:
        if not hasattr(model, "labels_"):
            raise TypeError(f"estimator: expected labels_ after fit(views), but {self.name} has none.")
        labels = np.asarray(model.labels_)
        if labels.shape != (n_samples,):
            raise ValueError(
                f"estimator: expected labels_ with one value per sample, shape ({n_samples},), but those of "
                f"{self.name} have shape {labels.shape}."
            )
        return labels

    def _accuracy(self, found: Sequence[np.ndarray]) -> np.ndarray | None:
        """Return the accuracy of every run over the samples that have a class."""
        if not found or self.classes is None:
            return None
        known = self.classes >= 0
        return np.array([accuracy(self.classes[known], one[known]) for one in found])

    def result(
        self,
        question: str,
        reference: str,
        labels: dict[str, np.ndarray],
        seed_agreement: np.ndarray | None = None,
    ) -> AuditResult:
        """Compare the labels of all runs. Those of the reference come first; rows are in the order given."""
        found = list(labels.values())
        n = self.views.n_samples
        return AuditResult(
            question=question,
            estimator=self.name,
            reference=reference,
            names=tuple(name for name in labels if name != reference),
            n_samples=n,
            pairwise=pairwise_agreement(found),
            moved=np.array([round(n * (1 - accuracy(found[0], other))) for other in found[1:]], dtype=np.int64),
            accuracy=self._accuracy(found),
            sorted_by_class=None if self.classes is None else in_blocks(self.classes[self.classes >= 0]),
            seed_agreement=seed_agreement,
            warnings=tuple(f"{text} ({', '.join(runs)})" for text, runs in self._warned.items()),
        )


def pairwise_agreement(labels: Sequence[np.ndarray]) -> np.ndarray:
    """Return the adjusted Rand index of each clustering with each other one."""
    agreement = np.eye(max(len(labels), 1))
    for i, one in enumerate(labels):
        for j, other in enumerate(labels[:i]):
            agreement[i, j] = agreement[j, i] = adjusted_rand(one, other)
    return agreement


def seed_of(parameters: Mapping[str, Any]) -> int:
    """Return the estimator's own seed if it is a number, else 0: an audit changes one thing at a time."""
    seed = parameters.get("random_state")
    return int(seed) if isinstance(seed, Integral) else 0
