"""Figure of an audit: the agreement of its runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from manyview.plot._shared import axes_or_new, fill_docstring, horizontal_bars, result_fields, share_limits

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@fill_docstring
def audit(result: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the agreement of each run of an audit with the reference.

    Parameters
    ----------
    result : result of ``manyview.audit``
        With ``question``, ``estimator``, ``names``, ``agreement`` (adjusted Rand index for each name) and ``passed``.
    %(ax)s

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from matplotlib.figure import Figure
    >>> from manyview import plot
    >>> result = SimpleNamespace(
    ...     question="order", estimator="TBGL", names=("shuffle 1", "shuffle 2"), agreement=[0.91, 0.45], passed=False)
    >>> ax = plot.audit(result, ax=Figure().subplots())
    >>> [round(float(bar.get_width()), 2) for bar in ax.patches], ax.get_xlim()
    ([0.91, 0.45], (np.float64(0.0), np.float64(1.0)))
    """
    question, estimator, names, agreement, passed = result_fields(
        result, "manyview.audit", "question", "estimator", "names", "agreement", "passed"
    )
    agreement = np.asarray(agreement, dtype=np.float64)
    ax = axes_or_new(ax)
    horizontal_bars(ax, names, agreement)
    ax.set_xlim(*share_limits(agreement))
    ax.set_xlabel("agreement of the clusters (ARI, 1: the same)")
    ax.set_title(f"{estimator}, audit of {question}: {'passed' if passed else 'failed'}")
    return ax
