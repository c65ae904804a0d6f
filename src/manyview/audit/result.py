"""What an audit found: the numbers of every run, and what they mean in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from manyview.audit._verdicts import JUDGES


@dataclass(frozen=True, eq=False)
class AuditResult:
    """What came out of fitting one estimator several times, with one thing changed each time.

    Parameters
    ----------
    question : {"order", "seeds", "views"}
        What was changed.
    estimator : str
        Name of the estimator's class.
    reference : str
        The run that the others are compared with, such as "rows as given".
    names : tuple of str
        What was changed in each other run: "shuffle 1", "seed 3", "without gist".
    n_samples : int
        Number of samples.
    pairwise : ndarray of shape (1 + n_runs, 1 + n_runs)
        Agreement (adjusted Rand index) of every run with every other; the reference comes first.
    moved : ndarray of shape (n_runs,)
        Number of samples that are in another group than in the reference, groups being matched one to one.
    accuracy : ndarray of shape (1 + n_runs,), optional
        Accuracy of every run, reference first, over the samples that have a label. :attr:`row_order` says in which
        order of the rows it was measured.
    sorted_by_class : bool, optional
        Whether the rows as given are sorted by their labels, where the views carry some.
    seed_agreement : ndarray, optional
        For the question "order", where the order changed the groups: agreement of the reference with the same rows
        and other seeds.
    warnings : tuple of str
        What the estimator warned of, each text once, with the runs it came from.
    """

    question: str
    estimator: str
    reference: str
    names: tuple[str, ...]
    n_samples: int
    pairwise: np.ndarray
    moved: np.ndarray
    accuracy: np.ndarray | None = None
    sorted_by_class: bool | None = None
    seed_agreement: np.ndarray | None = None
    warnings: tuple[str, ...] = ()

    @property
    def agreement(self) -> np.ndarray:
        """Adjusted Rand index of each changed run with the reference: 1 is the same groups, 0 is chance."""
        return self.pairwise[0, 1:]

    @property
    def passed(self) -> bool:
        """Whether the answer holds; the function that made the audit says what that takes."""
        return JUDGES[self.question](self).passed

    @property
    def verdict(self) -> str:
        """The outcome in plain sentences, with the numbers."""
        return JUDGES[self.question](self).text

    @property
    def row_order(self) -> str:
        """In which order the rows were when the numbers were measured."""
        return f"{self.given_order}; then shuffled" if self.question == "order" else self.given_order

    @property
    def given_order(self) -> str:
        """What is known of the order in which the rows were given."""
        return "rows as given, sorted by class" if self.sorted_by_class else "rows as given"

    def to_dict(self) -> dict[str, Any]:
        """Everything as numbers, texts and lists, ready for ``json.dumps``."""
        as_list = lambda values: None if values is None else values.tolist()  # noqa: E731
        return {
            "question": self.question,
            "estimator": self.estimator,
            "passed": self.passed,
            "verdict": self.verdict,
            "row_order": self.row_order,
            "n_samples": self.n_samples,
            "reference": self.reference,
            "names": list(self.names),
            "agreement": as_list(self.agreement),
            "moved": as_list(self.moved),
            "pairwise": as_list(self.pairwise),
            "accuracy": as_list(self.accuracy),
            "sorted_by_class": self.sorted_by_class,
            "seed_agreement": as_list(self.seed_agreement),
            "warnings": list(self.warnings),
        }

    def __str__(self) -> str:
        names = (self.reference, *self.names)
        width = max(map(len, names))
        lines = [f"Audit of {self.estimator}, {self.question}: {self.n_samples} samples ({self.row_order})"]
        if self.names:
            lines.append(f"{'':{width}s}  agreement  moved" + ("" if self.accuracy is None else "  accuracy"))
        for i, name in enumerate(names if self.names else ()):
            compared = f"{self.agreement[i - 1]:9.3f}  {self.moved[i - 1]:5d}" if i else f"{'-':>9s}  {'-':>5s}"
            scored = "" if self.accuracy is None else f"  {self.accuracy[i]:8.3f}"
            lines.append(f"{name:{width}s}  {compared}{scored}")
        lines.append(f"{'Passed' if self.passed else 'Failed'}. {self.verdict}")
        lines += [f"Warning: {text}" for text in self.warnings]
        return "\n".join(lines)
