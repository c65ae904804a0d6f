"""What the estimators on one dense kernel per view share: building the kernels, and choosing the view to read."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np

from manyview._utils.machine import check_memory
from manyview.cluster._base import interval
from manyview.exceptions import ViewsError
from manyview.graphs import SCALERS, gaussian_kernel
from manyview.views import Views

# The rule of the parameter ``readout_view``.
READOUT_VIEW: list[Any] = [None, interval(Integral, 0, None, "left"), str]

# Dense n x n arrays besides one per view: what building a kernel, or decomposing one, takes at its peak.
_TEMPORARY = 4


def gaussian_kernels(who: str, views: Views, scaling: str) -> Iterator[np.ndarray]:
    """The Gaussian kernel of one scaled view after the other; a ``MemoryError`` if there is no room for all of them."""
    n, n_views = views.n_samples, views.n_views
    check_memory(
        who,
        8.0 * n**2 * (n_views + _TEMPORARY),
        f"{n} samples and {n_views} views",
        "Use GraphEnsemble, whose memory grows with the samples, not with their square.",
    )
    for view in views.arrays:
        yield gaussian_kernel(SCALERS[scaling](view))


def readout_index(readout_view: int | str | None, views: Views) -> int | None:
    """The place of the view that ``readout_view`` names or counts."""
    if readout_view is None:
        return None
    if isinstance(readout_view, str):
        if readout_view not in views.names:
            raise ViewsError(f"readout_view={readout_view!r} is not among the views: {', '.join(views.names)}.")
        return views.names.index(readout_view)
    if readout_view >= views.n_views:
        raise ViewsError(f"readout_view={readout_view} is not among the views 0 to {views.n_views - 1}.")
    return int(readout_view)
