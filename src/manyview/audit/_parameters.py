"""Parameters that speak of certain rows, views or seeds, and how they follow when these change."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np

from manyview.exceptions import ViewsError
from manyview.views import Views

DEFAULT_SEED = 0
"""The seed of an estimator that was given none: an audit changes one thing at a time."""


def seed_of(parameters: Mapping[str, Any]) -> int:
    """The estimator's own seed if it is a number, else the default."""
    seed = parameters.get("random_state")
    return int(seed) if isinstance(seed, Integral) else DEFAULT_SEED


def other_seeds(seed: int, number: int) -> list[int]:
    """The smallest seeds from 0 on, without the one that is taken."""
    return [other for other in range(number + 1) if other != seed][:number]


def for_rows(parameters: Mapping[str, Any], rows: np.ndarray) -> dict[str, Any]:
    """What changes when the samples come in the order ``rows``: anchors that were listed by their row."""
    anchors = parameters.get("anchors")
    if anchors is None or isinstance(anchors, str):
        return {}
    place = np.argsort(rows)
    return {"anchors": place[np.asarray(anchors)]}


def without_view(parameters: Mapping[str, Any], views: Views, left_out: int) -> dict[str, Any]:
    """What changes when a view is left out: a scaling that is given per view."""
    scaling = parameters.get("scaling")
    if isinstance(scaling, Mapping):
        return {"scaling": {name: value for name, value in scaling.items() if name != views.names[left_out]}}
    if scaling is not None and not isinstance(scaling, str):
        return {"scaling": [value for v, value in enumerate(scaling) if v != left_out]}
    return {}


def check_any_view_may_go(parameters: Mapping[str, Any]) -> None:
    """Refuse an estimator that is told to read its labels off a certain view."""
    readout = parameters.get("readout_view")
    if readout is not None:
        raise ViewsError(
            f"readout_view={readout!r}: labels are read off that view, so it cannot be left out. "
            "Set readout_view=None to audit the views."
        )
