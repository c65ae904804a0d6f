"""Asks the questions of an audit, for ``cluster --audit`` and ``audit``.

What an answer means to the user, and what happens if a question cannot be asked, is left to these commands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from manyview.audit import AuditResult
    from manyview.exceptions import ViewsError
    from manyview.views import Views


class Question(StrEnum):
    """What can be asked, in the order in which it is answered."""

    ORDER = "order"
    SEEDS = "seeds"
    VIEWS = "views"


def ask(
    estimator: Any,
    views: Views,
    questions: Sequence[Question] = tuple(Question),
    *,
    n_shuffles: int = 5,
    n_seeds: int = 5,
) -> Iterator[tuple[Question, AuditResult | ViewsError]]:
    """Yield each question with its answer, or with the error if it cannot be asked of these views."""
    from manyview.audit import audit_order, audit_seeds, audit_views
    from manyview.exceptions import ViewsError

    audits: dict[Question, Callable[..., AuditResult]] = {
        Question.ORDER: partial(audit_order, n_shuffles=n_shuffles),
        Question.SEEDS: partial(audit_seeds, n_seeds=n_seeds),
        Question.VIEWS: audit_views,
    }
    for question in questions:
        try:
            yield question, audits[question](estimator, views)
        except ViewsError as error:
            yield question, error
