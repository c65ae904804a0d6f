"""Bars of an audit."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from manyview import plot
from manyview.exceptions import PlotError


@dataclass(frozen=True)
class Audit:
    question: str = "order"
    estimator: str = "TBGL"
    names: tuple[str, ...] = ("reversed", "shuffled")
    agreement: np.ndarray = field(default_factory=lambda: np.array([0.9, 0.25]))
    passed: bool = False


def test_bars_are_the_agreement(ax):
    assert plot.audit(Audit(), ax=ax) is ax
    assert [bar.get_width() for bar in ax.patches] == pytest.approx([0.9, 0.25])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["reversed", "shuffled"]
    assert [text.get_text().strip() for text in ax.texts] == ["0.900", "0.250"]
    assert ax.get_xlim() == (0, 1)
    assert "ARI" in ax.get_xlabel()


@pytest.mark.parametrize(("passed", "word"), [(True, "passed"), (False, "failed")])
def test_title_says_what_was_audited_and_the_outcome(passed, word, ax):
    plot.audit(Audit(passed=passed), ax=ax)
    assert ax.get_title() == f"TBGL, audit of order: {word}"


def test_negative_agreement_has_its_number_where_no_name_is(ax):
    plot.audit(Audit(agreement=np.array([-0.05, 0.5])), ax=ax)
    assert ax.get_xlim() == (-0.05, 1)
    assert ax.texts[0].get_position()[0] == 0


def test_something_else(ax):
    with pytest.raises(
        PlotError, match=r"expected the result of manyview\.audit, got dict without question, estimator"
    ):
        plot.audit({}, ax=ax)
    assert not ax.has_data()
