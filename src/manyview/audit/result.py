"""Results of audits: the numbers of every run, the verdict, and all sentences that describe them.

Reports and the command line take their words for audits from here. The words for the order audit of whole experiments
are in :mod:`manyview.experiments.wording`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from manyview._utils import html

GOOD_AGREEMENT = 0.8
"""Adjusted Rand index from which two clusterings agree well, after D. Steinley, "Properties of the Hubert-Arabie
adjusted Rand index", Psychological Methods 9(3), 2004."""

QUESTIONS = {
    "order": "Does the order of the rows change the answer?",
    "seeds": "Does the seed change the answer?",
    "views": "Does a single view decide the answer?",
}
_CHANGED_BY = {"order": "the order of the rows", "seeds": "the seed", "views": "which views there are"}
_SAME = 1 - 1e-12  # agreement above it is 1 up to rounding


@dataclass(frozen=True, eq=False, repr=False)
class AuditResult:
    """Comparison of several fits of one estimator, with one thing changed in each.

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
        Warnings of the estimator, each text once, with the runs that it came from.
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
        """Adjusted Rand index of each changed run with the reference: 1 means the same groups, 0 chance."""
        return self.pairwise[0, 1:]

    @property
    def passed(self) -> bool:
        """Whether the audit found no problem; the criterion is documented in the function that made the audit."""
        return JUDGES[self.question](self).passed

    @property
    def verdict(self) -> str:
        """The outcome in plain sentences, with the numbers."""
        return JUDGES[self.question](self).text

    @property
    def row_order(self) -> str:
        """Order of the rows when the numbers were measured."""
        return f"{self.given_order}; then shuffled" if self.question == "order" else self.given_order

    @property
    def given_order(self) -> str:
        """Order of the rows as given, as far as it is known."""
        return "rows as given, sorted by class" if self.sorted_by_class else "rows as given"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as numbers, texts and lists, ready for ``json.dumps``."""
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

    def __repr__(self) -> str:
        agreement = f", agreement {_range(self.agreement)}" if self.names else ""
        outcome = "passed" if self.passed else "failed"
        return f"AuditResult({self.question} of {self.estimator}: {outcome}{agreement}, {self.n_samples} samples)"

    def _repr_html_(self) -> str:
        outcome = f"{'Passed' if self.passed else 'Failed'}. {self.verdict}"
        parts = [html.heading(QUESTIONS[self.question]), html.paragraph(outcome)]
        if self.names:
            columns = [f"{self.estimator}, {self.n_samples:,} samples", "agreement", "moved"]
            rows: list[list[Any]] = [[self.reference, None, None]]
            rows += [list(run) for run in zip(self.names, self.agreement.tolist(), self.moved.tolist(), strict=True)]
            if self.accuracy is not None:
                columns.append("accuracy")
                rows = [[*row, value] for row, value in zip(rows, self.accuracy.tolist(), strict=True)]
            parts += [html.table(columns, rows), html.paragraph(f"Order of the samples: {self.row_order}.")]
        return html.block([*parts, *(html.paragraph(f"Warning: {text}") for text in self.warnings)])

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


class Verdict(NamedTuple):
    """The outcome of an audit, and why, for readers who do not know the adjusted Rand index."""

    passed: bool
    text: str


def judge_order(result: AuditResult) -> Verdict:
    """Pass if the groups are the same in every order, or change no more than with another seed."""
    if _all_same(result.agreement):
        return Verdict(
            True,
            f"{result.estimator} does not depend on the order of the rows: "
            f"{_count(len(result.names), 'shuffle')} gave the same groups as the rows as given.",
        )
    change = f"with the rows shuffled, {_moved(result)} ({_agreement(result.agreement)})"
    seeds = result.seed_agreement
    if seeds is not None and not _all_same(seeds) and result.agreement.max() >= seeds.min():
        return Verdict(
            True,
            f"{result.estimator} depends on the order of the rows no more than on the seed: {change}; "
            f"with other seeds the agreement is {_range(seeds)}. It seems to draw random numbers row by row.",
        )
    text = f"{result.estimator} depends {_how_much(result.agreement)} on the order of the rows: {change}. "
    if seeds is not None:
        effect = "changes nothing" if _all_same(seeds) else f"gives an agreement of {_range(seeds)}"
        text += f"Another seed {effect}. "
    if result.accuracy is not None:
        text += (
            f"Accuracy is {result.accuracy[0]:.3f} with the {result.given_order}, and {_range(result.accuracy[1:])} "
            "with the rows shuffled. "
        )
    return Verdict(False, text + "What is measured in one order need not hold in another.")


def judge_seeds(result: AuditResult) -> Verdict:
    """Pass if any two seeds agree well."""
    if not result.names:
        return Verdict(True, f"{result.estimator} has no parameter random_state: there is no seed to change.")
    pairs = result.pairwise[np.triu_indices_from(result.pairwise, 1)]
    n_seeds = len(result.pairwise)
    if _all_same(pairs):
        return Verdict(True, f"{result.estimator} does not depend on the seed: {n_seeds} seeds gave the same groups.")
    text = (
        f"{result.estimator} depends {_how_much(pairs)} on the seed: any two of {n_seeds} seeds have an agreement of "
        f"{_range(pairs)}, where 1 means the same groups and 0 chance (mean {pairs.mean():.3f}). "
        f"Compared with {result.reference}, {_moved(result)}."
    )
    if result.accuracy is not None:
        text += f" Accuracy is {_range(result.accuracy)} ({result.row_order})."
    return Verdict(_agrees_well(pairs), text)


def judge_views(result: AuditResult) -> Verdict:
    """Pass if the answer without any one view agrees well with that of all views."""
    agreement = result.agreement
    without = [name.removeprefix("without ") for name in result.names]
    accuracy = ""
    if result.accuracy is not None:
        scores = ", ".join(
            f"{value:.3f} without {name}" for value, name in zip(result.accuracy[1:], without, strict=True)
        )
        accuracy = f" Accuracy is {result.accuracy[0]:.3f} with all views, {scores} ({result.row_order})."
    if _all_same(agreement):
        text = f"{result.estimator} gives the same groups without any one of the {len(without)} views."
        return Verdict(True, text + accuracy)
    most, least = int(agreement.argmin()), int(agreement.argmax())

    def cost(v: int) -> str:
        return f"agreement {agreement[v]:.3f}, {result.moved[v]} of {result.n_samples} samples in another group"

    start = (
        f"No single view decides what {result.estimator} finds"
        if _agrees_well(agreement)
        else f"What {result.estimator} finds depends strongly on single views"
    )
    text = (
        f"{start}: leaving out {without[most]} changes most ({cost(most)}), "
        f"leaving out {without[least]} least ({cost(least)})."
    )
    return Verdict(_agrees_well(agreement), text + accuracy)


JUDGES: dict[str, Callable[[AuditResult], Verdict]] = {
    "order": judge_order,
    "seeds": judge_seeds,
    "views": judge_views,
}


def _all_same(agreement: np.ndarray) -> bool:
    return bool((agreement > _SAME).all())


def _agrees_well(agreement: np.ndarray) -> bool:
    return bool(agreement.min() >= GOOD_AGREEMENT)


def _how_much(agreement: np.ndarray) -> str:
    return "a little" if _agrees_well(agreement) else "strongly"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _moved(result: AuditResult) -> str:
    low, high = result.moved.min(), result.moved.max()
    number = f"{low}" if low == high else f"{low} to {high}"
    return f"{number} of {result.n_samples} samples change their group"


def _agreement(values: np.ndarray) -> str:
    return f"agreement {_range(values)}, where 1 means the same groups and 0 chance"


def _range(values: np.ndarray) -> str:
    low, high = f"{values.min():.3f}", f"{values.max():.3f}"
    return low if low == high else f"{low} to {high}"


def question(audit: Mapping[str, Any]) -> str:
    """Return the question that an audit answers; ``audit`` is from :meth:`AuditResult.to_dict`, here and below."""
    return QUESTIONS[audit["question"]]


def short_answer(audit: Mapping[str, Any]) -> str:
    """Answer the question of an audit in a word or two.

    Examples
    --------
    >>> from manyview.audit.result import short_answer
    >>> short_answer({"question": "order", "passed": True, "agreement": [1.0, 1.0]})
    'No'
    >>> short_answer({"question": "seeds", "passed": False, "agreement": [0.4, 1.0]})
    'Yes'
    """
    least = min(audit["agreement"], default=1.0)
    if not audit["passed"]:
        return "A little" if least >= GOOD_AGREEMENT else "Yes"
    if least > _SAME:
        return "No"
    return "No more than the seed does" if audit["question"] == "order" else "Hardly"


def conclusion(method: str, audits: Sequence[Mapping[str, Any]]) -> str:
    """Say in plain words whether a clustering can be relied on, and what to do if not.

    Parameters
    ----------
    method : str
        Name of the class.
    audits : list of dict
        From :meth:`AuditResult.to_dict`, at least one.

    Examples
    --------
    >>> from manyview.audit.result import conclusion
    >>> conclusion("SFMC", [{"question": "order", "passed": True, "agreement": [1.0]}])[:51]
    'No problems found. The groups that SFMC finds chang'
    """
    failed = [audit for audit in audits if not audit["passed"]]
    if not failed:
        asked = _joined([_CHANGED_BY[audit["question"]] for audit in audits], "or")
        return (
            f"No problems found. The groups that {method} finds change little or not at all with {asked}. "
            "Whether the groups are meaningful, an audit cannot tell."
        )
    changes = _joined([_CHANGED_BY[audit["question"]] for audit in failed], "and")
    # A dependence on a view can be right; one on the order or on the seed cannot.
    only_views = all(audit["question"] == "views" for audit in failed)
    start = "Use this result with care" if only_views else "Do not rely on this result as it is"
    advice = " ".join(_advice(audit, method) for audit in failed)
    return f"{start}: the groups that {method} finds depend on {changes}. {advice}"


def _advice(audit: Mapping[str, Any], method: str) -> str:
    if audit["question"] == "order":
        other = "" if method == "GraphEnsemble" else ", such as GraphEnsemble"
        return f"The order of the rows carries no information: choose a method that does not depend on it{other}."
    if audit["question"] == "seeds":
        return "Do not report a single run: fit several seeds, and keep what most of them agree on."
    most = audit["names"][audit["agreement"].index(min(audit["agreement"]))].removeprefix("without ")
    return f"Check the view {most}: without it the groups are different."


def _joined(words: Sequence[str], last: str) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"
