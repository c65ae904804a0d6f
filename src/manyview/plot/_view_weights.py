"""Figure of the view weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from manyview.plot._shared import axes_or_new, fill_docstring, fitted_attribute, horizontal_bars

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@fill_docstring
def view_weights(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the weight of each view as a bar.

    Parameters
    ----------
    model : fitted estimator
        With ``view_weights_``.
    %(ax)s

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from manyview import GraphEnsemble, plot
    >>> from manyview.datasets import make_multiview
    >>> model = GraphEnsemble(3, random_state=0).fit(make_multiview(120, n_clusters=3, random_state=0))
    >>> ax = plot.view_weights(model, ax=Figure().subplots())
    >>> [label.get_text() for label in ax.get_yticklabels()] == list(model.view_names_)
    True
    """
    weights = np.asarray(fitted_attribute(model, "view_weights_"))
    ax = axes_or_new(ax)
    horizontal_bars(ax, model.view_names_, weights)
    ax.set_xlabel("weight (all views together: 1)" if np.isclose(weights.sum(), 1) else "weight")
    ax.set_title(f"{type(model).__name__}: weights of the views")
    return ax
