"""What audits say, in words for readers who know none of the numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from manyview.audit._verdicts import GOOD_AGREEMENT

QUESTIONS = {
    "order": "Does the order of the rows change the answer?",
    "seeds": "Does the seed change the answer?",
    "views": "Does a single view decide the answer?",
}
_CHANGED_BY = {"order": "the order of the rows", "seeds": "the seed", "views": "which views there are"}
_SAME = 1 - 1e-12


def question(audit: Mapping[str, Any]) -> str:
    """What an audit asks."""
    return QUESTIONS[audit["question"]]


def short_answer(audit: Mapping[str, Any]) -> str:
    """Answer the question of an audit in a word or two.

    Examples
    --------
    >>> from manyview.report._audit_words import short_answer
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


def overall(method: str, audits: Sequence[Mapping[str, Any]]) -> str:
    """Say in plain words whether the answer can be relied on, and what to do if not.

    Parameters
    ----------
    method : str
        Name of the class.
    audits : list of dict
        From :meth:`manyview.audit.AuditResult.to_dict`, at least one.

    Examples
    --------
    >>> from manyview.report._audit_words import overall
    >>> overall("SFMC", [{"question": "order", "passed": True, "agreement": [1.0]}])[:53]
    'Trust it? Nothing here speaks against it: what SFMC f'
    """
    failed = [audit for audit in audits if not audit["passed"]]
    if not failed:
        asked = _joined([_CHANGED_BY[audit["question"]] for audit in audits], "or")
        return (
            f"Trust it? Nothing here speaks against it: what {method} finds hardly changes, if at all, with {asked}. "
            "Whether the groups mean something, no audit can tell."
        )
    changes = _joined([_CHANGED_BY[audit["question"]] for audit in failed], "and")
    # that a view matters can be right; that the order or the seed does cannot
    how = "With care" if all(audit["question"] == "views" for audit in failed) else "Not as it is"
    advice = " ".join(_advice(audit, method) for audit in failed)
    return f"Trust it? {how}: what {method} finds depends on {changes}. {advice}"


def _advice(audit: Mapping[str, Any], method: str) -> str:
    if audit["question"] == "order":
        other = "" if method == "GraphEnsemble" else ", such as GraphEnsemble"
        return f"The order of the rows means nothing, so take a method that does not look at it{other}."
    if audit["question"] == "seeds":
        return "Do not report a single run: fit several seeds, and keep what most of them agree on."
    most = audit["names"][audit["agreement"].index(min(audit["agreement"]))].removeprefix("without ")
    return f"Look at {most} before you rely on it: without that view the answer is another one."


def _joined(words: Sequence[str], last: str) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"
