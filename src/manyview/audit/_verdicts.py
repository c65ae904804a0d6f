"""What the numbers of an audit mean: passed or not, and why, for readers who do not know the adjusted Rand index."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from manyview.audit.result import AuditResult

GOOD_AGREEMENT = 0.8
"""Adjusted Rand index from which two clusterings agree well, after D. Steinley, "Properties of the Hubert-Arabie
adjusted Rand index", Psychological Methods 9(3), 2004."""


class Verdict(NamedTuple):
    """The outcome of an audit."""

    passed: bool
    text: str


def judge_order(result: AuditResult) -> Verdict:
    """The same groups in every order; or no larger changes than those that another seed makes."""
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
            f"with other seeds the agreement is {_range(seeds)}. It seems to draw at random row by row.",
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
    """Any two seeds agree well."""
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
    """The answer without any one view agrees well with that of all."""
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
    return bool((agreement > 1 - 1e-12).all())


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
